// SPDX-License-Identifier: Apache-2.0
#include "src/comm/peers.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "src/base/format.h"

namespace millpond::comm {

bool ProcessLives(int32_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

void Peers::Open(const World& world) {
  for (uint32_t rank = 0; rank < world.ranks(); ++rank) {
    const int32_t pid = world.cell(rank).pid;
    if (pid == getpid() || processes_.contains(pid)) continue;
    Process process;
    process.descriptor = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    process.ended_at_once = !process.descriptor && errno == ESRCH;
    processes_.emplace(pid, std::move(process));
  }
}

std::string Peers::Fate(const World& world, uint32_t rank) const {
  const RankCell& cell = world.cell(rank);
  const RankState state = cell.state.load(std::memory_order_acquire);
  if (state == RankState::kLeft) return "has left (HcclCommDestroy)";
  if (state == RankState::kFailed) return "has failed: " + TextOf(cell.reason, kReasonBytes);
  const auto found = processes_.find(cell.pid);
  if (found == processes_.end()) return {};
  bool ended = found->second.ended_at_once;
  if (!ended && found->second.descriptor) {
    pollfd watched{found->second.descriptor.get(), POLLIN, 0};
    ended = poll(&watched, 1, 0) > 0;
  } else if (!ended) {
    ended = !ProcessLives(cell.pid);  // a kernel without descriptors of processes
  }
  return ended ? Format("has ended (process %d)", cell.pid) : "";
}

std::string NameRanks(const std::vector<uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

}  // namespace millpond::comm

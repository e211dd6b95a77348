// SPDX-License-Identifier: Apache-2.0
#include "src/comm/peers.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "src/base/format.h"

namespace millpond::comm {

bool ProcessLives(int32_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

void Peers::Open(const World& world) {
  for (uint32_t rank = 0; rank < world.ranks(); ++rank) {
    if (world.cell(rank).host.load() == 0) Watch(world.cell(rank).pid);
  }
  if (world.spans()) Watch(world.header().leader.load());
}

void Peers::Watch(int32_t pid) {
  if (pid == getpid() || processes_.contains(pid)) return;
  Process process;
  process.descriptor = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  process.ended_at_once = !process.descriptor && errno == ESRCH;
  processes_.emplace(pid, std::move(process));
}

bool Peers::HasEnded(int32_t pid) const {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return false;
  if (found->second.ended_at_once) return true;
  if (!found->second.descriptor) return !ProcessLives(pid);  // a kernel without descriptors of processes
  pollfd watched{found->second.descriptor.get(), POLLIN, 0};
  return poll(&watched, 1, 0) > 0;
}

// What is between this host and the rank's.
std::string Peers::WayTo(const World& world, uint32_t host) const {
  const HostNote& note = world.header().hosts[std::min(host, kMaxHosts - 1)];
  if (note.lost.load(std::memory_order_acquire) != 0) {
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 0; rank < world.ranks(); ++rank) {
      if (world.cell(rank).host.load(std::memory_order_relaxed) == host + 1) ranks.push_back(rank);
    }
    return Format("cannot be reached: %s, with %s, %s", TextOf(note.label, sizeof(note.label)).c_str(),
                  NameRanks(ranks).c_str(), TextOf(note.reason, sizeof(note.reason)).c_str());
  }
  const int32_t leader = world.header().leader.load();
  if (!HasEnded(leader)) return {};
  std::vector<uint32_t> ranks;  // none: a process that made the root info and is no rank
  for (uint32_t rank = 0; rank < world.ranks(); ++rank) {
    if (world.cell(rank).host.load(std::memory_order_relaxed) == 0 && world.cell(rank).pid == leader) {
      ranks.push_back(rank);
    }
  }
  return Format("cannot be reached: %s has ended (process %d), which spoke for this host",
                ranks.empty() ? "a process" : NameRanks(ranks).c_str(), leader);
}

std::string Peers::Fate(const World& world, uint32_t rank) const {
  const RankCell& cell = world.cell(rank);
  const RankState state = cell.state.load(std::memory_order_acquire);
  if (state == RankState::kLeft) return "has left (HcclCommDestroy)";
  if (state == RankState::kFailed) return "has failed: " + TextOf(cell.reason, kReasonBytes);
  return End(world, rank);
}

std::string Peers::End(const World& world, uint32_t rank) const {
  const RankCell& cell = world.cell(rank);
  const uint32_t host = cell.host.load(std::memory_order_relaxed);
  if (cell.state.load(std::memory_order_acquire) == RankState::kEnded || (host == 0 && HasEnded(cell.pid))) {
    return Format("has ended (process %d%s)", cell.pid, HostOf(world, rank).c_str());
  }
  return host == 0 ? "" : WayTo(world, host - 1);
}

std::string HostOf(const World& world, uint32_t rank) {
  const uint32_t host = world.cell(rank).host.load(std::memory_order_relaxed);
  if (host == 0) return {};
  const HostNote& note = world.header().hosts[std::min(host - 1, kMaxHosts - 1)];
  return " on " + TextOf(note.label, sizeof(note.label));
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

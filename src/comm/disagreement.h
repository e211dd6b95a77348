// SPDX-License-Identifier: Apache-2.0
// What this rank has found to differ between ranks. The program hears of it when the other ranks can know it as well:
// it may end at once then, and where its process speaks for its host, what this host's ranks were asked for would never
// come to the other hosts.
#ifndef MILLPOND_SRC_COMM_DISAGREEMENT_H_
#define MILLPOND_SRC_COMM_DISAGREEMENT_H_

#include <unistd.h>

#include <chrono>
#include <utility>

#include "src/base/futex.h"
#include "src/base/status.h"
#include "src/comm/communicator.h"

namespace millpond::comm {

class Disagreement {
 public:
  bool found() const { return !status_.ok(); }
  void Find(Communicator* comm, Status status) {
    comm->Fail(Communicator::Trouble::kMismatch, status);
    status_ = std::move(status);
    until_ = Clock::now() + kLongest;
  }
  // Whether the rank need not be waited for: it knows, or will not, or it has been long enough.
  bool IsKnownBy(const Communicator& comm, uint32_t rank) const {
    const RankCell& cell = comm.world->cell(rank);
    return cell.host.load(std::memory_order_relaxed) == 0 || comm.world->header().leader.load() != getpid() ||
           cell.state.load(std::memory_order_acquire) != RankState::kJoined || Clock::now() >= until_ ||
           !comm.peers.End(*comm.world, rank).empty();
  }
  Status Take() { return std::exchange(status_, Status()); }

 private:
  static constexpr auto kLongest = std::chrono::milliseconds(500);

  Status status_;
  Clock::time_point until_;
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_DISAGREEMENT_H_

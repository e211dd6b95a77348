// SPDX-License-Identifier: Apache-2.0
// What ranks of several hosts give each other in one operation without the staging memory: the process that speaks for
// a host reaches the buffers of all its ranks (direct_memory.h), and its thread (links.h) sends from them and receives
// into them. One rank of that process, of which the operation is, plans it; the thread carries it out.
//
// Whose operation ends early takes it back, and goes on when the thread has let go of the buffers: a frame that is half
// sent ends in zeros then, and the other hosts are never told that it was the last.
#ifndef MILLPOND_SRC_COMM_EXCHANGE_H_
#define MILLPOND_SRC_COMM_EXCHANGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "src/base/mutex.h"
#include "src/comm/direct_memory.h"
#include "src/comm/world.h"

namespace millpond::comm {

struct Exchange {
  // What one rank gives to another, in the buffer of the one that is of this host, as this process reaches it.
  struct Piece {
    char* place = nullptr;
    size_t bytes = 0;
  };

  uint64_t sequence = 0;
  std::vector<Piece> pieces;         // of all pairs; empty where both or none are of this host
  std::vector<uint32_t> here, away;  // ranks
  std::shared_ptr<Neighbours> neighbours;

  Piece Between(uint32_t from, uint32_t to) const { return pieces[size_t{from} * (here.size() + away.size()) + to]; }

  std::atomic<bool> goes{false};  // all ranks have agreed
  std::atomic<bool> taken_back{false};
  std::atomic<bool> held{false};  // by the thread

  // --- The thread's own ---
  bool queued = false, finished = false;
  size_t expected = 0, received = 0;
  std::set<uint32_t> done;  // hosts that have said that this was all
};

// Of this process, one for each world. Safe from any thread.
class Exchanges {
 public:
  static Exchanges& Get();

  void Add(const World& world, std::shared_ptr<Exchange> planned);
  // For the thread: null when there is none. Whoever got it sets `held` back.
  std::shared_ptr<Exchange> Take(const World& world);
  // The thread has let go of the buffers when this returns.
  void End(const World& world);

 private:
  std::atomic<size_t> count_{0};
  Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Exchange>> by_world_ GUARDED_BY(mutex_);
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_EXCHANGE_H_

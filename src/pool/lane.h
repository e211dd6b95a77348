// SPDX-License-Identifier: Apache-2.0
// The memory of one stream: what is free here may be handed out again on this stream without asking anybody. The lane
// outlives its stream: when that is forgotten, the next new stream takes the lane over.
#ifndef MILLPOND_SRC_POOL_LANE_H_
#define MILLPOND_SRC_POOL_LANE_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "src/base/spinlock.h"
#include "src/pool/front.h"
#include "src/pool/heap.h"
#include "src/pool/page_source.h"

namespace millpond::pool {

class Lane {
 public:
  Lane(StreamKey stream, size_t page_bytes)
      : stream_(stream), large(this, false, page_bytes), small(this, true, page_bytes) {}

  StreamKey stream() const { return stream_.load(std::memory_order_relaxed); }
  void set_stream(StreamKey stream) { stream_.store(stream, std::memory_order_relaxed); }

  SpinLock lock;  // guards what follows

 private:
  std::atomic<StreamKey> stream_;

 public:
  Heap large;
  Heap small;
  Tally tally;
  uint64_t volume = 0;  // bytes handed out so far: a lane of little use keeps small and large together

  // Every free has a number. Free blocks whose number is at most `passed` are no longer used by the stream's work.
  uint64_t serial = 0;
  uint64_t passed = 0;
  Ticket mark = 0;  // the point under way, if mark_serial > passed
  uint64_t mark_serial = 0;

  // Freed blocks that other streams still use, oldest first.
  struct Pending {
    Block* block;
    std::vector<Ticket> tickets;
  };
  std::vector<Pending> pending;
  size_t pending_bytes = 0;
  std::unordered_map<const Block*, std::vector<StreamKey>> recorded;

  std::vector<std::unique_ptr<Front>> fronts;
  std::vector<Front*> idle_fronts;  // whose threads have ended
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_LANE_H_

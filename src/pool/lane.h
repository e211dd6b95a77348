// SPDX-License-Identifier: Apache-2.0
// The arena of one stream: what is free here can be reused on this stream without synchronization. The lane outlives
// its stream: when that is forgotten, the next new stream takes over the lane.
#ifndef MILLPOND_SRC_POOL_LANE_H_
#define MILLPOND_SRC_POOL_LANE_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "src/base/spinlock.h"
#include "src/pool/heap.h"
#include "src/pool/page_source.h"
#include "src/pool/thread_cache.h"

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
  Heap large GUARDED_BY(lock);
  Heap small GUARDED_BY(lock);
  Tally tally;  // counted with the lock, read without
  uint64_t volume GUARDED_BY(lock) =
      0;  // bytes allocated so far: a lane that is used little keeps small and large blocks together

  // Every free has a serial number. The stream's work is done with free blocks whose number is at most `passed`.
  uint64_t serial GUARDED_BY(lock) = 0;
  uint64_t passed GUARDED_BY(lock) = 0;
  Ticket mark GUARDED_BY(lock) = 0;  // the point not passed yet, if mark_serial > passed
  uint64_t mark_serial GUARDED_BY(lock) = 0;

  // Freed blocks that other streams still use, oldest first.
  struct Pending {
    Block* block;
    std::vector<Ticket> tickets;
  };
  std::vector<Pending> pending GUARDED_BY(lock);
  size_t pending_bytes GUARDED_BY(lock) = 0;
  std::unordered_map<const Block*, std::vector<StreamKey>> recorded GUARDED_BY(lock);

  std::vector<std::unique_ptr<ThreadCache>> caches GUARDED_BY(lock);
  std::vector<ThreadCache*> idle_caches GUARDED_BY(lock);  // whose threads have ended
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_LANE_H_

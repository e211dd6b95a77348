// SPDX-License-Identifier: Apache-2.0
// The arena of one stream: what is free here can be reused on this stream without synchronization. The lane outlives
// its stream: when that is forgotten, the next new stream takes over the lane.
#ifndef MILLPOND_SRC_POOL_LANE_H_
#define MILLPOND_SRC_POOL_LANE_H_

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/spinlock.h"
#include "src/pool/heap.h"
#include "src/pool/page_source.h"
#include "src/pool/thread_cache.h"

namespace millpond::pool {

// Freed blocks that other streams still use, oldest first, linked by their `next`.
struct PendingBlocks {
  Block* first = nullptr;
  Block* last = nullptr;

  bool empty() const { return first == nullptr; }
  void Append(Block* block) {
    block->next = nullptr;
    (last != nullptr ? last->next : first) = block;
    last = block;
  }
  // Takes those out that `done(block)` says to; it may link them elsewhere.
  template <class Done>
  void Remove(Done done) {
    Block** link = &first;
    last = nullptr;
    while (Block* const block = *link) {
      Block* const next = block->next;
      if (done(block)) {
        *link = next;
      } else {
        last = block;
        link = &block->next;
      }
    }
  }
};

class Lane {
 public:
  Lane(StreamKey stream, size_t page_bytes)
      : stream_(stream), large(this, &blocks, false, page_bytes), small(this, &blocks, true, page_bytes) {}

  StreamKey stream() const { return stream_.load(std::memory_order_relaxed); }
  void set_stream(StreamKey stream) { stream_.store(stream, std::memory_order_relaxed); }

  SpinLock lock;      // guards what follows
  BlockTable blocks;  // changed with the lock, read without

 private:
  std::atomic<StreamKey> stream_;

 public:
  Heap large GUARDED_BY(lock);
  Heap small GUARDED_BY(lock);
  Tally tally;                      // counted with the lock, read without
  std::atomic<uint64_t> volume{0};  // bytes allocated so far through the lane: counted with the lock, read without

  // Every free has a serial number. The stream's work is done with free blocks whose number is at most `passed`.
  uint64_t serial GUARDED_BY(lock) = 0;
  uint64_t passed GUARDED_BY(lock) = 0;
  Ticket mark GUARDED_BY(lock) = 0;  // the point not passed yet, if mark_serial > passed
  uint64_t mark_serial GUARDED_BY(lock) = 0;

  PendingBlocks pending GUARDED_BY(lock);
  size_t pending_bytes GUARDED_BY(lock) = 0;

  std::vector<std::unique_ptr<ThreadCache>> caches GUARDED_BY(lock);
  std::vector<ThreadCache*> idle_caches GUARDED_BY(lock);  // whose threads have ended; has room for all

 private:
  friend class LaneList;
  std::atomic<Lane*> next_{nullptr};
};

// A pool's lanes, oldest first. They only become more, so that walking them takes no lock and no memory.
class LaneList {
 public:
  LaneList() = default;
  ~LaneList() {
    for (Lane* lane = first_; lane != nullptr;) delete std::exchange(lane, lane->next_);
  }
  LaneList(const LaneList&) = delete;
  LaneList& operator=(const LaneList&) = delete;

  class Iterator {
   public:
    explicit Iterator(Lane* lane) : lane_(lane) {}
    Lane* operator*() const { return lane_; }
    Iterator& operator++() {
      lane_ = lane_->next_.load(std::memory_order_acquire);
      return *this;
    }
    bool operator!=(const Iterator& other) const { return lane_ != other.lane_; }

   private:
    Lane* lane_;
  };
  Iterator begin() const { return Iterator(first_.load(std::memory_order_acquire)); }
  static Iterator end() { return Iterator(nullptr); }

  // One caller at a time.
  void Add(std::unique_ptr<Lane> lane) {
    Lane* const added = lane.release();
    (last_ != nullptr ? last_->next_ : first_).store(added, std::memory_order_release);
    last_ = added;
    ++size_;
  }
  size_t size() const { return size_; }  // for the callers of Add

 private:
  std::atomic<Lane*> first_{nullptr};
  Lane* last_ = nullptr;
  size_t size_ = 0;
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_LANE_H_

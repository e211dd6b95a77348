// SPDX-License-Identifier: Apache-2.0
// Freed blocks that are not given out again for a while, filled with the guard pattern: who writes there is seen when
// the block leaves, who reads there gets nonsense. While tasks are queued nothing is changed: they may still read it,
// as those of allocators do that rely on the order of a stream. Then a sum of the block tells whether it was written.
// First in, first out; bounded, and the first to go when memory is short. The quota does not count it. Safe from any
// thread.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_QUARANTINE_H_
#define MILLPOND_SRC_DEVICE_MEMORY_QUARANTINE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/device/memory/range_heap.h"
#include "src/trace/records.h"

namespace millpond {

class Quarantine {
 public:
  // What is filled of a block: filling costs as much as setting it, and a late use is mostly of its beginning.
  static constexpr size_t kFilled = size_t{64} << 20;
  static constexpr size_t kMaxBlocks = 4096;

  Quarantine(RangeHeap* heap, int32_t device, uint64_t capacity) : heap_(*heap), device_(device), capacity_(capacity) {}

  struct Part {
    uintptr_t begin = 0;
    size_t bytes = 0;
    uint64_t sum = 0;  // where it is not filled
  };
  struct Kept {
    uintptr_t base = 0;
    size_t bytes = 0;
    bool filled = false;
    std::vector<Part> parts;
  };
  // A retired block is made ready: filled or summed up, but pages of large ones that were never touched stay so. May
  // throw bad_alloc.
  Kept Prepare(const HeapBlock& block, bool fills) const;
  // It is kept, and others leave for it; one that is larger than the capacity leaves at once.
  void Keep(Kept kept);
  // The oldest leave until at most `bytes` are kept.
  void ShrinkTo(uint64_t bytes);
  // All are looked at, and stay.
  void Check();

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  using Damages = std::vector<trace::Damage>;
  void LookAt(Kept* kept, Damages* out) const;
  void ShrinkLocked(uint64_t bytes, size_t blocks, Damages* out) REQUIRES(mutex_);

  RangeHeap& heap_;
  const int32_t device_;
  const uint64_t capacity_;
  Mutex mutex_;
  std::deque<Kept> kept_ GUARDED_BY(mutex_);  // the oldest first
  std::atomic<uint64_t> bytes_{0};            // written under the lock
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_QUARANTINE_H_

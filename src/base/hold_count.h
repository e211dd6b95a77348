// SPDX-License-Identifier: Apache-2.0
// Who still needs an object of a HandleTable: its handle, and each task that names it. The last one out recycles it.
//
// Why not a plain count: a client's use may race with its destroy, so a caller that looked the handle up may take its
// hold when the count has been 0 already. That hold must not make the object end a second time, which would put it
// into the table's free list twice, and two live handles would share it.
#ifndef MILLPOND_SRC_BASE_HOLD_COUNT_H_
#define MILLPOND_SRC_BASE_HOLD_COUNT_H_

#include <atomic>
#include <cstdint>

namespace millpond {

class HoldCount {
 public:
  // The handle's own hold. A late caller's hold may be there still: it is added to, not overwritten.
  void Open() {
    count_.fetch_add(1, std::memory_order_relaxed);
    open_.store(true, std::memory_order_release);
  }
  void Hold() { count_.fetch_add(1, std::memory_order_relaxed); }
  // False when nobody holds it any more.
  bool TryHold() {
    int32_t count = count_.load(std::memory_order_relaxed);
    while (count > 0) {
      if (count_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }
  // True for the one caller per Open() that must recycle the object.
  bool Release() {
    return count_.fetch_sub(1, std::memory_order_acq_rel) == 1 && open_.exchange(false, std::memory_order_acq_rel);
  }

 private:
  std::atomic<int32_t> count_{0};
  std::atomic<bool> open_{false};
};

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_HOLD_COUNT_H_

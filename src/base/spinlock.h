// SPDX-License-Identifier: Apache-2.0
// A lock for sections of a few dozen instructions that never block and never call other code. Spins, then yields,
// because on two cores the holder may be descheduled.
#ifndef MILLPOND_SRC_BASE_SPINLOCK_H_
#define MILLPOND_SRC_BASE_SPINLOCK_H_

#include <sched.h>

#include <atomic>

#include "src/base/thread_annotations.h"

namespace millpond {

inline void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("" ::: "memory");
#endif
}

class CAPABILITY("spinlock") SpinLock {
 public:
  void lock() ACQUIRE() {
    if (__builtin_expect(!locked_.exchange(true, std::memory_order_acquire), true)) return;
    LockSlow();
  }
  bool try_lock() TRY_ACQUIRE(true) {
    return !locked_.load(std::memory_order_relaxed) && !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() RELEASE() { locked_.store(false, std::memory_order_release); }
  void AssertHeld() const ASSERT_CAPABILITY(this) {}

 private:
  void LockSlow() NO_THREAD_SAFETY_ANALYSIS {  // of lock(), which is annotated
    for (int spins = 0;; ++spins) {
      if (try_lock()) return;
      if (spins < 64) {
        CpuRelax();
      } else {
        sched_yield();
      }
    }
  }
  std::atomic<bool> locked_{false};
};

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_SPINLOCK_H_

// SPDX-License-Identifier: Apache-2.0
// A lock for sections of a few dozen instructions that never block and never call out. Spins, then yields,
// because on two cores the holder may be descheduled.
#ifndef MILLPOND_SRC_BASE_SPINLOCK_H_
#define MILLPOND_SRC_BASE_SPINLOCK_H_

#include <sched.h>

#include <atomic>

namespace millpond {

inline void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("" ::: "memory");
#endif
}

class SpinLock {
 public:
  void lock() {
    if (__builtin_expect(!locked_.exchange(true, std::memory_order_acquire), true)) return;
    LockSlow();
  }
  bool try_lock() {
    return !locked_.load(std::memory_order_relaxed) && !locked_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  void LockSlow() {
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

// SPDX-License-Identifier: Apache-2.0
// The two futex calls we need, with a deadline. Used instead of condition variables on paths where the waker
// must not take a lock to find out that there is no waiter.
#ifndef MILLPOND_SRC_BASE_FUTEX_H_
#define MILLPOND_SRC_BASE_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace millpond {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;  // empty: forever

// Sleeps while *word == expected; may return early. False when the deadline has passed.
inline bool FutexWait(std::atomic<uint32_t>* word, uint32_t expected, Deadline deadline = std::nullopt) {
  timespec left{};
  timespec* timeout = nullptr;
  if (deadline) {
    const auto remaining = std::chrono::duration_cast<std::chrono::nanoseconds>(*deadline - Clock::now()).count();
    if (remaining <= 0) return false;
    left = {.tv_sec = remaining / 1'000'000'000, .tv_nsec = remaining % 1'000'000'000};
    timeout = &left;
  }
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAIT_PRIVATE, expected, timeout, nullptr, 0);
  return !deadline || Clock::now() < *deadline;
}

inline void FutexWake(std::atomic<uint32_t>* word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_FUTEX_H_

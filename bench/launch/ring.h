// SPDX-License-Identifier: Apache-2.0
// The floor for handing work to another thread: one producer, one consumer, both spinning, no wake-up, no lock, no
// allocation. It can do nothing else (no events, no second stream, a core burnt while idle), which is why it is fast.
#ifndef BENCH_LAUNCH_RING_H_
#define BENCH_LAUNCH_RING_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>

namespace millpond::bench {

struct RingTask {
  void (*fn)(void*);
  void* arg;
};

// Spinning politely: a pause keeps the core's other work going, a rare yield lets a machine with too few cores proceed.
class Spinner {
 public:
  void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (++spins_ % kSpinsPerYield == 0) std::this_thread::yield();
  }

 private:
  static constexpr unsigned kSpinsPerYield = 1u << 16;
  unsigned spins_ = 0;
};

template <std::size_t kCapacity>
class Ring {
  static_assert((kCapacity & (kCapacity - 1)) == 0, "capacity is a power of two");

 public:
  // Producer only. Spins while the ring is full.
  void Push(RingTask task) {
    const std::size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - seen_head_ == kCapacity) {
      Spinner spinner;
      while (tail - (seen_head_ = head_.load(std::memory_order_acquire)) == kCapacity) spinner.Pause();
    }
    slots_[tail % kCapacity] = task;
    tail_.store(tail + 1, std::memory_order_release);
  }

  // Consumer only. Spins while the ring is empty.
  RingTask Pop() {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    if (head == seen_tail_) {
      Spinner spinner;
      while (head == (seen_tail_ = tail_.load(std::memory_order_acquire))) spinner.Pause();
    }
    const RingTask task = slots_[head % kCapacity];
    head_.store(head + 1, std::memory_order_release);
    return task;
  }

 private:
  // Each side writes only its own line and reads the other's when its cached copy runs out.
  alignas(64) std::atomic<std::size_t> tail_{0};
  std::size_t seen_head_ = 0;
  alignas(64) std::atomic<std::size_t> head_{0};
  std::size_t seen_tail_ = 0;
  alignas(64) std::array<RingTask, kCapacity> slots_{};
};

}  // namespace millpond::bench

#endif  // BENCH_LAUNCH_RING_H_

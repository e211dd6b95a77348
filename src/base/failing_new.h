// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out: this program's operator new serves the libraries too, and fails when it is told to. For
// one file of a program.
#ifndef MILLPOND_SRC_BASE_FAILING_NEW_H_
#define MILLPOND_SRC_BASE_FAILING_NEW_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace failing_new {

inline thread_local int64_t requests_left = -1;  // below 0: nothing fails
inline thread_local bool fired = false;

// The same for the requests of all threads together, the library's own too, but for those that are spared.
struct Everywhere {
  std::atomic<bool> on{false};
  std::atomic<int64_t> left{0};
  std::atomic<bool> for_good{false};  // every request from the nth on
  std::atomic<bool> fired{false};
};
inline constinit Everywhere everywhere;
inline thread_local bool spared = false;

inline bool Fails() noexcept {
  if (requests_left >= 0 && --requests_left < 0) return fired = true;
  if (!everywhere.on.load(std::memory_order_relaxed) || spared) return false;
  const int64_t before = everywhere.left.fetch_sub(1, std::memory_order_relaxed);
  if (before > 1 || (before < 1 && !everywhere.for_good.load(std::memory_order_relaxed))) return false;
  everywhere.fired.store(true, std::memory_order_relaxed);
  return true;
}

// What was given and has not come back, of all threads.
inline constinit std::atomic<int64_t> live{0};

inline void* Allocate(size_t size, size_t alignment) noexcept {
  if (Fails()) return nullptr;
  live.fetch_add(1, std::memory_order_relaxed);
  const size_t bytes = size == 0 ? 1 : size;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

inline void Free(void* memory) noexcept {
  if (memory == nullptr) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

inline void* AllocateOrThrow(size_t size, size_t alignment) {
  void* const memory = Allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

inline constexpr size_t kPlain = alignof(std::max_align_t);

// `call` with the nth request of this thread failing. False: it made fewer.
template <class Call>
bool FailNth(int64_t nth, const Call& call) {
  fired = false;
  requests_left = nth - 1;
  call();
  requests_left = -1;
  return fired;
}

// `call` with the nth request of any thread failing, or all from that one on. False: there were fewer.
template <class Call>
bool FailNthAnywhere(int64_t nth, bool for_good, const Call& call) {
  everywhere.fired = false;
  everywhere.for_good = for_good;
  everywhere.left = nth;
  everywhere.on = true;
  call();
  everywhere.on = false;
  return everywhere.fired;
}

// What a client's callback needs itself is not the library's request.
class Spared {
 public:
  Spared() : left_(std::exchange(requests_left, -1)), spared_(std::exchange(spared, true)) {}
  ~Spared() {
    requests_left = left_;
    spared = spared_;
  }
  Spared(const Spared&) = delete;
  Spared& operator=(const Spared&) = delete;

 private:
  const int64_t left_;
  const bool spared_;
};

}  // namespace failing_new

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // the pair is right: both are below
void* operator new(size_t size) { return failing_new::AllocateOrThrow(size, failing_new::kPlain); }
void* operator new[](size_t size) { return failing_new::AllocateOrThrow(size, failing_new::kPlain); }
void* operator new(size_t size, std::align_val_t align) {
  return failing_new::AllocateOrThrow(size, static_cast<size_t>(align));
}
void* operator new[](size_t size, std::align_val_t align) {
  return failing_new::AllocateOrThrow(size, static_cast<size_t>(align));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return failing_new::Allocate(size, failing_new::kPlain);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return failing_new::Allocate(size, failing_new::kPlain);
}
void* operator new(size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return failing_new::Allocate(size, static_cast<size_t>(align));
}
void* operator new[](size_t size, std::align_val_t align, const std::nothrow_t&) noexcept {
  return failing_new::Allocate(size, static_cast<size_t>(align));
}
void operator delete(void* memory) noexcept { failing_new::Free(memory); }
void operator delete[](void* memory) noexcept { failing_new::Free(memory); }
void operator delete(void* memory, size_t) noexcept { failing_new::Free(memory); }
void operator delete[](void* memory, size_t) noexcept { failing_new::Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { failing_new::Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { failing_new::Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { failing_new::Free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { failing_new::Free(memory); }

#endif  // MILLPOND_SRC_BASE_FAILING_NEW_H_

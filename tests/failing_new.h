// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out: this program's operator new serves the libraries too, and fails when it is told to. For
// one file of a program.
#ifndef MILLPOND_TESTS_FAILING_NEW_H_
#define MILLPOND_TESTS_FAILING_NEW_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace failing_new {

inline thread_local int64_t requests_left = -1;  // below 0: nothing fails
inline thread_local bool fired = false;

inline void* Allocate(size_t size, size_t alignment) noexcept {
  if (requests_left >= 0 && --requests_left < 0) {
    fired = true;
    return nullptr;
  }
  const size_t bytes = size == 0 ? 1 : size;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
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

// What a client's callback needs itself is not the library's request.
class Spared {
 public:
  Spared() : left_(std::exchange(requests_left, -1)) {}
  ~Spared() { requests_left = left_; }
  Spared(const Spared&) = delete;
  Spared& operator=(const Spared&) = delete;

 private:
  const int64_t left_;
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
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

#endif  // MILLPOND_TESTS_FAILING_NEW_H_

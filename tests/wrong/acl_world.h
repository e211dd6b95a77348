// SPDX-License-Identifier: Apache-2.0
// What programs at acl's door share: a device with two streams, memory, events.
#ifndef MILLPOND_TESTS_WRONG_ACL_WORLD_H_
#define MILLPOND_TESTS_WRONG_ACL_WORLD_H_

#include <map>

#include "tests/wrong/rules_test.h"

namespace rules_test {

inline void Synchronize() { ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS); }
inline void Synchronize(aclrtStream stream) { ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS); }

// aclInit, a device and two streams, and what undoes them.
struct Device {
  Device() {
    ROLE_INIT();
    ROLE_CHECK(aclrtCreateStream(&one) == ACL_SUCCESS && aclrtCreateStream(&two) == ACL_SUCCESS);
  }
  ~Device() {
    Synchronize();
    DestroyOne();
    ROLE_CHECK(aclrtDestroyStream(two) == ACL_SUCCESS);
    ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  // Now, not at the end.
  void DestroyOne() {
    if (one != nullptr) ROLE_CHECK(aclrtDestroyStream(one) == ACL_SUCCESS);
    one = nullptr;
  }
  aclrtStream one = nullptr, two = nullptr;
};

inline constexpr size_t kBytes = 4096;

inline void* Malloc(size_t bytes = kBytes) {
  void* memory = nullptr;
  ROLE_CHECK(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  return memory;
}
inline void Free(void* memory) { ROLE_CHECK(aclrtFree(memory) == ACL_SUCCESS); }
// Freed at the end of its block.
class Memory {
 public:
  Memory() = default;
  ~Memory() { Free(address_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  operator void*() const { return address_; }  // NOLINT: as the functions take it

 private:
  void* const address_ = Malloc();
};
inline void Set(void* memory, size_t bytes, aclrtStream stream) {
  ROLE_CHECK(aclrtMemsetAsync(memory, bytes, 7, bytes, stream) == ACL_SUCCESS);
}
inline void Set(void* memory, aclrtStream stream) { Set(memory, kBytes, stream); }

// Destroyed at the end of its block.
class Event {
 public:
  Event() { ROLE_CHECK(aclrtCreateEvent(&event_) == ACL_SUCCESS); }
  explicit Event(uint32_t flags) { ROLE_CHECK(aclrtCreateEventWithFlag(&event_, flags) == ACL_SUCCESS); }
  ~Event() { ROLE_CHECK(aclrtDestroyEvent(event_) == ACL_SUCCESS); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator aclrtEvent() const { return event_; }  // NOLINT: as the functions take it

 private:
  aclrtEvent event_ = nullptr;
};
inline void Record(aclrtEvent event, aclrtStream stream) { ROLE_CHECK(aclrtRecordEvent(event, stream) == ACL_SUCCESS); }
inline void Wait(aclrtStream stream, aclrtEvent event) {
  ROLE_CHECK(aclrtStreamWaitEvent(stream, event) == ACL_SUCCESS);
}

// What came back to a pool, by size.
using Arena = std::multimap<size_t, void*>;
// A block of it, or a new one where it has none.
inline void* Take(Arena* arena, size_t bytes) {
  const auto found = arena->find(bytes);
  if (found == arena->end()) return Malloc(bytes);
  void* const memory = found->second;
  arena->erase(found);
  return memory;
}

}  // namespace rules_test

#endif  // MILLPOND_TESTS_WRONG_ACL_WORLD_H_

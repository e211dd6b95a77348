// SPDX-License-Identifier: Apache-2.0
// Memory of this rank that a communicator's other ranks may reach: windows, and reserved ranges of which parts are
// switched on. With one rank there are no others; what is registered is remembered and checked, so that a program that
// registers wrongly hears of it. Safe from any thread.
#ifndef MILLPOND_SRC_COMM_REGISTERED_MEMORY_H_
#define MILLPOND_SRC_COMM_REGISTERED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "src/base/mutex.h"

namespace millpond::comm {

class RegisteredMemory {
 public:
  enum class Answer : uint8_t {
    kDone,
    kUnknown,  // nothing of that kind is registered there
    kTaken,    // something is there already: a window, an overlapping range, an active part
  };

  Answer AddWindow(const void* address, size_t bytes);
  Answer RemoveWindow(const void* address);
  bool HasWindow(const void* address) const;
  // 0: there is none.
  size_t BytesOfWindow(const void* address) const;
  // All that the other has.
  void TakeFrom(RegisteredMemory* other);

  Answer AddRange(const void* base, size_t bytes);
  // kTaken: *out_active parts of it are active still.
  Answer RemoveRange(const void* base, size_t* out_active);
  // Switches [address, address + bytes) of one range on.
  Answer Activate(const void* address, size_t bytes);
  // kUnknown: no range holds the address; *out_in_range is then false, else the part is merely not active.
  Answer Deactivate(const void* address, bool* out_in_range);

 private:
  struct Range {
    size_t bytes = 0;
    std::map<uintptr_t, size_t> active;
  };
  // The range that holds [address, address + bytes), or null.
  Range* Find(uintptr_t address, size_t bytes) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<uintptr_t, Range> ranges_ GUARDED_BY(mutex_);
  std::map<uintptr_t, size_t> windows_ GUARDED_BY(mutex_);
};

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_REGISTERED_MEMORY_H_

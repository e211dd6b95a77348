// SPDX-License-Identifier: Apache-2.0
// Device memory that one run of a single operator needs beyond what the client gave: from the allocator registered for
// its stream, else the device's own.
#ifndef MILLPOND_SRC_EXEC_SINGLE_OP_MEMORY_H_
#define MILLPOND_SRC_EXEC_SINGLE_OP_MEMORY_H_

#include <cstddef>

#include "src/base/status.h"
#include "src/device/allocator_registry.h"
#include "src/device/stream.h"

namespace millpond {

// A block for one operand. Given back when destroyed: at once to a client's allocator, in the stream's order to the
// device. That is after the launch of what uses it, and so safe.
class SingleOpBlock {
 public:
  SingleOpBlock() = default;
  SingleOpBlock(SingleOpBlock&& other) noexcept { *this = std::move(other); }
  SingleOpBlock& operator=(SingleOpBlock&& other) noexcept;
  ~SingleOpBlock();

  void* address() const { return address_; }
  size_t bytes() const { return bytes_; }  // as asked for
  explicit operator bool() const { return address_ != nullptr; }
  // Gives it back where a failure can still be reported.
  Status Release();
  // It is the client's from now on.
  void HandOver();

 private:
  friend class SingleOpMemorySource;
  ExternalBlock external_;
  Stream* stream_ = nullptr;  // of a block of the device's own
  void* address_ = nullptr;
  size_t bytes_ = 0;
};

// The allocator is looked up once per run, when the first block is asked for.
class SingleOpMemorySource {
 public:
  explicit SingleOpMemorySource(Stream* stream) : stream_(stream) {}
  // `what` begins the message of a failure: "outputs[0]".
  Status Take(const char* what, size_t bytes, SingleOpBlock* out_block);

 private:
  Stream* const stream_;
  AllocatorLease lease_;
  bool looked_up_ = false;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_SINGLE_OP_MEMORY_H_

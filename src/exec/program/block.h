// SPDX-License-Identifier: Apache-2.0
// Device memory that a run or a loaded program holds, wherever it came from.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_BLOCK_H_
#define MILLPOND_SRC_EXEC_PROGRAM_BLOCK_H_

#include <cstddef>
#include <memory>

#include "src/base/status.h"
#include "src/device/memory/allocator_registry.h"

namespace millpond::program {

// What const and feature memory must be a multiple of, whoever brings it.
inline constexpr size_t kBaseAlignment = 32;
// Feature memory of a static program is at least this much: an allocator that answers null when asked for nothing must
// not look like one that has run out, and a client that asks for the sizes and allocates them must not ask for nothing.
inline constexpr size_t kMinFeatureBytes = 512;

// What GE asks an allocator for when a tensor needs `bytes`.
inline size_t PaddedBytes(size_t bytes) { return (bytes + 31) / 32 * 32 + 32; }

// Where a block came from. Its end gives the block back; what fails then can only be logged.
class BlockOwner {
 public:
  virtual ~BlockOwner() = default;
  // Gives it back now, where a failure can be reported.
  virtual Status Release() = 0;
  // It is the client's from now on.
  virtual void HandOver() = 0;
};

// Goes back when the last holder of `owner` lets go.
struct Block {
  void* address = nullptr;
  size_t bytes = 0;
  std::shared_ptr<BlockOwner> owner;

  explicit operator bool() const { return address != nullptr; }
  // pre of both: nobody else holds the owner. The block is empty afterwards.
  Status Release();
  void HandOver();
};

// From a client's allocator: given back, through the client's Free, by the last holder. `near`: where an earlier block
// of this purpose was, which is passed on as advice; null when there was none.
Status TakeExternal(const AllocatorLease& lease, size_t bytes, void* near, Block* out_block);

// Where a run's memory comes from: the client's allocator for the stream, or the built-in one.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  virtual Status Take(size_t bytes, Block* out_block) = 0;
};

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_BLOCK_H_

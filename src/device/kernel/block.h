// SPDX-License-Identifier: Apache-2.0
// What a client's kernel sees of the runtime while a block of it runs, and what the client's library says of a kernel.
// The layouts are those of include/millpond/kernel_types.h, which src/api compares.
#ifndef MILLPOND_SRC_DEVICE_KERNEL_BLOCK_H_
#define MILLPOND_SRC_DEVICE_KERNEL_BLOCK_H_

#include <cstddef>
#include <cstdint>

namespace millpond {

struct KernelBlock {
  size_t size = sizeof(KernelBlock);
  uint32_t index = 0;
  uint32_t count = 0;
  void* state[4] = {};
};

struct KernelFunctions {
  size_t size;
  KernelBlock* (*block)();
  void* (*reachable)(void* address);
  void* (*local_memory)(size_t bytes);
  void (*fail)(const char* message);
};

struct KernelParameter {
  uint32_t bytes;
  uint32_t alignment;
};

struct KernelInfo {
  size_t size;
  const char* name;
  void (*call)(void* const* arguments);
  const KernelParameter* parameters;
  size_t parameter_count;
};

// Given to every library that has a place for it.
extern const KernelFunctions kKernelFunctions;

// While one lives, the calling thread runs a block.
class InBlock {
 public:
  explicit InBlock(KernelBlock* block);
  ~InBlock();
  InBlock(const InBlock&) = delete;
  InBlock& operator=(const InBlock&) = delete;

 private:
  KernelBlock* former_;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_KERNEL_BLOCK_H_

// SPDX-License-Identifier: Apache-2.0
#include "src/device/kernel/block.h"

#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "src/device/memory/memory.h"

namespace millpond {

namespace {

thread_local KernelBlock* t_block = nullptr;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// A thread's local memory: as large as the largest block of it so far has asked for.
struct Local {
  std::unique_ptr<void, Free> memory;
  size_t bytes = 0;
};
thread_local Local t_local;

KernelBlock* Block() { return t_block; }
void* ReachableByKernel(void* address) { return Reachable(address); }

void* LocalMemory(size_t bytes) {
  constexpr size_t kAlignment = 64;
  constexpr size_t kMax = size_t{64} << 20;  // far beyond any core's
  if (bytes == 0 || bytes > kMax) return nullptr;
  if (t_local.bytes < bytes) {
    const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    t_local.memory.reset(std::aligned_alloc(kAlignment, rounded));
    t_local.bytes = t_local.memory != nullptr ? rounded : 0;
  }
  return t_local.memory.get();
}

// Thrown through the kernel: its frames are unwound, and whoever runs the block catches.
void Fail(const char* message) { throw std::runtime_error(message != nullptr ? message : "it gave no reason"); }

}  // namespace

const KernelFunctions kKernelFunctions = {sizeof(KernelFunctions), &Block, &ReachableByKernel, &LocalMemory, &Fail};

InBlock::InBlock(KernelBlock* block) : former_(t_block) { t_block = block; }
InBlock::~InBlock() { t_block = former_; }

}  // namespace millpond

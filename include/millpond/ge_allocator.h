// SPDX-License-Identifier: Apache-2.0
//
// A millpondPool as a ge::Allocator, for ge::Session::RegisterExternalAllocator. Header only, on the C functions of
// millpond/pool.h, so that it suits either string ABI. Link libmillpond_pool.so.
#ifndef MILLPOND_INCLUDE_MILLPOND_GE_ALLOCATOR_H_
#define MILLPOND_INCLUDE_MILLPOND_GE_ALLOCATOR_H_

#include <cstddef>
#include <new>

#include "ge/ge_allocator.h"
#include "millpond/pool.h"

namespace millpond {

// Hands out blocks of `pool` on `stream`: register one for each stream. Safe from any thread. Both pool and stream must
// outlive it, and it must outlive its blocks. Where a call fails, millpondPoolLastError() says why.
class PoolAllocator : public ge::Allocator {
 public:
  PoolAllocator(millpondPool pool, aclrtStream stream) : pool_(pool), stream_(stream) {}

  ge::MemBlock* Malloc(size_t size) override {
    void* address = nullptr;
    if (millpondPoolMalloc(pool_, AtLeastOne(size), stream_, &address) != ACL_SUCCESS) return nullptr;
    return Wrap(address, size);
  }

  ge::MemBlock* MallocAdvise(size_t size, void* addr) override {
    void* address = nullptr;
    if (millpondPoolMallocAt(pool_, AtLeastOne(size), stream_, addr, &address) != ACL_SUCCESS) return nullptr;
    return Wrap(address, size);
  }

  void Free(ge::MemBlock* block) override {
    if (block == nullptr) return;
    static_cast<void>(millpondPoolFree(pool_, block->GetAddr(), stream_));
    delete block;
  }

 private:
  // Graphs ask for empty buffers too and take a null block for a failure.
  static size_t AtLeastOne(size_t size) { return size != 0 ? size : 1; }

  ge::MemBlock* Wrap(void* address, size_t size) {
    auto* block = new (std::nothrow) ge::MemBlock(*this, address, size);
    if (block == nullptr) static_cast<void>(millpondPoolFree(pool_, address, stream_));
    return block;
  }

  millpondPool pool_;
  aclrtStream stream_;
};

}  // namespace millpond

#endif  // MILLPOND_INCLUDE_MILLPOND_GE_ALLOCATOR_H_

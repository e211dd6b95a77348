// SPDX-License-Identifier: Apache-2.0
//
// A memory allocator that a program lends to graphs, and the blocks it hands out.
//
// The layout is frozen: callers compiled against CANN call these slots (Itanium C++ ABI, 64-bit pointers).
//   Allocator  vtable 0,1 destructors  2 Malloc  3 Free  4 MallocAdvise
//   MemBlock   vtable 0,1 destructors  then allocator, address, count, size: 40 bytes
#ifndef MILLPOND_INCLUDE_GE_GE_ALLOCATOR_H_
#define MILLPOND_INCLUDE_GE_GE_ALLOCATOR_H_

#include <cstddef>
#include <memory>

namespace ge {

class MemBlock;

class Allocator {
 public:
  Allocator() = default;
  virtual ~Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // A block with count 1, which belongs to the caller until the count is 0; null when there is no memory.
  virtual MemBlock* Malloc(size_t size) = 0;
  // Called once per block, by MemBlock::Free; deletes the block object too.
  virtual void Free(MemBlock* block) = 0;
  // The caller would like the block at the address, where an earlier one was. An allocator may give any other.
  virtual MemBlock* MallocAdvise(size_t size, void*) { return Malloc(size); }
};

// Shared by counting; not safe from two threads at once. It refers to its allocator without owning it: free every block
// before the allocator goes.
class MemBlock {
 public:
  MemBlock(Allocator& from, void* address, size_t bytes) : home_(from), address_(address), bytes_(bytes) {}
  virtual ~MemBlock() = default;

  void* GetAddr() { return address_; }
  const void* GetAddr() const { return address_; }
  void SetSize(size_t bytes) { bytes_ = bytes; }
  size_t GetSize() const { return bytes_; }

  size_t GetCount() const { return owners_; }
  size_t AddCount() { return owners_ += 1; }
  size_t SubCount() { return owners_ -= 1; }
  // One owner less; the last one gives the block back. Without owners nothing happens.
  void Free() {
    const bool last = owners_ == 1;
    if (owners_ > 0) SubCount();
    if (last) home_.Free(this);
  }

 private:
  Allocator& home_;
  void* address_;
  size_t owners_ = 1;
  size_t bytes_;
};

using AllocatorPtr = std::shared_ptr<Allocator>;

static_assert(sizeof(Allocator) == sizeof(void*), "an Allocator is its vtable pointer");
static_assert(sizeof(MemBlock) == 5 * sizeof(void*), "vtable pointer, allocator, address, count, size");

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_GE_ALLOCATOR_H_

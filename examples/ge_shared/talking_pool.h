// SPDX-License-Identifier: Apache-2.0
// An allocator for graphs that prints what it does: one piece of device memory, split by first fit. Small on purpose;
// libmillpond_pool.so has a fast one (examples/pool_ge).
#ifndef MILLPOND_EXAMPLES_GE_SHARED_TALKING_POOL_H_
#define MILLPOND_EXAMPLES_GE_SHARED_TALKING_POOL_H_

#include <acl/acl.h>
#include <ge/ge_allocator.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <string>

class TalkingPool : public ge::Allocator {
 public:
  explicit TalkingPool(std::string name, size_t bytes = size_t{1} << 20) : name_(std::move(name)), bytes_(bytes) {
    if (aclrtMalloc(&memory_, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS) free_[0] = bytes;
  }
  // The stream's work has ended by now: the pool's owner synchronises before destroying it (page
  // "RegisterExternalAllocator").
  ~TalkingPool() override {
    std::printf("  %-6s destroyed; %d blocks given, %d freed, %zu bytes still out\n", name_.c_str(), given, freed,
                out_);
    aclrtFree(memory_);
  }

  // Null means out of memory: the call that needed it fails, and nothing else happens.
  ge::MemBlock* Malloc(size_t size) override { return Give(size, Fit(Rounded(size)), ""); }

  // At an earlier block's address, if that is free now.
  ge::MemBlock* MallocAdvise(size_t size, void* address) override {
    ++advised;
    const auto wanted = static_cast<size_t>(static_cast<char*>(address) - static_cast<char*>(memory_));
    auto range = free_.upper_bound(wanted);
    if (range != free_.begin() && wanted < bytes_) {
      --range;
      if (range->first + range->second >= wanted + Rounded(size)) return Give(size, wanted, " where it was");
    }
    return Give(size, Fit(Rounded(size)), " elsewhere");
  }

  // Called by MemBlock::Free for the last owner; the block object is ours to delete.
  void Free(ge::MemBlock* block) override {
    const auto offset = static_cast<size_t>(static_cast<char*>(block->GetAddr()) - static_cast<char*>(memory_));
    std::printf("  %-6s freed %p  %6zu bytes\n", name_.c_str(), block->GetAddr(), block->GetSize());
    ++freed;
    out_ -= block->GetSize();
    auto range = free_.emplace(offset, Rounded(block->GetSize())).first;
    delete block;
    if (auto next = std::next(range); next != free_.end() && range->first + range->second == next->first) {
      range->second += next->second;
      free_.erase(next);
    }
    if (range != free_.begin()) {
      auto before = std::prev(range);
      if (before->first + before->second == range->first) {
        before->second += range->second;
        free_.erase(range);
      }
    }
  }

  int given = 0;
  int freed = 0;
  int advised = 0;

 private:
  static constexpr size_t kNowhere = SIZE_MAX;
  // Addresses must be multiples of 32. A request for nothing still gets a block.
  static size_t Rounded(size_t size) { return size == 0 ? 64 : (size + 63) / 64 * 64; }

  size_t Fit(size_t size) const {
    for (const auto& [offset, length] : free_) {
      if (length >= size) return offset;
    }
    return kNowhere;
  }

  ge::MemBlock* Give(size_t size, size_t offset, const char* note) {
    if (offset == kNowhere) {
      std::printf("  %-6s has no %zu bytes left\n", name_.c_str(), size);
      return nullptr;
    }
    auto range = std::prev(free_.upper_bound(offset));
    const size_t begin = range->first;
    const size_t end = begin + range->second;
    free_.erase(range);
    if (offset > begin) free_[begin] = offset - begin;
    if (end > offset + Rounded(size)) free_[offset + Rounded(size)] = end - offset - Rounded(size);
    void* const address = static_cast<char*>(memory_) + offset;
    std::printf("  %-6s gives %p  %6zu bytes%s\n", name_.c_str(), address, size, note);
    ++given;
    out_ += size;
    return new ge::MemBlock(*this, address, size);  // its count is 1: the caller's
  }

  const std::string name_;
  const size_t bytes_;
  void* memory_ = nullptr;
  std::map<size_t, size_t> free_;  // offset -> bytes
  size_t out_ = 0;
};

#endif  // MILLPOND_EXAMPLES_GE_SHARED_TALKING_POOL_H_

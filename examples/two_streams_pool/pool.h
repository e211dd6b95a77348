// SPDX-License-Identifier: Apache-2.0
// A small memory pool such as a user would write: one slab of device memory, best fit, neighbours merged. It knows only
// the public acl API, and provides blocks in the form that aclrtAllocatorRegister requires.
#ifndef MILLPOND_EXAMPLES_TWO_STREAMS_POOL_POOL_H_
#define MILLPOND_EXAMPLES_TWO_STREAMS_POOL_POOL_H_

#include <acl/acl.h>
#include <acl/acl_rt_allocator.h>

#include <cstdio>
#include <map>
#include <string>

class Pool {
 public:
  struct Block {
    Pool* pool;
    size_t offset, bytes;
    std::string owner;
  };

  // Allocates the slab. ok(): whether there was memory for it.
  Pool(const char* name, size_t bytes) : name_(name), capacity_(bytes) {
    if (aclrtMalloc(&slab_, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) slab_ = nullptr;
    if (slab_ != nullptr) free_[0] = bytes;
  }
  // pre: every stream that used a block has been synchronised (the documents require that before memory is released).
  ~Pool() {
    if (slab_ != nullptr) aclrtFree(slab_);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  bool ok() const { return slab_ != nullptr; }
  size_t in_use() const { return in_use_; }
  size_t peak() const { return peak_; }
  int blocks_given() const { return given_; }

  Block* Allocate(size_t bytes, const char* owner) {
    bytes = (bytes + kAlign - 1) / kAlign * kAlign;
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    }
    if (best == free_.end()) return nullptr;
    const auto [offset, span] = *best;
    free_.erase(best);
    if (span > bytes) free_[offset + bytes] = span - bytes;
    in_use_ += bytes;
    peak_ = in_use_ > peak_ ? in_use_ : peak_;
    ++given_;
    std::printf("  [%s] gives %7zu bytes at slab+%-8zu to %s\n", name_, bytes, offset, owner);
    return new Block{this, offset, bytes, owner};
  }

  void Free(Block* block) {
    std::printf("  [%s] gets  %7zu bytes at slab+%-8zu from %s\n", name_, block->bytes, block->offset,
                block->owner.c_str());
    in_use_ -= block->bytes;
    auto here = free_.emplace(block->offset, block->bytes).first;
    if (auto next = std::next(here); next != free_.end() && here->first + here->second == next->first) {
      here->second += next->second;
      free_.erase(next);
    }
    if (here != free_.begin()) {
      auto previous = std::prev(here);
      if (previous->first + previous->second == here->first) {
        previous->second += here->second;
        free_.erase(here);
      }
    }
    delete block;
  }

  void* Address(const Block* block) const { return static_cast<char*>(slab_) + block->offset; }

  // The four callbacks of aclrtAllocatorRegister.
  static void* OnAlloc(aclrtAllocator pool, size_t bytes) {
    return static_cast<Pool*>(pool)->Allocate(bytes, "a stream");
  }
  static void OnFree(aclrtAllocator pool, aclrtAllocatorBlock block) {
    static_cast<Pool*>(pool)->Free(static_cast<Block*>(block));
  }
  static void* OnAdvise(aclrtAllocator pool, size_t bytes, aclrtAllocatorAddr) { return OnAlloc(pool, bytes); }
  static void* OnAddress(aclrtAllocatorBlock block) {
    return static_cast<Block*>(block)->pool->Address(static_cast<Block*>(block));
  }

 private:
  static constexpr size_t kAlign = 512;
  const char* name_;
  size_t capacity_;
  void* slab_ = nullptr;
  std::map<size_t, size_t> free_;  // offset -> bytes
  size_t in_use_ = 0, peak_ = 0;
  int given_ = 0;
};

#endif  // MILLPOND_EXAMPLES_TWO_STREAMS_POOL_POOL_H_

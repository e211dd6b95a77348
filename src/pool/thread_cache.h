// SPDX-License-Identifier: Apache-2.0
// One thread's cache of one lane: freed small blocks in lists of equal size, and the last freed large block. Its thread
// accesses it without a lock and without an atomic read-modify-write. Anyone else who needs its content (trim,
// snapshot, out of memory) takes the lane's lock, sets `revoked`, and makes every thread of the process execute a
// memory barrier (membarrier), after which either it sees `busy` or the owner sees `revoked`.
#ifndef MILLPOND_SRC_POOL_THREAD_CACHE_H_
#define MILLPOND_SRC_POOL_THREAD_CACHE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "src/pool/heap.h"

namespace millpond::pool {

// Allocations and frees since some point in time, and the high-water mark of live bytes meanwhile.
struct Counts {
  int64_t live = 0, used = 0;            // bytes: requested, rounded
  int64_t live_high = 0, used_high = 0;  // their high-water marks
  uint64_t allocations = 0, frees = 0;
};

// The counts of a lane, or of a plan's areas. One writer at a time, many readers.
struct Tally {
  std::atomic<int64_t> live{0}, used{0};
  std::atomic<uint64_t> allocations{0}, frees{0};

  // What the pool's other tallies added up to when last summed: tells, without touching their cache lines, whether the
  // pool is near its high-water mark.
  int64_t others_live = 0, others_used = 0;
  uint32_t looks_due = 0;  // allocations until the next look

  void Add(const Counts& counts) {
    live.store(live.load(std::memory_order_relaxed) + counts.live, std::memory_order_relaxed);
    used.store(used.load(std::memory_order_relaxed) + counts.used, std::memory_order_relaxed);
    allocations.store(allocations.load(std::memory_order_relaxed) + counts.allocations, std::memory_order_relaxed);
    frees.store(frees.load(std::memory_order_relaxed) + counts.frees, std::memory_order_relaxed);
  }
};

class alignas(64) ThreadCache {
 public:
  ThreadCache(Lane* lane, const BlockTable* blocks, size_t small_limit, size_t cache_limit)
      : lane_(lane), blocks_(blocks), small_limit_(small_limit), cache_limit_(cache_limit) {}

  // False where the kernel has no membarrier: then there are no thread caches.
  static bool Supported();

  Lane* lane() const { return lane_; }

  // The owner brackets everything it does without the lane's lock with Enter and Leave. False: go through the lane.
  bool Enter() {
    busy_.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (__builtin_expect(revoked_.load(std::memory_order_acquire) == kOpen, true)) return true;
    busy_.store(0, std::memory_order_release);
    return false;
  }
  void Leave() { busy_.store(0, std::memory_order_release); }

  // Others, with the lane's lock: afterwards the owner stays out until Return.
  void Revoke();
  void Return() {
    if (revoked_.load(std::memory_order_relaxed) == kRevoked) revoked_.store(kOpen, std::memory_order_release);
  }
  // The lane's stream is gone: only the owner reopens the cache, once it has dropped its notes of the old stream.
  void Close() { revoked_.store(kClosed, std::memory_order_release); }
  void Reopen() { revoked_.store(kOpen, std::memory_order_release); }
  bool closed() const { return revoked_.load(std::memory_order_relaxed) == kClosed; }

  // The owner inside Enter: the block of its lane that starts at `address`; null: none, or look with the lock.
  Block* Find(Address address) const { return blocks_->Find(address); }

  // For the owner inside Enter, or for any thread with the lane's lock after Revoke (the owner needs only the lock).
  Block* Pop(size_t bytes) {
    if (bytes >= small_limit_) {
      Block* block = large_;
      if (block == nullptr || block->bytes != bytes) return nullptr;
      large_ = nullptr;
      return block;
    }
    Block* block = latest_;
    if (block != nullptr && block->bytes == bytes) {
      latest_ = nullptr;
      return block;
    }
    Chain& chain = chains_[Index(bytes)];
    block = chain.head;
    if (block == nullptr || chain.bytes != bytes) return nullptr;
    chain.head = block->next;
    held_ -= bytes;
    return block;
  }
  // False: no room; the caller makes some.
  bool Push(Block* block) {
    const size_t bytes = block->bytes;
    if (bytes >= small_limit_) {
      if (large_ != nullptr) return false;
      large_ = block;
      return true;
    }
    if (Block* older = latest_; older != nullptr) {
      Chain& chain = chains_[Index(older->bytes)];
      if ((chain.head != nullptr && chain.bytes != older->bytes) || held_ + older->bytes > cache_limit_) return false;
      chain.bytes = older->bytes;
      older->next = chain.head;
      chain.head = older;
      held_ += older->bytes;
    }
    latest_ = block;
    return true;
  }
  // Evicts just enough for a block of `bytes` to be pushed.
  template <class Visit>
  void MakeRoom(size_t bytes, Visit visit) {
    if (bytes >= small_limit_) {
      if (large_ != nullptr) visit(std::exchange(large_, nullptr));
      return;
    }
    if (latest_ == nullptr) return;
    Chain& chain = chains_[Index(latest_->bytes)];
    if (held_ + latest_->bytes > cache_limit_) {
      TakeSmall(visit);
    } else if (chain.head != nullptr && chain.bytes != latest_->bytes) {
      TakeChain(chain, visit);
    }
  }
  Block* TakeLarge() { return std::exchange(large_, nullptr); }
  template <class Visit>
  void TakeSmall(Visit visit) {
    if (latest_ != nullptr) visit(std::exchange(latest_, nullptr));
    for (Chain& chain : chains_) TakeChain(chain, visit);
  }

  // What the owner did since the counts were last folded into the lane's. One writer, many readers.
  void CountAllocation(size_t requested, size_t bytes) {
    Raise(live_, live_high_, requested);
    Raise(used_, used_high_, bytes);
    Add(allocations_, 1);
  }
  void CountFree(size_t requested, size_t bytes) {
    Add(live_, -static_cast<int64_t>(requested));
    Add(used_, -static_cast<int64_t>(bytes));
    Add(frees_, 1);
  }
  // How often the owner has come through the lane's lock.
  uint32_t CountLocked() { return ++locked_; }
  bool counted() const {
    return (allocations_.load(std::memory_order_relaxed) | frees_.load(std::memory_order_relaxed)) != 0;
  }
  Counts Read() const;
  Counts TakeCounts();  // the owner, or others after Revoke

 private:
  static constexpr uint32_t kOpen = 0, kRevoked = 1, kClosed = 2;
  static constexpr size_t kChains = 64;
  struct Chain {
    size_t bytes = 0;
    Block* head = nullptr;
  };
  template <class Visit>
  void TakeChain(Chain& chain, Visit visit) {
    for (Block* block = std::exchange(chain.head, nullptr); block != nullptr;) {
      Block* next = block->next;
      held_ -= block->bytes;
      visit(block);
      block = next;
    }
  }
  static size_t Index(size_t bytes) { return (bytes / kUnit * 0x9e3779b97f4a7c15u) >> 58; }
  template <class T>
  static T Add(std::atomic<T>& counter, std::type_identity_t<T> delta) {
    const T value = counter.load(std::memory_order_relaxed) + delta;
    counter.store(value, std::memory_order_relaxed);
    return value;
  }
  static void Raise(std::atomic<int64_t>& counter, std::atomic<int64_t>& high, size_t bytes) {
    const int64_t value = Add(counter, static_cast<int64_t>(bytes));
    if (value > high.load(std::memory_order_relaxed)) high.store(value, std::memory_order_relaxed);
  }

  std::atomic<uint32_t> busy_{0};
  std::atomic<uint32_t> revoked_{0};
  Lane* const lane_;
  const BlockTable* const blocks_;  // the lane's
  const size_t small_limit_;
  const size_t cache_limit_;
  Block* large_ = nullptr;
  Block* latest_ = nullptr;  // the small block freed last
  size_t held_ = 0;
  uint32_t locked_ = 0;
  std::atomic<int64_t> live_{0}, used_{0}, live_high_{0}, used_high_{0};
  std::atomic<uint64_t> allocations_{0}, frees_{0};
  std::array<Chain, kChains> chains_;
};

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_THREAD_CACHE_H_

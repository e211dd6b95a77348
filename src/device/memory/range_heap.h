// SPDX-License-Identifier: Apache-2.0
// Hands out blocks of one address range without ever touching it. Used for device heaps (where touching is what must
// not happen) and for pinned host memory.
//
// Why not a std::map: every copy asks which block an address lies in, from any thread, and the fault handler asks
// too. Here that is a few loads and no lock. A span (free or live) begins where a bit is set in a bitmap of granules; a
// 64-way tree of summary bits above it finds the last set bit at or before an address. What is known of a span lies in
// a table indexed by its first granule, of which only the touched pages exist. Free spans hang in bins by size, 32 to
// each power of two, so a fit is found in two bit scans and wastes at most 3 %.
//
// Pages stay resident after a free, because the first touch of a page costs more than everything else here; beyond
// `keep_bytes` of wholly free 2 MiB pages the uppermost ones are given back, which takes long: by the PageReturner.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_RANGE_HEAP_H_
#define MILLPOND_SRC_DEVICE_MEMORY_RANGE_HEAP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "src/base/spinlock.h"
#include "src/base/status.h"

namespace millpond {

// How the quota counts a block: rounded up to this.
enum class PageClass : uint8_t { kNormal, kHuge, kHuge1G };

struct HeapBlock {
  uintptr_t base = 0;
  size_t bytes = 0;     // as asked for
  uint64_t number = 0;  // from 1, unique in the process
  const char* tag = nullptr;
  PageClass pages = PageClass::kNormal;
  bool own_pages = false;  // begins and ends on host pages that no other block has a part of
  bool pinned = false;     // see RangeHeap::Pin
  bool fenced = false;     // one host page more belongs to it, behind its own, which is nobody's memory
};

uint64_t NextBlockNumber();

class RangeHeap {
 public:
  static constexpr size_t kGranule = 512;
  static constexpr size_t kPage = size_t{2} << 20;
  static constexpr size_t kHostPage = 4096;
  static constexpr size_t kFreedRemembered = 4096;

  // What is given back at once: an allocation that finds nothing else free waits for it.
  static constexpr size_t kReturnedAtOnce = 4 * kPage;

  // Gives the memory behind [address, address + bytes) back to the host; called without the lock held.
  using GiveBack = std::function<void(uintptr_t address, size_t bytes)>;

  // pre: `begin` and `span` are multiples of kPage, span at most 1 TiB. Fails when the tables cannot be mapped.
  Status Open(uintptr_t begin, size_t span, size_t keep_bytes, GiveBack give_back);
  ~RangeHeap();

  // The block's address, or 0 when no free run is large enough. pre: bytes > 0, alignment a power of two. From
  // kHostPage on the block also ends on a host page of its own. `fenced`: and the page behind that one is kept free.
  uintptr_t Allocate(size_t bytes, size_t alignment, PageClass pages, const char* tag, uint64_t* out_number,
                     bool fenced = false);
  // False, and nothing changed, unless a live block begins at `base`.
  bool Free(uintptr_t base, HeapBlock* out_block);
  // Free in two steps: after the first the block is freed for all who ask, but nobody is given its place, nor are its
  // pages given back, until the second. pre of Release: `base` was retired.
  bool Retire(uintptr_t base, HeapBlock* out_block);
  void Release(uintptr_t base);
  // A pinned block is not freed until it is unpinned: its pages are not the heap's own any more. False unless block
  // `number` begins at `base`, is live and has own pages.
  bool Pin(uintptr_t base, uint64_t number, bool pinned);

  // The live block that holds `address`, if any. Lock-free; safe in a signal handler. A block that another thread
  // frees or allocates at the same time may be seen either way.
  bool Find(uintptr_t address, HeapBlock* out_block) const;
  // The latest freed block that held `address`, among the last kFreedRemembered. Lock-free as well.
  bool FindFreed(uintptr_t address, HeapBlock* out_block) const;

  uintptr_t begin() const { return begin_; }
  size_t span() const { return granules_ * kGranule; }
  bool Contains(uintptr_t address) const { return address - begin_ < span(); }
  size_t LargestFree() const;
  std::vector<HeapBlock> LiveBlocks() const;
  size_t kept_bytes() const;
  // Walks everything: spans tile the range, neighbours are not both free, bins and page counts agree. For tests.
  bool IsValid() const;

  // Gives back at most kReturnedAtOnce of what is beyond `keep_bytes`. False when nothing was.
  bool GiveBackSome();

 private:
  friend class PageReturner;
  using Index = uint32_t;  // of a granule
  static constexpr Index kNone = UINT32_MAX;
  static constexpr uint32_t kExactBins = 32;
  static constexpr uint32_t kBins = kExactBins + 28 * 32;
  static constexpr int kMaxLevels = 6;
  // What is known of a span. `word`: the bits below, page class, bytes. `links`: a free span's neighbours in its
  // bin; a live block's tag.
  struct Span {
    std::atomic<uint64_t> word;
    std::atomic<uint64_t> number;
    std::atomic<uint64_t> links;
  };
  static constexpr uint64_t kLive = uint64_t{1} << 63;
  static constexpr uint64_t kHeld = uint64_t{1} << 62;  // taken out while its pages are given back
  static constexpr uint64_t kOwnPages = uint64_t{1} << 61;
  static constexpr uint64_t kPinned = uint64_t{1} << 60;
  static constexpr uint64_t kRetired = uint64_t{1} << 59;  // with kHeld: its pages count as used
  static constexpr uint64_t kFenced = uint64_t{1} << 58;
  static constexpr int kClassShift = 56;
  static constexpr uint64_t kBytesMask = (uint64_t{1} << 48) - 1;
  static constexpr uint16_t kTouched = 0x8000;

  struct Freed {
    std::atomic<uint64_t> base{0}, bytes{0}, number{0};
    std::atomic<const char*> tag{nullptr};
  };

  static uint32_t BinOf(Index granules);
  static uint32_t BinHolding(Index granules);  // the first bin whose every span is at least that large
  static Index GranulesOf(uint64_t word) {
    const size_t unit = (word & kOwnPages) != 0 ? kHostPage : kGranule;
    const size_t fence = (word & kFenced) != 0 ? kHostPage / kGranule : 0;
    return static_cast<Index>(((word & kBytesMask) + unit - 1) / unit * (unit / kGranule) + fence);
  }
  HeapBlock BlockOf(uintptr_t base, uint64_t word, const Span& span) const;

  bool BeginFree(uintptr_t base, HeapBlock* out_block, uint64_t* out_word) REQUIRES(lock_);
  bool ReturnLocked(Index at, uint64_t word) REQUIRES(lock_);  // true: pages are to be given back
  Index TakeFit(Index granules, Index* out_size) REQUIRES(lock_);
  Index TakeAligned(Index granules, Index unit, Index* out_size, Index* out_at) REQUIRES(lock_);
  Index FindPrevious(Index at) const;
  void SetStart(Index at) REQUIRES(lock_);
  void ClearStart(Index at) REQUIRES(lock_);
  void InsertFree(Index at, Index granules) REQUIRES(lock_);
  void RemoveFree(Index at, Index granules) REQUIRES(lock_);
  void ReturnSpan(Index at, Index granules) REQUIRES(lock_);  // merges with free neighbours
  void CarveLive(Index run, Index run_size, Index at, Index granules, uint64_t word) REQUIRES(lock_);
  void CountPages(Index at, Index granules, bool live) REQUIRES(lock_);
  bool HoldSurplus(Index* out_at, Index* out_granules);

  uintptr_t begin_ = 0;
  Index granules_ = 0;
  size_t keep_pages_ = 0;
  GiveBack give_back_;
  int levels_ = 0;
  std::atomic<uint64_t>* level_[kMaxLevels] = {};
  Span* spans_ = nullptr;
  void* tables_ = nullptr;
  size_t tables_bytes_ = 0;

  mutable SpinLock lock_;  // for what says so, and for all writes to the tables above: those are read without it
  uint64_t bin_bits_[(kBins + 63) / 64] GUARDED_BY(lock_) = {};
  Index bin_head_[kBins] GUARDED_BY(lock_);
  std::vector<uint16_t> pages_ GUARDED_BY(lock_);  // per 2 MiB: kTouched, and how many live blocks overlap it
  size_t kept_pages_ GUARDED_BY(lock_) = 0;        // touched, no live block
  uint32_t held_ GUARDED_BY(lock_) = 0;
  struct {
    RangeHeap* next = nullptr;
    bool listed = false;
  } to_return_;  // the PageReturner's, guarded by its lock
  uint64_t freed_count_ GUARDED_BY(lock_) = 0;
  std::vector<Freed> freed_;  // a ring of atomics, written under lock_
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_RANGE_HEAP_H_

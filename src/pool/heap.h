// SPDX-License-Identifier: Apache-2.0
// Blocks in address order over spans of addresses, the free ones in an index. A span that grows by pages is tiled by
// live, free and hole blocks: a hole has no memory behind it. Two kinds of free bytes follow: whole pages, which can be
// mapped elsewhere, and the rest, which are stranded where they are; placement keeps that fragmentation as small as it
// can. A Heap knows nothing of streams, takes no lock and makes no system call; callers hold the lane's lock. What
// gives back asks for no host memory; what takes asks first, and changes nothing if there is none.
#ifndef MILLPOND_SRC_POOL_HEAP_H_
#define MILLPOND_SRC_POOL_HEAP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/pool/block_table.h"
#include "src/pool/free_index.h"
#include "src/pool/page_source.h"
#include "src/pool/snapshot.h"

namespace millpond::pool {

class Heap;
class Lane;
struct Span;

// The work of other streams that a block waits for after its free.
struct OtherStreams {
  std::vector<StreamKey> streams;
  std::vector<Ticket> tickets;  // once it is freed; has room for all of them
};

inline constexpr size_t kUnit = 512;  // every block is a multiple of it
constexpr size_t RoundUp(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

// Two cache lines, which processors prefetch as a pair; what every allocation and free accesses is in the first.
struct alignas(128) Block {
  // kCached: freed by the client, in a ThreadCache. kPending: freed, but another stream still uses it.
  using State = BlockState;

  Address address = 0;
  size_t bytes = 0;
  std::atomic<State> state{State::kHole};
  bool planned = false;
  bool recorded = false;  // other streams use it too: `others` has them
  size_t requested = 0;
  Block* next = nullptr;    // in the list of holes, of pending blocks, or in a thread cache's list
  Block* before = nullptr;  // neighbours in the span
  Block* after = nullptr;
  Span* span = nullptr;
  uint64_t freed_at = 0;  // the lane's serial number of the free
  uint64_t since_ns = 0;  // only kept when the pool has history
  const char* tag = nullptr;
  Block* last = nullptr;  // in the list of holes
  Ticket ticket = 0;      // of the stream that freed it, while it is pending
  std::unique_ptr<OtherStreams> others;

  Address end() const { return address + bytes; }
  bool HasTickets() const { return ticket != 0 || (others != nullptr && !others->tickets.empty()); }
  bool Is(State wanted) const { return state.load(std::memory_order_relaxed) == wanted; }
};

// Addresses reserved at once. `starts` has a bit for each unit where a block begins: a table of pointers would take a
// page of host memory for each 256 KiB that a block begins in.
struct Span {
  Span(Heap* owner, Address at, size_t size, size_t page_size);
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  bool Holds(Address where) const { return where - address < bytes; }
  Block* At(Address where) const;  // the block that starts there; null: none
  // The block that starts at or closest before. Without the lane's lock it may be outdated, or missed.
  Block* Holding(Address where) const;
  void SetStart(Address where, bool starts_there) {
    const size_t unit = (where - address) / kUnit;
    std::atomic<uint64_t>& word = starts[unit / 64];
    const uint64_t bit = uint64_t{1} << unit % 64;
    const uint64_t now = word.load(std::memory_order_relaxed);
    word.store(starts_there ? now | bit : now & ~bit, std::memory_order_relaxed);  // one writer at a time
  }
  PageHandle& PageAt(Address where) { return pages[(where - address) / page_bytes]; }

  Heap* heap;
  Address address;
  size_t bytes;
  size_t page_bytes;  // 0: a segment
  std::atomic<uint64_t>* starts = nullptr;
  std::vector<PageHandle> pages;
  size_t mapped_bytes = 0;
  Block* first = nullptr;
};

class Heap {
 public:
  using State = Block::State;

  // `blocks`: the lane's, of both of its heaps.
  Heap(Lane* lane, BlockTable* blocks, bool small, size_t page_bytes);
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  Lane* lane() const { return lane_; }
  bool small() const { return small_; }
  const std::vector<std::unique_ptr<Span>>& spans() const { return spans_; }
  const BlockTable& blocks() const { return *blocks_; }

  // A fitting free block, cut to size and live; null: the heap must grow. pre: bytes is a multiple of kUnit.
  Block* Take(size_t bytes);
  // The same at a given address; null if that is not free.
  Block* TakeAt(Address address, size_t bytes);
  // A live block becomes free and merges with its free neighbours. Returns the block that holds it now.
  Block* Put(Block* block, uint64_t freed_at);

  // Where `bytes` would go with the fewest pages mapped. False: no room in the reserved addresses.
  struct Growth {
    Address start = 0;
    Address end = 0;
    Span* span = nullptr;
    size_t pages = 0;
    uint64_t now_ns = 0;  // for the age of the remainder; 0: ages are not kept
  };
  bool PlanGrowth(size_t bytes, Growth* out_growth) const;
  // Fills the holes that the growth needs with `pages` (mapped already by the caller, in address order) and returns
  // the live block.
  Block* Grow(const Growth& growth, size_t bytes, const PageHandle* pages);
  // Host memory for one Grow, which then cannot fail.
  void ReserveForGrow() { ReserveBlocks(4); }  // the ends of the holes it fills, and those of what it takes
  // The page addresses, in order, that Grow will fill.
  std::vector<Address> Holes(const Growth& growth, size_t bytes) const;

  // The highest free block with at least one whole page that may be taken: `allowed(block)` decides. Null: none. Taking
  // pages from the top keeps memory together at the bottom, where pages are moved less often.
  template <class Allowed>
  Block* HighestWithPages(const Growth* except, Allowed allowed) const;
  // Turns up to `count` whole pages of a free block into a hole; their handles are appended to `out_pages` and their
  // addresses to `out_addresses` (the caller unmaps them).
  void TakePages(Block* block, size_t count, std::vector<PageHandle>* out_pages, std::vector<Address>* out_addresses);
  size_t WholePages(const Block& block) const;
  size_t WholePages() const;

  Span* AddSpan(Address address, size_t bytes, bool pages);
  // A segment that is one free block. The caller gives its memory back, then calls DropSpan. Null: none.
  template <class Allowed>
  Span* FreeSegment(Allowed allowed) const;
  void DropSpan(Span* span);

  // The bytes of `block` that no whole page covers.
  size_t Stranded(Address address, size_t bytes) const;

  size_t free_bytes() const { return free_bytes_; }
  size_t largest_free() const { return free_.largest(); }

 private:
  static FreeIndex::Entry EntryOf(Block* block) { return {block->address, block->bytes, block}; }
  void ReserveBlocks(size_t count);  // so many calls of NewBlock cannot fail
  Block* NewBlock();
  void DeleteBlock(Block* block);
  void InsertFree(Block* block);
  void EraseFree(Block* block);
  void InsertHole(Block* block);
  void EraseHole(Block* block);
  Block* MakeLive(Block* block, Address address, size_t bytes);  // cut out of a free block
  Block* Split(Block* block, size_t at);                         // the second part, in the same state and in no list
  Block* Absorb(Block* left, Block* right);
  void Enter(Block* block);   // from now on it is found by its address
  void Remove(Block* block);  // no longer
  Block* MergeHoles(Block* block);
  Block* MergeFree(Block* block);
  static bool IsRoom(const Block& block) { return block.Is(State::kFree) || block.Is(State::kHole); }
  void Consider(Block* run, const Block* at, Address start, size_t bytes, Growth* best, size_t* best_cost) const;
  void ConsiderRun(Block* run, size_t bytes, Growth* best, size_t* best_cost) const;

  Lane* lane_;
  BlockTable* blocks_;
  bool small_;
  size_t page_bytes_;
  size_t free_bytes_ = 0;
  FreeIndex free_;
  Block* holes_ = nullptr;
  std::vector<std::unique_ptr<Span>> spans_;
  std::vector<std::unique_ptr<Span>> retired_;  // a concurrent lookup of a bad pointer may still read their tables
  std::vector<std::unique_ptr<Block[]>> storage_;
  Block* unused_ = nullptr;
};

inline Block* Span::At(Address where) const { return heap->blocks().Find(where); }

template <class Allowed>
Block* Heap::HighestWithPages(const Growth* except, Allowed allowed) const {
  if (page_bytes_ == 0) return nullptr;
  Block* best = nullptr;
  free_.ForEachFrom(page_bytes_, [&](const FreeIndex::Entry& entry) {
    if (best != nullptr && entry.address < best->address) return;
    if (except != nullptr && entry.address < except->end && except->start < entry.address + entry.bytes) return;
    if (Stranded(entry.address, entry.bytes) == entry.bytes || WholePages(*entry.block) == 0) return;
    if (allowed(*entry.block)) best = entry.block;
  });
  return best;
}

template <class Allowed>
Span* Heap::FreeSegment(Allowed allowed) const {
  for (const std::unique_ptr<Span>& span : spans_) {
    const Block* only = span->first;
    if (span->page_bytes != 0 || only->after != nullptr || !only->Is(State::kFree) || !allowed(*only)) continue;
    return span.get();
  }
  return nullptr;
}

}  // namespace millpond::pool

#endif  // MILLPOND_SRC_POOL_HEAP_H_

// SPDX-License-Identifier: Apache-2.0
#include "src/pool/heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace millpond::pool {

namespace {
size_t StartsBytes(size_t span_bytes) { return RoundUp(span_bytes / kUnit, 64) / 64 * sizeof(uint64_t); }
}  // namespace

Span::Span(Heap* owner, Address at, size_t size, size_t page_size)
    : heap(owner), address(at), bytes(size), page_bytes(page_size) {
  if (page_bytes != 0) pages.resize(bytes / page_bytes);
  void* mapped =
      mmap(nullptr, StartsBytes(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  starts = static_cast<std::atomic<uint64_t>*>(mapped);
}

Span::~Span() { munmap(starts, StartsBytes(bytes)); }

Block* Span::Holding(Address where) const {
  const size_t unit = (where - address) / kUnit;
  uint64_t up_to = ~uint64_t{0} >> (63 - unit % 64);
  for (size_t word = unit / 64 + 1; word-- > 0; up_to = ~uint64_t{0}) {
    const uint64_t here = starts[word].load(std::memory_order_relaxed) & up_to;
    if (here != 0) return At(address + (word * 64 + static_cast<size_t>(std::bit_width(here)) - 1) * kUnit);
  }
  return nullptr;
}

Heap::Heap(Lane* lane, BlockTable* blocks, bool small, size_t page_bytes)
    : lane_(lane), blocks_(blocks), small_(small), page_bytes_(page_bytes) {}
Heap::~Heap() = default;

void Heap::ReserveBlocks(size_t count) {
  constexpr size_t kBatch = 64;
  for (const Block* block = unused_; block != nullptr && count > 0; block = block->next) --count;
  if (count == 0) return;
  free_.Reserve((storage_.size() + 1) * kBatch);  // every one of them may become an entry of its own
  blocks_->AddRoom(kBatch);
  storage_.push_back(std::make_unique<Block[]>(kBatch));
  for (size_t i = 0; i < kBatch; ++i) {
    storage_.back()[i].next = unused_;
    unused_ = &storage_.back()[i];
  }
}

// pre: ReserveBlocks.
Block* Heap::NewBlock() {
  Block* block = unused_;
  unused_ = block->next;
  block->planned = false;
  block->recorded = false;
  block->tag = nullptr;
  block->next = block->last = block->before = block->after = nullptr;
  return block;
}

void Heap::DeleteBlock(Block* block) {
  block->state.store(State::kHole, std::memory_order_relaxed);
  block->next = unused_;
  unused_ = block;
}

void Heap::InsertFree(Block* block) {
  block->state.store(State::kFree, std::memory_order_relaxed);
  free_.Insert(EntryOf(block));
  free_bytes_ += block->bytes;
}

void Heap::EraseFree(Block* block) {
  free_.Erase(EntryOf(block));
  free_bytes_ -= block->bytes;
}

void Heap::InsertHole(Block* block) {
  block->state.store(State::kHole, std::memory_order_relaxed);
  block->last = nullptr;
  block->next = holes_;
  if (holes_ != nullptr) holes_->last = block;
  holes_ = block;
}

void Heap::EraseHole(Block* block) {
  if (block->next != nullptr) block->next->last = block->last;
  (block->last != nullptr ? block->last->next : holes_) = block->next;
  block->next = block->last = nullptr;
}

Block* Heap::Split(Block* block, size_t at) {
  Block* rest = NewBlock();
  rest->address = block->address + at;
  rest->bytes = block->bytes - at;
  rest->span = block->span;
  rest->freed_at = block->freed_at;
  rest->since_ns = block->since_ns;
  rest->state.store(block->state.load(std::memory_order_relaxed), std::memory_order_relaxed);
  rest->before = block;
  rest->after = block->after;
  if (rest->after != nullptr) rest->after->before = rest;
  block->after = rest;
  block->bytes = at;
  Enter(rest);
  return rest;
}

void Heap::Enter(Block* block) {
  blocks_->Insert(block->address, block);
  block->span->SetStart(block->address, true);
}

void Heap::Remove(Block* block) {
  blocks_->Erase(block->address);
  block->span->SetStart(block->address, false);
}

Block* Heap::Absorb(Block* left, Block* right) {
  left->bytes += right->bytes;
  left->freed_at = std::max(left->freed_at, right->freed_at);
  left->after = right->after;
  if (left->after != nullptr) left->after->before = left;
  Remove(right);
  DeleteBlock(right);
  return left;
}

// `block` is in no list yet; what it becomes is in the list of holes.
Block* Heap::MergeHoles(Block* block) {
  if (Block* after = block->after; after != nullptr && after->Is(State::kHole)) {
    EraseHole(after);
    Absorb(block, after);
  }
  if (Block* before = block->before; before != nullptr && before->Is(State::kHole)) {
    EraseHole(before);
    block = Absorb(before, block);
  }
  InsertHole(block);
  return block;
}

// `block` is not in the index yet; what it becomes is.
Block* Heap::MergeFree(Block* block) {
  free_bytes_ += block->bytes;
  block->state.store(State::kFree, std::memory_order_relaxed);
  Block* before = block->before;
  Block* after = block->after;
  const bool with_before = before != nullptr && before->Is(State::kFree);
  const bool with_after = after != nullptr && after->Is(State::kFree);
  if (with_before) {
    if (with_after) free_.Erase(EntryOf(after));
    if (with_after) Absorb(block, after);
    const FreeIndex::Entry was = EntryOf(before);
    block = Absorb(before, block);
    free_.Replace(was, EntryOf(block));
  } else if (with_after) {
    const FreeIndex::Entry was = EntryOf(after);
    Absorb(block, after);
    free_.Replace(was, EntryOf(block));
  } else {
    free_.Insert(EntryOf(block));
  }
  return block;
}

// pre: the free block holds the range.
Block* Heap::MakeLive(Block* block, Address address, size_t bytes) {
  const bool rest_before = block->address < address;
  const bool rest_after = block->end() > address + bytes;
  if (unused_ == nullptr || unused_->next == nullptr) ReserveBlocks(2);
  free_bytes_ -= bytes;
  const FreeIndex::Entry was = EntryOf(block);
  Block* live = rest_before ? Split(block, address - block->address) : block;
  Block* after = rest_after ? Split(live, bytes) : nullptr;
  live->state.store(State::kLive, std::memory_order_relaxed);
  if (rest_before) {
    free_.Replace(was, EntryOf(block));
    if (rest_after) free_.Insert(EntryOf(after));
  } else if (rest_after) {
    free_.Replace(was, EntryOf(after));
  } else {
    free_.Erase(was);
  }
  return live;
}

Block* Heap::Take(size_t bytes) {
  Block* found = free_.Fit(bytes);
  return found == nullptr ? nullptr : MakeLive(found, found->address, bytes);
}

Block* Heap::TakeAt(Address address, size_t bytes) {
  Block* found = free_.Holding(address);
  if (found == nullptr || found->end() < address + bytes) return nullptr;
  return MakeLive(found, address, bytes);
}

Block* Heap::Put(Block* block, uint64_t freed_at) {
  block->freed_at = freed_at;
  block->tag = nullptr;
  block->requested = 0;
  return MergeFree(block);
}

size_t Heap::Stranded(Address address, size_t bytes) const {
  const Address first = RoundUp(address, page_bytes_);
  const Address last = (address + bytes) / page_bytes_ * page_bytes_;
  return last > first ? bytes - (last - first) : bytes;
}

size_t Heap::WholePages(const Block& block) const {
  if (page_bytes_ == 0 || block.span->page_bytes == 0) return 0;
  return (block.bytes - Stranded(block.address, block.bytes)) / page_bytes_;
}

size_t Heap::WholePages() const {
  size_t total = 0;
  free_.ForEachFrom(page_bytes_, [&](const FreeIndex::Entry& entry) { total += WholePages(*entry.block); });
  return total;
}

// The cost of placing `bytes` at `start`, which `at` holds: the increase in stranded bytes, then the pages to be
// mapped. Looks only at the blocks that the place touches: the rest of the run stays as it is.
void Heap::Consider(Block* run, const Block* at, Address start, size_t bytes, Growth* best, size_t* best_cost) const {
  const Address map_from = start / page_bytes_ * page_bytes_;
  const Address map_to = RoundUp(start + bytes, page_bytes_);
  size_t pages = 0;
  size_t stranded_before = 0;
  size_t stranded_after = 0;
  Address from = 0;
  Address to = 0;  // the current run of memory
  const auto settle = [&] {
    if (from < start) stranded_after += Stranded(from, std::min(to, start) - from);
    const Address rest = std::max(from, start + bytes);
    if (to > rest) stranded_after += Stranded(rest, to - rest);
  };
  for (const Block* block = at == run ? run : at->before; block != nullptr; block = block->after) {
    Address low = block->address;
    Address high = block->end();
    if (low >= map_to && low != to) break;
    if (block->Is(State::kHole)) {
      low = std::max(low, map_from);
      high = std::min(high, map_to);
      if (high <= low) continue;
      pages += (high - low) / page_bytes_;
    } else if (block->Is(State::kFree)) {
      stranded_before += Stranded(low, block->bytes);
    } else {
      break;
    }
    if (low != to) {
      settle();
      from = low;
    }
    to = high;
  }
  settle();
  // Mapping a page costs system calls: worth it if it strands half a MiB less (tuned on recorded runs).
  // Stranded bytes may also decrease: shifted so that the cost stays positive.
  constexpr size_t kPageCost = size_t{512} << 10;
  const size_t cost = stranded_after + (size_t{1} << 40) - stranded_before + pages * kPageCost;
  if (best->span != nullptr && (cost > *best_cost || (cost == *best_cost && start >= best->start))) return;
  *best_cost = cost;
  *best = {.start = start, .end = start + bytes, .span = run->span, .pages = pages};
}

// The ends of free blocks, and of the run itself.
void Heap::ConsiderRun(Block* run, size_t bytes, Growth* best, size_t* best_cost) const {
  Block* last = run;
  while (last->after != nullptr && IsRoom(*last->after)) last = last->after;
  const Address to = last->end();
  if (to - run->address < bytes) return;
  const auto consider_end = [&](Block* block) {  // the place ends where `block` does
    const Block* at = block;
    while (at->address > block->end() - bytes) at = at->before;
    Consider(run, at, block->end() - bytes, bytes, best, best_cost);
  };
  if (run->Is(State::kHole)) Consider(run, run, run->address, bytes, best, best_cost);
  for (Block* block = run; block != nullptr && block->address < to; block = block->after) {
    if (!block->Is(State::kFree)) continue;
    if (block->address + bytes <= to) Consider(run, block, block->address, bytes, best, best_cost);
    if (block->end() >= run->address + bytes) consider_end(block);
  }
  if (last->Is(State::kHole) && last->after != nullptr) consider_end(last);
}

bool Heap::PlanGrowth(size_t bytes, Growth* out_growth) const {
  *out_growth = {};
  size_t cost = 0;
  for (Block* hole = holes_; hole != nullptr; hole = hole->next) {
    Block* run = hole;
    bool first = true;  // of the run's holes: each run is looked at once
    while (first && run->before != nullptr && IsRoom(*run->before)) {
      run = run->before;
      first = run->Is(State::kFree);
    }
    if (first) ConsiderRun(run, bytes, out_growth, &cost);
  }
  return out_growth->span != nullptr;
}

std::vector<Address> Heap::Holes(const Growth& growth, size_t bytes) const {
  std::vector<Address> addresses;
  addresses.reserve(growth.pages);
  for (Address at = growth.start / page_bytes_ * page_bytes_; at < growth.start + bytes; at += page_bytes_) {
    if (growth.span->PageAt(at) == 0) addresses.push_back(at);
  }
  return addresses;
}

Block* Heap::Grow(const Growth& growth, size_t bytes, const PageHandle* pages) {
  const Address map_from = growth.start / page_bytes_ * page_bytes_;
  const Address map_to = RoundUp(growth.start + bytes, page_bytes_);
  for (Block* block = growth.span->Holding(map_from); block != nullptr && block->address < map_to;) {
    const Address low = std::max(block->address, map_from);
    const Address high = std::min(block->end(), map_to);
    if (!block->Is(State::kHole) || high <= low) {
      block = block->after;
      continue;
    }
    EraseHole(block);
    if (block->address < low) {
      Block* rest = Split(block, low - block->address);
      InsertHole(block);
      block = rest;
    }
    if (block->end() > high) InsertHole(Split(block, high - low));
    for (Address at = low; at < high; at += page_bytes_) growth.span->PageAt(at) = *pages++;
    growth.span->mapped_bytes += high - low;
    block->freed_at = 0;
    block->since_ns = growth.now_ns;
    block = MergeFree(block)->after;
  }
  return MakeLive(growth.span->Holding(growth.start), growth.start, bytes);
}

void Heap::TakePages(Block* block, size_t count, std::vector<PageHandle>* out_pages,
                     std::vector<Address>* out_addresses) {
  const Address low = RoundUp(block->address, page_bytes_);
  const Address high = std::min(block->end() / page_bytes_ * page_bytes_, low + count * page_bytes_);
  out_pages->reserve(out_pages->size() + (high - low) / page_bytes_);
  out_addresses->reserve(out_addresses->size() + (high - low) / page_bytes_);
  block = MakeLive(block, low, high - low);  // under the lane's lock: becomes a hole before anyone sees it
  Span* span = block->span;
  for (Address at = low; at < high; at += page_bytes_) {
    out_pages->push_back(std::exchange(span->PageAt(at), 0));
    out_addresses->push_back(at);
  }
  span->mapped_bytes -= high - low;
  block->state.store(State::kHole, std::memory_order_relaxed);
  MergeHoles(block);
}

Span* Heap::AddSpan(Address address, size_t bytes, bool pages) {
  // What may throw comes first: a span without its block would be found, and followed.
  auto made = std::make_unique<Span>(this, address, bytes, pages ? page_bytes_ : 0);
  spans_.reserve(spans_.size() + 1);
  retired_.reserve(retired_.size() + spans_.size() + 1);
  ReserveBlocks(1);
  Block* block = NewBlock();
  Span* span = spans_.emplace_back(std::move(made)).get();
  block->address = address;
  block->bytes = bytes;
  block->span = span;
  block->freed_at = 0;
  span->first = block;
  Enter(block);
  if (pages) {
    InsertHole(block);
  } else {
    span->mapped_bytes = bytes;
    InsertFree(block);
  }
  return span;
}

void Heap::DropSpan(Span* span) {
  EraseFree(span->first);
  Remove(span->first);
  DeleteBlock(span->first);
  span->first = nullptr;
  const auto found = std::find_if(spans_.begin(), spans_.end(), [&](const auto& each) { return each.get() == span; });
  retired_.push_back(std::move(*found));
  spans_.erase(found);
}

}  // namespace millpond::pool

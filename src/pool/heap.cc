// SPDX-License-Identifier: Apache-2.0
#include "src/pool/heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace millpond::pool {

namespace {
// Between growth points in a span of pages: room so that a block's end can be followed by any other block.
constexpr size_t kSlices = 256;
constexpr size_t kSmallestSlice = size_t{256} << 20;
}  // namespace

Span::Span(Heap* owner, Address at, size_t size, size_t page_size)
    : heap(owner), address(at), bytes(size), page_bytes(page_size) {
  void* mapped = mmap(nullptr, bytes / kUnit * sizeof(std::atomic<Block*>), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  table = static_cast<std::atomic<Block*>*>(mapped);  // zero pages are null pointers
  if (page_bytes != 0) pages.resize(bytes / page_bytes);
}

Span::~Span() { munmap(table, bytes / kUnit * sizeof(std::atomic<Block*>)); }

Heap::Heap(Lane* lane, bool small, size_t page_bytes) : lane_(lane), small_(small), page_bytes_(page_bytes) {}
Heap::~Heap() = default;

Block* Heap::NewBlock() {
  if (unused_ == nullptr) {
    constexpr size_t kBatch = 64;
    storage_.push_back(std::make_unique<Block[]>(kBatch));
    for (size_t i = 0; i < kBatch; ++i) {
      storage_.back()[i].next = unused_;
      unused_ = &storage_.back()[i];
    }
  }
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

// Linear below 16 units, then 16 bins per power of two.
uint32_t Heap::BinOf(size_t bytes) {
  const size_t units = bytes / kUnit;
  if (units < kSubBins) return static_cast<uint32_t>(units);
  const auto log = static_cast<uint32_t>(std::bit_width(units)) - 1;
  const auto sub = static_cast<uint32_t>(units >> (log - 4)) - kSubBins;
  return std::min((log - 3) * kSubBins + sub, kBins - 1);
}

void Heap::Insert(Block* block) {
  const uint32_t bin = BinOf(block->bytes);
  block->bin = static_cast<uint16_t>(bin);
  block->last = nullptr;
  block->next = bins_[bin];
  if (block->next != nullptr) block->next->last = block;
  bins_[bin] = block;
  bitmap_[bin / 64] |= uint64_t{1} << (bin % 64);
  free_bytes_ += block->bytes;
}

void Heap::Remove(Block* block) {
  Block*& head = block->Is(State::kHole) ? holes_ : bins_[block->bin];
  if (block->next != nullptr) block->next->last = block->last;
  if (block->last != nullptr) {
    block->last->next = block->next;
  } else {
    head = block->next;
  }
  block->next = block->last = nullptr;
  if (block->Is(State::kHole)) return;
  if (bins_[block->bin] == nullptr) bitmap_[block->bin / 64] &= ~(uint64_t{1} << (block->bin % 64));
  free_bytes_ -= block->bytes;
}

void Heap::SetState(Block* block, State state) {
  block->state.store(state, std::memory_order_relaxed);
  if (state == State::kFree) {
    Insert(block);
  } else if (state == State::kHole) {
    block->last = nullptr;
    block->next = holes_;
    if (holes_ != nullptr) holes_->last = block;
    holes_ = block;
  }
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
  rest->span->At(rest->address).store(rest, std::memory_order_release);
  return rest;
}

Block* Heap::Merge(Block* block) {
  const State state = block->state.load(std::memory_order_relaxed);
  const auto absorb = [&](Block* left, Block* right) {
    left->bytes += right->bytes;
    left->freed_at = std::max(left->freed_at, right->freed_at);
    left->after = right->after;
    if (left->after != nullptr) left->after->before = left;
    right->span->At(right->address).store(nullptr, std::memory_order_release);
    DeleteBlock(right);
    return left;
  };
  if (Block* after = block->after; after != nullptr && after->Is(state)) {
    Remove(after);
    absorb(block, after);
  }
  if (Block* before = block->before; before != nullptr && before->Is(state)) {
    Remove(before);
    block = absorb(before, block);
  }
  return block;
}

Block* Heap::BestIn(uint32_t bin, size_t bytes) const {
  Block* best = nullptr;
  for (Block* block = bins_[bin]; block != nullptr; block = block->next) {
    if (block->bytes < bytes) continue;
    if (best == nullptr || block->bytes < best->bytes ||
        (block->bytes == best->bytes && block->address < best->address)) {
      best = block;
    }
  }
  return best;
}

Block* Heap::Take(size_t bytes) {
  const uint32_t first = BinOf(bytes);
  Block* found = (bitmap_[first / 64] >> (first % 64) & 1) != 0 ? BestIn(first, bytes) : nullptr;
  if (found == nullptr) {
    uint32_t word = (first + 1) / 64;
    if (word == kBins / 64) return nullptr;
    uint64_t bits = bitmap_[word] & ~uint64_t{0} << ((first + 1) % 64);
    while (bits == 0) {
      if (++word == kBins / 64) return nullptr;
      bits = bitmap_[word];
    }
    found = BestIn(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)), bytes);
  }
  if (found == nullptr) return nullptr;
  Remove(found);
  if (found->bytes > bytes) Insert(Split(found, bytes));
  found->state.store(State::kLive, std::memory_order_relaxed);
  return found;
}

Block* Heap::TakeAt(Address address, size_t bytes) {
  for (uint32_t bin = BinOf(bytes); bin < kBins; ++bin) {
    for (Block* block = bins_[bin]; block != nullptr; block = block->next) {
      if (block->address > address || block->end() < address + bytes) continue;
      Remove(block);
      if (block->address < address) {
        Block* rest = Split(block, address - block->address);
        Insert(block);
        block = rest;
      }
      if (block->bytes > bytes) Insert(Split(block, bytes));
      block->state.store(State::kLive, std::memory_order_relaxed);
      return block;
    }
  }
  return nullptr;
}

Block* Heap::Put(Block* block, uint64_t freed_at) {
  block->freed_at = freed_at;
  block->tag = nullptr;
  block->requested = 0;
  block->state.store(State::kFree, std::memory_order_relaxed);
  block = Merge(block);
  Insert(block);
  return block;
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
  if (page_bytes_ == 0) return 0;
  for (uint32_t bin = BinOf(page_bytes_); bin < kBins; ++bin) {
    for (const Block* block = bins_[bin]; block != nullptr; block = block->next) total += WholePages(*block);
  }
  return total;
}

size_t Heap::largest_free() const {
  for (uint32_t bin = kBins; bin-- > 0;) {
    size_t largest = 0;
    for (const Block* block = bins_[bin]; block != nullptr; block = block->next) {
      largest = std::max(largest, block->bytes);
    }
    if (largest != 0) return largest;
  }
  return 0;
}

// The cost of placing `bytes` at `start` in a run is how much more is stranded afterwards; then how many pages it takes.
void Heap::Consider(Block* run, Address start, size_t bytes, Growth* best, size_t* best_cost) const {
  const Address map_from = start / page_bytes_ * page_bytes_;
  const Address map_to = RoundUp(start + bytes, page_bytes_);
  size_t pages = 0;
  size_t stranded_before = 0;
  size_t stranded_after = 0;
  Address from = 0;
  Address to = 0;  // the run of memory under way
  const auto settle = [&] {
    if (from < start) stranded_after += Stranded(from, std::min(to, start) - from);
    const Address rest = std::max(from, start + bytes);
    if (to > rest) stranded_after += Stranded(rest, to - rest);
  };
  for (const Block* block = run; block != nullptr; block = block->after) {
    Address low = block->address;
    Address high = block->end();
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
  // Stranded bytes may also become fewer: shift so that the cost stays positive, pages decide between equals.
  const size_t cost = (stranded_after + (size_t{1} << 40) - stranded_before) / kUnit * 65536 + pages;
  if (best->span != nullptr && (cost > *best_cost || (cost == *best_cost && start >= best->start))) return;
  *best_cost = cost;
  *best = {.start = start, .span = run->span, .pages = pages, .run = run};
}

bool Heap::PlanGrowth(size_t bytes, Growth* out_growth) const {
  *out_growth = {};
  size_t cost = 0;
  bool virgin_seen = false;  // untouched slices are all alike
  for (Block* hole = holes_; hole != nullptr; hole = hole->next) {
    Block* run = hole;
    while (run->before != nullptr && (run->before->Is(State::kFree) || run->before->Is(State::kHole))) run = run->before;
    Address to = 0;
    for (const Block* block = run; block != nullptr && (block->Is(State::kFree) || block->Is(State::kHole));
         block = block->after) {
      to = block->end();
    }
    if (to - run->address < bytes) continue;
    const bool virgin = run == hole && to == hole->end() && hole->bytes >= kSmallestSlice / 2;
    if (virgin && virgin_seen) continue;
    virgin_seen |= virgin;
    Consider(run, run->address, bytes, out_growth, &cost);
    if (to - run->address < kSmallestSlice / 2) Consider(run, to - bytes, bytes, out_growth, &cost);
    for (const Block* block = run; block != nullptr && block->address < to; block = block->after) {
      if (!block->Is(State::kFree)) continue;
      if (block->address + bytes <= to) Consider(run, block->address, bytes, out_growth, &cost);
      if (block->end() >= run->address + bytes) Consider(run, block->end() - bytes, bytes, out_growth, &cost);
    }
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
  for (Block* block = growth.run; block != nullptr && block->address < map_to;) {
    const Address low = std::max(block->address, map_from);
    const Address high = std::min(block->end(), map_to);
    if (!block->Is(State::kHole) || high <= low) {
      block = block->after;
      continue;
    }
    Remove(block);
    if (block->address < low) {
      Block* rest = Split(block, low - block->address);
      SetState(block, State::kHole);
      block = rest;
    }
    if (block->end() > high) SetState(Split(block, high - low), State::kHole);
    for (Address at = low; at < high; at += page_bytes_) growth.span->PageAt(at) = *pages++;
    growth.span->mapped_bytes += high - low;
    block->freed_at = 0;
    block->state.store(State::kFree, std::memory_order_relaxed);
    block = Merge(block);
    Insert(block);
    block = block->after;
  }
  return TakeAt(growth.start, bytes);
}

void Heap::TakePages(Block* block, size_t count, std::vector<PageHandle>* out_pages,
                     std::vector<Address>* out_addresses) {
  const Address low = RoundUp(block->address, page_bytes_);
  const Address high = std::min(block->end() / page_bytes_ * page_bytes_, low + count * page_bytes_);
  Remove(block);
  if (block->address < low) {
    Block* rest = Split(block, low - block->address);
    Insert(block);
    block = rest;
  }
  if (block->end() > high) Insert(Split(block, high - low));
  Span* span = block->span;
  for (Address at = low; at < high; at += page_bytes_) {
    out_pages->push_back(std::exchange(span->PageAt(at), 0));
    out_addresses->push_back(at);
  }
  span->mapped_bytes -= high - low;
  block->state.store(State::kHole, std::memory_order_relaxed);
  block = Merge(block);
  SetState(block, State::kHole);
}

Span* Heap::AddSpan(Address address, size_t bytes, bool pages) {
  spans_.push_back(std::make_unique<Span>(this, address, bytes, pages ? page_bytes_ : 0));
  Span* span = spans_.back().get();
  // Slices are kept apart by a live block of no use that is never mapped: a separator.
  const size_t slice =
      pages && !small_ ? std::max(RoundUp(bytes / kSlices, page_bytes_), kSmallestSlice) : bytes;
  Block* before = nullptr;
  const auto append = [&](size_t size, State state) {
    Block* block = NewBlock();
    block->address = before == nullptr ? span->address : before->end();
    block->bytes = size;
    block->span = span;
    block->freed_at = 0;
    block->before = before;
    (before == nullptr ? span->first : before->after) = block;
    if (state == State::kLive) {
      block->state.store(state, std::memory_order_relaxed);
    } else {
      SetState(block, state);
      span->At(block->address).store(block, std::memory_order_release);
    }
    before = block;
  };
  if (!pages) {
    span->mapped_bytes = bytes;
    append(bytes, State::kFree);
    return span;
  }
  for (size_t left = bytes; left != 0;) {
    const size_t take = left < 2 * slice ? left : slice;
    append(take == left ? take : take - page_bytes_, State::kHole);
    if (take != left) append(page_bytes_, State::kLive);
    left -= take;
  }
  return span;
}

void Heap::DropSpan(Span* span) {
  DeleteBlock(span->first);
  span->first = nullptr;
  const auto found = std::find_if(spans_.begin(), spans_.end(), [&](const auto& each) { return each.get() == span; });
  retired_.push_back(std::move(*found));
  spans_.erase(found);
}

}  // namespace millpond::pool

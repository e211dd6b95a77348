// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/range_heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "src/base/assert.h"
#include "src/base/mutex.h"
#include "src/device/memory/page_returner.h"

namespace millpond {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr size_t kGranulesPerPage = RangeHeap::kPage / RangeHeap::kGranule;

uint64_t PackLinks(uint32_t next, uint32_t previous) { return uint64_t{next} << 32 | previous; }
uint32_t NextOf(uint64_t links) { return static_cast<uint32_t>(links >> 32); }
uint32_t PreviousOf(uint64_t links) { return static_cast<uint32_t>(links); }

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

uint64_t NextBlockNumber() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, kRelaxed) + 1;
}

Status RangeHeap::Open(uintptr_t begin, size_t span, size_t keep_bytes, GiveBack give_back) {
  MP_ASSERT(begin % kPage == 0 && span % kPage == 0 && span > 0 && span <= size_t{1} << 40);
  begin_ = begin;
  granules_ = static_cast<Index>(span / kGranule);
  keep_pages_ = keep_bytes / kPage;
  give_back_ = std::move(give_back);
  size_t words[kMaxLevels];
  size_t total = RoundUp(granules_ * sizeof(Span), 4096);
  for (size_t bits = granules_; levels_ < kMaxLevels; bits = words[levels_++]) {
    words[levels_] = (bits + 63) / 64;
    total += RoundUp(words[levels_] * 8, 4096);
    if (words[levels_] == 1) {
      ++levels_;
      break;
    }
  }
  // Zero pages on demand: an untouched part of the tables costs nothing.
  tables_ = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (tables_ == MAP_FAILED) {
    tables_ = nullptr;
    return {Code::kHostOutOfMemory,
            Format("cannot map %zu B of tables for a heap of %zu B: %s", total, span, std::strerror(errno))};
  }
  tables_bytes_ = total;
  madvise(tables_, total, MADV_DONTDUMP);
  auto* next = static_cast<std::byte*>(tables_);
  spans_ = reinterpret_cast<Span*>(next);
  next += RoundUp(granules_ * sizeof(Span), 4096);
  for (int i = 0; i < levels_; ++i) {
    level_[i] = reinterpret_cast<std::atomic<uint64_t>*>(next);
    next += RoundUp(words[i] * 8, 4096);
  }
  MutexLock guard(lock_);
  std::fill(std::begin(bin_head_), std::end(bin_head_), kNone);
  pages_.assign(span / kPage, 0);
  freed_ = std::vector<Freed>(kFreedRemembered);
  SetStart(0);
  InsertFree(0, granules_);
  return Ok();
}

RangeHeap::~RangeHeap() {
  if (tables_ == nullptr) return;
  PageReturner::Get().Forget(this);
  munmap(tables_, tables_bytes_);
}

// --- The bitmap of span starts ---

void RangeHeap::SetStart(Index at) {
  size_t position = at;
  for (int i = 0; i < levels_; ++i, position /= 64) {
    auto& word = level_[i][position / 64];
    const uint64_t old = word.load(kRelaxed);
    word.store(old | uint64_t{1} << position % 64, std::memory_order_release);
    if (old != 0) return;  // the levels above know already
  }
}

void RangeHeap::ClearStart(Index at) {
  size_t position = at;
  for (int i = 0; i < levels_; ++i, position /= 64) {
    auto& word = level_[i][position / 64];
    const uint64_t left = word.load(kRelaxed) & ~(uint64_t{1} << position % 64);
    word.store(left, std::memory_order_release);
    if (left != 0) return;
  }
}

// The last start at or before `at`. Granule 0 is always one. A reader without the lock may meet a summary bit whose
// word has just become empty: it then looks further down, and never misses the start of a block that stays live.
RangeHeap::Index RangeHeap::FindPrevious(Index at) const {
  size_t position = at;
  int level = 0;
  bool inclusive = true;
  for (;;) {
    const size_t bit = position % 64;
    const uint64_t mask = inclusive ? ~uint64_t{0} >> (63 - bit) : (uint64_t{1} << bit) - 1;
    const uint64_t word = level_[level][position / 64].load(std::memory_order_acquire) & mask;
    if (word == 0) {
      if (level + 1 == levels_) return 0;
      position /= 64;
      ++level;
      inclusive = false;
      continue;
    }
    position = position / 64 * 64 + static_cast<size_t>(63 - std::countl_zero(word));
    if (level == 0) return static_cast<Index>(position);
    --level;
    position = position * 64 + 63;
    inclusive = true;
  }
}

// --- Bins ---

uint32_t RangeHeap::BinOf(Index granules) {
  if (granules < kExactBins) return granules;
  const uint32_t log = static_cast<uint32_t>(std::bit_width(granules)) - 1;
  return kExactBins + (log - 5) * 32 + ((granules >> (log - 5)) & 31);
}

uint32_t RangeHeap::BinHolding(Index granules) {
  if (granules < kExactBins) return granules;
  const uint32_t log = static_cast<uint32_t>(std::bit_width(granules)) - 1;
  const uint64_t up = uint64_t{granules} + (uint64_t{1} << (log - 5)) - 1;
  return up > UINT32_MAX ? kBins : BinOf(static_cast<Index>(up));
}

void RangeHeap::InsertFree(Index at, Index granules) {
  const uint32_t bin = BinOf(granules);
  const Index head = bin_head_[bin];
  spans_[at].links.store(PackLinks(head, kNone), std::memory_order_release);  // see Find
  spans_[at].word.store(uint64_t{granules} * kGranule, std::memory_order_release);
  if (head != kNone) {
    spans_[head].links.store(PackLinks(NextOf(spans_[head].links.load(kRelaxed)), at), kRelaxed);
  }
  bin_head_[bin] = at;
  bin_bits_[bin / 64] |= uint64_t{1} << bin % 64;
}

void RangeHeap::RemoveFree(Index at, Index granules) {
  const uint32_t bin = BinOf(granules);
  const uint64_t links = spans_[at].links.load(kRelaxed);
  const Index next = NextOf(links), previous = PreviousOf(links);
  if (next != kNone) {
    spans_[next].links.store(PackLinks(NextOf(spans_[next].links.load(kRelaxed)), previous), kRelaxed);
  }
  if (previous != kNone) {
    spans_[previous].links.store(PackLinks(next, PreviousOf(spans_[previous].links.load(kRelaxed))), kRelaxed);
    return;
  }
  bin_head_[bin] = next;
  if (next == kNone) bin_bits_[bin / 64] &= ~(uint64_t{1} << bin % 64);
}

// Removes a free span of at least `granules` from its bin: the head of the first bin that is sure to fit, else any that
// fits in the bin where such a span could be.
RangeHeap::Index RangeHeap::TakeFit(Index granules, Index* out_size) {
  const uint32_t first = BinHolding(granules);
  for (uint32_t word = first / 64; word < std::size(bin_bits_); ++word) {
    uint64_t bits = bin_bits_[word];
    if (word == first / 64) bits &= ~uint64_t{0} << first % 64;
    if (bits == 0) continue;
    const Index at = bin_head_[word * 64 + static_cast<uint32_t>(std::countr_zero(bits))];
    *out_size = GranulesOf(spans_[at].word.load(kRelaxed));
    RemoveFree(at, *out_size);
    return at;
  }
  for (Index at = bin_head_[BinOf(granules)]; at != kNone; at = NextOf(spans_[at].links.load(kRelaxed))) {
    *out_size = GranulesOf(spans_[at].word.load(kRelaxed));
    if (*out_size < granules) continue;
    RemoveFree(at, *out_size);
    return at;
  }
  return kNone;
}

// The same for a block that begins at a multiple of `unit` granules, *out_at. A run that fits without room to spare is
// tried first: it is where a block of this size has just been.
RangeHeap::Index RangeHeap::TakeAligned(Index granules, Index unit, Index* out_size, Index* out_at) {
  for (const Index spare : {Index{0}, unit - 1}) {
    const Index run = TakeFit(granules + spare, out_size);
    if (run == kNone) return kNone;
    // Alignment is of addresses, not of offsets into the heap.
    const uint64_t first = begin_ / kGranule + run;
    *out_at = run + static_cast<Index>((unit - first % unit) % unit);
    if (*out_at - run + granules <= *out_size) return run;
    InsertFree(run, *out_size);
  }
  return kNone;
}

// --- Spans ---

// Makes [at, at + granules) of the unlisted run a span of its own, with `word`; what is left on both sides is free.
void RangeHeap::CarveLive(Index run, Index run_size, Index at, Index granules, uint64_t word) {
  const Index before = at - run;
  const Index after = run_size - before - granules;
  // Starts are set before a word says live and cleared after it says free, so that a lock-free reader inside the new
  // block never walks past its start.
  if (after != 0) {
    SetStart(at + granules);
    InsertFree(at + granules, after);
  }
  if (before != 0) {
    InsertFree(run, before);
    SetStart(at);
  }
  spans_[at].word.store(word, std::memory_order_release);
}

void RangeHeap::ReturnSpan(Index at, Index granules) {
  const Index after = at + granules;
  if (after < granules_) {
    const uint64_t word = spans_[after].word.load(kRelaxed);
    if ((word & (kLive | kHeld)) == 0) {
      RemoveFree(after, GranulesOf(word));
      ClearStart(after);
      granules += GranulesOf(word);
    }
  }
  if (at != 0) {
    const Index before = FindPrevious(at - 1);
    const uint64_t word = spans_[before].word.load(kRelaxed);
    if ((word & (kLive | kHeld)) == 0) {
      RemoveFree(before, GranulesOf(word));
      spans_[at].word.store(0, std::memory_order_release);
      ClearStart(at);
      granules += GranulesOf(word);
      at = before;
    }
  }
  InsertFree(at, granules);
}

void RangeHeap::CountPages(Index at, Index granules, bool live) {
  const size_t last = (size_t{at} + granules - 1) / kGranulesPerPage;
  for (size_t page = at / kGranulesPerPage; page <= last; ++page) {
    uint16_t& count = pages_[page];
    if (live) {
      if (count == kTouched) --kept_pages_;
      count = static_cast<uint16_t>((count | kTouched) + 1);
    } else if (--count == kTouched) {
      ++kept_pages_;
    }
  }
}

uintptr_t RangeHeap::Allocate(size_t bytes, size_t alignment, PageClass pages, const char* tag, uint64_t* out_number,
                              bool fenced) {
  if (bytes > span()) return 0;
  const uint64_t word = kLive | (alignment >= kHostPage ? kOwnPages : 0) | (fenced ? kFenced : 0) |
                        static_cast<uint64_t>(pages) << kClassShift | bytes;
  const Index granules = GranulesOf(word);
  const Index unit = alignment <= kGranule ? 1 : static_cast<Index>(alignment / kGranule);
  if (uint64_t{granules} + unit - 1 > granules_) return 0;
  const uint64_t number = NextBlockNumber();
  lock_.lock();
  Index run_size = 0, at = 0;
  Index run = TakeAligned(granules, unit, &run_size, &at);
  while (run == kNone && held_ != 0) {  // the very run we need may be on its way back
    lock_.unlock();
    sched_yield();
    lock_.lock();
    run = TakeAligned(granules, unit, &run_size, &at);
  }
  if (run == kNone) {
    lock_.unlock();
    return 0;
  }
  spans_[at].number.store(number, kRelaxed);
  spans_[at].links.store(reinterpret_cast<uint64_t>(tag), kRelaxed);
  CarveLive(run, run_size, at, granules, word);
  CountPages(at, granules, true);
  lock_.unlock();
  *out_number = number;
  return begin_ + size_t{at} * kGranule;
}

// The live block at `base`, which is remembered as freed.
bool RangeHeap::BeginFree(uintptr_t base, HeapBlock* out_block, uint64_t* out_word) {
  const auto at = static_cast<Index>((base - begin_) / kGranule);
  if (FindPrevious(at) != at) return false;
  const Span& span = spans_[at];
  *out_word = span.word.load(kRelaxed);
  if ((*out_word & (kLive | kPinned)) != kLive) return false;
  *out_block = BlockOf(base, *out_word, span);
  Freed& freed = freed_[freed_count_ % kFreedRemembered];
  freed.base.store(0, kRelaxed);
  freed.bytes.store(out_block->bytes, kRelaxed);
  freed.number.store(out_block->number, kRelaxed);
  freed.tag.store(out_block->tag, kRelaxed);
  freed.base.store(base, std::memory_order_release);
  ++freed_count_;
  return true;
}

bool RangeHeap::ReturnLocked(Index at, uint64_t word) {
  spans_[at].word.store(word & kBytesMask, std::memory_order_release);
  CountPages(at, GranulesOf(word), false);
  ReturnSpan(at, GranulesOf(word));
  return kept_pages_ > keep_pages_;
}

bool RangeHeap::Free(uintptr_t base, HeapBlock* out_block) {
  if (!Contains(base) || (base - begin_) % kGranule != 0) return false;
  bool surplus;
  {
    MutexLock guard(lock_);
    uint64_t word;
    if (!BeginFree(base, out_block, &word)) return false;
    surplus = ReturnLocked(static_cast<Index>((base - begin_) / kGranule), word);
  }
  if (__builtin_expect(surplus, false)) PageReturner::Get().Add(this);
  return true;
}

bool RangeHeap::Retire(uintptr_t base, HeapBlock* out_block) {
  if (!Contains(base) || (base - begin_) % kGranule != 0) return false;
  MutexLock guard(lock_);
  uint64_t word;
  if (!BeginFree(base, out_block, &word)) return false;
  spans_[(base - begin_) / kGranule].word.store((word & ~kLive) | kHeld | kRetired, std::memory_order_release);
  return true;
}

void RangeHeap::Release(uintptr_t base) {
  const auto at = static_cast<Index>((base - begin_) / kGranule);
  bool surplus;
  {
    MutexLock guard(lock_);
    const uint64_t word = spans_[at].word.load(kRelaxed);
    MP_ASSERT((word & kRetired) != 0);
    surplus = ReturnLocked(at, word);
  }
  if (surplus) PageReturner::Get().Add(this);
}

bool RangeHeap::Pin(uintptr_t base, uint64_t number, bool pinned) {
  if (!Contains(base) || (base - begin_) % kGranule != 0) return false;
  const auto at = static_cast<Index>((base - begin_) / kGranule);
  MutexLock guard(lock_);
  Span& span = spans_[at];
  const uint64_t word = span.word.load(kRelaxed);
  if (FindPrevious(at) != at || span.number.load(kRelaxed) != number) return false;
  if ((word & (kLive | kOwnPages)) != (kLive | kOwnPages)) return false;
  span.word.store(pinned ? word | kPinned : word & ~kPinned, std::memory_order_release);
  return true;
}

// --- Look-up ---

HeapBlock RangeHeap::BlockOf(uintptr_t base, uint64_t word, const Span& span) const {
  return {base,
          word & kBytesMask,
          span.number.load(kRelaxed),
          reinterpret_cast<const char*>(span.links.load(std::memory_order_acquire)),
          static_cast<PageClass>(word >> kClassShift & 3),
          (word & kOwnPages) != 0,
          (word & kPinned) != 0,
          (word & kFenced) != 0};
}

bool RangeHeap::Find(uintptr_t address, HeapBlock* out_block) const {
  if (!Contains(address)) return false;
  const Index at = FindPrevious(static_cast<Index>((address - begin_) / kGranule));
  const Span& span = spans_[at];
  const uint64_t word = span.word.load(std::memory_order_acquire);
  const uintptr_t base = begin_ + size_t{at} * kGranule;
  if ((word & kLive) == 0 || address - base >= (word & kBytesMask)) return false;
  *out_block = BlockOf(base, word, span);
  // A block freed meanwhile loses its live bit before its tag becomes a link: what was read holds if the word does.
  return span.word.load(std::memory_order_acquire) == word;
}

bool RangeHeap::FindFreed(uintptr_t address, HeapBlock* out_block) const {
  uint64_t newest = 0;
  for (const Freed& freed : freed_) {
    const uint64_t base = freed.base.load(std::memory_order_acquire);
    const uint64_t bytes = freed.bytes.load(kRelaxed), number = freed.number.load(kRelaxed);
    if (base == 0 || address - base >= bytes || number <= newest) continue;
    newest = number;
    *out_block = {.base = base, .bytes = bytes, .number = number, .tag = freed.tag.load(kRelaxed)};
  }
  return newest != 0;
}

// --- Giving back ---

// Takes the uppermost run of kept pages out of the free lists, as much of it as is surplus and goes at once.
bool RangeHeap::HoldSurplus(Index* out_at, Index* out_granules) {
  MutexLock guard(lock_);
  if (kept_pages_ <= keep_pages_) return false;
  size_t last = pages_.size() - 1;
  while (pages_[last] != kTouched) --last;  // kept_pages_ > 0, so there is one
  size_t first = last;
  const size_t most = std::min(kept_pages_ - keep_pages_, kReturnedAtOnce / kPage);
  while (first > 0 && pages_[first - 1] == kTouched && last - first + 1 < most) --first;
  const size_t count = last - first + 1;
  std::fill_n(pages_.begin() + static_cast<ptrdiff_t>(first), count, uint16_t{0});
  kept_pages_ -= count;
  // Pages without a live block are free throughout, so the run lies in one free span.
  *out_at = static_cast<Index>(first * kGranulesPerPage);
  *out_granules = static_cast<Index>(count * kGranulesPerPage);
  const Index run = FindPrevious(*out_at);
  const Index run_size = GranulesOf(spans_[run].word.load(kRelaxed));
  MP_ASSERT_INTERNAL((spans_[run].word.load(kRelaxed) & kLive) == 0 && run_size >= *out_at - run + *out_granules);
  RemoveFree(run, run_size);
  CarveLive(run, run_size, *out_at, *out_granules, kHeld | uint64_t{*out_granules} * kGranule);
  ++held_;
  return true;
}

bool RangeHeap::GiveBackSome() {
  Index at, granules;
  if (!HoldSurplus(&at, &granules)) return false;
  give_back_(begin_ + size_t{at} * kGranule, size_t{granules} * kGranule);
  MutexLock guard(lock_);
  --held_;
  ReturnSpan(at, granules);
  return true;
}

// --- For messages and tests ---

size_t RangeHeap::LargestFree() const {
  MutexLock guard(lock_);
  Index largest = 0;
  for (uint32_t bin = kBins; bin-- > 0 && largest == 0;) {
    for (Index at = bin_head_[bin]; at != kNone; at = NextOf(spans_[at].links.load(kRelaxed))) {
      largest = std::max(largest, GranulesOf(spans_[at].word.load(kRelaxed)));
    }
  }
  return size_t{largest} * kGranule;
}

std::vector<HeapBlock> RangeHeap::LiveBlocks() const {
  std::vector<HeapBlock> blocks;
  MutexLock guard(lock_);
  for (Index at = 0; at < granules_;) {
    const uint64_t word = spans_[at].word.load(kRelaxed);
    if (word & kLive) blocks.push_back(BlockOf(begin_ + size_t{at} * kGranule, word, spans_[at]));
    at += GranulesOf(word);
  }
  return blocks;
}

size_t RangeHeap::kept_bytes() const {
  MutexLock guard(lock_);
  return kept_pages_ * kPage;
}

bool RangeHeap::IsValid() const {
  MutexLock guard(lock_);
  std::vector<uint16_t> pages(pages_.size(), 0);
  size_t listed = 0, free_spans = 0;
  bool previous_free = false;
  for (Index at = 0; at < granules_;) {
    const uint64_t word = spans_[at].word.load(kRelaxed);
    const Index granules = GranulesOf(word);
    if (granules == 0 || granules > granules_ - at || FindPrevious(at) != at) return false;
    if (granules > 1 && FindPrevious(at + granules - 1) != at) return false;
    const bool is_free = (word & (kLive | kHeld)) == 0;
    if (is_free && previous_free) return false;
    if (is_free) ++free_spans;
    if (word & (kLive | kRetired)) {
      const size_t last = (size_t{at} + granules - 1) / kGranulesPerPage;
      for (size_t page = at / kGranulesPerPage; page <= last; ++page) ++pages[page];
    }
    previous_free = is_free;
    at += granules;
  }
  for (uint32_t bin = 0; bin < kBins; ++bin) {
    if ((bin_head_[bin] != kNone) != ((bin_bits_[bin / 64] >> bin % 64 & 1) != 0)) return false;
    for (Index at = bin_head_[bin]; at != kNone; at = NextOf(spans_[at].links.load(kRelaxed))) {
      const uint64_t word = spans_[at].word.load(kRelaxed);
      if ((word & (kLive | kHeld)) != 0 || BinOf(GranulesOf(word)) != bin) return false;
      ++listed;
    }
  }
  size_t kept = 0;
  for (size_t page = 0; page < pages.size(); ++page) {
    if ((pages_[page] & ~kTouched) != pages[page]) return false;
    if (pages_[page] == kTouched) ++kept;
  }
  return listed == free_spans && kept == kept_pages_;
}

}  // namespace millpond

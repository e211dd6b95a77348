// SPDX-License-Identifier: Apache-2.0
// Pages: allocating them from the source, moving them where they are needed, releasing them.
#include <sched.h>

#include <algorithm>
#include <new>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/pool/pool_state.h"

namespace millpond::pool {

Status PoolState::Charge(size_t bytes) {
  const size_t limit = std::atomic_ref(settings.limit).load(std::memory_order_relaxed);
  const size_t now = counters_.reserved.load(std::memory_order_relaxed);
  MP_CHECK(limit == 0 || now + bytes <= limit, kOutOfMemory,
           "the pool's limit is %zu bytes (MILLPOND_POOL_LIMIT): %zu are reserved and %zu more are needed", limit, now,
           bytes);
  counters_.reserved.store(now + bytes, std::memory_order_relaxed);  // only with grow_
  return Ok();
}

// The source has granted what was charged.
void PoolState::CountTaken() {
  counters_.taken.fetch_add(1, std::memory_order_relaxed);
  const size_t now = counters_.reserved.load(std::memory_order_relaxed);
  if (now > counters_.reserved_high.load(std::memory_order_relaxed)) {
    counters_.reserved_high.store(now, std::memory_order_relaxed);
  }
}

void PoolState::Discharge(size_t bytes) { counters_.reserved.fetch_sub(bytes, std::memory_order_relaxed); }

Status PoolState::NewPages(size_t count, std::vector<PageHandle>* out_pages) {
  out_pages->reserve(out_pages->size() + count);  // a page that could not be listed would be lost
  for (size_t i = 0; i < count; ++i) {
    MP_RETURN_IF_ERROR(Charge(page_bytes));
    PageHandle page = 0;
    if (Status status = source->NewPage(&page); !status.ok()) {
      Discharge(page_bytes);
      return status;
    }
    CountTaken();
    out_pages->push_back(page);
  }
  return Ok();
}

// A lane without a stream has no unfinished work.
Status PoolState::MarkLane(const Lane& lane, Ticket* out_ticket) {
  *out_ticket = 0;
  return lane.stream() == 0 ? Ok() : source->Mark(lane.stream(), out_ticket);
}

bool PoolState::UpdatePassed(Lane* lane) {
  if (lane->passed == lane->serial) return true;
  if (lane->mark_serial > lane->passed) {
    if (lane->mark != 0 && !source->Passed(lane->mark)) return false;
    if (lane->mark != 0) source->Drop(std::exchange(lane->mark, 0));
    lane->passed = lane->mark_serial;
    if (lane->passed == lane->serial) return true;
  }
  if (lane->mark != 0) source->Drop(std::exchange(lane->mark, 0));
  Ticket ticket = 0;
  if (!MarkLane(*lane, &ticket).ok()) return false;  // e.g. while the stream is being captured
  lane->mark_serial = lane->serial;
  lane->mark = ticket;
  if (ticket != 0 && !source->Passed(ticket)) return false;
  if (ticket != 0) source->Drop(std::exchange(lane->mark, 0));
  lane->passed = lane->serial;
  return true;
}

void PoolState::CollectFrom(Lane* lane, size_t count, const Heap* heap, const Heap::Growth* except,
                            std::vector<PageHandle>* out_pages) {
  const auto passed = [at = lane->passed](const Block& block) { return block.freed_at <= at; };
  for (Heap* each : {&lane->large, &lane->small}) {
    while (out_pages->size() < count) {
      Block* block = each->HighestWithPages(each == heap ? except : nullptr, passed);
      if (block == nullptr) break;
      const size_t before = out_pages->size();
      std::vector<Address> addresses;
      each->TakePages(block, count - before, out_pages, &addresses);
      for (size_t i = 0; i < addresses.size(); ++i) {
        // Unmapping a mapped page cannot fail; if it does, the page stays mapped and is leaked.
        source->Unmap(addresses[i], (*out_pages)[before + i]).Ignore();
        if (settings.history != 0) {
          Remember(HistoryEntry::Action::kPageGiven, addresses[i], page_bytes, lane->stream());
        }
      }
    }
  }
}

void PoolState::CollectFromOthers(Lane* own, size_t count, std::vector<PageHandle>* out_pages) {
  for (Lane* lane : lanes_) {
    if (out_pages->size() >= count) return;
    if (lane == own) continue;
    MutexLock lock(lane->lock);
    if (!lane->pending.empty()) PollPending(lane);
    FlushOthers(lane);
    if (lane->large.WholePages() + lane->small.WholePages() == 0) continue;
    UpdatePassed(lane);
    CollectFrom(lane, count, nullptr, nullptr, out_pages);
  }
}

// In this order: spare pages; new ones while little memory is free; the lane's own free ones; other streams'; new ones.
Status PoolState::GetPages(Lane* lane, const Heap* heap, const Heap::Growth& growth,
                           std::vector<PageHandle>* out_pages) {
  const size_t count = growth.pages;
  // Exact, unlike the high-water mark of used bytes, which is counted with each allocation.
  needed_high_ = std::max(needed_high_, UsedNow(lane) + (growth.end - growth.start));
  while (out_pages->size() < count && !spare_.empty()) {
    out_pages->push_back(spare_.back());
    spare_.pop_back();
  }
  const auto left = [&] { return count - out_pages->size(); };
  NewPages(std::min(left(), NewPagesAllowed()), out_pages).Ignore();  // on failure others may have some
  const size_t before = out_pages->size();
  UpdatePassed(lane);
  if (left() != 0) CollectFrom(lane, count, heap, &growth, out_pages);
  if (left() != 0) CollectFromOthers(lane, count, out_pages);
  const size_t moved = out_pages->size() - before;
  counters_.moved.fetch_add(moved, std::memory_order_relaxed);
  owed_ += moved;
  return NewPages(left(), out_pages);
}

// Waits briefly for free pages whose streams are not done. True: all of them are usable now.
bool PoolState::WaitForPages(size_t needed) {
  if (settings.wait == 0) return false;
  const uint64_t until = NowNs() + settings.wait * 1000;
  size_t waiting = 0;
  std::vector<Lane*> lanes;
  for (Lane* lane : lanes_) {
    MutexLock lock(lane->lock);
    const size_t whole = lane->large.WholePages() + lane->small.WholePages();
    if (whole == 0 || lane->passed == lane->serial) continue;
    waiting += whole;
    lanes.push_back(lane);
  }
  if (waiting < needed) return false;  // waiting would not avoid new pages
  counters_.waits.fetch_add(1, std::memory_order_relaxed);
  for (;;) {
    bool all = true;
    for (Lane* lane : lanes) {
      MutexLock lock(lane->lock);
      all = UpdatePassed(lane) && all;
    }
    if (all) return true;
    if (NowNs() > until) return false;
    sched_yield();
  }
}

// New pages until more than the slack is free, of the most that was ever needed. Moving a page costs as much as
// hundreds of allocations, so a pool owes what it moves beyond a page in kCallsPerMove allocations, and may take a new
// page for every kMovesPerPage that it owes: a program that repeats itself soon has what it needs, and moves no more.
size_t PoolState::NewPagesAllowed() {
  constexpr uint64_t kCallsPerMove = 1024;
  constexpr uint64_t kMovesPerPage = 2;
  constexpr size_t kMaxPercent = 25;
  const size_t percent = needed_high_ / 100;
  const uint64_t paid = static_cast<uint64_t>(Sum(nullptr).allocations) / kCallsPerMove;
  owed_ -= std::min(owed_, paid - std::exchange(paid_, paid));
  owed_ = std::min(owed_, percent * kMaxPercent / page_bytes * kMovesPerPage);
  const size_t allowed = needed_high_ + percent * settings.slack + owed_ / kMovesPerPage * page_bytes;
  const size_t reserved = counters_.reserved.load(std::memory_order_relaxed);
  return allowed > reserved ? (allowed - reserved) / page_bytes : 0;
}

Status PoolState::GrowByPages(Lane* lane, Heap* heap, size_t rounded, const Heap::Growth& growth, Block** out_block) {
  std::vector<PageHandle> pages;
  pages.reserve(growth.pages);
  spare_.reserve(spare_.size() + growth.pages);  // for the way back, where nothing may fail
  std::vector<Address> holes;
  size_t mapped = 0;
  const auto undo = [&] {
    grow_.AssertHeld();
    while (mapped > 0) {
      --mapped;
      source->Unmap(holes[mapped], pages[mapped]).Ignore();  // mapped a moment ago
    }
    spare_.insert(spare_.end(), pages.begin(), pages.end());
  };
  try {
    Status status = GetPages(lane, heap, growth, &pages);
    holes = heap->Holes(growth, rounded);
    heap->ReserveForGrow();
    while (status.ok() && mapped < holes.size()) {
      status = source->Map(holes[mapped], pages[mapped]);
      if (status.ok()) ++mapped;
    }
    if (!status.ok()) {
      undo();
      return status;
    }
  } catch (const std::bad_alloc&) {
    undo();
    throw;
  }
  if (settings.history != 0) {
    for (const Address hole : holes) {
      Remember(HistoryEntry::Action::kPageTaken, hole, page_bytes, lane->stream());
    }
  }
  Heap::Growth dated = growth;
  if (settings.history != 0) dated.now_ns = NowNs();
  *out_block = heap->Grow(dated, rounded, pages.data());
  return Ok();
}

// Needs grow_, without the lane's lock.
Status PoolState::ReserveAddresses(Lane* lane, Heap* heap, size_t rounded) {
  const size_t wanted = settings.reserve != 0 ? settings.reserve : source->total_bytes();
  const size_t least = RoundUp(rounded, page_bytes) + page_bytes;
  size_t bytes = RoundUp(std::max(heap->small() ? wanted / 16 : wanted, least), page_bytes);
  Address address = 0;
  Status status = source->Reserve(bytes, &address);
  while (!status.ok() && bytes > least) {
    bytes = std::max(least, RoundUp(bytes / 4, page_bytes));
    status = source->Reserve(bytes, &address);
  }
  MP_RETURN_IF_ERROR(std::move(status));
  try {
    MutexLock lock(lane->lock);
    spans.Add([&] { return heap->AddSpan(address, bytes, true); });
  } catch (const std::bad_alloc&) {
    source->Unreserve(address, bytes);
    throw;
  }
  return Ok();
}

Status PoolState::GrowBySegment(Lane* lane, Heap* heap, size_t rounded, Block** out_block) {
  constexpr size_t kSmallSegment = size_t{2} << 20;
  const size_t least = heap->small() ? kSmallSegment : settings.segment;
  // Large blocks get a segment of their own size; several smaller ones share one.
  const size_t bytes = rounded >= least / 2 ? RoundUp(rounded, kSmallSegment) : least;
  MP_RETURN_IF_ERROR(Charge(bytes));
  Address address = 0;
  if (Status status = source->NewSegment(bytes, &address); !status.ok()) {
    Discharge(bytes);
    return status;
  }
  MutexLock lock(lane->lock);
  try {
    spans.Add([&] { return heap->AddSpan(address, bytes, false); });
  } catch (const std::bad_alloc&) {
    source->DeleteSegment(address, bytes);
    Discharge(bytes);
    throw;
  }
  CountTaken();
  if (settings.history != 0) Remember(HistoryEntry::Action::kPageTaken, address, bytes, lane->stream());
  *out_block = heap->Take(rounded);
  return Ok();
}

Status PoolState::OutOfMemoryNow(size_t bytes, const Status& why) {
  const Statistics now = GetStatistics();
  return Status(
      Code::kOutOfMemory,
      Format(
          "no memory for a block of %zu bytes on device %d, even after waiting for the streams (where "
          "allowed) and trimming: %zu bytes are live in %llu blocks, %zu reserved, %zu pending, the largest free block "
          "has %zu. %s",
          bytes, device, now.live_bytes, static_cast<unsigned long long>(now.live_blocks), now.reserved_bytes,
          now.pending_bytes, now.largest_free_bytes, why.message().c_str()));
}

Status PoolState::AllocateByGrowth(Lane* lane, size_t rounded, Block** out_block) {
  UniqueLock grow(grow_);
  bool waited = false;
  bool reclaimed = false;
  bool segments = page_bytes == 0;
  for (;;) {
    Status status;
    size_t needed = 0;
    bool no_room = false;
    Heap* heap = nullptr;
    {
      MutexLock lock(lane->lock);
      heap = HeapFor(lane, rounded);
      // Another thread may have freed enough, have it in its cache, or have grown the heap meanwhile.
      FlushOthers(lane);
      if ((*out_block = heap->Take(rounded)) != nullptr) break;
      Heap::Growth growth;
      if (!segments) {
        if (!heap->PlanGrowth(rounded, &growth)) {
          no_room = true;
        } else {
          UpdatePassed(lane);
          needed = growth.pages;
          if (waited || lane->passed == lane->serial) {
            status = GrowByPages(lane, heap, rounded, growth, out_block);
            if (status.ok()) break;
            needed = 0;
          }
        }
      }
    }
    if (no_room) {
      // Without addresses there are still segments, which bring their own.
      if (!ReserveAddresses(lane, heap, rounded).ok()) segments = true;
      continue;
    }
    if (needed != 0) {
      waited = true;
      WaitForPages(needed);
      continue;
    }
    if (segments) {
      status = GrowBySegment(lane, heap, rounded, out_block);
      if (status.ok()) break;
    }
    if (reclaimed || status.code() != Code::kOutOfMemory) {
      return status.code() == Code::kOutOfMemory ? OutOfMemoryNow(rounded, status) : std::move(status);
    }
    reclaimed = true;
    Reclaim();
    if (segments) ReleaseSegments(0);
  }
  if (reclaimed) counters_.retries.fetch_add(1, std::memory_order_relaxed);
  return Ok();
}

// Needs grow_. Makes everything that was freed reusable, however long the streams take. Pending blocks come first, so
// that the mark of the lane's own stream covers them too.
void PoolState::Reclaim() {
  // A source that may not wait (inside a task, or where the client forbids it) fails: then nothing has passed.
  const auto done = [&](Ticket awaited) {
    bool passed = false;
    try {
      passed = source->Await(awaited).ok();
    } catch (const std::bad_alloc&) {  // the text of a failure
    }
    if (!passed && !source->Passed(awaited)) return false;
    source->Drop(awaited);
    return true;
  };
  for (Lane* lane : lanes_) {
    PendingBlocks pending;
    {
      MutexLock lock(lane->lock);
      FlushOthers(lane);
      pending = std::exchange(lane->pending, {});
    }
    for (Block* block = pending.first; block != nullptr; block = block->next) {
      if (block->ticket != 0 && done(block->ticket)) block->ticket = 0;
      if (block->others != nullptr) std::erase_if(block->others->tickets, done);
    }
    Ticket ticket = 0;
    uint64_t serial = 0;
    {
      MutexLock lock(lane->lock);
      pending.Remove([&](Block* block) {
        lane->lock.AssertHeld();
        if (block->HasTickets()) {
          lane->pending.Append(block);
        } else {
          lane->pending_bytes -= block->bytes;
          ReturnToHeap(lane, block);
        }
        return true;
      });
      serial = lane->serial;
      if (lane->passed != serial && !MarkLane(*lane, &ticket).ok()) serial = lane->passed;
    }
    if (ticket != 0 && !done(ticket)) {
      source->Drop(ticket);
      serial = 0;
    }
    MutexLock lock(lane->lock);
    lane->passed = std::max(lane->passed, serial);
  }
}

// Needs grow_. Releases free segments whose streams are done.
size_t PoolState::ReleaseSegments(size_t keep_bytes) {
  size_t released = 0;
  for (Lane* lane : lanes_) {
    for (Heap* heap : {&lane->large, &lane->small}) {
      for (;;) {
        if (counters_.reserved.load(std::memory_order_relaxed) <= keep_bytes) return released;
        MutexLock lock(lane->lock);
        UpdatePassed(lane);
        Span* span = heap->FreeSegment([at = lane->passed](const Block& block) { return block.freed_at <= at; });
        if (span == nullptr) break;
        spans.Remove(span);  // may find no host memory; then nothing has happened yet
        source->DeleteSegment(span->address, span->bytes);
        if (settings.history != 0) {
          Remember(HistoryEntry::Action::kPageGiven, span->address, span->bytes, lane->stream());
        }
        Discharge(span->bytes);
        counters_.given.fetch_add(1, std::memory_order_relaxed);
        released += span->bytes;
        heap->DropSpan(span);
      }
    }
  }
  return released;
}

Status PoolState::Trim(size_t keep_bytes, bool wait) {
  MP_RETURN_IF_ERROR(CheckNotForked());
  MutexLock grow(grow_);
  if (wait) {
    Reclaim();
  } else {
    for (Lane* lane : lanes_) {
      MutexLock lock(lane->lock);
      FlushOthers(lane);
      if (!lane->pending.empty()) PollPending(lane);
      UpdatePassed(lane);
    }
  }
  const auto reserved = [&] { return counters_.reserved.load(std::memory_order_relaxed); };
  if (page_bytes != 0 && reserved() > keep_bytes) {
    const size_t count = (reserved() - keep_bytes + page_bytes - 1) / page_bytes;
    for (Lane* lane : lanes_) {
      MutexLock lock(lane->lock);
      CollectFrom(lane, count, nullptr, nullptr, &spare_);
    }
    for (size_t i = 0; i < count && !spare_.empty(); ++i) DeleteSparePage();
  }
  ReleaseSegments(keep_bytes);
  return Ok();
}

void PoolState::DeleteSparePage() {
  source->DeletePage(spare_.back());
  spare_.pop_back();
  Discharge(page_bytes);
  counters_.given.fetch_add(1, std::memory_order_relaxed);
}

PoolState::~PoolState() {
  if (follower_ != nullptr) follower_->blocks.Clear();  // live blocks are freed with the pool
  Unfollow().Ignore();
  MutexLock grow(grow_);
  for (Lane* lane : lanes_) ++lane->serial;  // so that Reclaim also waits for work that uses live blocks
  try {
    Reclaim();
  } catch (const std::bad_alloc&) {  // the text of a mark's failure
  }
  for (Lane* lane : lanes_) {
    for (Heap* heap : {&lane->large, &lane->small}) {
      for (const std::unique_ptr<Span>& span : heap->spans()) {
        if (span->page_bytes == 0) {
          source->DeleteSegment(span->address, span->bytes);
          continue;
        }
        for (size_t i = 0; i < span->pages.size(); ++i) {
          if (span->pages[i] == 0) continue;
          source->Unmap(span->address + i * page_bytes, span->pages[i]).Ignore();  // nothing else could be done
          source->DeletePage(span->pages[i]);
        }
        source->Unreserve(span->address, span->bytes);
      }
    }
    if (lane->mark != 0) source->Drop(lane->mark);
  }
  for (const PageHandle page : spare_) source->DeletePage(page);
}

}  // namespace millpond::pool

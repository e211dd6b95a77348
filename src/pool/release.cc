// SPDX-License-Identifier: Apache-2.0
// From a free until the block's memory can be reused.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/pool/pool_state.h"

namespace millpond::pool {

Status PoolState::NotLive(Address address, Span* span) const {
  const auto* at = reinterpret_cast<const void*>(address);
  MP_CHECK(span != nullptr, kMemoryFree,
           "%p was not allocated from this pool (device %d): free it where it came from, or it is not the address of a "
           "block at all",
           at, device);
  const Block* block = span->Holding(address - red_zone);
  if (block == nullptr || block->end() <= address - red_zone) {
    return Status(Code::kMemoryFree, Format("%p is inside the pool of device %d, but no block is there", at, device));
  }
  if (block->Is(Block::State::kLive)) {
    return Status(Code::kMemoryFree,
                  Format("%p is %zu bytes inside a live block of %zu bytes that starts at %p: free the start", at,
                         address - block->address - red_zone, block->requested,
                         reinterpret_cast<const void*>(block->address + red_zone)));
  }
  return Status(Code::kMemoryFree,
                Format("%p is already free (double free), or was never the start of a block: it lies in "
                       "%zu free bytes of the pool of device %d",
                       at, block->bytes, device));
}

Status PoolState::FreeSlow(Address address, StreamKey stream, bool own_stream) {
  MP_RETURN_IF_ERROR(CheckNotForked());
  Status planned;
  if (following_.load(std::memory_order_acquire) && FreePlanned(address, stream, own_stream, &planned)) return planned;
  const Address start = address - red_zone;
  Span* span = spans.Find(start);
  if (span == nullptr || start % kUnit != 0) return NotLive(address, span);
  Lane* lane = span->heap->lane();
  ThreadCache* cache = caches_allowed() && lane->stream() != 0 ? CacheOf(lane) : nullptr;
  StreamKey used_on = own_stream ? lane->stream() : stream;
  Status zones;  // reported at the end: the block is freed nevertheless, or its memory would leak
  if (red_zone != 0) {
    const Block* block = span->At(start);
    if (block != nullptr && block->Is(Block::State::kLive)) zones = CheckRedZones(*block, used_on);
  }
  {
    MutexLock lock(lane->lock);
    Block* block = span->At(start);
    if (block == nullptr || !block->Is(Block::State::kLive)) return NotLive(address, span);
    if (own_stream) used_on = lane->stream();
    const bool foreign_use = block->recorded || used_on != lane->stream();
    if (settings.poison != 0 && !foreign_use) {
      MP_RETURN_IF_ERROR(source->Fill(start, block->bytes, kPoisonByte, used_on));
    }
    if (foreign_use) MP_RETURN_IF_ERROR(MarkOthers(lane, block, used_on));
    // From here on nothing fails, and nothing asks for host memory.
    if (cache == nullptr) {
      Count(&lane->tally, Freed(block->requested, block->bytes));
    } else {
      cache->CountFree(block->requested, block->bytes);
      FoldIfDue(lane, cache);
    }
    if (settings.history != 0) {
      block->since_ns = NowNs();
      Remember(HistoryEntry::Action::kFreeRequested, address, block->requested, used_on);
    }
    if (recording_.load(std::memory_order_relaxed)) RecordFree(address);
    if (cache != nullptr && !foreign_use) {
      cache->MakeRoom(block->bytes, [&](Block* older) {
        lane->lock.AssertHeld();
        ReturnToHeap(lane, older);
      });
      block->state.store(Block::State::kCached, std::memory_order_relaxed);
      if (!cache->Push(block)) ReturnToHeap(lane, block);
    } else {
      Release(lane, block);
    }
  }
  MaybeTrim();
  return zones;
}

// A ticket of each other stream that still works on the block. On failure the block is live and in use there as before.
Status PoolState::MarkOthers(Lane* lane, Block* block, StreamKey last_use) {
  OtherStreams* const others = block->others.get();
  Status status;
  bool last_use_recorded = last_use == lane->stream();
  try {
    for (size_t i = 0; others != nullptr && i < others->streams.size() && status.ok(); ++i) {
      Ticket ticket = 0;
      status = source->Mark(others->streams[i], &ticket);
      if (ticket != 0) others->tickets.push_back(ticket);
      last_use_recorded = last_use_recorded || others->streams[i] == last_use;
    }
    if (status.ok() && !last_use_recorded) status = source->Mark(last_use, &block->ticket);
  } catch (const std::bad_alloc&) {
    DropTickets(block);
    throw;
  }
  if (status.ok()) return status;
  DropTickets(block);
  return std::move(status).Prefixed(
      "the block is not freed, because the work of another stream that uses it could not be marked");
}

void PoolState::DropTickets(Block* block) {
  if (block->ticket != 0) source->Drop(std::exchange(block->ticket, 0));
  if (block->others == nullptr) return;
  for (const Ticket ticket : block->others->tickets) source->Drop(ticket);
  block->others->tickets.clear();
}

bool PoolState::OthersPassed(Block* block) {
  if (block->ticket != 0) {
    if (!source->Passed(block->ticket)) return false;
    source->Drop(std::exchange(block->ticket, 0));
  }
  if (block->others == nullptr) return true;
  std::vector<Ticket>& tickets = block->others->tickets;
  while (!tickets.empty() && source->Passed(tickets.back())) {
    source->Drop(tickets.back());
    tickets.pop_back();
  }
  return tickets.empty();
}

// A block whose other streams are marked.
void PoolState::Release(Lane* lane, Block* block) {
  if (!block->HasTickets()) {
    PoisonLate(lane, *block);
    ReturnToHeap(lane, block);
    return;
  }
  block->state.store(Block::State::kPending, std::memory_order_relaxed);
  lane->pending_bytes += block->bytes;
  lane->pending.Append(block);
}

// Blocks that other streams used are overwritten only when those are done. Blocks without a stream, or released under
// memory pressure, are not poisoned: nobody would see it.
void PoolState::PoisonLate(Lane* lane, const Block& block) {
  if (settings.poison == 0 || lane->stream() == 0) return;
  try {
    source->Fill(block.address, block.bytes, kPoisonByte, lane->stream()).Ignore();  // the free itself has succeeded
  } catch (const std::bad_alloc&) {
  }
}

void PoolState::ReturnToHeap(Lane* lane, Block* block) {
  if (settings.history != 0) {
    Remember(HistoryEntry::Action::kFreeCompleted, block->address + red_zone, block->requested, lane->stream());
  }
  if (block->recorded) {
    block->recorded = false;
    block->others.reset();
  }
  block->span->heap->Put(block, ++lane->serial);
}

void PoolState::PollPending(Lane* lane) {
  lane->pending.Remove([&](Block* block) {
    lane->lock.AssertHeld();
    if (!OthersPassed(block)) return false;
    lane->pending_bytes -= block->bytes;
    PoisonLate(lane, *block);
    ReturnToHeap(lane, block);
    return true;
  });
}

Status PoolState::CheckRedZones(const Block& block, StreamKey stream) {
  const Address address = block.address + red_zone;
  const size_t tail = block.bytes - red_zone - block.requested;
  std::array<uint8_t, 4096> part;
  const auto check = [&](Address at, size_t bytes, const char* side) -> Status {
    for (const Address end = at + bytes; at < end; at += part.size()) {
      const size_t count = std::min(part.size(), end - at);
      MP_RETURN_IF_ERROR(source->Read(at, count, part.data(), stream));
      const auto* wrong =
          std::find_if(part.data(), part.data() + count, [](uint8_t byte) { return byte != kRedZoneByte; });
      if (wrong == part.data() + count) continue;
      const auto distance = static_cast<int64_t>(at + static_cast<size_t>(wrong - part.data()) - address);
      return Status(Code::kDeviceMemory,
                    Format("the red zone %s the block of %zu bytes at %p was written: byte %lld is 0x%02x; a kernel or "
                           "copy on stream %p went out of bounds",
                           side, block.requested, reinterpret_cast<const void*>(address),
                           static_cast<long long>(distance), *wrong, reinterpret_cast<const void*>(stream)));
    }
    return Ok();
  };
  MP_RETURN_IF_ERROR(check(block.address, red_zone, "before"));
  return check(address + block.requested, tail, "after");
}

Status PoolState::RecordStream(Address address, StreamKey stream) {
  MP_RETURN_IF_ERROR(CheckNotForked());
  const Address start = address - red_zone;
  if (following_.load(std::memory_order_acquire)) {
    MutexLock lock(plan_lock_);
    MP_CHECK(follower_ == nullptr || follower_->blocks.Find(address) == nullptr, kUnsupported,
             "%p was placed by a plan, which shares memory only within a stream: leave blocks that other streams use "
             "out of planned runs (millpondPoolEndRun before, millpondPoolBeginRun after)",
             reinterpret_cast<const void*>(address));
  }
  Span* span = spans.Find(start);
  if (span == nullptr || start % kUnit != 0) return NotLive(address, span);
  Lane* lane = span->heap->lane();
  MutexLock lock(lane->lock);
  Block* block = span->At(start);
  if (block == nullptr || !block->Is(Block::State::kLive)) return NotLive(address, span);
  if (stream == lane->stream()) return Ok();
  if (block->others == nullptr) block->others = std::make_unique<OtherStreams>();
  std::vector<StreamKey>& streams = block->others->streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) {
    block->others->tickets.reserve(streams.size() + 1);  // a free must not fail
    streams.push_back(stream);
  }
  block->recorded = true;
  return Ok();
}

Status PoolState::Tag(Address address, const char* tag) {
  const Address start = address - red_zone;
  Span* span = spans.Find(start);
  if (span == nullptr || start % kUnit != 0) return NotLive(address, span);
  MutexLock lock(span->heap->lane()->lock);
  Block* block = span->At(start);
  if (block == nullptr || !block->Is(Block::State::kLive)) return NotLive(address, span);
  block->tag = tag;
  return Ok();
}

bool PoolState::FindBlock(Address address, Address* out_start, size_t* out_bytes) {
  if (following_.load(std::memory_order_acquire)) {
    MutexLock lock(plan_lock_);
    bool found = false;
    const auto look = [&](const PlacedBlocks::Spot& spot) {
      if (address - spot.address >= spot.requested) return;
      *out_start = spot.address;
      *out_bytes = spot.requested;
      found = true;
    };
    if (follower_ != nullptr) follower_->blocks.ForEach(look);
    if (found) return true;
  }
  Span* span = spans.Find(address - red_zone);
  if (span == nullptr) return false;
  MutexLock lock(span->heap->lane()->lock);
  const Block* block = span->Holding(address);
  if (block == nullptr || !block->Is(Block::State::kLive)) return false;
  const Address start = block->address + red_zone;
  if (address - start >= block->requested) return false;
  *out_start = start;
  *out_bytes = block->requested;
  return true;
}

void PoolState::ForgetStream(StreamKey stream) {
  Lane* lane = nullptr;
  {
    UniqueLock lock(lanes_lock_);
    const auto found = by_stream_.find(stream);
    if (found == by_stream_.end()) return;
    lane = found->second;
    by_stream_.erase(found);
  }
  // If the mark fails, the stream is already gone and there is nothing to wait for.
  Ticket ticket = 0;
  if (source->Mark(stream, &ticket).ok() && ticket != 0) {
    source->Await(ticket).Ignore();
    source->Drop(ticket);
  }
  {
    MutexLock lock(plan_lock_);
    for (size_t i = 0; follower_ != nullptr && i < follower_->areas.size(); ++i) {
      if (follower_->areas[i].last == stream) follower_->areas[i].last = 0;
    }
  }
  {
    MutexLock lock(lane->lock);
    FlushOthers(lane);
    for (const std::unique_ptr<ThreadCache>& cache : lane->caches) {
      cache->Revoke();
      cache->Close();
    }
    if (lane->mark != 0) source->Drop(std::exchange(lane->mark, 0));
    lane->passed = lane->mark_serial = lane->serial;
    lane->set_stream(0);
  }
  UniqueLock lock(lanes_lock_);
  orphans_.push_back(lane);
}

void PoolState::MaybeTrim() {
  if (!trims_by_itself()) return;
  const size_t keep = std::atomic_ref(settings.keep).load(std::memory_order_relaxed);
  const auto used = static_cast<size_t>(std::max<int64_t>(0, Sum(nullptr).used));
  const size_t reserved = counters_.reserved.load(std::memory_order_relaxed);
  const size_t free = reserved > used ? reserved - used : 0;
  const size_t slack = std::max(page_bytes, size_t{1} << 20);
  if (free < keep + 2 * slack || free < keep) return;
  try {
    Trim(used + keep, false).Ignore();  // what cannot be released now is released by a later free
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace millpond::pool

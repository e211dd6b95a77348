// SPDX-License-Identifier: Apache-2.0
// Statistics and snapshots.
#include <algorithm>
#include <new>

#include "src/base/mutex.h"
#include "src/pool/pool_state.h"

namespace millpond::pool {

void PoolState::Remember(HistoryEntry::Action action, Address address, size_t bytes, StreamKey stream) {
  const HistoryEntry entry{
      .action = action, .address = address, .bytes = bytes, .stream = stream, .time_us = NowNs() / 1000};
  MutexLock lock(history_lock_);
  if (history_.size() < settings.history) {
    try {
      history_.push_back(entry);
    } catch (const std::bad_alloc&) {
      // What the entry tells of has happened and must not fail for it.
    }
    return;
  }
  history_[history_next_] = entry;
  history_next_ = (history_next_ + 1) % history_.size();
}

Statistics PoolState::GetStatistics() {
  Statistics sum;
  const auto get = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  Counts counts = Sum(nullptr);
  counts.live_high = get(counters_.live_high);
  counts.used_high = get(counters_.used_high);
  for (Lane* lane : lanes_) {
    MutexLock lock(lane->lock);
    sum.pending_bytes += lane->pending_bytes;
    for (const Heap* heap : {&lane->large, &lane->small}) {
      sum.stranded_bytes += heap->free_bytes() - heap->WholePages() * page_bytes;
      sum.largest_free_bytes = std::max(sum.largest_free_bytes, heap->largest_free());
    }
    for (const std::unique_ptr<ThreadCache>& cache : lane->caches) {
      const Counts held = cache->Read();
      counts.live_high = std::max(counts.live_high, counts.live + held.live_high);
      counts.used_high = std::max(counts.used_high, counts.used + held.used_high);
      counts.live += held.live;
      counts.used += held.used;
      counts.allocations += held.allocations;
      counts.frees += held.frees;
    }
  }
  const int64_t live = counts.live;
  const int64_t used = counts.used;
  const int64_t live_high = counts.live_high;
  const int64_t used_high = counts.used_high;
  sum.allocations = counts.allocations;
  sum.frees = counts.frees;
  sum.live_bytes = static_cast<size_t>(std::max<int64_t>(live, 0));
  sum.used_bytes = static_cast<size_t>(std::max<int64_t>(used, 0));
  sum.live_bytes_high = static_cast<size_t>(std::max(live_high, live));
  sum.used_bytes_high = static_cast<size_t>(std::max(used_high, used));
  sum.live_blocks = sum.allocations - std::min(sum.allocations, sum.frees);
  sum.reserved_bytes = get(counters_.reserved);
  sum.reserved_bytes_high = get(counters_.reserved_high);
  sum.pages_taken = get(counters_.taken);
  sum.pages_given = get(counters_.given);
  sum.pages_moved = get(counters_.moved);
  sum.waits = get(counters_.waits);
  sum.retries = get(counters_.retries);
  sum.failures = get(counters_.failures);
  sum.planned = get(counters_.planned);
  sum.diverged = get(counters_.diverged);
  return sum;
}

void PoolState::ResetHighs() {
  for (Lane* lane : lanes_) {
    MutexLock lock(lane->lock);
    for (const std::unique_ptr<ThreadCache>& cache : lane->caches) {
      cache->Revoke();
      Fold(lane, cache.get());
      if (caches_allowed()) cache->Return();
    }
  }
  const Counts now = Sum(nullptr);
  counters_.live_high.store(now.live, std::memory_order_relaxed);
  counters_.used_high.store(now.used, std::memory_order_relaxed);
  counters_.reserved_high.store(counters_.reserved.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

SpanInfo PoolState::Describe(const Span& span, const Lane& lane, bool small, uint64_t now) const {
  SpanInfo info{.address = span.address,
                .bytes = span.bytes,
                .mapped = span.mapped_bytes,
                .stream = lane.stream(),
                .small = small,
                .pages = span.page_bytes != 0,
                .blocks = {}};
  for (const Block* block = span.first; block != nullptr; block = block->after) {
    const Block::State state = block->state.load(std::memory_order_relaxed);
    BlockInfo entry{.address = block->address, .bytes = block->bytes, .state = state, .stream = lane.stream()};
    if (state == Block::State::kLive) {
      entry.address += red_zone;
      entry.bytes -= 2 * red_zone;
      entry.requested = block->requested;
      entry.tag = block->tag;
    }
    if (settings.history != 0 && state != Block::State::kHole) entry.age_ns = now - std::min(now, block->since_ns);
    info.blocks.push_back(entry);
  }
  return info;
}

Snapshot PoolState::TakeSnapshot() {
  Snapshot snapshot;
  snapshot.device = device;
  const uint64_t now = NowNs();
  for (Lane* lane : lanes_) {
    MutexLock lock(lane->lock);
    // The owners stay out while their blocks' states are read.
    for (const std::unique_ptr<ThreadCache>& cache : lane->caches) cache->Revoke();
    for (const Heap* heap : {&lane->large, &lane->small}) {
      for (const std::unique_ptr<Span>& span : heap->spans()) {
        snapshot.spans.push_back(Describe(*span, *lane, heap->small(), now));
      }
    }
    if (caches_allowed()) {
      for (const std::unique_ptr<ThreadCache>& cache : lane->caches) cache->Return();
    }
  }
  {
    MutexLock lock(plan_lock_);
    std::vector<PlacedBlocks::Spot> placed;
    if (follower_ != nullptr)
      follower_->blocks.ForEach([&](const PlacedBlocks::Spot& spot) { placed.push_back(spot); });
    std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    for (const Follower::Area& area : follower_ != nullptr ? follower_->areas : std::vector<Follower::Area>{}) {
      SpanInfo info{.address = area.address,
                    .bytes = area.bytes,
                    .mapped = area.bytes,
                    .stream = area.stream,
                    .small = false,
                    .pages = !area.pages.empty(),
                    .blocks = {}};
      Address at = area.address;
      const auto free_until = [&](Address end) {
        if (end > at) info.blocks.push_back({.address = at, .bytes = end - at, .stream = area.stream});
      };
      for (const PlacedBlocks::Spot& spot : placed) {
        if (spot.address - area.address >= area.bytes) continue;
        free_until(spot.address);
        info.blocks.push_back({.address = spot.address,
                               .bytes = spot.bytes,
                               .requested = spot.requested,
                               .state = BlockState::kLive,
                               .stream = area.stream,
                               .age_ns = 0,
                               .tag = "planned"});
        at = spot.address + spot.bytes;
      }
      free_until(area.address + area.bytes);
      snapshot.spans.push_back(std::move(info));
    }
  }
  snapshot.statistics = GetStatistics();
  MutexLock lock(history_lock_);
  for (size_t i = 0; i < history_.size(); ++i) {
    snapshot.history.push_back(history_[(history_next_ + i) % history_.size()]);
  }
  return snapshot;
}

}  // namespace millpond::pool

// SPDX-License-Identifier: Apache-2.0
// Live bytes and high-water marks: counted by each lane and thread cache, summed here.
#include "src/base/mutex.h"
#include "src/pool/pool_state.h"

namespace millpond::pool {

namespace {
void RaiseTo(std::atomic<int64_t>* high, int64_t value) {
  int64_t seen = high->load(std::memory_order_relaxed);
  while (value > seen && !high->compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}
}  // namespace

Counts PoolState::Sum(const Tally* except) const {
  Counts sum;
  const auto add = [&](const Tally& tally) {
    if (&tally == except) return;
    sum.live += tally.live.load(std::memory_order_relaxed);
    sum.used += tally.used.load(std::memory_order_relaxed);
    sum.allocations += tally.allocations.load(std::memory_order_relaxed);
    sum.frees += tally.frees.load(std::memory_order_relaxed);
  };
  add(planned_);
  for (const Lane* lane : lanes_) add(lane->tally);
  return sum;
}

// Also what thread caches have not folded yet.
size_t PoolState::UsedNow(const Lane* flushed) const {
  int64_t used = Sum(nullptr).used;
  for (Lane* lane : lanes_) {
    if (lane == flushed) continue;
    MutexLock lock(lane->lock);
    for (const std::unique_ptr<ThreadCache>& cache : lane->caches) used += cache->Read().used;
  }
  return static_cast<size_t>(std::max<int64_t>(0, used));
}

void PoolState::Count(Tally* tally, const Counts& counts) {
  constexpr uint32_t kLookEvery = 64;
  if (counts.allocations != 0) {
    if (tally->looks_due == 0) {
      const Counts others = Sum(tally);
      tally->others_live = others.live;
      tally->others_used = others.used;
      tally->looks_due = kLookEvery;
    }
    --tally->looks_due;
    const int64_t live = tally->live.load(std::memory_order_relaxed) + tally->others_live;
    const int64_t used = tally->used.load(std::memory_order_relaxed) + tally->others_used;
    RaiseTo(&counters_.live_high, live + counts.live_high);
    RaiseTo(&counters_.used_high, used + counts.used_high);
  }
  tally->Add(counts);
}

Counts PoolState::Allocated(size_t requested, size_t bytes) {
  const auto live = static_cast<int64_t>(requested);
  const auto used = static_cast<int64_t>(bytes);
  return {.live = live, .used = used, .live_high = live, .used_high = used, .allocations = 1};
}

Counts PoolState::Freed(size_t requested, size_t bytes) {
  return {.live = -static_cast<int64_t>(requested), .used = -static_cast<int64_t>(bytes), .frees = 1};
}

void PoolState::Fold(Lane* lane, ThreadCache* cache) {
  if (cache->counted()) Count(&lane->tally, cache->TakeCounts());
}

// Folding on every call would cost as much as finding a block. Automatic trimming needs exact counts.
void PoolState::FoldIfDue(Lane* lane, ThreadCache* cache) {
  constexpr uint32_t kFoldEvery = 32;
  if (cache->CountLocked() % kFoldEvery == 0 || trims_by_itself()) Fold(lane, cache);
}

}  // namespace millpond::pool

// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/quarantine.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "src/device/memory/guard_pattern.h"
#include "src/device/memory/memory.h"
#include "src/trace/emit.h"

namespace millpond {

namespace {

using trace::Damage;

// Below it asking costs more than filling.
constexpr size_t kAskFrom = size_t{1} << 20;
// Pieces of one block that are filled.
constexpr size_t kMaxPieces = 64;

// What is in memory of [begin, begin + bytes). By mincore: a file's SEEK_HOLE would walk on to the end of what others
// have behind it.
std::vector<std::pair<uintptr_t, size_t>> TouchedParts(uintptr_t begin, size_t bytes) {
  constexpr size_t kPage = RangeHeap::kHostPage;
  std::vector<std::pair<uintptr_t, size_t>> parts;
  std::vector<unsigned char> there((bytes + kPage - 1) / kPage);
  if (mincore(Reachable(reinterpret_cast<void*>(begin)), bytes, there.data()) != 0) return parts;
  for (size_t page = 0; page < there.size() && parts.size() < kMaxPieces; ++page) {
    if ((there[page] & 1) == 0) continue;
    const size_t first = page;
    while (page < there.size() && (there[page] & 1) != 0) ++page;
    parts.emplace_back(begin + first * kPage, std::min(page * kPage, bytes) - first * kPage);
  }
  return parts;
}

// Without memory for it the damage is not told: it comes from frees, which cannot fail.
void Add(const Damage& damage, std::vector<Damage>* out) {
  try {
    out->push_back(damage);
  } catch (const std::bad_alloc&) {
  }
}

void TellAll(const std::vector<Damage>& damages) {
  for (const Damage& damage : damages) trace::TellDamage(damage);
}

}  // namespace

Quarantine::Kept Quarantine::Prepare(const HeapBlock& block) const {
  Kept kept{block.base, block.bytes, {}};
  if (block.bytes > capacity_) return kept;
  if (block.bytes < kAskFrom) {
    kept.filled.emplace_back(block.base, block.bytes);
  } else {
    kept.filled = TouchedParts(block.base, std::min(block.bytes, kFilled));
  }
  for (const auto& [begin, bytes] : kept.filled) internal::FillWithGuard(begin, bytes);
  return kept;
}

void Quarantine::Keep(Kept kept) {
  Damages damages;
  {
    MutexLock lock(mutex_);
    bool added = false;
    if (kept.bytes <= capacity_) {
      ShrinkLocked(capacity_ - kept.bytes, kMaxBlocks - 1, &damages);
      try {
        kept_.push_back(std::move(kept));
        added = true;
      } catch (const std::bad_alloc&) {  // then it goes at once
      }
    }
    if (added) {
      bytes_.fetch_add(kept_.back().bytes, std::memory_order_relaxed);
    } else {
      heap_.Release(kept.base);
    }
  }
  TellAll(damages);
}

void Quarantine::ShrinkTo(uint64_t bytes) {
  if (this->bytes() <= bytes) return;
  Damages damages;
  {
    MutexLock lock(mutex_);
    ShrinkLocked(bytes, kMaxBlocks, &damages);
  }
  TellAll(damages);
}

void Quarantine::Check() {
  Damages damages;
  {
    MutexLock lock(mutex_);
    for (const Kept& kept : kept_) LookAt(kept, &damages);
  }
  TellAll(damages);
}

void Quarantine::ShrinkLocked(uint64_t bytes, size_t blocks, Damages* out) {
  while (!kept_.empty() && (this->bytes() > bytes || kept_.size() > blocks)) {
    const Kept& oldest = kept_.front();
    LookAt(oldest, out);
    heap_.Release(oldest.base);
    bytes_.fetch_sub(oldest.bytes, std::memory_order_relaxed);
    kept_.pop_front();
  }
}

// What was found is filled anew, so that it is told once.
void Quarantine::LookAt(const Kept& kept, Damages* out) const {
  for (const auto& [begin, bytes] : kept.filled) {
    internal::ChangedBytes changed;
    if (!internal::FindChanged(begin, bytes, &changed)) continue;
    internal::FillWithGuard(changed.begin, changed.bytes);
    Add({.kind = Damage::Kind::kAfterFree,
         .device = device_,
         .address = reinterpret_cast<const void*>(changed.begin),
         .bytes = changed.bytes,
         .block = reinterpret_cast<const void*>(kept.base),
         .stream = -1,
         .count = 0,
         .at_free = false,
         .thread = 0,
         .stack = 0,
         .time_ns = 0},
        out);
    return;  // one of a block is enough
  }
}

}  // namespace millpond

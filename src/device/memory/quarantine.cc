// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/quarantine.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "src/device/memory/guard_pattern.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/watched_copy.h"
#include "src/trace/records.h"

namespace millpond {

namespace {

using trace::Damage;

// Below it asking costs more than filling.
constexpr size_t kAskFrom = size_t{1} << 20;
// Pieces of one block that are filled.
constexpr size_t kMaxPieces = 64;

// What is in memory of [begin, begin + bytes). By mincore: a file's SEEK_HOLE would walk on to the end of what others
// have behind it.
std::vector<Quarantine::Part> TouchedParts(uintptr_t begin, size_t bytes) {
  constexpr size_t kPage = RangeHeap::kHostPage;
  std::vector<Quarantine::Part> parts;
  std::vector<unsigned char> there((bytes + kPage - 1) / kPage);
  if (mincore(Reachable(reinterpret_cast<void*>(begin)), bytes, there.data()) != 0) return parts;
  for (size_t page = 0; page < there.size() && parts.size() < kMaxPieces; ++page) {
    if ((there[page] & 1) == 0) continue;
    const size_t first = page;
    while (page < there.size() && (there[page] & 1) != 0) ++page;
    parts.push_back({begin + first * kPage, std::min(page * kPage, bytes) - first * kPage});
  }
  return parts;
}

uint64_t SumOfPart(const Quarantine::Part& part) {
  return internal::SumOf(Reachable(reinterpret_cast<const void*>(part.begin)), part.bytes);
}

}  // namespace

Quarantine::Kept Quarantine::Prepare(const HeapBlock& block, bool fills) const {
  Kept kept{block.base, block.bytes, fills, {}};
  if (block.bytes > capacity_) return kept;
  if (block.bytes < kAskFrom) {
    kept.parts.push_back({block.base, block.bytes});
  } else {
    kept.parts = TouchedParts(block.base, std::min(block.bytes, kFilled));
  }
  for (Part& part : kept.parts) {
    if (fills) {
      internal::FillWithGuard(part.begin, part.bytes);
    } else {
      part.sum = SumOfPart(part);
    }
  }
  return kept;
}

void Quarantine::Keep(Kept kept) {
  Damages damages;
  {
    MutexLock lock(mutex_);
    const uintptr_t base = kept.base;
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
      heap_.Release(base);
    }
  }
  internal::TellDamages(damages);
}

void Quarantine::ShrinkTo(uint64_t bytes) {
  if (this->bytes() <= bytes) return;
  Damages damages;
  {
    MutexLock lock(mutex_);
    ShrinkLocked(bytes, kMaxBlocks, &damages);
  }
  internal::TellDamages(damages);
}

void Quarantine::Check() {
  Damages damages;
  {
    MutexLock lock(mutex_);
    for (Kept& kept : kept_) LookAt(&kept, &damages);
  }
  internal::TellDamages(damages);
}

void Quarantine::ShrinkLocked(uint64_t bytes, size_t blocks, Damages* out) {
  while (!kept_.empty() && (this->bytes() > bytes || kept_.size() > blocks)) {
    Kept& oldest = kept_.front();
    LookAt(&oldest, out);
    heap_.Release(oldest.base);
    bytes_.fetch_sub(oldest.bytes, std::memory_order_relaxed);
    kept_.pop_front();
  }
}

// What was found is filled or summed up anew, so that it is told once.
void Quarantine::LookAt(Kept* kept, Damages* out) const {
  for (Part& part : kept->parts) {
    internal::ChangedBytes changed{part.begin, part.bytes};
    if (kept->filled) {
      if (!internal::FindChanged(part.begin, part.bytes, &changed)) continue;
      internal::FillWithGuard(changed.begin, changed.bytes);
    } else {
      const uint64_t sum = SumOfPart(part);
      if (std::exchange(part.sum, sum) == sum) continue;
    }
    internal::AddDamage(Damage::Kind::kAfterFree, device_, kept->base, changed, false, out);
    return;  // one of a block is enough
  }
}

}  // namespace millpond

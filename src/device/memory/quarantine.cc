// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/quarantine.h"

#include <unistd.h>

#include <algorithm>
#include <new>

#include "src/device/memory/guard_pattern.h"
#include "src/trace/emit.h"

namespace millpond {

namespace {

using trace::Damage;

// Below it asking the file costs more than filling.
constexpr size_t kAskFrom = size_t{1} << 20;
// Pieces of one block that are filled.
constexpr size_t kMaxPieces = 64;

void TellAll(const std::vector<Damage>& damages) {
  for (const Damage& damage : damages) trace::TellDamage(damage);
}

}  // namespace

Quarantine::Kept Quarantine::Prepare(const HeapBlock& block, int file) const {
  Kept kept{block.base, block.bytes, {}};
  if (block.bytes > capacity_) return kept;
  if (block.bytes < kAskFrom) {
    internal::FillWithGuard(block.base, block.bytes);
    kept.filled.emplace_back(block.base, block.bytes);
    return kept;
  }
  const auto begin = static_cast<off_t>(block.base - heap_.begin());
  const auto end = begin + static_cast<off_t>(block.bytes);
  size_t left = kFilled;
  for (off_t at = begin; at < end && left != 0 && kept.filled.size() < kMaxPieces;) {
    const off_t data = lseek(file, at, SEEK_DATA);
    if (data < 0 || data >= end) break;  // nothing more, or a file that cannot tell
    const off_t hole = lseek(file, data, SEEK_HOLE);
    if (hole < 0) break;
    const size_t bytes = std::min(static_cast<size_t>(std::min(hole, end) - data), left);
    const uintptr_t address = heap_.begin() + static_cast<uintptr_t>(data);
    internal::FillWithGuard(address, bytes);
    kept.filled.emplace_back(address, bytes);
    left -= bytes;
    at = hole;
  }
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
    out->push_back({.kind = Damage::Kind::kAfterFree,
                    .device = device_,
                    .address = reinterpret_cast<const void*>(changed.begin),
                    .bytes = changed.bytes,
                    .block = reinterpret_cast<const void*>(kept.base),
                    .stream = -1,
                    .count = 0,
                    .at_free = false,
                    .thread = 0,
                    .stack = 0,
                    .time_ns = 0});
    return;  // one of a block is enough
  }
}

}  // namespace millpond

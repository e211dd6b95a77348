// SPDX-License-Identifier: Apache-2.0
// What fills memory that is nobody's, so that a write there is seen afterwards. As numbers it is as wrong as can be:
// NaN as float and double, every second half is NaN, and an index of it lies beyond any tensor.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_GUARD_PATTERN_H_
#define MILLPOND_SRC_DEVICE_MEMORY_GUARD_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/trace/records.h"

namespace millpond::internal {

inline constexpr uint64_t kGuardWord = 0x7FF5'DEAD'7FF5'DEAD;

struct ChangedBytes {
  uintptr_t begin = 0;  // a device address, as all of these
  size_t bytes = 0;     // from the first that differs to the last
};

// Each byte's value depends on its address alone, so any part of what was filled can be looked at by itself. A task
// that writes at the same time is what both are for: sanitizers are not told.
void FillWithGuard(uintptr_t begin, size_t bytes);
bool FindChanged(uintptr_t begin, size_t bytes, ChangedBytes* out_changed);

// Notes what was found of a block. Without memory for it the damage is not told: it comes from frees, which cannot
// fail.
void AddDamage(trace::Damage::Kind kind, int32_t device, uintptr_t block, const ChangedBytes& changed, bool at_free,
               std::vector<trace::Damage>* out);
// To be called without a lock: a sink may take its time.
void TellDamages(const std::vector<trace::Damage>& damages);

}  // namespace millpond::internal

#endif  // MILLPOND_SRC_DEVICE_MEMORY_GUARD_PATTERN_H_

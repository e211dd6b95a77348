// SPDX-License-Identifier: Apache-2.0
// What fills memory that is nobody's, so that a write there is seen afterwards. As numbers it is as wrong as can be:
// NaN as float and double, every second half is NaN, and an index of it lies beyond any tensor.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_GUARD_PATTERN_H_
#define MILLPOND_SRC_DEVICE_MEMORY_GUARD_PATTERN_H_

#include <cstddef>
#include <cstdint>

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

}  // namespace millpond::internal

#endif  // MILLPOND_SRC_DEVICE_MEMORY_GUARD_PATTERN_H_

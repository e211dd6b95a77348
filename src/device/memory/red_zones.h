// SPDX-License-Identifier: Apache-2.0
// Ranges that nobody may write: behind blocks while a sink asks for guards, and between the sub-blocks that a pool
// tells of. They hold the guard pattern; a byte that differs is told to sinks, once. Safe from any thread.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_RED_ZONES_H_
#define MILLPOND_SRC_DEVICE_MEMORY_RED_ZONES_H_

#include <cstddef>
#include <cstdint>

namespace millpond::internal {

// [begin, begin + bytes) is filled and watched from now on. pre: device memory that is there until it is unmarked, and
// that no task has in use. `block` is where the block begins that it guards, 0 when it lies inside one.
void MarkRedZone(uintptr_t begin, size_t bytes, int32_t device, uintptr_t block = 0);
// Zones that begin in [begin, end) are looked at a last time and forgotten. `at_free`: because their block goes now.
void UnmarkRedZones(uintptr_t begin, uintptr_t end, bool at_free = false);

// Looks at the beginnings of the next `most` of them, around and around.
void CheckSomeRedZones(size_t most);
// At all of each.
void CheckRedZones();

}  // namespace millpond::internal

#endif  // MILLPOND_SRC_DEVICE_MEMORY_RED_ZONES_H_

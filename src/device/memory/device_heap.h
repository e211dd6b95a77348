// SPDX-License-Identifier: Apache-2.0
// What the files of this folder know of a device's heap beyond DeviceMemory.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_DEVICE_HEAP_H_
#define MILLPOND_SRC_DEVICE_MEMORY_DEVICE_HEAP_H_

#include <cstdint>
#include <span>

#include "src/base/status.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/range_heap.h"

namespace millpond::internal {

// The heap and the memory of a device, null before MakeDeviceMemory. Lock-free.
RangeHeap* HeapOf(int32_t device);
DeviceMemory* MemoryOf(int32_t device);

// Looks at every red zone and all memory in quarantine, and tells sinks what was written there.
void CheckGuards();

// A sparse file that device memory is mapped from: on a private tmpfs that gives huge pages where mounting is allowed,
// else a memfd. The descriptor is close-on-exec; the caller closes it.
Status OpenDeviceFile(int32_t device, int* out_file);

// Return addresses of recent allocations, innermost first; empty when they were not kept or are overwritten.
inline constexpr int kStackFrames = 16;
bool KeepsAllocationStacks();
void KeepAllocationStack(uint64_t block);
// Signal-safe. Copies into `out_frames`, which has kStackFrames places; returns how many.
int FindAllocationStack(uint64_t block, void** out_frames);

}  // namespace millpond::internal

#endif  // MILLPOND_SRC_DEVICE_MEMORY_DEVICE_HEAP_H_

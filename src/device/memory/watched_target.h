// SPDX-License-Identifier: Apache-2.0
// Copies whose pinned target is watched: from when the copy is enqueued until whoever listens says that the host knows
// of its end, its pages are closed to the host. Only pages that hold nothing but the target are: a program that uses
// what lies beside it is right. For sinks that ask for targets (trace::kTargets), which have pinned memory given out in
// whole pages.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_WATCHED_TARGET_H_
#define MILLPOND_SRC_DEVICE_MEMORY_WATCHED_TARGET_H_

#include <cstddef>
#include <cstdint>

#include "src/base/status.h"
#include "src/device/memory/memory.h"

namespace millpond {

class Stream;

// As Stream::Launch of a copy. pre: `target` is what LookUp says of `dst`, pinned memory; `stream` is not captured.
Status LaunchCopyToTarget(Stream* stream, void* dst, const void* src, size_t bytes, const PointerInfo& target);

namespace internal {

// Somebody touched `address` and could not: if its page is or was that of a target, it is open now, and the touch may
// be repeated. *out_pending: the target's copy is not known to be done. Signal-safe.
bool OpenTouchedTarget(uintptr_t address, bool* out_pending);
// The memory goes.
void OpenTargetsIn(uintptr_t begin, uintptr_t end);

}  // namespace internal

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_WATCHED_TARGET_H_

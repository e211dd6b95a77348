// SPDX-License-Identifier: Apache-2.0
// Copies whose pinned source is watched: its sum is taken when the copy is enqueued and again when it runs. If the two
// differ, somebody wrote in between. For sinks that ask for sources (trace::kSources).
#ifndef MILLPOND_SRC_DEVICE_MEMORY_WATCHED_COPY_H_
#define MILLPOND_SRC_DEVICE_MEMORY_WATCHED_COPY_H_

#include <cstddef>
#include <cstdint>

#include "src/base/status.h"

namespace millpond {

class Stream;

// Whether the next copy is one to watch: MILLPOND_CHECK_SAMPLE=1/N takes one of N.
bool TakesSample();

// As Stream::Launch of a copy. pre: `src` is pinned memory, and `stream` is not captured: a replay reads what is there
// by then.
Status LaunchWatchedCopy(Stream* stream, void* dst, const void* src, size_t bytes);

namespace internal {
// Equal bytes have equal sums; others have different ones but for one in 2^64.
uint64_t SumOf(const void* bytes, size_t count);
}  // namespace internal

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_WATCHED_COPY_H_

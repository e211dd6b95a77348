// SPDX-License-Identifier: Apache-2.0
// Why plain memmove: on shared pages it is as fast as on anonymous ones once they are huge (bench/memory), glibc
// already switches to non-temporal stores where that pays, and one core saturates the memory bandwidth of the machines
// measured. memmove rather than memcpy because overlapping device ranges must not become silent corruption.
#include <cstring>

#include "src/device/memory.h"

namespace millpond {

void CopyBytes(void* dst, const void* src, size_t bytes) { std::memmove(Reachable(dst), Reachable(src), bytes); }

void FillBytes(void* dst, int value, size_t bytes) { std::memset(Reachable(dst), value, bytes); }

}  // namespace millpond

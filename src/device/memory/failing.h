// SPDX-License-Identifier: Apache-2.0
// Allocations that fail on request, so that a test sees what a program does without memory (the pytest plugin's
// npu_fail_allocations). Counted are the requests of clients for device, physical, pool and pinned memory.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_FAILING_H_
#define MILLPOND_SRC_DEVICE_MEMORY_FAILING_H_

#include <atomic>
#include <cstdint>

#include "src/base/status.h"

namespace millpond {

namespace internal {
extern std::atomic<bool> g_allocations_may_fail;
Status NextAllocation(uint64_t bytes);
}  // namespace internal

// Whether the request that begins now is to fail. Costs a load while nobody asked for that.
inline Status MayFail(uint64_t bytes) {
  if (__builtin_expect(internal::g_allocations_may_fail.load(std::memory_order_acquire), false)) {
    return internal::NextAllocation(bytes);
  }
  return Ok();
}

}  // namespace millpond

extern "C" {
// After `skip` requests, every `every`-th fails; 0: none any more. Counts anew.
void millpond_fail_allocations(uint64_t every, uint64_t skip);
// How many have failed since then.
uint64_t millpond_failed_allocations();
}

#endif  // MILLPOND_SRC_DEVICE_MEMORY_FAILING_H_

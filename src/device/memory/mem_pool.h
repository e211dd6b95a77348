// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory pools as clients know them (CANN's chapter on memory pools): handles, attributes and a size
// limit around pool::Pool over the device's own pages. Safe from any thread.
//
// A block is handed out at once on the stream that freed it; its pages go to another stream only when the work in
// question is done. No call waits for a stream unless the client has allowed that (kAllowInternal), except
// DestroyMemPool, which must.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_MEM_POOL_H_
#define MILLPOND_SRC_DEVICE_MEMORY_MEM_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/status.h"

namespace millpond {

class Device;
class Stream;

// The values are the ABI's.
enum class MemPoolAttribute : uint32_t {
  kFollowEvents = 1,
  kAllowOpportunistic = 2,
  kAllowInternal = 3,
  kReleaseThreshold = 4,
  kReservedCurrent = 5,
  kReservedHigh = 6,
  kUsedCurrent = 7,
  kUsedHigh = 8,
};

// `max_bytes` 0: all the device has. Otherwise it is rounded up to 2 MiB, and more than the device has is refused.
Status CreateMemPool(Device* device, size_t max_bytes, void** out_handle);
// Waits for the streams that used the pool. Blocks that were not freed go with it.
Status DestroyMemPool(void* handle);
// Every pool of `device` (null: of all devices).
void DestroyMemPools(const Device* device);

// pre: bytes > 0.
Status AllocateFromMemPool(void* handle, size_t bytes, const Stream& stream, void** out_address);
// The pool is known by the address. Foreign, interior and freed addresses are refused by name.
Status FreeToMemPool(void* address, const Stream& stream);
// Gives free memory back until at most `keep_bytes` are reserved; what is in use, or still used by a stream, stays.
Status TrimMemPool(void* handle, size_t keep_bytes);

Status SetMemPoolAttribute(void* handle, MemPoolAttribute attribute, uint64_t value);
Status GetMemPoolAttribute(void* handle, MemPoolAttribute attribute, uint64_t* out_value);

// Refuses an address that lies in a pool, for calls that would pull a pool's memory away from under it.
Status RefuseMemPoolAddress(const char* what, const void* address);

// The live block of a pool that `address` lies in. False: none does.
bool FindMemPoolBlock(const void* address, void** out_base, size_t* out_bytes);

namespace internal {
extern std::atomic<uint32_t> g_mem_pools;
void TrimMemPoolsToThreshold();
bool TrimIdleMemPools(const Device* device);
}  // namespace internal

// A client has synchronised: pools give back what is idle beyond their release threshold.
inline void MemPoolsAfterSynchronize() {
  if (__builtin_expect(internal::g_mem_pools.load(std::memory_order_relaxed) != 0, false)) {
    internal::TrimMemPoolsToThreshold();
  }
}
// The device is out of memory: pools give back what they can, whatever their threshold. True when that was anything.
inline bool MemPoolsGiveBack(const Device* device) {
  return internal::g_mem_pools.load(std::memory_order_relaxed) != 0 && internal::TrimIdleMemPools(device);
}

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_MEM_POOL_H_

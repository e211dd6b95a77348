// SPDX-License-Identifier: Apache-2.0
//
// The one function of torch_npu's pluggable allocator that libmillpond_pool.so cannot have, because it returns a C++
// type whose layout changes with PyTorch: statistics. Include this in one source file, build that with PyTorch's own
// torch.utils.cpp_extension.load and link libmillpond_pool.so; then memory_stats(), memory_summary() and
// max_memory_allocated() tell what the pool holds:
//
//   #include <millpond/torch_allocator.h>
//   extern "C" c10::CachingDeviceAllocator::DeviceStats millpond_device_stats(c10::DeviceIndex device) {
//     return millpond::TorchStatistics(device);
//   }
//   allocator.set_get_device_stats_fn(address of millpond_device_stats)
//
// Without PyTorch's headers on the include path this file declares nothing.
#ifndef MILLPOND_INCLUDE_MILLPOND_TORCH_ALLOCATOR_H_
#define MILLPOND_INCLUDE_MILLPOND_TORCH_ALLOCATOR_H_

#if __has_include(<c10/core/CachingDeviceAllocator.h>)

#include <c10/core/CachingDeviceAllocator.h>

#include "millpond/pool.h"

namespace millpond {

namespace torch_internal {
inline c10::CachingAllocator::Stat Stat(size_t current, size_t peak, uint64_t allocated, uint64_t freed) {
  c10::CachingAllocator::Stat stat;
  stat.current = static_cast<int64_t>(current);
  stat.peak = static_cast<int64_t>(peak);
  stat.allocated = static_cast<int64_t>(allocated);
  stat.freed = static_cast<int64_t>(freed);
  return stat;
}
}  // namespace torch_internal

// The default pool of `device` in PyTorch's terms. A pool does not tell small from large here: only the aggregate of
// each statistic is filled, and totals over time are counted for blocks, not for bytes.
inline c10::CachingDeviceAllocator::DeviceStats TorchStatistics(c10::DeviceIndex device) {
  c10::CachingDeviceAllocator::DeviceStats stats;
  millpondPool pool = nullptr;
  millpondPoolStatistics ours = {};
  ours.size = sizeof(ours);
  if (millpondPoolDefault(device, &pool) != ACL_SUCCESS || millpondPoolGetStatistics(pool, &ours) != ACL_SUCCESS) {
    return stats;
  }
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const size_t active = ours.usedBytes + ours.pendingBytes;
  stats.allocation[kAll] = torch_internal::Stat(ours.liveBlocks, ours.liveBlocks, ours.allocations, ours.frees);
  stats.active[kAll] = stats.allocation[kAll];
  stats.segment[kAll] = torch_internal::Stat(ours.pagesTaken - ours.pagesGiven, ours.pagesTaken - ours.pagesGiven,
                                             ours.pagesTaken, ours.pagesGiven);
  stats.requested_bytes[kAll] = torch_internal::Stat(ours.liveBytes, ours.liveBytesHigh, 0, 0);
  stats.allocated_bytes[kAll] = torch_internal::Stat(ours.usedBytes, ours.usedBytesHigh, 0, 0);
  stats.active_bytes[kAll] =
      torch_internal::Stat(active, active > ours.usedBytesHigh ? active : ours.usedBytesHigh, 0, 0);
  stats.reserved_bytes[kAll] = torch_internal::Stat(ours.reservedBytes, ours.reservedBytesHigh, 0, 0);
  stats.inactive_split_bytes[kAll] = torch_internal::Stat(ours.strandedBytes, ours.strandedBytes, 0, 0);
  stats.num_alloc_retries = static_cast<int64_t>(ours.retries);
  stats.num_ooms = static_cast<int64_t>(ours.failures);
  stats.num_sync_all_streams = static_cast<int64_t>(ours.waits);
  stats.num_device_alloc = static_cast<int64_t>(ours.pagesTaken);
  stats.num_device_free = static_cast<int64_t>(ours.pagesGiven);
  return stats;
}

}  // namespace millpond

#endif  // __has_include

#endif  // MILLPOND_INCLUDE_MILLPOND_TORCH_ALLOCATOR_H_

// SPDX-License-Identifier: Apache-2.0
#include "src/pool/thread_cache.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace millpond::pool {

namespace {
bool Membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }
}  // namespace

bool ThreadCache::Supported() {
  static const bool supported = Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  return supported;
}

void ThreadCache::Revoke() {
  if (closed()) return;
  revoked_.store(kRevoked, std::memory_order_seq_cst);
  Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  while (busy_.load(std::memory_order_acquire) != 0) sched_yield();
}

Counts ThreadCache::Read() const {
  return {.live = live_.load(std::memory_order_relaxed),
          .used = used_.load(std::memory_order_relaxed),
          .live_high = live_high_.load(std::memory_order_relaxed),
          .used_high = used_high_.load(std::memory_order_relaxed),
          .allocations = allocations_.load(std::memory_order_relaxed),
          .frees = frees_.load(std::memory_order_relaxed)};
}

Counts ThreadCache::TakeCounts() {
  const Counts counts = Read();
  for (auto* counter : {&live_, &used_, &live_high_, &used_high_}) counter->store(0, std::memory_order_relaxed);
  for (auto* counter : {&allocations_, &frees_}) counter->store(0, std::memory_order_relaxed);
  return counts;
}

}  // namespace millpond::pool

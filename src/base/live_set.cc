// SPDX-License-Identifier: Apache-2.0
#include "src/base/live_set.h"

#include <array>
#include <atomic>
#include <unordered_map>

#include "src/base/mutex.h"

namespace millpond {
namespace {

// Sharded, to reduce contention.
struct Shard {
  Mutex mutex;
  std::unordered_map<uintptr_t, uint64_t> kinds GUARDED_BY(mutex);
};

Shard& ShardOf(uintptr_t object) {
  static auto& shards = *new std::array<Shard, 16>;  // leaked: clients destroy objects from static destructors
  return shards[(object >> 4 ^ object >> 8 ^ object >> 12) % shards.size()];
}

}  // namespace

void AddLive(uintptr_t object, uint64_t kind) {
  Shard& shard = ShardOf(object);
  MutexLock lock(shard.mutex);
  shard.kinds[object] = kind;
}

void RemoveLive(uintptr_t object) noexcept {
  Shard& shard = ShardOf(object);
  MutexLock lock(shard.mutex);
  shard.kinds.erase(object);
}

bool IsLive(uintptr_t object, uint64_t kind) noexcept {
  Shard& shard = ShardOf(object);
  MutexLock lock(shard.mutex);
  const auto found = shard.kinds.find(object);
  return found != shard.kinds.end() && found->second == kind;
}

bool TakeLive(uintptr_t object, uint64_t kind) noexcept {
  Shard& shard = ShardOf(object);
  MutexLock lock(shard.mutex);
  const auto found = shard.kinds.find(object);
  if (found == shard.kinds.end() || found->second != kind) return false;
  shard.kinds.erase(found);
  return true;
}

void* KeepAside(void* memory) noexcept {
  static constinit std::array<std::atomic<void*>, kKeptAside> places{};
  static constinit std::atomic<size_t> next{0};
  return places[next.fetch_add(1, std::memory_order_relaxed) % kKeptAside].exchange(memory, std::memory_order_acq_rel);
}

}  // namespace millpond

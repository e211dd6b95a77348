// SPDX-License-Identifier: Apache-2.0
#include "src/base/live_set.h"

#include <array>
#include <mutex>
#include <unordered_map>

namespace millpond {
namespace {

// Several, so that threads seldom meet.
struct Shard {
  std::mutex mutex;
  std::unordered_map<uintptr_t, uint64_t> kinds;
};

Shard& ShardOf(uintptr_t object) {
  static auto& shards = *new std::array<Shard, 16>;  // leaked: clients destroy objects from static destructors
  return shards[(object >> 4 ^ object >> 8 ^ object >> 12) % shards.size()];
}

}  // namespace

void AddLive(uintptr_t object, uint64_t kind) {
  Shard& shard = ShardOf(object);
  std::lock_guard lock(shard.mutex);
  shard.kinds[object] = kind;
}

void RemoveLive(uintptr_t object) noexcept {
  Shard& shard = ShardOf(object);
  std::lock_guard lock(shard.mutex);
  shard.kinds.erase(object);
}

bool IsLive(uintptr_t object, uint64_t kind) noexcept {
  Shard& shard = ShardOf(object);
  std::lock_guard lock(shard.mutex);
  const auto found = shard.kinds.find(object);
  return found != shard.kinds.end() && found->second == kind;
}

}  // namespace millpond

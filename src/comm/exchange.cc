// SPDX-License-Identifier: Apache-2.0
#include "src/comm/exchange.h"

#include <chrono>
#include <thread>
#include <utility>

namespace millpond::comm {

Exchanges& Exchanges::Get() {
  static Exchanges& exchanges = *new Exchanges;  // leaked: process groups end in static destructors
  return exchanges;
}

void Exchanges::Add(const World& world, std::shared_ptr<Exchange> planned) {
  MutexLock lock(mutex_);
  by_world_[world.header().id] = std::move(planned);
  count_.store(by_world_.size());
}

std::shared_ptr<Exchange> Exchanges::Take(const World& world) {
  if (count_.load() == 0) return nullptr;
  MutexLock lock(mutex_);
  const auto found = by_world_.find(world.header().id);
  if (found == by_world_.end()) return nullptr;
  found->second->held.store(true);
  return found->second;
}

void Exchanges::End(const World& world) {
  constexpr auto kPause = std::chrono::microseconds(50);
  std::shared_ptr<Exchange> ended;
  {
    MutexLock lock(mutex_);
    const auto found = by_world_.find(world.header().id);
    if (found == by_world_.end()) return;
    ended = std::move(found->second);
    by_world_.erase(found);
    count_.store(by_world_.size());
  }
  ended->taken_back.store(true);
  while (ended->held.load()) {
    world.Ring();
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace millpond::comm

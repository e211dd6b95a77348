// SPDX-License-Identifier: Apache-2.0
#include "src/base/group_ranks.h"

#include <atomic>

namespace millpond {

namespace {

std::atomic<int64_t (*)(std::string_view)> g_ranks_of{nullptr};

}  // namespace

int64_t RanksOfGroup(std::string_view name) {
  const auto ranks_of = g_ranks_of.load(std::memory_order_acquire);
  return ranks_of != nullptr ? ranks_of(name) : 1;
}

void SetRanksOfGroup(int64_t (*ranks_of)(std::string_view name)) {
  g_ranks_of.store(ranks_of, std::memory_order_release);
}

}  // namespace millpond

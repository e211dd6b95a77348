// SPDX-License-Identifier: Apache-2.0
#include "src/check/held_conflicts.h"

#include <algorithm>
#include <utility>

namespace millpond::check {

void HeldConflicts::Keep(const Conflict& conflict, const Use& later) {
  const bool known = std::any_of(held_.begin(), held_.end(), [&](const Held& held) {
    return held.conflict.earlier.stack == conflict.earlier.stack && held.later.stack == later.stack;
  });
  if (known || held_.size() >= kMaxHeld) return;
  held_.push_back({conflict, later, order_.DoubtOf(conflict.earlier.at, later.at)});
}

std::vector<HeldConflicts::Held> HeldConflicts::TakeDecided() {
  std::vector<Held> found;
  std::erase_if(held_, [&](Held& held) {
    const Order::Relation relation = order_.Decide(&held.doubt);
    if (relation == Order::Relation::kUnordered) found.push_back(std::move(held));
    return relation != Order::Relation::kHeld;
  });
  return found;
}

void HeldConflicts::Forget(uintptr_t begin, uintptr_t end) {
  std::erase_if(held_, [&](const Held& held) { return held.conflict.begin < end && begin < held.conflict.end; });
}

}  // namespace millpond::check

// SPDX-License-Identifier: Apache-2.0
// Greedy placement: one item after the other goes into a gap between those it overlaps with. What most planners do;
// here the baseline.
#ifndef MILLPOND_SRC_PLANNER_GREEDY_H_
#define MILLPOND_SRC_PLANNER_GREEDY_H_

#include "src/planner/items.h"

namespace millpond::planner {

enum class Fit { kBest, kFirst };  // the tightest gap, or the lowest

Layout PlaceInOrder(const Items& items, const std::vector<uint32_t>& order, Fit fit);

// How many pairs of lifetimes overlap: the cost of placing one order.
uint64_t CountOverlaps(const Items& items);

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_PLANNER_GREEDY_H_

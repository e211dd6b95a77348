// SPDX-License-Identifier: Apache-2.0
// Skyline heuristic: repeatedly fills the lowest valley. Fast for any number of items, and the exact search's first
// solution.
#ifndef MILLPOND_SRC_PLANNER_SKYLINE_H_
#define MILLPOND_SRC_PLANNER_SKYLINE_H_

#include "src/planner/items.h"

namespace millpond::planner {

// `order`: which item goes first where several fit. Gives up after `work` visits of its search tree (they are counted
// down); a layout that gave up has an infinite peak.
Layout FillValleys(const Items& items, const std::vector<uint32_t>& order, uint64_t* work);

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_PLANNER_SKYLINE_H_

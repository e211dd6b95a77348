// SPDX-License-Identifier: Apache-2.0
// One item after the other into a gap that its contemporaries leave: the usual way of planners, here the yardstick.
#ifndef MILLPOND_SRC_GRAPH_PLANNER_GREEDY_H_
#define MILLPOND_SRC_GRAPH_PLANNER_GREEDY_H_

#include "src/graph/planner/items.h"

namespace millpond::planner {

enum class Fit { kBest, kFirst };  // the tightest gap, or the lowest

Layout PlaceInOrder(const Items& items, const std::vector<uint32_t>& order, Fit fit);

// How many pairs of items are live together: what one order costs.
uint64_t CountMeetings(const Items& items);

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_GRAPH_PLANNER_GREEDY_H_

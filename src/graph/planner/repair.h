// SPDX-License-Identifier: Apache-2.0
// Brings a layout below a target by moving few items: what sticks out is pushed into place, and what it pushes away
// looks for a gap or pushes others in turn.
#ifndef MILLPOND_SRC_GRAPH_PLANNER_REPAIR_H_
#define MILLPOND_SRC_GRAPH_PLANNER_REPAIR_H_

#include "src/graph/planner/items.h"

namespace millpond::planner {

// False: `work` (visits of items, counted down) was used up. `layout` is changed on success only.
bool Repair(const Items& items, int64_t target, uint64_t* work, Layout* layout);

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_GRAPH_PLANNER_REPAIR_H_

// SPDX-License-Identifier: Apache-2.0
// Local search: brings a layout below a target by moving few items. An item that exceeds the target is placed where it
// displaces least; what it displaces looks for a gap or displaces others in turn.
#ifndef MILLPOND_SRC_PLANNER_REPAIR_H_
#define MILLPOND_SRC_PLANNER_REPAIR_H_

#include "src/planner/items.h"

namespace millpond::planner {

// False: `work` (visits of items, counted down) was used up. `layout` is changed on success only.
bool Repair(const Items& items, int64_t target, uint64_t* work, Layout* layout);

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_PLANNER_REPAIR_H_

// SPDX-License-Identifier: Apache-2.0
// From buffers to items and back: which buffers share storage, sizes in units, lower bounds.
#ifndef MILLPOND_SRC_PLANNER_STORAGE_H_
#define MILLPOND_SRC_PLANNER_STORAGE_H_

#include "src/planner/items.h"
#include "src/planner/planner.h"

namespace millpond::planner {

struct Storage {
  Items items;
  int64_t unit = 1;               // bytes
  std::vector<uint32_t> item_of;  // of each buffer; kNowhere: it has no bytes
  std::vector<size_t> at;         // of each buffer within its item, in bytes
  std::vector<bool> lies_inside;  // of each buffer
};

// `share`: accept offers to lie inside another buffer where that never raises the load; else only mandatory ones.
Storage Assign(const Problem& problem, bool share);

bool HasOffers(const Problem& problem);

// No plan, whatever it shares, can have a smaller peak.
size_t LowerBound(const Problem& problem);

// Offsets and peak.
Plan ToPlan(const Problem& problem, const Storage& storage, const std::vector<int64_t>& offsets);

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_PLANNER_STORAGE_H_

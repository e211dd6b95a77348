// SPDX-License-Identifier: Apache-2.0
// Finds the placed items whose lifetimes overlap a given one's.
#ifndef MILLPOND_SRC_PLANNER_OVERLAPS_H_
#define MILLPOND_SRC_PLANNER_OVERLAPS_H_

#include <algorithm>
#include <numeric>
#include <vector>

#include "src/planner/items.h"

namespace millpond::planner {

// An interval tree: items in the order of their begin, and for each range of them the latest end. A query descends only
// into ranges that have a hit, so k overlaps of a short lifetime, the common case, cost k log n.
class Overlaps {
 public:
  explicit Overlaps(const Items& items) : items_(items), place_of_(items.all.size()) {
    by_begin_.resize(items.all.size());
    std::iota(by_begin_.begin(), by_begin_.end(), 0u);
    std::stable_sort(by_begin_.begin(), by_begin_.end(),
                     [&](uint32_t a, uint32_t b) { return items.all[a].begin < items.all[b].begin; });
    begins_.reserve(by_begin_.size());
    for (uint32_t place = 0; place < by_begin_.size(); ++place) {
      place_of_[by_begin_[place]] = place;
      begins_.push_back(items.all[by_begin_[place]].begin);
    }
    while (leaves_ < by_begin_.size()) leaves_ *= 2;
    latest_.assign(2 * leaves_, 0);
  }

  void Clear() { std::fill(latest_.begin(), latest_.end(), 0u); }
  void Add(uint32_t item) { Set(item, items_.all[item].end); }
  void Remove(uint32_t item) { Set(item, 0); }

  template <class Visit>
  void ForEach(uint32_t item, const Visit& visit) const {
    const Item& wanted = items_.all[item];
    const auto end = std::lower_bound(begins_.begin(), begins_.end(), wanted.end);
    Walk(1, 0, leaves_, static_cast<size_t>(end - begins_.begin()), wanted.begin, visit);
  }

 private:
  void Set(uint32_t item, uint32_t end) {
    size_t at = leaves_ + place_of_[item];
    latest_[at] = end;
    for (at /= 2; at > 0; at /= 2) latest_[at] = std::max(latest_[2 * at], latest_[2 * at + 1]);
  }

  template <class Visit>
  void Walk(size_t at, size_t place, size_t count, size_t end, uint32_t alive_at, const Visit& visit) const {
    if (place >= end || latest_[at] <= alive_at) return;
    if (count == 1) {
      visit(by_begin_[place]);
      return;
    }
    Walk(2 * at, place, count / 2, end, alive_at, visit);
    Walk(2 * at + 1, place + count / 2, count / 2, end, alive_at, visit);
  }

  const Items& items_;
  std::vector<uint32_t> by_begin_;
  std::vector<uint32_t> place_of_;  // the inverse
  std::vector<uint32_t> begins_;    // in by_begin_'s order
  size_t leaves_ = 1;
  std::vector<uint32_t> latest_;  // end of what is placed; 0: nothing
};

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_PLANNER_OVERLAPS_H_

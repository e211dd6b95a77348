// SPDX-License-Identifier: Apache-2.0
// Exact search: is there a layout below a target? Depth first, by "place or postpone": an item that no overlapping one
// can get below is either placed on what lies there, or it must later rest on one of those, which raises its least
// offset. Every layout whose items have been pushed down has exactly one such sequence of decisions, so nothing is
// visited twice.
//
// Pruning: in each section the unplaced items are jobs on one machine, released at their least offsets and due at the
// target; scheduling the earliest release first gives the least end (this covers MiniMalloc's section height and
// unallocated floor). A postponed item needs another one that can get in its way. Equal items keep their order. Where
// no unplaced lifetime crosses from one section into the next, both sides are searched independently.
#ifndef MILLPOND_SRC_PLANNER_SEARCH_H_
#define MILLPOND_SRC_PLANNER_SEARCH_H_

#include <functional>
#include <memory>

#include "src/planner/items.h"

namespace millpond::planner {

// Which item is decided next.
enum class Choose {
  kLowest,       // the one that can lie lowest
  kTightest,     // in the section with the least to spare, the one that can lie lowest
  kTightAndLow,  // the same, and of equal sections the lowest
};

enum class SearchResult { kFound, kInfeasible, kLimit };

class Search {
 public:
  // pre: few enough items that their square fits in memory
  explicit Search(const Items& items);
  ~Search();
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // `order` breaks ties. Takes at most `limit` steps; kInfeasible is a proof. `stop` is polled; true ends the run.
  SearchResult Run(int64_t target, const std::vector<uint32_t>& order, Choose choose, uint64_t limit,
                   const std::function<bool()>& stop, Layout* layout);

  uint64_t steps() const;  // of the last run

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_PLANNER_SEARCH_H_

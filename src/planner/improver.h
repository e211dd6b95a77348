// SPDX-License-Identifier: Apache-2.0
// One part of a problem (items.h) and its best layout so far, improved attempt by attempt.
#ifndef MILLPOND_SRC_PLANNER_IMPROVER_H_
#define MILLPOND_SRC_PLANNER_IMPROVER_H_

#include <functional>
#include <memory>

#include "src/planner/items.h"
#include "src/planner/search.h"

namespace millpond::planner {

class Improver {
 public:
  explicit Improver(Part part);

  const Part& part() const { return part_; }
  const Layout& best() const { return best_; }
  int64_t low() const { return low_; }  // proven lower bound: the load, or what a search has ruled out
  bool done() const { return best_.peak <= low_; }

  // Runs the heuristics, at least one of them, until a peak of `enough` is reached. Not charged to any budget.
  void Begin(int64_t enough, const std::function<bool()>& stop);

  // One attempt at a lower peak, of at most `limit` steps. Returns the steps it took, at least 1.
  uint64_t Attempt(uint64_t limit, const std::function<bool()>& stop);

 private:
  bool is_large() const;
  void Keep(Layout layout);
  void Polish(const std::vector<Layout>& layouts, int64_t enough, const std::function<bool()>& stop);
  uint64_t AttemptSearch(int64_t target, uint64_t limit, const std::function<bool()>& stop);
  uint64_t AttemptRepair(int64_t target, uint64_t limit);
  std::vector<uint32_t> OrderOf(size_t strategy);
  void NextStrategy(int64_t target);

  Part part_;
  std::vector<int64_t> pressures_;
  Layout best_;
  int64_t low_ = 0;
  std::unique_ptr<Search> search_;

  // Rounds of increasingly long attempts. Each bisects between the best peak and the highest failed target with a few
  // strategies until the two are close, then tries the lower bound with all of them.
  uint64_t round_steps_;
  uint64_t round_ = 0;
  bool at_lowest_ = false;
  int64_t failed_ = 0;
  size_t strategy_ = 0;
};

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_PLANNER_IMPROVER_H_

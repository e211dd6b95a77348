// SPDX-License-Identifier: Apache-2.0
#include "src/planner/planner.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "src/base/assert.h"
#include "src/planner/greedy.h"
#include "src/planner/improver.h"
#include "src/planner/storage.h"
#include "src/planner/validator.h"

namespace millpond::planner {
namespace {

// Plans one assignment of storage.
class Planner {
 public:
  Planner(const Problem& problem, const Budget& budget, Storage storage, std::function<bool()> stop)
      : problem_(problem), budget_(budget), storage_(std::move(storage)), stop_(std::move(stop)) {
    for (Part& part : Split(storage_.items)) improvers_.emplace_back(std::move(part));
    const int64_t goal = Goal();
    for (Improver& improver : improvers_) improver.Begin(std::max(goal, Capacity()), stop_);
  }

  // Works on the part with the highest peak, which alone determines the plan's.
  void Improve() {
    while (steps_ < budget_.steps && !stop_()) {
      Improver* highest = Highest();
      if (highest == nullptr || highest->best().peak <= std::max(Goal(), Capacity())) return;
      steps_ += highest->Attempt(budget_.steps - steps_, stop_);
    }
  }

  int64_t peak_bytes() {
    const Improver* highest = Highest();
    return highest == nullptr ? 0 : highest->best().peak * storage_.unit;
  }

  Plan Result() {
    std::vector<int64_t> offsets(storage_.items.all.size());
    for (const Improver& improver : improvers_) {
      for (size_t i = 0; i < improver.part().origin.size(); ++i) {
        offsets[improver.part().origin[i]] = improver.best().offsets[i];
      }
    }
    Plan plan = ToPlan(problem_, storage_, offsets);
    const Improver* highest = Highest();
    plan.is_optimal = highest == nullptr || highest->done();
    plan.steps = steps_;
    return plan;
  }

 private:
  int64_t Capacity() const {
    return static_cast<int64_t>(std::min<size_t>(budget_.capacity, INT64_MAX)) / storage_.unit;
  }

  // What some part needs anyway.
  int64_t Goal() const {
    int64_t goal = 0;
    for (const Improver& improver : improvers_) goal = std::max(goal, improver.low());
    return goal;
  }

  Improver* Highest() {
    const auto highest =
        std::max_element(improvers_.begin(), improvers_.end(),
                         [](const Improver& a, const Improver& b) { return a.best().peak < b.best().peak; });
    return highest == improvers_.end() ? nullptr : &*highest;
  }

  const Problem& problem_;
  const Budget& budget_;
  const Storage storage_;
  const std::function<bool()> stop_;
  std::vector<Improver> improvers_;
  uint64_t steps_ = 0;
};

}  // namespace

Plan PlanMemory(const Problem& problem, const Budget& budget) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(std::min(budget.seconds, 1e6)));
  const std::function<bool()> stop = [&] { return budget.seconds > 0 && Clock::now() >= deadline; };
  const size_t lower_bound = LowerBound(problem);
  Planner sharing(problem, budget, Assign(problem, true), stop);
  Plan plan;
  // Sharing lowers the load, but longer lifetimes can be harder to pack: if the bound is missed, try without sharing.
  if (HasOffers(problem) && static_cast<size_t>(sharing.peak_bytes()) > lower_bound) {
    Planner apart(problem, budget, Assign(problem, false), stop);
    Planner& better = apart.peak_bytes() < sharing.peak_bytes() ? apart : sharing;
    better.Improve();
    plan = better.Result();
    plan.is_optimal = false;
  } else {
    sharing.Improve();
    plan = sharing.Result();
  }
  plan.lower_bound = lower_bound;
  plan.is_optimal = plan.is_optimal || plan.peak <= lower_bound;
  MP_ASSERT_EXPENSIVE(problem.buffers.size() > 5000 || ValidatePlan(problem, plan).ok());
  return plan;
}

Plan PlanGreedily(const Problem& problem, const char* letters, bool best_fit) {
  const Storage storage = Assign(problem, false);
  const Items& items = storage.items;
  if (items.all.empty()) return ToPlan(problem, storage, {});
  const std::vector<uint32_t> order = OrderBy(items, Pressures(items, Loads(items)), letters);
  Plan plan = ToPlan(problem, storage, PlaceInOrder(items, order, best_fit ? Fit::kBest : Fit::kFirst).offsets);
  plan.lower_bound = LowerBound(problem);
  plan.is_optimal = plan.peak <= plan.lower_bound;
  return plan;
}

}  // namespace millpond::planner

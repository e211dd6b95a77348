// SPDX-License-Identifier: Apache-2.0
#include "src/planner/improver.h"

#include <algorithm>
#include <random>
#include <utility>

#include "src/planner/greedy.h"
#include "src/planner/repair.h"
#include "src/planner/skyline.h"

namespace millpond::planner {
namespace {

constexpr size_t kMaxSearched = 3000;          // items: the search's tables are quadratic
constexpr uint64_t kMaxOverlaps = 3'000'000;   // pairs: beyond that, the greedy orders take longer than everything else
constexpr uint64_t kSkylineWork = 16'000'000;  // tree visits, about half a second; the first order is not limited
constexpr uint64_t kVisitsPerStep = 64;        // a search step takes about as long as this many visits of a repair
constexpr uint64_t kFirstRoundSteps = 1000;
constexpr uint64_t kRoundFactor = 3;

constexpr const char* kSkylineOrders[] = {"TWA", "TAW", "WAT", "CTA", "TZW", "ZWA"};
constexpr const char* kGreedyOrders[] = {"Z", "AZ", "TZ", "WZ", "BZ"};

// Strategies that complemented each other on many hard problems.
struct Strategy {
  Choose choose;
  const char* order;
};
constexpr Strategy kStrategies[] = {
    {Choose::kLowest, "TWA"},      {Choose::kTightAndLow, "TWA"}, {Choose::kLowest, "TAW"},
    {Choose::kTightAndLow, "WAT"}, {Choose::kLowest, "CTA"},      {Choose::kTightest, "TAW"},
    {Choose::kTightAndLow, "TZW"}, {Choose::kTightest, "TZW"},    {Choose::kLowest, "WAT"},
};
constexpr size_t kStrategyCount = std::size(kStrategies);
constexpr size_t kBisectStrategies[] = {0, 1, 4, 2};
constexpr int64_t kCloseShare = 64;

}  // namespace

Improver::Improver(Part part) : part_(std::move(part)), round_steps_(kFirstRoundSteps) {
  const std::vector<int64_t> loads = Loads(part_.items);
  low_ = *std::max_element(loads.begin(), loads.end());
  pressures_ = Pressures(part_.items, loads);
}

bool Improver::is_large() const { return part_.items.all.size() > kMaxSearched; }

void Improver::Keep(Layout layout) {
  if (layout.peak < best_.peak) best_ = std::move(layout);
}

void Improver::Begin(int64_t enough, const std::function<bool()>& stop) {
  enough = std::max(enough, low_);
  std::vector<Layout> layouts;
  uint64_t work = UINT64_MAX;
  uint64_t left = kSkylineWork;
  for (const char* letters : kSkylineOrders) {
    if (best_.peak <= enough || (best_.peak != kInfinite && stop())) return;
    const uint64_t given = work;
    Layout layout = FillValleys(part_.items, OrderBy(part_.items, pressures_, letters), &work);
    left -= std::min(left, given - work);
    work = left;
    if (is_large() && layout.peak != kInfinite && layouts.size() < 3) layouts.push_back(layout);
    Keep(std::move(layout));
    if (left == 0 || (is_large() && layouts.size() == 3)) break;
  }
  if (CountOverlaps(part_.items) <= kMaxOverlaps) {
    for (const char* letters : kGreedyOrders) {
      const std::vector<uint32_t> order = OrderBy(part_.items, pressures_, letters);
      for (const Fit fit : {Fit::kBest, Fit::kFirst}) {
        if (best_.peak <= enough || stop()) return;
        Keep(PlaceInOrder(part_.items, order, fit));
      }
    }
  }
  if (is_large()) Polish(layouts, enough, stop);
}

// With many items few exceed the target, and a few moves bring them below it.
void Improver::Polish(const std::vector<Layout>& layouts, int64_t enough, const std::function<bool()>& stop) {
  constexpr int64_t kPerMille[] = {20, 10, 5};
  constexpr uint64_t kWork[] = {1'000'000, 4'000'000};
  for (const int64_t per_mille : kPerMille) {
    const int64_t target = low_ + low_ / 1000 * per_mille;
    for (const uint64_t given : kWork) {
      for (const Layout& from : layouts) {
        if (best_.peak <= std::max(enough, target)) break;
        if (stop()) return;
        Layout layout = per_mille == kPerMille[0] ? from : best_;
        uint64_t work = given;
        if (Repair(part_.items, target, &work, &layout)) Keep(std::move(layout));
        if (per_mille != kPerMille[0]) break;
      }
      if (per_mille != kPerMille[0]) break;
    }
    if (best_.peak > std::max(enough, target)) return;
  }
}

// The table's strategies; from the third round on, every other one with its order perturbed at random.
std::vector<uint32_t> Improver::OrderOf(size_t strategy) {
  std::vector<uint32_t> order = OrderBy(part_.items, pressures_, kStrategies[strategy].order);
  if (round_ < 2 || strategy % 2 == 0) return order;
  std::mt19937 random(static_cast<uint32_t>(round_ * kStrategyCount + strategy));
  std::vector<std::pair<uint32_t, uint32_t>> keys(order.size());
  const auto spread = static_cast<uint32_t>(1 + order.size() / 8);
  for (uint32_t rank = 0; rank < order.size(); ++rank) {
    keys[rank] = {rank + static_cast<uint32_t>(random() % spread), order[rank]};
  }
  std::sort(keys.begin(), keys.end());
  for (size_t rank = 0; rank < order.size(); ++rank) order[rank] = keys[rank].second;
  return order;
}

void Improver::NextStrategy(int64_t target) {
  if (++strategy_ < (at_lowest_ ? kStrategyCount : std::size(kBisectStrategies))) return;
  strategy_ = 0;
  if (!at_lowest_) {
    failed_ = target;
    return;
  }
  at_lowest_ = false;
  failed_ = low_;
  ++round_;
  round_steps_ *= kRoundFactor;
}

uint64_t Improver::Attempt(uint64_t limit, const std::function<bool()>& stop) {
  limit = std::min(limit, round_steps_);
  if (is_large()) return AttemptRepair(low_ + (best_.peak - low_) * 3 / 4, limit);
  failed_ = std::max(failed_, low_);
  if (!at_lowest_ && best_.peak - failed_ <= 1 + low_ / kCloseShare) {
    at_lowest_ = true;
    strategy_ = 0;
  }
  const int64_t target = at_lowest_ ? low_ : failed_ + (best_.peak - failed_) / 2;
  return AttemptSearch(target, limit, stop);
}

uint64_t Improver::AttemptSearch(int64_t target, uint64_t limit, const std::function<bool()>& stop) {
  if (search_ == nullptr) search_ = std::make_unique<Search>(part_.items);
  Layout layout;
  const size_t strategy = at_lowest_ ? strategy_ : kBisectStrategies[strategy_];
  const SearchResult found =
      search_->Run(target, OrderOf(strategy), kStrategies[strategy].choose, limit, stop, &layout);
  if (found == SearchResult::kFound) {
    Keep(std::move(layout));  // and the same strategy again, with a lower target
  } else if (found == SearchResult::kInfeasible) {
    low_ = target + 1;
  } else {
    NextStrategy(target);
  }
  return std::max<uint64_t>(1, search_->steps());
}

uint64_t Improver::AttemptRepair(int64_t target, uint64_t limit) {
  uint64_t work = limit * kVisitsPerStep;
  Layout layout = best_;
  if (Repair(part_.items, std::min(target, best_.peak - 1), &work, &layout)) {
    Keep(std::move(layout));
  } else {
    round_steps_ *= kRoundFactor;
  }
  return std::max<uint64_t>(1, limit - work / kVisitsPerStep);
}

}  // namespace millpond::planner

// SPDX-License-Identifier: Apache-2.0
#include "src/planner/greedy.h"

#include <algorithm>

#include "src/planner/overlaps.h"

namespace millpond::planner {
namespace {

struct Range {
  int64_t begin;
  int64_t end;
};

// Among occupied ranges, sorted by begin.
int64_t FindGap(const std::vector<Range>& taken, const Item& item, Fit fit) {
  int64_t best = kInfinite;
  int64_t best_gap = kInfinite;
  int64_t reached = 0;
  for (const Range& range : taken) {
    const int64_t offset = AlignUp(reached, item.align);
    if (range.begin - offset >= item.size && range.begin - reached < best_gap) {
      best = offset;
      best_gap = range.begin - reached;
      if (fit == Fit::kFirst) return best;
    }
    reached = std::max(reached, range.end);
  }
  return best != kInfinite ? best : AlignUp(reached, item.align);
}

}  // namespace

Layout PlaceInOrder(const Items& items, const std::vector<uint32_t>& order, Fit fit) {
  Overlaps placed(items);
  Layout layout;
  layout.offsets.assign(items.all.size(), 0);
  layout.peak = 0;
  std::vector<Range> taken;
  for (const uint32_t i : order) {
    taken.clear();
    placed.ForEach(i, [&](uint32_t other) {
      taken.push_back({layout.offsets[other], layout.offsets[other] + items.all[other].size});
    });
    std::sort(taken.begin(), taken.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    layout.offsets[i] = FindGap(taken, items.all[i], fit);
    layout.peak = std::max(layout.peak, layout.offsets[i] + items.all[i].size);
    placed.Add(i);
  }
  return layout;
}

uint64_t CountOverlaps(const Items& items) {
  // Of the items that begin before it ends, each item misses those that ended before it began.
  std::vector<uint64_t> begun(items.sections + 1);
  std::vector<uint64_t> ended(items.sections + 1);
  for (const Item& item : items.all) {
    ++begun[item.begin];
    ++ended[item.end - 1];
  }
  for (size_t i = 1; i < begun.size(); ++i) {
    begun[i] += begun[i - 1];
    ended[i] += ended[i - 1];
  }
  uint64_t overlaps = 0;
  for (const Item& item : items.all) {
    overlaps += begun[item.end - 1] - (item.begin == 0 ? 0 : ended[item.begin - 1]) - 1;
  }
  return overlaps / 2;
}

}  // namespace millpond::planner

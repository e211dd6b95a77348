// SPDX-License-Identifier: Apache-2.0
#include "src/planner/repair.h"

#include <algorithm>
#include <queue>

#include "src/planner/overlaps.h"

namespace millpond::planner {
namespace {

class Mover {
 public:
  Mover(const Items& items, int64_t target, const Layout& from)
      : items_(items), target_(target), offsets_(from.offsets), pushed_(items.all.size(), 0), placed_(items) {
    for (uint32_t i = 0; i < items.all.size(); ++i) {
      if (offsets_[i] + items.all[i].size > target) {
        Wait(i);
      } else {
        placed_.Add(i);
      }
    }
  }

  bool Run(uint64_t* work) {
    while (!waiting_.empty()) {
      const uint32_t item = waiting_.top().item;
      waiting_.pop();
      if (items_.all[item].size > target_) return false;
      LookAround(item);
      const uint64_t cost = 4 * (around_.size() + 4);
      if (*work <= cost) {
        *work = 0;
        return false;
      }
      *work -= cost;
      Settle(item);
    }
    return true;
  }

  std::vector<int64_t> TakeOffsets() { return std::move(offsets_); }

 private:
  struct Neighbour {
    int64_t begin;
    int64_t end;
    double weight;
    uint32_t item;
  };
  struct Waiting {
    int64_t size;
    uint32_t item;
    bool operator<(const Waiting& other) const { return size != other.size ? size < other.size : item > other.item; }
  };

  void Wait(uint32_t item) { waiting_.push({items_.all[item].size, item}); }

  // An item displaced often becomes expensive to displace, so no two items displace each other forever.
  double Weight(uint32_t item) const {
    return static_cast<double>(items_.all[item].size) * (1.0 + 0.5 * pushed_[item]) *
           (1.0 + 0.1 * (items_.all[item].end - items_.all[item].begin));
  }

  void LookAround(uint32_t item) {
    around_.clear();
    placed_.ForEach(item, [&](uint32_t other) {
      around_.push_back({offsets_[other], offsets_[other] + items_.all[other].size, Weight(other), other});
    });
    std::sort(around_.begin(), around_.end(), [](const Neighbour& a, const Neighbour& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.item < b.item;
    });
  }

  // Into the tightest gap, or where it displaces least.
  void Settle(uint32_t item) {
    int64_t offset = Gap(items_.all[item]);
    if (offset == kInfinite) {
      offset = Cheapest(items_.all[item]);
      const int64_t end = offset + items_.all[item].size;
      for (const Neighbour& other : around_) {
        if (other.begin >= end || other.end <= offset) continue;
        placed_.Remove(other.item);
        ++pushed_[other.item];
        Wait(other.item);
      }
    }
    offsets_[item] = offset;
    placed_.Add(item);
  }

  int64_t Gap(const Item& item) const {
    int64_t best = kInfinite;
    int64_t best_gap = kInfinite;
    int64_t reached = 0;
    const auto consider = [&](int64_t gap_end) {
      const int64_t offset = AlignUp(reached, item.align);
      if (gap_end - offset < item.size || gap_end - reached >= best_gap) return;
      best = offset;
      best_gap = gap_end - reached;
    };
    for (const Neighbour& other : around_) {
      consider(other.begin);
      reached = std::max(reached, other.end);
    }
    consider(target_);
    return best;
  }

  // The weight in [offset, offset + size) is that of all items that begin before its end minus that of all that end
  // before its begin.
  int64_t Cheapest(const Item& item) {
    ends_.clear();
    begins_.clear();
    double sum = 0;
    for (const Neighbour& other : around_) {
      ends_.emplace_back(other.end, other.weight);
      begins_.emplace_back(other.begin, sum);
      sum += other.weight;
    }
    std::sort(ends_.begin(), ends_.end());
    double ended = 0;
    int64_t best = 0;
    double best_cost = WeightBefore(item.size, sum);
    for (const auto& [end, weight] : ends_) {
      ended += weight;
      const int64_t offset = AlignUp(end, item.align);
      if (offset + item.size > target_) break;
      const double cost = WeightBefore(offset + item.size, sum) - ended;
      if (cost >= best_cost) continue;
      best = offset;
      best_cost = cost;
    }
    return best;
  }

  double WeightBefore(int64_t position, double all) const {
    const auto first = std::lower_bound(begins_.begin(), begins_.end(), position,
                                        [](const auto& entry, int64_t value) { return entry.first < value; });
    return first == begins_.end() ? all : first->second;
  }

  const Items& items_;
  const int64_t target_;
  std::vector<int64_t> offsets_;
  std::vector<uint32_t> pushed_;
  Overlaps placed_;
  std::priority_queue<Waiting> waiting_;
  std::vector<Neighbour> around_;
  std::vector<std::pair<int64_t, double>> ends_;
  std::vector<std::pair<int64_t, double>> begins_;  // and the weight of all that begins before
};

}  // namespace

bool Repair(const Items& items, int64_t target, uint64_t* work, Layout* layout) {
  Mover mover(items, target, *layout);
  if (!mover.Run(work)) return false;
  layout->offsets = mover.TakeOffsets();
  layout->peak = 0;
  for (size_t i = 0; i < items.all.size(); ++i) {
    layout->peak = std::max(layout->peak, layout->offsets[i] + items.all[i].size);
  }
  return true;
}

}  // namespace millpond::planner

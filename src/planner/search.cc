// SPDX-License-Identifier: Apache-2.0
#include "src/planner/search.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace millpond::planner {
namespace {

using Word = uint64_t;
constexpr uint32_t kWordBits = 64;
constexpr uint32_t kNone = UINT32_MAX;

// Sets of small numbers as rows of one table.
class BitRows {
 public:
  BitRows(size_t rows, size_t columns) : words_((columns + kWordBits - 1) / kWordBits), bits_(rows * words_) {}

  size_t words() const { return words_; }
  const Word* row(size_t row) const { return &bits_[row * words_]; }
  void Set(size_t row, size_t column) { bits_[row * words_ + column / kWordBits] |= Word{1} << (column % kWordBits); }
  void Reset(size_t row, size_t column) {
    bits_[row * words_ + column / kWordBits] &= ~(Word{1} << (column % kWordBits));
  }
  void Clear() { std::fill(bits_.begin(), bits_.end(), 0); }

 private:
  size_t words_;
  std::vector<Word> bits_;
};

}  // namespace

class Search::Impl {
 public:
  explicit Impl(const Items& items)
      : items_(items),
        members_(items.sections, items.all.size()),
        overlaps_(items.all.size(), items.all.size()),
        waiting_(1, items.all.size()),
        dirty_(1, items.sections),
        next_twin_(items.all.size(), kNone),
        sizes_(items.all.size()),
        jobs_(items.all.size()) {
    std::map<std::tuple<uint32_t, uint32_t, int64_t, int64_t>, uint32_t> last_of_kind;
    for (uint32_t i = 0; i < items.all.size(); ++i) {
      const Item& item = items.all[i];
      sizes_[i] = item.size;
      for (uint32_t section = item.begin; section < item.end; ++section) members_.Set(section, i);
      for (uint32_t j = 0; j < i; ++j) {
        if (!item.overlaps(items.all[j])) continue;
        overlaps_.Set(i, j);
        overlaps_.Set(j, i);
      }
      const auto [at, is_new] = last_of_kind.try_emplace({item.begin, item.end, item.size, item.align}, i);
      if (!is_new) next_twin_[at->second] = i;
      at->second = i;
    }
  }

  SearchResult Run(int64_t target, const std::vector<uint32_t>& order, Choose choose, uint64_t limit,
                   const std::function<bool()>& stop, Layout* layout) {
    target_ = target;
    choose_ = choose;
    limit_ = limit;
    stop_ = &stop;
    Reset(order);
    for (uint32_t section = 0; section < items_.sections; ++section) {
      if (!Validate(section)) return SearchResult::kInfeasible;
    }
    SearchResult found = SearchResult::kFound;
    uint32_t from = 0;
    for (uint32_t section = 0; section < items_.sections && found == SearchResult::kFound; ++section) {
      if (crossing_[section] != 0) continue;
      found = Solve(from, section + 1);
      from = section + 1;
    }
    if (found != SearchResult::kFound) return found;
    layout->offsets = min_;
    layout->peak = 0;
    for (size_t i = 0; i < sizes_.size(); ++i) layout->peak = std::max(layout->peak, min_[i] + sizes_[i]);
    return found;
  }

  uint64_t steps() const { return steps_; }

 private:
  enum class Kind : uint8_t { kMin, kFloor, kPlaced };
  struct Change {
    Kind kind;
    uint32_t index;
    int64_t old;
  };

  void Reset(const std::vector<uint32_t>& order) {
    const size_t count = sizes_.size();
    steps_ = 0;
    trail_.clear();
    min_.assign(count, 0);
    rank_.resize(count);
    for (uint32_t i = 0; i < count; ++i) rank_[order[i]] = i;
    floor_.assign(items_.sections, 0);
    remaining_.assign(items_.sections, 0);
    crossing_.assign(items_.sections, 0);
    waiting_.Clear();
    for (uint32_t i = 0; i < count; ++i) {
      const Item& item = items_.all[i];
      waiting_.Set(0, i);
      for (uint32_t section = item.begin; section < item.end; ++section) remaining_[section] += item.size;
      for (uint32_t section = item.begin; section + 1 < item.end; ++section) ++crossing_[section];
    }
  }

  // Visits what is in both sets.
  template <class Visit>
  void ForEachWaiting(const Word* row, const Visit& visit) const {
    const Word* waiting = waiting_.row(0);
    for (size_t word = 0; word < waiting_.words(); ++word) {
      for (Word bits = row[word] & waiting[word]; bits != 0; bits &= bits - 1) {
        visit(static_cast<uint32_t>(word * kWordBits + static_cast<size_t>(std::countr_zero(bits))));
      }
    }
  }

  void SetMin(uint32_t item, int64_t offset) {
    trail_.push_back({Kind::kMin, item, min_[item]});
    min_[item] = AlignUp(offset, items_.all[item].align);
  }

  void Undo(size_t mark) {
    while (trail_.size() > mark) {
      const Change change = trail_.back();
      trail_.pop_back();
      if (change.kind == Kind::kMin) {
        min_[change.index] = change.old;
      } else if (change.kind == Kind::kFloor) {
        floor_[change.index] = change.old;
      } else {
        const Item& item = items_.all[change.index];
        waiting_.Set(0, change.index);
        for (uint32_t section = item.begin; section < item.end; ++section) remaining_[section] += item.size;
        for (uint32_t section = item.begin; section + 1 < item.end; ++section) ++crossing_[section];
      }
    }
  }

  // Can the unplaced items of a section still end below the target? Updates the section's floor, the smallest of their
  // least offsets.
  bool Validate(uint32_t section) {
    int64_t lowest = kInfinite;
    int64_t highest = 0;
    ForEachWaiting(members_.row(section), [&](uint32_t i) {
      lowest = std::min(lowest, min_[i]);
      highest = std::max(highest, min_[i]);
    });
    if (lowest == kInfinite) return true;
    if (lowest != floor_[section]) {
      trail_.push_back({Kind::kFloor, section, floor_[section]});
      floor_[section] = lowest;
    }
    if (lowest + remaining_[section] > target_) return false;
    if (highest + remaining_[section] <= target_) return true;
    size_t count = 0;
    ForEachWaiting(members_.row(section), [&](uint32_t i) {
      size_t at = count++;
      for (; at > 0 && jobs_[at - 1].first > min_[i]; --at) jobs_[at] = jobs_[at - 1];
      jobs_[at] = {min_[i], sizes_[i]};
    });
    int64_t end = 0;
    for (size_t i = 0; i < count; ++i) end = std::max(end, jobs_[i].first) + jobs_[i].second;
    return end <= target_;
  }

  void MarkDirty(const Item& item) {
    for (uint32_t section = item.begin; section < item.end; ++section) dirty_.Set(0, section);
  }

  bool ValidateDirty() {
    const Word* dirty = dirty_.row(0);
    for (size_t word = 0; word < dirty_.words(); ++word) {
      for (Word bits = dirty[word]; bits != 0; bits &= bits - 1) {
        if (!Validate(static_cast<uint32_t>(word * kWordBits + static_cast<size_t>(std::countr_zero(bits)))))
          return false;
      }
    }
    return true;
  }

  bool Place(uint32_t i) {
    const Item& item = items_.all[i];
    const int64_t end = min_[i] + item.size;
    if (end > target_) return false;
    trail_.push_back({Kind::kPlaced, i, 0});
    waiting_.Reset(0, i);
    for (uint32_t section = item.begin; section < item.end; ++section) remaining_[section] -= item.size;
    for (uint32_t section = item.begin; section + 1 < item.end; ++section) --crossing_[section];
    dirty_.Clear();
    MarkDirty(item);
    ForEachWaiting(overlaps_.row(i), [&](uint32_t other) {
      if (min_[other] >= end) return;
      SetMin(other, end);
      MarkDirty(items_.all[other]);
    });
    return ValidateDirty();
  }

  // Postponed: it will rest on an overlapping item, one of which will lie where it could have been.
  bool Postpone(uint32_t i) {
    const int64_t here = min_[i];
    int64_t lowest_top = kInfinite;
    bool in_the_way = false;
    ForEachWaiting(overlaps_.row(i), [&](uint32_t other) {
      lowest_top = std::min(lowest_top, std::max(min_[other] + sizes_[other], here + 1));
      in_the_way = in_the_way || min_[other] < here + sizes_[i];
    });
    if (!in_the_way) return false;
    dirty_.Clear();
    SetMin(i, lowest_top);
    MarkDirty(items_.all[i]);
    for (uint32_t twin = next_twin_[i]; twin != kNone; twin = next_twin_[twin]) {
      if (min_[twin] < lowest_top) SetMin(twin, lowest_top);
    }
    return ValidateDirty();
  }

  // Better than the best so far: lower, or as low and of a better rank.
  void Prefer(uint32_t i, uint32_t* best) const {
    if (*best == kNone || min_[i] < min_[*best] || (min_[i] == min_[*best] && rank_[i] < rank_[*best])) {
      *best = i;
    }
  }

  uint32_t Next(uint32_t from, uint32_t to) const {
    uint32_t best = kNone;
    if (choose_ == Choose::kLowest) {
      ForEachWaiting(waiting_.row(0), [&](uint32_t i) {
        if (items_.all[i].begin >= from && items_.all[i].end <= to) Prefer(i, &best);
      });
      return best;
    }
    std::pair<int64_t, int64_t> min_spare{kInfinite, 0};
    uint32_t tightest = kNone;
    for (uint32_t section = from; section < to; ++section) {
      if (remaining_[section] == 0) continue;
      const std::pair<int64_t, int64_t> spare{target_ - floor_[section] - remaining_[section],
                                              choose_ == Choose::kTightAndLow ? floor_[section] : 0};
      if (spare >= min_spare) continue;
      min_spare = spare;
      tightest = section;
    }
    if (tightest == kNone) return kNone;
    ForEachWaiting(members_.row(tightest), [&](uint32_t i) { Prefer(i, &best); });
    // Down to one that no overlapping item can get below.
    while (true) {
      uint32_t lower = best;
      ForEachWaiting(overlaps_.row(best), [&](uint32_t i) {
        if (min_[i] < min_[best]) Prefer(i, &lower);
      });
      if (lower == best) return best;
      best = lower;
    }
  }

  // Sections [from, to), which no unplaced lifetime crosses. Places all their items, or restores the state.
  SearchResult Solve(uint32_t from, uint32_t to) {
    const size_t start = trail_.size();
    while (true) {
      const uint32_t i = Next(from, to);
      if (i == kNone) return SearchResult::kFound;
      ++steps_;
      if (steps_ > limit_ || (steps_ % kStepsPerLook == 0 && (*stop_)())) return SearchResult::kLimit;
      const size_t mark = trail_.size();
      SearchResult found = SearchResult::kInfeasible;
      if (Place(i)) found = SolveRest(i, from, to);
      if (found != SearchResult::kInfeasible) return found;
      Undo(mark);
      if (!Postpone(i)) break;
    }
    Undo(start);
    return SearchResult::kInfeasible;
  }

  // After an item was placed, its sections may be independent of each other.
  SearchResult SolveRest(uint32_t placed, uint32_t from, uint32_t to) {
    for (uint32_t section = items_.all[placed].begin; section + 1 < items_.all[placed].end; ++section) {
      if (crossing_[section] != 0) continue;
      const SearchResult found = Solve(from, section + 1);
      if (found != SearchResult::kFound) return found;
      from = section + 1;
    }
    return Solve(from, to);
  }

  static constexpr uint64_t kStepsPerLook = 256;

  const Items& items_;
  BitRows members_;   // of each section
  BitRows overlaps_;  // of each item
  BitRows waiting_;   // one row
  BitRows dirty_;     // one row: sections to check again
  std::vector<uint32_t> next_twin_;
  std::vector<int64_t> sizes_;
  std::vector<std::pair<int64_t, int64_t>> jobs_;  // release and size

  int64_t target_ = 0;
  Choose choose_ = Choose::kLowest;
  uint64_t limit_ = 0;
  uint64_t steps_ = 0;
  const std::function<bool()>* stop_ = nullptr;
  std::vector<uint32_t> rank_;
  std::vector<int64_t> min_;        // of each item; where it lies once it is placed
  std::vector<int64_t> floor_;      // of each section
  std::vector<int64_t> remaining_;  // of each section: sizes of unplaced items
  std::vector<uint32_t> crossing_;  // of each section: unplaced lifetimes that continue into the next
  std::vector<Change> trail_;
};

Search::Search(const Items& items) : impl_(std::make_unique<Impl>(items)) {}
Search::~Search() = default;

SearchResult Search::Run(int64_t target, const std::vector<uint32_t>& order, Choose choose, uint64_t limit,
                         const std::function<bool()>& stop, Layout* layout) {
  return impl_->Run(target, order, choose, limit, stop, layout);
}

uint64_t Search::steps() const { return impl_->steps(); }

}  // namespace millpond::planner

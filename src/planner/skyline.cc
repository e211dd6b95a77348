// SPDX-License-Identifier: Apache-2.0
#include "src/planner/skyline.h"

#include <algorithm>
#include <queue>

namespace millpond::planner {
namespace {

// The unplaced items. Finds the one of the best rank whose lifetime lies within given sections: a k-d tree over
// (begin, end) whose nodes have the best rank and the bounding box of the unplaced items below them.
class Waiting {
 public:
  Waiting(const Items& items, const std::vector<uint32_t>& order) : items_(items), leaf_items_(order) {
    std::vector<uint32_t> rank(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    while (leaves_ < order.size()) leaves_ *= 2;
    Arrange(0, leaves_, false);
    nodes_.assign(2 * leaves_, Node{});
    for (size_t place = 0; place < leaf_items_.size(); ++place) {
      const Item& item = items.all[leaf_items_[place]];
      nodes_[leaves_ + place] = {rank[leaf_items_[place]], item.begin, item.begin, item.end, item.end};
    }
    for (size_t at = leaves_; --at > 0;) nodes_[at] = Join(nodes_[2 * at], nodes_[2 * at + 1]);
  }

  // Removes and returns it; -1: none.
  int64_t TakeBest(uint32_t begin, uint32_t end, uint64_t* work) {
    Query query{begin, end, kNone, 0, work};
    Find(1, &query);
    if (query.rank == kNone) return -1;
    size_t at = query.node;
    while (at < leaves_) at = nodes_[2 * at].rank == query.rank ? 2 * at : 2 * at + 1;
    const uint32_t found = leaf_items_[at - leaves_];
    nodes_[at] = Node{};
    for (at /= 2; at > 0; at /= 2) nodes_[at] = Join(nodes_[2 * at], nodes_[2 * at + 1]);
    return found;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    uint32_t rank = kNone;
    uint32_t first_begin = kNone;
    uint32_t last_begin = 0;
    uint32_t first_end = kNone;
    uint32_t last_end = 0;
  };
  struct Query {
    uint32_t begin;
    uint32_t end;
    uint32_t rank;  // the best so far, and a node that has it
    size_t node;
    uint64_t* work;
  };

  static Node Join(const Node& a, const Node& b) {
    return {std::min(a.rank, b.rank), std::min(a.first_begin, b.first_begin), std::max(a.last_begin, b.last_begin),
            std::min(a.first_end, b.first_end), std::max(a.last_end, b.last_end)};
  }

  void Arrange(size_t from, size_t count, bool by_end) {
    const size_t to = std::min(from + count, leaf_items_.size());
    if (count == 1 || to <= from + count / 2) {
      if (count > 1) Arrange(from, count / 2, by_end);
      return;
    }
    const auto at = [&](size_t place) { return leaf_items_.begin() + static_cast<std::ptrdiff_t>(place); };
    std::nth_element(at(from), at(from + count / 2), at(to), [&](uint32_t a, uint32_t b) {
      const uint32_t left = by_end ? items_.all[a].end : items_.all[a].begin;
      const uint32_t right = by_end ? items_.all[b].end : items_.all[b].begin;
      return left != right ? left < right : a < b;
    });
    Arrange(from, count / 2, !by_end);
    Arrange(from + count / 2, count / 2, !by_end);
  }

  void Find(size_t at, Query* query) const {
    const Node& node = nodes_[at];
    if (node.rank >= query->rank || node.last_begin < query->begin || node.first_end > query->end ||
        *query->work == 0) {
      return;
    }
    --*query->work;
    if (node.first_begin >= query->begin && node.last_end <= query->end) {
      query->rank = node.rank;
      query->node = at;
      return;
    }
    if (at >= leaves_) return;
    const size_t right_first = nodes_[2 * at].rank > nodes_[2 * at + 1].rank ? 1 : 0;
    Find(2 * at + right_first, query);
    Find(2 * at + 1 - right_first, query);
  }

  const Items& items_;
  std::vector<uint32_t> leaf_items_;
  size_t leaves_ = 1;
  std::vector<Node> nodes_;
};

// Stretches of sections with one height; neighbours differ. A stretch is named by its first section.
class Skyline {
 public:
  explicit Skyline(uint32_t sections) : stretches_(sections + 1) {
    stretches_[0] = {0, sections, kNone, 0};
    if (sections != 0) Push(0);
  }

  // The lowest stretch, the first one of several. False: the whole skyline is one stretch, and was raised to the sky.
  bool Lowest(uint32_t* begin, uint32_t* end, int64_t* height) {
    while (!queue_.empty()) {
      const Entry entry = queue_.top();
      const Stretch& stretch = stretches_[entry.begin];
      if (stretch.version == entry.version && stretch.height == entry.height && stretch.end != kNone) {
        *begin = entry.begin;
        *end = stretch.end;
        *height = stretch.height;
        return true;
      }
      queue_.pop();
    }
    return false;
  }

  // pre: [begin, end) lies within the stretch `within`
  void Build(uint32_t within, uint32_t begin, uint32_t end, int64_t height) {
    const uint32_t stretch_end = stretches_[within].end;
    if (end < stretch_end) SplitAt(within, end);
    if (begin > within) SplitAt(within, begin);
    SetHeight(begin, height);
  }

  // To the lower of the two neighbours. False: there is none.
  bool Raise(uint32_t begin) {
    const Stretch& stretch = stretches_[begin];
    int64_t height = kInfinite;
    if (stretch.before != kNone) height = stretches_[stretch.before].height;
    if (stretch.end + 1 < stretches_.size()) height = std::min(height, stretches_[stretch.end].height);
    if (height == kInfinite) return false;
    SetHeight(begin, height);
    return true;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Stretch {
    int64_t height = 0;
    uint32_t end = kNone;  // kNone: no stretch begins here
    uint32_t before = kNone;
    uint32_t version = 0;
  };
  struct Entry {
    int64_t height;
    uint32_t begin;
    uint32_t version;
    bool operator<(const Entry& other) const {
      return height != other.height ? height > other.height : begin > other.begin;
    }
  };

  void Push(uint32_t begin) { queue_.push({stretches_[begin].height, begin, ++stretches_[begin].version}); }

  void SplitAt(uint32_t begin, uint32_t middle) {
    Stretch& left = stretches_[begin];
    Stretch& right = stretches_[middle];
    right.height = left.height;
    right.end = left.end;
    right.before = begin;
    if (left.end + 1 < stretches_.size()) stretches_[left.end].before = middle;
    left.end = middle;
    Push(middle);
    Push(begin);
  }

  void SetHeight(uint32_t begin, int64_t height) {
    stretches_[begin].height = height;
    const uint32_t before = stretches_[begin].before;
    if (before != kNone && stretches_[before].height == height) {
      Absorb(before);
      begin = before;
    }
    const uint32_t end = stretches_[begin].end;
    if (end + 1 < stretches_.size() && stretches_[end].height == height) Absorb(begin);
    Push(begin);
  }

  // The stretch after `begin` becomes part of it.
  void Absorb(uint32_t begin) {
    Stretch& gone = stretches_[stretches_[begin].end];
    stretches_[begin].end = gone.end;
    gone.end = kNone;
    ++gone.version;
    if (stretches_[begin].end + 1 < stretches_.size()) stretches_[stretches_[begin].end].before = begin;
  }

  std::vector<Stretch> stretches_;  // one for each section, and one behind them
  std::priority_queue<Entry> queue_;
};

}  // namespace

Layout FillValleys(const Items& items, const std::vector<uint32_t>& order, uint64_t* work) {
  Layout layout;
  layout.offsets.assign(items.all.size(), 0);
  Waiting waiting(items, order);
  Skyline skyline(items.sections);
  int64_t peak = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
  int64_t height = 0;
  for (size_t placed = 0; placed < items.all.size();) {
    if (!skyline.Lowest(&begin, &end, &height)) return layout;
    const int64_t found = waiting.TakeBest(begin, end, work);
    if (*work == 0) return layout;
    if (found < 0) {
      if (!skyline.Raise(begin)) return layout;
      continue;
    }
    const Item& item = items.all[static_cast<size_t>(found)];
    const int64_t offset = AlignUp(height, item.align);
    layout.offsets[static_cast<size_t>(found)] = offset;
    peak = std::max(peak, offset + item.size);
    skyline.Build(begin, item.begin, item.end, offset + item.size);
    ++placed;
  }
  layout.peak = peak;
  return layout;
}

}  // namespace millpond::planner

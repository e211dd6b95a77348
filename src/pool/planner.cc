// SPDX-License-Identifier: Apache-2.0
// From a recording to offsets: dynamic storage allocation with all lifetimes known, per stream.
//
// How: blocks are placed one after the other, each at the lowest (or in the tightest) gap that the blocks placed before
// leave during its life. What decides is the order. Coarse size classes, long-lived blocks first within a class, reach
// the lower bound (the peak of live bytes) on training runs; other orders win elsewhere, so all are tried. Then the
// best order is repaired ("squeaky wheel"): blocks that ended above the bound move forward and all are placed again.
// Rejected: exact search, which has no bound on its time at thousands of blocks.
//
// Work is counted in blocks looked at, not read from a clock: the same recording gives the same plan on every machine.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

#include "src/pool/plan.h"

namespace millpond::pool {
namespace {

constexpr uint64_t kWorkPerMs = 250'000;  // about what one core does; only the time taken depends on it
constexpr uint64_t kWorkPerInsert = 64;   // in the same unit

// Live from step `begin` until before step `end`.
struct Block {
  size_t bytes;
  uint32_t begin;
  uint32_t end;
};
using Blocks = std::vector<Block>;
using Order = std::vector<uint32_t>;
using Offsets = std::vector<size_t>;

size_t PeakBytes(const Blocks& blocks) {
  std::map<uint32_t, int64_t> changes;
  for (const Block& block : blocks) {
    changes[block.begin] += static_cast<int64_t>(block.bytes);
    changes[block.end] -= static_cast<int64_t>(block.bytes);
  }
  int64_t live = 0, peak = 0;
  for (const auto& [step, change] : changes) peak = std::max(peak, live += change);
  return static_cast<size_t>(peak);
}

// The first answer, in n log n: what a best-fit allocator would do that sees one step after the other.
class OnlineFit {
 public:
  size_t Allocate(size_t bytes) {
    const auto gap = by_size_.lower_bound({bytes, 0});
    if (gap != by_size_.end()) {
      const auto [gap_bytes, offset] = *gap;
      Remove(offset, gap_bytes);
      if (gap_bytes > bytes) Add(offset + bytes, gap_bytes - bytes);
      return offset;
    }
    size_t offset = top_;
    if (!by_offset_.empty()) {
      const auto [last, last_bytes] = *by_offset_.rbegin();
      if (last + last_bytes == top_) {
        offset = last;
        Remove(last, last_bytes);
      }
    }
    top_ = offset + bytes;
    return offset;
  }

  void Free(size_t offset, size_t bytes) {
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, before_bytes] = *std::prev(next);
      if (before + before_bytes == offset) {
        Remove(before, before_bytes);
        offset = before;
        bytes += before_bytes;
      }
    }
    if (const auto after = by_offset_.find(offset + bytes); after != by_offset_.end()) {
      const size_t after_bytes = after->second;
      Remove(offset + bytes, after_bytes);
      bytes += after_bytes;
    }
    Add(offset, bytes);
  }

  size_t top() const { return top_; }

 private:
  void Add(size_t offset, size_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void Remove(size_t offset, size_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<size_t, size_t> by_offset_;
  std::set<std::pair<size_t, size_t>> by_size_;
  size_t top_ = 0;
};

// Placed blocks by offset. In chunks: with one array, a hundred thousand insertions would move the array each time.
class Shelf {
 public:
  // Where `block` goes. Lowest: the first gap; tightest: the gap it fills best.
  size_t Fit(const Block& block, bool tightest, uint64_t* work) const {
    size_t cursor = 0, found = SIZE_MAX, slack = SIZE_MAX;
    for (const std::vector<Entry>& chunk : chunks_) {
      *work += chunk.size();
      for (const Entry& entry : chunk) {
        if (entry.begin >= block.end || block.begin >= entry.end) continue;
        if (entry.offset >= cursor + block.bytes && entry.offset - cursor - block.bytes < slack) {
          found = cursor;
          slack = entry.offset - cursor - block.bytes;
          if (!tightest || slack == 0) return found;
        }
        cursor = std::max(cursor, entry.top);
      }
    }
    return found == SIZE_MAX ? cursor : found;
  }

  void Insert(const Block& block, size_t offset) {
    const Entry entry{offset, offset + block.bytes, block.begin, block.end};
    const auto before = [](size_t at, const auto& other) { return at < other.offset; };
    auto chunk = std::upper_bound(chunks_.begin(), chunks_.end(), offset,
                                  [](size_t at, const auto& other) { return at < other.front().offset; });
    if (chunk != chunks_.begin()) --chunk;
    if (chunk == chunks_.end()) chunk = chunks_.emplace(chunk);
    chunk->insert(std::upper_bound(chunk->begin(), chunk->end(), offset, before), entry);
    if (chunk->size() < kChunk) return;
    std::vector<Entry> upper(chunk->begin() + kChunk / 2, chunk->end());
    chunk->resize(kChunk / 2);
    chunks_.insert(chunk + 1, std::move(upper));
  }

 private:
  static constexpr size_t kChunk = 512;
  struct Entry {
    size_t offset;
    size_t top;
    uint32_t begin;
    uint32_t end;
  };
  std::vector<std::vector<Entry>> chunks_;
};

// All placed blocks, and again by windows of time: a short-lived block looks only at a window that holds its life. Each
// level has windows twice as wide as their distance, so a life of up to that distance always lies in one of them.
class Timeline {
 public:
  explicit Timeline(uint32_t steps) {
    constexpr uint32_t kFinest = 64, kShortest = 64;
    for (uint32_t shift = std::bit_width(std::max(steps / kFinest, kShortest)); (steps >> shift) > 2; shift += 2) {
      levels_.push_back({shift, std::vector<Shelf>((steps >> shift) + 1)});
    }
  }

  size_t Fit(const Block& block, bool tightest, uint64_t* work) const {
    for (const Level& level : levels_) {
      const uint32_t window = block.begin >> level.shift;
      if (((block.end - 1) >> level.shift) <= window + 1) return level.windows[window].Fit(block, tightest, work);
    }
    return all_.Fit(block, tightest, work);
  }

  void Insert(const Block& block, size_t offset, uint64_t* work) {
    all_.Insert(block, offset);
    *work += kWorkPerInsert;
    for (Level& level : levels_) {
      const uint32_t first = block.begin >> level.shift;
      const uint32_t last = (block.end - 1) >> level.shift;
      for (uint32_t window = first - (first > 0 ? 1 : 0); window <= last; ++window) {
        level.windows[window].Insert(block, offset);
        *work += kWorkPerInsert;
      }
    }
  }

 private:
  struct Level {
    uint32_t shift;  // window i is steps [i << shift, (i + 2) << shift)
    std::vector<Shelf> windows;
  };
  Shelf all_;
  std::vector<Level> levels_;
};

// How blocks are ordered before they are placed: by size class, largest first, then by `tie`.
struct Rule {
  int class_bits;  // a class spans a factor of 2^class_bits; 0: every size is its own; 64: no classes
  enum class Tie { kLife, kBegin, kEnd, kArea } tie;
  bool tightest;
};

// The first reaches the bound on recorded training runs; the others are as different from it as possible.
constexpr Rule kRules[] = {
    {2, Rule::Tie::kLife, false},  {1, Rule::Tie::kBegin, false}, {1, Rule::Tie::kLife, false},
    {0, Rule::Tie::kLife, false},  {4, Rule::Tie::kLife, false},  {0, Rule::Tie::kBegin, true},
    {64, Rule::Tie::kLife, true},  {64, Rule::Tie::kArea, true},  {64, Rule::Tie::kBegin, true},
    {64, Rule::Tie::kLife, false}, {1, Rule::Tie::kEnd, false},   {2, Rule::Tie::kBegin, false},
};

Order OrderBy(const Rule& rule, const Blocks& blocks) {
  const auto size_class = [&](const Block& block) -> uint64_t {
    if (rule.class_bits == 0) return block.bytes;
    return static_cast<uint64_t>(std::bit_width(block.bytes) - 1) / static_cast<uint64_t>(rule.class_bits);
  };
  const auto tie = [&](const Block& block) -> double {
    const double life = block.end - block.begin;
    switch (rule.tie) {
      case Rule::Tie::kLife:
        return -life;
      case Rule::Tie::kBegin:
        return block.begin;
      case Rule::Tie::kEnd:
        return -static_cast<double>(block.end);
      case Rule::Tie::kArea:
        return -life * static_cast<double>(block.bytes);
    }
    return 0;
  };
  struct Key {
    uint64_t size_class;
    double tie;
    uint32_t id;
  };
  std::vector<Key> keys;
  keys.reserve(blocks.size());
  for (const Block& block : blocks) {
    keys.push_back({size_class(block), tie(block), static_cast<uint32_t>(keys.size())});
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    if (a.size_class != b.size_class) return a.size_class > b.size_class;
    return a.tie != b.tie ? a.tie < b.tie : a.id < b.id;
  });
  Order order;
  order.reserve(keys.size());
  for (const Key& key : keys) order.push_back(key.id);
  return order;
}

// Plans the blocks of one stream.
class StreamPlanner {
 public:
  StreamPlanner(Blocks blocks, uint32_t steps, uint64_t work)
      : blocks_(std::move(blocks)), steps_(steps), bound_(PeakBytes(blocks_)), left_(work) {
    PlaceOnline();
    for (const Rule& rule : kRules) {
      if (Done()) return;
      const Order order = OrderBy(rule, blocks_);
      Try(order, rule.tightest);
    }
    Repair();
  }

  size_t area() const { return best_area_; }
  const Offsets& offsets() const { return best_offsets_; }

 private:
  bool Done() const { return best_area_ == bound_ || left_ == 0; }

  void PlaceOnline() {
    Order by_end(blocks_.size());
    std::iota(by_end.begin(), by_end.end(), 0);
    std::stable_sort(by_end.begin(), by_end.end(),
                     [&](uint32_t a, uint32_t b) { return blocks_[a].end < blocks_[b].end; });
    best_offsets_.resize(blocks_.size());
    OnlineFit fit;
    size_t freed = 0;
    for (size_t i = 0; i < blocks_.size(); ++i) {  // already in the order of their begin
      for (; blocks_[by_end[freed]].end <= blocks_[i].begin; ++freed) {
        fit.Free(best_offsets_[by_end[freed]], blocks_[by_end[freed]].bytes);
      }
      best_offsets_[i] = fit.Allocate(blocks_[i].bytes);
    }
    best_area_ = fit.top();
  }

  // Places all blocks in `order`. False, with nothing changed, if the budget ends before that.
  bool Try(const Order& order, bool tightest) {
    Timeline timeline(steps_);
    offsets_.resize(blocks_.size());
    size_t area = 0;
    for (const uint32_t id : order) {
      uint64_t work = 0;
      offsets_[id] = timeline.Fit(blocks_[id], tightest, &work);
      timeline.Insert(blocks_[id], offsets_[id], &work);
      if (work >= left_) {
        left_ = 0;
        return false;
      }
      left_ -= work;
      area = std::max(area, offsets_[id] + blocks_[id].bytes);
    }
    if (area < best_order_area_) {
      best_order_ = order;
      best_order_area_ = area;
      best_tightest_ = tightest;
    }
    if (area < best_area_) {
      best_area_ = area;
      best_offsets_ = offsets_;
    }
    return true;
  }

  // Blocks that stick out above the bound had too few gaps left: they choose earlier next time.
  void Repair() {
    constexpr int kPatience = 30;
    if (best_order_.empty()) return;
    Order order = best_order_;
    for (int failures = 0; !Done();) {
      const size_t before = best_order_area_;
      if (!Try(order, best_tightest_)) return;
      failures = best_order_area_ < before ? 0 : failures + 1;
      if (failures > kPatience) {
        failures = 0;
        order = best_order_;
        Shake(&order);
      } else {
        Promote(&order);
      }
    }
  }

  void Promote(Order* order) {
    std::vector<std::pair<size_t, uint32_t>> keys;
    keys.reserve(order->size());
    for (size_t i = 0; i < order->size(); ++i) {
      const uint32_t id = (*order)[i];
      const bool sticks_out = offsets_[id] + blocks_[id].bytes > bound_;
      keys.emplace_back(sticks_out ? Random(i + 1) : i, id);
    }
    std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < keys.size(); ++i) (*order)[i] = keys[i].second;
  }

  // Out of a dead end: some blocks move forward for no reason at all.
  void Shake(Order* order) {
    for (size_t i = 0; i < 1 + order->size() / 200; ++i) {
      const size_t from = Random(order->size());
      const size_t to = Random(from + 1);
      std::rotate(order->begin() + static_cast<ptrdiff_t>(to), order->begin() + static_cast<ptrdiff_t>(from),
                  order->begin() + static_cast<ptrdiff_t>(from) + 1);
    }
  }

  // Below `limit`. The standard library's distributions differ between machines; this does not.
  size_t Random(size_t limit) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<size_t>((random_ >> 11) % limit);
  }

  const Blocks blocks_;
  const uint32_t steps_;
  const size_t bound_;
  uint64_t left_;
  uint64_t random_ = 88172645463325252u;
  Offsets offsets_;  // of the last try
  size_t best_area_ = SIZE_MAX;
  Offsets best_offsets_;
  Order best_order_;
  size_t best_order_area_ = SIZE_MAX;
  bool best_tightest_ = false;
};

size_t RoundUp(size_t bytes, size_t unit) { return (std::max<size_t>(bytes, 1) + unit - 1) / unit * unit; }

// The blocks of each stream, in the order of their allocation, and which allocation each is.
struct StreamBlocks {
  Blocks blocks;
  Order ids;
};

std::vector<StreamBlocks> SplitByStream(const Recording& recording, size_t alignment, Plan* plan) {
  std::vector<StreamBlocks> streams;
  std::vector<size_t> position;  // of an allocation among its stream's blocks
  const uint32_t steps = static_cast<uint32_t>(recording.steps.size());
  for (uint32_t at = 0; at < steps; ++at) {
    const Step& step = recording.steps[at];
    if (!step.allocate) {
      if (step.id < position.size()) streams[plan->places[step.id].stream].blocks[position[step.id]].end = at;
      continue;
    }
    if (step.stream >= streams.size()) streams.resize(step.stream + size_t{1});
    StreamBlocks& stream = streams[step.stream];
    position.push_back(stream.blocks.size());
    stream.ids.push_back(static_cast<uint32_t>(plan->places.size()));
    stream.blocks.push_back({RoundUp(step.bytes, alignment), at, steps});
    plan->places.push_back({step.bytes, step.stream, 0});
  }
  return streams;
}

}  // namespace

Plan MakePlan(const Recording& recording, size_t alignment, uint32_t budget_ms) {
  Plan plan;
  std::vector<StreamBlocks> streams = SplitByStream(recording, std::max<size_t>(alignment, 1), &plan);
  // A pass over n blocks looks at about n^2 of them: shares in that proportion give each stream as many passes.
  double squares = 0;
  for (const StreamBlocks& stream : streams) {
    squares += static_cast<double>(stream.blocks.size()) * static_cast<double>(stream.blocks.size());
  }
  for (StreamBlocks& stream : streams) {
    const double count = static_cast<double>(stream.blocks.size());
    const double share = static_cast<double>(kWorkPerMs) * budget_ms * (count * count / std::max(squares, 1.0));
    const uint64_t work = static_cast<uint64_t>(share) + (budget_ms > 0 ? kWorkPerMs : 0);  // a small stream: 1 ms
    if (stream.blocks.empty()) {
      plan.area_bytes.push_back(0);
      continue;
    }
    const StreamPlanner planner(std::move(stream.blocks), static_cast<uint32_t>(recording.steps.size()), work);
    plan.area_bytes.push_back(planner.area());
    for (size_t i = 0; i < stream.ids.size(); ++i) plan.places[stream.ids[i]].offset = planner.offsets()[i];
  }
  return plan;
}

}  // namespace millpond::pool

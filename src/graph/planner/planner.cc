// SPDX-License-Identifier: Apache-2.0
#include "src/graph/planner/planner.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "src/base/assert.h"
#include "src/graph/planner/validator.h"

namespace millpond::planner {
namespace {

size_t RoundUp(size_t value, size_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

size_t AlignmentOf(const Problem& problem, const Buffer& buffer) {
  return buffer.alignment != 0 ? buffer.alignment : problem.alignment;
}

// Finds the placed buffers that are live together with a given one. Buffers stand in the order of their first step, and
// a tree over them holds the latest last step of each range: a search walks only into ranges that have a hit, so that
// short lifetimes, the common case, cost their own number times a logarithm.
class Contemporaries {
 public:
  explicit Contemporaries(const Problem& problem) : buffers_(problem.buffers), place_of_(buffers_.size()) {
    by_first_.resize(buffers_.size());
    std::iota(by_first_.begin(), by_first_.end(), 0u);
    std::stable_sort(by_first_.begin(), by_first_.end(),
                     [&](uint32_t a, uint32_t b) { return buffers_[a].first_step < buffers_[b].first_step; });
    for (uint32_t place = 0; place < by_first_.size(); ++place) {
      place_of_[by_first_[place]] = place;
      firsts_.push_back(buffers_[by_first_[place]].first_step);
    }
    while (leaves_ < buffers_.size()) leaves_ *= 2;
    latest_.assign(2 * leaves_, -1);
  }

  void Clear() { std::fill(latest_.begin(), latest_.end(), -1); }

  void Add(uint32_t buffer) {
    size_t at = leaves_ + place_of_[buffer];
    latest_[at] = buffers_[buffer].last_step;
    for (at /= 2; at > 0; at /= 2) latest_[at] = std::max(latest_[2 * at], latest_[2 * at + 1]);
  }

  template <class Visit>
  void ForEach(uint32_t buffer, const Visit& visit) const {
    const Buffer& wanted = buffers_[buffer];
    const size_t end =
        static_cast<size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), wanted.last_step) - firsts_.begin());
    Walk(1, 0, leaves_, end, wanted.first_step, visit);
  }

 private:
  template <class Visit>
  void Walk(size_t at, size_t begin, size_t count, size_t end, int64_t alive_at, const Visit& visit) const {
    if (begin >= end || latest_[at] < alive_at) return;
    if (count == 1) {
      visit(by_first_[begin]);
      return;
    }
    Walk(2 * at, begin, count / 2, end, alive_at, visit);
    Walk(2 * at + 1, begin + count / 2, count / 2, end, alive_at, visit);
  }

  const std::vector<Buffer>& buffers_;
  std::vector<uint32_t> by_first_;  // buffers, by first step
  std::vector<uint32_t> place_of_;  // the inverse
  std::vector<uint32_t> firsts_;    // first steps, in by_first_'s order
  size_t leaves_ = 1;
  std::vector<int64_t> latest_;  // of what is placed; -1: nothing
};

struct Event {
  uint32_t step;
  bool birth;
  uint32_t buffer;
};

// Births before deaths within a step, since both ends of a lifetime are included.
std::vector<Event> EventsOf(const Problem& problem) {
  std::vector<Event> events;
  events.reserve(2 * problem.buffers.size());
  for (uint32_t i = 0; i < problem.buffers.size(); ++i) {
    events.push_back({problem.buffers[i].first_step, true, i});
    events.push_back({problem.buffers[i].last_step, false, i});
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.step != b.step ? a.step < b.step : a.birth && !b.birth;
  });
  return events;
}

// Every offset is a multiple of the smallest alignment, so each buffer but the topmost takes its bytes rounded up to
// it.
size_t LowerBound(const Problem& problem) {
  size_t unit = problem.alignment;
  for (const Buffer& buffer : problem.buffers) unit = std::min(unit, AlignmentOf(problem, buffer));
  size_t slack = 0;
  for (const Buffer& buffer : problem.buffers) slack = std::max(slack, RoundUp(buffer.bytes, unit) - buffer.bytes);
  size_t rounded = 0;
  size_t raw = 0;
  size_t bound = 0;
  for (const Event& event : EventsOf(problem)) {
    const size_t bytes = problem.buffers[event.buffer].bytes;
    if (!event.birth) {
      rounded -= RoundUp(bytes, unit);
      raw -= bytes;
      continue;
    }
    rounded += RoundUp(bytes, unit);
    raw += bytes;
    bound = std::max({bound, raw, rounded > slack ? rounded - slack : 0});
  }
  return bound;
}

// The largest sum of live bytes while each buffer lives. It is reached at some birth: a table of maxima over ranges of
// births answers for each buffer at once.
std::vector<size_t> Pressure(const Problem& problem) {
  std::vector<uint32_t> born;  // in the order of birth
  std::vector<size_t> live_at_birth;
  size_t live = 0;
  for (const Event& event : EventsOf(problem)) {
    if (!event.birth) {
      live -= problem.buffers[event.buffer].bytes;
      continue;
    }
    live += problem.buffers[event.buffer].bytes;
    born.push_back(event.buffer);
    live_at_birth.push_back(live);
  }
  // Ranges of births, doubled: maxima over 2^k births from each place.
  std::vector<std::vector<size_t>> maxima{live_at_birth};
  for (size_t width = 1; 2 * width <= born.size(); width *= 2) {
    const std::vector<size_t>& half = maxima.back();
    std::vector<size_t> whole(born.size() - 2 * width + 1);
    for (size_t i = 0; i < whole.size(); ++i) whole[i] = std::max(half[i], half[i + width]);
    maxima.push_back(std::move(whole));
  }
  std::vector<size_t> pressure(problem.buffers.size());
  for (size_t i = 0; i < born.size(); ++i) {
    const uint32_t last_step = problem.buffers[born[i]].last_step;
    const size_t end = static_cast<size_t>(
        std::partition_point(born.begin() + static_cast<std::ptrdiff_t>(i), born.end(),
                             [&](uint32_t other) { return problem.buffers[other].first_step <= last_step; }) -
        born.begin());
    size_t level = 0;
    while ((size_t{2} << level) <= end - i) ++level;
    pressure[born[i]] = std::max(maxima[level][i], maxima[level][end - (size_t{1} << level)]);
  }
  return pressure;
}

enum class Order { kBySize, kByArea, kByLifetime, kByPressure, kByBirth };
constexpr Order kOrders[] = {Order::kBySize, Order::kByArea, Order::kByPressure, Order::kByLifetime, Order::kByBirth};

// Which buffers are placed first. Equal keys fall back to size, then to the buffers' own order.
std::vector<uint32_t> Ordered(const Problem& problem, Order order) {
  const std::vector<Buffer>& buffers = problem.buffers;
  std::vector<std::pair<double, size_t>> keys(buffers.size());
  const std::vector<size_t> pressure = order == Order::kByPressure ? Pressure(problem) : std::vector<size_t>();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const double steps = 1.0 + buffers[i].last_step - buffers[i].first_step;
    const double bytes = static_cast<double>(buffers[i].bytes);
    double key = 0;
    switch (order) {
      case Order::kBySize:
        key = bytes;
        break;
      case Order::kByArea:
        key = bytes * steps;
        break;
      case Order::kByLifetime:
        key = steps;
        break;
      case Order::kByPressure:
        key = static_cast<double>(pressure[i]);
        break;
      case Order::kByBirth:
        key = -static_cast<double>(buffers[i].first_step);
        break;
    }
    keys[i] = {key, buffers[i].bytes};
  }
  std::vector<uint32_t> sequence(buffers.size());
  std::iota(sequence.begin(), sequence.end(), 0u);
  std::stable_sort(sequence.begin(), sequence.end(), [&](uint32_t a, uint32_t b) { return keys[a] > keys[b]; });
  return sequence;
}

enum class Fit { kBest, kFirst };

struct Range {
  size_t begin;
  size_t end;
};

// The offset for `bytes` among taken ranges, sorted by begin: the tightest gap that holds it, or the lowest.
size_t FindGap(const std::vector<Range>& taken, size_t bytes, size_t alignment, Fit fit) {
  size_t best = SIZE_MAX;
  size_t best_gap = SIZE_MAX;
  size_t reached = 0;
  for (const Range& range : taken) {
    const size_t offset = RoundUp(reached, alignment);
    if (range.begin >= offset && range.begin - offset >= bytes && range.begin - reached < best_gap) {
      best = offset;
      best_gap = range.begin - reached;
      if (fit == Fit::kFirst) return best;
    }
    reached = std::max(reached, range.end);
  }
  return best != SIZE_MAX ? best : RoundUp(reached, alignment);
}

// Places buffers one after the other.
class Placer {
 public:
  explicit Placer(const Problem& problem) : problem_(problem), tree_(problem) {
    size_t live = 0;
    size_t most = 0;
    for (const Event& event : EventsOf(problem)) {
      live += event.birth ? 1 : -1;
      most = std::max(most, live);
    }
    dense_ = most > problem.buffers.size() / kDenseShare;
  }

  Plan Place(const std::vector<uint32_t>& sequence, Fit fit) {
    Plan plan;
    plan.offsets.assign(problem_.buffers.size(), 0);
    tree_.Clear();
    placed_.clear();
    for (const uint32_t i : sequence) {
      const Buffer& buffer = problem_.buffers[i];
      if (buffer.bytes == 0) continue;
      if (dense_) {
        ScanPlaced(buffer);
      } else {
        SearchPlaced(i, plan);
      }
      plan.offsets[i] = FindGap(taken_, buffer.bytes, AlignmentOf(problem_, buffer), fit);
      plan.peak = std::max(plan.peak, plan.offsets[i] + buffer.bytes);
      Remember(i, plan.offsets[i]);
      work_ += dense_ ? placed_.size() / 4 : taken_.size() + 1;
    }
    return plan;
  }

  size_t work() const { return work_; }  // ranges looked at, since the beginning

 private:
  // A training graph keeps most of its buffers until the backward half: then a scan in the order of offsets beats
  // finding and sorting them.
  static constexpr size_t kDenseShare = 16;

  struct Placed {
    Range range;
    uint32_t first_step;
    uint32_t last_step;
  };

  void ScanPlaced(const Buffer& buffer) {
    taken_.clear();
    for (const Placed& other : placed_) {
      if (other.first_step <= buffer.last_step && buffer.first_step <= other.last_step) taken_.push_back(other.range);
    }
  }

  void SearchPlaced(uint32_t i, const Plan& plan) {
    taken_.clear();
    tree_.ForEach(i, [&](uint32_t other) {
      taken_.push_back({plan.offsets[other], plan.offsets[other] + problem_.buffers[other].bytes});
    });
    std::sort(taken_.begin(), taken_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  }

  void Remember(uint32_t i, size_t offset) {
    if (!dense_) {
      tree_.Add(i);
      return;
    }
    const Buffer& buffer = problem_.buffers[i];
    const auto after = std::upper_bound(placed_.begin(), placed_.end(), offset,
                                        [](size_t value, const Placed& other) { return value < other.range.begin; });
    placed_.insert(after, {{offset, offset + buffer.bytes}, buffer.first_step, buffer.last_step});
  }

  const Problem& problem_;
  Contemporaries tree_;
  bool dense_ = false;
  std::vector<Placed> placed_;  // by offset; dense problems only
  std::vector<Range> taken_;
  size_t work_ = 0;
};

}  // namespace

Plan PlanMemory(const Problem& problem) {
  // Orders after the first are tried only while the ranges looked at stay below this (about a second), so that a graph
  // in which everything lives at once still plans in bounded time.
  constexpr size_t kWorkBudget = 20'000'000;
  const size_t lower_bound = LowerBound(problem);
  Placer placer(problem);
  Plan best;
  best.offsets.assign(problem.buffers.size(), 0);
  best.peak = SIZE_MAX;
  for (const Order order : kOrders) {
    const std::vector<uint32_t> sequence = Ordered(problem, order);
    for (const Fit fit : {Fit::kBest, Fit::kFirst}) {
      if (best.peak <= lower_bound || (best.peak != SIZE_MAX && placer.work() > kWorkBudget)) break;
      Plan plan = placer.Place(sequence, fit);
      if (plan.peak < best.peak) best = std::move(plan);
    }
  }
  best.lower_bound = lower_bound;
  MP_ASSERT_EXPENSIVE(ValidatePlan(problem, best).ok());
  return best;
}

}  // namespace millpond::planner

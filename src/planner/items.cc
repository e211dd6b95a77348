// SPDX-License-Identifier: Apache-2.0
#include "src/planner/items.h"

#include <algorithm>
#include <numeric>

namespace millpond::planner {
namespace {

struct Event {
  uint32_t step;
  bool is_end;
  uint32_t item;
};

// Range maximum queries by a sparse table.
class RangeMaxima {
 public:
  explicit RangeMaxima(const std::vector<int64_t>& values) : levels_{values} {
    for (size_t width = 1; 2 * width <= values.size(); width *= 2) {
      const std::vector<int64_t>& half = levels_.back();
      std::vector<int64_t> whole(values.size() - 2 * width + 1);
      for (size_t i = 0; i < whole.size(); ++i) whole[i] = std::max(half[i], half[i + width]);
      levels_.push_back(std::move(whole));
    }
  }

  // pre: begin < end
  int64_t Over(size_t begin, size_t end) const {
    size_t level = 0;
    while ((size_t{2} << level) <= end - begin) ++level;
    return std::max(levels_[level][begin], levels_[level][end - (size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<int64_t>> levels_;
};

}  // namespace

void CutIntoSections(const std::vector<Lifetime>& lifetimes, Items* items) {
  std::vector<Event> events;
  events.reserve(2 * lifetimes.size());
  for (uint32_t i = 0; i < lifetimes.size(); ++i) {
    events.push_back({lifetimes[i].first, false, i});
    events.push_back({lifetimes[i].last, true, i});
  }
  // Within a step, begins come before ends, since lifetimes include both.
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.step != b.step ? a.step < b.step : !a.is_end && b.is_end;
  });
  uint32_t section = 0;
  bool ended = false;
  for (const Event& event : events) {
    Item& item = items->all[event.item];
    if (event.is_end) {
      item.end = section + 1;
      ended = true;
      continue;
    }
    if (ended) ++section;
    ended = false;
    item.begin = section;
  }
  for (size_t i = 0; i < lifetimes.size(); ++i) items->all[i].steps = lifetimes[i].last - lifetimes[i].first + 1;
  items->sections = lifetimes.empty() ? 0 : section + 1;
}

std::vector<int64_t> Loads(const Items& items) {
  std::vector<int64_t> loads(items.sections + 1);
  for (const Item& item : items.all) {
    loads[item.begin] += item.size;
    loads[item.end] -= item.size;
  }
  std::partial_sum(loads.begin(), loads.end(), loads.begin());
  loads.pop_back();
  return loads;
}

std::vector<int64_t> Pressures(const Items& items, const std::vector<int64_t>& loads) {
  const RangeMaxima maxima(loads);
  std::vector<int64_t> pressures(items.all.size());
  for (size_t i = 0; i < pressures.size(); ++i) pressures[i] = maxima.Over(items.all[i].begin, items.all[i].end);
  return pressures;
}

std::vector<Part> Split(const Items& whole) {
  std::vector<int32_t> crossing(whole.sections + 1);  // lifetimes that continue from a section into the next
  for (const Item& item : whole.all) {
    ++crossing[item.begin];
    --crossing[item.end - 1];
  }
  std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
  std::vector<uint32_t> part_of(whole.sections);
  std::vector<uint32_t> start(1, 0);
  for (uint32_t section = 0; section < whole.sections; ++section) {
    part_of[section] = static_cast<uint32_t>(start.size()) - 1;
    if (crossing[section] == 0 && section + 1 < whole.sections) start.push_back(section + 1);
  }
  if (whole.all.empty()) return {};
  std::vector<Part> parts(start.size());
  for (uint32_t i = 0; i < whole.all.size(); ++i) {
    Item item = whole.all[i];
    const uint32_t part = part_of[item.begin];
    item.begin -= start[part];
    item.end -= start[part];
    parts[part].items.sections = std::max(parts[part].items.sections, item.end);
    parts[part].items.all.push_back(item);
    parts[part].origin.push_back(i);
  }
  return parts;
}

std::vector<uint32_t> OrderBy(const Items& items, const std::vector<int64_t>& pressures, const char* letters) {
  const auto key = [&](uint32_t i, char letter) -> double {
    const Item& item = items.all[i];
    switch (letter) {
      case 'T':
        return static_cast<double>(pressures[i]);
      case 'W':
        return item.steps;
      case 'A':
        return static_cast<double>(item.size) * item.steps;
      case 'Z':
        return static_cast<double>(item.size);
      case 'C':
        return item.end - item.begin;
      default:
        return -static_cast<double>(item.begin);
    }
  };
  std::vector<uint32_t> order(items.all.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    for (const char* letter = letters; *letter != '\0'; ++letter) {
      const double left = key(a, *letter);
      const double right = key(b, *letter);
      if (left != right) return left > right;
    }
    return false;
  });
  return order;
}

}  // namespace millpond::planner

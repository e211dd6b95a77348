// SPDX-License-Identifier: Apache-2.0
// What the planning methods work on: buffers that share storage made one, sizes in units, time cut into sections.
#ifndef MILLPOND_SRC_GRAPH_PLANNER_ITEMS_H_
#define MILLPOND_SRC_GRAPH_PLANNER_ITEMS_H_

#include <cstdint>
#include <utility>
#include <vector>

namespace millpond::planner {

// Live in the sections [begin, end). Its offset is a multiple of `align`, a power of two.
struct Item {
  uint32_t begin = 0;
  uint32_t end = 0;
  int64_t size = 0;  // above 0
  int64_t align = 1;
  uint32_t steps = 1;  // of its life, as the problem counts them

  bool meets(const Item& other) const { return begin < other.end && other.begin < end; }
};

// A section is a moment at which no more can be live before something dies: the maximal cliques of the lifetimes. Two
// items are live together if and only if they share a section.
struct Items {
  std::vector<Item> all;
  uint32_t sections = 0;
};

// Lifetimes in steps, both ends included.
struct Lifetime {
  uint32_t first = 0;
  uint32_t last = 0;
};

// Sets begin, end and steps of each item.
void CutIntoSections(const std::vector<Lifetime>& lifetimes, Items* items);

// The sum of live sizes in each section.
std::vector<int64_t> Loads(const Items& items);

// For each item the largest load while it lives.
std::vector<int64_t> Pressures(const Items& items, const std::vector<int64_t>& loads);

// Items that no item joins over time can be planned one part after the other.
struct Part {
  Items items;
  std::vector<uint32_t> origin;  // of each item, in the whole
};
std::vector<Part> Split(const Items& whole);

inline int64_t AlignUp(int64_t value, int64_t align) { return (value + align - 1) & ~(align - 1); }

// Offsets of items, and the furthest end. A method that gave up says so by an infinite peak.
inline constexpr int64_t kInfinite = INT64_MAX;
struct Layout {
  std::vector<int64_t> offsets;
  int64_t peak = kInfinite;
};

// Orders in which items are considered. Letters as in the literature: T the pressure, W the length of the life, A the
// area, Z the size, C the number of sections, B the birth; largest first (earliest birth), the next letter breaks ties.
std::vector<uint32_t> OrderBy(const Items& items, const std::vector<int64_t>& pressures, const char* letters);

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_GRAPH_PLANNER_ITEMS_H_

// SPDX-License-Identifier: Apache-2.0
// The planner's internal model: buffers that share storage merged into one item, sizes in units, time cut into
// sections.
#ifndef MILLPOND_SRC_PLANNER_ITEMS_H_
#define MILLPOND_SRC_PLANNER_ITEMS_H_

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
  uint32_t steps = 1;  // length of its lifetime, in the problem's steps

  bool overlaps(const Item& other) const { return begin < other.end && other.begin < end; }
};

// A section is a point in time at which the set of live items is maximal: the maximal cliques of the interval graph.
// Two lifetimes overlap if and only if they share a section.
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

// For each item, the largest load during its lifetime.
std::vector<int64_t> Pressures(const Items& items, const std::vector<int64_t>& loads);

// Parts share no section, so each is planned on its own.
struct Part {
  Items items;
  std::vector<uint32_t> origin;  // of each item, in the whole
};
std::vector<Part> Split(const Items& whole);

inline int64_t AlignUp(int64_t value, int64_t align) { return (value + align - 1) & ~(align - 1); }

// Offsets of items, and the highest end. An infinite peak: the method gave up.
inline constexpr int64_t kInfinite = INT64_MAX;
struct Layout {
  std::vector<int64_t> offsets;
  int64_t peak = kInfinite;
};

// Orders in which items are considered. Letters as in the literature: T pressure, W length of the lifetime, A area,
// Z size, C number of sections, B begin; largest first (begin: earliest first), the next letter breaks ties.
std::vector<uint32_t> OrderBy(const Items& items, const std::vector<int64_t>& pressures, const char* letters);

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_PLANNER_ITEMS_H_

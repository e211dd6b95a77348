// SPDX-License-Identifier: Apache-2.0
// Assigns each buffer of a run its offset in one block of memory, from sizes and lifetimes alone. A pure function: the
// same problem and the same budget in steps give the same plan on every machine; it knows neither graphs nor devices.
// validator.h validates the result independently.
//
// First the greedy orders and the skyline (skyline.h), then, while the budget lasts and the lower bound is not reached,
// the exact search (search.h) and local repairs (repair.h) with ever lower targets. The capacity does not steer the
// search, it only ends it: so a larger capacity never fails where a smaller one succeeds.
#ifndef MILLPOND_SRC_PLANNER_PLANNER_H_
#define MILLPOND_SRC_PLANNER_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millpond::planner {

inline constexpr uint32_t kNowhere = UINT32_MAX;

// Live from first_step to last_step, both inclusive. A buffer of 0 bytes conflicts with nothing and lies at 0.
struct Buffer {
  size_t bytes = 0;
  uint32_t first_step = 0;
  uint32_t last_step = 0;
  size_t alignment = 0;  // of its offset; 0: the problem's

  // Aliasing: this buffer may lie within another one, at inside_at, though both are live: a result in the place of its
  // input, a part of a concatenation in the result, a view. The caller guarantees that this is safe for the two of
  // them. The storage is then live from the first use of either to the last use of both. With must_lie_inside (a view)
  // it is mandatory, and the buffer's own alignment is ignored.
  uint32_t inside = kNowhere;
  size_t inside_at = 0;
  bool must_lie_inside = false;
  // Lying inside saves a copy: done wherever it does not raise the peak of live bytes. Without this flag, only where it
  // does not raise the live bytes at any time of the two lifetimes.
  bool saves_work = false;
};

// pre: first_step <= last_step; alignments are powers of two; the sum of all bytes, each rounded up to its alignment,
// is below 2^62; a buffer ends within the one it lies inside of, and no buffer lies inside itself through a chain of
// others.
struct Problem {
  std::vector<Buffer> buffers;
  size_t alignment = 64;
};

struct Plan {
  std::vector<size_t> offsets;    // one for each buffer
  std::vector<bool> lies_inside;  // one for each buffer: does it lie inside another one?
  size_t peak = 0;                // the highest end of any buffer
  size_t lower_bound = 0;         // peak of live bytes: no plan can have a smaller peak
  bool is_optimal = false;        // proven minimal, by the bound or by exhausting the search
  uint64_t steps = 0;             // used
};

struct Budget {
  uint64_t steps = 20'000;  // of the search; a few microseconds each for a few hundred buffers
  double seconds = 0;       // wall-clock limit; 0: none. With a limit, plans depend on the machine's speed.
  size_t capacity = 0;      // good enough: planning ends with the first plan that fits
};

Plan PlanMemory(const Problem& problem, const Budget& budget = {});

// One plan by a greedy order alone, for comparison: letters of OrderBy (items.h), best or first fit.
Plan PlanGreedily(const Problem& problem, const char* letters, bool best_fit);

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_PLANNER_PLANNER_H_

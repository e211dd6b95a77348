// SPDX-License-Identifier: Apache-2.0
// Where each buffer of a run lies in one block of memory, from sizes and lifetimes alone. A pure function: the same
// problem gives the same plan on every machine; it knows neither graphs nor devices. Judged by validator.h.
//
// Why greedy: placing one buffer after the other into the gaps that its contemporaries leave is within a few per cent
// of the best for the graphs we see, when several orders are tried; a search for the true optimum may start from it.
#ifndef MILLPOND_SRC_GRAPH_PLANNER_PLANNER_H_
#define MILLPOND_SRC_GRAPH_PLANNER_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millpond::planner {

// Live from first_step to last_step, both included. A buffer of no bytes has no conflicts and lies at 0.
struct Buffer {
  size_t bytes = 0;
  uint32_t first_step = 0;
  uint32_t last_step = 0;
  size_t alignment = 0;  // of its offset; 0: the problem's
};

// pre: first_step <= last_step; alignments are powers of two; the sum of all bytes, each rounded up to its alignment,
// fits in a size_t.
struct Problem {
  std::vector<Buffer> buffers;
  size_t alignment = 64;
};

struct Plan {
  std::vector<size_t> offsets;  // one for each buffer
  size_t peak = 0;              // the end of the buffer that reaches furthest
  size_t lower_bound = 0;       // no plan can have a smaller peak
};

Plan PlanMemory(const Problem& problem);

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_GRAPH_PLANNER_PLANNER_H_

// SPDX-License-Identifier: Apache-2.0
// Reads a planning problem in MiniMalloc's CSV: a header with the columns id, lower, upper and size in any order, and
// optionally alignment, gaps, hint and offset; then one buffer per line, live from lower up to but not including upper.
#ifndef MILLPOND_TOOLS_PLAN_PROBLEM_FILE_H_
#define MILLPOND_TOOLS_PLAN_PROBLEM_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/planner/planner.h"

namespace plan_tool {

struct Row {
  std::string id;
  int64_t lower = 0;
  int64_t upper = 0;  // never live when it equals lower
  size_t bytes = 0;
};

struct ProblemFile {
  std::vector<Row> rows;
  millpond::planner::Problem problem;  // one buffer per row
  size_t max_live = 0;                 // bytes, over time
  size_t with_gaps = 0;                // rows whose gaps are planned as if the buffer were live throughout
};

// Messages begin with "name:line:column: ".
millpond::Status ReadProblem(const std::string& name, const std::string& text, ProblemFile* out);

}  // namespace plan_tool

#endif  // MILLPOND_TOOLS_PLAN_PROBLEM_FILE_H_

// SPDX-License-Identifier: Apache-2.0
// Draws a plan as SVG: time to the right, memory upwards, a box for each buffer; below, the bytes that are live.
#ifndef MILLPOND_TOOLS_PLAN_DRAWING_H_
#define MILLPOND_TOOLS_PLAN_DRAWING_H_

#include <string>

#include "tools/plan/problem_file.h"

namespace plan_tool {

// `capacity` 0: none. The largest boxes are drawn one by one; of very many buffers the smallest are merged.
std::string Draw(const std::string& title, const ProblemFile& file, const millpond::planner::Plan& plan,
                 size_t capacity);

}  // namespace plan_tool

#endif  // MILLPOND_TOOLS_PLAN_DRAWING_H_

// SPDX-License-Identifier: Apache-2.0
// Where the buffers of a static program's feature memory lie: lifetimes from the steps, places that may be shared, and
// the planner's answer.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_PLACE_H_
#define MILLPOND_SRC_EXEC_PROGRAM_PLACE_H_

#include <cstdint>
#include <vector>

#include "src/base/status.h"
#include "src/exec/program/steps.h"
#include "src/planner/planner.h"

namespace millpond::program {

inline constexpr size_t kFeatureAlignment = 512;

// The first and the last step that names a buffer; first > last when none does.
struct Range {
  uint32_t first = UINT32_MAX;
  uint32_t last = 0;
};

struct FeaturePlan {
  std::vector<Range> ranges;     // by buffer of the program
  std::vector<uint32_t> number;  // by buffer of the program: which of the problem's it is, or planner::kNowhere
  planner::Problem problem;
  planner::Plan made;
  size_t bytes = 0;  // of the whole block
};

enum class Reuse : uint8_t {
  kNone,     // each buffer has memory of its own
  kDead,     // memory of what is dead is used again
  kSharing,  // and a result may lie in the place of an operand, a part in its place in the whole
};

// Sets the offsets of the plan's feature buffers, and takes moves away that have become no work.
Status PlanFeature(Reuse reuse, Plan* plan, FeaturePlan* out);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_PLACE_H_

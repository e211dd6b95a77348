// SPDX-License-Identifier: Apache-2.0
// Validates a plan against its definition, pair by pair: quadratic on purpose, and shares no code with the planner.
#ifndef MILLPOND_SRC_PLANNER_VALIDATOR_H_
#define MILLPOND_SRC_PLANNER_VALIDATOR_H_

#include "src/base/status.h"
#include "src/planner/planner.h"

namespace millpond::planner {

// Names the first buffer that breaks a rule: offsets missing or misaligned, two live buffers that share bytes, a peak
// that is not the highest end, a lower bound below the largest sum of live bytes or above the peak, a buffer that does
// not lie where it must or was offered to.
Status ValidatePlan(const Problem& problem, const Plan& plan);

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_PLANNER_VALIDATOR_H_

// SPDX-License-Identifier: Apache-2.0
// For the planner's tests: every plan is validated.
#ifndef MILLPOND_SRC_PLANNER_VALID_PLAN_H_
#define MILLPOND_SRC_PLANNER_VALID_PLAN_H_

#include <gtest/gtest.h>

#include "src/planner/planner.h"
#include "src/planner/validator.h"

namespace millpond::planner {

inline Plan ValidPlan(const Problem& problem, const Budget& budget = {}) {
  Plan plan = PlanMemory(problem, budget);
  const Status valid = ValidatePlan(problem, plan);
  EXPECT_TRUE(valid.ok()) << valid.message();
  return plan;
}

}  // namespace millpond::planner

#endif  // MILLPOND_SRC_PLANNER_VALID_PLAN_H_

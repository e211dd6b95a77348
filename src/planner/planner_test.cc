// SPDX-License-Identifier: Apache-2.0
#include "src/planner/planner.h"

#include <gtest/gtest.h>

#include <random>

#include "src/planner/valid_plan.h"

namespace millpond::planner {
namespace {

Problem RandomProblem(std::mt19937& random, size_t buffers, uint32_t steps, uint32_t lifetime) {
  Problem problem;
  problem.alignment = size_t{1} << (random() % 10);
  for (size_t i = 0; i < buffers; ++i) {
    Buffer buffer;
    const size_t scale = size_t{1} << (random() % 20);
    buffer.bytes = random() % 10 == 0 ? 0 : random() % scale + 1;
    buffer.first_step = static_cast<uint32_t>(random()) % steps;
    buffer.last_step = buffer.first_step + static_cast<uint32_t>(random()) % lifetime;
    if (random() % 8 == 0) buffer.alignment = size_t{1} << (random() % 12);
    problem.buffers.push_back(buffer);
  }
  return problem;
}

TEST(Planner, NoBuffersNeedNoMemory) {
  const Plan plan = PlanMemory({});
  EXPECT_EQ(plan.peak, 0u);
  EXPECT_EQ(plan.lower_bound, 0u);
  EXPECT_TRUE(plan.offsets.empty());
}

TEST(Planner, BuffersThatNeverOverlapInTimeShareTheSameBytes) {
  const Problem problem{.buffers = {{.bytes = 100, .first_step = 0, .last_step = 1},
                                    {.bytes = 100, .first_step = 2, .last_step = 3},
                                    {.bytes = 60, .first_step = 4, .last_step = 4}},
                        .alignment = 1};
  const Plan plan = ValidPlan(problem);
  EXPECT_EQ(plan.peak, 100u);
}

TEST(Planner, BothEndsOfALifetimeAreIncluded) {
  const Problem problem{
      .buffers = {{.bytes = 64, .first_step = 0, .last_step = 1}, {.bytes = 64, .first_step = 1, .last_step = 2}},
      .alignment = 64};
  EXPECT_EQ(PlanMemory(problem).peak, 128u);
}

TEST(Planner, ABufferMayAskForAnAlignmentOfItsOwn) {
  const Problem problem{.buffers = {{.bytes = 1, .first_step = 0, .last_step = 9},
                                    {.bytes = 1, .first_step = 0, .last_step = 9, .alignment = 4096},
                                    {.bytes = 1, .first_step = 0, .last_step = 9, .alignment = 1}},
                        .alignment = 32};
  const Plan plan = ValidPlan(problem);
  EXPECT_EQ(plan.offsets[1] % 4096, 0u);
  EXPECT_EQ(plan.offsets[0] % 32, 0u);
}

TEST(Planner, AChainOfLayersNeedsOnlyTwoBuffers) {
  Problem problem{.buffers = {}, .alignment = 512};
  for (uint32_t step = 0; step < 100; ++step) {
    problem.buffers.push_back({.bytes = 4096, .first_step = step, .last_step = step + 1});
  }
  EXPECT_EQ(PlanMemory(problem).peak, 8192u);
}

TEST(Planner, RandomProblemsGetValidPlans) {
  std::mt19937 random(6);
  for (int round = 0; round < 400; ++round) {
    const uint32_t lifetime = 1 + static_cast<uint32_t>(random()) % (round % 2 == 0 ? 8 : 200);
    const Problem problem =
        RandomProblem(random, 1 + random() % 120, 1 + static_cast<uint32_t>(random()) % 150, lifetime);
    SCOPED_TRACE(round);
    ValidPlan(problem, {.steps = 500});
  }
}

TEST(Planner, PeaksAreCloseToTheLowerBoundOverManyProblems) {
  std::mt19937 random(8);
  double ratio = 0;
  constexpr int kRounds = 50;
  for (int round = 0; round < kRounds; ++round) {
    const Plan plan = ValidPlan(RandomProblem(random, 400, 200, 10), {.steps = 1000});
    ratio += static_cast<double>(plan.peak) / static_cast<double>(plan.lower_bound) / kRounds;
  }
  EXPECT_LT(ratio, 1.1);
}

TEST(Planner, ManyBuffersArePlannedCloseToTheBoundWhetherFewOrAllOverlap) {
  std::mt19937 random(9);
  for (const uint32_t lifetime : {4u, 300u, 40000u}) {
    Problem problem{.buffers = {}, .alignment = 64};
    for (int i = 0; i < 20000; ++i) {
      const auto first = static_cast<uint32_t>(random()) % 20000;
      problem.buffers.push_back({.bytes = (random() % 65536 + 1) * 16,
                                 .first_step = first,
                                 .last_step = first + static_cast<uint32_t>(random() % lifetime)});
    }
    const Plan plan = PlanMemory(problem, {.steps = 1000});
    EXPECT_LE(static_cast<double>(plan.peak), 1.04 * static_cast<double>(plan.lower_bound)) << lifetime;
  }
}

TEST(PlanValidator, NamesTheRuleThatAPlanBreaks) {
  const Problem problem{
      .buffers = {{.bytes = 64, .first_step = 0, .last_step = 1}, {.bytes = 64, .first_step = 1, .last_step = 2}},
      .alignment = 64};
  const auto message = [&](std::vector<size_t> offsets, size_t peak, size_t lower_bound) {
    const std::vector<bool> inside(offsets.size(), false);
    return ValidatePlan(problem, {.offsets = offsets, .lies_inside = inside, .peak = peak, .lower_bound = lower_bound})
        .message();
  };
  EXPECT_EQ(message({0, 64}, 128, 128), "");
  EXPECT_EQ(message({0, 0}, 64, 64), "buffers 0 and 1 share bytes while both are live");
  EXPECT_EQ(message({0, 65}, 129, 128), "buffer 1 lies at 65, which is not a multiple of 64");
  EXPECT_EQ(message({0}, 64, 64), "the plan has 1 offsets for 2 buffers");
  EXPECT_EQ(message({0, 64}, 256, 128), "the plan's peak is 256, but its highest buffer ends at 128");
  EXPECT_EQ(message({0, 64}, 128, 64), "the plan's lower bound is 64, but 128 bytes are live at once");
  EXPECT_EQ(message({0, 64}, 128, 129), "the lower bound 129 is above the peak 128");
}

TEST(PlanValidator, RefusesBuffersInsideOthersUnlessOffered) {
  Problem problem{.buffers = {{.bytes = 128, .first_step = 2, .last_step = 4},
                              {.bytes = 64, .first_step = 0, .last_step = 2, .inside = 0, .inside_at = 64},
                              {.bytes = 64, .first_step = 1, .last_step = 1}},
                  .alignment = 64};
  const auto message = [&](std::vector<size_t> offsets, bool inside, size_t peak) {
    return ValidatePlan(problem,
                        {.offsets = offsets, .lies_inside = {false, inside, false}, .peak = peak, .lower_bound = 128})
        .message();
  };
  EXPECT_EQ(message({0, 64, 128}, true, 192), "");
  EXPECT_EQ(message({0, 0, 128}, true, 192), "buffer 1 lies at 0; inside buffer 0 it would be at 0 + 64");
  EXPECT_EQ(message({0, 64, 0}, true, 128), "buffers 0 and 2 share bytes while both are live");
  EXPECT_EQ(message({0, 64, 0}, false, 128), "buffers 0 and 1 share bytes while both are live");
  EXPECT_EQ(message({0, 128, 0}, false, 192), "");
  problem.buffers[1].must_lie_inside = true;
  EXPECT_EQ(message({0, 128, 0}, false, 192), "buffer 1 must lie inside buffer 0 and does not");
  problem.buffers[1].inside_at = 65;
  EXPECT_EQ(message({0, 65, 128}, true, 192), "buffer 1, 64 bytes at 65, ends behind the 128 bytes of buffer 0");
}

}  // namespace
}  // namespace millpond::planner

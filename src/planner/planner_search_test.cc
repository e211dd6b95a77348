// SPDX-License-Identifier: Apache-2.0
// The search against brute force, its budget, and generated hard problems.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "src/planner/planner.h"
#include "src/planner/valid_plan.h"

namespace millpond::planner {
namespace {

// The smallest peak over all orders, each buffer placed as low as possible: every pushed-down layout is among them.
size_t MinPeak(const Problem& problem) {
  std::vector<size_t> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  size_t least = SIZE_MAX;
  std::vector<size_t> offsets(order.size());
  do {
    size_t peak = 0;
    for (size_t at = 0; at < order.size() && peak < least; ++at) {
      const Buffer& a = problem.buffers[order[at]];
      const size_t alignment = a.alignment != 0 ? a.alignment : problem.alignment;
      size_t offset = 0;
      for (size_t before = 0; before < at; ++before) {
        const Buffer& b = problem.buffers[order[before]];
        if (a.first_step > b.last_step || b.first_step > a.last_step) continue;
        offset = std::max(offset, (offsets[order[before]] + b.bytes + alignment - 1) / alignment * alignment);
      }
      offsets[order[at]] = offset;
      peak = std::max(peak, offset + a.bytes);
    }
    least = std::min(least, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

// A rectangle of memory and time, cut into buffers without a gap: it can be planned at exactly its height, which the
// cuts make hard to find. Cuts across time keep sizes uneven.
Problem PerfectPuzzle(uint32_t seed, size_t height, uint32_t steps, size_t buffers) {
  struct Box {
    size_t low, high;
    uint32_t first, last;
  };
  std::mt19937 random(seed);
  std::vector<Box> boxes{{0, height, 0, steps - 1}};
  while (boxes.size() < buffers) {
    const size_t at = random() % boxes.size();
    Box& box = boxes[at];
    Box other = box;
    if (random() % 2 == 0 && box.last > box.first) {
      const uint32_t cut = box.first + static_cast<uint32_t>(random() % (box.last - box.first));
      box.last = cut;
      other.first = cut + 1;
    } else if (box.high - box.low >= 2) {
      const size_t cut = box.low + 1 + random() % (box.high - box.low - 1);
      box.high = cut;
      other.low = cut;
    } else {
      continue;
    }
    boxes.push_back(other);
  }
  std::shuffle(boxes.begin(), boxes.end(), random);
  Problem problem{.buffers = {}, .alignment = 1};
  for (const Box& box : boxes) {
    problem.buffers.push_back({.bytes = box.high - box.low, .first_step = box.first, .last_step = box.last});
  }
  return problem;
}

TEST(PlannerSearch, FindsAndProvesTheOptimumOfSmallProblems) {
  std::mt19937 random(10);
  for (int round = 0; round < 300; ++round) {
    Problem problem{.buffers = {}, .alignment = 1};
    const size_t count = round < 100 ? 1 + random() % 7 : 8;
    for (size_t i = 0; i < count; ++i) {
      const auto first = static_cast<uint32_t>(random()) % 7;
      problem.buffers.push_back(
          {.bytes = 1 + random() % 4, .first_step = first, .last_step = first + static_cast<uint32_t>(random() % 4)});
    }
    const Plan plan = ValidPlan(problem);
    ASSERT_EQ(plan.peak, MinPeak(problem)) << "round " << round;
    EXPECT_TRUE(plan.is_optimal);
  }
}

TEST(PlannerSearch, ProvesThatNoPlanReachesTheBound) {
  const Problem problem{.buffers = {{.bytes = 2, .first_step = 3, .last_step = 5},
                                    {.bytes = 4, .first_step = 6, .last_step = 9},
                                    {.bytes = 3, .first_step = 2, .last_step = 2},
                                    {.bytes = 2, .first_step = 3, .last_step = 6},
                                    {.bytes = 3, .first_step = 7, .last_step = 9},
                                    {.bytes = 5, .first_step = 8, .last_step = 8},
                                    {.bytes = 1, .first_step = 4, .last_step = 6},
                                    {.bytes = 3, .first_step = 0, .last_step = 3},
                                    {.bytes = 5, .first_step = 2, .last_step = 6}},
                        .alignment = 1};
  const Plan plan = ValidPlan(problem);
  EXPECT_EQ(plan.lower_bound, 12u);
  EXPECT_EQ(plan.peak, 13u);
  EXPECT_EQ(plan.peak, MinPeak(problem));
  EXPECT_TRUE(plan.is_optimal);
  EXPECT_FALSE(PlanMemory(problem, {.steps = 0}).is_optimal);
}

TEST(PlannerSearch, FindsTheOptimumWithMixedAlignments) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    Problem problem{.buffers = {}, .alignment = 4};
    const size_t count = 1 + random() % 6;
    for (size_t i = 0; i < count; ++i) {
      const auto first = static_cast<uint32_t>(random()) % 5;
      problem.buffers.push_back({.bytes = 4 * (1 + random() % 9),
                                 .first_step = first,
                                 .last_step = first + static_cast<uint32_t>(random() % 4),
                                 .alignment = size_t{4} << (random() % 3)});
    }
    const Plan plan = ValidPlan(problem);
    ASSERT_EQ(plan.peak, MinPeak(problem)) << "round " << round;
  }
}

TEST(PlannerSearch, IsNeverWorseThanAnyGreedyOrder) {
  std::mt19937 random(12);
  for (int round = 0; round < 20; ++round) {
    const Problem problem = PerfectPuzzle(static_cast<uint32_t>(random()), 5000, 60, 20 + random() % 150);
    const Plan plan = ValidPlan(problem, {.steps = 50});
    for (const char* order : {"Z", "AZ", "TZ", "WZ", "BZ"}) {
      for (const bool best_fit : {false, true}) {
        const Plan greedy = PlanGreedily(problem, order, best_fit);
        ASSERT_TRUE(ValidatePlan(problem, greedy).ok());
        EXPECT_LE(plan.peak, greedy.peak) << order;
      }
    }
  }
}

TEST(PlannerSearch, SolvesGaplessPuzzles) {
  for (uint32_t seed = 0; seed < 6; ++seed) {
    const Problem problem = PerfectPuzzle(seed, 1024, 100, 150);
    const Plan plan = ValidPlan(problem, {.steps = 400'000});
    EXPECT_EQ(plan.peak, 1024u) << "seed " << seed;
    EXPECT_TRUE(plan.is_optimal);
  }
}

TEST(PlannerSearch, TheSameStepsGiveTheSamePlan) {
  for (const uint64_t steps : {0u, 1u, 700u, 5000u}) {
    const Problem problem = PerfectPuzzle(77, 3000, 90, 180);
    const Plan first = PlanMemory(problem, {.steps = steps});
    const Plan second = PlanMemory(problem, {.steps = steps});
    EXPECT_EQ(first.offsets, second.offsets);
    EXPECT_EQ(first.steps, second.steps);
    EXPECT_LE(first.steps, steps + 1);
  }
}

TEST(PlannerSearch, MoreStepsAreNeverWorse) {
  const Problem problem = PerfectPuzzle(78, 3000, 90, 180);
  size_t before = SIZE_MAX;
  for (const uint64_t steps : {0u, 100u, 1000u, 10'000u, 50'000u}) {
    const size_t peak = PlanMemory(problem, {.steps = steps}).peak;
    EXPECT_LE(peak, before) << steps;
    before = peak;
  }
}

TEST(PlannerSearch, ALargerCapacityNeverFailsWhereASmallerOneSucceeds) {
  for (uint32_t seed = 20; seed < 24; ++seed) {
    const Problem problem = PerfectPuzzle(seed, 1024, 80, 120);
    bool fitted = false;
    for (size_t capacity = 1024; capacity < 1200; capacity += 7) {
      const Plan plan = ValidPlan(problem, {.steps = 3000, .capacity = capacity});
      EXPECT_TRUE(!fitted || plan.peak <= capacity) << capacity;
      fitted = fitted || plan.peak <= capacity;
    }
    EXPECT_TRUE(fitted);
  }
}

TEST(PlannerSearch, StopsAtTheFirstPlanThatFits) {
  const Problem problem = PerfectPuzzle(3, 1024, 100, 150);
  EXPECT_LT(PlanMemory(problem, {.steps = 400'000, .capacity = 1400}).steps,
            PlanMemory(problem, {.steps = 400'000}).steps);
}

TEST(PlannerSearch, StopsAtItsTimeLimit) {
  const Problem problem = PerfectPuzzle(5, 1 << 20, 400, 600);
  ValidPlan(problem, {.steps = UINT64_MAX / 2, .seconds = 0.2});
}

TEST(PlannerInside, AResultTakesItsInputsPlace) {
  Problem problem{.buffers = {}, .alignment = 64};
  for (uint32_t step = 0; step < 20; ++step) {
    problem.buffers.push_back({.bytes = 4096, .first_step = step, .last_step = step + 1});
    if (step > 0) problem.buffers.back().inside = step - 1;
  }
  const Plan plan = ValidPlan(problem);
  EXPECT_EQ(plan.peak, 4096u);
}

// Issue 13: to ask where a buffer of a long chain lies went through the whole chain, for each pair of buffers.
TEST(PlannerInside, AVeryLongChainOfResultsLiesInOnePlace) {
  constexpr uint32_t kCount = 20'000;
  Problem problem{.buffers = {}, .alignment = 512};
  for (uint32_t i = 0; i < kCount; ++i) {
    problem.buffers.push_back({.bytes = 4096, .first_step = i, .last_step = i + 1});
    if (i > 0) problem.buffers.back().inside = i - 1;
  }
  const Plan plan = PlanMemory(problem);
  EXPECT_EQ(plan.peak, 4096u);
  EXPECT_EQ(std::count(plan.lies_inside.begin(), plan.lies_inside.end(), true), kCount - 1);
}

TEST(PlannerInside, OnlyOneOfTwoResultsTakesThePlace) {
  const Problem problem{.buffers = {{.bytes = 100, .first_step = 0, .last_step = 1},
                                    {.bytes = 100, .first_step = 1, .last_step = 2, .inside = 0},
                                    {.bytes = 100, .first_step = 1, .last_step = 2, .inside = 0}},
                        .alignment = 1};
  const Plan plan = ValidPlan(problem);
  EXPECT_EQ(plan.peak, 200u);
  EXPECT_NE(plan.lies_inside[1], plan.lies_inside[2]);
}

TEST(PlannerInside, PartsOfAConcatenationLieInTheResult) {
  const Problem problem{.buffers = {{.bytes = 300, .first_step = 3, .last_step = 5},
                                    {.bytes = 100, .first_step = 0, .last_step = 3, .inside = 0, .inside_at = 0},
                                    {.bytes = 100, .first_step = 1, .last_step = 3, .inside = 0, .inside_at = 100},
                                    {.bytes = 100, .first_step = 2, .last_step = 3, .inside = 0, .inside_at = 200}},
                        .alignment = 4};
  const Plan plan = ValidPlan(problem);
  EXPECT_EQ(plan.peak, 300u);
}

TEST(PlannerInside, ACopySavingOfferIsTakenUpToThePeak) {
  // The part is small and early: inside, it keeps its result's memory while a temporary is live, which stays below the
  // later peak.
  Problem problem{.buffers = {{.bytes = 100, .first_step = 3, .last_step = 5},
                              {.bytes = 10, .first_step = 0, .last_step = 3, .inside = 0},
                              {.bytes = 80, .first_step = 1, .last_step = 2},
                              {.bytes = 200, .first_step = 7, .last_step = 8}},
                  .alignment = 1};
  EXPECT_FALSE(PlanMemory(problem).lies_inside[1]);
  problem.buffers[1].saves_work = true;
  const Plan plan = ValidPlan(problem);
  EXPECT_TRUE(plan.lies_inside[1]);
  EXPECT_EQ(plan.peak, 200u);
  problem.buffers[3].bytes = 150;  // now it would raise the peak
  EXPECT_FALSE(PlanMemory(problem).lies_inside[1]);
}

TEST(PlannerInside, AnOfferThatCostsMoreThanItSavesIsNotTaken) {
  // The small result would keep the large input's memory while another large buffer lives.
  const Problem problem{.buffers = {{.bytes = 1000, .first_step = 0, .last_step = 1},
                                    {.bytes = 10, .first_step = 1, .last_step = 9, .inside = 0},
                                    {.bytes = 1000, .first_step = 3, .last_step = 4}},
                        .alignment = 1};
  const Plan plan = ValidPlan(problem);
  EXPECT_FALSE(plan.lies_inside[1]);
  EXPECT_EQ(plan.peak, 1010u);
}

TEST(PlannerInside, AViewKeepsItsHostAliveAndFollowsIt) {
  const Problem problem{
      .buffers = {{.bytes = 64, .first_step = 0, .last_step = 9},
                  {.bytes = 128, .first_step = 1, .last_step = 2},
                  {.bytes = 3, .first_step = 2, .last_step = 7, .inside = 1, .inside_at = 65, .must_lie_inside = true},
                  {.bytes = 128, .first_step = 6, .last_step = 7}},
      .alignment = 64};
  const Plan plan = ValidPlan(problem);
  EXPECT_EQ(plan.offsets[2], plan.offsets[1] + 65);
  EXPECT_EQ(plan.peak, 64u + 128 + 128);
}

TEST(PlannerInside, RandomOffersGiveValidPlansThatAreNoWorse) {
  std::mt19937 random(13);
  int taken = 0;
  for (int round = 0; round < 200; ++round) {
    Problem problem{.buffers = {}, .alignment = size_t{1} << (random() % 5)};
    const size_t count = 2 + random() % 60;
    for (uint32_t i = 0; i < count; ++i) {
      const auto first = static_cast<uint32_t>(random()) % 40;
      Buffer buffer{
          .bytes = random() % 500, .first_step = first, .last_step = first + static_cast<uint32_t>(random() % 12)};
      if (i > 0 && random() % 2 == 0) {
        const auto host = static_cast<uint32_t>(random()) % i;
        if (problem.buffers[host].bytes >= buffer.bytes) {
          buffer.inside = host;
          buffer.inside_at = random() % (problem.buffers[host].bytes - buffer.bytes + 1);
          if (random() % 2 == 0) buffer.inside_at = 0;
          buffer.saves_work = random() % 2 == 0;
        }
      }
      if (random() % 3 == 0) buffer.alignment = size_t{1} << (random() % 7);
      problem.buffers.push_back(buffer);
    }
    SCOPED_TRACE(round);
    const Plan plan = ValidPlan(problem, {.steps = 500});
    taken += static_cast<int>(std::count(plan.lies_inside.begin(), plan.lies_inside.end(), true));
  }
  EXPECT_GT(taken, 100);
}

TEST(PlannerSearch, EmptyAndVeryLargeBuffersArePlanned) {
  const Problem problem{.buffers = {{.bytes = 0, .first_step = 0, .last_step = 9},
                                    {.bytes = size_t{1} << 60, .first_step = 0, .last_step = UINT32_MAX},
                                    {.bytes = size_t{1} << 60, .first_step = 5, .last_step = UINT32_MAX},
                                    {.bytes = 1, .first_step = UINT32_MAX, .last_step = UINT32_MAX}},
                        .alignment = 64};
  const Plan plan = ValidPlan(problem);
  EXPECT_LE(plan.peak, (size_t{2} << 60) + 64);
}

}  // namespace
}  // namespace millpond::planner

// SPDX-License-Identifier: Apache-2.0
#include "src/device/capture/plan.h"

#include <gtest/gtest.h>

#include <set>

namespace millpond::capture {
namespace {

using Order = std::vector<uint32_t>;

// Two lanes: 0 records, 1 waits for it; 1 records, 0 waits for it.  lane 0: 0 1 5 6   lane 1: 2 3 4
Shape ForkAndJoin() {
  Shape shape;
  const uint32_t a = shape.AddLane();
  const uint32_t b = shape.AddLane();
  for (const uint32_t lane : {a, a, b, b, b, a, a}) shape.AddNode(lane);
  shape.after[2] = {1};
  shape.after[5] = {4};
  return shape;
}

bool IsValid(const Shape& shape, const Order& order) {
  std::vector<size_t> place(shape.size(), SIZE_MAX);
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (const auto& lane : shape.lanes) {
    for (size_t i = 1; i < lane.size(); ++i) {
      if (place[lane[i - 1]] >= place[lane[i]]) return false;
    }
  }
  for (uint32_t node = 0; node < shape.size(); ++node) {
    for (const uint32_t other : shape.after[node]) {
      if (place[other] >= place[node]) return false;
    }
  }
  return order.size() == shape.size();
}

TEST(GraphPlan, KeepsTheOrderOfAddingWhereItIsValid) {
  const Shape shape = ForkAndJoin();
  EXPECT_EQ(OrderOf(shape), (Order{0, 1, 2, 3, 4, 5, 6}));
}

TEST(GraphPlan, MovesANodeThatWaitsForALaterOne) {
  Shape shape;
  const uint32_t a = shape.AddLane();
  const uint32_t b = shape.AddLane();
  for (const uint32_t lane : {a, a, b}) shape.AddNode(lane);
  shape.after[0] = {2};
  const auto order = OrderOf(shape);
  ASSERT_TRUE(order);
  EXPECT_EQ(*order, (Order{2, 0, 1}));
}

TEST(GraphPlan, FindsACircle) {
  Shape shape;
  const uint32_t a = shape.AddLane();
  const uint32_t b = shape.AddLane();
  for (const uint32_t lane : {a, a, b, b}) shape.AddNode(lane);
  shape.after[0] = {3};
  shape.after[2] = {1};
  EXPECT_FALSE(OrderOf(shape));
}

TEST(GraphPlan, RandomOrdersAreValidDifferAndRepeat) {
  Shape shape;
  for (int lane = 0; lane < 4; ++lane) shape.AddLane();
  for (uint32_t i = 0; i < 40; ++i) shape.AddNode(i % 4);
  shape.after[9] = {4};
  shape.after[30] = {9, 11};
  std::set<Order> seen;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Order order = RandomOrder(shape, seed);
    EXPECT_TRUE(IsValid(shape, order)) << "seed " << seed;
    EXPECT_EQ(order, RandomOrder(shape, seed));
    seen.insert(order);
  }
  EXPECT_GT(seen.size(), 45u);
}

TEST(GraphPlan, LanesBeforeSeesDirectAndIndirectJoins) {
  Shape shape = ForkAndJoin();
  EXPECT_EQ(LanesBefore(shape, 6), (std::vector<bool>{true, true}));
  const uint32_t c = shape.AddLane();  // joins lane 0 through lane 1, but only up to its first node
  shape.AddNode(c);
  shape.after[3] = {7};
  EXPECT_EQ(LanesBefore(shape, 6), (std::vector<bool>{true, true, true}));
  shape.AddNode(c);
  EXPECT_EQ(LanesBefore(shape, 6), (std::vector<bool>{true, true, false}));
}

TEST(GraphPlan, ATaskAfterTheJoinLeavesItsLaneUnjoined) {
  Shape shape = ForkAndJoin();
  shape.AddNode(1);
  EXPECT_EQ(LanesBefore(shape, 6), (std::vector<bool>{true, false}));
}

TEST(GraphPlan, AnEmptyGraphHasAnEmptyOrder) {
  Shape shape;
  shape.AddLane();
  EXPECT_EQ(OrderOf(shape), Order{});
}

}  // namespace
}  // namespace millpond::capture

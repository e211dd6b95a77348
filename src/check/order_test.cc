// SPDX-License-Identifier: Apache-2.0
#include "src/check/order.h"

#include <gtest/gtest.h>

namespace millpond::check {
namespace {

using trace::Edge;
using trace::Link;
using trace::Signal;
using Relation = Order::Relation;

Edge RecordOf(uint64_t event, uint64_t generation) {
  return {Edge::Kind::kRecord, Link::kEvent, false, 0, event, generation};
}
Edge WaitFor(uint64_t event, uint64_t generation) {
  return {Edge::Kind::kWait, Link::kEvent, false, 0, event, generation};
}
struct Event {
  uint64_t id, generation;
};
// Task `from` records the event, task `to` waits for that.
void Connect(Order* order, const Event& event, Epoch from, Epoch to) {
  order->Record(RecordOf(event.id, event.generation), from);
  order->Wait(WaitFor(event.id, event.generation), to);
}
Edge LateWait(uint64_t notify) { return {Edge::Kind::kWait, Link::kNotify, true, 0, notify, 0}; }

TEST(Order, TasksOfOneStreamAreOrderedAndOthersAreNot) {
  Order order;
  EXPECT_EQ(order.RelationTo({1, 5}, 1), Relation::kOrdered);
  EXPECT_EQ(order.RelationTo({1, 5}, 2), Relation::kUnordered);
}

TEST(Order, AnEventOrdersWhatCameBeforeItsRecordAndNothingAfter) {
  Order order;
  Connect(&order, {7, 1}, {1, 6}, {2, 1});
  EXPECT_EQ(order.RelationTo({1, 5}, 2), Relation::kOrdered);
  EXPECT_EQ(order.RelationTo({1, 7}, 2), Relation::kUnordered);
  EXPECT_EQ(order.RelationTo({2, 1}, 1), Relation::kUnordered) << "an order has one direction";
}

TEST(Order, AFunctionThatMayWaitLeavesItsStreamOpenUntilItReturns) {
  Order order;
  order.Hold({1, 1});
  EXPECT_TRUE(order.IsOpen({1, 2}));
  EXPECT_EQ(order.RelationTo({1, 2}, 2), Relation::kHeld) << "task 2 may be what the function waits for";
  Order::Doubt known = order.DoubtOf({1, 2}, {2, 1});
  Order::Doubt unknown = order.DoubtOf({1, 2}, {3, 1});
  EXPECT_EQ(order.Decide(&known), Relation::kHeld);
  order.HostKnows({2, 1});
  order.Release({1, 1});
  EXPECT_EQ(order.Decide(&known), Relation::kOrdered) << "the host knew of it when the function returned";
  EXPECT_EQ(order.Decide(&unknown), Relation::kUnordered);
  EXPECT_EQ(order.RelationTo({1, 2}, 3), Relation::kUnordered);
  EXPECT_FALSE(order.IsOpen({1, 2}));
}

TEST(Order, EventsCarryThatAFunctionMayWait) {
  Order order;
  order.Hold({1, 1});
  Connect(&order, {7, 1}, {1, 2}, {2, 1});
  EXPECT_EQ(order.RelationTo({3, 1}, 2), Relation::kHeld);
  Order::Doubt doubt = order.DoubtOf({3, 1}, {2, 2});
  order.HostKnows({3, 1});
  order.Release({1, 1});
  EXPECT_EQ(order.Decide(&doubt), Relation::kOrdered);
}

TEST(Order, AFunctionThatIsNotSeenToReturnHasReturnedWhenItsStreamIsKnownToHaveGoneOn) {
  Order order;
  order.Hold({1, 1});
  Order::Doubt doubt = order.DoubtOf({1, 2}, {2, 1});
  order.HostKnows({1, 2});
  EXPECT_EQ(order.Decide(&doubt), Relation::kUnordered);
}

TEST(Order, AWaitBesideAFunctionIsNotDecidedByItsReturn) {
  Order order;
  order.Hold({1, 1});
  order.Wait(LateWait(9), {1, 2});
  EXPECT_EQ(order.RelationTo({1, 3}, 2), Relation::kUnknown);
}

TEST(Order, OrdersAddUp) {
  Order order;
  Connect(&order, {7, 1}, {1, 6}, {2, 1});
  Connect(&order, {8, 1}, {2, 2}, {3, 1});
  EXPECT_EQ(order.RelationTo({1, 6}, 3), Relation::kOrdered);
}

TEST(Order, ARecordBringsWhatItsStreamKnewThenAndNotWhatItLearnsLater) {
  Order order;
  order.Record(RecordOf(8, 1), {2, 1});
  Connect(&order, {7, 1}, {1, 6}, {2, 2});
  order.Wait(WaitFor(8, 1), {3, 1});
  EXPECT_EQ(order.RelationTo({1, 6}, 3), Relation::kUnordered);
}

TEST(Order, TheHostKnowsWhatItWaitedForAndSoDoesAllThatComesLater) {
  Order order;
  order.HostKnows({1, 4});
  EXPECT_EQ(order.RelationTo({1, 4}, 2), Relation::kOrdered);
  EXPECT_EQ(order.RelationTo({1, 5}, 2), Relation::kUnordered);
  EXPECT_TRUE(order.HostHas({1, 4}));
  EXPECT_FALSE(order.HostHas({1, 5}));
}

TEST(Order, TheHostLearnsWhatTheTaskItWaitedForHadWaitedFor) {
  Order order;
  Connect(&order, {7, 1}, {1, 6}, {2, 3});
  order.HostKnows({2, 2});
  EXPECT_FALSE(order.HostHas({1, 6})) << "task 2 of stream 2 had not waited yet";
  order.HostKnows({2, 3});
  EXPECT_TRUE(order.HostHas({1, 6}));
}

TEST(Order, AnEndThatWasNeverToldOrdersEverythingSoFar) {
  Order order;
  order.Record(RecordOf(9, 1), {1, 3});
  order.Wait(WaitFor(7, 1), {2, 1});
  EXPECT_EQ(order.RelationTo({1, 3}, 2), Relation::kOrdered);
  EXPECT_EQ(order.unseen_ends(), 1u);
}

TEST(Order, AStreamWithAWaitThatBindsWhenRunIsLeftAloneUntilItIsMet) {
  Order order;
  order.Wait(LateWait(5), {2, 1});
  EXPECT_EQ(order.RelationTo({1, 3}, 2), Relation::kUnknown);
  EXPECT_EQ(order.RelationTo({2, 2}, 1), Relation::kUnknown) << "what it waits for may yet come from stream 1";
  order.OnSignal({Signal::Kind::kRaised, Link::kNotify, 5, 1, 1, 3});
  order.OnSignal({Signal::Kind::kMet, Link::kNotify, 5, 1, 2, 1});
  EXPECT_EQ(order.RelationTo({1, 3}, 2), Relation::kOrdered);
  EXPECT_EQ(order.RelationTo({1, 4}, 2), Relation::kUnordered);
}

TEST(Order, AWaitForALevelEventCountsOnTheRecordThatIsThereAndOnNothingLater) {
  const Edge record{Edge::Kind::kRecord, Link::kEvent, true, 0, 7, 1};
  const Edge wait{Edge::Kind::kWait, Link::kEvent, true, 0, 7, 0};
  Order order;
  order.RecordLevel(record, {1, 3});
  order.Wait(wait, {2, 1});
  EXPECT_EQ(order.RelationTo({1, 3}, 2), Relation::kOrdered);
  EXPECT_EQ(order.RelationTo({1, 4}, 2), Relation::kUnordered);
  EXPECT_EQ(order.RelationTo({2, 2}, 1), Relation::kUnordered) << "nothing that stream 1 does later holds it back";
  EXPECT_EQ(order.PointOf(wait)->count, 3u);
  order.ForgetLevel(7);
  order.Wait(wait, {3, 1});
  EXPECT_EQ(order.RelationTo({1, 3}, 3), Relation::kUnknown) << "it was reset: who records it again is not known";
  EXPECT_FALSE(order.PointOf(wait).has_value());
}

TEST(Order, AWaitForALevelEventThatMayEndByItselfCountsOnNothing) {
  Edge wait{Edge::Kind::kWait, Link::kEvent, true, 0, 7, 0};
  wait.may_end_otherwise = true;
  Order order;
  order.RecordLevel({Edge::Kind::kRecord, Link::kEvent, true, 0, 7, 1}, {1, 3});
  order.Wait(wait, {2, 1});
  EXPECT_EQ(order.RelationTo({1, 3}, 2), Relation::kUnknown);
}

TEST(Order, WhatWaitsForAnOpenStreamIsOpenToo) {
  Order order;
  order.Wait(LateWait(5), {2, 1});
  Connect(&order, {7, 1}, {2, 2}, {3, 1});
  EXPECT_EQ(order.RelationTo({1, 3}, 3), Relation::kUnknown);
  order.OnSignal({Signal::Kind::kRaised, Link::kNotify, 5, 1, 1, 3});
  order.OnSignal({Signal::Kind::kMet, Link::kNotify, 5, 1, 2, 1});
  EXPECT_EQ(order.RelationTo({1, 3}, 3), Relation::kOrdered);
}

TEST(Order, AWordRaisedSeveralTimesBringsAllThatRaisedIt) {
  Order order;
  order.Wait({Edge::Kind::kWait, Link::kValue, true, 0, 64, 0}, {3, 1});
  for (uint64_t generation = 1; generation <= 20; ++generation) {
    order.OnSignal({Signal::Kind::kRaised, Link::kValue, 64, generation, generation % 2 == 0 ? 1 : 2, generation});
  }
  order.OnSignal({Signal::Kind::kMet, Link::kValue, 64, 20, 3, 1});
  EXPECT_EQ(order.RelationTo({1, 20}, 3), Relation::kOrdered);
  EXPECT_EQ(order.RelationTo({2, 19}, 3), Relation::kOrdered);
  EXPECT_EQ(order.RelationTo({2, 21}, 3), Relation::kUnordered);
}

TEST(Order, WhatIsForgottenOfManyWaitsOnlyOrdersMore) {
  Order order;
  for (uint64_t n = 1; n <= 1000; ++n) {
    order.Record(RecordOf(7, n), {1, n});
    order.Wait(WaitFor(7, n), {2, n});
  }
  EXPECT_GT(order.merged_versions(), 0u);
  EXPECT_EQ(order.RelationTo({1, 1000}, 2), Relation::kOrdered);
  EXPECT_EQ(order.RelationTo({1, 1001}, 2), Relation::kUnordered);
}

// --host-order=threads.
TEST(OrderTest, ByThreadsAThreadKnowsWhatItWaitedForItself) {
  Order order;
  order.ByThreads();
  order.OnThread(1);
  order.Launched({1, 1});
  order.HostKnows({1, 1});
  EXPECT_TRUE(order.HostHas({1, 1}));
  EXPECT_EQ(order.RelationTo({1, 1}, 2), Order::Relation::kOrdered);
  order.OnThread(2);
  EXPECT_FALSE(order.HostHas({1, 1}));
  EXPECT_EQ(order.RelationTo({1, 1}, 2), Order::Relation::kUnordered);
  // What the launching thread knows, its stream's tasks know from then on, whoever launches the next.
  order.OnThread(1);
  order.Launched({2, 1});
  order.OnThread(2);
  EXPECT_EQ(order.RelationTo({1, 1}, 2), Order::Relation::kOrdered);
  EXPECT_EQ(order.RelationTo({1, 1}, 3), Order::Relation::kUnordered);
}

TEST(OrderTest, AWaitThatIsNotMetYetIsNoDoubtAboutItself) {
  Order order;
  order.Told({1, 1});
  order.Wait(LateWait(5), {2, 1});
  EXPECT_EQ(order.RelationTo({2, 1}, 1), Order::Relation::kUnknown);
  const std::vector<Epoch> waits = {{2, 1}, {3, 2}};
  EXPECT_EQ(order.RelationTo({2, 1}, 1, waits), Order::Relation::kUnordered);
  EXPECT_EQ(order.RelationTo({2, 1}, 2, waits), Order::Relation::kOrdered);
  // One before it is: what it waits for may come after.
  order.Wait(LateWait(6), {3, 1});
  order.Wait(LateWait(5), {3, 2});
  EXPECT_EQ(order.RelationTo({3, 2}, 1, waits), Order::Relation::kUnknown);
  EXPECT_EQ(order.RelationTo({2, 1}, 3, waits), Order::Relation::kUnknown);
}

// A program that runs for days with a level event in each step.
TEST(OrderTest, WaitsThatWereMetAreForgottenAndWhatTheyBroughtIsNot) {
  Order order;
  for (uint64_t step = 1; step <= 20'000; ++step) {
    order.Told({1, step});
    order.Wait(LateWait(5), {2, step});
    order.OnSignal({Signal::Kind::kRaised, Link::kNotify, 5, step, 1, step});
    order.OnSignal({Signal::Kind::kMet, Link::kNotify, 5, step, 2, step});
    ASSERT_LE(order.late_waits(), 1024U);
  }
  EXPECT_EQ(order.RelationTo({1, 20'000}, 2), Relation::kOrdered);
  order.Told({1, 20'001});
  EXPECT_EQ(order.RelationTo({1, 20'001}, 2), Relation::kUnordered);
  EXPECT_EQ(order.unseen_ends(), 0U);
}

// A record keeps what its stream was open to; the sweep settles that too.
TEST(OrderTest, ARecordBehindAWaitBringsWhatTheWaitMetAfterTheWaitIsForgotten) {
  const Edge level{Edge::Kind::kRecord, Link::kEvent, true, 0, 8, 1};
  Order order;
  order.Told({1, 1});
  order.Wait(LateWait(5), {2, 1});
  order.Record(RecordOf(7, 1), {2, 2});
  order.RecordLevel(level, {2, 3});
  order.OnSignal({Signal::Kind::kRaised, Link::kNotify, 5, 1, 1, 1});
  order.OnSignal({Signal::Kind::kMet, Link::kNotify, 5, 1, 2, 1});
  for (uint64_t step = 1; step <= 2'000; ++step) {
    order.Wait(LateWait(6), {4, step});
    order.OnSignal({Signal::Kind::kRaised, Link::kNotify, 6, step, 3, step});
    order.OnSignal({Signal::Kind::kMet, Link::kNotify, 6, step, 4, step});
  }
  order.Wait(WaitFor(7, 1), {5, 1});
  EXPECT_EQ(order.RelationTo({1, 1}, 5), Relation::kOrdered);
  order.Wait({Edge::Kind::kWait, Link::kEvent, true, 0, 8, 0}, {6, 1});
  EXPECT_EQ(order.RelationTo({1, 1}, 6), Relation::kOrdered);
}

// Waits that nobody meets, of streams that were aborted: more of them than are kept. To forget one must not make a
// finding, so its stream is never judged again.
TEST(OrderTest, AWaitThatIsForgottenBeforeItIsMetLeavesItsStreamUnjudged) {
  Order order;
  constexpr int32_t kStreams = 4'000;
  for (uint64_t count = 1; count <= 16; ++count) {
    for (int32_t stream = 1; stream <= kStreams; ++stream) order.Wait(LateWait(5), {stream, count});
  }
  EXPECT_LE(order.late_waits(), size_t{1} << 15);
  EXPECT_EQ(order.RelationTo({kStreams + 1, 1}, 1), Relation::kUnknown);
  // Its signal comes after all, and is for nobody.
  order.OnSignal({Signal::Kind::kRaised, Link::kNotify, 5, 1, 2, 1});
  order.OnSignal({Signal::Kind::kMet, Link::kNotify, 5, 1, 1, 1});
  EXPECT_EQ(order.RelationTo({kStreams + 1, 1}, 1), Relation::kUnknown);
}

}  // namespace
}  // namespace millpond::check

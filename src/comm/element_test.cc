// SPDX-License-Identifier: Apache-2.0
#include "src/comm/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "src/comm/turns.h"

namespace millpond::comm {
namespace {

template <class T>
T Reduced(Reduction op, Element type, std::vector<T> ranks) {
  std::vector<const void*> parts;
  for (const T& value : ranks) parts.push_back(&value);
  T out{};
  Reduce(op, type, parts, &out, sizeof(T));
  return out;
}

TEST(Reduce, IntegersWrap) {
  EXPECT_EQ(Reduced<int8_t>(Reduction::kSum, Element::kInt8, {100, 100}), -56);
  EXPECT_EQ(Reduced<int16_t>(Reduction::kSum, Element::kInt16, {32767, 1}), -32768);
  EXPECT_EQ(Reduced<int32_t>(Reduction::kProd, Element::kInt32, {1 << 20, 1 << 20}), 0);
  EXPECT_EQ(Reduced<int64_t>(Reduction::kSum, Element::kInt64, {INT64_MAX, 1}), INT64_MIN);
}

TEST(Reduce, MaxAndMinKnowTheSign) {
  EXPECT_EQ(Reduced<int8_t>(Reduction::kMax, Element::kInt8, {-5, 3, -7}), 3);
  EXPECT_EQ(Reduced<int8_t>(Reduction::kMin, Element::kInt8, {-5, 3, -7}), -7);
  EXPECT_EQ(Reduced<uint64_t>(Reduction::kMax, Element::kUint64, {1, UINT64_MAX}), UINT64_MAX);
}

TEST(Reduce, ANanAnywhereGivesNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Reduction op : {Reduction::kSum, Reduction::kProd, Reduction::kMax, Reduction::kMin}) {
    EXPECT_TRUE(std::isnan(Reduced<float>(op, Element::kFloat32, {1, nan, 2})));
    EXPECT_TRUE(std::isnan(Reduced<float>(op, Element::kFloat32, {nan, 1, 2})));
  }
}

// What the first ranks give goes on as a float, so it is rounded once.
TEST(Reduce, HasTheSameBitsInSteps) {
  std::vector<uint16_t> values;
  for (uint32_t i = 0; i < 5000; ++i) values.push_back(static_cast<uint16_t>(0x3000 + i * 7919 % 0x1800));
  for (const Element type : {Element::kFloat16, Element::kBfloat16, Element::kInt16}) {
    const size_t count = 1000, bytes = count * 2;
    std::vector<const void*> parts;
    for (size_t i = 0; i < 5; ++i) parts.push_back(&values[i * count]);
    std::vector<uint16_t> whole(count), in_steps(count);
    Reduce(Reduction::kSum, type, parts, whole.data(), bytes);
    std::vector<char> first(bytes * ComputedScale(type)), second(first.size());
    const std::span<const void* const> all(parts);
    Reduce(Reduction::kSum, type, {nullptr, false}, all.subspan(0, 2), first.data(), bytes);
    Reduce(Reduction::kSum, type, {first.data(), false}, all.subspan(2, 1), second.data(), bytes);
    Reduce(Reduction::kSum, type, {second.data(), true}, all.subspan(3), in_steps.data(), bytes);
    EXPECT_EQ(whole, in_steps) << ElementName(static_cast<uint32_t>(type));
  }
}

// 1e8 + 1 is 1e8 in float: only the order of the ranks gives this.
TEST(Reduce, GoesInTheOrderOfTheRanks) {
  EXPECT_EQ(Reduced<float>(Reduction::kSum, Element::kFloat32, {1e8F, -1e8F, 1}), 1);
  EXPECT_EQ(Reduced<float>(Reduction::kSum, Element::kFloat32, {1e8F, 1, -1e8F}), 0);
}

TEST(Reduce, HalvesAreAddedUpAsFloatsAndRoundedOnce) {
  // 2048 + 1 + 1: each half step would be lost (halves step by 2 there).
  EXPECT_EQ(Reduced<uint16_t>(Reduction::kSum, Element::kFloat16, {0x6800, 0x3C00, 0x3C00}), 0x6801);
  // 256 + 1 + 1 in bfloat16, which steps by 2 there.
  EXPECT_EQ(Reduced<uint16_t>(Reduction::kSum, Element::kBfloat16, {0x4380, 0x3F80, 0x3F80}), 0x4381);
}

TEST(Reduce, MayWriteOverAnyOfItsParts) {
  std::vector<int32_t> first(5000), second(5000), third(5000);
  for (int i = 0; i < 5000; ++i) first[i] = i, second[i] = 2 * i, third[i] = 3 * i;
  const void* parts[] = {first.data(), second.data(), third.data()};
  Reduce(Reduction::kSum, Element::kInt32, parts, second.data(), second.size() * sizeof(int32_t));
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(second[i], 6 * i);
}

TEST(Turns, AreTakenInTheOrderOfDrawing) {
  Turns turns;
  Turn first(&turns, turns.Draw()), second(&turns, turns.Draw());
  EXPECT_FALSE(second.TryBegin());
  EXPECT_TRUE(first.TryBegin());
  EXPECT_FALSE(second.TryBegin());
  first.End();
  EXPECT_TRUE(second.TryBegin());
}

TEST(Turns, OneThatIsDroppedLetsTheNextGo) {
  Turns turns;
  auto first = std::make_unique<Turn>(&turns, turns.Draw());
  Turn second(&turns, turns.Draw());
  first.reset();
  EXPECT_TRUE(second.TryBegin());
}

TEST(Turns, AReplayGoesBeforeWhatWasDrawnAndWaitsForWhatRuns) {
  Turns turns;
  Turn drawn(&turns, turns.Draw()), replay(&turns, Turns::kReplay);
  EXPECT_TRUE(replay.TryBegin());
  EXPECT_FALSE(drawn.TryBegin());
  replay.End();
  EXPECT_TRUE(drawn.TryBegin());
  Turn late(&turns, Turns::kReplay);
  EXPECT_FALSE(late.TryBegin());
}

}  // namespace
}  // namespace millpond::comm

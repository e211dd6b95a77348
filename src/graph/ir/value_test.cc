// SPDX-License-Identifier: Apache-2.0
#include "src/graph/ir/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace millpond::ir {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Dims, AreStaticWhenNoneIsUnknown) {
  EXPECT_TRUE(IsStatic({}));
  EXPECT_TRUE(IsStatic({2, 0, 3}));
  EXPECT_FALSE(IsStatic({2, kUnknownDim}));
  EXPECT_FALSE(IsStatic({kUnknownRank}));
}

TEST(Dims, OnlyTheSingleMinusTwoMeansUnknownRank) {
  EXPECT_FALSE(IsKnownRank({-2}));
  EXPECT_TRUE(IsKnownRank({}));
  EXPECT_TRUE(IsKnownRank({-1}));
  EXPECT_TRUE(IsKnownRank({-2, -2}));
}

TEST(Dims, ScalarHasOneElement) { EXPECT_EQ(ElementsOf({}), 1); }

TEST(Dims, ElementsThatDoNotFitAreMinusOne) {
  EXPECT_EQ(ElementsOf({2, 3, 4}), 24);
  EXPECT_EQ(ElementsOf({kMax}), kMax);
  EXPECT_EQ(ElementsOf({kMax, 2}), -1);
  EXPECT_EQ(ElementsOf({int64_t{1} << 32, int64_t{1} << 32}), -1);
}

TEST(Dims, AZeroMakesATensorEmptyHoweverLargeTheOthersAre) {
  EXPECT_EQ(ElementsOf({kMax, kMax, 0}), 0);
  EXPECT_EQ(ElementsOf({0, kMax, kMax}), 0);
}

TEST(Dims, BytesCountWholeBytesOfNarrowTypes) {
  EXPECT_EQ(BytesOf(DType::kFloat, {2, 3}), 24);
  EXPECT_EQ(BytesOf(DType::kComplex128, {2}), 32);
  EXPECT_EQ(BytesOf(DType::kInt4, {3}), 2);
  EXPECT_EQ(BytesOf(DType::kInt4, {4}), 2);
  EXPECT_EQ(BytesOf(DType::kUint1, {9}), 2);
  EXPECT_EQ(BytesOf(DType::kFloat6E3m2, {3}), 3);
  EXPECT_EQ(BytesOf(DType::kFloat, {0, 7}), 0);
}

TEST(Dims, BytesAreMinusOneWhenUnknown) {
  EXPECT_EQ(BytesOf(DType::kString, {2}), -1);
  EXPECT_EQ(BytesOf(DType::kUndefined, {2}), -1);
  EXPECT_EQ(BytesOf(DType::kFloat, {2, -1}), -1);
  EXPECT_EQ(BytesOf(DType::kFloat, {kMax / 2}), -1);
  EXPECT_EQ(BytesOf(DType::kUint1, {kMax}), kMax / 8 + 1);
}

TEST(Dims, TextShowsEveryDimension) {
  EXPECT_EQ(TextOf({}), "[]");
  EXPECT_EQ(TextOf({2, -1, 3}), "[2,-1,3]");
}

TEST(Bytes, CopyOwnsWhatItHolds) {
  Bytes copy;
  {
    std::string text = "weights";
    copy = Bytes::Copy(text.data(), text.size());
    text.assign(text.size(), 'x');
  }
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(copy.data), copy.size), "weights");
  EXPECT_EQ(Bytes::Copy(nullptr, 0).size, 0u);
}

TEST(Same, DistinguishesKindsAndValuesOfAttributes) {
  EXPECT_TRUE(Same(Attr{int64_t{1}}, Attr{int64_t{1}}));
  EXPECT_FALSE(Same(Attr{int64_t{1}}, Attr{true}));
  EXPECT_FALSE(Same(Attr{std::string("a")}, Attr{ByteString{"a"}}));
  EXPECT_TRUE(Same(Attr{std::vector<bool>{true, false}}, Attr{std::vector<bool>{true, false}}));
  EXPECT_FALSE(Same(Attr{std::vector<bool>{true}}, Attr{std::vector<bool>{false}}));
  EXPECT_FALSE(Same(Attr{std::vector<int64_t>{}}, Attr{std::monostate{}}));
  EXPECT_TRUE(Same(Attr{std::nanf("")}, Attr{std::nanf("")}));
  EXPECT_FALSE(Same(Attr{0.0f}, Attr{-0.0f}));
}

TEST(Same, ComparesTensorsByTheirBytes) {
  Tensor left;
  left.data = Bytes::Copy("abcd", 4);
  Tensor right = left;
  right.data = Bytes::Copy("abcd", 4);
  EXPECT_TRUE(Same(Attr{std::make_shared<const Tensor>(left)}, Attr{std::make_shared<const Tensor>(right)}));
  right.data = Bytes::Copy("abce", 4);
  EXPECT_FALSE(Same(Attr{std::make_shared<const Tensor>(left)}, Attr{std::make_shared<const Tensor>(right)}));
}

TEST(Same, AMissingAttributeMapEqualsAnEmptyOne) {
  TensorDesc left;
  TensorDesc right;
  right.attributes = std::make_shared<Attributes>();
  EXPECT_TRUE(Same(left, right));
  (*right.attributes)["a"] = Attr{true};
  EXPECT_FALSE(Same(left, right));
}

}  // namespace
}  // namespace millpond::ir

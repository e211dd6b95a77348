// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "src/device/memory/memory.h"

namespace millpond {
namespace {

template <class T>
T Reduced(T a, T b, ReduceKind kind, ReduceType type) {
  ReduceBytes(&a, &b, sizeof(T), kind, type);
  return a;
}
uint16_t Half(uint16_t a, uint16_t b, ReduceKind kind = ReduceKind::kSum) {
  return Reduced(a, b, kind, ReduceType::kFloat16);
}
uint16_t Bfloat(uint16_t a, uint16_t b, ReduceKind kind = ReduceKind::kSum) {
  return Reduced(a, b, kind, ReduceType::kBfloat16);
}

TEST(CopyRows, CopiesOnlyTheRectangle) {
  std::vector<uint8_t> from(6 * 10), to(6 * 16, 0xEE);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i);
  CopyRows(to.data(), 16, from.data(), 10, 7, 6);
  for (size_t row = 0; row < 6; ++row) {
    for (size_t column = 0; column < 16; ++column) {
      ASSERT_EQ(to[row * 16 + column], column < 7 ? row * 10 + column : 0xEE);
    }
  }
}

TEST(CopyBytes, OverlapMovesTheBytes) {
  std::vector<uint8_t> data{1, 2, 3, 4, 5, 6};
  CopyBytes(data.data() + 1, data.data(), 5);
  EXPECT_EQ(data, (std::vector<uint8_t>{1, 1, 2, 3, 4, 5}));
}

TEST(FillWords, FillsWholeWords) {
  std::vector<uint32_t> words(5, 7);
  FillWords(words.data() + 1, 0xDEADBEEF, 3);
  EXPECT_EQ(words, (std::vector<uint32_t>{7, 0xDEADBEEF, 0xDEADBEEF, 0xDEADBEEF, 7}));
}

TEST(ReduceBytes, IntegersWrapAndCompareWithTheirSign) {
  EXPECT_EQ(Reduced<int8_t>(127, 1, ReduceKind::kSum, ReduceType::kInt8), -128);
  EXPECT_EQ(Reduced<int16_t>(-3, 5, ReduceKind::kMax, ReduceType::kInt16), 5);
  EXPECT_EQ(Reduced<int32_t>(-3, 5, ReduceKind::kMin, ReduceType::kInt32), -3);
  EXPECT_EQ(Reduced<uint32_t>(0xFFFFFFFF, 5, ReduceKind::kMax, ReduceType::kUint32), 0xFFFFFFFFu);
}

TEST(ReduceBytes, EveryHalfSurvivesAddingZero) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const bool nan = (bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0;
    const uint16_t sum = Half(half, 0x8000);  // minus zero changes no number
    if (nan) {
      ASSERT_TRUE((sum & 0x7C00) == 0x7C00 && (sum & 0x3FF) != 0) << std::hex << bits;
    } else {
      ASSERT_EQ(sum, half) << std::hex << bits;
    }
  }
}

TEST(ReduceBytes, HalfSumsRoundToNearestEven) {
  EXPECT_EQ(Half(0x3C00, 0x3C00), 0x4000);           // 1 + 1
  EXPECT_EQ(Half(0x6800, 0x3C00), 0x6800);           // 2048 + 1: half way, to even
  EXPECT_EQ(Half(0x6801, 0x3C00), 0x6802);           // 2050 + 1: half way, to even (2052)
  EXPECT_EQ(Half(0x7BFF, 0x4C00), 0x7C00);           // 65504 + 16: half way up, overflows to infinity
  EXPECT_EQ(Half(0x7BFF, 0x4BFF), 0x7BFF);           // 65504 + 15.99 stays
  EXPECT_EQ(Half(0x0001, 0x0001), 0x0002);           // subnormal
  EXPECT_EQ(Half(0x03FF, 0x0001), 0x0400);           // subnormal to normal
  EXPECT_EQ(Half(0x3C00, 0xBC00), 0x0000);           // 1 - 1
  EXPECT_EQ(Half(0x7C00, 0xFC00) & 0x7C00, 0x7C00);  // inf - inf is NaN
  EXPECT_NE(Half(0x7C00, 0xFC00) & 0x3FF, 0);
}

TEST(ReduceBytes, BfloatSumsRoundToNearestEvenAndKeepNan) {
  EXPECT_EQ(Bfloat(0x3F80, 0x3F80), 0x4000);
  EXPECT_EQ(Bfloat(0x4380, 0x3F80), 0x4380);  // 256 + 1: half way, to even
  EXPECT_EQ(Bfloat(0x4381, 0x3F80), 0x4382);  // 258 + 1: half way, to even
  EXPECT_EQ(Bfloat(0x7F80, 0x3F80), 0x7F80);
  EXPECT_GT(Bfloat(0x7FC0, 0x3F80) & 0x7FFF, 0x7F80);
}

TEST(ReduceBytes, MaximumAndMinimumOfFloatsPropagateNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Reduced(1.0f, 2.0f, ReduceKind::kMax, ReduceType::kFloat32), 2.0f);
  EXPECT_EQ(Reduced(1.0f, 2.0f, ReduceKind::kMin, ReduceType::kFloat32), 1.0f);
  EXPECT_EQ(Reduced(1.5f, 2.25f, ReduceKind::kSum, ReduceType::kFloat32), 3.75f);
  EXPECT_TRUE(std::isnan(Reduced(nan, 2.0f, ReduceKind::kMax, ReduceType::kFloat32)));
  EXPECT_TRUE(std::isnan(Reduced(1.0f, nan, ReduceKind::kMin, ReduceType::kFloat32)));
  EXPECT_EQ(Half(0x3C00, 0xC000, ReduceKind::kMax), 0x3C00);
  EXPECT_EQ(Half(0x3C00, 0xC000, ReduceKind::kMin), 0xC000);
}

TEST(ReduceBytes, UnalignedAddressesWork) {
  std::vector<uint8_t> dst(9), src(9);
  const float one = 1.0f, two = 2.0f;
  std::memcpy(dst.data() + 1, &one, 4);
  std::memcpy(src.data() + 3, &two, 4);
  ReduceBytes(dst.data() + 1, src.data() + 3, 4, ReduceKind::kSum, ReduceType::kFloat32);
  float sum = 0;
  std::memcpy(&sum, dst.data() + 1, 4);
  EXPECT_EQ(sum, 3.0f);
}

}  // namespace
}  // namespace millpond

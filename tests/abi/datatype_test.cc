// SPDX-License-Identifier: Apache-2.0
// aclDataTypeSize and half precision, against values computed another way (acl_base_rt.h's notes on saturation).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "acl/acl_base.h"

namespace {

// The documented reading of half bits: exponent 31 is a number like any other.
double HalfValue(uint32_t bits) {
  const int exponent = static_cast<int>((bits >> 10) & 31);
  const double mantissa = bits & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(DataType, SizesAreThoseOfTheElements) {
  const std::pair<aclDataType, size_t> sizes[] = {
      {ACL_FLOAT, 4},       {ACL_FLOAT16, 2},    {ACL_INT8, 1},         {ACL_INT32, 4}, {ACL_UINT8, 1},
      {ACL_INT16, 2},       {ACL_UINT16, 2},     {ACL_UINT32, 4},       {ACL_INT64, 8}, {ACL_UINT64, 8},
      {ACL_DOUBLE, 8},      {ACL_BOOL, 1},       {ACL_STRING, 0},       {ACL_BF16, 2},  {ACL_COMPLEX64, 8},
      {ACL_COMPLEX128, 16}, {ACL_COMPLEX32, 4},  {ACL_DT_UNDEFINED, 0}, {ACL_INT4, 1},  {ACL_UINT1, 1},
      {ACL_HIFLOAT8, 1},    {ACL_FLOAT8_E5M2, 1}};
  for (const auto& [type, size] : sizes) EXPECT_EQ(aclDataTypeSize(type), size) << type;
}

TEST(DataType, EveryHalfReadsAsDocumented) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = aclFloat16ToFloat(static_cast<aclFloat16>(bits));
    ASSERT_EQ(static_cast<double>(value), HalfValue(bits)) << std::hex << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << std::hex << bits;
  }
  EXPECT_EQ(aclFloat16ToFloat(0x7C00), 65536.0f);   // +Inf
  EXPECT_EQ(aclFloat16ToFloat(0xFC00), -65536.0f);  // -Inf
  EXPECT_EQ(aclFloat16ToFloat(0x7E00), 98304.0f);   // NaN
}

TEST(DataType, EveryFiniteHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if (((bits >> 10) & 31) == 31) continue;
    ASSERT_EQ(aclFloatToFloat16(static_cast<float>(HalfValue(bits))), bits) << std::hex << bits;
  }
}

TEST(DataType, BetweenTwoHalvesTheNearestEvenWins) {
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const double low = HalfValue(bits);
    const double high = HalfValue(bits + 1);
    const float middle = static_cast<float>((low + high) / 2);
    const uint32_t even = (bits & 1) == 0 ? bits : bits + 1;
    ASSERT_EQ(aclFloatToFloat16(middle), even) << std::hex << bits;
    ASSERT_EQ(aclFloatToFloat16(std::nextafter(middle, 0.0f)), bits) << std::hex << bits;
    ASSERT_EQ(aclFloatToFloat16(std::nextafter(middle, 1e9f)), bits + 1) << std::hex << bits;
    ASSERT_EQ(aclFloatToFloat16(-middle), even | 0x8000) << std::hex << bits;
  }
}

TEST(DataType, WhatDoesNotFitAHalfSaturates) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(aclFloatToFloat16(kInfinity), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(-kInfinity), 0xFBFF);
  EXPECT_EQ(aclFloatToFloat16(kNan), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(std::copysign(kNan, -1.0f)), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(65504.0f), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(65519.99f), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(65520.0f), 0x7BFF);  // IEEE would say infinity
  EXPECT_EQ(aclFloatToFloat16(-1e30f), 0xFBFF);
  EXPECT_EQ(aclFloatToFloat16(std::numeric_limits<float>::denorm_min()), 0);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// The reference of the random programs: elements of HCCL's types in plain bytes, and what a reduction makes of them. It
// shares no line with the product: halves are taken apart by hand.
#ifndef MILLPOND_TESTS_HCCL_RANDOM_VALUES_H_
#define MILLPOND_TESTS_HCCL_RANDOM_VALUES_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "hccl/hccl_types.h"

namespace random_values {

using Bytes = std::vector<uint8_t>;

struct Type {
  HcclDataType number;
  const char* name;
  size_t bytes;
  bool real;
  bool reduces;
  bool has_prod;
};
inline constexpr Type kTypes[] = {
    {HCCL_DATA_TYPE_INT8, "int8", 1, false, true, true},        {HCCL_DATA_TYPE_INT16, "int16", 2, false, true, false},
    {HCCL_DATA_TYPE_INT32, "int32", 4, false, true, true},      {HCCL_DATA_TYPE_INT64, "int64", 8, false, true, true},
    {HCCL_DATA_TYPE_FP16, "fp16", 2, true, true, true},         {HCCL_DATA_TYPE_FP32, "fp32", 4, true, true, true},
    {HCCL_DATA_TYPE_BFP16, "bfp16", 2, true, true, false},      {HCCL_DATA_TYPE_UINT8, "uint8", 1, false, false, false},
    {HCCL_DATA_TYPE_UINT16, "uint16", 2, false, false, false},  {HCCL_DATA_TYPE_FP64, "fp64", 8, false, false, false},
    {HCCL_DATA_TYPE_INT128, "int128", 16, false, false, false},
};

inline float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }

inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half >> 15) << 31, exponent = (half >> 10) & 0x1F, part = half & 0x3FF;
  if (exponent == 31) return FromBits(sign | 0x7F800000 | (part << 13));
  if (exponent == 0) {
    const float tiny = std::ldexp(static_cast<float>(part), -24);
    return sign != 0 ? -tiny : tiny;
  }
  return FromBits(sign | ((exponent + 112) << 23) | (part << 13));
}

// Of a finite value below half's largest: counted in steps of the half's last bit, ties go to the even number of steps.
inline uint16_t FloatToHalf(float value) {
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(static_cast<double>(value));
  const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
  const double steps = std::nearbyint(size * std::bit_cast<double>(static_cast<uint64_t>(1023 + 10 - exponent) << 52));
  // 1024 steps are the exponent's own bit; 2048 carry into the next exponent by themselves.
  return static_cast<uint16_t>(sign | (static_cast<uint32_t>(exponent + 14) * 1024 + static_cast<uint32_t>(steps)));
}

inline float BfloatToFloat(uint16_t value) { return FromBits(static_cast<uint32_t>(value) << 16); }

inline uint16_t FloatToBfloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rest = bits & 0xFFFF, kept = bits >> 16;
  const bool up = rest > 0x8000 || (rest == 0x8000 && (kept & 1) != 0);
  return static_cast<uint16_t>(kept + (up ? 1 : 0));
}

inline float RealAt(const Type& type, const uint8_t* at) {
  if (type.number == HCCL_DATA_TYPE_FP32) {
    float value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, at, sizeof(bits));
  return type.number == HCCL_DATA_TYPE_FP16 ? HalfToFloat(bits) : BfloatToFloat(bits);
}

inline void SetReal(const Type& type, uint8_t* at, float value) {
  if (type.number == HCCL_DATA_TYPE_FP32) {
    std::memcpy(at, &value, sizeof(value));
    return;
  }
  const uint16_t bits = type.number == HCCL_DATA_TYPE_FP16 ? FloatToHalf(value) : FloatToBfloat(value);
  std::memcpy(at, &bits, sizeof(bits));
}

inline int64_t WholeAt(const Type& type, const uint8_t* at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, type.bytes);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(type.bytes);
  return static_cast<int64_t>(bits << unused) >> unused;
}

// In rank order, halves as float and rounded once, integers modulo their size.
inline void Reduce(const Type& type, HcclReduceOp op, std::span<const uint8_t* const> parts, uint8_t* out) {
  if (type.real) {
    float value = RealAt(type, parts[0]);
    for (size_t i = 1; i < parts.size(); ++i) {
      const float next = RealAt(type, parts[i]);
      if (op == HCCL_REDUCE_SUM) value = value + next;
      if (op == HCCL_REDUCE_PROD) value = value * next;
      if (op == HCCL_REDUCE_MAX && next > value) value = next;
      if (op == HCCL_REDUCE_MIN && next < value) value = next;
    }
    return SetReal(type, out, value);
  }
  int64_t value = WholeAt(type, parts[0]);
  for (size_t i = 1; i < parts.size(); ++i) {
    const int64_t next = WholeAt(type, parts[i]);
    const auto a = static_cast<uint64_t>(value), b = static_cast<uint64_t>(next);
    if (op == HCCL_REDUCE_SUM) value = static_cast<int64_t>(a + b);
    if (op == HCCL_REDUCE_PROD) value = static_cast<int64_t>(a * b);
    if (op == HCCL_REDUCE_MAX && next > value) value = next;
    if (op == HCCL_REDUCE_MIN && next < value) value = next;
  }
  std::memcpy(out, &value, type.bytes);
}

// Equal bytes, or zeros of either sign.
inline bool Same(const Type& type, const uint8_t* a, const uint8_t* b) {
  return std::memcmp(a, b, type.bytes) == 0 || (type.real && RealAt(type, a) == 0 && RealAt(type, b) == 0);
}

// Values that are no NaN, small in the types that have fractions.
inline Bytes Fill(const Type& type, uint32_t seed, size_t bytes) {
  Bytes filled(bytes);
  uint64_t state = seed * 0x9E3779B97F4A7C15 + 1;
  const auto next = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  };
  if (!type.real) {
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
      const uint64_t word = next();
      std::memcpy(&filled[i], &word, 8);
    }
    return filled;
  }
  constexpr size_t kDifferent = 65;
  Bytes values(kDifferent * type.bytes);
  for (size_t i = 0; i < kDifferent; ++i) SetReal(type, &values[i * type.bytes], (static_cast<float>(i) - 32) / 8);
  for (size_t i = 0; i < bytes; i += type.bytes)
    std::memcpy(&filled[i], &values[next() % kDifferent * type.bytes], type.bytes);
  return filled;
}

}  // namespace random_values

#endif  // MILLPOND_TESTS_HCCL_RANDOM_VALUES_H_

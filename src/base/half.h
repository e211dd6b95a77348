// SPDX-License-Identifier: Apache-2.0
// Half-precision floats to float, bitwise and exact; and back, rounded to the nearest, ties to even.
#ifndef MILLPOND_SRC_BASE_HALF_H_
#define MILLPOND_SRC_BASE_HALF_H_

#include <bit>
#include <cstdint>

namespace millpond {

inline float FloatFromBfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U); }

// Without a branch, so that loops over what follows become vector code.
inline uint32_t ChooseBits(bool first, uint32_t a, uint32_t b) {
  const uint32_t mask = 0U - static_cast<uint32_t>(first);
  return (a & mask) | (b & ~mask);
}

inline float FloatFromHalf(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16U;
  const uint32_t shifted = static_cast<uint32_t>(bits & 0x7FFFU) << 13U;
  const uint32_t exponent = shifted & 0x0F800000U;
  const uint32_t normal = shifted + 0x38000000U;
  // With the least exponent and less its leading one: exact.
  const float tiny = std::bit_cast<float>(normal + 0x00800000U) - 0x1p-14F;
  const uint32_t finite = ChooseBits(exponent == 0, std::bit_cast<uint32_t>(tiny), normal);
  const uint32_t magnitude = ChooseBits(exponent == 0x0F800000U, normal + 0x38000000U, finite);
  return std::bit_cast<float>(sign | magnitude);
}

inline uint16_t HalfFromFloat(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (word >> 16U) & 0x8000U;
  const auto magnitude = static_cast<int32_t>(word & 0x7FFFFFFFU);
  const uint32_t odd = (word >> 13U) & 1U;
  const uint32_t normal = ((word & 0x7FFFFFFFU) - 0x38000000U + 0xFFFU + odd) >> 13U;
  // Below the normal halves, which step by 2^-24: so do floats from 0.5 up, and the sum is rounded for us.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
  const uint32_t tiny = std::bit_cast<uint32_t>(shifted) - 0x3F000000U;
  uint32_t half = ChooseBits(magnitude < 0x38800000, tiny, normal);
  half = ChooseBits(magnitude >= 0x477FF000, 0x7C00U, half);  // rounds past 65504
  half = ChooseBits(magnitude > 0x7F800000, 0x7E00U, half);
  return static_cast<uint16_t>(sign | half);
}

inline uint16_t Bfloat16FromFloat(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  if ((word & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>((word >> 16U) | 0x40U);
  return static_cast<uint16_t>((word + 0x7FFFU + ((word >> 16U) & 1U)) >> 16U);
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_HALF_H_

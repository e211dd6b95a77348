// SPDX-License-Identifier: Apache-2.0
// Half-precision floats to float, bitwise and exact; and back, rounded to the nearest, ties to even.
#ifndef MILLPOND_SRC_BASE_HALF_H_
#define MILLPOND_SRC_BASE_HALF_H_

#include <bit>
#include <cstdint>

namespace millpond {

inline float FloatFromBfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16U); }

inline float FloatFromHalf(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16U;
  const uint32_t exponent = (bits >> 10U) & 0x1FU;
  const uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13U));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (mantissa << 13U));
  const float tiny = static_cast<float>(mantissa) * 0x1p-24F;  // subnormal
  return sign != 0 ? -tiny : tiny;
}

inline uint16_t HalfFromFloat(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (word >> 16U) & 0x8000U;
  const uint32_t magnitude = word & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U);
  if (magnitude >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);  // rounds past 65504
  if (magnitude < 0x38800000U) {
    // Below the normal halves, which step by 2^-24: so do floats from 0.5 up, and the sum is rounded for us.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
  }
  const uint32_t odd = (magnitude >> 13U) & 1U;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13U));
}

inline uint16_t Bfloat16FromFloat(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  if ((word & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>((word >> 16U) | 0x40U);
  return static_cast<uint16_t>((word + 0x7FFFU + ((word >> 16U) & 1U)) >> 16U);
}

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_HALF_H_

// SPDX-License-Identifier: Apache-2.0
// Half-width floats to float, by bits: exact.
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

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_HALF_H_

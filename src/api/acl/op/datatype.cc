// SPDX-License-Identifier: Apache-2.0
// Sizes of data types, and half precision. The two conversions are documented not to be IEEE 754: chips that only
// saturate have no infinity, so infinity and NaN become ordinary numbers on the way.
#include <bit>
#include <cstdint>

#include "include/acl/acl_base_rt.h"

size_t aclDataTypeSize(aclDataType dataType) {
  switch (dataType) {
    case ACL_DT_UNDEFINED:
    case ACL_STRING:
      return 0;
    // Types below one byte are packed in memory; the smallest answer this function has is 1.
    case ACL_INT4:
    case ACL_UINT1:
    case ACL_FLOAT6_E3M2:
    case ACL_FLOAT6_E2M3:
    case ACL_FLOAT4_E2M1:
    case ACL_FLOAT4_E1M2:
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_DOUBLE:
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_COMPLEX64:
      return 8;
    case ACL_COMPLEX128:
      return 16;
  }
  return 0;
}

// Exponent 31, IEEE's infinity and NaN, is read like any other exponent: infinity is 65536, the usual NaN 98304.
float aclFloat16ToFloat(aclFloat16 value) {
  const uint32_t sign = (value & 0x8000u) << 16;
  uint32_t exponent = (value >> 10) & 0x1Fu;
  uint32_t mantissa = value & 0x3FFu;
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    // Subnormal: shift the leading one into the hidden place.
    const int shift = std::countl_zero(mantissa) - 21;
    mantissa = (mantissa << shift) & 0x3FFu;
    exponent = static_cast<uint32_t>(1 - shift);  // may wrap below zero; the bias below brings it back
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

// Round to nearest even; whatever is too large, infinite or not a number becomes the largest finite half.
aclFloat16 aclFloatToFloat16(float value) {
  constexpr uint32_t kLargest = 0x7BFFu;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  const uint32_t sign = (bits >> 16) & 0x8000u;
  if (magnitude > 0x7F800000u) return kLargest;  // NaN has no sign worth keeping
  if (magnitude >= 0x477FE000u) return static_cast<aclFloat16>(sign | kLargest);
  uint32_t half = 0;
  if (magnitude >= 0x38800000u) {  // 2^-14: normal
    const uint32_t rebased = magnitude - (112u << 23);
    half = (rebased + 0xFFFu + ((rebased >> 13) & 1u)) >> 13;
  } else if (magnitude >= 0x33000000u) {  // 2^-25: half of the smallest subnormal
    const uint32_t mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
    const uint32_t shift = 126u - (magnitude >> 23);
    const uint32_t kept = mantissa >> shift;
    const uint32_t rest = mantissa & ((1u << shift) - 1u);
    const uint32_t middle = 1u << (shift - 1u);
    half = kept + ((rest > middle || (rest == middle && (kept & 1u) != 0)) ? 1u : 0u);
  }
  return static_cast<aclFloat16>(sign | half);
}

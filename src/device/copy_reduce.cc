// SPDX-License-Identifier: Apache-2.0
// Elementwise sum, maximum and minimum in place, for aclrtReduceAsync. Half types by hand: the compiler's own are not
// in C++20, and these few lines decide the rounding.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "src/device/memory.h"

namespace millpond {

namespace {

struct Half {
  uint16_t bits;
  explicit operator float() const {
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3FFu;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
    if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float tiny = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -tiny : tiny;
  }
  static Half From(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value), sign = word >> 16 & 0x8000u, magnitude = word & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return {static_cast<uint16_t>(sign | 0x7E00u)};
    if (magnitude >= 0x477FF000u) return {static_cast<uint16_t>(sign | 0x7C00u)};  // rounds past 65504
    if (magnitude < 0x38800000u) {
      // Below the normal halves, which step by 2^-24: so do floats from 0.5 up, and the sum is rounded for us.
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000u))};
    }
    const uint32_t odd = magnitude >> 13 & 1;
    return {static_cast<uint16_t>(sign | (magnitude - 0x38000000u + 0xFFFu + odd) >> 13)};
  }
};

struct Bfloat {
  uint16_t bits;
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
  static Bfloat From(float value) {
    const uint32_t word = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) return {static_cast<uint16_t>(word >> 16 | 0x40u)};
    return {static_cast<uint16_t>((word + 0x7FFFu + (word >> 16 & 1)) >> 16)};
  }
};

struct Single {
  float value;
  explicit operator float() const { return value; }
  static Single From(float value) { return {value}; }
};

template <class T>
struct Integer {
  T value;
};

template <class T>
T Combine(T a, T b, ReduceKind kind) {
  const auto x = static_cast<float>(a), y = static_cast<float>(b);
  if (kind == ReduceKind::kSum) return T::From(x + y);
  if (std::isnan(x)) return a;
  if (std::isnan(y)) return b;
  return (kind == ReduceKind::kMax) == (x < y) ? b : a;
}

template <class T>
Integer<T> Combine(Integer<T> a, Integer<T> b, ReduceKind kind) {
  if (kind == ReduceKind::kSum)
    return {static_cast<T>(static_cast<uint64_t>(a.value) + static_cast<uint64_t>(b.value))};
  return (kind == ReduceKind::kMax) == (a.value < b.value) ? b : a;
}

template <class T>
void Reduce(std::byte* dst, const std::byte* src, size_t bytes, ReduceKind kind) {
  for (size_t at = 0; at < bytes; at += sizeof(T)) {
    T a, b;  // by memcpy: addresses need not be aligned
    std::memcpy(&a, dst + at, sizeof(T));
    std::memcpy(&b, src + at, sizeof(T));
    a = Combine(a, b, kind);
    std::memcpy(dst + at, &a, sizeof(T));
  }
}

}  // namespace

size_t ReduceTypeBytes(ReduceType type) {
  switch (type) {
    case ReduceType::kInt8:
      return 1;
    case ReduceType::kInt16:
    case ReduceType::kFloat16:
    case ReduceType::kBfloat16:
      return 2;
    case ReduceType::kInt32:
    case ReduceType::kUint32:
    case ReduceType::kFloat32:
      return 4;
  }
  return 0;
}

void ReduceBytes(void* dst, const void* src, size_t bytes, ReduceKind kind, ReduceType type) {
  auto* to = static_cast<std::byte*>(Reachable(dst));
  auto* from = static_cast<const std::byte*>(Reachable(src));
  switch (type) {
    case ReduceType::kInt8:
      return Reduce<Integer<int8_t>>(to, from, bytes, kind);
    case ReduceType::kInt16:
      return Reduce<Integer<int16_t>>(to, from, bytes, kind);
    case ReduceType::kInt32:
      return Reduce<Integer<int32_t>>(to, from, bytes, kind);
    case ReduceType::kUint32:
      return Reduce<Integer<uint32_t>>(to, from, bytes, kind);
    case ReduceType::kFloat16:
      return Reduce<Half>(to, from, bytes, kind);
    case ReduceType::kBfloat16:
      return Reduce<Bfloat>(to, from, bytes, kind);
    case ReduceType::kFloat32:
      return Reduce<Single>(to, from, bytes, kind);
  }
}

}  // namespace millpond

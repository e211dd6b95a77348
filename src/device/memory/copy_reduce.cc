// SPDX-License-Identifier: Apache-2.0
// Elementwise sum, maximum and minimum in place, for aclrtReduceAsync.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "src/base/half.h"
#include "src/device/memory/memory.h"

namespace millpond {

namespace {

struct Half {
  uint16_t bits;
  explicit operator float() const { return FloatFromHalf(bits); }
  static Half From(float value) { return {HalfFromFloat(value)}; }
};

struct Bfloat {
  uint16_t bits;
  explicit operator float() const { return FloatFromBfloat16(bits); }
  static Bfloat From(float value) { return {Bfloat16FromFloat(value)}; }
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

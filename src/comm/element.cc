// SPDX-License-Identifier: Apache-2.0
#include "src/comm/element.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "src/base/assert.h"
#include "src/base/format.h"
#include "src/base/half.h"

namespace millpond::comm {

namespace {

// How a stored element becomes what is computed with, and back.
template <class T>
struct Plain {
  using Stored = T;
  using Computed = T;
  static T Load(T stored) { return stored; }
  static T Store(T computed) { return computed; }
};
struct Half {
  using Stored = uint16_t;
  using Computed = float;
  static float Load(uint16_t stored) { return FloatFromHalf(stored); }
  static uint16_t Store(float computed) { return HalfFromFloat(computed); }
};
struct Bfloat {
  using Stored = uint16_t;
  using Computed = float;
  static float Load(uint16_t stored) { return FloatFromBfloat16(stored); }
  static uint16_t Store(float computed) { return Bfloat16FromFloat(computed); }
};

template <Reduction kOp, class T>
T Combine(T a, T b) {
  if constexpr (kOp == Reduction::kSum || kOp == Reduction::kProd) {
    if constexpr (std::is_floating_point_v<T>) {
      return kOp == Reduction::kSum ? a + b : a * b;
    } else {
      // Unsigned and wide enough: overflow wraps, also where the type would be promoted to int.
      using Wide = std::make_unsigned_t<std::conditional_t<(sizeof(T) < 4), int32_t, T>>;
      const auto x = static_cast<Wide>(a), y = static_cast<Wide>(b);  // NOLINT: int8_t is a number here
      return static_cast<T>(kOp == Reduction::kSum ? x + y : x * y);
    }
  } else {
    bool takes_b = kOp == Reduction::kMax ? b > a : b < a;
    // The first NaN stays. NOLINTNEXTLINE(misc-redundant-expression): a NaN is not itself
    if constexpr (std::is_floating_point_v<T>) takes_b = (takes_b | (b != b)) & (a == a);
    return takes_b ? b : a;
  }
}

// A block at a time, so that what is summed up stays in the nearest cache, and `out` may be one of the parts.
template <Reduction kOp, class Type>
void ReduceAs(ReduceStep step, std::span<const void* const> parts, void* out, size_t count) {
  using Stored = typename Type::Stored;
  using Computed = typename Type::Computed;
  constexpr size_t kBlock = 1024;
  Computed sums[kBlock];
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t length = std::min(kBlock, count - begin);
    std::span<const void* const> rest = parts;
    if (step.before != nullptr) {
      std::memcpy(sums, static_cast<const Computed*>(step.before) + begin, length * sizeof(Computed));
    } else {
      const auto* first = static_cast<const Stored*>(parts[0]) + begin;
      for (size_t i = 0; i < length; ++i) sums[i] = Type::Load(first[i]);
      rest = parts.subspan(1);
    }
    for (const void* part : rest) {
      const auto* from = static_cast<const Stored*>(part) + begin;
      for (size_t i = 0; i < length; ++i) sums[i] = Combine<kOp>(sums[i], Type::Load(from[i]));
    }
    if (step.is_last) {
      auto* to = static_cast<Stored*>(out) + begin;
      for (size_t i = 0; i < length; ++i) to[i] = Type::Store(sums[i]);
    } else {
      std::memcpy(static_cast<Computed*>(out) + begin, sums, length * sizeof(Computed));
    }
  }
}

template <class Type>
void ReduceBy(Reduction op, ReduceStep step, std::span<const void* const> parts, void* out, size_t bytes) {
  const size_t count = bytes / sizeof(typename Type::Stored);
  switch (op) {
    case Reduction::kSum:
      return ReduceAs<Reduction::kSum, Type>(step, parts, out, count);
    case Reduction::kProd:
      return ReduceAs<Reduction::kProd, Type>(step, parts, out, count);
    case Reduction::kMax:
      return ReduceAs<Reduction::kMax, Type>(step, parts, out, count);
    case Reduction::kMin:
      return ReduceAs<Reduction::kMin, Type>(step, parts, out, count);
    case Reduction::kNone:
      break;
  }
  MP_ASSERT(false);
}

}  // namespace

void Reduce(Reduction op, Element type, std::span<const void* const> parts, void* out, size_t bytes) {
  return Reduce(op, type, ReduceStep(), parts, out, bytes);
}

void Reduce(Reduction op, Element type, ReduceStep step, std::span<const void* const> parts, void* out, size_t bytes) {
  switch (type) {
    case Element::kInt8:
      return ReduceBy<Plain<int8_t>>(op, step, parts, out, bytes);
    case Element::kInt16:
      return ReduceBy<Plain<int16_t>>(op, step, parts, out, bytes);
    case Element::kInt32:
      return ReduceBy<Plain<int32_t>>(op, step, parts, out, bytes);
    case Element::kInt64:
      return ReduceBy<Plain<int64_t>>(op, step, parts, out, bytes);
    case Element::kUint64:
      return ReduceBy<Plain<uint64_t>>(op, step, parts, out, bytes);
    case Element::kFloat16:
      return ReduceBy<Half>(op, step, parts, out, bytes);
    case Element::kBfloat16:
      return ReduceBy<Bfloat>(op, step, parts, out, bytes);
    case Element::kFloat32:
      return ReduceBy<Plain<float>>(op, step, parts, out, bytes);
    case Element::kFloat64:
      return ReduceBy<Plain<double>>(op, step, parts, out, bytes);
    default:
      break;
  }
  MP_ASSERT(false);  // the boundary refuses types without reductions
}

size_t ComputedScale(Element type) {
  const bool is_half = type == Element::kFloat16 || type == Element::kBfloat16;
  return is_half ? sizeof(float) / sizeof(uint16_t) : 1;
}

std::string ElementName(uint32_t element) {
  static constexpr const char* kNames[] = {"int8",   "int16", "int32",  "fp16",    "fp32",    "int64",
                                           "uint64", "uint8", "uint16", "uint32",  "fp64",    "bfp16",
                                           "int128", nullptr, "hif8",   "fp8e4m3", "fp8e5m2", "fp8e8m0"};
  if (element < std::size(kNames) && kNames[element] != nullptr) return kNames[element];
  return Format("type %u", element);
}

size_t ElementBytes(uint32_t element) {
  static constexpr size_t kBytes[] = {1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2, 16, 0, 1, 1, 1, 1};
  return element < std::size(kBytes) ? kBytes[element] : 0;
}

std::string ReductionName(uint32_t reduction) {
  static constexpr const char* kNames[] = {"sum", "prod", "max", "min"};
  if (reduction == static_cast<uint32_t>(Reduction::kNone)) return "none";
  return reduction < std::size(kNames) ? kNames[reduction] : Format("reduction %u", reduction);
}

}  // namespace millpond::comm

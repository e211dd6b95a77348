// SPDX-License-Identifier: Apache-2.0
// Quantisation: computed in floats or wide integers, rounded half to even, clamped to the type's range.
#include <cmath>

#include "src/graph/onnx/narrow.h"

namespace millpond::onnx {
namespace {

struct Bounds {
  double low, high;
};
// False for types other than 8- and 16-bit integers.
bool BoundsOf(DType type, Bounds* out) {
  switch (type) {
    case DType::kInt8:
      *out = {-128, 127};
      return true;
    case DType::kUint8:
      *out = {0, 255};
      return true;
    case DType::kInt16:
      *out = {-32768, 32767};
      return true;
    case DType::kUint16:
      *out = {0, 65535};
      return true;
    default:
      return false;
  }
}

Bounds BoundsOf(const NarrowType& type) {
  const double half = std::ldexp(1.0, type.bits - 1);
  return type.carrier == DType::kInt8 ? Bounds{-half, half - 1} : Bounds{0, 2 * half - 1};
}

// round(x) + zero, clamped to the type, or to the narrow one that it carries. `zero` may be empty.
Val Rounded(Context& c, const Val& x, const Val& zero, DType type, const NarrowType* narrow = nullptr) {
  Builder& b = c.b;
  Bounds bounds{};
  if (narrow != nullptr) {
    bounds = BoundsOf(*narrow);
  } else if (!BoundsOf(type, &bounds)) {
    c.Refuse("quantising to %s is not supported", DTypeName(type));
    return {};
  }
  Val result = b.Wide("Rint", {x});
  if (Given(zero)) result = b.Add(result, b.Cast(zero, b.TypeOf(x)));
  result = b.Wide("Maximum", {result, b.ScalarLike(x, bounds.low)});
  return b.Cast(b.Wide("Minimum", {result, b.ScalarLike(x, bounds.high)}), type);
}

// A scale or zero point for x: per tensor, per index of the node's axis, or per block along it.
Val Beside(Context& c, const Val& value, const Val& x) {
  Builder& b = c.b;
  const int64_t axis = c.Int("axis", 1);
  const int64_t block = c.Int("block_size", 0);
  const int64_t rank = c.KnownRank(x);
  if (rank < 0 || b.RankOf(value) < 0) return {};
  if (b.RankOf(value) == 0) return value;
  if (b.RankOf(value) == 1 && block == 0) {
    if (b.DimsOf(value)[0] == 1) return b.Reshape(value, {});
    Ints shape(static_cast<size_t>(rank), 1);
    shape[static_cast<size_t>(c.Axis(axis, rank))] = -1;
    return b.Reshape(value, shape);
  }
  if (block == 0) return value;
  if (!b.IsStatic(value) || !b.IsStatic(x) || b.RankOf(value) != rank) {
    c.Refuse("with block_size the shapes must be known and equal");
    return {};
  }
  const auto at = static_cast<size_t>(c.Axis(axis, rank));
  Ints dims = b.DimsOf(value);
  const int64_t size = b.DimsOf(x)[at];
  Ints wide = dims;
  wide.insert(wide.begin() + static_cast<int64_t>(at) + 1, block);
  const Val spread = b.Op("BroadcastTo", {b.Unsqueeze(value, {static_cast<int64_t>(at) + 1}), b.ConstInts(wide)});
  dims[at] *= block;
  return b.Slice(b.Reshape(spread, dims), static_cast<int64_t>(at), 0, size);
}

// Small floats, whose zero point may only be 0.
Val QuantisedSmall(Context& c, const Val& x, DType type, const NarrowType* narrow, bool saturate) {
  if (narrow != nullptr) return Encoded(c, x, *narrow, saturate);
  return EncodedSmall(c, x, type == DType::kFloat8E4m3 ? 17 : 19, type, saturate, 0);
}

void QuantizeLinear(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t output = c.Int("output_dtype", 0);
  const int64_t precision = c.Int("precision", 0);
  const bool saturate = c.Int("saturate", 1) != 0;
  DType type = DType::kUint8;
  const NarrowType* narrow = nullptr;
  if (c.Has(2)) {
    type = b.TypeOf(c.In(2));
    narrow = NarrowOf(c.In(2));
  } else if (output != 0) {
    narrow = NarrowFromOnnx(output);
    type = narrow != nullptr ? narrow->carrier : TypeFromOnnx(output);
  }
  Bounds bounds{};
  const bool small = narrow != nullptr ? narrow->is_float : type == DType::kFloat8E4m3 || type == DType::kFloat8E5m2;
  if (!small && narrow == nullptr && !BoundsOf(type, &bounds))
    return c.Refuse("quantising to %s is not supported", type == DType::kUndefined ? "this type" : DTypeName(type));
  if (precision != 0 && precision != 1) return c.Refuse("precision must be FLOAT");
  const Val scale = Beside(c, b.Cast(c.In(1), DType::kFloat), x);
  Val zero = c.Has(2) ? Beside(c, Decoded(c, c.In(2)), x) : Val();
  const Val scaled = b.Div(b.Cast(x, DType::kFloat), scale);
  if (small) {
    if (Given(zero)) zero = b.Cast(zero, DType::kFloat);
    return c.Out(QuantisedSmall(c, Given(zero) ? b.Add(scaled, zero) : scaled, type, narrow, saturate));
  }
  const Val rounded = Rounded(c, scaled, zero, type, narrow);
  c.Out(narrow != nullptr ? Marked(b, rounded, *narrow) : rounded);
}

void DequantizeLinear(Context& c) {
  Builder& b = c.b;
  const Val x = Decoded(c, c.In(0));
  const int64_t output = c.Int("output_dtype", 0);
  const Val given = c.In(1);
  const DType type = output != 0 ? TypeFromOnnx(output) : b.TypeOf(given);
  const DType from = b.TypeOf(x);
  Bounds bounds{};
  const NarrowType* narrow = NarrowOf(c.In(0));
  const bool small =
      from == DType::kFloat8E4m3 || from == DType::kFloat8E5m2 || (narrow != nullptr && narrow->is_float);
  if (!BoundsOf(from, &bounds) && from != DType::kInt32 && !small) {
    return c.Refuse("dequantising %s is not supported", DTypeName(from));
  }
  // 32-bit integers do not fit a float: their difference is taken first.
  Val wide = b.Cast(x, from == DType::kInt32 ? DType::kInt64 : DType::kFloat);
  if (c.Has(2)) wide = b.Sub(wide, b.Cast(Beside(c, Decoded(c, c.In(2)), x), b.TypeOf(wide)));
  const Val scale = b.Cast(Beside(c, given, x), DType::kFloat);
  c.Out(b.Cast(b.Mul(b.Cast(wide, DType::kFloat), scale), type));
}

void DynamicQuantizeLinear(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t rank = c.KnownRank(x);
  if (rank < 0) return;
  Ints all;
  for (int64_t i = 0; i < rank; ++i) all.push_back(i);
  const Val nothing = b.ScalarLike(x, 0);
  const Val low = b.Op("Minimum", {b.Reduce("ReduceMin", x, all, false), nothing});
  const Val high = b.Op("Maximum", {b.Reduce("ReduceMax", x, all, false), nothing});
  const Val scale = b.Div(b.Sub(high, low), b.ScalarLike(x, 255));
  const Val zero = Rounded(c, b.Div(b.Sub(nothing, low), scale), {}, DType::kUint8);
  c.Out(0, Rounded(c, b.Div(x, scale), zero, DType::kUint8));
  c.Out(1, scale);
  c.Out(2, zero);
}

// Row zero points broadcast along the last dimension, column ones are indexed by it.
Val LessZero(Builder& b, const Val& x, const Val& zero, bool rows) {
  Val wide = b.Cast(x, DType::kInt32);
  if (!Given(zero)) return wide;
  Val less = b.Cast(zero, DType::kInt32);
  if (rows && b.RankOf(less) == 1 && b.DimsOf(less)[0] != 1) less = b.Unsqueeze(less, {1});
  return b.Sub(wide, less);
}

void MatMulInteger(Context& c) {
  Builder& b = c.b;
  c.Out(b.Op("MillpondMatMul", {LessZero(b, c.In(0), c.Maybe(2), true), LessZero(b, c.In(1), c.Maybe(3), false)}));
}

void QLinearMatMul(Context& c) {
  Builder& b = c.b;
  const Val sums = b.Op("MillpondMatMul", {LessZero(b, c.In(0), c.In(2), true), LessZero(b, c.In(3), c.In(5), false)});
  const auto scale = [&](size_t place, bool rows) {
    Val value = b.Cast(c.In(place), DType::kDouble);
    if (rows && b.RankOf(value) == 1 && b.DimsOf(value)[0] != 1) value = b.Unsqueeze(value, {1});
    return value;
  };
  Val result = b.Mul(b.Cast(sums, DType::kDouble), b.Div(b.Mul(scale(1, true), scale(4, false)), scale(6, true)));
  Val zero = c.In(7);
  if (b.RankOf(zero) == 1 && b.DimsOf(zero)[0] != 1) zero = b.Unsqueeze(zero, {1});
  c.Out(Rounded(c, result, zero, b.TypeOf(zero)));
}

constexpr HandlerEntry kQuantHandlers[] = {
    MP_ONNX(DequantizeLinear), MP_ONNX(DynamicQuantizeLinear), MP_ONNX(MatMulInteger),
    MP_ONNX(QLinearMatMul),    MP_ONNX(QuantizeLinear),
};

}  // namespace

std::span<const HandlerEntry> QuantHandlers() { return kQuantHandlers; }

}  // namespace millpond::onnx

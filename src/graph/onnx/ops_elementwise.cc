// SPDX-License-Identifier: Apache-2.0
// Elementwise operators.
#include <array>
#include <cmath>
#include <limits>

#include "src/graph/onnx/narrow.h"

namespace millpond::onnx {
namespace {

bool IsReal(DType type) { return (ClassOf(type) & (kHalfTypes | kFloatTypes)) != 0; }

// Maps unsigned 64-bit order to signed order: the sign bit is flipped.
Val AsOrdered(Builder& b, const Val& value) {
  return b.Sub(b.Cast(value, DType::kInt64), b.ConstInt(std::numeric_limits<int64_t>::min()));
}

// For operators that depend only on the order of the operands; `gives_operand`: the result is one of them.
Val Ordered(Builder& b, const char* type, const Val& x, const Val& y, bool gives_operand) {
  if (b.TypeOf(x) != DType::kUint64) return b.Wide(type, {x, y});
  Val result = b.Op(type, {AsOrdered(b, x), AsOrdered(b, y)});
  if (!gives_operand) return result;
  return b.Cast(b.Sub(result, b.ConstInt(std::numeric_limits<int64_t>::min())), DType::kUint64);
}

void Compare(Context& c) {
  const char* type = c.type() == "Less"          ? "Less"
                     : c.type() == "Greater"     ? "Greater"
                     : c.type() == "LessOrEqual" ? "LessEqual"
                                                 : "GreaterEqual";
  c.Out(Ordered(c.b, type, c.In(0), c.In(1), false));
}

void Extreme(Context& c) {
  const Vals all = c.AllFrom(0);
  if (all.empty()) return c.Refuse("it has no inputs");
  Val result = all[0];
  for (size_t i = 1; i < all.size(); ++i) {
    result = Ordered(c.b, c.type() == "Max" ? "Maximum" : "Minimum", result, all[i], true);
  }
  c.Out(result);
}

void Sum(Context& c) {
  const Vals all = c.AllFrom(0);
  if (all.empty()) return c.Refuse("it has no inputs");
  Val result = all[0];
  for (size_t i = 1; i < all.size(); ++i) result = c.b.Add(result, all[i]);
  if (c.type() == "Mean") result = c.b.Div(result, c.b.ScalarLike(result, static_cast<double>(all.size())));
  c.Out(result);
}

void Divide(Context& c) {
  const Val x = c.In(0);
  c.Out(IsReal(c.b.TypeOf(x)) ? c.b.Div(x, c.In(1)) : c.b.Wide("TruncateDiv", {x, c.In(1)}));
}

void Modulo(Context& c) {
  const Val x = c.In(0);
  const bool truncated = c.Int("fmod", 0) != 0;
  c.Out(c.b.Wide(truncated ? "Mod" : "FloorMod", {x, c.In(1)}));
}

// The result has the base's type, whatever the exponent's is.
void Power(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const Val y = c.In(1);
  const DType type = b.TypeOf(x);
  if (b.TypeOf(y) == type) return c.Out(b.Wide("Pow", {x, y}));
  const bool whole = !IsReal(type) && !IsReal(b.TypeOf(y));
  const DType common = whole ? DType::kInt64 : DType::kDouble;
  c.Out(b.Cast(b.Op("Pow", {b.Cast(x, common), b.Cast(y, common)}), type));
}

void Clip(Context& c) {
  Val result = c.In(0);
  Val low = c.Maybe(1);
  Val high = c.Maybe(2);
  if (c.opset < 11) {
    if (c.HasAttr("min")) low = c.b.ScalarLike(result, c.Real("min", 0));
    if (c.HasAttr("max")) high = c.b.ScalarLike(result, c.Real("max", 0));
  }
  if (Given(low)) result = Ordered(c.b, "Maximum", result, low, true);
  if (Given(high)) result = Ordered(c.b, "Minimum", result, high, true);
  c.Out(Given(low) || Given(high) ? result : c.b.Op("Identity", {result}));
}

void Xor(Context& c) { c.Out(c.b.Op("LogicalNot", {c.b.Op("Equal", {c.In(0), c.In(1)})})); }

void Elu(Context& c) { c.Out(c.b.Wide("Elu", {c.In(0)}, {{"alpha", c.Real("alpha", 1.0)}})); }
void Selu(Context& c) {
  c.Out(c.b.Wide(
      "Elu", {c.In(0)},
      {{"alpha", c.Real("alpha", 1.67326319217681884765625)}, {"scale", c.Real("gamma", 1.05070102214813232421875)}}));
}
void Celu(Context& c) { c.Out(c.b.Wide("CeluV2", {c.In(0)}, {{"alpha", c.Real("alpha", 1.0)}})); }
void LeakyRelu(Context& c) { c.Out(c.b.Wide("LeakyRelu", {c.In(0)}, {{"negative_slope", c.Real("alpha", 0.01)}})); }
void Gelu(Context& c) { c.Out(c.b.Wide("GeluV2", {c.In(0)}, {{"approximate", c.Text("approximate", "none")}})); }

Val Clamped(Builder& b, const Val& x, double low, double high) {
  return b.Wide("Minimum", {b.Wide("Maximum", {x, b.ScalarLike(x, low)}), b.ScalarLike(x, high)});
}

void HardSigmoid(Context& c) {
  const Val x = c.In(0);
  const Val line = c.b.Add(c.b.Mul(x, c.b.ScalarLike(x, c.Real("alpha", 0.2))), c.b.ScalarLike(x, c.Real("beta", 0.5)));
  c.Out(Clamped(c.b, line, 0, 1));
}

void Swish(Context& c) {
  const Val x = c.In(0);
  c.Out(c.b.Mul(x, c.b.Wide("Sigmoid", {c.b.Mul(x, c.b.ScalarLike(x, c.Real("alpha", 1.0)))})));
}

void PRelu(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const Val zero = b.ScalarLike(x, 0);
  c.Out(b.Where(b.Wide("Less", {x, zero}), b.Mul(x, c.In(1)), x));
}

void ThresholdedRelu(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  c.Out(b.Where(b.Wide("Greater", {x, b.ScalarLike(x, c.Real("alpha", 1.0))}), x, b.ScalarLike(x, 0)));
}

void Shrink(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const double bound = c.Real("lambd", 0.5);
  const Val bias = b.ScalarLike(x, c.Real("bias", 0.0));
  const Val inner = b.Where(b.Wide("Greater", {x, b.ScalarLike(x, bound)}), b.Sub(x, bias), b.ScalarLike(x, 0));
  c.Out(b.Where(b.Wide("Less", {x, b.ScalarLike(x, -bound)}), b.Add(x, bias), inner));
}

void IsInf(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const bool positive = c.Int("detect_positive", 1) != 0;
  const bool negative = c.Int("detect_negative", 1) != 0;
  if (positive && negative) return c.Out(b.Op("IsInf", {x}));
  if (positive || negative) return c.Out(b.Op(positive ? "IsPosInf" : "IsNegInf", {x}));
  c.Out(b.Op("LogicalAnd", {b.Op("IsPosInf", {x}), b.Op("IsNegInf", {x})}));  // never true
}

void BitShift(Context& c) {
  Builder& b = c.b;
  const std::string direction = c.Text("direction", "");
  const Val x = c.In(0);
  const DType type = b.TypeOf(x);
  const Val wide = b.Cast(x, DType::kInt64);
  const Val by = b.Cast(c.In(1), DType::kInt64);
  if (direction == "LEFT") return c.Out(b.Cast(b.Op("LeftShift", {wide, by}), type));
  if (direction != "RIGHT") return c.Refuse("direction is \"%s\", and must be LEFT or RIGHT", direction.c_str());
  Val shifted = b.Op("RightShift", {wide, by});
  if (type == DType::kUint64) {
    // The shift was arithmetic: clear the top `by` bits.
    const Val ones = b.Op("LeftShift", {b.ConstInt(-1), b.Sub(b.ConstInt(63), by)});
    const Val kept = b.Op("Invert", {b.Op("LeftShift", {ones, b.ConstInt(1)})});
    shifted = b.Op("BitwiseAnd", {shifted, kept});
  }
  c.Out(b.Cast(shifted, type));
}

// The largest finite value of the narrow floats, to which saturating casts clamp.
double MaxOf(DType type) { return type == DType::kFloat8E4m3 ? 448 : 57344; }
constexpr int64_t kOnnxE4m3 = 17, kOnnxE8m0 = 24;

int64_t RoundOf(Context& c) {
  const std::string mode = c.Text("round_mode", "up");  // of FLOAT8E8M0 alone
  if (mode == "up" || mode == "down") return mode == "up" ? 1 : 2;
  if (mode != "nearest") c.Refuse("round_mode \"%.40s\" is not known", mode.c_str());
  return 0;
}

// `narrow`: of a type that its values do not show.
void CastTo(Context& c, const Val& given, DType type, const NarrowType* narrow) {
  Builder& b = c.b;
  const bool saturate = c.Int("saturate", 1) != 0;
  const int64_t round = RoundOf(c);
  if (narrow != nullptr && NarrowOf(given) == narrow) return c.Out(b.Op("Identity", {given}));
  if (narrow == nullptr && (type == DType::kUndefined || BitsOf(type) == 0))
    return c.Refuse("casts to this type are not supported");
  const bool powers = b.TypeOf(given) == DType::kFloat8E8m0;
  if (powers && type == DType::kFloat8E8m0) return c.Out(b.Op("Identity", {given}));
  const Val x = powers ? DecodedSmall(c, given, kOnnxE8m0) : Decoded(c, given);
  const DType from = b.TypeOf(x);
  if (narrow != nullptr) return c.Out(Encoded(c, x, *narrow, saturate));
  if (type == DType::kFloat8E8m0) return c.Out(EncodedSmall(c, x, kOnnxE8m0, type, saturate, round));
  if (type == DType::kFloat8E4m3 && !saturate) return c.Out(EncodedSmall(c, x, kOnnxE4m3, type, false, 0));
  const bool small = type == DType::kFloat8E4m3 || type == DType::kFloat8E5m2;
  if (small && IsReal(from) && saturate) {
    return c.Out(b.Cast(Clamped(b, b.Cast(x, DType::kFloat), -MaxOf(type), MaxOf(type)), type));
  }
  c.Out(from == type ? b.Op("Identity", {x}) : b.Cast(x, type));
}

void Cast(Context& c) {
  const int64_t to = c.Int("to", 0);
  const NarrowType* narrow = NarrowFromOnnx(to);
  if (narrow == nullptr && TypeFromOnnx(to) == DType::kUndefined)
    return c.Refuse("casts to %s are not supported", OnnxTypeName(to).c_str());
  CastTo(c, c.In(0), TypeFromOnnx(to), narrow);
}
void CastLike(Context& c) { CastTo(c, c.In(0), c.b.TypeOf(c.In(1)), NarrowOf(c.In(1))); }

void BitCast(Context& c) {
  const int64_t to = c.Int("to", 0);
  const DType type = TypeFromOnnx(to);
  const Val x = c.In(0);
  if (BitsOf(type) != BitsOf(c.b.TypeOf(x))) return c.Refuse("the types are of different sizes");
  c.Out(c.b.Op("Bitcast", {x}, {{"type", type}}));
}

void Softplus(Context& c) { c.Out(c.b.Wide("SoftplusV2", {c.In(0)}, {{"threshold", 40.0}})); }

constexpr HandlerEntry kElementwiseHandlers[] = {
    MP_ONNX(BitCast),
    MP_ONNX(BitShift),
    MP_ONNX(Cast),
    MP_ONNX(CastLike),
    MP_ONNX(Celu),
    MP_ONNX(Clip),
    {"Div", &Divide},
    MP_ONNX(Elu),
    MP_ONNX(Gelu),
    {"Greater", &Compare},
    {"GreaterOrEqual", &Compare},
    MP_ONNX(HardSigmoid),
    MP_ONNX(IsInf),
    MP_ONNX(LeakyRelu),
    {"Less", &Compare},
    {"LessOrEqual", &Compare},
    {"Max", &Extreme},
    {"Mean", &Sum},
    {"Min", &Extreme},
    {"Mod", &Modulo},
    MP_ONNX(PRelu),
    {"Pow", &Power},
    MP_ONNX(Selu),
    MP_ONNX(Shrink),
    MP_ONNX(Softplus),
    MP_ONNX(Sum),
    MP_ONNX(Swish),
    MP_ONNX(ThresholdedRelu),
    MP_ONNX(Xor),
};

struct SameEntry {
  std::string_view onnx;
  const char* ge;
};
constexpr SameEntry kSame[] = {
    {"Abs", "Abs"},
    {"Acos", "Acos"},
    {"Acosh", "Acosh"},
    {"Add", "Add"},
    {"And", "LogicalAnd"},
    {"Asin", "Asin"},
    {"Asinh", "Asinh"},
    {"Atan", "Atan"},
    {"Atanh", "Atanh"},
    {"BitwiseAnd", "BitwiseAnd"},
    {"BitwiseNot", "Invert"},
    {"BitwiseOr", "BitwiseOr"},
    {"BitwiseXor", "BitwiseXor"},
    {"Ceil", "Ceil"},
    {"Cos", "Cos"},
    {"Cosh", "Cosh"},
    {"Equal", "Equal"},
    {"Erf", "Erf"},
    {"Exp", "Exp"},
    {"Floor", "Floor"},
    {"HardSwish", "HardSwish"},
    {"Identity", "Identity"},
    {"IsNaN", "IsNan"},
    {"Log", "Log"},
    {"Mish", "Mish"},
    {"Mul", "Mul"},
    {"Neg", "Neg"},
    {"Not", "LogicalNot"},
    {"Or", "LogicalOr"},
    {"Reciprocal", "Reciprocal"},
    {"Relu", "Relu"},
    {"Round", "Rint"},
    {"Sigmoid", "Sigmoid"},
    {"Sign", "Sign"},
    {"Sin", "Sin"},
    {"Sinh", "Sinh"},
    {"Softsign", "Softsign"},
    {"Sqrt", "Sqrt"},
    {"Sub", "Sub"},
    {"Tan", "Tan"},
    {"Tanh", "Tanh"},
    {"Where", "SelectV2"},
};

}  // namespace

std::span<const HandlerEntry> ElementwiseHandlers() { return kElementwiseHandlers; }

const char* SameInGe(std::string_view type) {
  for (const SameEntry& entry : kSame) {
    if (entry.onnx == type) return entry.ge;
  }
  return nullptr;
}

}  // namespace millpond::onnx

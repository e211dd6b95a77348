// SPDX-License-Identifier: Apache-2.0
#include "src/graph/onnx/narrow.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millpond::onnx {
namespace {

struct Row {
  int64_t onnx_type;
  SmallFloat is;
};
constexpr Row kSmallFloats[] = {
    {17, {4, 3, 7, Codes::kNan}},            // FLOAT8E4M3FN
    {18, {4, 3, 8, Codes::kUnsignedZero}},   // FLOAT8E4M3FNUZ
    {19, {5, 2, 15, Codes::kIeee}},          // FLOAT8E5M2
    {20, {5, 2, 16, Codes::kUnsignedZero}},  // FLOAT8E5M2FNUZ
    {23, {2, 1, 1, Codes::kFinite}},         // FLOAT4E2M1
    {24, {8, 0, 127, Codes::kPowers}},       // FLOAT8E8M0
};

// Of each code.
std::vector<double> ValuesOf(const SmallFloat& is) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values;
  if (is.codes == Codes::kPowers) {
    for (int code = 0; code < 255; ++code) values.push_back(std::ldexp(1.0, code - is.bias));
    values.push_back(nan);
    return values;
  }
  const int half = 1 << (is.exponent + is.mantissa);
  const int top = (1 << is.exponent) - 1;
  for (int code = 0; code < 2 * half; ++code) {
    const int exponent = (code % half) >> is.mantissa;
    const int mantissa = code % (1 << is.mantissa);
    const double sign = code < half ? 1 : -1;
    double value = exponent == 0 ? std::ldexp(mantissa, 1 - is.bias - is.mantissa)
                                 : std::ldexp((1 << is.mantissa) + mantissa, exponent - is.bias - is.mantissa);
    if (is.codes == Codes::kIeee && exponent == top)
      value = mantissa == 0 ? std::numeric_limits<double>::infinity() : nan;
    if (is.codes == Codes::kNan && code % half == half - 1) value = nan;
    if (is.codes == Codes::kUnsignedZero && code == half) value = nan;
    values.push_back(sign * value);
  }
  return values;
}

Val TableOf(Context& c, int64_t onnx_type) {
  const SmallFloat* is = SmallFloatOf(onnx_type);
  if (is != nullptr) return c.b.ConstReals(ValuesOf(*is));
  c.Refuse("%s is no small float", OnnxTypeName(onnx_type).c_str());
  return {};
}

// They give elements of their first input another place.
constexpr std::string_view kMovers[] = {"Concat",   "Expand",   "Flatten",   "Gather",   "GatherElements",
                                        "GatherND", "Identity", "Reshape",   "Slice",    "Split",
                                        "Squeeze",  "Tile",     "Transpose", "Unsqueeze"};
// They know of these types themselves, or look at shapes alone.
constexpr std::string_view kAware[] = {"Cast", "CastLike", "DequantizeLinear", "QuantizeLinear", "Shape", "Size"};

bool IsOneOf(std::span<const std::string_view> list, const std::string& type) {
  return std::find(list.begin(), list.end(), type) != list.end();
}

}  // namespace

const SmallFloat* SmallFloatOf(int64_t onnx_type) {
  const auto* found = std::find_if(std::begin(kSmallFloats), std::end(kSmallFloats),
                                   [&](const Row& row) { return row.onnx_type == onnx_type; });
  return found == std::end(kSmallFloats) ? nullptr : &found->is;
}

const NarrowType* NarrowOf(const Val& value) {
  if (!Given(value)) return nullptr;
  const ir::TensorDesc& desc = value.node->outputs[static_cast<size_t>(value.index)];
  if (desc.attributes == nullptr) return nullptr;
  const auto found = desc.attributes->find(kNarrowKey);
  if (found == desc.attributes->end()) return nullptr;
  const int64_t* number = found->second.As<int64_t>();
  return number == nullptr ? nullptr : NarrowFromOnnx(*number);
}

Val Marked(Builder& b, const Val& value, const NarrowType& type) {
  const Val own = b.Op("Identity", {value});  // the value may be another's too
  if (!b.ok()) return own;
  MarkNarrow(type, &own.node->outputs[static_cast<size_t>(own.index)]);
  return own;
}

Val DecodedSmall(Context& c, const Val& value, int64_t onnx_type) {
  return c.b.Cast(c.b.Op("MillpondDecode", {value, TableOf(c, onnx_type)}), DType::kFloat);
}

Val Decoded(Context& c, const Val& value) {
  const NarrowType* type = NarrowOf(value);
  return type == nullptr || !type->is_float ? value : DecodedSmall(c, value, type->onnx_type);
}

Val EncodedSmall(Context& c, const Val& value, int64_t onnx_type, DType type, bool saturate, int64_t round) {
  return c.b.Op("MillpondEncode", {value, TableOf(c, onnx_type)},
                {{"type", type}, {"saturate", saturate}, {"round", round}});
}

Val Encoded(Context& c, const Val& value, const NarrowType& type, bool saturate) {
  Builder& b = c.b;
  if (type.is_float) {
    const bool always = type.bits < 8;  // nothing else is left to a type without infinity or NaN
    return Marked(b, EncodedSmall(c, value, type.onnx_type, type.carrier, saturate || always, 0), type);
  }
  // The lowest bits, as for wider integers.
  const int64_t mask = (int64_t{1} << type.bits) - 1;
  Val bits = b.Op("BitwiseAnd", {b.Cast(value, DType::kInt64), b.ConstInt(mask)});
  if (type.carrier == DType::kInt8) {
    const Val sign = b.ConstInt(int64_t{1} << (type.bits - 1));
    bits = b.Sub(b.Op("BitwiseXor", {bits, sign}), sign);
  }
  return Marked(b, b.Cast(bits, type.carrier), type);
}

Status CarryTypes(const Node& node, const Vals& inputs, Vals* outputs) {
  const NarrowType* first = inputs.empty() ? nullptr : NarrowOf(inputs[0]);
  const bool own = node.domain.empty();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const NarrowType* type = NarrowOf(inputs[i]);
    const bool same = i == 0 || node.type == "Concat";
    if (type == nullptr && !(node.type == "Concat" && first != nullptr)) continue;
    if (own && IsOneOf(kAware, node.type)) continue;
    MP_CHECK(own && IsOneOf(kMovers, node.type) && same && type == first, kUnsupported,
             "input %zu is of %s; of this type there are casts, quantisation and operators that move elements", i,
             type == nullptr ? "another type" : OnnxTypeName(type->onnx_type).c_str());
  }
  if (first == nullptr || !own || !IsOneOf(kMovers, node.type)) return Ok();
  for (Val& value : *outputs) {
    if (Given(value) && NarrowOf(value) == nullptr)
      MarkNarrow(*first, &value.node->outputs[static_cast<size_t>(value.index)]);
  }
  return Ok();
}

}  // namespace millpond::onnx

// SPDX-License-Identifier: Apache-2.0
// Element types of ONNX that the runtime has no form for: a byte holds each element, its number or, of small floats,
// its bits, and the value's descriptor says which type it is.
#ifndef MILLPOND_SRC_GRAPH_ONNX_NARROW_H_
#define MILLPOND_SRC_GRAPH_ONNX_NARROW_H_

#include "src/graph/onnx/context.h"

namespace millpond::onnx {

// What small floats are: where infinity and NaN lie.
enum class Codes : uint8_t { kFinite, kIeee, kNan, kUnsignedZero, kPowers };
struct SmallFloat {
  int exponent, mantissa, bias;
  Codes codes;
};
const SmallFloat* SmallFloatOf(int64_t onnx_type);  // null: none

// Null where the value is of the type that its descriptor says.
const NarrowType* NarrowOf(const Val& value);
Val Marked(Builder& b, const Val& value, const NarrowType& type);

// Numbers that any operator takes.
Val Decoded(Context& c, const Val& value);
Val DecodedSmall(Context& c, const Val& value, int64_t onnx_type);
// From numbers. round: as MillpondEncode's.
Val Encoded(Context& c, const Val& value, const NarrowType& type, bool saturate);
Val EncodedSmall(Context& c, const Val& value, int64_t onnx_type, DType type, bool saturate, int64_t round);

// After the translation of a node: the results of operators that only move elements have the first input's type; others
// that know nothing of such types are refused.
Status CarryTypes(const Node& node, const Vals& inputs, Vals* outputs);

}  // namespace millpond::onnx

#endif  // MILLPOND_SRC_GRAPH_ONNX_NARROW_H_

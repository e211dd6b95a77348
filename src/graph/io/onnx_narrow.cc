// SPDX-License-Identifier: Apache-2.0
// Elements of less than a byte in files, and types that only a mark tells from bytes.
#include <algorithm>

#include "src/graph/io/onnx_model.h"

namespace millpond::onnx {
namespace {

constexpr NarrowType kNarrow[] = {
    {18, 8, true, DType::kUint8},   // FLOAT8E4M3FNUZ
    {20, 8, true, DType::kUint8},   // FLOAT8E5M2FNUZ
    {21, 4, false, DType::kUint8},  // UINT4
    {22, 4, false, DType::kInt8},   // INT4
    {23, 4, true, DType::kUint8},   // FLOAT4E2M1
    {25, 2, false, DType::kUint8},  // UINT2
    {26, 2, false, DType::kInt8},   // INT2
};

}  // namespace

const NarrowType* NarrowFromOnnx(int64_t onnx_type) {
  const auto* found = std::find_if(std::begin(kNarrow), std::end(kNarrow),
                                   [&](const NarrowType& one) { return one.onnx_type == onnx_type; });
  return found == std::end(kNarrow) ? nullptr : found;
}

void MarkNarrow(const NarrowType& type, ir::TensorDesc* desc) {
  auto attributes =
      desc->attributes ? std::make_shared<ir::Attributes>(*desc->attributes) : std::make_shared<ir::Attributes>();
  (*attributes)[kNarrowKey] = ir::Attr{type.onnx_type};
  desc->attributes = std::move(attributes);
}

ir::Bytes Unpacked(const NarrowType& type, const ir::Bytes& packed, int64_t elements) {
  const int each = 8 / type.bits;
  const auto mask = static_cast<uint8_t>((1U << type.bits) - 1);
  const auto sign = static_cast<uint8_t>(1U << (type.bits - 1));
  std::vector<uint8_t> out(static_cast<size_t>(elements));
  for (size_t i = 0; i < out.size(); ++i) {
    const auto byte = std::to_integer<uint8_t>(packed.data[i / static_cast<size_t>(each)]);
    auto bits = static_cast<uint8_t>((byte >> (static_cast<int>(i % static_cast<size_t>(each)) * type.bits)) & mask);
    if (type.carrier == DType::kInt8) bits = static_cast<uint8_t>((bits ^ sign) - sign);
    out[i] = bits;
  }
  return ir::Bytes::Copy(out.data(), out.size());
}

}  // namespace millpond::onnx

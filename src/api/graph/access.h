// SPDX-License-Identifier: Apache-2.0
// From the public values of graph building to what they hold, and back. Exported by libgraph for libge_runner, which is
// built with it. None fails on an object that was moved from: reading gives the empty value, writing makes a new one.
#ifndef MILLPOND_SRC_API_GRAPH_ACCESS_H_
#define MILLPOND_SRC_API_GRAPH_ACCESS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "include/graph/ascend_string.h"
#include "include/graph/attr_value.h"
#include "include/graph/tensor.h"
#include "include/graph/types.h"
#include "src/base/dtype.h"
#include "src/graph/ir/value.h"

#define MP_GRAPH_API __attribute__((visibility("default")))

namespace millpond::api {

// Types are numbered alike but for "undefined". Numbers we have no name for keep their value.
constexpr DType DTypeOf(ge::DataType type) {
  const int number = static_cast<int>(type);
  return number == ge::DT_UNDEFINED || number < 0 || number > INT8_MAX ? DType::kUndefined : static_cast<DType>(number);
}
constexpr ge::DataType Wrap(DType type) {
  return type == DType::kUndefined ? ge::DT_UNDEFINED : static_cast<ge::DataType>(type);
}

inline ir::Placement PlacementOf(ge::Placement placement) { return static_cast<ir::Placement>(placement); }
inline ge::Placement Wrap(ir::Placement placement) { return static_cast<ge::Placement>(placement); }

// All bytes of the text, also what follows a zero.
inline std::string TextOf(const ge::AscendString& text) { return {text.GetString(), text.GetLength()}; }
inline ge::AscendString Wrap(std::string_view text) { return {text.data() == nullptr ? "" : text.data(), text.size()}; }

// Shapes.
MP_GRAPH_API const ir::Dims& DimsOf(const ge::Shape& shape);

// Descriptions. A reference is good while the object lives and is not assigned to.
MP_GRAPH_API const ir::TensorDesc& DescOf(const ge::TensorDesc& desc);
MP_GRAPH_API ir::TensorDesc& MutableDescOf(ge::TensorDesc& desc);
MP_GRAPH_API ge::TensorDesc Wrap(ir::TensorDesc desc);

// Tensors. Copies of a ge::Tensor are one tensor, so a change is seen through all of them.
MP_GRAPH_API const ir::TensorDesc& DescOf(const ge::Tensor& tensor);
MP_GRAPH_API ir::TensorDesc& MutableDescOf(ge::Tensor& tensor);
// The memory as it is, host or device, nothing copied; `keep` holds it when the tensor is changed or goes. The data is
// null when the tensor has none.
MP_GRAPH_API ir::Bytes MemoryOf(const ge::Tensor& tensor);
// A constant for a graph. Host memory that the tensor owns is shared, and who writes to the tensor later gets a copy
// first; memory of the caller and of the device is copied to the host. Null when that copy fails.
MP_GRAPH_API ir::TensorPtr ConstantOf(const ge::Tensor& tensor);
// Shares the constant's bytes; who writes to the tensor gets a copy first.
MP_GRAPH_API ge::Tensor Wrap(const ir::Tensor& tensor);

// Attributes. Conversions between an ir::Attr and the C++ types are in attr_convert.h.
MP_GRAPH_API const ir::Attr& AttrOf(const ge::AttrValue& value);
MP_GRAPH_API ir::Attr& MutableAttrOf(ge::AttrValue& value);
MP_GRAPH_API ge::AttrValue Wrap(ir::Attr attr);

// The types a definition allows, in the order they were given.
MP_GRAPH_API std::vector<DType> TypesOf(const ge::TensorType& type);

}  // namespace millpond::api

#endif  // MILLPOND_SRC_API_GRAPH_ACCESS_H_

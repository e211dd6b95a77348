// SPDX-License-Identifier: Apache-2.0
// The numbers of onnx.proto that dumps use.
#ifndef MILLPOND_SRC_GRAPH_IO_ONNX_FORMAT_H_
#define MILLPOND_SRC_GRAPH_IO_ONNX_FORMAT_H_

#include <cstdint>
#include <string>

#include "src/base/dtype.h"
#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace millpond::io {

enum OnnxModelField : uint32_t { kOnnxIrVersion = 1, kOnnxProducer = 2, kOnnxModelGraph = 7 };
enum OnnxGraphField : uint32_t { kOnnxGraphNode = 1, kOnnxGraphName = 2, kOnnxGraphInput = 11, kOnnxGraphOutput = 12 };
enum OnnxNodeField : uint32_t {
  kOnnxNodeInput = 1,
  kOnnxNodeOutput = 2,
  kOnnxNodeName = 3,
  kOnnxNodeType = 4,
  kOnnxNodeAttr = 5,
};
enum OnnxAttrField : uint32_t {
  kOnnxAttrName = 1,
  kOnnxAttrFloat = 2,
  kOnnxAttrInt = 3,
  kOnnxAttrText = 4,
  kOnnxAttrTensor = 5,
  kOnnxAttrGraph = 6,
  kOnnxAttrFloats = 7,
  kOnnxAttrInts = 8,
  kOnnxAttrTexts = 9,
  kOnnxAttrType = 20,
};
enum class OnnxAttrKind : int64_t { kFloat = 1, kInt, kText, kTensor, kGraph, kFloats, kInts, kTexts };
enum OnnxValueField : uint32_t { kOnnxValueName = 1, kOnnxValueType = 2 };
inline constexpr uint32_t kOnnxTensorType = 1;  // of a type
enum OnnxTensorTypeField : uint32_t { kOnnxElemType = 1, kOnnxTypeShape = 2 };
inline constexpr uint32_t kOnnxShapeDim = 1;
enum OnnxDimField : uint32_t { kOnnxDimValue = 1, kOnnxDimParam = 2 };
enum OnnxTensorField : uint32_t { kOnnxTensorDims = 1, kOnnxTensorDataType = 2, kOnnxTensorRaw = 9 };

// A ModelProto in bytes, for OnnxSchema to print. `with_attributes`: also what nodes carry; `with_data`: also
// constants.
Status WriteOnnx(const ir::Graph& graph, bool with_attributes, bool with_data, std::string* out);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_ONNX_FORMAT_H_

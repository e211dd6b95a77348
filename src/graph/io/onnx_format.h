// SPDX-License-Identifier: Apache-2.0
// The numbers of onnx.proto that dumps and the reader use.
#ifndef MILLPOND_SRC_GRAPH_IO_ONNX_FORMAT_H_
#define MILLPOND_SRC_GRAPH_IO_ONNX_FORMAT_H_

#include <cstdint>
#include <string>

#include "src/base/dtype.h"
#include "src/base/status.h"
#include "src/graph/ir/graph.h"

namespace millpond::io {

enum OnnxModelField : uint32_t {
  kOnnxIrVersion = 1,
  kOnnxProducer = 2,
  kOnnxModelGraph = 7,
  kOnnxOpsetImport = 8,
  kOnnxFunctions = 25,
};
enum OnnxOpsetField : uint32_t { kOnnxOpsetDomain = 1, kOnnxOpsetVersion = 2 };
enum OnnxFunctionField : uint32_t {
  kOnnxFunctionName = 1,
  kOnnxFunctionInput = 4,
  kOnnxFunctionOutput = 5,
  kOnnxFunctionAttr = 6,
  kOnnxFunctionNode = 7,
  kOnnxFunctionOpset = 9,
  kOnnxFunctionDomain = 10,
  kOnnxFunctionDefault = 11,
};
enum OnnxGraphField : uint32_t {
  kOnnxGraphNode = 1,
  kOnnxGraphName = 2,
  kOnnxGraphConstant = 5,
  kOnnxGraphInput = 11,
  kOnnxGraphOutput = 12,
  kOnnxGraphSparse = 15,
};
enum OnnxNodeField : uint32_t {
  kOnnxNodeInput = 1,
  kOnnxNodeOutput = 2,
  kOnnxNodeName = 3,
  kOnnxNodeType = 4,
  kOnnxNodeAttr = 5,
  kOnnxNodeDomain = 7,
  kOnnxNodeOverload = 8,
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
  kOnnxAttrReference = 21,
};
enum class OnnxAttrKind : int64_t { kFloat = 1, kInt, kText, kTensor, kGraph, kFloats, kInts, kTexts };
enum OnnxValueField : uint32_t { kOnnxValueName = 1, kOnnxValueType = 2 };
enum OnnxTypeField : uint32_t {
  kOnnxTensorType = 1,
  kOnnxSequenceType = 4,
  kOnnxMapType = 5,
  kOnnxSparseType = 8,
  kOnnxOptionalType = 9,
};
enum OnnxTensorTypeField : uint32_t { kOnnxElemType = 1, kOnnxTypeShape = 2 };
inline constexpr uint32_t kOnnxShapeDim = 1;
enum OnnxDimField : uint32_t { kOnnxDimValue = 1, kOnnxDimParam = 2 };
enum OnnxTensorField : uint32_t {
  kOnnxTensorDims = 1,
  kOnnxTensorDataType = 2,
  kOnnxTensorSegment = 3,
  kOnnxTensorFloats = 4,
  kOnnxTensorInts32 = 5,
  kOnnxTensorTexts = 6,
  kOnnxTensorInts64 = 7,
  kOnnxTensorName = 8,
  kOnnxTensorRaw = 9,
  kOnnxTensorDoubles = 10,
  kOnnxTensorUints64 = 11,
  kOnnxTensorExternal = 13,
  kOnnxTensorLocation = 14,
};
enum OnnxEntryField : uint32_t { kOnnxEntryKey = 1, kOnnxEntryValue = 2 };

// A serialised ModelProto, for OnnxSchema to print. `with_attributes`: including node attributes;
// `with_data`: including constants.
Status WriteOnnx(const ir::Graph& graph, bool with_attributes, bool with_data, std::string* out);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_ONNX_FORMAT_H_

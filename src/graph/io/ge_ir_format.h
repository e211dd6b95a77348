// SPDX-License-Identifier: Apache-2.0
// The numbers and names of ge_ir.proto that its reader, its writer and the text dumps share.
#ifndef MILLPOND_SRC_GRAPH_IO_GE_IR_FORMAT_H_
#define MILLPOND_SRC_GRAPH_IO_GE_IR_FORMAT_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "src/base/dtype.h"
#include "src/graph/ir/graph.h"

namespace millpond::io {

enum ModelField : uint32_t { kModelName = 1, kModelGraph = 7 };

enum GraphField : uint32_t { kGraphName = 1, kGraphInput = 4, kGraphOutput = 5, kGraphOp = 6, kGraphAttr = 11 };

enum OpField : uint32_t {
  kOpName = 1,
  kOpType = 2,
  kOpInput = 5,
  kOpAttr = 10,
  kOpId = 21,
  kOpInputDesc = 33,
  kOpOutputDesc = 34,
  kOpSubgraph = 35,
};

enum DescField : uint32_t {
  kDescName = 1,
  kDescDtype = 2,
  kDescShape = 3,
  kDescLayout = 4,
  kDescAttr = 5,
  kDescSize = 10,
  kDescWeightSize = 11,
  kDescReuseInput = 12,
  kDescOutputTensor = 13,
  kDescDeviceType = 14,
  kDescInputTensor = 15,
  kDescRealDimCount = 16,
  kDescReuseInputIndex = 17,
  kDescDataOffset = 18,
  kDescCmpsSize = 19,
  kDescCmpsTab = 20,
  kDescCmpsTabOffset = 21,
  kDescShapeUnset = 1000,  // ours, for what GE cannot express; others skip it
};

enum TensorField : uint32_t { kTensorDesc = 1, kTensorData = 2 };
enum NamedField : uint32_t { kNamedName = 1, kNamedAttr = 2 };
enum EntryField : uint32_t { kEntryKey = 1, kEntryValue = 2 };
inline constexpr uint32_t kShapeDim = 1;
inline constexpr uint32_t kInnerList = 1;  // of the lists of lists, both levels

enum AttrField : uint32_t {
  kAttrList = 1,
  kAttrText = 2,
  kAttrInt = 3,
  kAttrFloat = 4,
  kAttrBool = 5,
  kAttrBytes = 7,
  kAttrNamed = 10,
  kAttrDesc = 11,
  kAttrTensor = 12,
  kAttrGraph = 13,
  kAttrListListInt = 14,
  kAttrType = 15,
  kAttrListListFloat = 16,
  kAttrExpression = 17,
};

enum ListField : uint32_t {
  kListText = 2,
  kListInt = 3,
  kListFloat = 4,
  kListBool = 5,
  kListBytes = 7,
  kListDesc = 8,
  kListTensor = 9,
  kListGraph = 10,
  kListNamed = 11,
  kListType = 12,
  kListValType = 20,
};

enum class ListKind : int64_t {
  kNone = 0,
  kText = 1,
  kInt = 2,
  kFloat = 3,
  kBool = 4,
  kBytes = 5,
  kDesc = 6,
  kTensor = 7,
  kGraph = 8,
  kNamed = 9,
  kType = 10,
};

// Attributes of a description that are its fields in the IR.
inline constexpr std::string_view kOriginFormat = "origin_format";
inline constexpr std::string_view kOriginFormatNumber = "origin_format_for_int";
inline constexpr std::string_view kFormatNumber = "format_for_int";
inline constexpr std::string_view kOriginShape = "origin_shape";
inline constexpr std::string_view kOriginShapeSet = "origin_shape_initialized";
inline constexpr std::string_view kShapeRange = "shape_range";
inline constexpr std::string_view kPlacement = "placement";
inline constexpr std::string_view kExpandDimsRule = "_expand_dims_rule";
// Fields of a description that are attributes in the IR.
struct RareField {
  DescField number;
  std::string_view attribute;
  enum { kInt, kBool, kText } kind;
};
inline constexpr std::array<RareField, 8> kRareFields = {{
    {kDescWeightSize, "weight_size", RareField::kInt},
    {kDescOutputTensor, "output_tensor", RareField::kBool},
    {kDescDeviceType, "device_type", RareField::kText},
    {kDescInputTensor, "input_tensor", RareField::kBool},
    {kDescDataOffset, "data_offset", RareField::kInt},
    {kDescCmpsSize, "cmps_size", RareField::kInt},
    {kDescCmpsTab, "cmps_tab", RareField::kText},
    {kDescCmpsTabOffset, "cmps_tab_offset", RareField::kInt},
}};
// Attributes of a graph and a node for IR fields that the file lacks.
inline constexpr std::string_view kTargets = "_targets";
inline constexpr std::string_view kSubgraphOperands = "_subgraph_operands";

// ge.proto.DataType, which has its own numbering. Unknown values map to kUndefined, and to 0 in the file.
DType DTypeFromProto(int64_t number);
int64_t ProtoFromDType(DType type);
// ge::DataType's number, as attributes hold it: 28 is undefined there.
DType DTypeFromNumber(int64_t number);
int64_t NumberFromDType(DType type);

// "ND", "NCHW", ... for a format without its sub-format; empty when it has no name.
std::string_view FormatName(int32_t format);
// FORMAT_RESERVED when no format has that name.
int32_t FormatFromName(std::string_view name);
inline constexpr int32_t kFormatReserved = 40;
// Without the sub-format and C0 in the upper bits.
inline int32_t PrimaryFormat(int32_t format) { return format & 0xff; }

// Names unnamed operands after their type's definition, as far as that is unambiguous.
void RecoverOperandNames(ir::Node* node);
// The operand that each of `count` subgraphs of a type is for; empty where unknown.
std::vector<std::string> SubgraphOperands(std::string_view type, size_t count);

// A node that a graph is fed through.
bool IsDataType(std::string_view type);
// A node whose description without a shape is a scalar's.
bool IsSourceType(std::string_view type);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_GE_IR_FORMAT_H_

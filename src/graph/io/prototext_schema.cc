// SPDX-License-Identifier: Apache-2.0
// Field names: ge_ir.proto (docs/compat.md, "Graphs in files") and, for the dumps that model viewers open, onnx.proto.
#include <iterator>

#include "src/graph/io/ge_ir_format.h"
#include "src/graph/io/onnx_format.h"
#include "src/graph/io/prototext.h"

namespace millpond::io {

namespace {

using Kind = FieldSchema::Kind;

constexpr const char* kTypeWords[] = {
    "DT_UNDEFINED",   "DT_FLOAT",       "DT_FLOAT16",       "DT_INT8",           "DT_UINT8",       "DT_INT16",
    "DT_UINT16",      "DT_INT32",       "DT_INT64",         "DT_UINT32",         "DT_UINT64",      "DT_BOOL",
    "DT_DOUBLE",      "DT_STRING",      "DT_DUAL_SUB_INT8", "DT_DUAL_SUB_UINT8", "DT_COMPLEX64",   "DT_COMPLEX128",
    "DT_QINT8",       "DT_QINT16",      "DT_QINT32",        "DT_QUINT8",         "DT_QUINT16",     "DT_RESOURCE",
    "DT_STRING_REF",  "DT_DUAL",        "DT_VARIANT",       "DT_BF16",           "DT_INT4",        "DT_UINT1",
    "DT_INT2",        "DT_UINT2",       "DT_COMPLEX32",     "DT_HIFLOAT8",       "DT_FLOAT8_E5M2", "DT_FLOAT8_E4M3FN",
    "DT_FLOAT8_E8M0", "DT_FLOAT6_E3M2", "DT_FLOAT6_E2M3",   "DT_FLOAT4_E2M1",    "DT_FLOAT4_E1M2", "DT_HIFLOAT4"};
constexpr const char* kListWords[] = {"VT_LIST_NONE",  "VT_LIST_STRING",      "VT_LIST_INT",         "VT_LIST_FLOAT",
                                      "VT_LIST_BOOL",  "VT_LIST_BYTES",       "VT_LIST_TENSOR_DESC", "VT_LIST_TENSOR",
                                      "VT_LIST_GRAPH", "VT_LIST_NAMED_ATTRS", "VT_LIST_DATA_TYPE"};
constexpr const char* kOnnxAttrWords[] = {"UNDEFINED", "FLOAT", "INT",     "STRING",  "TENSOR", "GRAPH",
                                          "FLOATS",    "INTS",  "STRINGS", "TENSORS", "GRAPHS"};

// Mutually recursive messages need forward declarations.
extern const MessageSchema kGraph;
extern const MessageSchema kDesc;
extern const MessageSchema kAttr;
extern const MessageSchema kOnnxGraph;

constexpr FieldSchema kShapeFields[] = {{kShapeDim, "dim", Kind::kInt}};
constexpr MessageSchema kShape = {kShapeFields};

const FieldSchema kEntryFields[] = {{kEntryKey, "key", Kind::kText}, {kEntryValue, "value", Kind::kMessage, &kAttr}};
const MessageSchema kEntry = {kEntryFields};

const FieldSchema kNamedFields[] = {{kNamedName, "name", Kind::kText}, {kNamedAttr, "attr", Kind::kMessage, &kEntry}};
const MessageSchema kNamed = {kNamedFields};

const FieldSchema kTensorFields[] = {{kTensorDesc, "desc", Kind::kMessage, &kDesc}, {kTensorData, "data", Kind::kText}};
const MessageSchema kTensor = {kTensorFields};

const FieldSchema kListFields[] = {
    {kListText, "s", Kind::kText},
    {kListInt, "i", Kind::kInt},
    {kListFloat, "f", Kind::kFloat},
    {kListBool, "b", Kind::kBool},
    {kListBytes, "bt", Kind::kText},
    {kListDesc, "td", Kind::kMessage, &kDesc},
    {kListTensor, "t", Kind::kMessage, &kTensor},
    {kListGraph, "g", Kind::kMessage, &kGraph},
    {kListNamed, "na", Kind::kMessage, &kNamed},
    {kListType, "dt", Kind::kInt},
    {kListValType, "val_type", Kind::kEnum, nullptr, kListWords},
};
const MessageSchema kList = {kListFields};

constexpr FieldSchema kIntRowFields[] = {{kInnerList, "list_i", Kind::kInt}};
constexpr MessageSchema kIntRow = {kIntRowFields};
constexpr FieldSchema kIntRowsFields[] = {{kInnerList, "list_list_i", Kind::kMessage, &kIntRow}};
constexpr MessageSchema kIntRows = {kIntRowsFields};
constexpr FieldSchema kFloatRowFields[] = {{kInnerList, "list_f", Kind::kFloat}};
constexpr MessageSchema kFloatRow = {kFloatRowFields};
constexpr FieldSchema kFloatRowsFields[] = {{kInnerList, "list_list_f", Kind::kMessage, &kFloatRow}};
constexpr MessageSchema kFloatRows = {kFloatRowsFields};

const FieldSchema kAttrFields[] = {
    {kAttrList, "list", Kind::kMessage, &kList},
    {kAttrText, "s", Kind::kText},
    {kAttrInt, "i", Kind::kInt},
    {kAttrFloat, "f", Kind::kFloat},
    {kAttrBool, "b", Kind::kBool},
    {kAttrBytes, "bt", Kind::kText},
    {kAttrNamed, "func", Kind::kMessage, &kNamed},
    {kAttrDesc, "td", Kind::kMessage, &kDesc},
    {kAttrTensor, "t", Kind::kMessage, &kTensor},
    {kAttrGraph, "g", Kind::kMessage, &kGraph},
    {kAttrListListInt, "list_list_int", Kind::kMessage, &kIntRows},
    {kAttrType, "dt", Kind::kInt},
    {kAttrListListFloat, "list_list_float", Kind::kMessage, &kFloatRows},
    {kAttrExpression, "expression", Kind::kText},
};
const MessageSchema kAttr = {kAttrFields};

const FieldSchema kDescFields[] = {
    {kDescName, "name", Kind::kText},
    {kDescDtype, "dtype", Kind::kEnum, nullptr, kTypeWords},
    {kDescShape, "shape", Kind::kMessage, &kShape},
    {kDescLayout, "layout", Kind::kText},
    {kDescAttr, "attr", Kind::kMessage, &kEntry},
    {kDescSize, "size", Kind::kInt},
    {kDescWeightSize, "weight_size", Kind::kInt},
    {kDescReuseInput, "reuse_input", Kind::kBool},
    {kDescOutputTensor, "output_tensor", Kind::kBool},
    {kDescDeviceType, "device_type", Kind::kText},
    {kDescInputTensor, "input_tensor", Kind::kBool},
    {kDescRealDimCount, "real_dim_cnt", Kind::kInt},
    {kDescReuseInputIndex, "reuse_input_index", Kind::kInt},
    {kDescDataOffset, "data_offset", Kind::kInt},
    {kDescCmpsSize, "cmps_size", Kind::kInt},
    {kDescCmpsTab, "cmps_tab", Kind::kText},
    {kDescCmpsTabOffset, "cmps_tab_offset", Kind::kInt},
};
const MessageSchema kDesc = {kDescFields};

const FieldSchema kOpFields[] = {
    {kOpName, "name", Kind::kText},
    {kOpType, "type", Kind::kText},
    {kOpInput, "input", Kind::kText},
    {kOpAttr, "attr", Kind::kMessage, &kEntry},
    {kOpId, "id", Kind::kInt},
    {kOpInputDesc, "input_desc", Kind::kMessage, &kDesc},
    {kOpOutputDesc, "output_desc", Kind::kMessage, &kDesc},
    {kOpSubgraph, "subgraph_name", Kind::kText},
};
const MessageSchema kOp = {kOpFields};

const FieldSchema kGraphFields[] = {
    {kGraphName, "name", Kind::kText},
    {kGraphInput, "input", Kind::kText},
    {kGraphOutput, "output", Kind::kText},
    {kGraphOp, "op", Kind::kMessage, &kOp},
    {kGraphAttr, "attr", Kind::kMessage, &kEntry},
};
const MessageSchema kGraph = {kGraphFields};

const FieldSchema kModelFields[] = {{kModelName, "name", Kind::kText}, {kModelGraph, "graph", Kind::kMessage, &kGraph}};
const MessageSchema kModel = {kModelFields};

constexpr FieldSchema kDimensionFields[] = {{kOnnxDimValue, "dim_value", Kind::kInt},
                                            {kOnnxDimParam, "dim_param", Kind::kText}};
constexpr MessageSchema kDimension = {kDimensionFields};
constexpr FieldSchema kOnnxShapeFields[] = {{kOnnxShapeDim, "dim", Kind::kMessage, &kDimension}};
constexpr MessageSchema kOnnxShape = {kOnnxShapeFields};
constexpr FieldSchema kTensorTypeFields[] = {{kOnnxElemType, "elem_type", Kind::kInt},
                                             {kOnnxTypeShape, "shape", Kind::kMessage, &kOnnxShape}};
constexpr MessageSchema kTensorType = {kTensorTypeFields};
constexpr FieldSchema kTypeFields[] = {{kOnnxTensorType, "tensor_type", Kind::kMessage, &kTensorType}};
constexpr MessageSchema kType = {kTypeFields};
constexpr FieldSchema kValueFields[] = {{kOnnxValueName, "name", Kind::kText},
                                        {kOnnxValueType, "type", Kind::kMessage, &kType}};
constexpr MessageSchema kValue = {kValueFields};
constexpr FieldSchema kOnnxTensorFields[] = {{kOnnxTensorDims, "dims", Kind::kInt},
                                             {kOnnxTensorDataType, "data_type", Kind::kInt},
                                             {kOnnxTensorRaw, "raw_data", Kind::kText}};
constexpr MessageSchema kOnnxTensor = {kOnnxTensorFields};

const FieldSchema kOnnxAttrFields[] = {
    {kOnnxAttrName, "name", Kind::kText},
    {kOnnxAttrFloat, "f", Kind::kFloat},
    {kOnnxAttrInt, "i", Kind::kInt},
    {kOnnxAttrText, "s", Kind::kText},
    {kOnnxAttrTensor, "t", Kind::kMessage, &kOnnxTensor},
    {kOnnxAttrGraph, "g", Kind::kMessage, &kOnnxGraph},
    {kOnnxAttrFloats, "floats", Kind::kFloat},
    {kOnnxAttrInts, "ints", Kind::kInt},
    {kOnnxAttrTexts, "strings", Kind::kText},
    {kOnnxAttrType, "type", Kind::kEnum, nullptr, kOnnxAttrWords},
};
const MessageSchema kOnnxAttr = {kOnnxAttrFields};
const FieldSchema kOnnxNodeFields[] = {{kOnnxNodeInput, "input", Kind::kText},
                                       {kOnnxNodeOutput, "output", Kind::kText},
                                       {kOnnxNodeName, "name", Kind::kText},
                                       {kOnnxNodeType, "op_type", Kind::kText},
                                       {kOnnxNodeAttr, "attribute", Kind::kMessage, &kOnnxAttr}};
const MessageSchema kOnnxNode = {kOnnxNodeFields};
const FieldSchema kOnnxGraphFields[] = {{kOnnxGraphNode, "node", Kind::kMessage, &kOnnxNode},
                                        {kOnnxGraphName, "name", Kind::kText},
                                        {kOnnxGraphInput, "input", Kind::kMessage, &kValue},
                                        {kOnnxGraphOutput, "output", Kind::kMessage, &kValue}};
const MessageSchema kOnnxGraph = {kOnnxGraphFields};
const FieldSchema kOnnxModelFields[] = {{kOnnxIrVersion, "ir_version", Kind::kInt},
                                        {kOnnxProducer, "producer_name", Kind::kText},
                                        {kOnnxModelGraph, "graph", Kind::kMessage, &kOnnxGraph}};
const MessageSchema kOnnxModel = {kOnnxModelFields};

}  // namespace

const MessageSchema& ModelSchema() { return kModel; }
const MessageSchema& OnnxSchema() { return kOnnxModel; }

}  // namespace millpond::io

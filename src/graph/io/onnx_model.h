// SPDX-License-Identifier: Apache-2.0
// An ONNX model as stored: names, attributes and constants, not interpreted yet. src/graph/onnx makes a graph of
// it.
#ifndef MILLPOND_SRC_GRAPH_IO_ONNX_MODEL_H_
#define MILLPOND_SRC_GRAPH_IO_ONNX_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/value.h"

namespace millpond::onnx {

struct Graph;

// onnx.AttributeProto.AttributeType.
enum class AttrKind : int64_t {
  kNone = 0,
  kFloat = 1,
  kInt = 2,
  kText = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kTexts = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparse = 11,
  kSparses = 12,
  kType = 13,
  kTypes = 14,
};

struct Attribute {
  std::string name;
  AttrKind kind = AttrKind::kNone;
  std::string reference;  // within a function: the caller's attribute to use here
  float real = 0;
  int64_t integer = 0;
  std::string text;
  ir::TensorPtr tensor;
  std::shared_ptr<const Graph> graph;
  std::vector<float> reals;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
};

struct Node {
  std::string name;
  std::string type;
  std::string domain;  // "" for ai.onnx
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<Attribute> attributes;

  const Attribute* Find(std::string_view attribute) const;
};

struct ValueInfo {
  std::string name;
  DType dtype = DType::kUndefined;  // kUndefined: not a tensor, or unspecified
  std::string other_kind;           // "sequence", "optional", ...: what it is instead of a tensor
  bool has_shape = false;
  ir::Dims dims;          // -1: has a name, or nothing
  int64_t onnx_type = 0;  // onnx.TensorProto.DataType
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<std::pair<std::string, ir::TensorPtr>> constants;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
};

using Opsets = std::map<std::string, int64_t, std::less<>>;  // by domain, "" for ai.onnx

struct Function {
  std::string name;
  std::string domain;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> required;  // attributes without a default
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  Opsets opsets;
};

struct Model {
  int64_t ir_version = 0;
  std::string producer;
  Opsets opsets;
  Graph graph;
  std::vector<Function> functions;
  uint64_t described = 0;  // bytes of the file, without the constants' own
};

struct ReadOptions {
  // The model's folder, which holds external data files; empty: none (a model in memory).
  std::string folder;
  // Keeps `bytes` alive, so that constants need not be copied; null: they are copied.
  std::shared_ptr<const void> keep;
};

// Fails with what is wrong and where: the path of names, and the byte offset of a format error.
Status ReadModel(std::span<const std::byte> bytes, const ReadOptions& options, Model* out);

// For messages: "conv1" (Conv), or by index when it has no name.
std::string Named(const Node& node);

// onnx.TensorProto.DataType as our type; kUndefined when we have none.
DType TypeFromOnnx(int64_t number);
// "FLOAT8E4M3FNUZ"; "type 99" for unassigned numbers.
std::string OnnxTypeName(int64_t number);

// A type whose elements the importer keeps in bytes: their numbers or, of small floats, their bits. The descriptors of
// such values have the type's number under kNarrowKey.
struct NarrowType {
  int64_t onnx_type;
  int bits;
  bool is_float;
  DType carrier;
};
inline constexpr const char* kNarrowKey = "onnx_type";
const NarrowType* NarrowFromOnnx(int64_t onnx_type);  // null: none
void MarkNarrow(const NarrowType& type, ir::TensorDesc* desc);
// A byte for each element, from a file's form, where the first element is in the lowest bits.
ir::Bytes Unpacked(const NarrowType& type, const ir::Bytes& packed, int64_t elements);

}  // namespace millpond::onnx

#endif  // MILLPOND_SRC_GRAPH_IO_ONNX_MODEL_H_

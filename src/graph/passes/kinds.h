// SPDX-License-Identifier: Apache-2.0
// Node classification for passes and lowering: structure, control flow, effects.
#ifndef MILLPOND_SRC_GRAPH_PASSES_KINDS_H_
#define MILLPOND_SRC_GRAPH_PASSES_KINDS_H_

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/graph/ir/graph.h"

namespace millpond::passes {

// The attribute of a subgraph's Data: the parent node's input that it represents. Verify sets it on each.
inline constexpr std::string_view kParentIndex = "_parent_node_index";

// Attributes of a fused node: names and types of the original nodes, in execution order; of a packed constant: the
// original's. The vendor's tools know both.
inline constexpr std::string_view kOriginNames = "_datadump_original_op_names";
inline constexpr std::string_view kOriginTypes = "_datadump_original_op_types";

enum class Kind {
  kOperator,  // computes: a row of the operator table, or a client's own
  kData,
  kConst,
  kFileConstant,
  kConstPlaceHolder,
  kVariable,
  kIdentity,
  kIdentityN,
  kNoOp,
  kNetOutput,
  kShape,  // Shape, ShapeN, Size, Rank
  kCall,
  kIf,
  kCase,
  kWhile,
  kFor,
};
Kind KindOf(std::string_view type);
inline Kind KindOf(const ir::Node& node) { return KindOf(node.type); }

// Runs subgraphs.
inline bool IsControlFlow(Kind kind) { return kind >= Kind::kCall; }

// `node "add" (Add)`, for messages.
std::string Named(const ir::Node& node);

// The constant's tensor; null when the node is not a constant or has none.
ir::TensorPtr ConstantOf(const ir::Node& node);

// The constant that reaches this input, also through identities; null when none does.
ir::TensorPtr ConstantAt(const ir::Node* node, int32_t index);

// A data type given by an attribute, as a type or as an integer.
DType TypeAttr(const ir::Node& node, std::string_view name, DType otherwise);

// The subgraph that a node runs under this name; null when there is none.
ir::GraphPtr SubgraphOf(const ir::Node& node, std::string_view name);

// The parent's input that a subgraph's Data represents. pre: verified.
int64_t ParentInput(const ir::Node& data);

// Indices (input, output) of operands that are changed in place: same name on both sides.
std::vector<std::pair<size_t, size_t>> InPlace(const ir::Node& node);

// Has side effects: changes an operand, prints, communicates with other ranks, holds a resource, has no outputs at all,
// or runs a subgraph with such a node.
bool HasEffect(const ir::Node& node);
// Two runs on the same inputs may differ.
bool IsRandom(const ir::Node& node);

// The outputs whose memory is changed: of variables and reference inputs, and operands of in-place operators.
// Reading one twice may give two values.
class MutableOutputs {
 public:
  explicit MutableOutputs(const ir::Graph& graph);
  bool Contains(const ir::Node* node, int32_t index) const { return outputs_.contains({node, index}); }

 private:
  std::set<std::pair<const ir::Node*, int32_t>> outputs_;
};

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_KINDS_H_

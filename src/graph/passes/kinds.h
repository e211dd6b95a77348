// SPDX-License-Identifier: Apache-2.0
// What a node is, as far as passes and lowering must tell nodes apart: structure, control flow, effects.
#ifndef MILLPOND_SRC_GRAPH_PASSES_KINDS_H_
#define MILLPOND_SRC_GRAPH_PASSES_KINDS_H_

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/graph/ir/graph.h"

namespace millpond::passes {

// The attribute of a subgraph's Data: which of the parent node's inputs it stands for. Verify sets it on each.
inline constexpr std::string_view kParentIndex = "_parent_node_index";

// Attributes of a node that was made of several: their names and types, in the order they ran. Of a constant that was
// packed: the constant's. The vendor's tools know both.
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

// The constant's tensor; null when the node is no constant or has none.
ir::TensorPtr ConstantOf(const ir::Node& node);

// The constant that arrives here, through identities too; null when it is none.
ir::TensorPtr ConstantAt(const ir::Node* node, int32_t index);

// A type that an attribute gives, as a type or as its number.
DType TypeAttr(const ir::Node& node, std::string_view name, DType otherwise);

// The subgraph that a node runs under this name; null when there is none.
ir::GraphPtr SubgraphOf(const ir::Node& node, std::string_view name);

// Which of the parent's inputs a subgraph's Data stands for. pre: verified.
int64_t ParentInput(const ir::Node& data);

// Places (input, output) of operands that are changed in place: same name on both sides.
std::vector<std::pair<size_t, size_t>> InPlace(const ir::Node& node);

// Does something besides giving its outputs: changes an operand, prints, talks to other ranks, holds a resource, has no
// outputs at all; so does what runs a subgraph with such a node.
bool HasEffect(const ir::Node& node);
// Two runs on the same inputs may differ, as far as we know.
bool IsRandom(const ir::Node& node);

// The outputs whose memory somebody changes: of variables and reference inputs, and what in-place operators work on.
// Reading one of them twice may give two values.
class MutableOutputs {
 public:
  explicit MutableOutputs(const ir::Graph& graph);
  bool Contains(const ir::Node* node, int32_t index) const { return outputs_.contains({node, index}); }

 private:
  std::set<std::pair<const ir::Node*, int32_t>> outputs_;
};

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_KINDS_H_

// SPDX-License-Identifier: Apache-2.0
// A compiled graph as a list: nodes in the order they run, everything about them that does not depend on shapes looked
// up once (row, kernel, attributes, who feeds whom). Lowering turns it into steps, once for a static program and once
// for each new set of shapes for a dynamic one.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_RECIPE_H_
#define MILLPOND_SRC_EXEC_PROGRAM_RECIPE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/node_door.h"
#include "src/kernels/runtime/library.h"
#include "src/ops/row.h"

namespace millpond::program {

enum class NodeKind : uint8_t {
  kInput,     // Data, RefData
  kConstant,  // Const, Constant
  kFixed,     // ConstPlaceHolder: the client's own memory
  kVariable,
  kView,  // the same bytes under another shape
  kCopy,  // the same bytes, elsewhere
  kAssign,
  kShape,  // Shape, ShapeN, Size, Rank: numbers that shapes give
  kKernel,
  kBranch,  // If, Case
  kWhile,
  kFor,
  kCall,     // PartitionedCall
  kNothing,  // only orders others
};

struct Recipe;

// Which output of which node of the same recipe.
struct Source {
  static constexpr uint32_t kAbsent = UINT32_MAX;
  uint32_t node = kAbsent;
  uint32_t output = 0;
  bool present() const { return node != kAbsent; }
};

struct NodeInfo {
  const ir::Node* node = nullptr;
  NodeKind kind = NodeKind::kNothing;

  // By place of the node.
  std::vector<Source> inputs;
  std::vector<int32_t> changes;  // by output: the input that it is, changed in place; -1: none
  std::vector<uint8_t> changed;  // by input: the node writes to it
  std::vector<uint32_t> uses;    // by output: how many inputs and results of the graph read it

  // Of kernels. Operands are by place of the node, which is the definition's order.
  const OpRow* row = nullptr;
  const DoorBinding* binding = nullptr;
  const kernels::Kernel* kernel = nullptr;
  passes::NodeDoor door;
  // Small results that shapes may depend on: computed on the host where all inputs are known there.
  bool wanted_on_host = false;

  uint32_t position = 0;   // of an input, constant or variable among its kind
  ir::TensorPtr constant;  // of constants and fixed memory (without bytes)
  void* fixed = nullptr;
  std::vector<const Recipe*> bodies;  // of control flow: branches, or {cond, body}, or {body}
};

struct Recipe {
  std::string name;
  std::vector<NodeInfo> nodes;
  // Nodes that are fed, by position: of the root its inputs, of a subgraph those of the node that runs it.
  // Source::kAbsent where none is.
  std::vector<uint32_t> inputs;
  std::vector<Source> outputs;
  // Of the root: values that may be written straight to an output of the program, (node, output) -> which.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> claims;
};

struct VariableInfo {
  std::string name;
  ir::TensorDesc desc;
  ir::TensorPtr initial;  // null: zeros
};

struct Recipes {
  const Recipe* root = nullptr;
  std::vector<std::unique_ptr<Recipe>> subgraphs;
  std::unique_ptr<Recipe> root_owner;
  std::vector<ir::TensorPtr> constants;
  std::vector<VariableInfo> variables;
  // Pairs (input, output) of the root: the output is the input, changed in place.
  std::vector<std::pair<uint32_t, uint32_t>> aliases;
};

// pre: `graph` is verified (src/graph/passes), outlives the recipes and does not change. Names the node that cannot run
// and why.
Status MakeRecipes(const ir::Graph& graph, Recipes* out);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_RECIPE_H_

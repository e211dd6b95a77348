// SPDX-License-Identifier: Apache-2.0
// Types and shapes: of a whole graph when it is compiled, of one node when a dynamic graph runs.
#ifndef MILLPOND_SRC_GRAPH_PASSES_INFER_H_
#define MILLPOND_SRC_GRAPH_PASSES_INFER_H_

#include <functional>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/budget.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/environment.h"
#include "src/graph/passes/node_door.h"

namespace millpond::passes {

// Nested loops are walked again for each round of the outer ones; this bounds maliciously nested files.
inline constexpr uint64_t kMaxVisits = 20'000'000;

struct InferEnvironment {
  const ClientOperators* clients = nullptr;  // null: none
  // Called on each node once its outputs are known; may replace the node. May be empty.
  std::function<Status(const ir::NodePtr& node)> after_node;
  // Pays a step for every visit of a node in a subgraph; null: a bound of the walk's own.
  ir::Budget* budget = nullptr;
};

// Fills in the description of every output (and of the inputs that read it), in order, subgraphs too. An unknown
// dimension is -1, an unknown rank -2; such a graph is dynamic. A node whose inputs do not fit is refused by
// name. pre: verified.
Status Infer(ir::Graph* graph, const InferEnvironment& environment);

// One node, from its already inferred sources. For building a graph node by node.
Status InferOne(ir::Node* node, const InferEnvironment& environment);

struct InferInput {
  DType dtype = DType::kUndefined;  // kUndefined: absent
  ir::Dims dims;
  const void* values = nullptr;  // the elements, if known on the host
};

struct InferResult {
  struct Output {
    DType dtype = DType::kUndefined;
    ir::Dims dims;
  };
  std::vector<Output> outputs;
  // The values of this input would tell more: call again with them. -1: none would.
  int needed_input = -1;
  // The actual shapes are known only after the run; `dims` are upper bounds.
  bool waits = false;
};

// One node that runs no subgraph; formats are those of its own descriptions. `door` comes from DoorOf, so that a run
// need not rebuild it.
Status InferNode(const ir::Node& node, const NodeDoor& door, std::span<const InferInput> inputs,
                 const ClientOperators* clients, InferResult* out);

// Equal dimensions stay, others become -1; of different ranks, -2.
ir::Dims JoinDims(const ir::Dims& a, const ir::Dims& b);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_INFER_H_

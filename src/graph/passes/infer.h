// SPDX-License-Identifier: Apache-2.0
// Types and shapes: of a whole graph when it is compiled, of one node when a dynamic graph runs.
#ifndef MILLPOND_SRC_GRAPH_PASSES_INFER_H_
#define MILLPOND_SRC_GRAPH_PASSES_INFER_H_

#include <functional>
#include <span>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/environment.h"
#include "src/graph/passes/node_door.h"

namespace millpond::passes {

struct InferEnvironment {
  const ClientOperators* clients = nullptr;  // null: none
  // Called on each node once its outputs are known; may replace the node. Empty: nothing is done.
  std::function<Status(const ir::NodePtr& node)> after_node;
};

// Fills in the description of every output (and of the inputs that read it), in order, subgraphs too. A dimension that
// cannot be told is -1, a rank that cannot is -2; such a graph is dynamic. A node whose inputs do not fit is refused by
// name. pre: verified.
Status Infer(ir::Graph* graph, const InferEnvironment& environment);

// One node, from what its inputs' sources say; those are inferred. For who builds a graph node by node.
Status InferOne(ir::Node* node, const InferEnvironment& environment);

struct InferInput {
  DType dtype = DType::kUndefined;  // kUndefined: absent
  ir::Dims dims;
  const void* values = nullptr;  // the elements, where they are known on the host
};

struct InferResult {
  struct Output {
    DType dtype = DType::kUndefined;
    ir::Dims dims;
  };
  std::vector<Output> outputs;
  // With the values of this input more could be told: give them and ask again. -1: not so.
  int needed_input = -1;
  // The real shapes are known only after the run; `dims` are as large as they can get.
  bool waits = false;
};

// One node that runs no subgraph; formats are those of its own descriptions. `door` is what DoorOf gave, so that a run
// need not make it again.
Status InferNode(const ir::Node& node, const NodeDoor& door, std::span<const InferInput> inputs,
                 const ClientOperators* clients, InferResult* out);

// Equal dimensions stay, others become -1; of different ranks, -2.
ir::Dims JoinDims(const ir::Dims& a, const ir::Dims& b);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_INFER_H_

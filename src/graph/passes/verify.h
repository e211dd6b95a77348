// SPDX-License-Identifier: Apache-2.0
// Is this a graph at all? Every other pass, and lowering, relies on what this one says and settles.
#ifndef MILLPOND_SRC_GRAPH_PASSES_VERIFY_H_
#define MILLPOND_SRC_GRAPH_PASSES_VERIFY_H_

#include "src/graph/passes/environment.h"

namespace millpond::passes {

// Fails with the node, the operand and what was expected. Otherwise the graph, subgraphs included, is as follows:
// - no cycles, edges within one graph, every required operand connected, attributes there and of their kind;
// - operands by place as the definition has them, with a place for each absent optional one, each by its name;
// - no NetOutput: Graph::outputs is what a run returns and Graph::targets what else it must do. A graph that has
// neither
//   has all nodes without users as targets;
// - Graph::inputs are the Data and RefData nodes in the order of their `index` (renumbered in the order of nodes when
//   they are not 0, 1, 2, ...); in a subgraph in the order of the parent's inputs they stand for (attribute
//   _parent_node_index, set on each);
// - each subgraph is run by one node, and none by itself.
Status Verify(ir::Graph* graph, const ClientOperators& clients);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_VERIFY_H_

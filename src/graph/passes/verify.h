// SPDX-License-Identifier: Apache-2.0
// Checks that a graph is well formed and normalises it. All other passes, and lowering, rely on it.
#ifndef MILLPOND_SRC_GRAPH_PASSES_VERIFY_H_
#define MILLPOND_SRC_GRAPH_PASSES_VERIFY_H_

#include "src/graph/passes/environment.h"

namespace millpond::passes {

// Fails with the node, the operand and what was expected. Otherwise the graph, subgraphs included, is as follows:
// - no cycles, edges within one graph, every required operand and attribute present, attributes of the right kind;
// - operands in the definition's order, named, with a slot for each absent optional one;
// - no NetOutput: Graph::outputs is what a run returns and Graph::targets what else it must do. A graph with neither
//   gets all nodes without users as targets;
// - Graph::inputs are the Data and RefData nodes in the order of their `index` (renumbered in the order of nodes when
//   they are not 0, 1, 2, ...); in a subgraph in the order of the parent's inputs they represent (attribute
//   _parent_node_index, set on each);
// - each subgraph is run by one node, and none by itself.
Status Verify(ir::Graph* graph, const ClientOperators& clients);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_VERIFY_H_

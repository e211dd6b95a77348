// SPDX-License-Identifier: Apache-2.0
// All passes over a graph, in their order:
//   verify       the graph is well formed; NetOutput becomes Graph::outputs; operands in the order of their definitions
//   dead         nodes that nothing needs (again at the end)
//   branches     Switch and Merge become If; verified again
//   inline       PartitionedCall and StatefulPartitionedCall become the nodes of their subgraph
//   infer        every output's type and shape; constants are folded on the way, so that shapes that depend on
//                them are known; If and Case with a constant condition become the branch they choose, which is
//                inferred and folded in turn
//   identities   Identity and the like are bypassed
//   deduplicate  nodes that compute the same become one
//   precision    where it is forced: values are rounded to half (precision.h), and constants folded again
//   composites, conv, matmul, attention, layout, transposes, elementwise, prepack: see fuse.h
//   dead
// A disabled pass leaves the graph unchanged; verify, branches and infer always run.
#ifndef MILLPOND_SRC_GRAPH_PASSES_OPTIMIZE_H_
#define MILLPOND_SRC_GRAPH_PASSES_OPTIMIZE_H_

#include "src/graph/passes/environment.h"

namespace millpond::passes {

// Rewrites a root graph in place. After a failure the graph may be half rewritten: pass a copy.
Status Optimize(ir::Graph* graph, const PassOptions& options, const PassEnvironment& environment);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_OPTIMIZE_H_

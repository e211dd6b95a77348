// SPDX-License-Identifier: Apache-2.0
// From the public objects of graph building to the graph model, and back. Exported by libgraph for libge_runner.
#ifndef MILLPOND_SRC_API_GRAPH_BUILD_H_
#define MILLPOND_SRC_API_GRAPH_BUILD_H_

#include "include/graph/gnode.h"
#include "include/graph/graph.h"
#include "include/graph/operator.h"
#include "src/api/graph/access.h"
#include "src/graph/ir/graph.h"

namespace millpond::api {

// Null when the object stands for nothing; for a graph also while it has not been built (Graph::IsValid is false).
// The model is the graph's own: who keeps it while the client goes on must Clone it.
MP_GRAPH_API ir::GraphPtr GraphOf(const ge::Graph& graph);
MP_GRAPH_API ir::NodePtr NodeOf(const ge::Operator& op);
MP_GRAPH_API ir::NodePtr NodeOf(const ge::GNode& node);

// A public object for part of a model. The graph stays alive with it, a GNode does not keep its node.
MP_GRAPH_API ge::Graph Wrap(const ir::GraphPtr& graph);
MP_GRAPH_API ge::Operator WrapOperator(const ir::NodePtr& node);
MP_GRAPH_API ge::GNode WrapNode(const ir::NodePtr& node);

// GEInitialize reads the built-in definitions; from then on they come before what clients register under the same type.
MP_GRAPH_API void PreferBuiltInOperators();

}  // namespace millpond::api

#endif  // MILLPOND_SRC_API_GRAPH_BUILD_H_

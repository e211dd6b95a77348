// SPDX-License-Identifier: Apache-2.0
// What ge::Graph and ge::GNode point to. Private to src/api/graph; others use build.h.
#ifndef MILLPOND_SRC_API_GRAPH_GRAPH_IMPL_H_
#define MILLPOND_SRC_API_GRAPH_GRAPH_IMPL_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "include/graph/gnode.h"
#include "include/graph/graph.h"
#include "src/api/graph/operator_impl.h"
#include "src/api/graph/text_holder.h"
#include "src/graph/ir/graph.h"

namespace millpond::api {

// Checks for entry points.
Status RequireGraph(const ge::Graph& graph);       // stands for one, built or not
Status RequireBuiltGraph(const ge::Graph& graph);  // is valid
Status RequireNode(const ge::GNode& node, ir::NodePtr* out_node);

// For entry points of a GNode that must stand for a node: the body takes it.
template <class Body>
ge::graphStatus AnswerFor(const ge::GNode& self, const char* api, Body&& body) {
  return Answer(api, [&]() -> Status {
    ir::NodePtr node;
    MP_RETURN_IF_ERROR(RequireNode(self, &node));
    return body(node);
  });
}

// Takes all that is linked to the inputs, and what their subgraph builders give. All or nothing.
Status BuildFromInputs(const std::vector<ge::Operator>& inputs, ir::Graph* graph);
// Which nodes are fed, and in which order: by their index when the indices say it, else as they were.
void OrderInputs(ir::Graph* graph);
bool IsData(const ir::Node& node);

// The node that runs this subgraph; null when none does.
ir::NodePtr ParentNodeOf(const ir::Graph& graph);

}  // namespace millpond::api

namespace ge {

class GraphImpl {
 public:
  explicit GraphImpl(millpond::ir::GraphPtr from);

  millpond::ir::GraphPtr graph;               // never null; its `valid` says whether it has been built
  bool by_nodes = false;                      // put together by nodes: nobody has said which are its inputs
  std::map<std::string, Operator> operators;  // what AddOp keeps
  millpond::api::TextHolder name;             // as it was when the object was made
};

class NodeImpl {
 public:
  std::weak_ptr<millpond::ir::Node> node;
};

// What SaveToMem writes.
class Buffer {
 public:
  std::string bytes;
};

}  // namespace ge

#endif  // MILLPOND_SRC_API_GRAPH_GRAPH_IMPL_H_

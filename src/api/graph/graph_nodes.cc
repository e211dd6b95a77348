// SPDX-License-Identifier: Apache-2.0
// ge::Graph: its nodes, edges and subgraphs, and copies of it.
#include <algorithm>

#include "include/graph/graph.h"
#include "src/api/graph/graph_impl.h"

namespace millpond::api {

ir::NodePtr ParentNodeOf(const ir::Graph& graph) {
  if (graph.parent() == nullptr) return nullptr;
  const auto runs = [&](const ir::NodePtr& node) {
    return std::any_of(node->subgraphs.begin(), node->subgraphs.end(),
                       [&](const ir::SubgraphRef& ref) { return ref.graph == graph.name; });
  };
  const auto search = [&](const ir::Graph& among) -> ir::NodePtr {
    const auto found = std::find_if(among.nodes().begin(), among.nodes().end(), runs);
    return found == among.nodes().end() ? nullptr : *found;
  };
  if (ir::NodePtr node = search(*graph.parent())) return node;
  for (const ir::GraphPtr& other : graph.parent()->subgraphs()) {
    if (ir::NodePtr node = search(*other)) return node;
  }
  return nullptr;
}

namespace {

Status RequireNodes(const ge::GNode& source, const ge::GNode& user, ir::NodePtr* out_source, ir::NodePtr* out_user) {
  MP_RETURN_IF_ERROR(RequireNode(source, out_source).Prefixed("the source"));
  MP_RETURN_IF_ERROR(RequireNode(user, out_user).Prefixed("the user"));
  for (const ir::NodePtr& node : {*out_source, *out_user}) {
    MP_REQUIRE(node->graph() != nullptr, "node \"%s\" (%s) is in no graph", node->name.c_str(), node->type.c_str());
  }
  return Ok();
}

// For what makes and removes edges: the body takes both nodes.
template <class Body>
ge::graphStatus AnswerForEdge(const char* api, const ge::Graph& graph, const ge::GNode& source, const ge::GNode& user,
                              Body&& body) {
  return Answer(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireGraph(graph));
    ir::NodePtr from, to;
    MP_RETURN_IF_ERROR(RequireNodes(source, user, &from, &to));
    return body(from, to);
  });
}

}  // namespace
}  // namespace millpond::api

namespace ge {

std::vector<GNode> Graph::GetDirectNode() const {
  return Value("ge::Graph::GetDirectNode", std::vector<GNode>(), [&] {
    std::vector<GNode> nodes;
    if (!IsValid()) return nodes;
    for (const ir::NodePtr& node : impl_->graph->nodes()) nodes.push_back(WrapNode(node));
    return nodes;
  });
}

std::vector<GNode> Graph::GetAllNodes() const {
  return Value("ge::Graph::GetAllNodes", std::vector<GNode>(), [&] {
    std::vector<GNode> nodes = GetDirectNode();
    if (!IsValid()) return nodes;
    for (const auto& subgraph : impl_->graph->subgraphs()) {
      for (const ir::NodePtr& node : subgraph->nodes()) nodes.push_back(WrapNode(node));
    }
    return nodes;
  });
}

GNodePtr Graph::FindNodeByName(const AscendString& node_name) const {
  GNodePtr found;
  static_cast<void>(Answer("ge::Graph::FindNodeByName", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(*this));
    const ir::NodePtr node = impl_->graph->FindNode(node_name.GetString());
    MP_REQUIRE(node != nullptr, "graph \"%s\" has no node \"%s\"", impl_->graph->name.c_str(), node_name.GetString());
    found = std::make_shared<GNode>(WrapNode(node));
    return Ok();
  }));
  return found;
}

GNode Graph::AddNodeByOp(const Operator& op) {
  GNode added;
  static_cast<void>(Answer("ge::Graph::AddNodeByOp", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireGraph(*this));
    MP_RETURN_IF_ERROR(RequireOperator(op));
    const ir::NodePtr node = NodeOf(op);
    MP_RETURN_IF_ERROR(impl_->graph->AddNode(node));
    impl_->graph->valid = true;
    impl_->by_nodes = true;
    impl_->operators.try_emplace(node->name, op);
    added = WrapNode(node);
    return Ok();
  }));
  return added;
}

graphStatus Graph::RemoveNode(GNode& node) { return RemoveNode(node, false); }

graphStatus Graph::RemoveNode(GNode& node, bool contain_subgraph) {
  return Answer("ge::Graph::RemoveNode", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(*this));
    ir::NodePtr gone;
    MP_RETURN_IF_ERROR(RequireNode(node, &gone));
    ir::Graph* owner = gone->graph();
    const bool here = owner == impl_->graph.get();
    const bool below = owner != nullptr && owner->parent() == impl_->graph.get();
    MP_REQUIRE(here || (contain_subgraph && below), "node \"%s\" (%s) is not in graph \"%s\"%s", gone->name.c_str(),
               gone->type.c_str(), impl_->graph->name.c_str(),
               below ? "; it is in a subgraph of it, which must be asked for" : "");
    impl_->operators.erase(gone->name);
    owner->RemoveNode(gone);
    return Ok();
  });
}

graphStatus Graph::AddDataEdge(GNode& src_node, const int32_t src_port_index, GNode& dst_node,
                               const int32_t dst_port_index) {
  return AnswerForEdge("ge::Graph::AddDataEdge", *this, src_node, dst_node,
                       [&](const ir::NodePtr& source, const ir::NodePtr& user) -> Status {
                         MP_REQUIRE(dst_port_index >= 0, "node \"%s\" (%s): input %d was asked for", user->name.c_str(),
                                    user->type.c_str(), dst_port_index);
                         const auto place = static_cast<size_t>(dst_port_index);
                         if (place < user->inputs.size()) {
                           const ir::Input& input = user->inputs[place];
                           MP_REQUIRE(
                               input.source == nullptr || (input.source == source && input.index == src_port_index),
                               "node \"%s\" (%s): input %d (\"%s\") reads from \"%s\" already; remove that edge first",
                               user->name.c_str(), user->type.c_str(), dst_port_index, input.desc.name.c_str(),
                               input.source->name.c_str());
                         }
                         return user->Connect(place, source, src_port_index);
                       });
}

graphStatus Graph::AddControlEdge(GNode& src_node, GNode& dst_node) {
  return AnswerForEdge(
      "ge::Graph::AddControlEdge", *this, src_node, dst_node,
      [&](const ir::NodePtr& source, const ir::NodePtr& user) -> Status {
        MP_REQUIRE(source != user, "node \"%s\" (%s) cannot wait for itself", user->name.c_str(), user->type.c_str());
        MP_REQUIRE(source->graph() == user->graph(), "\"%s\" and \"%s\" are in two graphs; an edge stays within one",
                   source->name.c_str(), user->name.c_str());
        user->AddControl(source);
        return Ok();
      });
}

graphStatus Graph::RemoveEdge(GNode& src_node, const int32_t src_port_index, GNode& dst_node,
                              const int32_t dst_port_index) {
  return AnswerForEdge(
      "ge::Graph::RemoveEdge", *this, src_node, dst_node,
      [&](const ir::NodePtr& source, const ir::NodePtr& user) -> Status {
        if (src_port_index == -1 && dst_port_index == -1) {
          const auto& controls = user->controls;
          MP_REQUIRE(std::find(controls.begin(), controls.end(), source) != controls.end(),
                     "there is no control edge from \"%s\" to \"%s\"", source->name.c_str(), user->name.c_str());
          user->RemoveControl(source.get());
          return Ok();
        }
        const auto place = static_cast<size_t>(dst_port_index);
        MP_REQUIRE(dst_port_index >= 0 && place < user->inputs.size() && user->inputs[place].source == source &&
                       user->inputs[place].index == src_port_index,
                   "there is no edge from output %d of \"%s\" to input %d of \"%s\"", src_port_index,
                   source->name.c_str(), dst_port_index, user->name.c_str());
        user->Disconnect(place);
        return Ok();
      });
}

std::vector<GraphPtr> Graph::GetAllSubgraphs() const {
  std::vector<GraphPtr> subgraphs;
  static_cast<void>(Answer("ge::Graph::GetAllSubgraphs", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(*this));
    for (const auto& subgraph : impl_->graph->subgraphs()) {
      subgraphs.push_back(std::make_shared<Graph>(Wrap(subgraph)));
    }
    return Ok();
  }));
  return subgraphs;
}

GraphPtr Graph::GetSubGraph(const char* name) const {
  GraphPtr found;
  static_cast<void>(Answer("ge::Graph::GetSubGraph", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(*this));
    MP_REQUIRE(name != nullptr, "the subgraph's name is null");
    const auto subgraph = impl_->graph->FindSubgraph(name);
    MP_REQUIRE(subgraph != nullptr, "graph \"%s\" has no subgraph \"%s\"", impl_->graph->name.c_str(), name);
    found = std::make_shared<Graph>(Wrap(subgraph));
    return Ok();
  }));
  return found;
}

graphStatus Graph::AddSubGraph(const Graph& subgraph) {
  return Answer("ge::Graph::AddSubGraph", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(*this));
    MP_RETURN_IF_ERROR(RequireBuiltGraph(subgraph));
    return impl_->graph->AddSubgraph(GraphOf(subgraph));
  });
}

graphStatus Graph::RemoveSubgraph(const char* name) {
  return Answer("ge::Graph::RemoveSubgraph", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(*this));
    MP_REQUIRE(name != nullptr, "the subgraph's name is null");
    MP_REQUIRE(impl_->graph->FindSubgraph(name) != nullptr, "graph \"%s\" has no subgraph \"%s\"",
               impl_->graph->name.c_str(), name);
    impl_->graph->RemoveSubgraph(name);
    return Ok();
  });
}

ConstGraphPtr Graph::GetParentGraph() const {
  return Value("ge::Graph::GetParentGraph", ConstGraphPtr(), [&]() -> ConstGraphPtr {
    if (!IsValid() || impl_->graph->parent() == nullptr) return nullptr;
    return std::make_shared<Graph>(Wrap(impl_->graph->parent()->shared_from_this()));
  });
}

GNodePtr Graph::GetParentNode() const {
  return Value("ge::Graph::GetParentNode", GNodePtr(), [&]() -> GNodePtr {
    const ir::NodePtr parent = IsValid() ? ParentNodeOf(*impl_->graph) : nullptr;
    return parent == nullptr ? nullptr : std::make_shared<GNode>(WrapNode(parent));
  });
}

graphStatus Graph::CopyFrom(const Graph& src_graph) {
  return Answer("ge::Graph::CopyFrom", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(src_graph));
    const auto source = GraphOf(src_graph);
    const auto copy = source->Clone();
    if (impl_ != nullptr) copy->name = impl_->graph->name;
    auto made = std::make_shared<GraphImpl>(copy);
    made->by_nodes = src_graph.impl_->by_nodes;
    for (const auto& [name, op] : src_graph.impl_->operators) {
      const ir::NodePtr node = copy->FindNode(name);
      if (node == nullptr) continue;  // kept by the original, but not part of it
      const Operator copied = WrapOperator(node);
      *BuildAccess::Impl(copied)->extra = *BuildAccess::Impl(op)->extra;
      made->operators.emplace(name, copied);
    }
    impl_ = std::move(made);
    return Ok();
  });
}

}  // namespace ge

// SPDX-License-Identifier: Apache-2.0
// ge::Graph: what it is, its outputs, the operators it keeps, its attributes.
#include "include/graph/graph.h"

#include "src/api/graph/graph_impl.h"
#include "src/api/graph/operator_attr.h"

namespace millpond::api {

TextHolder HoldText(const char* text, size_t length) {
  return {MakeText<false>(text, length), MakeText<true>(text, length)};
}
TextHolder HoldTexts(const std::vector<ge::AscendString>& texts) {
  return {MakeTexts<false>(texts), MakeTexts<true>(texts)};
}

const TextHolder* NameOf(const ge::Graph& graph) {
  const ge::GraphImplPtr& impl = BuildAccess::Impl(graph);
  return impl == nullptr ? nullptr : &impl->name;
}

ir::GraphPtr GraphOf(const ge::Graph& graph) {
  const ge::GraphImplPtr& impl = BuildAccess::Impl(graph);
  if (impl == nullptr || !impl->graph->valid) return nullptr;
  if (impl->by_nodes) OrderInputs(impl->graph.get());
  return impl->graph;
}

ge::Graph Wrap(const ir::GraphPtr& graph) {
  ge::Graph wrapped;
  if (graph == nullptr) return wrapped;
  graph->valid = true;
  BuildAccess::Impl(wrapped) = std::make_shared<ge::GraphImpl>(graph);
  return wrapped;
}

Status RequireGraph(const ge::Graph& graph) {
  MP_REQUIRE(BuildAccess::Impl(graph) != nullptr,
             "the graph stands for nothing: it was made without a name, or moved from");
  return Ok();
}

Status RequireBuiltGraph(const ge::Graph& graph) {
  MP_RETURN_IF_ERROR(RequireGraph(graph));
  const ir::Graph& own = *BuildAccess::Impl(graph)->graph;
  MP_REQUIRE(own.valid, "graph \"%s\" has not been built; call SetInputs or AddNodeByOp first", own.name.c_str());
  return Ok();
}

namespace {

// The graph's node that an operator stands for. An operator of the same name will do: clients keep copies.
Status NodeIn(const ir::Graph& graph, const ge::Operator& op, ir::NodePtr* out) {
  MP_RETURN_IF_ERROR(RequireOperator(op));
  const ir::NodePtr node = NodeOf(op);
  *out = node->graph() == &graph ? node : graph.FindNode(node->name);
  MP_REQUIRE(*out != nullptr, "operator \"%s\" (%s) is not in graph \"%s\": nothing links it to the graph's inputs",
             node->name.c_str(), node->type.c_str(), graph.name.c_str());
  return Ok();
}

Status AddEndpoint(const ir::NodePtr& node, size_t index, std::vector<ir::Endpoint>* out) {
  MP_REQUIRE(index < node->outputs.size(), "operator \"%s\" (%s): output %zu was asked for, but it has %zu",
             node->name.c_str(), node->type.c_str(), index, node->outputs.size());
  out->push_back({node, static_cast<int32_t>(index)});
  return Ok();
}

void AddAll(const ir::NodePtr& node, std::vector<ir::Endpoint>* out) {
  for (size_t index = 0; index < node->outputs.size(); ++index) out->push_back({node, static_cast<int32_t>(index)});
}

// Replaces the outputs when `fill` could name them all.
template <class List, class Fill>
Status SetEndpoints(const ge::Graph& graph, const List& list, Fill&& fill) {
  MP_RETURN_IF_ERROR(RequireBuiltGraph(graph));
  ir::Graph& own = *BuildAccess::Impl(graph)->graph;
  std::vector<ir::Endpoint> outputs;
  for (const auto& one : list) MP_RETURN_IF_ERROR(fill(own, one, &outputs));
  own.outputs = std::move(outputs);
  return Ok();
}

}  // namespace
}  // namespace millpond::api

namespace ge {

namespace {
constexpr char kSetOutputs[] = "ge::Graph::SetOutputs";
}  // namespace

GraphImpl::GraphImpl(ir::GraphPtr from)
    : graph(std::move(from)), name(HoldText(graph->name.data(), graph->name.size())) {}

Graph::Graph(const char_t* name) {
  static_cast<void>(Answer("ge::Graph::Graph", [&]() -> Status {
    MP_REQUIRE(name != nullptr, "the graph's name is null");
    impl_ = std::make_shared<GraphImpl>(std::make_shared<ir::Graph>(name));
    return Ok();
  }));
}

graphStatus Graph::GetName(AscendString& name) const {
  return Answer("ge::Graph::GetName", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireGraph(*this));
    name = Wrap(std::string_view(impl_->graph->name));
    return Ok();
  });
}

bool Graph::IsValid() const { return impl_ != nullptr && impl_->graph->valid; }

graphStatus Graph::SetValid() {
  return Answer("ge::Graph::SetValid", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireGraph(*this));
    impl_->graph->valid = true;
    return Ok();
  });
}

void Graph::SetNeedIteration(bool need_iteration) {
  if (!need_iteration) return;
  static_cast<void>(Answer("ge::Graph::SetNeedIteration", [] {
    return millpond::Unsupported("a run does one iteration; loop in the program, or put a While into the graph");
  }));
}

Graph& Graph::SetInputs(const std::vector<Operator>& inputs) {
  static_cast<void>(Answer("ge::Graph::SetInputs", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireGraph(*this));
    MP_REQUIRE(!impl_->graph->valid,
               "graph \"%s\" has been built already: SetInputs comes once, and before AddNodeByOp and SetValid",
               impl_->graph->name.c_str());
    MP_RETURN_IF_ERROR(BuildFromInputs(inputs, impl_->graph.get()));
    impl_->graph->valid = true;
    return Ok();
  }));
  return *this;
}

GraphPtr Graph::ConstructFromInputs(const std::vector<Operator>& inputs, const AscendString& name) {
  GraphPtr graph;
  static_cast<void>(Answer("ge::Graph::ConstructFromInputs", [&]() -> Status {
    auto made = std::make_shared<ir::Graph>(TextOf(name));
    MP_RETURN_IF_ERROR(BuildFromInputs(inputs, made.get()));
    graph = std::make_shared<Graph>(Wrap(made));
    return Ok();
  }));
  return graph;
}

Graph& Graph::SetOutputs(const std::vector<Operator>& outputs) {
  static_cast<void>(Answer(kSetOutputs, [&] {
    return SetEndpoints(*this, outputs, [](const auto& graph, const Operator& op, auto* out) -> Status {
      ir::NodePtr node;
      MP_RETURN_IF_ERROR(NodeIn(graph, op, &node));
      AddAll(node, out);
      return Ok();
    });
  }));
  return *this;
}

Graph& Graph::SetOutputs(const std::vector<std::pair<Operator, std::vector<size_t>>>& output_indexs) {
  static_cast<void>(Answer(kSetOutputs, [&] {
    return SetEndpoints(*this, output_indexs, [](const auto& graph, const auto& one, auto* out) -> Status {
      ir::NodePtr node;
      MP_RETURN_IF_ERROR(NodeIn(graph, one.first, &node));
      if (one.second.empty()) AddAll(node, out);
      for (const size_t index : one.second) MP_RETURN_IF_ERROR(AddEndpoint(node, index, out));
      return Ok();
    });
  }));
  return *this;
}

Graph& Graph::SetOutputs(const std::vector<std::pair<ge::Operator, AscendString>>& outputs) {
  static_cast<void>(Answer(kSetOutputs, [&] {
    return SetEndpoints(*this, outputs, [](const auto& graph, const auto& one, auto* out) -> Status {
      ir::NodePtr node;
      MP_RETURN_IF_ERROR(NodeIn(graph, one.first, &node));
      if (one.second.GetLength() == 0) {
        AddAll(node, out);
        return Ok();
      }
      const int index = node->FindOutput(one.second.GetString());
      MP_REQUIRE(index >= 0, "operator \"%s\" (%s) has no output \"%s\"", node->name.c_str(), node->type.c_str(),
                 one.second.GetString());
      return AddEndpoint(node, static_cast<size_t>(index), out);
    });
  }));
  return *this;
}

graphStatus Graph::SetOutputs(const std::vector<std::pair<GNode, int32_t>>& outputs) {
  return Answer(kSetOutputs, [&] {
    return SetEndpoints(*this, outputs, [](const auto& graph, const auto& one, auto* out) -> Status {
      ir::NodePtr node;
      MP_RETURN_IF_ERROR(RequireNode(one.first, &node));
      MP_REQUIRE(node->graph() == &graph, "node \"%s\" (%s) is not in graph \"%s\"", node->name.c_str(),
                 node->type.c_str(), graph.name.c_str());
      MP_REQUIRE(one.second >= 0, "node \"%s\" (%s): output %d was asked for", node->name.c_str(), node->type.c_str(),
                 one.second);
      return AddEndpoint(node, static_cast<size_t>(one.second), out);
    });
  });
}

Graph& Graph::SetTargets(const std::vector<Operator>& targets) {
  static_cast<void>(Answer("ge::Graph::SetTargets", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireBuiltGraph(*this));
    std::vector<ir::NodePtr> nodes(targets.size());
    for (size_t i = 0; i < targets.size(); ++i) {
      MP_RETURN_IF_ERROR(NodeIn(*impl_->graph, targets[i], &nodes[i]));
    }
    impl_->graph->targets = std::move(nodes);
    return Ok();
  }));
  return *this;
}

graphStatus Graph::AddOp(const ge::Operator& op) {
  return Answer("ge::Graph::AddOp", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireGraph(*this));
    MP_RETURN_IF_ERROR(RequireOperator(op));
    const ir::NodePtr node = NodeOf(op);
    const auto [place, added] = impl_->operators.try_emplace(node->name, op);
    MP_REQUIRE(added || NodeOf(place->second) == node,
               "graph \"%s\" keeps another operator \"%s\" already; give this one another name",
               impl_->graph->name.c_str(), node->name.c_str());
    return Ok();
  });
}

graphStatus Graph::FindOpByName(const char_t* name, ge::Operator& op) const {
  op = Operator();
  return Answer("ge::Graph::FindOpByName", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireGraph(*this));
    MP_REQUIRE(name != nullptr, "the operator's name is null");
    if (const auto found = impl_->operators.find(name); found != impl_->operators.end()) {
      op = found->second;
      return Ok();
    }
    op = WrapOperator(impl_->graph->FindNode(name));
    MP_REQUIRE(!op.IsEmpty(), "graph \"%s\" has no operator \"%s\"", impl_->graph->name.c_str(), name);
    return Ok();
  });
}

graphStatus Graph::FindOpByType(const char_t* type, std::vector<ge::Operator>& ops) const {
  return Answer("ge::Graph::FindOpByType", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireGraph(*this));
    MP_REQUIRE(type != nullptr, "the operators' type is null");
    for (const auto& [name, op] : impl_->operators) {
      if (NodeOf(op)->type == type) ops.push_back(op);
    }
    for (const ir::NodePtr& node : impl_->graph->nodes()) {
      if (node->type == type && !impl_->operators.contains(node->name)) {
        ops.push_back(WrapOperator(node));
      }
    }
    return Ok();
  });
}

graphStatus Graph::GetAllOpName(std::vector<AscendString>& names) const {
  return Answer("ge::Graph::GetAllOpName", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireGraph(*this));
    for (const auto& [name, op] : impl_->operators) names.push_back(Wrap(std::string_view(name)));
    return Ok();
  });
}

graphStatus Graph::SetAttr(const AscendString& name, const AttrValue& attr_value) {
  return Answer("ge::Graph::SetAttr", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireGraph(*this));
    ir::Attr attr;
    MP_RETURN_IF_ERROR(MakeAttr(attr_value, &attr));
    impl_->graph->attributes[name.GetString()] = std::move(attr);
    return Ok();
  });
}

graphStatus Graph::GetAttr(const AscendString& name, AttrValue& attr_value) const {
  const auto* attributes = impl_ == nullptr ? nullptr : &impl_->graph->attributes;
  return GetFrom("ge::Graph::GetAttr", attributes, name.GetString(), &attr_value);
}

}  // namespace ge

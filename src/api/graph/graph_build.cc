// SPDX-License-Identifier: Apache-2.0
// From linked operators to a graph.
#include <algorithm>
#include <deque>
#include <unordered_set>

#include "src/api/graph/graph_impl.h"

namespace millpond::api {
namespace {

struct Found {
  ir::NodePtr node;
  std::shared_ptr<OperatorExtra> extra;
};

// A subgraph that a builder gave, and the place that asked for it.
struct Branch {
  ir::NodePtr node;
  size_t instance;
  ir::GraphPtr graph;
};

// All that is linked to the operators, users and sources alike, near ones first.
std::vector<Found> Walk(const std::vector<ge::Operator>& inputs) {
  std::vector<Found> found;
  std::unordered_set<const ir::Node*> seen;
  std::deque<ir::NodePtr> waiting;
  const auto meet = [&](const ir::NodePtr& node) {
    if (node && seen.insert(node.get()).second) waiting.push_back(node);
  };
  for (const ge::Operator& op : inputs) meet(NodeOf(op));
  // Whatever is reached from an operator is in its island; those of all inputs are asked, as any may have it.
  const auto extra_of = [&](const ir::Node* node) -> std::shared_ptr<OperatorExtra> {
    for (const ge::Operator& op : inputs) {
      if (auto extra = BuildAccess::Impl(op)->island->Find(node)) return extra;
    }
    return nullptr;
  };
  while (!waiting.empty()) {
    const ir::NodePtr node = std::move(waiting.front());
    waiting.pop_front();
    found.push_back({node, extra_of(node.get())});
    for (const ir::NodePtr& user : node->Users()) meet(user);
    for (const ir::Input& input : node->inputs) meet(input.source);
    for (const ir::NodePtr& control : node->controls) meet(control);
  }
  return found;
}

Status CheckNodes(const std::vector<Found>& found, const ir::Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const Found& one : found) {
    const ir::Node& node = *one.node;
    MP_REQUIRE(node.graph() == nullptr,
               "graph \"%s\": operator \"%s\" (%s) is in graph \"%s\" already; an operator is in one graph only",
               graph.name.c_str(), node.name.c_str(), node.type.c_str(), node.graph()->name.c_str());
    MP_REQUIRE(names.insert(node.name).second,
               "graph \"%s\": two operators are named \"%s\" (one of them is a %s); give each its own name",
               graph.name.c_str(), node.name.c_str(), node.type.c_str());
  }
  return Ok();
}

Status CallBuilders(const Found& one, std::vector<Branch>* out) {
  if (one.extra == nullptr) return Ok();
  for (size_t instance = 0; instance < one.node->subgraphs.size(); ++instance) {
    const std::string& name = one.node->subgraphs[instance].name;
    const auto builder = one.extra->builders.find(name);
    if (builder == one.extra->builders.end() || builder->second == nullptr) continue;
    const ge::Graph built = builder->second();
    const ir::GraphPtr graph = GraphOf(built);
    MP_REQUIRE(graph != nullptr,
               "operator \"%s\" (%s): the builder of its subgraph \"%s\" gave a graph that is not built",
               one.node->name.c_str(), one.node->type.c_str(), name.c_str());
    out->push_back({one.node, instance, graph});
  }
  return Ok();
}

Status CheckBranches(const std::vector<Branch>& branches, const ir::Graph& graph) {
  std::unordered_set<std::string_view> names = {graph.name};
  const auto take = [&](const ir::GraphPtr& branch) -> Status {
    MP_REQUIRE(branch->parent() == nullptr && names.insert(branch->name).second,
               "graph \"%s\": two subgraphs are named \"%s\"; let each builder give its graph a name of its own",
               graph.name.c_str(), branch->name.c_str());
    return Ok();
  };
  for (const Branch& branch : branches) {
    MP_RETURN_IF_ERROR(take(branch.graph));
    for (const ir::GraphPtr& inner : branch.graph->subgraphs()) {
      MP_REQUIRE(names.insert(inner->name).second, "graph \"%s\": two subgraphs are named \"%s\"", graph.name.c_str(),
                 inner->name.c_str());
    }
  }
  return Ok();
}

int64_t IndexOf(const ir::Node& node) {
  const ir::Attr* attr = node.FindAttr("index");
  return attr == nullptr || attr->As<int64_t>() == nullptr ? -1 : *attr->As<int64_t>();
}

}  // namespace

bool IsData(const ir::Node& node) {
  return node.type == "Data" || node.type == "RefData" || node.type == "AippData" || node.type == "AnnData";
}

void OrderInputs(ir::Graph* graph) {
  std::vector<ir::NodePtr> ordered;
  std::unordered_set<const ir::Node*> seen;
  const auto meet = [&](const ir::NodePtr& node) {
    if (node->graph() == graph && IsData(*node) && seen.insert(node.get()).second) ordered.push_back(node);
  };
  for (const ir::NodePtr& node : graph->inputs) meet(node);
  for (const ir::NodePtr& node : graph->nodes()) meet(node);
  std::vector<ir::NodePtr> by_index(ordered.size());
  for (const ir::NodePtr& node : ordered) {
    const int64_t index = IndexOf(*node);
    if (index < 0 || static_cast<size_t>(index) >= by_index.size() || by_index[static_cast<size_t>(index)]) {
      graph->inputs = std::move(ordered);
      return;
    }
    by_index[static_cast<size_t>(index)] = node;
  }
  graph->inputs = std::move(by_index);
}

Status BuildFromInputs(const std::vector<ge::Operator>& inputs, ir::Graph* graph) {
  MP_REQUIRE(!inputs.empty(), "graph \"%s\": no inputs were given", graph->name.c_str());
  for (const ge::Operator& op : inputs) MP_RETURN_IF_ERROR(RequireOperator(op));
  const std::vector<Found> found = Walk(inputs);
  MP_RETURN_IF_ERROR(CheckNodes(found, *graph));
  std::vector<Branch> branches;
  for (const Found& one : found) MP_RETURN_IF_ERROR(CallBuilders(one, &branches));
  MP_RETURN_IF_ERROR(CheckBranches(branches, *graph));
  // Nothing below is refused: names and owners were looked at.
  for (const Found& one : found) MP_RETURN_IF_ERROR(graph->AddNode(one.node));
  for (const Branch& branch : branches) {
    branch.node->subgraphs[branch.instance].graph = branch.graph->name;
    MP_RETURN_IF_ERROR(graph->AddSubgraph(branch.graph));
  }
  for (const ge::Operator& op : inputs) {
    const ir::NodePtr node = NodeOf(op);
    if (IsData(*node) && std::find(graph->inputs.begin(), graph->inputs.end(), node) == graph->inputs.end()) {
      graph->inputs.push_back(node);
    }
  }
  OrderInputs(graph);
  // Files and subgraphs tell inputs by their index: it says the same as the order from here on.
  for (size_t place = 0; place < graph->inputs.size(); ++place) {
    ir::Attr index;
    index.value = static_cast<int64_t>(place);
    graph->inputs[place]->attributes["index"] = std::move(index);
  }
  return Ok();
}

}  // namespace millpond::api

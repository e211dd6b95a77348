// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "src/graph/ir/graph.h"

namespace millpond::ir {

namespace {

// Graphs are copied one after another, without recursion: graphs in attributes may nest without bound, or contain
// themselves.
class Cloner {
 public:
  GraphPtr CloneOf(const Graph& graph) {
    const auto [place, inserted] = graphs_.try_emplace(&graph);
    if (inserted) {
      place->second = std::make_shared<Graph>(graph.name);
      pending_.push_back(&graph);
    }
    return place->second;
  }

  // The next graph to fill, with its empty copy.
  bool Next(const Graph** out_from, GraphPtr* out_to) {
    if (pending_.empty()) return false;
    *out_from = pending_.back();
    pending_.pop_back();
    *out_to = graphs_[*out_from];
    return true;
  }

  Attributes Copy(const Attributes& from) {
    Attributes to = from;
    for (auto& [name, attr] : to) {
      if (auto* graph = std::get_if<std::shared_ptr<Graph>>(&attr.value)) Replace(graph);
      if (auto* list = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attr.value)) {
        for (std::shared_ptr<Graph>& graph : *list) Replace(&graph);
      }
    }
    return to;
  }

  TensorDesc Copy(const TensorDesc& from) {
    TensorDesc to = from;
    if (from.attributes) to.attributes = std::make_shared<Attributes>(Copy(*from.attributes));
    return to;
  }

  // A node outside the graph is not copied: the copy is as invalid as the original, and refused for the same reason.
  NodePtr CopyOf(const NodePtr& node) const {
    const auto found = nodes_.find(node.get());
    return found == nodes_.end() ? node : found->second;
  }
  void Add(const Node* from, NodePtr to) { nodes_.emplace(from, std::move(to)); }

 private:
  void Replace(std::shared_ptr<Graph>* graph) {
    if (*graph) *graph = CloneOf(**graph);
  }

  std::unordered_map<const Graph*, GraphPtr> graphs_;
  std::vector<const Graph*> pending_;
  std::unordered_map<const Node*, NodePtr> nodes_;
};

Status CopyNodes(const Graph& from, Graph* to, Cloner* cloner) {
  for (const NodePtr& node : from.nodes()) {
    auto copy = std::make_shared<Node>(node->name, node->type);
    copy->inputs.reserve(node->inputs.size());
    for (const Input& input : node->inputs) copy->inputs.push_back({cloner->Copy(input.desc), nullptr, 0});
    copy->outputs.reserve(node->outputs.size());
    for (const TensorDesc& output : node->outputs) copy->outputs.push_back(cloner->Copy(output));
    copy->attributes = cloner->Copy(node->attributes);
    copy->subgraphs = node->subgraphs;
    cloner->Add(node.get(), copy);
    MP_RETURN_IF_ERROR(to->AddNode(copy));
  }
  return Ok();
}

void CopyLinks(const Graph& from, const Cloner& cloner) {
  for (const NodePtr& node : from.nodes()) {
    const NodePtr copy = cloner.CopyOf(node);
    for (size_t place = 0; place < node->inputs.size(); ++place) {
      const Input& input = node->inputs[place];
      if (!input.source) continue;
      const NodePtr source = cloner.CopyOf(input.source);
      // Connect refuses invalid edges; a faithful copy keeps them anyway, without telling the source.
      if (source == input.source || !copy->Connect(place, source, input.index).ok()) {
        copy->inputs[place].source = source;
        copy->inputs[place].index = input.index;
      }
    }
    for (const NodePtr& control : node->controls) {
      const NodePtr source = cloner.CopyOf(control);
      if (source == control) {
        copy->controls.push_back(source);
      } else {
        copy->AddControl(source);
      }
    }
  }
}

}  // namespace

GraphPtr Graph::Clone() const {
  Cloner cloner;
  const GraphPtr clone = cloner.CloneOf(*this);
  const Graph* from;
  GraphPtr to;
  while (cloner.Next(&from, &to)) {
    to->attributes = cloner.Copy(from->attributes);
    to->valid = from->valid;
    // Neither can fail: names are unique in the original, so they are here.
    CopyNodes(*from, to.get(), &cloner).Ignore();
    CopyLinks(*from, cloner);
    for (const NodePtr& input : from->inputs) to->inputs.push_back(cloner.CopyOf(input));
    for (const Endpoint& output : from->outputs) to->outputs.push_back({cloner.CopyOf(output.node), output.index});
    for (const NodePtr& target : from->targets) to->targets.push_back(cloner.CopyOf(target));
    for (const GraphPtr& subgraph : from->subgraphs_) to->AddSubgraph(cloner.CloneOf(*subgraph)).Ignore();
  }
  return clone;
}

}  // namespace millpond::ir

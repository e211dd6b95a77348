// SPDX-License-Identifier: Apache-2.0
// Shared by the passes, and the passes that only remove nodes.
#include "src/graph/passes/rewrite.h"

#include <algorithm>
#include <unordered_set>

#include "src/graph/passes/kinds.h"

namespace millpond::passes {

Returned::Returned(ir::Graph* graph) : graph_(graph) {
  for (size_t i = 0; i < graph->outputs.size(); ++i) {
    places_[{graph->outputs[i].node.get(), graph->outputs[i].index}].push_back(i);
  }
}

void Returned::Replace(const ir::Endpoint& from, const ir::Endpoint& to) {
  const auto found = places_.find({from.node.get(), from.index});
  if (found == places_.end() || (from.node == to.node && from.index == to.index)) return;
  const std::vector<size_t> places = std::move(found->second);
  places_.erase(found);
  for (const size_t place : places) graph_->outputs[place] = to;
  std::vector<size_t>& now = places_[{to.node.get(), to.index}];
  now.insert(now.end(), places.begin(), places.end());
}

Status ReplaceUses(const ir::Endpoint& from, const ir::Endpoint& to, Returned* returned) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const ir::Endpoint old = from;  // the caller's may be what is replaced
  for (const auto& [user, place] : old.node->Reads()) {
    if (user->inputs[place].index != old.index) continue;
    MP_RETURN_IF_ERROR(user->Connect(place, to.node, to.index));
  }
  returned->Replace(old, to);
  return Ok();
}

void MoveControls(ir::Graph* graph, const ir::NodePtr& from, std::span<const ir::NodePtr> to) {
  for (const ir::NodePtr& user : from->Users()) {
    if (std::find(user->controls.begin(), user->controls.end(), from) == user->controls.end()) continue;
    user->RemoveControl(from.get());
    for (const ir::NodePtr& source : to) user->AddControl(source);
  }
  const auto target = std::find(graph->targets.begin(), graph->targets.end(), from);
  if (target == graph->targets.end()) return;
  graph->targets.erase(target);
  for (const ir::NodePtr& node : to) {
    if (std::find(graph->targets.begin(), graph->targets.end(), node) == graph->targets.end()) {
      graph->targets.push_back(node);
    }
  }
}

std::string FreeName(const ir::Graph& graph, std::string name) {
  if (graph.FindNode(name) == nullptr) return name;
  size_t number = 2;
  while (graph.FindNode(Format("%s_%zu", name.c_str(), number)) != nullptr) ++number;
  return Format("%s_%zu", name.c_str(), number);
}

Status RemoveDead(ir::Graph* graph, bool* out_changed) {
  std::vector<ir::NodePtr> pending;
  pending.reserve(graph->outputs.size() + graph->targets.size());
  for (const ir::Endpoint& output : graph->outputs) pending.push_back(output.node);
  pending.insert(pending.end(), graph->targets.begin(), graph->targets.end());
  for (const ir::NodePtr& node : graph->nodes()) {
    if (KindOf(*node) == Kind::kData || HasEffect(*node)) pending.push_back(node);
  }
  std::unordered_set<const ir::Node*> needed;
  while (!pending.empty()) {
    const ir::NodePtr node = std::move(pending.back());
    pending.pop_back();
    if (!needed.insert(node.get()).second) continue;
    for (const ir::Input& input : node->inputs) {
      if (input.source != nullptr) pending.push_back(input.source);
    }
    // Even one whose result is unused: it orders others.
    pending.insert(pending.end(), node->controls.begin(), node->controls.end());
  }
  std::vector<ir::NodePtr> dead;
  for (const ir::NodePtr& node : graph->nodes()) {
    if (!needed.contains(node.get())) dead.push_back(node);
  }
  if (dead.empty()) return Ok();
  graph->RemoveNodes(dead);
  *out_changed = true;
  return Ok();
}

void RemoveUnusedSubgraphs(ir::Graph* root) {
  std::unordered_set<std::string> used;
  std::vector<const ir::Graph*> pending = {root};
  while (!pending.empty()) {
    const ir::Graph* graph = pending.back();
    pending.pop_back();
    for (const ir::NodePtr& node : graph->nodes()) {
      for (const ir::SubgraphRef& ref : node->subgraphs) {
        const ir::GraphPtr subgraph = root->FindSubgraph(ref.graph);
        if (subgraph != nullptr && used.insert(ref.graph).second) pending.push_back(subgraph.get());
      }
    }
  }
  std::vector<std::string> unused;
  for (const ir::GraphPtr& subgraph : root->subgraphs()) {
    if (!used.contains(subgraph->name)) unused.push_back(subgraph->name);
  }
  for (const std::string& name : unused) root->RemoveSubgraph(name);
}

Status RemoveIdentities(ir::Graph* graph, bool* out_changed) {
  const MutableOutputs changed(*graph);
  std::vector<ir::NodePtr> order;
  MP_RETURN_IF_ERROR(graph->Sorted(&order));
  std::vector<ir::NodePtr> gone;
  Returned returned(graph);
  for (const ir::NodePtr& node : order) {
    const Kind kind = KindOf(*node);
    if ((kind != Kind::kIdentity && kind != Kind::kIdentityN) || !node->controls.empty()) continue;
    bool copies = node->inputs.size() < node->outputs.size();
    std::vector<ir::NodePtr> sources;
    for (size_t i = 0; i < node->outputs.size() && !copies; ++i) {
      const ir::Input& input = node->inputs[i];
      copies = input.source == nullptr || changed.Contains(node.get(), static_cast<int32_t>(i)) ||
               changed.Contains(input.source.get(), input.index);
      sources.push_back(input.source);
    }
    if (copies) continue;
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      const ir::Endpoint source{node->inputs[i].source, node->inputs[i].index};
      MP_RETURN_IF_ERROR(ReplaceUses({node, static_cast<int32_t>(i)}, source, &returned));
    }
    MoveControls(graph, node, sources);
    gone.push_back(node);
  }
  if (gone.empty()) return Ok();
  graph->RemoveNodes(gone);
  *out_changed = true;
  return Ok();
}

}  // namespace millpond::passes

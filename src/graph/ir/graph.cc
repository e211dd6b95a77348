// SPDX-License-Identifier: Apache-2.0
#include "src/graph/ir/graph.h"

#include <algorithm>
#include <new>
#include <unordered_set>

namespace millpond::ir {

namespace {

// Sources of nodes that are being destroyed on this thread, for the outermost destructor to release one by one.
thread_local std::vector<NodePtr>* t_released = nullptr;

void Release(NodePtr node) {
  try {
    t_released->push_back(std::move(node));
  } catch (const std::bad_alloc&) {
    // No memory for the list: destroyed here, one stack frame deeper; nothing leaks.
  }
}

bool IsOf(const std::weak_ptr<Node>& entry, const std::weak_ptr<Node>& user) {
  return !entry.owner_before(user) && !user.owner_before(entry);
}

template <class Descs>
int PlaceOf(const Descs& descs, std::string_view operand) {
  const auto found = std::find_if(descs.begin(), descs.end(), [&](const auto& desc) { return desc.name == operand; });
  return found == descs.end() ? -1 : static_cast<int>(found - descs.begin());
}

}  // namespace

Node::~Node() {
  const bool outermost = t_released == nullptr;
  std::vector<NodePtr> released;
  if (outermost) t_released = &released;
  for (Input& input : inputs) {
    if (input.source) Release(std::move(input.source));
  }
  for (NodePtr& control : controls) {
    if (control) Release(std::move(control));
  }
  if (!outermost) return;
  while (!released.empty()) {
    // Taken off the list first: its destructor adds to it.
    const NodePtr last = std::move(released.back());
    released.pop_back();
  }
  t_released = nullptr;
}

Status Node::Connect(size_t place, const NodePtr& source, int32_t index) {
  MP_REQUIRE(place < inputs.size(), "node \"%s\" (%s): input %zu was to be connected, but it has %zu inputs",
             name.c_str(), type.c_str(), place, inputs.size());
  MP_REQUIRE(source != nullptr, "node \"%s\" (%s): input %zu (\"%s\") cannot be connected to null", name.c_str(),
             type.c_str(), place, inputs[place].desc.name.c_str());
  MP_REQUIRE(source.get() != this, "node \"%s\" (%s): input %zu (\"%s\") cannot read the node's own output",
             name.c_str(), type.c_str(), place, inputs[place].desc.name.c_str());
  MP_REQUIRE(index >= 0 && static_cast<size_t>(index) < source->outputs.size(),
             "node \"%s\" (%s): input %zu (\"%s\") asks for output %d of \"%s\" (%s), which has %zu", name.c_str(),
             type.c_str(), place, inputs[place].desc.name.c_str(), index, source->name.c_str(), source->type.c_str(),
             source->outputs.size());
  MP_REQUIRE(graph_ == nullptr || source->graph_ == nullptr || graph_ == source->graph_,
             "node \"%s\" is in graph \"%s\" and its source \"%s\" in graph \"%s\"; an edge stays within one graph",
             name.c_str(), graph_->name.c_str(), source->name.c_str(), source->graph_->name.c_str());
  NodePtr kept = source;  // the caller's reference may be the one that Disconnect resets
  kept->Remember(this);
  Disconnect(place);
  inputs[place].source = std::move(kept);
  inputs[place].index = index;
  return Ok();
}

void Node::Disconnect(size_t place) {
  if (place >= inputs.size() || !inputs[place].source) return;
  inputs[place].source->Forget(this);
  inputs[place].source.reset();
  inputs[place].index = 0;
}

void Node::AddControl(const NodePtr& source) {
  if (!source || source.get() == this) return;
  // Every edge is in both lists: searching the shorter one keeps hubs cheap.
  const bool may_exist = controls.size() <= source->users_.size() || source->HasUser(this);
  if (may_exist && std::find(controls.begin(), controls.end(), source) != controls.end()) return;
  controls.push_back(source);
  try {
    source->Remember(this);
  } catch (...) {
    controls.pop_back();
    throw;
  }
}

void Node::RemoveControl(const Node* source) {
  const auto found =
      std::find_if(controls.begin(), controls.end(), [=](const NodePtr& control) { return control.get() == source; });
  if (found == controls.end()) return;
  (*found)->Forget(this);
  controls.erase(found);
}

int Node::FindInput(std::string_view operand) const {
  const auto found =
      std::find_if(inputs.begin(), inputs.end(), [&](const Input& input) { return input.desc.name == operand; });
  return found == inputs.end() ? -1 : static_cast<int>(found - inputs.begin());
}

int Node::FindOutput(std::string_view operand) const { return PlaceOf(outputs, operand); }

const Attr* Node::FindAttr(std::string_view attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? nullptr : &found->second;
}

std::vector<NodePtr> Node::Users(size_t most) const {
  std::vector<NodePtr> users;
  std::unordered_set<const Node*> seen;
  for (const std::weak_ptr<Node>& entry : users_) {
    if (users.size() == most) break;
    if (NodePtr user = entry.lock(); user && seen.insert(user.get()).second) users.push_back(std::move(user));
  }
  return users;
}

void Node::Remember(Node* user) {
  if (users_.size() == users_.capacity()) {
    std::erase_if(users_, [](const std::weak_ptr<Node>& entry) { return entry.expired(); });
  }
  users_.push_back(user->weak_from_this());
}

void Node::Forget(Node* user) {
  const std::weak_ptr<Node> wanted = user->weak_from_this();
  const auto found = std::find_if(users_.begin(), users_.end(), [&](const auto& entry) { return IsOf(entry, wanted); });
  if (found != users_.end()) users_.erase(found);
}

bool Node::HasUser(Node* user) const {
  const std::weak_ptr<Node> wanted = user->weak_from_this();
  return std::any_of(users_.begin(), users_.end(), [&](const auto& entry) { return IsOf(entry, wanted); });
}

NodePtr Graph::FindNode(std::string_view node_name) const {
  const auto found = index_.find(node_name);
  return found == index_.end() ? nullptr : found->second;
}

Status Graph::AddNode(const NodePtr& node) {
  MP_REQUIRE(node != nullptr, "graph \"%s\": the node to add is null", name.c_str());
  if (node->graph_ == this) return Ok();
  MP_REQUIRE(node->graph_ == nullptr,
             "graph \"%s\": node \"%s\" (%s) is in graph \"%s\" already; a node is in one graph only", name.c_str(),
             node->name.c_str(), node->type.c_str(), node->graph_->name.c_str());
  const auto [place, inserted] = index_.try_emplace(node->name, node);
  MP_REQUIRE(inserted, "graph \"%s\": node \"%s\" (%s) was to be added, but a %s has that name; give it another",
             name.c_str(), node->name.c_str(), node->type.c_str(), place->second->type.c_str());
  try {
    nodes_.push_back(node);
  } catch (...) {
    index_.erase(place);
    throw;
  }
  node->graph_ = this;
  return Ok();
}

void Graph::Unindex(const Node* node) {
  if (const auto found = index_.find(node->name); found != index_.end() && found->second.get() == node) {
    index_.erase(found);
  }
}

void Graph::RemoveNode(const NodePtr& node) { RemoveNodes({&node, 1}); }

void Graph::RemoveNodes(std::span<const NodePtr> gone) {
  std::unordered_set<const Node*> leaving;
  std::vector<NodePtr> held;  // `gone` may be nodes() itself
  for (const NodePtr& node : gone) {
    if (node && node->graph_ == this && leaving.insert(node.get()).second) held.push_back(node);
  }
  if (held.empty()) return;
  const Node* const only = held.size() == 1 ? held[0].get() : nullptr;
  const auto leaves = [&](const NodePtr& node) {
    return only != nullptr ? node.get() == only : leaving.contains(node.get());
  };
  // Whole lists at once: edge by edge, a hub's list would be searched for each of its users.
  std::unordered_set<NodePtr> sources;
  for (const NodePtr& node : held) {
    for (const NodePtr& user : node->Users()) {
      if (leaving.contains(user.get())) continue;
      for (Input& input : user->inputs) {
        if (input.source != node) continue;
        input.source.reset();
        input.index = 0;
      }
      std::erase(user->controls, node);
    }
    for (Input& input : node->inputs) {
      if (input.source && !leaves(input.source)) sources.insert(input.source);
      input.source.reset();
      input.index = 0;
    }
    for (const NodePtr& control : node->controls) {
      if (!leaves(control)) sources.insert(control);
    }
    node->controls.clear();
    Unindex(node.get());
    node->graph_ = nullptr;
  }
  for (const NodePtr& node : held) node->users_.clear();
  for (const NodePtr& source : sources) {
    std::erase_if(source->users_, [&](const std::weak_ptr<Node>& entry) { return leaves(entry.lock()); });
  }
  std::erase_if(nodes_, leaves);
  std::erase_if(inputs, leaves);
  std::erase_if(targets, leaves);
  std::erase_if(outputs, [&](const Endpoint& output) { return leaves(output.node); });
}

Status Graph::RenameNode(const NodePtr& node, std::string new_name) {
  MP_REQUIRE(node != nullptr && node->graph_ == this, "graph \"%s\": the node to be named \"%s\" is not in it",
             name.c_str(), new_name.c_str());
  if (node->name == new_name) return Ok();
  const auto [place, inserted] = index_.try_emplace(new_name, node);
  MP_REQUIRE(inserted, "graph \"%s\": node \"%s\" was to be named \"%s\", but a %s has that name", name.c_str(),
             node->name.c_str(), new_name.c_str(), place->second->type.c_str());
  Unindex(node.get());
  node->name = std::move(new_name);
  return Ok();
}

GraphPtr Graph::FindSubgraph(std::string_view graph_name) const {
  const Graph* root = parent_ != nullptr ? parent_ : this;
  const auto found = root->subgraph_index_.find(graph_name);
  return found == root->subgraph_index_.end() ? nullptr : found->second;
}

Status Graph::AddSubgraph(const GraphPtr& graph) {
  if (parent_ != nullptr) return parent_->AddSubgraph(graph);
  MP_REQUIRE(graph != nullptr, "graph \"%s\": the subgraph to add is null", name.c_str());
  MP_REQUIRE(graph.get() != this, "graph \"%s\" cannot be its own subgraph", name.c_str());
  if (graph->parent_ == this) return Ok();
  MP_REQUIRE(graph->parent_ == nullptr, "graph \"%s\": subgraph \"%s\" belongs to graph \"%s\" already", name.c_str(),
             graph->name.c_str(), graph->parent_->name.c_str());
  std::vector<GraphPtr> coming = {graph};
  coming.insert(coming.end(), graph->subgraphs_.begin(), graph->subgraphs_.end());
  for (const GraphPtr& subgraph : coming) {
    MP_REQUIRE(FindSubgraph(subgraph->name) == nullptr,
               "graph \"%s\": subgraph \"%s\" was to be added, but another has that name; give it another",
               name.c_str(), subgraph->name.c_str());
  }
  MP_REQUIRE(graph->FindSubgraph(graph->name) == nullptr,
             "graph \"%s\": subgraph \"%s\" has a subgraph of its own name; give it another", name.c_str(),
             graph->name.c_str());
  for (const GraphPtr& subgraph : coming) {
    subgraph_index_.emplace(subgraph->name, subgraph);
    subgraphs_.push_back(subgraph);
    subgraph->parent_ = this;
  }
  graph->subgraphs_.clear();
  graph->subgraph_index_.clear();
  return Ok();
}

void Graph::RemoveSubgraph(std::string_view graph_name) {
  if (parent_ != nullptr) return parent_->RemoveSubgraph(graph_name);
  const auto found = subgraph_index_.find(graph_name);
  if (found == subgraph_index_.end()) return;
  const GraphPtr gone = found->second;
  subgraph_index_.erase(found);
  std::erase(subgraphs_, gone);
  gone->parent_ = nullptr;
}

}  // namespace millpond::ir

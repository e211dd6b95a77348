// SPDX-License-Identifier: Apache-2.0
#include "src/graph/ir/graph.h"

#include <algorithm>
#include <charconv>
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

const std::string& NameOf(const TensorDesc& desc) { return desc.name; }
const std::string& NameOf(const Input& input) { return input.desc.name; }

// Of an instance of a dynamic operand, x12, is looked for where it is likely to be: 12 places after x0.
template <class Operands>
int LikelyPlaceOf(const Operands& operands, std::string_view wanted) {
  constexpr size_t kMaxDigits = 9;
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  size_t digits = 0;
  while (digits < std::min(wanted.size(), kMaxDigits) && is_digit(wanted[wanted.size() - 1 - digits])) ++digits;
  if (digits == 0) return -1;
  const std::string_view stem = wanted.substr(0, wanted.size() - digits);
  size_t number = 0;
  std::from_chars(wanted.data() + stem.size(), wanted.data() + wanted.size(), number);
  for (size_t first = 0; first + number < operands.size(); ++first) {
    const std::string& name = NameOf(operands[first]);
    if (name.size() != stem.size() + 1 || name.back() != '0' || !name.starts_with(stem)) continue;
    return NameOf(operands[first + number]) == wanted ? static_cast<int>(first + number) : -1;
  }
  return -1;
}

template <class Operands>
int PlaceOf(const Operands& operands, std::string_view wanted) {
  constexpr size_t kMany = 16;
  if (operands.size() > kMany) {
    if (const int likely = LikelyPlaceOf(operands, wanted); likely >= 0) return likely;
  }
  const auto found =
      std::find_if(operands.begin(), operands.end(), [&](const auto& operand) { return NameOf(operand) == wanted; });
  return found == operands.end() ? -1 : static_cast<int>(found - operands.begin());
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
  kept->Remember(this, static_cast<int32_t>(place));
  Disconnect(place);
  inputs[place].source = std::move(kept);
  inputs[place].index = index;
  return Ok();
}

void Node::Disconnect(size_t place) {
  if (place >= inputs.size() || !inputs[place].source) return;
  inputs[place].source->Forget(this, static_cast<int32_t>(place));
  inputs[place].source.reset();
  inputs[place].index = 0;
}

void Node::AddControl(const NodePtr& source) {
  if (!source || source.get() == this) return;
  // Every edge is in both lists: searching the shorter one keeps hubs cheap.
  const bool may_exist = controls.size() <= source->users_.size() || source->users_.Has(weak_from_this());
  if (may_exist && std::find(controls.begin(), controls.end(), source) != controls.end()) return;
  controls.push_back(source);
  try {
    source->Remember(this, UserList::kControl);
  } catch (...) {
    controls.pop_back();
    throw;
  }
}

void Node::RemoveControl(const Node* source) {
  const auto found =
      std::find_if(controls.begin(), controls.end(), [=](const NodePtr& control) { return control.get() == source; });
  if (found == controls.end()) return;
  (*found)->Forget(this, UserList::kControl);
  controls.erase(found);
}

int Node::FindInput(std::string_view operand) const { return PlaceOf(inputs, operand); }

int Node::FindOutput(std::string_view operand) const { return PlaceOf(outputs, operand); }

const Attr* Node::FindAttr(std::string_view attribute) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? nullptr : &found->second;
}

std::vector<NodePtr> Node::Users(size_t most) const {
  constexpr size_t kFew = 8;  // are searched
  std::vector<NodePtr> users;
  std::unordered_set<const Node*> seen;
  const auto is_new = [&](const NodePtr& user) {
    if (users.size() < kFew) return std::find(users.begin(), users.end(), user) == users.end();
    if (seen.empty()) {
      for (const NodePtr& earlier : users) seen.insert(earlier.get());
    }
    return seen.insert(user.get()).second;
  };
  for (const UserList::Entry& entry : users_.entries()) {
    if (users.size() == most) break;
    if (NodePtr user = entry.user.lock(); user && is_new(user)) users.push_back(std::move(user));
  }
  return users;
}

bool Node::HasUsers() const {
  const auto& entries = users_.entries();
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) { return !entry.user.expired(); });
}

std::vector<std::pair<NodePtr, size_t>> Node::Reads() const {
  std::vector<std::pair<NodePtr, size_t>> reads;
  std::unordered_set<const Node*> moved;  // whose inputs are not where they were when they were connected
  for (const UserList::Entry& entry : users_.entries()) {
    const NodePtr user = entry.place == UserList::kControl ? nullptr : entry.user.lock();
    if (user == nullptr) continue;
    const auto place = static_cast<size_t>(entry.place);
    if (place >= user->inputs.size() || user->inputs[place].source.get() != this) {
      moved.insert(user.get());
    } else {
      reads.emplace_back(user, place);
    }
  }
  if (moved.empty()) return reads;
  // Theirs come last.
  std::erase_if(reads, [&](const auto& read) { return moved.contains(read.first.get()); });
  for (const NodePtr& user : Users()) {
    if (!moved.contains(user.get())) continue;
    for (size_t place = 0; place < user->inputs.size(); ++place) {
      if (user->inputs[place].source.get() == this) reads.emplace_back(user, place);
    }
  }
  return reads;
}

void Node::Remember(Node* user, int32_t place) { users_.Add(user->weak_from_this(), user, place); }

void Node::Forget(Node* user, int32_t place) { users_.Remove(user->weak_from_this(), user, place); }

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
  for (const NodePtr& node : held) Sever(node);
  const auto leaves = [&](const NodePtr& node) { return leaving.contains(node.get()); };
  std::erase_if(nodes_, leaves);
  std::erase_if(inputs, leaves);
  std::erase_if(targets, leaves);
  std::erase_if(outputs, [&](const Endpoint& output) { return leaves(output.node); });
}

void Graph::Detach(const NodePtr& node) {
  if (node && node->graph_ == this) Sever(node);
}

void Graph::Sweep() {
  std::erase_if(nodes_, [this](const NodePtr& node) { return node->graph_ != this; });
}

// Edge by edge: whatever the nodes at the other ends have besides is not looked at.
void Graph::Sever(const NodePtr& node) {
  for (const auto& [user, place] : node->Reads()) {
    user->inputs[place].source.reset();
    user->inputs[place].index = 0;
  }
  for (const UserList::Entry& entry : node->users_.entries()) {
    if (entry.place != UserList::kControl) continue;
    if (const NodePtr user = entry.user.lock()) std::erase(user->controls, node);
  }
  node->users_.Clear();
  for (size_t place = 0; place < node->inputs.size(); ++place) node->Disconnect(place);
  for (const NodePtr& control : node->controls) control->Forget(node.get(), UserList::kControl);
  node->controls.clear();
  Unindex(node.get());
  node->graph_ = nullptr;
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

// SPDX-License-Identifier: Apache-2.0
// Algorithms over the edges of a whole graph: its order, its cycles, and its destruction. Nothing here recurses, since
// a chain of nodes may be as long as memory allows.
#include <algorithm>
#include <queue>
#include <unordered_map>

#include "src/graph/ir/graph.h"

namespace millpond::ir {

namespace {

constexpr size_t kMaxNamesOfCycle = 20;  // a longer cycle is shown up to here

template <class Visit>
void ForEachSource(const Node& node, const Visit& visit) {
  for (const Input& input : node.inputs) {
    if (input.source) visit(input.source);
  }
  for (const NodePtr& control : node.controls) visit(control);
}

// Kahn's order of some nodes. Edges from elsewhere do not count.
class Walk {
 public:
  explicit Walk(std::span<const NodePtr> nodes) : nodes_(nodes), waits_(nodes.size()), users_(nodes.size()) {
    places_.reserve(nodes.size());
    for (size_t place = 0; place < nodes.size(); ++place) places_.emplace(nodes[place].get(), place);
    for (size_t place = 0; place < nodes.size(); ++place) {
      ForEachSource(*nodes[place], [&](const NodePtr& source) {
        if (const auto found = places_.find(source.get()); found != places_.end()) {
          users_[found->second].push_back(place);
          ++waits_[place];
        }
      });
    }
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t place = 0; place < nodes.size(); ++place) {
      if (waits_[place] == 0) ready.push(place);
    }
    order_.reserve(nodes.size());
    while (!ready.empty()) {
      const size_t place = ready.top();
      ready.pop();
      order_.push_back(nodes[place]);
      for (const size_t user : users_[place]) {
        if (--waits_[user] == 0) ready.push(user);
      }
    }
  }

  bool complete() const { return order_.size() == nodes_.size(); }
  std::vector<NodePtr>& order() { return order_; }

  // Nodes on a cycle or downstream of one.
  std::vector<NodePtr> Stuck() const {
    std::vector<NodePtr> stuck;
    for (size_t place = 0; place < nodes_.size(); ++place) {
      if (waits_[place] != 0) stuck.push_back(nodes_[place]);
    }
    return stuck;
  }

  // pre: !complete(). One cycle, each node after the one it reads from; the first is repeated at the end.
  std::vector<NodePtr> Cycle() const {
    size_t place = 0;
    while (waits_[place] == 0) ++place;
    // Every stuck node has a stuck source, so following sources must reach a cycle.
    std::vector<size_t> path;
    std::unordered_map<size_t, size_t> step_of;
    while (step_of.emplace(place, path.size()).second) {
      path.push_back(place);
      size_t next = place;
      ForEachSource(*nodes_[place], [&](const NodePtr& source) {
        const auto found = places_.find(source.get());
        if (next == place && found != places_.end() && waits_[found->second] != 0) next = found->second;
      });
      place = next;
    }
    std::vector<NodePtr> cycle = {nodes_[place]};
    for (size_t step = path.size(); step-- > step_of[place];) cycle.push_back(nodes_[path[step]]);
    return cycle;
  }

 private:
  std::span<const NodePtr> nodes_;
  std::vector<size_t> waits_;  // edges whose source is not emitted yet
  std::vector<std::vector<size_t>> users_;
  std::unordered_map<const Node*, size_t> places_;
  std::vector<NodePtr> order_;
};

void Unlink(Node* node) {
  for (size_t place = 0; place < node->inputs.size(); ++place) node->Disconnect(place);
  while (!node->controls.empty()) node->RemoveControl(node->controls.back().get());
}

}  // namespace

Status Graph::Sorted(std::vector<NodePtr>* out) const {
  out->clear();
  for (const NodePtr& node : nodes_) {
    const Node* stray = nullptr;
    ForEachSource(*node, [&](const NodePtr& source) {
      if (source->graph_ != this) stray = source.get();
    });
    MP_REQUIRE(stray == nullptr,
               "graph \"%s\": node \"%s\" (%s) reads from or waits for \"%s\" (%s), which is not in it", name.c_str(),
               node->name.c_str(), node->type.c_str(), stray->name.c_str(), stray->type.c_str());
  }
  Walk walk(nodes_);
  if (walk.complete()) {
    *out = std::move(walk.order());
    return Ok();
  }
  const std::vector<NodePtr> cycle = walk.Cycle();
  std::string path;
  for (size_t step = 0; step < cycle.size(); ++step) {
    if (step == kMaxNamesOfCycle && cycle.size() > kMaxNamesOfCycle + 1) {
      path += Format(" -> ... (%zu more) -> \"%s\"", cycle.size() - 1 - step, cycle.back()->name.c_str());
      break;
    }
    path += Format("%s\"%s\"", step == 0 ? "" : " -> ", cycle[step]->name.c_str());
  }
  return InvalidArgument(Format("graph \"%s\" has a cycle: %s; remove one of its edges", name.c_str(), path.c_str()));
}

Status Graph::CheckSubgraphs() const {
  std::unordered_map<const Graph*, const Node*> runner_of;
  std::vector<std::pair<const Graph*, int>> pending = {{this, 0}};
  // Those without a runner come last: one of them may run itself.
  size_t next = 0;
  while (true) {
    while (pending.empty() && next < subgraphs_.size()) {
      if (const Graph* subgraph = subgraphs_[next++].get(); !runner_of.contains(subgraph)) {
        pending.emplace_back(subgraph, 0);
      }
    }
    if (pending.empty()) return Ok();
    const auto [graph, depth] = pending.back();
    pending.pop_back();
    for (const NodePtr& node : graph->nodes_) {
      for (const SubgraphRef& ref : node->subgraphs) {
        const GraphPtr subgraph = FindSubgraph(ref.graph);
        MP_REQUIRE(subgraph != nullptr, "node \"%s\" (%s) of graph \"%s\" runs subgraph \"%s\", which is not there",
                   node->name.c_str(), node->type.c_str(), graph->name.c_str(), ref.graph.c_str());
        // One that runs itself also has two runners: the outer one and the one inside.
        const auto [place, first] = runner_of.emplace(subgraph.get(), node.get());
        MP_REQUIRE(first,
                   "subgraph \"%s\" is run by node \"%s\" (%s) and by node \"%s\" (%s); each needs a copy of its own",
                   ref.graph.c_str(), place->second->name.c_str(), place->second->type.c_str(), node->name.c_str(),
                   node->type.c_str());
        MP_REQUIRE(depth < kMaxSubgraphDepth, "subgraph \"%s\": subgraphs nest deeper than %d", ref.graph.c_str(),
                   kMaxSubgraphDepth);
        pending.emplace_back(subgraph.get(), depth + 1);
      }
    }
  }
}

Graph::~Graph() {
  for (const GraphPtr& subgraph : subgraphs_) subgraph->parent_ = nullptr;
  for (const NodePtr& node : nodes_) node->graph_ = nullptr;
  try {
    std::vector<std::weak_ptr<Node>> watched(nodes_.begin(), nodes_.end());
    inputs.clear();
    outputs.clear();
    targets.clear();
    index_.clear();
    nodes_.clear();
    std::vector<NodePtr> survivors;
    for (const std::weak_ptr<Node>& node : watched) {
      if (NodePtr alive = node.lock()) survivors.push_back(std::move(alive));
    }
    if (survivors.empty()) return;
    for (const NodePtr& node : Walk(survivors).Stuck()) Unlink(node.get());
  } catch (...) {
    // No memory to look for cycles. The rest of nodes_ is unlinked, which is equivalent unless a client holds some.
    for (const NodePtr& node : nodes_) Unlink(node.get());
  }
}

}  // namespace millpond::ir

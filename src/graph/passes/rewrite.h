// SPDX-License-Identifier: Apache-2.0
// The rewriting passes. Each works on one graph (Optimize calls it on the root and on every subgraph), preserves
// results and effects, and returns whether it changed anything. pre: verified.
#ifndef MILLPOND_SRC_GRAPH_PASSES_REWRITE_H_
#define MILLPOND_SRC_GRAPH_PASSES_REWRITE_H_

#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/graph/passes/environment.h"
#include "src/graph/passes/infer.h"

namespace millpond::passes {

// Nodes that no output, target or effect needs. Inputs stay: they are the order in which a run is fed.
Status RemoveDead(ir::Graph* graph, bool* out_changed);
// Subgraphs of a root graph that no node runs.
void RemoveUnusedSubgraphs(ir::Graph* root);

// Identity, IdentityN, StopGradient, PreventGradient: users read the source instead, unless either is changed in
// place, so that the copy matters.
Status RemoveIdentities(ir::Graph* graph, bool* out_changed);

// Same type, inputs, attributes and controls, no effects, no randomness, nothing changed in place: the first replaces
// the others.
Status Deduplicate(ir::Graph* graph, bool* out_changed);

// Partitioned calls become the nodes of their subgraph, named call/node.
Status InlineCalls(ir::Graph* graph, bool* out_changed);
// If and Case whose condition is a constant become the branch that it chooses.
Status ChooseBranches(ir::Graph* graph, bool* out_changed);
// Switch and Merge, and their Ref forms, become If.
Status GatherBranches(ir::Graph* graph, bool* out_changed);
// The rule for conditions: a scalar is true when it is not 0, any other tensor when it has elements. Empty for types
// without a numeric value.
std::optional<bool> TruthOf(const ir::Tensor& condition);

// What a graph returns, by value: for passes that ask and replace often. While it is alive, outputs change here only.
class Returned {
 public:
  explicit Returned(ir::Graph* graph);
  bool Has(const ir::Endpoint& value) const { return places_.contains({value.node.get(), value.index}); }
  void Replace(const ir::Endpoint& from, const ir::Endpoint& to);

 private:
  using Value = std::pair<const ir::Node*, int32_t>;
  struct ValueHash {
    size_t operator()(const Value& value) const {
      return std::hash<const void*>()(value.first) * 31 + static_cast<size_t>(value.second);
    }
  };
  ir::Graph* graph_;
  std::unordered_map<Value, std::vector<size_t>, ValueHash> places_;  // among the outputs
};

// Folds nodes one by one: the hook for Infer's after_node. Shape, ShapeN, Size and Rank of known shapes need no run;
// others run if all their inputs are constants.
class Folder {
 public:
  Folder(const PassOptions& options, const PassEnvironment& environment)
      : options_(options), environment_(environment) {}
  Status Fold(const ir::NodePtr& node);
  // Removes the folded nodes from their graphs.
  void Sweep();
  size_t folded() const { return folded_; }

 private:
  bool MayRun(const ir::Node& node, std::vector<ir::TensorPtr>* out_inputs);
  // Some node writes into this one's output. Asked of a constant once for each of its users, and told from all of them,
  // so it is kept: folding takes users away, but never one that writes.
  bool IsChanged(const ir::Node* node);
  Status Replace(const ir::NodePtr& node, std::span<const ir::TensorPtr> outputs);

  const PassOptions& options_;
  const PassEnvironment& environment_;
  size_t folded_ = 0;
  size_t bytes_ = 0;  // of all constants made so far
  std::map<ir::Graph*, std::vector<ir::NodePtr>> gone_;
  std::map<ir::Graph*, Returned> returned_;  // until the next sweep
  std::unordered_map<const ir::Node*, bool>
      changed_;  // until the next sweep: gone_ keeps the addresses from being reused
};

// Shared by the passes. Users and graph outputs of `from` get `to` instead.
Status ReplaceUses(const ir::Endpoint& from, const ir::Endpoint& to, Returned* returned);
// Moves control users of `from`, and its place among the targets, to `to`.
void MoveControls(ir::Graph* graph, const ir::NodePtr& from, std::span<const ir::NodePtr> to);
// A name that is unused in the graph, derived from this one.
std::string FreeName(const ir::Graph& graph, std::string name);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_REWRITE_H_

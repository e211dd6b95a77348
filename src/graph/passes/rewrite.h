// SPDX-License-Identifier: Apache-2.0
// The rewriting passes. Each works on one graph (Optimize calls it on the root and on every subgraph), keeps results
// and effects as they were, and tells whether it changed anything. pre: verified.
#ifndef MILLPOND_SRC_GRAPH_PASSES_REWRITE_H_
#define MILLPOND_SRC_GRAPH_PASSES_REWRITE_H_

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "src/graph/passes/environment.h"
#include "src/graph/passes/infer.h"

namespace millpond::passes {

// Nodes that no output, target or effect needs. Inputs stay: they are the order in which a run is fed.
Status RemoveDead(ir::Graph* graph, bool* out_changed);
// Subgraphs of a root graph that no node runs.
void RemoveUnusedSubgraphs(ir::Graph* root);

// Identity, IdentityN, StopGradient, PreventGradient: users read the source instead, unless somebody changes either in
// place, so that the copy matters.
Status RemoveIdentities(ir::Graph* graph, bool* out_changed);

// Same type, inputs, attributes and controls, no effect, no chance, nothing changed in place: the first stands for all.
Status Deduplicate(ir::Graph* graph, bool* out_changed);

// Partitioned calls become the nodes of their subgraph, named call/node.
Status InlineCalls(ir::Graph* graph, bool* out_changed);
// If and Case whose condition is a constant become the branch that it chooses.
Status ChooseBranches(ir::Graph* graph, bool* out_changed);
// The rule for conditions: a number is true when it is not 0, what is no scalar when it has elements. Nothing for types
// whose bytes do not tell.
std::optional<bool> TruthOf(const ir::Tensor& condition);

// Folds nodes one by one: the hook for Infer's after_node. Shape, ShapeN, Size and Rank of what is known need no run;
// others run where all their inputs are constants.
class Folder {
 public:
  Folder(const PassOptions& options, const PassEnvironment& environment)
      : options_(options), environment_(environment) {}
  Status Fold(const ir::NodePtr& node);
  // Takes the nodes that were folded out of their graphs.
  void Sweep();
  size_t folded() const { return folded_; }

 private:
  bool MayRun(const ir::Node& node, std::vector<ir::TensorPtr>* out_inputs) const;
  Status Replace(const ir::NodePtr& node, std::span<const ir::TensorPtr> outputs);

  const PassOptions& options_;
  const PassEnvironment& environment_;
  size_t folded_ = 0;
  size_t bytes_ = 0;  // of all constants made so far
  std::map<ir::Graph*, std::vector<ir::NodePtr>> gone_;
};

// What the passes share. Everything that reads `from`, or is returned from it, is given `to` instead.
Status ReplaceUses(ir::Graph* graph, const ir::Endpoint& from, const ir::Endpoint& to);
// What waits for `from`, and its place among the targets, goes to `to`.
void MoveControls(ir::Graph* graph, const ir::NodePtr& from, std::span<const ir::NodePtr> to);
// A name that no node of the graph has, made from this one.
std::string FreeName(const ir::Graph& graph, std::string name);

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_REWRITE_H_

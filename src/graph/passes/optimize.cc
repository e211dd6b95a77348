// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/optimize.h"

#include "src/graph/passes/infer.h"
#include "src/graph/passes/rewrite.h"
#include "src/graph/passes/verify.h"

namespace millpond::passes {
namespace {

class Driver {
 public:
  Driver(ir::Graph* graph, const PassOptions& options, const PassEnvironment& environment)
      : graph_(graph), options_(options), environment_(environment) {}

  Status Run() {
    MP_RETURN_IF_ERROR(Verify(graph_, environment_.clients));
    RemoveUnusedSubgraphs(graph_);
    Dump("verify");
    MP_RETURN_IF_ERROR(Pass(options_.remove_dead, RemoveDead, "dead"));
    MP_RETURN_IF_ERROR(Pass(options_.inline_calls, InlineCalls, "inline"));
    MP_RETURN_IF_ERROR(InferAndFold());
    MP_RETURN_IF_ERROR(Pass(options_.remove_identities, RemoveIdentities, "identities"));
    MP_RETURN_IF_ERROR(Pass(options_.deduplicate, Deduplicate, "deduplicate"));
    return Pass(options_.remove_dead, RemoveDead, "final");
  }

 private:
  void Dump(std::string_view pass) const {
    if (environment_.dump) environment_.dump(*graph_, pass);
  }

  // On the root and every subgraph.
  Status ForEachGraph(Status (*pass)(ir::Graph*, bool*), bool* out_changed) {
    const std::vector<ir::GraphPtr> subgraphs(graph_->subgraphs().begin(), graph_->subgraphs().end());
    MP_RETURN_IF_ERROR(pass(graph_, out_changed));
    for (const ir::GraphPtr& subgraph : subgraphs) {
      if (subgraph->parent() != graph_) continue;  // it went on the way
      MP_RETURN_IF_ERROR(pass(subgraph.get(), out_changed));
    }
    RemoveUnusedSubgraphs(graph_);
    return Ok();
  }

  Status Pass(bool wanted, Status (*pass)(ir::Graph*, bool*), std::string_view name) {
    if (!wanted) return Ok();
    bool changed = false;
    MP_RETURN_IF_ERROR(ForEachGraph(pass, &changed));
    Dump(name);
    return Ok();
  }

  // Each round but the last takes at least one If or Case away.
  Status InferAndFold() {
    Folder folder(options_, environment_);
    InferEnvironment infer;
    infer.clients = &environment_.clients;
    if (options_.fold) infer.after_node = [&](const ir::NodePtr& node) { return folder.Fold(node); };
    for (bool again = true; again;) {
      MP_RETURN_IF_ERROR(Infer(graph_, infer));
      folder.Sweep();
      again = false;
      if (options_.choose_branches) MP_RETURN_IF_ERROR(ForEachGraph(ChooseBranches, &again));
    }
    Dump("infer");
    return Ok();
  }

  ir::Graph* graph_;
  const PassOptions& options_;
  const PassEnvironment& environment_;
};

}  // namespace

Status Optimize(ir::Graph* graph, const PassOptions& options, const PassEnvironment& environment) {
  return Driver(graph, options, environment).Run();
}

}  // namespace millpond::passes

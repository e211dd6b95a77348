// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/optimize.h"

#include "src/base/format.h"
#include "src/graph/passes/fuse.h"
#include "src/graph/passes/infer.h"
#include "src/graph/passes/precision.h"
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
    MP_RETURN_IF_ERROR(Gather());
    MP_RETURN_IF_ERROR(Pass(options_.inline_calls, InlineCalls, "inline"));
    MP_RETURN_IF_ERROR(InferAndFold());
    MP_RETURN_IF_ERROR(Pass(options_.remove_identities, RemoveIdentities, "identities"));
    MP_RETURN_IF_ERROR(Pass(options_.deduplicate, Deduplicate, "deduplicate"));
    MP_RETURN_IF_ERROR(Round());
    MP_RETURN_IF_ERROR(Fuse());
    return Pass(options_.remove_dead, RemoveDead, "final");
  }

 private:
  // Nodes that lived where they were not verified have moved into subgraphs.
  Status Gather() {
    bool changed = false;
    MP_RETURN_IF_ERROR(ForEachGraph(GatherBranches, &changed));
    if (!changed) return Ok();
    MP_RETURN_IF_ERROR(Verify(graph_, environment_.clients));
    Dump("branches");
    return Ok();
  }

  // Constants are rounded once, by folding anew.
  Status Round() {
    if (options_.rounding == Rounding::kNone) return Ok();
    const auto round = [this](ir::Graph* graph, bool* changed) {
      return RoundToHalf(graph, options_.rounding, changed);
    };
    MP_RETURN_IF_ERROR(Pass(true, round, "precision"));
    return InferAndFold();
  }

  Status Fuse() {
    const Fusions& wanted = options_.fusions;
    MP_RETURN_IF_ERROR(Pass(wanted.composites, FuseComposites, "composites"));
    MP_RETURN_IF_ERROR(Pass(wanted.conv, FuseConv, "conv"));
    MP_RETURN_IF_ERROR(Pass(wanted.matmul, FuseMatMul, "matmul"));
    MP_RETURN_IF_ERROR(Pass(wanted.attention, FuseAttention, "attention"));
    MP_RETURN_IF_ERROR(Pass(wanted.layout, ChooseLayout, "layout"));
    MP_RETURN_IF_ERROR(Pass(wanted.transposes, RemoveTransposes, "transposes"));
    MP_RETURN_IF_ERROR(Pass(wanted.elementwise, FuseChains, "elementwise"));
    const auto pack = [this](ir::Graph* graph, bool* changed) { return Prepack(graph, environment_, changed); };
    return Pass(wanted.prepack, pack, "prepack");
  }

  void Dump(std::string_view pass) const {
    if (environment_.dump) environment_.dump(*graph_, pass);
  }

  // On the root and every subgraph.
  template <class Work>
  Status ForEachGraph(Work pass, bool* out_changed) {
    const std::vector<ir::GraphPtr> subgraphs(graph_->subgraphs().begin(), graph_->subgraphs().end());
    MP_RETURN_IF_ERROR(pass(graph_, out_changed));
    for (const ir::GraphPtr& subgraph : subgraphs) {
      if (subgraph->parent() != graph_) continue;  // removed in the meantime
      MP_RETURN_IF_ERROR(pass(subgraph.get(), out_changed));
    }
    RemoveUnusedSubgraphs(graph_);
    return Ok();
  }

  template <class Work>
  Status Pass(bool wanted, Work pass, std::string_view name) {
    if (!wanted) return Ok();
    bool changed = false;
    MP_RETURN_IF_ERROR(ForEachGraph(pass, &changed));
    Dump(name);
    return Ok();
  }

  // Each round but the last removes at least one If or Case.
  Status InferAndFold() {
    Folder folder(options_, environment_);
    ir::Budget visits(0, kMaxVisits);  // of all rounds together
    InferEnvironment infer;
    infer.budget = &visits;
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

Status Fusions::Parse(std::string_view text, Fusions* out) {
  struct Name {
    std::string_view name;
    bool Fusions::*flag;
  };
  static constexpr Name kNames[] = {{"composites", &Fusions::composites},   {"conv", &Fusions::conv},
                                    {"matmul", &Fusions::matmul},           {"attention", &Fusions::attention},
                                    {"layout", &Fusions::layout},           {"transposes", &Fusions::transposes},
                                    {"elementwise", &Fusions::elementwise}, {"prepack", &Fusions::prepack}};
  *out = Fusions();
  if (text.empty() || text == "all") return Ok();
  const bool from_all = text.front() == '-';
  if (!from_all) {
    for (const Name& each : kNames) out->*each.flag = false;
  }
  if (text == "none") return Ok();
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool off = !word.empty() && word.front() == '-';
    bool known = false;
    for (const Name& each : kNames) {
      if (each.name != word.substr(off ? 1 : 0)) continue;
      out->*each.flag = !off;
      known = true;
    }
    MP_REQUIRE(known,
               "'%.*s' is not a fusing pass; there are composites, conv, matmul, attention, layout, transposes, "
               "elementwise and prepack",
               static_cast<int>(word.size()), word.data());
  }
  return Ok();
}

Status Optimize(ir::Graph* graph, const PassOptions& options, const PassEnvironment& environment) {
  return Driver(graph, options, environment).Run();
}

}  // namespace millpond::passes

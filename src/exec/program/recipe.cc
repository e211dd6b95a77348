// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/recipe.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "src/base/format.h"
#include "src/exec/op/kernel_table.h"
#include "src/exec/program/recipe_sources.h"
#include "src/graph/passes/kinds.h"
#include "src/ops/door.h"

namespace millpond::program {
namespace {

constexpr std::pair<std::string_view, NodeKind> kKinds[] = {
    {"Data", NodeKind::kInput},
    {"RefData", NodeKind::kInput},
    {"Const", NodeKind::kConstant},
    {"Constant", NodeKind::kConstant},
    {"FileConstant", NodeKind::kConstant},
    {"ConstPlaceHolder", NodeKind::kFixed},
    {"Variable", NodeKind::kVariable},
    {"VariableV2", NodeKind::kVariable},
    {"Reshape", NodeKind::kView},
    {"MillpondReshape", NodeKind::kView},
    {"Squeeze", NodeKind::kView},
    {"SqueezeV2", NodeKind::kView},
    {"SqueezeV3", NodeKind::kView},
    {"Unsqueeze", NodeKind::kView},
    {"UnsqueezeV2", NodeKind::kView},
    {"UnsqueezeV3", NodeKind::kView},
    {"ExpandDims", NodeKind::kView},
    {"Flatten", NodeKind::kView},
    {"FlattenV2", NodeKind::kView},
    {"Identity", NodeKind::kView},
    {"IdentityN", NodeKind::kView},
    {"StopGradient", NodeKind::kView},
    {"PreventGradient", NodeKind::kView},
    {"Snapshot", NodeKind::kView},
    {"GuaranteeConst", NodeKind::kView},
    {"Bitcast", NodeKind::kView},
    {"TensorMove", NodeKind::kCopy},
    {"Assign", NodeKind::kAssign},
    {"Shape", NodeKind::kShape},
    {"ShapeN", NodeKind::kShape},
    {"Size", NodeKind::kShape},
    {"Rank", NodeKind::kShape},
    {"If", NodeKind::kBranch},
    {"StatelessIf", NodeKind::kBranch},
    {"_If", NodeKind::kBranch},
    {"Case", NodeKind::kBranch},
    {"StatelessCase", NodeKind::kBranch},
    {"While", NodeKind::kWhile},
    {"_While", NodeKind::kWhile},
    {"StatelessWhile", NodeKind::kWhile},
    {"For", NodeKind::kFor},
    {"PartitionedCall", NodeKind::kCall},
    {"StatefulPartitionedCall", NodeKind::kCall},
    {"NoOp", NodeKind::kNothing},
    {"ControlTrigger", NodeKind::kNothing},
};

NodeKind KindOf(std::string_view type) {
  for (const auto& [name, kind] : kKinds) {
    if (name == type) return kind;
  }
  return NodeKind::kKernel;
}

Source ViewedBy(const NodeInfo& info, uint32_t output) {
  return info.inputs[info.node->type == "IdentityN" ? output : 0];
}

class Maker {
 public:
  Maker(const ir::Graph& root, Recipes* out) : root_(root), out_(out) {}

  Status Make() {
    out_->root_owner = std::make_unique<Recipe>();
    out_->root = out_->root_owner.get();
    MP_RETURN_IF_ERROR(MakeOne(root_, NodeKind::kNothing, out_->root_owner.get()));
    MakeClaims(out_->root_owner.get());
    for (uint32_t i = 0; i < out_->root->outputs.size(); ++i) {
      bool changed = false;
      const Source root = RootOf(*out_->root, out_->root->outputs[i], &changed);
      const NodeInfo& info = out_->root->nodes[root.node];
      if (changed && info.kind == NodeKind::kInput) out_->aliases.emplace_back(info.position, i);
    }
    return Ok();
  }

 private:
  using Positions = std::unordered_map<const ir::Node*, uint32_t>;

  Status MakeOne(const ir::Graph& graph, NodeKind caller, Recipe* recipe) {
    recipe->name = graph.name;
    std::vector<ir::NodePtr> sorted;
    MP_RETURN_IF_ERROR(graph.Sorted(&sorted));
    Positions positions;
    for (const ir::NodePtr& node : sorted) {
      positions.emplace(node.get(), static_cast<uint32_t>(recipe->nodes.size()));
      recipe->nodes.emplace_back();
      MP_RETURN_IF_ERROR(MakeNode(*node, positions, &recipe->nodes.back()).Prefixed(passes::Named(*node)));
    }
    PlaceInputs(graph, caller, positions, recipe);
    for (const ir::Endpoint& output : graph.outputs) {
      recipe->outputs.push_back({positions.at(output.node.get()), static_cast<uint32_t>(output.index)});
    }
    CountUses(recipe);
    KeepOldValues(recipe);
    MarkWanted(caller == NodeKind::kWhile, recipe);
    return Ok();
  }

  Status MakeNode(const ir::Node& node, const Positions& positions, NodeInfo* info) {
    info->node = &node;
    info->kind = KindOf(node.type);
    info->uses.assign(node.outputs.size(), 0);
    for (const ir::Input& input : node.inputs) {
      Source source;
      if (input.source != nullptr) {
        source = {positions.at(input.source.get()), static_cast<uint32_t>(input.index)};
      }
      info->inputs.push_back(source);
    }
    info->changed.assign(node.inputs.size(), 0);
    info->changes.assign(node.outputs.size(), -1);
    switch (info->kind) {
      case NodeKind::kInput:
        return Ok();
      case NodeKind::kConstant:
        return MakeConstant(node, out_, info);
      case NodeKind::kFixed:
        return MakeFixed(node, info);
      case NodeKind::kVariable:
        return MakeVariable(node, out_, info);
      case NodeKind::kBranch:
      case NodeKind::kWhile:
      case NodeKind::kFor:
      case NodeKind::kCall:
        return MakeBodies(node, info);
      case NodeKind::kAssign:
        info->changes[0] = 0;
        info->changed[0] = 1;
        return Ok();
      case NodeKind::kView:
      case NodeKind::kCopy:
      case NodeKind::kShape:
        info->door = passes::DoorOf(node);
        info->row = FindGeOp(node.type, &info->binding);
        return Ok();
      case NodeKind::kNothing:
        return Ok();
      case NodeKind::kKernel:
        return MakeKernel(node, info);
    }
    return Ok();
  }

  static Status MakeKernel(const ir::Node& node, NodeInfo* info) {
    info->row = FindGeOp(node.type, &info->binding);
    MP_CHECK(info->row != nullptr, kUnsupported, "there is no kernel for this operator type in this release");
    MP_RETURN_IF_ERROR(FindKernel(*info->row, &info->kernel));
    info->door = passes::DoorOf(node);
    for (const auto& [input, output] : passes::InPlace(node)) {
      info->changes[output] = static_cast<int32_t>(input);
      info->changed[input] = 1;
    }
    // A row may also write to what the door only calls an input.
    size_t at = 0;
    for (size_t i = 0; i < info->binding->inputs.size(); ++i) {
      const size_t count = i < info->door.input_counts.size() ? info->door.input_counts[i] : 1;
      for (size_t arg = 0; arg < info->row->args.size(); ++arg) {
        const bool same = info->binding->inputs[i].name == info->binding->args[arg].name;
        if (!same || info->row->args[arg].flow != ArgFlow::kInOut) continue;
        for (size_t member = at; member < at + count && member < info->changed.size(); ++member) {
          info->changed[member] = 1;
        }
      }
      at += count;
    }
    return Ok();
  }

  Status MakeBodies(const ir::Node& node, NodeInfo* info) {
    const auto add = [&](std::string_view name, bool* out_found) -> Status {
      const ir::GraphPtr graph = passes::SubgraphOf(node, name);
      if (out_found != nullptr) *out_found = graph != nullptr;
      if (graph == nullptr) {
        MP_REQUIRE(out_found != nullptr, "its subgraph '%s' is missing", std::string(name).c_str());
        return Ok();
      }
      out_->subgraphs.push_back(std::make_unique<Recipe>());
      Recipe* body = out_->subgraphs.back().get();
      info->bodies.push_back(body);
      return MakeOne(*graph, info->kind, body).Prefixed(Format("subgraph '%s'", graph->name.c_str()));
    };
    switch (passes::KindOf(node)) {
      case passes::Kind::kIf:
        MP_RETURN_IF_ERROR(add("then_branch", nullptr));
        return add("else_branch", nullptr);
      case passes::Kind::kWhile:
        MP_RETURN_IF_ERROR(add("cond", nullptr));
        return add("body", nullptr);
      case passes::Kind::kFor:
        return add("body", nullptr);
      case passes::Kind::kCall:
        return add("f", nullptr);
      default:
        for (bool found = true; found;) {
          MP_RETURN_IF_ERROR(add("branches" + std::to_string(info->bodies.size()), &found));
        }
        return Ok();
    }
  }

  static void PlaceInputs(const ir::Graph& graph, NodeKind caller, const Positions& positions, Recipe* recipe) {
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const bool is_root = caller == NodeKind::kNothing;
      const size_t at = is_root ? i : static_cast<size_t>(passes::ParentInput(*graph.inputs[i]));
      if (recipe->inputs.size() <= at) recipe->inputs.resize(at + 1, Source::kAbsent);
      const uint32_t node = positions.at(graph.inputs[i].get());
      recipe->nodes[node].position = static_cast<uint32_t>(at);
      recipe->inputs[at] = node;
    }
  }

  static void CountUses(Recipe* recipe) {
    const auto use = [&](const Source& source) {
      if (source.present()) ++recipe->nodes[source.node].uses[source.output];
    };
    for (const NodeInfo& info : recipe->nodes) std::for_each(info.inputs.begin(), info.inputs.end(), use);
    std::for_each(recipe->outputs.begin(), recipe->outputs.end(), use);
  }

  // Whose memory a value is in; *out_changed: changed on the way.
  static Source RootOf(const Recipe& recipe, Source at, bool* out_changed = nullptr) {
    for (;;) {
      const NodeInfo& info = recipe.nodes[at.node];
      const int32_t changed = info.kind == NodeKind::kView ? -1 : info.changes[at.output];
      Source next;
      if (info.kind == NodeKind::kView) next = ViewedBy(info, at.output);
      if (changed >= 0) next = info.inputs[static_cast<size_t>(changed)];
      if (!next.present()) return at;
      if (changed >= 0 && out_changed != nullptr) *out_changed = true;
      at = next;
    }
  }

  // An Identity reads what its source holds at that time: where the source is changed in place it must be a copy,
  // unless it is itself what is changed.
  static void KeepOldValues(Recipe* recipe) {
    std::set<std::pair<uint32_t, uint32_t>> changed;
    std::set<uint32_t> on_path;
    for (const NodeInfo& info : recipe->nodes) {
      for (size_t i = 0; i < info.inputs.size(); ++i) {
        if (info.changed[i] == 0 || !info.inputs[i].present()) continue;
        const Source root = RootOf(*recipe, info.inputs[i]);
        changed.emplace(root.node, root.output);
        on_path.insert(info.inputs[i].node);
      }
    }
    if (changed.empty()) return;
    for (uint32_t i = 0; i < recipe->nodes.size(); ++i) {
      NodeInfo& info = recipe->nodes[i];
      if (info.node->type != "Identity" || on_path.contains(i)) continue;
      const Source root = RootOf(*recipe, info.inputs[0]);
      if (changed.contains({root.node, root.output})) info.kind = NodeKind::kCopy;
    }
  }

  // Backwards from every input whose numbers are needed at launch.
  static void MarkWanted(bool for_loop, Recipe* recipe) {
    std::vector<uint32_t> open;
    const auto want = [&](const Source& source) {
      if (!source.present() || recipe->nodes[source.node].wanted_on_host) return;
      recipe->nodes[source.node].wanted_on_host = true;
      open.push_back(source.node);
    };
    for (const NodeInfo& info : recipe->nodes) {
      if (info.kind == NodeKind::kBranch) want(info.inputs[0]);
      if (info.kind == NodeKind::kFor) std::for_each(info.inputs.begin(), info.inputs.begin() + 3, want);
      if (info.row == nullptr) continue;
      DoorArguments given;
      given.input_counts = info.door.input_counts;
      given.inputs.resize(info.inputs.size());
      for (size_t i = 0; i < given.inputs.size(); ++i) {
        if (info.inputs[i].present()) given.inputs[i].view.dtype = DType::kInt64;
      }
      for (const size_t at : ValueInputs(*info.row, *info.binding, given)) want(info.inputs[at]);
    }
    // It may be a loop's condition.
    if (for_loop && recipe->outputs.size() == 1) want(recipe->outputs[0]);
    while (!open.empty()) {
      const NodeInfo& info = recipe->nodes[open.back()];
      open.pop_back();
      if (info.kind == NodeKind::kShape) continue;
      std::for_each(info.inputs.begin(), info.inputs.end(), want);
    }
  }

  static void MakeClaims(Recipe* recipe) {
    std::set<std::pair<uint32_t, uint32_t>> passed;  // what lies before them has been claimed
    for (uint32_t output = 0; output < recipe->outputs.size(); ++output) {
      Source at = recipe->outputs[output];
      for (;;) {
        const NodeInfo& info = recipe->nodes[at.node];
        const bool in_place = at.output < info.changes.size() && info.changes[at.output] >= 0;
        Source next;
        if (info.kind == NodeKind::kView) {
          next = ViewedBy(info, at.output);
        } else if (in_place) {
          next = info.inputs[static_cast<size_t>(info.changes[at.output])];
          // With other readers it would be copied before it is changed.
          if (next.present() && recipe->nodes[next.node].uses[next.output] != 1) next = {};
        } else if (info.kind == NodeKind::kKernel || info.kind == NodeKind::kCopy || info.kind == NodeKind::kBranch) {
          recipe->claims.emplace(std::pair(at.node, at.output), output);
        }
        if (!next.present() || !passed.emplace(next.node, next.output).second) break;
        at = next;
      }
    }
  }

  const ir::Graph& root_;
  Recipes* out_;
};

}  // namespace

Status MakeRecipes(const ir::Graph& graph, Recipes* out) { return Maker(graph, out).Make(); }

}  // namespace millpond::program

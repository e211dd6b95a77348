// SPDX-License-Identifier: Apache-2.0
// Inlines subgraphs that run exactly once.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/rewrite.h"

namespace millpond::passes {
namespace {

// Replaces `caller` by the nodes of `body`.
class Inliner {
 public:
  Inliner(ir::Graph* graph, const ir::NodePtr& caller, const ir::Graph& body, Returned* returned, ir::Budget* budget)
      : graph_(graph), caller_(caller), body_(body), returned_(returned), budget_(budget) {}

  Status Run() {
    MP_RETURN_IF_ERROR(CopyNodes());
    for (const auto& [from, to] : copies_) MP_RETURN_IF_ERROR(Link(*from, to));
    std::unordered_set<const ir::Node*> returned;
    for (const ir::Endpoint& output : body_.outputs) returned.insert(output.node.get());
    std::vector<ir::NodePtr> last;
    for (const auto& [from, to] : copies_) {
      if (KindOf(*to) == Kind::kConst) continue;
      if (!Follows(*from)) {
        for (const ir::NodePtr& control : caller_->controls) to->AddControl(control);
      }
      if (returned.contains(from.get()) || !from->HasUsers()) last.push_back(to);
    }
    for (size_t i = 0; i < body_.outputs.size(); ++i) {
      const ir::Endpoint to = Mapped(body_.outputs[i].node, body_.outputs[i].index);
      MP_REQUIRE(to.node != nullptr, "%s: output %zu is an input of the subgraph that is not connected",
                 Named(*caller_).c_str(), i);
      MP_RETURN_IF_ERROR(ReplaceUses({caller_, static_cast<int32_t>(i)}, to, returned_));
    }
    for (const ir::NodePtr& target : body_.targets) {
      const ir::NodePtr copy = Mapped(target, 0).node;
      if (copy != nullptr) graph_->targets.push_back(copy);
    }
    if (last.empty()) last = caller_->controls;  // nothing of its own to wait for
    MoveControls(graph_, caller_, last);
    return Ok();
  }

 private:
  Status CopyNodes() {
    for (const ir::NodePtr& node : body_.nodes()) {
      if (KindOf(*node) == Kind::kData) continue;
      // The caller's name before each: a long one multiplies.
      MP_RETURN_IF_ERROR(budget_->Spend(2 * (caller_->name.size() + node->name.size()), 1).Prefixed("inlining"));
      auto copy = std::make_shared<ir::Node>(FreeName(*graph_, caller_->name + "/" + node->name), node->type);
      for (const ir::Input& input : node->inputs) copy->inputs.push_back({input.desc, nullptr, 0});
      copy->outputs = node->outputs;
      copy->attributes = node->attributes;
      copy->subgraphs = node->subgraphs;
      MP_RETURN_IF_ERROR(graph_->AddNode(copy));
      copy_of_[node.get()] = copy;
      copies_.emplace_back(node, std::move(copy));
    }
    return Ok();
  }

  // The new source of `node`'s output; null when it represents an absent input.
  ir::Endpoint Mapped(const ir::NodePtr& node, int32_t index) const {
    if (const auto found = copy_of_.find(node.get()); found != copy_of_.end()) return {found->second, index};
    const ir::Input& input = caller_->inputs[static_cast<size_t>(ParentInput(*node))];
    return {input.source, input.index};
  }

  Status Link(const ir::Node& from, const ir::NodePtr& to) {
    for (size_t place = 0; place < from.inputs.size(); ++place) {
      const ir::Input& input = from.inputs[place];
      if (input.source == nullptr) continue;
      const ir::Endpoint source = Mapped(input.source, input.index);
      if (source.node != nullptr) MP_RETURN_IF_ERROR(to->Connect(place, source.node, source.index));
    }
    for (const ir::NodePtr& control : from.controls) {
      const ir::Endpoint source = Mapped(control, 0);
      if (source.node != nullptr) to->AddControl(source.node);
    }
    return Ok();
  }

  // Runs after another node of the body, and so after what that one waits for.
  bool Follows(const ir::Node& node) const {
    const auto counts = [&](const ir::NodePtr& source) {
      return source != nullptr && copy_of_.contains(source.get()) && KindOf(*source) != Kind::kConst;
    };
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](const ir::Input& input) { return counts(input.source); }) ||
           std::any_of(node.controls.begin(), node.controls.end(), counts);
  }

  ir::Graph* graph_;
  const ir::NodePtr& caller_;
  const ir::Graph& body_;
  Returned* returned_;
  ir::Budget* budget_;
  std::vector<std::pair<ir::NodePtr, ir::NodePtr>> copies_;  // in the body's order
  std::unordered_map<const ir::Node*, ir::NodePtr> copy_of_;
};

// The caller stays, unused: all callers are removed together, since each removal walks over the whole graph.
Status Inline(ir::Graph* graph, const ir::NodePtr& caller, const ir::GraphPtr& body, Returned* returned,
              ir::Budget* budget) {
  MP_RETURN_IF_ERROR(Inliner(graph, caller, *body, returned, budget).Run());
  graph->RemoveSubgraph(body->name);
  return Ok();
}

// Each subgraph is inlined once, so nodes do not multiply: only their names grow.
ir::Budget NamesBudget() { return {uint64_t{1} << 30, kMaxVisits}; }

std::vector<ir::NodePtr> NodesOfKind(const ir::Graph& graph, std::initializer_list<Kind> kinds) {
  std::vector<ir::NodePtr> found;
  for (const ir::NodePtr& node : graph.nodes()) {
    if (std::find(kinds.begin(), kinds.end(), KindOf(*node)) != kinds.end()) found.push_back(node);
  }
  return found;
}

// The branch that a constant condition chooses; null when it is not constant.
ir::GraphPtr ChosenBranch(const ir::Node& node) {
  if (node.inputs.empty()) return nullptr;
  const ir::TensorPtr condition = ConstantAt(node.inputs[0].source.get(), node.inputs[0].index);
  if (condition == nullptr) return nullptr;
  if (KindOf(node) == Kind::kIf) {
    const std::optional<bool> truth = TruthOf(*condition);
    return truth ? SubgraphOf(node, *truth ? "then_branch" : "else_branch") : nullptr;
  }
  int32_t index = 0;
  if (condition->desc.dtype != DType::kInt32 || condition->data.size < sizeof(index)) return nullptr;
  std::memcpy(&index, condition->data.data, sizeof(index));
  const auto count = static_cast<int32_t>(node.subgraphs.size());
  if (index < 0 || index >= count) index = count - 1;
  return SubgraphOf(node, Format("branches%d", index));
}

}  // namespace

std::optional<bool> TruthOf(const ir::Tensor& condition) {
  const DType dtype = condition.desc.dtype;
  if (!condition.desc.dims.empty()) return ir::ElementsOf(condition.desc.dims) > 0;
  const size_t bytes = static_cast<size_t>(BitsOf(dtype)) / 8;
  const uint8_t type_class = ClassOf(dtype);
  if ((type_class & (kHalfTypes | kFloatTypes | kIntTypes | kBoolTypes)) == 0 || condition.data.size < bytes) {
    return std::nullopt;
  }
  for (size_t i = 0; i < bytes; ++i) {
    auto byte = std::to_integer<uint8_t>(condition.data.data[i]);
    // The sign of a zero does not count; it is the highest bit of the last byte.
    if (i + 1 == bytes && (type_class & (kHalfTypes | kFloatTypes)) != 0) byte &= 0x7f;
    if (byte != 0) return true;
  }
  return false;
}

Status InlineCalls(ir::Graph* graph, bool* out_changed) {
  ir::Budget budget = NamesBudget();
  Returned returned(graph);
  // A body may contain calls; in verified graphs their nesting is bounded.
  for (std::vector<ir::NodePtr> calls; !(calls = NodesOfKind(*graph, {Kind::kCall})).empty();) {
    for (const ir::NodePtr& call : calls) {
      const ir::GraphPtr body = SubgraphOf(*call, "f");
      MP_CHECK(body != nullptr, kInternal, "%s: its subgraph is gone", Named(*call).c_str());
      MP_RETURN_IF_ERROR(Inline(graph, call, body, &returned, &budget));
      *out_changed = true;
    }
    graph->RemoveNodes(calls);
  }
  return Ok();
}

Status ChooseBranches(ir::Graph* graph, bool* out_changed) {
  ir::Budget budget = NamesBudget();
  Returned returned(graph);
  std::vector<ir::NodePtr> gone;
  for (const ir::NodePtr& node : NodesOfKind(*graph, {Kind::kIf, Kind::kCase})) {
    const ir::GraphPtr branch = ChosenBranch(*node);
    if (branch == nullptr) continue;
    MP_RETURN_IF_ERROR(Inline(graph, node, branch, &returned, &budget));
    gone.push_back(node);
    *out_changed = true;
  }
  graph->RemoveNodes(gone);
  return Ok();
}

}  // namespace millpond::passes

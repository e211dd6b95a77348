// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/verify.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/verify_node.h"

namespace millpond::passes {
namespace {

// Clients nest a few levels; more than this is a malicious file.
constexpr size_t kMaxNested = 32;
constexpr size_t kMaxSubgraphs = 10'000;

const int64_t* IntAttr(const ir::Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : found->second.As<int64_t>();
}

Status VerifyNames(const ir::Graph& graph) {
  std::unordered_set<std::string_view> names;
  for (const ir::NodePtr& node : graph.nodes()) {
    MP_REQUIRE(names.insert(node->name).second, "graph \"%s\": two nodes have the name \"%s\"; rename one",
               graph.name.c_str(), node->name.c_str());
  }
  return Ok();
}

Status VerifyEndpoints(const ir::Graph& graph) {
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::Endpoint& output = graph.outputs[i];
    MP_REQUIRE(output.node != nullptr && output.node->graph() == &graph,
               "graph \"%s\": output %zu is of a node that is not in the graph", graph.name.c_str(), i);
    MP_REQUIRE(output.index >= 0 && static_cast<size_t>(output.index) < output.node->outputs.size(),
               "graph \"%s\": output %zu asks for output %d of %s, which has %zu", graph.name.c_str(), i, output.index,
               Named(*output.node).c_str(), output.node->outputs.size());
  }
  for (const ir::NodePtr& target : graph.targets) {
    MP_REQUIRE(target != nullptr && target->graph() == &graph, "graph \"%s\": a target is not in the graph",
               graph.name.c_str());
  }
  return Ok();
}

// In a subgraph an input of NetOutput may name the parent's output it represents.
Status SettleNetOutput(ir::Graph* graph) {
  ir::NodePtr net_output;
  for (const ir::NodePtr& node : graph->nodes()) {
    if (KindOf(*node) != Kind::kNetOutput) continue;
    MP_REQUIRE(net_output == nullptr, "graph \"%s\" has two NetOutput nodes, \"%s\" and \"%s\"; only one is allowed",
               graph->name.c_str(), net_output->name.c_str(), node->name.c_str());
    net_output = node;
  }
  if (net_output == nullptr) return Ok();
  std::vector<std::pair<int64_t, ir::Endpoint>> placed;
  for (size_t place = 0; place < net_output->inputs.size(); ++place) {
    const ir::Input& input = net_output->inputs[place];
    MP_REQUIRE(input.source != nullptr, "%s: input %zu is not connected", Named(*net_output).c_str(), place);
    const int64_t* parent_index = input.desc.attributes ? IntAttr(*input.desc.attributes, kParentIndex) : nullptr;
    placed.emplace_back(parent_index != nullptr ? *parent_index : static_cast<int64_t>(place),
                        ir::Endpoint{input.source, input.index});
  }
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (!placed.empty()) graph->outputs.clear();
  for (auto& [index, output] : placed) graph->outputs.push_back(std::move(output));
  for (const ir::NodePtr& control : net_output->controls) {
    if (std::find(graph->targets.begin(), graph->targets.end(), control) == graph->targets.end()) {
      graph->targets.push_back(control);
    }
  }
  graph->RemoveNode(net_output);
  return Ok();
}

// No outputs: every node without users is run for its effects.
void SettleTargets(ir::Graph* graph) {
  if (!graph->outputs.empty() || !graph->targets.empty()) return;
  for (const ir::NodePtr& node : graph->nodes()) {
    if (KindOf(*node) != Kind::kData && !node->HasUsers()) graph->targets.push_back(node);
  }
}

std::vector<ir::NodePtr> DataNodes(const ir::Graph& graph) {
  std::vector<ir::NodePtr> data;
  for (const ir::NodePtr& node : graph.nodes()) {
    if (KindOf(*node) == Kind::kData) data.push_back(node);
  }
  return data;
}

int64_t IndexOf(const ir::Node& data) {
  const int64_t* index = IntAttr(data.attributes, "index");
  return index != nullptr ? *index : 0;
}

void SettleInputs(ir::Graph* root) {
  std::vector<ir::NodePtr> data = DataNodes(*root);
  std::vector<bool> seen(data.size());
  bool dense = true;
  for (const ir::NodePtr& node : data) {
    const int64_t index = IndexOf(*node);
    dense = dense && index >= 0 && static_cast<size_t>(index) < data.size() && !seen[static_cast<size_t>(index)];
    if (dense) seen[static_cast<size_t>(index)] = true;
  }
  if (dense) {
    std::sort(data.begin(), data.end(), [](const auto& a, const auto& b) { return IndexOf(*a) < IndexOf(*b); });
  }
  for (size_t i = 0; i < data.size(); ++i) data[i]->attributes["index"].value = static_cast<int64_t>(i);
  root->inputs = std::move(data);
}

// The parent's input that a subgraph's Data refers to by `index`.
int64_t ParentIndexFor(Kind parent, int64_t index) {
  switch (parent) {
    case Kind::kIf:
    case Kind::kCase:
      return index + 1;  // the condition comes first
    case Kind::kFor:
      return index == 0 ? 0 : index + 2;  // the counter, then what comes after limit and delta
    default:
      return index;
  }
}

Status SettleSubgraphInputs(ir::Graph* graph, const ir::Node& parent, std::unordered_set<const ir::Node*>* derived) {
  std::vector<ir::NodePtr> data = DataNodes(*graph);
  for (const ir::NodePtr& node : data) {
    const int64_t* given = IntAttr(node->attributes, kParentIndex);
    const int64_t index = given != nullptr ? *given : ParentIndexFor(KindOf(parent), IndexOf(*node));
    MP_REQUIRE(index >= 0 && static_cast<size_t>(index) < parent.inputs.size(),
               "graph \"%s\": %s stands for input %lld of %s, which has %zu", graph->name.c_str(), Named(*node).c_str(),
               static_cast<long long>(index), Named(parent).c_str(), parent.inputs.size());
    if (given == nullptr) derived->insert(node.get());
    node->attributes[std::string(kParentIndex)].value = index;
  }
  std::stable_sort(data.begin(), data.end(),
                   [](const auto& a, const auto& b) { return ParentInput(*a) < ParentInput(*b); });
  graph->inputs = std::move(data);
  return Ok();
}

Status VerifyOutputCount(const ir::Graph& graph, const ir::Node& parent, std::string_view name, size_t expected) {
  MP_REQUIRE(graph.outputs.size() == expected,
             "%s: its subgraph \"%s\" (\"%s\") gives %zu outputs, and %zu are expected", Named(parent).c_str(),
             std::string(name).c_str(), graph.name.c_str(), graph.outputs.size(), expected);
  return Ok();
}

// What each kind requires of its own operand counts and of its subgraphs'.
Status VerifyArity(const ir::Graph& graph, const ir::Node& parent, std::string_view name) {
  const Kind kind = KindOf(parent);
  if (kind == Kind::kWhile && name == "cond") return VerifyOutputCount(graph, parent, name, 1);
  if (kind == Kind::kWhile || kind == Kind::kFor) {
    const size_t carried = kind == Kind::kWhile ? parent.inputs.size() : parent.inputs.size() - 3;
    MP_REQUIRE(parent.outputs.size() == carried, "%s: has %zu outputs, but %zu loop-carried values",
               Named(parent).c_str(), parent.outputs.size(), carried);
  }
  return VerifyOutputCount(graph, parent, name, parent.outputs.size());
}

Status VerifySubgraphNames(const ir::Node& node) {
  const auto has = [&](std::string_view name) {
    return std::any_of(node.subgraphs.begin(), node.subgraphs.end(),
                       [&](const ir::SubgraphRef& ref) { return ref.name == name; });
  };
  struct Wanted {
    Kind kind;
    std::array<std::string_view, 2> names;
  };
  static constexpr Wanted kWanted[] = {
      {Kind::kCall, {"f"}},         {Kind::kIf, {"then_branch", "else_branch"}},
      {Kind::kCase, {"branches0"}}, {Kind::kWhile, {"cond", "body"}},
      {Kind::kFor, {"body"}},
  };
  const Kind kind = KindOf(node);
  const auto* const found =
      std::find_if(std::begin(kWanted), std::end(kWanted), [&](const Wanted& wanted) { return wanted.kind == kind; });
  if (found == std::end(kWanted)) {
    MP_REQUIRE(node.subgraphs.empty(), "%s: has subgraph \"%s\", and nothing of this type runs one",
               Named(node).c_str(), node.subgraphs[0].name.c_str());
    return Ok();
  }
  for (const std::string_view name : found->names) {
    MP_REQUIRE(name.empty() || has(name), "%s: subgraph \"%s\" is missing", Named(node).c_str(),
               std::string(name).c_str());
  }
  return Ok();
}

class Verifier {
 public:
  Verifier(ir::Graph* root, const ClientOperators& clients) : root_(root), clients_(clients) {}

  Status Run() {
    MP_RETURN_IF_ERROR(VerifyGraph(root_));
    SettleInputs(root_);
    std::vector<Level> pending = {{root_, {}}};
    while (!pending.empty()) {
      const Level level = std::move(pending.back());
      pending.pop_back();
      MP_REQUIRE(level.callers.size() <= kMaxNested, "graph \"%s\": subgraphs are nested more than %zu deep",
                 level.graph->name.c_str(), kMaxNested);
      for (const ir::NodePtr& node : level.graph->nodes()) {
        MP_RETURN_IF_ERROR(VerifySubgraphNames(*node));
        for (ir::SubgraphRef& ref : node->subgraphs) {
          ir::Graph* graph = nullptr;
          MP_RETURN_IF_ERROR(Enter(level, *node, &ref, &graph));
          std::vector<const ir::Graph*> callers = level.callers;
          callers.push_back(OriginOf(level.graph));
          pending.push_back({graph, std::move(callers)});
        }
      }
    }
    return Ok();
  }

 private:
  struct Level {
    ir::Graph* graph;
    std::vector<const ir::Graph*> callers;
  };

  Status VerifyGraph(ir::Graph* graph) {
    MP_RETURN_IF_ERROR(VerifyNames(*graph));
    for (const ir::NodePtr& node : graph->nodes()) {
      MP_RETURN_IF_ERROR(VerifyNode(node, clients_).Prefixed(Format("graph \"%s\"", graph->name.c_str())));
    }
    std::vector<ir::NodePtr> order;
    MP_RETURN_IF_ERROR(graph->Sorted(&order));
    MP_RETURN_IF_ERROR(SettleNetOutput(graph));
    MP_RETURN_IF_ERROR(VerifyEndpoints(*graph));
    SettleTargets(graph);
    return Ok();
  }

  const ir::Graph* OriginOf(const ir::Graph* graph) const {
    const auto found = origins_.find(graph);
    return found == origins_.end() ? graph : found->second;
  }

  // Checks one subgraph from the node that runs it. A graph that two nodes run is copied for the second, so that each
  // can be inferred and rewritten for its own caller.
  Status Enter(const Level& level, const ir::Node& node, ir::SubgraphRef* ref, ir::Graph** out) {
    ir::GraphPtr graph = root_->FindSubgraph(ref->graph);
    MP_REQUIRE(graph != nullptr, "%s: its subgraph \"%s\" refers to graph \"%s\", which does not exist",
               Named(node).c_str(), ref->name.c_str(), ref->graph.c_str());
    const ir::Graph* origin = OriginOf(graph.get());
    const bool recursive = origin == OriginOf(level.graph) ||
                           std::find(level.callers.begin(), level.callers.end(), origin) != level.callers.end();
    MP_REQUIRE(!recursive, "%s: its subgraph \"%s\" (\"%s\") runs itself", Named(node).c_str(), ref->name.c_str(),
               graph->name.c_str());
    if (!used_.insert(graph.get()).second) {
      MP_REQUIRE(root_->subgraphs().size() < kMaxSubgraphs, "graph \"%s\": more than %zu subgraphs",
                 root_->name.c_str(), kMaxSubgraphs);
      MP_RETURN_IF_ERROR(Copy(&graph));
      ref->graph = graph->name;
      used_.insert(graph.get());
      origins_[graph.get()] = origin;
    }
    const std::string context = Format("graph \"%s\"", level.graph->name.c_str());
    if (origin == graph.get()) MP_RETURN_IF_ERROR(VerifyGraph(graph.get()));
    MP_RETURN_IF_ERROR(SettleSubgraphInputs(graph.get(), node, &derived_).Prefixed(context));
    MP_RETURN_IF_ERROR(VerifyArity(*graph, node, ref->name).Prefixed(context));
    *out = graph.get();
    return Ok();
  }

  Status Copy(ir::GraphPtr* graph) {
    const ir::GraphPtr copy = (*graph)->Clone();
    for (const ir::NodePtr& data : DataNodes(**graph)) {
      // What was settled for the first caller may be wrong for the second.
      if (derived_.contains(data.get())) copy->FindNode(data->name)->attributes.erase(std::string(kParentIndex));
    }
    size_t number = 2;
    while (root_->FindSubgraph(Format("%s_%zu", copy->name.c_str(), number)) != nullptr) ++number;
    copy->name = Format("%s_%zu", copy->name.c_str(), number);
    MP_RETURN_IF_ERROR(root_->AddSubgraph(copy));
    *graph = copy;
    return Ok();
  }

  ir::Graph* root_;
  const ClientOperators& clients_;
  std::unordered_set<const ir::Graph*> used_;
  std::unordered_set<const ir::Node*> derived_;  // Data whose parent input came from `index`
  std::unordered_map<const ir::Graph*, const ir::Graph*> origins_;
};

}  // namespace

Status Verify(ir::Graph* graph, const ClientOperators& clients) {
  MP_REQUIRE(graph->parent() == nullptr,
             "graph \"%s\" is a subgraph of \"%s\"; verify the root graph, with all its subgraphs", graph->name.c_str(),
             graph->parent()->name.c_str());
  return Verifier(graph, clients).Run();
}

}  // namespace millpond::passes

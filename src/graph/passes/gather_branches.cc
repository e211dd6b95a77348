// SPDX-License-Identifier: Apache-2.0
// Switch and Merge become If. A Switch gives its value to one of two sides, and what reads from the other side does not
// run, until a Merge takes the side that did. Here a node that does not run has no place in a plan of memory, so the
// nodes of both sides move into the two subgraphs of an If, which runs one of them. Refused by name: values that never
// meet in a Merge, and Merges that do not join the two sides of one condition, as those of loops.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/rewrite.h"

namespace millpond::passes {
namespace {

bool IsSwitch(const ir::Node& node) { return node.type == "Switch" || node.type == "RefSwitch"; }
bool IsMerge(const ir::Node& node) { return node.type == "Merge" || node.type == "RefMerge"; }

using Value = std::pair<const ir::Node*, int32_t>;

// The sides that all have to be taken for a node to run, from the outermost.
struct Side {
  Value condition;
  int32_t taken = 0;  // 0: false, as the outputs of a Switch are numbered
  bool operator==(const Side&) const = default;
};
using Place = std::vector<Side>;

bool IsPrefix(const Place& shorter, const Place& longer) {
  return shorter.size() <= longer.size() && std::equal(shorter.begin(), shorter.end(), longer.begin());
}

Place Outside(Place place) {
  place.pop_back();
  return place;
}

class Gatherer {
 public:
  explicit Gatherer(ir::Graph* graph) : graph_(graph), root_(graph->parent() != nullptr ? graph->parent() : graph) {}

  Status Run(bool* out_changed) {
    const auto has_old = [this] {
      return std::any_of(graph_->nodes().begin(), graph_->nodes().end(),
                         [](const ir::NodePtr& node) { return IsSwitch(*node) || IsMerge(*node); });
    };
    while (has_old()) {
      MP_RETURN_IF_ERROR(FindPlaces());
      MP_RETURN_IF_ERROR(CheckEnds());
      const Place* deepest = nullptr;
      for (const ir::NodePtr& node : order_) {
        const Place& place = IsMerge(*node) ? joined_.at(node.get()) : places_.at(node.get());
        if (!place.empty() && (deepest == nullptr || place.size() > deepest->size())) deepest = &place;
      }
      *out_changed = true;
      if (deepest == nullptr) {
        RemoveSwitches();
        continue;
      }
      MP_RETURN_IF_ERROR(Gather(Outside(*deepest), deepest->back().condition));
    }
    return Ok();
  }

 private:
  // Conditions that are the same value under several names are one.
  static Value ConditionOf(const ir::Node& node) {
    const ir::Node* source = node.inputs[1].source.get();
    int32_t index = node.inputs[1].index;
    while (KindOf(*source) == Kind::kIdentity && source->inputs[0].source != nullptr) {
      index = source->inputs[0].index;
      source = source->inputs[0].source.get();
    }
    return {source, index};
  }

  Place PlaceOf(const ir::Node& source, int32_t index) const {
    Place place = places_.at(&source);
    if (IsSwitch(source)) place.push_back({ConditionOf(source), index});
    return place;
  }

  Status Widen(const ir::Node& node, const Place& other, Place* place) const {
    if (IsPrefix(other, *place)) return Ok();
    MP_CHECK(IsPrefix(*place, other), kUnsupported,
             "%s: reads from sides of a Switch of which only one runs; a Merge must join them before",
             Named(node).c_str());
    *place = other;
    return Ok();
  }

  Status FindPlaces() {
    places_.clear();
    joined_.clear();
    order_.clear();
    MP_RETURN_IF_ERROR(graph_->Sorted(&order_));
    for (const ir::NodePtr& node : order_) {
      Place place;
      for (const ir::NodePtr& control : node->controls) {
        MP_RETURN_IF_ERROR(Widen(*node, places_.at(control.get()), &place));
      }
      if (IsMerge(*node)) {
        MP_RETURN_IF_ERROR(Join(*node, &place));
      } else {
        for (const ir::Input& input : node->inputs) {
          if (input.source == nullptr) continue;
          MP_RETURN_IF_ERROR(Widen(*node, PlaceOf(*input.source, input.index), &place));
        }
      }
      places_[node.get()] = std::move(place);
    }
    return Ok();
  }

  // Of a Merge: both inputs are the two sides of one condition, in the same place.
  Status Join(const ir::Node& node, Place* place) {
    std::vector<Place> sides;
    for (const ir::Input& input : node.inputs) {
      if (input.source != nullptr) sides.push_back(PlaceOf(*input.source, input.index));
    }
    const bool opposite = sides.size() == 2 && !sides[0].empty() && sides[0].size() == sides[1].size() &&
                          Outside(sides[0]) == Outside(sides[1]) &&
                          sides[0].back().condition == sides[1].back().condition &&
                          sides[0].back().taken != sides[1].back().taken;
    MP_CHECK(opposite, kUnsupported,
             "%s: it joins %zu values that are not the two sides of one condition; Switch and Merge are supported as "
             "branches, of which If has the form here, and loops as While",
             Named(node).c_str(), sides.size());
    joined_[&node] = sides[0];
    MP_RETURN_IF_ERROR(Widen(node, Outside(sides[0]), place));
    return Ok();
  }

  Status CheckEnds() const {
    for (size_t i = 0; i < graph_->outputs.size(); ++i) {
      const ir::Endpoint& output = graph_->outputs[i];
      MP_CHECK(PlaceOf(*output.node, output.index).empty(), kUnsupported,
               "graph \"%s\": output %zu is %s, which runs on one side of a Switch only; a Merge must join both",
               graph_->name.c_str(), i, Named(*output.node).c_str());
    }
    return Ok();
  }

  void RemoveSwitches() {
    std::vector<ir::NodePtr> gone;
    for (const ir::NodePtr& node : graph_->nodes()) {
      if (IsSwitch(*node)) gone.push_back(node);
    }
    graph_->RemoveNodes(gone);
  }

  // One If for all that the condition decides in that place, but for what a Merge of the very condition comes before.
  Status Gather(const Place& outside, const Value& condition) {
    FindMembers(outside, condition);
    MP_RETURN_IF_ERROR(CheckReaders());
    auto made = std::make_shared<ir::Node>(FreeName(*graph_, First() + "/If"), "If");
    made->inputs.emplace_back().desc.name = "cond";
    MP_RETURN_IF_ERROR(graph_->AddNode(made));
    const ir::NodePtr source = std::const_pointer_cast<ir::Node>(condition.first->shared_from_this());
    MP_RETURN_IF_ERROR(made->Connect(0, source, condition.second));
    FindCaptures();
    for (size_t i = 0; i < captures_.size(); ++i) {
      made->inputs.emplace_back().desc.name = Format("input%zu", i);
      MP_RETURN_IF_ERROR(made->Connect(i + 1, captures_[i].node, captures_[i].index));
    }
    for (const int32_t taken : {1, 0}) {
      ir::GraphPtr branch;
      MP_RETURN_IF_ERROR(MakeBranch(taken, made->name, &branch));
      made->subgraphs.push_back({taken != 0 ? "then_branch" : "else_branch", branch->name});
    }
    return Replace(made);
  }

  void FindMembers(const Place& outside, const Value& condition) {
    members_ = {};
    merges_.clear();
    switches_.clear();
    std::unordered_set<const ir::Node*> later;
    for (const ir::NodePtr& node : order_) {
      const bool is_own = IsMerge(*node) && Outside(joined_.at(node.get())) == outside &&
                          joined_.at(node.get()).back().condition == condition;
      bool after = std::any_of(node->inputs.begin(), node->inputs.end(), [&](const ir::Input& input) {
        return input.source != nullptr && later.contains(input.source.get());
      });
      after = after || std::any_of(node->controls.begin(), node->controls.end(),
                                   [&](const ir::NodePtr& control) { return later.contains(control.get()); });
      if (after || is_own) later.insert(node.get());
      if (after) continue;
      const Place& place = places_.at(node.get());
      if (is_own) {
        merges_.push_back(node);
      } else if (IsSwitch(*node) && place == outside && ConditionOf(*node) == condition) {
        switches_.insert(node.get());
      } else if (place.size() == outside.size() + 1 && IsPrefix(outside, place) &&
                 place.back().condition == condition) {
        members_[static_cast<size_t>(place.back().taken != 0)].push_back(node);
      }
    }
    for (size_t taken = 0; taken < 2; ++taken) {
      inside_[taken].clear();
      for (const ir::NodePtr& node : members_[taken]) inside_[taken].insert(node.get());
    }
  }

  bool IsInside(const ir::Node* node) const { return inside_[0].contains(node) || inside_[1].contains(node); }

  // What is inside is read inside, or by the Merges.
  Status CheckReaders() const {
    const std::unordered_set<ir::NodePtr> merges(merges_.begin(), merges_.end());
    const MutableOutputs changed(*graph_);
    for (const auto& side : members_) {
      for (const ir::NodePtr& node : side) {
        for (const auto& [user, place] : node->Reads()) {
          MP_CHECK(IsInside(user.get()) || merges.contains(user), kUnsupported,
                   "%s: reads %s from one side of a Switch, behind a Merge of the same condition", Named(*user).c_str(),
                   Named(*node).c_str());
        }
      }
    }
    for (const ir::NodePtr& merge : merges_) {
      MP_CHECK(!changed.Contains(merge.get(), 0), kUnsupported,
               "%s: its result is changed in place, which would have to reach the side that was taken",
               Named(*merge).c_str());
    }
    return Ok();
  }

  std::string First() const {
    if (!merges_.empty()) return merges_[0]->name;
    return !members_[1].empty() ? members_[1][0]->name : members_[0][0]->name;
  }

  // What a read means without the Switch.
  ir::Endpoint Source(const ir::NodePtr& node, int32_t index) const {
    if (!switches_.contains(node.get())) return {node, index};
    return {node->inputs[0].source, node->inputs[0].index};
  }

  void Capture(const ir::Input& input) {
    if (input.source == nullptr || IsInside(input.source.get())) return;
    const ir::Endpoint from = Source(input.source, input.index);
    const Value value{from.node.get(), from.index};
    if (capture_of_.emplace(value, captures_.size()).second) captures_.push_back(from);
  }

  void FindCaptures() {
    captures_.clear();
    capture_of_.clear();
    for (const auto& side : members_) {
      for (const ir::NodePtr& node : side) {
        for (const ir::Input& input : node->inputs) Capture(input);
      }
    }
    for (const ir::NodePtr& merge : merges_) {
      for (const ir::Input& input : merge->inputs) Capture(input);
    }
  }

  // The value of a read within the branch.
  ir::Endpoint Within(const ir::Input& input) const {
    const auto found = copies_.find(input.source.get());
    if (found != copies_.end()) return {found->second, input.index};
    const ir::Endpoint from = Source(input.source, input.index);
    return {data_[capture_of_.at({from.node.get(), from.index})], 0};
  }

  Status MakeBranch(int32_t taken, const std::string& name, ir::GraphPtr* out) {
    auto branch = std::make_shared<ir::Graph>(name + (taken != 0 ? "/then" : "/else"));
    while (root_->FindSubgraph(branch->name) != nullptr) branch->name += "_";
    const std::vector<ir::NodePtr>& members = members_[static_cast<size_t>(taken != 0)];
    data_.clear();
    copies_.clear();
    for (const ir::NodePtr& node : members) {
      auto copy = std::make_shared<ir::Node>(node->name, node->type);
      for (const ir::Input& input : node->inputs) copy->inputs.push_back({input.desc, nullptr, 0});
      copy->outputs = node->outputs;
      copy->attributes = node->attributes;
      copy->subgraphs = node->subgraphs;
      MP_RETURN_IF_ERROR(branch->AddNode(copy));
      copies_[node.get()] = std::move(copy);
    }
    for (size_t i = 0; i < captures_.size(); ++i) {
      auto data = std::make_shared<ir::Node>(FreeName(*branch, Format("captured%zu", i)), "Data");
      data->outputs.push_back(captures_[i].node->outputs[static_cast<size_t>(captures_[i].index)]);
      data->outputs[0].name = "y";
      data->attributes["index"].value = static_cast<int64_t>(i);
      data->attributes[std::string(kParentIndex)].value = static_cast<int64_t>(i + 1);
      MP_RETURN_IF_ERROR(branch->AddNode(data));
      branch->inputs.push_back(data);
      data_.push_back(std::move(data));
    }
    MP_RETURN_IF_ERROR(LinkBranch(members, branch.get()));
    MP_RETURN_IF_ERROR(ReturnBranch(taken, branch.get()));
    MP_RETURN_IF_ERROR(root_->AddSubgraph(branch));
    *out = std::move(branch);
    return Ok();
  }

  Status LinkBranch(const std::vector<ir::NodePtr>& members, ir::Graph* branch) {
    for (const ir::NodePtr& node : members) {
      const ir::NodePtr& copy = copies_.at(node.get());
      for (size_t place = 0; place < node->inputs.size(); ++place) {
        if (node->inputs[place].source == nullptr) continue;
        const ir::Endpoint from = Within(node->inputs[place]);
        MP_RETURN_IF_ERROR(copy->Connect(place, from.node, from.index));
      }
      for (const ir::NodePtr& control : node->controls) {
        if (const auto found = copies_.find(control.get()); found != copies_.end()) copy->AddControl(found->second);
      }
      const bool wanted = std::find(graph_->targets.begin(), graph_->targets.end(), node) != graph_->targets.end();
      if (wanted || HasEffect(*node)) branch->targets.push_back(copy);
    }
    return Ok();
  }

  // A value for each Merge, and which of its inputs that was.
  Status ReturnBranch(int32_t taken, ir::Graph* branch) {
    for (const ir::NodePtr& merge : merges_) {
      for (size_t place = 0; place < merge->inputs.size(); ++place) {
        const ir::Input& input = merge->inputs[place];
        if (PlaceOf(*input.source, input.index).back().taken != taken) continue;
        branch->outputs.push_back(Within(input));
        auto tensor = std::make_shared<ir::Tensor>();
        tensor->desc.dtype = DType::kInt32;
        tensor->desc.has_shape = tensor->desc.has_origin_shape = true;
        const auto number = static_cast<int32_t>(place);
        tensor->data = ir::Bytes::Copy(&number, sizeof number);
        auto constant = std::make_shared<ir::Node>(FreeName(*branch, merge->name + "/index"), "Const");
        constant->outputs.push_back(tensor->desc);
        constant->outputs[0].name = "y";
        constant->attributes["value"].value = ir::TensorPtr(std::move(tensor));
        MP_RETURN_IF_ERROR(branch->AddNode(constant));
        branch->outputs.push_back({std::move(constant), 0});
      }
    }
    return Ok();
  }

  Status Replace(const ir::NodePtr& made) {
    Returned returned(graph_);
    for (const ir::NodePtr& merge : merges_) {
      for (size_t i = 0; i < 2; ++i) {
        const auto output = static_cast<int32_t>(made->outputs.size());
        made->outputs.push_back(i < merge->outputs.size() ? merge->outputs[i] : ir::TensorDesc());
        made->outputs.back().name = Format("output%d", output);
        if (i == 1) made->outputs.back().dtype = DType::kInt32;
        MP_RETURN_IF_ERROR(ReplaceUses({merge, static_cast<int32_t>(i)}, {made, output}, &returned));
      }
    }
    std::vector<ir::NodePtr> gone = merges_;
    bool has_effect = false;
    for (const auto& side : members_) gone.insert(gone.end(), side.begin(), side.end());
    for (const ir::NodePtr& node : gone) {
      has_effect = has_effect || HasEffect(*node);
      for (const ir::NodePtr& control : node->controls) {
        if (IsInside(control.get()) || control == made) continue;
        if (!switches_.contains(control.get())) made->AddControl(control);
      }
      const ir::NodePtr only[] = {made};
      MoveControls(graph_, node, only);
    }
    made->RemoveControl(made.get());
    const bool is_target = std::find(graph_->targets.begin(), graph_->targets.end(), made) != graph_->targets.end();
    if (has_effect && !is_target) graph_->targets.push_back(made);
    graph_->RemoveNodes(gone);
    std::vector<ir::NodePtr> idle;
    for (const ir::NodePtr& node : graph_->nodes()) {
      if (switches_.contains(node.get()) && !node->HasUsers()) idle.push_back(node);
    }
    graph_->RemoveNodes(idle);
    return Ok();
  }

  ir::Graph* const graph_;
  ir::Graph* const root_;
  std::vector<ir::NodePtr> order_;
  std::unordered_map<const ir::Node*, Place> places_;
  std::unordered_map<const ir::Node*, Place> joined_;  // of a Merge: one of the sides that it joins
  // Of the If that is being made, by side where there are two:
  std::array<std::vector<ir::NodePtr>, 2> members_;
  std::array<std::unordered_set<const ir::Node*>, 2> inside_;
  std::vector<ir::NodePtr> merges_;
  std::unordered_set<const ir::Node*> switches_;
  std::vector<ir::Endpoint> captures_;
  std::map<Value, size_t> capture_of_;
  // Of the branch that is being made:
  std::vector<ir::NodePtr> data_;  // by capture
  std::unordered_map<const ir::Node*, ir::NodePtr> copies_;
};

}  // namespace

Status GatherBranches(ir::Graph* graph, bool* out_changed) { return Gatherer(graph).Run(out_changed); }

}  // namespace millpond::passes

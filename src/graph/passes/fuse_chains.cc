// SPDX-License-Identifier: Apache-2.0
// Connected elementwise nodes become one node, whose kernel passes over the elements once: intermediate values never
// reach memory. A group grows from its last node towards its sources; it takes a node only if all its
// users are in it, so that nothing is computed twice.
#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "src/graph/passes/fuse.h"
#include "src/graph/passes/fuse_tools.h"
#include "src/ops/chain.h"

namespace millpond::passes {
namespace {

using chain::Op;

// Fewer elements fit the caches anyway. With unknown dimensions: the product of the known ones.
constexpr int64_t kMinElements = 4096;
constexpr int64_t kMinKnown = 256;

struct Word {
  std::string_view type;
  Op op;
  size_t operands;
};
constexpr Word kWords[] = {
    {"Add", Op::kAdd, 2},
    {"AddV2", Op::kAdd, 2},
    {"Sub", Op::kSub, 2},
    {"Mul", Op::kMul, 2},
    {"RealDiv", Op::kDiv, 2},
    {"Div", Op::kDiv, 2},
    {"Maximum", Op::kMaximum, 2},
    {"Minimum", Op::kMinimum, 2},
    {"Pow", Op::kPow, 2},
    {"Neg", Op::kNeg, 1},
    {"Abs", Op::kAbs, 1},
    {"Exp", Op::kExp, 1},
    {"Log", Op::kLog, 1},
    {"Sqrt", Op::kSqrt, 1},
    {"Rsqrt", Op::kRsqrt, 1},
    {"Square", Op::kSquare, 1},
    {"Relu", Op::kRelu, 1},
    {"Sigmoid", Op::kSigmoid, 1},
    {"Tanh", Op::kTanh, 1},
    {"Erf", Op::kErf, 1},
    {"Gelu", Op::kGeluTanh, 1},
    {"GeluV2", Op::kGelu, 1},
    {"Swish", Op::kSwish, 1},
    {"HardSwish", Op::kHardSwish, 1},
    {"Reciprocal", Op::kReciprocal, 1},
};

// The name of an operator that computes exactly that; none for other bases, scales and approximations.
std::optional<Word> WordOf(const ir::Node& node) {
  const auto found =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& w) { return w.type == node.type; });
  if (found == std::end(kWords)) return std::nullopt;
  Word word = *found;
  const bool plain = (word.op != Op::kExp && word.op != Op::kLog) ||
                     (Fuser::FloatAttr(node, "base", -1) == -1 && Fuser::FloatAttr(node, "scale", 1) == 1 &&
                      Fuser::FloatAttr(node, "shift", 0) == 0);
  if (!plain || (word.op == Op::kSwish && Fuser::FloatAttr(node, "scale", 1) != 1)) return std::nullopt;
  if (node.type == "GeluV2") {
    const std::string_view how = Fuser::TextAttr(node, "approximate", "none");
    if (how != "none" && how != "tanh") return std::nullopt;
    if (how == "tanh") word.op = Op::kGeluTanh;
  }
  return word;
}

class Chains : public FusingPass {
  using FusingPass::FusingPass;

  Status Walk(const std::vector<ir::NodePtr>& order) override {
    for (size_t i = 0; i < order.size(); ++i) place_[order[i].get()] = i;
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      if (fuser_.Gone(*at) || taken_.contains(at->get()) || !IsMember(**at) || !IsLarge((*at)->outputs[0])) continue;
      MP_RETURN_IF_ERROR(Grow(*at));
    }
    return Ok();
  }

  struct Group {
    std::vector<ir::NodePtr> nodes;  // the last one first
    std::vector<ir::Endpoint> inputs;
    std::vector<float> numbers;
  };

  static bool IsLarge(const ir::TensorDesc& desc) {
    int64_t known = 1;
    for (const int64_t dim : desc.dims) known = dim > 0 ? std::min<int64_t>(known * dim, kMinElements) : known;
    return known >= (desc.is_static() ? kMinElements : kMinKnown);
  }

  bool IsMember(const ir::Node& node) const {
    const std::optional<Word> word = WordOf(node);
    if (!word.has_value() || node.outputs.size() != 1 || node.inputs.size() != word->operands) return false;
    const auto self = std::const_pointer_cast<ir::Node>(node.shared_from_this());
    if (!fuser_.MayMove(node) || !Fuser::IsFloat({self, 0}) || Fuser::RankOf({self, 0}) < 0) return false;
    for (size_t i = 0; i < word->operands; ++i) {
      const ir::Endpoint operand = Fuser::At(node, i);
      if (!Fuser::IsFloat(operand) || Fuser::RankOf(operand) < 0) return false;
      if (Fuser::DescOf(operand).format != node.outputs[0].format) return false;
    }
    return true;
  }

  bool ReadOnlyBy(const ir::NodePtr& node, const std::unordered_set<const ir::Node*>& members) const {
    if (fuser_.Returns({node, 0})) return false;
    const auto users = node->Users(members.size() + 1);
    return std::all_of(users.begin(), users.end(),
                       [&](const ir::NodePtr& user) { return members.contains(user.get()); });
  }

  // A scalar broadcast to every element; not one whose rank would change the result's.
  static std::optional<float> NumberAt(const ir::Endpoint& value, const ir::NodePtr& last) {
    return Fuser::RankOf(value) <= Fuser::RankOf({last, 0}) ? Fuser::NumberOf(value) : std::nullopt;
  }

  // How many inputs and scalars the members would read.
  Group Described(std::vector<ir::NodePtr> nodes, const std::unordered_set<const ir::Node*>& members) const {
    Group group;
    group.nodes = std::move(nodes);
    for (const ir::NodePtr& node : group.nodes) {
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        const ir::Endpoint value = Fuser::At(*node, i);
        if (members.contains(value.node.get())) continue;
        if (const std::optional<float> number = NumberAt(value, group.nodes[0])) {
          if (NumberPlace(group, *number) == group.numbers.size()) group.numbers.push_back(*number);
        } else if (InputPlace(group, value) == group.inputs.size()) {
          group.inputs.push_back(value);
        }
      }
    }
    return group;
  }
  static size_t NumberPlace(const Group& group, float number) {
    // Bitwise: zeros have signs, and NaN compares unequal to itself.
    const auto same = [&](float other) { return std::bit_cast<uint32_t>(other) == std::bit_cast<uint32_t>(number); };
    return static_cast<size_t>(std::find_if(group.numbers.begin(), group.numbers.end(), same) - group.numbers.begin());
  }
  static size_t InputPlace(const Group& group, const ir::Endpoint& value) {
    const auto same = [&](const ir::Endpoint& other) { return SameValue(other, value); };
    return static_cast<size_t>(std::find_if(group.inputs.begin(), group.inputs.end(), same) - group.inputs.begin());
  }

  Status Grow(const ir::NodePtr& last) {
    std::unordered_set<const ir::Node*> members = {last.get()};
    Group group = Described({last}, members);
    for (bool grown = true; grown && group.nodes.size() < chain::kMaxInstructions;) {
      grown = false;
      for (const ir::Endpoint& input : group.inputs) {
        const ir::NodePtr node = input.node;
        const bool same_shape = node->outputs[0].dims == last->outputs[0].dims;
        if (taken_.contains(node.get()) || !IsMember(*node) || !same_shape || !ReadOnlyBy(node, members)) continue;
        members.insert(node.get());
        std::vector<ir::NodePtr> nodes = group.nodes;
        nodes.push_back(node);
        Group larger = Described(std::move(nodes), members);
        if (larger.inputs.size() > chain::kMaxInputs || larger.numbers.size() > chain::kMaxNumbers) {
          members.erase(node.get());
          continue;
        }
        group = std::move(larger);
        grown = true;
        break;
      }
    }
    if (group.nodes.size() < 2 || group.inputs.empty()) return Ok();
    return Emit(std::move(group));
  }

  Status Emit(Group group) {
    const ir::NodePtr last = group.nodes[0];
    std::sort(group.nodes.begin(), group.nodes.end(),
              [&](const ir::NodePtr& a, const ir::NodePtr& b) { return place_.at(a.get()) < place_.at(b.get()); });
    std::unordered_map<const ir::Node*, int64_t> results;
    std::vector<int64_t> program;
    for (const ir::NodePtr& node : group.nodes) {
      const auto operand = [&](size_t place) -> int64_t {
        const ir::Endpoint value = Fuser::At(*node, place);
        if (const auto made = results.find(value.node.get()); made != results.end()) return made->second;
        if (const std::optional<float> number = NumberAt(value, last)) {
          return -1 - static_cast<int64_t>(NumberPlace(group, *number));
        }
        return static_cast<int64_t>(InputPlace(group, value));
      };
      const Word word = *WordOf(*node);
      program.insert(program.end(), {static_cast<int64_t>(word.op), operand(0), operand(word.operands - 1)});
      results[node.get()] = static_cast<int64_t>(group.inputs.size() + results.size());
      taken_.insert(node.get());
    }
    std::vector<std::string> names;
    names.reserve(group.inputs.size());
    for (size_t i = 0; i < group.inputs.size(); ++i) names.push_back("x" + std::to_string(i));
    std::vector<Fuser::Operand> inputs;
    inputs.reserve(group.inputs.size());
    for (size_t i = 0; i < group.inputs.size(); ++i) inputs.push_back({names[i].c_str(), group.inputs[i]});
    ir::Attributes attributes;
    attributes["program"].value = std::move(program);
    attributes["numbers"].value = std::move(group.numbers);
    ir::NodePtr made;
    MP_RETURN_IF_ERROR(
        fuser_.NewNode("MillpondElementwise", *last, inputs, last->outputs[0], std::move(attributes), &made));
    return fuser_.Fuse({last, 0}, made);
  }

  std::unordered_map<const ir::Node*, size_t> place_;  // in the graph's order
  std::unordered_set<const ir::Node*> taken_;          // into groups
};

}  // namespace

Status FuseChains(ir::Graph* graph, bool* out_changed) { return Chains(graph).Run(out_changed); }

}  // namespace millpond::passes

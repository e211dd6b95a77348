// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/kinds.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "src/base/format.h"
#include "src/ops/ge_ops.h"

namespace millpond::passes {
namespace {

struct KindName {
  std::string_view type;
  Kind kind;
};

constexpr KindName kKinds[] = {
    {"Data", Kind::kData},
    {"RefData", Kind::kData},
    {"AnyData", Kind::kData},
    {"Const", Kind::kConst},
    {"Constant", Kind::kConst},
    {"FileConstant", Kind::kFileConstant},
    {"ConstPlaceHolder", Kind::kConstPlaceHolder},
    {"Variable", Kind::kVariable},
    {"VariableV2", Kind::kVariable},
    {"Identity", Kind::kIdentity},
    {"StopGradient", Kind::kIdentity},
    {"PreventGradient", Kind::kIdentity},
    {"IdentityN", Kind::kIdentityN},
    {"NoOp", Kind::kNoOp},
    {"ControlTrigger", Kind::kNoOp},
    {"NetOutput", Kind::kNetOutput},
    {"Shape", Kind::kShape},
    {"ShapeN", Kind::kShape},
    {"Size", Kind::kShape},
    {"Rank", Kind::kShape},
    {"PartitionedCall", Kind::kCall},
    {"StatefulPartitionedCall", Kind::kCall},
    {"If", Kind::kIf},
    {"StatelessIf", Kind::kIf},
    {"_If", Kind::kIf},
    {"Case", Kind::kCase},
    {"StatelessCase", Kind::kCase},
    {"While", Kind::kWhile},
    {"StatelessWhile", Kind::kWhile},
    {"_While", Kind::kWhile},
    {"For", Kind::kFor},
};

bool HasAny(std::string_view type, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return type.find(word) != std::string_view::npos; });
}

// Handles of queues, tables and the like: their contents are not in any tensor.
bool IsHandle(const GeOperand& operand) {
  constexpr uint64_t kResource = uint64_t{1} << 23;
  constexpr uint64_t kStringRef = uint64_t{1} << 24;
  constexpr uint64_t kVariant = uint64_t{1} << 26;
  return operand.types != 0 && (operand.types & ~(kResource | kStringRef | kVariant)) == 0;
}

// For all nodes of the type. `definition` may be null.
bool TypeHasEffect(std::string_view type, const GeOp* definition) {
  static constexpr std::array<std::string_view, 12> kWords = {"Hcom",       "Print",    "Assert",   "AllReduce",
                                                              "AllGather",  "AllToAll", "AlltoAll", "ReduceScatter",
                                                              "Distribute", "Inplace",  "Send",     "Receive"};
  if (HasAny(type, kWords)) return true;
  if (definition == nullptr) return false;
  return std::any_of(definition->inputs.begin(), definition->inputs.end(), IsHandle) ||
         std::any_of(definition->outputs.begin(), definition->outputs.end(), IsHandle);
}

bool OperatorHasEffect(const ir::Node& node) {
  const GeOp* definition = FindGeDefinition(node.type);
  // Passes ask this of each node several times, and of those in subgraphs for each level above: the types' answers are
  // kept.
  thread_local std::unordered_map<const GeOp*, bool> known;
  bool by_type = false;
  if (definition == nullptr) {
    by_type = TypeHasEffect(node.type, nullptr);
  } else if (const auto found = known.find(definition); found != known.end()) {
    by_type = found->second;
  } else {
    by_type = known[definition] = TypeHasEffect(node.type, definition);
  }
  return by_type || node.outputs.empty() || !InPlace(node).empty();
}

bool GraphHasEffect(const ir::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const ir::NodePtr& node) { return HasEffect(*node); });
}

}  // namespace

Kind KindOf(std::string_view type) {
  // Asked of every node by every pass.
  static const auto* const kinds = [] {
    auto* const made = new std::unordered_map<std::string_view, Kind>();
    for (const KindName& one : kKinds) made->emplace(one.type, one.kind);
    return made;
  }();
  const auto found = kinds->find(type);
  return found == kinds->end() ? Kind::kOperator : found->second;
}

std::string Named(const ir::Node& node) { return Format("node \"%s\" (%s)", node.name.c_str(), node.type.c_str()); }

ir::TensorPtr ConstantOf(const ir::Node& node) {
  if (KindOf(node) != Kind::kConst) return nullptr;
  const ir::Attr* value = node.FindAttr("value");
  const ir::TensorPtr* tensor = value != nullptr ? value->As<ir::TensorPtr>() : nullptr;
  return tensor != nullptr ? *tensor : nullptr;
}

ir::TensorPtr ConstantAt(const ir::Node* node, int32_t index) {
  while (node != nullptr) {
    const Kind kind = KindOf(*node);
    if (kind == Kind::kConst) return ConstantOf(*node);
    if (kind != Kind::kIdentity && kind != Kind::kIdentityN) return nullptr;
    if (static_cast<size_t>(index) >= node->inputs.size()) return nullptr;
    const ir::Input& input = node->inputs[static_cast<size_t>(index)];
    node = input.source.get();
    index = input.index;
  }
  return nullptr;
}

DType TypeAttr(const ir::Node& node, std::string_view name, DType otherwise) {
  constexpr int64_t kUndefinedInGe = 28;
  const ir::Attr* attr = node.FindAttr(name);
  if (attr == nullptr) return otherwise;
  if (const DType* type = attr->As<DType>()) return *type;
  const int64_t* number = attr->As<int64_t>();
  if (number == nullptr) return otherwise;
  return *number < 0 || *number > INT8_MAX || *number == kUndefinedInGe ? DType::kUndefined
                                                                        : static_cast<DType>(*number);
}

ir::GraphPtr SubgraphOf(const ir::Node& node, std::string_view name) {
  if (node.graph() == nullptr) return nullptr;
  for (const ir::SubgraphRef& ref : node.subgraphs) {
    if (ref.name == name) return node.graph()->FindSubgraph(ref.graph);
  }
  return nullptr;
}

int64_t ParentInput(const ir::Node& data) {
  const ir::Attr* attr = data.FindAttr(kParentIndex);
  const int64_t* index = attr != nullptr ? attr->As<int64_t>() : nullptr;
  return index != nullptr ? *index : -1;
}

std::vector<std::pair<size_t, size_t>> InPlace(const ir::Node& node) {
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t output = 0; output < node.outputs.size(); ++output) {
    if (node.outputs[output].name.empty()) continue;
    const int input = node.FindInput(node.outputs[output].name);
    if (input >= 0) pairs.emplace_back(static_cast<size_t>(input), output);
  }
  return pairs;
}

bool HasEffect(const ir::Node& node) {
  const Kind kind = KindOf(node);
  if (kind == Kind::kOperator) return OperatorHasEffect(node);
  if (!IsControlFlow(kind) || node.graph() == nullptr) return false;
  return std::any_of(node.subgraphs.begin(), node.subgraphs.end(), [&](const ir::SubgraphRef& ref) {
    const ir::GraphPtr graph = node.graph()->FindSubgraph(ref.graph);
    return graph != nullptr && GraphHasEffect(*graph);
  });
}

bool IsRandom(const ir::Node& node) {
  static constexpr std::array<std::string_view, 8> kWords = {
      "Random", "DropOut", "Dropout", "Multinomial", "TruncatedNormal", "StandardNormal", "Bernoulli", "Stateful"};
  const Kind kind = KindOf(node);
  if (IsControlFlow(kind)) return true;  // its subgraphs are not examined
  if (kind != Kind::kOperator) return false;
  if (FindGeDefinition(node.type) == nullptr || node.type == "Normal") return true;
  // These take their seed as an input, so the same inputs give the same numbers.
  if (node.type.find("Stateless") != std::string::npos) return false;
  return HasAny(node.type, kWords);
}

MutableOutputs::MutableOutputs(const ir::Graph& graph) {
  for (const ir::NodePtr& node : graph.nodes()) {
    if (KindOf(*node) == Kind::kVariable || node->type == "RefData") outputs_.emplace(node.get(), 0);
    if (!HasEffect(*node)) continue;
    const auto pairs = InPlace(*node);
    for (const auto& [input, output] : pairs) {
      outputs_.emplace(node.get(), static_cast<int32_t>(output));
      outputs_.emplace(node->inputs[input].source.get(), node->inputs[input].index);
    }
    if (!pairs.empty()) continue;
    // What it does to its operands is unknown.
    for (const ir::Input& input : node->inputs) outputs_.emplace(input.source.get(), input.index);
  }
}

}  // namespace millpond::passes

// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/node_door.h"

#include <algorithm>
#include <type_traits>

namespace millpond::passes {
namespace {

struct ToDoor {
  millpond::Attributes* out;
  const std::string& name;

  template <class T>
  void operator()(const T& value) const {
    if constexpr (std::is_same_v<T, float>) {
      out->emplace(name, static_cast<double>(value));
    } else if constexpr (std::is_same_v<T, std::vector<float>>) {
      out->emplace(name, std::vector<double>(value.begin(), value.end()));
    } else if constexpr (std::is_same_v<T, ir::ByteString>) {
      out->emplace(name, value.bytes);
    } else if constexpr (std::is_same_v<T, std::monostate>) {
      out->emplace(name, std::vector<int64_t>());
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t> || std::is_same_v<T, std::string> ||
                         std::is_same_v<T, DType> || std::is_same_v<T, std::vector<bool>> ||
                         std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<std::string>> ||
                         std::is_same_v<T, std::vector<DType>> ||
                         std::is_same_v<T, std::vector<std::vector<int64_t>>>) {
      out->emplace(name, value);
    }
  }
};

bool IsMember(std::string_view name, std::string_view operand) {
  if (name.size() <= operand.size() || !name.starts_with(operand)) return false;
  name.remove_prefix(operand.size());
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

constexpr uint32_t kNone = UINT32_MAX;

uint32_t OperandNamed(std::span<const GeOperand> operands, std::string_view name) {
  for (uint32_t i = 0; i < operands.size(); ++i) {
    if (operands[i].presence != GePresence::kDynamic && operands[i].name == name) return i;
  }
  uint32_t best = kNone;  // of dynamic x and x1, "x12" is the third of x1's if anything: the longer name wins
  for (uint32_t i = 0; i < operands.size(); ++i) {
    if (operands[i].presence != GePresence::kDynamic || !IsMember(name, operands[i].name)) continue;
    if (best == kNone || operands[i].name.size() > operands[best].name.size()) best = i;
  }
  return best;
}

bool MatchByName(std::span<const GeOperand> operands, std::span<const std::string_view> names,
                 std::vector<uint32_t>* out) {
  std::vector<bool> seen(operands.size());
  for (const std::string_view name : names) {
    const uint32_t operand = OperandNamed(operands, name);
    if (operand == kNone) return false;
    if (operands[operand].presence != GePresence::kDynamic && seen[operand]) return false;
    seen[operand] = true;
    out->push_back(operand);
  }
  return true;
}

// Each non-dynamic operand takes one slot; dynamic ones share the rest evenly. Trailing ones may be missing.
bool MatchByPlace(std::span<const GeOperand> operands, size_t places, std::vector<uint32_t>* out) {
  const size_t dynamic =
      static_cast<size_t>(std::count_if(operands.begin(), operands.end(), [](const GeOperand& operand) {
        return operand.presence == GePresence::kDynamic;
      }));
  const size_t fixed = operands.size() - dynamic;
  const size_t left = places > fixed ? places - fixed : 0;
  if (left > 0 && (dynamic == 0 || left % dynamic != 0)) return false;
  for (uint32_t i = 0; i < operands.size(); ++i) {
    const size_t count = operands[i].presence == GePresence::kDynamic ? left / dynamic : 1;
    for (size_t member = 0; member < count && out->size() < places; ++member) out->push_back(i);
  }
  return out->size() == places;
}

std::vector<uint32_t> Counts(std::span<const GeOperand> operands, std::span<const std::string_view> names) {
  std::vector<uint32_t> counts;
  std::vector<uint32_t> matched;
  if (!MatchOperands(operands, names, &matched)) return counts;
  counts.resize(operands.size());
  for (const uint32_t operand : matched) ++counts[operand];
  return counts;
}

}  // namespace

millpond::Attributes DoorAttributes(const ir::Attributes& attributes) {
  millpond::Attributes given;
  for (const auto& [name, attribute] : attributes) std::visit(ToDoor{&given, name}, attribute.value);
  return given;
}

bool MatchOperands(std::span<const GeOperand> operands, std::span<const std::string_view> names,
                   std::vector<uint32_t>* out_operands) {
  out_operands->clear();
  if (MatchByName(operands, names, out_operands)) return true;
  out_operands->clear();
  return MatchByPlace(operands, names.size(), out_operands);
}

std::vector<std::string_view> InputNames(const ir::Node& node) {
  std::vector<std::string_view> names;
  names.reserve(node.inputs.size());
  for (const ir::Input& input : node.inputs) names.push_back(input.desc.name);
  return names;
}

std::vector<std::string_view> OutputNames(const ir::Node& node) {
  std::vector<std::string_view> names;
  names.reserve(node.outputs.size());
  for (const ir::TensorDesc& output : node.outputs) names.push_back(output.name);
  return names;
}

NodeDoor DoorOf(const ir::Node& node) {
  NodeDoor door;
  door.attributes = DoorAttributes(node.attributes);
  if (const GeOp* definition = FindGeDefinition(node.type)) {
    door.input_counts = Counts(definition->inputs, InputNames(node));
    door.output_counts = Counts(definition->outputs, OutputNames(node));
  }
  return door;
}

}  // namespace millpond::passes

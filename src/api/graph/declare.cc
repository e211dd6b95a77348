// SPDX-License-Identifier: Apache-2.0
// What a definition gives an operator: places for its operands, defaults, subgraphs.
#include <algorithm>
#include <cctype>

#include "src/api/graph/operator_impl.h"
#include "src/graph/ir/defaults.h"

namespace millpond::api {
namespace {

constexpr int32_t kFormatReserved = 40;     // an optional operand that is absent
constexpr uint32_t kMaxTensors = 1u << 20;  // of one dynamic operand: more is a mistake, not a graph

ir::TensorDesc DescOf(std::string name, GePresence presence) {
  ir::TensorDesc desc;
  desc.name = std::move(name);
  if (presence == GePresence::kOptional) {
    desc.dtype = DType::kUndefined;
    desc.format = desc.origin_format = kFormatReserved;
  }
  return desc;
}

bool BelongsTo(const std::string& operand, const OperandDeclaration& declaration) {
  if (declaration.presence != GePresence::kDynamic) return operand == declaration.name;
  if (!operand.starts_with(declaration.name) || operand.size() == declaration.name.size()) return false;
  return std::all_of(operand.begin() + static_cast<ptrdiff_t>(declaration.name.size()), operand.end(),
                     [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

const std::string& NameOf(const ir::Input& input) { return input.desc.name; }
const std::string& NameOf(const ir::TensorDesc& output) { return output.name; }

// In front of the first operand that the definition has after `name`.
template <class Operands>
size_t DefinitionPlace(const Operands& operands, const std::vector<OperandDeclaration>& declarations,
                       std::string_view name) {
  const auto own = std::find_if(declarations.begin(), declarations.end(),
                                [&](const OperandDeclaration& one) { return one.name == name; });
  for (size_t place = 0; own != declarations.end() && place < operands.size(); ++place) {
    if (std::any_of(own + 1, declarations.end(),
                    [&](const OperandDeclaration& later) { return BelongsTo(NameOf(operands[place]), later); })) {
      return place;
    }
  }
  return operands.size();
}

void Declare(std::vector<OperandDeclaration>* declarations, std::string_view name, GePresence presence,
             std::string_view types) {
  const auto found = std::find_if(declarations->begin(), declarations->end(),
                                  [&](const OperandDeclaration& one) { return one.name == name; });
  if (found == declarations->end()) {
    declarations->push_back({std::string(name), presence, std::string(types)});
  } else if (found->types.empty()) {
    found->types = types;
  }
}

Status CheckCount(const ir::Node& node, std::string_view name, uint32_t count) {
  MP_REQUIRE(count <= kMaxTensors, "operator \"%s\" (%s): %u tensors for the dynamic operand %s; the most is %u",
             node.name.c_str(), node.type.c_str(), count, std::string(name).c_str(), kMaxTensors);
  return Ok();
}

void SetCount(ir::Node* node, const char* side, std::string_view name, uint32_t count) {
  ir::Attr attr;
  attr.value = static_cast<int64_t>(count);
  node->attributes[std::string("__dynamic_") + side + "_" + std::string(name) + "_cnt"] = std::move(attr);
}

}  // namespace

std::string DynamicName(std::string_view name, uint32_t index) { return std::string(name) + std::to_string(index); }

ge::OperatorImplPtr MakeOperator(std::string name, std::string type) {
  auto impl = std::make_shared<ge::OperatorImpl>();
  impl->node = std::make_shared<ir::Node>(std::move(name), std::move(type));
  impl->extra = std::make_shared<OperatorExtra>();
  impl->island = std::make_shared<Island>();
  impl->island->Add(impl->node, impl->extra);
  return impl;
}

ge::OperatorImplPtr MakeOperator(std::string name, const GeOp& definition) {
  ge::OperatorImplPtr impl = MakeOperator(std::move(name), std::string(definition.type));
  for (const GeOperand& input : definition.inputs) DeclareInput(*impl, input.name, input.presence, {});
  for (const GeOperand& output : definition.outputs) DeclareOutput(*impl, output.name, output.presence, {});
  for (const GeAttribute& attribute : definition.attributes) {
    DeclareAttr(*impl, attribute.name, GeAttrTypeName(attribute.type), attribute.required);
    ir::Attr value;
    if (!attribute.required && ir::DefaultOf(attribute, &value).ok()) {
      impl->node->attributes[std::string(attribute.name)] = std::move(value);
    }
  }
  for (const GeSubgraph& subgraph : definition.subgraphs) {
    DeclareSubgraph(*impl, subgraph.name, subgraph.dynamic);
    // One instance cannot fail: the name was declared the line before.
    if (!subgraph.dynamic) CountSubgraph(*impl, subgraph.name, 1).Ignore();
  }
  return impl;
}

void DeclareInput(ge::OperatorImpl& op, std::string_view name, GePresence presence, std::string_view types) {
  Declare(&op.extra->inputs, name, presence, types);
  if (presence == GePresence::kDynamic || op.node->FindInput(name) >= 0) return;
  op.node->inputs.push_back({DescOf(std::string(name), presence), nullptr, 0});
}

void DeclareOutput(ge::OperatorImpl& op, std::string_view name, GePresence presence, std::string_view types) {
  Declare(&op.extra->outputs, name, presence, types);
  if (presence == GePresence::kDynamic || op.node->FindOutput(name) >= 0) return;
  op.node->outputs.push_back(DescOf(std::string(name), GePresence::kRequired));
}

void DeclareAttr(ge::OperatorImpl& op, std::string_view name, std::string_view type, bool required) {
  auto& declared = op.extra->attributes;
  if (std::none_of(declared.begin(), declared.end(), [&](const AttrDeclaration& one) { return one.name == name; })) {
    declared.push_back({std::string(name), std::string(type), required});
  }
}

void DeclareSubgraph(ge::OperatorImpl& op, std::string_view name, bool dynamic) {
  auto& declared = op.extra->subgraphs;
  if (std::none_of(declared.begin(), declared.end(), [&](const auto& one) { return one.first == name; })) {
    declared.emplace_back(name, dynamic);
  }
}

Status CountSubgraph(ge::OperatorImpl& op, std::string_view name, uint32_t count) {
  MP_RETURN_IF_ERROR(CheckCount(*op.node, name, count));
  const auto& declared = op.extra->subgraphs;
  const auto own = std::find_if(declared.begin(), declared.end(), [&](const auto& one) { return one.first == name; });
  MP_REQUIRE(own != declared.end(), "operator \"%s\" (%s) has no subgraph %s", op.node->name.c_str(),
             op.node->type.c_str(), std::string(name).c_str());
  auto& instances = op.node->subgraphs;
  for (uint32_t index = 0; index < count; ++index) {
    const std::string instance = own->second ? DynamicName(name, index) : std::string(name);
    if (std::none_of(instances.begin(), instances.end(), [&](const auto& one) { return one.name == instance; })) {
      instances.push_back({instance, {}});
    }
    if (!own->second) break;
  }
  return Ok();
}

Status CountInputs(ge::OperatorImpl& op, std::string_view name, uint32_t count, size_t place) {
  ir::Node& node = *op.node;
  MP_RETURN_IF_ERROR(CheckCount(node, name, count));
  MP_REQUIRE(place == kByDefinition || place <= node.inputs.size(),
             "operator \"%s\" (%s): inputs %s were to be put at place %zu, but it has %zu inputs", node.name.c_str(),
             node.type.c_str(), std::string(name).c_str(), place, node.inputs.size());
  std::vector<ir::Input> added;
  const bool fresh = node.FindInput(DynamicName(name, 0)) < 0;
  for (uint32_t index = 0; index < count; ++index) {
    std::string instance = DynamicName(name, index);
    if (fresh || node.FindInput(instance) < 0)
      added.push_back({DescOf(std::move(instance), GePresence::kRequired), nullptr, 0});
  }
  const size_t at = place == kByDefinition ? DefinitionPlace(node.inputs, op.extra->inputs, name) : place;
  node.inputs.insert(node.inputs.begin() + static_cast<ptrdiff_t>(at), std::make_move_iterator(added.begin()),
                     std::make_move_iterator(added.end()));
  SetCount(&node, "input", name, count);
  return Ok();
}

Status CountOutputs(ge::OperatorImpl& op, std::string_view name, uint32_t count, size_t place) {
  ir::Node& node = *op.node;
  MP_RETURN_IF_ERROR(CheckCount(node, name, count));
  std::vector<ir::TensorDesc> added;
  const bool fresh = node.FindOutput(DynamicName(name, 0)) < 0;
  for (uint32_t index = 0; index < count; ++index) {
    std::string instance = DynamicName(name, index);
    if (fresh || node.FindOutput(instance) < 0) added.push_back(DescOf(std::move(instance), GePresence::kRequired));
  }
  const size_t at = place == kByDefinition ? DefinitionPlace(node.outputs, op.extra->outputs, name) : place;
  MP_REQUIRE(at <= node.outputs.size(), "operator \"%s\" (%s): output place %zu, but it has %zu outputs",
             node.name.c_str(), node.type.c_str(), at, node.outputs.size());
  // Who reads an output that moves goes on reading the same.
  for (const ir::NodePtr& user : node.Users()) {
    for (ir::Input& input : user->inputs) {
      if (input.source == op.node && static_cast<size_t>(input.index) >= at) {
        input.index += static_cast<int32_t>(added.size());
      }
    }
  }
  node.outputs.insert(node.outputs.begin() + static_cast<ptrdiff_t>(at), std::make_move_iterator(added.begin()),
                      std::make_move_iterator(added.end()));
  SetCount(&node, "output", name, count);
  return Ok();
}

}  // namespace millpond::api

// SPDX-License-Identifier: Apache-2.0
#include "src/exec/model/single_op.h"

#include <string>
#include <vector>

#include "src/exec/program/program.h"
#include "src/ops/ge_ops.h"

namespace millpond {

namespace {

// Names by place: an operand of any number takes what the others leave.
std::vector<std::string> NamesByPlace(std::span<const GeOperand> operands, size_t count) {
  size_t fixed = 0;
  for (const GeOperand& operand : operands) fixed += operand.presence == GePresence::kDynamic ? 0 : 1;
  size_t spare = count > fixed ? count - fixed : 0;
  std::vector<std::string> names;
  for (const GeOperand& operand : operands) {
    if (operand.presence != GePresence::kDynamic) {
      names.emplace_back(operand.name);
      continue;
    }
    for (size_t i = 0; i < spare; ++i) names.push_back(std::string(operand.name) + std::to_string(i));
    spare = 0;
  }
  return names;
}

Status CheckCount(const std::string& type, const char* what, std::span<const GeOperand> operands, size_t count) {
  size_t most = 0;
  size_t least = 0;
  bool any = false;
  for (const GeOperand& operand : operands) {
    any = any || operand.presence == GePresence::kDynamic;
    most += operand.presence == GePresence::kDynamic ? 0 : 1;
    least += operand.presence == GePresence::kRequired ? 1 : 0;
  }
  MP_REQUIRE(count >= least && (any || count <= most), "%s was given %zu %ss; it has %zu%s", type.c_str(), count, what,
             most, any ? " and more" : "");
  return Ok();
}

const ir::Attr* ValueOf(const ir::TensorDesc& desc) {
  if (desc.attributes == nullptr) return nullptr;
  const auto found = desc.attributes->find(io::kConstValue);
  return found == desc.attributes->end() ? nullptr : &found->second;
}

Status AddSource(size_t place, const ir::TensorDesc& desc, ir::Graph* graph, ir::Node* node) {
  const ir::Attr* const value = ValueOf(desc);
  const auto source = std::make_shared<ir::Node>((value != nullptr ? "const_" : "data_") + std::to_string(place),
                                                 value != nullptr ? "Const" : "Data");
  ir::TensorDesc made = desc;
  made.name = "y";
  made.attributes.reset();
  if (value != nullptr) {
    source->attributes["value"] = *value;
  } else {
    source->attributes["index"] = ir::Attr{static_cast<int64_t>(graph->inputs.size())};
    ir::TensorDesc fed = made;
    fed.name = "x";
    source->inputs.push_back({std::move(fed), nullptr, 0});
  }
  source->outputs.push_back(std::move(made));
  MP_RETURN_IF_ERROR(graph->AddNode(source));
  if (value == nullptr) graph->inputs.push_back(source);
  return node->Connect(place, source, 0);
}

}  // namespace

Status GraphOfOne(const io::OmSingleOp& op, ir::GraphPtr* out) {
  const GeOp* const definition = FindGeDefinition(op.type);
  MP_REQUIRE(definition != nullptr, "there is no operator %s; docs/ops.md lists those that are", op.type.c_str());
  MP_RETURN_IF_ERROR(CheckCount(op.type, "input", definition->inputs, op.inputs.size()));
  MP_RETURN_IF_ERROR(CheckCount(op.type, "output", definition->outputs, op.outputs.size()));
  const std::vector<std::string> input_names = NamesByPlace(definition->inputs, op.inputs.size());
  const std::vector<std::string> output_names = NamesByPlace(definition->outputs, op.outputs.size());
  auto graph = std::make_shared<ir::Graph>(op.type);
  const auto node = std::make_shared<ir::Node>(op.type, op.type);
  node->attributes = op.attributes;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    ir::TensorDesc desc = op.inputs[i];
    desc.attributes.reset();
    if (desc.name.empty()) desc.name = input_names.at(i);
    node->inputs.push_back({std::move(desc), nullptr, 0});
  }
  node->outputs = op.outputs;
  for (size_t i = 0; i < node->outputs.size(); ++i) {
    if (node->outputs[i].name.empty()) node->outputs[i].name = output_names.at(i);
  }
  MP_RETURN_IF_ERROR(graph->AddNode(node));
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].dtype == DType::kUndefined) continue;  // an optional operand that is absent
    MP_RETURN_IF_ERROR(AddSource(i, op.inputs[i], graph.get(), node.get()));
  }
  for (size_t i = 0; i < node->outputs.size(); ++i) graph->outputs.push_back({node, static_cast<int32_t>(i)});
  graph->valid = true;
  *out = std::move(graph);
  return Ok();
}

Status CheckSingleOp(const io::OmSingleOp& op) {
  ir::GraphPtr graph;
  MP_RETURN_IF_ERROR(GraphOfOne(op, &graph));
  std::shared_ptr<const program::Program> program;
  return program::Program::Compile(*graph, {}, &program);
}

}  // namespace millpond

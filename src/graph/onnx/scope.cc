// SPDX-License-Identifier: Apache-2.0
#include "src/graph/onnx/scope.h"

#include <algorithm>

#include "src/graph/passes/kinds.h"

namespace millpond::onnx {

Status Scope::Define(const std::string& name, const Val& value) {
  MP_REQUIRE(!name.empty(), "a value has no name");
  MP_REQUIRE(values_.emplace(name, value).second, "two values have the name \"%.100s\"", name.c_str());
  return Ok();
}

Status Scope::Lookup(const std::string& name, Val* out) {
  if (const auto found = values_.find(name); found != values_.end()) {
    *out = found->second;
    return Ok();
  }
  MP_REQUIRE(outer_ != nullptr,
             "nothing before it gives \"%.100s\"; nodes must stand in the order in which they run, without cycles",
             name.c_str());
  Val value;
  MP_RETURN_IF_ERROR(outer_->Lookup(name, &value));
  if (captures_ != nullptr) {
    const ir::TensorPtr constant = outer_->builder_.ConstantOf(value);
    if (constant != nullptr) {
      builder_.SetName(name);
      value = builder_.Const(constant);
    } else {
      const auto same = [&](const Val& one) { return one.node == value.node && one.index == value.index; };
      const auto known = std::find_if(captures_->values.begin(), captures_->values.end(), same);
      const int64_t place = captures_->first_place + (known - captures_->values.begin());
      const ir::TensorDesc desc = value.node->outputs[static_cast<size_t>(value.index)];
      if (known == captures_->values.end()) captures_->values.push_back(value);
      value = builder_.Data(name, place, desc);
      if (Given(value)) value.node->attributes[std::string(passes::kParentIndex)].value = place;
    }
    MP_RETURN_IF_ERROR(builder_.TakeStatus());
  }
  values_.emplace(name, value);
  *out = value;
  return Ok();
}

Status Scope::Translate(const Graph& graph) {
  for (const auto& [name, tensor] : graph.constants) {
    builder_.SetName(prefix_ + name);
    const Val value = builder_.Const(tensor);
    MP_RETURN_IF_ERROR(builder_.TakeStatus());
    MP_RETURN_IF_ERROR(Define(name, value));
  }
  return Translate(graph.nodes);
}

Status Scope::Translate(std::span<const Node> nodes) {
  MP_REQUIRE(++importing_->depth <= kMostDepth, "graphs and functions are nested more than %d deep", kMostDepth);
  for (const Node& node : nodes) MP_RETURN_IF_ERROR(TranslateNode(node).Prefixed(Named(node)));
  --importing_->depth;
  return Ok();
}

Status Scope::Outputs(const Graph& graph, Vals* out) {
  for (const ValueInfo& output : graph.outputs) {
    Val value;
    MP_RETURN_IF_ERROR(Lookup(output.name, &value).Prefixed(Format("output \"%.100s\"", output.name.c_str())));
    out->push_back(value);
  }
  return Ok();
}

std::vector<const Attribute*> Scope::AttributesOf(const Node& node) {
  std::vector<const Attribute*> attributes;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.reference.empty()) {
      attributes.push_back(&attribute);
      continue;
    }
    if (call_ == nullptr) continue;
    const auto given = std::find_if(call_->begin(), call_->end(),
                                    [&](const Attribute* one) { return one->name == attribute.reference; });
    if (given == call_->end()) continue;
    auto renamed = std::make_unique<Attribute>(**given);
    renamed->name = attribute.name;
    attributes.push_back(renamed.get());
    renamed_.push_back(std::move(renamed));
  }
  return attributes;
}

Status Scope::TranslateNode(const Node& node) {
  MP_CHECK(++importing_->nodes <= kMostNodes, kOverLimit,
           "the model has more than %zu nodes when loops and functions "
           "are written out",
           kMostNodes);
  MP_REQUIRE(!node.type.empty(), "it has no operator type");
  Vals inputs;
  for (const std::string& input : node.inputs) {
    Val& value = inputs.emplace_back();
    if (!input.empty()) MP_RETURN_IF_ERROR(Lookup(input, &value));
  }
  const std::vector<const Attribute*> attributes = AttributesOf(node);
  const auto version = opsets_->find(node.domain);
  MP_REQUIRE(version != opsets_->end(), "the model imports no operator set of domain \"%.100s\"", node.domain.c_str());
  std::string name = node.name;
  if (name.empty() && !node.outputs.empty()) name = node.outputs[0];
  if (name.empty()) name = node.type;
  Vals outputs;
  const auto& functions = importing_->model->functions;
  const auto function = std::find_if(functions.begin(), functions.end(), [&](const Function& one) {
    return one.name == node.type && one.domain == node.domain;
  });
  if (function != functions.end()) {
    MP_RETURN_IF_ERROR(Call(*function, node, attributes, inputs, &outputs));
  } else {
    builder_.SetName(prefix_ + name);
    Context context(this, &builder_, node, attributes, std::move(inputs), version->second);
    const Handler handler = FindHandler(node.domain, node.type);
    const char* same = node.domain.empty() ? SameInGe(node.type) : nullptr;
    MP_CHECK(handler != nullptr || same != nullptr, kUnsupported, "operator %s%s%s is not supported",
             node.domain.c_str(), node.domain.empty() ? "" : "::", node.type.c_str());
    if (handler != nullptr) {
      handler(context);
    } else {
      std::vector<Arg> operands;
      for (size_t i = 0; i < context.inputs(); ++i) operands.emplace_back(context.In(i));
      context.Out(builder_.Wide(same, operands));
    }
    MP_RETURN_IF_ERROR(context.Finish(&outputs));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    MP_REQUIRE(i < outputs.size(), "has %zu outputs, and gives %zu", node.outputs.size(), outputs.size());
    MP_RETURN_IF_ERROR(Define(node.outputs[i], outputs[i]));
  }
  return Ok();
}

Status Scope::Call(const Function& function, const Node& node, const std::vector<const Attribute*>& attributes,
                   const Vals& inputs, Vals* out) {
  MP_REQUIRE(inputs.size() <= function.inputs.size(), "calls a function of %zu inputs with %zu", function.inputs.size(),
             inputs.size());
  std::vector<const Attribute*> given = attributes;
  for (const Attribute& fallback : function.defaults) {
    if (node.Find(fallback.name) == nullptr) given.push_back(&fallback);
  }
  Scope scope(this, builder_.graph(), nullptr);
  scope.BeFunction(&given);
  if (!function.opsets.empty()) scope.SetOpsets(&function.opsets);
  scope.SetPrefix(prefix_ + (node.name.empty() ? node.type : node.name) + "/");
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    MP_RETURN_IF_ERROR(scope.Define(function.inputs[i], i < inputs.size() ? inputs[i] : Val()));
  }
  MP_RETURN_IF_ERROR(scope.Translate(function.nodes));
  for (const std::string& output : function.outputs) {
    MP_RETURN_IF_ERROR(scope.Lookup(output, &out->emplace_back()));
  }
  return Ok();
}

}  // namespace millpond::onnx

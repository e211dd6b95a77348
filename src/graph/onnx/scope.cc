// SPDX-License-Identifier: Apache-2.0
#include "src/graph/onnx/scope.h"

#include <algorithm>

#include "src/graph/onnx/import.h"
#include "src/graph/onnx/narrow.h"
#include "src/graph/onnx/node_order.h"
#include "src/graph/passes/kinds.h"

namespace millpond::onnx {

Status Importing::NewSubgraph(const std::string& name, ir::GraphPtr* out) {
  std::string free = name;
  while (root->FindSubgraph(free) != nullptr || free == root->name)
    free = Format("%s_%zu", name.c_str(), ++making.names);
  MP_RETURN_IF_ERROR(making.budget.Spend(sizeof(ir::Graph) + 2 * free.size(), 1));
  *out = std::make_shared<ir::Graph>(free);
  return root->AddSubgraph(*out);
}

namespace {

// Operators of opset kOldestOpset that are older, with the opset that defined them so.
struct Since {
  int64_t opset;
  std::string_view types;  // with a space around each
};
constexpr Since kOlder[] = {
    {1,
     " ArgMax ArgMin Constant Conv ConvTranspose DepthToSpace Flatten Gather GlobalAveragePool GlobalMaxPool Hardmax"
     " Identity If LRN LogSoftmax Loop LpNormalization MatMul MaxPool Not ReduceL1 ReduceL2 ReduceLogSum"
     " ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Shape Size Slice Softmax"
     " Softplus Softsign SpaceToDepth Squeeze TopK Transpose Unsqueeze "},
    {2, " LpPool Pad Split "},
    {4, " Concat "},
    {5, " Reshape "},
    {6,
     " Abs Cast Ceil Clip Elu Exp Floor HardSigmoid InstanceNormalization LeakyRelu Log Max Mean Min Neg Reciprocal"
     " Relu Selu Sigmoid Sqrt Sum Tanh Tile "},
};

Status CheckAge(const Node& node, int64_t opset) {
  if (!node.domain.empty() || opset >= kOldestOpset) return Ok();
  const std::string spaced = " " + node.type + " ";
  const bool same = std::any_of(std::begin(kOlder), std::end(kOlder), [&](const Since& one) {
    return one.opset <= opset && one.types.find(spaced) != std::string_view::npos;
  });
  MP_CHECK(same, kUnsupported,
           "operator %.100s of opset %lld is not supported, nor are models of less than opset %lld with others than "
           "those that have not changed since (onnx.version_converter changes it)",
           node.type.c_str(), static_cast<long long>(opset), static_cast<long long>(kOldestOpset));
  return Ok();
}

}  // namespace

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
             "no node produces \"%.100s\", or only one that waits for it; a graph must be without cycles",
             name.c_str());
  Val value;
  MP_RETURN_IF_ERROR(outer_->Lookup(name, &value));
  if (captures_ != nullptr) {
    const ir::TensorPtr constant = outer_->builder_.ConstantOf(value);
    if (constant != nullptr) {
      builder_.SetName(name);
      const NarrowType* narrow = NarrowOf(value);
      value = builder_.Const(constant);
      if (narrow != nullptr && Given(value)) MarkNarrow(*narrow, &value.node->outputs[0]);
    } else {
      const auto next = captures_->first_place + static_cast<int64_t>(captures_->values.size());
      const auto [known, is_new] = captures_->places.try_emplace({value.node.get(), value.index}, next);
      if (is_new) captures_->values.push_back(value);
      const int64_t place = known->second;
      const ir::TensorDesc desc = value.node->outputs[static_cast<size_t>(value.index)];
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
  MP_REQUIRE(++importing_->depth <= kMaxDepth, "graphs and functions are nested more than %d deep", kMaxDepth);
  for (const size_t place : InOrderOfUse(nodes)) {
    const Node& node = nodes[place];
    if (Status status = TranslateNode(node); !status.ok()) return std::move(status).Prefixed(Named(node));
  }
  --importing_->depth;
  return Ok();
}

Status Scope::Outputs(const Graph& graph, Vals* out) {
  MP_RETURN_IF_ERROR(importing_->making.budget.Spend(0, graph.outputs.size()));
  for (const ValueInfo& output : graph.outputs) {
    if (Status status = Lookup(output.name, &out->emplace_back()); !status.ok()) {
      return std::move(status).Prefixed(Format("output \"%.100s\"", output.name.c_str()));
    }
    MP_CHECK(captures_ == nullptr || NarrowOf(out->back()) == nullptr, kUnsupported,
             "output \"%.100s\" of a branch or loop is of a type of less than a byte or without a form here",
             output.name.c_str());
  }
  return Ok();
}

std::vector<NamedAttribute> Scope::AttributesOf(const Node& node) {
  std::vector<NamedAttribute> attributes;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.reference.empty()) {
      attributes.push_back({attribute.name, &attribute});
      continue;
    }
    if (call_ == nullptr) continue;
    const auto given = call_->find(attribute.reference);
    if (given != call_->end()) attributes.push_back({attribute.name, given->second});
  }
  return attributes;
}

Status Scope::PayFor(const Node& node) {
  constexpr uint64_t kBytesPerStep = 256;
  uint64_t bytes = prefix_.size() + node.name.size();
  for (const std::string& input : node.inputs) bytes += sizeof(Val) + input.size();
  for (const std::string& output : node.outputs) bytes += sizeof(Val) + output.size();
  for (const Attribute& one : node.attributes) {
    bytes += sizeof(NamedAttribute) + one.name.size() + one.text.size() + one.texts.size() * sizeof(std::string) +
             one.integers.size() * sizeof(int64_t) + one.reals.size() * sizeof(float);
  }
  return importing_->making.budget.Spend(0, 1 + bytes / kBytesPerStep);
}

Status Scope::TranslateNode(const Node& node) {
  MP_RETURN_IF_ERROR(PayFor(node));
  MP_REQUIRE(!node.type.empty(), "it has no operator type");
  Vals inputs;
  for (const std::string& input : node.inputs) {
    Val& value = inputs.emplace_back();
    if (!input.empty()) MP_RETURN_IF_ERROR(Lookup(input, &value));
  }
  std::vector<NamedAttribute> attributes = AttributesOf(node);
  const auto version = opsets_->find(node.domain);
  MP_REQUIRE(version != opsets_->end(), "the model imports no operator set of domain \"%.100s\"", node.domain.c_str());
  MP_RETURN_IF_ERROR(CheckAge(node, version->second));
  std::string name = node.name;
  if (name.empty() && !node.outputs.empty()) name = node.outputs[0];
  if (name.empty()) name = node.type;
  Vals outputs;
  const auto function = importing_->functions.find({node.domain, node.type});
  if (function != importing_->functions.end()) {
    MP_RETURN_IF_ERROR(Call(*function->second, node, attributes, inputs, &outputs));
  } else {
    builder_.SetName(prefix_ + name);
    Context context(this, &builder_, node, std::move(attributes), inputs, version->second);
    const Handler handler = FindHandler(node.domain, node.type);
    const char* same = node.domain.empty() ? SameInGe(node.type) : nullptr;
    MP_CHECK(handler != nullptr || same != nullptr, kUnsupported, "operator %s%s%s is not supported",
             node.domain.c_str(), node.domain.empty() ? "" : "::", node.type.c_str());
    if (handler != nullptr) {
      handler(context);
    } else {
      std::vector<Arg> operands;
      operands.reserve(context.inputs());
      for (size_t i = 0; i < context.inputs(); ++i) operands.emplace_back(context.In(i));
      context.Out(builder_.Wide(same, operands));
    }
    MP_RETURN_IF_ERROR(context.Finish(&outputs));
    MP_RETURN_IF_ERROR(CarryTypes(node, inputs, &outputs));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    MP_REQUIRE(i < outputs.size(), "has %zu outputs, and gives %zu", node.outputs.size(), outputs.size());
    MP_RETURN_IF_ERROR(Define(node.outputs[i], outputs[i]));
  }
  return Ok();
}

Status Scope::Call(const Function& function, const Node& node, const std::vector<NamedAttribute>& attributes,
                   const Vals& inputs, Vals* out) {
  MP_REQUIRE(inputs.size() <= function.inputs.size(), "calls a function of %zu inputs with %zu", function.inputs.size(),
             inputs.size());
  const uint64_t names = function.inputs.size() + function.outputs.size() + function.defaults.size();
  MP_RETURN_IF_ERROR(importing_->making.budget.Spend(0, names));
  AttributesByName given;
  for (const NamedAttribute& one : attributes) given.emplace(one.name, one.attribute);
  for (const Attribute& fallback : function.defaults) given.emplace(fallback.name, &fallback);
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

// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/verify_node.h"

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/node_door.h"
#include "src/ops/ge_ops.h"

namespace millpond::passes {
namespace {

// An attribute's type, as definitions spell it.
struct KindText {
  const char* operator()(std::monostate) const { return "an empty list"; }
  const char* operator()(bool) const { return "Bool"; }
  const char* operator()(int64_t) const { return "Int"; }
  const char* operator()(float) const { return "Float"; }
  const char* operator()(const std::string&) const { return "String"; }
  const char* operator()(const ir::ByteString&) const { return "Bytes"; }
  const char* operator()(DType) const { return "Type"; }
  const char* operator()(const ir::TensorPtr&) const { return "Tensor"; }
  const char* operator()(const std::shared_ptr<const ir::TensorDesc>&) const { return "TensorDesc"; }
  const char* operator()(const std::shared_ptr<const ir::NamedAttributes>&) const { return "NamedAttrs"; }
  const char* operator()(const std::shared_ptr<ir::Graph>&) const { return "Graph"; }
  const char* operator()(const std::vector<bool>&) const { return "ListBool"; }
  const char* operator()(const std::vector<int64_t>&) const { return "ListInt"; }
  const char* operator()(const std::vector<float>&) const { return "ListFloat"; }
  const char* operator()(const std::vector<std::string>&) const { return "ListString"; }
  const char* operator()(const std::vector<ir::ByteString>&) const { return "ListBytes"; }
  const char* operator()(const std::vector<DType>&) const { return "ListType"; }
  const char* operator()(const std::vector<ir::TensorPtr>&) const { return "ListTensor"; }
  const char* operator()(const std::vector<std::shared_ptr<const ir::TensorDesc>>&) const { return "ListTensorDesc"; }
  const char* operator()(const std::vector<std::shared_ptr<const ir::NamedAttributes>>&) const {
    return "ListNamedAttrs";
  }
  const char* operator()(const std::vector<std::shared_ptr<ir::Graph>>&) const { return "ListGraph"; }
  const char* operator()(const std::vector<std::vector<int64_t>>&) const { return "ListListInt"; }
  const char* operator()(const std::vector<std::vector<float>>&) const { return "ListListFloat"; }
};

template <class... T>
bool IsOneOf(const ir::Attr& attr) {
  return (std::holds_alternative<T>(attr.value) || ...);
}

// An empty list may have lost its type in serialisation.
struct IsEmptyList {
  bool operator()(std::monostate) const { return true; }
  template <class T>
  bool operator()(const std::vector<T>& list) const {
    return list.empty();
  }
  template <class T>
  bool operator()(const T&) const {
    return false;
  }
};

// Files store types as integers and strings as bytes; either is accepted.
bool Fits(GeAttrType type, const ir::Attr& attr) {
  const bool empty_list = std::visit(IsEmptyList{}, attr.value);
  switch (type) {
    case GeAttrType::kInt:
    case GeAttrType::kType:
      return IsOneOf<int64_t, DType>(attr);
    case GeAttrType::kFloat:
      return IsOneOf<float, int64_t>(attr);
    case GeAttrType::kBool:
      return IsOneOf<bool, int64_t>(attr);
    case GeAttrType::kString:
    case GeAttrType::kBytes:
      return IsOneOf<std::string, ir::ByteString>(attr);
    case GeAttrType::kTensor:
      return IsOneOf<ir::TensorPtr>(attr);
    case GeAttrType::kNamedAttrs:
      return IsOneOf<std::shared_ptr<const ir::NamedAttributes>>(attr);
    case GeAttrType::kListInt:
    case GeAttrType::kListType:
      return empty_list || IsOneOf<std::vector<int64_t>, std::vector<DType>>(attr);
    case GeAttrType::kListFloat:
      return empty_list || IsOneOf<std::vector<float>, std::vector<int64_t>>(attr);
    case GeAttrType::kListBool:
      return empty_list || IsOneOf<std::vector<bool>, std::vector<int64_t>>(attr);
    case GeAttrType::kListString:
      return empty_list || IsOneOf<std::vector<std::string>, std::vector<ir::ByteString>>(attr);
    case GeAttrType::kListTensor:
      return empty_list || IsOneOf<std::vector<ir::TensorPtr>>(attr);
    case GeAttrType::kListNamedAttrs:
      return empty_list || IsOneOf<std::vector<std::shared_ptr<const ir::NamedAttributes>>>(attr);
    case GeAttrType::kListListInt:
      return empty_list || IsOneOf<std::vector<std::vector<int64_t>>>(attr);
  }
  return false;
}

Status VerifyAttributes(const ir::Node& node, const GeOp& definition) {
  for (const GeAttribute& wanted : definition.attributes) {
    const ir::Attr* given = node.FindAttr(wanted.name);
    const std::string name(wanted.name);
    if (given == nullptr) {
      MP_REQUIRE(!wanted.required, "%s: attribute \"%s\" (%s) must be given and is missing", Named(node).c_str(),
                 name.c_str(), GeAttrTypeName(wanted.type));
      continue;
    }
    MP_REQUIRE(Fits(wanted.type, *given), "%s: attribute \"%s\" is %s, and must be %s", Named(node).c_str(),
               name.c_str(), std::visit(KindText{}, given->value), GeAttrTypeName(wanted.type));
  }
  return Ok();
}

std::string Listed(std::span<const GeOperand> operands) {
  std::string text;
  for (const GeOperand& operand : operands) {
    if (!text.empty()) text += ", ";
    text += operand.name;
    if (operand.presence == GePresence::kOptional) text += '?';
    if (operand.presence == GePresence::kDynamic) text += '*';
  }
  return text.empty() ? "none" : text;
}

std::string MemberName(const GeOperand& operand, size_t member) {
  std::string name(operand.name);
  if (operand.presence == GePresence::kDynamic) name += std::to_string(member);
  return name;
}

// Inputs in the definition's order, each named, including absent ones.
Status ArrangeInputs(ir::Node* node, const GeOp& definition) {
  std::vector<uint32_t> operand_of;
  MP_REQUIRE(MatchOperands(definition.inputs, InputNames(*node), &operand_of),
             "%s: has %zu inputs, and the inputs of %s are: %s", Named(*node).c_str(), node->inputs.size(),
             node->type.c_str(), Listed(definition.inputs).c_str());
  std::vector<ir::Input> arranged;
  arranged.reserve(std::max(node->inputs.size(), definition.inputs.size()));
  for (uint32_t i = 0; i < definition.inputs.size(); ++i) {
    const GeOperand& operand = definition.inputs[i];
    size_t member = 0;
    for (size_t place = 0; place < node->inputs.size(); ++place) {
      if (operand_of[place] != i) continue;
      arranged.push_back(std::move(node->inputs[place]));  // users are found by node if their place has changed
      arranged.back().desc.name = MemberName(operand, member++);
    }
    if (member > 0 || operand.presence == GePresence::kDynamic) continue;
    ir::Input absent;
    absent.desc.name = std::string(operand.name);
    absent.desc.dtype = DType::kUndefined;
    arranged.push_back(std::move(absent));
  }
  node->inputs = std::move(arranged);
  return Ok();
}

// Edges refer to outputs by index: those keep theirs, and outputs not mentioned follow.
Status ArrangeOutputs(ir::Node* node, const GeOp& definition) {
  std::vector<uint32_t> operand_of;
  MP_REQUIRE(MatchOperands(definition.outputs, OutputNames(*node), &operand_of),
             "%s: has %zu outputs, and the outputs of %s are: %s", Named(*node).c_str(), node->outputs.size(),
             node->type.c_str(), Listed(definition.outputs).c_str());
  MP_REQUIRE(std::is_sorted(operand_of.begin(), operand_of.end()),
             "%s: its outputs are in another order than the definition's: %s", Named(*node).c_str(),
             Listed(definition.outputs).c_str());
  std::vector<size_t> members(definition.outputs.size());
  for (size_t place = 0; place < node->outputs.size(); ++place) {
    const uint32_t operand = operand_of[place];
    node->outputs[place].name = MemberName(definition.outputs[operand], members[operand]++);
  }
  for (size_t i = 0; i < definition.outputs.size(); ++i) {
    if (members[i] > 0 || definition.outputs[i].presence == GePresence::kDynamic) continue;
    const auto later = std::find_if(members.begin() + static_cast<std::ptrdiff_t>(i), members.end(),
                                    [](size_t count) { return count > 0; });
    MP_REQUIRE(later == members.end(), "%s: output \"%s\" is missing before others", Named(*node).c_str(),
               std::string(definition.outputs[i].name).c_str());
    ir::TensorDesc missing;
    missing.name = std::string(definition.outputs[i].name);
    node->outputs.push_back(std::move(missing));
  }
  return Ok();
}

Status VerifyConnected(const ir::Node& node, const GeOp& definition) {
  std::vector<uint32_t> operand_of;
  if (!MatchOperands(definition.inputs, InputNames(node), &operand_of)) return InternalError("inputs lost their order");
  for (size_t place = 0; place < node.inputs.size(); ++place) {
    const ir::Input& input = node.inputs[place];
    if (input.source != nullptr || definition.inputs[operand_of[place]].presence == GePresence::kOptional) continue;
    return InvalidArgument(Format("%s: input %zu (\"%s\") is not connected, and %s needs it", Named(node).c_str(),
                                  place, input.desc.name.c_str(), node.type.c_str()));
  }
  return Ok();
}

Status VerifySources(const ir::Node& node) {
  for (size_t place = 0; place < node.inputs.size(); ++place) {
    const ir::Input& input = node.inputs[place];
    if (input.source == nullptr) continue;
    MP_REQUIRE(input.index >= 0 && static_cast<size_t>(input.index) < input.source->outputs.size(),
               "%s: input %zu (\"%s\") asks for output %d of %s, which has %zu", Named(node).c_str(), place,
               input.desc.name.c_str(), input.index, Named(*input.source).c_str(), input.source->outputs.size());
  }
  return Ok();
}

Status VerifyConstant(const ir::Node& node) {
  const ir::TensorPtr tensor = ConstantOf(node);
  MP_REQUIRE(tensor != nullptr, "%s: attribute \"value\" (Tensor) must be given and is missing", Named(node).c_str());
  if (tensor->desc.dtype == DType::kString) return Ok();
  const int64_t bytes = ir::BytesOf(tensor->desc.dtype, tensor->desc.dims);
  MP_REQUIRE(bytes >= 0, "%s: its tensor of %s %s has no size", Named(node).c_str(), DTypeName(tensor->desc.dtype),
             ir::TextOf(tensor->desc.dims).c_str());
  MP_REQUIRE(tensor->data.size >= static_cast<size_t>(bytes),
             "%s: its tensor of %s %s needs %lld bytes, and %zu are there", Named(node).c_str(),
             DTypeName(tensor->desc.dtype), ir::TextOf(tensor->desc.dims).c_str(), static_cast<long long>(bytes),
             tensor->data.size);
  return Ok();
}

// Kinds whose single output exists even when not described.
void GiveOutput(ir::Node* node, const char* name) {
  if (node->outputs.empty()) node->outputs.emplace_back();
  if (node->outputs[0].name.empty()) node->outputs[0].name = name;
}

}  // namespace

Status VerifyNode(const ir::NodePtr& node, const ClientOperators& clients) {
  MP_REQUIRE(!node->name.empty(), "a node of type \"%s\" has no name; give it one", node->type.c_str());
  MP_RETURN_IF_ERROR(VerifySources(*node));
  const Kind kind = KindOf(*node);
  switch (kind) {
    case Kind::kConst:
      GiveOutput(node.get(), "y");
      return VerifyConstant(*node);
    case Kind::kData:
    case Kind::kVariable:
    case Kind::kFileConstant:
    case Kind::kConstPlaceHolder:
      GiveOutput(node.get(), "y");
      return Ok();
    case Kind::kNetOutput:
    case Kind::kNoOp:
      return Ok();
    default:
      break;
  }
  const GeOp* definition = FindGeDefinition(node->type);
  // A built-in definition takes precedence over a client's, as in GE.
  if (definition == nullptr && clients.knows && clients.knows(node->type)) return Ok();
  MP_REQUIRE(definition != nullptr, "%s: there is no operator of type \"%s\"", Named(*node).c_str(),
             node->type.c_str());
  MP_RETURN_IF_ERROR(ArrangeInputs(node.get(), *definition));
  MP_RETURN_IF_ERROR(ArrangeOutputs(node.get(), *definition));
  MP_RETURN_IF_ERROR(VerifyConnected(*node, *definition));
  return VerifyAttributes(*node, *definition);
}

}  // namespace millpond::passes

// SPDX-License-Identifier: Apache-2.0
// ge::Operator: what it is, and what it is linked to.
#include "include/graph/operator.h"

#include "src/api/graph/operator_impl.h"
#include "src/api/graph/registry.h"

namespace millpond::api {

ir::NodePtr NodeOf(const ge::Operator& op) {
  const ge::OperatorImplPtr& impl = BuildAccess::Impl(op);
  return impl == nullptr ? nullptr : impl->node;
}

ge::Operator WrapOperator(const ir::NodePtr& node) {
  if (node == nullptr) return {};
  auto impl = std::make_shared<ge::OperatorImpl>();
  impl->node = node;
  const GeOp* definition = FindGeDefinition(node->type);
  // What was declared is known again; the node itself has its operands already.
  impl->extra = definition == nullptr ? std::make_shared<OperatorExtra>() : MakeOperator({}, *definition)->extra;
  impl->island = std::make_shared<Island>();
  impl->island->Add(node, impl->extra);
  return BuildAccess::Make(std::move(impl));
}

Status RequireOperator(const ge::Operator& op) {
  MP_REQUIRE(!op.IsEmpty(),
             "the operator is empty: it was made by the default constructor, moved from, or by a factory "
             "that does not know its type");
  return Ok();
}

namespace {

template <class Operands>
std::string Names(const Operands& operands) {
  std::string names;
  for (const auto& operand : operands) {
    if (names.size() > 200) return names + ", ...";
    if constexpr (std::is_same_v<std::decay_t<decltype(operand)>, ir::Input>) {
      names += (names.empty() ? "" : ", ") + operand.desc.name;
    } else {
      names += (names.empty() ? "" : ", ") + operand.name;
    }
  }
  return names.empty() ? "none" : names;
}

}  // namespace

Status InputPlace(const ge::Operator& op, const char* name, size_t* out_place) {
  MP_RETURN_IF_ERROR(RequireOperator(op));
  const ir::Node& node = *NodeOf(op);
  MP_REQUIRE(name != nullptr, "operator \"%s\" (%s): the input's name is null", node.name.c_str(), node.type.c_str());
  const int place = node.FindInput(name);
  MP_REQUIRE(place >= 0, "operator \"%s\" (%s) has no input \"%s\"; it has: %s. A dynamic input must be created first",
             node.name.c_str(), node.type.c_str(), name, Names(node.inputs).c_str());
  *out_place = static_cast<size_t>(place);
  return Ok();
}

Status OutputPlace(const ge::Operator& op, const char* name, size_t* out_place) {
  MP_RETURN_IF_ERROR(RequireOperator(op));
  const ir::Node& node = *NodeOf(op);
  MP_REQUIRE(name != nullptr, "operator \"%s\" (%s): the output's name is null", node.name.c_str(), node.type.c_str());
  const int place = node.FindOutput(name);
  MP_REQUIRE(place >= 0,
             "operator \"%s\" (%s) has no output \"%s\"; it has: %s. A dynamic output must be created first",
             node.name.c_str(), node.type.c_str(), name, Names(node.outputs).c_str());
  *out_place = static_cast<size_t>(place);
  return Ok();
}

}  // namespace millpond::api

namespace ge {

namespace {

constexpr char kSetInput[] = "ge::Operator::SetInput";

graphStatus TellText(const char* api, const Operator& op, std::string ir::Node::*text, AscendString* out) {
  return Answer(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(op));
    *out = Wrap(std::string_view((*BuildAccess::Impl(op)->node).*text));
    return Ok();
  });
}

OperatorImplPtr Made(const char* api, const char_t* name, const char_t* type) {
  OperatorImplPtr impl;
  static_cast<void>(Answer(api, [&]() -> Status {
    MP_REQUIRE(type != nullptr, "the operator's type is null");
    MP_REQUIRE(name != nullptr, "the operator's name is null (its type is %s)", type);
    impl = MakeOperator(name, std::string(type));
    return Ok();
  }));
  return impl;
}

// Shape and type come along; format and attributes are the reader's own.
Status Link(const Operator& to, size_t place, const Operator& from, size_t output) {
  const ir::NodePtr node = NodeOf(to);
  const ir::NodePtr source = NodeOf(from);
  MP_REQUIRE(place < node->inputs.size(), "operator \"%s\" (%s): input %zu was asked for, but it has %zu inputs",
             node->name.c_str(), node->type.c_str(), place, node->inputs.size());
  MP_REQUIRE(output <= INT32_MAX, "operator \"%s\" (%s): output %zu of \"%s\" was asked for", node->name.c_str(),
             node->type.c_str(), output, source->name.c_str());
  MP_RETURN_IF_ERROR(node->Connect(place, source, static_cast<int32_t>(output)));
  Island::Join(BuildAccess::Impl(to)->island, BuildAccess::Impl(from)->island);
  ir::TensorDesc& desc = node->inputs[place].desc;
  ir::TensorDesc linked = source->outputs[output];
  linked.name = std::move(desc.name);
  linked.format = desc.format == FORMAT_RESERVED ? ir::kFormatNd : desc.format;
  linked.origin_format = desc.origin_format == FORMAT_RESERVED ? ir::kFormatNd : desc.origin_format;
  linked.attributes = std::move(desc.attributes);
  desc = std::move(linked);
  return Ok();
}

// The output of a source that was given without one.
Status OnlyOutput(const Operator& from, size_t* out_output) {
  const ir::NodePtr source = NodeOf(from);
  MP_REQUIRE(source->outputs.size() == 1,
             "operator \"%s\" (%s) has %zu outputs: name the one to be read, or give its index", source->name.c_str(),
             source->type.c_str(), source->outputs.size());
  *out_output = 0;
  return Ok();
}

}  // namespace

Operator::Operator(const char_t* type) {
  static_cast<void>(Answer("ge::Operator::Operator", [&]() -> Status {
    MP_REQUIRE(type != nullptr, "the operator's type is null");
    operator_impl_ =
        MakeOperator(std::string(type) + "_" + std::to_string(Registry::Instance().NextNumber()), std::string(type));
    return Ok();
  }));
}

Operator::Operator(const char_t* name, const char_t* type)
    : operator_impl_(Made("ge::Operator::Operator", name, type)) {}

Operator::Operator(const AscendString& name, const AscendString& type)
    : operator_impl_(Made("ge::Operator::Operator", name.GetString(), type.GetString())) {}

Operator::Operator(OperatorImplPtr&& op_impl) : operator_impl_(std::move(op_impl)) {}

bool Operator::IsEmpty() const { return operator_impl_ == nullptr; }

graphStatus Operator::GetName(AscendString& name) const {
  return TellText("ge::Operator::GetName", *this, &ir::Node::name, &name);
}

graphStatus Operator::GetOpType(AscendString& type) const {
  return TellText("ge::Operator::GetOpType", *this, &ir::Node::type, &type);
}

Operator& Operator::SetInput(const char_t* dst_name, const Operator& src_oprt) {
  static_cast<void>(Answer(kSetInput, [&]() -> Status {
    size_t place = 0;
    size_t output = 0;
    MP_RETURN_IF_ERROR(InputPlace(*this, dst_name, &place));
    MP_RETURN_IF_ERROR(RequireOperator(src_oprt));
    MP_RETURN_IF_ERROR(OnlyOutput(src_oprt, &output));
    return Link(*this, place, src_oprt, output);
  }));
  return *this;
}

Operator& Operator::SetInput(const char_t* dst_name, const Operator& src_oprt, const char_t* name) {
  static_cast<void>(Answer(kSetInput, [&]() -> Status {
    size_t place = 0;
    size_t output = 0;
    MP_RETURN_IF_ERROR(InputPlace(*this, dst_name, &place));
    MP_RETURN_IF_ERROR(OutputPlace(src_oprt, name, &output));
    return Link(*this, place, src_oprt, output);
  }));
  return *this;
}

Operator& Operator::SetInput(const char_t* dst_name, const Operator& src_oprt, uint32_t index) {
  static_cast<void>(Answer(kSetInput, [&]() -> Status {
    size_t place = 0;
    MP_RETURN_IF_ERROR(InputPlace(*this, dst_name, &place));
    MP_RETURN_IF_ERROR(RequireOperator(src_oprt));
    return Link(*this, place, src_oprt, index);
  }));
  return *this;
}

Operator& Operator::SetInput(uint32_t dst_index, const Operator& src_oprt, uint32_t src_index) {
  static_cast<void>(Answer(kSetInput, [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    MP_RETURN_IF_ERROR(RequireOperator(src_oprt));
    return Link(*this, dst_index, src_oprt, src_index);
  }));
  return *this;
}

Operator& Operator::SetInput(const char_t* dst_name, uint32_t dst_index, const Operator& src_oprt) {
  if (dst_name == nullptr) return SetInput(dst_name, src_oprt);
  static_cast<void>(Answer(kSetInput, [&]() -> Status {
    SetInput(DynamicName(dst_name, dst_index).c_str(), src_oprt);
    return Ok();
  }));
  return *this;
}

Operator& Operator::SetInput(const char_t* dst_name, uint32_t dst_index, const Operator& src_oprt, const char_t* name) {
  if (dst_name == nullptr) return SetInput(dst_name, src_oprt, name);
  static_cast<void>(Answer(kSetInput, [&]() -> Status {
    SetInput(DynamicName(dst_name, dst_index).c_str(), src_oprt, name);
    return Ok();
  }));
  return *this;
}

Operator& Operator::AddControlInput(const Operator& src_oprt) {
  static_cast<void>(Answer("ge::Operator::AddControlInput", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    MP_RETURN_IF_ERROR(RequireOperator(src_oprt));
    const ir::NodePtr source = NodeOf(src_oprt);
    const ir::NodePtr node = NodeOf(*this);
    MP_REQUIRE(source != node, "operator \"%s\" (%s) cannot wait for itself", node->name.c_str(), node->type.c_str());
    node->AddControl(source);
    Island::Join(operator_impl_->island, src_oprt.operator_impl_->island);
    return Ok();
  }));
  return *this;
}

void Operator::BreakConnect() const {
  static_cast<void>(Answer("ge::Operator::BreakConnect", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    const ir::NodePtr node = NodeOf(*this);
    for (size_t place = 0; place < node->inputs.size(); ++place) node->Disconnect(place);
    while (!node->controls.empty()) node->RemoveControl(node->controls.back().get());
    for (const ir::NodePtr& user : node->Users()) {
      for (size_t place = 0; place < user->inputs.size(); ++place) {
        if (user->inputs[place].source == node) user->Disconnect(place);
      }
      user->RemoveControl(node.get());
    }
    return Ok();
  }));
}

}  // namespace ge

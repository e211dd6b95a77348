// SPDX-License-Identifier: Apache-2.0
// ge::Operator: the descriptions of its operands.
#include "include/graph/operator.h"
#include "src/api/graph/operator_impl.h"

namespace millpond::api {

void Update(ir::TensorDesc* desc, const ge::TensorDesc& from) {
  ir::TensorDesc changed = DescOf(from);
  changed.name = std::move(desc->name);
  if (!changed.attributes) changed.attributes = std::move(desc->attributes);
  *desc = std::move(changed);
}

Status OperandOf(const ge::Operator& op, Side side, int64_t index, ir::TensorDesc** out) {
  MP_RETURN_IF_ERROR(RequireOperator(op));
  const auto node = NodeOf(op);
  const size_t count = side == Side::kInput ? node->inputs.size() : node->outputs.size();
  MP_REQUIRE(index >= 0 && static_cast<size_t>(index) < count,
             "operator \"%s\" (%s): %s %lld was asked for, but it has %zu", node->name.c_str(), node->type.c_str(),
             side == Side::kInput ? "input" : "output", static_cast<long long>(index), count);
  const auto place = static_cast<size_t>(index);
  *out = side == Side::kInput ? &node->inputs[place].desc : &node->outputs[place];
  return Ok();
}

Status OperandOf(const ge::Operator& op, Side side, const char* name, ir::TensorDesc** out) {
  size_t place = 0;
  MP_RETURN_IF_ERROR(side == Side::kInput ? InputPlace(op, name, &place) : OutputPlace(op, name, &place));
  return OperandOf(op, side, static_cast<int64_t>(place), out);
}

}  // namespace millpond::api

namespace ge {

namespace {

// What is not there reads as the default description, and leaves a message.
template <class Operand>
TensorDesc Read(const char* api, const Operator& op, Side side, Operand operand) {
  TensorDesc read;
  static_cast<void>(Answer(api, [&]() -> Status {
    ir::TensorDesc* desc = nullptr;
    MP_RETURN_IF_ERROR(OperandOf(op, side, operand, &desc));
    read = Wrap(*desc);
    return Ok();
  }));
  return read;
}

template <class Operand>
graphStatus Write(const char* api, const Operator& op, Side side, Operand operand, const TensorDesc& from) {
  return Answer(api, [&]() -> Status {
    ir::TensorDesc* desc = nullptr;
    MP_RETURN_IF_ERROR(OperandOf(op, side, operand, &desc));
    Update(desc, from);
    return Ok();
  });
}

int32_t Count(const char* api, const Operator& op, const char_t* name, const char* side) {
  int32_t count = 0;
  static_cast<void>(Answer(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(op));
    MP_REQUIRE(name != nullptr, "the operand's name is null");
    const auto node = NodeOf(op);
    const ir::Attr* told = node->FindAttr(std::string("__dynamic_") + side + "_" + name + "_cnt");
    if (told != nullptr && told->As<int64_t>() != nullptr) {
      count = static_cast<int32_t>(*told->As<int64_t>());
      return Ok();
    }
    const bool inputs = side[0] == 'i';
    while ((inputs ? node->FindInput(DynamicName(name, static_cast<uint32_t>(count)))
                   : node->FindOutput(DynamicName(name, static_cast<uint32_t>(count)))) >= 0) {
      ++count;
    }
    return Ok();
  }));
  return count;
}

// One tensor of a dynamic operand. A null name is told by the function that it is passed on to.
template <class Result, class Body>
Result OneOf(const char* api, const char_t* name, uint32_t index, Result otherwise, Body&& body) {
  return Value<Result>(api, std::move(otherwise), [&]() -> Result {
    return name == nullptr ? body(nullptr) : body(DynamicName(name, index).c_str());
  });
}

}  // namespace

size_t Operator::GetInputsSize() const { return IsEmpty() ? 0 : operator_impl_->node->inputs.size(); }
size_t Operator::GetOutputsSize() const { return IsEmpty() ? 0 : operator_impl_->node->outputs.size(); }

TensorDesc Operator::GetInputDesc(uint32_t index) const {
  return Read("ge::Operator::GetInputDesc", *this, Side::kInput, int64_t{index});
}

TensorDesc Operator::GetInputDescByName(const char_t* name) const {
  return Read("ge::Operator::GetInputDescByName", *this, Side::kInput, name);
}

graphStatus Operator::TryGetInputDesc(const char_t* name, TensorDesc& tensor_desc) const {
  // A question, not a mistake: it leaves no message.
  if (IsEmpty() || name == nullptr) return GRAPH_FAILED;
  return Value<graphStatus>("ge::Operator::TryGetInputDesc", GRAPH_FAILED, [&]() -> graphStatus {
    const int place = operator_impl_->node->FindInput(name);
    if (place < 0) return GRAPH_FAILED;
    const auto& desc = operator_impl_->node->inputs[static_cast<size_t>(place)].desc;
    if (desc.format == FORMAT_RESERVED && desc.dtype == millpond::DType::kUndefined) return GRAPH_FAILED;
    tensor_desc = Wrap(desc);
    return GRAPH_SUCCESS;
  });
}

graphStatus Operator::UpdateInputDesc(const uint32_t index, const TensorDesc& tensor_desc) {
  return Write("ge::Operator::UpdateInputDesc", *this, Side::kInput, int64_t{index}, tensor_desc);
}

graphStatus Operator::UpdateInputDesc(const char_t* name, const TensorDesc& tensor_desc) {
  return Write("ge::Operator::UpdateInputDesc", *this, Side::kInput, name, tensor_desc);
}

TensorDesc Operator::GetOutputDesc(uint32_t index) const {
  return Read("ge::Operator::GetOutputDesc", *this, Side::kOutput, int64_t{index});
}

TensorDesc Operator::GetOutputDescByName(const char_t* name) const {
  return Read("ge::Operator::GetOutputDescByName", *this, Side::kOutput, name);
}

graphStatus Operator::UpdateOutputDesc(const uint32_t index, const TensorDesc& tensor_desc) {
  return Write("ge::Operator::UpdateOutputDesc", *this, Side::kOutput, int64_t{index}, tensor_desc);
}

graphStatus Operator::UpdateOutputDesc(const char_t* name, const TensorDesc& tensor_desc) {
  return Write("ge::Operator::UpdateOutputDesc", *this, Side::kOutput, name, tensor_desc);
}

int32_t Operator::GetDynamicInputNum(const char_t* name) const {
  return Count("ge::Operator::GetDynamicInputNum", *this, name, "input");
}
int32_t Operator::GetDynamicOutputNum(const char_t* name) const {
  return Count("ge::Operator::GetDynamicOutputNum", *this, name, "output");
}

TensorDesc Operator::GetDynamicInputDesc(const char_t* name, uint32_t index) const {
  return OneOf("ge::Operator::GetDynamicInputDesc", name, index, TensorDesc(),
               [&](const char_t* instance) { return GetInputDescByName(instance); });
}
TensorDesc Operator::GetDynamicOutputDesc(const char_t* name, uint32_t index) const {
  return OneOf("ge::Operator::GetDynamicOutputDesc", name, index, TensorDesc(),
               [&](const char_t* instance) { return GetOutputDescByName(instance); });
}
graphStatus Operator::UpdateDynamicInputDesc(const char_t* name, uint32_t index, const TensorDesc& tensor_desc) {
  return OneOf("ge::Operator::UpdateDynamicInputDesc", name, index, GRAPH_FAILED,
               [&](const char_t* instance) { return UpdateInputDesc(instance, tensor_desc); });
}
graphStatus Operator::UpdateDynamicOutputDesc(const char_t* name, uint32_t index, const TensorDesc& tensor_desc) {
  return OneOf("ge::Operator::UpdateDynamicOutputDesc", name, index, GRAPH_FAILED,
               [&](const char_t* instance) { return UpdateOutputDesc(instance, tensor_desc); });
}

graphStatus Operator::GetInputConstData(const char_t* dst_name, Tensor& data) const {
  return Answer("ge::Operator::GetInputConstData", [&]() -> Status {
    size_t place = 0;
    MP_RETURN_IF_ERROR(InputPlace(*this, dst_name, &place));
    const ir::TensorPtr constant = ConstantOf(*operator_impl_->node, place);
    MP_REQUIRE(constant != nullptr, "operator \"%s\" (%s): input \"%s\" is not a constant",
               operator_impl_->node->name.c_str(), operator_impl_->node->type.c_str(), dst_name);
    data = Wrap(*constant);
    return Ok();
  });
}

}  // namespace ge

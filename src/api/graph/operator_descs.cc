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

}  // namespace millpond::api

namespace ge {

using millpond::Ok;
using millpond::Status;
using millpond::api::Answer;
using millpond::api::DynamicName;
using millpond::api::InputPlace;
using millpond::api::NodeOf;
using millpond::api::OutputPlace;
using millpond::api::RequireOperator;
using millpond::api::Value;

namespace {

// What is not there reads as the default description, and leaves a message.
TensorDesc Read(const char* api, const Operator& op, const std::function<Status(millpond::ir::TensorDesc*)>& find) {
  TensorDesc desc;
  static_cast<void>(Answer(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(op));
    millpond::ir::TensorDesc found;
    MP_RETURN_IF_ERROR(find(&found));
    desc = millpond::api::Wrap(std::move(found));
    return Ok();
  }));
  return desc;
}

Status NoSuchPlace(const Operator& op, const char* side, size_t place, size_t count) {
  const auto node = NodeOf(op);
  return millpond::InvalidArgument(millpond::Format("operator \"%s\" (%s): %s %zu was asked for, but it has %zu",
                                                    node->name.c_str(), node->type.c_str(), side, place, count));
}

int32_t Count(const char* api, const Operator& op, const char_t* name, const char* side) {
  int32_t count = 0;
  static_cast<void>(Answer(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(op));
    MP_REQUIRE(name != nullptr, "the operand's name is null");
    const auto node = NodeOf(op);
    const millpond::ir::Attr* told = node->FindAttr(std::string("__dynamic_") + side + "_" + name + "_cnt");
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
  return Read("ge::Operator::GetInputDesc", *this, [&](millpond::ir::TensorDesc* out) -> Status {
    const auto& inputs = operator_impl_->node->inputs;
    if (index >= inputs.size()) return NoSuchPlace(*this, "input", index, inputs.size());
    *out = inputs[index].desc;
    return Ok();
  });
}

TensorDesc Operator::GetInputDescByName(const char_t* name) const {
  return Read("ge::Operator::GetInputDescByName", *this, [&](millpond::ir::TensorDesc* out) -> Status {
    size_t place = 0;
    MP_RETURN_IF_ERROR(InputPlace(*this, name, &place));
    *out = operator_impl_->node->inputs[place].desc;
    return Ok();
  });
}

graphStatus Operator::TryGetInputDesc(const char_t* name, TensorDesc& tensor_desc) const {
  // A question, not a mistake: it leaves no message.
  if (IsEmpty() || name == nullptr) return GRAPH_FAILED;
  return Value<graphStatus>("ge::Operator::TryGetInputDesc", GRAPH_FAILED, [&]() -> graphStatus {
    const int place = operator_impl_->node->FindInput(name);
    if (place < 0) return GRAPH_FAILED;
    const auto& desc = operator_impl_->node->inputs[static_cast<size_t>(place)].desc;
    if (desc.format == FORMAT_RESERVED && desc.dtype == millpond::DType::kUndefined) return GRAPH_FAILED;
    tensor_desc = millpond::api::Wrap(desc);
    return GRAPH_SUCCESS;
  });
}

graphStatus Operator::UpdateInputDesc(const uint32_t index, const TensorDesc& tensor_desc) {
  return Answer("ge::Operator::UpdateInputDesc", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    auto& inputs = operator_impl_->node->inputs;
    if (index >= inputs.size()) return NoSuchPlace(*this, "input", index, inputs.size());
    millpond::api::Update(&inputs[index].desc, tensor_desc);
    return Ok();
  });
}

graphStatus Operator::UpdateInputDesc(const char_t* name, const TensorDesc& tensor_desc) {
  return Answer("ge::Operator::UpdateInputDesc", [&]() -> Status {
    size_t place = 0;
    MP_RETURN_IF_ERROR(InputPlace(*this, name, &place));
    millpond::api::Update(&operator_impl_->node->inputs[place].desc, tensor_desc);
    return Ok();
  });
}

TensorDesc Operator::GetOutputDesc(uint32_t index) const {
  return Read("ge::Operator::GetOutputDesc", *this, [&](millpond::ir::TensorDesc* out) -> Status {
    const auto& outputs = operator_impl_->node->outputs;
    if (index >= outputs.size()) return NoSuchPlace(*this, "output", index, outputs.size());
    *out = outputs[index];
    return Ok();
  });
}

TensorDesc Operator::GetOutputDescByName(const char_t* name) const {
  return Read("ge::Operator::GetOutputDescByName", *this, [&](millpond::ir::TensorDesc* out) -> Status {
    size_t place = 0;
    MP_RETURN_IF_ERROR(OutputPlace(*this, name, &place));
    *out = operator_impl_->node->outputs[place];
    return Ok();
  });
}

graphStatus Operator::UpdateOutputDesc(const uint32_t index, const TensorDesc& tensor_desc) {
  return Answer("ge::Operator::UpdateOutputDesc", [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(*this));
    auto& outputs = operator_impl_->node->outputs;
    if (index >= outputs.size()) return NoSuchPlace(*this, "output", index, outputs.size());
    millpond::api::Update(&outputs[index], tensor_desc);
    return Ok();
  });
}

graphStatus Operator::UpdateOutputDesc(const char_t* name, const TensorDesc& tensor_desc) {
  return Answer("ge::Operator::UpdateOutputDesc", [&]() -> Status {
    size_t place = 0;
    MP_RETURN_IF_ERROR(OutputPlace(*this, name, &place));
    millpond::api::Update(&operator_impl_->node->outputs[place], tensor_desc);
    return Ok();
  });
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
    const millpond::ir::TensorPtr constant = millpond::api::ConstantOf(*operator_impl_->node, place);
    MP_REQUIRE(constant != nullptr, "operator \"%s\" (%s): input \"%s\" is not a constant",
               operator_impl_->node->name.c_str(), operator_impl_->node->type.c_str(), dst_name);
    data = millpond::api::Wrap(*constant);
    return Ok();
  });
}

}  // namespace ge

// SPDX-License-Identifier: Apache-2.0
// ge::Operator: attributes of one of its operands, by place or by name.
#include "include/graph/operator.h"
#include "src/api/graph/operator_attr.h"

namespace ge {

using millpond::Ok;
using millpond::Status;
using millpond::api::Answer;
using millpond::api::InputPlace;
using millpond::api::NodeOf;
using millpond::api::OutputPlace;
using millpond::api::RequireOperator;

namespace {

enum class Side { kInput, kOutput };

Status Find(const Operator& op, Side side, int32_t index, millpond::ir::TensorDesc** out) {
  MP_RETURN_IF_ERROR(RequireOperator(op));
  const auto node = NodeOf(op);
  const size_t count = side == Side::kInput ? node->inputs.size() : node->outputs.size();
  MP_REQUIRE(index >= 0 && static_cast<size_t>(index) < count,
             "operator \"%s\" (%s): %s %d was asked for, but it has %zu", node->name.c_str(), node->type.c_str(),
             side == Side::kInput ? "input" : "output", index, count);
  const auto place = static_cast<size_t>(index);
  *out = side == Side::kInput ? &node->inputs[place].desc : &node->outputs[place];
  return Ok();
}

Status Find(const Operator& op, Side side, const char_t* operand, millpond::ir::TensorDesc** out) {
  size_t place = 0;
  MP_RETURN_IF_ERROR(side == Side::kInput ? InputPlace(op, operand, &place) : OutputPlace(op, operand, &place));
  return Find(op, side, static_cast<int32_t>(place), out);
}

template <class Operand, class T>
void Set(const Operator& op, Side side, Operand operand, const char_t* name, const T& value) {
  const char* api = side == Side::kInput ? "ge::Operator::SetInputAttr" : "ge::Operator::SetOutputAttr";
  static_cast<void>(Answer(api, [&]() -> Status {
    millpond::ir::TensorDesc* desc = nullptr;
    MP_RETURN_IF_ERROR(Find(op, side, operand, &desc));
    MP_REQUIRE(name != nullptr, "the attribute's name is null");
    millpond::ir::Attr attr;
    MP_RETURN_IF_ERROR(millpond::api::MakeAttr(value, &attr));
    millpond::api::SetOperandAttr(desc, name, std::move(attr));
    return Ok();
  }));
}

template <class Operand, class T>
graphStatus Get(const Operator& op, Side side, Operand operand, const char_t* name, T* value) {
  const char* api = side == Side::kInput ? "ge::Operator::GetInputAttr" : "ge::Operator::GetOutputAttr";
  millpond::ir::TensorDesc* desc = nullptr;
  const graphStatus found = Answer(api, [&] { return Find(op, side, operand, &desc); });
  if (found != GRAPH_SUCCESS) return found;
  return millpond::api::GetFrom(api, desc->attributes.get(), name, value);
}

}  // namespace

#define MP_SET_ONE(operand_type, function, side, type)                                      \
  Operator& Operator::function(operand_type operand, const char_t* name, type attr_value) { \
    Set(*this, side, operand, name, attr_value);                                            \
    return *this;                                                                           \
  }
#define MP_SET(type)                                            \
  MP_SET_ONE(const int32_t, SetInputAttr, Side::kInput, type)   \
  MP_SET_ONE(const int32_t, SetOutputAttr, Side::kOutput, type) \
  MP_SET_ONE(const char_t*, SetInputAttr, Side::kInput, type)   \
  MP_SET_ONE(const char_t*, SetOutputAttr, Side::kOutput, type)
#define MP_GET_ONE(operand_type, function, side, type)                                               \
  graphStatus Operator::function(operand_type operand, const char_t* name, type& attr_value) const { \
    return Get(*this, side, operand, name, &attr_value);                                             \
  }
#define MP_GET(type)                                            \
  MP_GET_ONE(const int32_t, GetInputAttr, Side::kInput, type)   \
  MP_GET_ONE(const int32_t, GetOutputAttr, Side::kOutput, type) \
  MP_GET_ONE(const char_t*, GetInputAttr, Side::kInput, type)   \
  MP_GET_ONE(const char_t*, GetOutputAttr, Side::kOutput, type)
#define MP_VALUE(type) MP_SET(type) MP_GET(type)
#define MP_OBJECT(type) MP_SET(const type&) MP_GET(type)

MP_SET(const char_t*)
MP_VALUE(int64_t)
MP_VALUE(int32_t)
MP_VALUE(uint32_t)
MP_VALUE(float32_t)
MP_VALUE(bool)
MP_OBJECT(AscendString)
MP_OBJECT(std::vector<int64_t>)
MP_OBJECT(std::vector<int32_t>)
MP_OBJECT(std::vector<uint32_t>)
MP_OBJECT(std::vector<float32_t>)
MP_OBJECT(std::vector<bool>)
MP_OBJECT(std::vector<AscendString>)

}  // namespace ge

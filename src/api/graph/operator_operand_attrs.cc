// SPDX-License-Identifier: Apache-2.0
// ge::Operator: attributes of one of its operands, by place or by name.
#include "include/graph/operator.h"
#include "src/api/graph/operator_attr.h"

namespace ge {

namespace {

template <class Operand, class T>
void Set(const Operator& op, Side side, Operand operand, const char_t* name, const T& value) {
  const char* api = side == Side::kInput ? "ge::Operator::SetInputAttr" : "ge::Operator::SetOutputAttr";
  static_cast<void>(Answer(api, [&]() -> Status {
    ir::TensorDesc* desc = nullptr;
    MP_RETURN_IF_ERROR(OperandOf(op, side, operand, &desc));
    MP_REQUIRE(name != nullptr, "the attribute's name is null");
    ir::Attr attr;
    MP_RETURN_IF_ERROR(MakeAttr(value, &attr));
    SetOperandAttr(desc, name, std::move(attr));
    return Ok();
  }));
}

template <class Operand, class T>
graphStatus Get(const Operator& op, Side side, Operand operand, const char_t* name, T* value) {
  const char* api = side == Side::kInput ? "ge::Operator::GetInputAttr" : "ge::Operator::GetOutputAttr";
  ir::TensorDesc* desc = nullptr;
  const graphStatus found = Answer(api, [&] { return OperandOf(op, side, operand, &desc); });
  if (found != GRAPH_SUCCESS) return found;
  return GetFrom(api, desc->attributes.get(), name, value);
}

}  // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): in parentheses a type is no type
#define MP_SET_ONE(function, side, operand_type, operand, type)                             \
  Operator& Operator::function(operand_type operand, const char_t* name, type attr_value) { \
    Set(*this, side, operand, name, attr_value);                                            \
    return *this;                                                                           \
  }
#define MP_SET(type)                                                    \
  MP_SET_ONE(SetInputAttr, Side::kInput, const int32_t, index, type)    \
  MP_SET_ONE(SetOutputAttr, Side::kOutput, const int32_t, index, type)  \
  MP_SET_ONE(SetInputAttr, Side::kInput, const char_t*, dst_name, type) \
  MP_SET_ONE(SetOutputAttr, Side::kOutput, const char_t*, dst_name, type)
#define MP_GET_ONE(function, side, operand_type, operand, type)                                      \
  graphStatus Operator::function(operand_type operand, const char_t* name, type& attr_value) const { \
    return Get(*this, side, operand, name, &attr_value);                                             \
  }
// NOLINTEND(bugprone-macro-parentheses)
#define MP_GET(type)                                                    \
  MP_GET_ONE(GetInputAttr, Side::kInput, const int32_t, index, type)    \
  MP_GET_ONE(GetOutputAttr, Side::kOutput, const int32_t, index, type)  \
  MP_GET_ONE(GetInputAttr, Side::kInput, const char_t*, dst_name, type) \
  MP_GET_ONE(GetOutputAttr, Side::kOutput, const char_t*, dst_name, type)
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

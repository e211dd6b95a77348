// SPDX-License-Identifier: Apache-2.0
// ge::Operator: what REG_OP calls, in the order of the definition.
#include "include/graph/operator.h"
#include "src/api/graph/operator_impl.h"

namespace ge {

namespace {

template <class Body>
void Register(const char* api, const Operator& op, const char_t* name, Body&& body) {
  static_cast<void>(Answer(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(RequireOperator(op));
    MP_REQUIRE(name != nullptr && *name != '\0', "the name is %s", name == nullptr ? "null" : "empty");
    return body(*BuildAccess::Impl(op));
  }));
}

void Input(const Operator& op, const char_t* name, GePresence presence, const char_t* types) {
  Register("ge::Operator::InputRegister", op, name, [&](OperatorImpl& impl) {
    DeclareInput(impl, name, presence, types == nullptr ? "" : types);
    return Ok();
  });
}

void Output(const Operator& op, const char_t* name, GePresence presence, const char_t* types) {
  Register("ge::Operator::OutputRegister", op, name, [&](OperatorImpl& impl) {
    DeclareOutput(impl, name, presence, types == nullptr ? "" : types);
    return Ok();
  });
}

void Symbol(const Operator& op, const char_t* symbol, std::vector<millpond::DType> types) {
  Register("ge::Operator::DataTypeRegister", op, symbol, [&](OperatorImpl& impl) {
    impl.extra->symbols[symbol] = std::move(types);
    return Ok();
  });
}

}  // namespace

void Operator::InputRegister(const char_t* name) { Input(*this, name, GePresence::kRequired, nullptr); }
void Operator::InputRegister(const char_t* name, const char_t* datatype_symbol) {
  Input(*this, name, GePresence::kRequired, datatype_symbol);
}
void Operator::OptionalInputRegister(const char_t* name) { Input(*this, name, GePresence::kOptional, nullptr); }
void Operator::OptionalInputRegister(const char_t* name, const char_t* datatype_symbol) {
  Input(*this, name, GePresence::kOptional, datatype_symbol);
}
void Operator::OutputRegister(const char_t* name) { Output(*this, name, GePresence::kRequired, nullptr); }
void Operator::OutputRegister(const char_t* name, const char_t* datatype_symbol) {
  Output(*this, name, GePresence::kRequired, datatype_symbol);
}

void Operator::DynamicInputRegister(const char_t* name, const uint32_t num, bool is_push_back) {
  DynamicInputRegister(name, num, nullptr, is_push_back);
}

void Operator::DynamicInputRegister(const char_t* name, const uint32_t num, const char_t* datatype_symbol,
                                    bool is_push_back) {
  Register("ge::Operator::DynamicInputRegister", *this, name, [&](OperatorImpl& impl) {
    DeclareInput(impl, name, GePresence::kDynamic, datatype_symbol == nullptr ? "" : datatype_symbol);
    return CountInputs(impl, name, num, is_push_back ? kByDefinition : 0);
  });
}

void Operator::DynamicInputRegisterByIndex(const char_t* name, const uint32_t num, size_t index) {
  Register("ge::Operator::DynamicInputRegisterByIndex", *this, name, [&](OperatorImpl& impl) -> Status {
    MP_REQUIRE(index != kByDefinition, "the place %zu is out of range", index);
    return CountInputs(impl, name, num, index);
  });
}

void Operator::DynamicOutputRegister(const char_t* name, const uint32_t num, bool is_push_back) {
  DynamicOutputRegister(name, num, nullptr, is_push_back);
}

void Operator::DynamicOutputRegister(const char_t* name, const uint32_t num, const char_t* datatype_symbol,
                                     bool is_push_back) {
  Register("ge::Operator::DynamicOutputRegister", *this, name, [&](OperatorImpl& impl) {
    DeclareOutput(impl, name, GePresence::kDynamic, datatype_symbol == nullptr ? "" : datatype_symbol);
    return CountOutputs(impl, name, num, is_push_back ? kByDefinition : 0);
  });
}

void Operator::RequiredAttrRegister(const char_t* name) { RequiredAttrWithTypeRegister(name, ""); }

void Operator::RequiredAttrWithTypeRegister(const char_t* name, const char_t* type) {
  Register("ge::Operator::RequiredAttrWithTypeRegister", *this, name, [&](OperatorImpl& impl) {
    DeclareAttr(impl, name, type == nullptr ? "" : type, true);
    return Ok();
  });
}

void Operator::DataTypeRegister(const char_t* datatype_symbol, const TensorType& type_range) {
  static_cast<void>(Answer("ge::Operator::DataTypeRegister", [&] {
    Symbol(*this, datatype_symbol, TypesOf(type_range));
    return Ok();
  }));
}
// Rules, not lists: nothing here depends on them.
void Operator::DataTypeRegister(const char_t* datatype_symbol, const ListTensorType&) {
  Symbol(*this, datatype_symbol, {});
}
void Operator::DataTypeRegister(const char_t* datatype_symbol, const Promote&) { Symbol(*this, datatype_symbol, {}); }

void Operator::InferFuncRegister(const std::function<graphStatus(Operator&)>& func) {
  Register("ge::Operator::InferFuncRegister", *this, "func", [&](OperatorImpl& impl) {
    impl.extra->infer = func;
    return Ok();
  });
}

void Operator::VerifierFuncRegister(const std::function<graphStatus(Operator&)>& func) {
  Register("ge::Operator::VerifierFuncRegister", *this, "func", [&](OperatorImpl& impl) {
    impl.extra->verify = func;
    return Ok();
  });
}

// Formats are not chosen here: data stays in the format it comes in, and there is nothing to call the function for.
void Operator::InferFormatFuncRegister(const std::function<graphStatus(Operator&)>&) {}

}  // namespace ge

// SPDX-License-Identifier: Apache-2.0
#include "include/graph/operator_factory.h"

#include <set>

#include "src/api/graph/build.h"
#include "src/api/graph/operator_impl.h"
#include "src/api/graph/registry.h"
#include "src/ops/ge_ops.h"

namespace millpond::api {

void PreferBuiltInOperators() { Registry::Instance().PreferBuiltIn(); }

}  // namespace millpond::api

namespace ge {

Operator OperatorFactory::CreateOperator(const char_t* const operator_name, const char_t* const operator_type) {
  Operator op;
  static_cast<void>(Answer("ge::OperatorFactory::CreateOperator", [&]() -> Status {
    MP_REQUIRE(operator_name != nullptr && operator_type != nullptr, "the operator's %s is null",
               operator_name == nullptr ? "name" : "type");
    const GeOp* built_in = FindGeDefinition(operator_type);
    const Registry& registry = Registry::Instance();
    const OpCreatorV2 creator =
        built_in != nullptr && registry.prefers_built_in() ? OpCreatorV2() : registry.Creator(operator_type);
    if (creator != nullptr) {
      op = creator(AscendString(operator_name));
      return Ok();
    }
    MP_REQUIRE(built_in != nullptr,
               "operator \"%s\": nobody has defined the type \"%s\"; see OperatorFactory::GetOpsTypeList, or define it "
               "with REG_OP",
               operator_name, operator_type);
    op = BuildAccess::Make(MakeOperator(operator_name, *built_in));
    return Ok();
  }));
  return op;
}

graphStatus OperatorFactory::GetOpsTypeList(std::vector<AscendString>& all_ops) {
  return Answer("ge::OperatorFactory::GetOpsTypeList", [&]() -> Status {
    std::set<std::string, std::less<>> types;
    for (const GeOp& op : GeDefinitions()) types.emplace(op.type);
    for (std::string& type : Registry::Instance().Types()) types.insert(std::move(type));
    all_ops.clear();
    all_ops.reserve(types.size());
    for (const std::string& type : types) all_ops.push_back(Wrap(std::string_view(type)));
    return Ok();
  });
}

bool OperatorFactory::IsExistOp(const char_t* const operator_type) {
  if (operator_type == nullptr) return false;
  return FindGeDefinition(operator_type) != nullptr || Registry::Instance().Creator(operator_type) != nullptr;
}

OperatorCreatorRegister::OperatorCreatorRegister(const char_t* const operator_type, OpCreatorV2 const& op_creator) {
  Registry::Instance().AddCreator(operator_type, op_creator);
}

InferShapeFuncRegister::InferShapeFuncRegister(const char_t* const operator_type,
                                               const InferShapeFunc& infer_shape_func) {
  Registry::Instance().AddInfer(operator_type, infer_shape_func);
}

VerifyFuncRegister::VerifyFuncRegister(const char_t* const operator_type, const VerifyFunc& verify_func) {
  Registry::Instance().AddVerify(operator_type, verify_func);
}

// Formats are kept as they come and ranges of values are not followed: no caller would ask for these functions. They
// are taken, so that definitions written for CANN load, and documented as unused.
InferFormatFuncRegister::InferFormatFuncRegister(const char_t* const, const InferFormatFunc&) {}
InferValueRangeFuncRegister::InferValueRangeFuncRegister(const char_t* const, const WHEN_CALL,
                                                         const InferValueRangeFunc&) {}
InferValueRangeFuncRegister::InferValueRangeFuncRegister(const char_t* const) {}

}  // namespace ge

// SPDX-License-Identifier: Apache-2.0
// Definitions of operators for clients that look the functions up by name.
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "include/ge/ge_api_v2.h"
#include "src/api/ge/shared/entry.h"
#include "src/api/graph/access.h"
#include "src/ops/ge_ops.h"

namespace millpond::geapi {

namespace {

using Pairs = std::vector<std::pair<::ge::AscendString, ::ge::AscendString>>;

const char* PresenceName(GePresence presence) {
  switch (presence) {
    case GePresence::kRequired:
      return "required";
    case GePresence::kOptional:
      return "optional";
    case GePresence::kDynamic:
      return "dynamic";
  }
  return "";
}

// As the graph engine's own attributes call their types; torchair's table is by these.
const char* TypeName(GeAttrType type) {
  switch (type) {
    case GeAttrType::kInt:
      return "VT_INT";
    case GeAttrType::kFloat:
      return "VT_FLOAT";
    case GeAttrType::kString:
      return "VT_STRING";
    case GeAttrType::kBool:
      return "VT_BOOL";
    case GeAttrType::kType:
      return "VT_DATA_TYPE";
    case GeAttrType::kTensor:
      return "VT_TENSOR";
    case GeAttrType::kBytes:
      return "VT_BYTES";
    case GeAttrType::kNamedAttrs:
      return "VT_NAMED_ATTRS";
    case GeAttrType::kListInt:
      return "VT_LIST_INT";
    case GeAttrType::kListFloat:
      return "VT_LIST_FLOAT";
    case GeAttrType::kListString:
      return "VT_LIST_STRING";
    case GeAttrType::kListBool:
      return "VT_LIST_BOOL";
    case GeAttrType::kListType:
      return "VT_LIST_DATA_TYPE";
    case GeAttrType::kListTensor:
      return "VT_LIST_TENSOR";
    case GeAttrType::kListNamedAttrs:
      return "VT_LIST_NAMED_ATTRS";
    case GeAttrType::kListListInt:
      return "VT_LIST_LIST_INT";
  }
  return "";
}

void Add(std::string_view name, const char* kind, Pairs* out) {
  out->emplace_back(api::Wrap(name), ::ge::AscendString(kind));
}

}  // namespace

}  // namespace millpond::geapi

using namespace millpond;         // NOLINT: entry points only below
using namespace millpond::geapi;  // NOLINT

extern "C" ge::Status GetRegisteredIrDef(const char* op_type,
                                         std::vector<std::pair<ge::AscendString, ge::AscendString>>& inputs,
                                         std::vector<std::pair<ge::AscendString, ge::AscendString>>& outputs,
                                         std::vector<std::pair<ge::AscendString, ge::AscendString>>& attrs) {
  return Enter("GetRegisteredIrDef", Numbers::kFailed, [&]() -> millpond::Status {
    MP_REQUIRE(op_type != nullptr, "the operator's type is null");
    const GeOp* const found = FindGeDefinition(op_type);
    MP_REQUIRE(found != nullptr, "there is no operator of type %s", op_type);
    for (const GeOperand& operand : found->inputs) Add(operand.name, PresenceName(operand.presence), &inputs);
    for (const GeOperand& operand : found->outputs) Add(operand.name, PresenceName(operand.presence), &outputs);
    for (const GeAttribute& attribute : found->attributes) Add(attribute.name, TypeName(attribute.type), &attrs);
    return Ok();
  });
}

extern "C" bool IsIrRepSupport(const char* rep) { return rep != nullptr && std::strcmp(rep, INFERENCE_RULE) == 0; }

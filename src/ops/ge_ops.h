// SPDX-License-Identifier: Apache-2.0
// What a graph node of each GE type takes and gives, in the order of its definition (src/ops/table/ge_ir.tsv). Order is
// a contract: kernels and inference find operands and attributes by place.
#ifndef MILLPOND_SRC_OPS_GE_OPS_H_
#define MILLPOND_SRC_OPS_GE_OPS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "src/base/dtype.h"

namespace millpond {

enum class GePresence : uint8_t {
  kRequired,
  kOptional,  // an absent one keeps its place
  kDynamic,   // any number: name0, name1, ...
};

struct GeOperand {
  std::string_view name;
  GePresence presence = GePresence::kRequired;
  uint64_t types = 0;  // one bit for each DType number that is allowed; 0: any

  bool Allows(DType type) const {
    const int number = static_cast<int>(type);
    return types == 0 || (number >= 0 && number < 64 && ((types >> number) & 1) != 0);
  }
};

enum class GeAttrType : uint8_t {
  kInt,
  kFloat,
  kString,
  kBool,
  kType,
  kTensor,
  kBytes,
  kNamedAttrs,
  kListInt,
  kListFloat,
  kListString,
  kListBool,
  kListType,
  kListTensor,
  kListNamedAttrs,
  kListListInt,
};

// As a definition spells it: "Int", "ListType".
const char* GeAttrTypeName(GeAttrType type);

struct GeAttribute {
  std::string_view name;
  GeAttrType type = GeAttrType::kInt;
  bool required = false;
  // As the definition writes it ("{1, 1}", "\"NHWC\"", "DT_INT32"); ir::DefaultOf reads it. Empty: an attribute that
  // need not be given and has no default.
  std::string_view default_text;
};

struct GeSubgraph {
  std::string_view name;
  bool dynamic = false;  // name0, name1, ...
};

struct GeOp {
  std::string_view type;
  std::span<const GeOperand> inputs;
  std::span<const GeOperand> outputs;  // one named as an input is that input, changed in place
  std::span<const GeAttribute> attributes;
  std::span<const GeSubgraph> subgraphs;

  // Null when it has none of that name.
  const GeOperand* FindInput(std::string_view operand) const;
  const GeOperand* FindOutput(std::string_view operand) const;
  const GeAttribute* FindAttribute(std::string_view attribute) const;
};

// Sorted by type.
std::span<const GeOp> GeDefinitions();
// Null when there is no such type. (How a type becomes a kernel's call: FindGeOp of row.h; not every type has one.)
const GeOp* FindGeDefinition(std::string_view type);

}  // namespace millpond

#endif  // MILLPOND_SRC_OPS_GE_OPS_H_

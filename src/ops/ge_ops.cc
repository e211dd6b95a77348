// SPDX-License-Identifier: Apache-2.0
// The definitions are 2,488 and most programs need none: they lie packed and without pointers (no relocation at load),
// and are laid out as structs when the first is asked for.
#include "src/ops/ge_ops.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace millpond {
namespace {

// A string is its place in kText and its length in the low 8 bits.
struct PackedOperand {
  uint32_t name;
  GePresence presence;
  uint16_t types;  // place in kTypes
};
struct PackedAttribute {
  uint32_t name;
  uint32_t default_text;
  GeAttrType type;
  bool required;
};
struct PackedSubgraph {
  uint32_t name;
  bool dynamic;
};
// Its operands, attributes and subgraphs follow those of the operator before.
struct PackedOp {
  uint32_t type;
  uint8_t inputs;
  uint8_t outputs;
  uint8_t attributes;
  uint8_t subgraphs;
};

#include "ge_ops.inc"  // kText, kTypes, kOperands, kAttributes, kSubgraphs, kOps sorted by type

std::string_view Text(uint32_t packed) { return {kText + (packed >> 8), packed & 0xff}; }

class Table {
 public:
  Table() {
    std::transform(std::begin(kOperands), std::end(kOperands), operands_.get(), [](const PackedOperand& from) {
      return GeOperand{Text(from.name), from.presence, kTypes[from.types]};
    });
    std::transform(std::begin(kAttributes), std::end(kAttributes), attributes_.get(), [](const PackedAttribute& from) {
      return GeAttribute{Text(from.name), from.type, from.required, Text(from.default_text)};
    });
    std::transform(std::begin(kSubgraphs), std::end(kSubgraphs), subgraphs_.get(), [](const PackedSubgraph& from) {
      return GeSubgraph{Text(from.name), from.dynamic};
    });
    const GeOperand* operand = operands_.get();
    const GeAttribute* attribute = attributes_.get();
    const GeSubgraph* subgraph = subgraphs_.get();
    GeOp* op = ops_.get();
    for (const PackedOp& from : kOps) {
      *op++ = {Text(from.type),
               {operand, from.inputs},
               {operand + from.inputs, from.outputs},
               {attribute, from.attributes},
               {subgraph, from.subgraphs}};
      operand += from.inputs + from.outputs;
      attribute += from.attributes;
      subgraph += from.subgraphs;
    }
  }

  std::span<const GeOp> ops() const { return {ops_.get(), std::size(kOps)}; }

 private:
  std::unique_ptr<GeOperand[]> operands_ = std::make_unique<GeOperand[]>(std::size(kOperands));
  std::unique_ptr<GeAttribute[]> attributes_ = std::make_unique<GeAttribute[]>(std::size(kAttributes));
  std::unique_ptr<GeSubgraph[]> subgraphs_ = std::make_unique<GeSubgraph[]>(std::size(kSubgraphs));
  std::unique_ptr<GeOp[]> ops_ = std::make_unique<GeOp[]>(std::size(kOps));
};

template <class T>
const T* FindNamed(std::span<const T> among, std::string_view name) {
  for (const T& one : among) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace

std::span<const GeOp> GeDefinitions() {
  static const Table* table = new Table;  // never freed: clients' static objects may ask at exit
  return table->ops();
}

const GeOp* FindGeDefinition(std::string_view type) {
  const std::span<const GeOp> ops = GeDefinitions();
  const auto found = std::lower_bound(ops.begin(), ops.end(), type,
                                      [](const GeOp& have, std::string_view wanted) { return have.type < wanted; });
  return found != ops.end() && found->type == type ? &*found : nullptr;
}

const GeOperand* GeOp::FindInput(std::string_view operand) const { return FindNamed(inputs, operand); }
const GeOperand* GeOp::FindOutput(std::string_view operand) const { return FindNamed(outputs, operand); }
const GeAttribute* GeOp::FindAttribute(std::string_view attribute) const { return FindNamed(attributes, attribute); }

const char* GeAttrTypeName(GeAttrType type) {
  static constexpr const char* kNames[] = {
      "Int",     "Float",     "String",     "Bool",     "Type",     "Tensor",     "Bytes",          "NamedAttrs",
      "ListInt", "ListFloat", "ListString", "ListBool", "ListType", "ListTensor", "ListNamedAttrs", "ListListInt"};
  const auto number = static_cast<size_t>(type);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

}  // namespace millpond

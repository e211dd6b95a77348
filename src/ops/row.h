// SPDX-License-Identifier: Apache-2.0
// One row per operator, for every door: aclnn, the GE graph operator and the acl single operator. The rows are text
// (src/ops/table/*.ops, read by tools/gen_ops.py); a row knows its arguments, how the shapes of its outputs follow from
// them, how a GE operator's inputs and attributes become those arguments, and which kernel runs with which of them.
// Several rows may share a kernel: versions of an operator, its in-place form, the GE operator of the same math. The
// kernels themselves are in src/kernels, which the core finds by name.
#ifndef MILLPOND_SRC_OPS_ROW_H_
#define MILLPOND_SRC_OPS_ROW_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "src/base/status.h"
#include "src/base/tensor_view.h"

namespace millpond {

class OpCall;

enum class ArgKind : uint8_t {
  kTensor,
  kTensorList,
  kScalar,
  kScalarList,
  kInts,
  kFloats,
  kBools,
  kInt,  // every integer width
  kBool,
  kDouble,  // float too
  kDType,
  kString,
};

enum class ArgFlow : uint8_t { kIn, kOut, kInOut };

struct ArgSpec {
  const char* name;
  ArgKind kind;
  ArgFlow flow;
  bool optional;
  uint8_t classes = 0;  // the TypeClasses that a tensor may be of; 0: any
  // Of kInOut: written in place, what was there is not read.
  bool overwritten = false;
  // Written only in part, which part other arguments decide; the rest of the tensor keeps its contents.
  bool partial = false;
  // Of a kernel's tensor parameter: a row may give a scalar for it.
  bool or_scalar = false;
  // The place in OpTypeSets() of the types that CANN's page lists for the tensor; 0: it lists none.
  uint16_t type_set = 0;
};

// The product series that CANN's pages tell apart.
enum class ProductSeries : uint8_t { k950, kA3, kA2, k310B, k310P, k910 };
inline constexpr size_t kProductSeries = 6;

// The types that a tensor may have on each series, a bit for each DType.
struct TypeSet {
  uint64_t types[kProductSeries];
  bool Has(DType type, ProductSeries series) const {
    return type != DType::kUndefined && (types[static_cast<size_t>(series)] >> static_cast<int>(type) & 1) != 0;
  }
};

struct Shape {
  uint8_t rank = 0;
  int64_t dims[TensorView::kMaxRank];
  std::span<const int64_t> span() const { return {dims, rank}; }
};

// What a rule may look at.
struct InferArgs {
  const OpCall& call;
  std::span<const uint8_t> from;  // places of the arguments between the rule's parentheses
  size_t member = 0;              // which one, where the output is a list
};

// The shape or the type of one output.
using InferFn = Status (*)(const InferArgs& args, Shape* out);
using InferTypeFn = Status (*)(const InferArgs& args, DType* out);

struct ShapeRule {
  uint8_t output;  // place of the output in the row's arguments
  InferFn infer;
  std::span<const uint8_t> from;
};

struct TypeRule {
  uint8_t output;
  DType type;  // always this one; kUndefined: ask infer
  InferTypeFn infer;
  std::span<const uint8_t> from;
};

// How one argument of the row is made at another door: from that door's input, output or attribute `name` ("@y": the
// type of operand y), or, when the name is empty, from the constant.
struct DoorArg {
  const char* name;
  const char* constant;  // a number, true, false, or "none"; the default of an absent attribute when name is set
  // "none:0 mean:1": the number that each of a text attribute's values stands for; empty: the value as it is.
  const char* choices = "";
};

// One of the door's own operands, in the door's order.
struct DoorOperand {
  std::string_view name;
  bool optional;
  bool dynamic;  // any number of tensors
};

struct DoorBinding {
  const char* type;               // the door's own operator name
  std::span<const DoorArg> args;  // one for each of the row's arguments
  std::span<const DoorOperand> inputs;
  std::span<const DoorOperand> outputs;
  // Attributes that the row has no use for, with their defaults: another value is refused.
  std::span<const DoorArg> unused;
};

// A value that the table gives to a kernel's parameter, or compares an argument with.
struct KernelConstant {
  DType dtype =
      DType::kUndefined;  // kUndefined: absent; else kInt64, kBool, kDouble or kString says which field counts
  int64_t integer = 0;
  double real = 0;
  const char* text = "";
};

// An argument that the row's kernel does not take and that would change the result: refused unless it has this value.
struct Refusal {
  uint8_t place;
  KernelConstant allowed;  // absent: refused whenever it is given
  const char* reason;
};

// Which kernel a row runs and what its parameters are given.
struct KernelBinding {
  static constexpr uint8_t kConstant = 0x80;

  uint16_t kernel;        // place in OpKernels()
  const uint8_t* places;  // for each parameter the place of the row's argument, or kConstant + the place in `constants`
  std::span<const KernelConstant> constants;
  std::span<const Refusal> refusals;
};

// A kernel as the table has it: by the name that src/kernels registers it under, with its parameters.
struct KernelSpec {
  const char* name;
  std::span<const ArgSpec> parameters;
};

struct OpRow {
  uint16_t id;
  const char* name;  // the aclnn symbol when aclnn is set
  bool aclnn;
  // The shape of an output is known only when the kernel has run: the launch waits for it and reports it.
  bool waits;
  std::span<const ArgSpec> args;
  std::span<const ShapeRule> shapes;  // checked by every door
  // Used only where an output is not given but asked for (graphs): rules of outputs without a `shape` line, and types.
  std::span<const ShapeRule> infers;
  std::span<const TypeRule> types;
  std::span<const DoorBinding> ge;
  KernelBinding kernel;
};

std::span<const OpRow> OpRows();
std::span<const TypeSet> OpTypeSets();
// Sorted by name.
std::span<const KernelSpec> OpKernels();
// Null when there is no such row.
const OpRow* FindOp(std::string_view name);
// By a GE operator's type.
const OpRow* FindGeOp(std::string_view type, const DoorBinding** out_binding);

}  // namespace millpond

#endif  // MILLPOND_SRC_OPS_ROW_H_

// SPDX-License-Identifier: Apache-2.0
// Puts GE nodes into a graph, one expression each. Every node is checked and its outputs inferred immediately, so that
// operator translations can query the type and, as far as known, the shape of earlier values; what depends only on
// constants is folded.
//
// The first failure sticks: from then on nothing is built, values are empty, and status() returns it.
#ifndef MILLPOND_SRC_GRAPH_ONNX_BUILDER_H_
#define MILLPOND_SRC_GRAPH_ONNX_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/graph/ir/budget.h"
#include "src/graph/ir/graph.h"
#include "src/graph/passes/environment.h"

namespace millpond::onnx {

using Val = ir::Endpoint;  // without a node: absent
using Vals = std::vector<Val>;
using Ints = std::vector<int64_t>;
inline bool Given(const Val& value) { return value.node != nullptr; }

// An attribute of a GE node.
struct At {
  At(const char* key, int64_t value) : name(key), attr{value} {}
  At(const char* key, int value) : name(key), attr{int64_t{value}} {}
  At(const char* key, bool value) : name(key), attr{value} {}
  At(const char* key, double value) : name(key), attr{static_cast<float>(value)} {}
  At(const char* key, const char* value) : name(key), attr{std::string(value)} {}
  At(const char* key, std::string value) : name(key), attr{std::move(value)} {}
  At(const char* key, Ints value) : name(key), attr{std::move(value)} {}
  At(const char* key, std::vector<float> value) : name(key), attr{std::move(value)} {}
  At(const char* key, std::vector<std::string> value) : name(key), attr{std::move(value)} {}
  At(const char* key, DType value) : name(key), attr{value} {}
  const char* name;
  ir::Attr attr;
};

// An operand: one value, none, or the members of a dynamic one.
struct Arg {
  Arg(Val value) : members{std::move(value)} {}                 // NOLINT: brace lists of operands read as calls
  Arg(Vals values) : members(std::move(values)), list(true) {}  // NOLINT
  Vals members;
  bool list = false;
};

// What all builders of one model share.
struct Making {
  const passes::PassEnvironment* environment =
      nullptr;  // its `run` computes a node on the host; empty: nothing is folded
  ir::Budget budget = ir::Budget::ForModel(0);
  size_t names = 0;  // made by counting: one series for all graphs, so that no number is tried twice
};

class Builder {
 public:
  Builder(ir::Graph* graph, Making* making) : graph_(graph), making_(making) {}

  bool ok() const { return status_.ok(); }
  Status TakeStatus() { return std::move(status_); }
  void Fail(Status status);
  ir::Graph* graph() const { return graph_; }
  // Later nodes get this name, or this with a number.
  void SetName(std::string name) { name_ = std::move(name); }

  Val Op(const char* type, const std::vector<Arg>& inputs, const std::vector<At>& attributes = {});
  // All outputs; `count`: members of a dynamic one.
  Vals Ops(const char* type, const std::vector<Arg>& inputs, const std::vector<At>& attributes = {}, size_t count = 1);
  // Elementwise operators, whose result has the operands' type: a type that the definition lacks is computed exactly
  // in a wider one and narrowed again.
  Val Wide(const char* type, const std::vector<Arg>& inputs, const std::vector<At>& attributes = {});
  // A node that runs subgraphs; they are in the root graph already.
  Vals Flow(const char* type, const std::vector<Arg>& inputs, std::vector<ir::SubgraphRef> subgraphs, size_t outputs);
  Val Data(const std::string& name, int64_t index, const ir::TensorDesc& like);

  Val Const(const ir::TensorPtr& tensor);
  Val ConstInts(const Ints& values);                  // int64, one dimension
  Val ConstReals(const std::vector<double>& values);  // double, one dimension
  Val ConstInts32(const Ints& values);                // int32, one dimension
  Val ConstInt(int64_t value);                        // int64, no dimension
  Val ConstInt32(int64_t value);                      // int32, no dimension
  Val Scalar(DType type, double value);               // no dimension
  Val ScalarLike(const Val& like, double value) { return Scalar(TypeOf(like), value); }
  Val Filled(DType type, double value, const Ints& dims);

  DType TypeOf(const Val& value) const;
  // A single -2 when nothing is known.
  const ir::Dims& DimsOf(const Val& value) const;
  bool HasRank(const Val& value) const { return ok() && ir::IsKnownRank(DimsOf(value)); }
  bool IsStatic(const Val& value) const { return ok() && Given(value) && ir::IsStatic(DimsOf(value)); }
  int64_t RankOf(const Val& value) const;  // -1 when not known
  ir::TensorPtr ConstantOf(const Val& value) const;
  std::optional<Ints> IntsOf(const Val& value) const;                  // of a constant of integers
  std::optional<std::vector<double>> RealsOf(const Val& value) const;  // of a constant of numbers

  Val Cast(const Val& value, DType type);
  Val Reshape(const Val& value, const Ints& dims);
  Val Unsqueeze(const Val& value, const Ints& axes);
  Val Squeeze(const Val& value, const Ints& axes);
  Val Transpose(const Val& value, const Ints& perm);
  Val Concat(const Vals& values, int64_t axis);
  // The shape as an int64 tensor; a constant when known.
  Val ShapeOf(const Val& value);
  Val Add(const Val& a, const Val& b) { return Wide("Add", {a, b}); }
  Val Sub(const Val& a, const Val& b) { return Wide("Sub", {a, b}); }
  Val Mul(const Val& a, const Val& b) { return Wide("Mul", {a, b}); }
  Val Div(const Val& a, const Val& b) { return Wide("RealDiv", {a, b}); }
  Val Where(const Val& condition, const Val& a, const Val& b) { return Op("SelectV2", {condition, a, b}); }
  // Reduce..., over known axes.
  Val Reduce(const char* type, const Val& value, const Ints& axes, bool keep);
  // [begin, end) of one axis.
  Val Slice(const Val& value, int64_t axis, int64_t begin, int64_t end);

 private:
  std::string FreshName(std::string_view type);
  Status Make(const char* type, const std::vector<Arg>& inputs, const std::vector<At>& attributes, size_t count,
              Vals* out);
  Status Fold(const ir::Node& node, Vals* out, bool* out_folded);

  Val NewConst(DType type, const Ints& dims, const void* data, size_t size);
  // Pays for a node before the graph has it.
  Status Pay(const ir::Node& node);
  Status Add(const ir::NodePtr& node);

  ir::Graph* graph_;
  Making* making_;
  std::string name_ = "node";
  Status status_;
};

}  // namespace millpond::onnx

#endif  // MILLPOND_SRC_GRAPH_ONNX_BUILDER_H_

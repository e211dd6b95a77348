// SPDX-License-Identifier: Apache-2.0
// One ONNX node during translation: its inputs and attributes, and its results.
//
// Nothing is silently ignored: an attribute or input that the translation did not read, or an output that it did not
// set, refuses the node by name.
#ifndef MILLPOND_SRC_GRAPH_ONNX_CONTEXT_H_
#define MILLPOND_SRC_GRAPH_ONNX_CONTEXT_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/io/onnx_model.h"
#include "src/graph/onnx/builder.h"

namespace millpond::onnx {

class Scope;

// An attribute under the name that the node gives it: in a function it may be its caller's, which has another.
struct NamedAttribute {
  std::string_view name;
  const Attribute* attribute;
};

class Context {
 public:
  Context(Scope* scope, Builder* builder, const Node& node, std::vector<NamedAttribute> attributes, Vals inputs,
          int64_t opset)
      : b(*builder),
        opset(opset),
        scope_(scope),
        node_(node),
        attributes_(std::move(attributes)),
        inputs_(std::move(inputs)),
        outputs_(node.outputs.size()) {}

  Builder& b;
  const int64_t opset;  // of the node's domain

  const std::string& type() const { return node_.type; }
  size_t inputs() const { return inputs_.size(); }
  size_t outputs() const { return outputs_.size(); }

  // Inputs. In fails when the input is absent.
  bool Has(size_t place) const { return place < inputs_.size() && Given(inputs_[place]); }
  Val In(size_t place);
  Val Maybe(size_t place);  // empty when absent
  Vals AllFrom(size_t place);

  // Attributes, with a default for absent ones.
  bool HasAttr(std::string_view name) const { return Peek(name) != nullptr; }
  int64_t Int(std::string_view name, int64_t otherwise);
  double Real(std::string_view name, double otherwise);
  std::string Text(std::string_view name, const char* otherwise);
  Ints List(std::string_view name, const Ints& otherwise = {});
  std::vector<float> Reals(std::string_view name);
  std::vector<std::string> Texts(std::string_view name);
  ir::TensorPtr Tensor(std::string_view name);
  const Graph* Subgraph(std::string_view name);
  // Has no effect on the result.
  void Ignore(std::string_view name) { used_.emplace(name); }
  void IgnoreInput(size_t place) { asked_.insert(place); }

  bool Wants(size_t place) const { return place < node_.outputs.size() && !node_.outputs[place].empty(); }
  void Out(size_t place, const Val& value);
  void Out(const Val& value) { Out(0, value); }

  // This node is not supported, for this reason (printf).
  [[gnu::format(printf, 2, 3)]] void Refuse(const char* format, ...);

  // Shared by several operators. Integers that are an attribute in older opsets and an input in newer ones; empty when
  // absent; refuses inputs that are not constant.
  std::optional<Ints> KnownInts(std::string_view attribute, size_t place);
  // The rank, or -1 after refusing.
  int64_t KnownRank(const Val& value);
  // The axis as a non-negative index; refuses one out of range.
  int64_t Axis(int64_t axis, int64_t rank);

  Scope* scope() const { return scope_; }
  const Node& node() const { return node_; }

  // After the translation.
  Status Finish(Vals* out_outputs);

 private:
  const Attribute* Peek(std::string_view name) const;
  const Attribute* Find(std::string_view name, AttrKind kind, const char* kind_name);

  Scope* scope_;
  const Node& node_;
  std::vector<NamedAttribute> attributes_;  // function references resolved
  Vals inputs_;
  Vals outputs_;
  std::set<std::string, std::less<>> used_;
  std::set<size_t> asked_;
};

using Handler = void (*)(Context& c);

// Null when the operator is unknown. The tables are in ops_*.cc.
Handler FindHandler(std::string_view domain, std::string_view type);

struct HandlerEntry {
  std::string_view type;  // prefixed with domain and "::" unless it is ONNX's own
  Handler handler;
};
// A row whose handler has its operator's name.
#define MP_ONNX(Name) /* NOLINTNEXTLINE(bugprone-macro-parentheses): a name */ \
  { #Name, &Name }
// One list per ops_*.cc.
std::span<const HandlerEntry> ElementwiseHandlers();
std::span<const HandlerEntry> ArrangeHandlers();
std::span<const HandlerEntry> IndexHandlers();
std::span<const HandlerEntry> ReduceHandlers();
std::span<const HandlerEntry> WindowHandlers();
std::span<const HandlerEntry> NormHandlers();
std::span<const HandlerEntry> AttentionHandlers();
std::span<const HandlerEntry> QuantHandlers();
std::span<const HandlerEntry> OwnHandlers();
std::span<const HandlerEntry> MoreHandlers();
std::span<const HandlerEntry> LearnedHandlers();
std::span<const HandlerEntry> TreeHandlers();
std::span<const HandlerEntry> KernelHandlers();
std::span<const HandlerEntry> FlowHandlers();

// Elementwise operators that map to one GE operator with the same operands; null for other types.
const char* SameInGe(std::string_view type);

}  // namespace millpond::onnx

#endif  // MILLPOND_SRC_GRAPH_ONNX_CONTEXT_H_

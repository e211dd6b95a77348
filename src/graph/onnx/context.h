// SPDX-License-Identifier: Apache-2.0
// One ONNX node while it is translated: what it is given, and what was made of it.
//
// Nothing is passed over in silence: an attribute or input that the translation did not ask for, and an output that it
// did not make, refuse the node by name.
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

class Context {
 public:
  Context(Scope* scope, Builder* builder, const Node& node, std::vector<const Attribute*> attributes, Vals inputs,
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

  // Attributes, with what stands for an absent one.
  bool HasAttr(std::string_view name) const { return Peek(name) != nullptr; }
  int64_t Int(std::string_view name, int64_t otherwise);
  double Real(std::string_view name, double otherwise);
  std::string Text(std::string_view name, const char* otherwise);
  Ints List(std::string_view name, Ints otherwise = {});
  std::vector<float> Reals(std::string_view name);
  std::vector<std::string> Texts(std::string_view name);
  ir::TensorPtr Tensor(std::string_view name);
  const Graph* Subgraph(std::string_view name);
  // Says nothing about the result.
  void Ignore(std::string_view name) { used_.emplace(name); }
  void IgnoreInput(size_t place) { asked_.insert(place); }

  bool Wants(size_t place) const { return place < node_.outputs.size() && !node_.outputs[place].empty(); }
  void Out(size_t place, const Val& value);
  void Out(const Val& value) { Out(0, value); }

  // This node cannot be done, for this reason (printf).
  [[gnu::format(printf, 2, 3)]] void Refuse(const char* format, ...);

  // What several operators ask. Numbers that an older version has as an attribute and a newer one as an input; nothing
  // when neither is there; refuses numbers that are not constants.
  std::optional<Ints> KnownInts(std::string_view attribute, size_t place);
  // The rank, or -1 after refusing.
  int64_t KnownRank(const Val& value);
  // The axis counted from the front; refuses one outside.
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
  std::vector<const Attribute*> attributes_;  // references of functions resolved
  Vals inputs_;
  Vals outputs_;
  std::set<std::string, std::less<>> used_;
  std::set<size_t> asked_;
};

using Handler = void (*)(Context& c);

// Null when the operator is not known. The tables are in ops_*.cc.
Handler FindHandler(std::string_view domain, std::string_view type);

struct HandlerEntry {
  std::string_view type;  // with its domain and "::" in front when that is not ONNX's own
  Handler handler;
};
// One list for each ops_*.cc.
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
std::span<const HandlerEntry> FlowHandlers();

// Elementwise operators with one GE operator of the same operands; null when the type is none of them.
const char* SameInGe(std::string_view type);

}  // namespace millpond::onnx

#endif  // MILLPOND_SRC_GRAPH_ONNX_CONTEXT_H_

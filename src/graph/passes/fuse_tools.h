// SPDX-License-Identifier: Apache-2.0
// Shared by the fusing passes: matching in a graph, and replacing several nodes by one.
#ifndef MILLPOND_SRC_GRAPH_PASSES_FUSE_TOOLS_H_
#define MILLPOND_SRC_GRAPH_PASSES_FUSE_TOOLS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/passes/kinds.h"
#include "src/graph/passes/rewrite.h"

namespace millpond::passes {

// One graph while a pass walks it. Replaced nodes stay among its nodes until Finish; Gone identifies them.
class Fuser {
 public:
  explicit Fuser(ir::Graph* graph);
  ir::Graph* graph() const { return graph_; }

  // The value at an input; no node when it is absent or there is no such input.
  static ir::Endpoint At(const ir::Node& node, size_t place);
  static ir::Endpoint At(const ir::Endpoint& value, size_t place) {
    return value.node != nullptr ? At(*value.node, place) : ir::Endpoint{};
  }
  static bool Is(const ir::Endpoint& value, std::string_view type) {
    return value.node != nullptr && value.index == 0 && value.node->type == type;
  }
  static const ir::TensorDesc& DescOf(const ir::Endpoint& value) {
    return value.node->outputs[static_cast<size_t>(value.index)];
  }
  static bool IsFloat(const ir::Endpoint& value) {
    return value.node != nullptr && DescOf(value).dtype == DType::kFloat;
  }
  // Rank; -1 when unknown.
  static int RankOf(const ir::Endpoint& value);
  // The constant there, if it has this type; else null.
  static ir::TensorPtr ConstOf(const ir::Endpoint& value, DType dtype);
  // The value of a float32 constant with one element.
  static std::optional<float> NumberOf(const ir::Endpoint& value);
  static bool IsNumber(const ir::Endpoint& value, double wanted);
  // Integers of an attribute or of a constant; empty when there are none.
  static std::vector<int64_t> IntsAttr(const ir::Node& node, std::string_view name);
  static std::vector<int64_t> IntsOf(const ir::Endpoint& value);
  // The permutation of a transpose. Empty when the node is not a transpose, or its permutation is not known.
  static std::vector<int64_t> PermOf(const ir::Node& node);
  static int64_t IntAttr(const ir::Node& node, std::string_view name, int64_t otherwise);
  static bool BoolAttr(const ir::Node& node, std::string_view name, bool otherwise);
  static float FloatAttr(const ir::Node& node, std::string_view name, float otherwise);
  static std::string_view TextAttr(const ir::Node& node, std::string_view name, std::string_view otherwise);

  // Both operands of a commutative node: true when one of them is `value`; *out_other is then the other.
  static bool Pairs(const ir::Node& node, const ir::Endpoint& value, ir::Endpoint* out_other);
  // True when one of the operands is a constant scalar; *out_rest is then the other.
  static bool HasNumber(const ir::Node& node, float* out_number, ir::Endpoint* out_rest);

  // The one node that reads the value, once; null when several do, the graph returns it, or its node must not
  // move there.
  ir::NodePtr SoleReader(const ir::Endpoint& value) const;
  // Only its values matter: nothing is ordered by the node. Required for removing it.
  bool IsPlain(const ir::Node& node) const;
  // It is changed in place: reading it later may give another value.
  bool IsMutable(const ir::Endpoint& value) const { return mutable_.Contains(value.node.get(), value.index); }
  // Plain, and safe to run later: nothing changes what it reads.
  bool MayMove(const ir::Node& node) const;
  bool Returns(const ir::Endpoint& value) const { return returned_.Has(value); }

  struct Operand {
    const char* name;
    ir::Endpoint value;  // without a node: absent
  };
  // Adds a node with one output "y" described like `like`, named after `after`.
  Status NewNode(const char* type, const ir::Node& after, std::span<const Operand> inputs, const ir::TensorDesc& like,
                 ir::Attributes attributes, ir::NodePtr* out);
  // A constant; `data` is copied.
  Status NewConst(const ir::Node& after, DType dtype, ir::Dims dims, const void* data, ir::NodePtr* out);
  Status NewConst(const ir::Node& after, const ir::TensorPtr& tensor, ir::NodePtr* out);
  // Users of `old` read `value` instead; `old`'s node is removed if it has no users left.
  Status Replace(const ir::Endpoint& old, const ir::Endpoint& value);
  // The same, for a node that replaces several: its attributes kOriginNames and kOriginTypes list the removed ones.
  Status Fuse(const ir::Endpoint& old, const ir::NodePtr& made);
  bool Gone(const ir::NodePtr& node) const { return node->graph() != graph_; }
  // Removes the node, and what fed only it. `out_gone` (may be null) receives them, users before sources.
  void Drop(const ir::NodePtr& node, std::vector<ir::NodePtr>* out_gone = nullptr);
  bool changed() const { return changed_; }
  void Finish() { graph_->Sweep(); }

 private:
  ir::Graph* graph_;
  const MutableOutputs mutable_;
  // Others wait for these, from before the fusing: fusing makes no new ones, and does not remove these.
  std::unordered_set<const ir::Node*> waited_for_;
  std::unordered_set<const ir::Node*> targets_;
  Returned returned_;
  bool changed_ = false;
};

// A pass that walks a graph's nodes in their order.
class FusingPass {
 public:
  explicit FusingPass(ir::Graph* graph) : fuser_(graph) {}
  virtual ~FusingPass() = default;
  FusingPass(const FusingPass&) = delete;
  FusingPass& operator=(const FusingPass&) = delete;

  Status Run(bool* out_changed);

 protected:
  // Visits each node that is not gone when its turn comes.
  virtual Status Walk(const std::vector<ir::NodePtr>& order);
  virtual Status Visit(const ir::NodePtr&) { return Ok(); }

  Fuser fuser_;
};

inline bool SameValue(const ir::Endpoint& a, const ir::Endpoint& b) { return a.node == b.node && a.index == b.index; }

template <class T>
ir::Attr AttrOf(T value) {
  ir::Attr attr;
  attr.value = std::move(value);
  return attr;
}

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_FUSE_TOOLS_H_

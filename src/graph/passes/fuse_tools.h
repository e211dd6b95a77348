// SPDX-License-Identifier: Apache-2.0
// What the fusing passes share: looking around in a graph, and putting a node in the place of several.
#ifndef MILLPOND_SRC_GRAPH_PASSES_FUSE_TOOLS_H_
#define MILLPOND_SRC_GRAPH_PASSES_FUSE_TOOLS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/passes/kinds.h"

namespace millpond::passes {

// One graph while a pass walks it. Nodes that were replaced stay until Finish, so that a walk over a list made before
// goes on; Gone tells them.
class Fuser {
 public:
  explicit Fuser(ir::Graph* graph) : graph_(graph), mutable_(*graph) {}
  ir::Graph* graph() const { return graph_; }

  // The value that arrives at a place; no node when it is absent or there is no such place.
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
  // Rank; -1 when it is not known.
  static int RankOf(const ir::Endpoint& value);
  // The constant that is there, of a type; null when it is none.
  static ir::TensorPtr ConstOf(const ir::Endpoint& value, DType dtype);
  // The one number of a constant of float32.
  static std::optional<float> NumberOf(const ir::Endpoint& value);
  static bool IsNumber(const ir::Endpoint& value, double wanted);
  // Whole numbers of an attribute or of a constant; empty when there are none.
  static std::vector<int64_t> IntsAttr(const ir::Node& node, std::string_view name);
  static std::vector<int64_t> IntsOf(const ir::Endpoint& value);
  // The order of a transpose, each dimension once, counted from 0. Empty when the node is none, or its order is not
  // known.
  static std::vector<int64_t> PermOf(const ir::Node& node);
  static int64_t IntAttr(const ir::Node& node, std::string_view name, int64_t otherwise);
  static bool BoolAttr(const ir::Node& node, std::string_view name, bool otherwise);
  static float FloatAttr(const ir::Node& node, std::string_view name, float otherwise);
  static std::string_view TextAttr(const ir::Node& node, std::string_view name, std::string_view otherwise);

  // Both operands of a commutative node: true when one of them is `value`; *out_other is then the other.
  static bool Pairs(const ir::Node& node, const ir::Endpoint& value, ir::Endpoint* out_other);
  // True when one of the operands is a constant number; *out_rest is then the other.
  static bool HasNumber(const ir::Node& node, float* out_number, ir::Endpoint* out_rest);

  // The one node that reads the value, once; null when several do, the graph returns it, or its node may not move
  // there.
  ir::NodePtr SoleReader(const ir::Endpoint& value) const;
  // Nothing but its values matters: no order hangs on the node. The condition for taking it out.
  static bool IsPlain(const ir::Node& node);
  // Somebody changes it in place: reading it later may give another value.
  bool IsMutable(const ir::Endpoint& value) const { return mutable_.Contains(value.node.get(), value.index); }
  // Plain, and it may as well run later: nobody changes what it reads.
  bool MayMove(const ir::Node& node) const;
  bool Returns(const ir::Endpoint& value) const;

  struct Operand {
    const char* name;
    ir::Endpoint value;  // without a node: absent
  };
  // A node in the graph, with one output "y" described as `like` (another one's description), named after `after`.
  Status NewNode(const char* type, const ir::Node& after, std::span<const Operand> inputs, const ir::TensorDesc& like,
                 ir::Attributes attributes, ir::NodePtr* out);
  // A constant; `data` is copied.
  Status NewConst(const ir::Node& after, DType dtype, ir::Dims dims, const void* data, ir::NodePtr* out);
  Status NewConst(const ir::Node& after, const ir::TensorPtr& tensor, ir::NodePtr* out);
  // Whoever reads `old` reads `value` instead; `old`'s node goes if nobody reads it any more.
  Status Replace(const ir::Endpoint& old, const ir::Endpoint& value);
  // The same, for a node that does the work of several: those that went are told in its attributes kOriginNames and
  // kOriginTypes.
  Status Fuse(const ir::Endpoint& old, const ir::NodePtr& made);
  bool Gone(const ir::NodePtr& node) const { return node->graph() != graph_; }
  // Takes the node out, and what fed it alone. `out_gone`, which may be null, gets them, users before sources.
  void Drop(const ir::NodePtr& node, std::vector<ir::NodePtr>* out_gone = nullptr);
  bool changed() const { return changed_; }

 private:
  ir::Graph* graph_;
  const MutableOutputs mutable_;
  bool changed_ = false;
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

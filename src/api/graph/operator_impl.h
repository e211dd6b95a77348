// SPDX-License-Identifier: Apache-2.0
// What ge::Operator points to. Private to src/api/graph; others use build.h.
#ifndef MILLPOND_SRC_API_GRAPH_OPERATOR_IMPL_H_
#define MILLPOND_SRC_API_GRAPH_OPERATOR_IMPL_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "include/graph/graph_buffer.h"
#include "src/api/graph/build.h"
#include "src/api/graph/impl.h"
#include "src/ops/ge_ops.h"

namespace millpond::api {

struct OperandDeclaration {
  std::string name;
  GePresence presence = GePresence::kRequired;
  std::string types;  // as the definition writes them, or the symbol that stands for them
};

struct AttrDeclaration {
  std::string name;
  std::string type;  // the definition's word, "ListInt"; empty: told by the default
  bool required = false;
};

// What an operator has that its node has not: the definition it was made from, and what a client hung on it.
struct OperatorExtra {
  std::vector<OperandDeclaration> inputs;
  std::vector<OperandDeclaration> outputs;
  std::vector<AttrDeclaration> attributes;
  std::vector<std::pair<std::string, bool>> subgraphs;  // name, dynamic
  std::map<std::string, ge::SubgraphBuilder> builders;  // by instance: "then_branch", "branches0"
  std::map<std::string, std::vector<DType>> symbols;    // what they may be; empty: a rule, not a list
  ge::InferenceContextPtr context;
  std::function<ge::graphStatus(ge::Operator&)> infer;
  std::function<ge::graphStatus(ge::Operator&)> verify;
};

// Operators that are linked, directly or through others. A client may let go of all but one of them and still build the
// graph, so each keeps all the others; and since links may go round in a circle, it is here that they end when no
// handle is left.
class Island : public std::enable_shared_from_this<Island> {
 public:
  ~Island();
  void Add(const ir::NodePtr& node, std::shared_ptr<OperatorExtra> extra);
  // Null when the node is not in it.
  std::shared_ptr<OperatorExtra> Find(const ir::Node* node);
  static void Join(const std::shared_ptr<Island>& one, const std::shared_ptr<Island>& other);

 private:
  struct Member {
    ir::NodePtr node;
    std::shared_ptr<OperatorExtra> extra;
  };
  static std::shared_ptr<Island> Root(std::shared_ptr<Island> island);
  std::unordered_map<const ir::Node*, Member> members_;
  std::shared_ptr<Island> into_;  // where the members went
};

struct BuildAccess {
  static const ge::OperatorImplPtr& Impl(const ge::Operator& op) { return op.operator_impl_; }
  static ge::Operator Make(ge::OperatorImplPtr impl) { return ge::Operator(std::move(impl)); }
  static const ge::GraphImplPtr& Impl(const ge::Graph& graph) { return graph.impl_; }
  static ge::GraphImplPtr& Impl(ge::Graph& graph) { return graph.impl_; }
  static const std::shared_ptr<ge::NodeImpl>& Impl(const ge::GNode& node) { return node.impl_; }
  static const auto& Impl(const ge::InferenceContext& context) { return context.inner_inference_context_; }
  static ge::BufferPtr& Impl(ge::GraphBuffer& buffer) { return buffer.buffer_; }
  static const ge::BufferPtr& Impl(const ge::GraphBuffer& buffer) { return buffer.buffer_; }
};

// An operator of this name and type, with nothing declared.
ge::OperatorImplPtr MakeOperator(std::string name, std::string type);
// With all that the definition declares.
ge::OperatorImplPtr MakeOperator(std::string name, const GeOp& definition);

// Declarations, in the order of the definition. One that is there already stays.
void DeclareInput(ge::OperatorImpl& op, std::string_view name, GePresence presence, std::string_view types);
void DeclareOutput(ge::OperatorImpl& op, std::string_view name, GePresence presence, std::string_view types);
void DeclareAttr(ge::OperatorImpl& op, std::string_view name, std::string_view type, bool required);
void DeclareSubgraph(ge::OperatorImpl& op, std::string_view name, bool dynamic);
// So many instances of it.
Status CountSubgraph(ge::OperatorImpl& op, std::string_view name, uint32_t count);

// The tensors of a dynamic operand: there are `count` afterwards. Where the definition puts them, or at a place.
inline constexpr size_t kByDefinition = SIZE_MAX;
Status CountInputs(ge::OperatorImpl& op, std::string_view name, uint32_t count, size_t place);
Status CountOutputs(ge::OperatorImpl& op, std::string_view name, uint32_t count, size_t place);
std::string DynamicName(std::string_view name, uint32_t index);

// Checks for entry points.
Status RequireOperator(const ge::Operator& op);
Status InputPlace(const ge::Operator& op, const char* name, size_t* out_place);
Status OutputPlace(const ge::Operator& op, const char* name, size_t* out_place);
// The description of one of them, by place or by name.
enum class Side { kInput, kOutput };
Status OperandOf(const ge::Operator& op, Side side, int64_t index, ir::TensorDesc** out);
Status OperandOf(const ge::Operator& op, Side side, const char* name, ir::TensorDesc** out);

// The same description under the operand's own name.
void Update(ir::TensorDesc* desc, const ge::TensorDesc& from);

// The value of an input whose source is a constant, in a subgraph also through its Data nodes; else null.
ir::TensorPtr ConstantOf(const ir::Node& node, size_t place);

}  // namespace millpond::api

namespace ge {

class OperatorImpl {
 public:
  millpond::ir::NodePtr node;
  std::shared_ptr<millpond::api::OperatorExtra> extra;
  std::shared_ptr<millpond::api::Island> island;
};

}  // namespace ge

#endif  // MILLPOND_SRC_API_GRAPH_OPERATOR_IMPL_H_

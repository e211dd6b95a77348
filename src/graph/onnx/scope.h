// SPDX-License-Identifier: Apache-2.0
// The names of one graph, function or branch during translation.
#ifndef MILLPOND_SRC_GRAPH_ONNX_SCOPE_H_
#define MILLPOND_SRC_GRAPH_ONNX_SCOPE_H_

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/graph/onnx/builder.h"
#include "src/graph/onnx/context.h"

namespace millpond::onnx {

// What all scopes of one model share.
struct Importing {
  const Model* model = nullptr;
  ir::GraphPtr root;
  Making making;
  int depth = 0;                                                                       // of nested functions and graphs
  std::map<std::pair<std::string_view, std::string_view>, const Function*> functions;  // by domain and name

  // The graph for a branch or a body, in the root at once, so that nodes inside can run graphs of their own.
  Status NewSubgraph(const std::string& name, ir::GraphPtr* out);
};
inline constexpr int kMaxDepth = 32;

// What a subgraph reads from enclosing graphs: inputs of the node that runs it.
struct Captures {
  Vals values;                                                    // in the outer graph
  int64_t first_place = 0;                                        // the node's input index of the first
  std::map<std::pair<const ir::Node*, int32_t>, int64_t> places;  // of each in `values`
};

using AttributesByName = std::unordered_map<std::string_view, const Attribute*>;

class Scope {
 public:
  // The root: its names are its own.
  Scope(Importing* importing, ir::Graph* graph) : importing_(importing), builder_(graph, &importing->making) {}
  // A graph within `outer`. `captures` null: its nodes and values go into the same ir::Graph (unrolled).
  Scope(Scope* outer, ir::Graph* graph, Captures* captures)
      : importing_(outer->importing_),
        outer_(outer),
        captures_(captures),
        call_(outer->call_),
        opsets_(outer->opsets_),
        prefix_(outer->prefix_),
        builder_(graph, &importing_->making) {}

  Builder& builder() { return builder_; }
  Importing* importing() const { return importing_; }
  const Opsets& opsets() const { return *opsets_; }
  void SetOpsets(const Opsets* opsets) { opsets_ = opsets; }
  void SetPrefix(std::string prefix) { prefix_ = std::move(prefix); }
  const std::string& prefix() const { return prefix_; }
  // A function's scope sees the attributes of its call but no outer names.
  void BeFunction(const AttributesByName* call) {
    outer_ = nullptr;
    call_ = call;
  }

  Status Define(const std::string& name, const Val& value);
  Status Lookup(const std::string& name, Val* out);
  // Constants, then nodes; not the graph's inputs.
  Status Translate(const Graph& graph);
  Status Translate(std::span<const Node> nodes);
  Status Outputs(const Graph& graph, Vals* out);

 private:
  Status TranslateNode(const Node& node);
  Status Call(const Function& function, const Node& node, const std::vector<NamedAttribute>& attributes,
              const Vals& inputs, Vals* out);
  // The node's attributes, with references in a function body resolved to its call's.
  std::vector<NamedAttribute> AttributesOf(const Node& node);
  // For looking at a node, however little becomes of it.
  Status PayFor(const Node& node);

  Importing* importing_;
  Scope* outer_ = nullptr;
  Captures* captures_ = nullptr;
  const AttributesByName* call_ = nullptr;
  const Opsets* opsets_ = nullptr;
  std::string prefix_;
  Builder builder_;
  std::unordered_map<std::string, Val> values_;
};

}  // namespace millpond::onnx

#endif  // MILLPOND_SRC_GRAPH_ONNX_SCOPE_H_

// SPDX-License-Identifier: Apache-2.0
// Names of one graph, function or branch while it is translated.
#ifndef MILLPOND_SRC_GRAPH_ONNX_SCOPE_H_
#define MILLPOND_SRC_GRAPH_ONNX_SCOPE_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "src/graph/onnx/builder.h"
#include "src/graph/onnx/context.h"

namespace millpond::onnx {

// What all scopes of one model share.
struct Importing {
  const Model* model = nullptr;
  const passes::PassEnvironment* environment = nullptr;
  ir::GraphPtr root;
  size_t nodes = 0;  // translated so far, functions and unrolled rounds counted each time
  int depth = 0;     // of functions and graphs within each other
};
inline constexpr size_t kMostNodes = 1'000'000;
inline constexpr int kMostDepth = 32;

// What a subgraph reads from the graphs around it: the inputs of the node that runs it.
struct Captures {
  Vals values;              // in the outer graph
  int64_t first_place = 0;  // which of the node's inputs the first of them is
};

class Scope {
 public:
  // The root: its names are its own.
  Scope(Importing* importing, ir::Graph* graph) : importing_(importing), builder_(graph, importing->environment) {}
  // A graph within `outer`. `captures` null: its nodes go into the same ir::Graph (unrolled), and so do the values.
  Scope(Scope* outer, ir::Graph* graph, Captures* captures)
      : importing_(outer->importing_),
        outer_(outer),
        captures_(captures),
        call_(outer->call_),
        opsets_(outer->opsets_),
        prefix_(outer->prefix_),
        builder_(graph, importing_->environment) {}

  Builder& builder() { return builder_; }
  Importing* importing() const { return importing_; }
  const Opsets& opsets() const { return *opsets_; }
  void SetOpsets(const Opsets* opsets) { opsets_ = opsets; }
  void SetPrefix(std::string prefix) { prefix_ = std::move(prefix); }
  const std::string& prefix() const { return prefix_; }
  // A function's scope sees the attributes of its call and no names around it.
  void BeFunction(const std::vector<const Attribute*>* call) {
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
  Status Call(const Function& function, const Node& node, const std::vector<const Attribute*>& attributes,
              const Vals& inputs, Vals* out);
  // The node's attributes, references of a function's body replaced by what its call has.
  std::vector<const Attribute*> AttributesOf(const Node& node);

  Importing* importing_;
  Scope* outer_ = nullptr;
  Captures* captures_ = nullptr;
  const std::vector<const Attribute*>* call_ = nullptr;
  const Opsets* opsets_ = nullptr;
  std::string prefix_;
  Builder builder_;
  std::unordered_map<std::string, Val> values_;
  std::vector<std::unique_ptr<Attribute>> renamed_;
};

}  // namespace millpond::onnx

#endif  // MILLPOND_SRC_GRAPH_ONNX_SCOPE_H_

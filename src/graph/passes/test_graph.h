// SPDX-License-Identifier: Apache-2.0
// Small graphs for the passes' tests, one line per node.
#ifndef MILLPOND_SRC_GRAPH_PASSES_TEST_GRAPH_H_
#define MILLPOND_SRC_GRAPH_PASSES_TEST_GRAPH_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/graph/ir/graph.h"
#include "src/graph/passes/verify.h"
#include "src/ops/ge_ops.h"

namespace millpond::passes {

// An input by name: what it reads.
struct Fed {
  std::string name;
  ir::Endpoint from;
};

class TestGraph {
 public:
  explicit TestGraph(std::string name = "g") : graph(std::make_shared<ir::Graph>(std::move(name))) {}

  ir::NodePtr Add(const std::string& name, const std::string& type, const std::vector<Fed>& inputs = {},
                  const std::vector<std::string>& outputs = {"y"}) {
    auto node = std::make_shared<ir::Node>(name, type);
    for (const std::string& output : outputs) {
      node->outputs.emplace_back();
      node->outputs.back().name = output;
    }
    Expect(graph->AddNode(node));
    for (const Fed& input : inputs) {
      node->inputs.emplace_back();
      node->inputs.back().desc.name = input.name;
      if (input.from.node) Expect(node->Connect(node->inputs.size() - 1, input.from.node, input.from.index));
    }
    return node;
  }

  ir::NodePtr Data(const std::string& name, DType dtype, ir::Dims dims, int64_t index = 0) {
    const ir::NodePtr node = Add(name, "Data");
    node->outputs[0].dtype = dtype;
    node->outputs[0].dims = std::move(dims);
    node->outputs[0].has_shape = true;
    node->attributes["index"].value = index;
    return node;
  }

  template <class T>
  ir::NodePtr Const(const std::string& name, DType dtype, ir::Dims dims, const std::vector<T>& values) {
    auto tensor = std::make_shared<ir::Tensor>();
    tensor->desc.dtype = dtype;
    tensor->desc.dims = std::move(dims);
    tensor->desc.has_shape = true;
    tensor->data = ir::Bytes::Copy(values.data(), values.size() * sizeof(T));
    const ir::NodePtr node = Add(name, "Const");
    node->attributes["value"].value = ir::TensorPtr(tensor);
    return node;
  }
  ir::NodePtr Ints(const std::string& name, const std::vector<int64_t>& values) {
    return Const<int64_t>(name, DType::kInt64, {static_cast<int64_t>(values.size())}, values);
  }

  ir::NodePtr Unary(const std::string& name, const std::string& type, const ir::NodePtr& x) {
    return Add(name, type, {{"x", {x, 0}}});
  }
  ir::NodePtr Binary(const std::string& name, const std::string& type, const ir::NodePtr& x1, const ir::NodePtr& x2) {
    return Add(name, type, {{"x1", {x1, 0}}, {"x2", {x2, 0}}});
  }
  void Return(std::vector<ir::NodePtr> nodes) {
    for (ir::NodePtr& node : nodes) graph->outputs.push_back({std::move(node), 0});
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const ir::NodePtr& node : graph->nodes()) names.push_back(node->name);
    return names;
  }

  static void Expect(const Status& status) { EXPECT_TRUE(status.ok()) << status.message(); }

  ir::GraphPtr graph;
};

// Runs a pass on the graph, which must be well formed: whether it changed something.
inline bool Changes(const TestGraph& test, Status (*pass)(ir::Graph*, bool*)) {
  bool changed = false;
  TestGraph::Expect(Verify(test.graph.get(), {}));
  TestGraph::Expect(pass(test.graph.get(), &changed));
  return changed;
}

}  // namespace millpond::passes

#endif  // MILLPOND_SRC_GRAPH_PASSES_TEST_GRAPH_H_

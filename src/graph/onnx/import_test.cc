// SPDX-License-Identifier: Apache-2.0
#include "src/graph/onnx/import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include "src/graph/io/onnx_samples.h"

namespace millpond::onnx {
namespace {

using io::SampleModel;
using io::SampleOnnx;

Status ImportBytes(const std::string& bytes, ir::GraphPtr* out, const ImportOptions& options = {}) {
  const std::unique_ptr<std::byte[]> exact(new std::byte[bytes.size()]);
  if (!bytes.empty()) std::memcpy(exact.get(), bytes.data(), bytes.size());
  Model model;
  MP_RETURN_IF_ERROR(ReadModel({exact.get(), bytes.size()}, {}, &model));
  return Import(model, options, {}, out);
}

std::string ErrorOf(const SampleOnnx& model, const ImportOptions& options = {}) {
  ir::GraphPtr graph;
  const Status status = ImportBytes(model.Bytes(), &graph, options);
  EXPECT_FALSE(status.ok());
  return status.message();
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

bool HasType(const ir::Graph& graph, std::string_view type) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const ir::NodePtr& node) { return node->type == type; });
}

TEST(OnnxImport, NodesBecomeGeOperatorsWithShapes) {
  ir::GraphPtr graph;
  const Status status = ImportBytes(SampleModel().Bytes(), &graph);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(graph->name, "sample");
  ASSERT_EQ(graph->inputs.size(), 2U);
  EXPECT_EQ(graph->inputs[0]->name, "x");
  ASSERT_EQ(graph->outputs.size(), 2U);
  EXPECT_EQ(graph->outputs[0].node->type, "Relu");
  EXPECT_EQ(graph->outputs[0].node->outputs[0].dims, (ir::Dims{2, 4}));
  EXPECT_TRUE(HasType(*graph, "MatMulV2"));
}

TEST(OnnxImport, BranchesReadTheGraphAroundThemThroughTheirNodesInputs) {
  ir::GraphPtr graph;
  ASSERT_TRUE(ImportBytes(SampleModel().Bytes(), &graph).ok());
  const ir::NodePtr choice = graph->outputs[1].node;
  EXPECT_EQ(choice->type, "If");
  ASSERT_EQ(choice->inputs.size(), 2U);
  EXPECT_EQ(choice->inputs[1].source->name, "x");
  ASSERT_EQ(graph->subgraphs().size(), 2U);
  EXPECT_EQ(choice->outputs[0].dims, (ir::Dims{2, 3}));
}

TEST(OnnxImport, CyclesAreRefused) {
  SampleOnnx model = SampleModel();
  model.nodes = {SampleOnnx::Node("Relu", {"b1"}, {"a1"}, "first"), SampleOnnx::Node("Relu", {"a1"}, {"b1"}, "second")};
  const std::string text = ErrorOf(model);
  EXPECT_SAYS(text, "node \"first\" (Relu)");
  EXPECT_SAYS(text, "without cycles");
}

TEST(OnnxImport, TwoValuesOfOneNameAreRefused) {
  SampleOnnx model = SampleModel();
  model.nodes.push_back(SampleOnnx::Node("Relu", {"x"}, {"y"}, "again"));
  EXPECT_SAYS(ErrorOf(model), "two values have the name \"y\"");
  SampleOnnx constants = SampleModel();
  constants.constants.push_back(SampleOnnx::Tensor("w", 1, {1}, "abcd"));
  EXPECT_SAYS(ErrorOf(constants), "two values have the name \"w\"");
}

TEST(OnnxImport, OperatorsAndAttributesThatAreNotKnownAreRefusedByName) {
  SampleOnnx model = SampleModel();
  model.nodes.push_back(SampleOnnx::Node("Fizz", {"x"}, {"u"}, "odd"));
  EXPECT_SAYS(ErrorOf(model), "node \"odd\" (Fizz): operator Fizz is not supported");
  SampleOnnx attribute = SampleModel();
  attribute.nodes.push_back(SampleOnnx::Node("Relu", {"x"}, {"u"}, "odd", {SampleOnnx::IntAttr("colour", 1)}));
  EXPECT_SAYS(ErrorOf(attribute), "attribute \"colour\" is not supported");
}

TEST(OnnxImport, OpsetsOutsideTheRangeAreRefused) {
  SampleOnnx model = SampleModel();
  for (const int64_t opset : {kOldestOpset - 1, kNewestOpset + 1}) {
    model.opset = opset;
    EXPECT_SAYS(ErrorOf(model), "opset " + std::to_string(opset));
  }
}

TEST(OnnxImport, ParametersChooseShapesAndOutputs) {
  ImportOptions options;
  options.graph_name = "mine";
  options.input_dims["x"] = {5, 3};
  options.outputs = {{"dense", 0}};
  options.half_inputs = {"x"};
  ir::GraphPtr graph;
  const Status status = ImportBytes(SampleModel().Bytes(), &graph, options);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(graph->name, "mine");
  ASSERT_EQ(graph->outputs.size(), 1U);
  EXPECT_EQ(graph->outputs[0].node->outputs[0].dims, (ir::Dims{5, 4}));
  EXPECT_EQ(graph->inputs[0]->outputs[0].dtype, DType::kHalf);
  EXPECT_TRUE(HasType(*graph, "Cast"));
  ImportOptions wrong;
  wrong.input_dims["nobody"] = {1};
  EXPECT_SAYS(ErrorOf(SampleModel(), wrong), "\"nobody\"");
  ImportOptions none;
  none.outputs = {{"nobody", 0}};
  EXPECT_SAYS(ErrorOf(SampleModel(), none), "\"nobody:0\"");
}

// Whatever the bytes, there is a graph or an error. The mutations are the same on every run.
TEST(OnnxImport, MutatedModelsGiveAGraphOrAnError) {
  const std::string original = SampleModel().Bytes();
  std::mt19937 random(7);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  size_t graphs = 0;
  size_t errors = 0;
  for (int i = 0; i < 4000 && std::chrono::steady_clock::now() < end; ++i) {
    std::string bytes = original;
    for (size_t change = 0; change <= below(4); ++change) {
      const size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(random());
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 2:
          bytes.erase(at, 1 + below(8));
          break;
        default:
          bytes.insert(at, original.substr(below(original.size()), 1 + below(16)));
          break;
      }
      if (bytes.empty()) bytes = original;
    }
    ir::GraphPtr graph;
    (ImportBytes(bytes, &graph).ok() ? graphs : errors) += 1;
  }
  EXPECT_GT(errors, graphs);
  EXPECT_GT(graphs, 0U) << "every mutation was refused: they test too little";
}

}  // namespace
}  // namespace millpond::onnx

// SPDX-License-Identifier: Apache-2.0
// Graphs built call by call: the C functions, the C++ classes over them, and the nodes that gen_esb's functions add.
#include <fstream>

#include "ge/es_graph_builder.h"
#include "ge/es_tensor_like.h"
#include "millpond/es_node.h"
#include "session_fixture.h"

namespace {

using namespace ge_test;  // NOLINT
using ge::es::CompliantNodeBuilder;
using ge::es::EsGraphBuilder;
using ge::es::EsTensorHolder;
using ge::es::EsTensorLike;

// As gen_esb writes them.
EsTensorHolder Relu(const EsTensorLike& x) {
  millpond::EsNode node(nullptr, "Relu");
  return node.Input("x", x.ToTensorHolder(nullptr).GetCTensorHolder()).Output("y").Next();
}
EsTensorHolder MatMul(const EsTensorHolder& x1, const EsTensorHolder& x2, bool transpose_x2) {
  millpond::EsNode node(nullptr, "MatMul");
  node.Input("x1", x1.GetCTensorHolder()).Input("x2", x2.GetCTensorHolder()).OptionalInput("bias", nullptr);
  return node.Output("y").Attr("transpose_x2", transpose_x2).Next();
}

std::vector<EsTensorHolder> If(const EsTensorHolder& cond, const EsTensorHolder& input, std::unique_ptr<ge::Graph> yes,
                               std::unique_ptr<ge::Graph> no) {
  EsCTensorHolder* inputs[] = {input.GetCTensorHolder()};
  millpond::EsNode node(nullptr, "If");
  node.Input("cond", cond.GetCTensorHolder()).DynamicInput("input", inputs, 1).DynamicOutput("output", 1);
  node.Subgraph("then_branch", reinterpret_cast<EsCGraph*>(yes.release()));
  node.Subgraph("else_branch", reinterpret_cast<EsCGraph*>(no.release()));
  int64_t count = 0;
  EsCTensorHolder** const made = node.Next(1, &count);
  return {made, made + count};
}

std::string NameOf(const EsTensorHolder& tensor) {
  ge::AscendString name;
  if (tensor.GetProducer() == nullptr || tensor.GetProducer()->GetName(name) != ge::GRAPH_SUCCESS) return "";
  return name.GetString();
}

std::vector<float> Values(const ge::Tensor& tensor) {
  const auto* data = reinterpret_cast<const float*>(tensor.GetData());
  return {data, data + tensor.GetSize() / sizeof(float)};
}

class GeEsTest : public SessionTest {
 protected:
  // What one run of the graph gives for these inputs.
  std::vector<float> Run(const ge::Graph& graph, const std::vector<ge::Tensor>& inputs) {
    ge::Session session(Options{});
    std::vector<ge::Tensor> outputs;
    GE_OK(session.AddGraph(1, graph));
    GE_OK(session.RunGraph(1, inputs, outputs));
    return outputs.size() == 1 ? Values(outputs[0]) : std::vector<float>{};
  }
};

ge::Tensor Floats(const std::vector<float>& values, const std::vector<int64_t>& dims) {
  return *ge::es::CreateTensor(values.data(), dims.data(), static_cast<int64_t>(dims.size()), ge::DT_FLOAT);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(MP_STAND_IN_KERNELS)
#define NEEDS_KERNELS() GTEST_SKIP() << "the stand-in kernels of sanitizer builds have neither Div nor MatMul"
#else
#define NEEDS_KERNELS() static_cast<void>(0)
#endif

TEST_F(GeEsTest, ArithmeticOfTensorsRuns) {
  NEEDS_KERNELS();
  EsGraphBuilder builder("arithmetic");
  const auto [a, b] = builder.CreateInputs<2>();
  const auto graph = builder.BuildAndReset({(a + b) * (a - b) / builder.CreateScalar(2.0F)});
  ASSERT_NE(graph, nullptr) << ErrorMessage();
  EXPECT_EQ(Run(*graph, {Floats({3, 5}, {2}), Floats({1, 2}, {2})}), (std::vector<float>{4, 10.5}));
}

TEST_F(GeEsTest, NodesOfGeneratedFunctionsRunWithTheirAttributes) {
  NEEDS_KERNELS();
  EsGraphBuilder builder("matmul");
  const EsTensorHolder x = builder.CreateInput(0, "x", ge::DT_FLOAT, ge::FORMAT_ND, {1, 2});
  const EsTensorHolder weight = builder.CreateConst(std::vector<float>{1, 2, -3, 4}, {2, 2});
  const auto graph = builder.BuildAndReset({Relu(MatMul(x, weight, true))});
  ASSERT_NE(graph, nullptr) << ErrorMessage();
  EXPECT_EQ(Run(*graph, {Floats({1, -1}, {1, 2})}), (std::vector<float>{0, 0}));
  EXPECT_EQ(Run(*graph, {Floats({1, 1}, {1, 2})}), (std::vector<float>{3, 1}));
}

TEST_F(GeEsTest, SubgraphsOfAConditionRun) {
  EsGraphBuilder builder("condition");
  const EsTensorHolder x = builder.CreateInput(0, "x", ge::DT_FLOAT, ge::FORMAT_ND, {2});
  const EsTensorHolder cond = builder.CreateInput(1, "cond", ge::DT_INT32, ge::FORMAT_ND, {});
  EsGraphBuilder yes("yes");
  EsGraphBuilder no("no");
  const EsTensorHolder left = yes.CreateInput(0, "left", ge::DT_FLOAT, ge::FORMAT_ND, {2});
  const EsTensorHolder right = no.CreateInput(0, "right", ge::DT_FLOAT, ge::FORMAT_ND, {2});
  auto twice = yes.BuildAndReset({left * yes.CreateScalar(2.0F)});
  auto less = no.BuildAndReset({right - no.CreateScalar(1.0F)});
  const std::vector<EsTensorHolder> chosen = If(cond, x, std::move(twice), std::move(less));
  ASSERT_EQ(chosen.size(), 1U) << ErrorMessage();
  const auto graph = builder.BuildAndReset({chosen[0]});
  ASSERT_NE(graph, nullptr) << ErrorMessage();
  const int32_t one = 1;
  const int32_t zero = 0;
  EXPECT_EQ(Run(*graph, {Floats({1, 3}, {2}), *ge::es::CreateTensor(&one, nullptr, 0, ge::DT_INT32)}),
            (std::vector<float>{2, 6}));
  EXPECT_EQ(Run(*graph, {Floats({1, 3}, {2}), *ge::es::CreateTensor(&zero, nullptr, 0, ge::DT_INT32)}),
            (std::vector<float>{0, 2}));
}

TEST_F(GeEsTest, AnInputsShapeMayBeToldAfterwards) {
  EsGraphBuilder builder("late");
  EsTensorHolder x = builder.CreateInput(0);
  x.SetShape({2, 3}).SetDataType(ge::DT_INT32).SetFormat(ge::FORMAT_NCHW);
  ASSERT_EQ(builder.SetOutput(Relu(x), 0), 0);
  const auto graph = builder.BuildAndReset();
  ASSERT_NE(graph, nullptr) << ErrorMessage();
  ge::TensorDesc desc;
  GE_OK(graph->FindNodeByName("input_0")->GetInputDesc(0, desc));
  EXPECT_EQ(desc.GetShape().GetDims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(desc.GetOriginShape().GetDims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(desc.GetDataType(), ge::DT_INT32);
  EXPECT_EQ(desc.GetFormat(), ge::FORMAT_NCHW);
}

TEST_F(GeEsTest, AttributesOfGraphNodeAndTensorAreRead) {
  EsGraphBuilder builder("attributes");
  EsTensorHolder y = Relu(builder.CreateInput(0));
  GE_OK(builder.SetAttr("level", int64_t{3}));
  GE_OK(y.SetAttrForNode("label", "one"));
  GE_OK(y.SetAttr("kept", true));
  int64_t level = 0;
  bool kept = false;
  ge::AscendString label;
  ge::AttrValue value;
  GE_OK(builder.GetCGraphBuilder()->GetGraph()->GetAttr("level", value));
  GE_OK(value.GetAttrValue(level));
  GE_OK(y.GetProducer()->GetAttr("label", label));
  GE_OK(y.GetProducer()->GetOutputAttr("kept", 0, value));
  GE_OK(value.GetAttrValue(kept));
  EXPECT_EQ(level, 3);
  EXPECT_STREQ(label.GetString(), "one");
  EXPECT_TRUE(kept);
}

TEST_F(GeEsTest, ControlEdgesOrderNodes) {
  EsGraphBuilder builder("order");
  const EsTensorHolder x = builder.CreateInput(0);
  const EsTensorHolder first = Relu(x);
  const EsTensorHolder second = Relu(x);
  GE_OK(second.AddControlEdge({first}));
  const auto earlier = second.GetProducer()->GetInControlNodes();
  ASSERT_EQ(earlier.size(), 1U);
  ge::AscendString name;
  GE_OK(earlier[0]->GetName(name));
  EXPECT_EQ(NameOf(first), name.GetString());
}

TEST_F(GeEsTest, NumbersBecomeConstantsOfTheTensorsGraph) {
  EsGraphBuilder builder("numbers");
  const EsTensorHolder x = builder.CreateInput(0);
  EXPECT_EQ(ge::es::ResolveBuilder(EsTensorLike(1.0F), EsTensorLike(nullptr), EsTensorLike(x)),
            builder.GetCGraphBuilder());
  EXPECT_EQ(EsTensorLike(nullptr).ToTensorHolder(builder.GetCGraphBuilder()).GetCTensorHolder(), nullptr);
  const EsTensorHolder made = EsTensorLike(std::vector<int64_t>{4, 2}).ToTensorHolder(builder.GetCGraphBuilder());
  ge::Tensor value;
  GE_OK(made.GetProducer()->GetAttr("value", value));
  EXPECT_EQ(value.GetTensorDesc().GetShape().GetDims(), (std::vector<int64_t>{2}));
  EXPECT_EQ(reinterpret_cast<const int64_t*>(value.GetData())[0], 4);
}

TEST_F(GeEsTest, ADefinitionOfOnesOwnMakesANode) {
  EsGraphBuilder builder("own");
  const EsTensorHolder x = builder.CreateInput(0, "x", ge::DT_FLOAT, ge::FORMAT_ND, {5});
  EsCGraphBuilder* const own = builder.GetCGraphBuilder();
  using Node = CompliantNodeBuilder;
  ge::GNode node = Node(own->GetGraph())
                       .OpType("SomebodysOwn")
                       .Name("made")
                       .IrDefInputs({{"x", Node::kEsIrInputDynamic, ""}, {"absent", Node::kEsIrInputOptional, ""}})
                       .IrDefOutputsV2({{"y", Node::kEsIrOutputRequired, ""}, {"z", Node::kEsIrOutputDynamic, ""}})
                       .IrDefAttrsV2({{"axis", Node::kEsAttrRequired, "Int", ge::es::CreateFrom(int64_t{7})}})
                       .InstanceDynamicInputNum("x", 2)
                       .InstanceDynamicOutputNum("z", 3)
                       .InstanceOutputShape("z1", {4, 4})
                       .Build();
  EXPECT_EQ(node.GetInputsSize(), 3U);
  EXPECT_EQ(node.GetOutputsSize(), 4U);
  int64_t axis = 0;
  GE_OK(node.GetAttr("axis", axis));
  EXPECT_EQ(axis, 7);
  GE_OK(ge::es::AddEdgeAndUpdatePeerDesc(*own->GetGraph(), *x.GetProducer(), 0, node, 1));
  ge::TensorDesc desc;
  GE_OK(node.GetInputDesc(1, desc));
  EXPECT_EQ(desc.GetShape().GetDims(), (std::vector<int64_t>{5}));
  const auto* made = own->CreateDynamicTensorHolderFromNode(node, 1, 3);
  ASSERT_EQ(made->size(), 3U);
  EXPECT_EQ((*made)[2]->GetOutIndex(), 3);
  GE_OK(node.GetOutputDesc(2, desc));
  EXPECT_EQ(desc.GetShape().GetDims(), (std::vector<int64_t>{4, 4}));
}

TEST_F(GeEsTest, TensorsComeFromFilesOfTheirSize) {
  const std::string path = testing::TempDir() + "/es_tensor.bin";
  std::ofstream(path, std::ios::binary) << std::string(12, '\1');
  const auto read = ge::es::CreateTensorFromFile<int32_t>(path.c_str(), {3}, ge::DT_INT32);
  ASSERT_NE(read, nullptr) << ErrorMessage();
  EXPECT_EQ(reinterpret_cast<const int32_t*>(read->GetData())[2], 0x01010101);
  EXPECT_EQ(ge::es::CreateTensorFromFile<int32_t>(path.c_str(), {4}, ge::DT_INT32), nullptr);
  EXPECT_NE(ErrorMessage().find("has 12 bytes; the shape and the type take 16"), std::string::npos);
}

void Refuses(const std::string& what) {
  const std::string message = ErrorMessage();
  EXPECT_NE(message.find(what), std::string::npos) << message;
}

TEST_F(GeEsTest, WhatCannotBeIsRefusedByName) {
  EsGraphBuilder builder("refused");
  EsGraphBuilder other("other");
  const EsTensorHolder x = builder.CreateInput(0);
  EXPECT_EQ(builder.CreateInput(0).GetCTensorHolder(), nullptr);
  Refuses("has an input 0 already; the next free one is 1");
  EXPECT_EQ((x + other.CreateInput(0)).GetCTensorHolder(), nullptr);
  Refuses("another builder's graph");
  EXPECT_EQ(Relu(nullptr).GetCTensorHolder(), nullptr);
  Refuses("Relu: input x is null");
  EXPECT_NE(EsGraphBuilder::SetOutput(EsTensorHolder(), 0), 0);
  Refuses("tensor is null");
  EXPECT_EQ(builder.CreateConst(std::vector<float>{}, {-1}).GetCTensorHolder(), nullptr);
  Refuses("dimension 0 is -1");
  const char* const symbols[] = {"s0"};
  EXPECT_NE(EsSetOriginSymbolShape(x.GetCTensorHolder(), symbols, 1), 0U);
  Refuses("EsSetOriginSymbolShape");
  EXPECT_EQ(builder.GetCGraphBuilder()->GetTensorHolderFromNode(*x.GetProducer(), 3), nullptr);
  Refuses("output 3 of a node that has 1");
  ASSERT_EQ(EsGraphBuilder::SetOutput(x, 1), 0);
  EXPECT_EQ(builder.BuildAndReset(), nullptr);
  Refuses("has 1 outputs, and none with number 0");
  ASSERT_EQ(EsGraphBuilder::SetOutput(x, 0), 0);
  EXPECT_NE(builder.BuildAndReset(), nullptr) << ErrorMessage();
  EXPECT_EQ(builder.CreateInput(1).GetCTensorHolder(), nullptr);
  Refuses("is built; make a new builder");
  EXPECT_EQ(Relu(x).GetCTensorHolder(), nullptr);
  Refuses("was given away");
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/verify.h"

#include <gtest/gtest.h>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/test_graph.h"

namespace millpond::passes {
namespace {

std::string Refused(const TestGraph& test, const ClientOperators& clients = {}) {
  return Verify(test.graph.get(), clients).message();
}

// A graph that returns one node, which reads a vector.
struct OneNode {
  TestGraph test;
  ir::NodePtr node;

  OneNode(const char* name, const char* type) : node(test.Unary(name, type, test.Data("x", DType::kFloat, {2}))) {
    test.Return({node});
  }
};

TEST(Verify, AcceptsAGraphThatIsWellFormed) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2, 3});
  test.Return({test.Binary("add", "Add", x, x)});
  EXPECT_EQ(Refused(test), "");
  EXPECT_EQ(test.graph->inputs, std::vector<ir::NodePtr>{x});
}

TEST(Verify, NamesTheNodesAlongACycle) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto a = test.Binary("a", "Add", x, x);
  const auto b = test.Unary("b", "Relu", a);
  TestGraph::Expect(a->Connect(1, b, 0));
  EXPECT_NE(Refused(test).find("has a cycle"), std::string::npos);
  EXPECT_NE(Refused(test).find("\"b\""), std::string::npos);
}

TEST(Verify, NamesTheRequiredInputThatIsNotConnected) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  test.Return({test.Add("add", "Add", {{"x1", {x, 0}}, {"x2", {}}})});
  EXPECT_EQ(Refused(test), "graph \"g\": node \"add\" (Add): input 1 (\"x2\") is not connected, and Add needs it");
}

TEST(Verify, NamesTheRequiredInputThatIsMissing) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  test.Return({test.Add("add", "Add", {{"x1", {x, 0}}})});
  EXPECT_EQ(Refused(test), "graph \"g\": node \"add\" (Add): input 1 (\"x2\") is not connected, and Add needs it");
}

TEST(Verify, RefusesMoreInputsThanTheDefinitionHas) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  test.Return({test.Add("add", "Add", {{"x1", {x, 0}}, {"x2", {x, 0}}, {"x3", {x, 0}}})});
  EXPECT_EQ(Refused(test), "graph \"g\": node \"add\" (Add): has 3 inputs, and the inputs of Add are: x1, x2");
}

TEST(Verify, NamesTheOutputThatASourceDoesNotHave) {
  OneNode relu("relu", "Relu");
  relu.node->inputs[0].index = 3;
  EXPECT_EQ(Refused(relu.test),
            "graph \"g\": node \"relu\" (Relu): input 0 (\"x\") asks for output 3 of node \"x\" (Data), which has 1");
}

TEST(Verify, RefusesAnUndefinedType) {
  EXPECT_EQ(Refused(OneNode("odd", "NoSuchOperator").test),
            "graph \"g\": node \"odd\" (NoSuchOperator): there is no operator of type \"NoSuchOperator\"");
}

TEST(Verify, AcceptsATypeThatTheClientRegistered) {
  ClientOperators clients;
  clients.knows = [](std::string_view type) { return type == "MyOperator"; };
  EXPECT_EQ(Refused(OneNode("odd", "MyOperator").test, clients), "");
}

TEST(Verify, NamesTheRequiredAttributeThatIsMissing) {
  EXPECT_EQ(Refused(OneNode("cast", "Cast").test),
            "graph \"g\": node \"cast\" (Cast): attribute \"dst_type\" (Int) must be given and is missing");
}

TEST(Verify, NamesTheAttributeOfAnotherKind) {
  OneNode cast("cast", "Cast");
  cast.node->attributes["dst_type"].value = std::string("float");
  EXPECT_EQ(Refused(cast.test), "graph \"g\": node \"cast\" (Cast): attribute \"dst_type\" is String, and must be Int");
}

TEST(Verify, TakesTypesAsNumbersAndNumbersAsTypes) {  // files keep them either way
  OneNode cast("cast", "Cast");
  cast.node->attributes["dst_type"].value = DType::kInt32;
  cast.node->attributes["_note"].value = true;  // attributes that no definition has are the client's own
  EXPECT_EQ(Refused(cast.test), "");
}

TEST(Verify, PutsInputsInTheDefinitionsOrderWithASlotForAbsentOnes) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2, 2});
  const auto bias = test.Data("b", DType::kFloat, {2}, 1);
  const auto matmul = test.Add("mm", "MatMulV2", {{"bias", {bias, 0}}, {"x2", {x, 0}}, {"x1", {x, 0}}});
  test.Return({matmul});
  ASSERT_EQ(Refused(test), "");
  ASSERT_EQ(matmul->inputs.size(), 4u);
  EXPECT_EQ(matmul->inputs[0].desc.name, "x1");
  EXPECT_EQ(matmul->inputs[1].desc.name, "x2");
  EXPECT_EQ(matmul->inputs[2].source, bias);
  EXPECT_EQ(matmul->inputs[3].desc.name, "offset_w");
  EXPECT_EQ(matmul->inputs[3].source, nullptr);
}

TEST(Verify, ConstantsMustHaveTheirBytes) {
  TestGraph test;
  test.Return({test.Const<float>("c", DType::kFloat, {2, 2}, {1, 2, 3})});
  EXPECT_EQ(Refused(test),
            "graph \"g\": node \"c\" (Const): its tensor of FLOAT [2,2] needs 16 bytes, and 12 are there");
}

TEST(Verify, NetOutputBecomesTheGraphsOutputsAndTargets) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto relu = test.Unary("relu", "Relu", x);
  const auto other = test.Unary("other", "Relu", x);
  const auto net = test.Add("out", "NetOutput", {{"input0", {relu, 0}}, {"input1", {x, 0}}}, {});
  net->AddControl(other);
  ASSERT_EQ(Refused(test), "");
  ASSERT_EQ(test.graph->outputs.size(), 2u);
  EXPECT_EQ(test.graph->outputs[0].node, relu);
  EXPECT_EQ(test.graph->outputs[1].node, x);
  EXPECT_EQ(test.graph->targets, std::vector<ir::NodePtr>{other});
  EXPECT_EQ(test.graph->FindNode("out"), nullptr);
}

TEST(Verify, TwoNetOutputsAreRefused) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  test.Add("a", "NetOutput", {{"x0", {x, 0}}}, {});
  test.Add("b", "NetOutput", {{"x0", {x, 0}}}, {});
  EXPECT_EQ(Refused(test), "graph \"g\" has two NetOutput nodes, \"a\" and \"b\"; only one is allowed");
}

TEST(Verify, WithoutOutputsUnusedNodesAreTheTargets) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto relu = test.Unary("relu", "Relu", x);
  ASSERT_EQ(Refused(test), "");
  EXPECT_EQ(test.graph->targets, std::vector<ir::NodePtr>{relu});
}

// A sum of two inputs with these indexes.
struct SumGraph {
  SumGraph(int64_t index_of_a, int64_t index_of_b)
      : a(test.Data("a", DType::kFloat, {2}, index_of_a)), b(test.Data("b", DType::kFloat, {2}, index_of_b)) {
    test.Return({test.Binary("add", "Add", a, b)});
  }
  TestGraph test;
  ir::NodePtr a, b;
};

TEST(Verify, DataIsOrderedByIndex) {
  SumGraph sum(1, 0);
  ASSERT_EQ(Refused(sum.test), "");
  EXPECT_EQ(sum.test.graph->inputs, (std::vector<ir::NodePtr>{sum.b, sum.a}));
}

// AddGraph: indexes that are not contiguous are renumbered in the order of nodes.
TEST(Verify, DataIsRenumberedInTheOrderOfNodesWhenIndexesHaveGaps) {
  SumGraph sum(7, 0);
  ASSERT_EQ(Refused(sum.test), "");
  EXPECT_EQ(sum.test.graph->inputs, (std::vector<ir::NodePtr>{sum.a, sum.b}));
  EXPECT_EQ(*sum.a->FindAttr("index")->As<int64_t>(), 0);
  EXPECT_EQ(*sum.b->FindAttr("index")->As<int64_t>(), 1);
}

// A call of a graph that returns its only input.
struct CallGraph {
  TestGraph test;
  TestGraph body{"body"};
  ir::NodePtr x = test.Data("x", DType::kFloat, {2});
  ir::NodePtr call = test.Add("call", "PartitionedCall", {{"args0", {x, 0}}}, {"output0"});
  ir::NodePtr inner = body.Data("inner", DType::kFloat, {2});

  CallGraph() {
    call->subgraphs = {{"f", "body"}};
    body.Return({body.Unary("relu", "Relu", inner)});
    test.Return({call});
  }
};

TEST(Verify, NamesTheSubgraphThatIsMissing) {
  CallGraph one;
  EXPECT_EQ(Refused(one.test),
            "node \"call\" (PartitionedCall): its subgraph \"f\" refers to graph \"body\", which does not exist");
  one.call->subgraphs.clear();
  EXPECT_EQ(Refused(one.test), "node \"call\" (PartitionedCall): subgraph \"f\" is missing");
}

TEST(Verify, ASubgraphMustHaveItsNodesOutputs) {
  CallGraph one;
  TestGraph::Expect(one.test.graph->AddSubgraph(one.body.graph));
  EXPECT_EQ(Refused(one.test), "");
  one.body.Return({one.inner});
  EXPECT_EQ(Refused(one.test),
            "graph \"g\": node \"call\" (PartitionedCall): its subgraph \"f\" (\"body\") gives 2 outputs, and 1 are "
            "expected");
}

TEST(Verify, ASubgraphsDataMustRepresentAnExistingInput) {
  CallGraph one;
  TestGraph::Expect(one.test.graph->AddSubgraph(one.body.graph));
  one.inner->attributes["index"].value = int64_t{4};
  EXPECT_EQ(Refused(one.test),
            "graph \"g\": graph \"body\": node \"inner\" (Data) stands for input 4 of node \"call\" (PartitionedCall), "
            "which has 1");
}

TEST(Verify, ASubgraphMayNotRunItself) {
  CallGraph one;
  const auto again = one.body.Add("again", "PartitionedCall", {{"args0", {one.inner, 0}}}, {"output0"});
  again->subgraphs = {{"f", "body"}};
  TestGraph::Expect(one.test.graph->AddSubgraph(one.body.graph));
  EXPECT_EQ(Refused(one.test), "node \"again\" (PartitionedCall): its subgraph \"f\" (\"body\") runs itself");
}

TEST(Verify, ASubgraphThatTwoNodesRunIsCopiedForTheSecond) {
  CallGraph one;
  const auto second = one.test.Add("second", "PartitionedCall", {{"args0", {one.x, 0}}}, {"output0"});
  second->subgraphs = {{"f", "body"}};
  one.test.Return({second});
  TestGraph::Expect(one.test.graph->AddSubgraph(one.body.graph));
  ASSERT_EQ(Refused(one.test), "");
  EXPECT_NE(second->subgraphs[0].graph, one.call->subgraphs[0].graph);
  EXPECT_EQ(one.test.graph->subgraphs().size(), 2u);
}

TEST(Verify, ABranchsDataIndexCountsFromAfterTheCondition) {
  TestGraph test;
  TestGraph then_branch("then");
  TestGraph else_branch("else");
  const auto cond = test.Data("cond", DType::kBool, {}, 0);
  const auto x = test.Data("x", DType::kFloat, {2}, 1);
  const auto node = test.Add("if", "If", {{"cond", {cond, 0}}, {"input0", {x, 0}}}, {"output0"});
  node->subgraphs = {{"then_branch", "then"}, {"else_branch", "else"}};
  const auto a = then_branch.Data("a", DType::kFloat, {2}, 0);
  const auto b = else_branch.Data("b", DType::kFloat, {2}, 5);
  b->attributes[std::string(kParentIndex)].value = int64_t{1};  // says it itself
  then_branch.Return({a});
  else_branch.Return({b});
  TestGraph::Expect(test.graph->AddSubgraph(then_branch.graph));
  TestGraph::Expect(test.graph->AddSubgraph(else_branch.graph));
  test.Return({node});
  ASSERT_EQ(Refused(test), "");
  EXPECT_EQ(ParentInput(*a), 1);
  EXPECT_EQ(ParentInput(*b), 1);
}

TEST(Verify, ALoopsConditionGivesOneValue) {
  TestGraph test;
  TestGraph cond("cond");
  TestGraph body("body");
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto loop = test.Add("loop", "While", {{"input0", {x, 0}}}, {"output0"});
  loop->subgraphs = {{"cond", "cond"}, {"body", "body"}};
  body.Return({body.Data("b", DType::kFloat, {2})});
  cond.Data("c", DType::kFloat, {2});
  TestGraph::Expect(test.graph->AddSubgraph(cond.graph));
  TestGraph::Expect(test.graph->AddSubgraph(body.graph));
  test.Return({loop});
  EXPECT_EQ(Refused(test),
            "graph \"g\": node \"loop\" (While): its subgraph \"cond\" (\"cond\") gives 0 outputs, and 1 are expected");
}

}  // namespace
}  // namespace millpond::passes

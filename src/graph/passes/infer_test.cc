// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/infer.h"

#include <gtest/gtest.h>

#include "src/graph/passes/test_graph.h"
#include "src/graph/passes/verify.h"

namespace millpond::passes {
namespace {

std::string Refused(const TestGraph& test, const ClientOperators& clients = {}) {
  TestGraph::Expect(Verify(test.graph.get(), clients));
  InferEnvironment environment;
  environment.clients = &clients;
  return Infer(test.graph.get(), environment).message();
}

// "FLOAT [2,3]"
std::string Text(const ir::NodePtr& node, size_t output = 0) {
  return std::string(DTypeName(node->outputs[output].dtype)) + " " + ir::TextOf(node->outputs[output].dims);
}

TEST(Infer, OperatorsOfTheTableGetTypeAndShape) {
  TestGraph test;
  const auto a = test.Data("a", DType::kHalf, {4, 1, 3}, 0);
  const auto b = test.Data("b", DType::kHalf, {5, 1}, 1);
  const auto add = test.Binary("add", "Add", a, b);
  const auto cast = test.Unary("cast", "Cast", add);
  cast->attributes["dst_type"].value = int64_t{0};
  test.Return({cast});
  ASSERT_EQ(Refused(test), "");
  EXPECT_EQ(Text(add), "FLOAT16 [4,5,3]");
  EXPECT_EQ(Text(cast), "FLOAT [4,5,3]");
  EXPECT_EQ(cast->inputs[0].desc.dims, (ir::Dims{4, 5, 3}));
}

TEST(Infer, ConstantsDecideShapes) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {4, 6});
  const auto shape = test.Ints("shape", {2, -1});
  const auto identity = test.Unary("identity", "Identity", shape);
  const auto reshape = test.Add("reshape", "Reshape", {{"x", {x, 0}}, {"shape", {identity, 0}}});
  test.Return({reshape});
  ASSERT_EQ(Refused(test), "");
  EXPECT_EQ(Text(reshape), "FLOAT [2,12]");
}

TEST(Infer, AShapeDecidedByInputValuesHasOnlyAKnownRank) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {4, 6}, 0);
  const auto shape = test.Data("shape", DType::kInt64, {2}, 1);
  const auto any = test.Data("any", DType::kInt64, {-1}, 2);
  const auto reshape = test.Add("reshape", "Reshape", {{"x", {x, 0}}, {"shape", {shape, 0}}});
  const auto open = test.Add("open", "Reshape", {{"x", {x, 0}}, {"shape", {any, 0}}});
  test.Return({reshape, open});
  ASSERT_EQ(Refused(test), "");
  EXPECT_EQ(Text(reshape), "FLOAT [-1,-1]");
  EXPECT_EQ(Text(open), "FLOAT [-2]");
}

TEST(Infer, UnknownDimensionsPropagateAndKnownOnesStay) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {-1, 768}, 0);
  const auto w = test.Data("w", DType::kFloat, {768, 10}, 1);
  const auto matmul = test.Add("mm", "MatMulV2", {{"x1", {x, 0}}, {"x2", {w, 0}}});
  const auto relu = test.Unary("relu", "Relu", matmul);
  const auto shape = test.Unary("shape", "Shape", relu);
  test.Return({shape});
  ASSERT_EQ(Refused(test), "");
  EXPECT_EQ(Text(matmul), "FLOAT [-1,10]");
  EXPECT_EQ(Text(relu), "FLOAT [-1,10]");
  EXPECT_EQ(Text(shape), "INT32 [2]");
}

TEST(Infer, UnknownRanksPropagate) {
  TestGraph test;
  const auto x = test.Data("x", DType::kHalf, {-2});
  const auto relu = test.Unary("relu", "Relu", x);
  test.Return({relu});
  ASSERT_EQ(Refused(test), "");
  EXPECT_EQ(Text(relu), "FLOAT16 [-2]");
}

TEST(Infer, AnUndescribedDataAcceptsAnyShape) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {});
  x->outputs[0].has_shape = false;
  test.Return({x});
  ASSERT_EQ(Refused(test), "");
  EXPECT_EQ(Text(x), "FLOAT [-2]");
}

TEST(Infer, NamesTheNodeWhoseInputsDoNotFit) {
  TestGraph test;
  const auto a = test.Data("a", DType::kFloat, {4, 3}, 0);
  const auto b = test.Data("b", DType::kFloat, {4, 2}, 1);
  test.Return({test.Binary("add", "Add", a, b)});
  EXPECT_EQ(Refused(test).rfind("node \"add\" (Add): ", 0), 0u);
}

TEST(Infer, NamesTheInputOfAnotherType) {
  TestGraph test;
  const auto a = test.Data("a", DType::kBool, {4}, 0);
  const auto w = test.Data("w", DType::kBool, {4}, 1);
  test.Return({test.Add("mm", "MatMulV2", {{"x1", {a, 0}}, {"x2", {w, 0}}})});
  const std::string message = Refused(test);
  EXPECT_EQ(
      message.rfind("node \"mm\" (MatMulV2): input 0 (\"x1\") is BOOL, from node \"a\" (Data), and must be one of: "
                    "FLOAT, FLOAT16, ",
                    0),
      0u)
      << message;
}

TEST(Infer, AnOperatorWithoutAKernelIsRefusedByName) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {4});
  const auto node = test.Add("old", "Switch", {{"data", {x, 0}}, {"pred", {test.Data("p", DType::kBool, {}, 1), 0}}},
                             {"output_false", "output_true"});
  test.Return({node});
  const std::string message = Refused(test);
  EXPECT_NE(message.find("node \"old\" (Switch)"), std::string::npos) << message;
}

TEST(Infer, ACustomOperatorIsInferredByTheClient) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {4, 2});
  const auto mine = test.Unary("mine", "MyOperator", x);
  const auto relu = test.Unary("relu", "Relu", mine);
  test.Return({relu});
  ClientOperators clients;
  clients.knows = [](std::string_view type) { return type == "MyOperator"; };
  clients.infer = [](const ir::NodePtr& node, bool* out_inferred) {
    node->outputs[0].dtype = DType::kHalf;
    node->outputs[0].dims = {node->inputs[0].desc.dims[1]};
    node->outputs[0].has_shape = true;
    *out_inferred = true;
    return Ok();
  };
  ASSERT_EQ(Refused(test, clients), "");
  EXPECT_EQ(Text(relu), "FLOAT16 [2]");
  clients.infer = nullptr;
  EXPECT_EQ(Refused(test, clients),
            "node \"mine\" (MyOperator): the client registered the type without an infer function");
}

TEST(Infer, AShapeWhoseSizeOverflowsIsRefused) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {int64_t{1} << 40, int64_t{1} << 40});
  test.Return({test.Unary("relu", "Relu", x)});
  EXPECT_EQ(Refused(test),
            "node \"x\" (Data): output 0 of shape [1099511627776,1099511627776] has an element count that overflows");
}

TEST(Infer, AnImageFormatPropagatesUntilItsDimensionsMove) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {1, 3, 8, 8});
  x->outputs[0].format = 0;  // NCHW
  const auto relu = test.Unary("relu", "Relu", x);
  const auto perm = test.Ints("perm", {0, 2, 3, 1});
  const auto moved = test.Add("moved", "Transpose", {{"x", {relu, 0}}, {"perm", {perm, 0}}});
  const auto said = test.Unary("said", "Relu", moved);
  said->inputs[0].desc.format = 1;  // NHWC, by the client
  test.Return({said});
  ASSERT_EQ(Refused(test), "");
  EXPECT_EQ(relu->outputs[0].format, 0);
  EXPECT_EQ(moved->outputs[0].format, ir::kFormatNd);
  EXPECT_EQ(said->inputs[0].desc.format, 1);
  EXPECT_EQ(said->outputs[0].format, 1);
}

TEST(Infer, FileConstantsAndPlaceHoldersDescribeThemselves) {
  TestGraph test;
  const auto file = test.Add("file", "FileConstant");
  file->attributes["dtype"].value = DType::kHalf;
  file->attributes["shape"].value = std::vector<int64_t>{3, 4};
  const auto holder = test.Add("holder", "ConstPlaceHolder");
  holder->attributes["dtype"].value = int64_t{3};
  holder->attributes["storage_shape"].value = std::vector<int64_t>{5};
  test.Return({file, holder});
  ASSERT_EQ(Refused(test), "");
  EXPECT_EQ(Text(file), "FLOAT16 [3,4]");
  EXPECT_EQ(Text(holder), "INT32 [5]");
  file->attributes.erase("shape");
  EXPECT_EQ(Refused(test), "node \"file\" (FileConstant): attribute \"shape\" (ListInt) must be given and is missing");
}

TEST(Infer, ReferencesReturnTheirInput) {
  TestGraph test;
  const auto variable = test.Add("v", "Variable");
  variable->outputs[0].dims = {2, 2};
  variable->outputs[0].has_shape = true;
  const auto x = test.Data("x", DType::kFloat, {2, 2});
  const auto assign = test.Add("assign", "Assign", {{"ref", {variable, 0}}, {"value", {x, 0}}}, {"ref"});
  test.Return({assign});
  ASSERT_EQ(Refused(test), "");
  EXPECT_EQ(Text(assign), "FLOAT [2,2]");
}

struct IfGraph {
  TestGraph test;
  TestGraph then_branch{"then"};
  TestGraph else_branch{"else"};
  ir::NodePtr cond = test.Data("cond", DType::kBool, {}, 0);
  ir::NodePtr x = test.Data("x", DType::kFloat, {2, 8}, 1);
  ir::NodePtr node = test.Add("if", "If", {{"cond", {cond, 0}}, {"input0", {x, 0}}}, {"output0"});
  ir::NodePtr a = then_branch.Data("a", DType::kFloat, {}, 0);
  ir::NodePtr b = else_branch.Data("b", DType::kFloat, {}, 0);

  IfGraph() {
    node->subgraphs = {{"then_branch", "then"}, {"else_branch", "else"}};
    test.Return({node});
  }
  void Finish(const ir::NodePtr& then_output, const ir::NodePtr& else_output) {
    then_branch.Return({then_output});
    else_branch.Return({else_output});
    TestGraph::Expect(test.graph->AddSubgraph(then_branch.graph));
    TestGraph::Expect(test.graph->AddSubgraph(else_branch.graph));
  }
};

TEST(Infer, BranchesThatAgreeGiveTheirShape) {
  IfGraph one;
  one.Finish(one.then_branch.Unary("relu", "Relu", one.a), one.b);
  ASSERT_EQ(Refused(one.test), "");
  EXPECT_EQ(Text(one.node), "FLOAT [2,8]");
  EXPECT_EQ(Text(one.a), "FLOAT [2,8]");
}

TEST(Infer, DimensionsInWhichBranchesDifferAreUnknown) {
  IfGraph one;
  const auto shape = one.then_branch.Ints("shape", {4, 4});
  one.Finish(one.then_branch.Add("r", "Reshape", {{"x", {one.a, 0}}, {"shape", {shape, 0}}}), one.b);
  ASSERT_EQ(Refused(one.test), "");
  EXPECT_EQ(Text(one.node), "FLOAT [-1,-1]");
}

TEST(Infer, RanksInWhichBranchesDifferAreUnknown) {
  IfGraph one;
  const auto shape = one.then_branch.Ints("shape", {16});
  one.Finish(one.then_branch.Add("r", "Reshape", {{"x", {one.a, 0}}, {"shape", {shape, 0}}}), one.b);
  ASSERT_EQ(Refused(one.test), "");
  EXPECT_EQ(Text(one.node), "FLOAT [-2]");
}

TEST(Infer, AConstantDecidesShapesWithinABranchToo) {
  IfGraph one;
  const auto shape = one.test.Ints("shape", {4, 4});
  one.node->inputs.emplace_back();
  one.node->inputs.back().desc.name = "input1";
  TestGraph::Expect(one.node->Connect(2, shape, 0));
  const auto s = one.then_branch.Data("s", DType::kInt64, {2}, 1);
  const auto r = one.then_branch.Add("r", "Reshape", {{"x", {one.a, 0}}, {"shape", {s, 0}}});
  one.Finish(r, one.b);
  ASSERT_EQ(Refused(one.test), "");
  EXPECT_EQ(Text(r), "FLOAT [4,4]");
}

TEST(Infer, BranchesMustAgreeOnTheType) {
  IfGraph one;
  const auto cast = one.then_branch.Unary("cast", "Cast", one.a);
  cast->attributes["dst_type"].value = int64_t{1};
  one.Finish(cast, one.b);
  EXPECT_EQ(Refused(one.test),
            "node \"if\" (If): output 0 is FLOAT16 in subgraph \"then_branch\" and FLOAT in subgraph \"else_branch\"; "
            "they must agree");
}

struct LoopGraph {
  TestGraph test;
  TestGraph cond{"cond"};
  TestGraph body{"body"};
  ir::NodePtr x = test.Data("x", DType::kFloat, {2, 8});
  ir::NodePtr loop = test.Add("loop", "While", {{"input0", {x, 0}}}, {"output0"});
  ir::NodePtr b = body.Data("b", DType::kFloat, {});

  LoopGraph() {
    loop->subgraphs = {{"cond", "cond"}, {"body", "body"}};
    test.Return({loop});
    cond.Return({cond.Data("c", DType::kFloat, {})});
  }
  void Finish(const ir::NodePtr& output) {
    body.Return({output});
    TestGraph::Expect(test.graph->AddSubgraph(cond.graph));
    TestGraph::Expect(test.graph->AddSubgraph(body.graph));
  }
};

TEST(Infer, ALoopThatKeepsItsShapesKeepsThemKnown) {
  LoopGraph one;
  one.Finish(one.body.Unary("relu", "Relu", one.b));
  ASSERT_EQ(Refused(one.test), "");
  EXPECT_EQ(Text(one.loop), "FLOAT [2,8]");
  EXPECT_EQ(Text(one.body.graph->outputs[0].node), "FLOAT [2,8]");
}

TEST(Infer, ADimensionThatAnIterationChangesIsUnknown) {
  LoopGraph one;
  const auto axis = one.body.Ints("axis", {0});
  const auto twice =
      one.body.Add("twice", "ConcatV2", {{"x0", {one.b, 0}}, {"x1", {one.b, 0}}, {"concat_dim", {axis, 0}}});
  one.Finish(twice);
  ASSERT_EQ(Refused(one.test), "");
  EXPECT_EQ(Text(one.loop), "FLOAT [-1,8]");
  EXPECT_EQ(Text(one.b), "FLOAT [-1,8]");
}

TEST(Infer, LoopCarriedValuesKeepTheirType) {
  LoopGraph one;
  const auto cast = one.body.Unary("cast", "Cast", one.b);
  cast->attributes["dst_type"].value = int64_t{1};
  one.Finish(cast);
  EXPECT_EQ(Refused(one.test),
            "node \"loop\" (While): input 0 is FLOAT, and its body gives FLOAT16 for the next round; they must agree");
}

TEST(InferNode, ReportsWhichInputsValuesItNeedsAndUsesThem) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {4, 6}, 0);
  const auto shape = test.Data("shape", DType::kInt64, {2}, 1);
  const auto reshape = test.Add("reshape", "Reshape", {{"x", {x, 0}}, {"shape", {shape, 0}}});
  test.Return({reshape});
  TestGraph::Expect(Verify(test.graph.get(), {}));
  const NodeDoor door = DoorOf(*reshape);
  std::vector<InferInput> inputs = {{DType::kFloat, {4, 6}}, {DType::kInt64, {2}}};
  InferResult result;
  TestGraph::Expect(InferNode(*reshape, door, inputs, nullptr, &result));
  EXPECT_EQ(result.needed_input, 1);
  EXPECT_EQ(result.outputs[0].dtype, DType::kFloat);
  const int64_t values[] = {3, 8};
  inputs[1].values = values;
  TestGraph::Expect(InferNode(*reshape, door, inputs, nullptr, &result));
  EXPECT_EQ(result.needed_input, -1);
  EXPECT_EQ(result.outputs[0].dims, (ir::Dims{3, 8}));
}

}  // namespace
}  // namespace millpond::passes

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/optimize.h"
#include "src/graph/passes/rewrite.h"
#include "src/graph/passes/test_graph.h"
#include "src/graph/passes/verify.h"

namespace millpond::passes {
namespace {

using Names = std::vector<std::string>;

// call(x, z) = relu(x) + z and x
struct CallGraph {
  TestGraph test;
  TestGraph body{"body"};
  ir::NodePtr x = test.Data("x", DType::kFloat, {2}, 0);
  ir::NodePtr z = test.Data("z", DType::kFloat, {2}, 1);
  ir::NodePtr call =
      test.Add("call", "PartitionedCall", {{"args0", {x, 0}}, {"args1", {z, 0}}}, {"output0", "output1"});

  CallGraph() {
    call->subgraphs = {{"f", "body"}};
    const auto a = body.Data("a", DType::kFloat, {2}, 0);
    const auto b = body.Data("b", DType::kFloat, {2}, 1);
    body.Return({body.Binary("add", "Add", body.Unary("relu", "Relu", a), b), a});
    TestGraph::Expect(test.graph->AddSubgraph(body.graph));
    test.graph->outputs = {{call, 0}, {call, 1}};
  }
};

bool Inlined(const TestGraph& test) { return Changes(test, InlineCalls); }

TEST(InlineCalls, TheBodysNodesReplaceTheCall) {
  CallGraph one;
  ASSERT_TRUE(Inlined(one.test));
  EXPECT_EQ(one.test.Names(), (Names{"x", "z", "call/relu", "call/add"}));
  const ir::NodePtr add = one.test.graph->FindNode("call/add");
  EXPECT_EQ(add->inputs[1].source, one.z);
  EXPECT_EQ(add->inputs[0].source->inputs[0].source, one.x);
  EXPECT_EQ(one.test.graph->outputs[0].node, add);
  EXPECT_EQ(one.test.graph->outputs[1].node, one.x);
  EXPECT_TRUE(one.test.graph->subgraphs().empty());
}

TEST(InlineCalls, OrderIsKept) {
  CallGraph one;
  const auto first = one.test.Unary("first", "Relu", one.x);
  const auto last = one.test.Unary("last", "Relu", one.x);
  one.call->AddControl(first);
  last->AddControl(one.call);
  one.test.Return({last});
  ASSERT_TRUE(Inlined(one.test));
  EXPECT_EQ(one.test.graph->FindNode("call/relu")->controls, std::vector<ir::NodePtr>{first});
  EXPECT_EQ(last->controls, std::vector<ir::NodePtr>{one.test.graph->FindNode("call/add")});
}

TEST(InlineCalls, NestedCallsAreInlinedToo) {
  CallGraph one;
  TestGraph outer("outer");
  const auto x = outer.Data("ox", DType::kFloat, {2}, 0);
  const auto call = outer.Add("twice", "PartitionedCall", {{"args0", {x, 0}}}, {"output0"});
  call->subgraphs = {{"f", "middle"}};
  TestGraph middle("middle");
  const auto m = middle.Data("m", DType::kFloat, {2}, 0);
  const auto inner =
      middle.Add("inner", "PartitionedCall", {{"args0", {m, 0}}, {"args1", {m, 0}}}, {"output0", "output1"});
  inner->subgraphs = {{"f", "body"}};
  middle.Return({inner});
  outer.Return({call});
  one.test.graph->RemoveSubgraph("body");
  TestGraph::Expect(outer.graph->AddSubgraph(middle.graph));
  TestGraph::Expect(outer.graph->AddSubgraph(one.body.graph));
  ASSERT_TRUE(Inlined(outer));
  EXPECT_EQ(outer.Names(), (Names{"ox", "twice/inner/relu", "twice/inner/add"}));
  EXPECT_TRUE(outer.graph->subgraphs().empty());
}

// If(cond, x): relu(x) or abs(x).
// A branch of one node, which reads the branch's input.
void AddBranch(const TestGraph& test, const char* graph, const char* node, const char* type) {
  TestGraph branch(graph);
  branch.Return({branch.Unary(node, type, branch.Data("a", DType::kFloat, {2}))});
  TestGraph::Expect(test.graph->AddSubgraph(branch.graph));
}

struct IfGraph {
  TestGraph test;
  ir::NodePtr x = test.Data("x", DType::kFloat, {2}, 0);
  ir::NodePtr node;

  explicit IfGraph(const std::function<ir::NodePtr(TestGraph*)>& condition) {
    const ir::NodePtr cond = condition(&test);
    node = test.Add("if", "If", {{"cond", {cond, 0}}, {"input0", {x, 0}}}, {"output0"});
    node->subgraphs = {{"then_branch", "then"}, {"else_branch", "else"}};
    AddBranch(test, "then", "relu", "Relu");
    AddBranch(test, "else", "abs", "Abs");
    test.Return({node});
  }

  std::string Chosen() {
    const bool changed = Changes(test, ChooseBranches);
    return changed ? test.graph->outputs[0].node->name : "";
  }
};

TEST(ChooseBranches, AConstantConditionChoosesOne) {
  const auto chosen = [](bool value) {
    return IfGraph([=](TestGraph* test) {
             return test->Const<uint8_t>("cond", DType::kBool, {}, {static_cast<uint8_t>(value)});
           })
        .Chosen();
  };
  EXPECT_EQ(chosen(true), "if/relu");
  EXPECT_EQ(chosen(false), "if/abs");
}

TEST(ChooseBranches, ARunTimeConditionStays) {
  EXPECT_EQ(IfGraph([](TestGraph* test) { return test->Data("cond", DType::kBool, {}, 1); }).Chosen(), "");
}

// As GE defines conditions: a numeric scalar is true when nonzero, any other tensor when it has elements.
TEST(ChooseBranches, TrueMeansNonzeroOrNotEmpty) {
  const auto truth = [](DType dtype, ir::Dims dims, const auto& values) {
    ir::Tensor tensor;
    tensor.desc.dtype = dtype;
    tensor.desc.dims = std::move(dims);
    tensor.data = ir::Bytes::Copy(values.data(), values.size() * sizeof(values[0]));
    return TruthOf(tensor);
  };
  EXPECT_EQ(truth(DType::kFloat, {}, std::vector<float>{-0.0f}), false);
  EXPECT_EQ(truth(DType::kFloat, {}, std::vector<float>{0.5f}), true);
  EXPECT_EQ(truth(DType::kInt32, {}, std::vector<int32_t>{1 << 31}), true);
  EXPECT_EQ(truth(DType::kInt32, {1}, std::vector<int32_t>{0}), true);
  EXPECT_EQ(truth(DType::kInt32, {0, 4}, std::vector<int32_t>{}), false);
  EXPECT_EQ(truth(DType::kString, {}, std::vector<char>{'a'}), std::nullopt);
}

TEST(ChooseBranches, ACaseIndexPastTheEndRunsTheLastBranch) {
  for (const auto& [index, expected] : std::vector<std::pair<int32_t, std::string>>{
           {0, "case/relu"}, {1, "case/abs"}, {7, "case/abs"}, {-1, "case/abs"}}) {
    TestGraph test;
    const auto x = test.Data("x", DType::kFloat, {2});
    const auto which = test.Const<int32_t>("which", DType::kInt32, {}, {index});
    const auto node = test.Add("case", "Case", {{"branch_index", {which, 0}}, {"input0", {x, 0}}}, {"output0"});
    node->subgraphs = {{"branches0", "first"}, {"branches1", "second"}};
    AddBranch(test, "first", "relu", "Relu");
    AddBranch(test, "second", "abs", "Abs");
    test.Return({node});
    Changes(test, ChooseBranches);
    EXPECT_EQ(test.graph->outputs[0].node->name, expected) << index;
  }
}

TEST(Optimize, PassesRunInTheirOrderAndEachIsDumped) {
  CallGraph one;
  Names dumped;
  PassEnvironment environment;
  environment.dump = [&](const ir::Graph& graph, std::string_view pass) {
    EXPECT_EQ(graph.name, "g");
    dumped.emplace_back(pass);
  };
  TestGraph::Expect(Optimize(one.test.graph.get(), {}, environment));
  EXPECT_EQ(dumped, (Names{"verify", "dead", "inline", "infer", "identities", "deduplicate", "composites", "conv",
                           "matmul", "attention", "layout", "transposes", "elementwise", "prepack", "final"}));
}

TEST(Optimize, AConditionFoundByFoldingChoosesItsBranch) {
  IfGraph one([](TestGraph* test) { return test->Unary("rank", "Rank", test->Data("any", DType::kFloat, {-1}, 1)); });
  TestGraph::Expect(Optimize(one.test.graph.get(), {}, {}));
  EXPECT_EQ(one.test.Names(), (Names{"x", "any", "if/relu"}));
  EXPECT_TRUE(one.test.graph->subgraphs().empty());
  EXPECT_EQ(one.test.graph->outputs[0].node->outputs[0].dims, ir::Dims{2});
}

TEST(Optimize, ADisabledPassLeavesTheGraphUnchanged) {
  CallGraph one;
  one.test.Unary("dead", "Relu", one.x);
  PassOptions options;
  options.remove_dead = options.inline_calls = options.deduplicate = options.remove_identities = false;
  TestGraph::Expect(Optimize(one.test.graph.get(), options, {}));
  EXPECT_EQ(one.test.Names(), (Names{"x", "z", "call", "dead"}));
  EXPECT_EQ(one.call->outputs[0].dims, ir::Dims{2});
}

TEST(Optimize, ADeadNodeWithoutAKernelIsHarmless) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto p = test.Data("p", DType::kBool, {}, 1);
  test.Add("old", "Switch", {{"data", {x, 0}}, {"pred", {p, 0}}}, {"output_false", "output_true"});
  test.Return({test.Unary("relu", "Relu", x)});
  TestGraph::Expect(Optimize(test.graph.get(), {}, {}));
  EXPECT_EQ(test.Names(), (Names{"x", "p", "relu"}));
}

}  // namespace
}  // namespace millpond::passes

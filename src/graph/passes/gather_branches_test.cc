// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/optimize.h"
#include "src/graph/passes/rewrite.h"
#include "src/graph/passes/test_graph.h"

namespace millpond::passes {
namespace {

using Names = std::vector<std::string>;

// p ? relu(x) : abs(x)
struct Choice {
  TestGraph test;
  ir::NodePtr x = test.Data("x", DType::kFloat, {2});
  ir::NodePtr side, merge;

  Choice() {
    const ir::NodePtr p = test.Data("p", DType::kBool, {}, 1);
    side = test.Add("side", "Switch", {{"data", {x, 0}}, {"pred", {p, 0}}}, {"output_false", "output_true"});
    const auto relu = test.Add("relu", "Relu", {{"x", {side, 1}}});
    const auto abs = test.Add("abs", "Abs", {{"x", {side, 0}}});
    merge = test.Add("merge", "Merge", {{"x0", {abs, 0}}, {"x1", {relu, 0}}}, {"y", "value_index"});
    test.Return({merge});
  }
};

std::vector<std::string> NodesOf(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::NodePtr& node : graph.nodes()) {
    if (KindOf(*node) == Kind::kOperator) names.push_back(node->name);
  }
  return names;
}

TEST(GatherBranches, EachSideBecomesABranch) {
  const Choice one;
  ASSERT_TRUE(Changes(one.test, GatherBranches));
  const ir::NodePtr made = one.test.graph->outputs[0].node;
  ASSERT_EQ(made->type, "If");
  EXPECT_EQ(NodesOf(*SubgraphOf(*made, "then_branch")), Names{"relu"});
  EXPECT_EQ(NodesOf(*SubgraphOf(*made, "else_branch")), Names{"abs"});
  EXPECT_EQ(one.test.Names(), (Names{"x", "p", "merge/If"}));
  TestGraph::Expect(Verify(one.test.graph.get(), {}));
}

TEST(GatherBranches, AnotherConditionIsAnotherIf) {
  Choice one;
  const auto q = one.test.Data("q", DType::kBool, {}, 2);
  const auto next =
      one.test.Add("next", "Switch", {{"data", {one.merge, 0}}, {"pred", {q, 0}}}, {"output_false", "output_true"});
  const auto neg = one.test.Add("neg", "Neg", {{"x", {next, 1}}});
  const auto last = one.test.Add("last", "Merge", {{"x0", {neg, 0}}, {"x1", {next, 0}}}, {"y", "value_index"});
  one.test.graph->outputs = {{last, 0}, {last, 1}};
  ASSERT_TRUE(Changes(one.test, GatherBranches));
  EXPECT_EQ(one.test.Names(), (Names{"x", "p", "q", "merge/If", "last/If"}));
  TestGraph::Expect(Optimize(one.test.graph.get(), {}, {}));
  EXPECT_EQ(one.test.graph->outputs[0].node->outputs[0].dims, ir::Dims{2});
  EXPECT_EQ(one.test.graph->outputs[1].node->outputs[1].dtype, DType::kInt32);
}

TEST(GatherBranches, AGraphWithoutThemStaysAsItIs) {
  TestGraph test;
  test.Return({test.Unary("relu", "Relu", test.Data("x", DType::kFloat, {2}))});
  EXPECT_FALSE(Changes(test, GatherBranches));
}

TEST(GatherBranches, AResultThatIsChangedInPlaceIsRefused) {
  Choice one;
  one.merge->type = "RefMerge";
  const auto store = one.test.Add("store", "Assign", {{"ref", {one.merge, 0}}, {"value", {one.x, 0}}}, {"ref"});
  one.test.graph->targets = {store};
  bool changed = false;
  const Status status = GatherBranches(one.test.graph.get(), &changed);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("changed in place"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace millpond::passes

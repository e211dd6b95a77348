// SPDX-License-Identifier: Apache-2.0
#include "src/graph/passes/rewrite.h"

#include <gtest/gtest.h>

#include "src/graph/passes/kinds.h"
#include "src/graph/passes/test_graph.h"
#include "src/graph/passes/verify.h"

namespace millpond::passes {
namespace {

using Names = std::vector<std::string>;

// A variable of two floats, and a node that overwrites it.
struct WithVariable {
  TestGraph test;
  ir::NodePtr variable = test.Add("v", "Variable");
  ir::NodePtr x = test.Data("x", DType::kFloat, {2});

  WithVariable() {
    variable->outputs[0].dims = {2};
    variable->outputs[0].has_shape = true;
  }
  ir::NodePtr Assign(const ir::NodePtr& reference) {
    return test.Add("assign", "Assign", {{"ref", {reference, 0}}, {"value", {x, 0}}}, {"ref"});
  }
};

TEST(RemoveDead, UnusedNodesAreRemovedAndInputsStay) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2}, 0);
  test.Data("unused", DType::kFloat, {2}, 1);
  const auto a = test.Unary("a", "Relu", x);
  test.Unary("dead2", "Relu", test.Unary("dead1", "Relu", a));
  test.Return({a});
  EXPECT_TRUE(Changes(test, RemoveDead));
  EXPECT_EQ(test.Names(), (Names{"x", "unused", "a"}));
  EXPECT_FALSE(Changes(test, RemoveDead));
}

TEST(RemoveDead, TargetsAndControlSourcesStay) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto a = test.Unary("a", "Relu", x);
  const auto first = test.Unary("first", "Relu", x);
  a->AddControl(first);
  test.graph->targets.push_back(test.Unary("target", "Relu", x));
  test.Return({a});
  EXPECT_FALSE(Changes(test, RemoveDead));
}

TEST(RemoveDead, EffectsStay) {
  WithVariable one;
  one.Assign(one.variable);
  one.test.Add("print", "Print", {{"x0", {one.x, 0}}}, {});
  one.test.Return({one.x});
  EXPECT_FALSE(Changes(one.test, RemoveDead));
}

TEST(RemoveDead, ASubgraphsEffectIsItsNodesEffect) {
  WithVariable inner;  // as the body
  inner.Assign(inner.variable);
  inner.test.graph->name = "body";
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto call = test.Add("call", "StatefulPartitionedCall", {{"args0", {x, 0}}}, {});
  call->subgraphs = {{"f", "body"}};
  TestGraph::Expect(test.graph->AddSubgraph(inner.test.graph));
  test.Return({x});
  EXPECT_FALSE(Changes(test, RemoveDead));
}

TEST(RemoveUnusedSubgraphs, OnlySubgraphsWithARunnerStay) {
  TestGraph test;
  TestGraph used("used");
  TestGraph unused("unused");
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto call = test.Add("call", "PartitionedCall", {{"args0", {x, 0}}}, {});
  call->subgraphs = {{"f", "used"}};
  TestGraph::Expect(test.graph->AddSubgraph(used.graph));
  TestGraph::Expect(test.graph->AddSubgraph(unused.graph));
  RemoveUnusedSubgraphs(test.graph.get());
  ASSERT_EQ(test.graph->subgraphs().size(), 1u);
  EXPECT_EQ(test.graph->subgraphs()[0]->name, "used");
}

TEST(RemoveIdentities, UsersReadAndWaitForTheSourceInstead) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto a = test.Unary("a", "Relu", x);
  const auto identity = test.Unary("i2", "StopGradient", test.Unary("i1", "Identity", a));
  const auto b = test.Unary("b", "Relu", identity);
  const auto waiting = test.Unary("waiting", "Relu", x);
  waiting->AddControl(identity);
  test.Return({b, identity, waiting});
  EXPECT_TRUE(Changes(test, RemoveIdentities));
  EXPECT_EQ(test.Names(), (Names{"x", "a", "b", "waiting"}));
  EXPECT_EQ(b->inputs[0].source, a);
  EXPECT_EQ(test.graph->outputs[1].node, a);
  EXPECT_EQ(waiting->controls, std::vector<ir::NodePtr>{a});
}

TEST(RemoveIdentities, ACopyOfAnOverwrittenValueStays) {
  WithVariable one;
  const auto before = one.test.Unary("before", "Identity", one.variable);
  const auto assign = one.Assign(one.variable);
  assign->AddControl(before);
  one.test.Return({before});
  EXPECT_FALSE(Changes(one.test, RemoveIdentities));
}

TEST(RemoveIdentities, ACopyThatIsOverwrittenStays) {
  WithVariable one;
  const auto copy = one.test.Unary("copy", "Identity", one.x);
  one.test.Return({one.Assign(copy), one.x});
  EXPECT_FALSE(Changes(one.test, RemoveIdentities));
}

TEST(RemoveIdentities, OneWithControlInputsStays) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto identity = test.Unary("i", "Identity", x);
  identity->AddControl(test.Unary("first", "Relu", x));
  test.Return({identity});
  EXPECT_FALSE(Changes(test, RemoveIdentities));
}

TEST(Deduplicate, NodesThatComputeTheSameBecomeOne) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto c1 = test.Ints("c1", {1, 2});
  const auto c2 = test.Ints("c2", {1, 2});
  const auto r1 = test.Add("r1", "Reshape", {{"x", {x, 0}}, {"shape", {c1, 0}}});
  const auto r2 = test.Add("r2", "Reshape", {{"x", {x, 0}}, {"shape", {c2, 0}}});
  r2->attributes["_meta"].value = std::string("a note of some tool");
  test.Return({test.Unary("a", "Relu", r1), test.Unary("b", "Relu", r2)});
  EXPECT_TRUE(Changes(test, Deduplicate));
  EXPECT_EQ(test.Names(), (Names{"x", "c1", "r1", "a"}));
  EXPECT_EQ(test.graph->outputs[1].node, test.graph->FindNode("a"));
}

TEST(Deduplicate, NodesThatDifferInAttributeInputOrValueStay) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto a = test.Unary("a", "Cast", x);
  const auto b = test.Unary("b", "Cast", x);
  a->attributes["dst_type"].value = int64_t{1};
  b->attributes["dst_type"].value = int64_t{3};
  test.Return(
      {a, b, test.Ints("c1", {1}), test.Ints("c2", {2}), test.Binary("d", "Sub", x, a), test.Binary("e", "Sub", a, x)});
  EXPECT_FALSE(Changes(test, Deduplicate));
}

TEST(Deduplicate, RandomNodesAndEffectsAreNotMerged) {
  TestGraph test;
  const auto shape = test.Ints("shape", {4});
  const auto prob = test.Const<float>("prob", DType::kFloat, {}, {0.5f});
  const std::vector<Fed> inputs = {{"shape", {shape, 0}}, {"prob", {prob, 0}}};
  test.Return({test.Add("m1", "DropOutGenMask", inputs), test.Add("m2", "DropOutGenMask", inputs)});
  test.Add("p1", "Print", {{"x0", {prob, 0}}}, {});
  test.Add("p2", "Print", {{"x0", {prob, 0}}}, {});
  EXPECT_FALSE(Changes(test, Deduplicate));
}

TEST(Deduplicate, TwoReadsOfAnOverwrittenValueAreNotMerged) {
  WithVariable one;
  const auto before = one.test.Unary("before", "Relu", one.variable);
  const auto assign = one.Assign(one.variable);
  assign->AddControl(before);
  const auto after = one.test.Unary("after", "Relu", one.variable);
  after->AddControl(assign);
  const auto other = one.test.Unary("other", "Relu", one.variable);
  other->AddControl(assign);
  one.test.Return({before, after, other});
  EXPECT_FALSE(Changes(one.test, Deduplicate));
}

TEST(Deduplicate, OverwrittenValuesAreNotShared) {
  WithVariable one;
  const auto a = one.test.Unary("a", "Relu", one.x);
  const auto b = one.test.Unary("b", "Relu", one.x);
  one.test.Return({one.Assign(a), b});
  EXPECT_FALSE(Changes(one.test, Deduplicate));
}

// Folding with an environment that returns zeros of the right shape and counts its calls.
struct Fold {
  PassOptions options;
  PassEnvironment environment;
  int runs = 0;
  Status answer = Ok();

  Fold() {
    environment.run = [this](const ir::Node& node, std::span<const ir::TensorPtr> inputs,
                             std::vector<ir::TensorPtr>* outputs) {
      ++runs;
      EXPECT_EQ(inputs.size(), node.inputs.size());
      if (!answer.ok()) return answer.Clone();
      for (const ir::TensorDesc& output : node.outputs) {
        auto tensor = std::make_shared<ir::Tensor>();
        tensor->desc = output;
        const std::vector<char> zeros(static_cast<size_t>(ir::BytesOf(output.dtype, output.dims)));
        tensor->data = ir::Bytes::Copy(zeros.data(), zeros.size());
        outputs->push_back(tensor);
      }
      return Ok();
    };
  }

  // How many nodes were folded.
  size_t operator()(const TestGraph& test) {
    TestGraph::Expect(Verify(test.graph.get(), {}));
    Folder folder(options, environment);
    InferEnvironment infer;
    infer.after_node = [&](const ir::NodePtr& node) { return folder.Fold(node); };
    TestGraph::Expect(Infer(test.graph.get(), infer));
    folder.Sweep();
    return folder.folded();
  }
};

TEST(Fold, AShapeChainBecomesKnownInOneWalk) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {4, 6});
  const auto shape = test.Unary("shape", "Shape", x);
  const auto size = test.Unary("size", "Size", x);
  const auto rank = test.Unary("rank", "Rank", x);
  const auto flat = test.Add("flat", "Reshape", {{"x", {x, 0}}, {"shape", {shape, 0}}});
  const auto again = test.Unary("again", "Shape", flat);
  test.Return({flat, again, size, rank});
  Fold fold;
  EXPECT_EQ(fold(test), 4u);
  EXPECT_EQ(fold.runs, 0);  // shapes need no kernel
  EXPECT_EQ(flat->outputs[0].dims, (ir::Dims{4, 6}));
  const ir::TensorPtr folded = ConstantOf(*test.graph->outputs[1].node);
  ASSERT_NE(folded, nullptr);
  ASSERT_EQ(folded->data.size, 8u);
  const auto* values = reinterpret_cast<const int32_t*>(folded->data.data);
  EXPECT_EQ(values[0], 4);
  EXPECT_EQ(values[1], 6);
  EXPECT_EQ(*reinterpret_cast<const int32_t*>(ConstantOf(*test.graph->outputs[2].node)->data.data), 24);
  EXPECT_EQ(*reinterpret_cast<const int32_t*>(ConstantOf(*test.graph->outputs[3].node)->data.data), 2);
  EXPECT_EQ(test.graph->FindNode("shape"), nullptr);
}

TEST(Fold, AnUnknownShapeStaysAndAKnownRankIsFolded) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {4, -1});
  const auto shape = test.Unary("shape", "Shape", x);
  test.Return({shape, test.Unary("rank", "Rank", x)});
  Fold fold;
  EXPECT_EQ(fold(test), 1u);
  EXPECT_EQ(test.graph->outputs[0].node, shape);
}

TEST(Fold, OperatorsOnConstantsRunOnce) {
  TestGraph test;
  const auto a = test.Const<float>("a", DType::kFloat, {2}, {1, 2});
  const auto b = test.Unary("b", "Relu", a);
  const auto c = test.Binary("c", "Add", b, a);
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto d = test.Binary("d", "Add", c, x);
  test.Return({d});
  Fold fold;
  EXPECT_EQ(fold(test), 2u);
  EXPECT_EQ(fold.runs, 2);
  EXPECT_EQ(d->inputs[0].source->type, "Const");
}

TEST(Fold, ANodeThatFailsToRunStays) {
  TestGraph test;
  test.Return({test.Unary("b", "Relu", test.Const<float>("a", DType::kFloat, {2}, {1, 2}))});
  Fold fold;
  fold.answer = Unsupported("no");
  EXPECT_EQ(fold(test), 0u);
  EXPECT_EQ(fold.runs, 1);
}

TEST(Fold, NothingIsFoldedWhenDisabled) {
  TestGraph test;
  test.Return({test.Unary("b", "Relu", test.Const<float>("a", DType::kFloat, {2}, {1, 2}))});
  Fold fold;
  fold.options.fold = false;
  EXPECT_EQ(fold(test), 0u);
}

TEST(Fold, ALargeResultOfSmallInputsStays) {
  TestGraph test;
  const auto value = test.Const<float>("value", DType::kFloat, {}, {1});
  const auto small = test.Add("small", "Fill", {{"dims", {test.Ints("d1", {64}), 0}}, {"value", {value, 0}}});
  const auto large = test.Add("large", "Fill", {{"dims", {test.Ints("d2", {1 << 20}), 0}}, {"value", {value, 0}}});
  test.Return({small, large});
  Fold fold;
  EXPECT_EQ(fold(test), 1u);
  EXPECT_EQ(test.graph->outputs[1].node, large);
}

TEST(Fold, ConstantsTakeNoMoreThanTheBound) {
  TestGraph test;
  const std::vector<float> values(1024);
  const auto a = test.Const<float>("a", DType::kFloat, {1024}, values);
  test.Return({test.Unary("b", "Relu", a), test.Unary("c", "Abs", a)});
  Fold fold;
  fold.options.fold_bytes = 6000;
  EXPECT_EQ(fold(test), 1u);
}

TEST(Fold, RandomNodesEffectsAndOverwrittenValuesStay) {
  WithVariable one;
  const auto a = one.test.Const<float>("a", DType::kFloat, {2}, {1, 2});
  const auto b = one.test.Unary("b", "Relu", a);
  const auto waits = one.test.Unary("waits", "Relu", a);
  waits->AddControl(one.test.Unary("first", "Abs", one.x));
  one.test.Return({one.Assign(b), waits});
  Fold fold;
  EXPECT_EQ(fold(one.test), 0u);
}

// tests/mutation/graph_fold_changed.patch: who reads a constant after its writer must see what was written.
TEST(Fold, WhatReadsAConstantThatANodeWritesToStays) {
  WithVariable one;
  const auto a = one.test.Const<float>("a", DType::kFloat, {2}, {1, 2});
  one.test.Return({one.Assign(a), one.test.Unary("b", "Relu", a)});
  Fold fold;
  EXPECT_EQ(fold(one.test), 0u);
  EXPECT_EQ(fold.runs, 0);
}

}  // namespace
}  // namespace millpond::passes

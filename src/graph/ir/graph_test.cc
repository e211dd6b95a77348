// SPDX-License-Identifier: Apache-2.0
#include "src/graph/ir/graph.h"

#include <gtest/gtest.h>

#include <chrono>

namespace millpond::ir {
namespace {

NodePtr Make(const std::string& name, size_t inputs = 1, size_t outputs = 1) {
  auto node = std::make_shared<Node>(name, "Add");
  node->inputs.resize(inputs);
  node->outputs.resize(outputs);
  for (size_t i = 0; i < inputs; ++i) node->inputs[i].desc.name = "x" + std::to_string(i);
  for (size_t i = 0; i < outputs; ++i) node->outputs[i].name = "y" + std::to_string(i);
  return node;
}

NodePtr AddTo(Graph* graph, const std::string& name, size_t inputs = 1, size_t outputs = 1) {
  NodePtr node = Make(name, inputs, outputs);
  EXPECT_TRUE(graph->AddNode(node).ok());
  return node;
}

std::vector<std::string> Names(std::span<const NodePtr> nodes) {
  std::vector<std::string> names;
  for (const NodePtr& node : nodes) names.push_back(node->name);
  return names;
}
using Strings = std::vector<std::string>;

void ExpectRefused(const Status& status, const char* text) {
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
}

TEST(Node, ConnectRecordsTheUserAtTheSource) {
  const NodePtr source = Make("a");
  const NodePtr user = Make("b");
  ASSERT_TRUE(user->Connect(0, source, 0).ok());
  EXPECT_EQ(user->inputs[0].source, source);
  EXPECT_EQ(Names(source->Users()), Strings{"b"});
}

TEST(Node, ConnectRefusesWhatDoesNotExist) {
  const NodePtr source = Make("a");
  const NodePtr user = Make("b");
  ExpectRefused(user->Connect(1, source, 0), "has 1 inputs");
  ExpectRefused(user->Connect(0, nullptr, 0), "null");
  ExpectRefused(user->Connect(0, source, 1), "asks for output 1 of \"a\"");
  ExpectRefused(user->Connect(0, source, -1), "asks for output -1");
  ExpectRefused(user->Connect(0, user, 0), "own output");
  EXPECT_EQ(user->inputs[0].source, nullptr);
  EXPECT_TRUE(source->Users().empty());
}

TEST(Node, ConnectRefusesAnEdgeBetweenTwoGraphs) {
  const auto one = std::make_shared<Graph>("one");
  const auto two = std::make_shared<Graph>("two");
  const NodePtr source = AddTo(one.get(), "a");
  const NodePtr user = AddTo(two.get(), "b");
  ExpectRefused(user->Connect(0, source, 0), "within one graph");
}

TEST(Node, ConnectAgainMovesTheEdge) {
  const NodePtr first = Make("first");
  const NodePtr second = Make("second", 1, 2);
  const NodePtr user = Make("b");
  ASSERT_TRUE(user->Connect(0, first, 0).ok());
  ASSERT_TRUE(user->Connect(0, second, 0).ok());
  EXPECT_TRUE(first->Users().empty());
  // The reference that Disconnect resets in the process.
  ASSERT_TRUE(user->Connect(0, user->inputs[0].source, 1).ok());
  EXPECT_EQ(user->inputs[0].source, second);
  EXPECT_EQ(user->inputs[0].index, 1);
  EXPECT_EQ(Names(second->Users()), Strings{"b"});
}

TEST(Node, UsersAreListedOnceInConnectionOrder) {
  const NodePtr source = Make("a");
  const NodePtr twice = Make("twice", 2);
  const NodePtr once = Make("once");
  ASSERT_TRUE(twice->Connect(0, source, 0).ok());
  ASSERT_TRUE(once->Connect(0, source, 0).ok());
  ASSERT_TRUE(twice->Connect(1, source, 0).ok());
  twice->AddControl(source);
  EXPECT_EQ(Names(source->Users()), (Strings{"twice", "once"}));
  twice->Disconnect(0);
  twice->Disconnect(1);
  EXPECT_EQ(Names(source->Users()), (Strings{"once", "twice"})) << "it still waits for it";
  twice->RemoveControl(source.get());
  EXPECT_EQ(Names(source->Users()), Strings{"once"});
}

TEST(Node, ADeadUserIsNotListed) {
  const NodePtr source = Make("a");
  for (int round = 0; round < 100; ++round) {
    const NodePtr user = Make("b");
    ASSERT_TRUE(user->Connect(0, source, 0).ok());
  }
  EXPECT_TRUE(source->Users().empty());
}

TEST(Node, ControlsAreKeptOnceAndNeverOnItself) {
  const NodePtr source = Make("a");
  const NodePtr user = Make("b");
  user->AddControl(source);
  user->AddControl(source);
  user->AddControl(user);
  user->AddControl(nullptr);
  EXPECT_EQ(Names(user->controls), Strings{"a"});
}

TEST(Node, AControlEdgeNextToADataEdgeIsSeparate) {
  const NodePtr source = Make("a");
  const NodePtr user = Make("b", 3);
  for (int i = 0; i < 5; ++i) user->AddControl(Make("other" + std::to_string(i)));
  ASSERT_TRUE(user->Connect(0, source, 0).ok());
  user->AddControl(source);
  user->AddControl(source);
  EXPECT_EQ(user->controls.size(), 6u);
}

TEST(Node, FindsOperandsAndAttributesByName) {
  const NodePtr node = Make("a", 2, 2);
  node->attributes["axis"] = Attr{int64_t{1}};
  EXPECT_EQ(node->FindInput("x1"), 1);
  EXPECT_EQ(node->FindInput("y"), -1);
  EXPECT_EQ(node->FindOutput("y0"), 0);
  EXPECT_EQ(node->FindOutput("x"), -1);
  EXPECT_EQ(*node->FindAttr("axis")->As<int64_t>(), 1);
  EXPECT_EQ(node->FindAttr("dim"), nullptr);
}

TEST(Node, SourceLivesWhileItsUserDoes) {
  const NodePtr user = Make("b");
  {
    const NodePtr source = Make("a");
    ASSERT_TRUE(user->Connect(0, source, 0).ok());
  }
  EXPECT_EQ(user->inputs[0].source->name, "a");
}

TEST(Graph, AddNodeRefusesATakenNameAndANodeOfAnotherGraph) {
  const auto graph = std::make_shared<Graph>("g");
  const NodePtr node = AddTo(graph.get(), "a");
  EXPECT_TRUE(graph->AddNode(node).ok()) << "twice is once";
  EXPECT_EQ(graph->nodes().size(), 1u);
  ExpectRefused(graph->AddNode(Make("a")), "has that name");
  ExpectRefused(graph->AddNode(nullptr), "null");
  const auto other = std::make_shared<Graph>("h");
  ExpectRefused(other->AddNode(node), "in graph \"g\" already");
  EXPECT_EQ(node->graph(), graph.get());
}

TEST(Graph, RemoveNodeUnlinksItFromBothSides) {
  const auto graph = std::make_shared<Graph>("g");
  const NodePtr source = AddTo(graph.get(), "a");
  const NodePtr middle = AddTo(graph.get(), "b");
  const NodePtr user = AddTo(graph.get(), "c", 2);
  ASSERT_TRUE(middle->Connect(0, source, 0).ok());
  ASSERT_TRUE(user->Connect(1, middle, 0).ok());
  user->AddControl(middle);
  graph->inputs = {middle};
  graph->outputs = {{user, 0}, {middle, 0}};
  graph->targets = {middle};
  graph->RemoveNode(middle);
  EXPECT_EQ(Names(graph->nodes()), (Strings{"a", "c"}));
  EXPECT_EQ(graph->FindNode("b"), nullptr);
  EXPECT_EQ(middle->graph(), nullptr);
  EXPECT_TRUE(source->Users().empty());
  EXPECT_EQ(user->inputs[1].source, nullptr);
  EXPECT_TRUE(user->controls.empty());
  EXPECT_TRUE(graph->inputs.empty());
  EXPECT_TRUE(graph->targets.empty());
  EXPECT_EQ(graph->outputs.size(), 1u);
  EXPECT_TRUE(graph->AddNode(Make("b")).ok()) << "the name is free again";
}

TEST(Graph, RemoveNodesAcceptsTheGraphsOwnNodeList) {
  const auto graph = std::make_shared<Graph>("g");
  const NodePtr a = AddTo(graph.get(), "a");
  ASSERT_TRUE(AddTo(graph.get(), "b")->Connect(0, a, 0).ok());
  graph->RemoveNodes(graph->nodes());
  EXPECT_TRUE(graph->nodes().empty());
}

TEST(Graph, RenameNodeUpdatesTheIndex) {
  const auto graph = std::make_shared<Graph>("g");
  const NodePtr node = AddTo(graph.get(), "a");
  AddTo(graph.get(), "b");
  ExpectRefused(graph->RenameNode(node, "b"), "has that name");
  ASSERT_TRUE(graph->RenameNode(node, "c").ok());
  EXPECT_EQ(graph->FindNode("a"), nullptr);
  EXPECT_EQ(graph->FindNode("c"), node);
  ExpectRefused(graph->RenameNode(Make("z"), "y"), "not in it");
}

TEST(Graph, SortedPutsSourcesFirstAndIsOtherwiseStable) {
  const auto graph = std::make_shared<Graph>("g");
  const NodePtr last = AddTo(graph.get(), "last", 2);
  const NodePtr free_one = AddTo(graph.get(), "free");
  const NodePtr b = AddTo(graph.get(), "b");
  const NodePtr a = AddTo(graph.get(), "a");
  ASSERT_TRUE(last->Connect(0, b, 0).ok());
  ASSERT_TRUE(last->Connect(1, a, 0).ok());
  b->AddControl(a);
  std::vector<NodePtr> order;
  ASSERT_TRUE(graph->Sorted(&order).ok());
  EXPECT_EQ(Names(order), (Strings{"free", "a", "b", "last"}));
}

TEST(Graph, SortedNamesTheCycle) {
  const auto graph = std::make_shared<Graph>("g");
  const NodePtr outside = AddTo(graph.get(), "outside");
  const NodePtr a = AddTo(graph.get(), "a", 2);
  const NodePtr b = AddTo(graph.get(), "b");
  const NodePtr c = AddTo(graph.get(), "c");
  ASSERT_TRUE(a->Connect(0, outside, 0).ok());
  ASSERT_TRUE(b->Connect(0, a, 0).ok());
  ASSERT_TRUE(c->Connect(0, b, 0).ok());
  a->AddControl(c);
  std::vector<NodePtr> order;
  const Status status = graph->Sorted(&order);
  ExpectRefused(status, "\"a\" -> \"b\" -> \"c\" -> \"a\"");
  EXPECT_EQ(status.message().find("outside"), std::string::npos);
}

TEST(Graph, SortedNamesASourceOutsideTheGraph) {
  const auto graph = std::make_shared<Graph>("g");
  ASSERT_TRUE(AddTo(graph.get(), "b")->Connect(0, Make("stray"), 0).ok());
  std::vector<NodePtr> order;
  ExpectRefused(graph->Sorted(&order), "\"stray\"");
}

TEST(Graph, SubgraphsLiveInTheRoot) {
  const auto root = std::make_shared<Graph>("root");
  const auto outer = std::make_shared<Graph>("outer");
  const auto inner = std::make_shared<Graph>("inner");
  ASSERT_TRUE(outer->AddSubgraph(inner).ok());
  ASSERT_TRUE(root->AddSubgraph(outer).ok());
  EXPECT_EQ(root->subgraphs().size(), 2u);
  EXPECT_EQ(inner->parent(), root.get());
  EXPECT_EQ(outer->FindSubgraph("inner"), inner) << "asked of a subgraph, the root answers";
  ExpectRefused(root->AddSubgraph(std::make_shared<Graph>("inner")), "has that name");
  ExpectRefused(root->AddSubgraph(root), "own subgraph");
  ExpectRefused(std::make_shared<Graph>("x")->AddSubgraph(inner), "belongs to graph \"root\"");
  root->RemoveSubgraph("inner");
  EXPECT_EQ(inner->parent(), nullptr);
  EXPECT_EQ(root->FindSubgraph("inner"), nullptr);
}

TEST(Graph, SubgraphOutlivesItsRoot) {
  const auto subgraph = std::make_shared<Graph>("sub");
  {
    const auto root = std::make_shared<Graph>("root");
    ASSERT_TRUE(root->AddSubgraph(subgraph).ok());
  }
  EXPECT_EQ(subgraph->parent(), nullptr);
}

NodePtr Runner(Graph* graph, const std::string& name, const std::string& subgraph) {
  NodePtr node = AddTo(graph, name, 0, 0);
  node->subgraphs = {{"f", subgraph}};
  return node;
}

TEST(Graph, CheckSubgraphsAcceptsATree) {
  const auto root = std::make_shared<Graph>("root");
  const auto outer = std::make_shared<Graph>("outer");
  ASSERT_TRUE(root->AddSubgraph(outer).ok());
  ASSERT_TRUE(root->AddSubgraph(std::make_shared<Graph>("inner")).ok());
  Runner(root.get(), "a", "outer");
  Runner(outer.get(), "b", "inner");
  EXPECT_TRUE(root->CheckSubgraphs().ok());
}

TEST(Graph, CheckSubgraphsNamesMissingSharedAndRecursiveOnes) {
  const auto root = std::make_shared<Graph>("root");
  const NodePtr first = Runner(root.get(), "a", "sub");
  ExpectRefused(root->CheckSubgraphs(), "runs subgraph \"sub\", which is not there");
  const auto sub = std::make_shared<Graph>("sub");
  ASSERT_TRUE(root->AddSubgraph(sub).ok());
  EXPECT_TRUE(root->CheckSubgraphs().ok());
  const NodePtr second = Runner(root.get(), "b", "sub");
  ExpectRefused(root->CheckSubgraphs(), "by node \"a\" (Add) and by node \"b\" (Add)");
  root->RemoveNode(second);
  Runner(sub.get(), "c", "sub");
  ExpectRefused(root->CheckSubgraphs(), "copy of its own");
  root->RemoveNode(first);
  // Nothing else runs it now, but it runs itself.
  ExpectRefused(root->CheckSubgraphs(), "copy of its own");
}

TEST(Graph, CloneIsDeep) {
  const auto graph = std::make_shared<Graph>("g");
  graph->attributes["mode"] = Attr{int64_t{3}};
  graph->valid = true;
  const NodePtr data = AddTo(graph.get(), "data");
  const NodePtr other = AddTo(graph.get(), "other", 2, 2);
  ASSERT_TRUE(other->Connect(1, data, 0).ok());
  other->AddControl(data);
  other->subgraphs = {{"body", "sub"}};
  other->outputs[0].attributes = std::make_shared<Attributes>(Attributes{{"k", Attr{true}}});
  graph->inputs = {data};
  graph->outputs = {{other, 1}};
  graph->targets = {other};
  const auto subgraph = std::make_shared<Graph>("sub");
  AddTo(subgraph.get(), "inside");
  ASSERT_TRUE(graph->AddSubgraph(subgraph).ok());

  const GraphPtr clone = graph->Clone();
  EXPECT_EQ(clone->name, "g");
  EXPECT_TRUE(clone->valid);
  EXPECT_TRUE(Same(clone->attributes, graph->attributes));
  ASSERT_EQ(Names(clone->nodes()), (Strings{"data", "other"}));
  const NodePtr copy = clone->FindNode("other");
  EXPECT_NE(copy, other);
  EXPECT_EQ(copy->graph(), clone.get());
  EXPECT_EQ(copy->inputs[0].source, nullptr);
  EXPECT_EQ(copy->inputs[1].source, clone->FindNode("data"));
  EXPECT_EQ(copy->controls[0], clone->FindNode("data"));
  EXPECT_EQ(Names(clone->FindNode("data")->Users()), Strings{"other"});
  EXPECT_NE(copy->outputs[0].attributes, other->outputs[0].attributes);
  EXPECT_EQ(copy->subgraphs[0].graph, "sub");
  EXPECT_EQ(clone->inputs[0], clone->FindNode("data"));
  EXPECT_EQ(clone->outputs[0].node, copy);
  EXPECT_EQ(clone->outputs[0].index, 1);
  EXPECT_EQ(clone->targets[0], copy);
  ASSERT_EQ(clone->subgraphs().size(), 1u);
  EXPECT_NE(clone->subgraphs()[0], subgraph);
  EXPECT_EQ(clone->subgraphs()[0]->parent(), clone.get());
  EXPECT_NE(clone->FindSubgraph("sub")->FindNode("inside"), nullptr);
}

TEST(Graph, CloneCopiesGraphsInAttributesEvenOneThatContainsItself) {
  const auto graph = std::make_shared<Graph>("g");
  const auto held = std::make_shared<Graph>("held");
  held->attributes["again"] = Attr{std::vector<GraphPtr>{held}};
  graph->attributes["held"] = Attr{held};
  const GraphPtr clone = graph->Clone();
  const GraphPtr copy = *clone->attributes["held"].As<GraphPtr>();
  EXPECT_NE(copy, held);
  EXPECT_EQ((*copy->attributes["again"].As<std::vector<GraphPtr>>())[0], copy);
  copy->attributes.clear();
  held->attributes.clear();  // otherwise each would keep itself alive forever
}

TEST(Graph, CloneSharesConstantBytes) {
  const auto graph = std::make_shared<Graph>("g");
  const auto tensor = std::make_shared<const Tensor>(Tensor{{}, Bytes::Copy("abcd", 4)});
  AddTo(graph.get(), "c")->attributes["value"] = Attr{tensor};
  EXPECT_EQ(*graph->Clone()->FindNode("c")->FindAttr("value")->As<TensorPtr>(), tensor);
}

TEST(Graph, ACycleIsFreedWithItsGraph) {
  std::weak_ptr<Node> a;
  std::weak_ptr<Node> b;
  {
    const auto graph = std::make_shared<Graph>("g");
    const NodePtr first = AddTo(graph.get(), "a");
    const NodePtr second = AddTo(graph.get(), "b");
    ASSERT_TRUE(first->Connect(0, second, 0).ok());
    ASSERT_TRUE(second->Connect(0, first, 0).ok());
    a = first;
    b = second;
  }
  EXPECT_TRUE(a.expired());
  EXPECT_TRUE(b.expired());
}

TEST(Graph, NodesHeldByAClientOutliveTheGraphStillLinked) {
  NodePtr user;
  {
    const auto graph = std::make_shared<Graph>("g");
    const NodePtr source = AddTo(graph.get(), "a");
    user = AddTo(graph.get(), "b");
    ASSERT_TRUE(user->Connect(0, source, 0).ok());
  }
  EXPECT_EQ(user->graph(), nullptr);
  ASSERT_NE(user->inputs[0].source, nullptr);
  EXPECT_EQ(user->inputs[0].source->graph(), nullptr);
  const auto next = std::make_shared<Graph>("next");
  EXPECT_TRUE(next->AddNode(user).ok());
}

constexpr int kMany = 100'000;

TEST(Graph, ALongChainNeedsNoRecursionAndNoQuadraticTime) {
  const auto start = std::chrono::steady_clock::now();
  {
    const auto graph = std::make_shared<Graph>("g");
    const NodePtr hub = AddTo(graph.get(), "hub");
    NodePtr last = hub;
    for (int i = 0; i < kMany; ++i) {
      const NodePtr node = AddTo(graph.get(), "n" + std::to_string(i), 2);
      ASSERT_TRUE(node->Connect(0, last, 0).ok());
      ASSERT_TRUE(node->Connect(1, hub, 0).ok());
      node->AddControl(hub);
      last = node;
    }
    last.reset();
    std::vector<NodePtr> order;
    ASSERT_TRUE(graph->Sorted(&order).ok());
    EXPECT_EQ(order.back()->name, "n" + std::to_string(kMany - 1));
    EXPECT_NE(graph->FindNode("n777"), nullptr);
    EXPECT_EQ(graph->Clone()->nodes().size(), graph->nodes().size());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Graph, ALongChainOutsideAnyGraphNeedsNoRecursion) {
  NodePtr last = Make("first");
  for (int i = 0; i < kMany; ++i) {
    const NodePtr node = Make("n", 2);
    ASSERT_TRUE(node->Connect(0, last, 0).ok());
    ASSERT_TRUE(node->Connect(1, last, 0).ok());
    last = node;
  }
  const std::weak_ptr<Node> before = last->inputs[0].source;
  last.reset();
  EXPECT_TRUE(before.expired());
}

TEST(Graph, ManySubgraphsAreFoundByName) {
  const auto root = std::make_shared<Graph>("root");
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(root->AddSubgraph(std::make_shared<Graph>("s" + std::to_string(i))).ok());
  }
  EXPECT_NE(root->FindSubgraph("s19999"), nullptr);
}

}  // namespace
}  // namespace millpond::ir

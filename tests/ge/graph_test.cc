// SPDX-License-Identifier: Apache-2.0
// ge::Graph and ge::GNode by themselves: building from operators and node by node, looking, changing, subgraphs, files
// and dumps (docs/compat.md, "Building graphs" and "Graphs in files"). What graphs compute is in graph_flow_test.cc,
// what is refused in bad_graph_test.cc.
#include "graph/graph.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "array_ops.h"
#include "elewise_calculation_ops.h"
#include "functional_ops.h"
#include "graph/attr_value.h"
#include "graph/graph_buffer.h"
#include "graph/operator_factory.h"
#include "math_ops.h"
#include "nonlinear_fuc_ops.h"
#include "recent_message.h"
#include "split_combination_ops.h"

namespace {

using ge::AscendString;
using ge::GNode;
using ge::Graph;
using ge::GRAPH_FAILED;
using ge::GRAPH_SUCCESS;
using ge::Operator;
using ge::TensorDesc;
namespace op = ge::op;

TensorDesc Floats(const std::vector<int64_t>& dims) { return TensorDesc(ge::Shape(dims), ge::FORMAT_ND, ge::DT_FLOAT); }

op::Data Input(const char* name, int64_t index = 0) {
  op::Data data(name);
  data.set_attr_index(index);
  data.update_input_desc_x(Floats({2, 3}));
  data.update_output_desc_y(Floats({2, 3}));
  return data;
}

std::string NameOf(const GNode& node) {
  AscendString name;
  EXPECT_EQ(node.GetName(name), GRAPH_SUCCESS);
  return name.GetString();
}
std::vector<std::string> NamesOf(const std::vector<GNode>& nodes) {
  std::vector<std::string> names;
  for (const GNode& node : nodes) names.push_back(NameOf(node));
  std::sort(names.begin(), names.end());
  return names;
}

// left, right -> sum -> relu
Graph Sum(const char* name) {
  op::Data left = Input("left", 0);
  op::Data right = Input("right", 1);
  op::Add sum("sum");
  sum.set_input_x1(left).set_input_x2(right);
  op::Relu relu("relu");
  relu.set_input_x(sum);
  Graph graph(name);
  graph.SetInputs({left, right}).SetOutputs(std::vector<Operator>{relu});
  return graph;
}

// Its inputs could not be set, for this reason.
void ExpectRefused(const Graph& graph, const char* reason) {
  EXPECT_NE(RecentMessage().find(reason), std::string::npos);
  EXPECT_FALSE(graph.IsValid());
}

TEST(Graph, AnEmptyOneRefusesEveryCall) {
  Graph none;
  AscendString name;
  EXPECT_FALSE(none.IsValid());
  EXPECT_EQ(none.GetName(name), GRAPH_FAILED);
  EXPECT_NE(RecentMessage().find("stands for nothing"), std::string::npos);
  EXPECT_EQ(none.SaveToFile("x.air"), GRAPH_FAILED);
  EXPECT_TRUE(none.GetAllNodes().empty());
  EXPECT_EQ(none.FindNodeByName("x"), nullptr);
  none.SetInputs({}).SetOutputs(std::vector<Operator>{}).SetTargets({});
  EXPECT_FALSE(Graph(static_cast<const char*>(nullptr)).IsValid());
}

// docs/compat.md, "Building graphs": "built by walking operator links from the inputs when SetInputs is called".
TEST(Graph, TakesAllThatIsLinkedToItsInputs) {
  const Graph graph = Sum("walk");
  EXPECT_TRUE(graph.IsValid());
  EXPECT_EQ(NamesOf(graph.GetDirectNode()), (std::vector<std::string>{"left", "relu", "right", "sum"}));
  std::vector<AscendString> types;
  for (const GNode& node : graph.GetAllNodes()) node.GetType(types.emplace_back());
  EXPECT_EQ(types.size(), 4U);
  const ge::GNodePtr sum = graph.FindNodeByName("sum");
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(NameOf(*sum->GetInDataNodesAndPortIndexs(1).first), "right");
  EXPECT_EQ(sum->GetInDataNodesAndPortIndexs(9).first, nullptr);
  ASSERT_EQ(sum->GetOutDataNodesAndPortIndexs(0).size(), 1U);
  EXPECT_EQ(NameOf(*sum->GetOutDataNodesAndPortIndexs(0)[0].first), "relu");
  EXPECT_EQ(graph.FindNodeByName("nobody"), nullptr);
  EXPECT_NE(RecentMessage().find("\"nobody\""), std::string::npos);
}

TEST(Graph, IsBuiltOnce) {
  Graph graph = Sum("once");
  graph.SetInputs({Input("other")});
  EXPECT_NE(RecentMessage().find("built already"), std::string::npos);
  EXPECT_EQ(graph.GetDirectNode().size(), 4U);
}

TEST(Graph, AnOperatorIsInOneGraphOnly) {
  op::Data data = Input("data");
  Graph first("first");
  first.SetInputs({data});
  Graph second("second");
  second.SetInputs({data});
  ExpectRefused(second, "is in graph \"first\" already");
}

TEST(Graph, TwoOperatorsOfOneNameAreRefused) {
  op::Data data = Input("same");
  op::Relu relu("same");
  relu.set_input_x(data);
  Graph graph("names");
  graph.SetInputs({data});
  ExpectRefused(graph, "two operators are named \"same\"");
}

TEST(Graph, OutputsAreNamedByOperatorByPlaceAndByName) {
  op::Data data = Input("data");
  op::Split split("split");
  split.create_dynamic_output_y(3);
  split.set_input_x(data).set_attr_num_split(3);
  Graph graph("outputs");
  graph.SetInputs({data}).SetOutputs(std::vector<std::pair<Operator, std::vector<size_t>>>{{split, {2, 0}}});
  RecentMessage();
  graph.SetOutputs(std::vector<std::pair<Operator, AscendString>>{{split, "y1"}, {split, ""}});
  EXPECT_EQ(RecentMessage(), "");
  graph.SetOutputs(std::vector<std::pair<Operator, AscendString>>{{split, "z"}});
  EXPECT_NE(RecentMessage().find("no output \"z\""), std::string::npos);
  graph.SetOutputs(std::vector<std::pair<Operator, std::vector<size_t>>>{{split, {3}}});
  EXPECT_NE(RecentMessage().find("output 3 was asked for, but it has 3"), std::string::npos);
  op::Relu stranger("stranger");
  graph.SetOutputs(std::vector<Operator>{stranger});
  EXPECT_NE(RecentMessage().find("is not in graph \"outputs\""), std::string::npos);
  EXPECT_EQ(graph.SetOutputs(std::vector<std::pair<GNode, int32_t>>{{*graph.FindNodeByName("split"), 1}}),
            GRAPH_SUCCESS);
  EXPECT_EQ(graph.SetOutputs(std::vector<std::pair<GNode, int32_t>>{{GNode(), 0}}), GRAPH_FAILED);
}

TEST(Graph, IsPutTogetherNodeByNode) {
  Graph graph("nodes");
  GNode left = graph.AddNodeByOp(Input("left", 0));
  GNode right = graph.AddNodeByOp(Input("right", 1));
  GNode sum = graph.AddNodeByOp(op::Add("sum"));
  EXPECT_EQ(graph.AddDataEdge(left, 0, sum, 0), GRAPH_SUCCESS);
  EXPECT_EQ(graph.AddDataEdge(right, 0, sum, 1), GRAPH_SUCCESS);
  EXPECT_EQ(graph.AddDataEdge(left, 0, sum, 1), GRAPH_FAILED);
  EXPECT_NE(RecentMessage().find("reads from \"right\" already"), std::string::npos);
  EXPECT_EQ(graph.AddDataEdge(left, 1, sum, 0), GRAPH_FAILED) << "there is no output 1";
  EXPECT_EQ(graph.AddDataEdge(left, 0, sum, 5), GRAPH_FAILED);
  EXPECT_EQ(graph.AddDataEdge(left, 0, sum, -1), GRAPH_FAILED);
  GNode nothing;
  EXPECT_EQ(graph.AddDataEdge(nothing, 0, sum, 0), GRAPH_FAILED);
  EXPECT_EQ(graph.SetOutputs(std::vector<std::pair<GNode, int32_t>>{{sum, 0}}), GRAPH_SUCCESS);
  EXPECT_EQ(graph.RemoveEdge(right, 0, sum, 1), GRAPH_SUCCESS);
  EXPECT_EQ(graph.RemoveEdge(right, 0, sum, 1), GRAPH_FAILED);
  EXPECT_EQ(sum.GetInDataNodesAndPortIndexs(1).first, nullptr);
}

TEST(Graph, ControlEdgesAreAddedAndRemoved) {
  Graph graph = Sum("controls");
  GNode left = *graph.FindNodeByName("left");
  GNode relu = *graph.FindNodeByName("relu");
  EXPECT_EQ(graph.AddControlEdge(left, relu), GRAPH_SUCCESS);
  ASSERT_EQ(relu.GetInControlNodes().size(), 1U);
  EXPECT_EQ(NameOf(*relu.GetInControlNodes()[0]), "left");
  EXPECT_EQ(NameOf(*left.GetOutControlNodes()[0]), "relu");
  EXPECT_EQ(graph.AddControlEdge(relu, relu), GRAPH_FAILED);
  EXPECT_EQ(graph.RemoveEdge(left, -1, relu, -1), GRAPH_SUCCESS);
  EXPECT_TRUE(relu.GetInControlNodes().empty());
  EXPECT_EQ(graph.RemoveEdge(left, -1, relu, -1), GRAPH_FAILED);
  Graph other = Sum("other");
  GNode foreign = *other.FindNodeByName("left");
  EXPECT_EQ(graph.AddControlEdge(foreign, relu), GRAPH_FAILED);
  EXPECT_NE(RecentMessage().find("two graphs"), std::string::npos);
}

TEST(Graph, ARemovedNodeIsGoneForEveryHolder) {
  Graph graph = Sum("remove");
  GNode relu = *graph.FindNodeByName("relu");
  GNode again = relu;
  EXPECT_EQ(graph.RemoveNode(relu), GRAPH_SUCCESS);
  EXPECT_EQ(graph.GetDirectNode().size(), 3U);
  EXPECT_EQ(graph.FindNodeByName("relu"), nullptr);
  EXPECT_TRUE(graph.FindNodeByName("sum")->GetOutDataNodesAndPortIndexs(0).empty());
  EXPECT_EQ(graph.RemoveNode(again), GRAPH_FAILED);
}

TEST(GNode, AnEmptyOneRefusesEveryCall) {
  GNode none;
  AscendString text;
  int64_t number = 7;
  TensorDesc desc;
  ge::AttrValue value;
  EXPECT_EQ(none.GetName(text), GRAPH_FAILED);
  EXPECT_EQ(none.GetAttr("x", number), GRAPH_FAILED);
  EXPECT_EQ(number, 7);
  EXPECT_EQ(none.SetAttr("x", number), GRAPH_FAILED);
  EXPECT_EQ(none.GetInputDesc(0, desc), GRAPH_FAILED);
  EXPECT_EQ(none.GetOutputAttr("x", 0, value), GRAPH_FAILED);
  EXPECT_EQ(none.GetInputsSize(), 0U);
  EXPECT_FALSE(none.HasAttr("x"));
  EXPECT_TRUE(none.GetInControlNodes().empty());
  EXPECT_EQ(none.GetInDataNodesAndPortIndexs(0).first, nullptr);
  GNode left;
  {
    const Graph graph = Sum("short lived");
    left = *graph.FindNodeByName("left");
    EXPECT_EQ(left.GetName(text), GRAPH_SUCCESS);
  }
  EXPECT_EQ(left.GetName(text), GRAPH_FAILED) << "it does not keep its node";
}

TEST(GNode, ReadsAndChangesItsNode) {
  const Graph graph = Sum("attributes");
  GNode sum = *graph.FindNodeByName("sum");
  int64_t mark = 41;
  EXPECT_EQ(sum.SetAttr("mark", mark), GRAPH_SUCCESS);
  EXPECT_TRUE(sum.HasAttr("mark"));
  int64_t read = 0;
  EXPECT_EQ(sum.GetAttr("mark", read), GRAPH_SUCCESS);
  EXPECT_EQ(read, 41);
  bool wrong = true;
  EXPECT_EQ(sum.GetAttr("mark", wrong), GRAPH_FAILED);
  ge::AttrValue value;
  EXPECT_EQ(sum.SetInputAttr("side", 0, value), GRAPH_FAILED) << "a value that nobody set is none";
  value.SetAttrValue(int64_t{5});
  EXPECT_EQ(sum.SetInputAttr("side", 0, value), GRAPH_SUCCESS);
  EXPECT_EQ(sum.SetInputAttr("side", 9, value), GRAPH_FAILED);
  ge::AttrValue found;
  EXPECT_EQ(sum.GetInputAttr("side", 0, found), GRAPH_SUCCESS);
  int32_t index = -1;
  EXPECT_EQ(sum.GetInputIndexByName("x2", index), GRAPH_SUCCESS);
  EXPECT_EQ(index, 1);
  EXPECT_EQ(sum.GetInputIndexByName("x9", index), GRAPH_FAILED);
  TensorDesc desc;
  EXPECT_EQ(sum.UpdateOutputDesc(0, Floats({7})), GRAPH_SUCCESS);
  EXPECT_EQ(sum.GetOutputDesc(0, desc), GRAPH_SUCCESS);
  EXPECT_EQ(desc.GetShape().GetDims(), std::vector<int64_t>{7});
  EXPECT_EQ(sum.UpdateOutputDesc(1, Floats({7})), GRAPH_FAILED);
}

Graph Doubled(const char* name) {
  op::Data data = Input("x");
  op::Add sum("twice");
  sum.set_input_x1(data).set_input_x2(data);
  Graph graph(name);
  graph.SetInputs({data}).SetOutputs(std::vector<Operator>{sum});
  return graph;
}

Graph WithCall(const char* name) {
  op::Data data = Input("data");
  op::PartitionedCall call("call");
  call.create_dynamic_input_args(1);
  call.create_dynamic_output_output(1);
  call.set_dynamic_input_args(0, data);
  call.set_subgraph_builder_f([] { return Doubled("inner"); });
  Graph graph(name);
  graph.SetInputs({data}).SetOutputs(std::vector<Operator>{call});
  return graph;
}

TEST(Graph, BuildersAddSubgraphsToTheRoot) {
  const Graph graph = WithCall("outer");
  ASSERT_EQ(graph.GetAllSubgraphs().size(), 1U);
  const ge::GraphPtr inner = graph.GetSubGraph("inner");
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(NamesOf(inner->GetDirectNode()), (std::vector<std::string>{"twice", "x"}));
  EXPECT_EQ(graph.GetAllNodes().size(), 4U);
  EXPECT_EQ(graph.GetDirectNode().size(), 2U);
  ASSERT_NE(inner->GetParentGraph(), nullptr);
  ASSERT_NE(inner->GetParentNode(), nullptr);
  EXPECT_EQ(NameOf(*inner->GetParentNode()), "call");
  EXPECT_EQ(graph.GetParentGraph(), nullptr);
  GNode call = *graph.FindNodeByName("call");
  ge::GraphPtr of_node;
  EXPECT_EQ(call.GetSubgraph(0, of_node), GRAPH_SUCCESS);
  EXPECT_EQ(call.GetSubgraph(1, of_node), GRAPH_FAILED);
  std::vector<ge::GraphPtr> all;
  EXPECT_EQ(call.GetALLSubgraphs(all), GRAPH_SUCCESS);
  EXPECT_EQ(all.size(), 1U);
  EXPECT_EQ(graph.GetSubGraph("nobody"), nullptr);
}

TEST(Graph, SubgraphsAreAddedSetAndRemovedByName) {
  Graph graph("by hand");
  GNode data = graph.AddNodeByOp(Input("data"));
  op::PartitionedCall made("call");
  made.create_dynamic_input_args(1);
  made.create_dynamic_output_output(1);
  GNode call = graph.AddNodeByOp(made);
  EXPECT_EQ(graph.AddDataEdge(data, 0, call, 0), GRAPH_SUCCESS);
  EXPECT_EQ(call.SetSubgraph("f", Doubled("mine")), GRAPH_SUCCESS) << RecentMessage();
  ASSERT_NE(graph.GetSubGraph("mine"), nullptr);
  EXPECT_EQ(NameOf(*graph.GetSubGraph("mine")->GetParentNode()), "call");
  EXPECT_EQ(call.SetSubgraph("", Doubled("other")), GRAPH_FAILED);
  EXPECT_EQ(call.SetSubgraph("f", Graph()), GRAPH_FAILED);
  EXPECT_EQ(graph.AddSubGraph(Doubled("spare")), GRAPH_SUCCESS);
  EXPECT_EQ(graph.AddSubGraph(Doubled("spare")), GRAPH_FAILED) << "the name is taken";
  EXPECT_EQ(graph.AddSubGraph(graph), GRAPH_FAILED) << "a graph is not its own subgraph";
  EXPECT_EQ(graph.RemoveSubgraph("spare"), GRAPH_SUCCESS);
  EXPECT_EQ(graph.RemoveSubgraph("spare"), GRAPH_FAILED);
  EXPECT_EQ(graph.RemoveSubgraph(nullptr), GRAPH_FAILED);
}

TEST(Graph, ABuilderThatBuildsNothingIsNamed) {
  op::Data data = Input("data");
  op::PartitionedCall call("call");
  call.create_dynamic_input_args(1);
  call.set_dynamic_input_args(0, data);
  call.set_subgraph_builder_f([] { return Graph("empty"); });
  Graph graph("outer");
  graph.SetInputs({data});
  const std::string text = RecentMessage();
  EXPECT_NE(text.find("\"call\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"f\""), std::string::npos) << text;
  EXPECT_FALSE(graph.IsValid());
}

TEST(Graph, ABuilderThatThrowsIsCaught) {
  op::Data data = Input("data");
  op::PartitionedCall call("call");
  call.create_dynamic_input_args(1);
  call.set_dynamic_input_args(0, data);
  call.set_subgraph_builder_f([]() -> Graph { throw std::runtime_error("no graph today"); });
  Graph graph("outer");
  graph.SetInputs({data});
  EXPECT_NE(RecentMessage().find("no graph today"), std::string::npos);
  EXPECT_FALSE(graph.IsValid());
}

TEST(Graph, ACopyIsAnotherGraphOfItsOwnName) {
  const Graph graph = WithCall("original");
  Graph copy("copy");
  ASSERT_EQ(copy.CopyFrom(graph), GRAPH_SUCCESS);
  AscendString name;
  EXPECT_EQ(copy.GetName(name), GRAPH_SUCCESS);
  EXPECT_STREQ(name.GetString(), "copy");
  GNode call = *copy.FindNodeByName("call");
  EXPECT_EQ(copy.RemoveNode(call), GRAPH_SUCCESS);
  EXPECT_NE(graph.FindNodeByName("call"), nullptr);
  EXPECT_EQ(copy.CopyFrom(Graph()), GRAPH_FAILED);
}

TEST(Graph, KeepsAttributesAndOperators) {
  Graph graph = Sum("kept");
  ge::AttrValue value;
  value.SetAttrValue(int64_t{3});
  EXPECT_EQ(graph.SetAttr("level", value), GRAPH_SUCCESS);
  ge::AttrValue read;
  int64_t level = 0;
  EXPECT_EQ(graph.GetAttr("level", read), GRAPH_SUCCESS);
  EXPECT_EQ(read.GetAttrValue(level), GRAPH_SUCCESS);
  EXPECT_EQ(level, 3);
  EXPECT_EQ(graph.GetAttr("nothing", read), GRAPH_FAILED);
  EXPECT_EQ(graph.AddOp(op::Relu("spare")), GRAPH_SUCCESS);
  Operator found;
  EXPECT_EQ(graph.FindOpByName("spare", found), GRAPH_SUCCESS);
  EXPECT_EQ(graph.FindOpByName("nobody", found), GRAPH_FAILED);
  std::vector<Operator> relus;
  EXPECT_EQ(graph.FindOpByType("Relu", relus), GRAPH_SUCCESS);
  EXPECT_FALSE(relus.empty());
}

class GraphFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / ("millpond_graph_files_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string At(const char* name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

// docs/compat.md, "Graphs in files": ".air", creates the parent folder.
TEST_F(GraphFiles, AnAirFileHoldsTheWholeGraph) {
  const Graph graph = WithCall("saved");
  ASSERT_EQ(graph.SaveToFile(At("deep/er/graph.air").c_str()), GRAPH_SUCCESS) << RecentMessage();
  Graph read;
  ASSERT_EQ(read.LoadFromFile(At("deep/er/graph.air").c_str()), GRAPH_SUCCESS) << RecentMessage();
  EXPECT_EQ(NamesOf(read.GetAllNodes()), NamesOf(graph.GetAllNodes()));
  ASSERT_NE(read.GetSubGraph("inner"), nullptr);
  EXPECT_EQ(NameOf(*read.GetSubGraph("inner")->GetParentNode()), "call");
  TensorDesc desc;
  EXPECT_EQ(read.FindNodeByName("data")->GetOutputDesc(0, desc), GRAPH_SUCCESS);
  EXPECT_EQ(desc.GetShape().GetDims(), (std::vector<int64_t>{2, 3}));
}

// docs/compat.md, "Graphs in files": "a bare file name goes to ASCEND_WORK_PATH".
TEST_F(GraphFiles, ABareNameGoesToTheWorkFolder) {
  setenv("ASCEND_WORK_PATH", folder_.c_str(), 1);
  EXPECT_EQ(Sum("bare").SaveToFile("bare.air"), GRAPH_SUCCESS) << RecentMessage();
  Graph read;
  EXPECT_EQ(read.LoadFromFile("bare.air"), GRAPH_SUCCESS) << RecentMessage();
  unsetenv("ASCEND_WORK_PATH");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "bare.air"));
  EXPECT_EQ(read.GetDirectNode().size(), 4U);
}

TEST_F(GraphFiles, WhatIsNotAGraphIsRefusedAndChangesNothing) {
  Graph graph = Sum("steady");
  EXPECT_NE(graph.LoadFromFile(At("nothing.air").c_str()), GRAPH_SUCCESS);
  EXPECT_NE(RecentMessage().find("nothing.air"), std::string::npos);
  std::ofstream(At("noise.air")) << "this is not a model";
  EXPECT_NE(graph.LoadFromFile(At("noise.air").c_str()), GRAPH_SUCCESS);
  EXPECT_NE(graph.LoadFromFile(static_cast<const char*>(nullptr)), GRAPH_SUCCESS);
  EXPECT_NE(graph.SaveToFile("/proc/no/such/folder/x.air"), GRAPH_SUCCESS);
  EXPECT_NE(graph.SaveToFile(static_cast<const char*>(nullptr)), GRAPH_SUCCESS);
  EXPECT_EQ(graph.GetDirectNode().size(), 4U);
}

// docs/compat.md, "Graphs in files": "null or size 0 or parse error => PARAM_INVALID, result replaces *this".
TEST_F(GraphFiles, SerialisedModelsComeFromMemoryToo) {
  ge::GraphBuffer buffer;
  EXPECT_EQ(buffer.GetSize(), 0U);
  Graph graph = WithCall("memory");
  ASSERT_EQ(graph.SaveToMem(buffer), GRAPH_SUCCESS);
  ASSERT_GT(buffer.GetSize(), 0U);
  Graph read = Sum("replaced");
  ASSERT_EQ(read.LoadFromSerializedModelArray(buffer.GetData(), buffer.GetSize()), GRAPH_SUCCESS);
  EXPECT_EQ(NamesOf(read.GetAllNodes()), NamesOf(graph.GetAllNodes()));
  EXPECT_EQ(read.LoadFromMem(buffer), GRAPH_SUCCESS);
  EXPECT_EQ(read.LoadFromMem(buffer.GetData(), buffer.GetSize()), GRAPH_SUCCESS);
  EXPECT_EQ(read.LoadFromSerializedModelArray(nullptr, 8), ge::GRAPH_PARAM_INVALID);
  EXPECT_EQ(read.LoadFromSerializedModelArray(buffer.GetData(), 0), ge::GRAPH_PARAM_INVALID);
  EXPECT_EQ(read.LoadFromSerializedModelArray(buffer.GetData(), buffer.GetSize() - 1), ge::GRAPH_PARAM_INVALID);
  EXPECT_EQ(read.GetAllNodes().size(), 4U) << "what failed changed nothing";
}

TEST_F(GraphFiles, DumpsAreForPeople) {
  const Graph graph = WithCall("shown");
  for (const auto format : {Graph::DumpFormat::kOnnx, Graph::DumpFormat::kTxt, Graph::DumpFormat::kReadable}) {
    std::ostringstream text;
    EXPECT_EQ(graph.Dump(format, text), GRAPH_SUCCESS) << RecentMessage();
    EXPECT_NE(text.str().find("twice"), std::string::npos) << text.str();
  }
  std::ostringstream none;
  EXPECT_EQ(graph.Dump(static_cast<Graph::DumpFormat>(9), none), GRAPH_FAILED);
  setenv("DUMP_GRAPH_PATH", folder_.c_str(), 1);
  EXPECT_EQ(graph.DumpToFile(Graph::DumpFormat::kReadable, "mine"), GRAPH_SUCCESS) << RecentMessage();
  unsetenv("DUMP_GRAPH_PATH");
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    EXPECT_NE(entry.path().filename().string().find("mine"), std::string::npos);
  }
  EXPECT_EQ(files, 1U);
}

}  // namespace

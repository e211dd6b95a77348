// SPDX-License-Identifier: Apache-2.0
// Graphs for this folder's tests: one with everything the IR can hold, and comparisons.
#ifndef MILLPOND_SRC_GRAPH_IO_GRAPH_SAMPLES_H_
#define MILLPOND_SRC_GRAPH_IO_GRAPH_SAMPLES_H_

#include <gtest/gtest.h>

#include <limits>

#include "src/graph/ir/graph.h"

namespace millpond::io {

inline ir::TensorDesc SampleDesc(const std::string& name, DType dtype, ir::Dims dims) {
  ir::TensorDesc desc;
  desc.name = name;
  desc.dtype = dtype;
  desc.dims = std::move(dims);
  desc.has_shape = true;
  return desc;
}

inline ir::NodePtr SampleNode(ir::Graph* graph, const std::string& name, const std::string& type,
                              const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  auto node = std::make_shared<ir::Node>(name, type);
  for (const std::string& input : inputs) {
    node->inputs.push_back({SampleDesc(input, DType::kFloat, {2, 3}), nullptr, 0});
  }
  for (const std::string& output : outputs) node->outputs.push_back(SampleDesc(output, DType::kFloat, {2, 3}));
  EXPECT_TRUE(graph->AddNode(node).ok());
  return node;
}

inline ir::TensorPtr SampleTensor(size_t bytes) {
  std::string data(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7);
  return std::make_shared<const ir::Tensor>(ir::Tensor{SampleDesc("", DType::kInt8, {static_cast<int64_t>(bytes)}),
                                                       ir::Bytes::Copy(data.data(), data.size())});
}

inline ir::GraphPtr GraphWithConstant(size_t bytes) {
  auto graph = std::make_shared<ir::Graph>("with_constant");
  const ir::NodePtr constant = SampleNode(graph.get(), "c", "Const", {}, {"y"});
  constant->attributes["value"] = ir::Attr{SampleTensor(bytes)};
  graph->outputs = {{constant, 0}};
  return graph;
}

// Attributes of every kind; lists both empty and not.
inline ir::Attributes SampleAttributes() {
  using ir::Attr;
  using ir::ByteString;
  using Desc = std::shared_ptr<const ir::TensorDesc>;
  using Named = std::shared_ptr<const ir::NamedAttributes>;
  ir::Attributes all;
  all["none"] = Attr{};
  all["yes"] = Attr{true};
  all["no"] = Attr{false};
  all["zero"] = Attr{int64_t{0}};
  all["least"] = Attr{std::numeric_limits<int64_t>::min()};
  all["real"] = Attr{-0.0f};
  all["text"] = Attr{std::string("caf\xc3\xa9 \"quoted\"\n")};
  all["empty"] = Attr{std::string()};
  all["bytes"] = Attr{ByteString{std::string("\0\xff", 2)}};
  all["type"] = Attr{DType::kBfloat16};
  all["no_type"] = Attr{DType::kUndefined};
  all["tensor"] = Attr{SampleTensor(5)};
  all["desc"] = Attr{Desc(std::make_shared<const ir::TensorDesc>(SampleDesc("d", DType::kInt64, {-1, 4})))};
  ir::NamedAttributes named{"inner", std::make_shared<ir::Attributes>(ir::Attributes{{"k", Attr{int64_t{7}}}})};
  all["named"] = Attr{Named(std::make_shared<const ir::NamedAttributes>(named))};
  all["bools"] = Attr{std::vector<bool>{true, false, true}};
  all["ints"] = Attr{std::vector<int64_t>{1, -1, 300}};
  all["reals"] = Attr{std::vector<float>{1.5f, -2.0f}};
  all["texts"] = Attr{std::vector<std::string>{"a", "", "b"}};
  all["byte_lists"] = Attr{std::vector<ByteString>{{"a"}, {""}}};
  all["types"] = Attr{std::vector<DType>{DType::kFloat, DType::kInt32, DType::kUndefined}};
  all["tensors"] = Attr{std::vector<ir::TensorPtr>{SampleTensor(3), SampleTensor(0)}};
  all["descs"] = Attr{std::vector<Desc>{std::make_shared<const ir::TensorDesc>(SampleDesc("e", DType::kHalf, {}))}};
  all["nameds"] = Attr{std::vector<Named>{std::make_shared<const ir::NamedAttributes>(named)}};
  all["int_rows"] = Attr{std::vector<std::vector<int64_t>>{{1, 2}, {}, {3}}};
  all["real_rows"] = Attr{std::vector<std::vector<float>>{{1.0f}, {}}};
  all["no_bools"] = Attr{std::vector<bool>{}};
  all["no_ints"] = Attr{std::vector<int64_t>{}};
  all["no_texts"] = Attr{std::vector<std::string>{}};
  all["no_tensors"] = Attr{std::vector<ir::TensorPtr>{}};
  all["no_graphs"] = Attr{std::vector<ir::GraphPtr>{}};
  return all;
}

inline ir::TensorDesc DescWithEverything() {
  ir::TensorDesc desc = SampleDesc("x", DType::kComplex64, {2, -1, 3});
  desc.format = 29 | (2 << 8);
  desc.origin_format = 1;
  desc.origin_dims = {6, 7};
  desc.has_origin_shape = true;
  desc.range = {{2, 2}, {1, -1}, {3, 3}};
  desc.bytes = 99;
  desc.real_dim_count = 3;
  desc.placement = ir::Placement::kDevice;
  desc.reuses_input = true;
  desc.reused_input = 4;
  desc.expand_dims_rule = "1010";
  desc.attributes = std::make_shared<ir::Attributes>();
  (*desc.attributes)["_is_unfed_optional"] = ir::Attr{int64_t{1}};
  (*desc.attributes)["device_type"] = ir::Attr{std::string("CPU")};
  (*desc.attributes)["weight_size"] = ir::Attr{int64_t{12}};
  (*desc.attributes)["data_offset"] = ir::Attr{std::string("not a number: stays an attribute")};
  return desc;
}

inline ir::GraphPtr GraphWithEverything() {
  auto graph = std::make_shared<ir::Graph>("everything");
  graph->attributes = SampleAttributes();
  graph->valid = true;
  const ir::NodePtr second = SampleNode(graph.get(), "in:1", "Data", {"x"}, {"y"});
  const ir::NodePtr first = SampleNode(graph.get(), "in:0", "RefData", {"x"}, {"y"});
  second->attributes["index"] = ir::Attr{int64_t{1}};
  second->outputs[0].has_shape = false;
  second->outputs[0].dims.clear();
  const ir::NodePtr node = SampleNode(graph.get(), "node", "Custom", {"p", "q", "r"}, {"y", "z"});
  node->attributes = SampleAttributes();
  node->inputs[0].desc = DescWithEverything();
  node->inputs[1].desc.dtype = DType::kUndefined;
  EXPECT_TRUE(node->Connect(0, first, 0).ok());
  EXPECT_TRUE(node->Connect(2, second, 0).ok());
  node->AddControl(second);
  node->subgraphs = {{"body", "sub"}};
  const ir::NodePtr branch = SampleNode(graph.get(), "if", "If", {"cond"}, {"output0"});
  EXPECT_TRUE(branch->Connect(0, node, 1).ok());
  branch->subgraphs = {{"then_branch", "then"}, {"else_branch", "else"}};
  for (const char* name : {"sub", "then", "else"}) {
    auto subgraph = std::make_shared<ir::Graph>(name);
    subgraph->valid = true;
    const ir::NodePtr inside = SampleNode(subgraph.get(), "in:0", "Data", {"x"}, {"y"});
    subgraph->inputs = {inside};
    subgraph->outputs = {{inside, 0}};
    EXPECT_TRUE(graph->AddSubgraph(subgraph).ok());
  }
  graph->inputs = {first, second};
  graph->outputs = {{node, 1}, {branch, 0}, {node, 1}};
  graph->targets = {branch};
  return graph;
}

inline void ExpectSameNode(const ir::Node& left, const ir::Node& right) {
  EXPECT_EQ(left.type, right.type);
  ASSERT_EQ(left.inputs.size(), right.inputs.size());
  for (size_t i = 0; i < left.inputs.size(); ++i) {
    EXPECT_TRUE(ir::Same(left.inputs[i].desc, right.inputs[i].desc)) << left.name << " input " << i;
    ASSERT_EQ(left.inputs[i].source == nullptr, right.inputs[i].source == nullptr) << left.name << " input " << i;
    if (left.inputs[i].source) {
      EXPECT_EQ(left.inputs[i].source->name, right.inputs[i].source->name);
      EXPECT_EQ(left.inputs[i].index, right.inputs[i].index);
    }
  }
  ASSERT_EQ(left.outputs.size(), right.outputs.size());
  for (size_t i = 0; i < left.outputs.size(); ++i) {
    EXPECT_TRUE(ir::Same(left.outputs[i], right.outputs[i])) << left.name << " output " << i;
  }
  ASSERT_EQ(left.controls.size(), right.controls.size());
  for (size_t i = 0; i < left.controls.size(); ++i) EXPECT_EQ(left.controls[i]->name, right.controls[i]->name);
  for (const auto& [name, attr] : left.attributes) {
    ASSERT_NE(right.FindAttr(name), nullptr) << left.name << " attribute " << name;
    EXPECT_TRUE(ir::Same(attr, *right.FindAttr(name))) << left.name << " attribute " << name;
  }
  EXPECT_EQ(left.attributes.size(), right.attributes.size()) << left.name;
  ASSERT_EQ(left.subgraphs.size(), right.subgraphs.size());
  for (size_t i = 0; i < left.subgraphs.size(); ++i) {
    EXPECT_EQ(left.subgraphs[i].name, right.subgraphs[i].name);
    EXPECT_EQ(left.subgraphs[i].graph, right.subgraphs[i].graph);
  }
}

inline void ExpectSameGraph(const ir::Graph& left, const ir::Graph& right) {
  EXPECT_EQ(left.name, right.name);
  EXPECT_TRUE(ir::Same(left.attributes, right.attributes)) << left.name;
  ASSERT_EQ(left.nodes().size(), right.nodes().size());
  for (size_t i = 0; i < left.nodes().size(); ++i) {
    EXPECT_EQ(left.nodes()[i]->name, right.nodes()[i]->name);
    ExpectSameNode(*left.nodes()[i], *right.nodes()[i]);
  }
  ASSERT_EQ(left.inputs.size(), right.inputs.size());
  for (size_t i = 0; i < left.inputs.size(); ++i) EXPECT_EQ(left.inputs[i]->name, right.inputs[i]->name);
  ASSERT_EQ(left.outputs.size(), right.outputs.size());
  for (size_t i = 0; i < left.outputs.size(); ++i) {
    EXPECT_EQ(left.outputs[i].node->name, right.outputs[i].node->name);
    EXPECT_EQ(left.outputs[i].index, right.outputs[i].index);
  }
  ASSERT_EQ(left.targets.size(), right.targets.size());
  for (size_t i = 0; i < left.targets.size(); ++i) EXPECT_EQ(left.targets[i]->name, right.targets[i]->name);
  ASSERT_EQ(left.subgraphs().size(), right.subgraphs().size());
  for (size_t i = 0; i < left.subgraphs().size(); ++i) ExpectSameGraph(*left.subgraphs()[i], *right.subgraphs()[i]);
}

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_GRAPH_SAMPLES_H_

// SPDX-License-Identifier: Apache-2.0
// From file to IR (docs/compat.md, "Graphs in files" and "What torchair sends"), and back.
#include "src/graph/io/ge_ir.h"

#include <gtest/gtest.h>

#include <limits>

#include "src/graph/io/ge_ir_format.h"
#include "src/graph/io/graph_samples.h"
#include "src/graph/io/wire.h"

namespace millpond::io {
namespace {

using ir::Attr;
using wire::Writer;

std::span<const std::byte> BytesOf(const std::string& text) { return std::as_bytes(std::span(text)); }

ir::GraphPtr Read(const std::string& model) {
  ir::GraphPtr graph;
  const Status status = ReadModel(BytesOf(model), nullptr, &graph);
  EXPECT_TRUE(status.ok()) << status.message();
  return graph;
}

void ExpectRefused(const std::string& model, Code code, const char* text) {
  ir::GraphPtr graph;
  const Status status = ReadModel(BytesOf(model), nullptr, &graph);
  EXPECT_EQ(status.code(), code);
  EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
  EXPECT_EQ(graph, nullptr);
}

std::string Write(const ir::Graph& graph) {
  std::string out;
  const Status status = WriteModel(graph, &out);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

// A node as stored in a file, in the form that torchair sends.
struct Op {
  std::string name;
  std::string type;
  std::vector<std::string> inputs;
  std::vector<std::string> input_names;
  std::vector<std::string> output_names;
  std::vector<std::string> subgraphs;
  int64_t index = -1;
};

std::string Model(const std::vector<std::vector<Op>>& graphs, const std::vector<std::string>& graph_inputs = {},
                  const std::vector<std::string>& graph_outputs = {}) {
  std::string out;
  const auto desc = [](Writer* writer, uint32_t number, const std::string& name) {
    return writer->Message(number, [&] { return writer->Text(kDescName, name), Ok(); });
  };
  const auto op = [&](Writer* writer, const Op& node) {
    writer->Text(kOpName, node.name);
    writer->Text(kOpType, node.type);
    for (const std::string& input : node.inputs) writer->TextAlways(kOpInput, input);
    for (const std::string& name : node.input_names) MP_RETURN_IF_ERROR(desc(writer, kOpInputDesc, name));
    for (const std::string& name : node.output_names) MP_RETURN_IF_ERROR(desc(writer, kOpOutputDesc, name));
    for (const std::string& name : node.subgraphs) writer->TextAlways(kOpSubgraph, name);
    if (node.index < 0) return Ok();
    return writer->Message(kOpAttr, [&] {
      writer->Text(kEntryKey, "index");
      return writer->Message(kEntryValue, [&] { return writer->IntAlways(kAttrInt, node.index), Ok(); });
    });
  };
  const Status status = Writer::Write(
      [&](Writer* writer) {
        for (size_t i = 0; i < graphs.size(); ++i) {
          MP_RETURN_IF_ERROR(writer->Message(kModelGraph, [&] {
            writer->Text(kGraphName, "g" + std::to_string(i));
            for (const std::string& text : graph_inputs) writer->TextAlways(kGraphInput, text);
            for (const std::string& text : graph_outputs) writer->TextAlways(kGraphOutput, text);
            for (const Op& node : graphs[i]) {
              MP_RETURN_IF_ERROR(writer->Message(kGraphOp, [&] { return op(writer, node); }));
            }
            return Ok();
          }));
        }
        return Ok();
      },
      &out);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

Op Data(const std::string& name, int64_t index) { return {name, "Data", {}, {"x"}, {"y"}, {}, index}; }

std::vector<std::string> Names(std::span<const ir::NodePtr> nodes) {
  std::vector<std::string> names;
  for (const ir::NodePtr& node : nodes) names.push_back(node->name);
  return names;
}
using Strings = std::vector<std::string>;

TEST(ReadModel, TorchairGraph) {
  // Inputs are ordered by `index`, not by node order; controls come before data.
  const ir::GraphPtr graph = Read(Model({{Data("b", 1),
                                          Data("a", 0),
                                          {"add", "Add", {"a:-1", "a:0", "b:0"}, {"x1", "x2"}, {"y"}, {}},
                                          {"out", "NetOutput", {"add:0", "b:0"}, {"input0", "input1"}, {}, {}}}}));
  EXPECT_EQ(graph->name, "g0");
  EXPECT_EQ(Names(graph->inputs), (Strings{"a", "b"}));
  const ir::NodePtr add = graph->FindNode("add");
  EXPECT_EQ(Names(add->controls), Strings{"a"});
  EXPECT_EQ(add->inputs[0].source->name, "a");
  EXPECT_EQ(add->inputs[1].source->name, "b");
  EXPECT_EQ(add->inputs[1].desc.name, "x2");
  ASSERT_EQ(graph->outputs.size(), 2u);
  EXPECT_EQ(graph->outputs[0].node, add);
  EXPECT_EQ(graph->outputs[1].node->name, "b");
  EXPECT_NE(graph->FindNode("out"), nullptr);
}

TEST(ReadModel, ShapelessMeansScalarForSourcesAndUnknownElsewhere) {
  const ir::GraphPtr graph = Read(Model({{Data("a", 0), {"n", "Neg", {"a:0"}, {"x"}, {"y"}, {}}}}));
  EXPECT_TRUE(graph->FindNode("a")->outputs[0].has_shape);
  EXPECT_FALSE(graph->FindNode("n")->outputs[0].has_shape);
  EXPECT_EQ(graph->FindNode("n")->outputs[0].dtype, DType::kUndefined);
  EXPECT_EQ(graph->FindNode("n")->outputs[0].format, ir::kFormatNd);
}

TEST(ReadModel, AnEmptyInputKeepsItsSlot) {
  const ir::GraphPtr graph =
      Read(Model({{Data("a", 0), {"n", "Custom", {"", "a:0", ""}, {"p", "q", "r"}, {"y"}, {}}}}));
  const ir::NodePtr node = graph->FindNode("n");
  ASSERT_EQ(node->inputs.size(), 3u);
  EXPECT_EQ(node->inputs[0].source, nullptr);
  EXPECT_EQ(node->inputs[1].source->name, "a");
  EXPECT_EQ(node->inputs[2].source, nullptr);
}

TEST(ReadModel, NamesMayContainColons) {
  const ir::GraphPtr graph = Read(Model({{Data("scope:a:1", 0), {"n", "Neg", {"scope:a:1:0"}, {"x"}, {"y"}, {}}}}));
  EXPECT_EQ(graph->FindNode("n")->inputs[0].source->name, "scope:a:1");
}

TEST(ReadModel, ASourceMayComeLater) {
  const ir::GraphPtr graph = Read(Model({{{"n", "Neg", {"a:0"}, {"x"}, {"y"}, {}}, Data("a", 0)}}));
  EXPECT_EQ(graph->FindNode("n")->inputs[0].source->name, "a");
}

TEST(ReadModel, NamesOfOperandsComeFromTheDefinitionWhereTheFileHasNone) {
  const ir::GraphPtr graph = Read(
      Model({{Data("a", 0), {"n", "Add", {"a:0", "a:0"}, {}, {""}, {}}, {"p", "Pack", {"a:0", "a:0"}, {}, {""}, {}}}}));
  const ir::NodePtr add = graph->FindNode("n");
  EXPECT_EQ(add->FindInput("x1"), 0);
  EXPECT_EQ(add->FindInput("x2"), 1);
  EXPECT_EQ(add->FindOutput("y"), 0);
  const ir::NodePtr pack = graph->FindNode("p");
  EXPECT_EQ(pack->FindInput("x0"), 0);
  EXPECT_EQ(pack->FindInput("x1"), 1);
}

TEST(ReadModel, ExplicitEndsWin) {
  const ir::GraphPtr graph = Read(
      Model({{Data("a", 0), Data("b", 1), {"n", "Split", {"a:0"}, {"x"}, {"y0", "y1"}, {}}}}, {"b:0", "a:0"}, {"n:1"}));
  EXPECT_EQ(Names(graph->inputs), (Strings{"b", "a"}));
  ASSERT_EQ(graph->outputs.size(), 1u);
  EXPECT_EQ(graph->outputs[0].index, 1);
}

TEST(ReadModel, GraphsAfterTheFirstAreSubgraphs) {
  const ir::GraphPtr graph = Read(Model(
      {{Data("a", 0), {"if", "If", {"a:0"}, {"cond"}, {"output0"}, {"g1", "g2"}}}, {Data("t", 0)}, {Data("e", 0)}}));
  EXPECT_EQ(graph->subgraphs().size(), 2u);
  const ir::NodePtr node = graph->FindNode("if");
  ASSERT_EQ(node->subgraphs.size(), 2u);
  EXPECT_EQ(node->subgraphs[0].name, "then_branch");
  EXPECT_EQ(node->subgraphs[0].graph, "g1");
  EXPECT_EQ(node->subgraphs[1].name, "else_branch");
}

TEST(ReadModel, RefusesWhatContradictsItself) {
  ExpectRefused("", Code::kParseFile, "no bytes");
  ExpectRefused(Model({}) + "\x0a\x01x", Code::kParseFile, "no graph");
  const Op a = Data("a", 0);
  ExpectRefused(Model({{a, a}}), Code::kInvalidArgument, "\"a\"");
  const auto neg = [](const char* input) { return Op{"n", "Neg", {input}, {"x"}, {"y"}, {}}; };
  ExpectRefused(Model({{a, neg("b:0")}}), Code::kInvalidArgument, "node \"n\" (Neg): \"b\" is not a node");
  ExpectRefused(Model({{a, neg("b:-1")}}), Code::kInvalidArgument, "\"b\" is not a node");
  ExpectRefused(Model({{a, neg("a:1")}}), Code::kInvalidArgument, "asks for output 1");
  ExpectRefused(Model({{a, neg("a:-2")}}), Code::kInvalidArgument, "does not name a source");
  ExpectRefused(Model({{a, neg("a:99999999999")}}), Code::kInvalidArgument, "does not name a source");
  ExpectRefused(Model({{a, neg("a")}}), Code::kInvalidArgument, "does not name a source");
  ExpectRefused(Model({{a, neg("n:0")}}), Code::kInvalidArgument, "own output");
  ExpectRefused(Model({{a, neg("n:-1")}}), Code::kInvalidArgument, "waits for itself");
  ExpectRefused(Model({{a}}, {}, {"a:7"}), Code::kInvalidArgument, "output 7");
  ExpectRefused(Model({{a}}, {"z:0"}), Code::kInvalidArgument, "\"z\" is not a node");
}

TEST(ReadModel, RefusesSubgraphsThatDoNotMakeATree) {
  const auto call = [](const char* name, const char* graph) {
    return Op{name, "PartitionedCall", {}, {}, {}, {graph}};
  };
  ExpectRefused(Model({{call("c", "missing")}}), Code::kInvalidArgument, "\"missing\"");
  ExpectRefused(Model({{call("c", "g1")}, {call("d", "g1")}}), Code::kInvalidArgument, "copy of its own");
  ExpectRefused(Model({{}, {call("d", "g1")}}), Code::kInvalidArgument, "copy of its own");
  ExpectRefused(Model({{call("c", "g1"), call("d", "g1")}, {}}), Code::kInvalidArgument, "copy of its own");
  std::vector<std::vector<Op>> deep;
  for (int i = 0; i < 200; ++i) deep.push_back({call("c", ("g" + std::to_string(i + 1)).c_str())});
  deep.push_back({});
  ExpectRefused(Model(deep), Code::kInvalidArgument, "nest deeper");
}

TEST(ReadModel, LargeConstantsReferToTheInput) {
  const auto bytes = std::make_shared<std::string>(Write(*GraphWithConstant(100'000)));
  ir::GraphPtr graph;
  ASSERT_TRUE(ReadModel(BytesOf(*bytes), bytes, &graph).ok());
  const ir::TensorPtr tensor = *graph->FindNode("c")->FindAttr("value")->As<ir::TensorPtr>();
  const std::weak_ptr<std::string> watched = bytes;
  EXPECT_GE(reinterpret_cast<const char*>(tensor->data.data), bytes->data());
  EXPECT_LE(reinterpret_cast<const char*>(tensor->data.data) + tensor->data.size, bytes->data() + bytes->size());
  EXPECT_EQ(tensor->data.keep, bytes);
  ir::GraphPtr copy = Read(*bytes);
  EXPECT_NE((*copy->FindNode("c")->FindAttr("value")->As<ir::TensorPtr>())->data.data, tensor->data.data);
}

TEST(ReadModel, UnknownFieldsAreSkipped) {
  std::string model = Model({{Data("a", 0)}});
  std::string extra;
  ASSERT_TRUE(
      Writer::Write([](Writer* w) { return w->Text(12, "attr_groups"), w->FloatAlways(99, 1.0f), Ok(); }, &extra).ok());
  EXPECT_EQ(Read(model + extra)->nodes().size(), 1u);
}

TEST(DataTypes, AreNumberedDifferentlyInFiles) {
  EXPECT_EQ(DTypeFromProto(0), DType::kUndefined);
  EXPECT_EQ(DTypeFromProto(1), DType::kFloat);
  EXPECT_EQ(DTypeFromProto(7), DType::kInt32);
  EXPECT_EQ(DTypeFromProto(27), DType::kBfloat16);
  EXPECT_EQ(DTypeFromProto(32), DType::kComplex32);
  EXPECT_EQ(DTypeFromProto(999), DType::kUndefined);
  for (int64_t number = 0; number < 42; ++number) EXPECT_EQ(ProtoFromDType(DTypeFromProto(number)), number);
  for (int64_t number = 0; number <= 42; ++number) {
    if (number == 5) continue;  // an unassigned number
    EXPECT_EQ(NumberFromDType(DTypeFromNumber(number)), number);
  }
}

TEST(Formats, HaveNamesInFiles) {
  EXPECT_EQ(FormatName(2), "ND");
  EXPECT_EQ(FormatName(29), "FRACTAL_NZ");
  EXPECT_EQ(FormatName(29 | (2 << 8)), "FRACTAL_NZ");
  EXPECT_EQ(FormatFromName("NC"), 35);
  EXPECT_EQ(FormatFromName("nonsense"), kFormatReserved);
  for (int32_t format = 0; format < 55; ++format) EXPECT_EQ(FormatFromName(FormatName(format)), format);
}

TEST(RoundTrip, KeepsEverythingTheIrHolds) {
  const ir::GraphPtr graph = GraphWithEverything();
  const std::string model = Write(*graph);
  const ir::GraphPtr again = Read(model);
  ASSERT_NE(again, nullptr);
  ExpectSameGraph(*graph, *again);
  EXPECT_EQ(Write(*again), model) << "and a second run writes the same bytes";
}

TEST(RoundTrip, KeepsConstants) {
  const ir::GraphPtr graph = GraphWithConstant(10'000);
  ExpectSameGraph(*graph, *Read(Write(*graph)));
}

TEST(WriteModel, NamesWhatItCannotWrite) {
  std::string out;
  const auto refused = [&out](const ir::Graph& graph, const char* text) {
    const Status status = WriteModel(graph, &out);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
    EXPECT_TRUE(out.empty());
  };
  const auto graph = std::make_shared<ir::Graph>("g");
  const auto node = std::make_shared<ir::Node>("n", "Neg");
  ASSERT_TRUE(graph->AddNode(node).ok());
  node->attributes["value"] = Attr{ir::TensorPtr()};
  refused(*graph, "node \"n\" (Neg): attribute \"value\": it holds a null");
  node->attributes["value"] = Attr{graph};
  refused(*graph, "hold itself");
  node->attributes.clear();
  const auto stray = std::make_shared<ir::Node>("stray", "Neg");
  node->AddControl(stray);
  refused(*graph, "\"stray\"");
  node->RemoveControl(stray.get());
  graph->targets = {stray};
  refused(*graph, "target");
}

}  // namespace
}  // namespace millpond::io

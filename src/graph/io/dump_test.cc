// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/dump.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/graph/io/graph_samples.h"
#include "src/graph/io/prototext.h"
#include "src/graph/io/readable.h"

namespace millpond::io {
namespace {

std::string Dumped(const ir::Graph& graph, DumpFormat format, DumpContent content = DumpContent::kNoData) {
  std::string out;
  const Status status = DumpGraph(graph, format, content, &out);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

void ExpectHas(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "no " << part << " in\n" << text;
}
void ExpectHasNot(const std::string& text, const std::string& part) {
  EXPECT_EQ(text.find(part), std::string::npos) << part << " in\n" << text;
}

ir::Attr ConstantOf(std::vector<float> values) {
  ir::Tensor tensor;
  tensor.desc = SampleDesc("", DType::kFloat, {static_cast<int64_t>(values.size())});
  tensor.data = ir::Bytes::Copy(values.data(), values.size() * sizeof(float));
  return ir::Attr{std::make_shared<const ir::Tensor>(tensor)};
}

// Two inputs, an operator with two outputs, one with a subgraph.
ir::GraphPtr SmallGraph() {
  auto graph = std::make_shared<ir::Graph>("small");
  const ir::NodePtr data = SampleNode(graph.get(), "input_0", "Data", {"x"}, {"y"});
  data->attributes["index"] = ir::Attr{int64_t{0}};
  const ir::NodePtr constant = SampleNode(graph.get(), "Const_0", "Const", {}, {"y"});
  constant->attributes["value"] = ConstantOf({1.5f});
  constant->attributes["_readable_value"] = ir::Attr{std::string("private")};
  const ir::NodePtr top = SampleNode(graph.get(), "TopK_1", "TopKV2", {"x", "k"}, {"values", "indices"});
  EXPECT_TRUE(top->Connect(0, data, 0).ok());
  EXPECT_TRUE(top->Connect(1, constant, 0).ok());
  top->attributes["dim"] = ir::Attr{int64_t{-1}};
  top->attributes["sorted"] = ir::Attr{true};
  const ir::NodePtr branch = SampleNode(graph.get(), "If_2", "If", {"cond", "input0"}, {"output0"});
  EXPECT_TRUE(branch->Connect(0, top, 1).ok());
  EXPECT_TRUE(branch->Connect(1, data, 0).ok());
  branch->AddControl(constant);
  branch->subgraphs = {{"then_branch", "If_then"}};
  auto subgraph = std::make_shared<ir::Graph>("If_then");
  const ir::NodePtr inside = SampleNode(subgraph.get(), "in", "Data", {"x"}, {"y"});
  subgraph->outputs = {{inside, 0}};
  EXPECT_TRUE(graph->AddSubgraph(subgraph).ok());
  graph->inputs = {data};
  graph->outputs = {{top, 0}, {branch, 0}};
  return graph;
}

// The documented form (readable_dump.md): one line per node, get_element for the outputs of one with several, no
// control edges and no private attributes.
TEST(ReadableDump, HasTheDocumentedForm) {
  EXPECT_EQ(Dumped(*SmallGraph(), DumpFormat::kReadable),
            "graph(\"small\"):\n"
            "  %input_0 : [#users=1] = Node[type=Data] (attrs = {index: 0})\n"
            "  %Const_0 : [#users=1] = Node[type=Const] (attrs = {value: [1.500000]})\n"
            "  %TopK_1 : [#users=2] = Node[type=TopKV2] (inputs = (x=%input_0, k=%Const_0), "
            "attrs = {sorted: true, dim: -1})\n"
            "  %ret : [#users=1] = get_element[node=%TopK_1](0)\n"
            "  %ret_1 : [#users=1] = get_element[node=%TopK_1](1)\n"
            "  %If_2 : [#users=1] = Node[type=If] (inputs = (cond=%ret_1, input_0=%input_0), "
            "attrs = {then_branch: %If_then})\n"
            "\n"
            "  return (output_0=%ret, output_1=%If_2)\n"
            "\n"
            "graph(\"If_then\"):\n"
            "  %in : [#users=1] = Node[type=Data] ()\n"
            "\n"
            "  return (%in)\n");
}

TEST(ReadableDump, InFullEndsLinesWithTypesAndShapes) {
  ExpectHas(Dumped(*SmallGraph(), DumpFormat::kReadable, DumpContent::kFull), ")  # FLOAT[2,3] FLOAT[2,3]\n");
}

TEST(ReadableDump, ShowsTheEndsOfLongConstants) {
  const auto text = [](std::vector<float> values) { return ValuesText(**ConstantOf(values).As<ir::TensorPtr>()); };
  EXPECT_EQ(text({}), "<empty>");
  EXPECT_EQ(text({1, 2, 3, 4, 5, 6}), "[1.000000 2.000000 3.000000 4.000000 5.000000 6.000000]");
  EXPECT_EQ(text({1, 2, 3, 4, 5, 6, 7}), "[1.000000 2.000000 3.000000 ... 5.000000 6.000000 7.000000]");
}

TEST(ReadableDump, NeverReadsPastTheBytesOfAConstant) {
  ir::Tensor tensor;
  tensor.desc = SampleDesc("", DType::kInt64, {1'000'000});
  tensor.data = ir::Bytes::Copy("12345678", 8);
  EXPECT_EQ(ValuesText(tensor), "[4050765991979987505]");
  tensor.desc.dtype = DType::kString;
  EXPECT_EQ(ValuesText(tensor), "<not_supported>");
  tensor.desc.dtype = DType::kInt4;
  EXPECT_EQ(ValuesText(tensor), "<not_supported>");
}

TEST(ReadableDump, ShowsAGraphWithACycle) {
  const auto graph = std::make_shared<ir::Graph>("g");
  const ir::NodePtr a = SampleNode(graph.get(), "a", "Neg", {"x"}, {"y"});
  const ir::NodePtr b = SampleNode(graph.get(), "b", "Neg", {"x"}, {"y"});
  ASSERT_TRUE(a->Connect(0, b, 0).ok());
  ASSERT_TRUE(b->Connect(0, a, 0).ok());
  ExpectHas(Dumped(*graph, DumpFormat::kReadable), "%a : [#users=1] = Node[type=Neg] (inputs = (x=%b))");
}

TEST(TextDump, ShowsWhatTheFileWouldHold) {
  const std::string text = Dumped(*SmallGraph(), DumpFormat::kText, DumpContent::kFull);
  ExpectHas(text, "name: \"small\"\ngraph {\n  name: \"small\"\n  input: \"input_0:0\"\n  output: \"TopK_1:0\"\n");
  ExpectHas(text, "    input: \"TopK_1:1\"\n    input: \"input_0:0\"\n    input: \"Const_0:-1\"\n");
  ExpectHas(text, "    subgraph_name: \"If_then\"\n");
  ExpectHas(text,
            "      dtype: DT_FLOAT\n      shape {\n        dim: 2\n        dim: 3\n      }\n      layout: \"ND\"\n");
  ExpectHas(text, "          data: \"\\000\\000\\300?\"\n");
  ExpectHasNot(Dumped(*SmallGraph(), DumpFormat::kText), "data: ");
}

TEST(TextDump, NamesEveryField) {
  const std::string text = Dumped(*GraphWithEverything(), DumpFormat::kText, DumpContent::kFull);
  for (const char* part :
       {"val_type: VT_LIST_BOOL", "list_list_i {", "device_type: \"CPU\"", "dt: 27", "b: true", "bt: \"\\000\\377\"",
        "s: \"caf\xc3\xa9 \\\"quoted\\\"\\n\"", "f: -0\n", "dtype: DT_COMPLEX64", "func {", "td {"}) {
    ExpectHas(text, part);
  }
}

TEST(OnnxDump, HasNodesEdgesAndSubgraphs) {
  const std::string text = Dumped(*SmallGraph(), DumpFormat::kOnnx);
  ExpectHas(text, "op_type: \"ge:TopKV2\"\n");
  ExpectHas(text, "    input: \"input_0:0\"\n    input: \"Const_0:0\"\n    output: \"TopK_1:0\"\n");
  ExpectHas(text, "      name: \"then_branch\"\n      g {\n");
  ExpectHas(text, "dim_value: 3\n");
  ExpectHasNot(text, "raw_data");
  ExpectHas(Dumped(*SmallGraph(), DumpFormat::kOnnx, DumpContent::kFull), "raw_data: \"\\000\\000\\300?\"");
  ExpectHasNot(Dumped(*SmallGraph(), DumpFormat::kOnnx, DumpContent::kEdges), "input_desc");
}

TEST(OnnxDump, LeavesOutSubgraphsThatRunThemselves) {
  const ir::GraphPtr graph = SmallGraph();
  const ir::NodePtr again = SampleNode(graph->subgraphs()[0].get(), "again", "PartitionedCall", {}, {});
  again->subgraphs = {{"f", "If_then"}};
  ExpectHasNot(Dumped(*graph, DumpFormat::kOnnx), "then_branch");
}

TEST(DumpGraph, RefusesAnUnknownFormat) {
  std::string out;
  const Status status = DumpGraph(*SmallGraph(), static_cast<DumpFormat>(9), DumpContent::kFull, &out);
  ExpectHas(status.message(), "9 is not a dump format");
}

TEST(QuotedText, EscapesWhatIsNotText) {
  EXPECT_EQ(QuotedText("a\"b\\c\n"), "\"a\\\"b\\\\c\\n\"");
  EXPECT_EQ(QuotedText("\xff\x80"), "\"\\377\\200\"");
  EXPECT_EQ(QuotedText("\xe2\x82\xac"), "\"\xe2\x82\xac\"");
  EXPECT_EQ(QuotedText("\xe2\x82"), "\"\\342\\202\"");
}

TEST(DumpFileName, HasFormatNumberGraphAndStage) {
  EXPECT_EQ(DumpFileName(DumpFormat::kText, 7, 3, "PreRunBegin"), "ge_proto_00000007_graph_3_PreRunBegin.txt");
  EXPECT_EQ(DumpFileName(DumpFormat::kOnnx, 0, 0, "a/b c"), "ge_onnx_00000000_graph_0_a_b_c.pbtxt");
  EXPECT_EQ(DumpFileName(DumpFormat::kReadable, 0, 0, std::string(1000, 'x')).size(), 255u);
}

// Sets variables for one test.
class DumpEnvironment : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) unsetenv(name);
    folder_ = std::filesystem::temp_directory_path() / ("millpond_dump_" + std::to_string(getpid()));
  }
  void TearDown() override {
    for (const char* name : kNames) unsetenv(name);
    std::filesystem::remove_all(folder_);
  }
  static constexpr const char* kNames[] = {"DUMP_GE_GRAPH",    "DUMP_GRAPH_FORMAT", "DUMP_GRAPH_LEVEL",
                                           "NPU_COLLECT_PATH", "DUMP_GRAPH_PATH",   "ASCEND_WORK_PATH"};
  std::filesystem::path folder_;
};

TEST_F(DumpEnvironment, RequestsNothingByDefault) {
  EXPECT_FALSE(DumpSettings::FromEnvironment(0).enabled());
  setenv("DUMP_GE_GRAPH", "0", 1);
  EXPECT_FALSE(DumpSettings::FromEnvironment(0).enabled());
  setenv("DUMP_GE_GRAPH", "yes", 1);
  EXPECT_FALSE(DumpSettings::FromEnvironment(0).enabled());
}

TEST_F(DumpEnvironment, ChoosesFormatsStagesAndFolder) {
  setenv("DUMP_GE_GRAPH", "2", 1);
  DumpSettings settings = DumpSettings::FromEnvironment(0);
  EXPECT_EQ(settings.content, DumpContent::kNoData);
  EXPECT_EQ(settings.formats, (std::vector<DumpFormat>{DumpFormat::kOnnx, DumpFormat::kText}));
  EXPECT_EQ(settings.folder, "");
  EXPECT_TRUE(settings.Wants("AfterInfershape", false, false));
  setenv("DUMP_GRAPH_FORMAT", "READABLE", 1);
  setenv("DUMP_GRAPH_LEVEL", "PreRunBegin|AfterInfershape", 1);
  setenv("ASCEND_WORK_PATH", "/somewhere", 1);
  settings = DumpSettings::FromEnvironment(0);
  EXPECT_EQ(settings.formats, std::vector<DumpFormat>{DumpFormat::kReadable});
  EXPECT_TRUE(settings.Wants("GraphPreRunBegin", true, false));
  EXPECT_FALSE(settings.Wants("Build", false, true));
  EXPECT_EQ(settings.folder, "/somewhere");
  setenv("DUMP_GRAPH_PATH", "/dumps", 1);
  setenv("DUMP_GRAPH_LEVEL", "3", 1);
  settings = DumpSettings::FromEnvironment(4);
  EXPECT_EQ(settings.folder, "/dumps/pid_" + std::to_string(getpid()) + "_deviceid_4");
  EXPECT_TRUE(settings.Wants("Build", false, true));
  EXPECT_FALSE(settings.Wants("PreRunBegin", true, false));
  setenv("DUMP_GRAPH_LEVEL", "4", 1);
  EXPECT_TRUE(DumpSettings::FromEnvironment(0).Wants("PreRunBegin", true, false));
}

TEST_F(DumpEnvironment, FilesAreNumberedAndTheirFolderIsCreated) {
  setenv("DUMP_GE_GRAPH", "1", 1);
  setenv("DUMP_GRAPH_FORMAT", "readable", 1);
  setenv("DUMP_GRAPH_PATH", folder_.c_str(), 1);
  const DumpSettings settings = DumpSettings::FromEnvironment(0);
  ASSERT_TRUE(settings.Dump(*SmallGraph(), 5, "PreRunBegin").ok());
  ASSERT_TRUE(settings.Dump(*SmallGraph(), 5, "Build").ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(settings.folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  ASSERT_EQ(names.size(), 2u);
  ExpectHas(names[0], "_graph_5_PreRunBegin.txt");
  ExpectHas(names[1], "_graph_5_Build.txt");
  std::stringstream text;
  text << std::ifstream(settings.folder + '/' + names[0]).rdbuf();
  EXPECT_EQ(text.str(), Dumped(*SmallGraph(), DumpFormat::kReadable, DumpContent::kFull));
}

TEST(TraceJson, HasAnEventForEachNodeInOrder) {
  std::string out;
  ASSERT_TRUE(TraceJson(*SmallGraph(), &out).ok());
  ExpectHas(out,
            "{\"name\": \"TopK_1\", \"cat\": \"TopKV2\", \"ph\": \"X\", \"ts\": 2, \"dur\": 1, \"pid\": 0, "
            "\"tid\": 0, \"args\": {\"Stream ID\": 0, \"Task ID\": 2, \"Task Type\": \"TopKV2\", "
            "\"inputs\": [\"input_0\", \"Const_0\"]}}");
}

}  // namespace
}  // namespace millpond::io

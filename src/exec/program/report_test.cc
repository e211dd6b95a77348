// SPDX-License-Identifier: Apache-2.0
// Pages about compiled graphs: what they tell, where they go, and that they never stand in the way.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/exec/program/testing.h"
#include "src/graph/passes/kinds.h"

namespace millpond::program {
namespace {

class GraphReport : public ProgramFixture {
 protected:
  void SetUp() override {
    ProgramFixture::SetUp();
    if (!IsSkipped() && !HasKernel("OwnElementwise")) GTEST_SKIP() << "this build has no fused kernels";
    folder_ = std::filesystem::temp_directory_path() / Format("millpond_report_%d", getpid());
  }
  void TearDown() override {
    ProgramFixture::TearDown();
    std::filesystem::remove_all(folder_);
  }

  std::string PageFor(const TestGraph& test) {
    CompileOptions options;
    options.report = (folder_ / "page.html").string();
    EXPECT_NE(Compile(test, options), nullptr);
    std::ifstream file(options.report);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static bool Has(const std::string& page, const std::string& part) { return page.find(part) != std::string::npos; }

  // exp(x) * x, then + 1 in place of the product.
  static TestGraph Small() {
    TestGraph test("small");
    const ir::NodePtr x = test.Data("x", DType::kFloat, {256});
    const ir::NodePtr power = test.Unary("power", "Exp", x);
    const ir::NodePtr product = test.Binary("product", "Mul", power, x);
    const ir::NodePtr sum = test.Binary("sum", "Add", product, Scalar(&test, "one", 1));
    test.Return({test.Unary("root", "Sqrt", sum)});
    return test;
  }

  std::filesystem::path folder_;
};

TEST_F(GraphReport, ShowsBuffersStepsAndWhatLiesInPlaceOfWhat) {
  const std::string page = PageFor(Small());
  EXPECT_TRUE(Has(page, "\"title\":\"small\"")) << page.substr(0, 400);
  EXPECT_TRUE(Has(page, "\"peak\":1024,\"bound\":1024,\"planned\":true,\"optimal\":true"))
      << page.substr(page.find("id=\"data\""), 1500);
  EXPECT_TRUE(Has(page, "[\"product\"")) << "the buffer is named after its node";
  EXPECT_TRUE(Has(page, "[\"one\"")) << "the constant is named";
  EXPECT_TRUE(Has(page, "{\"name\":\"inputs\",\"bytes\":1024,\"given\":true}"));
  EXPECT_TRUE(Has(page, "{\"name\":\"outputs\",\"bytes\":1024}"));
}

TEST_F(GraphReport, NamesTheNodesThatWereFused) {
  TestGraph test("swish");
  const ir::NodePtr x = test.Data("x", DType::kFloat, {8});
  const ir::NodePtr gate = test.Unary("gate", "Sigmoid", x);
  test.Return({test.Binary("product", "Mul", gate, x)});
  const auto program = Compile(test);
  ASSERT_NE(program, nullptr);
  std::vector<std::string> names;
  for (const ir::NodePtr& node : program->compiled_graph().nodes()) {
    if (node->type != "Swish") continue;
    const ir::Attr* const attr = node->FindAttr(passes::kOriginNames);
    ASSERT_NE(attr, nullptr);
    names = *attr->As<std::vector<std::string>>();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"gate", "product"})) << "in the order they ran";
  EXPECT_TRUE(Has(PageFor(test), "[\"gate\",\"product\"]"));
}

TEST_F(GraphReport, NamesTheNodesOfAChain) {
  TestGraph test("chain");
  const ir::NodePtr x = test.Data("x", DType::kFloat, {64, 64});
  const ir::NodePtr y = test.Data("y", DType::kFloat, {64, 64}, 1);
  const ir::NodePtr product = test.Binary("product", "Mul", x, y);
  const ir::NodePtr sum = test.Binary("sum", "Add", product, y);
  test.Return({test.Unary("root", "Tanh", sum)});
  EXPECT_TRUE(Has(PageFor(test), "[\"product\",\"sum\",\"root\"]"));
}

TEST_F(GraphReport, WithoutAllShapesTellsThatThereIsNoPlan) {
  TestGraph test("open");
  const ir::NodePtr x = test.Data("x", DType::kFloat, {-1});
  test.Return({test.Unary("power", "Exp", x)});
  const std::string page = PageFor(test);
  EXPECT_TRUE(Has(page, "\"planned\":false"));
  EXPECT_TRUE(Has(page, "[\"power\""));
}

TEST_F(GraphReport, AFolderReceivesAFileForEachGraph) {
  CompileOptions options;
  options.report = folder_.string();
  for (int i = 0; i < 2; ++i) EXPECT_NE(Compile(Small(), options), nullptr);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_TRUE(entry.path().filename().string().ends_with("_small.html"));
    ++files;
  }
  EXPECT_EQ(files, 2U);
}

TEST_F(GraphReport, APageThatCannotBeWrittenDoesNotStopTheGraph) {
  CompileOptions options;
  options.report = "/dev/null/nowhere";
  EXPECT_NE(Compile(Small(), options), nullptr);
}

}  // namespace
}  // namespace millpond::program

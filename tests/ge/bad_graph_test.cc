// SPDX-License-Identifier: Apache-2.0
// Invalid graphs: the error names the graph, the node, the input or attribute, and what was expected
// (issue 6.3).
#include "array_ops.h"
#include "elewise_calculation_ops.h"
#include "functional_ops.h"
#include "math_ops.h"
#include "nn_calculation_ops.h"
#include "selection_ops.h"
#include "session_fixture.h"

namespace {

using namespace ge_test;  // NOLINT
namespace op = ge::op;

ge::Graph Whole(const char* name, const std::vector<ge::Operator>& inputs, const ge::Operator& output) {
  ge::Graph graph(name);
  graph.SetInputs(inputs).SetOutputs(std::vector<ge::Operator>{output});
  return graph;
}

class BadGraphTest : public SessionTest {
 protected:
  // The graph is refused, by compiling at the latest, and the message has all of these words.
  void ExpectRefused(const ge::Graph& graph, std::initializer_list<const char*> words) {
    ge::Session session(Options{});
    ErrorMessage();
    ge::Status status = session.AddGraph(1, graph);
    if (status == ge::SUCCESS) status = session.CompileGraph(1);
    EXPECT_NE(status, ge::SUCCESS);
    const std::string text = ErrorMessage();
    for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << word << " is not in: " << text;
    EXPECT_EQ(session.GetCompiledGraphSummary(1), nullptr);
    // Nothing is left of it: the same session and id work for a valid graph.
    ErrorMessage();
    if (session.RemoveGraph(1) != ge::SUCCESS) ErrorMessage();
    GE_OK(session.AddGraph(1, TwoOutputs("good")));
    GE_OK(session.CompileGraph(1));
  }
};

TEST_F(BadGraphTest, ACycleIsNamedNodeByNode) {
  ge::Graph graph("round");
  ge::GNode data = graph.AddNodeByOp(Data("data", 0, {4}));
  ge::GNode first = graph.AddNodeByOp(op::Add("first"));
  ge::GNode second = graph.AddNodeByOp(op::Add("second"));
  EXPECT_EQ(graph.AddDataEdge(data, 0, first, 0), ge::GRAPH_SUCCESS);
  EXPECT_EQ(graph.AddDataEdge(second, 0, first, 1), ge::GRAPH_SUCCESS);
  EXPECT_EQ(graph.AddDataEdge(data, 0, second, 0), ge::GRAPH_SUCCESS);
  EXPECT_EQ(graph.AddDataEdge(first, 0, second, 1), ge::GRAPH_SUCCESS);
  EXPECT_EQ(graph.SetOutputs(std::vector<std::pair<ge::GNode, int32_t>>{{second, 0}}), ge::GRAPH_SUCCESS);
  ExpectRefused(graph, {"\"round\"", "cycle", "\"first\"", "\"second\""});
}

TEST_F(BadGraphTest, ACycleOfControlEdgesIsACycleToo) {
  ge::Graph graph = TwoOutputs("waits");
  ge::GNode sum = *graph.FindNodeByName("sum");
  ge::GNode product = *graph.FindNodeByName("product");
  EXPECT_EQ(graph.AddControlEdge(product, sum), ge::GRAPH_SUCCESS);
  ExpectRefused(graph, {"cycle", "\"sum\"", "\"product\""});
}

TEST_F(BadGraphTest, AnUnconnectedInputIsNamed) {
  ge::Operator x = Data("x", 0, {4});
  op::Add sum("sum");
  sum.set_input_x1(x);
  ExpectRefused(Whole("dangling", {x}, sum), {"\"dangling\"", "\"sum\"", "input 1", "\"x2\"", "not connected"});
}

TEST_F(BadGraphTest, ShapesThatDoNotFitAreNamed) {
  ge::Operator x = Data("x", 0, {4, 3});
  ge::Operator y = Data("y", 1, {5, 4});
  ge::Operator product = Binary("product", "MatMul", x, y);
  ExpectRefused(Whole("shapes", {x, y}, product), {"\"product\"", "MatMul", "3", "5"});

  ge::Operator a = Data("a", 0, {4});
  ge::Operator b = Data("b", 1, {3});
  ge::Operator sum = Binary("sum", "Add", a, b);
  ExpectRefused(Whole("broadcast", {a, b}, sum), {"\"sum\"", "4", "3"});
}

TEST_F(BadGraphTest, ATypeThatAnOperatorDoesNotTakeIsNamed) {
  op::Data text("text");
  const ge::TensorDesc desc(ge::Shape({4}), ge::FORMAT_ND, ge::DT_STRING);
  text.set_attr_index(0);
  text.update_input_desc_x(desc);
  text.update_output_desc_y(desc);
  ge::Operator sum = Binary("sum", "MatMul", text, text);
  ExpectRefused(Whole("types", {text}, sum), {"\"sum\"", "STRING"});
}

TEST_F(BadGraphTest, InvalidIndicesAreNamed) {
  ge::Operator x = Data("x", 0, {4, 4});
  ge::Operator places = Data("places", 1, {2});  // floating
  ge::Operator axis = Const("axis", {1}, 0.0F);
  op::GatherV2 gather("gather");
  gather.set_input_x(x).set_input_indices(places).set_input_axis(axis);
  ExpectRefused(Whole("indices", {x, places, axis}, gather), {"\"gather\"", "GatherV2", "FLOAT"});
}

// A graph that returns its input and also runs `target`.
ge::Graph WithTarget(const ge::Operator& x, ge::Operator& target) {
  ge::Graph graph("targets");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{x});
  ge::GNode node = graph.AddNodeByOp(target);
  static_cast<void>(node);
  graph.SetTargets({target});
  return graph;
}

TEST_F(BadGraphTest, AnUndefinedTypeIsNamed) {
  ge::Operator x = Data("x", 0, {4});
  ge::Operator odd("odd", "NoSuchOperator");
  odd.SetInput("x", x);  // an operator without a definition has no inputs: this is refused
  EXPECT_NE(ErrorMessage().find("\"odd\""), std::string::npos);
  ExpectRefused(WithTarget(x, odd), {"\"odd\"", "\"NoSuchOperator\""});
}

TEST_F(BadGraphTest, AnOperatorThatIsKnownButCannotRunIsRefusedByName) {
  ge::Operator x = Data("x", 0, {4});
  // Known to the table (it has a definition), and nothing here computes it.
  ge::Operator odd = ge::OperatorFactory::CreateOperator("odd", "BoostedTreesBucketize");
  ASSERT_FALSE(odd.IsEmpty());
  ExpectRefused(WithTarget(x, odd), {"\"odd\"", "BoostedTreesBucketize"});
}

TEST_F(BadGraphTest, AnAttributeThatIsMissingIsNamed) {
  ge::Operator x = Data("x", 0, {1, 8, 8, 3});
  ge::Operator filter = Data("filter", 1, {3, 3, 3, 4});
  op::Conv2D conv("conv");
  conv.set_input_x(x).set_input_filter(filter);
  conv.set_attr_pads({0, 0, 0, 0});
  ExpectRefused(Whole("attributes", {x, filter}, conv), {"\"conv\"", "\"strides\"", "ListInt", "missing"});
}

TEST_F(BadGraphTest, AnAttributeOfAnotherTypeIsNamed) {
  ge::Operator x = Data("x", 0, {4});
  op::Cast cast("cast");
  cast.set_input_x(x);
  cast.SetAttr("dst_type", "float");
  ExpectRefused(Whole("attributes", {x}, cast), {"\"cast\"", "\"dst_type\"", "String", "Int"});
}

TEST_F(BadGraphTest, AConstantThatIsShorterThanItsShapeIsNamed) {
  op::Const constant("constant");
  const ge::TensorDesc desc(ge::Shape({100}), ge::FORMAT_ND, ge::DT_FLOAT);
  const float one = 1.0F;
  constant.set_attr_value(ge::Tensor(desc, reinterpret_cast<const uint8_t*>(&one), sizeof(one)));
  ge::Operator x = Data("x", 0, {100});
  ge::Operator sum = Binary("sum", "Add", x, constant);
  ExpectRefused(Whole("short", {x, constant}, sum), {"\"constant\"", "400", "4"});
}

TEST_F(BadGraphTest, ASubgraphThatIsMissingOrDoesNotFitIsNamed) {
  const auto graph = [](const ge::SubgraphBuilder& then_branch, const ge::SubgraphBuilder& else_branch) {
    ge::Operator x = Data("x", 0, {1});
    op::If choice("choice");
    choice.create_dynamic_input_input(1);
    choice.create_dynamic_output_output(1);
    choice.set_input_cond(x).set_dynamic_input_input(0, x);
    if (then_branch) choice.set_subgraph_builder_then_branch(then_branch);
    if (else_branch) choice.set_subgraph_builder_else_branch(else_branch);
    ge::Graph made("branches");
    made.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{choice});
    return made;
  };
  const auto branch = [](const char* name, size_t outputs) -> ge::SubgraphBuilder {
    return [name, outputs] {
      ge::Operator x = Data("x", 0, {1});
      ge::Graph made(name);
      made.SetInputs({x}).SetOutputs(std::vector<ge::Operator>(outputs, x));
      return made;
    };
  };
  ExpectRefused(graph(branch("yes", 1), nullptr), {"\"choice\"", "else_branch"});
  ExpectRefused(graph(branch("yes", 1), branch("no", 2)), {"\"choice\"", "\"no\"", "2 outputs", "1"});
}

TEST_F(BadGraphTest, AnEmptyGraphIsRefused) {
  ge::Session session(Options{});
  GE_FAILS(kParamInvalid, session.AddGraph(1, ge::Graph("empty")));
  EXPECT_NE(ErrorMessage().find("no nodes"), std::string::npos);
}

TEST_F(BadGraphTest, InputsOfARunThatDoNotFitAreNamed) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, Dynamic("run")));
  std::vector<ge::Tensor> outputs;
  GE_FAILS(ge::FAILED, session.RunGraph(1, {HostTensor(Counting(), {2, 8})}, outputs));
  const std::string text = ErrorMessage();
  EXPECT_NE(text.find("input 0"), std::string::npos) << text;
  GE_OK(session.RunGraph(1, {HostTensor(Counting())}, outputs));
}

}  // namespace

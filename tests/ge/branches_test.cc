// SPDX-License-Identifier: Apache-2.0
// Switch and Merge, as graphs of older frameworks have conditions: one side runs, and a Merge takes what it made.
#include "array_ops.h"
#include "control_flow_ops.h"
#include "elewise_calculation_ops.h"
#include "session_fixture.h"
#include "state_ops.h"

namespace {

using namespace ge_test;  // NOLINT
namespace op = ge::op;

using Values = std::vector<float>;

ge::Tensor One(float value) { return HostTensor({value}, {1}); }

op::Variable State(const char* name) {
  op::Variable state(name);
  const ge::TensorDesc desc(ge::Shape({1}), ge::FORMAT_ND, ge::DT_FLOAT);
  const float value = 0;
  state.update_input_desc_x(desc);
  state.update_output_desc_y(desc);
  state.set_attr_value(ge::Tensor(desc, reinterpret_cast<const uint8_t*>(&value), sizeof(value)));
  return state;
}

op::Switch Side(const char* name, const ge::Operator& data, const ge::Operator& condition) {
  op::Switch made(name);
  made.set_input_data(data).set_input_pred(condition);
  return made;
}

ge::Operator On(const char* name, const char* type, const op::Switch& from, const char* output) {
  ge::Operator made = ge::OperatorFactory::CreateOperator(name, type);
  made.SetInput("x1", from, output);
  made.SetInput("x2", from, output);
  return made;
}

op::Merge Join(const char* name, const ge::Operator& first, const ge::Operator& second) {
  op::Merge made(name);
  made.create_dynamic_input_x(2);
  made.set_dynamic_input_x(0, first);
  made.set_dynamic_input_x(1, second);
  return made;
}

class Branches : public OneSessionTest {
 protected:
  std::vector<ge::Tensor> Run(const ge::Graph& graph, const std::vector<ge::Tensor>& inputs) {
    std::vector<ge::Tensor> outputs;
    GE_OK(session_->AddGraph(++id_, graph));
    GE_OK(session_->RunGraph(id_, inputs, outputs));
    return outputs;
  }
  std::vector<ge::Tensor> Again(const std::vector<ge::Tensor>& inputs) {
    std::vector<ge::Tensor> outputs;
    GE_OK(session_->RunGraph(id_, inputs, outputs));
    return outputs;
  }
  void Refuses(const ge::Graph& graph, const std::string& reason) {
    std::vector<ge::Tensor> outputs;
    GE_OK(session_->AddGraph(++id_, graph));
    EXPECT_NE(session_->RunGraph(id_, {One(1), One(2)}, outputs), ge::SUCCESS);
    const std::string message = ErrorMessage();
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  }

  uint32_t id_ = 0;
};

int32_t Number(const ge::Tensor& tensor) { return *reinterpret_cast<const int32_t*>(tensor.GetData()); }

// x < y ? x + x : x * x, and which input of the Merge it was.
ge::Graph Choice(const char* name) {
  ge::Operator x = Data("x", 0, {1});
  ge::Operator y = Data("y", 1, {1});
  ge::Operator less = Binary("less", "Less", x, y);
  const op::Switch side = Side("side", x, less);
  op::Merge merge = Join("merge", On("square", "Mul", side, "output_false"), On("twice", "Add", side, "output_true"));
  ge::Graph graph(name);
  graph.SetInputs({x, y}).SetOutputs(std::vector<std::pair<ge::Operator, std::vector<size_t>>>{{merge, {0, 1}}});
  return graph;
}

TEST_F(Branches, TheMergeTakesTheSideThatRan) {
  std::vector<ge::Tensor> outputs = Run(Choice("choice"), {One(5), One(6)});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(Floats(outputs[0]), (Values{10}));
  EXPECT_EQ(Number(outputs[1]), 1);
  outputs = Again({One(5), One(4)});
  EXPECT_EQ(Floats(outputs[0]), (Values{25}));
  EXPECT_EQ(Number(outputs[1]), 0);
}

// Two values go through one condition; one of them is left as it is on one side.
TEST_F(Branches, SeveralValuesShareACondition) {
  ge::Operator x = Data("x", 0, {1});
  ge::Operator y = Data("y", 1, {1});
  ge::Operator less = Binary("less", "Less", x, y);
  const op::Switch first = Side("first", x, less);
  const op::Switch second = Side("second", y, less);
  op::Identity kept("kept");
  kept.SetInput("x", second, "output_true");
  ge::Operator sum = ge::OperatorFactory::CreateOperator("sum", "Add");
  sum.SetInput("x1", first, "output_false");
  sum.SetInput("x2", second, "output_false");
  ge::Operator more = Binary("more", "Mul", sum, Const("three", {1}, 3.0F));
  op::Merge one = Join("one", On("twice", "Add", first, "output_true"), sum);
  op::Merge two = Join("two", kept, more);
  ge::Graph graph("shared");
  graph.SetInputs({x, y}).SetOutputs(std::vector<ge::Operator>{one, two});
  std::vector<ge::Tensor> outputs = Run(graph, {One(2), One(5)});
  EXPECT_EQ(Floats(outputs[0]), (Values{4}));
  EXPECT_EQ(Floats(outputs[2]), (Values{5}));
  outputs = Again({One(5), One(2)});
  EXPECT_EQ(Floats(outputs[0]), (Values{7}));
  EXPECT_EQ(Floats(outputs[2]), (Values{21}));
}

// x < y ? (x < 3 ? x + x : x * x) : x - x, then the same condition once more.
TEST_F(Branches, ConditionsNestAndFollowEachOther) {
  ge::Operator x = Data("x", 0, {1});
  ge::Operator y = Data("y", 1, {1});
  ge::Operator less = Binary("less", "Less", x, y);
  const op::Switch outer = Side("outer", x, less);
  ge::Operator inside = ge::OperatorFactory::CreateOperator("inside", "Less");
  inside.SetInput("x1", outer, "output_true");
  inside.SetInput("x2", Const("three", {1}, 3.0F));
  op::Switch inner("inner");
  inner.SetInput("data", outer, "output_true");
  inner.set_input_pred(inside);
  op::Merge small = Join("small", On("twice", "Add", inner, "output_true"), On("square", "Mul", inner, "output_false"));
  op::Identity chosen("chosen");
  chosen.SetInput("x", small, "y");
  op::Merge merge = Join("merge", chosen, On("nothing", "Sub", outer, "output_false"));
  op::Switch after("after");
  after.SetInput("data", merge, "y");
  after.set_input_pred(less);
  op::Identity plain("plain");
  plain.SetInput("x", after, "output_false");
  op::Merge last = Join("last", On("doubled", "Add", after, "output_true"), plain);
  ge::Graph graph("nested");
  graph.SetInputs({x, y}).SetOutputs(std::vector<ge::Operator>{last});
  EXPECT_EQ(Floats(Run(graph, {One(2), One(9)})[0]), (Values{8}));
  EXPECT_EQ(Floats(Again({One(5), One(9)})[0]), (Values{50}));
  EXPECT_EQ(Floats(Again({One(9), One(5)})[0]), (Values{0}));
}

// What a side does beside its value happens when it is taken, and not else.
TEST_F(Branches, TheOtherSideDoesNotRun) {
  ge::Operator x = Data("x", 0, {1});
  ge::Operator y = Data("y", 1, {1});
  ge::Operator less = Binary("less", "Less", x, y);
  const op::Switch side = Side("side", x, less);
  op::Variable state = State("taken");
  op::AssignAdd store("store");
  store.set_input_ref(state);
  store.SetInput("value", side, "output_true");
  op::Identity same("same");
  same.SetInput("x", side, "output_false");
  op::Merge merge = Join("merge", same, On("twice", "Add", side, "output_true"));
  ge::Graph graph("effects");
  graph.SetInputs({x, y, state}).SetOutputs(std::vector<ge::Operator>{merge}).SetTargets({store});
  EXPECT_EQ(Floats(Run(graph, {One(2), One(1)})[0]), (Values{2}));
  std::vector<ge::Tensor> values;
  const std::vector<ge::AscendString> names{"taken"};
  GE_OK(session_->GetVariables(names, values));
  EXPECT_EQ(Floats(values[0]), (Values{0}));
  EXPECT_EQ(Floats(Again({One(2), One(3)})[0]), (Values{4}));
  values.clear();
  GE_OK(session_->GetVariables(names, values));
  EXPECT_EQ(Floats(values[0]), (Values{2}));
}

TEST_F(Branches, WhatHasNoMeaningAsABranchIsNamed) {
  ge::Operator x = Data("x", 0, {1});
  ge::Operator y = Data("y", 1, {1});
  ge::Operator less = Binary("less", "Less", x, y);
  const op::Switch side = Side("side", x, less);
  ge::Operator twice = On("twice", "Add", side, "output_true");
  ge::Graph dead("dead");
  dead.SetInputs({x, y}).SetOutputs(std::vector<ge::Operator>{twice});
  Refuses(dead, "runs on one side of a Switch only");

  ge::Operator u = Data("x", 0, {1});
  ge::Operator v = Data("y", 1, {1});
  op::Merge both = Join("both", u, v);
  ge::Graph always("always");
  always.SetInputs({u, v}).SetOutputs(std::vector<ge::Operator>{both});
  Refuses(always, "not the two sides of one condition");

  ge::Operator a = Data("x", 0, {1});
  ge::Operator b = Data("y", 1, {1});
  const op::Switch mixed = Side("mixed", a, Binary("lower", "Less", a, b));
  ge::Operator sum = ge::OperatorFactory::CreateOperator("sum", "Add");
  sum.SetInput("x1", mixed, "output_false");
  sum.SetInput("x2", mixed, "output_true");
  ge::Graph never("never");
  never.SetInputs({a, b}).SetOutputs(std::vector<ge::Operator>{sum});
  Refuses(never, "of which only one runs");
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// What graphs built by clients compute: control flow, calls, variables, references, files (docs/compat.md, "Building
// graphs" and "Graphs in files"; issue 6.3).
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "array_ops.h"
#include "elewise_calculation_ops.h"
#include "functional_ops.h"
#include "graph/graph_buffer.h"
#include "session_fixture.h"
#include "state_ops.h"

namespace {

using namespace ge_test;  // NOLINT
namespace op = ge::op;

using Values = std::vector<float>;

class GraphFlowTest : public OneSessionTest {
 protected:
  // One run of a graph of its own, host to host; each input is one value.
  std::vector<Values> Run(const ge::Graph& graph, const std::vector<ge::Tensor>& inputs) {
    ++id_;
    std::vector<ge::Tensor> outputs;
    GE_OK(session_->AddGraph(id_, graph));
    GE_OK(session_->RunGraph(id_, inputs, outputs));
    std::vector<Values> values;
    for (const ge::Tensor& output : outputs) values.push_back(Floats(output));
    return values;
  }

  uint32_t id_ = 0;
};

ge::Tensor One(float value) { return HostTensor({value}, {1}); }
ge::Tensor Index(int32_t value) {
  const ge::TensorDesc desc(ge::Shape(std::vector<int64_t>{}), ge::FORMAT_ND, ge::DT_INT32);
  return ge::Tensor(desc, reinterpret_cast<const uint8_t*>(&value), sizeof(value));
}
op::Data IndexInput(const char* name, int64_t index) {
  op::Data data(name);
  const ge::TensorDesc desc(ge::Shape(std::vector<int64_t>{}), ge::FORMAT_ND, ge::DT_INT32);
  data.set_attr_index(index);
  data.update_input_desc_x(desc);
  data.update_output_desc_y(desc);
  return data;
}

// (x) -> x op x
ge::Graph Body(const char* name, const char* type) {
  ge::Operator x = Data("x", 0, {1});
  ge::Operator out = Binary("out", type, x, x);
  ge::Graph graph(name);
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{out});
  return graph;
}

ge::Graph Choice(const char* name) {
  ge::Operator x = Data("x", 0, {1});
  ge::Operator y = Data("y", 1, {1});
  ge::Operator less = Binary("less", "Less", x, y);
  op::If choice("choice");
  choice.create_dynamic_input_input(1);
  choice.create_dynamic_output_output(1);
  choice.set_input_cond(less).set_dynamic_input_input(0, x);
  choice.set_subgraph_builder_then_branch([] { return Body("twice", "Add"); });
  choice.set_subgraph_builder_else_branch([] { return Body("square", "Mul"); });
  ge::Graph graph(name);
  graph.SetInputs({x, y}).SetOutputs(std::vector<ge::Operator>{choice});
  return graph;
}

TEST_F(GraphFlowTest, IfTakesTheBranchOfItsCondition) {
  EXPECT_EQ(Run(Choice("if"), {One(5), One(6)}), (std::vector<Values>{{10}}));
  EXPECT_EQ(Run(Choice("if"), {One(5), One(4)}), (std::vector<Values>{{25}}));
}

TEST_F(GraphFlowTest, CaseTakesTheBranchOfItsIndexAndTheLastForOthers) {
  const auto graph = [] {
    op::Data which = IndexInput("which", 0);
    ge::Operator x = Data("x", 1, {1});
    op::Case choice("choice");
    choice.create_dynamic_input_input(1);
    choice.create_dynamic_output_output(1);
    choice.create_dynamic_subgraph_branches(3);
    choice.set_input_branch_index(which).set_dynamic_input_input(0, x);
    choice.set_dynamic_subgraph_builder_branches(0, [] { return Body("sum", "Add"); });
    choice.set_dynamic_subgraph_builder_branches(1, [] { return Body("product", "Mul"); });
    choice.set_dynamic_subgraph_builder_branches(2, [] { return Body("difference", "Sub"); });
    ge::Graph made("case");
    made.SetInputs({which, x}).SetOutputs(std::vector<ge::Operator>{choice});
    return made;
  };
  EXPECT_EQ(Run(graph(), {Index(0), One(7)}), (std::vector<Values>{{14}}));
  EXPECT_EQ(Run(graph(), {Index(1), One(7)}), (std::vector<Values>{{49}}));
  EXPECT_EQ(Run(graph(), {Index(2), One(7)}), (std::vector<Values>{{0}}));
  EXPECT_EQ(Run(graph(), {Index(9), One(7)}), (std::vector<Values>{{0}}));
}

ge::Graph Below(const char* name) {
  ge::Operator x = Data("x", 0, {1});
  ge::Operator limit = Const("limit", {1}, 100.0F);
  ge::Operator less = Binary("less", "Less", x, limit);
  ge::Graph graph(name);
  graph.SetInputs({x, limit}).SetOutputs(std::vector<ge::Operator>{less});
  return graph;
}

ge::Graph Loop(const char* name) {
  ge::Operator x = Data("x", 0, {1});
  op::While loop("loop");
  loop.create_dynamic_input_input(1);
  loop.create_dynamic_output_output(1);
  loop.set_dynamic_input_input(0, x);
  loop.set_subgraph_builder_cond([] { return Below("below"); });
  loop.set_subgraph_builder_body([] { return Body("grow", "Add"); });
  ge::Graph graph(name);
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{loop});
  return graph;
}

TEST_F(GraphFlowTest, WhileLoopsUntilItsConditionFails) {
  EXPECT_EQ(Run(Loop("while"), {One(3)}), (std::vector<Values>{{192}}));
  EXPECT_EQ(Run(Loop("while"), {One(100)}), (std::vector<Values>{{100}}));
}

ge::Graph Call(const char* name) {
  ge::Operator x = Data("x", 0, {1});
  op::PartitionedCall call("call");
  call.create_dynamic_input_args(1);
  call.create_dynamic_output_output(1);
  call.set_dynamic_input_args(0, x);
  call.set_subgraph_builder_f([] { return Loop("inner"); });
  ge::Operator sum = Binary("sum", "Add", call, x);
  ge::Graph graph(name);
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{sum});
  return graph;
}

TEST_F(GraphFlowTest, CallsRunTheirSubgraphWithAllThatItRunsItself) {
  EXPECT_EQ(Run(Call("call"), {One(3)}), (std::vector<Values>{{195}}));
}

// Saved and loaded, a graph computes the same.
TEST_F(GraphFlowTest, AGraphThatWasSavedAndLoadedComputesTheSame) {
  ge::GraphBuffer buffer;
  ASSERT_EQ(Call("saved").SaveToMem(buffer), ge::GRAPH_SUCCESS);
  ge::Graph loaded;
  ASSERT_EQ(loaded.LoadFromMem(buffer), ge::GRAPH_SUCCESS);
  EXPECT_EQ(Run(loaded, {One(3)}), (std::vector<Values>{{195}}));
  const std::string path =
      (std::filesystem::path(testing::TempDir()) / ("millpond_flow_" + std::to_string(getpid()) + ".air")).string();
  ASSERT_EQ(Choice("filed").SaveToFile(path.c_str()), ge::GRAPH_SUCCESS);
  ge::Graph filed;
  ASSERT_EQ(filed.LoadFromFile(path.c_str()), ge::GRAPH_SUCCESS);
  std::filesystem::remove(path);
  EXPECT_EQ(Run(filed, {One(5), One(4)}), (std::vector<Values>{{25}}));
}

op::Variable State(const char* name, float value) {
  op::Variable state(name);
  const ge::TensorDesc desc(ge::Shape({1}), ge::FORMAT_ND, ge::DT_FLOAT);
  state.update_input_desc_x(desc);
  state.update_output_desc_y(desc);
  state.set_attr_value(ge::Tensor(desc, reinterpret_cast<const uint8_t*>(&value), sizeof(value)));
  return state;
}

ge::Graph Adding(const char* name) {
  ge::Operator x = Data("x", 0, {1});
  op::Variable state = State("state", 5.0F);
  op::AssignAdd add("add");
  add.set_input_ref(state).set_input_value(x);
  ge::Graph graph(name);
  graph.SetInputs({x, state}).SetOutputs(std::vector<ge::Operator>{add});
  return graph;
}

TEST_F(GraphFlowTest, AVariableLastsFromRunToRunAndFromGraphToGraph) {
  EXPECT_EQ(Run(Adding("first"), {One(1)}), (std::vector<Values>{{6}}));
  std::vector<ge::Tensor> outputs;
  GE_OK(session_->RunGraph(id_, {One(1)}, outputs));
  EXPECT_EQ(Floats(outputs[0]), (Values{7}));
  EXPECT_EQ(Run(Adding("second"), {One(1)}), (std::vector<Values>{{8}}));
  std::vector<ge::Tensor> values;
  GE_OK(session_->GetVariables(std::vector<ge::AscendString>{"state"}, values));
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(Floats(values[0]), (Values{8}));
  GE_FAILS(ge::FAILED, session_->GetVariables(std::vector<ge::AscendString>{"state", "nobody"}, values));
  EXPECT_NE(ErrorMessage().find("nobody"), std::string::npos);
}

TEST_F(GraphFlowTest, AnotherSessionHasVariablesOfItsOwn) {
  EXPECT_EQ(Run(Adding("first"), {One(1)}), (std::vector<Values>{{6}}));
  session_ = std::make_unique<ge::Session>(Options{});
  EXPECT_EQ(Run(Adding("again"), {One(1)}), (std::vector<Values>{{6}}));
}

// A control edge orders nodes without a data edge.
TEST_F(GraphFlowTest, AControlEdgeOrdersNodesWithoutADataEdge) {
  const auto graph = [](bool before) {
    ge::Operator x = Data("x", 0, {1});
    op::Variable state = State("ordered", 0.0F);
    op::Assign store("store");
    store.set_input_ref(state).set_input_value(x);
    op::Identity read("read");
    read.set_input_x(state);
    if (before) {
      store.AddControlInput(read);
    } else {
      read.AddControlInput(store);
    }
    ge::Graph made("ordered");
    made.SetInputs({x, state}).SetOutputs(std::vector<ge::Operator>{read}).SetTargets({store});
    return made;
  };
  EXPECT_EQ(Run(graph(false), {One(4)}), (std::vector<Values>{{4}}));
  EXPECT_EQ(Run(graph(true), {One(9)}), (std::vector<Values>{{4}})) << "what was there before";
  EXPECT_EQ(Run(graph(true), {One(0)}), (std::vector<Values>{{9}}));
}

// docs/compat.md, "What torchair sends": torchair's RefData is an input that the graph changes in place.
TEST_F(GraphFlowTest, RefDataIsChangedInPlace) {
  ge::Operator x = Data("x", 0, {4, 4});
  op::RefData state("state");
  const ge::TensorDesc desc(ge::Shape({4, 4}), ge::FORMAT_ND, ge::DT_FLOAT);
  state.set_attr_index(1);
  state.update_input_desc_x(desc);
  state.update_output_desc_y(desc);
  op::AssignAdd add("add");
  add.set_input_ref(state).set_input_value(x);
  ge::Graph graph("reference");
  graph.SetInputs({x, state}).SetOutputs(std::vector<ge::Operator>{add});
  GE_REQUIRE_OK(session_->AddGraph(1, graph));
  GE_REQUIRE_OK(session_->CompileGraph(1));
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  GE_OK(session_->GetCompiledGraphSummary(1)->GetIOIndexesWithSameAddr(pairs));
  EXPECT_EQ(pairs, (std::vector<std::pair<uint32_t, uint32_t>>{{1, 0}}));
  DeviceMemory input(Counting());
  DeviceMemory memory(Values(kElements, 1.0F));
  for (int run = 1; run <= 2; ++run) {
    std::vector<ge::Tensor> outputs = {DeviceTensor(memory.data())};
    GE_REQUIRE_OK(session_->RunGraphWithStreamAsync(
        1, stream_, {DeviceTensor(input.data()), DeviceTensor(memory.data())}, outputs));
    Synchronize();
    Values expected = Counting();
    for (float& value : expected) value = value * static_cast<float>(run) + 1.0F;
    EXPECT_EQ(Read(memory.data()), expected);
  }
}

// Issue 6.4: every way of running, static and dynamic, gives bit-identical results.
TEST_F(GraphFlowTest, EveryWayOfRunningGivesTheSameResult) {
  const auto graph = [](const std::vector<int64_t>& dims) {
    ge::Operator x = Data("x", 0, dims);
    ge::Operator weights = Const("weights", {4}, 0.25F);
    ge::Operator product = Binary("product", "Mul", x, weights);
    ge::Operator sum = Binary("sum", "Add", product, x);
    ge::Operator squared = Binary("squared", "Mul", sum, product);
    ge::Graph made("ways");
    made.SetInputs({x, weights}).SetOutputs(std::vector<ge::Operator>{squared, sum});
    return made;
  };
  std::vector<Values> all;
  DeviceMemory input(Counting());
  for (const int64_t rows : {int64_t{4}, int64_t{-1}}) {
    const uint32_t base = rows < 0 ? 10 : 0;
    for (uint32_t id = base; id < base + 4; ++id) GE_REQUIRE_OK(session_->AddGraph(id, graph({rows, 4})));
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(session_->RunGraph(base, {HostTensor(Counting())}, outputs));
    all.push_back(Floats(outputs[0]));

    std::mutex mutex;
    std::condition_variable told;
    bool done = false;
    GE_REQUIRE_OK(session_->RunGraphAsync(base + 1, {HostTensor(Counting())},
                                          [&](ge::Status status, std::vector<ge::Tensor>& made) {
                                            std::lock_guard lock(mutex);
                                            GE_OK(status);
                                            all.push_back(made.empty() ? Values{} : Floats(made[0]));
                                            done = true;
                                            told.notify_all();
                                          }));
    {
      std::unique_lock lock(mutex);
      told.wait(lock, [&] { return done; });
    }

    outputs.clear();
    GE_REQUIRE_OK(session_->RunGraphWithStreamAsync(base + 2, stream_, {DeviceTensor(input.data())}, outputs));
    Synchronize();
    all.push_back(Read(outputs[0].GetData()));

    std::vector<gert::Tensor> executed;
    GE_REQUIRE_OK(session_->CompileGraph(base + 3));
    GE_REQUIRE_OK(session_->LoadGraph(base + 3, {}, stream_));
    GE_REQUIRE_OK(session_->ExecuteGraphWithStreamAsync(base + 3, stream_, GertTensors(input.data()), executed));
    Synchronize();
    all.push_back(Read(executed[0].GetAddr()));
  }
  ASSERT_EQ(all.size(), 8U);
  for (size_t i = 0; i < kElements; ++i) {
    const auto x = static_cast<float>(i);
    EXPECT_EQ(all[0][i], (x * 0.25F + x) * (x * 0.25F));
  }
  for (size_t way = 1; way < all.size(); ++way) EXPECT_EQ(all[way], all[0]) << "way " << way;
}

}  // namespace

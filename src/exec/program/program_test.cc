// SPDX-License-Identifier: Apache-2.0
// Programs whose shapes are all known when they are compiled.
#include "src/exec/program/program.h"

#include <string>
#include <thread>
#include <vector>

#include "src/exec/program/host.h"
#include "src/exec/program/testing.h"
#include "src/trace/sink.h"

namespace millpond::program {
namespace {

class StaticProgram : public ProgramFixture {
 protected:
  // x -> x + x -> ... `count` times
  static void Chain(TestGraph* test, int count) {
    ir::NodePtr at = test->Data("x", DType::kFloat, {1024});
    for (int i = 0; i < count; ++i) at = test->Binary("double" + std::to_string(i), "Add", at, at);
    test->Return({at});
  }
  static std::string Text(const Status& status) { return status.ok() ? "" : status.message(); }
};

TEST_F(StaticProgram, ComputesOnInputsAndConstants) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {3}, 0);
  const auto y = test.Data("y", DType::kFloat, {3}, 1);
  const auto c = test.Const<float>("c", DType::kFloat, {3}, {10, 20, 30});
  test.Return({test.Binary("out", "Add", test.Binary("sum", "Add", x, y), c)});
  const auto program = Compile(test);
  ASSERT_TRUE(program->is_static());
  EXPECT_EQ(program->const_bytes(), 512U);
  EXPECT_EQ(program->feature_bytes(), 512U);
  EXPECT_EQ(program->inputs().size(), 2U);
  EXPECT_EQ(program->outputs()[0].dims, (ir::Dims{3}));
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({1, 2, 3}), Floating({4, 5, 6})})[0], (Floats{15, 27, 39}));
  // Other memory, the same program.
  EXPECT_EQ(Run(*program, {Floating({0, 0, 1}), Floating({0, 0, 0})})[0], (Floats{10, 20, 31}));
}

TEST_F(StaticProgram, AnOperandThatIsReadLaterKeepsItsPlace) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {1024});
  const auto twice = test.Binary("twice", "Add", x, x);
  const auto four = test.Binary("four", "Add", twice, twice);
  const auto eight = test.Binary("eight", "Mul", four, twice);
  test.Return({test.Binary("sum", "Add", eight, twice)});
  const auto program = Compile(test);
  EXPECT_EQ(program->feature_bytes(), 2U * 4096);
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating(Floats(1024, 3))})[0], Floats(1024, 12 * 6 + 6));
}

TEST_F(StaticProgram, TakesOutputsThatHaveNoMemoryWithTheReferencesPadding) {
  TestGraph test;
  Chain(&test, 1);
  const auto program = Compile(test);
  Load(*program);
  Run(*program, {Room(1024)});
  EXPECT_EQ(memory_->asked, std::vector<size_t>{4096 + 32});
  std::vector<Tensor> outputs{Room(1024)};
  void* const mine = outputs[0].data;
  Expect(Launch(*program, {Floating(Floats(1024, 2))}, &outputs));
  Sync();
  EXPECT_EQ(outputs[0].data, mine);
  EXPECT_EQ(Read(outputs[0]), Floats(1024, 4));
  EXPECT_EQ(memory_->asked.size(), 1U);
}

TEST_F(StaticProgram, AChainWorksInPlaceHoweverLongItIs) {
  TestGraph test;
  Chain(&test, 8);
  const auto program = Compile(test);
  EXPECT_EQ(program->feature_bytes(), 4096U);
  CompileOptions options;
  options.reuse_memory = false;
  const auto wasteful = Compile(test, options);
  EXPECT_EQ(wasteful->feature_bytes(), 7U * 4096);
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating(Floats(1024, 1))})[0], Floats(1024, 256));
}

class Names : public trace::Sink {
 public:
  void OnRan(const trace::TaskRan& ran) override { names.emplace_back(ran.name); }
  std::vector<std::string> names;
};

TEST_F(StaticProgram, ViewsCostNothingAndTracesShowEachKernelByName) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2, 3});
  const auto sum = test.Binary("sum", "Add", x, x);
  const auto flat = test.Add("flat", "Reshape", {{"x", {sum, 0}}, {"shape", {test.Ints("shape", {6}), 0}}});
  const auto wide = test.Add("wide", "ExpandDims", {{"x", {flat, 0}}, {"axis", {test.Ints("axis", {0}), 0}}});
  test.Return({test.Binary("out", "Mul", wide, wide)});
  const auto program = Compile(test);
  ASSERT_TRUE(program->is_static());
  EXPECT_EQ(program->outputs()[0].dims, (ir::Dims{1, 6}));
  EXPECT_EQ(program->const_bytes(), 0U) << "numbers that a call has in itself need no memory";
  Load(*program);
  const Tensor input = OnDevice<float>(DType::kFloat, {2, 3}, {1, 2, 3, 4, 5, 6});
  std::vector<Tensor> outputs{Room(6)};
  Names sink;
  trace::Attach(&sink);
  Expect(Launch(*program, {input}, &outputs));
  Sync();
  trace::Detach(&sink);
  EXPECT_EQ(sink.names, (std::vector<std::string>{"aclnnAdd", "aclnnMul", "GraphExecute"}));
  EXPECT_EQ(Read(outputs[0]), (Floats{4, 16, 36, 64, 100, 144}));
}

TEST_F(StaticProgram, ReturnsTheSameValueTwiceAnInputAndAConstant) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto sum = test.Binary("sum", "Add", x, x);
  const auto c = test.Const<float>("c", DType::kFloat, {2}, {7, 8});
  test.Return({sum, sum, x, c});
  const auto program = Compile(test);
  EXPECT_TRUE(program->aliases().empty());
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({1, 2})}), (std::vector<Floats>{{2, 4}, {2, 4}, {1, 2}, {7, 8}}));
}

TEST_F(StaticProgram, FoldsWhatConstantsGive) {
  TestGraph test;
  const auto c = test.Const<float>("c", DType::kFloat, {2}, {7, 8});
  test.Return({test.Binary("sum", "Add", c, c)});
  const auto program = Compile(test);
  EXPECT_EQ(program->compiled_graph().nodes().size(), 1U);
  Load(*program);
  EXPECT_EQ(Run(*program, {})[0], (Floats{14, 16}));
  CompileOptions options;
  options.fold = false;
  const auto unfolded = Compile(test, options);
  EXPECT_EQ(unfolded->const_bytes(), 512U);
  Load(*unfolded);
  EXPECT_EQ(Run(*unfolded, {})[0], (Floats{14, 16}));
}

TEST_F(StaticProgram, RunsOneNodeOnHostMemory) {
  TestGraph test;
  const auto c = test.Const<float>("c", DType::kFloat, {2}, {7, 8});
  const auto node = test.Binary("sum", "Add", c, c);
  const ir::TensorPtr given = *c->FindAttr("value")->As<ir::TensorPtr>();
  std::vector<ir::TensorPtr> results;
  const std::vector<ir::TensorPtr> inputs{given, given};
  Expect(RunNodeOnHost(*node, inputs, &results));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0]->desc.dims, (ir::Dims{2}));
  EXPECT_EQ(reinterpret_cast<const float*>(results[0]->data.data)[1], 16);
}

// --- What is changed in place --------------------------------------------------------------------------------------

TEST_F(StaticProgram, ChangesAReferenceInputInPlaceAndSaysSo) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2}, 0);
  const auto state = test.Data("state", DType::kFloat, {2}, 1);
  state->type = "RefData";
  const auto next = test.Binary("next", "Add", state, x);
  test.Return({test.Add("store", "Assign", {{"ref", {state, 0}}, {"value", {next, 0}}}, {"ref"})});
  const auto program = Compile(test);
  ASSERT_EQ(program->aliases().size(), 1U);
  EXPECT_EQ(program->aliases()[0], (std::pair<uint32_t, uint32_t>{1, 0}));
  Load(*program);
  Tensor memory = Floating({1, 1});
  EXPECT_EQ(Run(*program, {Floating({2, 3}), memory})[0], (Floats{3, 4}));
  EXPECT_EQ(Read(memory), (Floats{3, 4}));
  // The output may be the input's own memory, as the alias says.
  std::vector<Tensor> outputs{memory};
  Expect(Launch(*program, {Floating({1, 1}), memory}, &outputs));
  Sync();
  EXPECT_EQ(Read(memory), (Floats{4, 5}));
}

TEST_F(StaticProgram, AConstantThatIsChangedInPlaceStaysAConstant) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto c = test.Const<float>("c", DType::kFloat, {2}, {1, 2});
  const auto sum = test.Add("sum", "AssignAdd", {{"ref", {c, 0}}, {"value", {x, 0}}}, {"ref"});
  test.Return({sum});
  const auto program = Compile(test);
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({1, 1})})[0], (Floats{2, 3}));
  EXPECT_EQ(Run(*program, {Floating({1, 1})})[0], (Floats{2, 3}));
}

TEST_F(StaticProgram, AResultThatIsChangedInPlaceKeepsItsOldValueForOthers) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto sum = test.Binary("sum", "Add", x, x);
  const auto changed = test.Add("changed", "AssignAdd", {{"ref", {sum, 0}}, {"value", {x, 0}}}, {"ref"});
  const auto late = test.Binary("late", "Mul", sum, x);
  late->AddControl(changed);
  test.Return({changed, late});
  const auto program = Compile(test);
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({1, 2})}), (std::vector<Floats>{{3, 6}, {2, 8}}));
}

TEST_F(StaticProgram, VariablesLastFromRunToRunAndFromGraphToGraph) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  const auto variable = test.Add("state", "Variable");
  variable->outputs[0].dims = {2};
  variable->outputs[0].has_shape = true;
  auto initial = std::make_shared<ir::Tensor>();
  const Floats first{5, 6};
  initial->desc = variable->outputs[0];
  initial->data = ir::Bytes::Copy(first.data(), 8);
  variable->attributes["value"].value = ir::TensorPtr(initial);
  test.Return({test.Add("sum", "AssignAdd", {{"ref", {variable, 0}}, {"value", {x, 0}}}, {"ref"})});
  const auto program = Compile(test);
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({1, 1})})[0], (Floats{6, 7}));
  EXPECT_EQ(Run(*program, {Floating({1, 1})})[0], (Floats{7, 8}));
  const auto other = Compile(test);
  Load(*other);
  EXPECT_EQ(Run(*other, {Floating({1, 1})})[0], (Floats{8, 9}));
  Tensor found;
  Expect(variables_->Find("state", &found));
  EXPECT_EQ(Read(found), (Floats{8, 9}));
  EXPECT_NE(Text(variables_->Find("else", &found)).find("there is no variable 'else'"), std::string::npos);
}

// --- Control flow --------------------------------------------------------------------------------------------------

// A branch or body of one addition or product: (x) -> x op x.
ir::GraphPtr Body(const std::string& name, const std::string& type, ir::Dims dims) {
  TestGraph body(name);
  const auto x = body.Data("x", DType::kFloat, std::move(dims));
  body.Return({body.Binary("out", type, x, x)});
  return body.graph;
}

TEST_F(StaticProgram, TakesTheBranchThatTheDeviceDecides) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {1}, 0);
  const auto y = test.Data("y", DType::kFloat, {1}, 1);
  const auto less = test.Binary("less", "Less", x, y);
  const auto choice = test.Add("choice", "If", {{"cond", {less, 0}}, {"input0", {x, 0}}}, {"output0"});
  choice->subgraphs = {{"then_branch", "twice"}, {"else_branch", "square"}};
  Expect(test.graph->AddSubgraph(Body("twice", "Add", {1})));
  Expect(test.graph->AddSubgraph(Body("square", "Mul", {1})));
  test.Return({test.Binary("out", "Add", choice, x)});
  const auto program = Compile(test);
  ASSERT_TRUE(program->is_static());
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({5}), Floating({6})})[0], (Floats{15}));
  EXPECT_EQ(Run(*program, {Floating({5}), Floating({4})})[0], (Floats{30}));
}

TEST_F(StaticProgram, GoesRoundALoopWithoutWaiting) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {1}, 0);
  const auto y = test.Data("y", DType::kFloat, {1}, 1);
  const auto loop = test.Add("loop", "While", {{"input0", {x, 0}}, {"input1", {y, 0}}}, {"output0", "output1"});
  loop->subgraphs = {{"cond", "below"}, {"body", "grow"}};
  TestGraph below("below");
  below.Return({below.Binary("less", "Less", below.Data("a", DType::kFloat, {1}, 0), Scalar(&below, "limit", 100))});
  Expect(test.graph->AddSubgraph(below.graph));
  TestGraph grow("grow");  // (a, b) -> (b, a + a): what goes round changes places
  const auto a = grow.Data("a", DType::kFloat, {1}, 0);
  const auto b = grow.Data("b", DType::kFloat, {1}, 1);
  grow.Return({b, grow.Binary("sum", "Add", a, a)});
  Expect(test.graph->AddSubgraph(grow.graph));
  test.graph->outputs = {{loop, 0}, {loop, 1}};
  const auto program = Compile(test);
  ASSERT_TRUE(program->is_static());
  Load(*program);
  // (1, 3) (3, 2) (2, 6) (6, 4) (4, 12) (12, 8) (8, 24) (24, 16) (16, 48) (48, 32) (32, 96) (96, 64) (64, 192) (192,
  // 128)
  EXPECT_EQ(Run(*program, {Floating({1}), Floating({3})}), (std::vector<Floats>{{192}, {128}}));
  EXPECT_EQ(Run(*program, {Floating({100}), Floating({3})}), (std::vector<Floats>{{100}, {3}}));
}

// tests/mutation/exec_loop_swaps.patch: each is overwritten by the other unless one is set aside.
TEST_F(StaticProgram, ALoopMaySwapTwoOfItsValues) {
  TestGraph test;
  const auto count = test.Data("count", DType::kFloat, {1}, 0);
  const auto x = test.Data("x", DType::kFloat, {1}, 1);
  const auto y = test.Data("y", DType::kFloat, {1}, 2);
  const auto loop = test.Add("loop", "While", {{"input0", {count, 0}}, {"input1", {x, 0}}, {"input2", {y, 0}}},
                             {"output0", "output1", "output2"});
  loop->subgraphs = {{"cond", "below"}, {"body", "swap"}};
  TestGraph below("below");
  below.Return({below.Binary("less", "Less", below.Data("n", DType::kFloat, {1}, 0), Scalar(&below, "limit", 100))});
  Expect(test.graph->AddSubgraph(below.graph));
  TestGraph swap("swap");  // (n, a, b) -> (n + n, b, a)
  const auto n = swap.Data("n", DType::kFloat, {1}, 0);
  const auto a = swap.Data("a", DType::kFloat, {1}, 1);
  const auto b = swap.Data("b", DType::kFloat, {1}, 2);
  swap.Return({swap.Binary("sum", "Add", n, n), b, a});
  Expect(test.graph->AddSubgraph(swap.graph));
  test.graph->outputs = {{loop, 0}, {loop, 1}, {loop, 2}};
  const auto program = Compile(test);
  ASSERT_TRUE(program->is_static());
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({1}), Floating({3}), Floating({5})}), (std::vector<Floats>{{128}, {5}, {3}}))
      << "seven rounds";
  EXPECT_EQ(Run(*program, {Floating({2}), Floating({3}), Floating({5})}), (std::vector<Floats>{{128}, {3}, {5}}))
      << "six rounds";
}

// Issue 13: a loop that never ends is one task, which looks whether its stream was aborted.
TEST_F(StaticProgram, ALoopWithoutEndIsAborted) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {1}, 0);
  const auto loop = test.Add("loop", "While", {{"input0", {x, 0}}}, {"output0"});
  loop->subgraphs = {{"cond", "below"}, {"body", "same"}};
  TestGraph below("below");
  below.Return({below.Binary("less", "Less", below.Data("a", DType::kFloat, {1}, 0), Scalar(&below, "limit", 100))});
  Expect(test.graph->AddSubgraph(below.graph));
  TestGraph same("same");
  const auto a = same.Data("a", DType::kFloat, {1}, 0);
  same.Return({same.Binary("sum", "Mul", a, Scalar(&same, "one", 1))});
  Expect(test.graph->AddSubgraph(same.graph));
  test.Return({loop});
  const auto program = Compile(test);
  ASSERT_TRUE(program->is_static());
  Load(*program);
  Sync();
  std::vector<Tensor> outputs;
  Expect(Launch(*program, {Floating({1})}, &outputs));
  Expect(stream_->Abort(Status(Code::kStreamAborted, "the test has seen enough")));
  EXPECT_EQ(stream_->Synchronize(std::nullopt, Code::kStreamSyncTimeout).code(), Code::kStreamAborted);
  EXPECT_EQ(Run(*program, {Floating({200})})[0], (Floats{200})) << "the stream goes on";
}

TEST_F(StaticProgram, CountsALoop) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {1}, 0);
  const auto limit = test.Data("limit", DType::kInt32, {}, 1);
  const auto start = test.Const<int32_t>("start", DType::kInt32, {}, {0});
  const auto delta = test.Const<int32_t>("delta", DType::kInt32, {}, {2});
  const auto loop =
      test.Add("loop", "For", {{"start", {start, 0}}, {"limit", {limit, 0}}, {"delta", {delta, 0}}, {"input0", {x, 0}}},
               {"output0"});
  loop->subgraphs = {{"body", "twice"}};
  TestGraph body("twice");
  body.Data("i", DType::kInt32, {}, 0);
  const auto a = body.Data("a", DType::kFloat, {1}, 1);
  body.Return({body.Binary("sum", "Add", a, a)});
  Expect(test.graph->AddSubgraph(body.graph));
  test.Return({loop});
  const auto program = Compile(test);
  ASSERT_TRUE(program->is_static());
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({1}), OnDevice<int32_t>(DType::kInt32, {}, {5})})[0], (Floats{8}));
  EXPECT_EQ(Run(*program, {Floating({1}), OnDevice<int32_t>(DType::kInt32, {}, {0})})[0], (Floats{1}));
}

// --- Memory --------------------------------------------------------------------------------------------------------

TEST_F(StaticProgram, HostInputsAreCopiedBeforeTheLaunchReturns) {
  TestGraph test;
  Chain(&test, 1);
  for (const bool named : {true, false}) {
    CompileOptions options;
    if (named) options.host_inputs = {0};
    const auto program = Compile(test, options);
    EXPECT_EQ(program->feature_bytes(), named ? 4096U : 0U);
    Load(*program);
    Floats host(1024, 3);
    const Tensor input = OnHost<float>(DType::kFloat, {1024}, &host);
    std::vector<Tensor> outputs;
    Expect(Launch(*program, {input}, &outputs));
    std::fill(host.begin(), host.end(), 0.0F);
    Sync();
    EXPECT_EQ(Read(outputs[0]), Floats(1024, 6));
    EXPECT_EQ(Run(*program, {Floating(Floats(1024, 1))})[0], Floats(1024, 2)) << "from the device as well";
  }
}

TEST_F(StaticProgram, RefusesMemoryThatDoesNotFitAndSaysWhich) {
  TestGraph test;
  Chain(&test, 2);
  const auto program = Compile(test);
  Load(*program);
  std::vector<Tensor> outputs;
  Tensor input = Room(1024);
  input.bytes = 100;
  EXPECT_EQ(Text(Launch(*program, {input}, &outputs)), "input 0 has 100 bytes; 4096 are needed");
  input.bytes = 4096;
  input.data = nullptr;
  EXPECT_NE(Text(Launch(*program, {input}, &outputs)).find("input 0 has no memory"), std::string::npos);
  Floats pageable(1024);
  input.data = pageable.data();
  EXPECT_NE(Text(Launch(*program, {input}, &outputs)).find("ordinary host memory"), std::string::npos);
  EXPECT_EQ(Text(Launch(*program, {}, &outputs)), "0 inputs were given; the graph has 1");
  std::vector<Tensor> small{Room(1023)};
  EXPECT_EQ(Text(Launch(*program, {Room(1024)}, &small)), "output 0 has 4092 bytes; 4096 are needed");
  feature_base_ = nullptr;
  EXPECT_NE(Text(Launch(*program, {Room(1024)}, &outputs)).find("feature memory has no memory"), std::string::npos);
}

TEST_F(StaticProgram, AnAllocationThatFailsLeaksNothingAndTheNextRunWorks) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  test.Return({test.Binary("sum", "Add", x, x), test.Binary("product", "Mul", x, x), x});
  const auto program = Compile(test);
  Load(*program);
  for (size_t nth = 1;; ++nth) {
    memory_->asked.clear();
    memory_->fail_nth = nth;
    std::vector<Tensor> outputs;
    const Status status = Launch(*program, {Floating({1, 2})}, &outputs);
    if (memory_->asked.size() < nth) {
      EXPECT_TRUE(status.ok());
      EXPECT_EQ(nth, 4U);
      break;
    }
    EXPECT_EQ(status.code(), Code::kOutOfMemory);
    EXPECT_EQ(memory_->live, 0);
    EXPECT_EQ(outputs[0].data, nullptr);
    memory_->fail_nth = 0;
    EXPECT_EQ(Run(*program, {Floating({1, 2})})[1], (Floats{1, 4}));
  }
}

TEST_F(StaticProgram, RunsOnSeveralStreamsAtOnce) {
  TestGraph test;
  Chain(&test, 6);
  const auto program = Compile(test);
  Load(*program);
  struct Lane {
    Stream* stream = nullptr;
    void* feature = nullptr;
    Tensor input;
    std::vector<Tensor> outputs;
  };
  std::vector<Lane> lanes(4);
  for (size_t i = 0; i < lanes.size(); ++i) {
    Expect(device_->CreateStream(context_, 0, 0, false, &lanes[i].stream));
    lanes[i].feature = Allocate(program->feature_bytes());
    lanes[i].input = Floating(Floats(1024, static_cast<float>(i)));
    lanes[i].outputs = {Room(1024)};
  }
  Sync();  // the constants
  std::vector<std::thread> threads;
  for (Lane& lane : lanes) {
    threads.emplace_back([&] {
      for (int run = 0; run < 50; ++run) {
        Expect(program->Launch({.inputs = {&lane.input, 1},
                                .outputs = lane.outputs,
                                .const_base = const_base_,
                                .feature_base = lane.feature},
                               lane.stream));
      }
      Expect(lane.stream->Synchronize(std::nullopt, Code::kStreamSyncTimeout));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < lanes.size(); ++i) {
    EXPECT_EQ(Read(lanes[i].outputs[0]), Floats(1024, 64 * static_cast<float>(i)));
  }
}

TEST_F(StaticProgram, OutlivesItsHandleWhileRunsAreQueued) {
  TestGraph test;
  Chain(&test, 4);
  auto program = Compile(test);
  Load(*program);
  std::vector<Tensor> outputs;
  Expect(Launch(*program, {Floating(Floats(1024, 1))}, &outputs));
  program.reset();
  Sync();
  EXPECT_EQ(Read(outputs[0]), Floats(1024, 16));
}

TEST_F(StaticProgram, RefusesAnOperatorThatHasNoKernelByName) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {2});
  test.Return({test.Unary("odd", "SoftplusV2Missing", x)});
  std::shared_ptr<const Program> program;
  EXPECT_NE(Text(Program::Compile(*test.graph, {}, &program)).find("SoftplusV2Missing"), std::string::npos);
  EXPECT_EQ(program, nullptr);
}

}  // namespace
}  // namespace millpond::program

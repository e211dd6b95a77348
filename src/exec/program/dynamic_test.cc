// SPDX-License-Identifier: Apache-2.0
// Programs with shapes that only a run can tell.
#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "src/device/stream/scheduler.h"
#include "src/exec/program/program.h"
#include "src/exec/program/testing.h"

namespace millpond::program {
namespace {

class DynamicProgram : public ProgramFixture {
 protected:
  // x -> x + x -> ... `count` times
  static void Chain(TestGraph* test, int count) {
    ir::NodePtr at = test->Data("x", DType::kFloat, {-1});
    for (int i = 0; i < count; ++i) at = test->Binary("double" + std::to_string(i), "Add", at, at);
    test->Return({at});
  }
  // The elements of x that are below y.
  static ir::NodePtr Smaller(TestGraph* test, const ir::NodePtr& x, const ir::NodePtr& y) {
    const auto mask = test->Binary("mask", "Less", x, y);
    return test->Add("some", "MaskedSelect", {{"x", {x, 0}}, {"mask", {mask, 0}}});
  }
  static std::string Text(const Status& status) { return status.ok() ? "" : status.message(); }
};

TEST_F(DynamicProgram, InfersEachRunByItsInputs) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {-1}, 0);
  const auto c = Scalar(&test, "c", 10);
  test.Return({test.Binary("out", "Add", test.Binary("sum", "Add", x, x), c)});
  const auto program = Compile(test);
  ASSERT_FALSE(program->is_static());
  EXPECT_EQ(program->feature_bytes(), 0U);
  EXPECT_EQ(program->outputs()[0].dims, (ir::Dims{-1}));
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({1, 2})})[0], (Floats{12, 14}));
  EXPECT_EQ(Run(*program, {Floating({1, 2, 3})})[0], (Floats{12, 14, 16}));
  EXPECT_EQ(Run(*program, {Floating({3, 4})})[0], (Floats{16, 18}));
}

TEST_F(DynamicProgram, TakesEveryBufferAndGivesItBackAfterItsLastUse) {
  TestGraph test;
  Chain(&test, 6);
  const auto program = Compile(test);
  Load(*program);
  for (int run = 0; run < 2; ++run) {  // the second repeats what the first did
    memory_->asked.clear();
    memory_->max_live = 0;
    std::vector<Tensor> outputs;
    Expect(Launch(*program, {Floating(Floats(10, 1))}, &outputs));
    EXPECT_EQ(memory_->asked, std::vector<size_t>(6, 64 + 32)) << "40 bytes, rounded up to 32 and 32 more";
    EXPECT_EQ(memory_->max_live, 2);
    EXPECT_EQ(memory_->live, 1) << "the output";
    EXPECT_EQ(outputs[0].bytes, 40U) << "as many as it has, not as were asked for";
    Sync();
    EXPECT_EQ(Read(outputs[0]), Floats(10, 64));
  }
}

class WhereKernelsRan : public trace::Sink {
 public:
  void OnRan(const trace::TaskRan&) override { (Scheduler::Get().OnTeamThread() ? on_team : elsewhere).fetch_add(1); }
  std::atomic<int> on_team{0};
  std::atomic<int> elsewhere{0};
};

TEST_F(DynamicProgram, LargeKernelsRunOnTheTeamsThreadWhoeverWaits) {
  TestGraph test;
  Chain(&test, 2);
  const auto program = Compile(test);
  Load(*program);
  const Tensor input = Floating(Floats(16384, 1));
  std::vector<Tensor> outputs{Room(16384)};
  Sync();
  WhereKernelsRan sink;
  trace::Attach(&sink);
  for (int run = 0; run < 100; ++run) {  // the thread that waits helps to run its stream, and would soon run one
    Expect(Launch(*program, {input}, &outputs));
    Sync();
  }
  trace::Detach(&sink);
  EXPECT_GE(sink.on_team, 100);
  EXPECT_EQ(sink.elsewhere, 0);
  EXPECT_EQ(Read(outputs[0]), Floats(16384, 4));
}

TEST_F(DynamicProgram, UsesOutputMemoryThatIsGivenAndRefusesTooLittle) {
  TestGraph test;
  Chain(&test, 2);
  const auto program = Compile(test);
  Load(*program);
  std::vector<Tensor> outputs{Room(4)};
  Expect(Launch(*program, {Floating({1, 2, 3})}, &outputs));
  Sync();
  EXPECT_EQ(outputs[0].dims, (ir::Dims{3}));
  EXPECT_EQ(Read(outputs[0]), (Floats{4, 8, 12}));
  EXPECT_EQ(Text(Launch(*program, {Floating(Floats(5))}, &outputs)), "output 0 has 16 bytes; 20 are needed");
}

TEST_F(DynamicProgram, RefusesInputsItWasNotCompiledFor) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {-1, 2});
  test.Return({test.Binary("sum", "Add", x, x)});
  const auto program = Compile(test);
  Load(*program);
  std::vector<Tensor> outputs;
  EXPECT_EQ(Text(Launch(*program, {Floating({1, 2})}, &outputs)), "input 0 has shape [2]; the graph takes [-1,2]");
  EXPECT_EQ(Text(Launch(*program, {OnDevice<int32_t>(DType::kInt32, {1, 2}, {1, 2})}, &outputs)),
            "input 0 is INT32; the graph takes FLOAT");
}

TEST_F(DynamicProgram, WaitsForAnOperatorThatSaysItsShapeWhenItHasRun) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {6}, 0);
  const auto y = test.Data("y", DType::kFloat, {6}, 1);
  const auto some = Smaller(&test, x, y);
  test.Return({test.Binary("sum", "Add", some, some), some});
  const auto program = Compile(test);
  ASSERT_FALSE(program->is_static());
  Load(*program);
  const Tensor limit = Floating(Floats(6, 3.5F));
  EXPECT_EQ(Run(*program, {Floating({1, 2, 3, 4, 5, 6}), limit}), (std::vector<Floats>{{2, 4, 6}, {1, 2, 3}}));
  EXPECT_EQ(Run(*program, {Floating({9, 9, 9, 9, 9, 1}), limit}), (std::vector<Floats>{{2}, {1}}));
  EXPECT_EQ(Run(*program, {Floating(Floats(6, 9)), limit}), (std::vector<Floats>{{}, {}}));
}

TEST_F(DynamicProgram, NumbersOnTheHostDecideAShapeWithoutTheDevice) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {-1}, 0);
  const auto shape = test.Data("shape", DType::kInt64, {2}, 1);
  test.Return({test.Add("out", "Reshape", {{"x", {test.Binary("sum", "Add", x, x), 0}}, {"shape", {shape, 0}}})});
  const auto program = Compile(test);
  ASSERT_FALSE(program->is_static());
  Load(*program);
  for (const std::vector<int64_t>& wanted : {std::vector<int64_t>{2, 3}, {3, 2}, {2, 3}}) {
    std::vector<int64_t> host = wanted;
    std::vector<Tensor> outputs;
    Expect(Launch(*program, {Floating({1, 2, 3, 4, 5, 6}), OnHost<int64_t>(DType::kInt64, {2}, &host)}, &outputs));
    host.assign(2, 0);
    Sync();
    EXPECT_EQ(outputs[0].dims, wanted);
    EXPECT_EQ(Read(outputs[0]), (Floats{2, 4, 6, 8, 10, 12}));
  }
  // The same numbers on the device must be waited for.
  std::vector<Tensor> outputs;
  Expect(Launch(*program, {Floating({1, 2}), OnDevice<int64_t>(DType::kInt64, {2}, {1, 2})}, &outputs));
  EXPECT_EQ(outputs[0].dims, (ir::Dims{1, 2}));
}

TEST_F(DynamicProgram, AnInputsShapeIsKnownOnTheHost) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {-1, 2}, 0);
  const auto y = test.Data("y", DType::kFloat, {-1}, 1);
  const auto shape = test.Unary("shape", "Shape", x);
  test.Return({test.Add("out", "Reshape", {{"x", {y, 0}}, {"shape", {shape, 0}}}), shape});
  const auto program = Compile(test);
  Load(*program);
  std::vector<Tensor> outputs;
  Expect(Launch(*program, {OnDevice<float>(DType::kFloat, {2, 2}, {0, 0, 0, 0}), Floating({1, 2, 3, 4})}, &outputs));
  Sync();
  EXPECT_EQ(outputs[0].dims, (ir::Dims{2, 2}));
  EXPECT_EQ(Read(outputs[0]), (Floats{1, 2, 3, 4}));
  int32_t numbers[2] = {};
  CopyBytes(numbers, outputs[1].data, sizeof numbers);
  EXPECT_EQ(numbers[0], 2);
  EXPECT_EQ(outputs[1].dtype, DType::kInt32);
}

TEST_F(DynamicProgram, LargeHostInputsAreDataAndCopiedBeforeTheLaunchReturns) {
  TestGraph test;
  Chain(&test, 1);
  const auto program = Compile(test);
  Load(*program);
  Floats host(2048, 3);
  std::vector<Tensor> outputs;
  Expect(Launch(*program, {OnHost<float>(DType::kFloat, {2048}, &host)}, &outputs));
  std::fill(host.begin(), host.end(), 0.0F);
  Sync();
  EXPECT_EQ(Read(outputs[0]), Floats(2048, 6));
  EXPECT_EQ(memory_->asked.size(), 2U) << "the copy on the device, and the output";
}

TEST_F(DynamicProgram, BranchesMayHaveShapesOfTheirOwn) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {4}, 0);
  const auto y = test.Data("y", DType::kFloat, {1}, 1);
  const auto z = test.Data("z", DType::kFloat, {1}, 2);
  const auto less = test.Binary("less", "Less", y, z);
  const auto choice =
      test.Add("choice", "If", {{"cond", {less, 0}}, {"input0", {x, 0}}, {"input1", {y, 0}}}, {"output0"});
  choice->subgraphs = {{"then_branch", "long"}, {"else_branch", "short"}};
  TestGraph long_branch("long");
  const auto a = long_branch.Data("a", DType::kFloat, {4}, 0);
  long_branch.Return({long_branch.Binary("sum", "Add", a, a)});
  TestGraph short_branch("short");
  const auto b = short_branch.Data("b", DType::kFloat, {1}, 1);
  short_branch.Return({b});
  Expect(test.graph->AddSubgraph(long_branch.graph));
  Expect(test.graph->AddSubgraph(short_branch.graph));
  test.Return({test.Binary("out", "Mul", choice, choice)});
  const auto program = Compile(test);
  ASSERT_FALSE(program->is_static());
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({1, 2, 3, 4}), Floating({5}), Floating({6})})[0], (Floats{4, 16, 36, 64}));
  EXPECT_EQ(Run(*program, {Floating({1, 2, 3, 4}), Floating({5}), Floating({4})})[0], (Floats{25}));
}

TEST_F(DynamicProgram, ALoopMayChangeShapes) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {-1}, 0);
  const auto loop = test.Add("loop", "While", {{"input0", {x, 0}}}, {"output0"});
  loop->subgraphs = {{"cond", "first"}, {"body", "pack"}};
  TestGraph cond("first");
  const auto a = cond.Data("a", DType::kFloat, {-1});
  const auto sum = cond.Add("sum", "ReduceSum", {{"x", {a, 0}}, {"axes", {cond.Ints("axes", {0}), 0}}});
  cond.Return({cond.Binary("less", "Less", sum, cond.Const<float>("limit", DType::kFloat, {}, {20}))});
  Expect(test.graph->AddSubgraph(cond.graph));
  TestGraph body("pack");
  const auto b = body.Data("b", DType::kFloat, {-1});
  body.Return({body.Binary("twice", "Add", b, b)});
  Expect(test.graph->AddSubgraph(body.graph));
  test.Return({loop});
  const auto program = Compile(test);
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({1, 2})})[0], (Floats{8, 16}));
  EXPECT_EQ(Run(*program, {Floating({1, 2, 3})})[0], (Floats{4, 8, 12}));
}

// x + 1, `rounds` times.
TestGraph Counting(int32_t rounds) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {-1}, 0);
  const auto number = [&](const char* name, int32_t value) {
    return test.Const<int32_t>(name, DType::kInt32, {}, {value});
  };
  const auto loop = test.Add("loop", "For",
                             {{"start", {number("start", 0), 0}},
                              {"limit", {number("limit", rounds), 0}},
                              {"delta", {number("delta", 1), 0}},
                              {"input0", {x, 0}}},
                             {"output0"});
  loop->subgraphs = {{"body", "more"}};
  TestGraph body("more");
  body.Data("i", DType::kInt32, {}, 0);
  const auto a = body.Data("a", DType::kFloat, {-1}, 1);
  body.Return({body.Binary("sum", "Add", a, body.Const<float>("one", DType::kFloat, {1}, {1}))});
  EXPECT_TRUE(test.graph->AddSubgraph(body.graph).ok());
  test.Return({loop});
  return test;
}

// Issue 13: what a long loop has done is not kept.
TEST_F(DynamicProgram, ALoopOfManyRoundsGivesBackWhatItsRoundsTook) {
  const auto program = Compile(Counting(5000));
  ASSERT_FALSE(program->is_static());
  Load(*program);
  EXPECT_EQ(Run(*program, {Floating({1, 2})})[0], (Floats{5001, 5002}));
  EXPECT_EQ(Run(*program, {Floating({1, 2, 3})})[0], (Floats{5001, 5002, 5003}));
}

// Issue 13: two thousand million rounds end when the client wants them to, also when nothing is queued just then, as is
// the rule where launching takes longer than computing.
TEST_F(DynamicProgram, ALoopWithoutEndIsAborted) {
  const auto program = Compile(Counting(std::numeric_limits<int32_t>::max()));
  Load(*program);
  const std::vector<Tensor> inputs = {Floating({1, 2})};
  Status launched;
  std::thread client([&] {
    std::vector<Tensor> outputs;
    launched = Launch(*program, inputs, &outputs);
  });
  const uint64_t before = stream_->enqueued();
  while (stream_->enqueued() < before + 3000) std::this_thread::yield();
  Expect(stream_->Abort(Status(Code::kStreamAborted, "the test has seen enough")));
  client.join();
  EXPECT_EQ(launched.code(), Code::kStreamAborted) << Text(launched);
  EXPECT_EQ(Run(*Compile(Counting(3)), inputs)[0], (Floats{4, 5})) << "the stream goes on";
}

// Issue 13: a drained stream has nothing to drop, and the run is under way all the same.
TEST_F(DynamicProgram, AnAbortBetweenTwoLaunchesEndsTheRun) {
  const auto program = Compile(Counting(5000));
  Load(*program);
  const std::vector<Tensor> inputs = {Floating({1, 2})};
  memory_->on_take = [&] {
    if (memory_->asked.size() != 100) return;
    Sync();
    ASSERT_TRUE(stream_->drained());
    Expect(stream_->Abort(Status(Code::kStreamAborted, "the test has seen enough")));
  };
  std::vector<Tensor> outputs;
  EXPECT_EQ(Launch(*program, inputs, &outputs).code(), Code::kStreamAborted);
  EXPECT_LT(memory_->asked.size(), 5000U);
  EXPECT_EQ(memory_->live, 0);
  memory_->on_take = nullptr;
  EXPECT_EQ(Run(*program, inputs)[0], (Floats{5001, 5002})) << "the stream goes on";
}

TEST_F(DynamicProgram, AnAllocationThatFailsLeaksNothingAndTheNextRunWorks) {
  TestGraph test;
  const auto x = test.Data("x", DType::kFloat, {-1}, 0);
  const auto y = test.Data("y", DType::kFloat, {-1}, 1);
  const auto sum = test.Binary("sum", "Add", x, y);
  const auto some = Smaller(&test, sum, y);
  const auto other = test.Binary("other", "Mul", some, some);
  test.Return({other, sum});
  const auto program = Compile(test);
  Load(*program);
  const std::vector<Tensor> inputs{Floating({-1, 2, -3}), Floating({1, 1, 1})};
  for (size_t nth = 1;; ++nth) {
    memory_->asked.clear();
    memory_->fail_nth = nth;
    std::vector<Tensor> outputs;
    const Status status = Launch(*program, inputs, &outputs);
    if (memory_->asked.size() < nth) {
      EXPECT_TRUE(status.ok());
      EXPECT_GE(nth, 5U);
      break;
    }
    EXPECT_EQ(status.code(), Code::kOutOfMemory);
    EXPECT_EQ(memory_->live, 0);
    EXPECT_EQ(outputs[0].data, nullptr);
    Sync();
    memory_->fail_nth = 0;
    EXPECT_EQ(Run(*program, inputs)[0], (Floats{0, 4}));
  }
}

TEST_F(DynamicProgram, RemembersOnlyAsManyShapesAsItIsWorth) {
  TestGraph test;
  Chain(&test, 3);
  const auto program = Compile(test);
  Load(*program);
  for (int round = 0; round < 2; ++round) {
    for (size_t count = 1; count < 50; ++count) {
      EXPECT_EQ(Run(*program, {Floating(Floats(count, 1))})[0], Floats(count, 8));
    }
  }
}

}  // namespace
}  // namespace millpond::program

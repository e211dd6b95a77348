// SPDX-License-Identifier: Apache-2.0
// RunGraphWithStreamAsync: the sentences of page "RunGraphWithStreamAsync" that allocator_test.cc and session_test.cc
// have not, and many sessions, streams and threads at once (issue 6.4).
#include <atomic>
#include <thread>

#include "session_fixture.h"

namespace {

using namespace ge_test;  // NOLINT

class RunStreamTest : public SessionTest {};

// Holds a stream until it is let go.
class Gate {
 public:
  explicit Gate(aclrtStream stream) {
    EXPECT_EQ(aclrtLaunchHostFunc(
                  stream,
                  [](void* self) {
                    while (!static_cast<Gate*>(self)->open_.load()) std::this_thread::yield();
                  },
                  this),
              ACL_SUCCESS);
  }
  void Open() { open_ = true; }

 private:
  std::atomic<bool> open_{false};
};

// "Runs the graph asynchronously"; "before the result is read, aclrtSynchronizeStream"; "on which stream it runs".
TEST_F(RunStreamTest, TheCallReturnsBeforeTheGraphHasRunAndOtherStreamsContinue) {
  for (const bool dynamic : {false, true}) {
    ge::Session session(Options{});
    GE_REQUIRE_OK(session.AddGraph(1, dynamic ? Dynamic("async") : TwoOutputs("async")));
    GE_REQUIRE_OK(session.AddGraph(2, dynamic ? Dynamic("other") : TwoOutputs("other")));
    aclrtStream other = nullptr;
    ASSERT_EQ(aclrtCreateStream(&other), ACL_SUCCESS);
    DeviceMemory first(std::vector<float>(kElements, -1.0F));
    DeviceMemory second(std::vector<float>(kElements, -1.0F));
    DeviceMemory third(std::vector<float>(kElements, -1.0F));
    std::vector<ge::Tensor> held = {DeviceTensor(first.data()), DeviceTensor(second.data())};
    std::vector<ge::Tensor> free = {DeviceTensor(third.data()), ge::Tensor()};
    Gate gate(stream_);
    GE_OK(session.RunGraphWithStreamAsync(1, stream_, Inputs(), held));
    GE_OK(session.RunGraphWithStreamAsync(2, other, Inputs(), free));
    EXPECT_EQ(aclrtSynchronizeStream(other), ACL_SUCCESS);
    EXPECT_EQ(Read(third.data()), Products()) << "the other stream is not held";
    EXPECT_EQ(Read(first.data()), std::vector<float>(kElements, -1.0F)) << "it cannot have run yet";
    gate.Open();
    Synchronize();
    EXPECT_EQ(Read(first.data()), Products());
    EXPECT_EQ(Read(second.data()), std::vector<float>(kElements, 1.0F));
    EXPECT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
  }
}

// "The interface includes compiling, loading and running."
TEST_F(RunStreamTest, OneCallCompilesLoadsAndRuns) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("one call")));
  EXPECT_TRUE(session.IsGraphNeedRebuild(1));
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream_, Inputs(), outputs));
  EXPECT_FALSE(session.IsGraphNeedRebuild(1));
  EXPECT_NE(session.GetCompiledGraphSummary(1), nullptr);
  std::vector<gert::Tensor> executed;
  GE_OK(session.ExecuteGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), executed));  // loaded it is
  Synchronize();
  EXPECT_EQ(Read(executed[0].GetAddr()), Products());
}

// "Inputs and outputs are device memory of the size that the user allocated": never a byte more is written.
TEST_F(RunStreamTest, ProvidedOutputsAreWrittenUpToTheirLastByteInEveryForm) {
  constexpr size_t kOdd = 9;  // 36 bytes: no multiple of 32
  constexpr size_t kGuard = 23;
  ge::Session session(Options{});
  uint32_t id = 0;
  for (const int64_t size : {int64_t{kOdd}, int64_t{-1}}) {
    for (const bool gert_tensors : {false, true}) {
      ++id;
      ge::Operator x = Data("x", 0, {size});
      ge::Operator sum = Binary("sum", "Add", x, x);
      ge::Graph graph("odd");
      graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{sum});
      GE_REQUIRE_OK(session.AddGraph(id, graph));
      DeviceMemory memory(std::vector<float>(kOdd + kGuard, -7.0F));
      constexpr size_t kOddBytes = kOdd * sizeof(float);
      if (gert_tensors) {
        GE_REQUIRE_OK(session.CompileGraph(id));
        GE_REQUIRE_OK(session.LoadGraph(id, {}, stream_));
        std::vector<gert::Tensor> inputs;
        inputs.push_back(GertTensor(input_->data(), kOddBytes, gert::kOnDeviceHbm, {kOdd}));
        std::vector<gert::Tensor> outputs;
        outputs.push_back(GertTensor(memory.data(), kOddBytes, gert::kOnDeviceHbm, {kOdd}));
        GE_REQUIRE_OK(session.ExecuteGraphWithStreamAsync(id, stream_, inputs, outputs));
        EXPECT_EQ(outputs[0].GetAddr(), memory.data());
      } else {
        std::vector<ge::Tensor> outputs = {DeviceTensor(memory.data(), kOddBytes, {kOdd})};
        GE_REQUIRE_OK(
            session.RunGraphWithStreamAsync(id, stream_, {DeviceTensor(input_->data(), kOddBytes, {kOdd})}, outputs));
        EXPECT_EQ(outputs[0].GetData(), memory.data());
      }
      Synchronize();
      const std::vector<float> all = Read(memory.data(), kOdd + kGuard);
      for (size_t i = 0; i < kOdd; ++i) EXPECT_EQ(all[i], 2.0F * static_cast<float>(i));
      for (size_t i = kOdd; i < all.size(); ++i) EXPECT_EQ(all[i], -7.0F) << i;
    }
  }
}

TEST_F(RunStreamTest, AProvidedOutputThatIsTooSmallIsRefusedAndNotTouched) {
  ge::Session session(Options{});
  for (const bool dynamic : {false, true}) {
    const uint32_t id = dynamic ? 2 : 1;
    GE_REQUIRE_OK(session.AddGraph(id, dynamic ? Dynamic("small") : TwoOutputs("small")));
    DeviceMemory memory(std::vector<float>(kElements, -7.0F));
    std::vector<ge::Tensor> outputs = {DeviceTensor(memory.data(), kBytes - 4), ge::Tensor()};
    GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(id, stream_, Inputs(), outputs));
    const std::string text = ErrorMessage();
    EXPECT_NE(text.find("60"), std::string::npos) << text;
    EXPECT_NE(text.find("64"), std::string::npos) << text;
    EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    EXPECT_EQ(Read(memory.data()), std::vector<float>(kElements, -7.0F));
    EXPECT_EQ(outputs[1].GetSize(), 0U);
  }
}

// "The life of built-in memory is the graph's; the user must free it before": here it outlives even the session.
TEST_F(RunStreamTest, AnOutputOfBuiltInMemoryOutlivesItsGraphAndItsSession) {
  const size_t before = FreeMemory();
  {
    std::vector<ge::Tensor> outputs;
    {
      ge::Session session(Options{});
      GE_REQUIRE_OK(session.AddGraph(1, Dynamic("short")));
      GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream_, Inputs(), outputs));
      GE_OK(session.RemoveGraph(1));
    }
    Synchronize();
    EXPECT_EQ(Read(outputs[0].GetData()), Products());
  }
  Synchronize();
  EXPECT_EQ(FreeMemory(), before);
}

// One static graph shares its feature memory between runs: on two streams and from two threads they still follow each
// other, and no run sees another's values.
TEST_F(RunStreamTest, ThreadsRunOneGraphOnStreamsOfTheirOwn) {
  for (const bool dynamic : {false, true}) {
    ge::Session session(Options{});
    GE_REQUIRE_OK(session.AddGraph(1, dynamic ? Dynamic("threads") : TwoOutputs("threads")));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&session, i] {
        ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
        aclrtStream stream = nullptr;
        ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
        std::vector<float> values = Counting();
        for (float& value : values) value += static_cast<float>(100 * i);  // each thread its own
        std::vector<float> expected = values;
        for (float& value : expected) value = (value + 1) * value;
        {
          DeviceMemory input(values);
          for (int run = 0; run < 25; ++run) {
            std::vector<ge::Tensor> outputs;
            GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream, {DeviceTensor(input.data())}, outputs));
            ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
            ASSERT_EQ(Read(outputs[0].GetData()), expected);
          }
        }
        EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
        EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// Sessions are created and destroyed while others run, each with its own run call.
TEST_F(RunStreamTest, SessionsOfAllKindsLiveAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([this, i] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
      for (int round = 0; round < 8; ++round) {
        const auto graph = [&] { return i % 2 == 0 ? TwoOutputs("living") : Dynamic("living"); };
        if (i % 3 == 0) {
          ge::Session session(Options{});
          GE_REQUIRE_OK(session.AddGraph(1, graph()));
          std::vector<ge::Tensor> outputs;
          GE_REQUIRE_OK(session.RunGraph(1, {HostTensor(Counting())}, outputs));
          ASSERT_EQ(Floats(outputs[0]), Products());
        } else if (i % 3 == 1) {
          ge::GeSession session(Options{});
          GE_REQUIRE_OK(session.AddGraph(1, graph()));
          std::vector<gert::Tensor> outputs;
          GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream, GertTensors(input_->data()), outputs));
          ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
          ASSERT_EQ(Read(outputs[0].GetAddr()), Products());
        } else {
          std::atomic<int> told{0};
          {
            ge::Session session(Options{});
            GE_REQUIRE_OK(session.AddGraph(1, graph()));
            for (int run = 0; run < 3; ++run) {
              GE_OK(session.RunGraphAsync(1, {HostTensor(Counting())},
                                          [&told](ge::Status status, std::vector<ge::Tensor>& outputs) {
                                            if (status == ge::SUCCESS && Floats(outputs[0]) == Products()) ++told;
                                          }));
            }
          }  // destroying the session waits for what it accepted
          ASSERT_EQ(told, 3);
        }
      }
      EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out: the nth request of the calling thread fails, for every n, in each call from AddGraph to
// the run. The call fails with its documented status or manages without; nothing is lost; the session goes on.
#include "session_fixture.h"
#include "tests/failing_new.h"

namespace {

using namespace ge_test;  // NOLINT

// What a client's callback needs itself is not the library's request.
class SparedAllocator : public CountingAllocator {
 public:
  ge::MemBlock* Malloc(size_t size) override {
    const failing_new::Spared spared;
    return CountingAllocator::Malloc(size);
  }
  void Free(ge::MemBlock* block) override {
    const failing_new::Spared spared;
    CountingAllocator::Free(block);
  }
};

class SessionHostFaultTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    input_ = std::make_unique<DeviceMemory>(Counting());
    inputs_ = {DeviceTensor(input_->data())};
  }
  void TearDown() override {
    inputs_.clear();
    input_.reset();
    SessionTest::TearDown();
  }

  // Fails every request of `call` in turn, each on a session of its own that `before` prepares; `after` must then
  // succeed as if nothing had been.
  template <class Before, class Call, class After>
  void FailEach(const char* what, const Before& before, const Call& call, const After& after) {
    const size_t free_before = FreeMemory();
    int64_t failures = 0;
    int64_t nth = 1;
    for (bool reached = true; reached; ++nth) {
      {
        ge::Session session(Options{});
        before(session);
        ge::Status status = 0;
        reached = failing_new::FailNth(nth, [&] { status = call(session); });
        if (!reached) GE_OK(status);
        if (status != ge::SUCCESS) {
          ++failures;
          EXPECT_TRUE(status == ge::FAILED || status == kParamInvalid) << what << " " << nth << ": " << status;
        }
        after(session, status);
        if (::testing::Test::HasFailure()) FAIL() << what << ": request " << nth;
      }
      ErrorMessage();
    }
    EXPECT_GT(failures, 0) << what << ": no failure was ever told";
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
    EXPECT_EQ(FreeMemory(), free_before) << what;
    std::printf("%s: %lld requests, %lld told\n", what, static_cast<long long>(nth - 2),
                static_cast<long long>(failures));
  }

  ge::Status Run(ge::Session& session, std::vector<ge::Tensor>* outputs) {
    return session.RunGraphWithStreamAsync(1, stream_, inputs_, *outputs);
  }
  void ExpectRuns(ge::Session& session) {
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(Run(session, &outputs));
    Synchronize();
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(Read(outputs[0].GetData()), Products());
  }

  std::unique_ptr<DeviceMemory> input_;
  std::vector<ge::Tensor> inputs_;
};

ge::Graph Make(bool dynamic) { return dynamic ? Dynamic("dynamic") : TwoOutputs("static"); }

TEST_F(SessionHostFaultTest, EveryRequestOfAddGraphMayFail) {
  const ge::Graph graph = Make(false);
  const Options options = {{"ge.featureBaseRefreshable", "1"}};  // what the call is given is there before
  FailEach(
      "AddGraph", [](ge::Session&) {},
      [&](ge::Session& session) { return session.AddGraphWithCopy(1, graph, options); },
      [&](ge::Session& session, ge::Status status) {
        if (status != ge::SUCCESS) GE_OK(session.AddGraphWithCopy(1, graph));
        ExpectRuns(session);
      });
}

TEST_F(SessionHostFaultTest, EveryRequestOfCompileGraphMayFail) {
  for (const bool dynamic : {false, true}) {
    FailEach(
        dynamic ? "CompileGraph, dynamic" : "CompileGraph, static",
        [&](ge::Session& session) { GE_OK(session.AddGraph(1, Make(dynamic))); },
        [](ge::Session& session) { return session.CompileGraph(1); },
        [&](ge::Session& session, ge::Status) { ExpectRuns(session); });
  }
}

TEST_F(SessionHostFaultTest, EveryRequestOfLoadGraphMayFail) {
  for (const bool dynamic : {false, true}) {
    FailEach(
        dynamic ? "LoadGraph, dynamic" : "LoadGraph, static",
        [&](ge::Session& session) {
          GE_OK(session.AddGraph(1, Make(dynamic)));
          GE_OK(session.CompileGraph(1));
        },
        [&](ge::Session& session) { return session.LoadGraph(1, {}, stream_); },
        [&](ge::Session& session, ge::Status) { ExpectRuns(session); });
  }
}

TEST_F(SessionHostFaultTest, EveryRequestOfARunMayFail) {
  for (const bool dynamic : {false, true}) {
    for (const bool external : {false, true}) {
      std::shared_ptr<SparedAllocator> allocator;
      std::vector<ge::Tensor> outputs;
      FailEach(
          dynamic ? "run, dynamic" : "run, static",
          [&](ge::Session& session) {
            GE_OK(session.AddGraph(1, Make(dynamic), Options{{"ge.featureBaseRefreshable", "1"}}));
            GE_OK(session.CompileGraph(1));
            GE_OK(session.LoadGraph(1, {}, stream_));
            if (!external) return;
            allocator = std::make_shared<SparedAllocator>();
            GE_OK(session.RegisterExternalAllocator(stream_, allocator));
          },
          [&](ge::Session& session) { return Run(session, &outputs); },
          [&](ge::Session& session, ge::Status status) {
            EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << ErrorMessage();
            if (status == ge::SUCCESS && outputs.size() == 2) {
              EXPECT_EQ(Read(outputs[0].GetData()), Products());
            }
            outputs.clear();
            ExpectRuns(session);
            if (external) GE_OK(session.UnregisterExternalAllocator(stream_));
            allocator.reset();
          });
    }
  }
}

TEST_F(SessionHostFaultTest, EveryRequestOfAHostRunMayFail) {
  for (const bool dynamic : {false, true}) {
    const std::vector<ge::Tensor> host = {HostTensor(Counting())};
    std::vector<ge::Tensor> outputs;
    FailEach(
        dynamic ? "RunGraph, dynamic" : "RunGraph, static",
        [&](ge::Session& session) {
          GE_OK(session.AddGraph(1, Make(dynamic)));
          std::vector<ge::Tensor> warm;
          GE_OK(session.RunGraph(1, host, warm));
        },
        [&](ge::Session& session) { return session.RunGraph(1, host, outputs); },
        [&](ge::Session& session, ge::Status) {
          GE_OK(session.RunGraph(1, host, outputs));
          ASSERT_EQ(outputs.size(), 2U);
          EXPECT_EQ(Floats(outputs[0]), Products());
        });
  }
}

}  // namespace

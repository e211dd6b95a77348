// SPDX-License-Identifier: Apache-2.0
// Host memory that runs out: the nth request of the calling thread fails, for every n, in each call from AddGraph to
// the run, of both generations of sessions; in asynchronous runs the nth of any thread. The call fails with its
// documented status or does without; nothing leaks; the session still works.
#include "session_fixture.h"
#include "src/base/failing_new.h"

namespace {

using namespace ge_test;  // NOLINT

// Memory that a client's callback allocates is not counted.
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
    inputs_ = {DeviceTensor(input_->data())};
  }
  void TearDown() override {
    inputs_.clear();
    SessionTest::TearDown();
  }

  // Fails every request of `call` in turn, each on a session of its own that `before` prepares; `after` must then
  // succeed as if nothing had been.
  template <class Session = ge::Session, class Before, class Call, class After>
  void FailEach(const char* what, const Before& before, const Call& call, const After& after) {
    const size_t free_before = FreeMemory();
    int64_t failures = 0;
    int64_t nth = 1;
    for (bool reached = true; reached; ++nth) {
      {
        Session session(Options{});
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

  std::vector<ge::Tensor> inputs_;
};

ge::Graph Make(bool dynamic) { return dynamic ? Dynamic("dynamic") : TwoOutputs("static"); }

TEST_F(SessionHostFaultTest, EveryRequestOfAddGraphMayFail) {
  const ge::Graph graph = Make(false);
  const Options options = {{"ge.featureBaseRefreshable", "1"}};  // arguments are allocated beforehand
  FailEach(
      "AddGraph", [](ge::Session&) {},
      [&](ge::Session& session) { return session.AddGraphWithCopy(1, graph, options); },
      [&](ge::Session& session, ge::Status status) {
        if (status != ge::SUCCESS) GE_OK(session.AddGraphWithCopy(1, graph));
        ExpectRuns(session);
      });
}

// A destructor has nobody to tell that it found no memory, and must come to its end without; also while a run is
// queued, whose program and memory go after it.
TEST_F(SessionHostFaultTest, ASessionEndsWithoutHostMemory) {
  const size_t free_before = FreeMemory();
  for (const bool dynamic : {false, true}) {
    for (const bool queued : {false, true}) {
      bool reached = true;
      for (int64_t nth = 1; reached; ++nth) {
        auto session = std::make_unique<ge::Session>(Options{});
        GE_REQUIRE_OK(session->AddGraph(1, Make(dynamic)));
        ExpectRuns(*session);
        std::vector<ge::Tensor> outputs;
        if (queued) GE_REQUIRE_OK(Run(*session, &outputs));
        reached = failing_new::FailNth(nth, [&] { session.reset(); });
        Synchronize();
        outputs.clear();
        EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
        ASSERT_EQ(FreeMemory(), free_before) << "dynamic " << dynamic << ", queued " << queued << ", request " << nth;
      }
    }
  }
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

// --- The second generation -----------------------------------------------------------------------------------------

class GeSessionHostFaultTest : public SessionHostFaultTest {
 protected:
  ge::Status RunSecond(ge::GeSession& session, std::vector<gert::Tensor>* outputs) {
    return session.RunGraphWithStreamAsync(1, stream_, second_inputs_, *outputs);
  }
  void ExpectSecondRuns(ge::GeSession& session, bool loaded) {
    if (!loaded) GE_REQUIRE_OK(session.LoadGraph(1, {}, stream_));
    std::vector<gert::Tensor> outputs;
    GE_REQUIRE_OK(RunSecond(session, &outputs));
    Synchronize();
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(Read(outputs[0].GetAddr()), Products());
  }
  void SetUp() override {
    SessionHostFaultTest::SetUp();
    second_inputs_ = GertTensors(input_->data());
  }
  void TearDown() override {
    second_inputs_.clear();
    SessionHostFaultTest::TearDown();
  }

  std::vector<gert::Tensor> second_inputs_;
};

TEST_F(GeSessionHostFaultTest, EveryRequestOfAddGraphMayFail) {
  const ge::Graph graph = Make(false);
  FailEach<ge::GeSession>(
      "GeSession::AddGraph", [](ge::GeSession&) {},
      [&](ge::GeSession& session) { return session.AddGraphClone(1, graph); },
      [&](ge::GeSession& session, ge::Status status) {
        if (status != ge::SUCCESS) GE_OK(session.AddGraphClone(1, graph));
        ExpectSecondRuns(session, false);
      });
}

TEST_F(GeSessionHostFaultTest, EveryRequestOfCompileGraphMayFail) {
  for (const bool dynamic : {false, true}) {
    FailEach<ge::GeSession>(
        dynamic ? "GeSession::CompileGraph, dynamic" : "GeSession::CompileGraph, static",
        [&](ge::GeSession& session) { GE_OK(session.AddGraph(1, Make(dynamic))); },
        [](ge::GeSession& session) { return session.CompileGraph(1); },
        [&](ge::GeSession& session, ge::Status) { ExpectSecondRuns(session, false); });
  }
}

TEST_F(GeSessionHostFaultTest, EveryRequestOfLoadGraphMayFail) {
  for (const bool dynamic : {false, true}) {
    FailEach<ge::GeSession>(
        dynamic ? "GeSession::LoadGraph, dynamic" : "GeSession::LoadGraph, static",
        [&](ge::GeSession& session) { GE_OK(session.AddGraph(1, Make(dynamic))); },
        [&](ge::GeSession& session) { return session.LoadGraph(1, {}, stream_); },
        [&](ge::GeSession& session, ge::Status status) { ExpectSecondRuns(session, status == ge::SUCCESS); });
  }
}

TEST_F(GeSessionHostFaultTest, EveryRequestOfARunMayFail) {
  for (const bool dynamic : {false, true}) {
    std::vector<gert::Tensor> outputs;
    FailEach<ge::GeSession>(
        dynamic ? "GeSession's run, dynamic" : "GeSession's run, static",
        [&](ge::GeSession& session) {
          GE_OK(session.AddGraph(1, Make(dynamic), Options{{"ge.featureBaseRefreshable", "1"}}));
          GE_OK(session.LoadGraph(1, {}, stream_));
        },
        [&](ge::GeSession& session) { return RunSecond(session, &outputs); },
        [&](ge::GeSession& session, ge::Status) {
          EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << ErrorMessage();
          outputs.clear();
          ExpectSecondRuns(session, true);
        });
  }
}

TEST_F(GeSessionHostFaultTest, EveryRequestOfAHostRunMayFail) {
  const std::vector<float> values = Counting();
  const std::vector<gert::Tensor> host = GertTensors(values.data(), kBytes, gert::kOnHost);
  std::vector<gert::Tensor> outputs;
  FailEach<ge::GeSession>(
      "GeSession::RunGraph", [&](ge::GeSession& session) { GE_OK(session.AddGraph(1, Make(false))); },
      [&](ge::GeSession& session) { return session.RunGraph(1, host, outputs); },
      [&](ge::GeSession& session, ge::Status) {
        outputs.clear();
        GE_OK(session.RunGraph(1, host, outputs));
        ASSERT_EQ(outputs.size(), 2U);
        const auto* result = outputs[0].GetData<float>();
        EXPECT_EQ(std::vector<float>(result, result + kElements), Products());
      });
}

// --- Runs on a thread of the library's -----------------------------------------------------------------------------

// Where an asynchronous run tells its end; small enough that a std::function holds it without memory of its own.
struct Ending {
  std::atomic<int> told{0};
  std::atomic<ge::Status> status{ge::SUCCESS};

  void Tell(ge::Status code) {
    status = code;
    told.fetch_add(1);
    told.notify_all();
  }
  void Wait() { told.wait(0); }
};

// A run tells its end once, whether it was accepted or refused, also when there is no memory for what it would say.
TEST_F(SessionHostFaultTest, EveryRequestOfAnAsynchronousRunMayFail) {
  const std::vector<ge::Tensor> host = {HostTensor(Counting())};
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, Make(false)));
  const auto run = [&](Ending* ending) {
    return session.RunGraphAsync(1, host,
                                 [ending](ge::Status status, std::vector<ge::Tensor>&) { ending->Tell(status); });
  };
  int failures = 0;
  int64_t nth = 1;
  for (int in_a_row = 0; in_a_row < 3;
       ++nth) {  // with two threads the count of requests is not quite the same each time
    Ending ending;
    ge::Status accepted = ge::FAILED;
    const bool fired = failing_new::FailNthAnywhere(nth, false, [&] {
      accepted = run(&ending);
      ending.Wait();
    });
    in_a_row = fired ? 0 : in_a_row + 1;
    EXPECT_EQ(ending.told, 1) << "request " << nth;
    EXPECT_TRUE(accepted == ge::SUCCESS || ending.status != ge::SUCCESS) << "refused, and told of success";
    failures += ending.status != ge::SUCCESS ? 1 : 0;
    Ending next;
    GE_REQUIRE_OK(run(&next));
    next.Wait();
    GE_OK(next.status.load());
    ErrorMessage();
    if (HasFailure()) FAIL() << "request " << nth;
  }
  EXPECT_GT(failures, 0) << "no failure was ever told";
  std::printf("RunGraphAsync: %lld requests, %d told\n", static_cast<long long>(nth - 4), failures);
}

}  // namespace

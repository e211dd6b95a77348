// SPDX-License-Identifier: Apache-2.0
// What is refused while capturing, by mode and by thread.
#include "tests/acl/capture/capture_fixture.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class CaptureRulesTest : public CaptureTest {
 protected:
  // The unsafe calls of page "aclmdlRICaptureBegin" ("aclrtMemset, aclrtMemcpy, aclrtMemcpy2d and asynchronous copies
  // of host memory that is not page-locked").
  void ExpectUnsafe(bool refused) {
    char host[64] = {};
    const int sync = refused ? ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT : ACL_SUCCESS;
    EXPECT_EQ(aclrtMemset(memory_->get(), 64, 0, 64), sync) << RecentMessage();
    EXPECT_EQ(aclrtMemcpy(memory_->get(), 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), sync) << RecentMessage();
    EXPECT_EQ(aclrtMemcpy2d(memory_->get(), 16, host, 16, 16, 4, ACL_MEMCPY_HOST_TO_DEVICE), sync) << RecentMessage();
  }
  // Another thread in the same context.
  void Elsewhere(const std::function<void()>& work) {
    aclrtContext context = nullptr;
    ACL_OK(aclrtGetCurrentContext(&context));
    std::thread thread([&] {
      ACL_OK(aclrtSetCurrentContext(context));
      work();
    });
    thread.join();
  }
  aclmdlRICaptureMode Exchange(aclmdlRICaptureMode mode) {
    ACL_OK(aclmdlRICaptureThreadExchangeMode(&mode));
    return mode;
  }
  void SetUp() override {
    CaptureTest::SetUp();
    memory_ = std::make_unique<DeviceBuffer>(64);
  }
  void TearDown() override {
    memory_.reset();
    CaptureTest::TearDown();
  }
  std::unique_ptr<DeviceBuffer> memory_;
};

// --- Begin ------------------------------------------------------------------------------------------------------

// errors, 107031: "the default stream must not be used in a capture".
TEST_F(CaptureRulesTest, TheDefaultStreamIsRefused) {
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, aclmdlRICaptureBegin(nullptr, kGlobal));
  EXPECT_NE(RecentMessage().find("aclrtCreateStream"), std::string::npos);
}

// errors, 107027: the stream is captured already.
TEST_F(CaptureRulesTest, BeginTwiceIsRefused) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, aclmdlRICaptureBegin(stream_, kGlobal));
  EXPECT_EQ(StatusOf(stream_), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  End(stream_);
}

TEST_F(CaptureRulesTest, UnknownModesAreRefused) {
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRICaptureBegin(stream_, static_cast<aclmdlRICaptureMode>(3)));
  auto mode = static_cast<aclmdlRICaptureMode>(3);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRICaptureThreadExchangeMode(&mode));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlRICaptureThreadExchangeMode(nullptr));
}

// --- End --------------------------------------------------------------------------------------------------------

// errors, 107029.
TEST_F(CaptureRulesTest, EndOnAStreamThatDoesNotCaptureIsRefused) {
  aclmdlRI graph = &graph;
  ACL_FAILS(ACL_ERROR_RT_STREAM_NOT_CAPTURED, aclmdlRICaptureEnd(stream_, &graph));
  EXPECT_EQ(graph, nullptr);
}

// Page "aclmdlRICaptureEnd": unless the mode is RELAXED "this call and aclmdlRICaptureBegin must be in the same
// thread".
TEST_F(CaptureRulesTest, EndOnAnotherThreadIsRefusedAndEndsTheCapture) {
  for (const auto mode : {kGlobal, kThreadLocal}) {
    ACL_OK(aclmdlRICaptureBegin(stream_, mode));
    Elsewhere([&] {
      aclmdlRI graph = nullptr;
      ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, aclmdlRICaptureEnd(stream_, &graph));
    });
    EXPECT_EQ(StatusOf(stream_), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    ExpectUnsafe(false);
  }
}

TEST_F(CaptureRulesTest, ARelaxedCaptureMayEndOnAnotherThread) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kRelaxed));
  ACL_OK(Note(stream_, 1));
  aclmdlRI graph = nullptr;
  Elsewhere([&] { graph = End(stream_); });
  Run(graph, stream_);
  EXPECT_EQ(log_, std::vector<int>{1});
}

// --- Modes (page "aclmdlRICaptureThreadExchangeMode")
// ------------------------------------------------------------------

TEST_F(CaptureRulesTest, GlobalForbidsUnsafeCallsToEveryThread) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ExpectUnsafe(true);
  Elsewhere([&] { ExpectUnsafe(true); });
  End(stream_);
  ExpectUnsafe(false);
}

// "this thread ... must switch to RELAXED; other threads to RELAXED or THREAD_LOCAL".
TEST_F(CaptureRulesTest, AThreadLoosensAGlobalCaptureForItself) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  EXPECT_EQ(Exchange(kThreadLocal), kGlobal);
  ExpectUnsafe(true);
  EXPECT_EQ(Exchange(kRelaxed), kThreadLocal);
  ExpectUnsafe(false);
  EXPECT_EQ(Exchange(kGlobal), kRelaxed);
  Elsewhere([&] {
    EXPECT_EQ(Exchange(kThreadLocal), kGlobal);
    ExpectUnsafe(false);
    Exchange(kRelaxed);
    ExpectUnsafe(false);
  });
  End(stream_);
}

// "the current thread must not call unsafe functions, but other threads may".
TEST_F(CaptureRulesTest, ThreadLocalForbidsOnlyTheCapturingThread) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kThreadLocal));
  ExpectUnsafe(true);
  Elsewhere([&] { ExpectUnsafe(false); });
  Exchange(kRelaxed);
  ExpectUnsafe(false);
  Exchange(kGlobal);
  End(stream_);
}

// "all threads may ...; even when another thread sets another mode it has no effect".
TEST_F(CaptureRulesTest, RelaxedForbidsNothing) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kRelaxed));
  ExpectUnsafe(false);
  Elsewhere([&] {
    Exchange(kThreadLocal);
    ExpectUnsafe(false);
  });
  End(stream_);
}

// guide: the documented way to make one copy during a capture. It runs once and is not in the graph.
TEST_F(CaptureRulesTest, ACopyInRelaxedModeRunsAtOnceAndIsNotCaptured) {
  PinnedBuffer host(64);
  *host.words() = 5;
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  Exchange(kRelaxed);
  ACL_OK(aclrtMemcpy(memory_->get(), 64, host.get(), 64, ACL_MEMCPY_HOST_TO_DEVICE));
  Exchange(kGlobal);
  aclmdlRI graph = End(stream_);
  ACL_OK(aclrtMemset(memory_->get(), 64, 0, 64));
  Run(graph, stream_);
  ACL_OK(aclrtMemcpy(host.get(), 64, memory_->get(), 64, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(*host.words(), 0u);
}

TEST_F(CaptureRulesTest, ARefusedCallDoesNotHarmTheCapture) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ACL_OK(Note(stream_, 1));
  ExpectUnsafe(true);
  ACL_OK(Note(stream_, 2));
  Run(End(stream_), stream_);
  EXPECT_EQ(log_, (std::vector<int>{1, 2}));
}

TEST_F(CaptureRulesTest, AnotherContextIsNotConcerned) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  std::thread([&] {
    aclrtContext context = nullptr;
    ACL_OK(aclrtCreateContext(&context, 0));
    ExpectUnsafe(false);
    ACL_OK(aclrtDestroyContext(context));
  }).join();
  End(stream_);
}

// --- Synchronising what is captured -----------------------------------------------------------------------------

// errors, 107027 and 107028: end the capture first.
TEST_F(CaptureRulesTest, SynchronisingACapturedStreamOrEventIsRefused) {
  aclrtEvent event = Event();
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ACL_OK(Note(stream_, 1));
  ACL_OK(aclrtRecordEvent(event, stream_));
  aclrtEventRecordedStatus status{};
  aclrtStreamStatus stream_status{};
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, aclrtSynchronizeStream(stream_));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, aclrtSynchronizeStreamWithTimeout(stream_, 10));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, aclrtStreamQuery(stream_, &stream_status));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, aclrtDestroyStream(stream_));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, aclrtSynchronizeDevice());
  ACL_FAILS(ACL_ERROR_RT_EVENT_CAPTURED, aclrtSynchronizeEvent(event));
  ACL_FAILS(ACL_ERROR_RT_EVENT_CAPTURED, aclrtQueryEventStatus(event, &status));
  Run(End(stream_), stream_);
  EXPECT_EQ(log_, std::vector<int>{1});
  ACL_OK(aclrtSynchronizeEvent(event));
  ACL_OK(aclrtSynchronizeDevice());
}

// errors, 107026: the model is being captured.
TEST_F(CaptureRulesTest, AGraphBeingCapturedCannotBeRunOrDestroyed) {
  aclrtStream other = NewStream();
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  aclmdlRI graph = nullptr;
  ACL_OK(aclmdlRICaptureGetInfo(stream_, nullptr, &graph));
  ACL_FAILS(ACL_ERROR_RT_MODEL_CAPTURED, aclmdlRIExecuteAsync(graph, other));
  ACL_FAILS(ACL_ERROR_RT_MODEL_CAPTURED, aclmdlRIDestroy(graph));
  ACL_FAILS(ACL_ERROR_RT_MODEL_CAPTURED, aclmdlRIDebugPrint(graph));
  ACL_FAILS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRIUpdate(graph));
  End(stream_);
}

TEST_F(CaptureRulesTest, AGraphCannotBeExecutedIntoACapture) {
  aclmdlRI graph = Capture(stream_, [] {});
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, aclmdlRIExecuteAsync(graph, stream_));
  End(stream_);
}

TEST_F(CaptureRulesTest, AGraphRunsOnlyInItsOwnContext) {
  aclmdlRI graph = Capture(stream_, [] {});
  aclrtContext mine = nullptr, context = nullptr;
  ACL_OK(aclrtGetCurrentContext(&mine));
  ACL_OK(aclrtCreateContext(&context, 0));
  ACL_FAILS(ACL_ERROR_RT_MODEL_CONTEXT, aclmdlRIExecuteAsync(graph, nullptr));
  ACL_OK(aclrtDestroyContext(context));
  ACL_OK(aclrtSetCurrentContext(mine));
}

TEST_F(CaptureRulesTest, DestroyingTheContextEndsTheCapture) {
  aclrtContext mine = nullptr, context = nullptr;
  ACL_OK(aclrtGetCurrentContext(&mine));
  ACL_OK(aclrtCreateContext(&context, 0));
  aclrtStream doomed = nullptr;
  ACL_OK(aclrtCreateStream(&doomed));
  ACL_OK(aclmdlRICaptureBegin(doomed, kGlobal));
  ACL_OK(aclrtDestroyContext(context));
  ACL_OK(aclrtSetCurrentContext(mine));
  ExpectUnsafe(false);
  Run(Capture(stream_, [&] { ACL_OK(Note(stream_, 1)); }), stream_);
  EXPECT_EQ(log_, std::vector<int>{1});
}

// A launch racing with the end of its capture lands in the graph or on the stream, never nowhere.
TEST_F(CaptureRulesTest, LaunchesRacingWithTheEndAreNotLost) {
  aclrtContext context = nullptr;
  ACL_OK(aclrtGetCurrentContext(&context));
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ran{0};
    std::atomic<int> launched{0};
    ACL_OK(aclmdlRICaptureBegin(stream_, kRelaxed));
    std::thread racer([&] {
      ACL_OK(aclrtSetCurrentContext(context));
      for (int i = 0; i < 50; ++i) {
        launched +=
            millpond_launch(
                stream_, "Count", [](void* argument) { static_cast<std::atomic<int>*>(argument)->fetch_add(1); },
                &ran) == ACL_SUCCESS;
      }
    });
    aclmdlRI graph = nullptr;
    ACL_OK(aclmdlRICaptureEnd(stream_, &graph));
    racer.join();
    ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
    ACL_OK(aclrtSynchronizeStream(stream_));
    EXPECT_EQ(ran.load(), launched.load());
    ACL_OK(aclmdlRIDestroy(graph));
  }
}

}  // namespace

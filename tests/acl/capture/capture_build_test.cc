// SPDX-License-Identifier: Apache-2.0
// Model running instances built from bound streams (CANN's chapter on model running instances: BuildBegin, BindStream,
// EndTask, BuildEnd, UnbindStream, Execute, Abort).
#include "tests/acl/capture/capture_fixture.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class CaptureBuildTest : public CaptureTest {
 protected:
  void SetUp() override {
    CaptureTest::SetUp();
    bound_ = NewStream(0, ACL_STREAM_PERSISTENT);
  }
  void TearDown() override {
    if (model_ != nullptr) ACL_OK(aclmdlRIDestroy(model_));
    CaptureTest::TearDown();
  }
  // The documented sequence.
  void Build(const std::function<void()>& record) {
    ACL_OK(aclmdlRIBuildBegin(&model_, 0));
    ACL_OK(aclmdlRIBindStream(model_, bound_, ACL_MODEL_STREAM_FLAG_HEAD));
    record();
    ACL_OK(aclmdlRIEndTask(model_, bound_));
    ACL_OK(aclmdlRIBuildEnd(model_, nullptr));
  }
  aclmdlRI model_ = nullptr;
  aclrtStream bound_ = nullptr;
};

// "tasks launched on the bound stream are not run at once, only by aclmdlRIExecute or aclmdlRIExecuteAsync".
TEST_F(CaptureBuildTest, TasksOfABoundStreamRunAtExecute) {
  Build([&] {
    ACL_OK(Note(bound_, 1));
    ACL_OK(Note(bound_, 2));
  });
  EXPECT_TRUE(log_.empty());
  ACL_OK(aclmdlRIExecute(model_, -1));
  EXPECT_EQ(log_, (std::vector<int>{1, 2}));
  Run(model_, stream_);
  EXPECT_EQ(log_, (std::vector<int>{1, 2, 1, 2}));
  ACL_OK(aclmdlRIUnbindStream(model_, bound_));
}

TEST_F(CaptureBuildTest, BoundStreamsAreOrderedByTheirEventsAndNotifies) {
  aclrtStream second = NewStream(0, ACL_STREAM_PERSISTENT);
  aclrtEvent level = NewEventWithFlag(ACL_EVENT_SYNC);
  aclrtEvent mark = Event();
  ACL_OK(aclmdlRIBuildBegin(&model_, 0));
  ACL_OK(aclmdlRIBindStream(model_, bound_, ACL_MODEL_STREAM_FLAG_HEAD));
  ACL_OK(aclmdlRIBindStream(model_, second, ACL_MODEL_STREAM_FLAG_HEAD));
  ACL_OK(aclrtStreamWaitEvent(second, level));
  ACL_OK(aclrtResetEvent(level, second));
  ACL_OK(Note(second, 2));
  ACL_OK(aclrtRecordEvent(mark, second));
  ACL_OK(Note(bound_, 1));
  ACL_OK(aclrtRecordEvent(level, bound_));
  ACL_OK(aclrtStreamWaitEvent(bound_, mark));
  ACL_OK(Note(bound_, 3));
  ACL_OK(aclmdlRIEndTask(model_, bound_));
  ACL_OK(aclmdlRIBuildEnd(model_, nullptr));
  for (int i = 0; i < 5; ++i) {
    log_.clear();
    ACL_OK(aclmdlRIExecute(model_, -1));
    EXPECT_EQ(log_, (std::vector<int>{1, 2, 3}));
  }
  ACL_OK(aclmdlRIUnbindStream(model_, second));
  ACL_OK(aclmdlRIUnbindStream(model_, bound_));
}

// "after BuildEnd no further task may be sent to the bound streams".
TEST_F(CaptureBuildTest, NoTasksAfterTheEnd) {
  Build([&] { ACL_OK(Note(bound_, 1)); });
  ACL_FAILS(ACL_ERROR_RT_STREAM_MODEL, Note(bound_, 2));
  ACL_OK(aclmdlRIExecute(model_, -1));
  EXPECT_EQ(log_, std::vector<int>{1});
  ACL_OK(aclmdlRIUnbindStream(model_, bound_));
}

TEST_F(CaptureBuildTest, WrongArgumentsAndOrdersAreRefused) {
  aclmdlRI other = nullptr;
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIBuildBegin(&other, 1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlRIBuildBegin(nullptr, 0));
  ACL_OK(aclmdlRIBuildBegin(&model_, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlRIBindStream(model_, nullptr, ACL_MODEL_STREAM_FLAG_HEAD));
  // "must be made by aclrtCreateStreamWithConfig with ACL_STREAM_PERSISTENT"
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIBindStream(model_, stream_, ACL_MODEL_STREAM_FLAG_HEAD));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclmdlRIBindStream(model_, bound_, ACL_MODEL_STREAM_FLAG_DEFAULT));
  ACL_FAILS(ACL_ERROR_RT_STREAM_MODEL, aclmdlRIEndTask(model_, bound_));
  ACL_OK(aclmdlRIBindStream(model_, bound_, ACL_MODEL_STREAM_FLAG_HEAD));
  // "one stream cannot be bound to several"
  ACL_OK(aclmdlRIBuildBegin(&other, 0));
  ACL_FAILS(ACL_ERROR_RT_STREAM_MODEL, aclmdlRIBindStream(other, bound_, ACL_MODEL_STREAM_FLAG_HEAD));
  ACL_OK(aclmdlRIDestroy(other));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIBuildEnd(model_, nullptr));  // no EndTask
  ACL_FAILS(ACL_ERROR_RT_MODEL_CAPTURED, aclmdlRIExecute(model_, -1));
  ACL_OK(aclmdlRIEndTask(model_, bound_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlRIBuildEnd(model_, &model_));
  ACL_OK(aclmdlRIBuildEnd(model_, nullptr));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIBuildEnd(model_, nullptr));
  // Page "aclmdlRIExecute": timeout "-1 for ever; > 0 milliseconds"
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIExecute(model_, 0));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIExecute(model_, -2));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIExecuteAsync(model_, bound_));
  ACL_OK(aclmdlRIUnbindStream(model_, bound_));
  ACL_FAILS(ACL_ERROR_RT_STREAM_MODEL, aclmdlRIUnbindStream(model_, bound_));
}

TEST_F(CaptureBuildTest, ABoundStreamIsNotCaptured) {
  ACL_OK(aclmdlRIBuildBegin(&model_, 0));
  ACL_OK(aclmdlRIBindStream(model_, bound_, ACL_MODEL_STREAM_FLAG_HEAD));
  EXPECT_EQ(StatusOf(bound_), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  aclmdlRI graph = nullptr;
  ACL_FAILS(ACL_ERROR_RT_STREAM_NOT_CAPTURED, aclmdlRICaptureEnd(bound_, &graph));
  ACL_OK(aclrtSynchronizeStream(
      bound_));  // CANN's chapter on stream management: the host does not wait for persistent streams
  DeviceBuffer memory(64);
  ACL_OK(aclrtMemset(memory.get(), 64, 0, 64));  // building forbids nothing
  ACL_OK(aclmdlRIUnbindStream(model_, bound_));
}

TEST_F(CaptureBuildTest, ExecuteTimesOut) {
  Hold hold;
  Build([&] {
    ACL_OK(hold.On(bound_));
    ACL_OK(Note(bound_, 1));
  });
  const auto start = Clock::now();
  ACL_FAILS(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclmdlRIExecute(model_, 30));
  EXPECT_GE(Clock::now() - start, milliseconds(30));
  EXPECT_TRUE(log_.empty());
  hold.Release();
  ACL_OK(aclmdlRIExecute(model_, 10000));
  EXPECT_EQ(log_, std::vector<int>{1});
  ACL_OK(aclmdlRIUnbindStream(model_, bound_));
}

// Page "aclmdlRIAbort": "stops a model running instance that executes; to run it again call Execute again".
TEST_F(CaptureBuildTest, AbortEndsWhatRunsAndWhatIsQueued) {
  Hold hold;
  Build([&] {
    ACL_OK(Note(bound_, 1));
    ACL_OK(hold.On(bound_));
    ACL_OK(Note(bound_, 2));
  });
  aclrtStream other = NewStream();
  ACL_OK(aclmdlRIExecuteAsync(model_, stream_));
  ACL_OK(aclmdlRIExecuteAsync(model_, other));
  ACL_OK(aclmdlRIAbort(model_));
  ACL_FAILS(ACL_ERROR_RT_MODEL_ABORT_NORMAL, aclrtSynchronizeStream(stream_));
  ACL_FAILS(ACL_ERROR_RT_MODEL_ABORT_NORMAL, aclrtSynchronizeStream(other));
  for (const int number : log_) EXPECT_EQ(number, 1);
  log_.clear();
  hold.Release();
  Run(model_, stream_);
  EXPECT_EQ(log_, (std::vector<int>{1, 2}));
  ACL_OK(aclmdlRIUnbindStream(model_, bound_));
}

// "aclmdlRIAbort is not supported for captured models"; aclmdlRIExecute is for built ones.
TEST_F(CaptureBuildTest, CapturedGraphsAreNotForExecuteAndAbort) {
  aclmdlRI graph = Capture(stream_, [] {});
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclmdlRIAbort(graph));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIExecute(graph, -1));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIBindStream(graph, bound_, ACL_MODEL_STREAM_FLAG_HEAD));
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Task groups and their updates (CANN's chapter on model running instances: CaptureTaskGrpBegin to
// CaptureTaskUpdateEnd).
#include "tests/acl/capture/capture_fixture.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class CaptureGroupTest : public CaptureTest {
 protected:
  // A graph of: 1, a group of two operators that note `values`, 9.
  aclmdlRI CaptureWithGroup(int first, int second) {
    return Capture(stream_, [&] {
      ACL_OK(Note(stream_, 1));
      ACL_OK(aclmdlRICaptureTaskGrpBegin(stream_));
      ACL_OK(Note(stream_, first, "OperatorA"));
      ACL_OK(Note(stream_, second, "OperatorB"));
      ACL_OK(aclmdlRICaptureTaskGrpEnd(stream_, &group_));
      ACL_OK(Note(stream_, 9));
    });
  }
  void Update(int first, int second) {
    ACL_OK(aclmdlRICaptureTaskUpdateBegin(update_, group_));
    ACL_OK(Note(update_, first, "OperatorA"));
    ACL_OK(Note(update_, second, "OperatorB"));
    ACL_OK(aclmdlRICaptureTaskUpdateEnd(update_));
  }
  aclrtStream& update_ = side_;
  aclrtTaskGrp group_ = nullptr;
};

TEST_F(CaptureGroupTest, AnUpdateReplacesTheGroupsTasksAndRunsNothing) {
  aclmdlRI graph = CaptureWithGroup(2, 3);
  EXPECT_NE(group_, nullptr);
  Run(graph, stream_);
  EXPECT_EQ(log_, (std::vector<int>{1, 2, 3, 9}));
  log_.clear();
  Update(20, 30);
  ACL_OK(aclrtSynchronizeStream(update_));
  EXPECT_TRUE(log_.empty());
  for (int i = 0; i < 3; ++i) {
    log_.clear();
    Run(graph, stream_);
    EXPECT_EQ(log_, (std::vector<int>{1, 20, 30, 9}));
  }
  Update(21, 31);
  Update(22, 32);  // the last one counts
  ACL_OK(aclrtSynchronizeStream(update_));
  log_.clear();
  Run(graph, stream_);
  EXPECT_EQ(log_, (std::vector<int>{1, 22, 32, 9}));
}

// Page "aclmdlRICaptureTaskUpdateEnd": "the update is asynchronous": it takes its place in the update stream's order.
TEST_F(CaptureGroupTest, AnUpdateTakesEffectInStreamOrder) {
  aclmdlRI graph = CaptureWithGroup(2, 3);
  aclrtEvent event = Event();
  Hold hold;
  ACL_OK(hold.On(update_));
  Update(20, 30);
  ACL_OK(aclrtRecordEvent(event, update_));
  Run(graph, stream_);
  EXPECT_EQ(log_, (std::vector<int>{1, 2, 3, 9}));  // the update has not run
  log_.clear();
  ACL_OK(aclrtStreamWaitEvent(stream_, event));
  ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(log_, (std::vector<int>{1, 20, 30, 9}));
}

// How vllm-ascend updates attention: the graph is launched first and waits inside for an external event, which the
// update stream records after the update.
TEST_F(CaptureGroupTest, ARunningGraphThatWaitsBeforeTheGroupSeesTheUpdate) {
  aclrtEvent gate = NewEventWithFlag(ACL_EVENT_EXTERNAL);
  aclmdlRI graph = Capture(stream_, [&] {
    ACL_OK(Note(stream_, 1));
    ACL_OK(aclrtStreamWaitEvent(stream_, gate));
    ACL_OK(aclrtResetEvent(gate, stream_));
    ACL_OK(aclmdlRICaptureTaskGrpBegin(stream_));
    ACL_OK(Note(stream_, 2, "Attention"));
    ACL_OK(aclmdlRICaptureTaskGrpEnd(stream_, &group_));
    ACL_OK(Note(stream_, 9));
  });
  for (int step = 100; step < 120; ++step) {
    log_.clear();
    ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
    ACL_OK(aclmdlRICaptureTaskUpdateBegin(update_, group_));
    ACL_OK(Note(update_, step, "Attention"));
    ACL_OK(aclmdlRICaptureTaskUpdateEnd(update_));
    ACL_OK(aclrtRecordEvent(gate, update_));
    ACL_OK(aclrtSynchronizeStream(stream_));
    ASSERT_EQ(log_, (std::vector<int>{1, step, 9}));
  }
  ACL_OK(aclrtSynchronizeStream(update_));
}

// Only operators are collected; other work of the update stream runs as always.
TEST_F(CaptureGroupTest, CopiesOnTheUpdateStreamRunAsUsual) {
  CaptureWithGroup(2, 3);
  PinnedBuffer word(64);
  *word.words() = 0;
  ACL_OK(aclmdlRICaptureTaskUpdateBegin(update_, group_));
  ACL_OK(aclrtValueWrite(word.get(), 5, 0, update_));
  ACL_OK(Note(update_, 20, "OperatorA"));
  ACL_OK(aclrtSynchronizeStream(update_));
  EXPECT_EQ(*word.words(), 5u);
  ACL_OK(Note(update_, 30, "OperatorB"));
  ACL_OK(aclmdlRICaptureTaskUpdateEnd(update_));
  ACL_OK(Note(update_, 7));  // no longer collected
  ACL_OK(aclrtSynchronizeStream(update_));
  EXPECT_EQ(log_, std::vector<int>{7});
}

// --- Refusals ---------------------------------------------------------------------------------------------------

// Page "aclmdlRICaptureTaskUpdateBegin": "number and types of the tasks must be those between TaskGrpBegin and
// TaskGrpEnd".
TEST_F(CaptureGroupTest, AnUpdateWithOtherTasksIsRefusedAndChangesNothing) {
  aclmdlRI graph = CaptureWithGroup(2, 3);
  ACL_OK(aclmdlRICaptureTaskUpdateBegin(update_, group_));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT_UPDATE_OP, Note(update_, 20, "OperatorB"));
  EXPECT_NE(RecentMessage().find("OperatorA"), std::string::npos);
  ACL_FAILS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRICaptureTaskUpdateEnd(update_));

  ACL_OK(aclmdlRICaptureTaskUpdateBegin(update_, group_));
  ACL_OK(Note(update_, 20, "OperatorA"));
  ACL_FAILS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRICaptureTaskUpdateEnd(update_));

  ACL_OK(aclmdlRICaptureTaskUpdateBegin(update_, group_));
  ACL_OK(Note(update_, 20, "OperatorA"));
  ACL_OK(Note(update_, 30, "OperatorB"));
  ACL_FAILS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, Note(update_, 40, "OperatorB"));
  ACL_FAILS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRICaptureTaskUpdateEnd(update_));

  ACL_OK(aclrtSynchronizeStream(update_));
  Run(graph, stream_);
  EXPECT_EQ(log_, (std::vector<int>{1, 2, 3, 9}));
}

// errors, 107033: the listed reasons.
TEST_F(CaptureGroupTest, GroupsAndUpdatesComeInPairs) {
  ACL_FAILS(ACL_ERROR_RT_STREAM_NOT_CAPTURED, aclmdlRICaptureTaskGrpBegin(stream_));
  ACL_FAILS(ACL_ERROR_RT_STREAM_NOT_CAPTURED, aclmdlRICaptureTaskGrpEnd(stream_, &group_));
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ACL_FAILS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskGrpEnd(stream_, &group_));
  ACL_OK(aclmdlRICaptureTaskGrpBegin(stream_));
  ACL_FAILS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskGrpBegin(stream_));
  ACL_OK(aclmdlRICaptureTaskGrpEnd(stream_, &group_));
  End(stream_);
  aclrtStream third = NewStream();
  ACL_FAILS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskUpdateEnd(update_));
  ACL_OK(aclmdlRICaptureTaskUpdateBegin(update_, group_));
  ACL_FAILS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskUpdateBegin(update_, group_));
  ACL_FAILS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureTaskUpdateBegin(third, group_));
  ACL_OK(aclmdlRICaptureTaskUpdateEnd(update_));
}

TEST_F(CaptureGroupTest, AnOpenGroupFailsTheEndOfTheCapture) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ACL_OK(aclmdlRICaptureTaskGrpBegin(stream_));
  aclmdlRI graph = nullptr;
  ACL_FAILS(ACL_ERROR_STREAM_TASK_GROUP_STATUS, aclmdlRICaptureEnd(stream_, &graph));
}

// errors, 107034: a task on another captured stream while a group is recorded.
TEST_F(CaptureGroupTest, ATaskOnAnotherCapturedStreamInterruptsTheGroup) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  Order(stream_, update_);
  ACL_OK(aclmdlRICaptureTaskGrpBegin(stream_));
  ACL_FAILS(ACL_ERROR_STREAM_TASK_GROUP_INTR, Note(update_, 1));
  ACL_FAILS(ACL_ERROR_STREAM_TASK_GROUP_INTR, aclmdlRICaptureTaskGrpEnd(stream_, &group_));
  EXPECT_EQ(StatusOf(stream_), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  aclmdlRI graph = nullptr;
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, aclmdlRICaptureEnd(stream_, &graph));
}

// Page "aclmdlRICaptureTaskGrpBegin": "only single-operator calls ... otherwise ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT".
TEST_F(CaptureGroupTest, AGroupTakesOperatorsOnly) {
  PinnedBuffer word(64);
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ACL_OK(aclmdlRICaptureTaskGrpBegin(stream_));
  ACL_FAILS(ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT, aclrtValueWrite(word.get(), 1, 0, stream_));
  aclmdlRI graph = nullptr;
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, aclmdlRICaptureEnd(stream_, &graph));
}

// Page "aclmdlRICaptureTaskUpdateBegin": "the stream must not be one that is captured".
TEST_F(CaptureGroupTest, AnUpdateNeedsAStreamThatIsNotCaptured) {
  CaptureWithGroup(2, 3);
  ACL_OK(aclmdlRICaptureBegin(update_, kGlobal));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, aclmdlRICaptureTaskUpdateBegin(update_, group_));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, aclmdlRICaptureTaskUpdateEnd(update_));
  End(update_);
}

TEST_F(CaptureGroupTest, AGroupOfAnUnfinishedCaptureCannotBeUpdated) {
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ACL_OK(aclmdlRICaptureTaskGrpBegin(stream_));
  ACL_OK(Note(stream_, 1));
  ACL_OK(aclmdlRICaptureTaskGrpEnd(stream_, &group_));
  ACL_FAILS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRICaptureTaskUpdateBegin(update_, group_));
  End(stream_);
}

TEST_F(CaptureGroupTest, AGroupIsDestroyedWithItsGraph) {
  aclmdlRI graph = CaptureWithGroup(2, 3);
  Hold hold;
  ACL_OK(hold.On(update_));
  Update(20, 30);
  Destroy(graph);  // the update is queued and must not touch what is gone
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureTaskUpdateBegin(update_, group_));
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(update_));
}

TEST_F(CaptureGroupTest, UpdatesRacingWithExecutionsGiveOldOrNewTasks) {
  aclmdlRI graph = CaptureWithGroup(0, 0);
  std::atomic<bool> stop{false};
  aclrtContext context = nullptr;
  ACL_OK(aclrtGetCurrentContext(&context));
  std::thread runner([&] {
    ACL_OK(aclrtSetCurrentContext(context));
    while (!stop) {
      log_.clear();
      ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
      ACL_OK(aclrtSynchronizeStream(stream_));
      EXPECT_EQ(log_.size(), 4u);
    }
  });
  for (int i = 0; i < 200; ++i) {
    ACL_OK(aclmdlRICaptureTaskUpdateBegin(update_, group_));
    ACL_OK(Note(update_, i, "OperatorA"));
    ACL_OK(Note(update_, i, "OperatorB"));
    ACL_OK(aclmdlRICaptureTaskUpdateEnd(update_));
  }
  ACL_OK(aclrtSynchronizeStream(update_));
  stop = true;
  runner.join();
  log_.clear();
  Run(graph, stream_);
  EXPECT_EQ(log_, (std::vector<int>{1, 199, 199, 9}));
}

}  // namespace

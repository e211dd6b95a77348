// SPDX-License-Identifier: Apache-2.0
// Captures across streams that events join, and events in captures.
#include "tests/acl/capture/capture_fixture.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class CaptureStreamsTest : public CaptureTest {
 protected:
  // The capture ends with this error and is gone.
  void ExpectEndFails(int code) {
    aclmdlRI graph = &graph;
    ACL_FAILS(code, aclmdlRICaptureEnd(origin_, &graph));
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(StatusOf(origin_), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    EXPECT_EQ(StatusOf(side_), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  }
  aclrtStream& origin_ = stream_;
};

// guide: a stream that waits for an event recorded in the capture "enters the capture state" and its tasks are in the
// same model.
TEST_F(CaptureStreamsTest, AStreamJoinsByWaitingAndReturnsByRecording) {
  aclmdlRI during = nullptr;
  aclmdlRI graph = Capture(origin_, [&] {
    ACL_OK(Note(origin_, 1));
    Order(origin_, side_);
    ACL_OK(Note(side_, 2));
    EXPECT_EQ(StatusOf(side_), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
    ACL_OK(aclmdlRICaptureGetInfo(side_, nullptr, &during));
    Order(side_, origin_);
    ACL_OK(Note(origin_, 3));
  });
  EXPECT_EQ(during, graph);
  EXPECT_EQ(StatusOf(side_), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_TRUE(log_.empty());
  for (int i = 0; i < 3; ++i) {
    log_.clear();
    Run(graph, origin_);
    EXPECT_EQ(log_, (std::vector<int>{1, 2, 3}));
  }
  ACL_OK(Note(side_, 9));  // the side stream is an ordinary one again
  ACL_OK(aclrtSynchronizeStream(side_));
  EXPECT_EQ(log_.back(), 9);
}

// guide: stream 3 joins through stream 2 and returns through it.
TEST_F(CaptureStreamsTest, StreamsJoinAndReturnIndirectly) {
  aclrtStream third = NewStream();
  aclmdlRI graph = Capture(origin_, [&] {
    ACL_OK(Note(origin_, 1));
    Order(origin_, side_);
    ACL_OK(Note(side_, 2));
    Order(side_, third);
    ACL_OK(Note(third, 3));
    Order(third, side_);
    ACL_OK(Note(side_, 4));
    Order(side_, origin_);
    ACL_OK(Note(origin_, 5));
  });
  Run(graph, origin_);
  EXPECT_EQ(log_, (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST_F(CaptureStreamsTest, ManyStreamsForkAndJoin) {
  constexpr int kStreams = 16;
  std::vector<aclrtStream> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(NewStream());
  std::atomic<int> before{0}, middle{0};
  int wrong = 0, finished = 0;
  aclmdlRI graph = Capture(origin_, [&] {
    ACL_OK(Task(origin_, [&] { before = 1; }));
    for (aclrtStream stream : streams) Order(origin_, stream);
    for (int i = 0; i < 10; ++i) {
      for (aclrtStream stream : streams) {
        ACL_OK(Task(stream, [&] {
          wrong += before != 1;
          ++middle;
        }));
      }
    }
    for (aclrtStream stream : streams) Order(stream, origin_);
    ACL_OK(Task(origin_, [&] {
      wrong += middle != 10 * kStreams;
      ++finished;
      before = middle = 0;
    }));
  });
  for (int i = 0; i < 20; ++i) Run(graph, origin_);
  EXPECT_EQ(finished, 20);
  EXPECT_EQ(wrong, 0);
}

// --- 107025 (errors: the three reasons) -------------------------------------------------------------------------

TEST_F(CaptureStreamsTest, AJoinedStreamThatRecordsNothingIsUnjoined) {
  ACL_OK(aclmdlRICaptureBegin(origin_, kGlobal));
  Order(origin_, side_);
  ACL_OK(Note(side_, 1));
  ExpectEndFails(ACL_ERROR_RT_STREAM_UNJOINED);
  EXPECT_NE(RecentMessage().find("did not come back"), std::string::npos);
  ACL_OK(aclrtSynchronizeStream(side_));
  EXPECT_TRUE(log_.empty());
}

TEST_F(CaptureStreamsTest, ARecordWithoutAWaitIsUnjoined) {
  ACL_OK(aclmdlRICaptureBegin(origin_, kGlobal));
  Order(origin_, side_);
  ACL_OK(aclrtRecordEvent(Event(), side_));
  ExpectEndFails(ACL_ERROR_RT_STREAM_UNJOINED);
}

// guide: after the return "no task may be launched on the sub stream before the capture ends".
TEST_F(CaptureStreamsTest, ATaskAfterTheReturnIsUnjoined) {
  ACL_OK(aclmdlRICaptureBegin(origin_, kGlobal));
  Order(origin_, side_);
  Order(side_, origin_);
  ACL_OK(Note(side_, 1));
  ExpectEndFails(ACL_ERROR_RT_STREAM_UNJOINED);
}

TEST_F(CaptureStreamsTest, TwoStreamsThatOnlyReturnToEachOtherAreUnjoined) {
  aclrtStream third = NewStream();
  ACL_OK(aclmdlRICaptureBegin(origin_, kGlobal));
  Order(origin_, side_);
  Order(origin_, third);
  Order(side_, third);
  ExpectEndFails(ACL_ERROR_RT_STREAM_UNJOINED);
}

// --- Other ends -------------------------------------------------------------------------------------------------

// errors, 107036: the capture was not begun on this stream. It continues.
TEST_F(CaptureStreamsTest, EndOnAJoinedStreamIsUnmatched) {
  ACL_OK(aclmdlRICaptureBegin(origin_, kGlobal));
  Order(origin_, side_);
  aclmdlRI graph = nullptr;
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, aclmdlRICaptureEnd(side_, &graph));
  EXPECT_EQ(StatusOf(origin_), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  Order(side_, origin_);
  End(origin_);
}

// errors, 107024: a wait without a record.
TEST_F(CaptureStreamsTest, AWaitWithoutARecordFailsTheEnd) {
  ACL_OK(aclmdlRICaptureBegin(origin_, kGlobal));
  ACL_OK(aclrtStreamWaitEvent(origin_, Event()));
  ExpectEndFails(ACL_ERROR_RT_CAPTURE_DEPENDENCY);
}

TEST_F(CaptureStreamsTest, AWaitForARecordOutsideTheCaptureIsRefused) {
  aclrtEvent event = Event();
  ACL_OK(aclrtRecordEvent(event, side_));
  ACL_OK(aclmdlRICaptureBegin(origin_, kGlobal));
  ACL_FAILS(ACL_ERROR_RT_CAPTURE_DEPENDENCY, aclrtStreamWaitEvent(origin_, event));
  EXPECT_NE(RecentMessage().find("ACL_EVENT_WAIT_EXTERNAL"), std::string::npos);
  End(origin_);
}

// errors, 107032: event and stream are of different models. Both captures are void (507903 at their ends).
TEST_F(CaptureStreamsTest, AnEventOfAnotherCaptureIsAConflictAndVoidsBoth) {
  aclrtEvent event = Event();
  ACL_OK(aclmdlRICaptureBegin(origin_, kGlobal));
  ACL_OK(aclmdlRICaptureBegin(side_, kGlobal));
  ACL_OK(aclrtRecordEvent(event, origin_));
  ACL_FAILS(ACL_ERROR_STREAM_CAPTURE_CONFLICT, aclrtStreamWaitEvent(side_, event));
  EXPECT_EQ(StatusOf(origin_), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(StatusOf(side_), ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, Note(origin_, 1));
  aclmdlRI graph = nullptr;
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, aclmdlRICaptureEnd(side_, &graph));
  ExpectEndFails(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  ACL_OK(aclrtSynchronizeEvent(event));  // the event is out of the capture too
}

// errors, 107031.
TEST_F(CaptureStreamsTest, TheDefaultStreamCannotJoin) {
  aclrtEvent event = Event();
  ACL_OK(aclmdlRICaptureBegin(origin_, kGlobal));
  ACL_OK(aclrtRecordEvent(event, origin_));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, aclrtStreamWaitEvent(nullptr, event));
  EXPECT_EQ(StatusOf(origin_), ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  End(origin_);
}

// guide: events for captures are made by aclrtCreateEventExWithFlag with ACL_EVENT_SYNC.
TEST_F(CaptureStreamsTest, EventsOfOtherMakingsAreRefused) {
  aclrtEvent plain = NewEvent();
  aclrtEvent flagged = NewEventWithFlag(ACL_EVENT_SYNC);
  ACL_OK(aclmdlRICaptureBegin(origin_, kGlobal));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtRecordEvent(plain, origin_));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtRecordEvent(flagged, origin_));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtStreamWaitEvent(origin_, flagged));
  EXPECT_NE(RecentMessage().find("aclrtCreateEventExWithFlag"), std::string::npos);
  End(origin_);
}

// torch_npu's default events have flags 0x0E.
TEST_F(CaptureStreamsTest, TorchEventsOrderStreams) {
  aclrtEvent fork = NewEventEx(0x0E);
  aclrtEvent join = NewEventEx(0x0E);
  aclmdlRI graph = Capture(origin_, [&] {
    ACL_OK(Note(origin_, 1));
    ACL_OK(aclrtRecordEvent(fork, origin_));
    ACL_OK(aclrtStreamWaitEvent(side_, fork));
    ACL_OK(Note(side_, 2));
    ACL_OK(aclrtRecordEvent(join, side_));
    ACL_OK(aclrtStreamWaitEvent(origin_, join));
  });
  Run(graph, side_);
  EXPECT_EQ(log_, (std::vector<int>{1, 2}));
}

TEST_F(CaptureStreamsTest, AnEventRecordedAgainMeansItsLatestRecord) {
  aclrtEvent event = Event();
  aclmdlRI graph = Capture(origin_, [&] {
    ACL_OK(aclrtRecordEvent(event, origin_));
    ACL_OK(aclrtStreamWaitEvent(side_, event));
    ACL_OK(Note(origin_, 1));
    ACL_OK(aclrtRecordEvent(event, origin_));
    ACL_OK(aclrtStreamWaitEvent(side_, event));
    ACL_OK(Note(side_, 2));
    Order(side_, origin_);
  });
  for (int i = 0; i < 5; ++i) {
    log_.clear();
    Run(graph, origin_);
    EXPECT_EQ(log_, (std::vector<int>{1, 2}));
  }
}

// A wait captured before the record it is for: the record comes first at replay all the same.
TEST_F(CaptureStreamsTest, AWaitCapturedBeforeItsRecordIsOrderedAfterIt) {
  aclrtEvent event = Event();
  aclmdlRI graph = Capture(origin_, [&] {
    Order(origin_, side_);
    ACL_OK(aclrtStreamWaitEvent(side_, event));
    ACL_OK(Note(side_, 2));
    ACL_OK(Note(origin_, 1));
    ACL_OK(aclrtRecordEvent(event, origin_));
    Order(side_, origin_);
  });
  Run(graph, origin_);
  EXPECT_EQ(log_, (std::vector<int>{1, 2}));
}

TEST_F(CaptureStreamsTest, DestroyingAnEventDuringTheCaptureIsHarmless) {
  aclmdlRI graph = Capture(origin_, [&] {
    ACL_OK(Note(origin_, 1));
    for (int i = 0; i < 200; ++i) {  // more than the handle table's reuse delay
      aclrtEvent event = nullptr;
      ACL_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
      ACL_OK(aclrtRecordEvent(event, origin_));
      ACL_OK(aclrtStreamWaitEvent(side_, event));
      ACL_OK(aclrtDestroyEvent(event));
    }
    ACL_OK(Note(side_, 2));
    Order(side_, origin_);
  });
  Run(graph, origin_);
  EXPECT_EQ(log_, (std::vector<int>{1, 2}));
}

// --- Nodes that block -------------------------------------------------------------------------------------------

// One lane waits for a value that the other lane writes, though it was captured first: lanes are concurrent.
TEST_F(CaptureStreamsTest, ALaneThatBlocksDoesNotBlockTheOthers) {
  PinnedBuffer word(64);
  aclmdlRI graph = Capture(origin_, [&] {
    Order(origin_, side_);
    ACL_OK(aclrtValueWait(word.get(), 1, ACL_STREAM_WAIT_VALUE_EQ, side_));
    ACL_OK(Note(side_, 2));
    ACL_OK(Note(origin_, 1));
    ACL_OK(aclrtValueWrite(word.get(), 1, 0, origin_));
    Order(side_, origin_);
    ACL_OK(aclrtValueWrite(word.get(), 0, 0, origin_));
    ACL_OK(Note(origin_, 3));
  });
  for (int i = 0; i < 10; ++i) {
    *word.words() = 0;
    log_.clear();
    Run(graph, origin_);
    EXPECT_EQ(log_, (std::vector<int>{1, 2, 3}));
  }
}

TEST_F(CaptureStreamsTest, HostFunctionsInTwoLanesMayWaitForEachOther) {
  struct Pair {
    std::atomic<int> arrived{0};
    std::atomic<int> met{0};
  } pair;
  const auto meet = [](void* argument) {
    auto* pair = static_cast<Pair*>(argument);
    const int target = (pair->arrived.fetch_add(1) / 2 + 1) * 2;
    if (Eventually([&] { return pair->arrived.load() >= target; })) pair->met.fetch_add(1);
  };
  aclmdlRI graph = Capture(origin_, [&] {
    Order(origin_, side_);
    ACL_OK(aclrtLaunchHostFunc(origin_, meet, &pair));
    ACL_OK(aclrtLaunchHostFunc(side_, meet, &pair));
    Order(side_, origin_);
  });
  for (int i = 0; i < 5; ++i) Run(graph, origin_);
  EXPECT_EQ(pair.met.load(), 10);
}

TEST_F(CaptureStreamsTest, NotifiesOrderLanesAtReplay) {
  aclrtNotify notify = nullptr;
  ACL_OK(aclrtCreateNotify(&notify, 0));
  aclmdlRI graph = Capture(origin_, [&] {
    Order(origin_, side_);
    ACL_OK(aclrtWaitAndResetNotify(notify, side_, 0));
    ACL_OK(Note(side_, 2));
    ACL_OK(Note(origin_, 1));
    ACL_OK(aclrtRecordNotify(notify, origin_));
    Order(side_, origin_);
  });
  for (int i = 0; i < 5; ++i) {
    log_.clear();
    Run(graph, origin_);
    EXPECT_EQ(log_, (std::vector<int>{1, 2}));
  }
  ACL_OK(aclrtDestroyNotify(notify));
}

}  // namespace

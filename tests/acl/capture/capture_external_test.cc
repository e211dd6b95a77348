// SPDX-License-Identifier: Apache-2.0
// Events between a graph and the outside (CANN's chapter on event management: ACL_EVENT_RECORD_EXTERNAL,
// ACL_EVENT_WAIT_EXTERNAL), and events made with ACL_EVENT_EXTERNAL.
#include "tests/acl/capture/capture_fixture.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class CaptureExternalTest : public CaptureTest {
 protected:
  // A note, then a record that is visible outside, then what `more` launches.
  template <class More>
  aclmdlRI CaptureRecord(aclrtEvent event, const More& more) {
    return Capture(stream_, [&] {
      ACL_OK(Note(stream_, 1));
      ACL_OK(aclrtRecordEventWithFlag(event, stream_, ACL_EVENT_RECORD_EXTERNAL));
      more();
    });
  }
  aclrtStream& outside_ = side_;
};

// "the recorded event is visible outside; for synchronising a graph with outer streams, and graphs with graphs".
TEST_F(CaptureExternalTest, AnOuterStreamWaitsForAPointInsideTheGraph) {
  aclrtEvent event = Event();
  Hold hold;
  aclmdlRI graph = CaptureRecord(event, [&] { ACL_OK(hold.On(stream_)); });
  ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  ACL_OK(aclrtStreamWaitEvent(outside_, event));
  ACL_OK(Note(outside_, 2));
  ACL_OK(aclrtSynchronizeStream(outside_));  // while the graph is still held after the record
  EXPECT_EQ(log_, (std::vector<int>{1, 2}));
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream_));
}

TEST_F(CaptureExternalTest, EachExecutionRecordsAgain) {
  aclrtEvent event = Event();
  Hold hold;
  aclmdlRI graph = CaptureRecord(event, [] {});
  Run(graph, stream_);
  ACL_OK(hold.On(stream_));
  ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  aclrtEventRecordedStatus status{};
  ACL_OK(aclrtQueryEventStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);  // the second execution's record, which has not run
  hold.Release();
  ACL_OK(aclrtSynchronizeEvent(event));
  EXPECT_EQ(log_, (std::vector<int>{1, 1}));
  ACL_OK(aclrtSynchronizeStream(stream_));
}

// "this waits for an event outside the graph".
TEST_F(CaptureExternalTest, TheGraphWaitsForTheRecordThatIsLatestWhenItIsLaunched) {
  aclrtEvent event = Event();
  aclmdlRI graph = Capture(stream_, [&] {
    ACL_OK(aclrtStreamWaitEventWithFlag(stream_, event, 0, ACL_EVENT_WAIT_EXTERNAL));
    ACL_OK(Note(stream_, 2));
  });
  Run(graph, stream_);  // nothing recorded: nothing to wait for
  log_.clear();
  Hold hold;
  ACL_OK(hold.On(outside_));
  ACL_OK(Note(outside_, 1));
  ACL_OK(aclrtRecordEvent(event, outside_));
  ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(log_, (std::vector<int>{1, 2}));
}

// The graph's lanes must not wait for each other's outside: lane one signals out, the outside answers lane two.
TEST_F(CaptureExternalTest, AWaitInOneLaneDoesNotHoldTheRecordInAnother) {
  aclrtStream side = NewStream();
  aclrtEvent out = Event();
  aclrtEvent in = Event();
  aclmdlRI graph = Capture(stream_, [&] {
    Order(stream_, side);
    ACL_OK(aclrtStreamWaitEventWithFlag(side, in, 0, ACL_EVENT_WAIT_EXTERNAL));
    ACL_OK(Note(side, 3));
    ACL_OK(Note(stream_, 1));
    ACL_OK(aclrtRecordEventWithFlag(out, stream_, ACL_EVENT_RECORD_EXTERNAL));
    Order(side, stream_);
  });
  for (int i = 0; i < 3; ++i) {
    log_.clear();
    Hold hold;
    ACL_OK(hold.On(outside_));
    // Two runs of the dance: the outside waits for this run's record, so that must be known before.
    ACL_OK(aclrtRecordEvent(in, outside_));
    ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
    aclrtStream answer = NewStream();
    ACL_OK(aclrtStreamWaitEvent(answer, out));
    ACL_OK(Note(answer, 2));
    ACL_OK(aclrtSynchronizeStream(answer));
    hold.Release();
    ACL_OK(aclrtSynchronizeStream(stream_));
    EXPECT_EQ(log_, (std::vector<int>{1, 2, 3}));
  }
}

TEST_F(CaptureExternalTest, OneGraphWaitsForAnother) {
  aclrtEvent event = Event();
  aclmdlRI first = Capture(stream_, [&] {
    ACL_OK(Note(stream_, 1));
    ACL_OK(aclrtRecordEventWithFlag(event, stream_, ACL_EVENT_RECORD_EXTERNAL));
  });
  aclmdlRI second = Capture(outside_, [&] {
    ACL_OK(aclrtStreamWaitEventWithFlag(outside_, event, 0, ACL_EVENT_WAIT_EXTERNAL));
    ACL_OK(Note(outside_, 2));
  });
  for (int i = 0; i < 20; ++i) {
    log_.clear();
    ACL_OK(aclmdlRIExecuteAsync(first, stream_));
    ACL_OK(aclmdlRIExecuteAsync(second, outside_));
    ACL_OK(aclrtSynchronizeStream(outside_));
    ACL_REQUIRE_OK(aclrtSynchronizeStream(stream_));
    ASSERT_EQ(log_, (std::vector<int>{1, 2}));
  }
}

TEST_F(CaptureExternalTest, AFailedOrDroppedExecutionReleasesWhoWaitsForItsRecord) {
  aclrtEvent event = Event();
  aclmdlRI graph = Capture(stream_, [&] {
    ACL_OK(Task(stream_, [] { throw std::runtime_error("as the test wants"); }));
    ACL_OK(aclrtRecordEventWithFlag(event, stream_, ACL_EVENT_RECORD_EXTERNAL));
  });
  ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  ACL_OK(aclrtStreamWaitEvent(outside_, event));
  ACL_OK(aclrtSynchronizeStream(outside_));
  ACL_FAILS(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(stream_));
  Hold hold;
  ACL_OK(hold.On(stream_));
  ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  ACL_OK(aclrtStreamWaitEvent(outside_, event));
  ACL_OK(aclrtStreamAbort(stream_));
  ACL_OK(aclrtSynchronizeStream(outside_));
  ACL_FAILS(ACL_ERROR_RT_STREAM_ABORT, aclrtSynchronizeStream(stream_));
}

// --- Rules (CANN's chapter on event management)
// ---------------------------------------------------------------------------------------------

// "only in graph capture ... otherwise an error".
TEST_F(CaptureExternalTest, ExternalNeedsACapture) {
  aclrtEvent event = Event();
  ACL_FAILS(ACL_ERROR_RT_STREAM_NOT_CAPTURED, aclrtRecordEventWithFlag(event, stream_, ACL_EVENT_RECORD_EXTERNAL));
  ACL_FAILS(ACL_ERROR_RT_STREAM_NOT_CAPTURED, aclrtStreamWaitEventWithFlag(stream_, event, 0, ACL_EVENT_WAIT_EXTERNAL));
}

// "for one graph, one event can have one external record or one external wait".
TEST_F(CaptureExternalTest, AnEventIsExternalOncePerGraph) {
  aclrtEvent event = Event();
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ACL_OK(aclrtRecordEventWithFlag(event, stream_, ACL_EVENT_RECORD_EXTERNAL));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtRecordEventWithFlag(event, stream_, ACL_EVENT_RECORD_EXTERNAL));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtStreamWaitEventWithFlag(stream_, event, 0, ACL_EVENT_WAIT_EXTERNAL));
  End(stream_);
}

// "the record operations of one event cannot switch between DEFAULT and EXTERNAL"; the same for waits.
TEST_F(CaptureExternalTest, AnEventDoesNotSwitchBetweenOrdinaryAndExternal) {
  aclrtEvent ordinary = Event();
  aclrtEvent external = Event();
  ACL_OK(aclrtRecordEvent(ordinary, outside_));
  ACL_OK(aclrtStreamWaitEvent(outside_, ordinary));
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtRecordEventWithFlag(ordinary, stream_, ACL_EVENT_RECORD_EXTERNAL));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtStreamWaitEventWithFlag(stream_, ordinary, 0, ACL_EVENT_WAIT_EXTERNAL));
  ACL_OK(aclrtRecordEventWithFlag(external, stream_, ACL_EVENT_RECORD_EXTERNAL));
  End(stream_);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtRecordEvent(external, outside_));
  ACL_OK(aclrtStreamWaitEvent(outside_, external));
}

// "only events made by aclrtCreateEventExWithFlag with ACL_EVENT_SYNC".
TEST_F(CaptureExternalTest, ExternalNeedsAnEventOfTheRightMaking) {
  aclrtEvent timed = NewEventEx(ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
  aclrtEvent flagged = NewEventWithFlag(ACL_EVENT_SYNC);
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  for (aclrtEvent event : {timed, flagged}) {
    ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtRecordEventWithFlag(event, stream_, ACL_EVENT_RECORD_EXTERNAL));
    ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              aclrtStreamWaitEventWithFlag(stream_, event, 0, ACL_EVENT_WAIT_EXTERNAL));
  }
  End(stream_);
}

// An event that only keeps time can be recorded in a capture: it is stamped at replay.
TEST_F(CaptureExternalTest, ATimelineEventIsStampedAtReplay) {
  aclrtEvent start = NewEventEx(ACL_EVENT_TIME_LINE);
  aclrtEvent end = NewEventEx(ACL_EVENT_TIME_LINE);
  aclmdlRI graph = Capture(stream_, [&] {
    ACL_OK(aclrtRecordEvent(start, stream_));
    ACL_OK(Task(stream_, [] { std::this_thread::sleep_for(milliseconds(5)); }));
    ACL_OK(aclrtRecordEvent(end, stream_));
  });
  float elapsed = 0;
  ACL_FAILS(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, aclrtEventElapsedTime(&elapsed, start, end));
  Run(graph, stream_);
  ACL_OK(aclrtEventElapsedTime(&elapsed, start, end));
  EXPECT_GE(elapsed, 5.0F);
}

TEST_F(CaptureExternalTest, AnExternalWaitDoesNotDrawItsStreamIn) {
  aclrtEvent event = Event();
  ACL_OK(aclmdlRICaptureBegin(stream_, kGlobal));
  ACL_OK(aclrtRecordEventWithFlag(event, stream_, ACL_EVENT_RECORD_EXTERNAL));
  ACL_OK(aclrtStreamWaitEvent(outside_, event));  // an ordinary wait for an event not recorded yet
  EXPECT_EQ(StatusOf(outside_), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  ACL_OK(aclrtSynchronizeStream(outside_));
  End(stream_);
}

// --- Events made with ACL_EVENT_EXTERNAL (torch_npu's ExternalEvent): levels that the graph waits for and resets -----

TEST_F(CaptureExternalTest, AnExternalEventIsWaitedForAndResetAtReplay) {
  aclrtEvent gate = NewEventWithFlag(ACL_EVENT_EXTERNAL);
  aclmdlRI graph = Capture(stream_, [&] {
    ACL_OK(aclrtStreamWaitEvent(stream_, gate));
    ACL_OK(aclrtResetEvent(gate, stream_));
    ACL_OK(Note(stream_, 2));
  });
  for (int i = 0; i < 5; ++i) {
    log_.clear();
    ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
    ACL_OK(Note(outside_, 1));
    ACL_OK(aclrtRecordEvent(gate, outside_));
    ACL_OK(aclrtSynchronizeStream(stream_));
    ACL_OK(aclrtSynchronizeStream(outside_));
    EXPECT_EQ(log_, (std::vector<int>{1, 2}));
  }
}

}  // namespace

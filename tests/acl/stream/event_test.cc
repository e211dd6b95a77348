// SPDX-License-Identifier: Apache-2.0
// Events of the three makings: record, wait, reset, query, time.
#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class EventTest : public AclTest {
 protected:
  bool Complete(aclrtEvent event) {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    EXPECT_EQ(aclrtQueryEventStatus(event, &status), ACL_SUCCESS) << RecentMessage();
    return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
  }
  // A task that appends to the common log, in the order the streams run.
  int Note(aclrtStream stream, const std::string& what) {
    return Launch(stream, [this, what] {
      std::lock_guard lock(mutex_);
      log_.push_back(what);
    });
  }
  std::vector<std::string> log() {
    std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> log_;
};

// Page "aclrtStreamWaitEvent": later tasks of the waiting stream start only after what the event recorded.
TEST_F(EventTest, WaitOrdersTwoStreamsForEveryKindOfEvent) {
  for (aclrtEvent event : {NewEvent(), NewEventWithFlag(ACL_EVENT_SYNC), NewEventEx(ACL_EVENT_SYNC)}) {
    aclrtStream one = NewStream();
    aclrtStream two = NewStream();
    Hold hold;
    std::atomic<bool> before{false};
    std::atomic<bool> seen{false};
    ACL_OK(hold.On(one));
    ACL_OK(Launch(one, [&] { before = true; }));
    ACL_OK(aclrtRecordEvent(event, one));
    ACL_OK(aclrtStreamWaitEvent(two, event));
    ACL_OK(Launch(two, [&] { seen = before.load(); }));
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    ACL_OK(aclrtStreamQuery(two, &status));
    EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
    hold.Release();
    ACL_OK(aclrtSynchronizeStream(two));
    EXPECT_TRUE(seen.load());
  }
}

// Page "aclrtStreamWaitEvent": several streams may wait for one event.
TEST_F(EventTest, ManyStreamsWaitForOneRecord) {
  aclrtEvent event = NewEventEx(ACL_EVENT_SYNC);
  aclrtStream source = NewStream();
  Hold hold;
  ACL_OK(hold.On(source));
  ACL_OK(aclrtRecordEvent(event, source));
  std::atomic<int> ran{0};
  std::vector<aclrtStream> waiters;
  for (int i = 0; i < 100; ++i) {
    waiters.push_back(NewStream());
    ACL_OK(aclrtStreamWaitEvent(waiters.back(), event));
    ACL_OK(Launch(waiters.back(), [&] { ran.fetch_add(1); }));
  }
  EXPECT_EQ(ran.load(), 0);
  hold.Release();
  for (aclrtStream stream : waiters) ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(ran.load(), 100);
}

// Page "aclrtRecordEvent": an Ex event may be recorded again; a wait keeps the record that was latest when it was
// made and later records do not touch it.
TEST_F(EventTest, ExWaitKeepsTheRecordItSaw) {
  aclrtEvent event = NewEventEx(ACL_EVENT_SYNC);
  aclrtStream one = NewStream();
  aclrtStream two = NewStream();
  aclrtStream waiter = NewStream();
  Hold first;
  Hold second;
  ACL_OK(first.On(one));
  ACL_OK(Note(one, "first"));
  ACL_OK(aclrtRecordEvent(event, one));
  ACL_OK(aclrtStreamWaitEvent(waiter, event));
  ACL_OK(Note(waiter, "after first"));
  ACL_OK(second.On(two));
  ACL_OK(aclrtRecordEvent(event, two));  // overwrites: what follows waits for this one
  ACL_OK(aclrtStreamWaitEvent(waiter, event));
  ACL_OK(Note(waiter, "after second"));
  first.Release();
  EXPECT_TRUE(Eventually([&] { return log().size() == 2; }));
  EXPECT_FALSE(Complete(event));  // the latest record counts
  EXPECT_EQ(log(), (std::vector<std::string>{"first", "after first"}));
  second.Release();
  ACL_OK(aclrtSynchronizeStream(waiter));
  EXPECT_TRUE(Complete(event));
  EXPECT_EQ(log(), (std::vector<std::string>{"first", "after first", "after second"}));
}

// docs/compat.md, "What clients rely on": "an un-recorded event queries COMPLETE and waits are no-ops" (Ex).
TEST_F(EventTest, AnUnrecordedExEventIsCompleteAndBlocksNoWait) {
  aclrtEvent event = NewEventEx(ACL_EVENT_SYNC);
  EXPECT_TRUE(Complete(event));
  aclrtStream stream = NewStream();
  ACL_OK(aclrtStreamWaitEvent(stream, event));
  ACL_OK(Note(stream, "went on"));
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(log().size(), 1u);
  ACL_OK(aclrtSynchronizeEvent(event));
  // The older makings have not happened before their first record.
  EXPECT_FALSE(Complete(NewEvent()));
  EXPECT_FALSE(Complete(NewEventWithFlag(ACL_EVENT_SYNC)));
}

// Page "aclrtResetEvent": a flagged SYNC event is a level: a record raises it, a reset lowers it again.
TEST_F(EventTest, FlaggedEventIsALevelThatResetLowers) {
  aclrtEvent event = NewEventWithFlag(ACL_EVENT_SYNC);
  aclrtStream source = NewStream();
  aclrtStream waiter = NewStream();
  // A wait issued before any record waits for it.
  ACL_OK(aclrtStreamWaitEvent(waiter, event));
  ACL_OK(Note(waiter, "first"));
  EXPECT_TRUE(log().empty());
  ACL_OK(aclrtRecordEvent(event, source));
  ACL_OK(aclrtSynchronizeStream(waiter));
  EXPECT_EQ(log().size(), 1u);
  // Still up: another wait passes.
  ACL_OK(aclrtStreamWaitEvent(waiter, event));
  ACL_OK(Note(waiter, "second"));
  // Lowered after it: the third wait needs a new record.
  ACL_OK(aclrtResetEvent(event, waiter));
  ACL_OK(aclrtStreamWaitEvent(waiter, event));
  ACL_OK(Note(waiter, "third"));
  EXPECT_TRUE(Eventually([&] { return log().size() == 2; }));
  ACL_FAILS(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(waiter, 30));
  EXPECT_EQ(log().size(), 2u);
  ACL_OK(aclrtRecordEvent(event, source));
  ACL_OK(aclrtSynchronizeStream(waiter));
  EXPECT_EQ(log().size(), 3u);
}

// CANN's chapter on event management: reset, the old query and the wait query are refused for Ex events; reset also
// without SYNC.
TEST_F(EventTest, CallsThatAMakingDoesNotHaveAreRefused) {
  aclrtStream stream = NewStream();
  aclrtEvent ex = NewEventEx(ACL_EVENT_SYNC);
  aclrtEventStatus status = ACL_EVENT_STATUS_NOT_READY;
  aclrtEventWaitStatus waiting = ACL_EVENT_WAIT_STATUS_RESERVED;
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtResetEvent(ex, stream));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtQueryEvent(ex, &status));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtQueryEventWaitStatus(ex, &waiting));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtResetEvent(NewEvent(), stream));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtResetEvent(NewEventWithFlag(ACL_EVENT_TIME_LINE), stream));
}

// CANN's chapter on event management, both flagged creations: without SYNC no stream can wait for the event.
TEST_F(EventTest, WaitWithoutSyncIsRefused) {
  aclrtStream stream = NewStream();
  for (aclrtEvent event : {NewEventWithFlag(ACL_EVENT_TIME_LINE), NewEventEx(ACL_EVENT_TIME_LINE),
                           NewEventEx(ACL_EVENT_CAPTURE_STREAM_PROGRESS)}) {
    ACL_OK(aclrtRecordEvent(event, stream));
    ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtStreamWaitEvent(stream, event));
    EXPECT_NE(RecentMessage().find("ACL_EVENT_SYNC"), std::string::npos);
  }
}

// docs/compat.md, "What clients rely on": torch_npu's default flag is 0x0E, whose bit 0x4 no document names; its events
// order streams and keep time.
TEST_F(EventTest, TorchDefaultFlagIsAccepted) {
  aclrtEvent event = NewEventEx(0x0E);
  aclrtStream one = NewStream();
  aclrtStream two = NewStream();
  Hold hold;
  ACL_OK(hold.On(one));
  ACL_OK(aclrtRecordEvent(event, one));
  ACL_OK(aclrtStreamWaitEvent(two, event));
  ACL_OK(Note(two, "after"));
  EXPECT_TRUE(log().empty());
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(two));
  EXPECT_EQ(log().size(), 1u);
  uint64_t microseconds = 0;
  ACL_OK(aclrtEventGetTimestamp(event, &microseconds));
}

// CANN's chapter on event management: EXTERNAL and IPC (and DEVICE_USE_ONLY) are not joined with other flags.
TEST_F(EventTest, ExclusiveFlagsCannotBeCombined) {
  aclrtEvent event = reinterpret_cast<aclrtEvent>(1);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtCreateEventExWithFlag(&event, ACL_EVENT_EXTERNAL | ACL_EVENT_IPC));
  EXPECT_EQ(event, nullptr);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtCreateEventWithFlag(&event, ACL_EVENT_EXTERNAL | ACL_EVENT_SYNC));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC | ACL_EVENT_SYNC));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtCreateEventWithFlag(&event, ACL_EVENT_IPC));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtCreateEventWithFlag(&event, 0));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtCreateEventExWithFlag(&event, 0x1000));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateEventExWithFlag(nullptr, ACL_EVENT_SYNC));
  NewEventWithFlag(ACL_EVENT_EXTERNAL);
  NewEventEx(ACL_EVENT_IPC);
}

// CANN's chapter on event management, the IPC flag: these calls answer an error for such an event.
TEST_F(EventTest, IpcEventRefusesWhatItsPageLists) {
  aclrtEvent event = NewEventEx(ACL_EVENT_IPC);
  aclrtEvent timed = NewEvent();
  aclrtStream stream = NewStream();
  ACL_OK(aclrtRecordEvent(timed, stream));
  ACL_OK(aclrtSynchronizeStream(stream));
  float ms = 0;
  uint64_t microseconds = 0;
  uint32_t id = 0;
  aclrtEventStatus status = ACL_EVENT_STATUS_NOT_READY;
  aclrtEventWaitStatus waiting = ACL_EVENT_WAIT_STATUS_RESERVED;
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtResetEvent(event, stream));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtQueryEvent(event, &status));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtQueryEventWaitStatus(event, &waiting));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtEventElapsedTime(&ms, timed, event));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtEventElapsedTime(&ms, event, timed));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtEventGetTimestamp(event, &microseconds));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtGetEventId(event, &id));
}

// docs/compat.md, "What clients rely on": the two status enums mean opposite things by 0 and 1.
TEST_F(EventTest, TheTwoQueriesUseInvertedEnums) {
  EXPECT_EQ(ACL_EVENT_STATUS_COMPLETE, 0);
  EXPECT_EQ(ACL_EVENT_RECORDED_STATUS_COMPLETE, 1);
  aclrtEvent event = NewEvent();
  aclrtStream stream = NewStream();
  Hold hold;
  ACL_OK(hold.On(stream));
  ACL_OK(aclrtRecordEvent(event, stream));
  aclrtEventStatus old_status = ACL_EVENT_STATUS_COMPLETE;
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  ACL_OK(aclrtQueryEvent(event, &old_status));
  ACL_OK(aclrtQueryEventStatus(event, &status));
  EXPECT_EQ(static_cast<int>(old_status), 1);
  EXPECT_EQ(static_cast<int>(status), 0);
  hold.Release();
  ACL_OK(aclrtSynchronizeEvent(event));
  ACL_OK(aclrtQueryEvent(event, &old_status));
  ACL_OK(aclrtQueryEventStatus(event, &status));
  EXPECT_EQ(static_cast<int>(old_status), 0);
  EXPECT_EQ(static_cast<int>(status), 1);
}

// Page "aclrtQueryEventWaitStatus": complete when every wait for the event has ended.
TEST_F(EventTest, WaitStatusCountsTheWaits) {
  aclrtEvent event = NewEventWithFlag(ACL_EVENT_SYNC);
  aclrtStream waiter = NewStream();
  aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_RESERVED;
  ACL_OK(aclrtQueryEventWaitStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_COMPLETE);
  ACL_OK(aclrtStreamWaitEvent(waiter, event));
  ACL_OK(aclrtQueryEventWaitStatus(event, &status));
  EXPECT_EQ(status, ACL_EVENT_WAIT_STATUS_NOT_READY);
  ACL_OK(aclrtRecordEvent(event, NewStream()));
  EXPECT_TRUE(Eventually([&] {
    ACL_OK(aclrtQueryEventWaitStatus(event, &status));
    return status == ACL_EVENT_WAIT_STATUS_COMPLETE;
  }));
}

// docs/compat.md, "What clients rely on": event variant of the timeout, 507047; CANN's chapter on event management: -1
// or positive.
TEST_F(EventTest, SynchronizeTimesOutWithItsOwnCode) {
  aclrtEvent event = NewEvent();
  ACL_OK(aclrtSynchronizeEvent(event));  // nothing recorded, nothing to wait for
  aclrtStream stream = NewStream();
  Hold hold;
  ACL_OK(hold.On(stream));
  ACL_OK(aclrtRecordEvent(event, stream));
  ACL_FAILS(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, aclrtSynchronizeEventWithTimeout(event, 30));
  EXPECT_EQ(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, 507047);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtSynchronizeEventWithTimeout(event, -2));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtSynchronizeEventWithTimeout(event, 0));
  hold.Release();
  ACL_OK(aclrtSynchronizeEventWithTimeout(event, -1));
  ACL_OK(aclrtSynchronizeEventWithTimeout(event, 1000));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSynchronizeEvent(nullptr));
}

// A synchronise on an event returns when its tasks are done, not when the stream is.
TEST_F(EventTest, SynchronizeEventDoesNotWaitForLaterTasks) {
  aclrtEvent event = NewEventEx(ACL_EVENT_SYNC);
  aclrtStream stream = NewStream();
  Hold hold;
  ACL_OK(Note(stream, "before"));
  ACL_OK(aclrtRecordEvent(event, stream));
  ACL_OK(hold.On(stream));
  ACL_OK(Note(stream, "after"));
  ACL_OK(aclrtSynchronizeEvent(event));
  EXPECT_EQ(log().size(), 1u);
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream));
}

// Page "aclrtSetOpWaitTimeout": seconds; later waits that take longer fail, seen at the synchronisation (107019).
TEST_F(EventTest, WaitTimeoutSurfacesAtTheSynchronisation) {
  aclrtStream source = NewStream();
  aclrtStream stream = NewStream();
  for (aclrtEvent event : {NewEventEx(ACL_EVENT_SYNC), NewEventWithFlag(ACL_EVENT_SYNC)}) {
    Hold hold;
    ACL_OK(aclrtSetOpWaitTimeout(1));
    ACL_OK(hold.On(source));
    ACL_OK(aclrtRecordEvent(event, source));
    ACL_OK(aclrtStreamWaitEvent(stream, event));
    ACL_OK(aclrtSetOpWaitTimeout(0));
    ACL_OK(Note(stream, "went on"));
    const auto start = Clock::now();
    ACL_FAILS(ACL_ERROR_RT_WAIT_TIMEOUT, aclrtSynchronizeStream(stream));
    EXPECT_EQ(ACL_ERROR_RT_WAIT_TIMEOUT, 107019);
    EXPECT_GE(Clock::now() - start, milliseconds(900));
    ACL_OK(aclrtSynchronizeStream(stream));
    hold.Release();
    ACL_OK(aclrtSynchronizeStream(source));
  }
  EXPECT_EQ(log().size(), 2u);
}

TEST_F(EventTest, WaitWithItsOwnTimeout) {
  aclrtEvent event = NewEventEx(ACL_EVENT_SYNC);
  aclrtStream source = NewStream();
  aclrtStream stream = NewStream();
  Hold hold;
  ACL_OK(hold.On(source));
  ACL_OK(aclrtRecordEvent(event, source));
  ACL_OK(aclrtStreamWaitEventWithTimeout(stream, event, 1));
  ACL_FAILS(ACL_ERROR_RT_WAIT_TIMEOUT, aclrtSynchronizeStream(stream));
  ACL_OK(aclrtStreamWaitEventWithFlag(stream, event, 1, ACL_EVENT_WAIT_DEFAULT));
  ACL_FAILS(ACL_ERROR_RT_WAIT_TIMEOUT, aclrtSynchronizeStream(stream));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtStreamWaitEventWithTimeout(stream, event, -1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtStreamWaitEventWithFlag(stream, event, 0, 2));
  // The external flags are for streams that are being captured.
  EXPECT_NE(aclrtStreamWaitEventWithFlag(stream, event, 0, ACL_EVENT_WAIT_EXTERNAL), ACL_SUCCESS);
  EXPECT_NE(aclrtRecordEventWithFlag(event, stream, ACL_EVENT_RECORD_EXTERNAL), ACL_SUCCESS);
  ACL_OK(aclrtStreamWaitEventWithTimeout(stream, event, 0));  // 0: never
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream));
  ACL_OK(aclrtRecordEventWithFlag(event, stream, ACL_EVENT_RECORD_DEFAULT));
  ACL_OK(aclrtSynchronizeEvent(event));
}

// Pages "aclrtEventElapsedTime" and "aclrtEventGetTimestamp"; docs/compat.md, "What clients rely on": 107006 without a
// finished, timed record.
TEST_F(EventTest, ElapsedTimeMeasuresTheTasksBetween) {
  aclrtStream stream = NewStream();
  aclrtEvent start = NewEvent();
  aclrtEvent end = NewEventEx(ACL_EVENT_TIME_LINE);
  float ms = -1;
  ACL_FAILS(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, aclrtEventElapsedTime(&ms, start, end));  // never recorded
  EXPECT_EQ(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, 107006);
  Hold hold;
  ACL_OK(aclrtRecordEvent(start, stream));
  ACL_OK(hold.On(stream));
  ACL_OK(Launch(stream, [] { std::this_thread::sleep_for(milliseconds(20)); }));
  ACL_OK(aclrtRecordEvent(end, stream));
  ACL_FAILS(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, aclrtEventElapsedTime(&ms, start, end));  // not there yet
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream));
  ACL_OK(aclrtEventElapsedTime(&ms, start, end));
  EXPECT_GE(ms, 19.0f);
  EXPECT_LT(ms, 60000.0f);
  ACL_FAILS(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, aclrtEventElapsedTime(&ms, end, start));
  EXPECT_EQ(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, 107007);
  uint64_t first = 0;
  uint64_t second = 0;
  ACL_OK(aclrtEventGetTimestamp(start, &first));
  ACL_OK(aclrtEventGetTimestamp(end, &second));
  EXPECT_GE(second - first, 19000u);  // microseconds
  EXPECT_NEAR(static_cast<double>(second - first) / 1000.0, static_cast<double>(ms), 1.0);
  // Without TIME_LINE no time is kept.
  aclrtEvent untimed = NewEventEx(ACL_EVENT_SYNC);
  ACL_OK(aclrtRecordEvent(untimed, stream));
  ACL_OK(aclrtSynchronizeStream(stream));
  ACL_FAILS(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, aclrtEventElapsedTime(&ms, start, untimed));
  ACL_FAILS(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, aclrtEventGetTimestamp(untimed, &first));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtEventElapsedTime(nullptr, start, end));
}

// Not documented, but torch_npu does it on two devices: a wait for a record whose event is gone meanwhile.
TEST_F(EventTest, AWaitMayComeAfterTheEventsEnd) {
  aclrtStream one = NewStream(), two = NewStream();
  aclrtEvent complete = nullptr, pending = nullptr, fresh = nullptr;
  for (aclrtEvent* event : {&complete, &pending, &fresh}) ACL_OK(aclrtCreateEventExWithFlag(event, ACL_EVENT_SYNC));
  ACL_OK(aclrtRecordEvent(complete, one));
  ACL_OK(aclrtSynchronizeStream(one));
  Hold hold;
  ACL_OK(hold.On(one));
  ACL_OK(aclrtRecordEvent(pending, one));
  for (aclrtEvent event : {complete, pending, fresh}) ACL_OK(aclrtDestroyEvent(event));
  ACL_OK(aclrtStreamWaitEvent(two, complete));
  ACL_OK(aclrtSynchronizeStream(two));
  ACL_OK(aclrtStreamWaitEvent(two, pending));
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  ACL_OK(aclrtStreamQuery(two, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtStreamWaitEvent(two, fresh));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtRecordEvent(complete, two));
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(two));
  ACL_OK(aclrtSynchronizeStream(one));
}

// Page "aclrtDestroyEvent": before completion too, without waiting; waiters continue.
TEST_F(EventTest, DestroyBeforeCompletionNeitherBlocksNorLosesTheWait) {
  aclrtStream one = NewStream();
  aclrtStream two = NewStream();
  Hold hold;
  ACL_OK(hold.On(one));
  ACL_OK(Note(one, "one"));
  for (const uint32_t making : {0u, 1u, 2u}) {
    aclrtEvent event = nullptr;
    if (making == 0) ACL_OK(aclrtCreateEvent(&event));
    if (making == 1) ACL_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    if (making == 2) ACL_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    ACL_OK(aclrtRecordEvent(event, one));
    ACL_OK(aclrtStreamWaitEvent(two, event));
    ACL_OK(aclrtDestroyEvent(event));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyEvent(event));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtRecordEvent(event, one));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtSynchronizeEvent(event));
  }
  ACL_OK(Note(two, "two"));
  EXPECT_TRUE(log().empty());
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(two));
  EXPECT_EQ(log(), (std::vector<std::string>{"one", "two"}));
}

// An event whose stream is gone reads as reached.
TEST_F(EventTest, EventOutlivesItsStream) {
  aclrtEvent event = NewEventEx(ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
  aclrtStream stream = NewStream();
  Forget(stream);
  ACL_OK(aclrtRecordEvent(event, stream));
  ACL_OK(aclrtDestroyStream(stream));
  EXPECT_TRUE(Complete(event));
  ACL_OK(aclrtSynchronizeEvent(event));
  uint64_t microseconds = 0;
  ACL_OK(aclrtEventGetTimestamp(event, &microseconds));
}

// Page "aclrtCreateEventWithFlag": only these events are bounded (65536 on A2, 1023 on 310P); Ex events are not.
TEST(EventLimits, OnlyFlaggedSyncEventsAreBounded) { ExpectRole("count_events", {{"MILLPOND_SOC", "Ascend310P3"}}); }

MP_ROLE(count_events) {
  ROLE_INIT();
  uint32_t available = 0;
  ROLE_CHECK(aclrtGetEventAvailNum(&available) == ACL_SUCCESS && available == 1023);
  std::vector<aclrtEvent> events(3000);
  for (aclrtEvent& event : events) ROLE_CHECK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS);
  ROLE_CHECK(aclrtGetEventAvailNum(&available) == ACL_SUCCESS && available == 1023);
  std::vector<aclrtEvent> flagged(1023);
  for (aclrtEvent& event : flagged) ROLE_CHECK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS);
  aclrtEvent extra = nullptr;
  ROLE_CHECK(aclrtCreateEventWithFlag(&extra, ACL_EVENT_SYNC) == ACL_ERROR_RT_NO_EVENT_RESOURCE);
  ROLE_CHECK(aclrtGetEventAvailNum(&available) == ACL_SUCCESS && available == 0);
  ROLE_CHECK(aclrtCreateEventWithFlag(&extra, ACL_EVENT_TIME_LINE) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDestroyEvent(flagged[5]) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateEventWithFlag(&flagged[5], ACL_EVENT_SYNC) == ACL_SUCCESS);
  return 0;
}

TEST_F(EventTest, IdsAreUnique) {
  uint32_t one = 0;
  uint32_t two = 0;
  ACL_OK(aclrtGetEventId(NewEvent(), &one));
  ACL_OK(aclrtGetEventId(NewEvent(), &two));
  EXPECT_NE(one, two);
}

// A ring of streams passes a token around by events many times: no hop is lost, none is early.
TEST_F(EventTest, ALongRelayKeepsItsOrder) {
  constexpr int kStreams = 5;
  constexpr int kHops = MP_SANITIZED ? 2000 : 20000;
  std::vector<aclrtStream> streams;
  std::vector<aclrtEvent> events;
  for (int i = 0; i < kStreams; ++i) {
    streams.push_back(NewStream());
    events.push_back(NewEventEx(ACL_EVENT_SYNC));
  }
  int token = 0;  // unguarded on purpose: the events are its lock
  int wrong = 0;
  for (int hop = 0; hop < kHops; ++hop) {
    const int at = hop % kStreams;
    if (hop > 0) ACL_REQUIRE_OK(aclrtStreamWaitEvent(streams[at], events[(hop - 1) % kStreams]));
    ACL_REQUIRE_OK(Launch(streams[at], [&token, &wrong, hop] { wrong += token++ != hop; }));
    ACL_REQUIRE_OK(aclrtRecordEvent(events[at], streams[at]));
  }
  ACL_OK(aclrtSynchronizeDevice());
  EXPECT_EQ(token, kHops);
  EXPECT_EQ(wrong, 0);
}

}  // namespace

MP_TEST_MAIN()

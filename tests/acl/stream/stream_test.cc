// SPDX-License-Identifier: Apache-2.0
// Streams: order, overlap, limits, waiting, failing, aborting.
#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class StreamTest : public AclTest {};

void ThrowingTask(void*) { throw std::runtime_error("as the test wants"); }

// docs/compat.md, "What clients rely on": "Streams: in-order FIFO".
TEST_F(StreamTest, TasksOfOneStreamRunInLaunchOrder) {
  aclrtStream stream = NewStream();
  constexpr int kTasks = MP_SANITIZED ? 2000 : 20000;
  std::vector<int> order;
  order.reserve(kTasks);
  for (int i = 0; i < kTasks; ++i) ACL_REQUIRE_OK(Launch(stream, [&order, i] { order.push_back(i); }));
  ACL_OK(aclrtSynchronizeStream(stream));
  ASSERT_EQ(order.size(), static_cast<size_t>(kTasks));
  for (int i = 0; i < kTasks; ++i) ASSERT_EQ(order[i], i);
}

TEST_F(StreamTest, TasksOfOneStreamNeverOverlapWhenManyThreadsLaunch) {
  aclrtStream stream = NewStream();
  aclrtContext context = nullptr;
  ACL_OK(aclrtGetCurrentContext(&context));
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  int64_t sum = 0;  // unguarded on purpose: FIFO is its lock, and the sanitizer checks it
  std::vector<std::thread> launchers;
  for (int t = 0; t < 4; ++t) {
    launchers.emplace_back([&] {
      ACL_OK(aclrtSetCurrentContext(context));
      for (int i = 0; i < 1000; ++i) {
        ACL_OK(Launch(stream, [&] {
          if (inside.fetch_add(1) != 0) overlaps.fetch_add(1);
          ++sum;
          inside.fetch_sub(1);
        }));
      }
      ACL_OK(aclrtSynchronizeStream(stream));
    });
  }
  for (std::thread& launcher : launchers) launcher.join();
  EXPECT_EQ(overlaps.load(), 0);
  EXPECT_EQ(sum, 4000);
}

// docs/compat.md, "What clients rely on": "concurrent with each other". Each task ends only after it has seen the other
// run.
TEST_F(StreamTest, TasksOfTwoStreamsOverlap) {
  aclrtStream one = NewStream();
  aclrtStream two = NewStream();
  std::atomic<bool> first{false};
  std::atomic<bool> second{false};
  std::atomic<int> met{0};
  const auto meet = [&met](std::atomic<bool>& mine, std::atomic<bool>& other) {
    mine = true;
    if (Eventually([&] { return other.load(); })) met.fetch_add(1);
  };
  ACL_OK(Launch(one, [&] { meet(first, second); }));
  ACL_OK(Launch(two, [&] { meet(second, first); }));
  ACL_OK(aclrtSynchronizeStream(one));
  ACL_OK(aclrtSynchronizeStream(two));
  EXPECT_EQ(met.load(), 2);
}

// A launch returns before its task runs: the streams are asynchronous.
TEST_F(StreamTest, LaunchReturnsBeforeTheTaskHasRun) {
  aclrtStream stream = NewStream();
  Hold hold;
  std::atomic<bool> ran{false};
  ACL_OK(hold.On(stream));
  ACL_OK(Launch(stream, [&] { ran = true; }));
  EXPECT_FALSE(ran.load());
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_TRUE(ran.load());
}

// docs/compat.md, "What clients rely on": "NULL stream = current context's default stream in async APIs".
TEST_F(StreamTest, NullMeansTheDefaultStream) {
  aclrtStream standard = nullptr;
  ACL_OK(aclrtCtxGetCurrentDefaultStream(&standard));
  ASSERT_NE(standard, nullptr);
  int32_t by_null = -1;
  int32_t by_handle = -2;
  ACL_OK(aclrtStreamGetId(nullptr, &by_null));  // Page "aclrtStreamGetId": NULL asks for the default stream
  ACL_OK(aclrtStreamGetId(standard, &by_handle));
  EXPECT_EQ(by_null, by_handle);

  std::vector<int> order;
  ACL_OK(Launch(nullptr, [&] { order.push_back(1); }));
  ACL_OK(Launch(standard, [&] { order.push_back(2); }));
  ACL_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(order, (std::vector<int>{1, 2}));

  // Page "aclrtCreateStream": the default stream's priority is the highest. It cannot be destroyed by itself.
  uint32_t priority = 99;
  ACL_OK(aclrtStreamGetPriority(nullptr, &priority));
  EXPECT_EQ(priority, 0u);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDestroyStream(standard));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDestroyStream(nullptr));
}

// CANN's chapter on stream management: priorities are 0 to 7, a smaller number is more urgent. Both workers are kept
// busy, then two streams become ready; the urgent one starts first although it was launched last.
TEST(StreamPriority, UrgentStreamRunsFirst) { ExpectRole("priority", {{"MILLPOND_WORKERS", "1"}}); }

MP_ROLE(priority) {
  ROLE_INIT();
  for (int round = 0; round < 20; ++round) {
    aclrtStream busy = nullptr;
    aclrtStream patient = nullptr;
    aclrtStream urgent = nullptr;
    ROLE_CHECK(aclrtCreateStream(&busy) == ACL_SUCCESS);
    ROLE_CHECK(aclrtCreateStreamWithConfig(&patient, 7, 0) == ACL_SUCCESS);
    ROLE_CHECK(aclrtCreateStreamWithConfig(&urgent, 0, 0) == ACL_SUCCESS);
    Gate gate;
    ROLE_CHECK(gate.LaunchOn(busy) == ACL_SUCCESS);
    ROLE_CHECK(gate.WaitEntered());
    std::atomic<int> clock{0};
    std::atomic<int> patient_at{0};
    std::atomic<int> urgent_at{0};
    ROLE_CHECK(Launch(patient, [&] { patient_at = ++clock; }) == ACL_SUCCESS);
    ROLE_CHECK(Launch(urgent, [&] { urgent_at = ++clock; }) == ACL_SUCCESS);
    gate.Open();
    ROLE_CHECK(Eventually([&] { return clock.load() == 2; }));  // no synchronise: the helper would choose
    ROLE_CHECK(urgent_at.load() == 1 && patient_at.load() == 2);
    for (aclrtStream stream : {busy, patient, urgent}) ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
  }
  return 0;
}

TEST_F(StreamTest, PriorityAndFlagsAreAnswered) {
  int32_t least = -1;
  int32_t greatest = -1;
  ACL_OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 7);
  EXPECT_EQ(greatest, 0);
  aclrtStream stream = NewStream(5, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC);
  uint32_t priority = 0;
  uint32_t flags = 0;
  ACL_OK(aclrtStreamGetPriority(stream, &priority));
  ACL_OK(aclrtStreamGetFlags(stream, &flags));
  EXPECT_EQ(priority, 5u);
  EXPECT_EQ(flags, 3u);  // Page "aclrtStreamGetFlags": the bits as given, 0 without
  aclrtStream plain = NewStream();
  ACL_OK(aclrtStreamGetPriority(plain, &priority));
  ACL_OK(aclrtStreamGetFlags(plain, &flags));
  EXPECT_EQ(priority, 0u);  // Page "aclrtCreateStream": the highest when not said
  EXPECT_EQ(flags, 0u);
  // Page "aclrtCreateStreamWithConfig": any other flag makes what aclrtCreateStream makes.
  aclrtStream odd = NewStream(0, 0x8000);
  ACL_OK(aclrtStreamGetFlags(odd, &flags));
  EXPECT_EQ(flags, 0u);
  // Page "aclrtStreamAttr": the A2 family may change the priority later, 0 to 7.
  aclrtStreamAttrValue value{};
  value.streamPriority = 3;
  ACL_OK(aclrtSetStreamAttribute(plain, ACL_STREAM_ATTR_PRIORITY, &value));
  ACL_OK(aclrtStreamGetPriority(plain, &priority));
  EXPECT_EQ(priority, 3u);
  value.streamPriority = 8;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetStreamAttribute(plain, ACL_STREAM_ATTR_PRIORITY, &value));
}

// CANN's sample of stream configurations gives the flags in four bytes.
TEST_F(StreamTest, AConfigHandleTakesFlagsOfEitherWidth) {
  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  ASSERT_NE(config, nullptr);
  const uint32_t flags[] = {ACL_STREAM_FAST_SYNC, 0xFFFFFFFFu};  // what follows the four bytes must not be read
  ACL_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, flags, sizeof(flags[0])));
  aclrtStream stream = nullptr;
  ACL_OK(aclrtCreateStreamV2(&stream, config));
  uint32_t got = 0;
  ACL_OK(aclrtStreamGetFlags(stream, &got));
  EXPECT_EQ(got, static_cast<uint32_t>(ACL_STREAM_FAST_SYNC));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_WORK_SIZE, flags, sizeof(flags[0])));
  ACL_OK(aclrtDestroyStream(stream));
  ACL_OK(aclrtDestroyStreamConfigHandle(config));
}

TEST_F(StreamTest, AConfigHandleCreatesTheSameStreams) {
  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  ASSERT_NE(config, nullptr);
  uint32_t priority = 6;
  size_t flag = ACL_STREAM_FAST_LAUNCH;
  ACL_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, sizeof(priority)));
  ACL_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &flag, sizeof(flag)));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &flag, 3));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetStreamConfigOpt(nullptr, ACL_RT_STREAM_FLAG, &flag, sizeof(flag)));
  aclrtStream stream = nullptr;
  ACL_OK(aclrtCreateStreamV2(&stream, config));
  uint32_t got = 0;
  ACL_OK(aclrtStreamGetPriority(stream, &got));
  EXPECT_EQ(got, 6u);
  ACL_OK(aclrtStreamGetFlags(stream, &got));
  EXPECT_EQ(got, 1u);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateStreamV2(&stream, nullptr));
  ACL_OK(aclrtDestroyStream(stream));
  ACL_OK(aclrtDestroyStreamConfigHandle(config));
}

// Page "aclrtCreateStream": 1984 streams on the A2 family, the default stream counted; 207008 beyond. Streams are
// queues: that many use no more threads than one.
TEST_F(StreamTest, NineteenEightyFourStreamsAndNoMoreOnAHandfulOfThreads) {
  uint32_t available = 0;
  ACL_OK(aclrtGetStreamAvailableNum(&available));
  EXPECT_EQ(available, 1983u);  // the default stream is there already
  std::vector<aclrtStream> streams(1983);
  for (aclrtStream& stream : streams) ACL_REQUIRE_OK(aclrtCreateStreamWithConfig(&stream, 0, 3));
  ACL_OK(aclrtGetStreamAvailableNum(&available));
  EXPECT_EQ(available, 0u);
  aclrtStream extra = reinterpret_cast<aclrtStream>(1);
  ACL_FAILS(ACL_ERROR_RT_NO_STREAM_RESOURCE, aclrtCreateStream(&extra));
  EXPECT_EQ(ACL_ERROR_RT_NO_STREAM_RESOURCE, 207008);
  EXPECT_EQ(extra, nullptr);
  EXPECT_NE(RecentMessage().find("1984"), std::string::npos);  // the bound is named

  std::atomic<int> ran{0};
  for (aclrtStream stream : streams) {
    ACL_REQUIRE_OK(millpond_launch(
        stream, "Count", [](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }, &ran));
  }
  ACL_OK(aclrtSynchronizeDevice());
  EXPECT_EQ(ran.load(), 1983);
  EXPECT_LE(ThreadCount(), 16);
  ACL_OK(aclrtDestroyStream(streams.back()));
  ACL_OK(aclrtCreateStream(&streams.back()));  // one back, one more
  for (aclrtStream stream : streams) ACL_OK(aclrtDestroyStream(stream));
}

// Two contexts of one device share the limit (page "aclrtCreateContext": contexts are bounded by streams).
TEST(StreamLimits, ProfilesHaveTheirOwn) {
  for (const auto& [soc, limit] : std::map<std::string, std::string>{{"Ascend910B3", "1984"},
                                                                     {"Ascend310P3", "1024"},
                                                                     {"Ascend910_9392", "1984"},
                                                                     {"Ascend950PR_9589", "1984"}}) {
    const ChildResult child = ExpectRole("count_streams", {{"MILLPOND_SOC", soc}});
    EXPECT_NE(child.output.find("limit " + limit + "\n"), std::string::npos) << soc << ": " << child.output;
  }
}

MP_ROLE(count_streams) {
  ROLE_INIT();
  int made = 1;  // the default stream
  aclrtStream stream = nullptr;
  int code = 0;
  while ((code = aclrtCreateStream(&stream)) == ACL_SUCCESS) ++made;
  ROLE_CHECK(code == ACL_ERROR_RT_NO_STREAM_RESOURCE);
  std::printf("limit %d\n", made);
  return aclrtResetDeviceForce(0);
}

// Page "aclrtStreamQuery".
TEST_F(StreamTest, QueryDistinguishesReadyFromNotReady) {
  aclrtStream stream = NewStream();
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  ACL_OK(aclrtStreamQuery(stream, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  Hold hold;
  ACL_OK(hold.On(stream));
  ACL_OK(aclrtStreamQuery(stream, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  hold.Release();
  EXPECT_TRUE(Eventually([&] {
    ACL_OK(aclrtStreamQuery(stream, &status));
    return status == ACL_STREAM_STATUS_COMPLETE;
  }));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtStreamQuery(stream, nullptr));
}

// docs/compat.md, "What clients rely on", aclrtSynchronizeStreamWithTimeout: milliseconds, -1 for ever, less is 107000,
// expiry 507046.
TEST_F(StreamTest, SynchronizeTimesOutWithItsOwnCode) {
  aclrtStream stream = NewStream();
  Hold hold;
  ACL_OK(hold.On(stream));
  const auto start = Clock::now();
  ACL_FAILS(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(stream, 30));
  EXPECT_EQ(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, 507046);
  EXPECT_GE(Clock::now() - start, milliseconds(29));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtSynchronizeStreamWithTimeout(stream, -2));
  EXPECT_EQ(ACL_ERROR_RT_PARAM_INVALID, 107000);
  // Page "aclrtSynchronizeDeviceWithTimeout": the same code.
  ACL_FAILS(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeDeviceWithTimeout(30));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtSynchronizeDeviceWithTimeout(-2));
  hold.Release();
  ACL_OK(aclrtSynchronizeStreamWithTimeout(stream, -1));
  ACL_OK(aclrtSynchronizeStreamWithTimeout(stream, 1000));
  ACL_OK(aclrtSynchronizeDeviceWithTimeout(1000));
}

// Page "aclrtSynchronizeStream": on these streams the call does nothing and succeeds.
TEST_F(StreamTest, StreamsTheHostDoesNotWaitForReturnAtOnce) {
  for (uint32_t flag : {ACL_STREAM_PERSISTENT, ACL_STREAM_DEVICE_USE_ONLY, ACL_STREAM_CPU_SCHEDULE}) {
    aclrtStream stream = NewStream(0, flag);
    Hold hold;
    ACL_OK(hold.On(stream));
    ACL_OK(aclrtSynchronizeStream(stream));
    ACL_OK(aclrtSynchronizeStreamWithTimeout(stream, 1));
  }
}

// Page "aclrtDestroyStream": waits for unfinished tasks.
TEST_F(StreamTest, DestroyWaitsForTheTasks) {
  aclrtStream stream = NewStream();
  Forget(stream);
  std::atomic<bool> ran{false};
  Gate gate;
  ACL_OK(gate.LaunchOn(stream));
  ACL_OK(Launch(stream, [&] { ran = true; }));
  std::thread opener([&] {
    std::this_thread::sleep_for(milliseconds(30));
    gate.Open();
  });
  ACL_OK(aclrtDestroyStream(stream));
  EXPECT_TRUE(ran.load());
  opener.join();
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyStream(stream));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtSynchronizeStream(stream));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, millpond_launch(stream, "Late", ThrowingTask, nullptr));
}

// Page "aclrtDestroyStreamForce": does not wait.
TEST_F(StreamTest, ForcedDestroyDropsWhatHasNotStarted) {
  aclrtStream stream = NewStream();
  Forget(stream);
  std::atomic<bool> ran{false};
  Hold hold;
  ACL_OK(hold.On(stream));
  ACL_OK(millpond_launch(
      stream, "Never", [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &ran));
  ACL_OK(aclrtDestroyStreamForce(stream));
  EXPECT_FALSE(ran.load());
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyStreamForce(stream));
}

// What could run has begun by then on a card, and CANN's own examples count on it.
TEST_F(StreamTest, ForcedDestroyLetsWhatCanRunRun) {
  std::atomic<int> ran{0};
  for (int i = 0; i < 200; ++i) {
    aclrtStream stream = NewStream();
    Forget(stream);
    ACL_OK(millpond_launch(
        stream, "Soon", [](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }, &ran));
    ACL_OK(aclrtDestroyStreamForce(stream));
  }
  EXPECT_GT(ran.load(), 190);  // a thread that is not given a processor may miss the moment
}

// Page "aclrtStreamAbort": queued tasks are dropped; a synchronisation then answers 107023, once.
TEST_F(StreamTest, AbortDropsTasksAndFailsTheNextSynchronisation) {
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  std::atomic<bool> ran{false};
  Hold hold;
  ACL_OK(hold.On(stream));
  ACL_OK(millpond_launch(
      stream, "Never", [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &ran));
  ACL_OK(aclrtRecordEvent(event, stream));
  ACL_OK(aclrtStreamAbort(stream));
  EXPECT_FALSE(ran.load());
  ACL_FAILS(ACL_ERROR_RT_STREAM_ABORT, aclrtSynchronizeEvent(event));
  ACL_FAILS(ACL_ERROR_RT_STREAM_ABORT, aclrtSynchronizeStream(stream));
  EXPECT_EQ(ACL_ERROR_RT_STREAM_ABORT, 107023);
  ACL_OK(aclrtSynchronizeStream(stream));
  // The stream continues.
  ACL_OK(Launch(stream, [&] { ran = true; }));
  ACL_OK(aclrtRecordEvent(event, stream));
  ACL_OK(aclrtSynchronizeEvent(event));
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_TRUE(ran.load());
  ACL_OK(aclrtStreamAbort(stream));  // nothing to drop: no error stays behind
  ACL_OK(aclrtSynchronizeStream(stream));
}

TEST_F(StreamTest, AbortWakesASynchronisingThreadWithItsCode) {
  aclrtStream stream = NewStream();
  aclrtContext context = nullptr;
  ACL_OK(aclrtGetCurrentContext(&context));
  Hold hold;
  ACL_OK(hold.On(stream));
  std::atomic<int> code{-1};
  std::thread waiter([&] {
    ACL_OK(aclrtSetCurrentContext(context));
    code = aclrtSynchronizeStream(stream);
  });
  std::this_thread::sleep_for(milliseconds(20));
  ACL_OK(aclrtStreamAbort(stream));
  waiter.join();
  EXPECT_EQ(code.load(), ACL_ERROR_RT_STREAM_ABORT);
}

// Page "aclrtDeviceTaskAbort": every stream of the device.
TEST_F(StreamTest, DeviceAbortDropsEveryStream) {
  aclrtStream one = NewStream();
  aclrtStream two = NewStream();
  Hold hold;
  ACL_OK(hold.On(one));
  ACL_OK(hold.On(two));
  static std::vector<int> stages;
  stages.clear();
  ACL_OK(aclrtSetDeviceTaskAbortCallback(
      "test",
      [](int32_t, aclrtDeviceTaskAbortStage stage, uint32_t, void*) -> int32_t {
        stages.push_back(stage);
        return 0;
      },
      nullptr));
  ACL_OK(aclrtDeviceTaskAbort(0, 0));
  ACL_OK(aclrtSetDeviceTaskAbortCallback("test", nullptr, nullptr));
  EXPECT_EQ(stages, (std::vector<int>{ACL_RT_DEVICE_TASK_ABORT_PRE, ACL_RT_DEVICE_TASK_ABORT_POST}));
  ACL_FAILS(ACL_ERROR_RT_DEVICE_TASK_ABORT, aclrtSynchronizeStream(one));
  ACL_FAILS(ACL_ERROR_RT_DEVICE_TASK_ABORT, aclrtSynchronizeStream(two));
  ACL_OK(aclrtSynchronizeDevice());
}

// docs/compat.md, "What clients rely on": what a task fails with surfaces at the next synchronisation, and only there,
// once.
TEST_F(StreamTest, FailureShowsAtTheNextSynchronisationOnce) {
  aclrtStream stream = NewStream();
  std::atomic<bool> later{false};
  ACL_OK(millpond_launch(stream, "Bad", ThrowingTask, nullptr));
  ACL_OK(Launch(stream, [&] { later = true; }));
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  EXPECT_TRUE(
      Eventually([&] { return aclrtStreamQuery(stream, &status) == 0 && status == ACL_STREAM_STATUS_COMPLETE; }));
  EXPECT_TRUE(later.load());  // Page "aclrtSetStreamFailureMode": continue is the default
  ACL_FAILS(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(stream));
  const std::string message = RecentMessage();
  EXPECT_NE(message.find("Bad"), std::string::npos) << message;  // the task is named
  EXPECT_NE(message.find("as the test wants"), std::string::npos) << message;
  ACL_OK(aclrtSynchronizeStream(stream));
}

TEST_F(StreamTest, FailureIsAnsweredByAWaitingDeviceSynchronisation) {
  aclrtStream stream = NewStream();
  ACL_OK(millpond_launch(stream, "Bad", ThrowingTask, nullptr));
  ACL_FAILS(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeDevice());
  ACL_OK(aclrtSynchronizeDevice());
  ACL_OK(aclrtSynchronizeStream(stream));
}

// Page "aclrtSetStreamFailureMode": after a failure later tasks are not run and no new one is taken; the mode is
// that of the context's other streams too; it is set once.
TEST_F(StreamTest, StopModeStopsTheContext) {
  aclrtContext own = nullptr;
  ACL_OK(aclrtCreateContext(&own, 0));
  aclrtStream stream = nullptr;
  aclrtStream sibling = nullptr;
  ACL_OK(aclrtCreateStream(&stream));
  ACL_OK(aclrtCreateStream(&sibling));
  ACL_OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
  ACL_OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtSetStreamFailureMode(stream, ACL_CONTINUE_ON_FAILURE));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetStreamFailureMode(stream, 2));
  aclrtStreamAttrValue value{};
  ACL_OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value));
  EXPECT_EQ(value.failureMode, ACL_STOP_ON_FAILURE);

  std::atomic<bool> later{false};
  Hold hold;
  ACL_OK(hold.On(stream));
  ACL_OK(millpond_launch(stream, "Bad", ThrowingTask, nullptr));
  ACL_OK(millpond_launch(
      stream, "Later", [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &later));
  hold.Release();
  ACL_FAILS(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(stream));
  EXPECT_FALSE(later.load());
  ACL_FAILS(ACL_ERROR_RT_AICORE_EXCEPTION, millpond_launch(stream, "New", ThrowingTask, nullptr));
  ACL_FAILS(ACL_ERROR_RT_AICORE_EXCEPTION, millpond_launch(sibling, "New", ThrowingTask, nullptr));
  ACL_OK(aclrtDestroyStream(sibling));
  ACL_OK(aclrtDestroyStream(stream));
  ACL_OK(aclrtDestroyContext(own));

  // Another context is not concerned, and the default stream takes the mode only through this call.
  ACL_OK(aclrtSetDevice(0));
  aclrtStream elsewhere = NewStream();
  ACL_OK(Launch(elsewhere, [&] { later = true; }));
  ACL_OK(aclrtSynchronizeStream(elsewhere));
  EXPECT_TRUE(later.load());
  value.failureMode = ACL_STOP_ON_FAILURE;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetStreamAttribute(nullptr, ACL_STREAM_ATTR_FAILURE_MODE, &value));
  ACL_OK(aclrtSetStreamFailureMode(nullptr, ACL_STOP_ON_FAILURE));
}

TEST_F(StreamTest, AttributesAreStored) {
  aclrtStream stream = NewStream();
  uint32_t overflow = 9;
  ACL_OK(aclrtGetStreamOverflowSwitch(stream, &overflow));
  EXPECT_EQ(overflow, 0u);  // Page "aclrtStreamAttrValue": off by default
  ACL_OK(aclrtSetStreamOverflowSwitch(stream, 1));
  ACL_OK(aclrtGetStreamOverflowSwitch(stream, &overflow));
  EXPECT_EQ(overflow, 1u);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetStreamOverflowSwitch(stream, 2));
  aclrtStreamAttrValue value{};
  value.userCustomTag = 0xFFFFFFFF;
  ACL_OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
  value = {};
  ACL_OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
  EXPECT_EQ(value.userCustomTag, 0xFFFFFFFFu);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetStreamAttribute(stream, static_cast<aclrtStreamAttr>(7), &value));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetStreamAttribute(stream, static_cast<aclrtStreamAttr>(7), &value));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_PRIORITY, nullptr));
}

// Page "aclrtRegStreamStateCallback": after a creation, before a destruction; a name is taken once.
TEST_F(StreamTest, StateCallbacksSeeStreamsComeAndGo) {
  static std::vector<std::pair<aclrtStream, int>> seen;
  seen.clear();
  const auto note = [](aclrtStream stream, aclrtStreamState state, void* args) {
    EXPECT_EQ(args, &seen);
    seen.emplace_back(stream, state);
  };
  ACL_OK(aclrtRegStreamStateCallback("mine", note, &seen));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtRegStreamStateCallback("mine", note, &seen));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtRegStreamStateCallback(nullptr, note, &seen));
  aclrtStream stream = nullptr;
  ACL_OK(aclrtCreateStream(&stream));
  ACL_OK(aclrtDestroyStream(stream));
  ACL_OK(aclrtRegStreamStateCallback("mine", nullptr, nullptr));
  NewStream();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0], (std::pair<aclrtStream, int>(stream, ACL_RT_STREAM_STATE_CREATE_POST)));
  EXPECT_EQ(seen[1], (std::pair<aclrtStream, int>(stream, ACL_RT_STREAM_STATE_DESTROY_PRE)));
  ACL_OK(aclrtRegStreamStateCallback("mine", note, &seen));
  ACL_OK(aclrtRegStreamStateCallback("mine", nullptr, nullptr));
}

// DESIGN 3: "a thread that synchronises helps"; on at least one of many tries the task is seen on this thread.
TEST_F(StreamTest, SynchronisingThreadHelps) {
  aclrtStream stream = NewStream();
  const auto self = std::this_thread::get_id();
  bool helped = false;
  for (int i = 0; i < 20000 && !helped; ++i) {
    std::thread::id ran_on;
    ACL_OK(Launch(stream, [&] { ran_on = std::this_thread::get_id(); }));
    ACL_OK(aclrtSynchronizeStream(stream));
    helped = ran_on == self;
  }
  EXPECT_TRUE(helped);
}

// Page "aclrtGetThreadLastTaskId".
TEST_F(StreamTest, LastTaskIdIsTheCallingThreads) {
  aclrtStream stream = NewStream();
  uint32_t first = 0;
  uint32_t second = 0;
  ACL_OK(Launch(stream, [] {}));
  ACL_OK(aclrtGetThreadLastTaskId(&first));
  ACL_OK(Launch(stream, [] {}));
  ACL_OK(aclrtGetThreadLastTaskId(&second));
  EXPECT_EQ(second, first + 1);
  ACL_OK(aclrtSynchronizeStream(stream));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetThreadLastTaskId(nullptr));
}

// A parked stream takes any number of tasks: the launching thread itself may unblock it.
TEST_F(StreamTest, AHeldStreamTakesManyTasks) {
  aclrtStream stream = NewStream();
  Hold hold;
  ACL_OK(hold.On(stream));
  std::atomic<int> ran{0};
  constexpr int kTasks = 10000;
  for (int i = 0; i < kTasks; ++i) {
    ACL_REQUIRE_OK(millpond_launch(
        stream, "Count", [](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }, &ran));
  }
  EXPECT_EQ(ran.load(), 0);
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(ran.load(), kTasks);
}

}  // namespace

MP_TEST_MAIN()

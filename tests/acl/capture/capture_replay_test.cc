// SPDX-License-Identifier: Apache-2.0
// Recording on one stream and running the graph again and again.
#include "tests/acl/capture/capture_fixture.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class CaptureReplayTest : public CaptureTest {};

// Page "aclmdlRICaptureBegin": tasks between Begin and End "are not run at once ... only when aclmdlRIExecuteAsync runs
// the model".
TEST_F(CaptureReplayTest, TasksRunAtExecuteAndNotBefore) {
  aclrtStream stream = NewStream();
  aclmdlRI graph = Capture(stream, [&] {
    for (int i = 0; i < 5; ++i) ACL_OK(Note(stream, i));
  });
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_TRUE(log_.empty());
  Run(graph, stream);
  EXPECT_EQ(log_, (std::vector<int>{0, 1, 2, 3, 4}));
}

// torch_npu's NPUGraph: capture on a side stream, fill the same input again, replay, read the same output.
TEST_F(CaptureReplayTest, ManyReplaysSeeChangedInputsAtTheSameAddresses) {
  aclrtStream side = NewStream();
  aclrtStream main = NewStream();
  DeviceBuffer input(64), output(64);
  PinnedBuffer in(64), out(64);
  const auto* const from = static_cast<uint64_t*>(millpond_reachable(input.get()));
  auto* const to = static_cast<uint64_t*>(millpond_reachable(output.get()));
  aclmdlRI graph = Capture(side, [&] {
    ACL_OK(aclrtMemcpyAsync(input.get(), 64, in.get(), 64, ACL_MEMCPY_HOST_TO_DEVICE, side));
    ACL_OK(Task(
        side, [from, to] { *to = *from * 3; }, "Triple"));
    ACL_OK(aclrtMemcpyAsync(out.get(), 64, output.get(), 64, ACL_MEMCPY_DEVICE_TO_HOST, side));
  });
  for (uint64_t i = 1; i <= 100; ++i) {
    *in.words() = i;
    Run(graph, main);
    ASSERT_EQ(*out.words(), 3 * i);
  }
}

// The issue: "CaptureGetInfo's ri equals what CaptureEnd returns" (torch_npu asserts it).
TEST_F(CaptureReplayTest, GetInfoNamesTheGraphThatEndReturns) {
  aclrtStream stream = NewStream();
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
  aclmdlRI before = &status;
  ACL_OK(aclmdlRICaptureGetInfo(stream, &status, &before));
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(before, nullptr);
  ACL_OK(aclmdlRICaptureBegin(stream, kGlobal));
  aclmdlRI during = nullptr;
  ACL_OK(aclmdlRICaptureGetInfo(stream, &status, &during));
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  EXPECT_NE(during, nullptr);
  EXPECT_EQ(End(stream), during);
  EXPECT_EQ(StatusOf(stream), ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlRICaptureGetInfo(stream, nullptr, nullptr));
}

TEST_F(CaptureReplayTest, AnEmptyCaptureRunsNothing) {
  aclrtStream stream = NewStream();
  Run(Capture(stream, [] {}), stream);
  EXPECT_TRUE(log_.empty());
}

// Page "aclmdlRIExecuteAsync": an asynchronous call, in the order of its stream.
TEST_F(CaptureReplayTest, ReplayTakesItsPlaceInStreamOrder) {
  aclrtStream stream = NewStream();
  aclmdlRI graph = Capture(stream, [&] { ACL_OK(Note(stream, 2)); });
  Hold hold;
  ACL_OK(hold.On(stream));
  ACL_OK(Note(stream, 1));
  ACL_OK(aclmdlRIExecuteAsync(graph, stream));
  ACL_OK(Note(stream, 3));
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(log_, (std::vector<int>{1, 2, 3}));
}

TEST_F(CaptureReplayTest, ReplayRunsOnTheDefaultStreamToo) {
  aclrtStream stream = NewStream();
  aclmdlRI graph = Capture(stream, [&] { ACL_OK(Note(stream, 1)); });
  Run(graph, nullptr);
  EXPECT_EQ(log_, std::vector<int>{1});
}

// The nodes have one set of bodies: two executions at once, on two streams, must not run them together.
TEST_F(CaptureReplayTest, TwoExecutionsInFlightDoNotOverlap) {
  aclrtStream stream = NewStream();
  aclrtStream other = NewStream();
  int unguarded = 0;  // the sanitizer checks it
  std::atomic<int> inside{0}, overlaps{0};
  aclmdlRI graph = Capture(stream, [&] {
    for (int i = 0; i < 20; ++i) {
      ACL_OK(Task(stream, [&] {
        if (inside.fetch_add(1) != 0) overlaps.fetch_add(1);
        ++unguarded;
        inside.fetch_sub(1);
      }));
    }
  });
  for (int i = 0; i < 50; ++i) {
    ACL_OK(aclmdlRIExecuteAsync(graph, stream));
    ACL_OK(aclmdlRIExecuteAsync(graph, other));
  }
  ACL_OK(aclrtSynchronizeStream(stream));
  ACL_OK(aclrtSynchronizeStream(other));
  EXPECT_EQ(overlaps.load(), 0);
  EXPECT_EQ(unguarded, 2000);
}

TEST_F(CaptureReplayTest, TenThousandNodesRunInOrder) {
  aclrtStream stream = NewStream();
  constexpr int kNodes = 10000;
  int next = 0, wrong = 0;
  aclmdlRI graph = Capture(stream, [&] {
    for (int i = 0; i < kNodes; ++i) {
      ACL_REQUIRE_OK(Task(stream, [&next, &wrong, i] { wrong += next++ != i; }));
    }
  });
  for (int round = 0; round < 3; ++round) {
    next = 0;
    Run(graph, stream);
    EXPECT_EQ(next, kNodes);
  }
  EXPECT_EQ(wrong, 0);
}

// Host functions and callbacks inside a capture are called at each replay.
TEST_F(CaptureReplayTest, HostFunctionsRunAtReplayAndBlockWhatFollows) {
  aclrtStream stream = NewStream();
  std::atomic<int> calls{0};
  int seen = -1;
  aclmdlRI graph = Capture(stream, [&] {
    ACL_OK(aclrtLaunchHostFunc(
        stream,
        [](void* argument) {
          std::this_thread::sleep_for(milliseconds(2));
          static_cast<std::atomic<int>*>(argument)->fetch_add(1);
        },
        &calls));
    ACL_OK(Task(stream, [&] { seen = calls.load(); }));
  });
  EXPECT_EQ(calls.load(), 0);
  for (int i = 1; i <= 3; ++i) {
    Run(graph, stream);
    EXPECT_EQ(seen, i);
  }
}

TEST_F(CaptureReplayTest, CallbacksReachTheThreadSubscribedForTheCapturedStream) {
  aclrtStream captured = NewStream();
  aclrtStream other = NewStream();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> subscriber{0};
  std::thread thread([&] {
    subscriber = static_cast<uint64_t>(pthread_self());
    while (!stop) aclrtProcessReport(20);
  });
  ASSERT_TRUE(Eventually([&] { return subscriber.load() != 0; }));
  ACL_OK(aclrtSubscribeReport(subscriber, captured));
  std::atomic<uint64_t> caller{0};
  aclmdlRI graph = Capture(captured, [&] {
    ACL_OK(aclrtLaunchCallback(
        [](void* argument) {
          static_cast<std::atomic<uint64_t>*>(argument)->store(static_cast<uint64_t>(pthread_self()));
        },
        &caller, ACL_CALLBACK_BLOCK, captured));
  });
  Run(graph, other);
  EXPECT_EQ(caller.load(), subscriber.load());
  ACL_OK(aclrtUnSubscribeReport(subscriber, captured));
  stop = true;
  thread.join();
}

TEST_F(CaptureReplayTest, ValueWaitsParkTheGraphWithoutAThread) {
  aclrtStream stream = NewStream();
  Hold hold;
  aclmdlRI graph = Capture(stream, [&] {
    ACL_OK(Note(stream, 1));
    ACL_OK(hold.On(stream));
    ACL_OK(Note(stream, 2));
  });
  ACL_OK(aclmdlRIExecuteAsync(graph, stream));
  aclrtStream other = NewStream();
  int ran = 0;
  ACL_OK(Task(other, [&] { ran = 1; }));
  ACL_OK(aclrtSynchronizeStream(other));
  EXPECT_EQ(ran, 1);
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(log_, (std::vector<int>{1, 2}));
}

// --- Failures ---------------------------------------------------------------------------------------------------

TEST_F(CaptureReplayTest, AFailingNodeFailsTheExecutionByNameAndEndsIt) {
  aclrtStream stream = NewStream();
  bool fail = true;
  aclmdlRI graph = Capture(stream, [&] {
    ACL_OK(Note(stream, 1));
    ACL_OK(Task(
        stream,
        [&] {
          if (fail) throw std::runtime_error("as the test wants");
        },
        "BadNode"));
    ACL_OK(Note(stream, 2));
  });
  ACL_OK(aclmdlRIExecuteAsync(graph, stream));
  ACL_FAILS(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(stream));
  const std::string message = RecentMessage();
  EXPECT_NE(message.find("BadNode"), std::string::npos) << message;
  EXPECT_NE(message.find("as the test wants"), std::string::npos) << message;
  EXPECT_EQ(log_, std::vector<int>{1});
  fail = false;  // the graph still works
  Run(graph, stream);
  EXPECT_EQ(log_, (std::vector<int>{1, 1, 2}));
}

// --- Life -------------------------------------------------------------------------------------------------------

// Page "aclmdlRIDestroy". Queued work still runs; the handle is invalid immediately.
TEST_F(CaptureReplayTest, DestroyWhileQueuedLetsTheExecutionsFinish) {
  aclrtStream stream = NewStream();
  aclmdlRI graph = Capture(stream, [&] { ACL_OK(Note(stream, 7)); });
  Hold hold;
  ACL_OK(hold.On(stream));
  ACL_OK(aclmdlRIExecuteAsync(graph, stream));
  ACL_OK(aclmdlRIExecuteAsync(graph, stream));
  Destroy(graph);
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIExecuteAsync(graph, stream));
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(log_, (std::vector<int>{7, 7}));
}

TEST_F(CaptureReplayTest, TheCapturedStreamMayBeDestroyedBeforeTheReplay) {
  aclrtStream stream = NewStream();
  aclmdlRI graph = Capture(stream, [&] { ACL_OK(Note(stream, 1)); });
  ACL_OK(aclrtDestroyStream(stream));
  Forget(stream);
  Run(graph, NewStream());
  EXPECT_EQ(log_, std::vector<int>{1});
}

TEST_F(CaptureReplayTest, AbortingTheStreamDropsTheExecution) {
  aclrtStream stream = NewStream();
  Hold hold;
  aclmdlRI graph = Capture(stream, [&] {
    ACL_OK(hold.On(stream));
    ACL_OK(Note(stream, 1));
  });
  ACL_OK(aclmdlRIExecuteAsync(graph, stream));
  ACL_OK(aclmdlRIExecuteAsync(graph, stream));
  ACL_OK(aclrtStreamAbort(stream));
  ACL_FAILS(ACL_ERROR_RT_STREAM_ABORT, aclrtSynchronizeStream(stream));
  EXPECT_TRUE(log_.empty());
  hold.Release();
  Run(graph, stream);  // and the graph is free again
  EXPECT_EQ(log_, std::vector<int>{1});
}

// Page "aclmdlRIDestroyRegisterCallback": "will be called when the model running instance is destroyed".
TEST_F(CaptureReplayTest, DestroyCallbacksAreCalledOnceUnlessUnregistered) {
  aclrtStream stream = NewStream();
  aclmdlRI graph = Capture(stream, [] {});
  static int first, second;
  first = second = 0;
  const aclrtCallback one = [](void* argument) { first += *static_cast<int*>(argument); };
  const aclrtCallback two = [](void*) { ++second; };
  int amount = 5;
  ACL_OK(aclmdlRIDestroyRegisterCallback(graph, one, &amount));
  ACL_OK(aclmdlRIDestroyRegisterCallback(graph, two, nullptr));
  ACL_OK(aclmdlRIDestroyUnregisterCallback(graph, two));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIDestroyUnregisterCallback(graph, two));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlRIDestroyRegisterCallback(graph, nullptr, nullptr));
  EXPECT_EQ(first, 0);
  Destroy(graph);
  EXPECT_EQ(first, 5);
  EXPECT_EQ(second, 0);
}

TEST_F(CaptureReplayTest, GarbageHandlesAreRefusedByEveryCall) {
  aclrtStream stream = NewStream();
  aclmdlRI dead = Capture(stream, [] {});
  Destroy(dead);
  uint32_t number = 0;
  char name[8];
  int on_stack = 0;
  for (aclmdlRI bad : {dead, static_cast<aclmdlRI>(stream), static_cast<aclmdlRI>(&on_stack),
                       reinterpret_cast<aclmdlRI>(uintptr_t{0xDEADBEEF})}) {
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIExecuteAsync(bad, stream));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIExecute(bad, -1));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIDestroy(bad));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIGetId(bad, &number));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRISetName(bad, "x"));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIGetName(bad, 8, name));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIGetStreams(bad, nullptr, &number));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIDebugPrint(bad));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIUpdate(bad));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIAbort(bad));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIBuildEnd(bad, nullptr));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIGetTasksByStream(bad, nullptr, &number));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRICaptureTaskUpdateBegin(stream, bad));
  }
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlRIExecuteAsync(nullptr, stream));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlRIDestroy(nullptr));
}

TEST_F(CaptureReplayTest, CapturesAndDestroysDoNotGrowTheProcess) {
  aclrtStream stream = NewStream();
  const auto round = [&] {
    aclmdlRI graph = nullptr;
    ACL_OK(aclmdlRICaptureBegin(stream, kRelaxed));
    for (int i = 0; i < 50; ++i)
      ACL_OK(millpond_launch(
          stream, "Nothing", [](void*) {}, nullptr));
    ACL_OK(aclmdlRICaptureEnd(stream, &graph));
    Run(graph, stream);
    ACL_OK(aclmdlRIDestroy(graph));
  };
  for (int i = 0; i < 200; ++i) round();
  const int64_t before = ResidentKiB();
  for (int i = 0; i < 2000; ++i) round();
#if !MP_SANITIZED
  EXPECT_LT(ResidentKiB() - before, 4096);  // 2000 graphs of 50 nodes would be 25 MiB
#else
  static_cast<void>(before);
#endif
}

}  // namespace

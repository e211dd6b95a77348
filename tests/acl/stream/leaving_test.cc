// SPDX-License-Identifier: Apache-2.0
// Threads that leave in the middle: functions of the client's that call pthread_exit where they should return, a main
// that does, and host functions that wait for each other. Streams go on, and the process ends when it should.
#include <pthread.h>

#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

void Leave(void*) { pthread_exit(nullptr); }
void Count(void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }

class LeavingTest : public AclTest {};

TEST_F(LeavingTest, AHostFunctionThatEndsItsThreadFailsItsTaskAlone) {
  aclrtStream stream = NewStream();
  std::atomic<int> called{0};
  for (int round = 0; round < 20; ++round) {
    ACL_OK(aclrtLaunchHostFunc(stream, Leave, nullptr));
    ACL_OK(aclrtLaunchHostFunc(stream, Count, &called));
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
    EXPECT_NE(RecentMessage().find("pthread_exit"), std::string::npos);
    EXPECT_EQ(called.load(), round + 1);
  }
  ACL_OK(aclrtSynchronizeStream(stream));
}

TEST_F(LeavingTest, AHostFunctionMayThrowWhereverItRuns) {
  aclrtStream stream = NewStream();
  ACL_OK(aclrtLaunchHostFunc(
      stream, [](void*) { throw 1; }, nullptr));
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  ACL_OK(aclrtSynchronizeStream(stream));
}

// The client's own thread: it ends as its function wants, from inside aclrtProcessReport.
TEST_F(LeavingTest, ACallbackThatEndsTheClientsThreadLetsTheStreamGoOn) {
  aclrtStream stream = NewStream();
  aclrtContext context = nullptr;
  ACL_OK(aclrtGetCurrentContext(&context));
  std::atomic<bool> returned{false};
  struct Shared {
    aclrtContext context;
    std::atomic<bool>* returned;
    std::atomic<bool> go{false};
  } shared{context, &returned};
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* argument) -> void* {
                  auto* const mine = static_cast<Shared*>(argument);
                  EXPECT_EQ(aclrtSetCurrentContext(mine->context), ACL_SUCCESS);
                  while (!mine->go.load()) std::this_thread::sleep_for(std::chrono::microseconds(50));
                  static_cast<void>(aclrtProcessReport(-1));
                  mine->returned->store(true);
                  return nullptr;
                },
                &shared),
            0);
  ACL_OK(aclrtSubscribeReport(static_cast<uint64_t>(thread), stream));
  ACL_OK(aclrtLaunchCallback(Leave, nullptr, ACL_CALLBACK_BLOCK, stream));
  shared.go.store(true);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  pthread_join(thread, nullptr);
  EXPECT_FALSE(returned.load());
  ACL_OK(aclrtUnSubscribeReport(static_cast<uint64_t>(thread), stream));
}

TEST_F(LeavingTest, AnExceptionCallbackThatEndsItsThreadIsOneThreadLess) {
  aclrtStream stream = NewStream();
  ACL_OK(aclrtSetExceptionInfoCallback([](aclrtExceptionInfo*) { pthread_exit(nullptr); }));
  for (int round = 0; round < 3; ++round) {
    ACL_OK(millpond_launch(
        stream, "Thrower", [](void*) { throw 1; }, nullptr));
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  }
  ACL_OK(aclrtSetExceptionInfoCallback(nullptr));
}

// Each needs a thread until all are there.
TEST_F(LeavingTest, HostFunctionsThatWaitForEachOtherAllRun) {
  constexpr int kFunctions = 40;
  static std::atomic<int> arrived{0};
  arrived = 0;
  for (int i = 0; i < kFunctions; ++i) {
    ACL_OK(aclrtLaunchHostFunc(
        NewStream(),
        [](void*) {
          arrived.fetch_add(1);
          EXPECT_TRUE(Eventually([] { return arrived.load() == kFunctions; }));
        },
        nullptr));
  }
  ACL_OK(aclrtSynchronizeDevice());
  EXPECT_EQ(arrived.load(), kFunctions);
  // They are not kept: once all is done a few are left for the next.
  EXPECT_TRUE(Eventually([] { return ThreadCount() < kFunctions; })) << ThreadCount();
}

// --- A process of its own ---

// A task's function runs on a thread that is not its own: what it does there cannot be allowed, so it is named.
MP_ROLE(TaskLeaves) {
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  ROLE_CHECK(millpond_launch(nullptr, "Deserter", Leave, nullptr) == ACL_SUCCESS);
  static_cast<void>(aclrtSynchronizeDevice());
  return 0;
}
TEST(LeavingProcess, ATaskThatEndsItsThreadIsNamed) {
  const ChildResult result = RunRole("TaskLeaves");
  EXPECT_EQ(result.exit_code, -SIGABRT);
  EXPECT_NE(result.output.find("task Deserter called pthread_exit"), std::string::npos) << result.output;
}

// main ends first and another thread finishes the work; then the process ends, with 0.
void* FinishTheWork(void*) {
  const aclError initialised = aclInit(nullptr);
  ROLE_CHECK(initialised == ACL_SUCCESS || initialised == ACL_ERROR_REPEAT_INITIALIZE);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  static std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) ROLE_CHECK(aclrtLaunchHostFunc(stream, Count, &ran) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS && ran.load() == 100);
  std::fprintf(stderr, "finished\n");
  return nullptr;
}
[[noreturn]] void LeaveMainTo(bool first_use) {
  if (first_use) ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  pthread_t thread{};
  ROLE_CHECK(pthread_create(&thread, nullptr, FinishTheWork, nullptr) == 0);
  pthread_detach(thread);
  pthread_exit(nullptr);
}
MP_ROLE(MainLeavesAfterItsOwnUse) { LeaveMainTo(true); }
MP_ROLE(MainLeavesWithoutUse) { LeaveMainTo(false); }
MP_ROLE(MainIsTheLastToLeave) {
  FinishTheWork(nullptr);
  pthread_exit(nullptr);
}
TEST(LeavingProcess, AMainThatLeavesByPthreadExitEndsWithTheLastThread) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own that never ends, so no other is the last";
#endif
  for (const char* role : {"MainLeavesAfterItsOwnUse", "MainLeavesWithoutUse", "MainIsTheLastToLeave"}) {
    const ChildResult result = RunRole(role, {}, milliseconds(30000));
    EXPECT_EQ(result.exit_code, 0) << role << ": " << result.output;
    EXPECT_NE(result.output.find("finished"), std::string::npos) << role << ": " << result.output;
  }
}

}  // namespace

MP_TEST_MAIN()

// SPDX-License-Identifier: Apache-2.0
// The end of a process. Issue 3: "frees and destroys after aclFinalize, from static destructors too, are harmless".
#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

// What a program leaves to its static destructors: one of each kind of handle.
struct Leftovers {
  aclrtStream stream = nullptr;
  aclrtStream busy = nullptr;
  aclrtEvent event = nullptr;
  aclrtContext context = nullptr;
  aclrtNotify notify = nullptr;
  void* memory = nullptr;
  void* pinned = nullptr;
  bool armed = false;

  void Make() {
    ROLE_INIT();
    ROLE_CHECK(aclrtCreateContext(&context, 0) == ACL_SUCCESS);
    ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
    ROLE_CHECK(aclrtCreateStream(&busy) == ACL_SUCCESS);
    ROLE_CHECK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS);
    ROLE_CHECK(aclrtCreateNotify(&notify, 0) == ACL_SUCCESS);
    ROLE_CHECK(aclrtMalloc(&memory, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    ROLE_CHECK(aclrtMallocHost(&pinned, 1 << 20) == ACL_SUCCESS);
    ROLE_CHECK(Launch(stream, [] {}) == ACL_SUCCESS);
    ROLE_CHECK(aclrtRecordEvent(event, stream) == ACL_SUCCESS);
    armed = true;
  }
  void Destroy() {
    ROLE_CHECK(aclrtFree(memory) == ACL_SUCCESS);
    ROLE_CHECK(aclrtFreeHost(pinned) == ACL_SUCCESS);
    ROLE_CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS);
    ROLE_CHECK(aclrtDestroyNotify(notify) == ACL_SUCCESS);
    ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
    ROLE_CHECK(aclrtDestroyStreamForce(busy) == ACL_SUCCESS);
    ROLE_CHECK(aclrtDestroyContext(context) == ACL_SUCCESS);
    ROLE_CHECK(aclrtFree(memory) != ACL_SUCCESS);  // twice is still an error, not a crash
    ROLE_CHECK(aclrtDestroyStream(stream) != ACL_SUCCESS);
    armed = false;
  }
  ~Leftovers() {
    if (!armed) return;
    Destroy();
    std::fprintf(stderr, "left in good order\n");
  }
};

Leftovers g_leftovers;  // constructed before the library's own objects, so destroyed after them

MP_ROLE(static_destructors) {
  g_leftovers.Make();
  return 0;
}

MP_ROLE(after_finalize) {
  g_leftovers.Make();
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  ROLE_CHECK(aclFinalize() == ACL_ERROR_REPEAT_FINALIZE);  // docs/compat.md, "What clients rely on": 100037
  g_leftovers.Destroy();
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS);
  return 0;
}

MP_ROLE(static_after_finalize) {
  g_leftovers.Make();
  ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  return 0;
}

MP_ROLE(after_reset) {
  g_leftovers.Make();
  aclrtStream in_default = nullptr;
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS && aclrtCreateStream(&in_default) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDeviceForce(0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDestroyStream(in_default) == ACL_ERROR_RT_INVALID_HANDLE);  // it went with the reset
  g_leftovers.Destroy();
  ROLE_CHECK(aclFinalize() == ACL_SUCCESS);
  return 0;
}

// Ends while workers, pollers and host functions are busy.
MP_ROLE(busy_exit) {
  ROLE_INIT();
  static std::atomic<uint64_t> word{0};
  static void* pinned = nullptr;
  ROLE_CHECK(aclrtMallocHost(&pinned, 64) == ACL_SUCCESS);
  for (int i = 0; i < 20; ++i) {
    aclrtStream stream = nullptr;
    ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
    if (i % 3 == 0) ROLE_CHECK(aclrtValueWait(pinned, 77, ACL_STREAM_WAIT_VALUE_EQ, stream) == ACL_SUCCESS);
    if (i % 3 == 1) {
      ROLE_CHECK(aclrtLaunchHostFunc(
                     stream, [](void*) { std::this_thread::sleep_for(std::chrono::seconds(30)); }, nullptr) ==
                 ACL_SUCCESS);
    }
    for (int k = 0; k < 100; ++k) {
      ROLE_CHECK(millpond_launch(
                     stream, "Spin", [](void*) { word.fetch_add(1); }, nullptr) == ACL_SUCCESS);
    }
  }
  return 0;
}

MP_ROLE(quick_exit) {
  g_leftovers.Make();
  g_leftovers.armed = false;
  std::quick_exit(0);
}

// A thread outlives main and calls on.
MP_ROLE(late_thread) {
  g_leftovers.Make();
  g_leftovers.armed = false;
  std::thread([] {
    if (aclrtSetDevice(0) != ACL_SUCCESS) return;
    for (;;) {
      aclrtStream stream = nullptr;
      if (aclrtCreateStream(&stream) != ACL_SUCCESS) return;
      (void)Launch(stream, [] {});
      (void)aclrtDestroyStream(stream);
    }
  }).detach();
  std::this_thread::sleep_for(milliseconds(5));
  return 0;
}

TEST(Exit, StaticDestructorsMayFreeAndDestroy) {
  const ChildResult child = ExpectRole("static_destructors");
  EXPECT_NE(child.output.find("left in good order"), std::string::npos) << child.output;
}

TEST(Exit, FreesAndDestroysAfterFinalizeSucceed) { ExpectRole("after_finalize"); }

TEST(Exit, StaticDestructorsAfterFinalizeToo) {
  const ChildResult child = ExpectRole("static_after_finalize");
  EXPECT_NE(child.output.find("left in good order"), std::string::npos) << child.output;
}

TEST(Exit, FreesAndDestroysAfterAForcedReset) { ExpectRole("after_reset"); }

TEST(Exit, AProcessMayExitWithWorkInProgress) {
  for (int round = 0; round < 3; ++round) {
    ExpectRole("busy_exit", {}, milliseconds(20000));
  }
}

TEST(Exit, QuickExitAndLateThreads) {
  for (const char* role : {"quick_exit", "late_thread"}) {
    ExpectRole(role);
  }
}

// The same under the seeded scheduler, whose tasks run inside the client's calls.
TEST(Exit, SeededSchedulerEndsAsWell) {
  for (const char* role : {"static_destructors", "after_finalize", "after_reset", "busy_exit"}) {
    ExpectRole(role, {{"MILLPOND_SEED", "7"}});
  }
}

}  // namespace

MP_TEST_MAIN()

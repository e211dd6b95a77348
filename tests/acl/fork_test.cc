// SPDX-License-Identifier: Apache-2.0
// Fork: a child of a process that has opened the device is refused everything, immediately, and does no harm. Issue 3:
// "a forked child gets an error, not a hang or a shared write".
#include <sys/wait.h>

#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

// Runs `body` in a forked child; its exit code, or -1000 when it hangs.
template <class Body>
int InForkedChild(Body body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  const auto until = Clock::now() + milliseconds(30000);
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > until) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1000;
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// 0 when every call answers 507033; else the number of the first that does not.
int RefusedEverywhere(aclrtStream stream, aclrtEvent event, aclrtContext context, void* memory, void* pinned) {
  int32_t device = 0;
  uint32_t count = 0;
  aclrtStream new_stream = nullptr;
  aclrtEvent new_event = nullptr;
  aclrtContext new_context = nullptr;
  void* new_memory = nullptr;
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  char host[64] = {};
  const int codes[] = {
      aclInit(nullptr),
      aclrtGetDevice(&device),
      aclrtGetDeviceCount(&count),
      aclrtSetDevice(0),
      aclrtCreateStream(&new_stream),
      aclrtCreateEvent(&new_event),
      aclrtCreateContext(&new_context, 0),
      aclrtSetCurrentContext(context),
      aclrtMalloc(&new_memory, 64, ACL_MEM_MALLOC_HUGE_FIRST),
      aclrtMallocHost(&new_memory, 64),
      aclrtMemcpy(host, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST),
      aclrtMemcpy(memory, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE),
      aclrtMemcpyAsync(memory, 64, pinned, 64, ACL_MEMCPY_HOST_TO_DEVICE, stream),
      aclrtMemset(memory, 64, 1, 64),
      aclrtFree(memory),
      aclrtFreeHost(pinned),
      aclrtSynchronizeStream(stream),
      aclrtSynchronizeDevice(),
      aclrtStreamQuery(stream, &status),
      aclrtRecordEvent(event, stream),
      aclrtStreamWaitEvent(stream, event),
      aclrtSynchronizeEvent(event),
      aclrtDestroyEvent(event),
      aclrtDestroyStream(stream),
      aclrtDestroyStreamForce(stream),
      millpond_launch(
          stream, "Never", [](void*) {}, nullptr),
      aclrtResetDevice(0),
      aclrtResetDeviceForce(0),
      aclFinalize(),
  };
  int number = 0;
  for (const int code : codes) {
    ++number;
    if (code != ACL_ERROR_RT_DEV_SETUP_ERROR) return number;
  }
  const char* message = aclGetRecentErrMsg();
  return message != nullptr && std::strstr(message, "fork") != nullptr ? 0 : 100;
}

class ForkTest : public AclTest {};

TEST_F(ForkTest, TheChildIsRefusedEverythingAndTheParentContinues) {
  EXPECT_EQ(ACL_ERROR_RT_DEV_SETUP_ERROR, 507033);
  aclrtStream stream = NewStream();
  aclrtEvent event = NewEvent();
  aclrtContext context = nullptr;
  ACL_OK(aclrtGetCurrentContext(&context));
  DeviceBuffer device(64);
  PinnedBuffer pinned(64);
  std::memset(pinned.get(), 7, 64);
  ACL_OK(aclrtMemcpy(device.get(), 64, pinned.get(), 64, ACL_MEMCPY_HOST_TO_DEVICE));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(InForkedChild([&] { return RefusedEverywhere(stream, event, context, device.get(), pinned.get()); }), 0);
    std::atomic<bool> ran{false};
    ACL_OK(Launch(stream, [&] { ran = true; }));
    ACL_OK(aclrtRecordEvent(event, stream));
    ACL_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(ran.load());
  }
  char back[64] = {};
  ACL_OK(aclrtMemcpy(back, 64, device.get(), 64, ACL_MEMCPY_DEVICE_TO_HOST));
  for (const char byte : back) ASSERT_EQ(byte, 7);
}

// Forked while workers run, other threads launch and locks are held: still no hang.
TEST_F(ForkTest, ForkUnderLoadNeverHangs) {
  aclrtContext context = nullptr;
  ACL_OK(aclrtGetCurrentContext(&context));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> ran{0};
  std::atomic<uint64_t> launched{0};
  std::vector<std::thread> launchers;
  for (int i = 0; i < 2; ++i) {
    launchers.emplace_back([&] {
      ACL_OK(aclrtSetCurrentContext(context));
      aclrtStream stream = nullptr;
      ACL_OK(aclrtCreateStream(&stream));
      while (!stop.load()) {
        for (int k = 0; k < 50; ++k) {
          ACL_OK(millpond_launch(
              stream, "Count", [](void* count) { static_cast<std::atomic<uint64_t>*>(count)->fetch_add(1); }, &ran));
          launched.fetch_add(1);
        }
        void* memory = nullptr;
        ACL_OK(aclrtMalloc(&memory, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
        ACL_OK(aclrtFree(memory));
        EXPECT_NE(aclrtFree(nullptr), ACL_SUCCESS);  // the error path takes locks of its own, the C library's too
        ACL_OK(aclrtSynchronizeStream(stream));
      }
      ACL_OK(aclrtDestroyStream(stream));
    });
  }
  for (int i = 0; i < (MP_SANITIZED ? 5 : 30); ++i) {
    EXPECT_EQ(InForkedChild([&] {
                aclrtStream stream = nullptr;
                return aclrtCreateStream(&stream) == ACL_ERROR_RT_DEV_SETUP_ERROR &&
                               aclrtSynchronizeDevice() == ACL_ERROR_RT_DEV_SETUP_ERROR
                           ? 0
                           : 1;
              }),
              0);
  }
  stop = true;
  for (std::thread& launcher : launchers) launcher.join();
  EXPECT_EQ(ran.load(), launched.load());
}

// A process that forks before its first call may use the device in both.
MP_ROLE(fork_first) {
  const pid_t child = fork();
  ROLE_CHECK(child >= 0);
  ROLE_INIT();
  std::atomic<bool> ran{false};
  ROLE_CHECK(Launch(nullptr, [&] { ran = true; }) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS && ran.load());
  if (child == 0) _exit(0);
  int status = 1;
  ROLE_CHECK(waitpid(child, &status, 0) == child && status == 0);
  return 0;
}

TEST(ForkFirst, BothProcessesHaveADevice) { ExpectRole("fork_first"); }

// In a forked child only the forking thread goes on. What the others' stacks and thread-locals held cannot be reached
// there any more, which a leak checker in the child takes for leaks; in the parent it stays on.
bool is_forked_child = false;

// A forked child that ends by exit() runs the destructors and exit handlers of the parent's program: harmless, and
// nothing is written twice.
MP_ROLE(fork_exit) {
  ROLE_INIT();
  ROLE_CHECK(Launch(
                 nullptr, [] {}, "ParentTask") == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    is_forked_child = true;
    std::exit(0);
  }
  int status = 1;
  ROLE_CHECK(waitpid(child, &status, 0) == child && status == 0);
  ROLE_CHECK(Launch(
                 nullptr, [] {}, "LaterTask") == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(nullptr) == ACL_SUCCESS);
  return 0;
}

size_t Occurrences(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(ForkExit, TheChildsExitWritesNothingOfTheParents) {
  char path[] = "fork_trace_XXXXXX";
  const int descriptor = mkstemp(path);
  ASSERT_GE(descriptor, 0);
  close(descriptor);
  ExpectRole("fork_exit", {{"MILLPOND_TRACE", path}});
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  unlink(path);
  EXPECT_EQ(Occurrences(text, "\"traceEvents\""), 1u);
  EXPECT_GE(Occurrences(text, "ParentTask"), 1u);
  EXPECT_EQ(Occurrences(text, "LaterTask"), Occurrences(text, "ParentTask"));
}

}  // namespace

extern "C" int __lsan_is_turned_off();  // LeakSanitizer asks before it looks
extern "C" int __lsan_is_turned_off() { return is_forked_child ? 1 : 0; }

MP_TEST_MAIN()

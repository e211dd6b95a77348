// SPDX-License-Identifier: Apache-2.0
// Shared by the black-box suites of this folder. Only public headers: a client could write these programs.
#ifndef MILLPOND_TESTS_ACL_ACL_TEST_H_
#define MILLPOND_TESTS_ACL_ACL_TEST_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "millpond/launch.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MP_SANITIZED 1
#else
#define MP_SANITIZED 0
#endif

namespace acl_test {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

inline std::string RecentMessage() {
  const char* message = aclGetRecentErrMsg();
  return message != nullptr ? message : "";
}

// A call that must succeed; a failure shows the library's message.
#define ACL_OK(call)                                                                                               \
  do {                                                                                                             \
    const int acl_ok_code = (call);                                                                                \
    EXPECT_EQ(acl_ok_code, ACL_SUCCESS) << #call << ": " << (acl_ok_code != 0 ? ::acl_test::RecentMessage() : ""); \
  } while (0)
#define ACL_REQUIRE_OK(call)                                                                                       \
  do {                                                                                                             \
    const int acl_ok_code = (call);                                                                                \
    ASSERT_EQ(acl_ok_code, ACL_SUCCESS) << #call << ": " << (acl_ok_code != 0 ? ::acl_test::RecentMessage() : ""); \
  } while (0)
// A call that must fail with exactly this code.
#define ACL_FAILS(code, call) EXPECT_EQ((call), (code)) << #call

// Work of a test's own as a task: what a kernel is on the real device.
inline int Launch(aclrtStream stream, std::function<void()> work, const char* name = "TestTask") {
  auto* boxed = new std::function<void()>(std::move(work));
  const int code = millpond_launch(
      stream, name,
      [](void* argument) {
        // Kept alive by a unique_ptr so that a task that throws does not leak.
        const std::unique_ptr<std::function<void()>> mine(static_cast<std::function<void()>*>(argument));
        (*mine)();
      },
      boxed);
  if (code != ACL_SUCCESS) delete boxed;
  return code;
}

// Waits for a condition another thread brings about; false after `limit`.
inline bool Eventually(const std::function<bool()>& condition, milliseconds limit = milliseconds(20000)) {
  const auto until = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

// A gate at which a task waits until the test opens it. Occupies the thread that runs the task. What the task looks at
// outlives the Gate: the task may still be on its way out when the test's function ends.
class Gate {
 public:
  ~Gate() { Open(); }
  void Open() { state_.open.store(true); }
  void Pass() { state_.Pass(); }
  bool WaitEntered(int count = 1) {
    return Eventually([&] { return state_.entered.load() >= count; });
  }
  int LaunchOn(aclrtStream stream) {
    return millpond_launch(
        stream, "Gate", [](void* state) { static_cast<State*>(state)->Pass(); }, &state_);
  }

 private:
  struct State {
    std::atomic<bool> open{false};
    std::atomic<int> entered{0};
    void Pass() {
      entered.fetch_add(1);
      while (!open.load()) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  };
  static State& NewState() {
    static std::mutex& lock = *new std::mutex;
    static std::deque<State>& all = *new std::deque<State>;
    std::lock_guard guard(lock);
    return all.emplace_back();
  }
  State& state_ = NewState();
};

// A word in pinned host memory that holds a stream by aclrtValueWait: it parks the stream and no thread.
class Hold {
 public:
  Hold() {
    void* memory = nullptr;
    EXPECT_EQ(aclrtMallocHost(&memory, 64), ACL_SUCCESS) << RecentMessage();
    word_ = static_cast<uint64_t*>(memory);
    std::atomic_ref<uint64_t>(*word_).store(0);
  }
  ~Hold() {
    Release();
    EXPECT_EQ(aclrtFreeHost(word_), ACL_SUCCESS);
  }
  Hold(const Hold&) = delete;
  int On(aclrtStream stream) { return aclrtValueWait(word_, 1, ACL_STREAM_WAIT_VALUE_EQ, stream); }
  void Release() { std::atomic_ref<uint64_t>(*word_).store(1); }

 private:
  uint64_t* word_ = nullptr;
};

class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t size) : size_(size) {
    EXPECT_EQ(aclrtMalloc(&address_, size, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS) << RecentMessage();
  }
  ~DeviceBuffer() { EXPECT_EQ(aclrtFree(address_), ACL_SUCCESS); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  void* get() const { return address_; }
  size_t size() const { return size_; }

 private:
  void* address_ = nullptr;
  size_t size_;
};

class PinnedBuffer {
 public:
  explicit PinnedBuffer(size_t size) : size_(size) {
    EXPECT_EQ(aclrtMallocHost(&address_, size), ACL_SUCCESS) << RecentMessage();
  }
  ~PinnedBuffer() { EXPECT_EQ(aclrtFreeHost(address_), ACL_SUCCESS); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  void* get() const { return address_; }
  uint64_t* words() const { return static_cast<uint64_t*>(address_); }
  size_t size() const { return size_; }

 private:
  void* address_ = nullptr;
  size_t size_;
};

template <class T = float>
std::vector<T> ReadDevice(const void* address, size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(aclrtMemcpy(values.data(), count * sizeof(T), address, count * sizeof(T), ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_SUCCESS)
      << RecentMessage();
  return values;
}

// aclInit and device 0 around each test; what the test made by NewStream and NewEvent is destroyed after it.
class AclTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ACL_REQUIRE_OK(aclInit(nullptr));
    ACL_REQUIRE_OK(aclrtSetDevice(0));
  }
  void TearDown() override {
    for (aclrtEvent event : events_) ACL_OK(aclrtDestroyEvent(event));
    for (aclrtStream stream : streams_) ACL_OK(aclrtDestroyStream(stream));
    ACL_OK(aclrtResetDeviceForce(0));
    ACL_OK(aclFinalize());
  }
  aclrtStream NewStream() {
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS) << RecentMessage();
    streams_.push_back(stream);
    return stream;
  }
  aclrtStream NewStream(uint32_t priority, uint32_t flags) {
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStreamWithConfig(&stream, priority, flags), ACL_SUCCESS) << RecentMessage();
    streams_.push_back(stream);
    return stream;
  }
  aclrtEvent NewEvent() {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEvent(&event), ACL_SUCCESS) << RecentMessage();
    events_.push_back(event);
    return event;
  }
  aclrtEvent NewEventWithFlag(uint32_t flag) {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEventWithFlag(&event, flag), ACL_SUCCESS) << RecentMessage();
    events_.push_back(event);
    return event;
  }
  aclrtEvent NewEventEx(uint32_t flag) {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEventExWithFlag(&event, flag), ACL_SUCCESS) << RecentMessage();
    events_.push_back(event);
    return event;
  }
  // True when the stream is still held after a moment.
  static bool Held(aclrtStream stream) {
    return aclrtSynchronizeStreamWithTimeout(stream, 20) == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
  }
  // The test has destroyed it itself.
  void Forget(aclrtStream stream) { std::erase(streams_, stream); }
  void ForgetEvent(aclrtEvent event) { std::erase(events_, event); }

 private:
  std::vector<aclrtStream> streams_;
  std::vector<aclrtEvent> events_;
};

// --- Child processes: some things (environment, exit, fork) need a process of their own ------------------------

struct ChildResult {
  int exit_code = -1;  // minus the signal when one ended it, -1000 when it did not end in time
  std::string output;  // stdout and stderr together
};

using Role = int (*)();
inline std::map<std::string, Role>& Roles() {
  static std::map<std::string, Role> roles;
  return roles;
}
struct RoleEntry {
  RoleEntry(const char* name, Role role) { Roles()[name] = role; }
};

// What a child of this same program does when RunRole names it. Returns the child's exit code.
#define MP_ROLE(name)                                                       \
  static int Role_##name();                                                 \
  static const ::acl_test::RoleEntry role_entry_##name(#name, Role_##name); \
  static int Role_##name()

// A role's assertion: says where and ends the child.
#define ROLE_CHECK(condition)                                                          \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      std::fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #condition, \
                   ::acl_test::RecentMessage().c_str());                               \
      std::fflush(nullptr);                                                            \
      _exit(3);                                                                        \
    }                                                                                  \
  } while (0)

inline std::string ReadAll(int descriptor, Clock::time_point until) {
  std::string output;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now()).count();
    pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (left <= 0 || poll(&waiting, 1, static_cast<int>(left)) == 0) return output;
    char buffer[4096];
    const ssize_t got = read(descriptor, buffer, sizeof(buffer));
    if (got <= 0) return output;
    output.append(buffer, static_cast<size_t>(got));
  }
}

// Runs this program again in the named role, with these variables added (an empty value removes one).
inline ChildResult RunRole(const std::string& role, const std::map<std::string, std::string>& variables = {},
                           milliseconds limit = milliseconds(100000)) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!variables.contains(text.substr(0, text.find('=')))) environment.push_back(text);
  }
  for (const auto& [name, value] : variables) {
    if (!value.empty()) environment.push_back(name + "=" + value);
  }
  std::vector<char*> pointers;
  for (std::string& entry : environment) pointers.push_back(entry.data());
  pointers.push_back(nullptr);

  ChildResult result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return result;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::string program = "/proc/self/exe", flag = "--role", name = role;
  char* arguments[] = {program.data(), flag.data(), name.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, pointers.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed == 0) {
    const auto until = Clock::now() + limit;
    result.output = ReadAll(ends[0], until);
    int status = 0;
    bool ended = false;
    while (!(ended = waitpid(child, &status, WNOHANG) == child) && Clock::now() < until) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    if (!ended) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      result.exit_code = -1000;
    } else {
      result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
  }
  close(ends[0]);
  return result;
}

// The same for a role that must succeed.
inline ChildResult ExpectRole(const std::string& role, const std::map<std::string, std::string>& variables = {},
                              milliseconds limit = milliseconds(100000)) {
  ChildResult result = RunRole(role, variables, limit);
  std::string asked = role;
  for (const auto& [name, value] : variables) asked += " " + name + "=" + value;
  EXPECT_EQ(result.exit_code, 0) << asked << ": " << result.output;
  return result;
}

// What most roles begin with.
#define ROLE_INIT() ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS)

// A value no enumerator has, as a client may well pass; built so that the compiler does not object.
template <class Enum>
Enum Unlisted(int value) {
  volatile int hidden = value;
  return static_cast<Enum>(hidden);
}

inline int TestMain(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--role") {
    const auto role = Roles().find(argv[2]);
    if (role == Roles().end()) {
      std::fprintf(stderr, "no role %s\n", argv[2]);
      return 99;
    }
    return role->second();
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

// In a file that has roles, once.
#define MP_TEST_MAIN() \
  int main(int argc, char** argv) { return ::acl_test::TestMain(argc, argv); }

// The process's threads, and its resident memory in KiB, as the kernel counts them.
inline int64_t StatusField(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field + ":", 0) == 0) return std::stoll(line.substr(field.size() + 1));
  }
  return -1;
}
inline int64_t ThreadCount() { return StatusField("Threads"); }
inline int64_t ResidentKiB() { return StatusField("VmRSS"); }

}  // namespace acl_test

#endif  // MILLPOND_TESTS_ACL_ACL_TEST_H_

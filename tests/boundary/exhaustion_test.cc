// SPDX-License-Identifier: Apache-2.0
// A host that runs out of memory or of threads. Every entry point of the C ABIs is called with each of its requests for
// memory failing; work on streams runs with each request of any thread failing, the runtime's own threads too, once and
// from then on; and each thread that is to be started in turn cannot be. Calls may fail. The process does not end, no
// wait lasts for ever, a task that was accepted runs or its stream tells, and afterwards everything works.
#include <dlfcn.h>
#include <pthread.h>

#include "src/base/failing_new.h"
#include "tests/acl/acl_test.h"
#include "tests/boundary/entry_points.h"

// Threads that cannot be had: this program's pthread_create serves the libraries too.
namespace {
std::atomic<int> g_threads_left{-1};  // below 0: nothing fails
std::atomic<bool> g_thread_refused{false};
}  // namespace

#if !MP_SANITIZED  // a sanitizer has a pthread_create of its own, which it needs
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (g_threads_left.load() >= 0 && g_threads_left.fetch_sub(1) == 0) {
    g_thread_refused = true;
    return EAGAIN;
  }
  return real(thread, attributes, start, argument);
}
#endif

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

// --- Every entry point ---

void Prepare() {
  static_cast<void>(aclInit(nullptr));
  static_cast<void>(aclrtSetDevice(0));
  static_cast<void>(aclGetRecentErrMsg());
}

// Null and 0 for every argument: each is refused, or does something harmless, and making the refusal takes memory.
TEST(Exhaustion, EveryEntryPointOutlivesEachRequestThatFails) {
  // Names in hand: what the loop needs itself must not be what fails.
  const auto entry_points = boundary_test::EntryPoints([](const std::string&) { return true; });
  ASSERT_GT(entry_points.size(), 500u);
  size_t requests = 0;
  for (const auto& [name, function] : entry_points) {
    std::fprintf(stderr, "%s\n", name.c_str());  // the last one before an end
    for (int64_t nth = 0;; ++nth) {
      Prepare();
      const bool reached = failing_new::FailNth(nth, [function = function] {
        static_cast<void>(function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
        static_cast<void>(aclGetRecentErrMsg());
      });
      if (nth > 0 && !reached) break;
      ++requests;
    }
  }
  Prepare();
  ACL_OK(aclrtSynchronizeDevice());
  ACL_OK(aclrtResetDeviceForce(0));
  while (aclFinalize() == ACL_SUCCESS) continue;
  std::printf("%zu entry points, %zu calls\n", entry_points.size(), requests);
}

// --- Work on streams ---

void Nothing(void*) {}
void Throw(void*) { throw 1; }
void Count(void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }

// A sequence of calls that uses every thread of the runtime's. It allocates nothing itself, and waits only for what was
// accepted.
class Work {
 public:
  void SetUp() {
    ACL_REQUIRE_OK(aclrtMallocHost(&word_, 64));
    ACL_REQUIRE_OK(aclrtMalloc(&device_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    ACL_REQUIRE_OK(aclrtMallocHost(&pinned_, kBytes));
  }
  // The same where a call may fail.
  bool TrySetUp() {
    return (word_ != nullptr || aclrtMallocHost(&word_, 64) == ACL_SUCCESS) &&
           (device_ != nullptr || aclrtMalloc(&device_, kBytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS) &&
           (pinned_ != nullptr || aclrtMallocHost(&pinned_, kBytes) == ACL_SUCCESS);
  }
  void TearDown() {
    ACL_OK(aclrtFreeHost(word_));
    ACL_OK(aclrtFreeHost(pinned_));
    ACL_OK(aclrtFree(device_));
  }
  // Whether every call and task succeeded but the one that must not.
  bool Run() {
    failed_ = 0;
    accepted_ = ran_ = 0;
    std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(word_)).store(0);
    aclrtStream first = nullptr, second = nullptr;
    aclrtEvent event = nullptr;
    aclrtNotify notify = nullptr;
    Do(aclrtSetExceptionInfoCallback([](aclrtExceptionInfo*) {}));
    Do(aclrtCreateStream(&first));
    Do(aclrtCreateStream(&second));
    Do(aclrtCreateEvent(&event));
    Do(aclrtCreateNotify(&notify, 0));
    if (first != nullptr && second != nullptr) Launch(first, second, event, notify);
    std::atomic_ref<uint64_t>(*static_cast<uint64_t*>(word_)).store(1);
    if (first != nullptr) Settle(first);
    if (second != nullptr) Settle(second);
    Do(aclrtSetExceptionInfoCallback(nullptr));
    if (event != nullptr) Destroy([=] { return aclrtDestroyEvent(event); });
    if (notify != nullptr) Destroy([=] { return aclrtDestroyNotify(notify); });
    if (first != nullptr) Destroy([=] { return aclrtDestroyStream(first); });
    if (second != nullptr) Destroy([=] { return aclrtDestroyStream(second); });
    return failed_ == 0;
  }
  int accepted() const { return accepted_; }
  int ran() const { return ran_.load(); }

 private:
  static constexpr size_t kBytes = 4096;

  void Do(int code) { failed_ += code != ACL_SUCCESS ? 1 : 0; }
  void Accept(int code) {
    Do(code);
    accepted_ += code == ACL_SUCCESS ? 1 : 0;
  }
  void Launch(aclrtStream first, aclrtStream second, aclrtEvent event, aclrtNotify notify) {
    Do(aclrtValueWait(word_, 1, ACL_STREAM_WAIT_VALUE_EQ, first));
    for (int i = 0; i < 70; ++i) Accept(millpond_launch(first, "Count", Count, &ran_));  // more than one piece of queue
    Do(aclrtMemsetAsync(device_, kBytes, 1, kBytes, first));
    Do(aclrtMemcpyAsync(pinned_, kBytes, device_, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, first));
    if (event != nullptr) {
      Do(aclrtRecordEvent(event, first));
      Do(aclrtStreamWaitEvent(second, event));
    }
    if (notify != nullptr && aclrtRecordNotify(notify, first) == ACL_SUCCESS) {
      Do(aclrtWaitAndResetNotify(notify, second, 0));
    }
    Accept(millpond_launch(second, "Count", Count, &ran_));
    Accept(aclrtLaunchHostFunc(second, Count, &ran_));
    Do(aclrtLaunchHostFunc(first, Nothing, nullptr));
    if (millpond_launch(second, "Throws", Throw, nullptr) == ACL_SUCCESS) throws_ = second;
    static_cast<void>(aclrtLaunchHostFunc(second, Throw, nullptr));  // told after the other
  }
  // Until nothing is left to run: a wait that fails for want of memory is made again.
  void Settle(aclrtStream stream) {
    const int code = aclrtSynchronizeStream(stream);
    if (stream != throws_ || code != ACL_ERROR_RT_AICORE_EXCEPTION) Do(code);
    if (stream == throws_ && code == ACL_SUCCESS) ++failed_;  // the failure got lost
    if (stream == throws_) throws_ = nullptr;
    failing_new::everywhere.on = false;  // what is left is told when there is memory again
    while (aclrtSynchronizeStream(stream) != ACL_SUCCESS) ++failed_;
  }
  // What could not be destroyed for want of memory can be later.
  template <class Call>
  void Destroy(const Call& call) {
    if (call() == ACL_SUCCESS) return;
    ++failed_;
    failing_new::everywhere.on = false;
    static_cast<void>(call());
  }

  void* word_ = nullptr;
  void* device_ = nullptr;
  void* pinned_ = nullptr;
  aclrtStream throws_ = nullptr;
  int failed_ = 0;
  int accepted_ = 0;
  std::atomic<int> ran_{0};
};

class ExhaustionTest : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    work_.SetUp();
    ASSERT_TRUE(work_.Run()) << RecentMessage();
    ACL_OK(aclrtGetStreamAvailableNum(&streams_));
  }
  void TearDown() override {
    work_.TearDown();
    AclTest::TearDown();
  }
  void FailEach(bool for_good) {
    int in_a_row = 0;  // with several threads the count of requests is not quite the same each time
    int64_t nth = 1;
    for (; in_a_row < 5; ++nth) {
      in_a_row =
          failing_new::FailNthAnywhere(nth, for_good, [this] { static_cast<void>(work_.Run()); }) ? 0 : in_a_row + 1;
      ASSERT_EQ(work_.ran(), work_.accepted()) << "request " << nth;
      uint32_t streams = 0;
      ACL_OK(aclrtGetStreamAvailableNum(&streams));
      ASSERT_EQ(streams, streams_) << "request " << nth;
    }
    std::printf("%lld requests\n", static_cast<long long>(nth - in_a_row - 1));
    EXPECT_TRUE(work_.Run()) << RecentMessage();
  }

  Work work_;
  uint32_t streams_ = 0;
};

TEST_F(ExhaustionTest, EachRequestOfAnyThreadMayFail) { FailEach(false); }
TEST_F(ExhaustionTest, AllRequestsFromAnyOneOnMayFail) { FailEach(true); }

TEST_F(ExhaustionTest, AFailedTaskIsToldOnceThereIsMemoryAgain) {
  aclrtStream stream = NewStream();
  Gate gate;
  ACL_OK(gate.LaunchOn(stream));
  ACL_OK(millpond_launch(stream, "Throws", Throw, nullptr));
  ASSERT_TRUE(gate.WaitEntered());
  int without = 0;
  failing_new::FailNthAnywhere(1, true, [&] {
    gate.Open();
    without = aclrtSynchronizeStream(stream);
  });
  EXPECT_NE(without, ACL_SUCCESS);
  const int with = aclrtSynchronizeStream(stream);
  // Told by one of them, with its name where there was memory for it.
  EXPECT_TRUE(without == ACL_ERROR_RT_AICORE_EXCEPTION || with == ACL_ERROR_RT_AICORE_EXCEPTION)
      << without << " " << with;
  if (with != ACL_SUCCESS) {
    EXPECT_NE(RecentMessage().find("Throws"), std::string::npos);
  }
  ACL_OK(aclrtSynchronizeStream(stream));
}

TEST_F(ExhaustionTest, TheRecentMessageIsKeptUntilItCanBeHandedOut) {
  static_cast<void>(aclGetRecentErrMsg());
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMalloc(nullptr, 1, ACL_MEM_MALLOC_HUGE_FIRST));
  std::string meanwhile;
  const char* text = nullptr;
  failing_new::FailNth(1, [&] { text = aclGetRecentErrMsg(); });
  ASSERT_NE(text, nullptr);
  EXPECT_NE(std::string(text).find("out of memory"), std::string::npos) << text;
  EXPECT_NE(RecentMessage().find("aclrtMalloc"), std::string::npos);
}

// A listener whose own memory runs out loses records; the calls it hears of do not fail.
MP_ROLE(Traced) {
  Work work;
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  work.SetUp();
  ROLE_CHECK(work.Run());
  for (int64_t nth = 1, in_a_row = 0; in_a_row < 5; ++nth) {
    in_a_row = failing_new::FailNthAnywhere(nth, false, [&] { static_cast<void>(work.Run()); }) ? 0 : in_a_row + 1;
    ROLE_CHECK(work.ran() == work.accepted());
  }
  ROLE_CHECK(work.Run());
  return 0;
}
TEST(ExhaustionTraced, EachRequestMayFailWhileATraceIsWritten) {
  const std::string file = ::testing::TempDir() + "exhaustion_" + std::to_string(getpid()) + ".json";
  const ChildResult result = RunRole("Traced", {{"MILLPOND_TRACE", file}});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  unlink(file.c_str());
}

// What is made once is made at the first use: each request fails in a process of its own.
MP_ROLE(FirstUse) {
  static Work work;
  const bool fired = failing_new::FailNthAnywhere(std::atoi(std::getenv("MILLPOND_TEST_REQUEST")), false, [] {
    static_cast<void>(aclInit(nullptr));
    static_cast<void>(aclrtSetDevice(0));
    static_cast<void>(aclGetRecentErrMsg());
    if (work.TrySetUp()) static_cast<void>(work.Run());
  });
  Prepare();
  ROLE_CHECK(work.TrySetUp());
  const bool fine = work.Run();
  ROLE_CHECK(fine);
  return fired ? 10 : 0;
}
TEST(ExhaustionFirstUse, EachRequestOfTheFirstUseMayFail) {
#if defined(__SANITIZE_THREAD__)
  constexpr int kStep = 16;  // a process takes a second to start there, and there are hundreds of requests
#else
  constexpr int kStep = 1;
#endif
  int nth = 1;
  for (;; nth += kStep) {
    const ChildResult result = RunRole("FirstUse", {{"MILLPOND_TEST_REQUEST", std::to_string(nth)}});
    ASSERT_TRUE(result.exit_code == 10 || result.exit_code == 0)
        << "request " << nth << ": " << result.exit_code << " " << result.output;
    if (result.exit_code == 0) break;
  }
  EXPECT_GT(nth, 50);
  std::printf("%d requests\n", nth - 1);
}

// --- Threads ---

MP_ROLE(NoThread) {
  g_threads_left = std::atoi(std::getenv("MILLPOND_TEST_THREAD"));
  static_cast<void>(aclInit(nullptr));
  int tries = 0;
  while (aclrtSetDevice(0) != ACL_SUCCESS) {  // told at once, and the next time it works
    ROLE_CHECK(RecentMessage().find("cannot start") != std::string::npos);
    ROLE_CHECK(++tries < 3);
  }
  Work work;
  work.SetUp();
  static_cast<void>(work.Run());
  ROLE_CHECK(work.ran() == work.accepted());
  const bool refused = g_thread_refused;
  g_threads_left = -1;
  ROLE_CHECK(work.Run());
  return refused ? 10 : 0;
}
TEST(ExhaustionThreads, EachThreadInTurnCannotBeStarted) {
  if (MP_SANITIZED) GTEST_SKIP() << "a sanitizer's pthread_create cannot be replaced";
  for (const char* seed : {"", "7"}) {
    int refused = 0;
    for (int nth = 0;; ++nth) {
      const ChildResult result =
          RunRole("NoThread", {{"MILLPOND_TEST_THREAD", std::to_string(nth)}, {"MILLPOND_SEED", seed}});
      ASSERT_TRUE(result.exit_code == 10 || result.exit_code == 0) << "thread " << nth << ": " << result.output;
      if (result.exit_code == 0) break;
      ++refused;
    }
    EXPECT_GT(refused, 2);
  }
}

}  // namespace

MP_TEST_MAIN()

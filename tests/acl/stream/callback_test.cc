// SPDX-License-Identifier: Apache-2.0
// The client's code in streams: callbacks, host functions, exception callbacks.
#include <pthread.h>

#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

// A client thread that processes callbacks until told to stop, as CANN's chapter on callbacks lays it out.
class ReportThread {
 public:
  ReportThread()
      : thread_([this] {
          id_.store(static_cast<uint64_t>(pthread_self()));
          while (!stop_.load()) {
            const int code = aclrtProcessReport(20);
            if (code == ACL_SUCCESS) served_.fetch_add(1);
            if (code == ACL_ERROR_RT_THREAD_SUBSCRIBE) std::this_thread::sleep_for(milliseconds(1));
          }
        }) {
    EXPECT_TRUE(Eventually([&] { return id_.load() != 0; }));
  }
  ~ReportThread() { Stop(); }
  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  uint64_t id() const { return id_.load(); }
  int served() const { return served_.load(); }

 private:
  std::atomic<uint64_t> id_{0};
  std::atomic<bool> stop_{false};
  std::atomic<int> served_{0};
  std::thread thread_;
};

struct Call {
  std::atomic<int> count{0};
  std::atomic<uint64_t> thread{0};
  std::atomic<bool> release{true};
  std::string name;  // the thread's, as the kernel knows it

  static void Run(void* self) {
    auto* call = static_cast<Call*>(self);
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof(name));
    call->name = name;
    call->thread.store(static_cast<uint64_t>(pthread_self()));
    call->count.fetch_add(1);
    while (!call->release.load()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
};

class CallbackTest : public AclTest {};
class HostFuncTest : public AclTest {};
class ExceptionTest : public AclTest {};

// Page "aclrtLaunchCallback": runs in the thread subscribed for the stream, once per launch, in stream order.
TEST_F(CallbackTest, RunsOnTheSubscribedThreadOnly) {
  aclrtStream stream = NewStream();
  ReportThread reporter;
  ACL_REQUIRE_OK(aclrtSubscribeReport(reporter.id(), stream));
  Call call;
  for (int i = 0; i < 10; ++i) ACL_OK(aclrtLaunchCallback(Call::Run, &call, ACL_CALLBACK_BLOCK, stream));
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(call.count.load(), 10);
  EXPECT_EQ(call.thread.load(), reporter.id());
  ACL_OK(aclrtUnSubscribeReport(reporter.id(), stream));
}

// CANN's chapter on callbacks, blockType: BLOCK holds the stream's later tasks until the function has returned,
// NO_BLOCK does not.
TEST_F(CallbackTest, BlockingHoldsTheStreamAndTheOtherDoesNot) {
  aclrtStream stream = NewStream();
  ReportThread reporter;
  ACL_REQUIRE_OK(aclrtSubscribeReport(reporter.id(), stream));
  Call call;
  call.release = false;
  std::atomic<bool> later{false};
  ACL_OK(aclrtLaunchCallback(Call::Run, &call, ACL_CALLBACK_BLOCK, stream));
  ACL_OK(Launch(stream, [&] { later = true; }));
  EXPECT_TRUE(Eventually([&] { return call.count.load() == 1; }));
  ACL_FAILS(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(stream, 20));
  EXPECT_FALSE(later.load());
  call.release = true;
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_TRUE(later.load());

  call.release = false;
  later = false;
  ACL_OK(aclrtLaunchCallback(Call::Run, &call, ACL_CALLBACK_NO_BLOCK, stream));
  ACL_OK(Launch(stream, [&] { later = true; }));
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_TRUE(later.load());
  EXPECT_TRUE(Eventually([&] { return call.count.load() == 2; }));
  call.release = true;
  reporter.Stop();  // the callback has returned before its data is destroyed
  ACL_OK(aclrtUnSubscribeReport(reporter.id(), stream));
}

// Page "aclrtSubscribeReport": one thread may serve several streams of a device, a stream has one thread.
TEST_F(CallbackTest, OneThreadServesManyStreamsAndAStreamHasOne) {
  ReportThread reporter;
  ReportThread other;
  std::vector<aclrtStream> streams = {NewStream(), NewStream(), NewStream()};
  Call call;
  for (aclrtStream stream : streams) {
    ACL_OK(aclrtSubscribeReport(reporter.id(), stream));
    ACL_FAILS(ACL_ERROR_RT_STREAM_SUBSCRIBE, aclrtSubscribeReport(other.id(), stream));
    ACL_OK(aclrtLaunchCallback(Call::Run, &call, ACL_CALLBACK_BLOCK, stream));
  }
  for (aclrtStream stream : streams) ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(call.count.load(), 3);
  EXPECT_EQ(call.thread.load(), reporter.id());
  ACL_FAILS(ACL_ERROR_RT_THREAD_SUBSCRIBE, aclrtUnSubscribeReport(other.id(), streams[0]));
  for (aclrtStream stream : streams) ACL_OK(aclrtUnSubscribeReport(reporter.id(), stream));
  ACL_FAILS(ACL_ERROR_RT_STREAM_SUBSCRIBE, aclrtUnSubscribeReport(reporter.id(), streams[0]));
}

// docs/compat.md, "What clients rely on", aclrtProcessReport: 0 and less than -1 are 100000, no subscription 107012,
// nothing in time 507012.
TEST_F(CallbackTest, ProcessReportAnswersTheDocumentedCodes) {
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtProcessReport(0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtProcessReport(-2));
  ACL_FAILS(ACL_ERROR_RT_THREAD_SUBSCRIBE, aclrtProcessReport(10));
  EXPECT_EQ(ACL_ERROR_RT_THREAD_SUBSCRIBE, 107012);
  aclrtStream stream = NewStream();
  const auto self = static_cast<uint64_t>(pthread_self());
  ACL_OK(aclrtSubscribeReport(self, stream));
  ACL_FAILS(ACL_ERROR_RT_REPORT_TIMEOUT, aclrtProcessReport(10));
  EXPECT_EQ(ACL_ERROR_RT_REPORT_TIMEOUT, 507012);
  Call call;
  ACL_OK(aclrtLaunchCallback(Call::Run, &call, ACL_CALLBACK_NO_BLOCK, stream));
  ACL_OK(aclrtProcessReport(-1));  // waits for the one that is on its way
  EXPECT_EQ(call.count.load(), 1);
  ACL_OK(aclrtUnSubscribeReport(self, stream));
  ACL_FAILS(ACL_ERROR_RT_THREAD_SUBSCRIBE, aclrtProcessReport(10));
}

// CANN's chapter on callbacks: a stream without a subscribed thread takes no callback (107015).
TEST_F(CallbackTest, LaunchWithoutSubscriptionIsRefused) {
  aclrtStream stream = NewStream();
  Call call;
  ACL_FAILS(ACL_ERROR_RT_STREAM_NO_CB_REG, aclrtLaunchCallback(Call::Run, &call, ACL_CALLBACK_BLOCK, stream));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtLaunchCallback(nullptr, &call, ACL_CALLBACK_BLOCK, stream));
  EXPECT_EQ(call.count.load(), 0);
}

// A thread that waits in ProcessReport(-1) is let go when its last stream is unsubscribed or destroyed.
TEST_F(CallbackTest, UnsubscribeLetsAWaitingThreadGo) {
  for (const bool destroy : {false, true}) {
    aclrtStream stream = NewStream();
    std::atomic<uint64_t> id{0};
    std::atomic<bool> go{false};
    std::atomic<int> code{-1};
    std::thread waiter([&] {
      id.store(static_cast<uint64_t>(pthread_self()));
      while (!go.load()) std::this_thread::sleep_for(milliseconds(1));
      code = aclrtProcessReport(-1);
    });
    EXPECT_TRUE(Eventually([&] { return id.load() != 0; }));
    ACL_OK(aclrtSubscribeReport(id.load(), stream));
    go = true;
    std::this_thread::sleep_for(milliseconds(20));
    if (destroy) {
      Forget(stream);
      ACL_OK(aclrtDestroyStream(stream));
    } else {
      ACL_OK(aclrtUnSubscribeReport(id.load(), stream));
    }
    waiter.join();
    EXPECT_EQ(code.load(), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  }
}

// A callback still queued when its thread leaves is dropped; the stream does not hang, and says so.
TEST_F(CallbackTest, UnsubscribeDropsWhatIsQueued) {
  aclrtStream stream = NewStream();
  const auto self = static_cast<uint64_t>(pthread_self());
  ACL_OK(aclrtSubscribeReport(self, stream));
  Call call;
  ACL_OK(aclrtLaunchCallback(Call::Run, &call, ACL_CALLBACK_BLOCK, stream));
  std::this_thread::sleep_for(milliseconds(5));
  ACL_OK(aclrtUnSubscribeReport(self, stream));
  ACL_FAILS(ACL_ERROR_RT_STREAM_NO_CB_REG, aclrtSynchronizeStream(stream));
  EXPECT_EQ(call.count.load(), 0);
}

// aclrtSubscribeHostFunc and aclrtProcessHostFunc: the same for host functions, on a thread of the client's choice.
TEST_F(CallbackTest, HostFunctionsMayHaveASubscribedThread) {
  aclrtStream stream = NewStream();
  const auto self = static_cast<uint64_t>(pthread_self());
  ACL_OK(aclrtSubscribeHostFunc(self, stream));
  Call call;
  ACL_OK(aclrtLaunchHostFunc(stream, Call::Run, &call));
  ACL_OK(aclrtProcessHostFunc(-1));
  EXPECT_EQ(call.thread.load(), self);
  ACL_OK(aclrtSynchronizeStream(stream));
  ACL_FAILS(ACL_ERROR_RT_REPORT_TIMEOUT, aclrtProcessHostFunc(5));
  ACL_OK(aclrtUnSubscribeHostFunc(self, stream));
  ACL_FAILS(ACL_ERROR_RT_THREAD_SUBSCRIBE, aclrtProcessHostFunc(5));
}

// Page "aclrtLaunchHostFunc": on an internal thread. Never the caller's, although it synchronises, nor a worker.
TEST_F(HostFuncTest, RunsOnAnInternalThread) {
  aclrtStream stream = NewStream();
  for (int i = 0; i < 200; ++i) {
    Call call;
    ACL_OK(aclrtLaunchHostFunc(stream, Call::Run, &call));
    ACL_OK(aclrtSynchronizeStream(stream));
    ASSERT_EQ(call.count.load(), 1);
    ASSERT_NE(call.thread.load(), static_cast<uint64_t>(pthread_self()));
    ASSERT_NE(call.name, "mp-worker");
  }
}

// Page "aclrtLaunchHostFunc": the stream's later tasks wait for it.
TEST_F(HostFuncTest, BlocksItsStreamAndNoOther) {
  aclrtStream stream = NewStream();
  aclrtStream other = NewStream();
  Call call;
  call.release = false;
  std::atomic<bool> later{false};
  ACL_OK(aclrtLaunchHostFunc(stream, Call::Run, &call));
  ACL_OK(Launch(stream, [&] { later = true; }));
  EXPECT_TRUE(Eventually([&] { return call.count.load() == 1; }));
  ACL_OK(Launch(other, [] {}));
  ACL_OK(aclrtSynchronizeStream(other));
  ACL_FAILS(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, aclrtSynchronizeStreamWithTimeout(stream, 20));
  EXPECT_FALSE(later.load());
  call.release = true;
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_TRUE(later.load());
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtLaunchHostFunc(stream, nullptr, nullptr));
}

TEST_F(HostFuncTest, AThrowingFunctionFailsItsTask) {
  aclrtStream stream = NewStream();
  std::atomic<bool> later{false};
  ACL_OK(aclrtLaunchHostFunc(
      stream, [](void*) { throw 7; }, nullptr));
  ACL_OK(Launch(stream, [&] { later = true; }));
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_TRUE(later.load());
  ACL_OK(aclrtSynchronizeStream(stream));
}

// Documented as unwise (CANN's chapter on callbacks), and yet no deadlock: the function acts in its stream's context
// and may wait for another stream. More of them than there are threads for host functions.
TEST_F(HostFuncTest, MaySynchroniseAnotherStream) {
  struct Job {
    aclrtStream other;
    std::atomic<int>* done;
    std::atomic<int> code{-1};
  };
  std::atomic<int> done{0};
  std::atomic<int> ran{0};
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<aclrtStream> streams;
  for (int i = 0; i < 12; ++i) {
    streams.push_back(NewStream());
    jobs.push_back(std::make_unique<Job>());
    jobs.back()->other = NewStream();
    jobs.back()->done = &done;
    ACL_OK(Launch(jobs.back()->other, [&] {
      std::this_thread::sleep_for(milliseconds(2));
      ran.fetch_add(1);
    }));
    ACL_OK(aclrtLaunchHostFunc(
        streams.back(),
        [](void* self) {
          auto* job = static_cast<Job*>(self);
          job->code = aclrtSynchronizeStream(job->other);
          job->done->fetch_add(1);
        },
        jobs.back().get()));
  }
  for (aclrtStream stream : streams) ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(done.load(), 12);
  EXPECT_EQ(ran.load(), 12);
  for (const auto& job : jobs) EXPECT_EQ(job->code.load(), ACL_SUCCESS);
}

// A host function may launch, even on its own stream: what it launches comes after it.
TEST_F(HostFuncTest, MayLaunchOnItsOwnStream) {
  struct Job {
    aclrtStream stream;
    std::atomic<int> code{-1};
    std::atomic<bool> ran{false};
  } job;
  job.stream = NewStream();
  ACL_OK(aclrtLaunchHostFunc(
      job.stream,
      [](void* self) {
        auto* mine = static_cast<Job*>(self);
        mine->code = millpond_launch(
            mine->stream, "Inner", [](void* inner) { static_cast<Job*>(inner)->ran = true; }, mine);
      },
      &job));
  EXPECT_TRUE(Eventually([&] { return job.ran.load(); }));
  ACL_OK(aclrtSynchronizeStream(job.stream));
  EXPECT_EQ(job.code.load(), ACL_SUCCESS);
}

std::atomic<int> g_exceptions{0};
std::atomic<uint32_t> g_stream{0}, g_task{0}, g_device{0}, g_code{0}, g_thread{0};

void NoteException(aclrtExceptionInfo* info) {
  g_stream = aclrtGetStreamIdFromExceptionInfo(info);
  g_task = aclrtGetTaskIdFromExceptionInfo(info);
  g_device = aclrtGetDeviceIdFromExceptionInfo(info);
  g_code = aclrtGetErrorCodeFromExceptionInfo(info);
  g_thread = aclrtGetThreadIdFromExceptionInfo(info);
  std::this_thread::sleep_for(milliseconds(2));
  g_exceptions.fetch_add(1);
}
void NoteToo(aclrtExceptionInfo*) { g_exceptions.fetch_add(100); }

// Page "aclrtSetExceptionInfoCallback": told with task, stream, thread, device and code, before the synchronisation
// returns the failure.
TEST_F(ExceptionTest, CallbackComesBeforeTheSynchronisationReturns) {
  g_exceptions = 0;
  ACL_OK(aclrtSetExceptionInfoCallback(NoteException));
  aclrtStream stream = NewStream();
  int32_t id = -1;
  ACL_OK(aclrtStreamGetId(stream, &id));
  ACL_OK(millpond_launch(
      stream, "Bad", [](void*) { throw std::runtime_error("wanted"); }, nullptr));
  uint32_t task = 0;
  ACL_OK(aclrtGetThreadLastTaskId(&task));
  ACL_FAILS(ACL_ERROR_RT_AICORE_EXCEPTION, aclrtSynchronizeStream(stream));
  EXPECT_EQ(g_exceptions.load(), 1);
  EXPECT_EQ(g_stream.load(), static_cast<uint32_t>(id));
  EXPECT_EQ(g_task.load(), task);
  EXPECT_EQ(g_device.load(), 0u);
  EXPECT_EQ(g_code.load(), static_cast<uint32_t>(ACL_ERROR_RT_AICORE_EXCEPTION));
  EXPECT_NE(g_thread.load(), 0u);
  // CANN's chapter on exceptions: null clears the slot.
  ACL_OK(aclrtSetExceptionInfoCallback(nullptr));
  ACL_OK(millpond_launch(
      stream, "Bad", [](void*) { throw 1; }, nullptr));
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(g_exceptions.load(), 1);
}

// Page "aclrtExceptionInfoCallbackRegister": many functions; the same one in slot and list is called twice; null is
// refused.
TEST_F(ExceptionTest, SlotAndListCoexist) {
  g_exceptions = 0;
  aclrtStream stream = NewStream();
  ACL_OK(aclrtSetExceptionInfoCallback(NoteException));
  ACL_OK(aclrtExceptionInfoCallbackRegister(NoteException));
  ACL_OK(aclrtExceptionInfoCallbackRegister(NoteException));
  ACL_OK(aclrtExceptionInfoCallbackRegister(NoteToo));
  EXPECT_NE(aclrtExceptionInfoCallbackRegister(nullptr), ACL_SUCCESS);
  EXPECT_NE(aclrtExceptionInfoCallbackUnregister(nullptr), ACL_SUCCESS);
  ACL_OK(millpond_launch(
      stream, "Bad", [](void*) { throw 1; }, nullptr));
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(g_exceptions.load(), 102);
  ACL_OK(aclrtExceptionInfoCallbackUnregister(NoteException));
  ACL_OK(aclrtExceptionInfoCallbackUnregister(NoteToo));
  ACL_OK(aclrtSetExceptionInfoCallback(nullptr));
  EXPECT_EQ(aclrtGetTaskIdFromExceptionInfo(nullptr), 0xFFFFFFFFu);  // docs/compat.md, "What clients rely on"
}

// A wait that times out is a failed task like any other.
TEST_F(ExceptionTest, ATimedOutWaitIsReportedToo) {
  g_exceptions = 0;
  ACL_OK(aclrtSetExceptionInfoCallback(NoteException));
  aclrtStream stream = NewStream();
  aclrtNotify notify = nullptr;
  ACL_OK(aclrtCreateNotify(&notify, 0));
  ACL_OK(aclrtWaitAndResetNotify(notify, stream, 1));
  ACL_FAILS(ACL_ERROR_RT_WAIT_TIMEOUT, aclrtSynchronizeStream(stream));
  EXPECT_EQ(g_exceptions.load(), 1);
  EXPECT_EQ(g_code.load(), static_cast<uint32_t>(ACL_ERROR_RT_WAIT_TIMEOUT));
  ACL_OK(aclrtDestroyNotify(notify));
  ACL_OK(aclrtSetExceptionInfoCallback(nullptr));
}

}  // namespace

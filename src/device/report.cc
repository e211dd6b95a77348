// SPDX-License-Identifier: Apache-2.0
#include "src/device/report.h"

#include <pthread.h>

#include <atomic>
#include <vector>

#include "src/base/log.h"
#include "src/device/device.h"
#include "src/device/host_executor.h"
#include "src/device/runtime.h"
#include "src/device/stream.h"

namespace millpond {

Reports& Reports::Callbacks() {
  static auto& reports = *new Reports;
  return reports;
}

Reports& Reports::HostFuncs() {
  static auto& reports = *new Reports;
  return reports;
}

Status Reports::Subscribe(uint64_t thread, Stream* stream) {
  std::lock_guard lock(mutex_);
  if (const auto found = streams_.find(stream); found != streams_.end()) {
    MP_CHECK(false, kStreamSubscribe, "stream %d already has thread %llu for its callbacks; a stream has one thread",
             stream->id(), static_cast<unsigned long long>(found->second));
  }
  auto found = threads_.find(thread);
  if (found == threads_.end()) {
    MP_CHECK(threads_.size() < kMaxThreads, kThreadSubscribe,
             "%zu threads process callbacks already, the most there may be", kMaxThreads);
    found = threads_.emplace(thread, std::make_shared<Thread>()).first;
    found->second->device = stream->device()->id();
  }
  MP_CHECK(found->second->device == stream->device()->id(), kThreadSubscribe,
           "thread %llu serves streams of device %d; stream %d is of device %d",
           static_cast<unsigned long long>(thread), found->second->device, stream->id(), stream->device()->id());
  ++found->second->streams;
  streams_[stream] = thread;
  return Ok();
}

Status Reports::Unsubscribe(uint64_t thread, Stream* stream) {
  std::unique_lock lock(mutex_);
  const auto found = streams_.find(stream);
  MP_CHECK(found != streams_.end(), kStreamSubscribe, "stream %d has no callback thread", stream->id());
  MP_CHECK(found->second == thread, kThreadSubscribe, "stream %d's callback thread is %llu, not %llu", stream->id(),
           static_cast<unsigned long long>(found->second), static_cast<unsigned long long>(thread));
  Detach(stream, lock);
  return Ok();
}

void Reports::Forget(const Stream* stream) {
  std::unique_lock lock(mutex_);
  if (streams_.contains(stream)) Detach(stream, lock);
}

void Reports::Detach(const Stream* stream, std::unique_lock<std::mutex>& lock) {
  const auto thread = threads_.find(streams_[stream]);
  streams_.erase(stream);
  std::vector<Report> dropped;
  std::erase_if(thread->second->queue, [&](Report& report) {
    if (report.stream != stream) return false;
    dropped.push_back(std::move(report));
    return true;
  });
  if (--thread->second->streams == 0) {
    thread->second->arrived.notify_all();
    threads_.erase(thread);
  }
  lock.unlock();
  for (const Report& report : dropped) report.dropped();
}

bool Reports::Subscribed(const Stream* stream) {
  std::lock_guard lock(mutex_);
  return streams_.contains(stream);
}

bool Reports::Post(const Stream* stream, std::function<void()> run, std::function<void()> dropped) {
  std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return false;
  Thread& thread = *threads_[found->second];
  thread.queue.push_back({stream, std::move(run), std::move(dropped)});
  thread.arrived.notify_one();
  return true;
}

Status Reports::Process(Deadline deadline) {
  const uint64_t self = static_cast<uint64_t>(pthread_self());
  std::unique_lock lock(mutex_);
  const auto find = [&]() -> std::shared_ptr<Thread> {
    const auto found = threads_.find(self);
    return found == threads_.end() ? nullptr : found->second;
  };
  std::shared_ptr<Thread> thread = find();
  MP_CHECK(thread != nullptr, kThreadSubscribe, "the calling thread is not subscribed for any stream's callbacks");
  const auto ready = [&] { return !thread->queue.empty() || thread->streams == 0; };
  if (deadline) {
    thread->arrived.wait_until(lock, *deadline, ready);
  } else {
    thread->arrived.wait(lock, ready);
  }
  MP_CHECK(!thread->queue.empty() || thread->streams != 0, kThreadSubscribe,
           "the calling thread was unsubscribed from its last stream");
  MP_CHECK(!thread->queue.empty(), kReportTimeout, "no callback arrived in the time given");
  while (!thread->queue.empty()) {
    Report report = std::move(thread->queue.front());
    thread->queue.pop_front();
    lock.unlock();
    report.run();
    lock.lock();
  }
  return Ok();
}

namespace {

// A call of the client's function, shared between the task and the thread that makes it, whichever ends last.
struct Call {
  std::atomic<int> state{0};  // 0 pending, 1 returned, 2 threw, 3 dropped
  void Make(void (*function)(void*), void* argument, Stream* stream) {
    int end = 1;
    try {
      function(argument);
    } catch (...) {
      end = 2;
      log::Write(log::Level::kError, log::kRuntime,
                 Format("a callback or host function of stream %d threw; it must not", stream->id()));
    }
    Finish(end, stream);
  }
  void Finish(int end, Stream* stream) {
    state.store(end, std::memory_order_release);
    stream->Unblock();
  }
};

// Runs at the head of the stream: first hands the call over, then waits for it.
struct HandOver {
  void (*function)(void*);
  void* argument;
  Reports* reports;    // null: our own threads
  const Stream* home;  // whose subscribed thread; a captured call may run on another stream
  bool block;
  std::shared_ptr<Call> call = nullptr;

  TaskEnd operator()(TaskSlot& slot, Stream& stream, Status* out_status) {
    if (slot.phase == 0) {
      slot.phase = 1;
      call = std::make_shared<Call>();
      auto run = [call = call, function = function, argument = argument, stream = &stream, ours = reports == nullptr] {
        // A thread of ours has no context of its own: the function acts in its stream's. A client's keeps the client's.
        if (ours) SetCurrentContextForThread(stream->context());
        call->Make(function, argument, stream);
      };
      if (reports == nullptr) {
        HostExecutor::Get().Post(std::move(run));
      } else if (!reports->Post(home, std::move(run), [call = call, stream = &stream] { call->Finish(3, stream); })) {
        *out_status = Status(Code::kStreamNoCallback, Format("stream %d has no callback thread any more", home->id()));
        return TaskEnd::kDone;
      }
      if (!block) return TaskEnd::kDone;
    }
    switch (call->state.load(std::memory_order_acquire)) {
      case 0:
        return TaskEnd::kBlocked;
      case 2:
        *out_status = Status(Code::kTaskFailed, "the host function threw an exception");
        break;
      case 3:
        *out_status = Status(Code::kStreamNoCallback, "the callback was dropped: its thread was unsubscribed");
        break;
      default:
        break;
    }
    call = nullptr;  // a replay of a captured copy starts afresh
    return TaskEnd::kDone;
  }
};

}  // namespace

Status LaunchHostFunc(Stream* stream, void (*function)(void*), void* argument) {
  Reports* reports = Reports::HostFuncs().Subscribed(stream) ? &Reports::HostFuncs() : nullptr;
  return stream->Launch<TaskKind::kHostFunc>("HostFunc", {}, HandOver{function, argument, reports, stream, true});
}

Status LaunchCallback(Stream* stream, void (*function)(void*), void* argument, bool block) {
  MP_CHECK(Reports::Callbacks().Subscribed(stream), kStreamNoCallback,
           "stream %d has no callback thread; call aclrtSubscribeReport first", stream->id());
  return stream->Launch<TaskKind::kCallback>("Callback", {},
                                             HandOver{function, argument, &Reports::Callbacks(), stream, block});
}

}  // namespace millpond

// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/callback_threads.h"

#include <pthread.h>

#include <atomic>
#include <new>

#include "src/base/log.h"
#include "src/base/mutex.h"
#include "src/base/thread_end.h"
#include "src/device/device.h"
#include "src/device/runtime.h"
#include "src/device/stream/host_executor.h"
#include "src/device/stream/stream.h"

namespace millpond {

namespace {

CallbackThreads* MakeAndObserve() {
  auto made = std::make_unique<CallbackThreads>();  // kept once it is told of streams
  Device::AddStreamObserver([observer = made.get()](Stream* stream, bool created) {
    if (!created) observer->Forget(stream);
  });
  return made.release();
}

}  // namespace

CallbackThreads& CallbackThreads::Callbacks() {
  static auto& reports = *MakeAndObserve();
  return reports;
}

CallbackThreads& CallbackThreads::HostFuncs() {
  static auto& reports = *MakeAndObserve();
  return reports;
}

Status CallbackThreads::Subscribe(uint64_t thread, Stream* stream) {
  MutexLock lock(mutex_);
  if (const auto found = streams_.find(stream); found != streams_.end()) {
    MP_CHECK(false, kStreamSubscribe, "stream %d already has thread %llu for its callbacks; a stream has one thread",
             stream->id(), static_cast<unsigned long long>(found->second));
  }
  auto found = threads_.find(thread);
  if (found != threads_.end()) {
    MP_CHECK(found->second->device == stream->device()->id(), kThreadSubscribe,
             "thread %llu serves streams of device %d; stream %d is of device %d",
             static_cast<unsigned long long>(thread), found->second->device, stream->id(), stream->device()->id());
    streams_.emplace(stream, thread);
    ++found->second->streams;
    return Ok();
  }
  MP_CHECK(threads_.size() < kMaxThreads, kThreadSubscribe,
           "%zu threads process callbacks already, the most there may be", kMaxThreads);
  // The nodes first: entering them cannot fail.
  std::map<const Stream*, uint64_t> one_stream{{stream, thread}};
  auto made = std::make_shared<Thread>();
  made->device = stream->device()->id();
  made->streams = 1;
  threads_.emplace(thread, std::move(made));
  streams_.merge(one_stream);
  return Ok();
}

Status CallbackThreads::Unsubscribe(uint64_t thread, Stream* stream) {
  std::list<Report> dropped;
  {
    MutexLock lock(mutex_);
    const auto found = streams_.find(stream);
    MP_CHECK(found != streams_.end(), kStreamSubscribe, "stream %d has no callback thread", stream->id());
    MP_CHECK(found->second == thread, kThreadSubscribe, "stream %d's callback thread is %llu, not %llu", stream->id(),
             static_cast<unsigned long long>(found->second), static_cast<unsigned long long>(thread));
    dropped = Detach(stream);
  }
  for (const Report& report : dropped) report.dropped();
  return Ok();
}

void CallbackThreads::Forget(const Stream* stream) {
  std::list<Report> dropped;
  {
    MutexLock lock(mutex_);
    if (streams_.contains(stream)) dropped = Detach(stream);
  }
  for (const Report& report : dropped) report.dropped();
}

std::list<CallbackThreads::Report> CallbackThreads::Detach(const Stream* stream) noexcept {
  const auto found = streams_.find(stream);
  const auto thread = threads_.find(found->second);
  streams_.erase(found);
  std::list<Report> dropped;
  std::list<Report>& queue = thread->second->queue;
  for (auto report = queue.begin(); report != queue.end();) {
    const auto next = std::next(report);
    if (report->stream == stream) dropped.splice(dropped.end(), queue, report);
    report = next;
  }
  if (--thread->second->streams == 0) {
    thread->second->arrived.NotifyAll();
    threads_.erase(thread);
  }
  return dropped;
}

bool CallbackThreads::Subscribed(const Stream* stream) {
  MutexLock lock(mutex_);
  return streams_.contains(stream);
}

bool CallbackThreads::Post(std::list<Report>* report) noexcept {
  MutexLock lock(mutex_);
  const auto found = streams_.find(report->front().stream);
  if (found == streams_.end()) return false;
  Thread& thread = *threads_.find(found->second)->second;
  thread.queue.splice(thread.queue.end(), *report);
  thread.arrived.NotifyOne();
  return true;
}

Status CallbackThreads::Process(Deadline deadline) {
  const uint64_t self = static_cast<uint64_t>(pthread_self());
  UniqueLock lock(mutex_);
  const auto find = [&]() -> std::shared_ptr<Thread> {
    mutex_.AssertHeld();
    const auto found = threads_.find(self);
    return found == threads_.end() ? nullptr : found->second;
  };
  std::shared_ptr<Thread> thread = find();
  MP_CHECK(thread != nullptr, kThreadSubscribe, "the calling thread is not subscribed for any stream's callbacks");
  while (thread->queue.empty() && thread->streams != 0) {
    if (!deadline) {
      thread->arrived.Wait(lock);
    } else if (!thread->arrived.WaitUntil(lock, *deadline)) {
      break;
    }
  }
  MP_CHECK(!thread->queue.empty() || thread->streams != 0, kThreadSubscribe,
           "the calling thread was unsubscribed from its last stream");
  MP_CHECK(!thread->queue.empty(), kReportTimeout, "no callback arrived in the time given");
  while (!thread->queue.empty()) {
    std::list<Report> next;
    next.splice(next.end(), thread->queue, thread->queue.begin());
    lock.unlock();
    next.front().run();
    lock.lock();
  }
  return Ok();
}

namespace {

// A call of the client's function, shared between the task and the thread that makes it, whichever ends last.
struct Call {
  enum State : int { kPending, kReturned, kThrew, kDropped, kLeft };
  std::atomic<State> state{kPending};
  trace::HostFunction told{};

  void Tell(bool begins) {
    trace::FanOut* sinks = trace::Listening(trace::kSignals);
    if (sinks == nullptr) return;
    told.begins = begins;
    told.thread = trace::ThreadNumber();
    sinks->OnHostFunction(told);
  }
  // However the function ends, the stream goes on.
  void Make(void (*function)(void*), void* argument, Stream* stream) {
    State end = kReturned;
    Tell(true);
    try {
      function(argument);
    } catch (...) {
      if (ThreadEnds()) {
        Tell(false);
        Finish(kLeft, stream);
        throw;
      }
      end = kThrew;
      LogThrown(*stream);
    }
    Tell(false);
    Finish(end, stream);
  }
  static void LogThrown(const Stream& stream) noexcept {
    try {
      log::Write(log::Level::kError, log::kRuntime,
                 Format("a callback or host function of stream %d threw; it must not", stream.id()));
    } catch (const std::bad_alloc&) {  // the task's failure says it too
    }
  }
  void Finish(State end, Stream* stream) noexcept {
    state.store(end, std::memory_order_release);
    stream->Unblock();
  }
};

// A call on a thread of ours.
struct OwnCall : HostExecutor::Work {
  OwnCall(std::shared_ptr<Call> made, void (*what)(void*), void* given, Stream* on)
      : call(std::move(made)), function(what), argument(given), stream(on) {}
  void Run() override {
    // The thread has no context of its own: the function acts in its stream's.
    SetCurrentContextForThread(stream->context());
    call->Make(function, argument, stream);
  }
  void Done() noexcept override { delete this; }

  const std::shared_ptr<Call> call;
  void (*const function)(void*);
  void* const argument;
  Stream* const stream;
};

// Runs at the head of the stream: first hands the call over, then waits for it.
struct HandOver {
  // What a call needs, made at the launch, where a failure can be told. A captured call makes its own when it runs:
  // each replay needs another, and on a stream of its own.
  struct Needs {
    const Stream* on = nullptr;  // the stream that waits for the call
    std::shared_ptr<Call> call;
    std::unique_ptr<OwnCall> own;               // for a thread of ours ...
    std::list<CallbackThreads::Report> report;  // ... or one of the client's

    Needs() = default;
    Needs(const Needs&) noexcept : Needs() {}
    Needs(Needs&&) noexcept = default;
    Needs& operator=(Needs&&) noexcept = default;
    ~Needs() = default;
  };

  void (*function)(void*);
  void* argument;
  CallbackThreads* reports;  // null: our own threads
  const Stream* home;        // whose subscribed thread; a captured call may run on another stream
  bool block;
  Needs needs = {};

  void Prepare(Stream* stream) {
    Needs made;
    made.on = stream;
    made.call = std::make_shared<Call>();
    if (reports == nullptr) {
      made.own = std::make_unique<OwnCall>(made.call, function, argument, stream);
    } else {
      // A thread of the client's keeps the client's context.
      made.report.push_back({home,
                             [call = made.call, function = function, argument = argument, stream] {
                               call->Make(function, argument, stream);
                             },
                             [call = made.call, stream] { call->Finish(Call::kDropped, stream); }});
    }
    needs = std::move(made);
  }

  TaskEnd operator()(TaskSlot& slot, Stream& stream, Status* out_status) {
    if (slot.phase == 0) {
      slot.phase = 1;
      if (needs.on != &stream) Prepare(&stream);
      trace::HostFunction& told = needs.call->told;
      told.blocks_stream = block;
      told.kind = slot.ops->kind;
      told.stream = stream.id();
      told.count = stream.running_count();
      if (!HandToThread(out_status)) return TaskEnd::kDone;
    }
    const Call::State state = block ? needs.call->state.load(std::memory_order_acquire) : Call::kReturned;
    if (state == Call::kPending) return TaskEnd::kBlocked;
    needs = {};  // a replay of a captured copy starts afresh
    if (state == Call::kThrew) *out_status = Status(Code::kTaskFailed, "the host function threw an exception");
    if (state == Call::kDropped) {
      *out_status = Status(Code::kStreamNoCallback, "the callback was dropped: its thread was unsubscribed");
    }
    if (state == Call::kLeft) {
      *out_status = Status(Code::kTaskFailed, "the host function ended its thread (pthread_exit) instead of returning");
    }
    return TaskEnd::kDone;
  }

  bool HandToThread(Status* out_status) {
    if (reports == nullptr) {
      if (HostExecutor::Get().Post(needs.own.get())) {
        static_cast<void>(needs.own.release());  // deletes itself
        return true;
      }
      *out_status = Status(Code::kHostOutOfMemory, "no thread can be started for the host function; it was not called");
      return false;
    }
    if (reports->Post(&needs.report)) return true;
    *out_status = Status(Code::kStreamNoCallback, Format("stream %d has no callback thread any more", home->id()));
    return false;
  }
};

LaunchNote Note(bool blocks) { return {.flags = blocks ? uint8_t{trace::kBlocksStream} : uint8_t{0}, .edges = {}}; }

}  // namespace

Status LaunchHostFunc(Stream* stream, void (*function)(void*), void* argument) {
  CallbackThreads* reports = CallbackThreads::HostFuncs().Subscribed(stream) ? &CallbackThreads::HostFuncs() : nullptr;
  if (reports == nullptr) MP_RETURN_IF_ERROR(HostExecutor::Get().Start());
  HandOver body{function, argument, reports, stream, true};
  body.Prepare(stream);
  return stream->Launch<TaskKind::kHostFunc>("HostFunc", {}, std::move(body), [] { return Note(true); });
}

Status LaunchCallback(Stream* stream, void (*function)(void*), void* argument, bool block) {
  MP_CHECK(CallbackThreads::Callbacks().Subscribed(stream), kStreamNoCallback,
           "stream %d has no callback thread; call aclrtSubscribeReport first", stream->id());
  HandOver body{function, argument, &CallbackThreads::Callbacks(), stream, block};
  body.Prepare(stream);
  return stream->Launch<TaskKind::kCallback>("Callback", {}, std::move(body), [&] { return Note(block); });
}

}  // namespace millpond

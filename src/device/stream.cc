// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream.h"

#include <execinfo.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <mutex>

#include "src/base/thread_local.h"
#include "src/device/device.h"
#include "src/device/exception.h"
#include "src/device/host_executor.h"
#include "src/device/memory.h"
#include "src/device/runtime.h"
#include "src/device/scheduler.h"

namespace millpond {

namespace {

thread_local bool t_in_task MP_FAST_TLS = false;
thread_local bool t_in_run MP_FAST_TLS = false;
std::atomic<void (*)()> g_after_run{nullptr};
thread_local bool t_wake_owed MP_FAST_TLS = false;
thread_local uint64_t t_last_task MP_FAST_TLS = 0;
thread_local uint64_t t_last_trace_task MP_FAST_TLS = 0;
std::atomic<uint64_t> g_next_trace_task{1};

constexpr int kPrefetchTasks = 3;
constexpr int kLingerPauses = 64;  // one to two microseconds

bool TakesTime(TaskKind kind) {
  return kind == TaskKind::kCompute || kind == TaskKind::kCopy || kind == TaskKind::kSet || kind == TaskKind::kGraph ||
         kind == TaskKind::kOther;
}

}  // namespace

bool InTask() { return t_in_task; }
bool InRun() { return t_in_run; }
void OweWake() { t_wake_owed = true; }
uint32_t LastTaskNumber() { return static_cast<uint32_t>(t_last_task); }
uint64_t LastTaskCount() { return t_last_task; }
uint64_t LastTraceTask() { return t_last_trace_task; }
uint64_t NewTraceTasks(uint64_t count) { return g_next_trace_task.fetch_add(count, std::memory_order_relaxed); }

size_t CaptureStack(void** frames, size_t limit) {
  const int depth = backtrace(frames, static_cast<int>(limit));
  return depth > 0 ? static_cast<size_t>(depth) : 0;
}

StreamTable& Streams() {
  static auto& table = *[] {
    auto* made = new StreamTable;
    trace::SetSinkObserver(&Stream::OnSink);
    return made;
  }();
  return table;
}

void Stream::OnSink(bool attached) {
  Streams().ForEach([&](void*, Stream& stream) {
    if (attached) {
      stream.slow_.fetch_or(kSlowTraced, std::memory_order_acq_rel);
    } else {
      stream.slow_.fetch_and(~uint32_t{kSlowTraced}, std::memory_order_acq_rel);
    }
  });
}

void Stream::Open(void* handle, Device* device, Context* context, int32_t id, uint32_t priority, uint32_t flags,
                  bool is_default) {
  handle_ = handle;
  device_ = device;
  context_ = context;
  id_ = id;
  priority_ = priority;
  flags_ = flags;
  is_default_ = is_default;
  stop_on_failure_ = false;
  stopped_ = false;
  abort_until_ = 0;
  capture_ = nullptr;
  update_ = nullptr;
  slow_ = (Scheduler::Get().observes_enqueue() ? uint32_t{kSlowSeeded} : 0) |
          (trace::Active() != nullptr ? uint32_t{kSlowTraced} : 0) |
          (context != nullptr && context->failed() ? uint32_t{kSlowStopped} : 0);
  {
    std::lock_guard lock(error_lock_);
    aborted_from_ = aborted_to_ = 0;
  }
  TakeError().Ignore();  // what the slot's former stream left behind is nobody's
  {
    std::lock_guard lock(attribute_lock);
    std::fill(std::begin(attributes), std::end(attributes), 0);
    std::fill(std::begin(resource_limit_set), std::end(resource_limit_set), false);
  }
  std::lock_guard lock(push_lock_);  // a launch that raced with the former stream's destruction may still be pushing
  if (tail_chunk_ == nullptr) tail_chunk_ = head_chunk_ = new Chunk;
}

// --- Appending -------------------------------------------------------------------------------------------------

TaskSlot* Stream::BeginPush() {
  if (__builtin_expect(enqueued_.load(std::memory_order_relaxed) >= throttle_at_.load(std::memory_order_relaxed),
                       false)) {
    Throttle();
  }
  push_lock_.lock();
  if (tail_index_ == kChunkTasks && !AppendChunk()) {
    push_lock_.unlock();
    throw std::bad_alloc();
  }
  // The runner had these lines last: ask for a later one now, while this launch still has things to do. (A prefetch
  // past the chunk's end is harmless.)
  __builtin_prefetch(&tail_chunk_->slots[tail_index_] + kPrefetchTasks, 1);
  return &tail_chunk_->slots[tail_index_];
}

Stream::~Stream() {
  FreeSpares();
  while (head_chunk_ != nullptr) delete std::exchange(head_chunk_, head_chunk_->next);
}

void Stream::FreeSpares() {
  std::lock_guard lock(push_lock_);
  Chunk* lists[] = {std::exchange(fresh_chunks_, nullptr), spares_.exchange(nullptr, std::memory_order_acquire)};
  spare_count_.store(0, std::memory_order_relaxed);
  for (Chunk* chunk : lists) {
    while (chunk != nullptr) delete std::exchange(chunk, chunk->next);
  }
}

bool Stream::AppendChunk() {
  if (fresh_chunks_ == nullptr) {
    fresh_chunks_ = spares_.exchange(nullptr, std::memory_order_acquire);
    spare_count_.store(0, std::memory_order_relaxed);
  }
  Chunk* chunk = fresh_chunks_;
  if (chunk != nullptr) {
    fresh_chunks_ = chunk->next;
  } else {
    chunk = new (std::nothrow) Chunk;
    if (chunk == nullptr) return false;
  }
  chunk->next = nullptr;
  tail_chunk_->next = chunk;
  tail_chunk_ = chunk;
  tail_index_ = 0;
  return true;
}

void Stream::EndPush() {
  ++tail_count_;
  tail_chunk_->slots[tail_index_].number = static_cast<uint32_t>(tail_count_);
  t_last_task = tail_count_;
  ++tail_index_;
  // Sequentially consistent against GoIdle: either we see the stream idle, or its last runner sees our task.
  enqueued_.exchange(tail_count_, std::memory_order_seq_cst);
  push_lock_.unlock();
  if (state_.load(std::memory_order_seq_cst) == kIdle) MakeReady();
}

void Stream::MakeReady() {
  uint32_t expected = kIdle;
  if (state_.compare_exchange_strong(expected, kQueued, std::memory_order_seq_cst)) Scheduler::Get().Ready(this);
}

void Stream::Throttle() {
  const auto too_deep = [this] {
    const uint64_t completed = completed_.load(std::memory_order_acquire);
    throttle_at_.store(completed + kMaxDepth, std::memory_order_relaxed);
    return enqueued_.load(std::memory_order_relaxed) - completed >= kMaxDepth;
  };
  while (too_deep()) {
    const uint32_t state = state_.load(std::memory_order_relaxed);
    if (state == kParked || state == kNotified || InTask()) return;
    if ((slow_.load(std::memory_order_relaxed) & kSlowSeeded) != 0) return;  // runs inside the client's calls anyway
    if (TryTakeToken()) {
      Run(completed() + kMaxDepth / 2, UINT32_MAX);
      Scheduler::Get().WakeOwed();
    } else {
      sched_yield();  // the runner may need this very core
    }
  }
}

Status Stream::LaunchSlow(OwnedTask task) {
  MP_CHECK((slow_.load(std::memory_order_relaxed) & kSlowStopped) == 0, kTaskFailed,
           "stream %d takes no more tasks: one failed in its context, whose failure mode is stop; synchronise to see "
           "which, then destroy the context or reset the device",
           id());
  if (CaptureTarget* target = capture()) return target->Add(this, std::move(task));
  if (CaptureTarget* target = update()) return target->Add(this, std::move(task));
  return LaunchOwned(std::move(task));
}

Status Stream::LaunchOwned(OwnedTask task) {
  trace::Sink* sink = trace::Active();
  TaskExtra* extra = task.slot().extra;
  if (sink != nullptr && extra != nullptr) {
    extra->task = g_next_trace_task.fetch_add(1, std::memory_order_relaxed);
    void* frames[16];
    const size_t depth = sink->wants_stacks() ? CaptureStack(frames, std::size(frames)) : 0;
    sink->OnEnqueued({.task = extra->task,
                      .device = device()->id(),
                      .stream = id(),
                      .name = task.slot().name,
                      .thread = trace::ThreadNumber(),
                      .time_ns = trace::NowNs(),
                      .accesses = extra->accesses,
                      .stack = {frames, depth}});
    t_last_trace_task = extra->task;
  }
  std::move(task).MoveInto(BeginPush());
  EndPush();
  if (slow_.load(std::memory_order_relaxed) & kSlowSeeded) Scheduler::Get().Enqueued(this);
  return Ok();
}

void Stream::SetDiversion(std::atomic<CaptureTarget*>* where, Slow reason, CaptureTarget* target) {
  where->store(target, std::memory_order_release);
  if (target != nullptr) {
    slow_.fetch_or(reason, std::memory_order_acq_rel);
  } else {
    slow_.fetch_and(~static_cast<uint32_t>(reason), std::memory_order_acq_rel);
  }
}

// --- Running ---------------------------------------------------------------------------------------------------

bool Stream::TryTakeToken() {
  uint32_t expected = kQueued;
  return state_.load(std::memory_order_relaxed) == kQueued && (!needs_team() || Scheduler::Get().OnTeamThread()) &&
         state_.compare_exchange_strong(expected, kRunning, std::memory_order_acq_rel);
}

void SetAfterRun(void (*leave)()) { g_after_run.store(leave, std::memory_order_release); }

void AfterRun() {
  if (t_in_run) return;
  if (auto* leave = g_after_run.load(std::memory_order_acquire)) leave();
}

Stream::RunEnd Stream::Run(uint64_t until, uint32_t budget) {
  const bool outer = std::exchange(t_in_run, true);
  const RunEnd end = RunTasks(until, budget);
  t_in_run = outer;
  AfterRun();
  return end;
}

Stream::RunEnd Stream::RunTasks(uint64_t until, uint32_t budget) {
  bool used_team = false;
  for (uint32_t ran = 0;;) {
    while (MoreWork()) {
      if (head_count_ >= until || (ran >= budget && Scheduler::Get().OthersWaiting())) {
        const bool reached = head_count_ >= until;
        Requeue();
        return reached ? RunEnd::kReached : RunEnd::kBudget;
      }
      if (head_index_ == kChunkTasks) AdvanceHead();
      TaskSlot& slot = head_chunk_->slots[head_index_];
      __builtin_prefetch(&slot + kPrefetchTasks);
      if (slot.ops->needs_team) {
        if (!Scheduler::Get().OnTeamThread()) {
          PassToTeam();
          return RunEnd::kTeam;
        }
        used_team = true;
        needs_team_.store(false, std::memory_order_relaxed);
      }
      if (Execute(slot) == TaskEnd::kBlocked) {
        if (Park()) return RunEnd::kParked;
        continue;
      }
      slot.ops->destroy(slot);
      delete slot.extra;
      ++head_index_;
      ++ran;
      Publish(++head_count_);
    }
    if (head_count_ < until && Linger(ran)) continue;
    const uint64_t reached = head_count_;
    if (prefers_team() != used_team) prefers_team_.store(used_team, std::memory_order_relaxed);
    if (GoIdle()) return reached >= until ? RunEnd::kReached : RunEnd::kEmpty;
  }
}

void Stream::AdvanceHead() {
  Chunk* next = head_chunk_->next;
  MP_ASSERT(next != nullptr);
  Chunk* done = std::exchange(head_chunk_, next);
  if (spare_count_.fetch_add(1, std::memory_order_relaxed) < kSpareChunks) {
    done->next = spares_.load(std::memory_order_relaxed);
    while (!spares_.compare_exchange_weak(done->next, done, std::memory_order_release, std::memory_order_relaxed)) {
    }
  } else {
    delete done;
  }
  head_index_ = 0;
}

// A stream that just ran a batch is likely to get more: keeping the token for a moment saves both sides the
// hand-over through the run queue. Each look takes the counter's line away from the producer, so we look rarely and
// find another batch instead of one task. After a task or two none is likely, and a synchronising thread can run the
// next one itself sooner than we could.
bool Stream::Linger(uint32_t ran) {
  if (ran < 8) return false;
  for (int look = 0; look < 4; ++look) {
    for (int pause = 0; pause < kLingerPauses; ++pause) CpuRelax();
    if (MoreWork()) return true;
  }
  return false;
}

bool Stream::MoreWork() {
  if (head_count_ < known_enqueued_) return true;
  known_enqueued_ = enqueued_.load(std::memory_order_acquire);
  return head_count_ < known_enqueued_;
}

bool Stream::Park() {
  uint32_t expected = kRunning;
  if (state_.compare_exchange_strong(expected, kParked, std::memory_order_seq_cst)) return true;
  state_.store(kRunning, std::memory_order_relaxed);  // notified meanwhile: run the head again
  return false;
}

bool Stream::GoIdle() {
  const uint64_t mine = head_count_;
  state_.exchange(kIdle, std::memory_order_seq_cst);
  if (enqueued_.load(std::memory_order_seq_cst) == mine) return true;
  uint32_t expected = kIdle;
  return !state_.compare_exchange_strong(expected, kRunning, std::memory_order_seq_cst);
}

void Stream::PassToTeam() {
  prefers_team_.store(true, std::memory_order_relaxed);
  needs_team_.store(true, std::memory_order_seq_cst);
  Requeue();
}

void Stream::Requeue() {
  state_.store(kQueued, std::memory_order_seq_cst);
  Scheduler::Get().Ready(this);
}

void Stream::Unblock() {
  for (;;) {
    uint32_t state = state_.load(std::memory_order_seq_cst);
    if (state == kParked) {
      if (state_.compare_exchange_weak(state, kQueued, std::memory_order_seq_cst)) {
        Scheduler::Get().Ready(this);
        return;
      }
    } else if (state == kRunning) {
      if (state_.compare_exchange_weak(state, kNotified, std::memory_order_seq_cst)) return;
    } else {
      return;
    }
  }
}

TaskEnd Stream::Execute(TaskSlot& slot) {
  if (__builtin_expect(
          head_count_ < abort_until_.load(std::memory_order_relaxed) || stopped_.load(std::memory_order_relaxed),
          false)) {
    return TaskEnd::kDone;
  }
  // Streams this thread has made ready can wait for it while it passes events on, not while it computes.
  if (__builtin_expect(t_wake_owed, false) && TakesTime(slot.ops->kind)) {
    t_wake_owed = false;
    Scheduler::Get().WakeOwed();
  }
  const uint64_t start = __builtin_expect(slot.extra != nullptr, false) ? trace::NowNs() : 0;
  Status status;
  TaskEnd end = TaskEnd::kDone;
  t_in_task = true;
  try {
    end = slot.ops->run(slot, *this, &status);
  } catch (const std::exception& error) {
    status = Status(Code::kTaskFailed, Format("threw %s", error.what()));
  } catch (...) {
    status = Status(Code::kTaskFailed, "threw something that is not a std::exception");
  }
  t_in_task = false;
  TakeFaultInTask(&status);
  if (end == TaskEnd::kBlocked) return end;
  if (slot.extra != nullptr && slot.extra->task != 0) {
    if (trace::Sink* sink = trace::Active()) {
      sink->OnRan({.task = slot.extra->task,
                   .device = device()->id(),
                   .stream = id(),
                   .name = slot.name,
                   .thread = trace::ThreadNumber(),
                   .start_ns = start,
                   .end_ns = trace::NowNs(),
                   .ok = status.ok()});
    }
  }
  if (__builtin_expect(!status.ok(), false)) Fail(slot, std::move(status));
  return end;
}

void Stream::Fail(TaskSlot& slot, Status status) {
  const TaskException failure{.task = slot.number,
                              .stream = static_cast<uint32_t>(id()),
                              .thread = static_cast<uint32_t>(gettid()),
                              .device = static_cast<uint32_t>(device()->id()),
                              .code = status.code()};
  {
    std::lock_guard lock(error_lock_);
    if (error_.ok()) {
      error_ = std::move(status).Prefixed(
          Format("task %s (#%u of stream %d, device %d)", slot.name, slot.number, id(), device()->id()));
    }
  }
  // A refused operator has done nothing: the tasks after it are as good as before. Real CANN refuses in phase 1.
  if (context()->stop_on_failure() && failure.code != Code::kOperatorRefused) {
    stopped_ = true;
    StopContext();
  }
  // The client's exception callbacks must not run on a thread of the client that happens to help.
  HostExecutor::ForExceptions().RunAndWait([failure] { NotifyException(failure); });
}

void Stream::set_stop_on_failure() {
  stop_on_failure_.store(true, std::memory_order_relaxed);
  context()->set_stop_on_failure();
}

void Stream::StopContext() {
  context()->set_failed();  // for streams made from now on
  for (Stream* stream : device()->StreamsOf(context_)) stream->slow_.fetch_or(kSlowStopped, std::memory_order_acq_rel);
  slow_.fetch_or(kSlowStopped, std::memory_order_acq_rel);
}

// --- Waiting ---------------------------------------------------------------------------------------------------

void Stream::Publish(uint64_t completed) {
  // Sequentially consistent against AddWaiter: either we see the waiter's target, or it sees our count.
  completed_.exchange(completed, std::memory_order_seq_cst);
  if (__builtin_expect(next_wake_.load(std::memory_order_seq_cst) <= completed, false)) WakeWaiters(completed);
}

void Stream::WakeWaiters(uint64_t completed) {
  // In rounds of a few, so that nothing is allocated on a path between two streams.
  constexpr size_t kRound = 8;
  for (bool more = true; more;) {
    Waiter due[kRound];
    size_t count = 0;
    {
      std::lock_guard lock(waiters_lock_);
      uint64_t next = kNever;
      more = false;
      std::erase_if(waiters_, [&](const Waiter& waiter) {
        if (waiter.target > completed) {
          next = std::min(next, waiter.target);
        } else if (count < kRound) {
          due[count++] = waiter;
          return true;
        } else {
          more = true;
        }
        return false;
      });
      next_wake_.store(more ? completed : next, std::memory_order_seq_cst);
    }
    for (size_t i = 0; i < count; ++i) {
      if (due[i].stream != nullptr) {
        due[i].stream->Unblock();
      } else {
        due[i].thread->store(1, std::memory_order_release);
        FutexWake(due[i].thread, 1);
      }
    }
  }
}

bool Stream::AddWaiter(Waiter waiter) {
  std::lock_guard lock(waiters_lock_);
  if (next_wake_.load(std::memory_order_relaxed) > waiter.target) {
    next_wake_.exchange(waiter.target, std::memory_order_seq_cst);
  }
  if (completed_.load(std::memory_order_seq_cst) >= waiter.target) return false;
  waiters_.push_back(waiter);
  return true;
}

bool Stream::AddStreamWaiter(Stream* waiter, uint64_t target) {
  return AddWaiter({.target = target, .stream = waiter, .thread = nullptr});
}

void Stream::RemoveStreamWaiter(Stream* waiter) {
  std::lock_guard lock(waiters_lock_);
  std::erase_if(waiters_, [&](const Waiter& entry) { return entry.stream == waiter; });
}

bool Stream::AddThreadWaiter(std::atomic<uint32_t>* word, uint64_t target) {
  return AddWaiter({.target = target, .stream = nullptr, .thread = word});
}

void Stream::RemoveThreadWaiter(std::atomic<uint32_t>* word) {
  bool found = false;
  {
    std::lock_guard lock(waiters_lock_);
    found = std::erase_if(waiters_, [&](const Waiter& entry) { return entry.thread == word; }) != 0;
  }
  // Not there: a runner has taken it and is about to write the word, which must not vanish before.
  while (!found && word->load(std::memory_order_acquire) == 0) CpuRelax();
}

Status Stream::WaitFor(uint64_t target, Deadline deadline, Code timeout_code) {
  if (completed() >= target) return Ok();
  MP_CHECK(!InTask(), kInternal, "a task may not wait for a stream");
  if (Scheduler::Get().Wait(this, target, deadline)) return Ok();
  return Status(timeout_code, Format("stream %d has not finished in the time given: %llu of %llu tasks are left", id(),
                                     static_cast<unsigned long long>(target - std::min(target, completed())),
                                     static_cast<unsigned long long>(target)));
}

Status Stream::Synchronize(Deadline deadline, Code timeout_code) {
  MP_RETURN_IF_ERROR(WaitFor(enqueued(), deadline, timeout_code));
  MP_RETURN_IF_ERROR(TakeError());
  // Clients that missed the failure, or whose launches were refused, must not take old data for results.
  MP_CHECK(
      !stopped_ && (context() == nullptr || !context()->failed()), kTaskFailed,
      "stream %d was stopped: a task failed in its context, whose failure mode is stop; destroy the context or reset "
      "the device",
      id());
  return Ok();
}

Status Stream::TakeError() {
  std::lock_guard lock(error_lock_);
  return std::exchange(error_, Status());
}

bool Stream::Poll(uint64_t target) {
  if (completed() >= target) return true;
  Scheduler::Get().Polled(this);
  return completed() >= target;
}

Status Stream::Abort(Status reason) {
  MP_CHECK(!InTask(), kInternal, "a task may not abort a stream");
  const uint64_t target = enqueued();
  if (completed() >= target) return Ok();
  {
    // Before anything is dropped, so that a thread already synchronising learns of it. An abort that is still under
    // way (by another thread) and this one are one range.
    std::lock_guard lock(error_lock_);
    const uint64_t done = completed();
    if (done < target) {
      if (done >= aborted_to_) aborted_from_ = done;
      aborted_to_ = std::max(aborted_to_, target);
      if (error_.ok()) error_ = std::move(reason);
    }
  }
  uint64_t until = abort_until_.load(std::memory_order_seq_cst);
  while (until < target && !abort_until_.compare_exchange_weak(until, target, std::memory_order_seq_cst)) {
  }
  Unblock();
  const bool finished = Scheduler::Get().Wait(this, target, std::nullopt);
  MP_ASSERT(finished);
  return Ok();
}

bool Stream::WasAborted(uint64_t target) const {
  std::lock_guard lock(error_lock_);
  return target > aborted_from_ && target <= aborted_to_;
}

Status ResolveStream(const void* handle, Stream** out_stream) {
  Context* context = nullptr;
  MP_RETURN_IF_ERROR(RequireContext(&context));
  if (handle == nullptr) {
    *out_stream = context->default_stream();
    return Ok();
  }
  Stream* stream = Streams().Find(handle);
  MP_CHECK(stream != nullptr, kInvalidHandle, "stream %p is not a live stream: it was never created, or was destroyed",
           handle);
  MP_CHECK(stream->context() == context, kWrongContext,
           "stream %d belongs to another context (device %d) than the calling thread's current one (device %d); "
           "make the stream's context current first (aclrtSetCurrentContext or aclrtSetDevice)",
           stream->id(), stream->device()->id(), context->device()->id());
  *out_stream = stream;
  return Ok();
}

}  // namespace millpond

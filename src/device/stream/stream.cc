// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/stream.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "src/base/mutex.h"
#include "src/base/thread_end.h"
#include "src/base/thread_local.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"
#include "src/device/stream/exception.h"
#include "src/device/stream/poller.h"
#include "src/device/stream/scheduler.h"

namespace millpond {

namespace {

thread_local bool t_in_task MP_FAST_TLS = false;
thread_local bool t_in_run MP_FAST_TLS = false;
std::atomic<void (*)()> g_after_run{nullptr};
thread_local bool t_wake_owed MP_FAST_TLS = false;
thread_local uint64_t t_last_task MP_FAST_TLS = 0;

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

StreamTable& Streams() {
  static auto& table = *[] {
    auto* made = new StreamTable;
    trace::SetInterestObserver(&Stream::OnInterests);
    return made;
  }();
  return table;
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
  last_of_client_ = 0;
  capture_ = nullptr;
  update_ = nullptr;
  float_rules_ = device != nullptr && device->saturates() ? uint32_t{kSaturates} : 0;
  slow_ = (Scheduler::Get().observes_enqueue() ? uint32_t{kSlowSeeded} : 0) |
          (trace::Wants(kLaunchInterests) ? uint32_t{kSlowTraced} : 0) |
          (context != nullptr && context->failed() ? uint32_t{kSlowStopped} : 0);
  {
    MutexLock lock(error_lock_);
    aborted_from_ = aborted_to_ = 0;
    failure_ = {};  // what the slot's former stream left behind is nobody's
    stopped_by_.clear();
  }
  {
    MutexLock lock(attribute_lock);
    std::fill(std::begin(attributes), std::end(attributes), 0);
    std::fill(std::begin(resource_limit_set), std::end(resource_limit_set), false);
  }
  MutexLock lock(push_lock_);  // a launch that raced with the former stream's destruction may still be pushing
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
  MutexLock lock(push_lock_);
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

Status Stream::LaunchSlow(OwnedTask task, const LaunchNote& note) {
  MP_CHECK((slow_.load(std::memory_order_relaxed) & kSlowStopped) == 0, kTaskFailed,
           "stream %d takes no more tasks: one failed in its context, whose failure mode is stop; synchronise to see "
           "which, then destroy the context or reset the device%s",
           id(), WhatStopped().c_str());
  if (CaptureTarget* target = capture()) return target->Add(this, std::move(task));
  if (CaptureTarget* target = update()) return target->Add(this, std::move(task));
  return LaunchOwned(std::move(task), note);
}

Status Stream::LaunchOwned(OwnedTask task, const LaunchNote& note) {
  const bool told = trace::Wants(kLaunchInterests);
  const uint32_t stack = told ? trace::StackIfWanted() : 0;
  TaskSlot* slot = BeginPush();
  std::move(task).MoveInto(slot);
  if (told) Tell(slot, slot->evidence.accesses(), note, stack);
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
      slot.evidence.Drop();
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

namespace {

// What a task threw, in a catch block. Its text is lost where there is no memory for it.
Code CaughtInTask(Status* out_status) noexcept {
  Code code = Code::kTaskFailed;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    code = Code::kHostOutOfMemory;  // TextOf says it
  } catch (const std::exception& error) {
    try {
      *out_status = Status(code, Format("threw %s", error.what()));
    } catch (...) {  // NOLINT: see above
    }
  } catch (...) {
    try {
      *out_status = Status(code, "threw something that is not a std::exception");
    } catch (...) {  // NOLINT
    }
  }
  return code;
}

Code TakeFault(Code code, Status* out_status) noexcept {
  try {
    return TakeFaultInTask(out_status) ? out_status->code() : code;
  } catch (...) {
    return Code::kDeviceMemory;
  }
}

// The thread is being taken down under a task, whose stream nobody would go on with.
[[noreturn]] void LeftByExit(const char* task) {
  std::fprintf(
      stderr,
      "millpond: task %s called pthread_exit, or its thread was cancelled; a task runs on a thread that is not "
      "its own and has to return\n",
      task);
  std::abort();
}

}  // namespace

TaskEnd Stream::Execute(TaskSlot& slot) noexcept {
  if (__builtin_expect(
          head_count_ < abort_until_.load(std::memory_order_relaxed) || stopped_.load(std::memory_order_relaxed),
          false)) {
    began_ns_ = 0;
    return TaskEnd::kDone;
  }
  // Streams this thread has made ready can wait for it while it passes events on, not while it computes.
  if (__builtin_expect(t_wake_owed, false) && TakesTime(slot.ops->kind)) {
    t_wake_owed = false;
    Scheduler::Get().WakeOwed();
  }
  const uint64_t told = __builtin_expect(!slot.evidence.empty(), false) ? slot.evidence.task() : 0;
  // What has waited began before it did.
  const uint64_t start = __builtin_expect(told != 0, false) ? (began_ns_ != 0 ? began_ns_ : trace::NowNs()) : 0;
  Status status;
  Code code = Code::kOk;
  TaskEnd end = TaskEnd::kDone;
  t_in_task = true;
  try {
    end = slot.ops->run(slot, *this, &status);
    code = status.code();
  } catch (...) {
    if (ThreadEnds()) LeftByExit(slot.name);
    code = CaughtInTask(&status);
  }
  t_in_task = false;
  if (__builtin_expect(FaultsInTasks() != 0, false)) code = TakeFault(code, &status);
  if (end == TaskEnd::kBlocked) {
    began_ns_ = start;
    return end;
  }
  if (__builtin_expect(told != 0, false)) {
    began_ns_ = 0;
    if (trace::FanOut* sinks = trace::Listening(trace::kRan)) {
      sinks->OnRan({.task = told,
                    .device = device()->id(),
                    .stream = id(),
                    .name = slot.name,
                    .thread = trace::ThreadNumber(),
                    .start_ns = start,
                    .end_ns = trace::NowNs(),
                    .ok = code == Code::kOk});
    }
  }
  if (__builtin_expect(code != Code::kOk, false)) Fail(slot, code, std::move(status));
  return end;
}

void Stream::Fail(const TaskSlot& slot, Code code, Status status) noexcept {
  const TaskException failure{.task = slot.number,
                              .stream = static_cast<uint32_t>(id()),
                              .thread = static_cast<uint32_t>(gettid()),
                              .device = static_cast<uint32_t>(device()->id()),
                              .code = code};
  {
    MutexLock lock(error_lock_);
    if (failure_.code == Code::kOk) failure_ = {code, std::move(status), slot.name, slot.number};
  }
  // A refused operator has done nothing: the tasks after it are as good as before. Real CANN refuses in phase 1.
  if (context()->stop_on_failure() && failure.code != Code::kOperatorRefused) {
    stopped_ = true;
    StopContext();
  }
  TellException(failure);
}

void Stream::set_stop_on_failure() {
  stop_on_failure_.store(true, std::memory_order_relaxed);
  context()->set_stop_on_failure();
}

void Stream::StopContext() noexcept {
  context()->set_failed();  // for streams made from now on
  Streams().ForEach([this](void*, Stream& stream) {
    if (stream.context() == context()) stream.slow_.fetch_or(kSlowStopped, std::memory_order_acq_rel);
  });
  slow_.fetch_or(kSlowStopped, std::memory_order_acq_rel);
}

Status ResolveStream(const void* handle, Stream** out_stream) {
  Context* context = nullptr;
  MP_RETURN_IF_ERROR(RequireContext(&context));
  if (handle == nullptr) {
    *out_stream = context->default_stream();
    return Ok();
  }
  Stream* stream = Streams().Find(handle);
  MP_CHECK_RULE(stream != nullptr, kInvalidHandle, "MP602", handle,
                "stream %p is not a live stream: it was never created, or was destroyed", handle);
  MP_CHECK(stream->context() == context, kWrongContext,
           "stream %d belongs to another context (device %d) than the calling thread's current one (device %d); "
           "make the stream's context current first (aclrtSetCurrentContext or aclrtSetDevice)",
           stream->id(), stream->device()->id(), context->device()->id());
  *out_stream = stream;
  return Ok();
}

}  // namespace millpond

// SPDX-License-Identifier: Apache-2.0
// Streams are queues, not threads. A stream is a FIFO of tasks with two counters, tasks enqueued and tasks
// completed; "everything up to here" is a value of the second, so an event is a (stream, count) pair and waiting
// for it needs no object of its own. Whoever holds a stream's token (a worker, or a thread that synchronises) runs its
// head; a task that must wait parks the stream instead of a thread.
//
// States: idle -> queued -> running -> idle, and running -> parked -> queued when a task blocks. `notified` is
// running plus "Unblock came before the park".
#ifndef MILLPOND_SRC_DEVICE_STREAM_STREAM_H_
#define MILLPOND_SRC_DEVICE_STREAM_STREAM_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "src/base/futex.h"
#include "src/base/handle_table.h"
#include "src/base/spinlock.h"
#include "src/base/status.h"
#include "src/device/stream/task.h"
#include "src/trace/emit.h"

namespace millpond {

class Context;
class Device;
class Event;
class Stream;

// Where a capturing stream's tasks go instead of its queue (src/device/capture/handle.h).
class CaptureTarget {
 public:
  virtual ~CaptureTarget() = default;
  virtual Status Add(Stream* stream, OwnedTask task) = 0;
  // `stream` is being captured by this target. A record makes the event mean a point of the graph.
  virtual Status RecordEvent(Stream* stream, Event* event, bool external) = 0;
  // `stream` is being captured here, or is not being captured and joins because `event` was recorded here.
  virtual Status WaitEvent(Stream* stream, Event* event, bool external) = 0;
  virtual Status ResetEvent(Stream* stream, Event* event) = 0;
};

// `leave` is called on a thread that has run tasks, before it turns to anything else: kernels set the thread up for
// themselves once for a run of tasks, not for each. One listener, set once.
void SetAfterRun(void (*leave)());
// For whoever runs a kernel on a thread of the client, outside every stream.
void AfterRun();

class Stream {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;
  // Beyond this many waiting tasks a launch on a runnable stream helps to run it first, so memory stays bounded.
  // A parked stream is not bounded: what wakes it may come from the very thread that launches.
  static constexpr uint64_t kMaxDepth = 2048;

  // Recycled by Streams(): the counters go on counting over all lives, so stale (stream, count) pairs read as done.
  void Open(void* handle, Device* device, Context* context, int32_t id, uint32_t priority, uint32_t flags,
            bool is_default);

  Stream() = default;
  // Only tests end a stream's object: the table recycles it. pre: nothing is queued.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // A stream that is destroyed gives its queue's memory back; its object waits for the next one.
  void FreeSpares();

  void* handle() const { return handle_; }
  Device* device() const { return device_; }
  Context* context() const { return context_; }
  int32_t id() const { return id_; }
  uint32_t priority() const { return priority_.load(std::memory_order_relaxed); }
  void set_priority(uint32_t priority) { priority_.store(priority, std::memory_order_relaxed); }
  uint32_t flags() const { return flags_; }
  bool is_default() const { return is_default_; }

  // Appends a task. `accesses` names what it touches, by the client's addresses, and `note` makes the LaunchNote; both
  // are read only when somebody listens. Returns as soon as the task is queued; what the body returns surfaces at the
  // next synchronisation.
  template <TaskKind kKind, class Body, class Note = NoNote>
  Status Launch(const char* name, std::span<const trace::Access> accesses, Body body, Note note = {}) {
    const uint32_t slow = slow_.load(std::memory_order_relaxed);
    if (__builtin_expect(slow != 0, false)) {
      if (slow != kSlowTraced) return LaunchSlow(OwnedTask::Make<kKind>(name, accesses, std::move(body)), note());
      if constexpr (kKind == TaskKind::kCompute && std::is_same_v<Note, NoNote>) {
        // Names nothing and orders nobody.
        if (accesses.empty() && !trace::Wants(trace::kTasks | trace::kRan)) {
          PreparedBody<kKind, Body> prepared(std::move(body));
          prepared.FillSlot(BeginPush(), name);
          last_of_client_.store(tail_count_ + 1, std::memory_order_relaxed);
          EndPush();
          return Ok();
        }
      }
      const LaunchNote told = note();
      const uint32_t stack = trace::StackIfWanted();  // before the lock: the unwinder takes locks of its own
      PreparedBody<kKind, Body> prepared(std::move(body));
      TaskSlot* slot = BeginPush();
      prepared.FillSlot(slot, name);
      Tell(slot, accesses, told, stack);
      EndPush();
      return Ok();
    }
    PreparedBody<kKind, Body> prepared(std::move(body));
    prepared.FillSlot(BeginPush(), name);
    EndPush();
    return Ok();
  }
  template <TaskKind kKind, class Body, class Note = NoNote>
  Status Launch(const char* name, std::initializer_list<trace::Access> accesses, Body body, Note note = {}) {
    return Launch<kKind>(name, std::span<const trace::Access>(accesses.begin(), accesses.size()), std::move(body),
                         std::move(note));
  }
  // Whether a launch now would read its accesses.
  bool wants_accesses() const { return slow_.load(std::memory_order_relaxed) != 0; }
  // The same for a task already built. Ignores capture (for replay and for the capture machinery itself).
  Status LaunchOwned(OwnedTask task, const LaunchNote& note = {});

  uint64_t enqueued() const { return enqueued_.load(std::memory_order_acquire); }
  uint64_t completed() const { return completed_.load(std::memory_order_acquire); }
  bool drained() const { return completed() >= enqueued(); }
  // What completed() will be when the task that runs now has ended. For the token holder.
  uint64_t running_count() const { return head_count_ + 1; }

  // Blocks until completed() >= target, helping to run the queue where that is allowed. Timeout: `timeout_code`. `kind`
  // says for sinks who waits.
  Status WaitFor(uint64_t target, Deadline deadline, Code timeout_code,
                 trace::WaitKind kind = trace::WaitKind::kInternal);
  // The same without evidence: the caller gives its own.
  Status Await(uint64_t target, Deadline deadline, Code timeout_code);
  // Waits for all tasks enqueued so far, then returns and clears the first failure since the last call.
  Status Synchronize(Deadline deadline, Code timeout_code, trace::WaitKind kind = trace::WaitKind::kStream);
  Status TakeError();
  // For polling (aclrtStreamQuery, aclrtQueryEventStatus): true when reached. Polling always makes progress.
  bool Poll(uint64_t target);
  // The calling thread knows that completed() >= target, by `kind`: tells sinks.
  void TellReached(uint64_t target, trace::WaitKind kind) const;

  // A sink may know that a wait for `target` would never end, because streams wait for each other: they are aborted.
  void EndIfEndless(uint64_t target);

  // Called by whoever ends the wait of a task that returned kBlocked. Spurious calls are harmless.
  void Unblock();
  // The stream `waiter` is unblocked once completed() >= target, or now and then where there is no memory to remember
  // it. False when that is already so.
  bool AddStreamWaiter(Stream* waiter, uint64_t target);
  void RemoveStreamWaiter(Stream* waiter);
  // The same for a sleeping thread: `*word` (0 before) becomes 1 and is woken. For schedulers. May throw bad_alloc.
  bool AddThreadWaiter(std::atomic<uint32_t>* word, uint64_t target);
  void RemoveThreadWaiter(std::atomic<uint32_t>* word);

  // Drops every task not yet started, waits for the one that runs, leaves `reason` for the next synchronisation.
  Status Abort(Status reason);
  // An Abort waits for the task that runs: one that may run for ever asks.
  bool dropping() const { return completed() < abort_until_.load(std::memory_order_relaxed); }
  // Aborts so far. Work that a thread launches piece by piece compares it with what it was at the first piece: between
  // two pieces the queue is empty, and an Abort then drops nothing that could tell.
  uint64_t aborts() const { return aborts_.load(std::memory_order_acquire); }
  // The task that makes completed() reach `target` was dropped by the latest Abort.
  bool WasAborted(uint64_t target) const;

  // ACL_STREAM failure modes: after a failure, continue (default) or discard everything later. Documented: the mode
  // spreads to the other streams of the context, which then refuse new tasks after the failure too.
  void set_stop_on_failure();
  bool stop_on_failure() const { return stop_on_failure_.load(std::memory_order_relaxed); }

  // What operators launched from now on do with results that are not finite (src/exec/op/float_rules.h). Saturation is
  // the device's mode when the stream is made, as its page says.
  enum FloatRule : uint32_t { kSaturates = 1, kWatchesOverflow = 2 };
  uint32_t float_rules() const { return float_rules_.load(std::memory_order_relaxed); }
  void set_watches_overflow(bool on) {
    if (on) {
      float_rules_.fetch_or(kWatchesOverflow, std::memory_order_relaxed);
    } else {
      float_rules_.fetch_and(~uint32_t{kWatchesOverflow}, std::memory_order_relaxed);
    }
  }

  void BeginCapture(CaptureTarget* target) { SetDiversion(&capture_, kSlowCapture, target); }
  void EndCapture() { SetDiversion(&capture_, kSlowCapture, nullptr); }
  CaptureTarget* capture() const { return capture_.load(std::memory_order_acquire); }
  // While set, launched tasks go to `target`, which keeps those it wants; the stream itself goes on as usual.
  void SetUpdate(CaptureTarget* target) { SetDiversion(&update_, kSlowUpdate, target); }
  CaptureTarget* update() const { return update_.load(std::memory_order_acquire); }

  // A stream that never has tasks, as a counter others wait for: a promise is a count that somebody keeps later.
  uint64_t Promise() { return enqueued_.fetch_add(1, std::memory_order_acq_rel) + 1; }
  void KeepPromise(uint64_t count) { Publish(count); }

  // Free-form per-stream attributes of the API (overflow switch, custom tag, resource limits...), by attribute id.
  SpinLock attribute_lock;
  uint64_t attributes[16] GUARDED_BY(attribute_lock) = {};
  uint32_t resource_limit[8] GUARDED_BY(attribute_lock) = {};
  bool resource_limit_set[8] GUARDED_BY(attribute_lock) = {};

  // --- For schedulers only ---
  enum class RunEnd : uint8_t { kEmpty, kParked, kReached, kBudget, kTeam };
  // pre: the caller holds the token (state running). Runs tasks until `until` is reached or `budget` tasks have run.
  // Gives the token up before it returns (requeued on kBudget and kReached when work is left).
  RunEnd Run(uint64_t until, uint32_t budget);
  bool TryTakeToken();  // queued -> running; only the team's thread gets a stream whose head needs the team
  bool needs_team() const { return needs_team_.load(std::memory_order_seq_cst); }
  // The last run of tasks had some that needed the team, so the next one probably has too.
  bool prefers_team() const { return prefers_team_.load(std::memory_order_relaxed); }
  std::atomic<bool> in_run_queue{false};
  // Places in lists that a stream is in once at most, so that listing it cannot fail: of the run queue, which guards it
  // by its lock, and of the Poller.
  Stream* next_in_queue = nullptr;
  struct PollPlace {
    Stream* next = nullptr;
    Clock::time_point due{};
    bool polling = false;  // Poller::Kick makes it due at once
    bool listed = false;
  } poll_place;

 private:
  friend HandleTable<Stream, HandleKind::kStream>& Streams();
  enum State : uint32_t { kIdle, kQueued, kRunning, kNotified, kParked };
  static constexpr uint32_t kChunkTasks = 31;
  static constexpr uint32_t kSpareChunks = kMaxDepth / kChunkTasks + 2;
  static constexpr uint64_t kTraceTaskBlock = 32;

  struct Chunk {
    Chunk* next = nullptr;
    TaskSlot slots[kChunkTasks];
  };

  struct Waiter {
    uint64_t target;
    Stream* stream;                 // unblocked when set ...
    std::atomic<uint32_t>* thread;  // ... else this word becomes 1 and is woken
  };

  // Reasons for the slow launch, all in one word: it is what every launch pays.
  enum Slow : uint32_t { kSlowCapture = 1, kSlowStopped = 2, kSlowSeeded = 4, kSlowUpdate = 8, kSlowTraced = 16 };
  // A launch has something to tell when sinks have any of these.
  static constexpr uint32_t kLaunchInterests = trace::kTasks | trace::kUses | trace::kRan;
  static void OnInterests(uint32_t interests);
  Status LaunchSlow(OwnedTask task, const LaunchNote& note);
  // pre: `slot` is the next task. Tells sinks of it.
  void Tell(TaskSlot* slot, std::span<const trace::Access> accesses, const LaunchNote& note, uint32_t stack)
      REQUIRES(push_lock_);
  uint64_t NextTraceTask() REQUIRES(push_lock_);
  void SetDiversion(std::atomic<CaptureTarget*>* where, Slow reason, CaptureTarget* target);
  TaskSlot* BeginPush() ACQUIRE(push_lock_);
  bool AppendChunk() REQUIRES(push_lock_);
  void EndPush() RELEASE(push_lock_);
  void MakeReady();  // idle -> queued
  void Throttle();
  RunEnd RunTasks(uint64_t until, uint32_t budget);
  void AdvanceHead();
  void Publish(uint64_t completed);
  void WakeWaiters(uint64_t completed);
  bool AddWaiter(Waiter waiter);
  void Fail(const TaskSlot& slot, Code code, Status status) noexcept;
  void StopContext() noexcept;
  TaskEnd Execute(TaskSlot& slot) noexcept;
  bool Park();
  bool GoIdle();
  void Requeue();
  void PassToTeam();
  bool MoreWork();
  bool Linger(uint32_t ran);

  // Identity, set by Open. Atomic because a client's late use may read it while the object begins its next life.
  std::atomic<void*> handle_{nullptr};
  std::atomic<Device*> device_{nullptr};
  std::atomic<Context*> context_{nullptr};
  std::atomic<int32_t> id_{0};
  std::atomic<uint32_t> priority_{0};
  std::atomic<uint32_t> flags_{0};
  std::atomic<bool> is_default_{false};
  std::atomic<bool> stop_on_failure_{false};
  std::atomic<bool> stopped_{false};      // a failure happened in stop mode
  std::atomic<uint64_t> abort_until_{0};  // tasks up to this number are discarded instead of run
  std::atomic<uint64_t> aborts_{0};       // goes on counting over all lives
  std::atomic<CaptureTarget*> capture_{nullptr};
  std::atomic<CaptureTarget*> update_{nullptr};
  std::atomic<uint32_t> slow_{0};
  std::atomic<uint32_t> float_rules_{0};

  // Producers.
  alignas(64) SpinLock push_lock_;
  Chunk* tail_chunk_ GUARDED_BY(push_lock_) = nullptr;
  Chunk* fresh_chunks_ GUARDED_BY(push_lock_) = nullptr;  // taken from spares_
  uint32_t tail_index_ GUARDED_BY(push_lock_) = 0;
  uint64_t tail_count_ GUARDED_BY(push_lock_) = 0;
  uint64_t next_trace_task_ GUARDED_BY(push_lock_) = 0;  // numbers for sinks, taken in blocks of kTraceTaskBlock
  uint64_t last_trace_task_ GUARDED_BY(push_lock_) = 0;
  // The count of the last task that is not Millpond's own, while somebody listens; 0: none yet in this life.
  std::atomic<uint64_t> last_of_client_{0};
  // Reading completed_ at each launch would fetch a line the runner writes at each task: look only when this is
  // reached.
  std::atomic<uint64_t> throttle_at_{kMaxDepth};
  std::atomic<uint64_t> enqueued_{0};

  // The token holder.
  alignas(64) Chunk* head_chunk_ = nullptr;
  uint32_t head_index_ = 0;
  uint64_t head_count_ = 0;
  uint64_t known_enqueued_ = 0;  // enqueued_ as last read: tasks below it are there
  uint64_t began_ns_ = 0;        // when the task at the head first ran, if it has blocked and a sink hears of it
  std::atomic<uint64_t> completed_{0};
  // Empty chunks on their way back from the runner to the producers, at most kSpareChunks of them.
  std::atomic<Chunk*> spares_{nullptr};
  std::atomic<uint32_t> spare_count_{0};

  alignas(64) std::atomic<uint32_t> state_{kIdle};
  std::atomic<bool> needs_team_{false};
  std::atomic<bool> prefers_team_{false};
  std::atomic<uint64_t> next_wake_{kNever};  // the smallest target any waiter has
  SpinLock waiters_lock_;
  std::vector<Waiter> waiters_ GUARDED_BY(waiters_lock_);

  mutable SpinLock error_lock_;  // guards what follows
  // The first failure since the last TakeError, which makes the text: a task that fails allocates nothing.
  struct Failure {
    Code code = Code::kOk;
    Status status;               // OK where there was no memory for a text
    const char* task = nullptr;  // null: nobody's failure, an Abort
    uint32_t number = 0;
  };
  Status TextOf(Failure* failure) const;
  // What stopped the context: a failure of any of its streams, also one that somebody was told already. Empty: not
  // known.
  std::string WhatStopped() const;
  std::string OwnFailure() const;
  Failure failure_ GUARDED_BY(error_lock_);
  std::string stopped_by_ GUARDED_BY(error_lock_);     // the failure, once it was told
  uint64_t aborted_from_ GUARDED_BY(error_lock_) = 0;  // tasks in (from, to] were dropped by the latest Abort
  uint64_t aborted_to_ GUARDED_BY(error_lock_) = 0;
};

using StreamTable = HandleTable<Stream, HandleKind::kStream>;
StreamTable& Streams();

// The stream a client's handle means: null is the current context's default stream. Refuses dead handles and,
// when `same_context` is set, streams of another context (107003).
Status ResolveStream(const void* handle, Stream** out_stream);

// Set in threads that are running a task's body: such a thread must not wait for streams.
bool InTask();
// True inside Stream::Run; WakeOwed is due on this thread when it has made streams ready meanwhile.
bool InRun();
void OweWake();

// The number of the last task the calling thread launched (aclrtGetThreadLastTaskId), and its stream's count at
// which it is complete.
uint32_t LastTaskNumber();
uint64_t LastTaskCount();

// `count` numbers for the sinks, in a row; the first is returned.
uint64_t NewTraceTasks(uint64_t count);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_STREAM_H_

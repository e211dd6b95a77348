// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/event.h"

#include <new>
#include <utility>

#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/stream/poller.h"
#include "src/device/stream/scheduler.h"

namespace millpond {

namespace {

std::atomic<uint32_t> g_wait_timeout_s{0};

// Keeps a destroyed event's object in place while a queued task names it.
class EventHold {
 public:
  explicit EventHold(Event* event) : event_(event) { event_->Hold(); }
  EventHold(EventHold&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  EventHold& operator=(EventHold&&) = delete;
  ~EventHold() {
    if (event_ != nullptr) event_->Release();
  }
  Event* operator->() const { return event_; }

 private:
  Event* event_;
};

// The deadline half of every blocking wait: armed at the first run, checked at each later one.
struct WaitLimit {
  uint32_t timeout_s = 0;
  Clock::time_point deadline{};

  void Arm(Stream& stream) {
    if (timeout_s == 0) return;
    deadline = Clock::now() + std::chrono::seconds(timeout_s);
    Poller::Get().At(&stream, deadline);
  }
  // Called when a wait blocks again: asks for the wake at the deadline anew, since the former one may be used up.
  bool Expired(Stream& stream) const {
    if (timeout_s == 0) return false;
    if (Clock::now() >= deadline) return true;
    Poller::Get().At(&stream, deadline);
    return false;
  }
  Status Error(const char* what) const {
    return Status(Code::kWaitTimeout, Format("%s did not happen within %u s", what, timeout_s));
  }
};

// Counts for aclrtQueryEventWaitStatus. Captured after the EventHold, so that it ends before the event may go.
struct PendingWait {
  explicit PendingWait(std::atomic<uint32_t>* count) : count_(count) {
    count_->fetch_add(1, std::memory_order_acq_rel);
  }
  PendingWait(PendingWait&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  PendingWait& operator=(PendingWait&&) = delete;
  ~PendingWait() {
    if (count_ != nullptr) count_->fetch_sub(1, std::memory_order_acq_rel);
  }
  std::atomic<uint32_t>* count_;
};

}  // namespace

EventTable& Events() {
  static auto& table = *new EventTable;
  return table;
}

void SetDefaultWaitTimeout(uint32_t seconds) { g_wait_timeout_s.store(seconds, std::memory_order_relaxed); }
uint32_t DefaultWaitTimeout() { return g_wait_timeout_s.load(std::memory_order_relaxed); }

namespace {

// The hardware's event table bounds only events made with SYNC or EXTERNAL by the flag call (CANN's chapter on event
// management).
bool TakesHardwareEvent(EventMaking making, uint32_t flags) {
  return making == EventMaking::kFlagged && (flags & (kEventSync | kEventExternal)) != 0;
}

Status CheckFlags(EventMaking making, uint32_t flags) {
  if (making == EventMaking::kPlain) return Ok();
  constexpr uint32_t kAlone[] = {kEventDeviceUseOnly, kEventExternal, kEventIpc};
  constexpr uint32_t kKnown =
      kEventSync | kEventProgress | kEventDdSync | kEventTimeline | kEventDeviceUseOnly | kEventExternal | kEventIpc;
  MP_CHECK(flags != 0 && (flags & ~kKnown) == 0, kRuntimeArgument,
           "flag is 0x%x; it must be made of ACL_EVENT_* bits, at least one", flags);
  for (const uint32_t alone : kAlone) {
    MP_CHECK((flags & alone) == 0 || flags == alone, kRuntimeArgument,
             "flag 0x%x joins ACL_EVENT_EXTERNAL (0x20), ACL_EVENT_IPC (0x40) or ACL_EVENT_DEVICE_USE_ONLY (0x10) with "
             "another; each of them stands alone",
             flags);
  }
  MP_CHECK(making == EventMaking::kEx || (flags & kEventIpc) == 0, kRuntimeArgument,
           "ACL_EVENT_IPC is for aclrtCreateEventExWithFlag");
  return Ok();
}

}  // namespace

Status CreateEvent(Device* device, EventMaking making, uint32_t flags, void** out_handle) {
  MP_RETURN_IF_ERROR(CheckFlags(making, flags));
  const uint32_t limit = device->profile().max_events;
  const uint32_t taken = TakesHardwareEvent(making, flags) ? 1 : 0;
  if (device->live_events.fetch_add(taken, std::memory_order_relaxed) >= limit && taken != 0) {
    device->live_events.fetch_sub(taken, std::memory_order_relaxed);
    return Status(Code::kNoEvent,
                  Format("device %d has its %u events in use; destroy some first", device->id(), limit));
  }
  Event* event = Events().Create(out_handle);
  if (event == nullptr) {
    device->live_events.fetch_sub(taken, std::memory_order_relaxed);
    return Status(Code::kNoEvent, "the process has too many live events; destroy some first");
  }
  event->Open(*out_handle, device, making, flags);
  trace::TellObject(true, trace::ObjectKind::kEvent, device->id(), *out_handle, 0, flags);
  return Ok();
}

Status DestroyEvent(void* handle) {
  Event* event = nullptr;
  MP_RETURN_IF_ERROR(FindEvent(handle, &event));
  MP_CHECK(Events().Retire(handle), kInvalidHandle, "event %p was destroyed by another thread", handle);
  if (TakesHardwareEvent(event->making_, event->flags_)) {
    event->device_->live_events.fetch_sub(1, std::memory_order_relaxed);
  }
  trace::TellObject(false, trace::ObjectKind::kEvent, event->device()->id(), handle, 0, event->flags());
  event->Release();  // the handle's
  return Ok();
}

Status FindEvent(const void* handle, Event** out_event) {
  *out_event = Events().Find(handle);
  MP_REQUIRE(handle != nullptr, "event is null");
  MP_CHECK(*out_event != nullptr, kInvalidHandle,
           "event %p is not a live event: it was never created, or was destroyed", handle);
  return Ok();
}

Status WaitForDestroyed(const void* handle, Stream* stream, uint32_t timeout_s, bool* out_known) {
  *out_known = false;
  Event* event = Events().At(EventTable::IndexOf(handle));
  // The object keeps its last handle until it is given out again.
  if (event == nullptr || event->handle() != handle || event->shared() != nullptr || event->is_level()) return Ok();
  const bool held = event->TryHold();  // else every task that named it has run, its records too
  Status result = Ok();
  if (event->handle() == handle && event->recorded()) {
    *out_known = true;
    if (held) result = event->Wait(stream, timeout_s);
  }
  if (held) event->Release();
  return result;
}

void Event::Open(void* handle, Device* device, EventMaking making, uint32_t flags) {
  handle_ = handle;
  device_ = device;
  making_ = making;
  flags_ = flags;
  timestamp_ns_ = 0;
  timestamp_generation_ = 0;
  pending_waits_ = 0;
  record_claim_ = wait_claim_ = kUnclaimed;
  captured_by_ = nullptr;
  shared_ = nullptr;
  MutexLock lock(lock_);
  latest_ = {};
  level_ = false;
  level_generation_ = 0;
  level_waiters_.clear();
  holds_.Open();
}

void Event::Release() {
  if (!holds_.Release()) return;
  Share(nullptr, nullptr);
  Events().Recycle(handle());
}

uint32_t Event::id() const { return static_cast<uint32_t>(reinterpret_cast<uint64_t>(handle())); }

Event::Point Event::LatestPoint() const {
  MutexLock lock(lock_);
  return latest_;
}

void Event::PointTo(const Point& point) {
  MutexLock lock(lock_);
  if (point.generation > latest_.generation) latest_ = point;
}

bool Event::LevelUpOrWait(Stream* waiter) {
  MutexLock lock(lock_);
  std::erase(level_waiters_, waiter);
  if (!level_) {
    try {
      level_waiters_.push_back(waiter);
    } catch (const std::bad_alloc&) {  // it must wait all the same, and looks again by and by
      Poller::Get().Soon(waiter);
    }
    return false;
  }
  trace::TellSignal(trace::Signal::Kind::kMet, trace::Link::kEvent, reinterpret_cast<uint64_t>(handle()),
                    level_generation_, waiter->id(), waiter->running_count());
  return true;
}

void Event::LowerLevel(const Stream& on) {
  MutexLock lock(lock_);
  level_ = false;
  trace::TellSignal(trace::Signal::Kind::kLowered, trace::Link::kEvent, reinterpret_cast<uint64_t>(handle()),
                    level_generation_, on.id(), on.running_count());
}

bool Event::recorded() const {
  if (shared_ != nullptr) return shared_->recorded.load(std::memory_order_acquire) != 0;
  return LatestPoint().stream != nullptr;
}

void Event::MarkRecorded(uint64_t generation, const Stream& on) {
  if (has_timeline()) {
    timestamp_ns_.store(trace::NowNs(), std::memory_order_relaxed);
    timestamp_generation_.store(generation, std::memory_order_release);
  }
  if (is_level()) RaiseLevel(generation, on);
  if (shared_ != nullptr) {
    shared_->timestamp_ns.store(trace::NowNs(), std::memory_order_relaxed);
    shared_->completed.store(generation, std::memory_order_release);
  }
}

void Event::RaiseLevel(uint64_t generation, const Stream& on) {
  std::vector<Stream*> waiters;
  {
    MutexLock lock(lock_);
    trace::TellSignal(trace::Signal::Kind::kRaised, trace::Link::kEvent, reinterpret_cast<uint64_t>(handle()),
                      generation, on.id(), on.running_count());
    level_ = true;
    level_generation_ = generation;
    waiters.swap(level_waiters_);
  }
  for (Stream* waiter : waiters) waiter->Unblock();
}

Status Event::ClaimSlow(std::atomic<uint8_t>* claim, uint8_t wanted, const char* what) const {
  uint8_t found = kUnclaimed;
  if (claim->compare_exchange_strong(found, wanted, std::memory_order_relaxed)) return Ok();
  MP_CHECK(found == wanted, kRuntimeArgument,
           "event %p has been %s %s before and must go on that way; use another event for the other", handle(), what,
           found == kExternal ? "with the external flag" : "without the external flag");
  return Ok();
}

LaunchNote Event::Note(trace::Edge::Kind kind, uint64_t generation, uint32_t timeout_s) const {
  const bool is_shared = shared_ != nullptr;
  return LaunchNote::Of({.kind = kind,
                         .link = is_shared ? trace::Link::kSharedEvent : trace::Link::kEvent,
                         .binds_when_run = is_level() && !is_shared,
                         .id = reinterpret_cast<uint64_t>(handle()),
                         .generation = generation,
                         .may_end_otherwise = is_shared || timeout_s != 0});
}

// The record's note is told before the point is set: whoever waits for the point is told later.
Status Event::Record(Stream* stream) {
  MP_RETURN_IF_ERROR(ClaimRecord(false));
  if (CaptureTarget* capture = stream->capture()) return capture->RecordEvent(stream, this, false);
  SetCaptured(nullptr);
  if (shared_ != nullptr) return RecordShared(stream);
  const uint64_t generation = NextGeneration();
  MP_RETURN_IF_ERROR(LaunchRecord(stream, generation));
  PointTo({stream, LastTaskCount(), generation});
  return Ok();
}

Status Event::LaunchRecord(Stream* stream, uint64_t generation) {
  return stream->Launch<TaskKind::kEventRecord>(
      "EventRecord", {},
      [hold = EventHold(this), generation](TaskSlot&, Stream& self, Status*) mutable -> TaskEnd {
        hold->MarkRecorded(generation, self);
        return TaskEnd::kDone;
      },
      [&] { return Note(trace::Edge::Kind::kRecord, generation); });
}

Status Event::RecordShared(Stream* stream) {
  return LaunchRecord(stream, shared_->recorded.fetch_add(1, std::memory_order_acq_rel) + 1);
}

Status Event::Wait(Stream* stream, uint32_t timeout_s) {
  MP_RETURN_IF_ERROR(ClaimWait(false));
  MP_CHECK_RULE(
      can_sync(), kRuntimeArgument, "MP603", handle(),
      "event %p was made without ACL_EVENT_SYNC (flags 0x%x), so no stream can wait for it; add ACL_EVENT_SYNC",
      handle(), flags());
  CaptureTarget* capture = stream->capture();
  if (capture == nullptr) capture = captured_by();
  if (capture != nullptr) return capture->WaitEvent(stream, this, false);
  if (shared_ != nullptr) return WaitShared(stream, timeout_s);
  if (is_level()) return WaitLevel(stream, timeout_s);
  const Point point = LatestPoint();
  // Nothing was recorded: nothing to wait for (docs/compat.md, "What clients rely on").
  if (point.stream == nullptr) {
    trace::TellMisuse("MP604", "aclrtStreamWaitEvent", handle(), [&] {
      return Format("stream %d waits for event %p, which was never recorded: it waits for nothing", stream->id(),
                    handle());
    });
    return Ok();
  }
  return stream->Launch<TaskKind::kEventWait>(
      "EventWait", {},
      [point, limit = WaitLimit{timeout_s}, hold = EventHold(this), pending = PendingWait(&pending_waits_)](
          TaskSlot& slot, Stream& self, Status* out_status) mutable -> TaskEnd {
        if (point.stream->completed() >= point.target) return TaskEnd::kDone;
        if (slot.phase++ == 0) {
          limit.Arm(self);
        } else {
          point.stream->RemoveStreamWaiter(&self);  // a spurious wake must not leave two entries
          if (limit.Expired(self)) {
            *out_status = limit.Error("the event's record");
            return TaskEnd::kDone;
          }
        }
        return point.stream->AddStreamWaiter(&self, point.target) ? TaskEnd::kBlocked : TaskEnd::kDone;
      },
      [&] { return Note(trace::Edge::Kind::kWait, point.generation, timeout_s); });
}

Status Event::WaitLevel(Stream* stream, uint32_t timeout_s) {
  return stream->Launch<TaskKind::kEventWait>(
      "EventWait", {},
      [this, limit = WaitLimit{timeout_s}, hold = EventHold(this), pending = PendingWait(&pending_waits_)](
          TaskSlot& slot, Stream& self, Status* out_status) mutable -> TaskEnd {
        if (LevelUpOrWait(&self)) return TaskEnd::kDone;
        if (slot.phase++ == 0) {
          limit.Arm(self);
        } else if (limit.Expired(self)) {
          MutexLock lock(lock_);
          std::erase(level_waiters_, &self);
          *out_status = limit.Error("the event's record");
          return TaskEnd::kDone;
        }
        return TaskEnd::kBlocked;
      },
      [&] { return Note(trace::Edge::Kind::kWait, 0, timeout_s); });
}

Status Event::WaitShared(Stream* stream, uint32_t timeout_s) {
  const uint64_t number = shared_->recorded.load(std::memory_order_acquire);
  if (number == 0) return Ok();
  return stream->Launch<TaskKind::kEventWait>(
      "EventWait", {},
      [number, limit = WaitLimit{timeout_s}, hold = EventHold(this), pending = PendingWait(&pending_waits_)](
          TaskSlot& slot, Stream& self, Status* out_status) mutable -> TaskEnd {
        if (hold->shared()->completed.load(std::memory_order_acquire) >= number) return TaskEnd::kDone;
        if (slot.phase++ == 0) {
          limit.Arm(self);
        } else if (limit.Expired(self)) {
          *out_status = limit.Error("the shared event's record");
          return TaskEnd::kDone;
        }
        Poller::Get().Soon(&self);
        return TaskEnd::kBlocked;
      },
      [&] { return Note(trace::Edge::Kind::kWait, number, timeout_s); });
}

Status Event::Reset(Stream* stream) {
  MP_CHECK(is_level(), kUnsupported,
           "event %p cannot be reset: only events made by aclrtCreateEventWithFlag with ACL_EVENT_SYNC or "
           "ACL_EVENT_EXTERNAL can",
           handle());
  if (CaptureTarget* capture = stream->capture()) return capture->ResetEvent(stream, this);
  return stream->Launch<TaskKind::kEventReset>(
      "EventReset", {},
      [hold = EventHold(this)](TaskSlot&, Stream& self, Status*) mutable -> TaskEnd {
        hold->LowerLevel(self);
        return TaskEnd::kDone;
      },
      [&] { return Note(trace::Edge::Kind::kReset, 0); });
}

bool Event::Complete() {
  if (shared_ != nullptr) {
    const uint64_t number = shared_->recorded.load(std::memory_order_acquire);
    if (shared_->completed.load(std::memory_order_acquire) < number) return false;
    trace::TellHostWait(trace::WaitKind::kQuery, device()->id(), -1, 0, handle(), number);
    return true;
  }
  const Point point = LatestPoint();
  if (point.stream == nullptr) return making_ == EventMaking::kEx;
  if (!point.stream->Poll(point.target)) return false;
  TellReached(point, trace::WaitKind::kQuery);
  return true;
}

// A point of a captured graph's replay lies on a counter that is no stream of the client's.
void Event::TellReached(const Point& point, trace::WaitKind kind) const {
  const bool on_stream = point.stream->device() != nullptr;
  trace::TellHostWait(kind, device()->id(), on_stream ? point.stream->id() : -1, on_stream ? point.target : 0, handle(),
                      point.generation);
}

Status Event::Synchronize(Deadline deadline) {
  if (shared_ != nullptr) {
    const uint64_t number = shared_->recorded.load(std::memory_order_acquire);
    while (shared_->completed.load(std::memory_order_acquire) < number) {
      MP_CHECK(!deadline || Clock::now() < *deadline, kEventSyncTimeout,
               "shared event %p is not complete in the time given", handle());
      timespec pause{.tv_sec = 0, .tv_nsec = 20'000};
      nanosleep(&pause, nullptr);
    }
    trace::TellHostWait(trace::WaitKind::kEvent, device()->id(), -1, 0, handle(), number);
    return Ok();
  }
  const Point point = LatestPoint();
  if (point.stream == nullptr) return Ok();
  MP_RETURN_IF_ERROR(point.stream->Await(point.target, deadline, Code::kEventSyncTimeout));
  TellReached(point, trace::WaitKind::kEvent);
  MP_CHECK(!point.stream->WasAborted(point.target), kStreamAborted, "the stream of event %p was aborted", handle());
  return Ok();
}

bool Event::WaitsComplete() {
  if (pending_waits_.load(std::memory_order_acquire) != 0) {
    Scheduler::Get().Polled(nullptr);  // the waits are on streams we do not know
    if (pending_waits_.load(std::memory_order_acquire) != 0) return false;
  }
  trace::TellSignal(trace::Signal::Kind::kPassed, trace::Link::kEvent, reinterpret_cast<uint64_t>(handle()), 0, -1, 0);
  return true;
}

Status Event::Timestamp(uint64_t* out_ns) {
  MP_CHECK(has_timeline(), kTimestampMissing, "event %p keeps no time: make it with ACL_EVENT_TIME_LINE", handle());
  if (shared_ != nullptr) {
    MP_CHECK(recorded() && Complete(), kTimestampMissing, "event %p has not been reached yet; synchronise first",
             handle());
    *out_ns = shared_->timestamp_ns.load(std::memory_order_acquire);
    return Ok();
  }
  const Point point = LatestPoint();
  MP_CHECK(point.stream != nullptr, kTimestampMissing, "event %p was never recorded", handle());
  MP_CHECK(timestamp_generation_.load(std::memory_order_acquire) >= point.generation, kTimestampMissing,
           "event %p has been recorded but its stream has not got there; synchronise first", handle());
  *out_ns = timestamp_ns_.load(std::memory_order_relaxed);
  return Ok();
}

}  // namespace millpond

// SPDX-License-Identifier: Apache-2.0
// Events. A record is a point of a stream, (stream, count), so waiting for it is waiting for the stream's counter.
// Three makings, three manners (docs/compat.md):
//   kPlain    aclrtCreateEvent: timestamps and ordering, cannot be reset
//   kFlagged  aclrtCreateEventWithFlag: with SYNC it is a level that a record raises and a reset lowers, looked at
//             when the waiting task runs
//   kEx       aclrtCreateEventExWithFlag: re-recordable; a wait keeps the record that was latest when it was enqueued
#ifndef MILLPOND_SRC_DEVICE_STREAM_EVENT_H_
#define MILLPOND_SRC_DEVICE_STREAM_EVENT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/futex.h"
#include "src/base/handle_table.h"
#include "src/base/hold_count.h"
#include "src/base/mutex.h"
#include "src/base/relaxed.h"
#include "src/base/spinlock.h"
#include "src/base/status.h"
#include "src/device/stream/stream.h"

namespace millpond {

enum class EventMaking : uint8_t { kPlain, kFlagged, kEx };

// The bits of ACL_EVENT_*, fixed by the ABI.
enum EventFlag : uint32_t {
  kEventSync = 0x1,
  kEventProgress = 0x2,
  kEventDdSync = 0x4,  // not in the documents, but in torch_npu's default 0x0E, whose events streams wait for
  kEventTimeline = 0x8,
  kEventDeviceUseOnly = 0x10,
  kEventExternal = 0x20,
  kEventIpc = 0x40,
};

// The state of an event shared between processes, in memory both map. A record is complete when completed >= its
// number; a wait keeps the number that was latest when it was enqueued.
struct SharedEventState {
  std::atomic<uint64_t> recorded{0};
  std::atomic<uint64_t> completed{0};
  std::atomic<uint64_t> timestamp_ns{0};
};

class Event {
 public:
  void Open(void* handle, Device* device, EventMaking making, uint32_t flags);

  void* handle() const { return handle_; }
  Device* device() const { return device_; }
  EventMaking making() const { return making_; }
  uint32_t flags() const { return flags_; }
  uint32_t id() const;
  bool is_level() const { return making_ == EventMaking::kFlagged && (flags_ & (kEventSync | kEventExternal)) != 0; }
  bool can_sync() const {
    return making_ == EventMaking::kPlain || (flags_ & (kEventSync | kEventDdSync | kEventExternal | kEventIpc)) != 0;
  }
  bool has_timeline() const { return making_ == EventMaking::kPlain || (flags_ & kEventTimeline) != 0; }

  // An event's records are all ordinary or all external (acting at a graph's replay), and so are its waits. The
  // first call decides, whether it succeeds or not.
  Status ClaimRecord(bool external) { return Claim(&record_claim_, external, "recorded"); }
  Status ClaimWait(bool external) { return Claim(&wait_claim_, external, "waited for"); }

  Status Record(Stream* stream);
  // `timeout_s` 0: for ever. A wait that times out fails its task with 107019, seen at the next synchronisation.
  Status Wait(Stream* stream, uint32_t timeout_s);
  Status Reset(Stream* stream);

  bool recorded() const;
  bool Complete();       // all tasks of the latest record have run (an unrecorded kEx event is complete)
  bool WaitsComplete();  // all waits for it have ended; polling, so it makes progress
  Status Synchronize(Deadline deadline);
  // 107006 unless the event keeps time and its latest record is complete.
  Status Timestamp(uint64_t* out_ns);

  // What a capture sees.
  CaptureTarget* captured_by() const { return captured_by_.load(std::memory_order_acquire); }
  void SetCaptured(CaptureTarget* target) { captured_by_.store(target, std::memory_order_release); }

  // Shared memory takes the place of the local point. `memory`, where it lies, is kept until the last task is done.
  void Share(SharedEventState* state, std::shared_ptr<void> memory) {
    MutexLock lock(lock_);
    shared_memory_.swap(memory);
    shared_ = state;
  }
  SharedEventState* shared() const { return shared_; }

  // A record is complete when its stream's count reaches `target`. Null stream: never recorded.
  struct Point {
    Stream* stream = nullptr;
    uint64_t target = 0;
    uint64_t generation = 0;
  };
  Point LatestPoint() const;

  // For captured graphs, whose records and waits happen at replay: makes `point` the latest record when it is newer.
  void PointTo(const Point& point);
  // pre: is_level(). True when the level is up; else `waiter`, whose token the caller holds, is unblocked when it next
  // goes up.
  bool LevelUpOrWait(Stream* waiter);
  void LowerLevel(const Stream& on);

  // The effect of a record, on the token holder's thread.
  void MarkRecorded(uint64_t generation, const Stream& on);
  uint64_t NextGeneration() { return generation_.fetch_add(1, std::memory_order_relaxed) + 1; }

  // The table recycles a destroyed event when the last task that names it has run.
  void Hold() { holds_.Hold(); }
  void Release();
  bool TryHold() { return holds_.TryHold(); }  // false when no task names it any more and its handle is gone

 private:
  friend Status DestroyEvent(void* handle);

  enum Claimed : uint8_t { kUnclaimed, kOrdinary, kExternal };
  Status Claim(std::atomic<uint8_t>* claim, bool external, const char* what) {
    const uint8_t wanted = external ? kExternal : kOrdinary;
    if (__builtin_expect(claim->load(std::memory_order_relaxed) == wanted, true)) return Ok();
    return ClaimSlow(claim, wanted, what);
  }
  Status ClaimSlow(std::atomic<uint8_t>* claim, uint8_t wanted, const char* what) const;
  void RaiseLevel(uint64_t generation, const Stream& on);
  // What sinks are told of a task that records this event or waits for it.
  LaunchNote Note(trace::Edge::Kind kind, uint64_t generation, uint32_t timeout_s = 0) const;
  Status LaunchRecord(Stream* stream, uint64_t generation);
  Status RecordShared(Stream* stream);
  void TellReached(const Point& point, trace::WaitKind kind) const;
  Status WaitShared(Stream* stream, uint32_t timeout_s);
  Status WaitLevel(Stream* stream, uint32_t timeout_s);

  Relaxed<void*> handle_ = nullptr;
  Relaxed<Device*> device_ = nullptr;
  Relaxed<EventMaking> making_ = EventMaking::kPlain;
  Relaxed<uint32_t> flags_ = 0;
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> timestamp_ns_{0};
  std::atomic<uint64_t> timestamp_generation_{0};
  std::atomic<uint32_t> pending_waits_{0};
  std::atomic<uint8_t> record_claim_{kUnclaimed};
  std::atomic<uint8_t> wait_claim_{kUnclaimed};
  HoldCount holds_;
  std::atomic<CaptureTarget*> captured_by_{nullptr};
  Relaxed<SharedEventState*> shared_ = nullptr;

  mutable SpinLock lock_;  // guards what follows
  std::shared_ptr<void> shared_memory_ GUARDED_BY(lock_);
  Point latest_ GUARDED_BY(lock_);
  bool level_ GUARDED_BY(lock_) = false;
  uint64_t level_generation_ GUARDED_BY(lock_) = 0;  // the record that raised it last
  std::vector<Stream*> level_waiters_ GUARDED_BY(lock_);
};

using EventTable = HandleTable<Event, HandleKind::kEvent>;
EventTable& Events();

Status CreateEvent(Device* device, EventMaking making, uint32_t flags, void** out_handle);
Status DestroyEvent(void* handle);
Status FindEvent(const void* handle, Event** out_event);
// A wait for an event that was recorded and then destroyed: for its latest record, if that is still to run. False in
// `out_known` when nothing is known of the handle any more.
Status WaitForDestroyed(const void* handle, Stream* stream, uint32_t timeout_s, bool* out_known);

// aclrtSetOpWaitTimeout: seconds that later event waits allow, 0 for ever.
void SetDefaultWaitTimeout(uint32_t seconds);
uint32_t DefaultWaitTimeout();

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_EVENT_H_

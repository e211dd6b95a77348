// SPDX-License-Identifier: Apache-2.0
// A task as it lies in a stream's queue: two cache lines, the body stored in place when it is small.
// The launch path is measured in nanoseconds; nothing here allocates for a body of up to kInlineBytes.
#ifndef MILLPOND_SRC_DEVICE_STREAM_TASK_H_
#define MILLPOND_SRC_DEVICE_STREAM_TASK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "src/trace/sink.h"

namespace millpond {

class Stream;
struct TaskSlot;

using TaskKind = trace::TaskKind;

enum class TaskEnd : uint8_t {
  kDone,
  // The task cannot finish yet. It has arranged that somebody calls Stream::Unblock, after which it is run again.
  kBlocked,
};

// A task's run function is called with the slot and the stream whose token the caller holds. A body that may block
// keeps its progress in slot.phase (0 at the first call).
struct TaskOps {
  TaskKind kind;
  // The body computes with a team of threads: see Scheduler::OnTeamThread. A body says so with kNeedsTeam.
  bool needs_team;
  TaskEnd (*run)(TaskSlot& slot, Stream& stream, Status* out_status);
  void (*destroy)(TaskSlot& slot);
  // Copies the body into an empty slot, for capture; null when the body cannot be copied.
  void (*copy)(const TaskSlot& from, TaskSlot* to);
  // Moves the body into an empty slot and ends it in the old one.
  void (*relocate)(TaskSlot& from, TaskSlot* to);
  // For a body that somebody outside of the process counts on; null for all others. The run of a captured graph ends
  // before the body has: what it has begun ends, and they are told. Not `mine`: another run may be at the body, which
  // is only read. A body that is destroyed in a queue does the same by itself.
  void (*abandon)(TaskSlot& slot, bool mine);
};

// What a task outside a queue keeps for whoever captures it.
struct TaskExtra {
  uint64_t task = 0;  // the sinks' number, 0: none
  std::vector<trace::Access> accesses;
};

// What only sinks and captures need, in one word: nothing, the sinks' number of the task, or a TaskExtra.
class TaskEvidence {
 public:
  bool empty() const { return word_ == 0; }
  TaskExtra* extra() const { return (word_ & 1) != 0 ? nullptr : reinterpret_cast<TaskExtra*>(word_); }
  uint64_t task() const {
    if ((word_ & 1) != 0) return word_ >> 1;
    return word_ != 0 ? extra()->task : 0;
  }
  std::span<const trace::Access> accesses() const {
    const TaskExtra* found = extra();
    return found != nullptr ? std::span<const trace::Access>(found->accesses) : std::span<const trace::Access>();
  }
  void set_extra(std::unique_ptr<TaskExtra> extra) { word_ = reinterpret_cast<uintptr_t>(extra.release()); }
  void set_task(uint64_t task) {
    if (TaskExtra* found = extra()) {
      found->task = task;
    } else {
      word_ = static_cast<uintptr_t>(task << 1 | 1);
    }
  }
  void Clear() { word_ = 0; }
  void Drop() {
    delete extra();
    word_ = 0;
  }

 private:
  uintptr_t word_ = 0;  // odd: twice the number plus 1
};

struct alignas(64) TaskSlot {
  static constexpr size_t kInlineBytes = 96;

  const TaskOps* ops = nullptr;
  const char* name = nullptr;  // static or interned: outlives the task
  TaskEvidence evidence;       // dropped by the slot's owner
  uint32_t phase = 0;
  uint32_t number = 0;  // the runtime's task id, as exception info and aclrtGetThreadLastTaskId report it
  alignas(16) std::byte payload[kInlineBytes];
};
static_assert(sizeof(TaskSlot) == 128, "two cache lines");

// What sinks are told of a launch beside its accesses.
struct LaunchNote {
  uint8_t flags = 0;   // trace::TaskFlag
  uint32_t graph = 0;  // see trace::TaskEnqueued
  uint64_t nodes = 0;
  bool has_edge = false;
  trace::Edge edge = {};
  std::span<const trace::Edge> edges;  // instead of `edge`

  static LaunchNote Of(const trace::Edge& edge) { return {.has_edge = true, .edge = edge, .edges = {}}; }
  // The task waits for the task that makes the count of `stream` reach `count`.
  static LaunchNote OfPoint(int32_t stream, uint64_t count, uint8_t flags = 0) {
    LaunchNote note = Of({.kind = trace::Edge::Kind::kWait,
                          .link = trace::Link::kPoint,
                          .binds_when_run = false,
                          .id = static_cast<uint64_t>(stream),
                          .generation = count});
    note.flags = flags;
    return note;
  }
  std::span<const trace::Edge> all_edges() const { return has_edge ? std::span<const trace::Edge>(&edge, 1) : edges; }
};
struct NoNote {
  LaunchNote operator()() const { return {}; }
};

namespace internal {

template <class Body>
inline constexpr bool kFitsInline = sizeof(Body) <= TaskSlot::kInlineBytes &&
                                    alignof(Body) <= 16 && std::is_nothrow_move_constructible_v<Body>;

template <class Body>
Body& BodyOf(TaskSlot& slot) {
  if constexpr (kFitsInline<Body>) {
    return *std::launder(reinterpret_cast<Body*>(slot.payload));
  } else {
    return **std::launder(reinterpret_cast<Body**>(slot.payload));
  }
}

template <class Body>
void EmplaceBody(TaskSlot* slot, Body body) {
  if constexpr (kFitsInline<Body>) {
    ::new (static_cast<void*>(slot->payload)) Body(std::move(body));
  } else {
    ::new (static_cast<void*>(slot->payload)) Body*(new Body(std::move(body)));
  }
}

// Body is either `Status operator()()`, or, when it may block,
// `TaskEnd operator()(TaskSlot& slot, Stream& stream, Status* out_status)`.
template <class Body>
TaskEnd RunBody(TaskSlot& slot, Stream& stream, Status* out_status) {
  if constexpr (std::is_invocable_r_v<TaskEnd, Body&, TaskSlot&, Stream&, Status*>) {
    return BodyOf<Body>(slot)(slot, stream, out_status);
  } else {
    *out_status = BodyOf<Body>(slot)();
    return TaskEnd::kDone;
  }
}

template <class Body>
void DestroyBody(TaskSlot& slot) {
  if constexpr (kFitsInline<Body>) {
    BodyOf<Body>(slot).~Body();
  } else {
    delete &BodyOf<Body>(slot);
  }
}

template <class Body>
void CopyBody(const TaskSlot& from, TaskSlot* to) {
  EmplaceBody<Body>(to, Body(BodyOf<Body>(const_cast<TaskSlot&>(from))));
}

template <class Body>
void RelocateBody(TaskSlot& from, TaskSlot* to) {
  if constexpr (kFitsInline<Body>) {
    ::new (static_cast<void*>(to->payload)) Body(std::move(BodyOf<Body>(from)));
    BodyOf<Body>(from).~Body();
  } else {
    ::new (static_cast<void*>(to->payload)) Body*(&BodyOf<Body>(from));
  }
}

template <class Body>
void AbandonBody(TaskSlot& slot, bool mine) {
  BodyOf<Body>(slot).Abandon(slot, mine);
}

template <TaskKind kKind, class Body>
constexpr TaskOps MakeOps() {
  constexpr bool kTeam = requires { Body::kNeedsTeam; };
  TaskOps ops{kKind, kTeam, &RunBody<Body>, &DestroyBody<Body>, nullptr, &RelocateBody<Body>, nullptr};
  if constexpr (std::is_copy_constructible_v<Body>) ops.copy = &CopyBody<Body>;
  if constexpr (requires(Body & body, TaskSlot & slot) { body.Abandon(slot, true); }) ops.abandon = &AbandonBody<Body>;
  return ops;
}

template <TaskKind kKind, class Body>
inline constexpr TaskOps kOps = MakeOps<kKind, Body>();

}  // namespace internal

// A body ready to be put into a slot: large ones are boxed here, so that filling a slot (under the queue's lock)
// cannot throw.
template <TaskKind kKind, class Body>
class PreparedBody {
 public:
  explicit PreparedBody(Body body)
      : body_([&] {
          if constexpr (internal::kFitsInline<Body>) {
            return std::move(body);
          } else {
            return std::make_unique<Body>(std::move(body));
          }
        }()) {}

  // The slot's owner calls slot.ops->destroy exactly once.
  void FillSlot(TaskSlot* slot, const char* name) noexcept {
    slot->ops = &internal::kOps<kKind, Body>;
    slot->name = name;
    slot->evidence.Clear();
    slot->phase = 0;
    if constexpr (internal::kFitsInline<Body>) {
      ::new (static_cast<void*>(slot->payload)) Body(std::move(body_));
    } else {
      ::new (static_cast<void*>(slot->payload)) Body*(body_.release());
    }
  }

 private:
  std::conditional_t<internal::kFitsInline<Body>, Body, std::unique_ptr<Body>> body_;
};

// A task outside a queue: what capture keeps and replays.
class OwnedTask {
 public:
  OwnedTask() = default;
  OwnedTask(OwnedTask&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  OwnedTask& operator=(OwnedTask&& other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~OwnedTask() {
    if (slot_ == nullptr) return;
    slot_->ops->destroy(*slot_);
    slot_->evidence.Drop();
    delete slot_;
  }
  template <TaskKind kKind, class Body>
  static OwnedTask Make(const char* name, std::span<const trace::Access> accesses, Body body) {
    OwnedTask task;
    auto slot = std::make_unique<TaskSlot>();
    auto extra = std::make_unique<TaskExtra>();
    extra->accesses.assign(accesses.begin(), accesses.end());
    PreparedBody<kKind, Body>(std::move(body)).FillSlot(slot.get(), name);
    slot->evidence.set_extra(std::move(extra));
    task.slot_ = slot.release();
    return task;
  }
  // A second task with a copy of the body; empty when the body cannot be copied.
  OwnedTask Copy() const;
  // Moves the task into an empty queue slot.
  void MoveInto(TaskSlot* slot) && noexcept;

  explicit operator bool() const { return slot_ != nullptr; }
  TaskSlot& slot() { return *slot_; }
  const TaskSlot& slot() const { return *slot_; }

 private:
  TaskSlot* slot_ = nullptr;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_TASK_H_

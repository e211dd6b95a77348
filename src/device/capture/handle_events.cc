// SPDX-License-Identifier: Apache-2.0
// Events inside a recording. A record and the waits for it become edges of the graph; events made with
// ACL_EVENT_EXTERNAL, and records and waits asked for as external, become tasks that act at replay.
#include "src/base/mutex.h"
#include "src/device/capture/handle.h"
#include "src/device/device.h"
#include "src/device/stream/event.h"

namespace millpond::capture {

Status Handle::CheckEventMaking(const Event& event) const {
  if (making_ == Making::kBuilt) return Ok();
  const bool external = event.is_level() && (event.flags() & kEventExternal) != 0;
  MP_CHECK(external || (event.making() == EventMaking::kEx && event.shared() == nullptr), kUnsupported,
           "event %p cannot be used in a capture: make it with aclrtCreateEventExWithFlag and ACL_EVENT_SYNC, or, for "
           "task updates, with aclrtCreateEventWithFlag and ACL_EVENT_EXTERNAL",
           event.handle());
  return Ok();
}

// Levels are looked at when a task runs; an event that only keeps time has no waits to order.
bool Handle::ActsOutside(const Event& event) const { return event.is_level() || !event.can_sync(); }

// Two captures at once that share an event could not be replayed one by one: both are void.
Status Handle::CheckConflict(const Event& event) {
  auto* other = dynamic_cast<Handle*>(event.captured_by());
  if (other == nullptr || other == this || state() != State::kCapturing) return Ok();
  Invalidate();
  other->Invalidate();
  return Status(Code::kCaptureConflict,
                Format("event %p was recorded in another capture than the stream's; both captures are invalidated",
                       event.handle()));
}

Handle::Mark& Handle::MarkOf(Event* event) {
  const auto [mark, added] = marks_.try_emplace(event);
  if (added) event->Hold();
  return mark->second;
}

Status Handle::AddOutside(uint32_t lane, TaskKind kind, Event* event, bool once) {
  MP_CHECK(making_ != Making::kBranch || !once, kUnsupported,
           "external records and waits cannot be in a conditional body; put them into the outer graph");
  MP_CHECK(!once || !external_events_.contains(event), kRuntimeArgument,
           "event %p has an external record or wait in this capture already; use another event for the second",
           event->handle());
  MP_CHECK(!ended_lanes_.contains(lane), kStreamModel, "stream %d takes no more tasks for its model",
           graph_->lanes()[lane].stream_id);
  MP_RETURN_IF_ERROR(CheckGroup(lane, kind));
  graph_->AddExternal(lane, kind, event);
  if (once) external_events_.insert(event);
  return Ok();
}

Status Handle::RecordEvent(Stream* stream, Event* event, bool external) {
  UniqueLock lock(mutex_);
  const auto found = lane_of_.find(stream);
  if (found == lane_of_.end()) {  // the capture ended between the caller's look and ours
    lock.unlock();
    MP_CHECK(!external, kStreamNotCaptured, "stream %d is not being captured any more", stream->id());
    return event->Record(stream);
  }
  const uint32_t lane = found->second;
  MP_RETURN_IF_ERROR(CheckActive());
  if (external) return AddOutside(lane, TaskKind::kEventRecord, event, true);
  MP_RETURN_IF_ERROR(CheckEventMaking(*event));
  if (ActsOutside(*event)) return AddOutside(lane, TaskKind::kEventRecord, event, false);
  MP_RETURN_IF_ERROR(CheckConflict(*event));
  MP_RETURN_IF_ERROR(CheckGroup(lane, TaskKind::kEventRecord));
  Mark& mark = MarkOf(event);
  mark.node = graph_->AddMark(lane, TaskKind::kEventRecord, *event);
  mark.recorded = true;
  for (const uint32_t wait : std::exchange(mark.early_waits, {})) graph_->AddEdge(mark.node, wait);
  if (making_ != Making::kBuilt) event->SetCaptured(this);
  return Ok();
}

Status Handle::Join(Stream* stream, uint32_t* out_lane) {
  MP_CHECK(!stream->is_default(), kCaptureImplicit,
           "the default stream cannot join a capture; use a stream made with aclrtCreateStream");
  MP_CHECK(stream->context()->handle() == context_, kWrongContext,
           "stream %d belongs to another context than the capture it would join", stream->id());
  MP_CHECK(stream->update() == nullptr, kTaskGroupStatus,
           "stream %d updates a task group and cannot join a capture; call aclmdlRICaptureTaskUpdateEnd first",
           stream->id());
  const uint32_t lane = graph_->AddLane(*stream);
  lane_of_[stream] = lane;
  stream_of_[lane] = stream;
  stream->BeginCapture(this);
  *out_lane = lane;
  return Ok();
}

Status Handle::WaitEvent(Stream* stream, Event* event, bool external) {
  UniqueLock lock(mutex_);
  const auto found = lane_of_.find(stream);
  const bool mine = event->captured_by() == this;
  if (found == lane_of_.end() && !mine) {  // the capture ended between the caller's look and ours
    lock.unlock();
    MP_CHECK(!external, kStreamNotCaptured, "stream %d is not being captured any more", stream->id());
    return event->Wait(stream, 0);
  }
  MP_RETURN_IF_ERROR(CheckActive());
  uint32_t lane = 0;
  if (found == lane_of_.end()) {
    MP_RETURN_IF_ERROR(Join(stream, &lane));
  } else {
    lane = found->second;
  }
  if (external) return AddOutside(lane, TaskKind::kEventWait, event, true);
  MP_RETURN_IF_ERROR(CheckEventMaking(*event));
  if (ActsOutside(*event)) return AddOutside(lane, TaskKind::kEventWait, event, false);
  MP_RETURN_IF_ERROR(CheckConflict(*event));
  const auto mark = marks_.find(event);
  const bool known = mine || (making_ == Making::kBuilt && mark != marks_.end() && mark->second.recorded);
  if (!known && event->recorded()) {
    if (making_ == Making::kBuilt) return AddOutside(lane, TaskKind::kEventWait, event, false);
    return Status(Code::kCaptureDependency,
                  Format("event %p was last recorded outside this capture; to wait at replay for the outside use "
                         "aclrtStreamWaitEventWithFlag with ACL_EVENT_WAIT_EXTERNAL",
                         event->handle()));
  }
  MP_CHECK(!ended_lanes_.contains(lane), kStreamModel, "stream %d takes no more tasks for its model", stream->id());
  MP_RETURN_IF_ERROR(CheckGroup(lane, TaskKind::kEventWait));
  const uint32_t node = graph_->AddMark(lane, TaskKind::kEventWait, *event);
  Mark& meaning = MarkOf(event);
  if (meaning.recorded) {
    graph_->AddEdge(meaning.node, node);
  } else {
    meaning.early_waits.push_back(node);
  }
  return Ok();
}

Status Handle::ResetEvent(Stream* stream, Event* event) {
  UniqueLock lock(mutex_);
  const auto found = lane_of_.find(stream);
  if (found == lane_of_.end()) {
    lock.unlock();
    return event->Reset(stream);
  }
  MP_RETURN_IF_ERROR(CheckActive());
  MP_RETURN_IF_ERROR(CheckEventMaking(*event));
  return AddOutside(found->second, TaskKind::kEventReset, event, false);
}

}  // namespace millpond::capture

// SPDX-License-Identifier: Apache-2.0
#include "src/device/capture/handle.h"

#include <algorithm>
#include <utility>

#include "src/base/mutex.h"
#include "src/device/capture/condition.h"
#include "src/device/capture/graph_task.h"
#include "src/device/capture/group.h"
#include "src/device/device.h"
#include "src/device/runtime.h"

namespace millpond::capture {

namespace {

// A context that goes away in the middle of a capture takes the capture with it.
void ObserveStreams() {
  static std::once_flag once;
  std::call_once(once, [] {
    Device::AddStreamObserver([](Stream* stream, bool created) {
      if (created) return;
      if (auto* handle = dynamic_cast<Handle*>(stream->capture())) handle->ForgetStream(stream);
    });
  });
}

}  // namespace

GraphTable& Graphs() {
  static auto& table = *new GraphTable;
  return table;
}

Status FindGraph(const void* handle, Handle** out_graph) {
  *out_graph = Graphs().Find(handle);
  MP_CHECK(*out_graph != nullptr, kInvalidHandle,
           "model running instance %p is not a live one: it was never made, or was destroyed", handle);
  return Ok();
}

Status NewGraph(Context* context, Handle::Making making, Handle* parent, Handle** out_graph) {
  void* handle = nullptr;
  *out_graph = Graphs().Create(&handle);
  MP_CHECK(*out_graph != nullptr, kNoModel, "the process has too many model running instances; destroy some first");
  (*out_graph)->Open(handle, context, making, parent);
  trace::TellObject(true, trace::ObjectKind::kCapturedGraph, context->device()->id(), handle,
                    (*out_graph)->graph()->trace_id());
  return Ok();
}

Handle* CaptureOf(const Stream& stream) {
  auto* handle = dynamic_cast<Handle*>(stream.capture());
  return handle != nullptr && handle->capture_status() != CaptureStatus::kNone ? handle : nullptr;
}

void Handle::Open(void* handle, Context* context, Making making, Handle* parent) {
  MutexLock lock(mutex_);
  handle_ = handle;
  context_ = context->handle();
  making_ = making;
  parent_ = parent;
  graph_ = std::make_shared<Graph>(context->device());
  origin_ = nullptr;
  invalid_ = false;
  state_ = making == Making::kBuilt ? State::kBuilding : State::kEmpty;
}

std::shared_ptr<Graph> Handle::graph() const {
  MutexLock lock(mutex_);
  return graph_;
}

Status Handle::Ready(std::shared_ptr<Graph>* out_graph) const {
  MutexLock lock(mutex_);
  MP_CHECK(state() == State::kReady && graph_ != nullptr, kModelCaptured,
           "model running instance %p is still being %s; %s first", handle_,
           making_ == Making::kBuilt ? "built" : "captured",
           making_ == Making::kBuilt ? "call aclmdlRIBuildEnd" : "end the capture with aclmdlRICaptureEnd");
  *out_graph = graph_;
  return Ok();
}

CaptureStatus Handle::capture_status() const {
  if (state() != State::kCapturing) return CaptureStatus::kNone;
  return invalid_.load(std::memory_order_acquire) ? CaptureStatus::kInvalidated : CaptureStatus::kActive;
}

// --- Tasks ------------------------------------------------------------------------------------------------------

Status Handle::CheckActive() const {
  MP_CHECK(!invalid_.load(std::memory_order_acquire), kCaptureInvalidated,
           "the capture of model running instance %p was invalidated by an earlier error; end it and start again",
           handle_);
  return Ok();
}

// Only computations may be in a task group, and while one is open no other captured stream may take tasks.
Status Handle::CheckGroup(uint32_t lane, TaskKind kind) {
  if (__builtin_expect(open_groups_.empty(), true)) return Ok();
  if (!open_groups_.contains(lane)) {
    group_error_ =
        Status(Code::kTaskGroupInterrupted,
               Format("a task came on stream %d while stream %d records a task group; end the group with "
                      "aclmdlRICaptureTaskGrpEnd first",
                      graph_->lanes()[lane].stream_id, graph_->lanes()[open_groups_.begin()->first].stream_id));
  } else if (kind != TaskKind::kCompute) {
    group_error_ = Status(Code::kTaskTypeUnsupported,
                          Format("a task group of stream %d takes operator calls only, no copies, fills, events, "
                                 "notifies or callbacks; launch those outside the group",
                                 graph_->lanes()[lane].stream_id));
  } else {
    return Ok();
  }
  Invalidate();
  return group_error_.Clone();
}

Status Handle::AddTo(uint32_t lane, OwnedTask task) {
  MP_RETURN_IF_ERROR(CheckActive());
  const TaskKind kind = task.slot().ops->kind;
  MP_CHECK(!ended_lanes_.contains(lane), kStreamModel,
           "stream %d takes no more tasks for its model: aclmdlRIEndTask or aclmdlRIBuildEnd was called",
           graph_->lanes()[lane].stream_id);
  if (task.slot().ops->copy == nullptr) {
    Invalidate();
    return Unsupported(
        Format("task %s cannot be captured: it can run only once; launch it outside the capture", task.slot().name));
  }
  MP_RETURN_IF_ERROR(CheckGroup(lane, kind));
  const uint32_t node = graph_->AddTask(lane, std::move(task));
  if (const auto group = open_groups_.find(lane); group != open_groups_.end()) group->second.push_back(node);
  return Ok();
}

Status Handle::Add(Stream* stream, OwnedTask task) {
  {
    MutexLock lock(mutex_);
    if (const auto lane = lane_of_.find(stream); lane != lane_of_.end()) return AddTo(lane->second, std::move(task));
  }
  return stream->LaunchOwned(std::move(task));  // the capture ended between the caller's look and ours
}

Status Handle::AddNode(Stream* stream, OwnedTask task, std::vector<Handle*> branches) {
  MutexLock lock(mutex_);
  const auto lane = lane_of_.find(stream);
  MP_CHECK(lane != lane_of_.end(), kStreamNotCaptured, "stream %d is not being captured", stream->id());
  for (Handle* branch : branches) graph_->AddChild(branch->graph());
  branches_.insert(branches_.end(), branches.begin(), branches.end());
  return AddTo(lane->second, std::move(task));
}

Status Handle::AddCondition(const ConditionValue& condition, void* handle) {
  MutexLock lock(mutex_);
  MP_CHECK(state() == State::kCapturing, kRuntimeArgument,
           "a condition is made while its model running instance is captured; %p is not", handle_);
  MP_RETURN_IF_ERROR(CheckActive());
  conditions_.push_back(handle);
  graph_->AddCondition(condition);
  return Ok();
}

// --- Begin and end ----------------------------------------------------------------------------------------------

Status Handle::Begin(Stream* stream, Mode mode) {
  ObserveStreams();
  MutexLock lock(mutex_);
  MP_CHECK(state() == State::kEmpty, kModelCaptured, "model running instance %p holds a capture already", handle_);
  const uint32_t lane = graph_->AddLane(*stream);
  lane_of_[stream] = lane;
  stream_of_[lane] = stream;
  origin_ = stream;
  mode_ = mode;
  thread_ = ThreadId();
  EnterMode(this, context_, thread_, mode);
  state_ = State::kCapturing;
  stream->BeginCapture(this);
  return Ok();
}

// What must hold before a capture becomes a graph.
Status Handle::CheckComplete() const {
  MP_RETURN_IF_ERROR(CheckActive());
  for (const Handle* branch : branches_) {
    MP_CHECK(branch->state() == State::kReady, kSubgraphCapturing,
             "conditional body %p has not been captured to its end (aclmdlRICaptureToModelRIBegin, "
             "aclmdlRICaptureEnd)",
             branch->handle());
  }
  MP_CHECK(open_groups_.empty(), kTaskGroupStatus,
           "stream %d has an open task group; call aclmdlRICaptureTaskGrpEnd before the capture ends",
           graph_->lanes()[open_groups_.begin()->first].stream_id);
  for (const auto& [event, mark] : marks_) {
    MP_CHECK(mark.recorded, kCaptureDependency,
             "the capture waits for event %p, which is not recorded in it; record it there, or wait with "
             "ACL_EVENT_WAIT_EXTERNAL",
             event->handle());
  }
  if (making_ == Making::kBuilt) return Ok();
  const Shape& shape = graph_->shape();
  const uint32_t origin = lane_of_.at(origin_);
  std::vector<bool> joined(shape.lanes.size(), false);
  if (!shape.lanes[origin].empty()) joined = LanesBefore(shape, shape.lanes[origin].back());
  joined[origin] = true;
  for (size_t lane = 0; lane < joined.size(); ++lane) {
    MP_CHECK(joined[lane], kCaptureUnjoined,
             "stream %d joined the capture of stream %d and did not come back: record an event after its last task "
             "and make stream %d wait for it before the capture ends",
             graph_->lanes()[lane].stream_id, origin_->id(), origin_->id());
  }
  return Ok();
}

Status Handle::End(Stream* stream) {
  UniqueLock lock(mutex_);
  MP_CHECK(state() == State::kCapturing && lane_of_.contains(stream), kStreamNotCaptured,
           "stream %d is not being captured", stream->id());
  MP_CHECK(stream == origin_, kCaptureUnmatched,
           "the capture began on stream %d and must end there; stream %d only joined it", origin_->id(), stream->id());
  Status status;
  if (mode_ != Mode::kRelaxed && thread_ != ThreadId()) {
    status = Status(Code::kCaptureWrongThread,
                    "the capture began on another thread; unless its mode is RELAXED it must end on the same one");
  } else {
    status = CheckComplete();
  }
  if (status.ok()) status = graph_->Seal();
  StopRecording(status.ok() ? State::kReady : State::kEmpty);
  if (!status.ok() && parent_ != nullptr) parent_->Invalidate();
  return status;
}

// The streams and events go back to normal; the nodes stay.
void Handle::StopRecording(State next) {
  for (const auto& [lane, stream] : stream_of_) {
    if (stream->capture() == this) stream->EndCapture();
  }
  for (const auto& [event, mark] : marks_) {
    if (event->captured_by() == this) event->SetCaptured(nullptr);
    event->Release();
  }
  LeaveMode(this);
  lane_of_.clear();
  stream_of_.clear();
  ended_lanes_.clear();
  marks_.clear();
  external_events_.clear();
  open_groups_.clear();
  group_error_ = Status();
  origin_ = nullptr;
  state_ = next;
}

void Handle::ForgetStream(Stream* stream) {
  MutexLock lock(mutex_);
  const auto lane = lane_of_.find(stream);
  if (lane == lane_of_.end()) return;
  Invalidate();
  if (making_ != Making::kBuilt) {
    // Half a capture is of no use, and its context is going: let the other streams out too.
    StopRecording(State::kEmpty);
    return;
  }
  stream->EndCapture();
  stream_of_.erase(lane->second);
  lane_of_.erase(lane);
}

Status CheckNoCaptureIn(const Context& context) {
  for (const Stream* stream : context.device()->StreamsOf(&context)) {
    MP_CHECK(CaptureOf(*stream) == nullptr, kStreamCaptured,
             "stream %d of the device is being captured and runs nothing to wait for; end the capture first",
             stream->id());
  }
  return Ok();
}

Status Begin(Stream* stream, Mode mode) {
  Handle* graph = nullptr;
  MP_CHECK(!stream->is_default(), kCaptureImplicit,
           "a context's default stream cannot be captured; create a stream with aclrtCreateStream");
  MP_CHECK(stream->capture() == nullptr, kStreamCaptured, "stream %d is %s already", stream->id(),
           CaptureOf(*stream) != nullptr ? "being captured" : "bound to a model");
  MP_CHECK(stream->update() == nullptr, kTaskGroupStatus,
           "stream %d updates a task group; call aclmdlRICaptureTaskUpdateEnd first", stream->id());
  MP_RETURN_IF_ERROR(NewGraph(stream->context(), Handle::Making::kCaptured, nullptr, &graph));
  return graph->Begin(stream, mode);
}

Status BeginBranch(Stream* stream, Handle* branch, Mode mode) {
  MP_CHECK(branch->making() == Handle::Making::kBranch, kRuntimeArgument,
           "model running instance %p is not a conditional body: only those aclmdlRIAddCondTask makes can be captured "
           "into",
           branch->handle());
  MP_CHECK(!stream->is_default(), kCaptureImplicit,
           "a context's default stream cannot be captured; create a stream with aclrtCreateStream");
  MP_CHECK(stream->capture() == nullptr, kStreamCaptured, "stream %d is being captured or bound already", stream->id());
  return branch->Begin(stream, mode);
}

Status End(Stream* stream, void** out_handle) {
  Handle* graph = CaptureOf(*stream);
  MP_CHECK(graph != nullptr, kStreamNotCaptured, "stream %d is not being captured; call aclmdlRICaptureBegin first",
           stream->id());
  MP_REQUIRE(out_handle != nullptr || graph->making() == Handle::Making::kBranch, "modelRI is null");
  Status status = graph->End(stream);
  if (status.ok()) {
    if (out_handle != nullptr) *out_handle = graph->handle();
  } else if (status.code() != Code::kCaptureUnmatched && status.code() != Code::kStreamNotCaptured &&
             graph->making() == Handle::Making::kCaptured) {
    DestroyGraph(graph->handle()).Ignore();  // nobody got the handle, or it was told by CaptureGetInfo only
  }
  return status;
}

}  // namespace millpond::capture

// SPDX-License-Identifier: Apache-2.0
// Graphs built from bound streams, and everything about a graph's handle that is not recording.
#include <algorithm>
#include <utility>

#include "src/base/mutex.h"
#include "src/device/capture/condition.h"
#include "src/device/capture/graph_task.h"
#include "src/device/capture/group.h"
#include "src/device/capture/handle.h"
#include "src/device/device.h"

namespace millpond::capture {

// --- Building ---------------------------------------------------------------------------------------------------

Status Handle::Bind(Stream* stream) {
  MutexLock lock(mutex_);
  MP_CHECK(state() == State::kBuilding, kRuntimeArgument, "model running instance %p takes no more streams: it %s",
           handle_, making_ == Making::kBuilt ? "has been built" : "was not begun with aclmdlRIBuildBegin");
  MP_CHECK(stream->capture() == nullptr, kStreamModel, "stream %d is bound to a model or being captured already",
           stream->id());
  MP_CHECK(stream->context()->handle() == context_, kModelContext,
           "stream %d belongs to another context than the model running instance", stream->id());
  const uint32_t lane = graph_->AddLane(*stream);
  lane_of_[stream] = lane;
  stream_of_[lane] = stream;
  stream->BeginCapture(this);
  return Ok();
}

Status Handle::FindBound(const Stream& stream, uint32_t* out_lane) const {
  const auto lane = lane_of_.find(&stream);
  MP_CHECK(lane != lane_of_.end() && making_ == Making::kBuilt, kStreamModel,
           "stream %d is not bound to model running instance %p", stream.id(), handle_);
  *out_lane = lane->second;
  return Ok();
}

Status Handle::Unbind(Stream* stream) {
  MutexLock lock(mutex_);
  uint32_t lane = 0;
  MP_RETURN_IF_ERROR(FindBound(*stream, &lane));
  stream->EndCapture();
  stream_of_.erase(lane);
  lane_of_.erase(stream);
  return Ok();
}

Status Handle::EndTasks(Stream* stream) {
  MutexLock lock(mutex_);
  uint32_t lane = 0;
  MP_RETURN_IF_ERROR(FindBound(*stream, &lane));
  MP_CHECK(ended_lanes_.insert(lane).second, kRuntimeArgument, "the tasks of stream %d have been ended already",
           stream->id());
  return Ok();
}

Status Handle::FinishBuilding() {
  MutexLock lock(mutex_);
  MP_CHECK(state() == State::kBuilding, kRuntimeArgument, "model running instance %p is not being built", handle_);
  MP_CHECK(!ended_lanes_.empty(), kRuntimeArgument,
           "no stream of model running instance %p has ended its tasks; call aclmdlRIEndTask first", handle_);
  MP_RETURN_IF_ERROR(CheckComplete());
  MP_RETURN_IF_ERROR(graph_->Seal());
  for (const auto& [event, mark] : marks_) event->Release();
  marks_.clear();
  for (const auto& [stream, lane] : lane_of_) ended_lanes_.insert(lane);
  state_ = State::kReady;
  return Ok();
}

// --- Names, callbacks, belongings -------------------------------------------------------------------------------

void Handle::SetName(std::string name) {
  MutexLock lock(mutex_);
  name_ = std::move(name);
}

std::string Handle::name() const {
  MutexLock lock(mutex_);
  return name_;
}

Status Handle::AddCallback(Callback function, void* argument) {
  MutexLock lock(mutex_);
  const auto same = [&](const auto& entry) { return entry.first == function; };
  MP_CHECK(std::none_of(callbacks_.begin(), callbacks_.end(), same), kRuntimeArgument,
           "this function is registered for model running instance %p already; unregister it first", handle_);
  callbacks_.emplace_back(function, argument);
  return Ok();
}

Status Handle::RemoveCallback(Callback function) {
  MutexLock lock(mutex_);
  const size_t removed = std::erase_if(callbacks_, [&](const auto& entry) { return entry.first == function; });
  MP_CHECK(removed != 0, kRuntimeArgument, "this function is not registered for model running instance %p", handle_);
  return Ok();
}

void Handle::OwnLane(void* lane) {
  MutexLock lock(mutex_);
  lanes_.push_back(lane);
}

void Handle::OwnTask(void* task) {
  MutexLock lock(mutex_);
  tasks_.push_back(task);
}

std::vector<void*> Handle::OwnedLanes() const {
  MutexLock lock(mutex_);
  return lanes_;
}

void Handle::Close() {
  std::vector<std::pair<Callback, void*>> callbacks;
  std::vector<Handle*> branches;
  std::shared_ptr<Graph> graph;  // let go without the lock: its bodies may have much to free
  {
    MutexLock lock(mutex_);
    StopRecording(State::kEmpty);
    for (void* group : std::exchange(groups_, {})) RetireGroup(group);
    for (void* lane : std::exchange(lanes_, {})) RetireLane(lane);
    for (void* task : std::exchange(tasks_, {})) RetireTask(task);
    for (void* condition : std::exchange(conditions_, {})) RetireCondition(condition);
    branches = std::exchange(branches_, {});
    callbacks = std::exchange(callbacks_, {});
    graph = std::exchange(graph_, nullptr);
    name_.clear();
  }
  if (graph != nullptr) {
    trace::TellObject(false, trace::ObjectKind::kCapturedGraph, graph->device()->id(), handle_, graph->trace_id());
  }
  for (const auto& [function, argument] : callbacks) function(argument);
  for (Handle* branch : branches) {
    void* handle = branch->handle();
    if (!Graphs().Retire(handle)) continue;
    branch->Close();
    Graphs().Recycle(handle);
  }
}

Status DestroyGraph(void* handle) {
  Handle* graph = nullptr;
  MP_RETURN_IF_ERROR(FindGraph(handle, &graph));
  MP_CHECK(graph->making() != Handle::Making::kBranch, kUnsupported,
           "model running instance %p is a conditional body and goes with the graph it belongs to", handle);
  MP_CHECK(graph->state() != Handle::State::kCapturing, kModelCaptured,
           "model running instance %p is being captured; end the capture first", handle);
  MP_CHECK(Graphs().Retire(handle), kInvalidHandle, "model running instance %p was destroyed by another thread",
           handle);
  graph->Close();
  Graphs().Recycle(handle);
  return Ok();
}

// --- Running ----------------------------------------------------------------------------------------------------

Status LaunchGraph(Handle* handle, Stream* stream) {
  MP_CHECK(handle->making() != Handle::Making::kBranch, kUnsupported,
           "model running instance %p is a conditional body; run the graph it belongs to", handle->handle());
  MP_CHECK(stream->capture() == nullptr || CaptureOf(*stream) == nullptr, kStreamCaptured,
           "stream %d is being captured; a graph cannot be executed into another one", stream->id());
  MP_CHECK(stream->capture() == nullptr, kRuntimeArgument,
           "stream %d is bound to a model; execute the model on another stream", stream->id());
  MP_CHECK(stream->context()->handle() == handle->context(), kModelContext,
           "model running instance %p belongs to another context than stream %d", handle->handle(), stream->id());
  std::shared_ptr<Graph> graph;
  MP_RETURN_IF_ERROR(handle->Ready(&graph));
  return graph->Launch(stream);
}

Status ExecuteGraph(Handle* handle, Deadline deadline) {
  MP_CHECK(handle->making() == Handle::Making::kBuilt, kRuntimeArgument,
           "model running instance %p was captured; execute it with aclmdlRIExecuteAsync and synchronise the stream",
           handle->handle());
  Context* context = Contexts().Find(handle->context());
  MP_CHECK(context != nullptr, kModelContext, "the context of model running instance %p is gone", handle->handle());
  Stream* stream = nullptr;
  MP_RETURN_IF_ERROR(context->device()->CreateStream(context, 0, 0, false, &stream));
  Status status = LaunchGraph(handle, stream);
  if (status.ok()) status = stream->Synchronize(deadline, Code::kStreamSyncTimeout);
  // After a timeout what is left is dropped; otherwise there is nothing left.
  Status destroyed = context->device()->DestroyStream(stream, true);
  return status.ok() ? std::move(destroyed) : std::move(status);
}

}  // namespace millpond::capture

// SPDX-License-Identifier: Apache-2.0
#include "src/device/capture/group.h"

#include <cstring>
#include <utility>

#include "src/base/mutex.h"
#include "src/device/capture/handle.h"

namespace millpond::capture {

TaskGroupTable& TaskGroups() {
  static auto& table = *new TaskGroupTable;
  return table;
}

// --- Recording a group ------------------------------------------------------------------------------------------

Status Handle::BeginGroup(Stream* stream) {
  MutexLock lock(mutex_);
  const auto lane = lane_of_.find(stream);
  MP_CHECK(state() == State::kCapturing && lane != lane_of_.end(), kStreamNotCaptured,
           "stream %d is not being captured", stream->id());
  MP_RETURN_IF_ERROR(CheckActive());
  MP_CHECK(open_groups_.try_emplace(lane->second).second, kTaskGroupStatus,
           "stream %d records a task group already; end it with aclmdlRICaptureTaskGrpEnd first", stream->id());
  return Ok();
}

Status Handle::EndGroup(Stream* stream, void** out_group) {
  MutexLock lock(mutex_);
  const auto lane = lane_of_.find(stream);
  MP_CHECK(state() == State::kCapturing && lane != lane_of_.end(), kStreamNotCaptured,
           "stream %d is not being captured", stream->id());
  const auto group = open_groups_.find(lane->second);
  MP_CHECK(group != open_groups_.end(), kTaskGroupStatus,
           "stream %d records no task group; begin one with aclmdlRICaptureTaskGrpBegin", stream->id());
  std::vector<uint32_t> nodes = std::move(group->second);
  open_groups_.erase(group);
  if (!group_error_.ok()) return group_error_.Clone();
  MP_RETURN_IF_ERROR(CheckActive());
  MP_RETURN_IF_ERROR(NewGroup(graph_, nodes, out_group));
  groups_.push_back(*out_group);
  for (const uint32_t node : nodes) graph_->SetGroup(node, *out_group);
  return Ok();
}

// --- Updating one -----------------------------------------------------------------------------------------------

void TaskGroup::Open(const std::shared_ptr<Graph>& graph, std::vector<uint32_t> nodes) {
  MutexLock lock(mutex_);
  graph_ = graph;
  nodes_ = std::move(nodes);
}

void TaskGroup::Close() {
  MutexLock lock(mutex_);
  if (updating_ != nullptr && updating_->update() == this) updating_->SetUpdate(nullptr);
  updating_ = nullptr;
  graph_.reset();
  fresh_.clear();
  failure_ = Status();
}

Status TaskGroup::BeginUpdate(Stream* stream) {
  MutexLock lock(mutex_);
  MP_CHECK(stream->update() == nullptr, kTaskGroupStatus,
           "stream %d updates a task group already; end that with aclmdlRICaptureTaskUpdateEnd first", stream->id());
  MP_CHECK(updating_ == nullptr, kTaskGroupStatus, "the task group is being updated on stream %d already",
           updating_->id());
  const std::shared_ptr<Graph> graph = graph_.lock();
  MP_CHECK(graph != nullptr && graph->sealed(), kModelUpdateFailed,
           "the task group's model running instance is still being captured; end the capture first");
  updating_ = stream;
  fresh_.clear();
  failure_ = Status();
  stream->SetUpdate(this);
  return Ok();
}

Status TaskGroup::Add(Stream* stream, OwnedTask task) {
  UniqueLock lock(mutex_);
  if (task.slot().ops->kind != TaskKind::kCompute || updating_ != stream) {
    lock.unlock();
    return stream->LaunchOwned(std::move(task));
  }
  const std::shared_ptr<Graph> graph = graph_.lock();
  const size_t index = fresh_.size();
  Status status;
  if (!failure_.ok()) {
    status = failure_.Clone();
  } else if (graph == nullptr) {
    status = Status(Code::kModelUpdateFailed, "the task group's model running instance was destroyed");
  } else if (index >= nodes_.size()) {
    status = Status(Code::kModelUpdateFailed,
                    Format("operator %s is one more than the %zu the task group was recorded with; issue the same "
                           "operators in the same order",
                           task.slot().name, nodes_.size()));
  } else if (const char* expected = graph->nodes()[nodes_[index]].name; std::strcmp(expected, task.slot().name) != 0) {
    status = Status(Code::kUpdateUnsupported,
                    Format("operator %zu of the task group is %s and cannot become %s; issue the same operators in the "
                           "same order",
                           index, expected, task.slot().name));
  } else if (task.slot().ops->copy == nullptr) {
    status = Status(Code::kUpdateUnsupported, Format("operator %s can run only once", task.slot().name));
  }
  if (!status.ok()) {
    failure_ = status.Clone();
    return status;
  }
  fresh_.push_back(std::move(task));
  return Ok();
}

Status TaskGroup::EndUpdate(Stream* stream) {
  UniqueLock lock(mutex_);
  MP_CHECK(updating_ == stream, kTaskGroupStatus, "stream %d does not update this task group", stream->id());
  updating_ = nullptr;
  stream->SetUpdate(nullptr);
  auto fresh = std::make_unique<std::vector<OwnedTask>>(std::exchange(fresh_, {}));
  Status failure = std::exchange(failure_, Status());
  MP_CHECK(failure.ok(), kModelUpdateFailed, "nothing was updated: %s", failure.message().c_str());
  MP_CHECK(fresh->size() == nodes_.size(), kModelUpdateFailed,
           "%zu operators were issued for a task group of %zu; nothing was updated", fresh->size(), nodes_.size());
  std::shared_ptr<Graph> graph = graph_.lock();
  MP_CHECK(graph != nullptr, kModelUpdateFailed, "the task group's model running instance was destroyed");
  graph->DescribeWith(nodes_, *fresh);
  auto body = [graph = std::move(graph), nodes = nodes_, fresh = std::move(fresh)]() mutable -> Status {
    for (size_t i = 0; i < nodes.size(); ++i) graph->Replace(nodes[i], std::move((*fresh)[i]));
    return Ok();
  };
  lock.unlock();
  return stream->Launch<TaskKind::kOther>("GraphTaskUpdate", {}, std::move(body));
}

Status NewGroup(const std::shared_ptr<Graph>& graph, std::vector<uint32_t> nodes, void** out_handle) {
  TaskGroup* group = TaskGroups().Create(out_handle);
  MP_CHECK(group != nullptr, kOverLimit, "the process has too many task groups; destroy some graphs first");
  group->Open(graph, std::move(nodes));
  return Ok();
}

void RetireGroup(void* handle) {
  TaskGroup* group = TaskGroups().Find(handle);
  if (group == nullptr || !TaskGroups().Retire(handle)) return;
  group->Close();
  TaskGroups().Recycle(handle);
}

Status BeginTaskUpdate(Stream* stream, const void* handle) {
  TaskGroup* group = TaskGroups().Find(handle);
  MP_CHECK(group != nullptr, kInvalidHandle,
           "task group %p is not a live one: it was never made, or its model running instance was destroyed", handle);
  MP_CHECK(CaptureOf(*stream) == nullptr, kStreamCaptured,
           "stream %d is being captured; update a task group on a stream that is not", stream->id());
  MP_CHECK(stream->capture() == nullptr, kStreamModel,
           "stream %d is bound to a model; update a task group on another stream", stream->id());
  return group->BeginUpdate(stream);
}

Status EndTaskUpdate(Stream* stream) {
  MP_CHECK(CaptureOf(*stream) == nullptr, kStreamCaptured, "stream %d is being captured", stream->id());
  auto* group = dynamic_cast<TaskGroup*>(stream->update());
  MP_CHECK(group != nullptr, kTaskGroupStatus,
           "stream %d updates no task group; begin with aclmdlRICaptureTaskUpdateBegin", stream->id());
  return group->EndUpdate(stream);
}

}  // namespace millpond::capture

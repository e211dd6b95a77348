// SPDX-License-Identifier: Apache-2.0
#include "src/device/capture/graph_task.h"

#include <utility>

#include "src/base/mutex.h"

namespace millpond::capture {

namespace {

using LaneTable = HandleTable<LaneRef, HandleKind::kGraphLane>;
using TaskTable = HandleTable<TaskRef, HandleKind::kGraphTask>;

LaneTable& Lanes() {
  static auto& table = *new LaneTable;
  return table;
}
TaskTable& Tasks() {
  static auto& table = *new TaskTable;
  return table;
}

Status NewTask(const std::shared_ptr<Graph>& graph, uint32_t node, Handle* owner, void** out_handle) {
  TaskRef* task = Tasks().Create(out_handle);
  MP_CHECK(task != nullptr, kOverLimit, "the process has too many task handles; destroy some graphs first");
  {
    MutexLock lock(task->lock);
    task->graph = graph;
    task->node = node;
  }
  owner->OwnTask(*out_handle);
  return Ok();
}

// The lane a client's stream is bound to, as a lane handle; null when it is bound to none.
LaneRef* BoundLane(const void* handle) {
  Stream* stream = Streams().Find(handle);
  auto* owner = stream != nullptr ? dynamic_cast<Handle*>(stream->capture()) : nullptr;
  if (owner == nullptr || owner->making() != Handle::Making::kBuilt) return nullptr;
  std::vector<void*> lanes;
  if (!LanesOf(owner, &lanes).ok()) return nullptr;
  const std::shared_ptr<Graph> graph = owner->graph();
  for (size_t lane = 0; graph != nullptr && lane < lanes.size(); ++lane) {
    if (graph->lanes()[lane].stream == handle) return Lanes().Find(lanes[lane]);
  }
  return nullptr;
}

}  // namespace

Status LanesOf(Handle* handle, std::vector<void*>* out_lanes) {
  static auto& making = *new Mutex;  // one set of handles, whoever asks first
  MutexLock lock(making);
  std::shared_ptr<Graph> graph;
  MP_RETURN_IF_ERROR(handle->Ready(&graph));
  *out_lanes = handle->OwnedLanes();
  for (auto lane = static_cast<uint32_t>(out_lanes->size()); lane < graph->lanes().size(); ++lane) {
    void* fresh = nullptr;
    LaneRef* ref = Lanes().Create(&fresh);
    MP_CHECK(ref != nullptr, kOverLimit, "the process has too many graph stream handles; destroy some graphs first");
    {
      MutexLock ref_lock(ref->lock);
      ref->owner = handle;
      ref->lane = lane;
      ref->tasks.clear();
    }
    handle->OwnLane(fresh);
    out_lanes->push_back(fresh);
  }
  return Ok();
}

Status TasksOf(const void* lane, std::vector<void*>* out_tasks) {
  LaneRef* ref = Lanes().Find(lane);
  if (ref == nullptr) ref = BoundLane(lane);
  MP_CHECK(ref != nullptr, kInvalidHandle,
           "stream %p is not one of a model running instance: pass what aclmdlRIGetStreams gives", lane);
  Handle* owner = nullptr;
  uint32_t number = 0;
  {
    MutexLock lock(ref->lock);
    owner = ref->owner;
    number = ref->lane;
    *out_tasks = ref->tasks;
  }
  if (!out_tasks->empty()) return Ok();
  std::shared_ptr<Graph> graph;
  MP_RETURN_IF_ERROR(owner->Ready(&graph));
  for (const uint32_t node : graph->shape().lanes[number]) {
    void* task = nullptr;
    MP_RETURN_IF_ERROR(NewTask(graph, node, owner, &task));
    out_tasks->push_back(task);
  }
  MutexLock lock(ref->lock);
  ref->tasks = *out_tasks;
  return Ok();
}

Status FindTask(const void* handle, std::shared_ptr<Graph>* out_graph, uint32_t* out_node) {
  TaskRef* task = Tasks().Find(handle);
  MP_CHECK(task != nullptr, kInvalidHandle,
           "task %p is not one of a live model running instance: pass what aclmdlRIGetTasksByStream gives", handle);
  MutexLock lock(task->lock);
  *out_graph = task->graph.lock();
  *out_node = task->node;
  MP_CHECK(*out_graph != nullptr, kInvalidHandle, "the model running instance of task %p was destroyed", handle);
  return Ok();
}

void RetireLane(void* handle) {
  if (Lanes().Retire(handle)) Lanes().Recycle(handle);
}

void RetireTask(void* handle) {
  if (Tasks().Retire(handle)) Tasks().Recycle(handle);
}

}  // namespace millpond::capture

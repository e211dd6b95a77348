// SPDX-License-Identifier: Apache-2.0
#include "src/device/capture/graph.h"

#include <algorithm>
#include <utility>

#include "src/base/assert.h"
#include "src/base/mutex.h"
#include "src/device/capture/events.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"

namespace millpond::capture {

namespace {
std::atomic<uint32_t> g_next_id{0};
}

Graph::Graph(Device* device) : id_(g_next_id.fetch_add(1, std::memory_order_relaxed)), device_(device) {}

Graph::~Graph() {
  for (uint32_t node = 0; slots_ != nullptr && node < nodes_.size(); ++node) {
    if (!nodes_[node].mark) DropBody(node);
    if (pending_ != nullptr) delete pending_[node].load(std::memory_order_acquire);
  }
  for (const External& external : externals_) external.event->Release();
  for (const ConditionValue& condition : conditions_) {
    // The device may have been reset meanwhile, and the address be somebody else's.
    if (LookUp(condition.address).block == condition.block) FreeDeviceAddress(condition.address).Ignore();
  }
}

uint32_t Graph::AddLane(const Stream& stream) {
  lanes_.push_back({stream.handle(), stream.id()});
  return shape_.AddLane();
}

uint32_t Graph::AddTask(uint32_t lane, OwnedTask task) {
  Node info;
  info.kind = task.slot().ops->kind;
  info.name = task.slot().name;
  const auto number = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(info);
  tasks_.push_back(std::move(task));
  // Nodes have no stacks of their own: who wants to know where one was launched is told now.
  if (trace::FanOut* sinks = trace::Listening(trace::kGraphs)) {
    sinks->OnCaptured({trace_id(), number, trace::ThreadNumber(), trace::StackIfWanted()});
  }
  return shape_.AddNode(lane);
}

uint32_t Graph::AddMark(uint32_t lane, TaskKind kind, const Event& event) {
  Node info;
  info.kind = kind;
  info.name = kind == TaskKind::kEventRecord ? "EventRecord" : "EventWait";
  info.event = event.handle();
  info.event_flags = event.flags();
  info.mark = true;
  nodes_.push_back(info);
  tasks_.emplace_back();
  return shape_.AddNode(lane);
}

uint32_t Graph::AddExternal(uint32_t lane, TaskKind kind, Event* event) {
  const auto index = static_cast<uint32_t>(externals_.size());
  const uint32_t node = AddTask(lane, MakeExternalTask(kind, this, index, event));
  nodes_[node].event = event->handle();
  nodes_[node].event_flags = event->flags();
  nodes_[node].external = true;
  if (kind == TaskKind::kEventRecord || (kind == TaskKind::kEventWait && !event->is_level())) {
    event->Hold();
    externals_.push_back({event, node, kind == TaskKind::kEventRecord});
  }
  return node;
}

void Graph::SetGroup(uint32_t node, void* group) {
  nodes_[node].group = group;
  has_groups_ = true;
}

Status Graph::Seal() {
  const auto order = OrderOf(shape_);
  MP_CHECK(order, kCaptureDependency,
           "graph %u cannot run: its streams wait for each other's events in a circle; record each event before the "
           "wait that depends on it",
           id_);
  slots_ = std::make_unique<TaskSlot[]>(nodes_.size());
  for (uint32_t node = 0; node < nodes_.size(); ++node) {
    if (!nodes_[node].mark) std::move(tasks_[node]).MoveInto(&slots_[node]);
  }
  std::vector<OwnedTask>().swap(tasks_);
  if (has_groups_) pending_ = std::make_unique<std::atomic<OwnedTask*>[]>(nodes_.size());
  state_.resize(nodes_.size());
  lane_cursor_.resize(lanes_.size());
  FixSteps(*order);
  sealed_.store(true, std::memory_order_release);
  if (trace::Wants(trace::kGraphs)) {
    MutexLock lock(mutex_);
    Describe({});
  }
  return Ok();
}

void Graph::FixSteps(const std::vector<uint32_t>& order) {
  steps_.clear();
  steps_.reserve(order.size());
  for (const uint32_t node : order) {
    if (!nodes_[node].mark && !nodes_[node].disabled) steps_.push_back(&slots_[node]);
    needs_team_ |= slots_[node].ops != nullptr && slots_[node].ops->needs_team;
    counted_on_ |= slots_[node].ops != nullptr && slots_[node].ops->abandon != nullptr;
  }
}

TaskSlot& Graph::slot(uint32_t node) {
  MP_ASSERT(!nodes_[node].mark);
  return slots_ != nullptr ? slots_[node] : tasks_[node].slot();
}

void Graph::PlaceBody(uint32_t node, OwnedTask task) {
  DropBody(node);
  std::move(task).MoveInto(&slots_[node]);
}

void Graph::DropBody(uint32_t node) {
  TaskSlot& slot = slots_[node];
  slot.ops->destroy(slot);
  slot.evidence.Drop();
}

void Graph::Replace(uint32_t node, OwnedTask task) {
  MP_ASSERT(pending_ != nullptr);
  auto fresh = std::make_unique<OwnedTask>(std::move(task));
  OwnedTask* former = pending_[node].exchange(fresh.release(), std::memory_order_acq_rel);
  if (former == nullptr) attention_.fetch_add(1, std::memory_order_release);
  delete former;
}

void Graph::StageBody(uint32_t node, OwnedTask task) {
  MutexLock lock(mutex_);
  staged_[node] = std::move(task);
}

void Graph::StageDisable(uint32_t node) {
  MutexLock lock(mutex_);
  staged_disabled_.push_back(node);
}

const TaskSlot& Graph::StagedOrCurrent(uint32_t node) {
  MutexLock lock(mutex_);
  const auto found = staged_.find(node);
  return found != staged_.end() ? std::as_const(found->second).slot() : slot(node);
}

Status Graph::ApplyStaged() {
  MutexLock lock(mutex_);
  MP_CHECK(in_flight_ == 0, kModelUpdateFailed,
           "graph %u has %u executions queued or running; synchronise their streams first", id_, in_flight_);
  for (auto& [node, task] : staged_) PlaceBody(node, std::move(task));
  staged_.clear();
  for (const uint32_t node : std::exchange(staged_disabled_, {})) nodes_[node].disabled = true;
  FixSteps(*OrderOf(shape_));
  if (trace::Wants(trace::kGraphs)) Describe({});
  return Ok();
}

uint32_t Graph::in_flight() const {
  MutexLock lock(mutex_);
  return in_flight_;
}

void Graph::ResetConditions() {
  for (const ConditionValue& condition : conditions_) {
    if (!condition.assign) continue;
    std::atomic_ref<uint64_t>(*Reachable(condition.address)).store(condition.initial, std::memory_order_release);
  }
  for (const auto& child : children_) child->ResetConditions();
}

}  // namespace millpond::capture

// SPDX-License-Identifier: Apache-2.0
#include "src/device/capture/condition.h"

#include <memory>
#include <utility>
#include <vector>

#include "src/device/device.h"
#include "src/device/memory/memory.h"

namespace millpond::capture {

namespace {

constexpr size_t kNoBody = SIZE_MAX;

// The body of a conditional node. A body of its own that blocks blocks the node; phase 1 is "inside a body".
struct ConditionalTask {
  ConditionKind kind;
  const uint64_t* address;
  std::vector<std::shared_ptr<Graph>> bodies;
  size_t chosen = kNoBody;
  Run run = {};

  size_t Choose() const {
    const uint64_t value =
        std::atomic_ref<uint64_t>(*const_cast<uint64_t*>(Reachable(address))).load(std::memory_order_acquire);
    switch (kind) {
      case ConditionKind::kIf:
        if (value != 0) return 0;
        return bodies.size() > 1 ? 1 : kNoBody;
      case ConditionKind::kWhile:
        return value != 0 ? 0 : kNoBody;
      case ConditionKind::kSwitch:
        return value < bodies.size() ? value : kNoBody;
    }
    return kNoBody;
  }

  TaskEnd operator()(TaskSlot& slot, Stream& stream, Status* out_status) {
    for (;;) {
      if (slot.phase == 0) {
        chosen = Choose();
        if (chosen == kNoBody) return TaskEnd::kDone;
        bodies[chosen]->Restart(run, stream);
        slot.phase = 1;
      }
      if (bodies[chosen]->Step(run, stream, out_status) == TaskEnd::kBlocked) return TaskEnd::kBlocked;
      if (!out_status->ok() || kind != ConditionKind::kWhile) return TaskEnd::kDone;
      slot.phase = 0;
    }
  }

  // Which body it would have chosen is not known before it begins.
  void Abandon(TaskSlot& slot, bool mine) {
    if (!mine || slot.phase != 1 || std::exchange(run.ended, true)) return;
    bodies[chosen]->Abandon(run, /*mine=*/true);
  }
};

const char* NameOf(ConditionKind kind) {
  switch (kind) {
    case ConditionKind::kIf:
      return "ConditionalIf";
    case ConditionKind::kWhile:
      return "ConditionalWhile";
    case ConditionKind::kSwitch:
      return "ConditionalSwitch";
  }
  return "Conditional";
}

Status CheckBodyCount(ConditionKind kind, size_t count) {
  switch (kind) {
    case ConditionKind::kIf:
      MP_CHECK(count == 1 || count == 2, kRuntimeArgument, "an IF has 1 or 2 bodies, not %zu", count);
      break;
    case ConditionKind::kWhile:
      MP_CHECK(count == 1, kRuntimeArgument, "a WHILE has 1 body, not %zu", count);
      break;
    case ConditionKind::kSwitch:
      MP_CHECK(count >= 1, kRuntimeArgument, "a SWITCH has at least 1 body");
      break;
  }
  return Ok();
}

}  // namespace

ConditionTable& Conditions() {
  static auto& table = *new ConditionTable;
  return table;
}

Status NewCondition(Handle* graph, uint32_t initial, bool assign, void** out_handle) {
  MP_CHECK(graph->capture_status() == CaptureStatus::kActive, kRuntimeArgument,
           "a condition is made while its model running instance is captured; %p is not", graph->handle());
  ConditionValue value{.address = nullptr, .block = 0, .initial = initial, .assign = assign};
  void* memory = nullptr;
  MP_RETURN_IF_ERROR(graph->graph()->device()->memory().Allocate(sizeof(uint64_t), "graph condition", &memory));
  value.address = static_cast<uint64_t*>(memory);
  value.block = LookUp(memory).block;
  std::atomic_ref<uint64_t>(*Reachable(value.address)).store(0, std::memory_order_release);
  Condition* condition = Conditions().Create(out_handle);
  Status status;
  if (condition == nullptr) {
    status = Status(Code::kOverLimit, "the process has too many graph conditions; destroy some graphs first");
  } else {
    condition->owner = graph;
    condition->value = value;
    condition->used = false;
    status = graph->AddCondition(value, *out_handle);
    if (!status.ok()) RetireCondition(*out_handle);
  }
  if (!status.ok()) {
    graph->graph()->device()->memory().Free(memory).Ignore();  // just allocated: cannot fail
    *out_handle = nullptr;
  }
  return status;
}

Status FindCondition(const void* handle, Condition** out_condition) {
  *out_condition = Conditions().Find(handle);
  MP_CHECK(*out_condition != nullptr, kInvalidHandle,
           "condition %p is not a live one: it was never made, or its model running instance was destroyed", handle);
  return Ok();
}

void RetireCondition(void* handle) {
  if (Conditions().Retire(handle)) Conditions().Recycle(handle);
}

Status AddConditionalNode(Stream* stream, Condition* condition, ConditionKind kind, std::span<void*> out_bodies) {
  MP_RETURN_IF_ERROR(CheckBodyCount(kind, out_bodies.size()));
  Handle* graph = CaptureOf(*stream);
  MP_CHECK(graph != nullptr, kStreamNotCaptured, "stream %d is not being captured", stream->id());
  MP_CHECK(condition->owner == graph, kCaptureConflict,
           "the condition belongs to another model running instance than the capture of stream %d", stream->id());
  MP_CHECK(!condition->used.exchange(true), kRuntimeArgument,
           "the condition has its node already; make another one with aclmdlRICondHandleCreate");
  std::vector<Handle*> branches;
  ConditionalTask task{.kind = kind, .address = condition->value.address, .bodies = {}};
  Status status;
  for (size_t i = 0; i < out_bodies.size() && status.ok(); ++i) {
    Handle* branch = nullptr;
    status = NewGraph(stream->context(), Handle::Making::kBranch, graph, &branch);
    if (!status.ok()) break;
    branches.push_back(branch);
    task.bodies.push_back(branch->graph());
    out_bodies[i] = branch->handle();
  }
  if (status.ok()) {
    const trace::Access access{condition->value.address, sizeof(uint64_t), trace::Mode::kRead};
    status = graph->AddNode(stream, OwnedTask::Make<TaskKind::kGraph>(NameOf(kind), {&access, 1}, std::move(task)),
                            branches);
  }
  if (status.ok()) return status;
  for (void*& body : out_bodies) body = nullptr;
  graph->Invalidate();  // the bodies made so far belong to it and go with it
  return status;
}

}  // namespace millpond::capture

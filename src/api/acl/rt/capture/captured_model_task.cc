// SPDX-License-Identifier: Apache-2.0
// aclmdlRIGetStreams, aclmdlRITask*, conditional tasks: what is inside a recorded graph (CANN's chapter on model
// running instances).
#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/refuse.h"
#include "src/device/capture/condition.h"
#include "src/device/capture/graph_task.h"
#include "src/device/capture/handle.h"
#include "src/device/stream/value_task.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

// The two-call pattern: a null array asks for the count; a short one is 107039.
Status CopyOut(const std::vector<void*>& handles, void** array, uint32_t* count) {
  const uint32_t room = *count;
  *count = static_cast<uint32_t>(handles.size());
  if (array == nullptr) return Ok();
  MP_CHECK(room >= handles.size(), kArrayTooSmall, "the array has room for %u, %zu are needed", room, handles.size());
  std::copy(handles.begin(), handles.end(), array);
  return Ok();
}

aclmdlRITaskType TypeOf(const capture::Node& node) {
  switch (node.kind) {
    case TaskKind::kCompute:
      return ACL_MODEL_RI_TASK_KERNEL;
    case TaskKind::kEventRecord:
      return ACL_MODEL_RI_TASK_EVENT_RECORD;
    case TaskKind::kEventWait:
      return ACL_MODEL_RI_TASK_EVENT_WAIT;
    case TaskKind::kEventReset:
      return ACL_MODEL_RI_TASK_EVENT_RESET;
    case TaskKind::kValueWrite:
      return ACL_MODEL_RI_TASK_VALUE_WRITE;
    case TaskKind::kValueWait:
      return ACL_MODEL_RI_TASK_VALUE_WAIT;
    default:
      return ACL_MODEL_RI_TASK_DEFAULT;
  }
}

template <class Body>
const Body& BodyIn(const TaskSlot& slot) {
  return millpond::internal::BodyOf<Body>(const_cast<TaskSlot&>(slot));
}

Status FindTask(aclmdlRITask task, std::shared_ptr<capture::Graph>* out_graph, uint32_t* out_node) {
  MP_NOT_NULL(task);
  return capture::FindTask(task, out_graph, out_node);
}

Status GetParams(capture::Graph& graph, uint32_t number, aclmdlRITaskParams* params) {
  const capture::Node& node = graph.nodes()[number];
  params->type = TypeOf(node);
  params->taskGrp = node.group;
  const uint32_t external = node.external ? 1 : 0;
  switch (params->type) {
    case ACL_MODEL_RI_TASK_EVENT_RECORD:
      params->eventRecordTaskParams = {node.event, node.event_flags, external};
      break;
    case ACL_MODEL_RI_TASK_EVENT_WAIT:
      params->eventWaitTaskParams = {node.event, node.event_flags, external};
      break;
    case ACL_MODEL_RI_TASK_EVENT_RESET:
      params->eventResetTaskParams = {node.event, node.event_flags, 0};
      break;
    case ACL_MODEL_RI_TASK_VALUE_WRITE: {
      const auto& body = BodyIn<ValueWriteBody>(graph.StagedOrCurrent(number));
      params->valueWriteTaskParams = {body.address, body.value};
      break;
    }
    case ACL_MODEL_RI_TASK_VALUE_WAIT: {
      const auto& body = BodyIn<ValueWaitBody>(graph.StagedOrCurrent(number));
      params->valueWaitTaskParams = {body.address, body.value, static_cast<uint32_t>(body.mode)};
      break;
    }
    default:
      return Unsupported(
          Format("task %u (%s) is an operator or another task without parameters to show: operators are "
                 "functions of the host here, not kernels with an argument block",
                 number, node.name));
  }
  return Ok();
}

Status SetParams(capture::Graph& graph, uint32_t number, const aclmdlRITaskParams& params) {
  const capture::Node& node = graph.nodes()[number];
  MP_CHECK(params.type == TypeOf(node), kRuntimeArgument, "task %u (%s) is of type %d; its parameters cannot be of %d",
           number, node.name, static_cast<int>(TypeOf(node)), static_cast<int>(params.type));
  if (params.type == ACL_MODEL_RI_TASK_VALUE_WRITE) {
    const auto& wanted = params.valueWriteTaskParams;
    MP_RETURN_IF_ERROR(CheckValueWord(wanted.devAddr));
    const trace::Access access{wanted.devAddr, 8, trace::Mode::kWrite};
    graph.StageBody(number, OwnedTask::Make<TaskKind::kValueWrite>(node.name, {&access, 1},
                                                                   ValueWriteBody{wanted.devAddr, wanted.value}));
    return Ok();
  }
  if (params.type == ACL_MODEL_RI_TASK_VALUE_WAIT) {
    const auto& wanted = params.valueWaitTaskParams;
    MP_RETURN_IF_ERROR(CheckValueWord(wanted.devAddr));
    MP_CHECK(wanted.flag <= ACL_STREAM_WAIT_VALUE_NOR, kRuntimeArgument,
             "flag is %u; it must be one of ACL_STREAM_WAIT_VALUE_*, 0 to 3", wanted.flag);
    const trace::Access access{wanted.devAddr, 8, trace::Mode::kRead};
    graph.StageBody(number, OwnedTask::Make<TaskKind::kValueWait>(
                                node.name, {&access, 1},
                                ValueWaitBody{wanted.devAddr, wanted.value, static_cast<ValueWait>(wanted.flag)}));
    return Ok();
  }
  return Unsupported(
      Format("task %u (%s) cannot be given other parameters: only value writes and value waits can; for "
             "operators use a task group (aclmdlRICaptureTaskUpdateBegin)",
             number, node.name));
}

// `act` on a task of a graph, with an argument that must be given.
template <class Argument, class Act>
aclError OnTask(const char* api, aclmdlRITask task, const char* parameter, Argument argument, Act&& act) {
  return Guard(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckGiven(parameter, argument));
    std::shared_ptr<capture::Graph> graph;
    uint32_t node = 0;
    MP_RETURN_IF_ERROR(FindTask(task, &graph, &node));
    return act(*graph, node);
  });
}

}  // namespace

extern "C" aclError aclmdlRIGetStreams(aclmdlRI modelRI, aclrtStream* streams, uint32_t* numStreams) {
  return Guard("aclmdlRIGetStreams", [&]() -> Status {
    MP_NOT_NULL(modelRI);
    MP_NOT_NULL(numStreams);
    capture::Handle* graph = nullptr;
    MP_RETURN_IF_ERROR(capture::FindGraph(modelRI, &graph));
    std::vector<void*> lanes;
    MP_RETURN_IF_ERROR(capture::LanesOf(graph, &lanes));
    return CopyOut(lanes, streams, numStreams);
  });
}

extern "C" aclError aclmdlRIGetTasksByStream(aclrtStream stream, aclmdlRITask* tasks, uint32_t* numTasks) {
  return Guard("aclmdlRIGetTasksByStream", [&]() -> Status {
    MP_NOT_NULL(stream);
    MP_NOT_NULL(numTasks);
    std::vector<void*> found;
    MP_RETURN_IF_ERROR(capture::TasksOf(stream, &found));
    return CopyOut(found, tasks, numTasks);
  });
}

extern "C" aclError aclmdlRITaskGetType(aclmdlRITask task, aclmdlRITaskType* type) {
  return OnTask("aclmdlRITaskGetType", task, "type", type, [&](const capture::Graph& graph, uint32_t node) {
    *type = TypeOf(graph.nodes()[node]);
    return Ok();
  });
}

extern "C" aclError aclmdlRITaskGetSeqId(aclmdlRITask task, uint32_t* id) {
  return OnTask("aclmdlRITaskGetSeqId", task, "id", id, [&](const capture::Graph&, uint32_t node) {
    *id = node;
    return Ok();
  });
}

extern "C" aclError aclmdlRITaskGetParams(aclmdlRITask task, aclmdlRITaskParams* params) {
  return OnTask("aclmdlRITaskGetParams", task, "params", params, [&](capture::Graph& graph, uint32_t node) {
    *params = {};
    return GetParams(graph, node, params);
  });
}

extern "C" aclError aclmdlRITaskSetParams(aclmdlRITask task, aclmdlRITaskParams* params) {
  return OnTask("aclmdlRITaskSetParams", task, "params", params,
                [&](capture::Graph& graph, uint32_t node) { return SetParams(graph, node, *params); });
}

extern "C" aclError aclmdlRITaskDisable(aclmdlRITask task) {
  return Guard("aclmdlRITaskDisable", [&]() -> Status {
    std::shared_ptr<capture::Graph> graph;
    uint32_t node = 0;
    MP_RETURN_IF_ERROR(FindTask(task, &graph, &node));
    const capture::Node& info = graph->nodes()[node];
    MP_CHECK(!info.mark, kUnsupported,
             "task %u (%s) only orders other tasks inside the graph; what it orders would run unordered", node,
             info.name);
    graph->StageDisable(node);
    return Ok();
  });
}

// Attributes of a launch are the NPU's: block counts, schedule modes, prefetching.
MP_REFUSE(aclError, aclmdlRIKernelTaskGetAttribute,
          (aclmdlRITask, aclrtLaunchKernelAttrId, aclrtLaunchKernelAttrValue*),
          "operators are functions of the host here and have no kernel launch attributes")

// --- Conditions -------------------------------------------------------------------------------------------------

extern "C" aclError aclmdlRICondHandleCreate(aclmdlRI modelRI, uint32_t defaultLaunchValue, aclmdlRICondHandleFlag flag,
                                             aclmdlRICondHandle* handle) {
  return Guard("aclmdlRICondHandleCreate", [&]() -> Status {
    MP_NOT_NULL(modelRI);
    MP_NOT_NULL(handle);
    *handle = nullptr;
    const auto bits = static_cast<uint32_t>(flag);
    MP_CHECK(bits <= ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, kRuntimeArgument,
             "flag is %u; it must be 0 or ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT", bits);
    capture::Handle* graph = nullptr;
    MP_RETURN_IF_ERROR(capture::FindGraph(modelRI, &graph));
    MP_CHECK(graph->making() != capture::Handle::Making::kBuilt, kUnsupported,
             "conditions are for captured model running instances; %p is built from bound streams", modelRI);
    return capture::NewCondition(graph, defaultLaunchValue, bits == ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT, handle);
  });
}

extern "C" aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle, uint64_t** ptr) {
  return Guard("aclmdlRICondHandleGetCondPtr", [&]() -> Status {
    MP_NOT_NULL(handle);
    MP_NOT_NULL(ptr);
    *ptr = nullptr;
    capture::Condition* condition = nullptr;
    MP_RETURN_IF_ERROR(capture::FindCondition(handle, &condition));
    *ptr = condition->value.address;
    return Ok();
  });
}

extern "C" aclError aclmdlRIAddCondTask(aclmdlRICondTaskParams params, aclrtStream stream, uint32_t flags) {
  return Guard("aclmdlRIAddCondTask", [&]() -> Status {
    MP_NOT_NULL(stream);
    MP_NOT_NULL(params.handle);
    MP_NOT_NULL(params.modelRIArray);
    MP_CHECK(flags == 0, kRuntimeArgument, "flags is %u; it is reserved and must be 0", flags);
    MP_CHECK(static_cast<uint32_t>(params.type) <= ACL_MODEL_RI_COND_TYPE_SWITCH, kRuntimeArgument,
             "type is %d; it must be one of aclmdlRICondTaskType, 0 to 2", static_cast<int>(params.type));
    Stream* found = nullptr;
    capture::Condition* condition = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    MP_RETURN_IF_ERROR(capture::FindCondition(params.handle, &condition));
    return capture::AddConditionalNode(found, condition, static_cast<capture::ConditionKind>(params.type),
                                       {params.modelRIArray, params.size});
  });
}

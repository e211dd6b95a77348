// SPDX-License-Identifier: Apache-2.0
// aclmdlRI*: running, naming, building and looking at a recorded graph (CANN's chapter on model running instances).
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "include/acl/acl_mdl.h"
#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/entry.h"
#include "src/api/acl/rt/stream/timeout.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/base/files.h"
#include "src/device/capture/graph_task.h"
#include "src/device/capture/handle.h"
#include "src/device/runtime.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

constexpr size_t kLongestName = 512;  // bytes, the final zero included

Status Find(aclmdlRI modelRI, capture::Handle** out_graph) {
  MP_NOT_NULL(modelRI);
  return capture::FindGraph(modelRI, out_graph);
}

template <class Act>
aclError OnGraph(const char* api, aclmdlRI modelRI, Act&& act) {
  return On<capture::Handle>(
      api, [&](capture::Handle** out_graph) { return Find(modelRI, out_graph); }, act);
}

// `act` on a graph to be built and a stream for it; null is refused, since the default stream cannot be bound.
template <class Act>
aclError Build(const char* api, aclmdlRI modelRI, aclrtStream stream, Act&& act) {
  return OnGraph(api, modelRI, [&](capture::Handle* graph) -> Status {
    MP_NOT_NULL(stream);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return act(graph, found);
  });
}

// `act` on a graph, with an argument that must be given.
template <class Argument, class Act>
aclError With(const char* api, aclmdlRI modelRI, const char* parameter, Argument argument, Act&& act) {
  return OnGiven<capture::Handle>(
      api, parameter, argument, [&](capture::Handle** out_graph) { return Find(modelRI, out_graph); }, act);
}

}  // namespace

// --- Running ----------------------------------------------------------------------------------------------------

extern "C" aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
  return Guard("aclmdlRIExecuteAsync", [&]() -> Status {
    capture::Handle* graph = nullptr;
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(Find(modelRI, &graph));
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return capture::LaunchGraph(graph, found);
  });
}

extern "C" aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout) {
  return OnGraph("aclmdlRIExecute", modelRI, [&](capture::Handle* graph) -> Status {
    MP_CHECK(timeout != 0, kRuntimeArgument, "timeout is 0 ms; it must be -1 (for ever) or positive");
    Deadline deadline;
    MP_RETURN_IF_ERROR(DeadlineFrom(timeout, &deadline));
    return capture::ExecuteGraph(graph, deadline);
  });
}

extern "C" aclError aclmdlRIAbort(aclmdlRI modelRI) {
  return OnGraph("aclmdlRIAbort", modelRI, [&](capture::Handle* graph) -> Status {
    MP_CHECK(graph->making() == capture::Handle::Making::kBuilt, kUnsupported,
             "a captured model running instance cannot be aborted; abort the stream it runs on with aclrtStreamAbort");
    std::shared_ptr<capture::Graph> content;
    MP_RETURN_IF_ERROR(graph->Ready(&content));
    content->Abort();
    return Ok();
  });
}

extern "C" aclError aclmdlRIUpdate(aclmdlRI modelRI) {
  return OnGraph("aclmdlRIUpdate", modelRI, [&](capture::Handle* graph) -> Status {
    MP_CHECK(graph->making() == capture::Handle::Making::kCaptured, kUnsupported,
             "only captured model running instances can be updated");
    MP_CHECK(graph->state() == capture::Handle::State::kReady, kModelUpdateFailed,
             "model running instance %p is still being captured; end the capture first", modelRI);
    std::shared_ptr<capture::Graph> content;
    MP_RETURN_IF_ERROR(graph->Ready(&content));
    return content->ApplyStaged();
  });
}

extern "C" aclError aclmdlRIDestroy(aclmdlRI modelRI) {
  return Guard("aclmdlRIDestroy", [&]() -> Status {
    MP_NOT_NULL(modelRI);
    return capture::DestroyGraph(modelRI);
  });
}

// --- Building ---------------------------------------------------------------------------------------------------

extern "C" aclError aclmdlRIBuildBegin(aclmdlRI* modelRI, uint32_t flag) {
  return Guard("aclmdlRIBuildBegin", [&]() -> Status {
    MP_NOT_NULL(modelRI);
    *modelRI = nullptr;
    MP_CHECK(flag == 0, kRuntimeArgument, "flag is %u; it is reserved and must be 0", flag);
    Context* context = nullptr;
    MP_RETURN_IF_ERROR(RequireContext(&context));
    capture::Handle* graph = nullptr;
    MP_RETURN_IF_ERROR(capture::NewGraph(context, capture::Handle::Making::kBuilt, nullptr, &graph));
    *modelRI = graph->handle();
    return Ok();
  });
}

extern "C" aclError aclmdlRIBindStream(aclmdlRI modelRI, aclrtStream stream, uint32_t flag) {
  return Build("aclmdlRIBindStream", modelRI, stream, [&](auto* graph, Stream* found) -> Status {
    MP_CHECK((found->flags() & ACL_STREAM_PERSISTENT) != 0, kRuntimeArgument,
             "stream %d has flags 0x%x; only a stream made by aclrtCreateStreamWithConfig with ACL_STREAM_PERSISTENT "
             "can be bound to a model",
             found->id(), found->flags());
    MP_CHECK(flag == ACL_MODEL_STREAM_FLAG_HEAD || flag == ACL_MODEL_STREAM_FLAG_DEFAULT, kRuntimeArgument,
             "flag is 0x%x; it must be ACL_MODEL_STREAM_FLAG_HEAD or ACL_MODEL_STREAM_FLAG_DEFAULT", flag);
    MP_CHECK(flag == ACL_MODEL_STREAM_FLAG_HEAD, kUnsupported,
             "streams that wait to be activated (ACL_MODEL_STREAM_FLAG_DEFAULT) need aclrtActiveStream, which this "
             "release does not have; bind with ACL_MODEL_STREAM_FLAG_HEAD");
    return graph->Bind(found);
  });
}

extern "C" aclError aclmdlRIUnbindStream(aclmdlRI modelRI, aclrtStream stream) {
  return Build("aclmdlRIUnbindStream", modelRI, stream,
               [](auto* graph, Stream* bound) { return graph->Unbind(bound); });
}

extern "C" aclError aclmdlRIEndTask(aclmdlRI modelRI, aclrtStream stream) {
  return Build("aclmdlRIEndTask", modelRI, stream, [](auto* graph, Stream* bound) { return graph->EndTasks(bound); });
}

extern "C" aclError aclmdlRIBuildEnd(aclmdlRI modelRI, void* reserve) {
  return OnGraph("aclmdlRIBuildEnd", modelRI, [&](capture::Handle* graph) -> Status {
    if (reserve != nullptr) return InvalidParameter("reserve", "it is reserved and must be a NULL pointer");
    return graph->FinishBuilding();
  });
}

// --- Names and callbacks ----------------------------------------------------------------------------------------

extern "C" aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t* modelRIId) {
  return With("aclmdlRIGetId", modelRI, "modelRIId", modelRIId, [&](auto* graph) {
    *modelRIId = graph->graph()->id();
    return Ok();
  });
}

extern "C" aclError aclmdlRISetName(aclmdlRI modelRI, const char* name) {
  return With("aclmdlRISetName", modelRI, "name", name, [&](auto* graph) {
    graph->SetName(std::string(name, strnlen(name, kLongestName - 1)));
    return Ok();
  });
}

extern "C" aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char* name) {
  return With("aclmdlRIGetName", modelRI, "name", name, [&](auto* graph) -> Status {
    if (maxLen == 0) return InvalidValue("maxLen", "0", "there must be room for at least the final zero byte");
    const std::string text = graph->name();
    const size_t length = std::min<size_t>(text.size(), maxLen - 1);
    std::memcpy(name, text.data(), length);
    name[length] = '\0';
    return Ok();
  });
}

extern "C" aclError aclmdlRIDestroyRegisterCallback(aclmdlRI modelRI, aclrtCallback func, void* userData) {
  return With("aclmdlRIDestroyRegisterCallback", modelRI, "func", func,
              [&](auto* graph) { return graph->AddCallback(func, userData); });
}

extern "C" aclError aclmdlRIDestroyUnregisterCallback(aclmdlRI modelRI, aclrtCallback func) {
  return With("aclmdlRIDestroyUnregisterCallback", modelRI, "func", func,
              [&](auto* graph) { return graph->RemoveCallback(func); });
}

// --- Looking ----------------------------------------------------------------------------------------------------

extern "C" aclError aclmdlRIDebugPrint(aclmdlRI modelRI) {
  return OnGraph("aclmdlRIDebugPrint", modelRI, [&](capture::Handle* graph) -> Status {
    std::shared_ptr<capture::Graph> content;
    MP_RETURN_IF_ERROR(graph->Ready(&content));
    // Asked for in so many words, so it is printed whatever the log level is.
    const std::string text = capture::ToText(*content, graph->name());
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    return Ok();
  });
}

extern "C" aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char* path, uint32_t flags) {
  return With("aclmdlRIDebugJsonPrint", modelRI, "path", path, [&](auto* graph) -> Status {
    MP_CHECK(flags <= ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE, kRuntimeArgument,
             "flags is 0x%x; it must be ACL_MDLRI_DEBUG_JSON_PRINT_SUMMARY (0) or _VERBOSE (1)", flags);
    std::shared_ptr<capture::Graph> content;
    MP_RETURN_IF_ERROR(graph->Ready(&content));
    return files::Write(path, capture::ToJson(*content, graph->name(), flags == ACL_MDLRI_DEBUG_JSON_PRINT_VERBOSE));
  });
}

// SPDX-License-Identifier: Apache-2.0
// aclmdlRICapture*: recording a stream's tasks, and task groups (CANN's chapter on model running instances).
#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/capture/group.h"
#include "src/device/capture/handle.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

Status ModeFrom(int32_t mode, capture::Mode* out_mode) {
  MP_CHECK(mode >= ACL_MODEL_RI_CAPTURE_MODE_GLOBAL && mode <= ACL_MODEL_RI_CAPTURE_MODE_RELAXED, kRuntimeArgument,
           "mode is %d; it must be one of aclmdlRICaptureMode, 0 to 2", mode);
  *out_mode = static_cast<capture::Mode>(mode);
  return Ok();
}

// A task group is of a stream that is named, not of the default one, and of what captures it.
Status FindForGroup(aclrtStream stream, Stream** out_stream, capture::Handle** out_graph) {
  MP_NOT_NULL(stream);
  MP_RETURN_IF_ERROR(ResolveStream(stream, out_stream));
  *out_graph = capture::CaptureOf(**out_stream);
  MP_CHECK(*out_graph != nullptr, kStreamNotCaptured,
           "stream %d is not being captured; a task group is part of a capture", (*out_stream)->id());
  return Ok();
}

}  // namespace

extern "C" aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
  return Guard("aclmdlRICaptureBegin", [&]() -> Status {
    Stream* found = nullptr;
    capture::Mode wanted{};
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    MP_RETURN_IF_ERROR(ModeFrom(static_cast<int32_t>(mode), &wanted));
    return capture::Begin(found, wanted);
  });
}

extern "C" aclError aclmdlRICaptureToModelRIBegin(aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode) {
  return Guard("aclmdlRICaptureToModelRIBegin", [&]() -> Status {
    MP_NOT_NULL(modelRI);
    Stream* found = nullptr;
    capture::Handle* graph = nullptr;
    capture::Mode wanted{};
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    MP_RETURN_IF_ERROR(capture::FindGraph(modelRI, &graph));
    MP_RETURN_IF_ERROR(ModeFrom(static_cast<int32_t>(mode), &wanted));
    return capture::BeginBranch(found, graph, wanted);
  });
}

extern "C" aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI* modelRI) {
  return Guard("aclmdlRICaptureEnd", [&]() -> Status {
    MP_NOT_WILD(modelRI);
    if (modelRI != nullptr) *modelRI = nullptr;
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return capture::End(found, modelRI);
  });
}

extern "C" aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus* status, aclmdlRI* modelRI) {
  return Guard("aclmdlRICaptureGetInfo", [&]() -> Status {
    if (status == nullptr && modelRI == nullptr) {
      return InvalidParameter("status/modelRI", "they cannot both be NULL pointers");
    }
    MP_NOT_WILD(status);
    MP_NOT_WILD(modelRI);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    const capture::Handle* graph = capture::CaptureOf(*found);
    if (status != nullptr) {
      *status = graph != nullptr ? static_cast<aclmdlRICaptureStatus>(graph->capture_status())
                                 : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    }
    if (modelRI != nullptr) *modelRI = graph != nullptr ? graph->handle() : nullptr;
    return Ok();
  });
}

extern "C" aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
  return Guard("aclmdlRICaptureThreadExchangeMode", [&]() -> Status {
    MP_NOT_NULL(mode);
    capture::Mode wanted{};
    MP_RETURN_IF_ERROR(ModeFrom(static_cast<int32_t>(*mode), &wanted));
    *mode = static_cast<aclmdlRICaptureMode>(capture::ExchangeThreadMode(wanted));
    return Ok();
  });
}

extern "C" aclError aclmdlRICaptureTaskGrpBegin(aclrtStream stream) {
  return Guard("aclmdlRICaptureTaskGrpBegin", [&]() -> Status {
    Stream* found = nullptr;
    capture::Handle* graph = nullptr;
    MP_RETURN_IF_ERROR(FindForGroup(stream, &found, &graph));
    return graph->BeginGroup(found);
  });
}

extern "C" aclError aclmdlRICaptureTaskGrpEnd(aclrtStream stream, aclrtTaskGrp* handle) {
  return Guard("aclmdlRICaptureTaskGrpEnd", [&]() -> Status {
    MP_NOT_NULL(handle);
    *handle = nullptr;
    Stream* found = nullptr;
    capture::Handle* graph = nullptr;
    MP_RETURN_IF_ERROR(FindForGroup(stream, &found, &graph));
    return graph->EndGroup(found, handle);
  });
}

extern "C" aclError aclmdlRICaptureTaskUpdateBegin(aclrtStream stream, aclrtTaskGrp handle) {
  return Guard("aclmdlRICaptureTaskUpdateBegin", [&]() -> Status {
    MP_NOT_NULL(stream);
    MP_NOT_NULL(handle);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return capture::BeginTaskUpdate(found, handle);
  });
}

extern "C" aclError aclmdlRICaptureTaskUpdateEnd(aclrtStream stream) {
  return Guard("aclmdlRICaptureTaskUpdateEnd", [&]() -> Status {
    MP_NOT_NULL(stream);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return capture::EndTaskUpdate(found);
  });
}

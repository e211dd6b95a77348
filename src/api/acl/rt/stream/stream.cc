// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/stream.h"

#include <chrono>
#include <new>
#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/entry.h"
#include "src/api/acl/rt/stream/timeout.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/magic.h"
#include "src/api/common/message.h"
#include "src/base/options.h"
#include "src/device/capture/handle.h"
#include "src/device/device.h"
#include "src/device/memory/mem_pool.h"
#include "src/device/runtime.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

constexpr uint32_t kKnownFlags = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT |
                                 ACL_STREAM_HUGE | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;
// Streams the host does not wait for (docs/compat.md, "What clients rely on").
constexpr uint32_t kNoSyncFlags = ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;

Status CreateStream(aclrtStream* stream, uint32_t priority, uint32_t flags) {
  MP_NOT_NULL(stream);
  *stream = nullptr;
  Context* context = nullptr;
  MP_RETURN_IF_ERROR(RequireContext(&context));
  const Profile& profile = context->device()->profile();
  const auto least = static_cast<uint32_t>(profile.priority_least);
  if (priority > least) priority = least;
  Stream* created = nullptr;
  // "any other value makes the stream aclrtCreateStream would" (CANN's chapter on stream management)
  MP_RETURN_IF_ERROR(
      context->device()->CreateStream(context, priority, (flags & ~kKnownFlags) == 0 ? flags : 0, false, &created));
  *stream = created->handle();
  return Ok();
}

// A card begins a task within microseconds of its launch, and programs count on that: a kernel that prints its result
// is launched, and its stream destroyed by force at once. So what can run gets a moment before the rest is dropped,
// unless a schedule was asked for, which is there to show what may be dropped.
void LetBegin(Stream* stream) {
  constexpr auto kMoment = std::chrono::milliseconds(20);
  const Options& options = GetOptions();
  if (!options.seed.empty() || !options.schedule.empty()) return;
  stream->Await(stream->enqueued(), Clock::now() + kMoment, Code::kStreamSyncTimeout).Ignore();
}

Status DestroyStream(aclrtStream stream, bool force) {
  MP_NOT_NULL(stream);
  // From static destructors and after aclFinalize no context is current any more: harmless, so none is required.
  Stream* found = Streams().Find(stream);
  MP_CHECK_RULE(found != nullptr, kInvalidHandle, "MP602", stream,
                "stream %p is not a live stream: it was never created, or was destroyed", stream);
  if (Context* context = CurrentContext(); context != nullptr) {
    MP_CHECK(
        found->context() == context, kWrongContext,
        "stream %d belongs to another context than the calling thread's current one; make its context current first",
        found->id());
  }
  if (force) LetBegin(found);
  return found->device()->DestroyStream(found, force);
}

template <class Fact, class Read>
aclError Tell(const char* api, aclrtStream stream, const char* parameter, Fact* out_fact, Read&& read) {
  return TellFact<Stream>(
      api, parameter, out_fact, [&](Stream** out_stream) { return ResolveStream(stream, out_stream); }, read);
}

Status Synchronize(aclrtStream stream, Deadline deadline) {
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
  MP_CHECK(capture::CaptureOf(*found) == nullptr, kStreamCaptured,
           "stream %d is being captured and runs nothing to wait for; end the capture first", found->id());
  if ((found->flags() & kNoSyncFlags) != 0) return Ok();
  MP_RETURN_IF_ERROR(found->Synchronize(deadline, Code::kStreamSyncTimeout));
  MemPoolsAfterSynchronize();
  return Ok();
}

// The public structure says what a client may read through the pointer; ours is looked up before it is followed.
struct StreamConfig : aclrtStreamConfigHandle {
  StreamConfig() : aclrtStreamConfigHandle{} {}
  Magic<0x6d7053747243666f> magic;
};

Status FindConfig(const aclrtStreamConfigHandle* handle, const StreamConfig** out_config) {
  MP_NOT_NULL(handle);
  *out_config = static_cast<const StreamConfig*>(handle);
  if (IsAlive(*out_config)) return Ok();
  return InvalidValue("handle", Format("%p", static_cast<const void*>(handle)),
                      "it is not a live configuration: aclrtCreateStreamConfigHandle did not give it, or it was "
                      "destroyed");
}

}  // namespace

extern "C" aclError aclrtCreateStream(aclrtStream* stream) {
  return Guard("aclrtCreateStream", [&] { return CreateStream(stream, 0, 0); });
}

extern "C" aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return Guard("aclrtCreateStreamWithConfig", [&] { return CreateStream(stream, priority, flag); });
}

extern "C" aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle(void) {
  StreamConfig* made = nullptr;
  static_cast<void>(Guard("aclrtCreateStreamConfigHandle", [&] {
    made = new StreamConfig;
    return Ok();
  }));
  return made;
}

extern "C" aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle) {
  return Guard("aclrtDestroyStreamConfigHandle", [&]() -> Status {
    const StreamConfig* config = nullptr;
    MP_RETURN_IF_ERROR(FindConfig(handle, &config));
    return Destroy("handle", config);
  });
}

extern "C" aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr attr,
                                            const void* attrValue, size_t valueSize) {
  return Guard("aclrtSetStreamConfigOpt", [&]() -> Status {
    const StreamConfig* config = nullptr;
    MP_RETURN_IF_ERROR(FindConfig(handle, &config));
    MP_NOT_NULL(attrValue);
    const size_t expected = attr == ACL_RT_STREAM_PRIORITY ? sizeof(uint32_t) : sizeof(size_t);
    // Flags have 32 bits wherever else they are given, and CANN's own sample gives them so here too.
    const bool short_flag = attr == ACL_RT_STREAM_FLAG && valueSize == sizeof(uint32_t);
    if (attr < ACL_RT_STREAM_WORK_ADDR_PTR || attr > ACL_RT_STREAM_PRIORITY) {
      return InvalidValue("attr", std::to_string(attr), "it must be one of aclrtStreamConfigAttr, 0 to 3");
    }
    if (valueSize != expected && !short_flag) {
      return InvalidValue("valueSize", std::to_string(valueSize), Format("this attribute takes %zu bytes", expected));
    }
    switch (attr) {
      case ACL_RT_STREAM_WORK_ADDR_PTR:
        handle->workptr = *static_cast<void* const*>(attrValue);
        break;
      case ACL_RT_STREAM_WORK_SIZE:
        handle->workSize = *static_cast<const size_t*>(attrValue);
        break;
      case ACL_RT_STREAM_FLAG:
        handle->flag = short_flag ? *static_cast<const uint32_t*>(attrValue) : *static_cast<const size_t*>(attrValue);
        break;
      case ACL_RT_STREAM_PRIORITY:
        handle->priority = *static_cast<const uint32_t*>(attrValue);
        break;
    }
    return Ok();
  });
}

extern "C" aclError aclrtCreateStreamV2(aclrtStream* stream, const aclrtStreamConfigHandle* handle) {
  return Guard("aclrtCreateStreamV2", [&]() -> Status {
    const StreamConfig* config = nullptr;
    MP_RETURN_IF_ERROR(FindConfig(handle, &config));
    return CreateStream(stream, config->priority, static_cast<uint32_t>(config->flag));
  });
}

extern "C" aclError aclrtDestroyStream(aclrtStream stream) {
  return Guard("aclrtDestroyStream", [&] { return DestroyStream(stream, false); });
}

extern "C" aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return Guard("aclrtDestroyStreamForce", [&] { return DestroyStream(stream, true); });
}

extern "C" aclError aclrtSynchronizeStream(aclrtStream stream) {
  return Guard("aclrtSynchronizeStream", [&] { return Synchronize(stream, std::nullopt); });
}

extern "C" aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  return Guard("aclrtSynchronizeStreamWithTimeout", [&]() -> Status {
    Deadline deadline;
    MP_RETURN_IF_ERROR(DeadlineFrom(timeout, &deadline));
    return Synchronize(stream, deadline);
  });
}

extern "C" aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  return Guard("aclrtStreamQuery", [&]() -> Status {
    MP_NOT_NULL(status);
    *status = ACL_STREAM_STATUS_RESERVED;
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    MP_CHECK(capture::CaptureOf(*found) == nullptr, kStreamCaptured,
             "stream %d is being captured and runs nothing that could be asked for; end the capture first",
             found->id());
    const uint64_t target = found->enqueued();
    const bool done = found->Poll(target);
    if (done) found->TellReached(target, trace::WaitKind::kQuery);
    *status = done ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return Ok();
  });
}

extern "C" aclError aclrtStreamAbort(aclrtStream stream) {
  return Guard("aclrtStreamAbort", [&]() -> Status {
    Stream* found = nullptr;
    MP_NOT_NULL(stream);
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return found->Abort(Status(Code::kStreamAborted, Format("stream %d was aborted: tasks were dropped", found->id())));
  });
}

extern "C" aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  return Tell("aclrtStreamGetId", stream, "streamId", streamId, [](const Stream& found) { return found.id(); });
}

extern "C" aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  return Tell("aclrtStreamGetPriority", stream, "priority", priority,
              [](const Stream& found) { return found.priority(); });
}

extern "C" aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
  return Tell("aclrtStreamGetFlags", stream, "flags", flags, [](const Stream& found) { return found.flags(); });
}

extern "C" aclError aclrtGetStreamAvailableNum(uint32_t* streamCount) {
  return TellFact<Device>("aclrtGetStreamAvailableNum", "streamCount", streamCount, RequireDevice,
                          [](const Device& device) { return device.streams_available(); });
}

extern "C" aclError aclrtGetThreadLastTaskId(uint32_t* taskId) {
  return Guard("aclrtGetThreadLastTaskId", [&]() -> Status {
    MP_NOT_NULL(taskId);
    *taskId = LastTaskNumber();
    return Ok();
  });
}

// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/event.h"

#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/entry.h"
#include "src/api/acl/rt/stream/timeout.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/capture/handle.h"
#include "src/device/device.h"
#include "src/device/memory/mem_pool.h"
#include "src/device/runtime.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

Status Create(aclrtEvent* event, EventMaking making, uint32_t flags) {
  MP_NOT_NULL(event);
  *event = nullptr;
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(RequireDevice(&device));
  return CreateEvent(device, making, flags, event);
}

// Both handles of a record or wait.
Status Resolve(aclrtEvent event, aclrtStream stream, Event** out_event, Stream** out_stream) {
  MP_NOT_NULL(event);
  MP_RETURN_IF_ERROR(FindEvent(event, out_event));
  return ResolveStream(stream, out_stream);
}

template <class Act>
aclError Enqueue(const char* api, aclrtEvent event, aclrtStream stream, Act&& act) {
  return Guard(api, [&]() -> Status {
    Event* found = nullptr;
    Stream* target = nullptr;
    MP_RETURN_IF_ERROR(Resolve(event, stream, &found, &target));
    return act(found, target);
  });
}

Status WaitEvent(aclrtStream stream, aclrtEvent event, int64_t timeout_s) {
  Event* found = nullptr;
  Stream* waiting = nullptr;
  const Status resolved = Resolve(event, stream, &found, &waiting);
  if (resolved.ok()) return found->Wait(waiting, static_cast<uint32_t>(timeout_s));
  // torch_npu has a queue per device: one may destroy an event before the other calls for the wait.
  if (found == nullptr && event != nullptr) {
    MP_RETURN_IF_ERROR(ResolveStream(stream, &waiting));
    bool known = false;
    const Status waited = waiting->capture() != nullptr
                              ? Ok()
                              : WaitForDestroyed(event, waiting, static_cast<uint32_t>(timeout_s), &known);
    if (known) return waited.Clone();
  }
  return resolved.Clone();
}

// EXTERNAL records and waits exist only while capturing, for events made by CreateEventExWithFlag(ACL_EVENT_SYNC).
Status CheckExternal(const Event& event, const Stream& stream, capture::Handle** out_capture) {
  MP_CHECK(event.making() == EventMaking::kEx && event.flags() == ACL_EVENT_SYNC, kUnsupported,
           "the external flag needs an event made by aclrtCreateEventExWithFlag with ACL_EVENT_SYNC alone (this "
           "one's flags: 0x%x)",
           event.flags());
  *out_capture = capture::CaptureOf(stream);
  MP_CHECK(*out_capture != nullptr, kStreamNotCaptured,
           "the external flag is for streams that are being captured; stream %d is not", stream.id());
  return Ok();
}

}  // namespace

extern "C" aclError aclrtCreateEvent(aclrtEvent* event) {
  return Guard("aclrtCreateEvent", [&] { return Create(event, EventMaking::kPlain, 0); });
}

extern "C" aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return Guard("aclrtCreateEventWithFlag", [&] { return Create(event, EventMaking::kFlagged, flag); });
}

extern "C" aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return Guard("aclrtCreateEventExWithFlag", [&] { return Create(event, EventMaking::kEx, flag); });
}

extern "C" aclError aclrtDestroyEvent(aclrtEvent event) {
  return Guard("aclrtDestroyEvent", [&]() -> Status {
    MP_NOT_NULL(event);
    return DestroyEvent(event);
  });
}

extern "C" aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  return Enqueue("aclrtRecordEvent", event, stream,
                 [](Event* found, Stream* recording) { return found->Record(recording); });
}

extern "C" aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag) {
  return Guard("aclrtRecordEventWithFlag", [&]() -> Status {
    if (flag > ACL_EVENT_RECORD_EXTERNAL)
      return InvalidValue("flag", std::to_string(flag), "it must be 0 or ACL_EVENT_RECORD_EXTERNAL");
    Event* found = nullptr;
    Stream* recording = nullptr;
    MP_RETURN_IF_ERROR(Resolve(event, stream, &found, &recording));
    if (flag == ACL_EVENT_RECORD_DEFAULT) return found->Record(recording);
    MP_RETURN_IF_ERROR(found->ClaimRecord(true));
    capture::Handle* capture = nullptr;
    MP_RETURN_IF_ERROR(CheckExternal(*found, *recording, &capture));
    return capture->RecordEvent(recording, found, true);
  });
}

extern "C" aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
  return Enqueue("aclrtResetEvent", event, stream,
                 [](Event* found, Stream* resetting) { return found->Reset(resetting); });
}

extern "C" aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return Guard("aclrtStreamWaitEvent", [&] { return WaitEvent(stream, event, DefaultWaitTimeout()); });
}

extern "C" aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  return Guard("aclrtStreamWaitEventWithTimeout", [&]() -> Status {
    if (timeout < 0)
      return InvalidValue("timeout", std::to_string(timeout), "seconds must not be negative; 0 waits for ever");
    return WaitEvent(stream, event, timeout);
  });
}

extern "C" aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t timeout,
                                                 uint32_t flag) {
  return Guard("aclrtStreamWaitEventWithFlag", [&]() -> Status {
    if (flag > ACL_EVENT_WAIT_EXTERNAL)
      return InvalidValue("flag", std::to_string(flag), "it must be 0 or ACL_EVENT_WAIT_EXTERNAL");
    if (flag == ACL_EVENT_WAIT_DEFAULT) return WaitEvent(stream, event, timeout);
    if (timeout != 0) return InvalidValue("timeout", std::to_string(timeout), "an external wait takes 0 only");
    Event* found = nullptr;
    Stream* waiting = nullptr;
    MP_RETURN_IF_ERROR(Resolve(event, stream, &found, &waiting));
    MP_RETURN_IF_ERROR(found->ClaimWait(true));
    capture::Handle* capture = nullptr;
    MP_RETURN_IF_ERROR(CheckExternal(*found, *waiting, &capture));
    return capture->WaitEvent(waiting, found, true);
  });
}

extern "C" aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  return Guard("aclrtSetOpWaitTimeout", [&]() -> Status {
    SetDefaultWaitTimeout(timeout);
    return Ok();
  });
}

namespace {

Status FindForQuery(aclrtEvent event, const void* out, const char* out_name, Event** out_event) {
  MP_NOT_NULL(event);
  if (out == nullptr) return NullPointer(out_name);
  MP_RETURN_IF_ERROR(FindEvent(event, out_event));
  MP_CHECK((*out_event)->captured_by() == nullptr, kEventCaptured,
           "event %p was last recorded in a capture that has not ended; it cannot be asked", event);
  return Ok();
}

Status NotForEx(const Event& event) {
  MP_CHECK(event.making() != EventMaking::kEx, kUnsupported,
           "events made by aclrtCreateEventExWithFlag are not for this call; use aclrtQueryEventStatus");
  return Ok();
}

Status NotForIpc(const Event& event) {
  MP_CHECK((event.flags() & kEventIpc) == 0, kUnsupported, "events made with ACL_EVENT_IPC are not for this call");
  return Ok();
}

Status ForAll(const Event&) { return Ok(); }

// One fact about an event that `fits`, as `read` has it.
template <class Fact, class Read>
aclError Query(const char* api, aclrtEvent event, const char* parameter, Fact* out_fact, Status (*fits)(const Event&),
               Read&& read) {
  return Guard(api, [&]() -> Status {
    Event* found = nullptr;
    MP_RETURN_IF_ERROR(FindForQuery(event, out_fact, parameter, &found));
    MP_RETURN_IF_ERROR(fits(*found));
    return read(found);
  });
}

}  // namespace

extern "C" aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status) {
  return Query("aclrtQueryEvent", event, "status", status, NotForEx, [&](Event* found) {
    *status = found->Complete() ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return Ok();
  });
}

extern "C" aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  return Query("aclrtQueryEventStatus", event, "status", status, ForAll, [&](Event* found) {
    *status = found->Complete() ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return Ok();
  });
}

extern "C" aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
  return Query("aclrtQueryEventWaitStatus", event, "status", status, NotForEx, [&](Event* found) {
    *status = found->WaitsComplete() ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return Ok();
  });
}

namespace {

Status SynchronizeEvent(aclrtEvent event, Deadline deadline) {
  MP_NOT_NULL(event);
  Event* found = nullptr;
  MP_RETURN_IF_ERROR(FindEvent(event, &found));
  MP_CHECK(found->captured_by() == nullptr, kEventCaptured,
           "event %p was last recorded in a capture that has not ended; nothing runs to wait for", event);
  MP_RETURN_IF_ERROR(found->Synchronize(deadline));
  MemPoolsAfterSynchronize();
  return Ok();
}

}  // namespace

extern "C" aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return Guard("aclrtSynchronizeEvent", [&] { return SynchronizeEvent(event, std::nullopt); });
}

extern "C" aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return Guard("aclrtSynchronizeEventWithTimeout", [&]() -> Status {
    MP_CHECK(timeout != 0, kRuntimeArgument, "timeout is 0 ms; it must be -1 (for ever) or positive");
    Deadline deadline;
    MP_RETURN_IF_ERROR(DeadlineFrom(timeout, &deadline));
    return SynchronizeEvent(event, deadline);
  });
}

extern "C" aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return Guard("aclrtEventElapsedTime", [&]() -> Status {
    MP_NOT_NULL(ms);
    Event* start = nullptr;
    Event* end = nullptr;
    MP_RETURN_IF_ERROR(FindForQuery(startEvent, ms, "ms", &start));
    MP_RETURN_IF_ERROR(FindForQuery(endEvent, ms, "ms", &end));
    MP_RETURN_IF_ERROR(NotForIpc(*start));
    MP_RETURN_IF_ERROR(NotForIpc(*end));
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    MP_RETURN_IF_ERROR(start->Timestamp(&start_ns));
    MP_RETURN_IF_ERROR(end->Timestamp(&end_ns));
    MP_CHECK(end_ns >= start_ns, kTimestampReversed, "the end event was reached %llu ns before the start event",
             static_cast<unsigned long long>(start_ns - end_ns));
    *ms = static_cast<float>(static_cast<double>(end_ns - start_ns) / 1e6);
    return Ok();
  });
}

extern "C" aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp) {
  return Query("aclrtEventGetTimestamp", event, "timestamp", timestamp, NotForIpc, [&](Event* found) -> Status {
    uint64_t ns = 0;
    MP_RETURN_IF_ERROR(found->Timestamp(&ns));
    *timestamp = ns / 1000;  // microseconds since the (virtual) processor started
    return Ok();
  });
}

extern "C" aclError aclrtGetEventId(aclrtEvent event, uint32_t* eventId) {
  return TellFact<Event>(
      "aclrtGetEventId", "eventId", eventId,
      [&](Event** out_event) -> Status {
        MP_NOT_NULL(event);
        MP_RETURN_IF_ERROR(FindEvent(event, out_event));
        return NotForIpc(**out_event);
      },
      [](const Event& found) { return found.id(); });
}

extern "C" aclError aclrtGetEventAvailNum(uint32_t* eventCount) {
  return TellFact<Device>("aclrtGetEventAvailNum", "eventCount", eventCount, RequireDevice, [](const Device& device) {
    const uint32_t live = device.live_events.load(std::memory_order_relaxed);
    const uint32_t limit = device.profile().max_events;
    return live < limit ? limit - live : 0;
  });
}

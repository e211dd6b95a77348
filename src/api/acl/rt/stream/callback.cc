// SPDX-License-Identifier: Apache-2.0
// Code of the client's in a stream: callbacks on a thread it subscribed, host functions on ours; and the value
// tasks, by which streams and host signal each other through memory.
#include <algorithm>
#include <string>
#include <vector>

#include "include/acl/acl_rt.h"
#include "include/millpond/launch.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/callback_threads.h"
#include "src/device/stream/stream.h"
#include "src/device/stream/value_task.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

Status Subscribe(CallbackThreads& reports, uint64_t thread, aclrtStream stream) {
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
  return reports.Subscribe(thread, found);
}

Status Unsubscribe(CallbackThreads& reports, uint64_t thread, aclrtStream stream) {
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
  return reports.Unsubscribe(thread, found);
}

Status Process(CallbackThreads& reports, int32_t timeout) {
  if (timeout == 0 || timeout < -1) {
    return InvalidValue("timeout", std::to_string(timeout),
                        "it must be -1 (for ever) or a positive number of milliseconds");
  }
  return reports.Process(timeout == -1 ? Deadline() : Clock::now() + std::chrono::milliseconds(timeout));
}

Status AccessFrom(const millpond_access& access, size_t index, trace::Access* out_access) {
  const std::string name = Format("accesses[%zu]", index);
  const uint32_t use = access.use & (MILLPOND_READ | MILLPOND_WRITE);
  if (use == 0 || (access.use & ~(MILLPOND_READ | MILLPOND_WRITE | MILLPOND_MAY)) != 0) {
    return InvalidValue(
        (name + ".use").c_str(), Format("0x%x", access.use),
        "it must be MILLPOND_READ, MILLPOND_WRITE or both, with MILLPOND_MAY where only some is touched");
  }
  const size_t rows = std::max<size_t>(access.rows, 1);
  if (rows > 1 && (access.pitch < access.bytes || rows - 1 > (SIZE_MAX - access.bytes) / access.pitch)) {
    return InvalidValue(
        (name + ".pitch").c_str(), std::to_string(access.pitch),
        Format("it must be at least bytes (%zu), and %zu rows of it must have addresses", access.bytes, rows));
  }
  const trace::Mode mode = use == MILLPOND_READ    ? trace::Mode::kRead
                           : use == MILLPOND_WRITE ? trace::Mode::kWrite
                                                   : trace::Mode::kReadWrite;
  *out_access = trace::RowsOf(access.address, access.bytes, rows, access.pitch, mode);
  if ((access.use & MILLPOND_MAY) != 0) out_access->flags |= trace::kMayTouch;
  return Ok();
}

}  // namespace

extern "C" aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return Guard("aclrtSubscribeReport", [&] { return Subscribe(CallbackThreads::Callbacks(), threadId, stream); });
}

extern "C" aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return Guard("aclrtUnSubscribeReport", [&] { return Unsubscribe(CallbackThreads::Callbacks(), threadId, stream); });
}

extern "C" aclError aclrtProcessReport(int32_t timeout) {
  return Guard("aclrtProcessReport", [&] { return Process(CallbackThreads::Callbacks(), timeout); });
}

extern "C" aclError aclrtSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream) {
  return Guard("aclrtSubscribeHostFunc",
               [&] { return Subscribe(CallbackThreads::HostFuncs(), hostFuncThreadId, exeStream); });
}

extern "C" aclError aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream) {
  return Guard("aclrtUnSubscribeHostFunc",
               [&] { return Unsubscribe(CallbackThreads::HostFuncs(), hostFuncThreadId, exeStream); });
}

extern "C" aclError aclrtProcessHostFunc(int32_t timeout) {
  return Guard("aclrtProcessHostFunc", [&] { return Process(CallbackThreads::HostFuncs(), timeout); });
}

extern "C" aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                                        aclrtStream stream) {
  return Guard("aclrtLaunchCallback", [&]() -> Status {
    MP_NOT_NULL(fn);
    if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
      return InvalidValue("blockType", std::to_string(blockType),
                          "it must be ACL_CALLBACK_NO_BLOCK or ACL_CALLBACK_BLOCK");
    }
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return LaunchCallback(found, fn, userData, blockType == ACL_CALLBACK_BLOCK);
  });
}

extern "C" aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return Guard("aclrtLaunchHostFunc", [&]() -> Status {
    MP_NOT_NULL(fn);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return LaunchHostFunc(found, fn, args);
  });
}

extern "C" aclError aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return Guard("aclrtValueWrite", [&]() -> Status {
    MP_NOT_NULL(devAddr);
    if (flag != 0) return InvalidValue("flag", std::to_string(flag), "it is reserved and must be 0");
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return LaunchValueWrite(found, devAddr, value);
  });
}

extern "C" aclError aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return Guard("aclrtValueWait", [&]() -> Status {
    MP_NOT_NULL(devAddr);
    if (flag > ACL_STREAM_WAIT_VALUE_NOR)
      return InvalidValue("flag", std::to_string(flag), "it must be one of ACL_STREAM_WAIT_VALUE_*, 0 to 3");
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return LaunchValueWait(found, devAddr, value, static_cast<ValueWait>(flag));
  });
}

extern "C" int millpond_launch(void* stream, const char* name, void (*function)(void*), void* argument) {
  return Guard("millpond_launch", [&]() -> Status {
    MP_NOT_NULL(function);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return found->Launch<TaskKind::kCompute>(name != nullptr ? name : "Task", {}, [function, argument]() -> Status {
      function(argument);
      return Ok();
    });
  });
}

extern "C" int millpond_launch_with_accesses(void* stream, const char* name, void (*function)(void*), void* argument,
                                             const millpond_access* accesses, size_t count) {
  return Guard("millpond_launch_with_accesses", [&]() -> Status {
    MP_NOT_NULL(function);
    if (accesses == nullptr && count != 0) return NullPointer("accesses");
    std::vector<trace::Access> ranges(count);
    for (size_t i = 0; i < count; ++i) MP_RETURN_IF_ERROR(AccessFrom(accesses[i], i, &ranges[i]));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return found->Launch<TaskKind::kCompute>(name != nullptr ? name : "Task", ranges, [function, argument]() -> Status {
      function(argument);
      return Ok();
    });
  });
}

extern "C" void* millpond_reachable(void* address) { return Reachable(address); }

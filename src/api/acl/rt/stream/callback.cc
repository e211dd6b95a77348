// SPDX-License-Identifier: Apache-2.0
// Code of the client's in a stream: callbacks on a thread it subscribed, host functions on ours; and the value
// tasks, by which streams and host signal each other through memory.
#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/entry.h"
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

aclError Subscribe(const char* api, CallbackThreads& reports, uint64_t thread, aclrtStream stream) {
  return OnStream(api, stream, [&](Stream* found) { return reports.Subscribe(thread, found); });
}

aclError Unsubscribe(const char* api, CallbackThreads& reports, uint64_t thread, aclrtStream stream) {
  return OnStream(api, stream, [&](Stream* found) { return reports.Unsubscribe(thread, found); });
}

Status Process(CallbackThreads& reports, int32_t timeout) {
  if (timeout == 0 || timeout < -1) {
    return InvalidValue("timeout", std::to_string(timeout),
                        "it must be -1 (for ever) or a positive number of milliseconds");
  }
  return reports.Process(timeout == -1 ? Deadline() : Clock::now() + std::chrono::milliseconds(timeout));
}

}  // namespace

extern "C" aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return Subscribe("aclrtSubscribeReport", CallbackThreads::Callbacks(), threadId, stream);
}

extern "C" aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return Unsubscribe("aclrtUnSubscribeReport", CallbackThreads::Callbacks(), threadId, stream);
}

extern "C" aclError aclrtProcessReport(int32_t timeout) {
  return Guard("aclrtProcessReport", [&] { return Process(CallbackThreads::Callbacks(), timeout); });
}

extern "C" aclError aclrtSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream) {
  return Subscribe("aclrtSubscribeHostFunc", CallbackThreads::HostFuncs(), hostFuncThreadId, exeStream);
}

extern "C" aclError aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream) {
  return Unsubscribe("aclrtUnSubscribeHostFunc", CallbackThreads::HostFuncs(), hostFuncThreadId, exeStream);
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
  return OnStream("aclrtLaunchHostFunc", stream, "fn", fn,
                  [&](Stream* found) { return LaunchHostFunc(found, fn, args); });
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

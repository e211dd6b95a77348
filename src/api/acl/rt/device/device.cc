// SPDX-License-Identifier: Apache-2.0
// aclrtSetDevice and its kin. Per thread: the current context; per process: a count for each device.
#include "src/device/device.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/entry.h"
#include "src/api/acl/rt/stream/timeout.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/capture/handle.h"
#include "src/device/memory/mem_pool.h"
#include "src/device/runtime.h"
#include "src/device/state_callbacks.h"
#include "src/device/stream/stream.h"
#include "src/device/telling.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

extern "C" aclError aclrtSetDevice(int32_t deviceId) {
  return Guard("aclrtSetDevice", [&]() -> Status {
    Device* device = nullptr;
    Context* context = nullptr;
    MP_RETURN_IF_ERROR(FindDevice(deviceId, &device));
    MP_RETURN_IF_ERROR(device->RetainPrimary(&context));
    SetCurrentContextForThread(context);
    return Ok();
  });
}

namespace {

Status ResetDevice(int32_t device_id, bool force) {
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(FindDevice(device_id, &device));
  return device->ReleasePrimary(force);
}

}  // namespace

extern "C" aclError aclrtResetDevice(int32_t deviceId) {
  return Guard("aclrtResetDevice", [&] { return ResetDevice(deviceId, false); });
}

extern "C" aclError aclrtResetDeviceForce(int32_t deviceId) {
  return Guard("aclrtResetDeviceForce", [&] { return ResetDevice(deviceId, true); });
}

extern "C" aclError aclrtGetDevice(int32_t* deviceId) {
  return TellFact<Device>("aclrtGetDevice", "deviceId", deviceId, RequireDevice,
                          [](const Device& device) { return device.id(); });
}

extern "C" aclError aclrtGetDeviceCount(uint32_t* count) {
  return Guard("aclrtGetDeviceCount", [&]() -> Status {
    MP_NOT_NULL(count);
    *count = 0;
    Runtime* runtime = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    *count = static_cast<uint32_t>(runtime->device_count());
    return Ok();
  });
}

extern "C" aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return Guard("aclrtGetRunMode", [&]() -> Status {
    MP_NOT_NULL(runMode);
    *runMode = ACL_HOST;
    return Ok();
  });
}

extern "C" aclError aclrtSetTsDevice(aclrtTsId tsId) {
  return Guard("aclrtSetTsDevice", [&]() -> Status {
    if (tsId != ACL_TS_ID_AICORE && tsId != ACL_TS_ID_AIVECTOR) {
      return InvalidValue("tsId", std::to_string(tsId), "it must be ACL_TS_ID_AICORE or ACL_TS_ID_AIVECTOR");
    }
    Device* device = nullptr;
    return RequireDevice(&device);  // one scheduler serves both kinds of core: choosing one changes nothing
  });
}

extern "C" aclError aclrtSynchronizeDevice(void) {
  return Guard("aclrtSynchronizeDevice", [&]() -> Status {
    Context* context = nullptr;
    MP_RETURN_IF_ERROR(RequireContext(&context));
    MP_RETURN_IF_ERROR(capture::CheckNoCaptureIn(*context));
    MP_RETURN_IF_ERROR(context->device()->Synchronize(std::nullopt));
    MemPoolsAfterSynchronize();
    return Ok();
  });
}

extern "C" aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return Guard("aclrtSynchronizeDeviceWithTimeout", [&]() -> Status {
    Deadline deadline;
    MP_RETURN_IF_ERROR(DeadlineFrom(timeout, &deadline));
    Context* context = nullptr;
    MP_RETURN_IF_ERROR(RequireContext(&context));
    MP_RETURN_IF_ERROR(capture::CheckNoCaptureIn(*context));
    MP_RETURN_IF_ERROR(context->device()->Synchronize(deadline));
    MemPoolsAfterSynchronize();
    return Ok();
  });
}

extern "C" aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  return Guard("aclrtDeviceGetBareTgid", [&]() -> Status {
    MP_NOT_NULL(pid);
    *pid = getpid();
    return Ok();
  });
}

extern "C" aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
  return Guard("aclrtDeviceGetStreamPriorityRange", [&]() -> Status {
    MP_NOT_WILD(leastPriority);
    MP_NOT_WILD(greatestPriority);
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    if (leastPriority != nullptr) *leastPriority = device->profile().priority_least;
    if (greatestPriority != nullptr) *greatestPriority = device->profile().priority_greatest;
    return Ok();
  });
}

extern "C" aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
  return Guard("aclrtDeviceTaskAbort", [&]() -> Status {
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(FindDevice(deviceId, &device));
    const Telling telling(&TaskAbortCallbacks());
    MP_CHECK(!telling.again(), kInternal,
             "device %d's tasks are being aborted already, and the callback that hears of it need not", deviceId);
    TaskAbortCallbacks().Tell(deviceId, /*before=*/true, timeout);
    MP_RETURN_IF_ERROR(device->AbortAll());
    TaskAbortCallbacks().Tell(deviceId, /*before=*/false, timeout);
    return Ok();
  });
}

extern "C" aclError aclrtSetDeviceTaskAbortCallback(const char* regName, aclrtDeviceTaskAbortCallback callback,
                                                    void* args) {
  return Guard("aclrtSetDeviceTaskAbortCallback", [&]() -> Status {
    MP_NOT_NULL(regName);
    TaskAbortCallbacks().Remove(regName);
    if (callback == nullptr) return Ok();
    TaskAbortCallbacks().Add(regName, [callback, args](int32_t device, bool before, uint32_t timeout) {
      callback(device, before ? ACL_RT_DEVICE_TASK_ABORT_PRE : ACL_RT_DEVICE_TASK_ABORT_POST, timeout, args);
    });
    return Ok();
  });
}

namespace {

// Registered once per name; null removes, and then the name is free again.
template <class Callbacks, class Function>
Status Register(Callbacks& callbacks, const char* regName, bool remove, Function function) {
  MP_NOT_NULL(regName);
  if (remove) {
    callbacks.Remove(regName);
    return Ok();
  }
  MP_CHECK(callbacks.Add(regName, std::move(function)), kRuntimeArgument,
           "regName '%s' is registered already; register null under it first", regName);
  return Ok();
}

}  // namespace

extern "C" aclError aclrtRegDeviceStateCallback(const char* regName, aclrtDeviceStateCallback callback, void* args) {
  return Guard("aclrtRegDeviceStateCallback", [&] {
    return Register(DeviceStateCallbacks(), regName, callback == nullptr,
                    [callback, args](int32_t device, Device::Stage stage) {
                      callback(device, static_cast<aclrtDeviceState>(stage), args);
                    });
  });
}

extern "C" aclError aclrtRegStreamStateCallback(const char* regName, aclrtStreamStateCallback callback, void* args) {
  return Guard("aclrtRegStreamStateCallback", [&] {
    return Register(StreamStateCallbacks(), regName, callback == nullptr, [callback, args](void* stream, bool created) {
      callback(stream, created ? ACL_RT_STREAM_STATE_CREATE_POST : ACL_RT_STREAM_STATE_DESTROY_PRE, args);
    });
  });
}

// Faults of hardware: a virtual device has none, so there is nothing to repair. What a task failed of is not one.
extern "C" aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo* errorInfo) {
  return OnDevice("aclrtGetErrorVerbose", deviceId, "errorInfo", errorInfo, [&](Device*) {
    *errorInfo = {};
    errorInfo->errorType = ACL_RT_NO_ERROR;
    return Ok();
  });
}

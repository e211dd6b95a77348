// SPDX-License-Identifier: Apache-2.0
// aclrtSetDevice and its kin. Per thread: the current context; per process: a count for each device.
#include "src/device/device.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/acl/guard.h"
#include "src/api/acl/message.h"
#include "src/api/acl/timeout.h"
#include "src/device/capture.h"
#include "src/device/mem_pool.h"
#include "src/device/runtime.h"
#include "src/device/stream.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

extern "C" aclError aclrtSetDevice(int32_t deviceId) {
  return Guard("aclrtSetDevice", [&]() -> Status {
    Runtime* runtime = nullptr;
    Device* device = nullptr;
    Context* context = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    MP_RETURN_IF_ERROR(runtime->FindDevice(deviceId, &device));
    MP_RETURN_IF_ERROR(device->RetainPrimary(&context));
    SetCurrentContextForThread(context);
    return Ok();
  });
}

namespace {

Status ResetDevice(int32_t device_id, bool force) {
  Runtime* runtime = nullptr;
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  MP_RETURN_IF_ERROR(runtime->FindDevice(device_id, &device));
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
  return Guard("aclrtGetDevice", [&]() -> Status {
    MP_NOT_NULL(deviceId);
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    *deviceId = device->id();
    return Ok();
  });
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
    MP_RETURN_IF_ERROR(CheckNoCaptureIn(*context));
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
    MP_RETURN_IF_ERROR(CheckNoCaptureIn(*context));
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
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    if (leastPriority != nullptr) *leastPriority = device->profile().priority_least;
    if (greatestPriority != nullptr) *greatestPriority = device->profile().priority_greatest;
    return Ok();
  });
}

namespace {

struct AbortCallback {
  std::string name;
  aclrtDeviceTaskAbortCallback function;
  void* args;
};
struct AbortCallbacks {
  std::mutex mutex;
  std::vector<AbortCallback> list;
};
AbortCallbacks& TheAbortCallbacks() {
  static auto& callbacks = *new AbortCallbacks;
  return callbacks;
}

void TellAbort(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout) {
  std::vector<AbortCallback> list;
  {
    std::lock_guard lock(TheAbortCallbacks().mutex);
    list = TheAbortCallbacks().list;
  }
  for (const AbortCallback& callback : list) callback.function(device, stage, timeout, callback.args);
}

}  // namespace

extern "C" aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
  return Guard("aclrtDeviceTaskAbort", [&]() -> Status {
    Runtime* runtime = nullptr;
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    MP_RETURN_IF_ERROR(runtime->FindDevice(deviceId, &device));
    TellAbort(deviceId, ACL_RT_DEVICE_TASK_ABORT_PRE, timeout);
    MP_RETURN_IF_ERROR(device->AbortAll());
    TellAbort(deviceId, ACL_RT_DEVICE_TASK_ABORT_POST, timeout);
    return Ok();
  });
}

extern "C" aclError aclrtSetDeviceTaskAbortCallback(const char* regName, aclrtDeviceTaskAbortCallback callback,
                                                    void* args) {
  return Guard("aclrtSetDeviceTaskAbortCallback", [&]() -> Status {
    MP_NOT_NULL(regName);
    std::lock_guard lock(TheAbortCallbacks().mutex);
    auto& list = TheAbortCallbacks().list;
    std::erase_if(list, [&](const AbortCallback& entry) { return entry.name == regName; });
    if (callback != nullptr) list.push_back({regName, callback, args});
    return Ok();
  });
}

namespace {

// Registered once per name (null removes, and then the name is free again); delivered by the core's observers.
template <class Function>
class StateCallbacks {
 public:
  Status Set(const char* name, Function function, void* args) {
    std::lock_guard lock(mutex_);
    const auto same = [&](const Entry& entry) { return entry.name == name; };
    if (function == nullptr) {
      std::erase_if(list_, same);
      return Ok();
    }
    MP_CHECK(std::none_of(list_.begin(), list_.end(), same), kRuntimeArgument,
             "regName '%s' is registered already; register null under it first", name);
    list_.push_back({name, function, args});
    return Ok();
  }
  template <class... Args>
  void Tell(Args... args) {
    std::vector<Entry> list;
    {
      std::lock_guard lock(mutex_);
      list = list_;
    }
    for (const Entry& entry : list) entry.function(args..., entry.args);
  }

 private:
  struct Entry {
    std::string name;
    Function function;
    void* args;
  };
  std::mutex mutex_;
  std::vector<Entry> list_;
};

}  // namespace

extern "C" aclError aclrtRegDeviceStateCallback(const char* regName, aclrtDeviceStateCallback callback, void* args) {
  return Guard("aclrtRegDeviceStateCallback", [&]() -> Status {
    MP_NOT_NULL(regName);
    static auto& callbacks = *new StateCallbacks<aclrtDeviceStateCallback>;
    static std::once_flag once;
    std::call_once(once, [] {
      Device::AddDeviceObserver([](Device* device, Device::Stage stage) {
        callbacks.Tell(device->id(), static_cast<aclrtDeviceState>(stage));
      });
    });
    return callbacks.Set(regName, callback, args);
  });
}

extern "C" aclError aclrtRegStreamStateCallback(const char* regName, aclrtStreamStateCallback callback, void* args) {
  return Guard("aclrtRegStreamStateCallback", [&]() -> Status {
    MP_NOT_NULL(regName);
    static auto& callbacks = *new StateCallbacks<aclrtStreamStateCallback>;
    static std::once_flag once;
    std::call_once(once, [] {
      Device::AddStreamObserver([](Stream* stream, bool created) {
        callbacks.Tell(static_cast<aclrtStream>(stream->handle()),
                       created ? ACL_RT_STREAM_STATE_CREATE_POST : ACL_RT_STREAM_STATE_DESTROY_PRE);
      });
    });
    return callbacks.Set(regName, callback, args);
  });
}

// Faults of hardware: a virtual device has none, so there is nothing to repair. What a task failed of is not one.
extern "C" aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo* errorInfo) {
  return Guard("aclrtGetErrorVerbose", [&]() -> Status {
    MP_NOT_NULL(errorInfo);
    Runtime* runtime = nullptr;
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    MP_RETURN_IF_ERROR(runtime->FindDevice(deviceId, &device));
    *errorInfo = {};
    errorInfo->errorType = ACL_RT_NO_ERROR;
    return Ok();
  });
}

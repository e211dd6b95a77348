// SPDX-License-Identifier: Apache-2.0
// Errors: the thread's last one, the recent message, and callbacks for tasks that failed asynchronously.
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/acl/guard.h"
#include "src/api/acl/message.h"
#include "src/api/acl/refuse.h"
#include "src/base/log.h"
#include "src/device/exception.h"

// The layout clients know begins with these five (facts 3.2); they read it through the getters below.
struct rtExceptionInfo {
  uint32_t task;
  uint32_t stream;
  uint32_t thread;
  uint32_t device;
  uint32_t code;
};

namespace millpond::acl {

namespace {

constexpr uint32_t kNoInfo = 0xFFFFFFFF;  // documented answer of the getters when there is nothing to read

// The deprecated slot and the list are independent: a function in both is called twice.
struct ExceptionCallbacks {
  std::mutex mutex;
  aclrtExceptionInfoCallback slot = nullptr;
  std::vector<aclrtExceptionInfoCallback> list;
};

ExceptionCallbacks& GetCallbacks() {
  static ExceptionCallbacks& callbacks = *new ExceptionCallbacks;  // leaked: tasks may fail while the process exits
  return callbacks;
}

void Dispatch(const TaskException& exception) {
  std::vector<aclrtExceptionInfoCallback> targets;
  {
    ExceptionCallbacks& callbacks = GetCallbacks();
    std::lock_guard lock(callbacks.mutex);
    targets = callbacks.list;
    if (callbacks.slot != nullptr) targets.push_back(callbacks.slot);
  }
  for (const aclrtExceptionInfoCallback target : targets) {
    rtExceptionInfo info{exception.task, exception.stream, exception.thread, exception.device,
                         static_cast<uint32_t>(AclErrorFrom(exception.code))};
    // One callback that throws must not keep the others from being told.
    try {
      target(&info);
    } catch (...) {
      log::Write(log::Level::kError, log::kAscendCl, "an exception-info callback threw; callbacks must not throw");
    }
  }
}

// pre: callbacks.mutex held.
void Listen(const ExceptionCallbacks& callbacks) {
  if (callbacks.slot == nullptr && callbacks.list.empty()) {
    SetExceptionListener(nullptr);
  } else {
    SetExceptionListener(&Dispatch);
  }
}

template <class Field>
uint32_t Read(const aclrtExceptionInfo* info, Field field) {
  return info == nullptr ? kNoInfo : info->*field;
}

aclError LastErrorAt(const char* api, aclrtLastErrLevel level, bool clear) {
  if (level != ACL_RT_THREAD_LEVEL) {
    return Guard(api,
                 [&] { return InvalidValue("level", Format("%d", static_cast<int>(level)), "only 0, the thread"); });
  }
  return LastError(clear);
}

}  // namespace

}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" const char* aclGetRecentErrMsg() { return TakeRecentMessage(); }

// No Guard: asking for the last error must not itself become one.
extern "C" aclError aclrtGetLastError(aclrtLastErrLevel level) { return LastErrorAt(__func__, level, true); }
extern "C" aclError aclrtPeekAtLastError(aclrtLastErrLevel level) { return LastErrorAt(__func__, level, false); }

extern "C" aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  return Guard(__func__, [&] {
    ExceptionCallbacks& callbacks = GetCallbacks();
    std::lock_guard lock(callbacks.mutex);
    callbacks.slot = callback;
    Listen(callbacks);
    return Ok();
  });
}

extern "C" aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(callback);
    ExceptionCallbacks& callbacks = GetCallbacks();
    std::lock_guard lock(callbacks.mutex);
    auto& list = callbacks.list;
    if (std::find(list.begin(), list.end(), callback) == list.end()) list.push_back(callback);
    Listen(callbacks);
    return Ok();
  });
}

extern "C" aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(callback);
    ExceptionCallbacks& callbacks = GetCallbacks();
    std::lock_guard lock(callbacks.mutex);
    if (std::erase(callbacks.list, callback) == 0) {
      return InvalidParameter("callback", "it is not registered; aclrtExceptionInfoCallbackRegister comes first");
    }
    Listen(callbacks);
    return Ok();
  });
}

extern "C" uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return Read(info, &rtExceptionInfo::task);
}
extern "C" uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return Read(info, &rtExceptionInfo::stream);
}
extern "C" uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return Read(info, &rtExceptionInfo::thread);
}
extern "C" uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return Read(info, &rtExceptionInfo::device);
}
extern "C" uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return Read(info, &rtExceptionInfo::code);
}

namespace {
constexpr char kNoKernel[] =
    "tasks here run no kernel of the NPU's own, so a failed one has neither handle nor arguments";
}  // namespace

MP_REFUSE(aclError, aclrtGetArgsFromExceptionInfo, (const aclrtExceptionInfo*, void**, uint32_t*), kNoKernel)
MP_REFUSE(aclError, aclrtGetFuncHandleFromExceptionInfo, (const aclrtExceptionInfo*, aclrtFuncHandle*), kNoKernel)

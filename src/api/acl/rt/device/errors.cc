// SPDX-License-Identifier: Apache-2.0
// Errors: the thread's last one, the recent message, and callbacks for tasks that failed asynchronously.
#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/refuse.h"
#include "src/base/log.h"
#include "src/base/user_callback.h"
#include "src/device/state_callbacks.h"

// The layout clients know begins with these five (docs/compat.md, "What clients rely on"); they read it through the
// getters below.
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

// One callback that throws must not keep the others from being told.
ExceptionCallbacks::Function Wrap(aclrtExceptionInfoCallback callback) {
  if (callback == nullptr) return nullptr;
  return [callback](const TaskException& exception) {
    rtExceptionInfo info{exception.task, exception.stream, exception.thread, exception.device,
                         static_cast<uint32_t>(AclErrorFrom(exception.code))};
    const Status told = CallUser("an exception-info callback", [&] { callback(&info); });
    if (!told.ok()) log::Write(log::Level::kError, log::kAscendCl, told.message());
  };
}

const void* KeyOf(aclrtExceptionInfoCallback callback) { return reinterpret_cast<const void*>(callback); }

template <class Field>
uint32_t Read(const aclrtExceptionInfo* info, Field field) {
  return info == nullptr || IsWild(info) ? kNoInfo : info->*field;
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
  return Guard(__func__, [&] { return ExceptionCallbacks::Get().SetSlot(Wrap(callback)); });
}

extern "C" aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(callback);
    return ExceptionCallbacks::Get().Add(KeyOf(callback), Wrap(callback));
  });
}

extern "C" aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(callback);
    if (ExceptionCallbacks::Get().Remove(KeyOf(callback))) return Ok();
    return InvalidParameter("callback", "it is not registered; aclrtExceptionInfoCallbackRegister comes first");
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

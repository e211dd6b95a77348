// SPDX-License-Identifier: Apache-2.0
#include "src/api/acl/guard.h"

#include <exception>
#include <new>

#include "src/api/acl/message.h"
#include "src/base/log.h"
#include "src/base/thread_local.h"
#include "src/device/runtime.h"

namespace millpond::acl {

namespace {

// Documented: "the thread's last Runtime error". acl's own argument checks (100000 and its neighbours) are not the
// runtime's, so they do not show up here.
bool IsRuntimeError(aclError code) { return code / 1000 % 100 == 7; }

thread_local aclError g_last_error MP_FAST_TLS = ACL_SUCCESS;

}  // namespace

namespace internal {

aclError Report(const char* api, Status status) {
  const aclError code = AclErrorFrom(status.code());
  if (IsRuntimeError(code)) g_last_error = code;
  // The message may fail to be kept (no memory); the code must still come back.
  try {
    const bool information = status.code() == Code::kRepeatInitialize;  // documented: callers may ignore it
    if (!information) RememberMessage(api, status.code(), status.message());
    const log::Level level = information ? log::Level::kInfo : log::Level::kError;
    // Not in a forked child: a thread of the parent may have held the log's lock.
    if (!InForkedChild() && log::Enabled(level, log::kAscendCl)) {
      log::Write(level, log::kAscendCl, Format("[%d] %s", code, PlainMessage(api, status.message()).c_str()));
    }
  } catch (...) {
  }
  return code;
}

aclError ReportCurrentException(const char* api) {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return Report(api, Status(Code::kHostOutOfMemory,
                                "the host is out of memory: an allocation of the runtime's own failed; free host "
                                "memory or raise the process's limit"));
    } catch (const std::exception& error) {
      return Report(api, InternalError(Format("an unexpected exception reached the API boundary: %s", error.what())));
    } catch (...) {
      return Report(api, InternalError("an exception that is no std::exception reached the API boundary"));
    }
  } catch (...) {  // not even the message could be built
    return ACL_ERROR_BAD_ALLOC;
  }
}

void EmitApi(const char* api, uint64_t start_ns, aclError result) {
  trace::Sink* sink = trace::Active();
  if (sink == nullptr) return;  // detached meanwhile
  sink->OnApi({api, trace::ThreadNumber(), start_ns, trace::NowNs(), result});
}

aclError ReportForked(const char* api) {
  return Report(api, Status(Code::kForked,
                            "this process was forked from one that had already used the device, and a device cannot "
                            "be shared that way; start the child with exec (Python: the 'spawn' start method), or "
                            "fork before the first acl call"));
}

}  // namespace internal

aclError LastError(bool clear) {
  const aclError code = g_last_error;
  if (clear) g_last_error = ACL_SUCCESS;
  return code;
}

}  // namespace millpond::acl

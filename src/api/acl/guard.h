// SPDX-License-Identifier: Apache-2.0
// Guard stands around every entry point of libascendcl: the one place that catches, records the recent error message
// and the thread's last error, and emits the API trace event. An entry point validates, delegates, and holds no state.
#ifndef MILLPOND_SRC_API_ACL_GUARD_H_
#define MILLPOND_SRC_API_ACL_GUARD_H_

#include "include/acl/acl_base_rt.h"
#include "src/base/status.h"
#include "src/device/runtime.h"
#include "src/trace/sink.h"

namespace millpond::acl {

// acl's number for our code: the only table of acl numbers (error_map.cc).
aclError AclErrorFrom(Code code);

namespace internal {
// Records the failure (last error, recent message, log line) and returns its acl code.
aclError Report(const char* api, Status status);
aclError ReportCurrentException(const char* api);
void EmitApi(const char* api, uint64_t start_ns, aclError result);
aclError ReportForked(const char* api);
}  // namespace internal

template <class Body>
inline aclError Run(const char* api, Body&& body) {
  try {
    Status status = body();
    if (__builtin_expect(status.ok(), true)) return ACL_SUCCESS;
    return internal::Report(api, std::move(status));
  } catch (...) {
    return internal::ReportCurrentException(api);
  }
}

template <class Body>
inline aclError Guard(const char* api, Body&& body) {
  if (__builtin_expect(InForkedChild(), false)) return internal::ReportForked(api);
  if (__builtin_expect(trace::Active() == nullptr, true)) return Run(api, body);
  const uint64_t start = trace::NowNs();
  const aclError result = Run(api, body);
  internal::EmitApi(api, start, result);
  return result;
}

// The text aclGetRecentErrMsg hands out next, valid until the thread's next call; null when there is none. Reading
// clears it. Defined in message.cc.
const char* TakeRecentMessage();
aclError LastError(bool clear);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_GUARD_H_

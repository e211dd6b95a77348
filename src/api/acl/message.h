// SPDX-License-Identifier: Apache-2.0
// Texts of the recent error message (facts: aclGetRecentErrMsg's shape and the EH/EE template table). A Status keeps
// its plain message; the tag "[EH0008] " in front selects a template code, and "{api}" stands for the entry point,
// which only Guard knows.
#ifndef MILLPOND_SRC_API_ACL_MESSAGE_H_
#define MILLPOND_SRC_API_ACL_MESSAGE_H_

#include <string>
#include <string_view>

#include "src/base/status.h"

namespace millpond::acl {

// Inline, so that the libraries beside libascendcl have them too.

// "<api> failed because <parameter> cannot be a NULL pointer." (EH0008, 100000)
inline Status NullPointer(const char* parameter) {
  return InvalidArgument(Format("[EH0008] {api} failed because %s cannot be a NULL pointer.", parameter));
}

// "<api> failed. Value <value> for parameter <parameter> is invalid. Reason: <reason>." (EH0009, 100000)
inline Status InvalidValue(const char* parameter, const std::string& value, const std::string& reason) {
  return InvalidArgument(Format("[EH0009] {api} failed. Value %s for parameter %s is invalid. Reason: %s.",
                                value.c_str(), parameter, reason.c_str()));
}

// "<api> failed. Parameter <parameter> is invalid. Reason: <reason>." (EH0012, 100000)
inline Status InvalidParameter(const char* parameter, const std::string& reason) {
  return InvalidArgument(
      Format("[EH0012] {api} failed. Parameter %s is invalid. Reason: %s.", parameter, reason.c_str()));
}

// What a CPU cannot do: 207000, naming the function.
inline Status NotSupported(const char* reason) {
  return Unsupported(Format("[EE1016] {api} failed. Reason: %s.", reason));
}

// return NullPointer(...) when the argument is null: MP_NOT_NULL(devPtr).
#define MP_NOT_NULL(parameter)                                                                            \
  do {                                                                                                    \
    if (__builtin_expect((parameter) == nullptr, false)) return ::millpond::acl::NullPointer(#parameter); \
  } while (0)

namespace internal {

// Adds one failure to the calling thread's (or, in process mode, the process's) list, newest first.
void RememberMessage(const char* api, Code code, std::string_view message);
// One failure's text without time and pid: template tag resolved, "{api}" replaced.
std::string PlainMessage(const char* api, std::string_view message);

}  // namespace internal

// aclInit's err_msg_mode: false (the default) keeps messages per thread, true per process.
void SetProcessMessageMode(bool process);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_MESSAGE_H_

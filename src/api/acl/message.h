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

// "<api> failed because <parameter> cannot be a NULL pointer." (EH0008, 100000)
Status NullPointer(const char* parameter);
// "<api> failed. Value <value> for parameter <parameter> is invalid. Reason: <reason>." (EH0009, 100000)
Status InvalidValue(const char* parameter, const std::string& value, const std::string& reason);
// "<api> failed. Parameter <parameter> is invalid. Reason: <reason>." (EH0012, 100000)
Status InvalidParameter(const char* parameter, const std::string& reason);
// What a CPU cannot do: 207000, naming the function.
Status NotSupported(const char* reason);

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

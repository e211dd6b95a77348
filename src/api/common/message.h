// SPDX-License-Identifier: Apache-2.0
// Texts of the recent error message (page "aclGetRecentErrMsg" and CANN's table of EH and EE messages). A Status keeps
// its plain message; the tag "[EH0008] " in front selects a template code, and "{api}" stands for the entry point,
// which only Guard knows.
#ifndef MILLPOND_SRC_API_COMMON_MESSAGE_H_
#define MILLPOND_SRC_API_COMMON_MESSAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "src/base/status.h"
#include "src/device/memory/memory.h"

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

// "<api> failed. Value <address> for parameter <parameter> is invalid. ..." for a pointer to nowhere.
inline Status WildPointer(const char* parameter, const void* address) {
  return InvalidValue(parameter, Format("%p", address),
                      "nothing can be read at that address; pass the address of host memory of your own");
}

// Whether a call may go through the argument. Handles (void*), callbacks and types that only their own file knows are
// looked up, not gone through. What is in the page of the caller's frame is there.
template <class Argument>
inline bool IsWild(const Argument& argument) {
  if constexpr (std::is_pointer_v<Argument>) {
    using Object = std::remove_pointer_t<Argument>;
    if constexpr (!std::is_void_v<Object> && requires { sizeof(Object); }) {  // NOLINT: is it complete?
      constexpr uintptr_t kPage = 4096;
      const auto at = reinterpret_cast<uintptr_t>(argument);
      const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
      return at / kPage != frame / kPage && !HostCanRead({argument});
    }
  }
  return false;
}

// return WildPointer(...) when the argument points nowhere. Null passes: for what may be left out.
#define MP_NOT_WILD(parameter)                                                                   \
  do {                                                                                           \
    if (__builtin_expect(::millpond::acl::IsWild(parameter), false)) {                           \
      return ::millpond::acl::WildPointer(#parameter, reinterpret_cast<const void*>(parameter)); \
    }                                                                                            \
  } while (0)
// The same, and NullPointer(...) when it is null: MP_NOT_NULL(devPtr).
#define MP_NOT_NULL(parameter)                                                                            \
  do {                                                                                                    \
    if (__builtin_expect((parameter) == nullptr, false)) return ::millpond::acl::NullPointer(#parameter); \
    MP_NOT_WILD(parameter);                                                                               \
  } while (0)

// What MP_NOT_NULL checks, for an argument whose name is known at run time.
template <class Argument>
inline Status CheckGiven(const char* parameter, const Argument& argument) {
  if (argument == nullptr) return NullPointer(parameter);
  if (IsWild(argument)) return WildPointer(parameter, reinterpret_cast<const void*>(argument));
  return Ok();
}

// Adds one failure to the calling thread's messages or, where aclInit's err_msg_mode asks for it, the process's.
void RememberMessage(const char* api, Code code, std::string_view message);
// One failure's text without time and pid: template tag resolved, "{api}" replaced.
std::string PlainMessage(const char* api, std::string_view message);
// The text aclGetRecentErrMsg hands out next, valid until the thread's next call; null when there is none. Reading
// clears it, unless the host has no memory for the text, which is then said instead.
const char* TakeRecentMessage() noexcept;

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_COMMON_MESSAGE_H_

// SPDX-License-Identifier: Apache-2.0
// Functions that the ABI declares and this release does not carry out. Each is exported, so that every client links and
// loads; each answers "not supported" (207000, NULL or 0) and leaves a message that names it and the way on. None
// pretends. abi/refused.txt lists them; a test calls every one.
#ifndef MILLPOND_SRC_API_COMMON_REFUSE_H_
#define MILLPOND_SRC_API_COMMON_REFUSE_H_

#include <type_traits>

#include "include/acl/acl_base_rt.h"

// Exported by libascendcl for the libraries that link nothing else of ours (libacl_tdt_*, the Python module).
extern "C" ACL_FUNC_VISIBILITY aclError millpondRefuse(const char* api, const char* advice);
// The same for a failure of any kind: `code` is a millpond::Code, the answer its acl number.
extern "C" ACL_FUNC_VISIBILITY aclError millpondReport(const char* api, int32_t code, const char* message);

namespace millpond::acl {

template <class Result>
Result Refused(const char* api, const char* advice) {
  [[maybe_unused]] const aclError code = millpondRefuse(api, advice);
  if constexpr (std::is_same_v<Result, aclError>) {
    return code;
  } else if constexpr (!std::is_void_v<Result>) {
    return Result{};
  }
}

template <class Result>
Result RefusedWith(Result answer, const char* api, const char* advice) {
  static_cast<void>(millpondRefuse(api, advice));
  return answer;
}

}  // namespace millpond::acl

// MP_REFUSE(result, name, (argument types), "why, and what to do instead")
#define MP_REFUSE(result, name, arguments, advice) \
  extern "C" result name arguments { return ::millpond::acl::Refused<result>(#name, (advice)); }

// The same for a function whose "nothing" is not zero.
#define MP_REFUSE_WITH(result, answer, name, arguments, advice) \
  extern "C" result name arguments { return ::millpond::acl::RefusedWith<result>((answer), #name, (advice)); }

#endif  // MILLPOND_SRC_API_COMMON_REFUSE_H_

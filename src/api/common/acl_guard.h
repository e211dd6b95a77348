// SPDX-License-Identifier: Apache-2.0
// Guard for acl's entry points (libascendcl, libacl_op_compiler, libacl_cblas), and the last error they leave.
#ifndef MILLPOND_SRC_API_COMMON_ACL_GUARD_H_
#define MILLPOND_SRC_API_COMMON_ACL_GUARD_H_

#include "include/acl/acl_base_rt.h"
#include "src/api/common/guard.h"
#include "src/api/common/runtime_abi.h"

namespace millpond::acl {

// acl's number for our code: the only table of acl numbers (error_map.cc).
aclError AclErrorFrom(Code code);

struct AclAbi : RuntimeAbi {
  using Result = aclError;
  static constexpr aclError kSuccess = ACL_SUCCESS;
  static constexpr aclError kNoMemory = ACL_ERROR_BAD_ALLOC;
  static aclError Number(const Status& failure) { return AclErrorFrom(failure.code()); }
};

// For the few bodies whose failure has a number of its own.
using Outcome = BasicOutcome<aclError>;

template <class Body>
inline aclError Guard(const char* api, Body&& body) {
  return millpond::Guard(AclAbi(), api, body);
}

// The thread's last error of the runtime.
aclError LastError(bool clear);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_COMMON_ACL_GUARD_H_

// SPDX-License-Identifier: Apache-2.0
// Maps acl error codes to Status and back. The pool library has its own map: it shares no code with libascendcl, which
// on a real NPU is the vendor's.
#ifndef MILLPOND_SRC_API_POOL_ACL_STATUS_H_
#define MILLPOND_SRC_API_POOL_ACL_STATUS_H_

#include "include/acl/acl_base_rt.h"
#include "src/base/status.h"

namespace millpond::pool_api {

aclError AclErrorFrom(Code code);

// OK for ACL_SUCCESS; else an error with the call, its code and, except for out of memory (which a pool expects and
// retries), the runtime's message.
Status FromAcl(aclError code, const char* call);

}  // namespace millpond::pool_api

#endif  // MILLPOND_SRC_API_POOL_ACL_STATUS_H_

// SPDX-License-Identifier: Apache-2.0
// Between acl's numbers and our Status. A map of the pool library's own: it shares no code with libascendcl, which on a
// real NPU is the vendor's.
#ifndef MILLPOND_SRC_API_POOL_ACL_STATUS_H_
#define MILLPOND_SRC_API_POOL_ACL_STATUS_H_

#include "include/acl/acl_base_rt.h"
#include "src/base/status.h"

namespace millpond::pool_api {

aclError AclErrorFrom(Code code);

// OK for ACL_SUCCESS; else a failure that names the call, the number and, unless memory ran out (which a pool expects
// and retries), what the runtime said about it.
Status FromAcl(aclError code, const char* call);

}  // namespace millpond::pool_api

#endif  // MILLPOND_SRC_API_POOL_ACL_STATUS_H_

// SPDX-License-Identifier: Apache-2.0
// What of aclprof stays refused: subscribing to offline models. Sessions and marks are in
// src/api/acl/prof.

#include "include/acl/acl_prof.h"
#include "include/acl/acl_rt.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoProfiling[] =
    "profiling data of an NPU does not exist here; run with a trace instead (millpond run --trace FILE)";
constexpr char kNoSubscription[] =
    "subscribing to a model's operators is not carried out; record a session with aclprofStart, or run with a trace "
    "(millpond run --trace FILE)";

}  // namespace

MP_REFUSE(aclError, aclrtProfTrace, (void*, int32_t, aclrtStream), kNoProfiling)

// Subscribing to a model.
MP_REFUSE(aclprofSubscribeConfig*, aclprofCreateSubscribeConfig, (int8_t, aclprofAicoreMetrics, void*), kNoSubscription)
MP_REFUSE(aclError, aclprofDestroySubscribeConfig, (const aclprofSubscribeConfig*), kNoSubscription)
MP_REFUSE(aclError, aclprofModelSubscribe, (uint32_t, const aclprofSubscribeConfig*), kNoSubscription)
MP_REFUSE(aclError, aclprofModelUnSubscribe, (uint32_t), kNoSubscription)
MP_REFUSE(const char*, aclprofGetOpAttriValue, (const void*, size_t, uint32_t, aclprofSubscribeOpAttri),
          kNoSubscription)
MP_REFUSE(aclError, aclprofGetOpDescSize, (size_t*), kNoSubscription)
MP_REFUSE(uint64_t, aclprofGetOpDuration, (const void*, size_t, uint32_t), kNoSubscription)
MP_REFUSE(uint64_t, aclprofGetOpEnd, (const void*, size_t, uint32_t), kNoSubscription)
MP_REFUSE_WITH(aclprofSubscribeOpFlag, ACL_SUBSCRIBE_NONE, aclprofGetOpFlag, (const void*, size_t, uint32_t),
               kNoSubscription)
MP_REFUSE(aclError, aclprofGetOpName, (const void*, size_t, uint32_t, char*, size_t), kNoSubscription)
MP_REFUSE(aclError, aclprofGetOpNameLen, (const void*, size_t, uint32_t, size_t*), kNoSubscription)
MP_REFUSE(aclError, aclprofGetOpNum, (const void*, size_t, uint32_t*), kNoSubscription)
MP_REFUSE(uint64_t, aclprofGetOpStart, (const void*, size_t, uint32_t), kNoSubscription)
MP_REFUSE(aclError, aclprofGetOpType, (const void*, size_t, uint32_t, char*, size_t), kNoSubscription)
MP_REFUSE(aclError, aclprofGetOpTypeLen, (const void*, size_t, uint32_t, size_t*), kNoSubscription)
MP_REFUSE(size_t, aclprofGetModelId, (const void*, size_t, uint32_t), kNoSubscription)

// SPDX-License-Identifier: Apache-2.0
// Profiling through aclprof. Millpond has a trace of its own.

#include "include/acl/acl_prof.h"
#include "include/acl/acl_rt.h"
#include "src/api/acl/refuse.h"

namespace {

constexpr char kNoProfiling[] =
    "profiling data of an NPU does not exist here; run with a trace instead (millpond run --trace FILE)";
constexpr char kNoSubscription[] =
    "there is no offline model to subscribe to; run with a trace instead (millpond run --trace FILE)";
constexpr char kNoMarks[] = "marks have no profile to go to; run with a trace instead (millpond run --trace FILE)";

}  // namespace

// Collecting to files.
MP_REFUSE(aclprofConfig*, aclprofCreateConfig,
          (uint32_t*, uint32_t, aclprofAicoreMetrics, const aclprofAicoreEvents*, uint64_t), kNoProfiling)
MP_REFUSE(aclError, aclprofDestroyConfig, (const aclprofConfig*), kNoProfiling)
MP_REFUSE(aclError, aclprofFinalize, (), kNoProfiling)
MP_REFUSE(aclError, aclprofInit, (const char*, size_t), kNoProfiling)
MP_REFUSE(aclError, aclprofSetConfig, (aclprofConfigType, const char*, size_t), kNoProfiling)
MP_REFUSE(aclError, aclprofStart, (const aclprofConfig*), kNoProfiling)
MP_REFUSE(aclError, aclprofStop, (const aclprofConfig*), kNoProfiling)
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

// Marks, ranges and steps.
MP_REFUSE(void*, aclprofCreateStamp, (), kNoMarks)
MP_REFUSE(aclprofStepInfo*, aclprofCreateStepInfo, (), kNoMarks)
MP_REFUSE(void, aclprofDestroyStamp, (void*), kNoMarks)
MP_REFUSE(void, aclprofDestroyStepInfo, (aclprofStepInfo*), kNoMarks)
MP_REFUSE(aclError, aclprofGetStepTimestamp, (aclprofStepInfo*, aclprofStepTag, aclrtStream), kNoMarks)
MP_REFUSE(aclError, aclprofMark, (void*), kNoMarks)
MP_REFUSE(aclError, aclprofMarkEx, (const char*, size_t, aclrtStream), kNoMarks)
MP_REFUSE(aclError, aclprofPop, (), kNoMarks)
MP_REFUSE(aclError, aclprofPush, (void*), kNoMarks)
MP_REFUSE(aclError, aclprofRangePop, (), kNoMarks)
MP_REFUSE(aclError, aclprofRangePushEx, (aclprofEventAttributes*), kNoMarks)
MP_REFUSE(aclError, aclprofRangeStart, (void*, uint32_t*), kNoMarks)
MP_REFUSE(aclError, aclprofRangeStop, (uint32_t), kNoMarks)
MP_REFUSE(aclError, aclprofSetStampTraceMessage, (void*, const char*, uint32_t), kNoMarks)
MP_REFUSE(uint64_t, aclprofStr2Id, (const char*), kNoMarks)

// SPDX-License-Identifier: Apache-2.0
// The only table of acl numbers.
#include <array>

#include "include/acl/acl_base_rt.h"
#include "include/acl/error_codes/rt_error_codes.h"
#include "src/api/common/acl_guard.h"

namespace millpond::acl {

namespace {

struct Row {
  Code code;
  aclError number;
};

// One row per code, in the order of Code, so that a code is its row's index.
constexpr Row kRows[] = {
    {Code::kOk, ACL_SUCCESS},
    {Code::kInvalidArgument, ACL_ERROR_INVALID_PARAM},
    {Code::kRuntimeArgument, ACL_ERROR_RT_PARAM_INVALID},
    {Code::kUninitialized, ACL_ERROR_UNINITIALIZE},
    {Code::kRepeatInitialize, ACL_ERROR_REPEAT_INITIALIZE},
    {Code::kRepeatFinalize, ACL_ERROR_REPEAT_FINALIZE},
    {Code::kInvalidFile, ACL_ERROR_INVALID_FILE},
    {Code::kParseFile, ACL_ERROR_PARSE_FILE},
    {Code::kInvalidDevice, ACL_ERROR_RT_INVALID_DEVICEID},
    {Code::kNoContext, ACL_ERROR_RT_CONTEXT_NULL},
    {Code::kWrongContext, ACL_ERROR_RT_STREAM_CONTEXT},
    {Code::kModelContext, ACL_ERROR_RT_MODEL_CONTEXT},
    {Code::kStreamModel, ACL_ERROR_RT_STREAM_MODEL},
    {Code::kTimestampMissing, ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID},
    {Code::kTimestampReversed, ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL},
    {Code::kUnaligned, ACL_ERROR_RT_ADDR_UNALIGNED},
    {Code::kStreamSubscribe, ACL_ERROR_RT_STREAM_SUBSCRIBE},
    {Code::kThreadSubscribe, ACL_ERROR_RT_THREAD_SUBSCRIBE},
    {Code::kStreamNoCallback, ACL_ERROR_RT_STREAM_NO_CB_REG},
    {Code::kInvalidMemoryType, ACL_ERROR_RT_INVALID_MEMORY_TYPE},
    {Code::kInvalidHandle, ACL_ERROR_RT_INVALID_HANDLE},
    {Code::kInvalidMallocType, ACL_ERROR_RT_INVALID_MALLOC_TYPE},
    {Code::kWaitTimeout, ACL_ERROR_RT_WAIT_TIMEOUT},
    {Code::kTaskTimeout, ACL_ERROR_RT_TASK_TIMEOUT},
    {Code::kSysParamNotSet, ACL_ERROR_RT_SYSPARAMOPT_NOT_SET},
    {Code::kDeviceAborted, ACL_ERROR_RT_DEVICE_TASK_ABORT},
    {Code::kStreamAborted, ACL_ERROR_RT_STREAM_ABORT},
    {Code::kCaptureDependency, ACL_ERROR_RT_CAPTURE_DEPENDENCY},
    {Code::kCaptureUnjoined, ACL_ERROR_RT_STREAM_UNJOINED},
    {Code::kModelCaptured, ACL_ERROR_RT_MODEL_CAPTURED},
    {Code::kStreamCaptured, ACL_ERROR_RT_STREAM_CAPTURED},
    {Code::kEventCaptured, ACL_ERROR_RT_EVENT_CAPTURED},
    {Code::kStreamNotCaptured, ACL_ERROR_RT_STREAM_NOT_CAPTURED},
    {Code::kCaptureModeUnsupported, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT},
    {Code::kCaptureBlocksAsync, 107041},  // in the documents' list of codes; the public header has no name for it
    {Code::kCaptureImplicit, ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT},
    {Code::kCaptureConflict, ACL_ERROR_STREAM_CAPTURE_CONFLICT},
    {Code::kTaskGroupStatus, ACL_ERROR_STREAM_TASK_GROUP_STATUS},
    {Code::kTaskGroupInterrupted, ACL_ERROR_STREAM_TASK_GROUP_INTR},
    {Code::kCaptureUnmatched, ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED},
    {Code::kModelRunning, ACL_ERROR_RT_MODEL_RUNNING},
    {Code::kCaptureWrongThread, ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD},
    {Code::kArrayTooSmall, ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY},
    {Code::kModelUpdateFailed, ACL_ERROR_RT_MODEL_UPDATE_FAILED},
    {Code::kSubgraphCapturing, ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING},
    {Code::kUpdateUnsupported, ACL_ERROR_RT_FEATURE_NOT_SUPPORT_UPDATE_OP},
    {Code::kTaskTypeUnsupported, ACL_ERROR_RT_TASK_TYPE_NOT_SUPPORT},
    {Code::kCaptureInvalidated, ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED},
    {Code::kUnsupported, ACL_ERROR_RT_FEATURE_NOT_SUPPORT},
    {Code::kOutOfMemory, ACL_ERROR_RT_MEMORY_ALLOCATION},
    {Code::kHostOutOfMemory, ACL_ERROR_BAD_ALLOC},
    {Code::kMemoryFree, ACL_ERROR_RT_MEMORY_FREE},
    {Code::kNoPermission, ACL_ERROR_RT_NO_PERMISSION},
    {Code::kNoEvent, ACL_ERROR_RT_NO_EVENT_RESOURCE},
    {Code::kNoStream, ACL_ERROR_RT_NO_STREAM_RESOURCE},
    {Code::kNoNotify, ACL_ERROR_RT_NO_NOTIFY_RESOURCE},
    {Code::kNoModel, ACL_ERROR_RT_NO_MODEL_RESOURCE},
    {Code::kOverLimit, ACL_ERROR_RT_OVER_LIMIT},
    {Code::kInternal, ACL_ERROR_INTERNAL_ERROR},
    {Code::kReportTimeout, ACL_ERROR_RT_REPORT_TIMEOUT},
    {Code::kStreamSyncTimeout, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT},
    {Code::kEventSyncTimeout, ACL_ERROR_RT_EVENT_SYNC_TIMEOUT},
    {Code::kModelExecute, ACL_ERROR_RT_MODEL_EXECUTE},
    {Code::kModelAborted, ACL_ERROR_RT_MODEL_ABORT_NORMAL},
    {Code::kIpc, ACL_ERROR_RT_IPC_ERROR},
    {Code::kTaskFailed, ACL_ERROR_RT_AICORE_EXCEPTION},
    {Code::kOperatorRefused, ACL_ERROR_RT_AICORE_EXCEPTION},
    {Code::kDeviceMemory, ACL_ERROR_RT_DEVICE_MEM_ERROR},
    {Code::kHostRegistered, ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED},
    {Code::kHostNotRegistered, ACL_ERROR_HOST_MEMORY_NOT_REGISTERED},
    {Code::kForked, ACL_ERROR_RT_DEV_SETUP_ERROR},
    {Code::kGraphUnknown, ACL_ERROR_INVALID_PARAM},
    {Code::kGraphNotBuilt, ACL_ERROR_INVALID_PARAM},
};

constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].code) != i) return false;
  }
  return true;
}
static_assert(InOrder() && std::size(kRows) == static_cast<size_t>(Code::kGraphNotBuilt) + 1);

}  // namespace

aclError AclErrorFrom(Code code) {
  const auto row = static_cast<size_t>(code);
  return row < std::size(kRows) ? kRows[row].number : ACL_ERROR_INTERNAL_ERROR;  // a value that is not an enumerator
}

}  // namespace millpond::acl

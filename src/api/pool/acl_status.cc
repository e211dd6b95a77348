// SPDX-License-Identifier: Apache-2.0
#include "src/api/pool/acl_status.h"

#include <string>

#include "include/acl/acl_rt.h"
#include "include/acl/error_codes/rt_error_codes.h"

namespace millpond::pool_api {

// A pool tells a caller few things apart; the rest is a failure whose message carries the runtime's number.
aclError AclErrorFrom(Code code) {
  switch (code) {
    case Code::kOk:
      return ACL_SUCCESS;
    case Code::kInvalidArgument:
    case Code::kRuntimeArgument:
    case Code::kUnaligned:
      return ACL_ERROR_INVALID_PARAM;
    case Code::kInvalidFile:
      return ACL_ERROR_INVALID_FILE;
    case Code::kParseFile:
      return ACL_ERROR_PARSE_FILE;
    case Code::kInvalidDevice:
      return ACL_ERROR_RT_INVALID_DEVICEID;
    case Code::kNoContext:
      return ACL_ERROR_RT_CONTEXT_NULL;
    case Code::kWrongContext:
      return ACL_ERROR_RT_STREAM_CONTEXT;
    case Code::kInvalidHandle:
      return ACL_ERROR_RT_INVALID_HANDLE;
    case Code::kStreamAborted:
      return ACL_ERROR_RT_STREAM_ABORT;
    case Code::kStreamCaptured:
      return ACL_ERROR_RT_STREAM_CAPTURED;
    case Code::kUnsupported:
      return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
    case Code::kOutOfMemory:
      return ACL_ERROR_RT_MEMORY_ALLOCATION;
    case Code::kHostOutOfMemory:
      return ACL_ERROR_BAD_ALLOC;
    case Code::kMemoryFree:
      return ACL_ERROR_RT_MEMORY_FREE;
    case Code::kNoEvent:
      return ACL_ERROR_RT_NO_EVENT_RESOURCE;
    case Code::kOverLimit:
      return ACL_ERROR_RT_OVER_LIMIT;
    case Code::kForked:
      return ACL_ERROR_RT_DEV_SETUP_ERROR;
    case Code::kDeviceMemory:
      return ACL_ERROR_RT_DEVICE_MEM_ERROR;
    default:
      return ACL_ERROR_INTERNAL_ERROR;
  }
}

namespace {

Code CodeFrom(aclError code) {
  switch (code) {
    case ACL_ERROR_RT_MEMORY_ALLOCATION:
    case ACL_ERROR_RT_DEVICE_OOM:
      return Code::kOutOfMemory;
    case ACL_ERROR_RT_INVALID_DEVICEID:
      return Code::kInvalidDevice;
    case ACL_ERROR_RT_CONTEXT_NULL:
      return Code::kNoContext;
    case ACL_ERROR_RT_STREAM_CONTEXT:
      return Code::kWrongContext;
    case ACL_ERROR_RT_INVALID_HANDLE:
      return Code::kInvalidHandle;
    case ACL_ERROR_RT_STREAM_ABORT:
      return Code::kStreamAborted;
    case ACL_ERROR_RT_STREAM_CAPTURED:
      return Code::kStreamCaptured;
    case ACL_ERROR_RT_FEATURE_NOT_SUPPORT:
    case ACL_ERROR_API_NOT_SUPPORT:
      return Code::kUnsupported;
    case ACL_ERROR_RT_NO_EVENT_RESOURCE:
      return Code::kNoEvent;
    default:
      return Code::kInternal;
  }
}

}  // namespace

Status FromAcl(aclError code, const char* call) {
  if (__builtin_expect(code == ACL_SUCCESS, true)) return Ok();
  std::string said;
  const Code ours = CodeFrom(code);
  if (ours != Code::kOutOfMemory) {
    if (const char* text = aclGetRecentErrMsg(); text != nullptr) said = text;
    while (!said.empty() && said.back() == '\n') said.pop_back();
    if (said.size() > 400) said.resize(400);
  }
  return {ours, Format("%s failed with %d%s%s", call, code, said.empty() ? "" : ": ", said.c_str())};
}

}  // namespace millpond::pool_api

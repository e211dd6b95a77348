// SPDX-License-Identifier: Apache-2.0
#include "src/api/pool/acl_status.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "include/acl/acl_rt.h"
#include "include/acl/error_codes/rt_error_codes.h"

namespace millpond::pool_api {

namespace {

struct Row {
  Code code;
  aclError number;
};
// Both ways: what the runtime answers with one of these numbers has the code that a pool's caller gets the number for.
constexpr Row kBothWays[] = {
    {Code::kInvalidDevice, ACL_ERROR_RT_INVALID_DEVICEID},  {Code::kNoContext, ACL_ERROR_RT_CONTEXT_NULL},
    {Code::kWrongContext, ACL_ERROR_RT_STREAM_CONTEXT},     {Code::kInvalidHandle, ACL_ERROR_RT_INVALID_HANDLE},
    {Code::kStreamAborted, ACL_ERROR_RT_STREAM_ABORT},      {Code::kStreamCaptured, ACL_ERROR_RT_STREAM_CAPTURED},
    {Code::kUnsupported, ACL_ERROR_RT_FEATURE_NOT_SUPPORT}, {Code::kOutOfMemory, ACL_ERROR_RT_MEMORY_ALLOCATION},
    {Code::kNoEvent, ACL_ERROR_RT_NO_EVENT_RESOURCE},       {Code::kHostOutOfMemory, ACL_ERROR_BAD_ALLOC},
};
constexpr Row kToAcl[] = {
    {Code::kInvalidArgument, ACL_ERROR_INVALID_PARAM},
    {Code::kRuntimeArgument, ACL_ERROR_INVALID_PARAM},
    {Code::kUnaligned, ACL_ERROR_INVALID_PARAM},
    {Code::kInvalidFile, ACL_ERROR_INVALID_FILE},
    {Code::kParseFile, ACL_ERROR_PARSE_FILE},
    {Code::kMemoryFree, ACL_ERROR_RT_MEMORY_FREE},
    {Code::kOverLimit, ACL_ERROR_RT_OVER_LIMIT},
    {Code::kForked, ACL_ERROR_RT_DEV_SETUP_ERROR},
    {Code::kDeviceMemory, ACL_ERROR_RT_DEVICE_MEM_ERROR},
};
constexpr Row kFromAcl[] = {
    {Code::kOutOfMemory, ACL_ERROR_RT_DEVICE_OOM},
    {Code::kUnsupported, ACL_ERROR_API_NOT_SUPPORT},
};

template <class Rows, class Value, class Field>
const Row* Find(const Rows& rows, Field Row::*field, Value value) {
  const auto found =
      std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.*field == value; });
  return found == std::end(rows) ? nullptr : found;
}

Code CodeFrom(aclError number) {
  const Row* row = Find(kBothWays, &Row::number, number);
  if (row == nullptr) row = Find(kFromAcl, &Row::number, number);
  return row == nullptr ? Code::kInternal : row->code;
}

}  // namespace

// A pool's caller distinguishes few errors; the rest is a failure whose message has the runtime's code.
aclError AclErrorFrom(Code code) {
  if (code == Code::kOk) return ACL_SUCCESS;
  const Row* row = Find(kBothWays, &Row::code, code);
  if (row == nullptr) row = Find(kToAcl, &Row::code, code);
  return row == nullptr ? ACL_ERROR_INTERNAL_ERROR : row->number;
}

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

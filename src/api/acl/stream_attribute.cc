// SPDX-License-Identifier: Apache-2.0
#include <mutex>
#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/acl/guard.h"
#include "src/api/acl/message.h"
#include "src/device/device.h"
#include "src/device/stream.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

Status SetAttribute(Stream* stream, aclrtStreamAttr attribute, const aclrtStreamAttrValue& value) {
  switch (attribute) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      MP_REQUIRE(value.failureMode == ACL_CONTINUE_ON_FAILURE || value.failureMode == ACL_STOP_ON_FAILURE,
                 "failure mode is %llu; it must be 0 (continue) or 1 (stop)",
                 static_cast<unsigned long long>(value.failureMode));
      MP_CHECK(!stream->stop_on_failure() || value.failureMode == ACL_STOP_ON_FAILURE, kUnsupported,
               "stream %d is in stop mode and cannot go back to continue; its mode is set once", stream->id());
      if (value.failureMode == ACL_STOP_ON_FAILURE) stream->set_stop_on_failure();
      return Ok();
    case ACL_STREAM_ATTR_PRIORITY:
      MP_REQUIRE(value.streamPriority <= static_cast<uint32_t>(stream->device()->profile().priority_least),
                 "priority is %u; it must be 0 (highest) to %d", value.streamPriority,
                 stream->device()->profile().priority_least);
      stream->set_priority(value.streamPriority);
      return Ok();
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      MP_REQUIRE(value.overflowSwitch <= 1, "overflow switch is %u; it must be 0 or 1", value.overflowSwitch);
      break;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      break;
    default:
      return InvalidValue("stmAttrType", std::to_string(attribute), "it must be one of aclrtStreamAttr, 1 to 5");
  }
  std::lock_guard lock(stream->attribute_lock);
  uint64_t& slot = stream->attributes[attribute];
  if (attribute == ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK) {
    slot = value.overflowSwitch;
  } else if (attribute == ACL_STREAM_ATTR_USER_CUSTOM_TAG) {
    slot = value.userCustomTag;
  } else {
    slot = value.cacheOpInfoSwitch;
  }
  return Ok();
}

Status GetAttribute(Stream* stream, aclrtStreamAttr attribute, aclrtStreamAttrValue* value) {
  *value = {};
  std::lock_guard lock(stream->attribute_lock);
  switch (attribute) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      value->failureMode = stream->stop_on_failure() ? ACL_STOP_ON_FAILURE : ACL_CONTINUE_ON_FAILURE;
      return Ok();
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      value->overflowSwitch = static_cast<uint32_t>(stream->attributes[attribute]);
      return Ok();
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
      value->userCustomTag = static_cast<uint32_t>(stream->attributes[attribute]);
      return Ok();
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      value->cacheOpInfoSwitch = static_cast<uint32_t>(stream->attributes[attribute]);
      return Ok();
    case ACL_STREAM_ATTR_PRIORITY:
      value->streamPriority = stream->priority();
      return Ok();
    default:
      return InvalidValue("stmAttrType", std::to_string(attribute), "it must be one of aclrtStreamAttr, 1 to 5");
  }
}

}  // namespace

extern "C" aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                            aclrtStreamAttrValue* value) {
  return Guard("aclrtSetStreamAttribute", [&]() -> Status {
    MP_NOT_NULL(value);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    // aclrtSetStreamFailureMode takes the default stream, this call does not (doc 06, both pages).
    MP_REQUIRE(stmAttrType != ACL_STREAM_ATTR_FAILURE_MODE || !found->is_default(),
               "the default stream's failure mode is not for this call; use aclrtSetStreamFailureMode");
    return SetAttribute(found, stmAttrType, *value);
  });
}

extern "C" aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                            aclrtStreamAttrValue* value) {
  return Guard("aclrtGetStreamAttribute", [&]() -> Status {
    MP_NOT_NULL(value);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    return GetAttribute(found, stmAttrType, value);
  });
}

extern "C" aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return Guard("aclrtSetStreamFailureMode", [&]() -> Status {
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    aclrtStreamAttrValue value{};
    value.failureMode = mode;
    return SetAttribute(found, ACL_STREAM_ATTR_FAILURE_MODE, value);
  });
}

extern "C" aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  return Guard("aclrtSetStreamOverflowSwitch", [&]() -> Status {
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    aclrtStreamAttrValue value{};
    value.overflowSwitch = flag;
    return SetAttribute(found, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, value);
  });
}

extern "C" aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
  return Guard("aclrtGetStreamOverflowSwitch", [&]() -> Status {
    MP_NOT_NULL(flag);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    aclrtStreamAttrValue value{};
    MP_RETURN_IF_ERROR(GetAttribute(found, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value));
    *flag = value.overflowSwitch;
    return Ok();
  });
}

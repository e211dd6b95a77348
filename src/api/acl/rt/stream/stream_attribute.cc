// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/entry.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/base/cann_options.h"
#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/stream/stream.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

// Attributes that a stream only keeps.
struct KeptAttribute {
  aclrtStreamAttr attribute;
  uint32_t aclrtStreamAttrValue::*field;
  uint32_t max;
};
constexpr KeptAttribute kKept[] = {
    {ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &aclrtStreamAttrValue::overflowSwitch, 1},
    {ACL_STREAM_ATTR_USER_CUSTOM_TAG, &aclrtStreamAttrValue::userCustomTag, UINT32_MAX},
    {ACL_STREAM_ATTR_CACHE_OP_INFO, &aclrtStreamAttrValue::cacheOpInfoSwitch, UINT32_MAX},
};

Status FindKept(aclrtStreamAttr attribute, const KeptAttribute** out_kept) {
  for (const KeptAttribute& kept : kKept) {
    if (kept.attribute != attribute) continue;
    *out_kept = &kept;
    return Ok();
  }
  return InvalidValue("stmAttrType", std::to_string(attribute), "it must be one of aclrtStreamAttr, 1 to 5");
}

Status SetFailureMode(Stream* stream, uint64_t mode) {
  MP_REQUIRE(mode == ACL_CONTINUE_ON_FAILURE || mode == ACL_STOP_ON_FAILURE,
             "failure mode is %llu; it must be 0 (continue) or 1 (stop)", static_cast<unsigned long long>(mode));
  const bool stop = mode == ACL_STOP_ON_FAILURE;
  MP_CHECK(stop || !stream->stop_on_failure(), kUnsupported,
           "stream %d is in stop mode and cannot go back to continue; its mode is set once", stream->id());
  if (stop) stream->set_stop_on_failure();
  return Ok();
}

Status SetPriority(Stream* stream, uint32_t priority) {
  const int32_t lowest = stream->device()->profile().priority_least;
  MP_REQUIRE(priority <= static_cast<uint32_t>(lowest), "priority is %u; it must be 0 (highest) to %d", priority,
             lowest);
  stream->set_priority(priority);
  return Ok();
}

Status SetAttribute(Stream* stream, aclrtStreamAttr attribute, const aclrtStreamAttrValue& value) {
  if (attribute == ACL_STREAM_ATTR_FAILURE_MODE) return SetFailureMode(stream, value.failureMode);
  if (attribute == ACL_STREAM_ATTR_PRIORITY) return SetPriority(stream, value.streamPriority);
  const KeptAttribute* kept = nullptr;
  MP_RETURN_IF_ERROR(FindKept(attribute, &kept));
  MP_REQUIRE(value.*kept->field <= kept->max, "attribute %d is %u; it must be 0 to %u", static_cast<int>(attribute),
             value.*kept->field, kept->max);
  // Rows are in the order of the enumeration, which begins with 1.
  const cann::Option& option = cann::Options(cann::Door::kStream)[static_cast<size_t>(attribute) - 1];
  if (value.*kept->field != 0) MP_RETURN_IF_ERROR(cann::Accept(option, std::to_string(value.*kept->field)));
  if (attribute == ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK) stream->set_watches_overflow(value.overflowSwitch == 1);
  MutexLock lock(stream->attribute_lock);
  stream->attributes[attribute] = value.*kept->field;
  return Ok();
}

Status GetAttribute(Stream* stream, aclrtStreamAttr attribute, aclrtStreamAttrValue* value) {
  *value = {};
  if (attribute == ACL_STREAM_ATTR_FAILURE_MODE) {
    value->failureMode = stream->stop_on_failure() ? ACL_STOP_ON_FAILURE : ACL_CONTINUE_ON_FAILURE;
    return Ok();
  }
  if (attribute == ACL_STREAM_ATTR_PRIORITY) {
    value->streamPriority = stream->priority();
    return Ok();
  }
  const KeptAttribute* kept = nullptr;
  MP_RETURN_IF_ERROR(FindKept(attribute, &kept));
  MutexLock lock(stream->attribute_lock);
  value->*kept->field = static_cast<uint32_t>(stream->attributes[attribute]);
  return Ok();
}

}  // namespace

extern "C" aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                            aclrtStreamAttrValue* value) {
  return OnStream("aclrtSetStreamAttribute", stream, "value", value, [&](Stream* found) -> Status {
    // aclrtSetStreamFailureMode takes the default stream, this call does not (CANN's chapter on stream management, both
    // pages).
    MP_REQUIRE(stmAttrType != ACL_STREAM_ATTR_FAILURE_MODE || !found->is_default(),
               "the default stream's failure mode is not for this call; use aclrtSetStreamFailureMode");
    return SetAttribute(found, stmAttrType, *value);
  });
}

extern "C" aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                            aclrtStreamAttrValue* value) {
  return OnStream("aclrtGetStreamAttribute", stream, "value", value,
                  [&](Stream* found) { return GetAttribute(found, stmAttrType, value); });
}

extern "C" aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  return OnStream("aclrtSetStreamFailureMode", stream, [&](Stream* found) { return SetFailureMode(found, mode); });
}

extern "C" aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  return OnStream("aclrtSetStreamOverflowSwitch", stream, [&](Stream* found) {
    aclrtStreamAttrValue value{};
    value.overflowSwitch = flag;
    return SetAttribute(found, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, value);
  });
}

extern "C" aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
  return OnStream("aclrtGetStreamOverflowSwitch", stream, "flag", flag, [&](Stream* found) -> Status {
    aclrtStreamAttrValue value{};
    MP_RETURN_IF_ERROR(GetAttribute(found, ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK, &value));
    *flag = value.overflowSwitch;
    return Ok();
  });
}

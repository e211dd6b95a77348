// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/notify.h"

#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/entry.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/device.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

Status Create(void** out, const char* name, uint64_t flag, uint64_t largest, bool counting) {
  MP_RETURN_IF_ERROR(CheckGiven(name, out));
  *out = nullptr;
  if (flag > largest)
    return InvalidValue("flag", std::to_string(flag),
                        Format("it must be at most %llu", static_cast<unsigned long long>(largest)));
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(RequireDevice(&device));
  return CreateNotify(device, counting, out);
}

Status Resolve(void* handle, const char* name, aclrtStream stream, bool counting, Notify** out_notify,
               Stream** out_stream) {
  if (handle == nullptr) return NullPointer(name);
  MP_RETURN_IF_ERROR(FindNotify(handle, counting, out_notify));
  return ResolveStream(stream, out_stream);
}

aclError TellId(const char* api, void* handle, const char* name, bool counting, uint32_t* notifyId) {
  return TellFact<Notify>(
      api, "notifyId", notifyId,
      [&](Notify** out_notify) -> Status {
        if (handle == nullptr) return NullPointer(name);
        return FindNotify(handle, counting, out_notify);
      },
      [](const Notify& notify) { return notify.id(); });
}

}  // namespace

extern "C" aclError aclrtCreateNotify(aclrtNotify* notify, uint64_t flag) {
  return Guard("aclrtCreateNotify", [&] { return Create(notify, "notify", flag, ACL_NOTIFY_DEVICE_USE_ONLY, false); });
}

extern "C" aclError aclrtDestroyNotify(aclrtNotify notify) {
  return Guard("aclrtDestroyNotify", [&]() -> Status {
    MP_NOT_NULL(notify);
    return DestroyNotify(notify, false);
  });
}

extern "C" aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream) {
  return Guard("aclrtRecordNotify", [&]() -> Status {
    Notify* found = nullptr;
    Stream* recording = nullptr;
    MP_RETURN_IF_ERROR(Resolve(notify, "notify", stream, false, &found, &recording));
    return found->Record(recording, CountRecord::kSet, 1);
  });
}

extern "C" aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout) {
  return Guard("aclrtWaitAndResetNotify", [&]() -> Status {
    Notify* found = nullptr;
    Stream* waiting = nullptr;
    MP_RETURN_IF_ERROR(Resolve(notify, "notify", stream, false, &found, &waiting));
    return found->Wait(waiting, CountWait::kEqual, 1, true, timeout);
  });
}

extern "C" aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t* notifyId) {
  return TellId("aclrtGetNotifyId", notify, "notify", false, notifyId);
}

extern "C" aclError aclrtNotifyBatchReset(aclrtNotify* notifies, size_t num) {
  return Guard("aclrtNotifyBatchReset", [&]() -> Status {
    MP_NOT_NULL(notifies);
    MP_REQUIRE(num > 0, "num is 0; name at least one notify");
    Notify* found = nullptr;
    for (size_t i = 0; i < num; ++i) MP_RETURN_IF_ERROR(FindNotify(notifies[i], false, &found));  // all or none
    for (size_t i = 0; i < num; ++i) {
      MP_RETURN_IF_ERROR(FindNotify(notifies[i], false, &found));
      found->ResetNow();
    }
    return Ok();
  });
}

extern "C" aclError aclrtCntNotifyCreate(aclrtCntNotify* cntNotify, uint64_t flag) {
  return Guard("aclrtCntNotifyCreate", [&] { return Create(cntNotify, "cntNotify", flag, 0, true); });
}

extern "C" aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify) {
  return Guard("aclrtCntNotifyDestroy", [&]() -> Status {
    MP_NOT_NULL(cntNotify);
    return DestroyNotify(cntNotify, true);
  });
}

extern "C" aclError aclrtCntNotifyRecord(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyRecordInfo* info) {
  return Guard("aclrtCntNotifyRecord", [&]() -> Status {
    MP_NOT_NULL(info);
    switch (info->mode) {
      case ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE:
      case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
      case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
      case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE:
        break;
      default:
        return InvalidValue("info->mode", std::to_string(info->mode), "it must be 0, 1, 2 or 4");
    }
    Notify* found = nullptr;
    Stream* recording = nullptr;
    MP_RETURN_IF_ERROR(Resolve(cntNotify, "cntNotify", stream, true, &found, &recording));
    return found->Record(recording, static_cast<CountRecord>(info->mode), info->value);
  });
}

extern "C" aclError aclrtCntNotifyWaitWithTimeout(aclrtCntNotify cntNotify, aclrtStream stream,
                                                  aclrtCntNotifyWaitInfo* info) {
  return Guard("aclrtCntNotifyWaitWithTimeout", [&]() -> Status {
    MP_NOT_NULL(info);
    if (info->mode < ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE || info->mode > ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE) {
      return InvalidValue("info->mode", std::to_string(info->mode), "it must be 0 to 4");
    }
    Notify* found = nullptr;
    Stream* waiting = nullptr;
    MP_RETURN_IF_ERROR(Resolve(cntNotify, "cntNotify", stream, true, &found, &waiting));
    return found->Wait(waiting, static_cast<CountWait>(info->mode), info->value, info->isClear != 0, info->timeout);
  });
}

extern "C" aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream) {
  return Guard("aclrtCntNotifyReset", [&]() -> Status {
    Notify* found = nullptr;
    Stream* resetting = nullptr;
    MP_RETURN_IF_ERROR(Resolve(cntNotify, "cntNotify", stream, true, &found, &resetting));
    return found->ResetOn(resetting);
  });
}

extern "C" aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify, uint32_t* notifyId) {
  return TellId("aclrtCntNotifyGetId", cntNotify, "cntNotify", true, notifyId);
}

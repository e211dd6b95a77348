// SPDX-License-Identifier: Apache-2.0
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

Status FindContext(aclrtContext handle, Context** out_context) {
  if (handle == nullptr) return NullPointer("context");
  *out_context = Contexts().Find(handle);
  MP_CHECK(*out_context != nullptr, kInvalidHandle,
           "context %p is not live: it was never created, was destroyed, or its device was reset", handle);
  return Ok();
}

// The answer is null on failure: a client reads it after ignoring the error (docs/compat.md, "What clients rely on").
template <class Read>
aclError TellCurrent(const char* api, const char* parameter, void** out_handle, Read&& read) {
  return TellFact<Context>(
      api, parameter, out_handle,
      [&](Context** out_context) {
        *out_handle = nullptr;
        return RequireContext(out_context);
      },
      read);
}

}  // namespace

extern "C" aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return Guard("aclrtCreateContext", [&]() -> Status {
    MP_NOT_NULL(context);
    *context = nullptr;
    Device* device = nullptr;
    Context* created = nullptr;
    MP_RETURN_IF_ERROR(FindDevice(deviceId, &device));
    MP_RETURN_IF_ERROR(device->CreateContext(&created));
    SetCurrentContextForThread(created);
    *context = created->handle();
    return Ok();
  });
}

extern "C" aclError aclrtDestroyContext(aclrtContext context) {
  return Guard("aclrtDestroyContext", [&]() -> Status {
    Context* found = nullptr;
    MP_RETURN_IF_ERROR(FindContext(context, &found));
    return found->device()->DestroyContext(found);
  });
}

extern "C" aclError aclrtSetCurrentContext(aclrtContext context) {
  return Guard("aclrtSetCurrentContext", [&]() -> Status {
    Context* found = nullptr;
    MP_RETURN_IF_ERROR(FindContext(context, &found));
    SetCurrentContextForThread(found);
    return Ok();
  });
}

extern "C" aclError aclrtGetCurrentContext(aclrtContext* context) {
  return TellCurrent("aclrtGetCurrentContext", "context", context,
                     [](const Context& current) { return current.handle(); });
}

extern "C" aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  return TellCurrent("aclrtCtxGetCurrentDefaultStream", "stream", stream,
                     [](const Context& current) { return current.default_stream()->handle(); });
}

extern "C" aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  return OnDevice("aclrtGetPrimaryCtxState", deviceId, "active", active, [&](Device* device) {
    if (flags != nullptr) *flags = 0;
    *active = device->primary() != nullptr ? 1 : 0;
    return Ok();
  });
}

// SPDX-License-Identifier: Apache-2.0
// aclInit and aclFinalize (documents: 02 initialization; facts 3.2). Repeated aclInit counts references and says so
// with 100002; aclFinalize drops them all; aclFinalizeReference drops one.
#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/acl/guard.h"
#include "src/api/acl/init_config.h"
#include "src/api/acl/limits.h"
#include "src/api/acl/message.h"
#include "src/device/mem_pool.h"
#include "src/device/runtime.h"
#include "src/exec/single_op_models.h"
#include "src/trace/sink.h"

namespace millpond::acl {

namespace {

template <class Function>
struct Callback {
  aclRegisterCallbackType type;
  Function function;
  void* user_data;
};

struct Lifecycle {
  // Recursive: an init callback may register another one.
  std::recursive_mutex mutex;
  uint64_t references = 0;
  bool finalized = false;
  bool has_first = false;
  std::string first_text, first_path;  // the first file ever given: later ones must say the same
  std::string current_text;
  std::vector<Callback<aclInitCallbackFunc>> init_callbacks;
  std::vector<Callback<aclFinalizeCallbackFunc>> finalize_callbacks;
};

Lifecycle& GetLifecycle() {
  static Lifecycle& lifecycle = *new Lifecycle;  // leaked: aclFinalize may come from a static destructor
  return lifecycle;
}

// A callback's code is the client's own and is passed on as it is; Status has no place for it.
struct CallbackFailure {
  aclError code = ACL_SUCCESS;
  aclError Or(aclError result) const { return code != ACL_SUCCESS ? code : result; }
};

template <class Function, class Call>
Status Notify(const std::vector<Callback<Function>>& callbacks, Call call, CallbackFailure* failure) {
  const std::vector<Callback<Function>> copy = callbacks;  // a callback may change the list
  for (const Callback<Function>& callback : copy) {
    if (const aclError code = call(callback); code != ACL_SUCCESS) {
      failure->code = code;
      return InternalError(
          Format("a registered callback of type %d returned %d", static_cast<int>(callback.type), code));
    }
  }
  return Ok();
}

Status Initialize(const char* path, Lifecycle* lifecycle, CallbackFailure* failure) {
  InitConfig config;
  MP_RETURN_IF_ERROR(ReadInitConfig(path, &config));
  const bool has_file = path != nullptr && *path != 0;
  MP_REQUIRE(!has_file || !lifecycle->has_first || config.text == lifecycle->first_text,
             "the content of '%s' differs from that of '%s', which the first aclInit of this process was given", path,
             lifecycle->first_path.c_str());
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  if (config.default_device) {
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(runtime->FindDevice(*config.default_device, &device));
  }
  for (const auto& [limit, value] : config.limits) MP_RETURN_IF_ERROR(SetDeviceLimit(limit, value));
  SetProcessMessageMode(config.process_messages);
  SetDefaultDevice(config.default_device.value_or(-1));
  lifecycle->current_text = config.text;
  const auto call = [&](const Callback<aclInitCallbackFunc>& callback) {
    return callback.function(config.text.c_str(), config.text.size(), callback.user_data);
  };
  if (Status status = Notify(lifecycle->init_callbacks, call, failure); !status.ok()) {
    SetDefaultDevice(-1);  // not initialised after all
    SetProcessMessageMode(false);
    return status;
  }
  if (has_file && !lifecycle->has_first) {
    lifecycle->has_first = true;
    lifecycle->first_text = config.text;
    lifecycle->first_path = path;
  }
  lifecycle->references = 1;
  lifecycle->finalized = false;
  return Ok();
}

Status Finalize(Lifecycle* lifecycle, CallbackFailure* failure) {
  const auto call = [](const Callback<aclFinalizeCallbackFunc>& callback) {
    return callback.function(callback.user_data);
  };
  MP_RETURN_IF_ERROR(Notify(lifecycle->finalize_callbacks, call, failure));
  DestroyMemPools(nullptr);
  SingleOpModels::Get().Clear();
  SetDefaultDevice(-1);
  lifecycle->references = 0;
  lifecycle->finalized = true;
  if (trace::Sink* sink = trace::Active()) sink->Flush();
  return Ok();
}

// Types other than OTHER take one callback each, as in the reference.
template <class Function>
Status Add(std::vector<Callback<Function>>* callbacks, aclRegisterCallbackType type, Function cbFunc, void* user_data) {
  MP_NOT_NULL(cbFunc);
  const bool taken = std::any_of(callbacks->begin(), callbacks->end(), [&](const auto& c) { return c.type == type; });
  MP_CHECK(type == ACL_REG_TYPE_OTHER || !taken, kInternal,
           "type %d already has a callback; unregister that one first, or register as ACL_REG_TYPE_OTHER",
           static_cast<int>(type));
  callbacks->push_back({type, cbFunc, user_data});
  return Ok();
}

template <class Function>
Status Remove(std::vector<Callback<Function>>* callbacks, aclRegisterCallbackType type, Function cbFunc) {
  MP_NOT_NULL(cbFunc);
  const auto found = std::find_if(callbacks->begin(), callbacks->end(),
                                  [&](const auto& c) { return c.type == type && c.function == cbFunc; });
  MP_CHECK(found != callbacks->end(), kInternal, "no such callback is registered for type %d", static_cast<int>(type));
  callbacks->erase(found);
  return Ok();
}

}  // namespace

}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" aclError aclInit(const char* configPath) {
  CallbackFailure failure;
  const aclError result = Guard(__func__, [&]() -> Status {
    Lifecycle& lifecycle = GetLifecycle();
    std::lock_guard lock(lifecycle.mutex);
    if (lifecycle.references > 0) {
      ++lifecycle.references;
      return Status(
          Code::kRepeatInitialize,
          Format("acl is initialised already; this call only raised the reference count to %llu, which is fine",
                 static_cast<unsigned long long>(lifecycle.references)));
    }
    return Initialize(configPath, &lifecycle, &failure);
  });
  return failure.Or(result);
}

extern "C" aclError aclFinalize() {
  CallbackFailure failure;
  const aclError result = Guard(__func__, [&]() -> Status {
    Lifecycle& lifecycle = GetLifecycle();
    std::lock_guard lock(lifecycle.mutex);
    MP_CHECK(!lifecycle.finalized, kRepeatFinalize, "acl is finalised already; aclInit comes first");
    return Finalize(&lifecycle, &failure);
  });
  return failure.Or(result);
}

extern "C" aclError aclFinalizeReference(uint64_t* refCount) {
  CallbackFailure failure;
  const aclError result = Guard(__func__, [&]() -> Status {
    Lifecycle& lifecycle = GetLifecycle();
    std::lock_guard lock(lifecycle.mutex);
    if (refCount != nullptr) *refCount = lifecycle.references;
    MP_CHECK(lifecycle.references > 0, kRepeatFinalize, "no reference is left: aclInit and this call come in pairs");
    if (lifecycle.references > 1) {
      --lifecycle.references;
    } else {
      MP_RETURN_IF_ERROR(Finalize(&lifecycle, &failure));
    }
    if (refCount != nullptr) *refCount = lifecycle.references;
    return Ok();
  });
  return failure.Or(result);
}

extern "C" aclError aclInitCallbackRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc, void* userData) {
  return Guard(__func__, [&]() -> Status {
    Lifecycle& lifecycle = GetLifecycle();
    std::lock_guard lock(lifecycle.mutex);
    MP_RETURN_IF_ERROR(Add(&lifecycle.init_callbacks, type, cbFunc, userData));
    if (lifecycle.references > 0) {
      const std::string text = lifecycle.current_text;
      if (const aclError code = cbFunc(text.c_str(), text.size(), userData); code != ACL_SUCCESS) {
        return InternalError(Format("the callback, called at once because acl is initialised, returned %d", code));
      }
    }
    return Ok();
  });
}

extern "C" aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc) {
  return Guard(__func__, [&]() -> Status {
    Lifecycle& lifecycle = GetLifecycle();
    std::lock_guard lock(lifecycle.mutex);
    return Remove(&lifecycle.init_callbacks, type, cbFunc);
  });
}

extern "C" aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc,
                                                void* userData) {
  return Guard(__func__, [&]() -> Status {
    Lifecycle& lifecycle = GetLifecycle();
    std::lock_guard lock(lifecycle.mutex);
    return Add(&lifecycle.finalize_callbacks, type, cbFunc, userData);
  });
}

extern "C" aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc) {
  return Guard(__func__, [&]() -> Status {
    Lifecycle& lifecycle = GetLifecycle();
    std::lock_guard lock(lifecycle.mutex);
    return Remove(&lifecycle.finalize_callbacks, type, cbFunc);
  });
}

// SPDX-License-Identifier: Apache-2.0
// aclInit and aclFinalize (page "aclInit"; docs/compat.md, "What clients rely on"). Repeated aclInit counts references
// and says so with 100002; aclFinalize drops them all; aclFinalizeReference drops one.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/device/dump_control.h"
#include "src/api/acl/rt/device/init_config.h"
#include "src/api/acl/rt/device/limits.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/base/failures.h"
#include "src/base/mutex.h"
#include "src/device/lifecycle.h"
#include "src/device/memory/mem_pool.h"
#include "src/device/runtime.h"
#include "src/exec/op/single_op_models.h"
#include "src/trace/fan_out.h"

namespace millpond::acl {

namespace {

using Callback = Lifecycle::Callback;

// pre: the lifecycle's mutex is held.
class Notifying {
 public:
  Notifying() : outer_(std::exchange(Lifecycle::Get().notifying, true)) {}
  ~Notifying() { Lifecycle::Get().notifying = outer_; }

 private:
  const bool outer_;
};

// A callback that starts or ends the very thing it hears of would be called again by that, and so on without end.
Status RequireNotNotifying(const Lifecycle& lifecycle) {
  MP_CHECK(!lifecycle.notifying, kInternal,
           "it was called by a callback that was registered for aclInit or aclFinalize, from within one of these; "
           "initialise and finalise after it has returned");
  return Ok();
}

// A callback's code is the client's own and is passed on as it is.
Outcome Notify(const std::vector<Callback>& callbacks, const std::string& text) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const std::vector<Callback> copy = callbacks;  // a callback may change the list
  const Notifying notifying;
  for (const Callback& callback : copy) {
    if (const aclError code = callback.call(text); code != ACL_SUCCESS) {
      return {code, InternalError(Format("a registered callback of type %d returned %d", callback.type, code))};
    }
  }
  return Ok();
}

Outcome Initialize(const char* path, Lifecycle* lifecycle) {
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
  if (config.dump) MP_RETURN_IF_ERROR(StartDumpByInit(*config.dump));
  failures::SetProcessWide(config.process_messages);
  SetDefaultDevice(config.default_device.value_or(-1));
  lifecycle->current_text = config.text;
  if (Outcome told = Notify(lifecycle->init_callbacks, config.text); !told.ok()) {
    SetDefaultDevice(-1);  // not initialised after all
    StopDumpByInit();
    failures::SetProcessWide(false);
    return told;
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

Outcome Finalize(Lifecycle* lifecycle) {
  if (Outcome told = Notify(lifecycle->finalize_callbacks, ""); !told.ok()) return told;
  StopDumpByInit();
  DestroyMemPools(nullptr);
  SingleOpModels::Get().Clear();
  SetDefaultDevice(-1);
  lifecycle->references = 0;
  lifecycle->finalized = true;
  if (trace::FanOut* sinks = trace::Active()) {
    if (trace::Wants(trace::kGuards)) trace::SweepGuards();
    sinks->Flush();
  }
  return Ok();
}

template <class Function>
const void* KeyOf(Function* function) {
  return reinterpret_cast<const void*>(function);
}

// Types other than OTHER take one callback each, as in the reference.
Status Add(std::vector<Callback>* callbacks, Callback callback) {
  const bool taken =
      std::any_of(callbacks->begin(), callbacks->end(), [&](const Callback& c) { return c.type == callback.type; });
  MP_CHECK(callback.type == ACL_REG_TYPE_OTHER || !taken, kInternal,
           "type %d already has a callback; unregister that one first, or register as ACL_REG_TYPE_OTHER",
           callback.type);
  callbacks->push_back(std::move(callback));
  return Ok();
}

Status Remove(std::vector<Callback> Lifecycle::*list, int type, const void* key) {
  Lifecycle& lifecycle = Lifecycle::Get();
  MutexLock lock(lifecycle.mutex);
  auto* callbacks = &(lifecycle.*list);
  const auto found = std::find_if(callbacks->begin(), callbacks->end(),
                                  [&](const Callback& c) { return c.type == type && c.key == key; });
  MP_CHECK(found != callbacks->end(), kInternal, "no such callback is registered for type %d", type);
  callbacks->erase(found);
  return Ok();
}

}  // namespace

}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

// The checker hears of both, whatever other calls it has stopped to listen to.
extern "C" aclError aclInit(const char* configPath) {
  const trace::CallsHeard heard;
  return Guard(__func__, [&]() -> Outcome {
    Lifecycle& lifecycle = Lifecycle::Get();
    MutexLock lock(lifecycle.mutex);
    MP_RETURN_IF_ERROR(RequireNotNotifying(lifecycle));
    if (lifecycle.references > 0) {
      ++lifecycle.references;
      return Status(
          Code::kRepeatInitialize,
          Format("acl is initialised already; this call only raised the reference count to %llu, which is fine",
                 static_cast<unsigned long long>(lifecycle.references)));
    }
    return Initialize(configPath, &lifecycle);
  });
}

extern "C" aclError aclFinalize() {
  const trace::CallsHeard heard;
  return Guard(__func__, [&]() -> Outcome {
    Lifecycle& lifecycle = Lifecycle::Get();
    MutexLock lock(lifecycle.mutex);
    MP_RETURN_IF_ERROR(RequireNotNotifying(lifecycle));
    MP_CHECK(!lifecycle.finalized, kRepeatFinalize, "acl is finalised already; aclInit comes first");
    return Finalize(&lifecycle);
  });
}

extern "C" aclError aclFinalizeReference(uint64_t* refCount) {
  return Guard(__func__, [&]() -> Outcome {
    MP_NOT_WILD(refCount);
    Lifecycle& lifecycle = Lifecycle::Get();
    MutexLock lock(lifecycle.mutex);
    if (refCount != nullptr) *refCount = lifecycle.references;
    MP_RETURN_IF_ERROR(RequireNotNotifying(lifecycle));
    MP_CHECK(lifecycle.references > 0, kRepeatFinalize, "no reference is left: aclInit and this call come in pairs");
    if (lifecycle.references > 1) {
      --lifecycle.references;
    } else {
      if (Outcome ended = Finalize(&lifecycle); !ended.ok()) return ended;
    }
    if (refCount != nullptr) *refCount = lifecycle.references;
    return Ok();
  });
}

extern "C" aclError aclInitCallbackRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc, void* userData) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(cbFunc);
    Lifecycle& lifecycle = Lifecycle::Get();
    MutexLock lock(lifecycle.mutex);
    const auto call = [cbFunc, userData](const std::string& text) {
      return cbFunc(text.c_str(), text.size(), userData);
    };
    MP_RETURN_IF_ERROR(Add(&lifecycle.init_callbacks, {type, KeyOf(cbFunc), call}));
    if (lifecycle.references > 0) {
      const Notifying notifying;
      if (const aclError code = call(std::string(lifecycle.current_text)); code != ACL_SUCCESS) {
        return InternalError(Format("the callback, called at once because acl is initialised, returned %d", code));
      }
    }
    return Ok();
  });
}

extern "C" aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(cbFunc);
    return Remove(&Lifecycle::init_callbacks, type, KeyOf(cbFunc));
  });
}

extern "C" aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc,
                                                void* userData) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(cbFunc);
    Lifecycle& lifecycle = Lifecycle::Get();
    MutexLock lock(lifecycle.mutex);
    return Add(&lifecycle.finalize_callbacks,
               {type, KeyOf(cbFunc), [cbFunc, userData](const std::string&) { return cbFunc(userData); }});
  });
}

extern "C" aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(cbFunc);
    return Remove(&Lifecycle::finalize_callbacks, type, KeyOf(cbFunc));
  });
}

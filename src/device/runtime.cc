// SPDX-License-Identifier: Apache-2.0
#include "src/device/runtime.h"

#include <pthread.h>

#include <cstdlib>
#include <sstream>

#include "src/base/mutex.h"
#include "src/base/options.h"
#include "src/base/thread_local.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/shared_quota.h"
#include "src/device/stream/last_thread.h"
#include "src/device/stream/planned.h"
#include "src/trace/chrome_trace.h"

namespace millpond {

namespace internal {
std::atomic<bool> g_forked{false};
}

namespace {

std::atomic<Runtime*> g_runtime{nullptr};

// A context destroyed elsewhere leaves this pointer at a recycled object: the handle tells.
struct ThreadContext {
  Context* context = nullptr;
  const void* handle = nullptr;
};
thread_local ThreadContext t_current MP_FAST_TLS;
std::atomic<int32_t> g_default_device{-1};

// "ascending unique ids, parsing stops at the first bad token" (docs/compat.md, "What clients rely on").
std::vector<int32_t> VisibleDevices(int32_t count) {
  std::vector<int32_t> ids;
  const char* list = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int32_t id = 0; id < count; ++id) ids.push_back(id);
    return ids;
  }
  std::istringstream tokens(list);
  for (std::string token; std::getline(tokens, token, ',');) {
    const auto id = ParseInt(token);
    if (!id || *id < 0 || *id >= count || (!ids.empty() && *id <= ids.back())) break;
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

Status CheckNumber(const char* variable, const std::string& text, int64_t low, int64_t high, int64_t* out_value) {
  const auto value = ParseInt(text);
  MP_REQUIRE(value && *value >= low && *value <= high, "%s is '%s'; it must be a whole number from %lld to %lld",
             variable, text.c_str(), static_cast<long long>(low), static_cast<long long>(high));
  *out_value = *value;
  return Ok();
}

Status CheckOptions(const Options& options, int32_t* out_devices) {
  int64_t value = 0;
  MP_RETURN_IF_ERROR(CheckNumber("MILLPOND_DEVICES", options.devices, 1, 64, &value));
  *out_devices = static_cast<int32_t>(value);
  if (!options.seed.empty()) {
    MP_RETURN_IF_ERROR(CheckNumber("MILLPOND_SEED", options.seed, INT64_MIN, INT64_MAX, &value));
  }
  if (!options.schedule.empty()) {
    Schedule schedule;
    MP_RETURN_IF_ERROR(Schedule::Parse(options.schedule, &schedule));
  }
  if (!options.workers.empty()) MP_RETURN_IF_ERROR(CheckNumber("MILLPOND_WORKERS", options.workers, 1, 64, &value));
  MP_RETURN_IF_ERROR(CheckNumber("MILLPOND_SPIN_US", options.spin_us, 0, 1'000'000, &value));
  MP_REQUIRE(options.device_memory == "hidden" || options.device_memory == "shared",
             "MILLPOND_DEVICE_MEMORY is '%s'; it must be hidden or shared", options.device_memory.c_str());
  return Ok();
}

}  // namespace

Runtime* Runtime::Existing() { return InForkedChild() ? nullptr : g_runtime.load(std::memory_order_acquire); }

Status Runtime::Get(Runtime** out_runtime) {
  MP_CHECK(
      !InForkedChild(), kForked,
      "this process was forked after its parent had opened the device; start it with exec, or fork before aclInit");
  Runtime* runtime = g_runtime.load(std::memory_order_acquire);
  if (runtime == nullptr) MP_RETURN_IF_ERROR(Create(&runtime));
  *out_runtime = runtime;
  return Ok();
}

Status Runtime::Create(Runtime** out_runtime) {
  static Mutex& mutex = *new Mutex;
  MutexLock lock(mutex);
  if (Runtime* ready = g_runtime.load(std::memory_order_acquire)) {
    *out_runtime = ready;
    return Ok();
  }
  auto runtime = std::unique_ptr<Runtime>(new Runtime);
  // Again at the next call where it fails: settings do not change, but the host may have memory by then.
  MP_RETURN_IF_ERROR(runtime->Initialize());
  pthread_atfork(nullptr, nullptr, [] { internal::g_forked.store(true, std::memory_order_relaxed); });
  *out_runtime = runtime.get();
  g_runtime.store(runtime.release(), std::memory_order_release);
  return Ok();
}

Status Runtime::Initialize() {
  const Options& options = GetOptions();
  int32_t count = 0;
  MP_RETURN_IF_ERROR(CheckOptions(options, &count));
  MP_RETURN_IF_ERROR(LoadProfile(options.soc, options.profiles, &profile_));
  uint64_t quota = 0;
  MP_RETURN_IF_ERROR(DeviceQuota(options.memory, profile_.memory_bytes, count, &quota));
  if (!options.shared_devices.empty()) {
    const std::string machine = options.soc + ", " + options.devices + " devices, memory " + options.memory;
    MP_RETURN_IF_ERROR(SharedQuota::Join(options.shared_devices, machine, quota, &shared_));
    quota = shared_->total();
  }
  const std::vector<int32_t> visible = VisibleDevices(count);
  MP_RETURN_IF_ERROR(ReserveAddressSpace(static_cast<int32_t>(visible.size()), quota));
  for (int32_t physical : visible) {
    auto device = std::make_unique<Device>(static_cast<int32_t>(devices_.size()), physical, &profile_);
    MP_RETURN_IF_ERROR(device->OpenMemory(quota, shared_.get()));
    devices_.push_back(std::move(device));
  }
  InstallFaultHandler();
  trace::AttachTraceFromEnvironment();
  return Ok();
}

Status Runtime::FindDevice(int64_t id, Device** out_device) {
  MP_CHECK(id >= 0 && id < device_count(), kInvalidDevice,
           "device id %lld is out of range: there %s %d device%s (0 to %d)", static_cast<long long>(id),
           device_count() == 1 ? "is" : "are", device_count(), device_count() == 1 ? "" : "s", device_count() - 1);
  *out_device = devices_[static_cast<size_t>(id)].get();
  return Ok();
}

Context* CurrentContext() {
  // A null handle: the context was destroyed by another thread just before this one chose it.
  if (t_current.handle == nullptr || InForkedChild()) return nullptr;
  return t_current.context->live(t_current.handle) ? t_current.context : nullptr;
}

void SetCurrentContextForThread(Context* context) {
  NoteClientThread();
  t_current = {context, context != nullptr ? context->handle() : nullptr};
}

void SetDefaultDevice(int32_t id) { g_default_device.store(id, std::memory_order_relaxed); }

namespace {

// Null without a default device. The choice sticks to the thread, as aclrtSetDevice's does.
Context* ChooseDefaultContext() {
  const int32_t id = g_default_device.load(std::memory_order_relaxed);
  Runtime* runtime = id < 0 ? nullptr : Runtime::Existing();
  if (runtime == nullptr || id >= runtime->device_count()) return nullptr;
  Context* context = runtime->device(id)->primary();
  if (context == nullptr && !runtime->device(id)->RetainPrimary(&context).ok()) return nullptr;
  SetCurrentContextForThread(context);
  return context;
}

}  // namespace

Status RequireContext(Context** out_context) {
  Context* context = CurrentContext();
  if (__builtin_expect(context == nullptr, false)) context = ChooseDefaultContext();
  MP_CHECK(context != nullptr, kNoContext,
           "the calling thread has no current context; call aclrtSetDevice or aclrtSetCurrentContext first");
  *out_context = context;
  return Ok();
}

Status RequireDevice(Device** out_device) {
  Context* context = nullptr;
  MP_RETURN_IF_ERROR(RequireContext(&context));
  *out_device = context->device();
  return Ok();
}

Status FindDevice(int64_t id, Device** out_device) {
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  return runtime->FindDevice(id, out_device);
}

}  // namespace millpond

// SPDX-License-Identifier: Apache-2.0
// Limits (pages "Runtime Configuration" and "aclrtDeviceSetLimit"): cores per device, per stream and per thread,
// and the process's kernel stack and print buffer sizes.
#include "src/api/acl/rt/device/limits.h"

#include <optional>

#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/base/cann_options.h"
#include "src/base/mutex.h"
#include "src/device/device.h"
#include "src/device/process_settings.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"

namespace millpond::acl {

namespace {

constexpr size_t kResourceTypes = 2;

struct LimitRule {
  size_t initial;
  size_t step;  // values are rounded up to a multiple
  size_t min, max;
  bool simt;         // only the 950 series has it
  size_t read_back;  // what is read is the stored value times this
};

LimitRule RuleOf(aclrtDeviceLimit limit, Series series) {
  constexpr size_t kMiB = 1 << 20;
  switch (limit) {
    case ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE:
      return {1152, 128, 0, SIZE_MAX / 64, true, 32};
    case ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE:
      return {1024, 128, 0, SIZE_MAX / 64, true, 1};
    case ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE:
      return {32768, 16384, 0, series == Series::k950 ? size_t{131072} : size_t{196608}, false, 1};
    case ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE:
      return {32768, 8, 1024, 64 * kMiB, false, 1};
    case ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE:
      return {2 * kMiB, 8, kMiB, 64 * kMiB, true, 1};
  }
  return {};
}

using Limits = ProcessSettings::Limits;

Limits& GetLimits() { return ProcessSettings::Get().limits; }

Status FindRule(aclrtDeviceLimit limit, LimitRule* out_rule) {
  MP_REQUIRE(limit >= ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE && limit <= ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE,
             "limit %d is not one of aclrtDeviceLimit (0 to 4)", static_cast<int>(limit));
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  const Series series = SeriesOf(runtime->profile().name);
  *out_rule = RuleOf(limit, series);
  const bool supported =
      series == Series::k950 || (!out_rule->simt && (series == Series::kA2 || series == Series::kA3));
  MP_CHECK(supported, kUnsupported, "%s has no limit %d", runtime->profile().name.c_str(), static_cast<int>(limit));
  return Ok();
}

size_t Stored(const Limits& limits, aclrtDeviceLimit limit, const LimitRule& rule) REQUIRES(limits.mutex) {
  const auto found = limits.device.find(limit);
  return found == limits.device.end() ? rule.initial : found->second;
}

Status CheckType(aclrtDevResLimitType type) {
  MP_REQUIRE(type == ACL_RT_DEV_RES_CUBE_CORE || type == ACL_RT_DEV_RES_VECTOR_CORE,
             "resource type %d is neither 0 (cube cores) nor 1 (vector cores)", static_cast<int>(type));
  return Ok();
}

uint32_t Hardware(const Profile& profile, aclrtDevResLimitType type) {
  if (type == ACL_RT_DEV_RES_VECTOR_CORE) return static_cast<uint32_t>(profile.vector_core_num);
  // Documented: where cube and vector units share a core (310P), this type counts AI cores.
  const bool shared = SeriesOf(profile.name) == Series::k310P;
  return static_cast<uint32_t>(shared ? profile.ai_core_num : profile.cube_core_num);
}

Status CheckValue(const Profile& profile, aclrtDevResLimitType type, uint32_t value) {
  MP_CHECK(value >= 1 && value <= Hardware(profile, type), kRuntimeArgument,
           "a limit of %u cores is out of range: %s has %u of type %d", value, profile.name.c_str(),
           Hardware(profile, type), static_cast<int>(type));
  return Ok();
}

uint32_t DeviceValue(const Device& device, aclrtDevResLimitType type) {
  Limits& limits = GetLimits();
  MutexLock lock(limits.mutex);
  const auto found = limits.cores.find({device.id(), type});
  return found == limits.cores.end() ? Hardware(device.profile(), type) : found->second;
}

std::optional<uint32_t> StreamValue(Stream* stream, aclrtDevResLimitType type) {
  MutexLock lock(stream->attribute_lock);
  if (!stream->resource_limit_set[type]) return std::nullopt;
  return stream->resource_limit[type];
}

Status FindDeviceAndType(int32_t id, aclrtDevResLimitType type, Device** out_device) {
  MP_RETURN_IF_ERROR(CheckType(type));
  return FindDevice(id, out_device);
}

}  // namespace

Status SetDeviceLimit(aclrtDeviceLimit limit, size_t value) {
  LimitRule rule;
  MP_RETURN_IF_ERROR(FindRule(limit, &rule));
  if (limit == ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE && value < rule.initial) value = rule.initial;
  MP_CHECK(value >= rule.min && value <= rule.max, kRuntimeArgument, "limit %d: %zu bytes; the range is %zu to %zu",
           static_cast<int>(limit), value, rule.min, rule.max);
  value = (value + rule.step - 1) / rule.step * rule.step;
  if (value != rule.initial) {
    MP_RETURN_IF_ERROR(
        cann::Accept(cann::Options(cann::Door::kLimit)[static_cast<size_t>(limit)], std::to_string(value)));
  }
  Limits& limits = GetLimits();
  MutexLock lock(limits.mutex);
  if (value == 0) {
    const bool stack = limit == ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE;
    const auto other = stack ? ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE : ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE;
    MP_CHECK(Stored(limits, other, RuleOf(other, Series::k950)) != 0, kRuntimeArgument,
             "the SIMT stack size and the divergence stack size cannot both be 0");
  }
  limits.device[limit] = value;
  return Ok();
}

Status GetDeviceLimit(aclrtDeviceLimit limit, size_t* out_value) {
  LimitRule rule;
  MP_RETURN_IF_ERROR(FindRule(limit, &rule));
  Limits& limits = GetLimits();
  MutexLock lock(limits.mutex);
  *out_value = Stored(limits, limit, rule) * rule.read_back;
  return Ok();
}

}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" aclError aclrtDeviceSetLimit(aclrtDeviceLimit limit, size_t value) {
  return Guard(__func__, [&] { return SetDeviceLimit(limit, value); });
}

extern "C" aclError aclrtDeviceGetLimit(aclrtDeviceLimit limit, size_t* value) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(value);
    return GetDeviceLimit(limit, value);
  });
}

extern "C" aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(value);
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(FindDeviceAndType(deviceId, type, &device));
    *value = DeviceValue(*device, type);
    return Ok();
  });
}

extern "C" aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  return Guard(__func__, [&]() -> Status {
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(FindDeviceAndType(deviceId, type, &device));
    MP_RETURN_IF_ERROR(CheckValue(device->profile(), type, value));
    Limits& limits = GetLimits();
    MutexLock lock(limits.mutex);
    limits.cores[{deviceId, type}] = value;
    return Ok();
  });
}

extern "C" aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  return Guard(__func__, [&]() -> Status {
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(FindDeviceAndType(deviceId, ACL_RT_DEV_RES_CUBE_CORE, &device));
    Limits& limits = GetLimits();
    MutexLock lock(limits.mutex);
    std::erase_if(limits.cores, [&](const auto& entry) { return entry.first.first == deviceId; });
    return Ok();
  });
}

extern "C" aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(value);
    MP_RETURN_IF_ERROR(CheckType(type));
    Stream* target = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &target));
    const auto own = StreamValue(target, type);
    *value = own ? *own : DeviceValue(*target->device(), type);
    return Ok();
  });
}

extern "C" aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
  return Guard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckType(type));
    Stream* target = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &target));
    MP_RETURN_IF_ERROR(CheckValue(target->device()->profile(), type, value));
    MutexLock lock(target->attribute_lock);
    target->resource_limit[type] = value;
    target->resource_limit_set[type] = true;
    return Ok();
  });
}

extern "C" aclError aclrtResetStreamResLimit(aclrtStream stream) {
  return Guard(__func__, [&]() -> Status {
    Stream* target = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &target));
    MutexLock lock(target->attribute_lock);
    for (size_t type = 0; type < kResourceTypes; ++type) target->resource_limit_set[type] = false;
    return Ok();
  });
}

extern "C" aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  return Guard(__func__, [&]() -> Status {
    Stream* target = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &target));
    SetLimitingStream(target->handle());
    return Ok();
  });
}

extern "C" aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
  return Guard(__func__, [&]() -> Status {
    Stream* target = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &target));
    if (LimitingStream() == target->handle()) SetLimitingStream(nullptr);
    return Ok();
  });
}

extern "C" aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(value);
    MP_RETURN_IF_ERROR(CheckType(type));
    if (Stream* used = LimitingStream() == nullptr ? nullptr : Streams().Find(LimitingStream())) {
      const auto own = StreamValue(used, type);
      *value = own ? *own : DeviceValue(*used->device(), type);
      return Ok();
    }
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    *value = DeviceValue(*device, type);
    return Ok();
  });
}

// SPDX-License-Identifier: Apache-2.0
// Facts about devices, all from the profile, and the process-wide switches.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/entry.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/base/cann_options.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/process_settings.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"

namespace millpond::acl {

namespace {

// --- attributes ---

int64_t Hexadecimal(const Profile& profile, const char* key) {
  const auto found = profile.raw.find(key);
  return found == profile.raw.end() ? 0 : std::strtoll(found->second.c_str(), nullptr, 0);
}

// Thread model attributes exist on the 950 series only; others answer 0, as documented.
Status ThreadModelAttribute(const Profile& profile, const char* key, int64_t* out_value) {
  if (SeriesOf(profile.name) != Series::k950) {
    *out_value = 0;
    return Ok();
  }
  MP_CHECK(profile.raw.contains(key), kUnsupported, "the device profile %s has no key '%s'", profile.name.c_str(), key);
  *out_value = profile.Int(key, 0);
  return Ok();
}

Status Only950(const Profile& profile, int64_t value, int64_t* out_value) {
  MP_CHECK(SeriesOf(profile.name) == Series::k950, kUnsupported, "%s does not have this attribute",
           profile.name.c_str());
  *out_value = value;
  return Ok();
}

Status Attribute(Device* device, aclrtDevAttr attr, int64_t* out_value) {
  const Profile& profile = device->profile();
  const auto answer = [out_value](int64_t value) {
    *out_value = value;
    return Ok();
  };
  switch (attr) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
      return answer(profile.Int("aicpu_core_num", 0));
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
      return answer(profile.ai_core_num);
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      return answer(profile.cube_core_num);
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      return answer(profile.vector_core_num);
    case ACL_DEV_ATTR_WARP_SIZE:
      return ThreadModelAttribute(profile, "warp_size", out_value);
    case ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE:
      return ThreadModelAttribute(profile, "max_thread_per_vector_core", out_value);
    case ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE:
      return ThreadModelAttribute(profile, "ubuf_per_vector_core", out_value);
    case ACL_DEV_ATTR_MAX_GRID_DIM_X:
      return ThreadModelAttribute(profile, "max_grid_dim_x", out_value);
    case ACL_DEV_ATTR_MAX_GRID_DIM_Y:
      return ThreadModelAttribute(profile, "max_grid_dim_y", out_value);
    case ACL_DEV_ATTR_MAX_GRID_DIM_Z:
      return ThreadModelAttribute(profile, "max_grid_dim_z", out_value);
    case ACL_DEV_ATTR_MAX_BLOCK_PER_GRID:
      return ThreadModelAttribute(profile, "max_block_per_grid", out_value);
    case ACL_DEV_ATTR_MAX_THREADS_PER_BLOCK:
      return ThreadModelAttribute(profile, "max_threads_per_block", out_value);
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_X:
      return ThreadModelAttribute(profile, "max_block_dim_x", out_value);
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_Y:
      return ThreadModelAttribute(profile, "max_block_dim_y", out_value);
    case ACL_DEV_ATTR_MAX_BLOCK_DIM_Z:
      return ThreadModelAttribute(profile, "max_block_dim_z", out_value);
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      return answer(static_cast<int64_t>(device->memory().total_bytes()));
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      return answer(profile.l2_bytes);
    case ACL_DEV_ATTR_SMP_ID:  // one operating system
    case ACL_DEV_ATTR_SUPER_POD_SERVER_ID:
    case ACL_DEV_ATTR_SUPER_POD_ID:
    case ACL_DEV_ATTR_IS_VIRTUAL:  // asks for a slice of a card, which this is not
      return answer(0);
    case ACL_DEV_ATTR_CUST_OP_PRIVILEGE:
      MP_CHECK(SeriesOf(profile.name) != Series::k950, kUnsupported, "%s does not have this attribute",
               profile.name.c_str());
      return answer(0);
    case ACL_DEV_ATTR_PHY_CHIP_ID:
    case ACL_DEV_ATTR_SUPER_POD_DEVICE_ID:
      return answer(device->physical_id());
    case ACL_DEV_ATTR_MAINBOARD_ID:
      return answer(Hexadecimal(profile, "smi_board_id"));
    case ACL_DEV_ATTR_HD_CONNECT_TYPE:
      return Only950(profile, ACL_HOST_DEVICE_CONNECT_TYPE_PCIE, out_value);
    case ACL_DEV_ATTR_DEVICE_FORM_FACTOR:
      return Only950(profile, 2, out_value);  // a server whose host is not a Kunpeng
    case ACL_DEV_ATTR_NPU_ARCH:
      return answer(ArchitectureOf(SeriesOf(profile.name)));
  }
  return InvalidValue("attr", Format("%d", static_cast<int>(attr)), "it is not one of aclrtDevAttr");
}

// --- features ---

bool HasFeature(const Profile& profile, aclCannAttr attr) {
  switch (attr) {
    case ACL_CANN_ATTR_INF_NAN:
      return profile.Int("inf_nan", 0) == 1;
    case ACL_CANN_ATTR_BF16:
      return profile.Int("bf16", 0) == 1;
    case ACL_CANN_ATTR_JIT_COMPILE:
      return true;
    case ACL_CANN_ATTR_UNDEFINED:
      break;
  }
  return false;
}

// --- system parameters ---

constexpr int kSysParams = ProcessSettings::kParameters;  // documented default of each: 0

Status CheckSysParam(aclSysParamOpt opt) {
  if (opt >= 0 && static_cast<int>(opt) < kSysParams) return Ok();
  return InvalidValue("opt", Format("%d", static_cast<int>(opt)), "it is not one of aclSysParamOpt (0 to 3)");
}

Status CheckSysParamValue(aclSysParamOpt opt, int64_t value) {
  MP_RETURN_IF_ERROR(CheckSysParam(opt));
  const int64_t most = opt == ACL_OPT_DETERMINISTIC ? 3 : 1;
  if (value == 0) return Ok();
  if (value > 0 && value <= most) {
    return cann::Accept(cann::Options(cann::Door::kParameter)[static_cast<size_t>(opt)], std::to_string(value));
  }
  return InvalidValue("value", Format("%lld", static_cast<long long>(value)),
                      Format("option %d takes 0 to %lld", static_cast<int>(opt), static_cast<long long>(most)));
}

// --- how long an operator may run ---

// The hardware counts in steps: 2^32 ns, or half of that on the 310P, and at most 254 of them.
constexpr uint64_t kMaxSteps = 254;

Status TimeoutInterval(uint64_t* out_us) {
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  *out_us = SeriesOf(runtime->profile().name) == Series::k310P ? 2'147'483 : 4'294'967;
  return Ok();
}

Status SetExecuteTimeout(uint64_t us, uint64_t* out_actual_us) {
  uint64_t interval = 0;
  MP_RETURN_IF_ERROR(TimeoutInterval(&interval));
  const uint64_t steps = us == 0 ? kMaxSteps : std::min(kMaxSteps, us / interval + (us % interval != 0 ? 1 : 0));
  ProcessSettings::Get().execute_timeout_us.store(steps * interval, std::memory_order_relaxed);
  if (out_actual_us != nullptr) *out_actual_us = steps * interval;
  return Ok();
}

// --- saturation ---

Status CheckSaturation(const Profile& profile, aclrtFloatOverflowMode mode) {
  if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
    return InvalidValue("mode", Format("%d", static_cast<int>(mode)), "it must be 0 (saturation) or 1 (inf/nan)");
  }
  const Series series = SeriesOf(profile.name);
  MP_CHECK(series != Series::k950 || mode == ACL_RT_OVERFLOW_MODE_INFNAN, kUnsupported,
           "%s has only the inf/nan mode (1)", profile.name.c_str());
  MP_CHECK(series != Series::k310P || mode == ACL_RT_OVERFLOW_MODE_SATURATION, kUnsupported,
           "%s has only the saturation mode (0)", profile.name.c_str());
  return Ok();
}

}  // namespace

}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" const char* aclrtGetSocName() {
  Runtime* runtime = nullptr;
  const aclError result = Guard(__func__, [&] { return Runtime::Get(&runtime); });
  return result == ACL_SUCCESS ? runtime->profile().name.c_str() : nullptr;
}

extern "C" aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  return OnDevice(__func__, deviceId, "value", value, [&](Device* device) { return Attribute(device, attr, value); });
}

extern "C" aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  return OnDevice(__func__, deviceId, "value", value, [&](Device* device) -> Status {
    const Profile& profile = device->profile();
    switch (deviceInfo) {
      case ACL_DEVICE_INFO_AI_CORE_NUM:
        *value = profile.ai_core_num;
        return Ok();
      case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
        *value = profile.vector_core_num;
        return Ok();
      case ACL_DEVICE_INFO_L2_SIZE:
        *value = profile.l2_bytes;
        return Ok();
      case ACL_DEVICE_INFO_UNDEFINED:
        break;
    }
    return InvalidValue("deviceInfo", Format("%d", static_cast<int>(deviceInfo)), "it must be 0, 1 or 2");
  });
}

extern "C" aclError aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(cannAttrList);
    MP_NOT_NULL(num);
    Runtime* runtime = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    static const auto& list = *[&] {
      auto* made = new std::vector<aclCannAttr>;  // leaked: documented to live as long as the process
      for (const aclCannAttr attr : {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE}) {
        if (HasFeature(runtime->profile(), attr)) made->push_back(attr);
      }
      return made;
    }();
    *cannAttrList = list.data();
    *num = list.size();
    return Ok();
  });
}

extern "C" aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(value);
    if (cannAttr < ACL_CANN_ATTR_INF_NAN || cannAttr > ACL_CANN_ATTR_JIT_COMPILE) {
      return InvalidValue("cannAttr", Format("%d", static_cast<int>(cannAttr)), "it must be 0, 1 or 2");
    }
    Runtime* runtime = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    *value = HasFeature(runtime->profile(), cannAttr) ? 1 : 0;
    return Ok();
  });
}

extern "C" aclError aclrtGetDeviceCapability(int32_t deviceId, aclrtDevFeatureType devFeatureType, int32_t* value) {
  return OnDevice(__func__, deviceId, "value", value, [&](Device*) -> Status {
    if (devFeatureType != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV &&
        devFeatureType != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV) {
      return InvalidValue("devFeatureType", Format("%d", static_cast<int>(devFeatureType)), "it must be 1 or 21");
    }
    *value = ACL_DEV_FEATURE_NOT_SUPPORT;  // neither task update nor device queues exist here
    return Ok();
  });
}

extern "C" aclError aclrtCheckArchCompatibility(const char* socVersion, int32_t* canCompatible) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(socVersion);
    MP_NOT_NULL(canCompatible);
    Runtime* runtime = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    const int64_t asked = ArchitectureOf(SeriesOf(socVersion));
    const bool same_name = runtime->profile().name == socVersion;
    *canCompatible = same_name || (asked != 0 && asked == ArchitectureOf(SeriesOf(runtime->profile().name))) ? 1 : 0;
    return Ok();
  });
}

extern "C" aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus) {
  return OnDevice(__func__, deviceId, "deviceStatus", deviceStatus, [&](Device*) {
    *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
    return Ok();
  });
}

// A virtual device has no counters: at this instant it is either busy with some stream's tasks or not.
extern "C" aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo* utilizationInfo) {
  return OnDevice(__func__, deviceId, "utilizationInfo", utilizationInfo, [&](Device* device) {
    const std::vector<Stream*> streams = device->StreamsOf(nullptr);
    const bool busy = std::any_of(streams.begin(), streams.end(), [](const Stream* s) { return !s->drained(); });
    utilizationInfo->cubeUtilization = busy ? 100 : 0;
    utilizationInfo->vectorUtilization = busy ? 100 : 0;
    utilizationInfo->aicpuUtilization = 0;
    utilizationInfo->memoryUtilization = -1;  // documented: not available
    utilizationInfo->utilizationExtend = nullptr;
    return Ok();
  });
}

extern "C" aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return Guard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckSysParamValue(opt, value));
    ProcessSettings::Get().parameters[static_cast<size_t>(opt)].store(value, std::memory_order_relaxed);
    return Ok();
  });
}

extern "C" aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(value);
    MP_RETURN_IF_ERROR(CheckSysParam(opt));
    *value = ProcessSettings::Get().parameters[static_cast<size_t>(opt)].load(std::memory_order_relaxed);
    return Ok();
  });
}

extern "C" aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return Guard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckSysParamValue(opt, value));
    Context* context = nullptr;
    MP_RETURN_IF_ERROR(RequireContext(&context));
    return context->SetSysParam(opt, value);
  });
}

extern "C" aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(value);
    MP_RETURN_IF_ERROR(CheckSysParam(opt));
    Context* context = nullptr;
    MP_RETURN_IF_ERROR(RequireContext(&context));
    return context->GetSysParam(opt, value);
  });
}

extern "C" aclError aclrtGetOpTimeOutInterval(uint64_t* interval) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(interval);
    return TimeoutInterval(interval);
  });
}

extern "C" aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
  return Guard(__func__, [&] { return SetExecuteTimeout(uint64_t{timeout} * 1'000'000, nullptr); });
}

extern "C" aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout) {
  return Guard(__func__, [&] { return SetExecuteTimeout(uint64_t{timeout} * 1'000, nullptr); });
}

extern "C" aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(actualTimeout);
    return SetExecuteTimeout(timeout, actualTimeout);
  });
}

extern "C" aclError aclrtGetOpExecuteTimeout(uint32_t* const timeoutMs) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(timeoutMs);
    uint64_t interval = 0;
    MP_RETURN_IF_ERROR(TimeoutInterval(&interval));
    const uint64_t set = ProcessSettings::Get().execute_timeout_us.load(std::memory_order_relaxed);
    *timeoutMs = static_cast<uint32_t>((set == 0 ? kMaxSteps * interval : set) / 1'000);
    return Ok();
  });
}

extern "C" aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  return Guard(__func__, [&]() -> Status {
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    MP_RETURN_IF_ERROR(CheckSaturation(device->profile(), mode));
    device->saturation_mode.store(mode, std::memory_order_relaxed);
    return Ok();
  });
}

extern "C" aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(mode);
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    *mode = static_cast<aclrtFloatOverflowMode>(device->saturation_mode.load(std::memory_order_relaxed));
    return Ok();
  });
}

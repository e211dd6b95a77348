// SPDX-License-Identifier: Apache-2.0
// Host memory: pinned allocations and registration of what the program allocated itself.
#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/entry.h"
#include "src/api/acl/rt/memory/memory_config.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/device/device.h"
#include "src/device/memory/failing.h"
#include "src/device/memory/memory.h"
#include "src/device/runtime.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace millpond::acl {

Status ReadMallocConfig(const aclrtMallocConfig* config, bool host, MallocSettings* out_settings) {
  if (config == nullptr) return Ok();
  if (!HostCanRead({config})) return WildPointer("cfg", config);
  if (config->numAttrs == 0) return Ok();
  if (config->attrs == nullptr) {
    return InvalidParameter("cfg", Format("attrs is null but numAttrs is %zu", config->numAttrs));
  }
  if (!HostCanRead({config->attrs})) return WildPointer("cfg->attrs", config->attrs);
  for (size_t i = 0; i < config->numAttrs; ++i) {
    const aclrtMallocAttribute& attribute = config->attrs[i];
    switch (attribute.attr) {
      case ACL_RT_MEM_ATTR_MODULE_ID:
        out_settings->module = attribute.value.moduleId;
        break;
      case ACL_RT_MEM_ATTR_DEVICE_ID: {
        Device* device = nullptr;
        MP_RETURN_IF_ERROR(RequireDevice(&device));
        MP_REQUIRE(attribute.value.deviceId == static_cast<uint32_t>(device->id()),
                   "cfg asks for device %u, but the current device is %d; make it current with aclrtSetDevice",
                   attribute.value.deviceId, device->id());
        break;
      }
      case ACL_RT_MEM_ATTR_VA_FLAG: {
        if (!host) return InvalidParameter("cfg", "ACL_RT_MEM_ATTR_VA_FLAG is for aclrtMallocHostWithCfg");
        const uint32_t flag = attribute.value.vaFlag;
        if (flag > 1) return InvalidValue("cfg->attrs.vaFlag", std::to_string(flag), "it must be 0 or 1");
        out_settings->same_address = flag == 1;
        break;
      }
      default:
        return InvalidValue("cfg->attrs.attr", std::to_string(attribute.attr),
                            "it is not an attribute that can be set");
    }
  }
  return Ok();
}

Status SynchronizeAllDevices() {
  Runtime* runtime = Runtime::Existing();
  Status first;
  for (int32_t id = 0; runtime != nullptr && id < runtime->device_count(); ++id) {
    Status status = runtime->device(id)->Synchronize(std::nullopt);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace millpond::acl

namespace {

constexpr uintptr_t kRegisterAlignment = 4096;

Status SeriesOfDevices(Series* out_series) {
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  *out_series = SeriesOf(runtime->profile().name);
  return Ok();
}

Status AllocateHost(void** address, size_t size) {
  if (size == 0) return InvalidValue("size", "0", "it must be greater than 0");
  void* allocated = nullptr;
  MP_RETURN_IF_ERROR(MayFail(size));
  MP_RETURN_IF_ERROR(AllocatePinned(size, &allocated));
  *address = allocated;
  return Ok();
}

Status Register(void* ptr, uint64_t size, bool mapped) {
  if (size == 0) return InvalidValue("size", "0", "it must be greater than 0");
  if (reinterpret_cast<uintptr_t>(ptr) % kRegisterAlignment != 0) {
    return InvalidValue("ptr", Format("%p", ptr), "it must be aligned to 4096 bytes");
  }
  Series series;
  MP_RETURN_IF_ERROR(SeriesOfDevices(&series));
  if (series == Series::k310P || series == Series::kOther) {
    return NotSupported("this product cannot register host memory; use aclrtMallocHost");
  }
  return RegisterHost(ptr, size, mapped);
}

}  // namespace

extern "C" aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return Guard("aclrtMallocHost", [&]() -> Status {
    MP_NOT_NULL(hostPtr);
    return AllocateHost(hostPtr, size);
  });
}

extern "C" aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  return Guard("aclrtMallocHostWithCfg", [&]() -> Status {
    MP_NOT_NULL(ptr);
    MallocSettings settings;
    MP_RETURN_IF_ERROR(ReadMallocConfig(cfg, /*host=*/true, &settings));
    if (settings.same_address) {  // every registration gives the same address here, where the product has it at all
      Series series;
      MP_RETURN_IF_ERROR(SeriesOfDevices(&series));
      if (series != Series::kA2 && series != Series::kA3) {
        return NotSupported("this product has no common addresses of host and device (vaFlag 1)");
      }
    }
    return AllocateHost(ptr, size);
  });
}

extern "C" aclError aclrtFreeHost(void* hostPtr) {
  return Guard("aclrtFreeHost", [&]() -> Status {
    MP_NOT_NULL(hostPtr);
    return FreePinned(hostPtr).Prefixed("hostPtr").Breaks("MP501", hostPtr);
  });
}

extern "C" aclError aclrtFreeHostWithDevSync(void* hostPtr) {
  return Guard("aclrtFreeHostWithDevSync", [&]() -> Status {
    MP_NOT_NULL(hostPtr);
    Status waited = SynchronizeAllDevices();
    MP_RETURN_IF_ERROR(FreePinned(hostPtr).Prefixed("hostPtr").Breaks("MP501", hostPtr));
    return waited;
  });
}

extern "C" aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  return Guard("aclrtHostRegister", [&]() -> Status {
    MP_NOT_NULL(ptr);
    MP_NOT_NULL(devPtr);
    if (type == ACL_HOST_REGISTER_IOMEMORY || type == ACL_HOST_REGISTER_READONLY) {
      return NotSupported("this type of registration is reserved; use ACL_HOST_REGISTER_MAPPED");
    }
    if (type != ACL_HOST_REGISTER_MAPPED) {
      return InvalidValue("type", std::to_string(type), "it must be ACL_HOST_REGISTER_MAPPED");
    }
    MP_RETURN_IF_ERROR(Register(ptr, size, /*mapped=*/true));
    *devPtr = ptr;  // clients that share one address with the device warn about any other
    return Ok();
  });
}

extern "C" aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
  return Guard("aclrtHostRegisterV2", [&]() -> Status {
    MP_NOT_NULL(ptr);
    if ((flag & (ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY)) != 0) {
      return NotSupported("ACL_HOST_REG_IOMEMORY and ACL_HOST_REG_READONLY are reserved");
    }
    if (flag == 0 || (flag & ~(ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED)) != 0) {
      return InvalidValue("flag", Format("0x%x", flag),
                          "it must be made of ACL_HOST_REG_MAPPED and ACL_HOST_REG_PINNED");
    }
    MP_REQUIRE((flag & ACL_HOST_REG_PINNED) == 0 || LookUp(ptr).kind != PointerKind::kPinned,
               "ptr %p is pinned already (aclrtMallocHost); ACL_HOST_REG_PINNED is for other host memory", ptr);
    return Register(ptr, size, (flag & ACL_HOST_REG_MAPPED) != 0);
  });
}

extern "C" aclError aclrtHostUnregister(void* ptr) {
  return Guard("aclrtHostUnregister", [&]() -> Status {
    MP_NOT_NULL(ptr);
    return UnregisterHost(ptr).Prefixed("ptr");
  });
}

extern "C" aclError aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag) {
  return Guard("aclrtHostGetDevicePointer", [&]() -> Status {
    MP_NOT_NULL(pHost);
    MP_NOT_NULL(pDevice);
    if (flag != 0) return InvalidValue("flag", std::to_string(flag), "it is reserved and must be 0");
    return RegisteredDeviceAddress(pHost, pDevice).Prefixed("pHost");
  });
}

extern "C" aclError aclrtHostMemMapCapabilities(uint32_t deviceId, aclrtHacType hacType,
                                                aclrtHostMemMapCapability* capabilities) {
  return OnDevice("aclrtHostMemMapCapabilities", deviceId, "capabilities", capabilities, [&](Device* device) -> Status {
    if (static_cast<uint32_t>(hacType) > ACL_RT_HAC_TYPE_CCU) {
      return InvalidValue("hacType", std::to_string(hacType), "it must be an aclrtHacType");
    }
    const Series series = SeriesOf(device->profile().name);
    const bool registers = series == Series::kA2 || series == Series::kA3 || series == Series::k950;
    // What stands in for the task scheduler, the cores and the copy engines reaches all host memory; the engines for
    // images, networks and collectives do not exist here.
    const bool exists = hacType <= ACL_RT_HAC_TYPE_PCIEDMA || hacType == ACL_RT_HAC_TYPE_SDMA;
    *capabilities = registers && exists ? ACL_RT_HOST_MEM_MAP_SUPPORTED : ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED;
    return Ok();
  });
}

// SPDX-License-Identifier: Apache-2.0
// Device memory: allocation, release, figures, and what an address is.
#include "src/device/memory/memory.h"

#include <cstring>
#include <string>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/memory/memory_config.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/device/device.h"
#include "src/device/memory/device_heap.h"
#include "src/device/memory/failing.h"
#include "src/device/memory/mem_pool.h"
#include "src/device/memory/range_heap.h"
#include "src/device/runtime.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

constexpr size_t kAlign = 32;
constexpr size_t kHugeFrom = size_t{1} << 20;         // beyond this, HUGE_FIRST takes huge pages
constexpr size_t kDefaultHugeFrom = size_t{2} << 20;  // from this on, an unknown policy does

struct Policy {
  PageClass pages = PageClass::kNormal;
  bool fall_back = false;  // to normal pages when the huge ones run out
};

bool IsHuge1G(uint32_t policy) {
  return policy == ACL_MEM_MALLOC_HUGE1G_ONLY || policy == ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
}

// aclrtMemMallocPolicy (CANN's chapter on enumerations). Bandwidth wishes have no effect, as documented.
Status ReadPolicy(uint32_t policy, size_t size, const Profile& profile, Policy* out_policy) {
  if ((policy & ACL_MEM_ACCESS_USER_SPACE_READONLY) != 0) {
    return NotSupported(
        "read-only device memory is not kept apart here; allocate without "
        "ACL_MEM_ACCESS_USER_SPACE_READONLY");
  }
  constexpr uint32_t kBandwidth = ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH;
  switch (policy & ~kBandwidth) {
    case ACL_MEM_MALLOC_HUGE_FIRST:
    case ACL_MEM_MALLOC_HUGE_FIRST_P2P:
      *out_policy = {size > kHugeFrom ? PageClass::kHuge : PageClass::kNormal, true};
      return Ok();
    case ACL_MEM_MALLOC_HUGE_ONLY:
    case ACL_MEM_MALLOC_HUGE_ONLY_P2P:
      *out_policy = {PageClass::kHuge, false};
      return Ok();
    case ACL_MEM_MALLOC_NORMAL_ONLY:
    case ACL_MEM_MALLOC_NORMAL_ONLY_P2P:
      *out_policy = {PageClass::kNormal, false};
      return Ok();
    case ACL_MEM_MALLOC_HUGE1G_ONLY:
    case ACL_MEM_MALLOC_HUGE1G_ONLY_P2P:
      if (const Series series = SeriesOf(profile.name); series == Series::k310P || series == Series::kOther) {
        return NotSupported("this product has no 1 GiB pages; use ACL_MEM_MALLOC_HUGE_FIRST");
      }
      *out_policy = {PageClass::kHuge1G, false};
      return Ok();
    default:
      *out_policy = {size >= kDefaultHugeFrom ? PageClass::kHuge : PageClass::kNormal, false};
      return Ok();
  }
}

// Rounds up to 32 and adds `extra`; refuses what wraps.
Status UsableSize(size_t size, uint64_t extra, size_t* out_bytes) {
  if (size == 0) return InvalidValue("size", "0", "it must be greater than 0");
  const size_t added = kAlign - 1 + extra;
  if (size > SIZE_MAX - added) return InvalidValue("size", std::to_string(size), "it is too large to be rounded up");
  *out_bytes = (size + kAlign - 1) / kAlign * kAlign + extra;
  return Ok();
}

Status Allocate(const char* tag, void** devPtr, size_t size, uint32_t policy, bool padded) {
  MP_NOT_NULL(devPtr);
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(RequireDevice(&device));
  const Profile& profile = device->profile();
  size_t usable = 0;
  MP_RETURN_IF_ERROR(UsableSize(size, padded && !IsHuge1G(policy) ? profile.malloc_extra_bytes : 0, &usable));
  Policy how;
  MP_RETURN_IF_ERROR(ReadPolicy(policy, usable, profile, &how));
  MP_RETURN_IF_ERROR(MayFail(size));
  void* address = nullptr;
  Status status = device->memory().AllocatePages(usable, how.pages, tag, &address);
  if (!status.ok() && status.code() == Code::kOutOfMemory && how.fall_back && how.pages == PageClass::kHuge) {
    status = device->memory().AllocatePages(usable, PageClass::kNormal, tag, &address);
  }
  if (!status.ok() && status.code() == Code::kOutOfMemory && MemPoolsGiveBack(device)) {
    status = device->memory().AllocatePages(usable, how.pages, tag, &address);
  }
  if (status.ok()) *devPtr = address;
  return status;
}

Status AllocateWithConfig(const char* tag, void** devPtr, size_t size, uint32_t policy, const aclrtMallocConfig* cfg) {
  MP_NOT_NULL(devPtr);
  MallocSettings settings;
  MP_RETURN_IF_ERROR(ReadMallocConfig(cfg, /*host=*/false, &settings));
  return Allocate(tag, devPtr, size, policy, /*padded=*/false);
}

// A device that has only DDR answers for HBM with it (page "aclrtGetMemInfo").
bool AttributeExists(aclrtMemAttr attr, const Profile& profile) {
  const Series series = SeriesOf(profile.name);
  switch (attr) {
    case ACL_HBM_MEM:
    case ACL_HBM_MEM_HUGE:
    case ACL_HBM_MEM_NORMAL:
    case ACL_HBM_MEM_P2P_HUGE:
    case ACL_HBM_MEM_P2P_NORMAL:
    case ACL_MEM_NORMAL:
    case ACL_MEM_HUGE:
    case ACL_MEM_P2P_NORMAL:
    case ACL_MEM_P2P_HUGE:
      return true;
    case ACL_DDR_MEM:
    case ACL_DDR_MEM_HUGE:
    case ACL_DDR_MEM_NORMAL:
    case ACL_DDR_MEM_P2P_HUGE:
    case ACL_DDR_MEM_P2P_NORMAL:
      return profile.ddr_only;
    case ACL_HBM_MEM_HUGE1G:
    case ACL_HBM_MEM_P2P_HUGE1G:
    case ACL_MEM_HUGE1G:
    case ACL_MEM_P2P_HUGE1G:
      return series == Series::kA2 || series == Series::kA3;
  }
  return false;
}

// The page size the documents give each kind of memory.
uint32_t PageBytes(const void* address, const PointerInfo& info) {
  constexpr uint32_t kSmall = 4096, kHuge = 2u << 20, kHuge1G = 1u << 30;
  if (info.kind == PointerKind::kMapped || info.kind == PointerKind::kManaged) return kHuge;
  if (info.kind != PointerKind::kDevice) return kSmall;
  HeapBlock block;
  if (!millpond::internal::HeapOf(info.device)->Find(reinterpret_cast<uintptr_t>(address), &block)) return kSmall;
  return block.pages == PageClass::kHuge1G ? kHuge1G : block.pages == PageClass::kHuge ? kHuge : kSmall;
}

Status CheckCacheRange(void* devPtr, size_t size) {
  MP_NOT_NULL(devPtr);
  if (size == 0) return InvalidValue("size", "0", "it must be greater than 0");
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange("devPtr", devPtr, size, &info));
  MP_REQUIRE(info.kind != PointerKind::kPageable, "devPtr %p is not device memory", devPtr);
  // Host and virtual device share one coherent cache: what is asked for is so already.
  return Ok();
}

}  // namespace

extern "C" aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return Guard("aclrtMalloc", [&] { return Allocate("aclrtMalloc", devPtr, size, policy, /*padded=*/true); });
}

extern "C" aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return Guard("aclrtMallocAlign32",
               [&] { return Allocate("aclrtMallocAlign32", devPtr, size, policy, /*padded=*/false); });
}

extern "C" aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return Guard("aclrtMallocCached",
               [&] { return Allocate("aclrtMallocCached", devPtr, size, policy, /*padded=*/true); });
}

extern "C" aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                       aclrtMallocConfig* cfg) {
  return Guard("aclrtMallocWithCfg",
               [&] { return AllocateWithConfig("aclrtMallocWithCfg", devPtr, size, policy, cfg); });
}

extern "C" aclError aclrtMallocForTaskScheduler(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                                aclrtMallocConfig* cfg) {
  return Guard("aclrtMallocForTaskScheduler",
               [&] { return AllocateWithConfig("aclrtMallocForTaskScheduler", devPtr, size, policy, cfg); });
}

extern "C" aclError aclrtFree(void* devPtr) {
  return Guard("aclrtFree", [&]() -> Status {
    MP_NOT_NULL(devPtr);
    // No context is needed: programs free from static destructors, after aclFinalize, from threads of their own.
    return FreeDeviceAddress(devPtr).Prefixed("devPtr").Breaks("MP501", devPtr);
  });
}

extern "C" aclError aclrtFreeWithDevSync(void* devPtr) {
  return Guard("aclrtFreeWithDevSync", [&]() -> Status {
    MP_NOT_NULL(devPtr);
    Runtime* runtime = Runtime::Existing();
    const int32_t owner = DeviceOfAddress(devPtr);
    // A failed task is reported, and the memory is freed all the same: the caller has given it up.
    Status waited =
        owner >= 0 && runtime != nullptr ? runtime->device(owner)->Synchronize(std::nullopt) : SynchronizeAllDevices();
    MP_RETURN_IF_ERROR(FreeDeviceAddress(devPtr).Prefixed("devPtr"));
    return waited;
  });
}

extern "C" aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return Guard("aclrtGetMemInfo", [&]() -> Status {
    MP_NOT_NULL(free);
    MP_NOT_NULL(total);
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(RequireDevice(&device));
    const auto value = static_cast<uint32_t>(attr);
    if (value > ACL_MEM_P2P_HUGE1G) return InvalidValue("attr", std::to_string(value), "it must be an aclrtMemAttr");
    const bool exists = AttributeExists(attr, device->profile());
    *total = exists ? device->memory().total_bytes() : 0;
    *free = exists ? device->memory().free_bytes() : 0;
    return Ok();
  });
}

extern "C" aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum,
                                         size_t* outputNum) {
  return Guard("aclrtGetMemUsageInfo", [&]() -> Status {
    MP_NOT_NULL(memUsageInfo);
    MP_NOT_NULL(outputNum);
    if (inputNum == 0) return InvalidValue("inputNum", "0", "it must be greater than 0");
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(FindDevice(deviceId, &device));
    // There is one component here: the program.
    *memUsageInfo = {};
    std::strcpy(memUsageInfo->name, "APP");
    memUsageInfo->curMemSize = device->memory().total_bytes() - device->memory().free_bytes();
    memUsageInfo->memPeakSize = device->memory().peak_bytes();
    *outputNum = 1;
    return Ok();
  });
}

extern "C" aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  return Guard("aclrtPointerGetAttributes", [&]() -> Status {
    MP_NOT_NULL(ptr);
    MP_NOT_NULL(attributes);
    const PointerInfo info = LookUp(ptr);
    *attributes = {};
    switch (info.kind) {
      case PointerKind::kDevice:
      case PointerKind::kMapped:
        attributes->location = {static_cast<uint32_t>(info.device), ACL_MEM_LOCATION_TYPE_DEVICE};
        break;
      case PointerKind::kPinned:
      case PointerKind::kRegistered:
        attributes->location.type = ACL_MEM_LOCATION_TYPE_HOST;
        break;
      case PointerKind::kManaged:
        attributes->location.type = ACL_MEM_LOCATION_TYPE_MANAGED;
        break;
      case PointerKind::kPageable:
      case PointerKind::kReserved:
      case PointerKind::kUnallocated:
        attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
        return Ok();
    }
    attributes->pageSize = PageBytes(ptr, info);
    return Ok();
  });
}

extern "C" aclError aclrtMemGetAddressRange(void* ptr, void** pbase, size_t* psize) {
  return Guard("aclrtMemGetAddressRange", [&]() -> Status {
    MP_NOT_NULL(ptr);
    MP_CHECK(pbase != nullptr || psize != nullptr, kRuntimeArgument,
             "pbase and psize are both null: ask for one of them");
    PointerInfo info = LookUp(ptr);
    // A pool's pages hold many blocks; the range is the block's.
    if (void* base = nullptr; info.kind == PointerKind::kMapped && FindMemPoolBlock(ptr, &base, &info.bytes)) {
      info.base = base;
    }
    MP_CHECK(info.on_device() || info.kind == PointerKind::kPinned || info.kind == PointerKind::kManaged,
             kRuntimeArgument, "ptr %p lies in no block that acl allocated or mapped", ptr);
    if (pbase != nullptr) *pbase = const_cast<void*>(info.base);
    if (psize != nullptr) *psize = info.bytes;
    return Ok();
  });
}

extern "C" aclError aclrtCheckMemType(void** addrList, uint32_t size, uint32_t memType, uint32_t* checkResult,
                                      uint32_t reserve) {
  return Guard("aclrtCheckMemType", [&]() -> Status {
    MP_NOT_NULL(checkResult);
    MP_NOT_NULL(addrList);
    constexpr uint32_t kKnown = ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_DVPP | ACL_RT_MEM_TYPE_RSVD;
    if (reserve != 0) return InvalidValue("reserve", std::to_string(reserve), "it is reserved and must be 0");
    if (size == 0) return InvalidValue("size", "0", "it must be greater than 0");
    if (memType == 0 || (memType & ~kKnown) != 0) {
      return InvalidValue("memType", std::to_string(memType),
                          "it must be made of ACL_RT_MEM_TYPE_DEV, _DVPP and _RSVD");
    }
    *checkResult = 1;
    for (uint32_t i = 0; i < size; ++i) {
      const PointerInfo info = LookUp(addrList[i]);
      uint32_t type = 0;
      if (info.kind == PointerKind::kDevice) type = ACL_RT_MEM_TYPE_DEV;
      if (info.kind == PointerKind::kMapped || info.kind == PointerKind::kReserved) type = ACL_RT_MEM_TYPE_RSVD;
      if ((type & memType) == 0) *checkResult = 0;
    }
    return Ok();
  });
}

extern "C" aclError aclrtMemFlush(void* devPtr, size_t size) {
  return Guard("aclrtMemFlush", [&] { return CheckCacheRange(devPtr, size); });
}

extern "C" aclError aclrtMemInvalidate(void* devPtr, size_t size) {
  return Guard("aclrtMemInvalidate", [&] { return CheckCacheRange(devPtr, size); });
}

extern "C" aclError aclrtMemP2PMap(void* devPtr, size_t size, int32_t dstDevId, uint64_t flags) {
  return Guard("aclrtMemP2PMap", [&]() -> Status {
    MP_NOT_NULL(devPtr);
    if (size == 0) return InvalidValue("size", "0", "it must be greater than 0");
    if (flags != 0) return InvalidValue("flags", std::to_string(flags), "it is reserved and must be 0");
    Device* peer = nullptr;
    MP_RETURN_IF_ERROR(FindDevice(dstDevId, &peer));
    PointerInfo info;
    MP_RETURN_IF_ERROR(CheckRange("devPtr", devPtr, size, &info));
    MP_REQUIRE(info.on_device(), "devPtr %p is not device memory", devPtr);
    // Page "aclrtMemP2PMap": the two devices exchange data before. The mapping itself is there already.
    MP_CHECK(peer->MayReach(info.device), kRuntimeArgument,
             "devPtr %p is memory of device %d, which device %d may not reach; call aclrtDeviceEnablePeerAccess(%d, 0) "
             "while device %d is current",
             devPtr, info.device, dstDevId, info.device, dstDevId);
    return Ok();
  });
}

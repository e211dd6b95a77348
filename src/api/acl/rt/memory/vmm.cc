// SPDX-License-Identifier: Apache-2.0
// Virtual memory management (CANN's chapter on virtual memory). What the shim itself refuses is 100000; what the
// documents leave to the runtime below it is 107000.
#include "src/device/memory/vmm.h"

#include <vector>

#include "include/acl/acl_rt.h"
#include "src/api/acl/rt/memory/physical_prop.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/device/device.h"
#include "src/device/memory/failing.h"
#include "src/device/memory/mem_pool.h"
#include "src/device/runtime.h"
#include "src/device/share/physical_share.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

extern "C" aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop, aclrtMemGranularityOptions option,
                                                     size_t* granularity) {
  return Guard("aclrtMemGetAllocationGranularity", [&]() -> Status {
    MP_NOT_NULL(prop);
    MP_NOT_NULL(granularity);
    PhysicalSpec spec;
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(SpecFromProp(*prop, &spec, &device));
    MP_CHECK(option == ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM || option == ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED,
             kRuntimeArgument, "option is %d; minimum (%d) or recommended (%d)", static_cast<int>(option),
             ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    *granularity = spec.granule;
    return Ok();
  });
}

namespace {

Status CheckReservation(size_t size, const char* least, uint64_t flags) {
  MP_REQUIRE(size > 0, "size is 0; reserve at least %s", least);
  // 1 is what early clients pass (torch_npu does); it means the same.
  MP_REQUIRE(flags <= 1, "flags is %llu; only 0 is supported", static_cast<unsigned long long>(flags));
  return Ok();
}

Status ReserveAddress(void** out_address, size_t size, size_t alignment, void* wanted) {
  MP_CHECK(alignment == 0, kRuntimeArgument, "alignment is %zu; only 0 is supported (addresses come 2 MiB aligned)",
           alignment);
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  // A reservation needs no device; it is counted for the current one where there is one.
  const Context* context = CurrentContext();
  return Vmm::Get().Reserve(context != nullptr ? context->device()->id() : 0, size, wanted, out_address);
}

}  // namespace

extern "C" aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                           uint64_t flags) {
  return Guard("aclrtReserveMemAddress", [&]() -> Status {
    MP_NOT_NULL(virPtr);
    MP_RETURN_IF_ERROR(CheckReservation(size, "one byte", flags));
    return ReserveAddress(virPtr, size, alignment, expectPtr);
  });
}

extern "C" aclError aclrtReserveMemAddressNoUCMemory(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                                     uint64_t flags) {
  return Guard("aclrtReserveMemAddressNoUCMemory", [&]() -> Status {
    MP_NOT_NULL(virPtr);
    MP_RETURN_IF_ERROR(CheckReservation(size, "1 GiB", flags));
    Runtime* runtime = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    MP_CHECK(SeriesOf(runtime->profile().name) == Series::kA3, kUnsupported,
             "%s does not have this function; use aclrtReserveMemAddress", runtime->profile().name.c_str());
    MP_CHECK(size % (size_t{1} << 30) == 0, kRuntimeArgument, "size is %zu; it must be a multiple of 1 GiB", size);
    MP_CHECK(expectPtr != nullptr, kRuntimeArgument,
             "expectPtr is null; this function only reserves addresses of the caller's choice");
    return ReserveAddress(virPtr, size, alignment, expectPtr);
  });
}

extern "C" aclError aclrtReleaseMemAddress(void* virPtr) {
  return Guard("aclrtReleaseMemAddress", [&]() -> Status {
    MP_NOT_NULL(virPtr);
    MP_RETURN_IF_ERROR(RefuseMemPoolAddress("virPtr", virPtr));
    return Vmm::Get().Release(virPtr);
  });
}

extern "C" aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp* prop,
                                        uint64_t flags) {
  return Guard("aclrtMallocPhysical", [&]() -> Status {
    MP_NOT_NULL(handle);
    MP_NOT_NULL(prop);
    MP_REQUIRE(size > 0, "size is 0; ask for at least one granule (aclrtMemGetAllocationGranularity)");
    MP_REQUIRE(flags == 0, "flags is %llu; only 0 is supported", static_cast<unsigned long long>(flags));
    MP_REQUIRE(prop->handleType == ACL_MEM_HANDLE_TYPE_NONE, "prop->handleType is %d; only %d (none) is supported",
               static_cast<int>(prop->handleType), ACL_MEM_HANDLE_TYPE_NONE);
    MP_REQUIRE(prop->allocationType == ACL_MEM_ALLOCATION_TYPE_PINNED,
               "prop->allocationType is %d; only %d (pinned) is supported", static_cast<int>(prop->allocationType),
               ACL_MEM_ALLOCATION_TYPE_PINNED);
    PhysicalSpec spec;
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(SpecFromProp(*prop, &spec, &device));
    Context* context = nullptr;
    if (spec.side == MemorySide::kHostNuma) MP_RETURN_IF_ERROR(RequireContext(&context));
    MP_RETURN_IF_ERROR(MayFail(size));
    return Vmm::Get().CreatePhysical(device != nullptr ? &device->memory() : nullptr, spec, size, handle);
  });
}

extern "C" aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  return Guard("aclrtFreePhysical", [&]() -> Status {
    MP_NOT_NULL(handle);
    return FreePhysicalHandle(handle);
  });
}

namespace {

Status MapMemory(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags, bool accessible) {
  MP_NOT_NULL(virPtr);
  MP_NOT_NULL(handle);
  MP_REQUIRE(size > 0, "size is 0; map the whole of the physical memory");
  MP_REQUIRE(flags == 0, "flags is %llu; only 0 is supported", static_cast<unsigned long long>(flags));
  MP_RETURN_IF_ERROR(RefuseMemPoolAddress("virPtr", virPtr));
  return Vmm::Get().Map(virPtr, size, offset, handle, accessible);
}

}  // namespace

extern "C" aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
  return Guard("aclrtMapMem", [&] { return MapMemory(virPtr, size, offset, handle, flags, /*accessible=*/true); });
}

extern "C" aclError aclrtMemMapNoAccess(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                                        uint64_t flags) {
  return Guard("aclrtMemMapNoAccess",
               [&] { return MapMemory(virPtr, size, offset, handle, flags, /*accessible=*/false); });
}

extern "C" aclError aclrtUnmapMem(void* virPtr) {
  return Guard("aclrtUnmapMem", [&]() -> Status {
    MP_NOT_NULL(virPtr);
    MP_RETURN_IF_ERROR(RefuseMemPoolAddress("virPtr", virPtr));
    return Vmm::Get().Unmap(virPtr);
  });
}

extern "C" aclError aclrtMemSetAccess(void* virPtr, size_t size, aclrtMemAccessDesc* desc, size_t count) {
  return Guard("aclrtMemSetAccess", [&]() -> Status {
    MP_CHECK(virPtr != nullptr, kRuntimeArgument, "virPtr is null; pass what was mapped (aclrtMapMem)");
    MP_CHECK(desc != nullptr, kRuntimeArgument, "desc is null; say who gets which access");
    MP_CHECK(count > 0 && count <= 1024, kRuntimeArgument, "count is %zu; 1 to 1024 descriptions are possible", count);
    Runtime* runtime = nullptr;
    MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
    std::vector<AccessRule> rules(count);
    for (size_t i = 0; i < count; ++i) {
      MP_RETURN_IF_ERROR(SideFromLocation(desc[i].location, Code::kRuntimeArgument, &rules[i].side));
      Device* device = nullptr;
      if (rules[i].side == MemorySide::kDevice) {
        MP_RETURN_IF_ERROR(runtime->FindDevice(desc[i].location.id, &device));
        rules[i].id = device->id();
      }
      MP_CHECK(desc[i].flags == ACL_RT_MEM_ACCESS_FLAGS_NONE || desc[i].flags == ACL_RT_MEM_ACCESS_FLAGS_READ ||
                   desc[i].flags == ACL_RT_MEM_ACCESS_FLAGS_READWRITE,
               kRuntimeArgument, "desc[%zu].flags is %d; none (0), read (1) or read and write (3)", i,
               static_cast<int>(desc[i].flags));
      rules[i].access = static_cast<MemoryAccess>(desc[i].flags);
    }
    MP_RETURN_IF_ERROR(RefuseMemPoolAddress("virPtr", virPtr));
    return Vmm::Get().SetAccess(virPtr, size, rules);
  });
}

extern "C" aclError aclrtMemGetAccess(void* virPtr, aclrtMemLocation* location, uint64_t* flag) {
  return Guard("aclrtMemGetAccess", [&]() -> Status {
    MP_NOT_NULL(virPtr);
    MP_NOT_NULL(location);
    MP_NOT_NULL(flag);
    MP_CHECK(location->type == ACL_MEM_LOCATION_TYPE_HOST || location->type == ACL_MEM_LOCATION_TYPE_DEVICE,
             kRuntimeArgument, "location->type is %d; host (%d) or device (%d)", static_cast<int>(location->type),
             ACL_MEM_LOCATION_TYPE_HOST, ACL_MEM_LOCATION_TYPE_DEVICE);
    int32_t id = 0;
    const bool on_device = location->type == ACL_MEM_LOCATION_TYPE_DEVICE;
    if (on_device) {
      Device* device = nullptr;
      MP_RETURN_IF_ERROR(FindDevice(location->id, &device));
      id = device->id();
    }
    MemoryAccess access = MemoryAccess::kNone;
    MP_RETURN_IF_ERROR(Vmm::Get().GetAccess(virPtr, on_device ? MemorySide::kDevice : MemorySide::kHost, id, &access));
    *flag = static_cast<uint64_t>(access);
    return Ok();
  });
}

extern "C" aclError aclrtMemRetainAllocationHandle(void* virPtr, aclrtDrvMemHandle* handle) {
  return Guard("aclrtMemRetainAllocationHandle", [&]() -> Status {
    MP_NOT_NULL(virPtr);
    MP_NOT_NULL(handle);
    MP_RETURN_IF_ERROR(RefuseMemPoolAddress("virPtr", virPtr));
    return Vmm::Get().Retain(virPtr, handle);
  });
}

extern "C" aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle, aclrtPhysicalMemProp* prop) {
  return Guard("aclrtMemGetAllocationPropertiesFromHandle", [&]() -> Status {
    MP_NOT_NULL(handle);
    MP_NOT_NULL(prop);
    std::shared_ptr<Physical> physical;
    MP_RETURN_IF_ERROR(Vmm::Get().FindPhysical(handle, &physical));
    PropFromSpec(physical->spec(), prop);
    return Ok();
  });
}

// Links between dies exist on some boards and on no CPU: a choice between them would be success for nothing.
extern "C" aclError aclrtMemMapSetLink(aclrtDrvMemHandle handle, aclrtMemLinkType adviceLink) {
  return Guard("aclrtMemMapSetLink", [&]() -> Status {
    MP_NOT_NULL(handle);
    std::shared_ptr<Physical> physical;
    MP_RETURN_IF_ERROR(Vmm::Get().FindPhysical(handle, &physical));
    return Unsupported(Format("aclrtMemMapSetLink: a virtual device has no links to choose from (adviceLink %d)",
                              static_cast<int>(adviceLink)));
  });
}

extern "C" aclError aclrtMemMapSelectedLink(void* virPtrDst, size_t size, void* virPtrSrc, uint32_t linkIdx) {
  return Guard("aclrtMemMapSelectedLink", [&]() -> Status {
    MP_NOT_NULL(virPtrDst);
    MP_NOT_NULL(virPtrSrc);
    MP_REQUIRE(size > 0, "size is 0");
    MP_REQUIRE(linkIdx <= ACL_RT_MEM_LINK_IDX_1, "linkIdx is %u; 0 or 1", linkIdx);
    return Unsupported(
        "aclrtMemMapSelectedLink: a virtual device has no links to choose from; map the handle a second time "
        "(aclrtMapMem)");
  });
}

// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory pools (CANN's chapter on memory pools). What the shim itself refuses is 100000; what the
// reference leaves to the runtime below it is 107000.
#include "src/device/memory/mem_pool.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "include/acl/acl_rt_memory_soma.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/device/device.h"
#include "src/device/memory/failing.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"
#include "src/trace/emit.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT
using Teller = trace::PoolPiece::Teller;

namespace {

Status CheckProps(const aclrtMemPoolProps& props) {
  MP_REQUIRE(props.allocType == ACL_MEM_ALLOCATION_TYPE_PINNED,
             "poolProps->allocType is %d; only %d (pinned) is supported", static_cast<int>(props.allocType),
             ACL_MEM_ALLOCATION_TYPE_PINNED);
  MP_REQUIRE(props.location.type == ACL_MEM_LOCATION_TYPE_DEVICE,
             "poolProps->location.type is %d; only %d (device) is supported", static_cast<int>(props.location.type),
             ACL_MEM_LOCATION_TYPE_DEVICE);
  // POSIX says that the memory could be exported; the ABI has no call that exports a pool's, so both mean the same.
  MP_REQUIRE(props.handleType == ACL_MEM_HANDLE_TYPE_NONE || props.handleType == ACL_MEM_HANDLE_TYPE_POSIX,
             "poolProps->handleType is %d; %d (none) or %d (POSIX)", static_cast<int>(props.handleType),
             ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_HANDLE_TYPE_POSIX);
  const bool zero = std::all_of(std::begin(props.reserved), std::end(props.reserved), [](auto c) { return c == 0; });
  MP_REQUIRE(zero, "poolProps->reserved is not all zero; clear the whole structure before filling it in");
  return Ok();
}

bool IsSwitch(aclrtMemPoolAttr attr) {
  return attr == ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES || attr == ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC ||
         attr == ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

// An attribute nobody knows has a type nobody knows: refused before the value is touched.
Status CheckAttribute(aclrtMemPoolAttr attr, const void* value) {
  MP_CHECK(attr >= ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES && attr <= ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH,
           kRuntimeArgument, "attr is %d; it is an aclrtMemPoolAttr, %d to %d", static_cast<int>(attr),
           ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH);
  MP_CHECK(value != nullptr, kRuntimeArgument, "value is null; point it at a %s",
           IsSwitch(attr) ? "uint32_t" : "uint64_t");
  return Ok();
}

}  // namespace

extern "C" aclError aclrtMemPoolCreate(aclrtMemPool* memPool, const aclrtMemPoolProps* poolProps) {
  return Guard("aclrtMemPoolCreate", [&]() -> Status {
    MP_NOT_NULL(memPool);
    MP_NOT_NULL(poolProps);
    MP_RETURN_IF_ERROR(CheckProps(*poolProps));
    Context* context = nullptr;
    MP_RETURN_IF_ERROR(RequireContext(&context));
    Device* device = nullptr;
    MP_RETURN_IF_ERROR(FindDevice(poolProps->location.id, &device));
    return CreateMemPool(device, poolProps->maxSize, memPool);
  });
}

extern "C" aclError aclrtMemPoolDestroy(aclrtMemPool memPool) {
  return Guard("aclrtMemPoolDestroy", [&]() -> Status {
    MP_NOT_NULL(memPool);
    return DestroyMemPool(memPool);
  });
}

extern "C" aclError aclrtMemPoolSetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void* value) {
  return Guard("aclrtMemPoolSetAttr", [&]() -> Status {
    MP_NOT_NULL(memPool);
    MP_RETURN_IF_ERROR(CheckAttribute(attr, value));
    const uint64_t wanted =
        IsSwitch(attr) ? *static_cast<const uint32_t*>(value) : *static_cast<const uint64_t*>(value);
    return SetMemPoolAttribute(memPool, static_cast<MemPoolAttribute>(attr), wanted);
  });
}

extern "C" aclError aclrtMemPoolGetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void* value) {
  return Guard("aclrtMemPoolGetAttr", [&]() -> Status {
    MP_NOT_NULL(memPool);
    MP_RETURN_IF_ERROR(CheckAttribute(attr, value));
    uint64_t found = 0;
    MP_RETURN_IF_ERROR(GetMemPoolAttribute(memPool, static_cast<MemPoolAttribute>(attr), &found));
    if (IsSwitch(attr)) {
      *static_cast<uint32_t*>(value) = static_cast<uint32_t>(found);
    } else {
      *static_cast<uint64_t*>(value) = found;
    }
    return Ok();
  });
}

extern "C" aclError aclrtMemPoolMallocAsync(void** ptr, size_t size, aclrtMemPool memPool, aclrtStream stream) {
  return Guard("aclrtMemPoolMallocAsync", [&]() -> Status {
    MP_NOT_NULL(ptr);
    MP_NOT_NULL(memPool);
    MP_NOT_NULL(stream);
    if (size == 0) {  // succeeds in the reference too; a null pointer is what no memory looks like
      *ptr = nullptr;
      return Ok();
    }
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    MP_RETURN_IF_ERROR(MayFail(size));
    MP_RETURN_IF_ERROR(AllocateFromMemPool(memPool, size, *found, ptr));
    trace::TellPiece(true, Teller::kProgram, found->device()->id(), *ptr, size, nullptr, stream);
    return Ok();
  });
}

extern "C" aclError aclrtMemPoolFreeAsync(void* ptr, aclrtStream stream) {
  return Guard("aclrtMemPoolFreeAsync", [&]() -> Status {
    MP_NOT_NULL(ptr);
    MP_NOT_NULL(stream);
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    // Before it: another thread may have it a moment later.
    trace::TellPiece(false, Teller::kProgram, found->device()->id(), ptr, 0, nullptr, stream);
    return FreeToMemPool(ptr, *found);
  });
}

extern "C" aclError aclrtMemPoolTrimTo(aclrtMemPool memPool, size_t minBytesToKeep) {
  return Guard("aclrtMemPoolTrimTo", [&]() -> Status {
    MP_NOT_NULL(memPool);
    return TrimMemPool(memPool, minBytesToKeep);
  });
}

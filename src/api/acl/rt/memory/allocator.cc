// SPDX-License-Identifier: Apache-2.0
// The aclrtAllocator family (docs/compat.md, "Allocator descriptors"): descriptors and the registry's acl door. None of
// these needs aclInit, a context or a live stream.
#include <cstddef>
#include <memory>
#include <new>

#include "include/acl/acl_rt_allocator.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/magic.h"
#include "src/api/common/message.h"
#include "src/device/memory/allocator_registry.h"
#include "src/device/runtime.h"
#include "src/trace/emit.h"

namespace millpond::acl {

namespace {

// What an aclrtAllocatorDesc points to. A reference test casts the handle to these five pointers in this order, so it
// is an address; it is looked up before it is followed, as every handle is.
struct AllocatorDesc {
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc alloc = nullptr;
  aclrtAllocatorFreeFunc free = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address_of = nullptr;
  Magic<0x6d70416c6c6f6344> magic;
};
static_assert(offsetof(AllocatorDesc, object) == 0 && offsetof(AllocatorDesc, alloc) == sizeof(void*) &&
              offsetof(AllocatorDesc, free) == 2 * sizeof(void*) &&
              offsetof(AllocatorDesc, advise) == 3 * sizeof(void*) &&
              offsetof(AllocatorDesc, address_of) == 4 * sizeof(void*));

// A registration: a copy of the descriptor's fields, and the descriptor's value as an opaque tag that stays valid to
// hand out after the descriptor is gone.
class AclAllocator : public ExternalAllocator {
 public:
  AclAllocator(aclrtAllocatorDesc tag, const AllocatorDesc& desc) : tag_(tag), desc_(desc) {}

  void* Allocate(size_t bytes) override { return desc_.alloc(desc_.object, bytes); }
  void* AllocateAdvise(size_t bytes, void* address) override {
    return desc_.advise == nullptr ? Allocate(bytes) : desc_.advise(desc_.object, bytes, address);
  }
  void Free(void* block) override { desc_.free(desc_.object, block); }
  void* AddressOf(void* block) override { return desc_.address_of(block); }
  const char* NameOf(AllocatorCallback callback) const override {
    switch (callback) {
      case AllocatorCallback::kAllocateAdvise:
        if (desc_.advise != nullptr)
          return "the allocator's alloc-advise function (aclrtAllocatorSetAllocAdviseFuncToDesc)";
        break;  // the alloc function was called instead
      case AllocatorCallback::kFree:
        return "the allocator's free function (aclrtAllocatorSetFreeFuncToDesc)";
      case AllocatorCallback::kAddress:
        return "the allocator's get-address function (aclrtAllocatorSetGetAddrFromBlockFuncToDesc)";
      case AllocatorCallback::kAllocate:
      case AllocatorCallback::kHandOver:
        break;
    }
    return "the allocator's alloc function (aclrtAllocatorSetAllocFuncToDesc)";
  }
  const void* identity() const override { return desc_.object; }

  aclrtAllocatorDesc tag() const { return tag_; }
  const AllocatorDesc& desc() const { return desc_; }

 private:
  void* const tag_;
  const AllocatorDesc desc_;
};

Status FindDesc(aclrtAllocatorDesc allocatorDesc, AllocatorDesc** out_desc) {
  MP_NOT_NULL(allocatorDesc);
  *out_desc = static_cast<AllocatorDesc*>(allocatorDesc);
  if (IsAlive(*out_desc)) return Ok();
  return InvalidValue("allocatorDesc", Format("%p", allocatorDesc),
                      "it is not a live descriptor: aclrtAllocatorCreateDesc did not give it, or it was destroyed")
      .Breaks("MP107", allocatorDesc);
}

Status RequireComplete(const AllocatorDesc& desc) {
  if (desc.object == nullptr) return NullPointer("allocatorDesc->obj");
  if (desc.alloc == nullptr) return NullPointer("allocatorDesc->allocFunc");
  if (desc.free == nullptr) return NullPointer("allocatorDesc->freeFunc");
  if (desc.address_of == nullptr) return NullPointer("allocatorDesc->getAddrFromBlockFunc");
  return Ok();
}

Status RequireSupport() {
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  if (!runtime->profile().allocator_register) {
    return Unsupported(Format("the device profile %s does not take external allocators (allocator_register = 0)",
                              runtime->profile().name.c_str()))
        .Breaks("MP111");
  }
  return Ok();
}

template <class Value>
aclError SetField(const char* api, aclrtAllocatorDesc allocatorDesc, Value AllocatorDesc::*field, Value value,
                  const char* parameter) {
  return Guard(api, [&]() -> Status {
    AllocatorDesc* desc = nullptr;
    MP_RETURN_IF_ERROR(FindDesc(allocatorDesc, &desc));
    if (value == nullptr) return NullPointer(parameter);
    desc->*field = value;
    return Ok();
  });
}

template <class T>
void Put(T* out, T value) {
  if (out != nullptr) *out = value;
}

}  // namespace

}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" aclrtAllocatorDesc aclrtAllocatorCreateDesc() {
  AllocatorDesc* desc = nullptr;
  static_cast<void>(Guard(__func__, [&] {
    desc = new AllocatorDesc;
    trace::TellObject(true, trace::ObjectKind::kAllocatorDescriptor, -1, desc);
    return Ok();
  }));
  return desc;
}

extern "C" aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc allocatorDesc) {
  return Guard(__func__, [&]() -> Status {
    AllocatorDesc* desc = nullptr;
    MP_RETURN_IF_ERROR(FindDesc(allocatorDesc, &desc));
    MP_RETURN_IF_ERROR(Destroy("allocatorDesc", desc));
    trace::TellObject(false, trace::ObjectKind::kAllocatorDescriptor, -1, allocatorDesc);
    return Ok();
  });
}

extern "C" aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocator allocator) {
  return SetField(__func__, allocatorDesc, &AllocatorDesc::object, allocator, "allocator");
}
extern "C" aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorAllocFunc func) {
  return SetField(__func__, allocatorDesc, &AllocatorDesc::alloc, func, "func");
}
extern "C" aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorFreeFunc func) {
  return SetField(__func__, allocatorDesc, &AllocatorDesc::free, func, "func");
}
extern "C" aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                           aclrtAllocatorAllocAdviseFunc func) {
  return SetField(__func__, allocatorDesc, &AllocatorDesc::advise, func, "func");
}
extern "C" aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                                aclrtAllocatorGetAddrFromBlockFunc func) {
  return SetField(__func__, allocatorDesc, &AllocatorDesc::address_of, func, "func");
}

extern "C" aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc allocatorDesc) {
  return Guard(__func__, [&]() -> Status {
    if (stream == nullptr) return NullPointer("stream").Breaks("MP101");
    AllocatorDesc* desc = nullptr;
    MP_RETURN_IF_ERROR(FindDesc(allocatorDesc, &desc));
    MP_RETURN_IF_ERROR(RequireComplete(*desc).Breaks("MP102", allocatorDesc));
    MP_RETURN_IF_ERROR(RequireSupport());
    AllocatorRegistry::Get().Register(AllocatorDoor::kAcl, stream,
                                      GuardedAllocator::Make(std::make_unique<AclAllocator>(allocatorDesc, *desc)));
    return Ok();
  });
}

extern "C" aclError aclrtAllocatorUnregister(aclrtStream stream) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(stream);
    AllocatorRegistry::Get().Unregister(AllocatorDoor::kAcl, stream);
    return Ok();
  });
}

extern "C" aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc* allocatorDesc,
                                              aclrtAllocator* allocator, aclrtAllocatorAllocFunc* allocFunc,
                                              aclrtAllocatorFreeFunc* freeFunc,
                                              aclrtAllocatorAllocAdviseFunc* allocAdviseFunc,
                                              aclrtAllocatorGetAddrFromBlockFunc* getAddrFromBlockFunc) {
  return Guard(__func__, [&]() -> Status {
    MP_NOT_NULL(allocatorDesc);
    MP_NOT_NULL(stream);
    const AllocatorLease lease = AllocatorRegistry::Get().Acquire(AllocatorDoor::kAcl, stream);
    if (lease == nullptr) return InvalidParameter("stream", "The stream is not registered with any allocator");
    // This file is the only one that registers at the acl door.
    const auto& registered = static_cast<const AclAllocator&>(lease->external());
    *allocatorDesc = registered.tag();
    Put(allocator, registered.desc().object);
    Put(allocFunc, registered.desc().alloc);
    Put(freeFunc, registered.desc().free);
    Put(allocAdviseFunc, registered.desc().advise);
    Put(getAddrFromBlockFunc, registered.desc().address_of);
    return Ok();
  });
}

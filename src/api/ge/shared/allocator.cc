// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge/shared/allocator.h"

#include <memory>
#include <utility>

#include "src/api/ge/shared/entry.h"
#include "src/device/memory/allocator_registry.h"
#include "src/exec/session/error.h"

namespace millpond::geapi {

namespace {

// Keeps the client's object alive while a registration or a block of it lives. Blocks go back by MemBlock::Free, which
// calls the client's Free when the last of its owners is gone.
class GeAllocator : public ExternalAllocator {
 public:
  explicit GeAllocator(::ge::AllocatorPtr allocator) : allocator_(std::move(allocator)) {}

  void* Allocate(size_t bytes) override { return allocator_->Malloc(bytes); }
  void* AllocateAdvise(size_t bytes, void* address) override { return allocator_->MallocAdvise(bytes, address); }
  void Free(void* block) override { static_cast<::ge::MemBlock*>(block)->Free(); }
  void* AddressOf(void* block) override { return static_cast<::ge::MemBlock*>(block)->GetAddr(); }
  const char* NameOf(AllocatorCallback callback) const override {
    switch (callback) {
      case AllocatorCallback::kAllocate:
        return "the allocator's Malloc";
      case AllocatorCallback::kAllocateAdvise:
        return "the allocator's MallocAdvise";
      case AllocatorCallback::kFree:
        return "the allocator's Free";
      case AllocatorCallback::kAddress:
        return "the GetAddr of the allocator's MemBlock";
    }
    return "the allocator";
  }
  const void* identity() const override { return allocator_.get(); }

 private:
  const ::ge::AllocatorPtr allocator_;
};

Status NullArgument(const char* name) { return SequenceError(Code::kInvalidArgument, std::string(name) + " is null"); }

}  // namespace

::ge::Status RegisterAllocator(uint64_t session_id, const void* stream, ::ge::AllocatorPtr allocator) {
  return EnterSession("RegisterExternalAllocator", session_id, Numbers::kMemory, [&](session::Session&) -> Status {
    if (stream == nullptr) return NullArgument("stream");
    if (allocator == nullptr) return NullArgument("allocator");
    AllocatorRegistry::Get().Register(
        AllocatorDoor::kGe, stream,
        GuardedAllocator::Make(std::make_unique<GeAllocator>(std::move(allocator)),
                               &GuardedAllocator::CheckDeviceMemory, GuardedAllocator::kGeAlignment));
    return Ok();
  });
}

::ge::Status UnregisterAllocator(uint64_t session_id, const void* stream) {
  return EnterSession("UnregisterExternalAllocator", session_id, Numbers::kMemory, [&](session::Session&) -> Status {
    if (stream == nullptr) return NullArgument("stream");
    AllocatorRegistry::Get().Unregister(AllocatorDoor::kGe, stream);
    return Ok();
  });
}

}  // namespace millpond::geapi

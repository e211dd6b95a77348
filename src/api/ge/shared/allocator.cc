// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge/shared/allocator.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include "src/api/ge/shared/client_object.h"
#include "src/api/ge/shared/entry.h"
#include "src/device/memory/allocator_registry.h"
#include "src/exec/session/error.h"
#include "src/trace/emit.h"

namespace millpond::geapi {

namespace {

// Keeps the client's object alive while a registration or a block of it lives. Blocks go back by MemBlock::Free, which
// calls the client's Free when the last of its owners is gone.
class GeAllocator : public ExternalAllocator {
 public:
  explicit GeAllocator(::ge::AllocatorPtr allocator) : object_(std::move(allocator)) {}

  void* Allocate(size_t bytes) override { return object_.get()->Malloc(bytes); }
  void* AllocateAdvise(size_t bytes, void* address) override { return object_.get()->MallocAdvise(bytes, address); }
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
      case AllocatorCallback::kHandOver:
        break;
    }
    return "the allocator";
  }
  const void* identity() const override { return object_.get(); }

  trace::BlockFacts FactsOf(const void* block) const override {
    const auto* const given = static_cast<const ::ge::MemBlock*>(block);
    trace::BlockFacts facts{.known = true, .bytes = given->GetSize(), .owners = given->GetCount()};
    // Its allocator has no accessor; the layout is frozen (ge_allocator.h).
    std::memcpy(&facts.home, static_cast<const std::byte*>(block) + sizeof(void*), sizeof(facts.home));
    return facts;
  }
  bool ended() const override { return object_.ended(); }
  bool only_ours() const override { return object_.only_ours(); }

 private:
  const ClientObject object_;
};

// Page "RegisterExternalAllocator" names the products; on others the call goes on here, and need not there.
void TellSupport(const session::Session& session, const void* stream) {
  const Profile& profile = session.device()->profile();
  if (profile.allocator_register) return;
  trace::TellMisuse("MP111", "RegisterExternalAllocator", stream, [&] {
    return Format("the device profile %s does not take external allocators (allocator_register = 0)",
                  profile.name.c_str());
  });
}

Status NullArgument(const char* name) { return SequenceError(Code::kInvalidArgument, std::string(name) + " is null"); }

}  // namespace

::ge::Status RegisterAllocator(uint64_t session_id, const void* stream, ::ge::AllocatorPtr allocator) {
  return EnterSession(
      "RegisterExternalAllocator", session_id, Numbers::kMemory, [&](session::Session& session) -> Status {
        if (stream == nullptr) return NullArgument("stream").Breaks("MP101");
        if (allocator == nullptr) return NullArgument("allocator");
        TellSupport(session, stream);
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

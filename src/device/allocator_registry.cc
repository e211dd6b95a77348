// SPDX-License-Identifier: Apache-2.0
#include "src/device/allocator_registry.h"

#include <exception>
#include <new>
#include <unordered_map>

#include "src/base/format.h"
#include "src/base/log.h"
#include "src/device/device.h"
#include "src/device/memory.h"
#include "src/device/stream.h"

namespace millpond {

namespace {

// Runs a client's callback; what it throws becomes a Status that names it.
template <class Call>
Status Catch(const char* callback, Call call) {
  try {
    call();
    return Ok();
  } catch (const std::bad_alloc&) {
    return OutOfMemory(Format("the allocator's %s callback threw std::bad_alloc", callback));
  } catch (const std::exception& error) {
    return InvalidArgument(
        Format("the allocator's %s callback threw: %s; callbacks must not throw, return null instead", callback,
               error.what()));
  } catch (...) {
    return InvalidArgument(
        Format("the allocator's %s callback threw; callbacks must not throw, return null instead", callback));
  }
}

}  // namespace

ExternalBlock& ExternalBlock::operator=(ExternalBlock&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(block_, other.block_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ExternalBlock::~ExternalBlock() {
  if (const Status status = Release(); !status.ok()) {
    log::Write(log::Level::kError, log::kRuntime, status.message());
  }
}

Status ExternalBlock::Release() {
  if (owner_ == nullptr) return Ok();
  const std::shared_ptr<GuardedAllocator> owner = std::move(owner_);
  owner_.reset();
  return owner->FreeBlock(std::exchange(block_, nullptr), std::exchange(address_, nullptr), bytes_);
}

void ExternalBlock::HandOver() {
  if (owner_ == nullptr) return;
  owner_->Forget(address_, bytes_);
  owner_.reset();
  block_ = nullptr;
  address_ = nullptr;
}

Status GuardedAllocator::CheckDeviceMemory(const void* address, size_t bytes) {
  PointerInfo info;
  MP_RETURN_IF_ERROR(CheckRange("block", address, bytes, &info));
  MP_REQUIRE(info.kind != PointerKind::kPageable,
             "%p is ordinary host memory, which a device cannot reach; allocate with aclrtMalloc (or register it)",
             address);
  return Ok();
}

std::shared_ptr<GuardedAllocator> GuardedAllocator::Make(std::unique_ptr<ExternalAllocator> external,
                                                         AddressCheck check, size_t alignment) {
  return std::shared_ptr<GuardedAllocator>(new GuardedAllocator(std::move(external), check, alignment));
}

GuardedAllocator::GuardedAllocator(std::unique_ptr<ExternalAllocator> external, AddressCheck check, size_t alignment)
    : external_(std::move(external)), check_(check), alignment_(alignment), shared_(SharedFor(external_->identity())) {}

std::shared_ptr<GuardedAllocator::Shared> GuardedAllocator::SharedFor(const void* identity) {
  static auto& mutex = *new std::mutex;  // both leaked: allocators may outlive static destructors
  static auto& all = *new std::unordered_map<const void*, std::weak_ptr<Shared>>;
  std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Shared>& known = all[identity];
  std::shared_ptr<Shared> shared = known.lock();
  if (shared == nullptr) known = shared = std::make_shared<Shared>();
  return shared;
}

Status GuardedAllocator::Allocate(size_t bytes, ExternalBlock* out_block) {
  return AllocateWith(
      "alloc", bytes, [&] { return external_->Allocate(bytes); }, out_block);
}

Status GuardedAllocator::AllocateAdvise(size_t bytes, void* address, ExternalBlock* out_block) {
  return AllocateWith(
      "alloc-advise", bytes, [&] { return external_->AllocateAdvise(bytes, address); }, out_block);
}

template <class Call>
Status GuardedAllocator::AllocateWith(const char* callback, size_t bytes, Call call, ExternalBlock* out_block) {
  std::lock_guard lock(shared_->mutex);
  void* block = nullptr;
  Status called = Catch(callback, [&] { block = call(); });
  if (bytes == 0 && block == nullptr) return Ok();
  MP_RETURN_IF_ERROR(std::move(called));
  MP_CHECK(block != nullptr, kOutOfMemory, "the allocator's %s callback returned null for %zu bytes", callback, bytes);
  void* address = nullptr;
  Status status = Catch("address-of-block", [&] { address = external_->AddressOf(block); });
  if (status.ok() && bytes != 0) status = Judge(address, bytes);
  if (!status.ok()) {
    CallFree(block).Ignore();  // the first failure is the one to report
    return std::move(status).Prefixed(
        Format("a block of %zu bytes from the registered allocator's %s callback is unusable", bytes, callback));
  }
  ExternalBlock taken;  // from here on it goes back by itself, also when there is no host memory to note it
  taken.owner_ = shared_from_this();
  taken.block_ = block;
  taken.address_ = address;
  taken.bytes_ = bytes;
  if (bytes != 0) shared_->live.emplace(reinterpret_cast<uintptr_t>(address), bytes);
  *out_block = std::move(taken);
  return Ok();
}

Status GuardedAllocator::Judge(void* address, size_t bytes) {
  MP_REQUIRE(address != nullptr, "the address-of-block callback returned null");
  const auto begin = reinterpret_cast<uintptr_t>(address);
  MP_REQUIRE(begin % alignment_ == 0, "its address %p is not a multiple of %zu", address, alignment_);
  MP_REQUIRE(begin + bytes > begin, "its address %p plus its size wraps around", address);
  const auto next = shared_->live.lower_bound(begin);
  MP_REQUIRE(next == shared_->live.end() || next->first >= begin + bytes,
             "[%p, +%zu) overlaps a block still in use, [%p, +%zu)", address, bytes,
             reinterpret_cast<void*>(next->first), next->second);
  if (next != shared_->live.begin()) {
    const auto before = std::prev(next);
    MP_REQUIRE(before->first + before->second <= begin, "[%p, +%zu) overlaps a block still in use, [%p, +%zu)", address,
               bytes, reinterpret_cast<void*>(before->first), before->second);
  }
  return check_(address, bytes);
}

Status GuardedAllocator::FreeBlock(void* block, void* address, size_t bytes) {
  std::lock_guard lock(shared_->mutex);
  if (bytes != 0) shared_->live.erase(reinterpret_cast<uintptr_t>(address));
  return CallFree(block);
}

void GuardedAllocator::Forget(void* address, size_t bytes) {
  std::lock_guard lock(shared_->mutex);
  if (bytes != 0) shared_->live.erase(reinterpret_cast<uintptr_t>(address));
}

Status GuardedAllocator::CallFree(void* block) {
  return Catch("free", [&] { external_->Free(block); });
}

AllocatorRegistry& AllocatorRegistry::Get() {
  static AllocatorRegistry& registry = *[] {
    auto* made = new AllocatorRegistry;  // leaked: used from static destructors too
    Device::AddStreamObserver([made](Stream* stream, bool created) {
      if (!created) made->Drop(stream->handle());
    });
    return made;
  }();
  return registry;
}

// In each of these the former entry is let go after the lock: its destructor may be the client's code.
void AllocatorRegistry::Register(AllocatorDoor door, const void* stream, std::shared_ptr<GuardedAllocator> allocator) {
  std::lock_guard lock(mutex_);
  entries_[{door, stream}].swap(allocator);
}

void AllocatorRegistry::Unregister(AllocatorDoor door, const void* stream) {
  AllocatorLease former;
  std::lock_guard lock(mutex_);
  if (const auto found = entries_.find({door, stream}); found != entries_.end()) {
    former = std::move(found->second);
    entries_.erase(found);
  }
}

AllocatorLease AllocatorRegistry::Acquire(AllocatorDoor door, const void* stream) const {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find({door, stream});
  return found == entries_.end() ? nullptr : found->second;
}

void AllocatorRegistry::Drop(const void* stream) {
  Unregister(AllocatorDoor::kAcl, stream);
  Unregister(AllocatorDoor::kGe, stream);
}

}  // namespace millpond

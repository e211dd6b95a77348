// SPDX-License-Identifier: Apache-2.0
// Allocators that clients bring. Why one registry for all doors: acl and GE registrations do not see each other, but
// they share the rules: the last registration wins, a look-up keeps what it found alive, a block goes back to the
// allocator it came from, and a client's callback is never trusted.
#ifndef MILLPOND_SRC_DEVICE_MEMORY_ALLOCATOR_REGISTRY_H_
#define MILLPOND_SRC_DEVICE_MEMORY_ALLOCATOR_REGISTRY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/trace/records.h"

namespace millpond {

using AllocatorDoor = trace::Door;
using AllocatorCallback = trace::AllocatorCall::Kind;

// The client's allocator as its door presents it. Any of these may throw, return null or lie.
class ExternalAllocator {
 public:
  virtual ~ExternalAllocator() = default;
  // A block (an opaque token), or null when there is no memory.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void* AllocateAdvise(size_t bytes, void* address) = 0;
  virtual void Free(void* block) = 0;
  virtual void* AddressOf(void* block) = 0;
  // The client's own object: calls into one object are serialised, however often it is registered.
  virtual const void* identity() const = 0;
  // What the client calls the function behind each of these, for messages and records: "the allocator's Malloc". Not
  // asked for kHandOver, behind which there is none.
  virtual const char* NameOf(AllocatorCallback callback) const = 0;

  // Asked only when a sink listens.
  // What the block says of itself; nothing where a door's blocks say nothing.
  virtual trace::BlockFacts FactsOf(const void* /*block*/) const { return {}; }
  // The client has destroyed its object. Never true of one that lives; one that was destroyed may not show it.
  virtual bool ended() const { return false; }
  // The object lives only because we hold it: the client does not any more. Never true when that is unsure.
  virtual bool only_ours() const { return false; }
};

class GuardedAllocator;

// One block from a client's allocator. Gives it back when destroyed, to the allocator it came from, which it keeps
// alive. A failure to give back can then only be logged: call Release where it can be reported.
class ExternalBlock {
 public:
  ExternalBlock() = default;
  ExternalBlock(ExternalBlock&& other) noexcept { *this = std::move(other); }
  ExternalBlock& operator=(ExternalBlock&& other) noexcept;
  ~ExternalBlock();

  void* address() const { return address_; }
  size_t bytes() const { return bytes_; }
  explicit operator bool() const { return owner_ != nullptr; }
  Status Release();
  // The client takes the block over and gives it back to its allocator by itself.
  void HandOver();

 private:
  friend class GuardedAllocator;
  std::shared_ptr<GuardedAllocator> owner_;
  void* block_ = nullptr;
  void* address_ = nullptr;
  size_t bytes_ = 0;
};

// The only way to call a client's allocator: serialised per client object, and every answer judged. A refused block
// is given back at once.
class GuardedAllocator : public std::enable_shared_from_this<GuardedAllocator> {
 public:
  // Documented for memory that clients carve up themselves: block addresses are multiples of 64; at GE's door of 32.
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kGeAlignment = 32;
  // Whether [address, address + bytes) is memory a kernel may use; replaced in tests.
  using AddressCheck = Status (*)(const void* address, size_t bytes);
  static Status CheckDeviceMemory(const void* address, size_t bytes);

  static std::shared_ptr<GuardedAllocator> Make(std::unique_ptr<ExternalAllocator> external,
                                                AddressCheck check = &CheckDeviceMemory, size_t alignment = kAlignment);

  // Null answer: kOutOfMemory. Throwing callbacks and impossible blocks: kInvalidArgument, naming what the callback
  // did. Called on the thread that makes the API call, with no lock of ours held. 0 bytes: the callback is asked all
  // the same, but whatever it answers will do, even null.
  Status Allocate(size_t bytes, ExternalBlock* out_block);
  Status AllocateAdvise(size_t bytes, void* address, ExternalBlock* out_block);

  ExternalAllocator& external() { return *external_; }

 private:
  friend class ExternalBlock;
  // Shared by all registrations of one client object.
  struct Shared {
    // Recursive: a callback may itself run something that allocates from the same allocator on this thread.
    std::recursive_timed_mutex mutex;
    // Who holds it and why, for those who wait long.
    std::atomic<int32_t> holder{0};
    std::atomic<const char*> inside{nullptr};
    std::map<uintptr_t, size_t> live;  // address -> bytes, to notice overlaps
  };

  class Turn;  // holds shared_->mutex

  GuardedAllocator(std::unique_ptr<ExternalAllocator> external, AddressCheck check, size_t alignment);
  static std::shared_ptr<Shared> SharedFor(const void* identity);
  // Tells sinks of a call that has returned; `told` has what was asked and answered. pre: shared_->mutex held.
  void Tell(AllocatorCallback callback, trace::AllocatorCall::Outcome outcome, uint64_t start_ns,
            trace::AllocatorCall told);
  template <class Call>
  Status AllocateWith(AllocatorCallback callback, size_t bytes, void* hint, Call call, ExternalBlock* out_block);
  Status Validate(void* address, size_t bytes);  // pre: shared_->mutex held
  const char* NameOf(AllocatorCallback callback) const;
  // The client has destroyed its object: tells so, and what to answer. Looked for only when somebody listens.
  Status CheckAlive(AllocatorCallback callback, const trace::AllocatorCall& told);
  Status FreeBlock(void* block, void* address, size_t bytes);
  void Forget(void* block, void* address, size_t bytes);
  Status CallFree(void* block, void* address, size_t bytes);

  const std::unique_ptr<ExternalAllocator> external_;
  const AddressCheck check_;
  const size_t alignment_;
  const std::shared_ptr<Shared> shared_;
};

// A look-up's result: shared ownership, so that unregistering or replacing during a run is safe. Null: none registered.
using AllocatorLease = std::shared_ptr<GuardedAllocator>;

// Process-wide. Keys are handle values: nothing checks that a stream is alive, as in the reference. Safe from any
// thread.
class AllocatorRegistry {
 public:
  static AllocatorRegistry& Get();

  void Register(AllocatorDoor door, const void* stream, std::shared_ptr<GuardedAllocator> allocator);
  void Unregister(AllocatorDoor door, const void* stream);  // unknown streams are fine
  AllocatorLease Acquire(AllocatorDoor door, const void* stream) const;
  // A stream is being destroyed: its handle must not pass an allocator on to whoever gets the handle next. The registry
  // hears of destroyed streams by itself.
  void Drop(const void* stream);

 private:
  void Remove(AllocatorDoor door, const void* stream, trace::AllocatorRegistration::Kind why);

  mutable Mutex mutex_;  // guards entries_
  std::map<std::pair<AllocatorDoor, const void*>, std::shared_ptr<GuardedAllocator>> entries_ GUARDED_BY(mutex_);
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_MEMORY_ALLOCATOR_REGISTRY_H_

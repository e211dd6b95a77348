// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/allocator_registry.h"

#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <unordered_map>

#include "src/base/format.h"
#include "src/base/log.h"
#include "src/base/long_wait.h"
#include "src/base/mutex.h"
#include "src/base/thread_end.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"
#include "src/trace/emit.h"

namespace millpond {

namespace {

// Runs a client's callback; what it throws becomes a Status that names it.
template <class Call>
Status Catch(const char* name, Call call) {
  try {
    call();
    return Ok();
  } catch (const std::bad_alloc&) {
    return OutOfMemory(Format("%s threw std::bad_alloc; it must not throw", name)).Breaks("MP210");
  } catch (const std::exception& error) {
    return InvalidArgument(Format("%s threw: %s; it must not throw", name, error.what())).Breaks("MP210");
  } catch (...) {
    LetThreadEnd();
    return InvalidArgument(Format("%s threw; it must not throw", name)).Breaks("MP210");
  }
}

using Outcome = trace::AllocatorCall::Outcome;

Outcome OutcomeOf(const Status& called, const void* answer) {
  if (!called.ok()) return Outcome::kThrew;
  return answer != nullptr ? Outcome::kOk : Outcome::kNull;
}

}  // namespace

// One call's turn at the client's object. A callback that waits for a thread which wants its own turn hangs both, and
// only the client can know: whoever waits long says who is inside.
class GuardedAllocator::Turn {
 public:
  Turn(const GuardedAllocator& allocator, AllocatorCallback callback) : shared_(*allocator.shared_) {
    const char* const name = allocator.NameOf(callback);
    if (!shared_.mutex.try_lock()) {
      if (callback != AllocatorCallback::kHandOver) TellTwo(allocator, name);
      // By the system's clock: ThreadSanitizer does not know the lock that waits by the steady one.
      if (!shared_.mutex.try_lock_until(std::chrono::system_clock::now() + kLongWait)) {
        Tell(allocator, name);
        shared_.mutex.lock();
      }
    }
    outer_ = shared_.inside.exchange(name, std::memory_order_relaxed);
    shared_.holder.store(SystemThreadId(), std::memory_order_relaxed);
  }
  ~Turn() {
    shared_.inside.store(outer_, std::memory_order_relaxed);
    if (outer_ == nullptr) shared_.holder.store(0, std::memory_order_relaxed);
    shared_.mutex.unlock();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  // Whether the client's code has a lock of its own inside cannot be seen: the rule is for those who ask for it.
  void TellTwo(const GuardedAllocator& allocator, const char* name) const {
    const char* const inside = shared_.inside.load(std::memory_order_relaxed);
    if (inside == nullptr) return;  // it is about to leave
    trace::TellMisuse("MP211", name, allocator.external_->identity(), [&] {
      return Format(
          "thread %d wants to call %s (object %p) while thread %d is inside %s; here it waits for its turn, on a card "
          "both would be inside",
          SystemThreadId(), name, allocator.external_->identity(), shared_.holder.load(std::memory_order_relaxed),
          inside);
    });
  }
  void Tell(const GuardedAllocator& allocator, const char* name) const {
    const char* const who = trace::CurrentAsker().who;
    const char* const inside = shared_.inside.load(std::memory_order_relaxed);
    TellLongWait(SystemThreadId(),
                 Format("to call %s (object %p)%s%s", name, allocator.external_->identity(),
                        who != nullptr ? " for " : "", who != nullptr ? who : ""),
                 shared_.holder.load(std::memory_order_relaxed),
                 Format("is inside %s of the same object, and such calls never overlap; if it waits for this thread, "
                        "neither will go on: a callback must not wait for a thread that uses its allocator",
                        inside != nullptr ? inside : "a callback"));
  }

  Shared& shared_;
  const char* outer_ = nullptr;  // the callback that this one is called from
};

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
  owner_->Forget(block_, address_, bytes_);
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
  static auto& mutex = *new Mutex;  // both leaked: allocators may outlive static destructors
  static auto& all = *new std::unordered_map<const void*, std::weak_ptr<Shared>>;
  MutexLock lock(mutex);
  std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Shared>& known = all[identity];
  std::shared_ptr<Shared> shared = known.lock();
  if (shared == nullptr) known = shared = std::make_shared<Shared>();
  return shared;
}

Status GuardedAllocator::Allocate(size_t bytes, ExternalBlock* out_block) {
  return AllocateWith(
      AllocatorCallback::kAllocate, bytes, nullptr, [&] { return external_->Allocate(bytes); }, out_block);
}

Status GuardedAllocator::AllocateAdvise(size_t bytes, void* address, ExternalBlock* out_block) {
  return AllocateWith(
      AllocatorCallback::kAllocateAdvise, bytes, address, [&] { return external_->AllocateAdvise(bytes, address); },
      out_block);
}

const char* GuardedAllocator::NameOf(AllocatorCallback callback) const {
  return callback == AllocatorCallback::kHandOver ? "a block's hand-over to the client" : external_->NameOf(callback);
}

Status GuardedAllocator::CheckAlive(AllocatorCallback callback, const trace::AllocatorCall& told) {
  if (__builtin_expect(!trace::Wants(trace::kAllocators), true) || !external_->ended()) return Ok();
  Tell(callback, Outcome::kEnded, trace::StampNs(), told);
  return InvalidArgument(
      Format("%s was not called: the allocator's object %p has been destroyed; unregister it, and "
             "have its blocks back, before it is destroyed",
             NameOf(callback), external_->identity()));
}

void GuardedAllocator::Tell(AllocatorCallback callback, Outcome outcome, uint64_t start_ns, trace::AllocatorCall told) {
  trace::FanOut* sinks = trace::Listening(trace::kAllocators);
  if (__builtin_expect(sinks == nullptr, true)) return;
  told.kind = callback;
  told.outcome = outcome;
  told.callback = NameOf(callback);
  told.object = external_->identity();
  told.asker = trace::CurrentAsker();
  told.thread = trace::ThreadNumber();
  told.stack = trace::StackIfWanted();
  told.start_ns = start_ns;
  told.end_ns = trace::StampNs();
  sinks->OnAllocatorCall(told);
}

template <class Call>
Status GuardedAllocator::AllocateWith(AllocatorCallback callback, size_t bytes, void* hint, Call call,
                                      ExternalBlock* out_block) {
  const Turn turn(*this, callback);
  const char* name = external_->NameOf(callback);
  void* block = nullptr;
  trace::AllocatorCall told{};
  told.bytes = bytes;
  told.hint = hint;
  MP_RETURN_IF_ERROR(CheckAlive(callback, told));
  uint64_t start = trace::StampNs();
  Status called = Catch(name, [&] { block = call(); });
  told.block = block;
  Tell(callback, OutcomeOf(called, block), start, told);
  if (bytes == 0 && block == nullptr) return Ok();
  MP_RETURN_IF_ERROR(std::move(called));
  MP_CHECK(block != nullptr, kOutOfMemory, "%s returned null for %zu bytes", name, bytes);
  void* address = nullptr;
  start = trace::StampNs();
  Status status = Catch(external_->NameOf(AllocatorCallback::kAddress), [&] { address = external_->AddressOf(block); });
  told.address = address;
  if (__builtin_expect(trace::Wants(trace::kAllocators), false)) told.facts = external_->FactsOf(block);
  Outcome outcome = OutcomeOf(status, address);
  if (status.ok() && bytes != 0) {
    status = Validate(address, bytes);
    if (!status.ok() && outcome == Outcome::kOk) outcome = Outcome::kRefused;
  }
  Tell(AllocatorCallback::kAddress, outcome, start, told);
  if (!status.ok()) {
    CallFree(block, address, bytes).Ignore();  // the first failure is the one to report
    return std::move(status).Prefixed(Format("a block of %zu bytes from %s is unusable", bytes, name));
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

Status GuardedAllocator::Validate(void* address, size_t bytes) {
  MP_REQUIRE(address != nullptr, "%s returned null", external_->NameOf(AllocatorCallback::kAddress));
  const auto begin = reinterpret_cast<uintptr_t>(address);
  MP_CHECK_RULE(begin % alignment_ == 0, kInvalidArgument, "MP202", address, "its address %p is not a multiple of %zu",
                address, alignment_);
  MP_REQUIRE(begin + bytes > begin, "its address %p plus its size wraps around", address);
  const auto next = shared_->live.lower_bound(begin);
  MP_CHECK_RULE(next == shared_->live.end() || next->first >= begin + bytes, kInvalidArgument, "MP204", address,
                "[%p, +%zu) overlaps a block still in use, [%p, +%zu)", address, bytes,
                reinterpret_cast<void*>(next->first), next->second);
  if (next != shared_->live.begin()) {
    const auto before = std::prev(next);
    MP_CHECK_RULE(before->first + before->second <= begin, kInvalidArgument, "MP204", address,
                  "[%p, +%zu) overlaps a block still in use, [%p, +%zu)", address, bytes,
                  reinterpret_cast<void*>(before->first), before->second);
  }
  Status usable = check_(address, bytes);
  if (usable.ok()) return usable;
  // Memory that begins as it should and ends too early, or none at all.
  const bool begins = check_(address, 1).ok();
  return std::move(usable).Breaks(begins ? "MP206" : "MP205", address);
}

Status GuardedAllocator::FreeBlock(void* block, void* address, size_t bytes) {
  const Turn turn(*this, AllocatorCallback::kFree);
  if (bytes != 0) shared_->live.erase(reinterpret_cast<uintptr_t>(address));
  return CallFree(block, address, bytes);
}

void GuardedAllocator::Forget(void* block, void* address, size_t bytes) {
  const Turn turn(*this, AllocatorCallback::kHandOver);
  if (bytes != 0) shared_->live.erase(reinterpret_cast<uintptr_t>(address));
  trace::AllocatorCall told{};
  told.bytes = bytes;
  told.block = block;
  told.address = address;
  Tell(AllocatorCallback::kHandOver, Outcome::kOk, trace::StampNs(), told);
}

Status GuardedAllocator::CallFree(void* block, void* address, size_t bytes) {
  trace::AllocatorCall told{};
  told.kind = AllocatorCallback::kFree;
  told.object = external_->identity();
  told.bytes = bytes;
  told.block = block;
  told.address = address;
  MP_RETURN_IF_ERROR(CheckAlive(AllocatorCallback::kFree, told));
  std::optional<trace::Calling> calling;
  if (__builtin_expect(trace::Wants(trace::kAllocators), false)) {
    told.facts = external_->FactsOf(block);
    told.only_ours = external_->only_ours();
    calling.emplace(&told);
  }
  const uint64_t start = trace::StampNs();
  Status status = Catch(NameOf(AllocatorCallback::kFree), [&] { external_->Free(block); });
  calling.reset();
  Tell(AllocatorCallback::kFree, status.ok() ? Outcome::kOk : Outcome::kThrew, start, told);
  return status;
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

namespace {

// Looked for only when somebody listens.
bool Ended(const AllocatorLease& former) {
  return __builtin_expect(trace::Wants(trace::kAllocators), false) && former != nullptr && former->external().ended();
}

}  // namespace

// In each of these the former entry is let go after the lock: its destructor may be the client's code.
void AllocatorRegistry::Register(AllocatorDoor door, const void* stream, std::shared_ptr<GuardedAllocator> allocator) {
  using Kind = trace::AllocatorRegistration::Kind;
  MutexLock lock(mutex_);
  entries_[{door, stream}].swap(allocator);
  trace::TellRegistration(allocator != nullptr ? Kind::kReplaced : Kind::kRegistered, door, stream,
                          entries_[{door, stream}]->external().identity(),
                          allocator != nullptr ? allocator->external().identity() : nullptr, Ended(allocator));
}

void AllocatorRegistry::Unregister(AllocatorDoor door, const void* stream) {
  Remove(door, stream, trace::AllocatorRegistration::Kind::kUnregistered);
}

void AllocatorRegistry::Remove(AllocatorDoor door, const void* stream, trace::AllocatorRegistration::Kind why) {
  AllocatorLease former;
  MutexLock lock(mutex_);
  if (const auto found = entries_.find({door, stream}); found != entries_.end()) {
    former = std::move(found->second);
    entries_.erase(found);
    trace::TellRegistration(why, door, stream, nullptr, former->external().identity(), Ended(former));
  } else if (why == trace::AllocatorRegistration::Kind::kUnregistered) {
    trace::TellRegistration(why, door, stream, nullptr, nullptr);
  }
}

AllocatorLease AllocatorRegistry::Acquire(AllocatorDoor door, const void* stream) const {
  MutexLock lock(mutex_);
  const auto found = entries_.find({door, stream});
  return found == entries_.end() ? nullptr : found->second;
}

void AllocatorRegistry::Drop(const void* stream) {
  Remove(AllocatorDoor::kAcl, stream, trace::AllocatorRegistration::Kind::kStreamDestroyed);
  Remove(AllocatorDoor::kGe, stream, trace::AllocatorRegistration::Kind::kStreamDestroyed);
}

}  // namespace millpond

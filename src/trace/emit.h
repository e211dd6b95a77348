// SPDX-License-Identifier: Apache-2.0
// Hooks: one line each where something happens. Nobody listening costs a load and a branch.
#ifndef MILLPOND_SRC_TRACE_EMIT_H_
#define MILLPOND_SRC_TRACE_EMIT_H_

#include <initializer_list>
#include <utility>

#include "src/trace/fan_out.h"
#include "src/trace/stack_depot.h"

namespace millpond::trace {

// The caller's stack when some sink asked for stacks, else 0.
inline uint32_t StackIfWanted() { return __builtin_expect(Wants(kStacks), false) ? CurrentStack() : 0; }

namespace internal {
void EmitObject(bool created, ObjectKind kind, int32_t device, const void* handle, uint64_t id, uint64_t detail);
void EmitProgram(ProgramStage::Kind stage, ObjectKind what, const char* name, const void* handle, const void* stream,
                 int32_t device, bool given_memory);
void EmitHostAccess(const char* name, std::span<const Access> accesses);
void EmitHostWait(WaitKind kind, int32_t device, int32_t stream, uint64_t count, const void* event, uint64_t generation,
                  uint64_t last_of_client);
void EmitMapping(MappingChange::Kind kind, int32_t device, const void* address, size_t bytes, uint64_t physical);
void EmitMemory(bool allocated, MemoryKind kind, int32_t device, const void* address, size_t bytes, uint64_t live);
void EmitRegistration(AllocatorRegistration::Kind kind, Door door, const void* stream, const void* object,
                      const void* former, bool former_ended);
void EmitPiece(bool begins, PoolPiece::Teller teller, int32_t device, const void* address, size_t bytes,
               const char* name, const void* stream);
void EmitMisuse(const char* rule, const char* call, const char* message, uint64_t subject);
void EmitMisuseAt(const char* rule, const char* call, const char* message, uint64_t subject, uint32_t stack);
}  // namespace internal

// An object that the client has a handle of was made, or is gone.
inline void TellObject(bool created, ObjectKind kind, int32_t device, const void* handle, uint64_t id = 0,
                       uint64_t detail = 0) {
  if (__builtin_expect(Wants(kLives), false)) internal::EmitObject(created, kind, device, handle, id, detail);
}

// A loaded graph's or model's loading, first run on a stream, unloading.
inline void TellProgram(ProgramStage::Kind stage, ObjectKind what, const char* name, const void* handle,
                        const void* stream, int32_t device, bool given_memory = false) {
  if (__builtin_expect(Wants(kLives), false)) {
    internal::EmitProgram(stage, what, name, handle, stream, device, given_memory);
  }
}

// The calling thread touches these ranges itself. Before it does.
inline void TellHostAccess(const char* name, std::initializer_list<Access> accesses) {
  if (__builtin_expect(Wants(kHost), false)) {
    internal::EmitHostAccess(name, std::span<const Access>(accesses.begin(), accesses.size()));
  }
}
inline void TellHostAccess(const char* name, std::span<const Access> accesses) {
  if (__builtin_expect(Wants(kHost), false)) internal::EmitHostAccess(name, accesses);
}

// The calling thread knows that the stream has completed `count` tasks.
inline void TellHostWait(WaitKind kind, int32_t device, int32_t stream, uint64_t count, const void* event = nullptr,
                         uint64_t generation = 0, uint64_t last_of_client = 0) {
  if (__builtin_expect(Wants(kHost), false)) {
    internal::EmitHostWait(kind, device, stream, count, event, generation, last_of_client);
  }
}

inline void TellMapping(MappingChange::Kind kind, int32_t device, const void* address, size_t bytes,
                        uint64_t physical = 0) {
  if (__builtin_expect(Wants(kMemory), false)) internal::EmitMapping(kind, device, address, bytes, physical);
}

inline void TellMemory(bool allocated, MemoryKind kind, int32_t device, const void* address, size_t bytes,
                       uint64_t live) {
  if (__builtin_expect(Wants(kMemory), false)) internal::EmitMemory(allocated, kind, device, address, bytes, live);
}

inline void TellRegistration(AllocatorRegistration::Kind kind, Door door, const void* stream, const void* object,
                             const void* former, bool former_ended = false) {
  if (__builtin_expect(Wants(kAllocators), false)) {
    internal::EmitRegistration(kind, door, stream, object, former, former_ended);
  }
}

inline void TellSignal(Signal::Kind kind, Link link, uint64_t id, uint64_t generation, int32_t stream, uint64_t count) {
  if (__builtin_expect(Wants(kSignals), false)) {
    internal::g_fan_out.fan_out.OnSignal({kind, link, id, generation, stream, count});
  }
}

// A pool gave out a piece of its memory, or has it back.
inline void TellPiece(bool begins, PoolPiece::Teller teller, int32_t device, const void* address, size_t bytes,
                      const char* name = nullptr, const void* stream = nullptr) {
  if (__builtin_expect(Wants(kTold), false)) {
    internal::EmitPiece(begins, teller, device, address, bytes, name, stream);
  }
}

// The call breaks a rule of the checker. `message` is made only when somebody listens: pass what makes it.
template <class MakeMessage>
inline void TellMisuse(const char* rule, const char* call, const void* subject, MakeMessage make_message) {
  if (__builtin_expect(Wants(kMisuses), false)) {
    internal::EmitMisuse(rule, call, make_message().c_str(), reinterpret_cast<uint64_t>(subject));
  }
}

// The same of something that no call did, at a stack that the caller knows; `what` is said instead of the call.
template <class MakeMessage>
inline void TellMisuseAt(const char* rule, const char* what, const void* subject, uint32_t stack,
                         MakeMessage make_message) {
  if (__builtin_expect(Wants(kMisuses), false)) {
    internal::EmitMisuseAt(rule, what, make_message().c_str(), reinterpret_cast<uint64_t>(subject), stack);
  }
}

// Who and when are filled in here, and where, unless the stack is known.
void TellDamage(Damage damage);

// Guards are looked at now and then by those who keep them; before the process's end a sink wants all of them looked
// at. Not to be called from a sink's record, nor with a lock held that a sink takes.
void SetGuardSweep(void (*sweep)());
void SweepGuards();

// Targets of copies stay closed to the host until a sink says that the host may know of the copy's end: of the one at
// `address`, or of all (null). It may be said of any address, under a lock and from a record.
void SetTargetRelease(void (*release)(const void* address));
void ReleaseTarget(const void* address);

// While it lives, what the calling thread asks of a client's allocator is asked for this purpose.
class Asking {
 public:
  explicit Asking(const Asker& asker);
  ~Asking();
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  const Asker former_;
};
// What the innermost Asking of the calling thread says.
const Asker& CurrentAsker();

// While it lives, the calling thread is inside a client's allocator, in the call that is described; its outcome is not
// known yet. Made only when somebody listens.
class Calling {
 public:
  explicit Calling(const AllocatorCall* call);
  ~Calling();
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;

 private:
  const AllocatorCall* const former_;
};
// The innermost Calling of the calling thread, or null.
const AllocatorCall* CurrentCall();

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_EMIT_H_

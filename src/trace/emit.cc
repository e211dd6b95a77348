// SPDX-License-Identifier: Apache-2.0
#include "src/trace/emit.h"

namespace millpond::trace {

namespace {

thread_local Asker t_asker;
std::atomic<void (*)()> g_sweep{nullptr};
std::atomic<void (*)(const void*)> g_release{nullptr};
thread_local const AllocatorCall* t_call = nullptr;

FanOut& All() { return internal::g_fan_out.fan_out; }
uint64_t Number(const void* handle) { return reinterpret_cast<uint64_t>(handle); }

}  // namespace

namespace internal {

void EmitObject(bool created, ObjectKind kind, int32_t device, const void* handle, uint64_t id, uint64_t detail) {
  All().OnObject({.created = created,
                  .kind = kind,
                  .device = device,
                  .handle = Number(handle),
                  .id = id,
                  .detail = detail,
                  .thread = ThreadNumber(),
                  .stack = StackIfWanted(),
                  .time_ns = StampNs()});
}

void EmitProgram(ProgramStage::Kind stage, ObjectKind what, const char* name, const void* handle, const void* stream,
                 int32_t device, bool given_memory) {
  All().OnProgram({.kind = stage,
                   .what = what,
                   .name = name,
                   .handle = Number(handle),
                   .stream = stream,
                   .device = device,
                   .given_memory = given_memory,
                   .thread = ThreadNumber(),
                   .stack = StackIfWanted(),
                   .time_ns = StampNs()});
}

void EmitHostAccess(const char* name, std::span<const Access> accesses) {
  All().OnHostAccess(
      {.name = name, .thread = ThreadNumber(), .stack = StackIfWanted(), .time_ns = StampNs(), .accesses = accesses});
}

void EmitHostWait(WaitKind kind, int32_t device, int32_t stream, uint64_t count, const void* event, uint64_t generation,
                  uint64_t last_of_client) {
  All().OnHostWait({.kind = kind,
                    .device = device,
                    .stream = stream,
                    .count = count,
                    .event = Number(event),
                    .generation = generation,
                    .last_of_client = last_of_client,
                    .thread = ThreadNumber(),
                    .time_ns = StampNs()});
}

void EmitMapping(MappingChange::Kind kind, int32_t device, const void* address, size_t bytes, uint64_t physical) {
  All().OnMapping({.kind = kind,
                   .device = device,
                   .address = address,
                   .bytes = bytes,
                   .physical = physical,
                   .thread = ThreadNumber(),
                   .stack = StackIfWanted(),
                   .time_ns = StampNs()});
}

void EmitMemory(bool allocated, MemoryKind kind, int32_t device, const void* address, size_t bytes, uint64_t live) {
  All().OnMemory({.allocated = allocated,
                  .kind = kind,
                  .device = device,
                  .address = address,
                  .bytes = bytes,
                  .thread = ThreadNumber(),
                  .time_ns = StampNs(),
                  .device_live_bytes = live,
                  .stack = StackIfWanted()});
}

void EmitRegistration(AllocatorRegistration::Kind kind, Door door, const void* stream, const void* object,
                      const void* former, bool former_ended) {
  All().OnRegistration({.kind = kind,
                        .door = door,
                        .stream = stream,
                        .object = object,
                        .former = former,
                        .former_ended = former_ended,
                        .thread = ThreadNumber(),
                        .stack = StackIfWanted(),
                        .time_ns = StampNs()});
}

void EmitPiece(bool begins, PoolPiece::Teller teller, int32_t device, const void* address, size_t bytes,
               const char* name, const void* stream) {
  All().OnPiece({.begins = begins,
                 .teller = teller,
                 .device = device,
                 .address = address,
                 .bytes = bytes,
                 .name = name,
                 .stream = stream,
                 .thread = ThreadNumber(),
                 .stack = StackIfWanted()});
}

void EmitMisuse(const char* rule, const char* call, const char* message, uint64_t subject) {
  EmitMisuseAt(rule, call, message, subject, StackIfWanted());
}

void EmitMisuseAt(const char* rule, const char* call, const char* message, uint64_t subject, uint32_t stack) {
  All().OnMisuse({.rule = rule,
                  .call = call,
                  .message = message,
                  .subject = subject,
                  .thread = ThreadNumber(),
                  .stack = stack,
                  .time_ns = StampNs()});
}

}  // namespace internal

void TellDamage(Damage damage) {
  damage.thread = ThreadNumber();
  if (damage.stack == 0) damage.stack = StackIfWanted();
  damage.time_ns = StampNs();
  All().OnDamage(damage);
}

void SetGuardSweep(void (*sweep)()) { g_sweep.store(sweep, std::memory_order_release); }

void SweepGuards() {
  if (auto* sweep = g_sweep.load(std::memory_order_acquire)) sweep();
}

void SetTargetRelease(void (*release)(const void*)) { g_release.store(release, std::memory_order_release); }

void ReleaseTarget(const void* address) {
  if (auto* release = g_release.load(std::memory_order_acquire)) release(address);
}

Asking::Asking(const Asker& asker) : former_(std::exchange(t_asker, asker)) {}
Asking::~Asking() { t_asker = former_; }

const Asker& CurrentAsker() { return t_asker; }

Calling::Calling(const AllocatorCall* call) : former_(std::exchange(t_call, call)) {}
Calling::~Calling() { t_call = former_; }

const AllocatorCall* CurrentCall() { return t_call; }

}  // namespace millpond::trace

// SPDX-License-Identifier: Apache-2.0
// Several sinks at once: a trace file, aclprof's recorder and a checker hear the same records side by side.
#ifndef MILLPOND_SRC_TRACE_FAN_OUT_H_
#define MILLPOND_SRC_TRACE_FAN_OUT_H_

#include <atomic>
#include <vector>

#include "src/trace/sink.h"

namespace millpond::trace {

// Gives each record to every sink that asked for its kind. Hooks call it without a lock.
class FanOut final : public Sink {
 public:
  constexpr FanOut() = default;

  void OnApi(const ApiCall& record) override;
  void OnEnqueued(const TaskEnqueued& task) override;
  void OnRan(const TaskRan& task) override;
  void OnSignal(const Signal& record) override;
  void OnHostFunction(const HostFunction& record) override;
  void OnGraph(const GraphShape& record) override;
  void OnCaptured(const NodeCaptured& record) override;
  void OnHostWait(const HostWait& record) override;
  void OnHostBlocks(const HostBlocks& record) override;
  void OnHostAccess(const HostAccess& record) override;
  void OnMemory(const MemoryChange& record) override;
  void OnMapping(const MappingChange& record) override;
  void OnRegistration(const AllocatorRegistration& record) override;
  void OnAllocatorCall(const AllocatorCall& record) override;
  void OnObject(const ObjectLife& record) override;
  void OnProgram(const ProgramStage& record) override;
  void OnMisuse(const Misuse& record) override;
  void OnDamage(const Damage& record) override;
  void OnPiece(const PoolPiece& record) override;
  void OnNextTask(const NextTask& task) override;
  void Flush() override;

 private:
  friend void Attach(Sink* sink);
  friend void Detach(Sink* sink);
  struct Entry {
    Sink* sink;
    uint32_t interests;
  };
  using List = std::vector<Entry>;

  template <class Give>
  void ToEach(uint32_t interest, Give give) const noexcept;

  std::atomic<const List*> list_{nullptr};
};

namespace internal {
extern std::atomic<uint32_t> g_interests;  // of all sinks together, and above them how many CallsHeard there are
inline constexpr uint32_t kOneWish = 1U << 20;
inline constexpr uint32_t kWishes = ~(kOneWish - 1);
// Never destroyed: hooks come from static destructors too.
union FanOutHome {
  constexpr FanOutHome() : fan_out() {}
  ~FanOutHome() {}  // NOLINT: a defaulted one would be deleted
  FanOut fan_out;
};
extern FanOutHome g_fan_out;
}  // namespace internal

#ifdef MP_NO_TRACE
inline bool Wants(uint32_t) { return false; }
inline FanOut* Active() { return nullptr; }
#else
// Whether some sink asked for any of these Interest bits.
inline bool Wants(uint32_t interests) {
  return (internal::g_interests.load(std::memory_order_acquire) & interests) != 0;
}
// Null when no sink is attached.
inline FanOut* Active() { return Wants(~internal::kWishes) ? &internal::g_fan_out.fan_out : nullptr; }
#endif

// Whether a call that is made now is told.
inline bool HearsCalls() { return Wants(kApi | internal::kWishes); }

// From a wish to its end, sinks that asked for kSomeCalls hear of all calls. Wishes are counted.
inline void WishForCalls(bool begins) {
  internal::g_interests.fetch_add(begins ? internal::kOneWish : -internal::kOneWish, std::memory_order_acq_rel);
}

// A wish while it lives.
class CallsHeard {
 public:
  CallsHeard() { WishForCalls(true); }
  ~CallsHeard() { WishForCalls(false); }
  CallsHeard(const CallsHeard&) = delete;
  CallsHeard& operator=(const CallsHeard&) = delete;
};

// The sinks that ask for `interest`, or null.
inline FanOut* Listening(uint32_t interest) { return Wants(interest) ? &internal::g_fan_out.fan_out : nullptr; }

// The time when some sink asked for clocks, else 0.
inline uint64_t StampNs() { return __builtin_expect(Wants(kClocks), false) ? NowNs() : 0; }

// From now on the sink hears what it asks for. Not to be called from a sink, nor with a lock held that a sink takes.
void Attach(Sink* sink);
// The sink hears nothing any more: when this returns no hook is inside it, and it may be destroyed. Not to be called
// from a sink, nor with a lock held that a sink takes. Detaching what is not attached is harmless.
void Detach(Sink* sink);

// Attached while it lives.
class Attached {
 public:
  explicit Attached(Sink* sink) : sink_(sink) { Attach(sink); }
  ~Attached() { Detach(sink_); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  Sink* sink_;
};

// How many records sinks had no memory for, in the life of the process.
uint64_t LostRecords();

// How many times a sink was attached: what was told once (a graph's shape) is told again when this has grown.
uint32_t AttachCount();

// Told the interests of all sinks together whenever they change: lets the launch path keep them as a flag of its own.
// One observer, set before the first stream exists.
void SetInterestObserver(void (*observer)(uint32_t interests));

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_FAN_OUT_H_

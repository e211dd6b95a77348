// SPDX-License-Identifier: Apache-2.0
// Evidence comes up once: every call, task, allocation, order and life passes through the FanOut (fan_out.h) to the
// sinks that asked for it. With no sink attached each hook is one load and a branch. A build with MP_NO_TRACE has not
// even that; it exists so that bench/launch can price the hooks.
#ifndef MILLPOND_SRC_TRACE_SINK_H_
#define MILLPOND_SRC_TRACE_SINK_H_

#include "src/trace/records.h"

namespace millpond::trace {

// Nanoseconds of the steady clock: one time base for all records.
uint64_t NowNs();

// A small stable number for the calling thread (1, 2, 3 ... in order of first use).
uint32_t ThreadNumber();

// What a sink asks for. A hook does the work that somebody asked for and no other; a sink hears nothing else.
enum Interest : uint32_t {
  kTasks = 1U << 0,        // OnEnqueued
  kRan = 1U << 1,          // OnRan
  kInsideTasks = 1U << 2,  // both of them for nodes of replays and steps of loaded graphs
  kSignals = 1U << 3,      // OnSignal, OnHostFunction
  kGraphs = 1U << 4,       // OnGraph, OnCaptured
  kHost = 1U << 5,         // OnHostWait, OnHostAccess, OnHostBlocks
  kApi = 1U << 6,          // OnApi, of every call
  kMemory = 1U << 7,       // OnMemory, OnMapping
  kAllocators = 1U << 8,   // OnRegistration, OnAllocatorCall
  kLives = 1U << 9,        // OnObject, OnProgram
  kMisuses = 1U << 10,     // OnMisuse
  kClocks = 1U << 11,      // times in all of these
  kStacks = 1U << 12,      // stack numbers in all of these
  kUses = 1U << 13,        // OnEnqueued for tasks that name what they touch or order others; of the rest it may be told
  kTold = 1U << 14,        // OnPiece, OnNextTask
  // These change how memory is given out and copied, so that what nobody sees can be seen: OnDamage.
  kGuards = 1U << 15,   // red zones behind blocks, and quarantine for freed ones
  kSources = 1U << 16,  // sums of the pinned sources of copies
  kTargets = 1U << 18,  // pages of pinned targets are closed to the host while their copies are pending
  // OnApi of calls that are made while somebody wishes to hear of them (CallsHeard): a record per call is dear.
  kSomeCalls = 1U << 17,
};
inline constexpr uint32_t kAllRecords = kClocks - 1;

// Implementations must be safe from any thread, must not throw and must not call back into the runtime: many records
// are given under a lock.
class Sink {
 public:
  virtual ~Sink() = default;
  // Interest bits; read once, when the sink is attached.
  virtual uint32_t interests() const { return kAllRecords | kClocks; }

  virtual void OnApi(const ApiCall&) {}
  virtual void OnEnqueued(const TaskEnqueued&) {}
  virtual void OnRan(const TaskRan&) {}
  virtual void OnSignal(const Signal&) {}
  virtual void OnHostFunction(const HostFunction&) {}
  virtual void OnGraph(const GraphShape&) {}
  virtual void OnCaptured(const NodeCaptured&) {}
  virtual void OnHostWait(const HostWait&) {}
  virtual void OnHostBlocks(const HostBlocks&) {}
  virtual void OnHostAccess(const HostAccess&) {}
  virtual void OnMemory(const MemoryChange&) {}
  virtual void OnMapping(const MappingChange&) {}
  virtual void OnRegistration(const AllocatorRegistration&) {}
  virtual void OnAllocatorCall(const AllocatorCall&) {}
  virtual void OnObject(const ObjectLife&) {}
  virtual void OnProgram(const ProgramStage&) {}
  virtual void OnMisuse(const Misuse&) {}
  virtual void OnDamage(const Damage&) {}
  virtual void OnPiece(const PoolPiece&) {}
  virtual void OnNextTask(const NextTask&) {}
  // Write out what is held; called at aclFinalize and at exit.
  virtual void Flush() {}
};

}  // namespace millpond::trace

#include "src/trace/fan_out.h"  // IWYU pragma: export

#endif  // MILLPOND_SRC_TRACE_SINK_H_

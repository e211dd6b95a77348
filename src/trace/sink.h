// SPDX-License-Identifier: Apache-2.0
// Evidence comes up once: every API call, task, allocation and event passes through the one active Sink.
// With no sink attached each hook is one relaxed load and a branch. A build with MP_NO_TRACE has not even
// that; it exists so that bench/launch can price the hooks.
#ifndef MILLPOND_SRC_TRACE_SINK_H_
#define MILLPOND_SRC_TRACE_SINK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace millpond::trace {

// Nanoseconds of the steady clock: one time base for all records.
uint64_t NowNs();

// A small stable number for the calling thread (1, 2, 3 ... in order of first use).
uint32_t ThreadNumber();

enum class Mode : uint8_t { kRead, kWrite, kReadWrite };

// A byte range a task touches, by the address the client knows (never our alias).
struct Access {
  const void* address;
  size_t bytes;
  Mode mode;
};

struct ApiCall {
  const char* name;
  uint32_t thread;
  uint64_t start_ns, end_ns;
  int result;  // the ABI's own code
};

// One task, reported when it was enqueued and again when it has run.
struct TaskEnqueued {
  uint64_t task;  // unique in the process, from 1
  int32_t device;
  int32_t stream;  // stream id, unique in the process
  const char* name;
  uint32_t thread;
  uint64_t time_ns;
  std::span<const Access> accesses;
  std::span<void* const> stack;  // return addresses of the caller, innermost first; empty unless the sink wants them
};
struct TaskRan {
  uint64_t task;
  int32_t device;
  int32_t stream;
  const char* name;
  uint32_t thread;
  uint64_t start_ns, end_ns;
  bool ok;
};

enum class MemoryKind : uint8_t { kDevice, kPhysical, kPinned, kRegistered, kManaged };
struct MemoryChange {
  bool allocated;  // false: given back
  MemoryKind kind;
  int32_t device;  // -1 for host memory
  const void* address;
  size_t bytes;
  uint32_t thread;
  uint64_t time_ns;
  uint64_t device_live_bytes;  // after the change
};

// An ordering edge: `record` says task T of a stream will mark point (event, generation); `wait` says task T waits for
// it.
struct EventEdge {
  enum class Kind : uint8_t { kRecord, kWait } kind;
  uint64_t event;       // the client's handle value
  uint64_t generation;  // which record of that event, from 1
  int32_t device;
  int32_t stream;
  uint64_t task;
  uint64_t time_ns;
};

struct StreamChange {
  bool created;
  int32_t device;
  int32_t stream;
  uint32_t priority;
  uint64_t time_ns;
};

// Implementations must be safe from any thread and must not call back into the runtime.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual bool wants_stacks() const { return false; }
  virtual void OnApi(const ApiCall&) {}
  virtual void OnEnqueued(const TaskEnqueued&) {}
  virtual void OnRan(const TaskRan&) {}
  virtual void OnMemory(const MemoryChange&) {}
  virtual void OnEdge(const EventEdge&) {}
  virtual void OnStream(const StreamChange&) {}
  // Write out what is held; called at aclFinalize and at exit.
  virtual void Flush() {}
};

namespace internal {
extern std::atomic<Sink*> g_sink;
}

#ifdef MP_NO_TRACE
inline Sink* Active() { return nullptr; }
#else
inline Sink* Active() { return internal::g_sink.load(std::memory_order_acquire); }
#endif

// Told when a sink is attached to a runtime that had none, or the last one taken away: lets the launch path keep that
// as a flag of its own. One observer; set before the first stream exists.
void SetSinkObserver(void (*observer)(bool attached));

// Replaces the active sink and returns the former one. The former must outlive hooks in flight: sinks are leaked
// on purpose outside tests.
Sink* Exchange(Sink* sink);

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_SINK_H_

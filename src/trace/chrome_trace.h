// SPDX-License-Identifier: Apache-2.0
// A Sink that draws the run for chrome://tracing and Perfetto: a process per device with one lane per stream, a
// process for the host with one lane per thread (API calls, calls into the client's allocators, allocations, mappings),
// arrows from an event's record to its waits, a memory counter per device.
#ifndef MILLPOND_SRC_TRACE_CHROME_TRACE_H_
#define MILLPOND_SRC_TRACE_CHROME_TRACE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/trace/sink.h"
#include "src/trace/trace_file.h"

namespace millpond::trace {

class ChromeTrace : public Sink {
 public:
  explicit ChromeTrace(std::unique_ptr<TraceFile> file);

  uint32_t interests() const override {
    return kTasks | kRan | kInsideTasks | kApi | kMemory | kAllocators | kLives | kClocks;
  }
  void OnApi(const ApiCall& call) override;
  void OnEnqueued(const TaskEnqueued& task) override;
  void OnRan(const TaskRan& task) override;
  void OnMemory(const MemoryChange& change) override;
  void OnMapping(const MappingChange& change) override;
  void OnRegistration(const AllocatorRegistration& registration) override;
  void OnAllocatorCall(const AllocatorCall& call) override;
  void OnObject(const ObjectLife& life) override;
  void Flush() override;

  // Process number of the host's lanes; device d is process d.
  static constexpr int32_t kHostProcess = 1000000;
  // Entries kept of each of: tasks that have not run, event points, tasks that ran lately. Beyond it the oldest go, and
  // with them a slice's arguments or an arrow, never a slice.
  static constexpr size_t kMaxKept = 1 << 16;

 private:
  struct Slice {  // where a task was drawn
    int32_t device = 0;
    int32_t stream = 0;
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
  };
  struct Waiting {  // of a task between its enqueue and its run
    std::string accesses;
    std::vector<uint64_t> arrows_out;
    std::vector<uint64_t> arrows_in;
  };
  using Point = std::pair<uint64_t, uint64_t>;  // event, generation

  double Micros(uint64_t ns) const { return (static_cast<double>(ns) - static_cast<double>(origin_ns_)) / 1000.0; }
  void NameDevice(int32_t device) REQUIRES(mutex_);
  void NameStream(int32_t device, int32_t stream) REQUIRES(mutex_);
  void NameThread(uint32_t thread) REQUIRES(mutex_);
  // pre: mutex_ is held. `task` is which task has the edge.
  void AddEdge(const Edge& edge, uint64_t task) REQUIRES(mutex_);
  // Draws one end of an arrow at a slice, or leaves it with the task until that has run.
  void AddArrowEnd(uint64_t task, uint64_t arrow, bool out) REQUIRES(mutex_);
  void WriteArrow(const Slice& slice, uint64_t arrow, bool out);

  const std::unique_ptr<TraceFile> file_;
  const uint64_t origin_ns_;
  Mutex mutex_;  // guards what follows
  std::set<int32_t> devices_ GUARDED_BY(mutex_);
  std::set<std::pair<int32_t, int32_t>> streams_ GUARDED_BY(mutex_);
  std::set<uint32_t> threads_ GUARDED_BY(mutex_);
  // Ordered by task number, so that the oldest can go.
  std::map<uint64_t, Waiting> waiting_ GUARDED_BY(mutex_);
  std::map<uint64_t, Slice> ran_ GUARDED_BY(mutex_);
  std::map<Point, uint64_t> record_task_ GUARDED_BY(mutex_);  // which task marks a point
  std::map<uint64_t, uint64_t> latest_ GUARDED_BY(mutex_);    // generation of an event's latest record
  uint64_t next_arrow_ GUARDED_BY(mutex_) = 1;
};

// Attaches a ChromeTrace when MILLPOND_TRACE names a file. Called once, by Runtime's creation; a file that cannot be
// opened is reported on stderr and the run goes on. The file is completed at aclFinalize and when the library unloads.
void AttachTraceFromEnvironment();

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_CHROME_TRACE_H_

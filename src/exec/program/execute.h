// SPDX-License-Identifier: Apache-2.0
// Runs the steps of a static program: one task on the stream for the whole of it, so that a run costs one launch, jumps
// are taken where the condition is at hand, and nobody waits. Calls are made once for each run in flight and used
// again; where the memory is the same as last time nothing is written to them.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_EXECUTE_H_
#define MILLPOND_SRC_EXEC_PROGRAM_EXECUTE_H_

#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/stream/stream.h"
#include "src/exec/op/float_rules.h"
#include "src/exec/op/group_run.h"
#include "src/exec/program/steps.h"

namespace millpond::program {

// Where a run's memory is. Compared with the last run's.
struct Roots {
  std::vector<void*> inputs;
  std::vector<int64_t> lengths;  // by input, of those that may have any length; 0: as planned
  std::vector<void*> outputs;
  std::vector<void*> variables;
  void* constants = nullptr;
  void* feature = nullptr;
  bool operator==(const Roots&) const = default;
};

// Bytes that the client may free as soon as the launch returns, on their way to the device.
struct HostInput {
  uint32_t input = 0;
  void* to = nullptr;  // null: a step of the plan takes it
  std::vector<std::byte> bytes;
};

class Executable : public std::enable_shared_from_this<Executable> {
 public:
  // pre: buffers have their offsets. `keep` holds the nodes that steps name.
  Executable(Plan plan, std::shared_ptr<const void> keep);

  const Plan& plan() const { return plan_; }

  // Queues one run. pre: the memory is validated.
  Status Launch(const Roots& roots, std::vector<HostInput> host, Stream* stream, const dump::Target* target) const;

 private:
  friend class ProgramBody;
  struct Run {
    Roots roots;
    bool patched = false;
    std::vector<void*> addresses;  // by buffer
    std::vector<OpCallPtr> calls;  // by step
    std::vector<const void*> fed;  // by input: where kUploadInput reads
    std::vector<HostInput> host;
    FloatRules rules;
    std::shared_ptr<GroupTurns> groups;  // null: no step works with other ranks
    // Where a run goes on that was parked.
    bool begun = false;
    size_t at = 0;
    uint64_t step_start = 0;             // for the sink
    std::unique_ptr<GroupRun> in_group;  // the step that it was parked in
    uint64_t trace_base = 0;             // step n's number for the sink is trace_base + n; 0: nobody listens
  };

  std::unique_ptr<Run> Borrow() const;
  void Return(std::unique_ptr<Run> run) const;
  Status JoinGroups(Run* run, const Stream& stream) const;
  void Place(const Roots& roots, Run* run) const;
  void Announce(Run* run, const Stream& stream) const;
  std::vector<trace::Access> StepAccesses(const Run& run, size_t at) const;
  std::vector<trace::Access> AllAccesses(const Run& run) const;
  TaskEnd Execute(Run& run, Stream& stream, Status* out_status) const;
  TaskEnd DoGroupStep(Run& run, Stream& stream, Status* out_status) const;
  Status DoStep(Run& run, size_t* at, const Stream& stream) const;
  void TellRan(const Run& run, size_t at, uint64_t start, bool ok, const Stream& stream) const;
  static Status Named(const Step& step, Status status);
  static dump::Node NodeOf(const Step& step);

  const Plan plan_;
  const std::shared_ptr<const void> keep_;
  const bool needs_team_;                            // some kernel does, so that the run belongs to the team's thread
  mutable std::atomic<bool> groups_checked_{false};  // what steps ask of other ranks is the same in each run
  mutable Mutex mutex_;                              // guards what follows
  mutable std::vector<std::unique_ptr<Run>> spare_ GUARDED_BY(mutex_);
};

// Does a step that computes nothing: copies and uploads (not kUploadInput).
void CopyStep(const Step& step, void* to, const void* from);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_EXECUTE_H_

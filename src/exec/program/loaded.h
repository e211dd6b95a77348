// SPDX-License-Identifier: Apache-2.0
// A program that is loaded on a device: its constants, the memory it works in, and its runs on streams. Sessions'
// graphs and offline models are both this; they differ in policy.
//
// Runs of a static program share its feature memory, and all runs share the constants: a run on another stream is
// queued after those before it. A dynamic program shares nothing that it writes, so its runs only follow the constants.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_LOADED_H_
#define MILLPOND_SRC_EXEC_PROGRAM_LOADED_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/device.h"
#include "src/device/memory/allocator_registry.h"
#include "src/device/stream/stream.h"
#include "src/exec/program/block.h"
#include "src/exec/program/builtin_memory.h"
#include "src/exec/program/program.h"
#include "src/trace/emit.h"

namespace millpond::program {

// What differs between the doors that programs come through.
struct DoorPolicy {
  // When the allocator that a client registered for the stream is asked on behalf of a static program. A dynamic one
  // asks it for every buffer of every run, and for its constants unless this is kNever.
  enum class Ask : uint8_t {
    kNever,    // memory is the client's, or built-in
    kAtLoad,   // constants and feature memory when it is loaded, missing outputs at each run
    kEachRun,  // the same, but for feature memory, which each run takes and gives back
  };
  AllocatorDoor door = AllocatorDoor::kGe;  // whose registrations count
  Ask ask = Ask::kNever;
  bool waits_for_constants = false;  // Load returns when they are on the device
  // What the client has loaded, as records name it (trace::ObjectLife).
  trace::ObjectKind kind = trace::ObjectKind::kSessionGraph;
  const void* object = nullptr;
  // For messages: "graph 3", "memory for the constants of graph 3", "feature memory for graph 3".
  std::string name;
  std::string const_memory;
  std::string feature_memory;
};

// One of the programs that are loaded together; an offline model has one for each of its gears.
struct ProgramPart {
  std::shared_ptr<const Program> program;
  size_t const_offset = 0;  // of its constants within those of all
};

struct LoadRequest {
  DoorPolicy policy;
  std::vector<ProgramPart> parts;  // all static, or a dynamic one alone
  size_t const_bytes = 0;          // of all of them
  VariableStore* variables = nullptr;
  Device* device = nullptr;
  Context* context = nullptr;  // the one of the program's own stream; null: the device's primary one
  // What the client brings, judged already; null: the program finds it itself.
  void* const_memory = nullptr;
  void* feature_memory = nullptr;
  // Where the constants are copied; null: on a stream of the program's own.
  Stream* stream = nullptr;
  // As the client names the stream, which finds the client's allocator; null: none is asked.
  const void* handle = nullptr;
};

struct LaunchRequest {
  std::span<const Tensor> inputs;
  std::span<Tensor> outputs;  // those without memory get some
  size_t part = 0;
  void* feature_memory = nullptr;  // the client's, for this run alone
  const void* handle = nullptr;    // as in LoadRequest
};

class LoadedProgram {
 public:
  // A block that was taken goes back when a later step fails: a failed load can be tried again.
  static Status Load(const LoadRequest& request, std::shared_ptr<LoadedProgram>* out);
  // Runs that are queued still have what they need of ours; blocks of clients' allocators go back through their Free at
  // once, before the program itself goes. Memory of the client's must stay until the runs have ended.
  ~LoadedProgram();
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;

  const Program& program(size_t part = 0) const { return *(*parts_)[part].program; }
  Device* device() const { return device_; }

  // The client brings const or feature memory.
  bool has_given_memory() const;
  // Feature memory of the client's for the runs from now on. pre: judged; no run is being launched.
  void GiveFeature(void* memory);

  // Where the data of its operators is dumped. pre: no run has been launched.
  void DumpTo(const dump::Target* target) { dump_ = target; }

  // Queues one run. No lock of ours is held while a client's allocator is called.
  Status Launch(const LaunchRequest& request, Stream* stream);
  // The same on a stream of the program's own, to its end; one such run at a time. Asks no client's allocator.
  Status RunAndWait(const LaunchRequest& request);
  // Until everything that was launched has run.
  void Wait();

 private:
  // A point of a stream. Streams are recycled and their counts go on, so that a stale mark reads as reached.
  struct Mark {
    Stream* stream = nullptr;
    uint64_t count = 0;
  };
  class RunMemory;

  explicit LoadedProgram(const LoadRequest& request);
  bool is_static() const { return program().is_static(); }
  size_t FeatureBytes() const;
  void* ConstBase(const ProgramPart& part) const;

  AllocatorLease Lease(const void* handle) const;
  std::shared_ptr<BuiltinMemory> BuiltinFor(Stream* stream);
  Status TakeConst(const AllocatorLease& lease, Stream* stream);
  Status TakeFeatureAtLoad(const AllocatorLease& lease, Stream* stream);
  Status FindFeature(void* for_this_run, const AllocatorLease& lease, Stream* stream, void** out_base,
                     Block* out_block);
  Status OwnStream(Stream** out_stream) REQUIRES(own_mutex_);
  Status Queue(const ProgramPart& part, const RunArguments& run, Stream* stream);
  Status FollowMarks(Stream* stream);
  void MarkUse(Stream* stream);

  // Evidence.
  trace::Asker AskingFor(trace::Purpose purpose, const void* handle) const {
    return {purpose, policy_.name.c_str(), handle};
  }
  void Tell(trace::ProgramStage::Kind stage, const void* stream) const {
    const bool given = stage == trace::ProgramStage::Kind::kLoaded && has_given_memory();
    trace::TellProgram(stage, policy_.kind, policy_.name.c_str(), policy_.object, stream, device_->id(), given);
  }
  void TellFirstRun(const Stream& stream);

  // Never change once Load has returned.
  const DoorPolicy policy_;
  const std::shared_ptr<const std::vector<ProgramPart>> parts_;  // shared with what is queued
  const size_t const_bytes_;
  VariableStore* const variables_;
  Device* const device_;
  void* const context_;      // by handle: it may be destroyed before the program
  void* const const_given_;  // the client's
  const dump::Target* dump_ = nullptr;
  Block const_block_;    // ours, when not the client's
  Mark constants_;       // they are there from this point on
  bool loaded_ = false;  // Load has succeeded

  // Guards what follows. Held for a moment only: never while anything is launched or a client's allocator is called.
  mutable Mutex mutex_;
  void* feature_given_ GUARDED_BY(mutex_);           // the client's
  Block feature_block_ GUARDED_BY(mutex_);           // ours: found at load, or by the first run that needed it
  void* last_feature_ GUARDED_BY(mutex_) = nullptr;  // where the allocator's block for the last run was
  std::vector<Mark> used_ GUARDED_BY(mutex_);        // the last run on each stream
  std::set<int32_t> ran_on_ GUARDED_BY(mutex_);      // streams whose first run was told; kept while somebody listens
  std::map<void*, std::shared_ptr<BuiltinMemory>> builtin_ GUARDED_BY(mutex_);  // by stream handle

  // Held by a static run from asking who came before to saying that it came: two threads on two streams must not both
  // find nobody. Guards no member; mutex_ may be taken while it is held.
  Mutex launch_mutex_;

  // Held for a whole run on the program's own stream; guards what follows. Both others may be taken while it is held.
  Mutex own_mutex_;
  Stream* own_stream_ GUARDED_BY(own_mutex_) = nullptr;
  void* own_handle_ GUARDED_BY(own_mutex_) = nullptr;
};

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_LOADED_H_

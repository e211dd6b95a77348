// SPDX-License-Identifier: Apache-2.0
// One graph of a session, by its number: added -> compiled -> loaded, run in between or afterwards, with the memory
// that clients give it or that it finds itself. What is loaded and how it runs is src/exec/program/loaded.h; here are
// the order of calls that GE allows, the tensors a run is given, and the memory bases.
//
// Locks: mutex_ guards every member that changes, and is held for a moment only. What takes long (compiling, loading)
// and what calls the client's allocator while loading runs without it, in a call that has set busy_: such calls follow
// one another, a callback that comes back to the same graph is refused, and what only they change (the source, the
// program, what is loaded, the bases) stays as it is between their moments under mutex_. Runs take what they use under
// mutex_ when they begin (Running) and go on without it; the bases do not change while a run is counted.
#ifndef MILLPOND_SRC_EXEC_SESSION_NUMBERED_GRAPH_H_
#define MILLPOND_SRC_EXEC_SESSION_NUMBERED_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/device.h"
#include "src/device/stream/stream.h"
#include "src/exec/program/loaded.h"
#include "src/exec/program/program.h"
#include "src/exec/session/options.h"

namespace millpond::session {

// What the client says an input will be. Fields nobody said anything about keep the graph's.
struct InputDesc {
  DType dtype = DType::kUndefined;
  int32_t format = -1;
  ir::Dims dims;
};

// GeSession: the first way that a graph is run in is its only one.
enum class RunMode : uint8_t { kNone, kHost, kHostAsync, kStream };

// What compiled a graph. CompileGraph and BuildGraph exclude each other; what a run needed itself leaves both free.
enum class CompiledBy : uint8_t { kNothing, kRun, kBuild, kCompile };

enum class MemoryType : int64_t { kDefault = 0, kP2p = 1 };

// What a compiled graph needs; what CompiledGraphSummary tells.
struct CompiledSummary {
  bool is_static = false;
  size_t const_bytes = 0;
  size_t feature_bytes = 0;
  bool refreshable = false;
  std::vector<ir::TensorDesc> outputs;
  std::vector<std::pair<uint32_t, uint32_t>> aliases;
  std::shared_ptr<const program::Program> program;
};

// What the graph engine's options say about compiling.
program::CompileOptions CompileOptionsFrom(const GraphOptions& options, uint32_t graph_id, int32_t device,
                                           program::VariableStore* variables);

// Puts a copy of a device tensor's bytes in its place.
void CopyToHost(program::Tensor* tensor);

class NumberedGraph {
 public:
  NumberedGraph(uint32_t id, ir::GraphPtr graph, GraphOptions options, Device* device,
                program::VariableStore* variables);
  ~NumberedGraph();
  NumberedGraph(const NumberedGraph&) = delete;
  NumberedGraph& operator=(const NumberedGraph&) = delete;

  uint32_t id() const { return id_; }
  // What the client added; gone from here once it is compiled, so that its constants may go.
  const std::weak_ptr<const ir::Graph>& claim() const { return claim_; }
  CompiledBy compiled_by() const;

  // Once; again is fine and changes nothing. No `inputs`: as the graph says.
  Status Compile(std::span<const InputDesc> inputs, CompiledBy by);
  Status Summary(CompiledSummary* out_summary) const;

  // Claims the graph for one way of running; refuses another.
  Status ClaimMode(RunMode mode);

  // LoadGraph. pre: compiled. Fails when loaded already.
  Status Load(const GraphOptions& options, const void* handle, Stream* stream);
  bool is_loaded() const;

  // Device tensors on the client's stream. Compiles and loads as far as `prepare` says; else both must have been done.
  // Empty `outputs` is filled; elements without memory get some.
  Status RunOnStream(bool prepare, const void* handle, Stream* stream, std::span<const program::Tensor> inputs,
                     std::vector<program::Tensor>* outputs);
  // Host (or device) tensors in, host tensors out; returns when done.
  Status RunOnHost(std::span<const program::Tensor> inputs, std::vector<program::Tensor>* out_outputs);

  // Until everything that was launched has run.
  void Wait();

  // Memory bases (bases.cc), in the order of checks that docs/compat.md, "Rules of sessions" gives.
  Status SetConstBase(const void* memory, size_t bytes);
  Status UpdateFeatureBase(const void* memory, size_t bytes);
  Status SetFixedBase(MemoryType type, const void* memory, size_t bytes);
  Status UpdateRefreshableBase(const void* memory, size_t bytes);

 private:
  // Work that needs the graph for itself. Not ok(): the calling thread has it already.
  class Busy {
   public:
    explicit Busy(NumberedGraph* graph) : graph_(graph), status_(graph->EnterBusy()) {}
    ~Busy() {
      if (status_.ok()) graph_->LeaveBusy();
    }
    Status TakeStatus() { return status_.Clone(); }

   private:
    NumberedGraph* const graph_;
    const Status status_;
  };
  // Counts a run for as long as its call lasts, and has what the run uses.
  class Running;

  Status EnterBusy();
  void LeaveBusy();

  // pre: busy.
  Status CompileNow(std::span<const InputDesc> inputs);
  Status LoadNow(const GraphOptions& options, const void* handle, Stream* stream);
  Status Prepare(std::span<const program::Tensor> inputs, const void* handle, Stream* stream);
  Status CheckLoadOptions(const GraphOptions& options, const program::Program& program,
                          std::vector<int64_t>* out_host_inputs) const;
  program::DoorPolicy Policy() const;

  // A run's parts. `on_host`: a host run, whose inputs may be anywhere and whose outputs are always found.
  Status CheckInputs(const program::Program& program, std::span<const program::Tensor> inputs) const;
  Status PlaceInputs(const Running& running, bool on_host, std::span<const program::Tensor> inputs,
                     std::vector<program::Tensor>* out_inputs) const;
  Status CheckOutputs(const program::LoadedProgram& loaded, bool on_host, std::vector<program::Tensor>* outputs) const;
  Status CheckRun(const Running& running, bool on_host, std::span<const program::Tensor> inputs,
                  std::vector<program::Tensor>* out_inputs, std::vector<program::Tensor>* outputs) const;

  Status CheckBaseState(bool may_be_loaded) const REQUIRES(mutex_);
  Status UpdateBase(bool refreshable_part, const void* memory, size_t bytes);
  Status CheckBaseMemory(const char* what, const void* memory, size_t bytes, size_t needed) const;
  bool refreshable() const;

  const uint32_t id_;
  const std::string name_;
  const std::weak_ptr<const ir::Graph> claim_;
  const GraphOptions options_;
  Device* const device_;
  program::VariableStore* const variables_;

  mutable Mutex mutex_;  // guards what follows
  CondVar idle_;
  bool busy_ GUARDED_BY(mutex_) = false;
  int32_t busy_thread_ GUARDED_BY(mutex_) = 0;  // the system's number
  uint32_t running_ GUARDED_BY(mutex_) = 0;
  RunMode mode_ GUARDED_BY(mutex_) = RunMode::kNone;
  ir::GraphPtr source_ GUARDED_BY(mutex_);  // until it is compiled
  std::shared_ptr<const program::Program> program_ GUARDED_BY(mutex_);
  CompiledBy compiled_by_ GUARDED_BY(mutex_) = CompiledBy::kNothing;
  std::shared_ptr<program::LoadedProgram> loaded_ GUARDED_BY(mutex_);
  std::vector<int64_t> host_inputs_ GUARDED_BY(mutex_);
  // The client's, as it called them.
  void* const_base_ GUARDED_BY(mutex_) = nullptr;
  void* feature_base_ GUARDED_BY(mutex_) = nullptr;
  void* refreshable_base_ GUARDED_BY(mutex_) = nullptr;
};

}  // namespace millpond::session

#endif  // MILLPOND_SRC_EXEC_SESSION_NUMBERED_GRAPH_H_

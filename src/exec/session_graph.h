// SPDX-License-Identifier: Apache-2.0
// One graph of a session: added -> compiled -> loaded, run in between or afterwards, with the memory that clients give
// it or that it finds itself.
//
// Locks: mutex_ guards the state and is never held across anything slow. What takes long (compiling, loading) and what
// calls the client's allocator runs while `busy_` is set, which others wait for and which a callback that comes back to
// the same graph is refused by.
#ifndef MILLPOND_SRC_EXEC_SESSION_GRAPH_H_
#define MILLPOND_SRC_EXEC_SESSION_GRAPH_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "src/base/status.h"
#include "src/device/device.h"
#include "src/device/stream.h"
#include "src/exec/graph_program.h"
#include "src/exec/session_memory.h"
#include "src/exec/session_options.h"

namespace millpond {

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

enum class GraphMemoryType : int64_t { kDefault = 0, kP2p = 1 };

// What a compiled graph needs; what CompiledGraphSummary tells.
struct GraphSummary {
  bool is_static = false;
  size_t const_bytes = 0;
  size_t feature_bytes = 0;
  bool refreshable = false;
  std::vector<ir::TensorDesc> outputs;
  std::vector<std::pair<uint32_t, uint32_t>> aliases;
  std::shared_ptr<const GraphProgram> program;
};

// What the graph engine's options say about compiling.
ProgramOptions ProgramOptionsFrom(const GraphOptions& options, uint32_t graph_id, int32_t device,
                                  VariableStore* variables);

// Queues a task that ends when the other stream has got that far.
Status WaitForMark(Stream* stream, Stream* earlier, uint64_t count);

// Puts a copy of a device tensor's bytes in its place.
void CopyToHost(GraphTensor* tensor);

class SessionGraph {
 public:
  // A static graph that needs less still says this much: an allocator that answers null when asked for nothing must not
  // look like one that has run out.
  static constexpr size_t kLeastFeatureBytes = 512;

  SessionGraph(uint32_t id, ir::GraphPtr graph, GraphOptions options, Device* device, VariableStore* variables);
  // What a stream still runs keeps what it needs; blocks of clients' allocators go back through their Free.
  ~SessionGraph();
  SessionGraph(const SessionGraph&) = delete;
  SessionGraph& operator=(const SessionGraph&) = delete;

  uint32_t id() const { return id_; }
  // What the client added; gone from here once it is compiled, so that its constants may go.
  const std::weak_ptr<const ir::Graph>& claim() const { return claim_; }
  CompiledBy compiled_by() const;

  // Once; again is fine and changes nothing. No `inputs`: as the graph says.
  Status Compile(std::span<const InputDesc> inputs, CompiledBy by);
  Status Summary(GraphSummary* out_summary) const;

  // Claims the graph for one way of running; refuses another.
  Status ClaimMode(RunMode mode);

  // LoadGraph. pre: compiled. Fails when loaded already.
  Status Load(const GraphOptions& options, const void* handle, Stream* stream);
  bool is_loaded() const;

  // Device tensors on the client's stream. Compiles and loads as far as `prepare` says; else both must have been done.
  // Empty `outputs` is filled; elements without memory get some.
  Status RunOnStream(bool prepare, const void* handle, Stream* stream, std::span<const GraphTensor> inputs,
                     std::vector<GraphTensor>* outputs);
  // Host (or device) tensors in, host tensors out; returns when done.
  Status RunOnHost(std::span<const GraphTensor> inputs, std::vector<GraphTensor>* out_outputs);

  // Until everything that was launched has run.
  void Wait();

  // Memory bases (session_bases.cc), in the order of checks that facts 3.3 gives.
  Status SetConstBase(const void* memory, size_t bytes);
  Status UpdateFeatureBase(const void* memory, size_t bytes);
  Status SetFixedBase(GraphMemoryType type, const void* memory, size_t bytes);
  Status UpdateRefreshableBase(const void* memory, size_t bytes);

 private:
  // Work that needs the graph for itself. Not ok(): the calling thread has it already.
  class Busy {
   public:
    explicit Busy(SessionGraph* graph) : graph_(graph), status_(graph->EnterBusy()) {}
    ~Busy() {
      if (status_.ok()) graph_->LeaveBusy();
    }
    Status TakeStatus() { return status_.Clone(); }

   private:
    SessionGraph* const graph_;
    const Status status_;
  };
  // Counts a run for as long as its call lasts.
  class Running;

  struct Base {
    void* address = nullptr;
    size_t bytes = 0;
  };
  // A point of a stream.
  struct Mark {
    Stream* stream = nullptr;
    uint64_t count = 0;
  };

  Status EnterBusy();
  void LeaveBusy();

  // pre: busy.
  Status CompileNow(std::span<const InputDesc> inputs);
  Status LoadNow(const GraphOptions& options, const void* handle, Stream* stream);
  Status TakeConst(const AllocatorLease& lease, Stream* stream, GraphBlock* out_block);
  Status TakeFeatureAtLoad(const AllocatorLease& lease, Stream* stream, GraphBlock* out_block);
  Status Prepare(std::span<const GraphTensor> inputs, const void* handle, Stream* stream);
  Status CheckLoadOptions(const GraphOptions& options, std::vector<int64_t>* out_host_inputs) const;

  // A run's parts.
  Status CheckInputs(std::span<const GraphTensor> inputs) const;
  Status PlaceInputs(std::span<const GraphTensor> inputs, bool on_host, std::vector<GraphTensor>* out_inputs) const;
  Status TakeFeature(const AllocatorLease& lease, Stream* stream, void** out_base, GraphBlock* out_block);
  Status TakeOutputs(const AllocatorLease& lease, Stream* stream, std::vector<GraphTensor>* outputs);
  Status CheckOutputs(bool on_host, std::vector<GraphTensor>* outputs) const;
  // `on_host`: a host run, whose inputs may be anywhere and whose outputs are always found.
  Status Launch(const AllocatorLease& lease, bool on_host, Stream* stream, std::span<const GraphTensor> inputs,
                std::vector<GraphTensor>* outputs);
  void MarkUse(Stream* stream);
  Status FollowMarks(Stream* stream);
  std::shared_ptr<BuiltinMemory> BuiltinFor(Stream* stream);
  Status InternalStream(Stream** out_stream);

  Status CheckBaseState(bool may_be_loaded) const;  // pre: mutex_ held
  Status CheckBaseMemory(const char* what, const void* memory, size_t bytes, size_t needed) const;
  bool refreshable() const;
  // The client brings memory of the graph's itself; then it brings the outputs' too (facts 2.3).
  bool has_bases() const {
    return const_base_.address != nullptr || feature_base_.address != nullptr || refreshable_base_.address != nullptr;
  }

  const uint32_t id_;
  const std::weak_ptr<const ir::Graph> claim_;
  const GraphOptions options_;
  Device* const device_;
  VariableStore* const variables_;

  ir::GraphPtr source_;       // until it is compiled; changed while busy_
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable idle_;
  bool busy_ = false;
  std::thread::id busy_thread_;
  uint32_t running_ = 0;
  RunMode mode_ = RunMode::kNone;
  std::shared_ptr<const GraphProgram> program_;
  CompiledBy compiled_by_ = CompiledBy::kNothing;
  bool loaded_ = false;
  std::vector<int64_t> host_inputs_;
  Base const_base_;        // the client's
  Base feature_base_;      // the client's
  Base refreshable_base_;  // the client's
  GraphBlock const_block_;
  GraphBlock feature_block_;                                 // found at load, or built-in
  void* last_feature_ = nullptr;                             // where the allocator's block for the last run was
  Mark constants_;                                           // there from this point on
  std::vector<Mark> used_;                                   // the last run on each stream
  std::map<void*, std::shared_ptr<BuiltinMemory>> builtin_;  // by stream handle

  std::mutex launch_mutex_;  // static runs queue one after the other: they share the feature memory
  std::mutex host_mutex_;    // one host run at a time; guards internal_
  Stream* internal_ = nullptr;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_SESSION_GRAPH_H_

// SPDX-License-Identifier: Apache-2.0
#include "src/exec/session/numbered_graph.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "src/base/log.h"
#include "src/base/long_wait.h"
#include "src/base/mutex.h"
#include "src/exec/model/types.h"
#include "src/exec/session/error.h"
#include "src/graph/io/dump.h"
#include "src/trace/emit.h"

namespace millpond::session {

namespace {

// The descriptions that a client gave for a graph's inputs, put into a copy of the graph.
Status WithInputs(const ir::Graph& graph, std::span<const InputDesc> inputs, ir::GraphPtr* out_graph) {
  *out_graph = graph.Clone();
  const std::vector<ir::NodePtr>& data = (*out_graph)->inputs;
  if (inputs.size() != data.size()) {
    return TensorError(Format("the graph has %zu inputs, and %zu were described", data.size(), inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (ir::TensorDesc& desc : data[i]->outputs) {
      if (inputs[i].dtype != DType::kUndefined) desc.dtype = inputs[i].dtype;
      if (inputs[i].format >= 0) desc.format = desc.origin_format = inputs[i].format;
      desc.dims = desc.origin_dims = inputs[i].dims;
      desc.has_shape = desc.has_origin_shape = true;
      desc.range.clear();
    }
    for (ir::Input& input : data[i]->inputs) {
      if (!data[i]->outputs.empty()) input.desc = data[i]->outputs[0];
    }
  }
  return Ok();
}

// What the options say about types at the graph's ends, put into a copy; `graph` is null as long as none was made.
Status WithTypes(const GraphOptions& options, const ir::Graph& source, ir::GraphPtr* graph) {
  if (!ChangesTypes(options)) return Ok();
  if (*graph == nullptr) *graph = source.Clone();
  MP_RETURN_IF_ERROR(ApplyInputTypes(options, graph->get()));
  return ApplyOutputTypes(options, graph->get());
}

passes::Rounding RoundingFrom(const GraphOptions& options) {
  std::string_view mode = OptionOr(options, kPrecisionMode, "");
  if (mode.empty()) mode = OptionOr(options, kPrecisionModeV2, "");
  if (mode == "force_fp16" || mode == "fp16") return passes::Rounding::kAll;
  const bool matrices = mode == "force_fp32" || mode == "cube_fp16in_fp32out";  // one and the same, the page says
  return matrices ? passes::Rounding::kMatrixInputs : passes::Rounding::kNone;
}

}  // namespace

program::CompileOptions CompileOptionsFrom(const GraphOptions& options, uint32_t graph_id, int32_t device,
                                           program::VariableStore* variables) {
  program::CompileOptions made;
  const std::string_view level = OptionOr(options, "ge.oo.level", "O3");
  made.fold = OptionOr(options, "ge.oo.constantFolding", level == "O0" ? "false" : "true") == "true";
  made.remove_dead = OptionOr(options, "ge.oo.deadCodeElimination", level == "O0" ? "false" : "true") == "true";
  made.deduplicate = level != "O0";
  made.rounding = RoundingFrom(options);
  made.reuse_memory = OptionOr(options, "ge.exec.disableReuseMemory", "0") != "1";
  if (const io::DumpSettings dumps = io::DumpSettings::FromEnvironment(device); dumps.enabled()) {
    made.dump_folder = dumps.folder.empty() ? "." : dumps.folder;
  }
  made.graph_id = graph_id;
  made.report = GetOptions().graph_report;
  made.variables = variables;
  return made;
}

NumberedGraph::NumberedGraph(uint32_t id, ir::GraphPtr graph, GraphOptions options, Device* device,
                             program::VariableStore* variables)
    : id_(id),
      name_(graph->name),
      claim_(graph),
      options_(std::move(options)),
      device_(device),
      variables_(variables),
      source_(std::move(graph)) {
  trace::TellObject(true, trace::ObjectKind::kSessionGraph, device_->id(), this, id_);
}

NumberedGraph::~NumberedGraph() {
  loaded_.reset();  // before its end is told
  trace::TellObject(false, trace::ObjectKind::kSessionGraph, device_->id(), this, id_);
}

Status NumberedGraph::EnterBusy() {
  UniqueLock lock(mutex_);
  if (busy_ && busy_thread_ == SystemThreadId()) {
    return SequenceError(
        Code::kInvalidArgument,
        Format("graph %u is being compiled or loaded by this very thread: an allocator's callback must "
               "not use the graph it allocates for",
               id_));
  }
  const auto long_since = std::chrono::system_clock::now() + kLongWait;
  bool told = false;
  while (busy_) {
    if (told) {
      idle_.Wait(lock);
    } else if (!idle_.WaitUntil(lock, long_since) && busy_) {
      TellLongWait(SystemThreadId(), Format("for graph %u", id_), busy_thread_,
                   "is compiling or loading it; if that is inside an allocator's callback which waits for this thread, "
                   "neither will go on: a callback must not wait for a thread that uses the graph it allocates for");
      told = true;
    }
  }
  busy_ = true;
  busy_thread_ = SystemThreadId();
  return Ok();
}

void NumberedGraph::LeaveBusy() {
  {
    MutexLock lock(mutex_);
    busy_ = false;
    busy_thread_ = 0;
  }
  idle_.NotifyAll();
}

CompiledBy NumberedGraph::compiled_by() const {
  MutexLock lock(mutex_);
  return compiled_by_;
}

bool NumberedGraph::is_loaded() const {
  MutexLock lock(mutex_);
  return loaded_ != nullptr;
}

bool NumberedGraph::refreshable() const { return OptionOr(options_, "ge.featureBaseRefreshable", "0") == "1"; }

Status NumberedGraph::Compile(std::span<const InputDesc> inputs, CompiledBy by) {
  Busy busy(this);
  MP_RETURN_IF_ERROR(busy.TakeStatus());
  {
    MutexLock lock(mutex_);
    if (compiled_by_ != CompiledBy::kNothing && compiled_by_ != CompiledBy::kRun && compiled_by_ != by) {
      return UnsupportedError(Format("graph %u was compiled by %s; CompileGraph and BuildGraph exclude each other", id_,
                                     compiled_by_ == CompiledBy::kBuild ? "BuildGraph" : "CompileGraph"));
    }
    if (running_ != 0) {
      return SequenceError(Code::kInvalidArgument, Format("graph %u is running; compile it before it runs", id_));
    }
    if (program_ != nullptr) return Ok();
  }
  MP_RETURN_IF_ERROR(CompileNow(inputs));
  MutexLock lock(mutex_);
  compiled_by_ = by;
  return Ok();
}

Status NumberedGraph::CompileNow(std::span<const InputDesc> inputs) {
  program::CompileOptions options = CompileOptionsFrom(options_, id_, device_->id(), variables_);
  if (!options.dump_folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.dump_folder, error);
    MP_CHECK(!error, kInvalidFile, "DUMP_GRAPH_PATH %s cannot be made: %s; name a folder that can be written",
             options.dump_folder.c_str(), error.message().c_str());
  }
  MP_RETURN_IF_ERROR(ParseIndexes("ge.exec.hostInputIndexes", OptionOr(options_, "ge.exec.hostInputIndexes", ""),
                                  &options.host_inputs));
  ir::GraphPtr source;
  {
    MutexLock lock(mutex_);
    source = source_;
  }
  ir::GraphPtr described;
  if (!inputs.empty()) MP_RETURN_IF_ERROR(WithInputs(*source, inputs, &described));
  MP_RETURN_IF_ERROR(WithTypes(options_, *source, &described));
  std::shared_ptr<const program::Program> program;
  MP_RETURN_IF_ERROR(program::Program::Compile(described != nullptr ? *described : *source, options, &program)
                         .Prefixed(Format("graph %u (%s) cannot be compiled", id_, source->name.c_str())));
  MutexLock lock(mutex_);
  program_ = std::move(program);
  source_ = nullptr;
  return Ok();
}

Status NumberedGraph::Summary(CompiledSummary* out_summary) const {
  MutexLock lock(mutex_);
  if (program_ == nullptr) {
    return SequenceError(Code::kGraphNotBuilt, Format("graph %u is not compiled; call CompileGraph first", id_));
  }
  out_summary->program = program_;
  out_summary->is_static = program_->is_static();
  out_summary->const_bytes = program_->const_bytes();
  out_summary->feature_bytes =
      program_->is_static() ? std::max(program_->feature_bytes(), program::kMinFeatureBytes) : size_t{0};
  out_summary->refreshable = refreshable();
  out_summary->outputs.assign(program_->outputs().begin(), program_->outputs().end());
  out_summary->aliases.assign(program_->aliases().begin(), program_->aliases().end());
  return Ok();
}

Status NumberedGraph::ClaimMode(RunMode mode) {
  static constexpr const char* kNames[] = {"nothing", "RunGraph", "RunGraphAsync", "RunGraphWithStreamAsync"};
  MutexLock lock(mutex_);
  if (mode_ == RunMode::kNone) mode_ = mode;
  if (mode_ == mode) return Ok();
  const std::string reason = Format("graph %u was run with %s before, and a graph is run in one way only", id_,
                                    kNames[static_cast<int>(mode_)]);
  return mode == RunMode::kStream ? SequenceError(Code::kInvalidArgument, reason) : UnsupportedError(reason);
}

Status NumberedGraph::CheckLoadOptions(const GraphOptions& options, const program::Program& program,
                                       std::vector<int64_t>* out_host_inputs) const {
  MP_RETURN_IF_ERROR(CheckOptions(options));
  const auto inputs = static_cast<int64_t>(program.inputs().size());
  // A graph's own option stands above the load's.
  const GraphOptions merged = MergeOptions(options, options_);
  const std::string_view host = OptionOr(merged, "ge.exec.hostInputIndexes", "");
  MP_RETURN_IF_ERROR(ParseIndexes("ge.exec.hostInputIndexes", host, out_host_inputs));
  for (const int64_t index : *out_host_inputs) {
    if (index < inputs) continue;
    return OptionError("ge.exec.hostInputIndexes", std::string(host),
                       Format("it names input %lld, and graph %u has %lld", static_cast<long long>(index), id_,
                              static_cast<long long>(inputs)));
  }
  // Frozen addresses allow a real device to skip work; here nothing depends on an address. Only the spelling counts.
  std::vector<int64_t> frozen;
  return ParseFrozenInputs(OptionOr(options, "ge.exec.frozenInputIndexes", ""), &frozen);
}

Status NumberedGraph::Load(const GraphOptions& options, const void* handle, Stream* stream) {
  Busy busy(this);
  MP_RETURN_IF_ERROR(busy.TakeStatus());
  {
    MutexLock lock(mutex_);
    if (program_ == nullptr) {
      return SequenceError(Code::kGraphNotBuilt, Format("graph %u is not compiled; call CompileGraph first", id_));
    }
    if (loaded_ != nullptr) return SequenceError(Code::kInvalidArgument, Format("graph %u is loaded already", id_));
  }
  return LoadNow(options, handle, stream);
}

program::DoorPolicy NumberedGraph::Policy() const {
  return {.door = AllocatorDoor::kGe,
          .ask = refreshable() ? program::DoorPolicy::Ask::kEachRun : program::DoorPolicy::Ask::kAtLoad,
          .waits_for_constants = false,
          .kind = trace::ObjectKind::kSessionGraph,
          .object = this,
          .name = Format("graph %u", id_),
          .const_memory = Format("memory for the constants of graph %u", id_),
          .feature_memory = Format("feature memory for graph %u", id_)};
}

Status NumberedGraph::LoadNow(const GraphOptions& options, const void* handle, Stream* stream) {
  program::LoadRequest request;
  request.policy = Policy();
  request.variables = variables_;
  request.device = device_;
  request.stream = stream;
  request.handle = handle;
  std::shared_ptr<const program::Program> program;
  {
    MutexLock lock(mutex_);
    program = program_;
    request.const_memory = const_base_;
    request.feature_memory = feature_base_ != nullptr ? feature_base_ : refreshable_base_;
  }
  std::vector<int64_t> host_inputs;
  MP_RETURN_IF_ERROR(CheckLoadOptions(options, *program, &host_inputs));
  request.const_bytes = program->const_bytes();
  request.parts.push_back({std::move(program), 0});
  std::shared_ptr<program::LoadedProgram> loaded;
  MP_RETURN_IF_ERROR(program::LoadedProgram::Load(request, &loaded));
  dump::Settings dumped;
  std::set<std::string> layers;
  MP_RETURN_IF_ERROR(ParseDump(options_, &dumped, &layers));
  if (!dumped.path.empty()) loaded->DumpTo(dump::ForGraph(dumped, name_, id_, device_->id(), layers));
  MutexLock lock(mutex_);
  host_inputs_ = std::move(host_inputs);
  loaded_ = std::move(loaded);
  return Ok();
}

}  // namespace millpond::session

// SPDX-License-Identifier: Apache-2.0
#include "src/exec/session_graph.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "src/base/log.h"
#include "src/device/memory.h"
#include "src/exec/session_error.h"
#include "src/graph/io/dump.h"

namespace millpond {

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

}  // namespace

ProgramOptions ProgramOptionsFrom(const GraphOptions& options, uint32_t graph_id, int32_t device,
                                  VariableStore* variables) {
  ProgramOptions made;
  const std::string_view level = OptionOr(options, "ge.oo.level", "O3");
  made.fold = OptionOr(options, "ge.oo.constantFolding", level == "O0" ? "false" : "true") == "true";
  made.remove_dead = OptionOr(options, "ge.oo.deadCodeElimination", level == "O0" ? "false" : "true") == "true";
  made.deduplicate = level != "O0";
  made.reuse_memory = OptionOr(options, "ge.exec.disableReuseMemory", "0") != "1";
  if (const io::DumpSettings dumps = io::DumpSettings::FromEnvironment(device); dumps.enabled()) {
    made.dump_folder = dumps.folder.empty() ? "." : dumps.folder;
  }
  made.graph_id = graph_id;
  made.picture = GetOptions().graph_picture;
  made.variables = variables;
  return made;
}

SessionGraph::SessionGraph(uint32_t id, ir::GraphPtr graph, GraphOptions options, Device* device,
                           VariableStore* variables)
    : id_(id),
      claim_(graph),
      options_(std::move(options)),
      device_(device),
      variables_(variables),
      source_(std::move(graph)) {}

SessionGraph::~SessionGraph() {
  // Blocks first, as the client's allocator is told of the graph's end before the program goes (facts 3.3).
  const_block_ = {};
  feature_block_ = {};
  for (const Mark& mark : used_) {
    if (program_ == nullptr || mark.stream->completed() >= mark.count) continue;
    // Tasks that are still queued use the program: it goes after them.
    mark.stream->Launch<TaskKind::kOther>("graph end", {}, [program = program_]() -> Status { return Ok(); }).Ignore();
  }
  builtin_.clear();
  if (internal_ != nullptr) device_->DestroyStream(internal_, false).Ignore();
}

Status SessionGraph::EnterBusy() {
  std::unique_lock lock(mutex_);
  if (busy_ && busy_thread_ == std::this_thread::get_id()) {
    return SequenceError(
        Code::kInvalidArgument,
        Format("graph %u is being compiled or loaded by this very thread: an allocator's callback must "
               "not use the graph it allocates for",
               id_));
  }
  idle_.wait(lock, [this] { return !busy_; });
  busy_ = true;
  busy_thread_ = std::this_thread::get_id();
  return Ok();
}

void SessionGraph::LeaveBusy() {
  {
    std::lock_guard lock(mutex_);
    busy_ = false;
    busy_thread_ = {};
  }
  idle_.notify_all();
}

CompiledBy SessionGraph::compiled_by() const {
  std::lock_guard lock(mutex_);
  return compiled_by_;
}

bool SessionGraph::is_loaded() const {
  std::lock_guard lock(mutex_);
  return loaded_;
}

bool SessionGraph::refreshable() const { return OptionOr(options_, "ge.featureBaseRefreshable", "0") == "1"; }

Status SessionGraph::Compile(std::span<const InputDesc> inputs, CompiledBy by) {
  Busy busy(this);
  MP_RETURN_IF_ERROR(busy.TakeStatus());
  {
    std::lock_guard lock(mutex_);
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
  std::lock_guard lock(mutex_);
  compiled_by_ = by;
  return Ok();
}

Status SessionGraph::CompileNow(std::span<const InputDesc> inputs) {
  ProgramOptions options = ProgramOptionsFrom(options_, id_, device_->id(), variables_);
  if (!options.dump_folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.dump_folder, error);
    MP_CHECK(!error, kInvalidFile, "DUMP_GRAPH_PATH %s cannot be made: %s; name a folder that can be written",
             options.dump_folder.c_str(), error.message().c_str());
  }
  MP_RETURN_IF_ERROR(ParseIndexes("ge.exec.hostInputIndexes", OptionOr(options_, "ge.exec.hostInputIndexes", ""),
                                  &options.host_inputs));
  ir::GraphPtr described;
  if (!inputs.empty()) MP_RETURN_IF_ERROR(WithInputs(*source_, inputs, &described));
  std::shared_ptr<const GraphProgram> program;
  MP_RETURN_IF_ERROR(GraphProgram::Compile(described != nullptr ? *described : *source_, options, &program)
                         .Prefixed(Format("graph %u (%s) cannot be compiled", id_, source_->name.c_str())));
  std::lock_guard lock(mutex_);
  program_ = std::move(program);
  source_ = nullptr;
  return Ok();
}

Status SessionGraph::Summary(GraphSummary* out_summary) const {
  std::lock_guard lock(mutex_);
  if (program_ == nullptr) {
    return SequenceError(Code::kGraphNotBuilt, Format("graph %u is not compiled; call CompileGraph first", id_));
  }
  out_summary->program = program_;
  out_summary->is_static = program_->is_static();
  out_summary->const_bytes = program_->const_bytes();
  out_summary->feature_bytes =
      program_->is_static() ? std::max(program_->feature_bytes(), kLeastFeatureBytes) : size_t{0};
  out_summary->refreshable = refreshable();
  out_summary->outputs.assign(program_->outputs().begin(), program_->outputs().end());
  out_summary->aliases.assign(program_->aliases().begin(), program_->aliases().end());
  return Ok();
}

Status SessionGraph::ClaimMode(RunMode mode) {
  static constexpr const char* kNames[] = {"nothing", "RunGraph", "RunGraphAsync", "RunGraphWithStreamAsync"};
  std::lock_guard lock(mutex_);
  if (mode_ == RunMode::kNone) mode_ = mode;
  if (mode_ == mode) return Ok();
  const std::string reason = Format("graph %u was run with %s before, and a graph is run in one way only", id_,
                                    kNames[static_cast<int>(mode_)]);
  return mode == RunMode::kStream ? SequenceError(Code::kInvalidArgument, reason) : UnsupportedError(reason);
}

Status SessionGraph::CheckLoadOptions(const GraphOptions& options, std::vector<int64_t>* out_host_inputs) const {
  MP_RETURN_IF_ERROR(CheckOptions(options));
  const auto inputs = static_cast<int64_t>(program_->inputs().size());
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

Status SessionGraph::Load(const GraphOptions& options, const void* handle, Stream* stream) {
  Busy busy(this);
  MP_RETURN_IF_ERROR(busy.TakeStatus());
  {
    std::lock_guard lock(mutex_);
    if (program_ == nullptr) {
      return SequenceError(Code::kGraphNotBuilt, Format("graph %u is not compiled; call CompileGraph first", id_));
    }
    if (loaded_) return SequenceError(Code::kInvalidArgument, Format("graph %u is loaded already", id_));
  }
  return LoadNow(options, handle, stream);
}

Status SessionGraph::LoadNow(const GraphOptions& options, const void* handle, Stream* stream) {
  std::vector<int64_t> host_inputs;
  MP_RETURN_IF_ERROR(CheckLoadOptions(options, &host_inputs));
  AllocatorLease lease;
  if (handle != nullptr) lease = AllocatorRegistry::Get().Acquire(AllocatorDoor::kGe, handle);
  // A block that was taken goes back when a later step fails: a failed load can be tried again.
  GraphBlock constants;
  GraphBlock feature;
  MP_RETURN_IF_ERROR(TakeConst(lease, stream, &constants));
  MP_RETURN_IF_ERROR(TakeFeatureAtLoad(lease, stream, &feature));
  void* const base = const_base_.address != nullptr ? const_base_.address : constants.address;
  MP_RETURN_IF_ERROR(program_->LoadConstants(base, LoadKind::kLast, stream));
  std::lock_guard lock(mutex_);
  host_inputs_ = std::move(host_inputs);
  const_block_ = std::move(constants);
  feature_block_ = std::move(feature);
  constants_ = {stream, stream->enqueued()};
  loaded_ = true;
  return Ok();
}

Status SessionGraph::TakeConst(const AllocatorLease& lease, Stream* stream, GraphBlock* out_block) {
  if (const_base_.address != nullptr) return Ok();
  const size_t bytes = program_->const_bytes();
  // A static graph's allocator is asked even for nothing (facts 2.3).
  const bool ask = lease != nullptr && (bytes > 0 || program_->is_static());
  Status status = ask ? TakeExternal(lease, bytes, nullptr, out_block) : BuiltinFor(stream)->Take(bytes, out_block);
  return std::move(status).Prefixed(Format("no memory for the constants of graph %u (%zu bytes)", id_, bytes));
}

Status SessionGraph::TakeFeatureAtLoad(const AllocatorLease& lease, Stream* stream, GraphBlock* out_block) {
  if (!program_->is_static() || feature_base_.address != nullptr || refreshable_base_.address != nullptr) return Ok();
  if (lease != nullptr && refreshable()) return Ok();  // each run asks
  const size_t bytes = std::max(program_->feature_bytes(), kLeastFeatureBytes);
  Status status =
      lease != nullptr ? TakeExternal(lease, bytes, nullptr, out_block) : BuiltinFor(stream)->Take(bytes, out_block);
  return std::move(status).Prefixed(Format("no feature memory for graph %u (%zu bytes)", id_, bytes));
}

std::shared_ptr<BuiltinMemory> SessionGraph::BuiltinFor(Stream* stream) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<BuiltinMemory>& memory = builtin_[stream->handle()];
  if (memory == nullptr) {
    memory = std::make_shared<BuiltinMemory>(stream);
    std::erase_if(builtin_, [](const auto& entry) { return !entry.second->stream_alive(); });
    return builtin_[stream->handle()];
  }
  return memory;
}

}  // namespace millpond

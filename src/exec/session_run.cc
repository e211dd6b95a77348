// SPDX-License-Identifier: Apache-2.0
// Runs of a session's graph.
#include <algorithm>
#include <utility>

#include "src/device/memory.h"
#include "src/exec/session_error.h"
#include "src/exec/session_graph.h"

namespace millpond {

namespace {

bool HasMemory(const GraphTensor& tensor) { return tensor.data != nullptr && tensor.bytes > 0; }

std::shared_ptr<std::byte[]> HostBytes(size_t bytes) { return std::shared_ptr<std::byte[]>(new std::byte[bytes]); }

}  // namespace

Status WaitForMark(Stream* stream, Stream* earlier, uint64_t count) {
  return stream->Launch<TaskKind::kEventWait>(
      "graph order", {}, [earlier, count](TaskSlot&, Stream& waiter, Status*) -> TaskEnd {
        return earlier->AddStreamWaiter(&waiter, count) ? TaskEnd::kBlocked : TaskEnd::kDone;
      });
}

void CopyToHost(GraphTensor* tensor) {
  const int64_t exact = ir::BytesOf(tensor->dtype, tensor->dims);
  const size_t bytes = exact >= 0 ? static_cast<size_t>(exact) : tensor->bytes;
  const std::shared_ptr<std::byte[]> host = HostBytes(std::max<size_t>(bytes, 1));
  if (bytes > 0) CopyBytes(host.get(), tensor->data, bytes);
  tensor->data = host.get();
  tensor->bytes = bytes;
  tensor->placement = ir::Placement::kHost;
  tensor->owner = host;
}

class SessionGraph::Running {
 public:
  explicit Running(SessionGraph* graph) : graph_(graph) {
    std::lock_guard lock(graph_->mutex_);
    ++graph_->running_;
  }
  ~Running() {
    std::lock_guard lock(graph_->mutex_);
    --graph_->running_;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  SessionGraph* const graph_;
};

Status SessionGraph::Prepare(std::span<const GraphTensor> inputs, const void* handle, Stream* stream) {
  if (is_loaded()) return Ok();
  Busy busy(this);
  MP_RETURN_IF_ERROR(busy.TakeStatus());
  if (program_ == nullptr) {
    // An input whose shape the graph leaves open altogether is what the first run brings.
    std::vector<InputDesc> descs;
    const bool open = std::any_of(source_->inputs.begin(), source_->inputs.end(), [](const ir::NodePtr& node) {
      return node != nullptr && !node->outputs.empty() && !node->outputs[0].has_shape;
    });
    if (open && inputs.size() == source_->inputs.size()) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const ir::TensorDesc& desc = source_->inputs[i]->outputs.at(0);
        descs.push_back(desc.has_shape ? InputDesc{DType::kUndefined, -1, desc.dims}
                                       : InputDesc{inputs[i].dtype, inputs[i].format, inputs[i].dims});
      }
    }
    MP_RETURN_IF_ERROR(CompileNow(descs));
    std::lock_guard lock(mutex_);
    compiled_by_ = CompiledBy::kRun;
  }
  return loaded_ ? Ok() : LoadNow({}, handle, stream);
}

Status SessionGraph::CheckInputs(std::span<const GraphTensor> inputs) const {
  const std::span<const ir::TensorDesc> wanted = program_->inputs();
  if (inputs.size() != wanted.size()) {
    return TensorError(Format("graph %u has %zu inputs, and %zu were given", id_, wanted.size(), inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t needed = wanted[i].is_static() ? ir::BytesOf(wanted[i].dtype, wanted[i].dims)
                                                 : ir::BytesOf(inputs[i].dtype, inputs[i].dims);
    if (needed > 0 && inputs[i].data == nullptr) {
      return TensorError(
          Format("input %zu of graph %u has no memory; it takes %lld bytes", i, id_, static_cast<long long>(needed)));
    }
    if (needed >= 0 && inputs[i].bytes < static_cast<size_t>(needed)) {
      return TensorError(Format("input %zu of graph %u has %zu bytes; it takes %lld", i, id_, inputs[i].bytes,
                                static_cast<long long>(needed)));
    }
  }
  return Ok();
}

Status SessionGraph::PlaceInputs(std::span<const GraphTensor> inputs, bool on_host,
                                 std::vector<GraphTensor>* out_inputs) const {
  const std::span<const ir::TensorDesc> wanted = program_->inputs();
  out_inputs->assign(inputs.begin(), inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    GraphTensor& input = (*out_inputs)[i];
    if (wanted[i].is_static()) {  // what the graph says stands; a client may have described the tensor carelessly
      input.dtype = wanted[i].dtype;
      input.format = wanted[i].format;
      input.dims = wanted[i].dims;
    }
    const bool says_host = input.placement == ir::Placement::kHost;
    // The address decides: clients leave the placement as it was made.
    const bool host = input.data != nullptr && LookUp(input.data).kind == PointerKind::kPageable;
    input.placement = host ? ir::Placement::kHost : ir::Placement::kDevice;
    const bool named =
        std::find(host_inputs_.begin(), host_inputs_.end(), static_cast<int64_t>(i)) != host_inputs_.end();
    if (!host || on_host || named || (says_host && !program_->is_static())) continue;
    return TensorError(
        Format("input %zu of graph %u at %p is host memory; give device memory, or name the input in "
               "ge.exec.hostInputIndexes",
               i, id_, input.data));
  }
  return Ok();
}

Status SessionGraph::TakeFeature(const AllocatorLease& lease, Stream* stream, void** out_base, GraphBlock* out_block) {
  const size_t bytes = std::max(program_->feature_bytes(), kLeastFeatureBytes);
  void* near = nullptr;
  {
    std::lock_guard lock(mutex_);
    *out_base = feature_base_.address != nullptr ? feature_base_.address : refreshable_base_.address;
    if (*out_base != nullptr) return Ok();
    if (lease == nullptr || !refreshable()) *out_base = feature_block_.address;
    if (*out_base != nullptr) return Ok();
    near = last_feature_;
  }
  if (lease == nullptr || !refreshable()) {
    // The graph was loaded with an allocator that has been unregistered since: its own memory takes over.
    GraphBlock block;
    MP_RETURN_IF_ERROR(BuiltinFor(stream)->Take(bytes, &block));
    std::lock_guard lock(mutex_);
    if (feature_block_.address == nullptr) feature_block_ = block;
    *out_base = feature_block_.address;
    return Ok();
  }
  MP_RETURN_IF_ERROR(TakeExternal(lease, bytes, near, out_block)
                         .Prefixed(Format("no feature memory for graph %u (%zu bytes)", id_, bytes)));
  *out_base = out_block->address;
  std::lock_guard lock(mutex_);
  last_feature_ = out_block->address;
  return Ok();
}

Status SessionGraph::CheckOutputs(bool on_host, std::vector<GraphTensor>* outputs) const {
  const std::span<const ir::TensorDesc> made = program_->outputs();
  if (outputs->empty()) outputs->resize(made.size());
  if (outputs->size() != made.size()) {
    return TensorError(
        Format("graph %u has %zu outputs, and %zu were given; give all or none", id_, made.size(), outputs->size()));
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    GraphTensor& output = (*outputs)[i];
    const int64_t exact = made[i].is_static() ? ir::BytesOf(made[i].dtype, made[i].dims) : -1;
    if (made[i].is_static()) {
      output.dtype = made[i].dtype;
      output.format = made[i].format;
      output.dims = made[i].dims;
    }
    output.placement = ir::Placement::kDevice;
    if (!HasMemory(output)) {
      output.data = nullptr;
      output.bytes = 0;
      if (has_bases() && !on_host && exact != 0) {
        return TensorError(
            Format("output %zu of graph %u has no memory, and the client brings the graph's memory "
                   "itself: give the outputs memory too",
                   i, id_));
      }
      continue;
    }
    if (exact > 0 && output.bytes < static_cast<size_t>(exact)) {
      return TensorError(Format("output %zu of graph %u has %zu bytes; it takes %lld", i, id_, output.bytes,
                                static_cast<long long>(exact)));
    }
    MP_RETURN_IF_ERROR(GuardedAllocator::CheckDeviceMemory(output.data, exact > 0 ? static_cast<size_t>(exact) : 1)
                           .Prefixed(Format("output %zu of graph %u", i, id_)));
  }
  return Ok();
}

Status SessionGraph::TakeOutputs(const AllocatorLease& lease, Stream* stream, std::vector<GraphTensor>* outputs) {
  StreamMemory memory(lease, BuiltinFor(stream));
  for (size_t i = 0; i < outputs->size(); ++i) {
    GraphTensor& output = (*outputs)[i];
    if (output.data != nullptr) continue;
    const int64_t exact = ir::BytesOf(output.dtype, output.dims);
    if (exact == 0 && has_bases()) continue;  // the program finds a place for nothing
    MP_CHECK(exact >= 0, kUnsupported, "output %zu of graph %u has a type of no fixed size", i, id_);
    const size_t bytes = PaddedBytes(static_cast<size_t>(exact));
    GraphBlock block;
    MP_RETURN_IF_ERROR(memory.Take(bytes, nullptr, &block)
                           .Prefixed(Format("no memory for output %zu of graph %u (%zu bytes)", i, id_, bytes)));
    output.data = block.address;
    output.bytes = bytes;
    output.owner = std::move(block.owner);
  }
  return Ok();
}

// Runs of a static graph share its feature memory, and all share its constants: a run on another stream comes after.
Status SessionGraph::FollowMarks(Stream* stream) {
  std::vector<Mark> marks;
  {
    std::lock_guard lock(mutex_);
    if (program_->is_static()) marks = used_;
    marks.push_back(constants_);
  }
  for (const Mark& mark : marks) {
    if (mark.stream == nullptr || mark.stream == stream || mark.stream->completed() >= mark.count) continue;
    MP_RETURN_IF_ERROR(WaitForMark(stream, mark.stream, mark.count));
  }
  return Ok();
}

void SessionGraph::MarkUse(Stream* stream) {
  std::lock_guard lock(mutex_);
  std::erase_if(used_,
                [stream](const Mark& mark) { return mark.stream == stream || mark.stream->completed() >= mark.count; });
  used_.push_back({stream, stream->enqueued()});
}

void SessionGraph::Wait() {
  std::vector<Mark> marks;
  {
    std::lock_guard lock(mutex_);
    marks = used_;
  }
  for (const Mark& mark : marks) {
    mark.stream->WaitFor(mark.count, std::nullopt, Code::kStreamSyncTimeout).Ignore();  // nobody is left to be told
  }
}

Status SessionGraph::Launch(const AllocatorLease& lease, bool on_host, Stream* stream,
                            std::span<const GraphTensor> inputs, std::vector<GraphTensor>* outputs) {
  const bool is_static = program_->is_static();
  MP_RETURN_IF_ERROR(CheckInputs(inputs));
  MP_RETURN_IF_ERROR(CheckOutputs(on_host, outputs));
  // A static graph's host inputs travel with its launch and are not the allocator's business (facts 2.3, 2.4).
  StreamMemory memory(is_static ? nullptr : lease, BuiltinFor(stream));
  std::vector<GraphTensor> placed;
  MP_RETURN_IF_ERROR(PlaceInputs(inputs, on_host, &placed));
  RunArguments run;
  GraphBlock feature;
  if (is_static) {
    MP_RETURN_IF_ERROR(TakeFeature(lease, stream, &run.feature_base, &feature));
    MP_RETURN_IF_ERROR(TakeOutputs(lease, stream, outputs));
  }
  run.inputs = placed;
  run.outputs = *outputs;
  run.const_base = const_base_.address != nullptr ? const_base_.address : const_block_.address;
  run.memory = &memory;
  run.variables = variables_;
  // From asking who came before to saying who comes now: two threads on two streams must not both find nobody. A
  // dynamic run calls the client's allocator as it launches, and shares nothing that others write.
  std::unique_lock<std::mutex> in_order(launch_mutex_, std::defer_lock);
  if (is_static) in_order.lock();
  MP_RETURN_IF_ERROR(FollowMarks(stream));
  Status status = program_->Launch(run, stream);
  MarkUse(stream);  // also what a failed launch has queued
  if (is_static) in_order.unlock();
  if (!status.ok() || is_static) return status;
  for (GraphTensor& output : *outputs) {  // whose size only the run could tell: exactly as many bytes as it has
    const int64_t exact = ir::BytesOf(output.dtype, output.dims);
    if (output.owner != nullptr && exact >= 0) output.bytes = static_cast<size_t>(exact);
  }
  return status;
}

Status SessionGraph::RunOnStream(bool prepare, const void* handle, Stream* stream, std::span<const GraphTensor> inputs,
                                 std::vector<GraphTensor>* outputs) {
  if (prepare) MP_RETURN_IF_ERROR(Prepare(inputs, handle, stream));
  if (!is_loaded()) {
    return SequenceError(Code::kInvalidArgument,
                         Format("graph %u is not loaded; call CompileGraph and LoadGraph first", id_));
  }
  Running running(this);
  AllocatorLease lease;
  if (handle != nullptr) lease = AllocatorRegistry::Get().Acquire(AllocatorDoor::kGe, handle);
  return Launch(lease, false, stream, inputs, outputs);
}

Status SessionGraph::InternalStream(Stream** out_stream) {
  if (internal_ == nullptr) {
    Context* const context = device_->primary();
    MP_CHECK(context != nullptr, kNoContext, "device %d was reset while a session uses it", device_->id());
    MP_RETURN_IF_ERROR(device_->CreateStream(context, 0, 0, false, &internal_));
  }
  *out_stream = internal_;
  return Ok();
}

Status SessionGraph::RunOnHost(std::span<const GraphTensor> inputs, std::vector<GraphTensor>* out_outputs) {
  out_outputs->clear();
  std::lock_guard host_lock(host_mutex_);
  Stream* stream = nullptr;
  MP_RETURN_IF_ERROR(InternalStream(&stream));
  MP_RETURN_IF_ERROR(Prepare(inputs, nullptr, stream));
  Running running(this);
  std::vector<GraphTensor> outputs;
  Status status = Launch(nullptr, true, stream, inputs, &outputs);
  // Whatever was queued must end before the inputs may go.
  Status ended = stream->Synchronize(std::nullopt, Code::kStreamSyncTimeout);
  MP_RETURN_IF_ERROR(std::move(status));
  MP_RETURN_IF_ERROR(std::move(ended));
  for (GraphTensor& output : outputs) CopyToHost(&output);
  *out_outputs = std::move(outputs);
  return Ok();
}

}  // namespace millpond

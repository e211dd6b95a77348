// SPDX-License-Identifier: Apache-2.0
// Runs of a session's graph.
#include <algorithm>
#include <utility>

#include "src/base/mutex.h"
#include "src/device/memory/memory.h"
#include "src/exec/session/error.h"
#include "src/exec/session/numbered_graph.h"

namespace millpond::session {

namespace {

bool HasMemory(const program::Tensor& tensor) { return tensor.data != nullptr && tensor.bytes > 0; }

std::shared_ptr<std::byte[]> HostBytes(size_t bytes) { return std::shared_ptr<std::byte[]>(new std::byte[bytes]); }

}  // namespace

void CopyToHost(program::Tensor* tensor) {
  const int64_t exact = ir::BytesOf(tensor->dtype, tensor->dims);
  const size_t bytes = exact >= 0 ? static_cast<size_t>(exact) : tensor->bytes;
  const std::shared_ptr<std::byte[]> host = HostBytes(std::max<size_t>(bytes, 1));
  if (bytes > 0) CopyBytes(host.get(), tensor->data, bytes);
  tensor->data = host.get();
  tensor->bytes = bytes;
  tensor->placement = ir::Placement::kHost;
  tensor->owner = host;
}

class NumberedGraph::Running {
 public:
  explicit Running(NumberedGraph* graph) : graph_(graph) {
    MutexLock lock(graph_->mutex_);
    loaded = graph_->loaded_;
    host_inputs = graph_->host_inputs_;
    ++graph_->running_;
  }
  ~Running() {
    MutexLock lock(graph_->mutex_);
    --graph_->running_;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  std::shared_ptr<program::LoadedProgram> loaded;  // null: it is not
  std::vector<int64_t> host_inputs;

 private:
  NumberedGraph* const graph_;
};

Status NumberedGraph::Prepare(std::span<const program::Tensor> inputs, const void* handle, Stream* stream) {
  if (is_loaded()) return Ok();
  Busy busy(this);
  MP_RETURN_IF_ERROR(busy.TakeStatus());
  ir::GraphPtr source;
  {
    MutexLock lock(mutex_);
    if (loaded_ != nullptr) return Ok();
    source = source_;
  }
  if (source != nullptr) {
    // An input whose shape the graph leaves open altogether is what the first run brings.
    std::vector<InputDesc> descs;
    const bool open = std::any_of(source->inputs.begin(), source->inputs.end(), [](const ir::NodePtr& node) {
      return node != nullptr && !node->outputs.empty() && !node->outputs[0].has_shape;
    });
    if (open && inputs.size() == source->inputs.size()) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const ir::TensorDesc& desc = source->inputs[i]->outputs.at(0);
        descs.push_back(desc.has_shape ? InputDesc{DType::kUndefined, -1, desc.dims}
                                       : InputDesc{inputs[i].dtype, inputs[i].format, inputs[i].dims});
      }
    }
    source.reset();  // compiled, it goes
    MP_RETURN_IF_ERROR(CompileNow(descs));
    MutexLock lock(mutex_);
    compiled_by_ = CompiledBy::kRun;
  }
  return LoadNow({}, handle, stream);
}

Status NumberedGraph::CheckInputs(const program::Program& program, std::span<const program::Tensor> inputs) const {
  const std::span<const ir::TensorDesc> wanted = program.inputs();
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

Status NumberedGraph::PlaceInputs(const Running& running, bool on_host, std::span<const program::Tensor> inputs,
                                  std::vector<program::Tensor>* out_inputs) const {
  const program::Program& program = running.loaded->program();
  const std::span<const ir::TensorDesc> wanted = program.inputs();
  out_inputs->assign(inputs.begin(), inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    program::Tensor& input = (*out_inputs)[i];
    if (wanted[i].is_static()) {  // what the graph says stands; a client may have described the tensor carelessly
      input.dtype = wanted[i].dtype;
      input.format = wanted[i].format;
      input.dims = wanted[i].dims;
    }
    const bool says_host = input.placement == ir::Placement::kHost;
    // The address decides: clients leave the placement as it was made.
    const bool host = input.data != nullptr && LookUp(input.data).kind == PointerKind::kPageable;
    input.placement = host ? ir::Placement::kHost : ir::Placement::kDevice;
    const auto& named_inputs = running.host_inputs;
    const bool named =
        std::find(named_inputs.begin(), named_inputs.end(), static_cast<int64_t>(i)) != named_inputs.end();
    if (!host || on_host || named || (says_host && !program.is_static())) continue;
    return TensorError(Format("input %zu of graph %u at %p is host memory; give device memory, or name the input in "
                              "ge.exec.hostInputIndexes",
                              i, id_, input.data))
        .Breaks("MP308", input.data);
  }
  return Ok();
}

Status NumberedGraph::CheckOutputs(const program::LoadedProgram& loaded, bool on_host,
                                   std::vector<program::Tensor>* outputs) const {
  const std::span<const ir::TensorDesc> made = loaded.program().outputs();
  if (outputs->empty()) outputs->resize(made.size());
  if (outputs->size() != made.size()) {
    return TensorError(
        Format("graph %u has %zu outputs, and %zu were given; give all or none", id_, made.size(), outputs->size()));
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    program::Tensor& output = (*outputs)[i];
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
      if (!on_host && exact != 0 && loaded.has_given_memory()) {
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

Status NumberedGraph::CheckRun(const Running& running, bool on_host, std::span<const program::Tensor> inputs,
                               std::vector<program::Tensor>* out_inputs, std::vector<program::Tensor>* outputs) const {
  MP_RETURN_IF_ERROR(CheckInputs(running.loaded->program(), inputs));
  MP_RETURN_IF_ERROR(CheckOutputs(*running.loaded, on_host, outputs));
  return PlaceInputs(running, on_host, inputs, out_inputs);
}

void NumberedGraph::Wait() {
  std::shared_ptr<program::LoadedProgram> loaded;
  {
    MutexLock lock(mutex_);
    loaded = loaded_;
  }
  if (loaded != nullptr) loaded->Wait();
}

Status NumberedGraph::RunOnStream(bool prepare, const void* handle, Stream* stream,
                                  std::span<const program::Tensor> inputs, std::vector<program::Tensor>* outputs) {
  if (prepare) MP_RETURN_IF_ERROR(Prepare(inputs, handle, stream));
  const Running running(this);
  if (running.loaded == nullptr) {
    return SequenceError(Code::kInvalidArgument,
                         Format("graph %u is not loaded; call CompileGraph and LoadGraph first", id_));
  }
  std::vector<program::Tensor> placed;
  MP_RETURN_IF_ERROR(CheckRun(running, false, inputs, &placed, outputs));
  program::LaunchRequest request;
  request.inputs = placed;
  request.outputs = *outputs;
  request.handle = handle;
  return running.loaded->Launch(request, stream);
}

Status NumberedGraph::RunOnHost(std::span<const program::Tensor> inputs, std::vector<program::Tensor>* out_outputs) {
  out_outputs->clear();
  MP_RETURN_IF_ERROR(Prepare(inputs, nullptr, nullptr));
  const Running running(this);
  std::vector<program::Tensor> placed;
  std::vector<program::Tensor> outputs;
  MP_RETURN_IF_ERROR(CheckRun(running, true, inputs, &placed, &outputs));
  program::LaunchRequest request;
  request.inputs = placed;
  request.outputs = outputs;
  MP_RETURN_IF_ERROR(running.loaded->RunAndWait(request));
  for (program::Tensor& output : outputs) CopyToHost(&output);
  *out_outputs = std::move(outputs);
  return Ok();
}

}  // namespace millpond::session

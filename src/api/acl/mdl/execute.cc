// SPDX-License-Identifier: Apache-2.0
// Runs of offline models (docs/compat.md, "Offline models and operators").
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "src/api/acl/mdl/model.h"
#include "src/api/acl/rt/stream/timeout.h"
#include "src/api/common/message.h"
#include "src/device/memory/memory.h"

namespace millpond::acl {

namespace {

// One run: the client's datasets as tensors, and what must be undone or told afterwards.
class Execution {
 public:
  Execution(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output) : id_(id), input_(input), output_(output) {}
  ~Execution() {
    if (succeeded_) return;
    for (const size_t index : allocated_) {  // nobody gets what a failed run has allocated
      FreeDeviceAddress(output_->blobs[index].buffer->data).Ignore();
      output_->blobs[index].buffer->data = nullptr;
      output_->blobs[index].buffer->length = 0;
    }
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // `may_allocate`: outputs without memory get some, which is the client's afterwards.
  Status Prepare(bool may_allocate);
  const std::shared_ptr<Model>& model() const { return model_; }
  ModelRun* run() { return &run_; }
  // After a launch that succeeded: the client may ask what it made. `ended`: the run is over.
  Status Tell(bool ended);
  // The run goes on after its call has failed: what it writes to stays in the client's buffers.
  void KeepMemory() { allocated_.clear(); }

 private:
  Status ChooseGear();
  Status PutInput(size_t index, program::Tensor* out);
  Status PutOutput(size_t index, bool may_allocate, program::Tensor* out);
  Status CheckInRange(size_t index, const ir::Dims& dims) const;
  Status Allocate(size_t index, size_t bytes);
  Status HandOver(size_t index);
  Status CheckReceivers() const;

  const uint32_t id_;
  const aclmdlDataset* const input_;
  aclmdlDataset* const output_;
  std::shared_ptr<Model> model_;
  ModelRun run_;
  std::vector<program::Tensor> tensors_;
  std::vector<size_t> allocated_;  // outputs that got memory for this run
  bool succeeded_ = false;
};

Status Execution::Prepare(bool may_allocate) {
  MP_RETURN_IF_ERROR(CheckDataset("input", input_));
  MP_RETURN_IF_ERROR(CheckDataset("output", output_));
  MP_RETURN_IF_ERROR(ModelTable::Get().Find(id_, &model_));
  const ModelInfo& info = model_->info();
  const size_t inputs = info.fed_inputs();
  MP_REQUIRE(inputs == 0 || input_->blobs.size() > info.fed_input(inputs - 1),
             "the input dataset has %zu buffers; model %u takes %zu inputs", input_->blobs.size(), id_,
             info.inputs().size());
  MP_REQUIRE(output_->blobs.size() == info.outputs().size(),
             "the output dataset has %zu buffers; model %u has %zu outputs", output_->blobs.size(), id_,
             info.outputs().size());
  MP_RETURN_IF_ERROR(ChooseGear());
  tensors_.resize(inputs + info.outputs().size());
  for (size_t i = 0; i < inputs; ++i) MP_RETURN_IF_ERROR(PutInput(info.fed_input(i), &tensors_[i]));
  for (size_t i = 0; i < info.outputs().size(); ++i) {
    MP_RETURN_IF_ERROR(PutOutput(i, may_allocate, &tensors_[inputs + i]));
  }
  run_.inputs = std::span(tensors_).first(inputs);
  run_.outputs = std::span(tensors_).subspan(inputs);
  return Ok();
}

Status Execution::ChooseGear() {
  const ModelInfo& info = model_->info();
  if (!info.has_gears()) {
    MP_REQUIRE(input_->gear_sizes.empty(),
               "sizes were chosen for the input dataset, and model %u has none to choose from", id_);
    return Ok();
  }
  MP_REQUIRE(!input_->gear_sizes.empty(),
             "model %u was built for several sizes: choose with aclmdlSetDynamicBatchSize, aclmdlSetDynamicHWSize or "
             "aclmdlSetInputDynamicDims before it runs",
             id_);
  run_.gear = info.FindGear(input_->gear_sizes);
  MP_CHECK(run_.gear != ModelInfo::kNoGear, kOverLimit, "model %u was not built for %s, which the dataset has chosen",
           id_, ir::TextOf(input_->gear_sizes).c_str());
  return Ok();
}

Status Execution::CheckInRange(size_t index, const ir::Dims& dims) const {
  const ModelTensor& wanted = model_->info().inputs()[index];
  if (!ir::IsKnownRank(wanted.dims)) return Ok();
  const auto fits = [&](size_t i) {
    if (wanted.dims[i] >= 0) return dims[i] == wanted.dims[i];
    if (i >= wanted.range.size()) return dims[i] >= 0;
    return dims[i] >= wanted.range[i].first && (wanted.range[i].second < 0 || dims[i] <= wanted.range[i].second);
  };
  bool all = dims.size() == wanted.dims.size();
  for (size_t i = 0; all && i < dims.size(); ++i) all = fits(i);
  if (all) return Ok();
  std::string ranges;
  for (const auto& [low, high] : wanted.range) {
    ranges += Format(" %lld~%lld", static_cast<long long>(low), static_cast<long long>(high));
  }
  return InvalidArgument(Format("input %zu has shape %s; model %u takes %s%s%s", index, ir::TextOf(dims).c_str(), id_,
                                ir::TextOf(wanted.dims).c_str(), ranges.empty() ? "" : " with ranges", ranges.c_str()));
}

Status Execution::PutInput(size_t index, program::Tensor* out) {
  const ModelInfo& info = model_->info();
  const aclmdlDataset::Blob& blob = input_->blobs[index];
  MP_REQUIRE(IsAlive(blob.buffer), "the buffer of input %zu was destroyed while the dataset holds it", index);
  const ModelTensor& wanted = info.inputs()[index];
  out->dtype = wanted.dtype;
  out->data = blob.buffer->data;
  out->bytes = blob.buffer->length;
  const bool is_own =
      index < info.graph_inputs() && wanted.memory == wanted.dims;  // not a picture, not AIPP's parameters
  if (!info.is_dynamic()) {
    MP_REQUIRE(blob.desc == nullptr ||
                   blob.desc->dims == (info.has_gears() && is_own ? info.gear_inputs(run_.gear)[index] : wanted.dims),
               "a shape was set for input %zu by aclmdlSetDatasetTensorDesc, and it is not the one model %u was built "
               "for",
               index, id_);
    return Ok();
  }
  if (blob.desc != nullptr) {
    out->dims.assign(blob.desc->dims.begin(), blob.desc->dims.end());
    MP_RETURN_IF_ERROR(CheckInRange(index, out->dims));
    if (!is_own) out->dims = wanted.memory;
    return Ok();
  }
  MP_REQUIRE(ir::IsStatic(wanted.dims),
             "input %zu of model %u has shape %s: say with aclmdlSetDatasetTensorDesc which it "
             "has in this run",
             index, id_, ir::TextOf(wanted.dims).c_str());
  out->dims = wanted.memory;
  return Ok();
}

Status Execution::PutOutput(size_t index, bool may_allocate, program::Tensor* out) {
  const ModelInfo& info = model_->info();
  aclDataBuffer* const buffer = output_->blobs[index].buffer;
  MP_REQUIRE(IsAlive(buffer), "the buffer of output %zu was destroyed while the dataset holds it", index);
  if (buffer->data == nullptr) {
    MP_REQUIRE(
        may_allocate,
        "output %zu has no memory; only aclmdlExecute and aclmdlExecuteV2 allocate it, so give aclmdlExecuteAsync "
        "a buffer",
        index);
    if (!info.is_dynamic()) {
      const program::Program& program = info.program(run_.gear);
      const int64_t bytes = ir::BytesOf(program.outputs()[index].dtype, program.outputs()[index].dims);
      MP_RETURN_IF_ERROR(Allocate(index, static_cast<size_t>(std::max<int64_t>(bytes, 1))));
    }
  }
  out->data = buffer->data;
  out->bytes = buffer->length;
  return Ok();
}

Status Execution::Allocate(size_t index, size_t bytes) {
  allocated_.reserve(output_->blobs.size());
  aclDataBuffer* const buffer = output_->blobs[index].buffer;
  MP_RETURN_IF_ERROR(model_->device()
                         ->memory()
                         .Allocate(bytes, "model output", &buffer->data)
                         .Prefixed(Format("no memory for output %zu (%zu bytes)", index, bytes)));
  buffer->length = bytes;
  allocated_.push_back(index);
  return Ok();
}

// A dynamic run found memory for an output: a copy in memory of the client's own.
Status Execution::HandOver(size_t index) {
  const program::Tensor& made = run_.outputs[index];
  const int64_t exact = ir::BytesOf(made.dtype, made.dims);
  const size_t bytes = static_cast<size_t>(std::max<int64_t>(exact, 0));
  MP_RETURN_IF_ERROR(Allocate(index, std::max<size_t>(bytes, 1)));
  if (bytes > 0) CopyBytes(output_->blobs[index].buffer->data, made.data, bytes);
  return Ok();
}

// The client's allocator was asked meanwhile, and may have destroyed what would be told.
Status Execution::CheckReceivers() const {
  MP_RETURN_IF_ERROR(CheckDataset("output", output_).Prefixed("while the model was being launched"));
  bool alive = output_->blobs.size() == run_.outputs.size();
  for (const aclmdlDataset::Blob& blob : output_->blobs) alive = alive && IsAlive(blob.buffer);
  MP_REQUIRE(alive,
             "buffers of the output dataset were added or destroyed while model %u was being launched; an allocator's "
             "callback must leave what the call was given alone",
             id_);
  return Ok();
}

Status Execution::Tell(bool ended) {
  if (model_->info().is_dynamic()) {
    MP_RETURN_IF_ERROR(CheckReceivers());
    for (size_t i = 0; i < run_.outputs.size(); ++i) {
      const program::Tensor& made = run_.outputs[i];
      if (ended && output_->blobs[i].buffer->data == nullptr) MP_RETURN_IF_ERROR(HandOver(i));
      std::unique_ptr<aclTensorDesc>& desc = output_->blobs[i].desc;
      if (desc == nullptr) desc = std::make_unique<aclTensorDesc>();
      desc->of_dataset = true;
      desc->data_type = static_cast<aclDataType>(made.dtype);
      desc->format = static_cast<aclFormat>(made.format);
      desc->dims.assign(made.dims.begin(), made.dims.end());
      desc->storage_dims = desc->dims;
    }
  }
  succeeded_ = true;
  return Ok();
}

Status ExecuteAsync(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output, aclrtStream stream,
                    const aclmdlExecConfigHandle* config) {
  Execution execution(id, input, output);
  MP_RETURN_IF_ERROR(execution.Prepare(false));
  if (config != nullptr) {
    execution.run()->work = config->work;
    execution.run()->work_bytes = config->work_bytes;
  }
  Stream* found = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
  MP_RETURN_IF_ERROR(execution.model()->Launch(*execution.run(), stream, found));
  return execution.Tell(false);
}

}  // namespace
}  // namespace millpond::acl

using namespace millpond;       // NOLINT: entry points only below
using namespace millpond::acl;  // NOLINT

extern "C" aclError aclmdlExecute(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output) {
  return ModelGuard(__func__, [&]() -> Status {
    Execution execution(modelId, input, output);
    MP_RETURN_IF_ERROR(execution.Prepare(true));
    MP_RETURN_IF_ERROR(execution.model()->RunAndWait(*execution.run()));
    return execution.Tell(true);
  });
}

extern "C" aclError aclmdlExecuteV2(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output,
                                    aclrtStream stream, const aclmdlExecConfigHandle* handle) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckHandle("handle", "aclmdlCreateExecConfigHandle", handle));
    Execution execution(modelId, input, output);
    MP_RETURN_IF_ERROR(execution.Prepare(true));
    execution.run()->work = handle->work;
    execution.run()->work_bytes = handle->work_bytes;
    Deadline deadline;
    MP_RETURN_IF_ERROR(DeadlineFrom(handle->stream_timeout, &deadline));
    Stream* found = nullptr;
    MP_RETURN_IF_ERROR(ResolveStream(stream, &found));
    MP_RETURN_IF_ERROR(execution.model()->Launch(*execution.run(), nullptr, found));
    Status ended = found->Synchronize(deadline, Code::kStreamSyncTimeout);
    if (ended.code() == Code::kStreamSyncTimeout) execution.KeepMemory();
    MP_RETURN_IF_ERROR(std::move(ended));
    return execution.Tell(true);
  });
}

extern "C" aclError aclmdlExecuteAsync(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output,
                                       aclrtStream stream) {
  return ModelGuard(__func__, [&] { return ExecuteAsync(modelId, input, output, stream, nullptr); });
}

extern "C" aclError aclmdlExecuteAsyncV2(uint32_t modelId, const aclmdlDataset* input, aclmdlDataset* output,
                                         aclrtStream stream, const aclmdlExecConfigHandle* handle) {
  return ModelGuard(__func__, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckHandle("handle", "aclmdlCreateExecConfigHandle", handle));
    return ExecuteAsync(modelId, input, output, stream, handle);
  });
}

// SPDX-License-Identifier: Apache-2.0
#include "src/exec/model.h"

#include <algorithm>
#include <utility>

#include "src/device/memory.h"
#include "src/exec/graph_memory.h"
#include "src/exec/session_graph.h"

namespace millpond {

namespace {

// As the graphs of sessions: a client that asks for the sizes and allocates them must not ask for nothing.
constexpr size_t kLeastBytes = SessionGraph::kLeastFeatureBytes;
constexpr size_t kBaseAlignment = 32;

Status CheckGiven(const char* what, const void* memory, size_t given, size_t needed) {
  return program::JudgeRange(Format("the %s memory of the model", what), memory, given, needed, kBaseAlignment);
}

}  // namespace

Model::Model(std::shared_ptr<const ModelInfo> info, Context* context)
    : info_(std::move(info)), device_(context->device()), context_(context->handle()) {}

Status Model::Load(std::shared_ptr<const ModelInfo> info, const ModelMemory& memory, Context* context,
                   std::shared_ptr<Model>* out) {
  const std::shared_ptr<Model> model(new Model(std::move(info), context));
  MP_RETURN_IF_ERROR(model->TakeMemory(memory));
  std::lock_guard lock(model->own_mutex_);
  Stream* stream = nullptr;
  MP_RETURN_IF_ERROR(model->OwnStream(&stream));
  const ModelInfo& made = *model->info_;
  for (size_t i = 0; i < made.programs().size(); ++i) {
    const GraphProgram& program = *made.programs()[i];
    if (program.const_bytes() == 0) continue;
    void* const weights = static_cast<std::byte*>(model->weight_) + made.weight_offset(i);
    MP_RETURN_IF_ERROR(program.LoadConstants(weights, LoadKind::kLast, stream));
  }
  MP_RETURN_IF_ERROR(stream->Synchronize(std::nullopt, Code::kStreamSyncTimeout).Prefixed("loading the weights"));
  *out = model;
  return Ok();
}

Status Model::TakeMemory(const ModelMemory& memory) {
  const size_t weight_bytes = info_->weight_bytes();
  if (memory.weight != nullptr) {
    MP_RETURN_IF_ERROR(CheckGiven("weight", memory.weight, memory.weight_bytes, weight_bytes));
    weight_ = memory.weight;
  }
  if (memory.work != nullptr && !info_->is_dynamic()) {
    MP_RETURN_IF_ERROR(CheckGiven("work", memory.work, memory.work_bytes, info_->work_bytes()));
    work_ = memory.work;
  }
  std::lock_guard lock(own_mutex_);
  Stream* stream = nullptr;
  MP_RETURN_IF_ERROR(OwnStream(&stream));
  if (weight_ == nullptr && weight_bytes > 0) {
    MP_RETURN_IF_ERROR(BuiltinFor(stream)
                           ->Take(weight_bytes, &weight_block_)
                           .Prefixed(Format("no memory for the model's weights (%zu bytes)", weight_bytes)));
    weight_ = weight_block_.address;
  }
  if (work_ == nullptr && !info_->is_dynamic()) {
    const size_t bytes = std::max(info_->work_bytes(), kLeastBytes);
    MP_RETURN_IF_ERROR(BuiltinFor(stream)
                           ->Take(bytes, &work_block_)
                           .Prefixed(Format("no memory for the model to work in (%zu bytes)", bytes)));
    work_ = work_block_.address;
  }
  return Ok();
}

Model::~Model() {
  for (const Mark& mark : used_) {
    if (mark.stream->completed() >= mark.count) continue;
    // Tasks that are still queued use the memory: it goes after them.
    mark.stream
        ->Launch<TaskKind::kOther>(
            "model end", {}, [work = work_block_, weight = weight_block_, info = info_]() -> Status { return Ok(); })
        .Ignore();
  }
  // Variables belong to the model alone: their users must have ended.
  if (!variables_.Names().empty()) {
    for (const Mark& mark : used_) {
      mark.stream->WaitFor(mark.count, std::nullopt, Code::kStreamSyncTimeout).Ignore();  // nobody is left to be told
    }
  }
  work_block_ = {};
  weight_block_ = {};
  builtin_.clear();
  if (own_stream_ != nullptr && Streams().Find(own_handle_) == own_stream_) {
    device_->DestroyStream(own_stream_, false).Ignore();
  }
}

// pre: own_mutex_ held. A device that was reset has destroyed its streams, and maybe the context; memory stays.
Status Model::OwnStream(Stream** out_stream) {
  if (own_stream_ == nullptr || Streams().Find(own_handle_) != own_stream_) {
    own_stream_ = nullptr;
    Context* context = Contexts().Find(context_);
    if (context == nullptr) context = device_->primary();
    MP_CHECK(context != nullptr, kNoContext,
             "the context that the model was loaded in is gone, and device %d has no other; call aclrtSetDevice",
             device_->id());
    MP_RETURN_IF_ERROR(device_->CreateStream(context, 0, 0, false, &own_stream_));
    own_handle_ = own_stream_->handle();
  }
  *out_stream = own_stream_;
  return Ok();
}

std::shared_ptr<BuiltinMemory> Model::BuiltinFor(Stream* stream) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<BuiltinMemory>& memory = builtin_[stream->handle()];
  if (memory != nullptr) return memory;
  memory = std::make_shared<BuiltinMemory>(stream);
  std::shared_ptr<BuiltinMemory> made = memory;
  std::erase_if(builtin_, [](const auto& entry) { return !entry.second->stream_alive(); });
  return made;
}

// Runs of a static model share its work memory: a run on another stream comes after.
Status Model::Follow(Stream* stream) {
  std::vector<Mark> pending;
  {
    std::lock_guard lock(mutex_);
    for (const Mark& mark : used_) {
      if (mark.stream != stream && mark.stream->completed() < mark.count) pending.push_back(mark);
    }
  }
  for (const Mark& mark : pending) MP_RETURN_IF_ERROR(WaitForMark(stream, mark.stream, mark.count));
  return Ok();
}

void Model::MarkUse(Stream* stream) {
  std::lock_guard lock(mutex_);
  if (used_.size() == 1 && used_[0].stream == stream) {
    used_[0].count = stream->enqueued();
    return;
  }
  std::erase_if(used_,
                [stream](const Mark& mark) { return mark.stream == stream || mark.stream->completed() >= mark.count; });
  used_.push_back({stream, stream->enqueued()});
}

Status Model::Launch(const ModelRun& run, const AllocatorLease& lease, Stream* stream) {
  MP_CHECK(stream->device() == device_, kWrongContext,
           "the stream is of device %d, and the model was loaded on device %d", stream->device()->id(), device_->id());
  const GraphProgram& program = info_->program(run.gear);
  RunArguments arguments;
  arguments.inputs = run.inputs;
  arguments.outputs = run.outputs;
  arguments.const_base =
      program.const_bytes() == 0 ? nullptr : static_cast<std::byte*>(weight_) + info_->weight_offset(run.gear);
  arguments.variables = &variables_;
  Status status;
  if (info_->is_dynamic()) {
    StreamMemory memory(lease, lease != nullptr ? nullptr : BuiltinFor(stream));
    arguments.memory = &memory;
    status = program.Launch(arguments, stream);
  } else {
    if (run.work != nullptr) MP_RETURN_IF_ERROR(CheckGiven("work", run.work, run.work_bytes, program.feature_bytes()));
    arguments.feature_base = run.work != nullptr ? run.work : work_;
    std::lock_guard lock(launch_mutex_);
    MP_RETURN_IF_ERROR(Follow(stream));
    status = program.Launch(arguments, stream);
  }
  MarkUse(stream);  // also what a failed launch has queued
  return status;
}

Status Model::RunAndWait(const ModelRun& run) {
  std::lock_guard lock(own_mutex_);
  Stream* stream = nullptr;
  MP_RETURN_IF_ERROR(OwnStream(&stream));
  Status launched = Launch(run, nullptr, stream);
  // Whatever was queued must end before the client may go on.
  Status ended = stream->Synchronize(std::nullopt, Code::kStreamSyncTimeout);
  MP_RETURN_IF_ERROR(std::move(launched));
  return ended;
}

}  // namespace millpond

// SPDX-License-Identifier: Apache-2.0
#include "src/exec/model/model.h"

#include <utility>

#include "src/exec/program/memory.h"

namespace millpond {

namespace {

Status CheckGiven(const char* what, const void* memory, size_t given, size_t needed) {
  return program::ValidateRange(Format("the %s memory of the model", what), memory, given, needed,
                                program::kBaseAlignment);
}

// A model's weights and work memory are the client's or built-in; only dynamic runs ask an allocator.
program::DoorPolicy ModelPolicy(const Model* model) {
  return {.door = AllocatorDoor::kAcl,
          .ask = program::DoorPolicy::Ask::kNever,
          .waits_for_constants = true,
          .kind = trace::ObjectKind::kModel,
          .object = model,
          .name = "the model",
          .const_memory = "memory for the model's weights",
          .feature_memory = "memory for the model to work in"};
}

}  // namespace

Status Model::Load(std::shared_ptr<const ModelInfo> info, const ModelMemory& memory, Context* context,
                   std::shared_ptr<Model>* out) {
  const std::shared_ptr<Model> model(new Model(std::move(info)));
  const ModelInfo& made = *model->info_;
  program::LoadRequest request;
  request.policy = ModelPolicy(model.get());
  request.const_bytes = made.weight_bytes();
  request.variables = &model->variables_;
  request.device = context->device();
  request.context = context;
  if (memory.weight != nullptr) {
    MP_RETURN_IF_ERROR(CheckGiven("weight", memory.weight, memory.weight_bytes, made.weight_bytes()));
    request.const_memory = memory.weight;
  }
  if (memory.work != nullptr && !made.is_dynamic()) {
    MP_RETURN_IF_ERROR(CheckGiven("work", memory.work, memory.work_bytes, made.work_bytes()));
    request.feature_memory = memory.work;
  }
  for (size_t i = 0; i < made.programs().size(); ++i) {
    request.parts.push_back({made.programs()[i], made.weight_offset(i)});
  }
  MP_RETURN_IF_ERROR(program::LoadedProgram::Load(request, &model->loaded_));
  *out = model;
  return Ok();
}

Model::~Model() {
  // Variables belong to the model alone: their users must have ended.
  if (loaded_ != nullptr && !variables_.empty()) loaded_->Wait();
}

Status Model::MakeRequest(const ModelRun& run, program::LaunchRequest* out) const {
  out->inputs = run.inputs;
  out->outputs = run.outputs;
  out->part = info_->has_gears() ? run.gear : 0;
  if (run.work == nullptr || info_->is_dynamic()) return Ok();
  out->feature_memory = run.work;
  return CheckGiven("work", run.work, run.work_bytes, info_->program(run.gear).feature_bytes());
}

Status Model::Launch(const ModelRun& run, const void* handle, Stream* stream) {
  MP_CHECK(stream->device() == device(), kWrongContext,
           "the stream is of device %d, and the model was loaded on device %d", stream->device()->id(), device()->id());
  program::LaunchRequest request;
  MP_RETURN_IF_ERROR(MakeRequest(run, &request));
  request.handle = handle;
  return loaded_->Launch(request, stream);
}

Status Model::RunAndWait(const ModelRun& run) {
  program::LaunchRequest request;
  MP_RETURN_IF_ERROR(MakeRequest(run, &request));
  return loaded_->RunAndWait(request);
}

}  // namespace millpond

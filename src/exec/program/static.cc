// SPDX-License-Identifier: Apache-2.0
// Programs whose shapes are all known: lowered and planned when compiled, run as one task.
#include <algorithm>
#include <utility>

#include "src/base/format.h"
#include "src/device/memory/memory.h"
#include "src/exec/program/compiled.h"
#include "src/exec/program/constants.h"
#include "src/exec/program/execute.h"
#include "src/exec/program/memory.h"
#include "src/exec/program/place.h"
#include "src/exec/program/report.h"

namespace millpond::program {
namespace {

class StaticProgram : public CompiledProgram {
 public:
  StaticProgram(std::shared_ptr<const Compiled> compiled, std::shared_ptr<ConstantArea> constants,
                std::shared_ptr<const Executable> executable, std::vector<ir::TensorDesc> outputs,
                std::vector<bool> staged, size_t feature_bytes)
      : CompiledProgram(std::move(compiled)),
        constants_(std::move(constants)),
        executable_(std::move(executable)),
        outputs_(std::move(outputs)),
        staged_(std::move(staged)),
        feature_bytes_(feature_bytes) {
    for (const ir::TensorDesc& desc : inputs()) {
      input_bytes_.push_back(BytesFor(desc));
      any_length_.push_back(desc.attributes != nullptr && desc.attributes->contains(kAnyLength));
    }
    for (const ir::TensorDesc& desc : outputs_) output_bytes_.push_back(BytesFor(desc));
  }

  bool is_static() const override { return true; }
  std::span<const ir::TensorDesc> outputs() const override { return outputs_; }
  size_t const_bytes() const override { return constants_->bytes(); }
  size_t feature_bytes() const override { return feature_bytes_; }

  bool SameConstants(const Program& other) const override {
    const auto* const program = dynamic_cast<const StaticProgram*>(&other);
    return program != nullptr && constants_->Same(*program->constants_);
  }

  Status LoadConstants(void* const_base, LoadKind kind, Stream* stream) const override {
    MP_RETURN_IF_ERROR(ValidateRange("constant memory", const_base, const_bytes(), const_bytes(), kBaseAlignment));
    return constants_->Load(const_base, kind, stream);
  }

  Status Launch(const RunArguments& run, Stream* stream) const override {
    MP_RETURN_IF_ERROR(ValidateCounts(run, input_bytes_.size(), output_bytes_.size()));
    MP_RETURN_IF_ERROR(ValidateReach(run, *stream));
    MP_RETURN_IF_ERROR(ValidateRange("constant memory", run.const_base, const_bytes(), const_bytes(), kBaseAlignment));
    MP_RETURN_IF_ERROR(
        ValidateRange("feature memory", run.feature_base, feature_bytes_, feature_bytes_, kBaseAlignment));
    Roots roots{.inputs = {},
                .lengths = {},
                .outputs = {},
                .variables = {},
                .constants = run.const_base,
                .feature = run.feature_base};
    std::vector<HostInput> host;
    std::vector<Block> blocks(run.inputs.size());
    for (size_t i = 0; i < run.inputs.size(); ++i) MP_RETURN_IF_ERROR(Feed(run, i, &roots, &host, &blocks[i]));
    for (size_t i = 0; i < run.outputs.size(); ++i) MP_RETURN_IF_ERROR(PlaceOutput(run.outputs[i], i, &roots));
    MP_RETURN_IF_ERROR(FindVariables(compiled_->recipes, run, stream, &roots.variables));
    MP_RETURN_IF_ERROR(executable_->Launch(roots, std::move(host), stream, run.dump));
    for (size_t i = 0; i < run.outputs.size(); ++i) Tell(i, &run.outputs[i]);
    return Ok();
  }

 private:
  static size_t BytesFor(const ir::TensorDesc& desc) {
    return static_cast<size_t>(std::max<int64_t>(0, ir::BytesOf(desc.dtype, desc.dims)));
  }

  Status Feed(const RunArguments& run, size_t number, Roots* roots, std::vector<HostInput>* host, Block* block) const {
    const Tensor& tensor = run.inputs[number];
    const bool any_length = any_length_[number] && tensor.placement == ir::Placement::kDevice;
    const size_t needed = any_length ? std::max<size_t>(tensor.bytes, 1) : input_bytes_[number];
    roots->lengths.push_back(any_length_[number] ? static_cast<int64_t>(needed) : 0);
    MP_RETURN_IF_ERROR(ValidateTensor("input", number, tensor, inputs()[number].dtype, needed));
    roots->inputs.push_back(tensor.data);
    if (tensor.placement != ir::Placement::kHost || needed == 0) return Ok();
    HostInput input{.input = static_cast<uint32_t>(number), .to = nullptr, .bytes = {}};
    if (!staged_[number]) {
      MP_REQUIRE(run.memory != nullptr,
                 "input %zu lies on the host; name it in ge.exec.hostInputIndexes, or copy it to the device", number);
      MP_RETURN_IF_ERROR(TakeBlock(run.memory, Format("input %zu", number), needed, block));
      input.to = roots->inputs.back() = block->address;
    }
    const auto* bytes = static_cast<const std::byte*>(tensor.data);
    input.bytes.assign(bytes, bytes + needed);
    host->push_back(std::move(input));
    return Ok();
  }

  Status PlaceOutput(const Tensor& tensor, size_t number, Roots* roots) const {
    MP_REQUIRE(tensor.placement == ir::Placement::kDevice,
               "output %zu lies on the host; a graph writes its outputs to device memory", number);
    MP_RETURN_IF_ERROR(ValidateTensor("output", number, tensor, outputs_[number].dtype, output_bytes_[number]));
    roots->outputs.push_back(tensor.data);
    return Ok();
  }

  void Tell(size_t number, Tensor* out) const {
    const ir::TensorDesc& desc = outputs_[number];
    out->dtype = desc.dtype;
    out->format = desc.format;
    out->dims = desc.dims;
  }

  const std::shared_ptr<ConstantArea> constants_;
  const std::shared_ptr<const Executable> executable_;
  const std::vector<ir::TensorDesc> outputs_;
  const std::vector<bool> staged_;  // by input: has memory of its own, for what comes from the host
  const size_t feature_bytes_;
  std::vector<size_t> input_bytes_;
  std::vector<bool> any_length_;  // by input
  std::vector<size_t> output_bytes_;
};

}  // namespace

Status MakeStatic(const std::shared_ptr<const Compiled>& compiled, const CompileOptions& options,
                  std::shared_ptr<const Program>* out_program) {
  for (const ir::TensorDesc& desc : compiled->inputs) {
    if (!desc.is_static()) return Ok();
  }
  Plan plan;
  Lowering lowering(compiled->recipes, &plan, nullptr);
  std::vector<bool> staged(compiled->inputs.size());
  for (const int64_t index : options.host_inputs) {
    MP_REQUIRE(index >= 0 && static_cast<size_t>(index) < staged.size(),
               "host input %lld was named; the graph has %zu inputs, counted from 0", static_cast<long long>(index),
               staged.size());
    staged[static_cast<size_t>(index)] = true;
  }
  std::vector<Value> inputs;
  for (uint32_t i = 0; i < compiled->inputs.size(); ++i) {
    Value value = InputValue(compiled->inputs[i], compiled->inputs[i].dims);
    value.buffer = staged[i] && value.bytes() != 0 ? lowering.StageInput(i, value.bytes())
                                                   : lowering.NewBuffer(Home::kInput, i, value.bytes());
    inputs.push_back(std::move(value));
  }
  std::vector<Value> results;
  Status lowered = lowering.Run(inputs, &results);
  if (!lowered.ok()) return lowering.needs_run() ? Ok() : std::move(lowered);
  FeaturePlan feature;
  const Reuse reuse = !options.reuse_memory ? Reuse::kNone : options.share_places ? Reuse::kSharing : Reuse::kDead;
  MP_RETURN_IF_ERROR(PlanFeature(reuse, &plan, &feature));
  if (!options.report.empty()) DrawStatic(*compiled, plan, feature, options);
  std::vector<ir::TensorDesc> outputs = compiled->outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].dtype = results[i].dtype;
    outputs[i].dims = outputs[i].origin_dims = results[i].dims;
    outputs[i].has_shape = outputs[i].has_origin_shape = true;
  }
  auto constants = std::make_shared<ConstantArea>(&plan);
  auto executable = std::make_shared<const Executable>(std::move(plan), compiled);
  *out_program = std::make_shared<StaticProgram>(compiled, std::move(constants), std::move(executable),
                                                 std::move(outputs), std::move(staged), feature.bytes);
  return Ok();
}

}  // namespace millpond::program

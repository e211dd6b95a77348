// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/single_op_shapes.h"

#include <algorithm>

#include "src/base/format.h"
#include "src/ops/ge_infer.h"

namespace millpond {
namespace {

void Describe(const SingleOpTensor& tensor, DoorTensor* out) {
  if (tensor.dtype == DType::kUndefined) return;
  TensorView& view = out->view;
  view.dtype = tensor.dtype;
  view.format = static_cast<int16_t>(tensor.format);
  view.rank = static_cast<uint8_t>(tensor.dims.size());
  std::copy(tensor.dims.begin(), tensor.dims.end(), view.dims);
  view.SetContiguousStrides();
  view.layout = tensor.layout;
  view.c0 = tensor.c0;
  if (!tensor.constant.empty()) out->values = tensor.constant.data();
}

}  // namespace

Status CountMembers(std::string_view type, const DoorBinding& binding, std::span<const std::string_view> member_of,
                    std::vector<uint32_t>* out) {
  const bool told =
      std::any_of(member_of.begin(), member_of.end(), [](std::string_view name) { return !name.empty(); });
  if (!told) return Ok();
  size_t place = 0;
  for (const DoorOperand& operand : binding.inputs) {
    uint32_t count = 0;
    if (operand.dynamic) {
      while (place + count < member_of.size() && member_of[place + count] == operand.name) ++count;
    } else if (place < member_of.size()) {
      MP_REQUIRE(member_of[place].empty(), "inputDesc[%zu] is a member of the dynamic input '%s', where %s has '%s'",
                 place, std::string(member_of[place]).c_str(), std::string(type).c_str(),
                 std::string(operand.name).c_str());
      count = 1;
    }
    out->push_back(count);
    place += count;
  }
  MP_REQUIRE(place == member_of.size(),
             "%zu inputs were given, and %s has room for %zu; inputDesc[%zu] is one too many", member_of.size(),
             std::string(type).c_str(), place, place);
  return Ok();
}

Status DescribeForDoor(const SingleOp& op, DoorArguments* out) {
  out->inputs.resize(op.desc.inputs.size());
  out->outputs.resize(op.desc.outputs.size());
  for (size_t i = 0; i < op.desc.inputs.size(); ++i) Describe(op.desc.inputs[i], &out->inputs[i]);
  for (size_t i = 0; i < op.desc.outputs.size(); ++i) Describe(op.desc.outputs[i], &out->outputs[i]);
  out->attributes = op.desc.attributes;
  std::vector<std::string_view> member_of;
  member_of.reserve(op.desc.inputs.size());
  for (const SingleOpTensor& input : op.desc.inputs) member_of.push_back(input.dynamic_input);
  return CountMembers(op.desc.type, *op.binding, member_of, &out->input_counts);
}

Status InferUnknownShapes(const SingleOp& op, DoorArguments* arguments,
                          const std::function<Status(size_t)>& need_values) {
  GeInferInput given;
  given.attributes = &arguments->attributes;
  given.input_counts = arguments->input_counts;
  given.outputs = arguments->outputs.size();
  for (const DoorTensor& input : arguments->inputs) {
    const auto shape = input.view.shape();
    given.inputs.push_back({input.view.dtype, {shape.begin(), shape.end()}, input.values, input.view.format});
  }
  GeInferOutput inferred;
  for (;;) {
    Status status = InferGe(op.desc.type, given, &inferred);
    if (status.ok()) break;
    if (inferred.needed_input < 0) return status;
    const auto needed = static_cast<size_t>(inferred.needed_input);
    MP_RETURN_IF_ERROR(need_values(needed));
    if (arguments->inputs[needed].values == nullptr) return status;
    given.inputs[needed].values = arguments->inputs[needed].values;
  }
  for (size_t i = 0; i < op.desc.outputs.size() && i < inferred.outputs.size(); ++i) {
    if (op.desc.outputs[i].shape_known()) continue;
    TensorView& view = arguments->outputs[i].view;
    const auto& dims = inferred.outputs[i].dims;
    view.rank = static_cast<uint8_t>(dims.size());
    std::copy(dims.begin(), dims.end(), view.dims);
    view.SetContiguousStrides();
  }
  return Ok();
}

}  // namespace millpond

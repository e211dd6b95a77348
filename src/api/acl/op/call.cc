// SPDX-License-Identifier: Apache-2.0
#include "src/api/acl/op/call.h"

#include <utility>
#include <vector>

#include "src/api/acl/op/attr.h"
#include "src/api/acl/op/data_buffer.h"
#include "src/api/acl/op/tensor_desc.h"
#include "src/api/common/message.h"
#include "src/base/private_layout.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"
#include "src/exec/op/single_op_models.h"

namespace millpond::acl {
namespace {

// Far above any operator: a garbage count is refused before it is believed.
constexpr int kMaxTensors = 4096;

Status CheckArray(const char* what, int count, const char* array, const void* address) {
  MP_REQUIRE(count >= 0 && count <= kMaxTensors, "num%ss is %d; it must be between 0 and %d", what, count, kMaxTensors);
  MP_REQUIRE(count == 0 || address != nullptr, "%s is NULL though num%ss is %d", array, what, count);
  const size_t bytes = static_cast<size_t>(count) * sizeof(void*);
  if (count != 0 && !HostCanRead({address, static_cast<const char*>(address) + bytes - 1})) {
    return WildPointer(array, address);
  }
  return Ok();
}

Status Describe(const char* what, int number, const aclTensorDesc* desc, SingleOpTensor* out) {
  MP_REQUIRE(desc != nullptr && IsAlive(desc), "%sDesc[%d] is not a live tensor descriptor", what, number);
  out->dtype = static_cast<DType>(desc->data_type);
  if (desc->data_type == ACL_DT_UNDEFINED) return Ok();
  out->format = static_cast<int32_t>(desc->format);
  out->dims = desc->storage_dims.empty() ? desc->dims : desc->storage_dims;
  const PrivateLayout layout = LayoutOfFormat(desc->storage_format);
  // A private format's storage has a shape of its own; the tensor's is the one that it was described with.
  if (layout != PrivateLayout::kPlain && !desc->storage_dims.empty() &&
      desc->storage_dims == StorageShape(layout, desc->dims, desc->storage_dims.back())) {
    out->dims = desc->dims;
    out->layout = layout;
    out->c0 = static_cast<uint8_t>(desc->storage_dims.back());
  }
  out->ranges = desc->shape_range;
  out->dynamic_input = desc->dynamic_input;
  out->on_host = desc->placement != ACL_MEMTYPE_DEVICE;
  out->constant = desc->const_data;
  return Ok();
}

Status DescribeAll(const char* what, int count, const aclTensorDesc* const* descs, std::vector<SingleOpTensor>* out) {
  out->resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    MP_RETURN_IF_ERROR(Describe(what, i, descs[i], &(*out)[static_cast<size_t>(i)]));
  }
  return Ok();
}

Status BuffersOf(const char* what, int count, const aclDataBuffer* const* buffers,
                 const std::vector<SingleOpTensor>& described, std::vector<SingleOpMemory>* out) {
  out->resize(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<size_t>(i);
    const bool absent = number < described.size() && described[number].dtype == DType::kUndefined;
    if (absent && buffers[i] == nullptr) continue;  // an absent operand needs none
    MP_REQUIRE(buffers[i] != nullptr && IsAlive(buffers[i]), "%ss[%d] is not a live data buffer", what, i);
    (*out)[number] = {buffers[i]->data, buffers[i]->length};
  }
  return Ok();
}

Status CheckReceivers(const OpBuffers& given) {
  for (int i = 0; i < given.output_count; ++i) {
    const bool buffer = given.outputs[i] == nullptr || IsAlive(given.outputs[i]);
    const bool desc = given.told == nullptr || given.told[i] == nullptr || IsAlive(given.told[i]);
    MP_REQUIRE(
        buffer && desc,
        "the %s of outputs[%d] was destroyed while the operator was being launched; an allocator's callback must "
        "leave what the call was given alone",
        buffer ? "descriptor" : "data buffer", i);
  }
  return Ok();
}

}  // namespace

Status LookUpOp(const OpArguments& given, SingleOp* out_op, SingleOpFault* out_fault) {
  if (given.type == nullptr) return NullPointer("opType");
  if (IsWild(given.type)) return WildPointer("opType", given.type);
  MP_RETURN_IF_ERROR(CheckArray("Input", given.input_count, "inputDesc", given.input_descs));
  MP_RETURN_IF_ERROR(CheckArray("Output", given.output_count, "outputDesc", given.output_descs));
  MP_REQUIRE(given.attr == nullptr || IsAlive(given.attr), "attr %p is not a live aclopAttr",
             static_cast<const void*>(given.attr));
  SingleOpDesc desc;
  desc.type = given.type;
  MP_RETURN_IF_ERROR(DescribeAll("input", given.input_count, given.input_descs, &desc.inputs));
  MP_RETURN_IF_ERROR(DescribeAll("output", given.output_count, given.output_descs, &desc.outputs));
  if (given.attr != nullptr) desc.attributes = given.attr->values;
  return FindSingleOp(std::move(desc), out_op, out_fault);
}

Status LookUpPreparedOp(const OpArguments& given, SingleOp* out_op, SingleOpFault* out_fault) {
  MP_RETURN_IF_ERROR(LookUpOp(given, out_op, out_fault));
  Status match = SingleOpModels::Get().Match(out_op->desc);
  if (!match.ok()) *out_fault = SingleOpFault::kNotFound;
  return match;
}

Status ExecuteOp(const SingleOp& op, const OpBuffers& given, aclrtStream stream, SingleOpFault* out_fault) {
  MP_RETURN_IF_ERROR(CheckArray("Input", given.input_count, "inputs", given.inputs));
  MP_RETURN_IF_ERROR(CheckArray("Output", given.output_count, "outputs", given.outputs));
  std::vector<SingleOpMemory> inputs, outputs;
  MP_RETURN_IF_ERROR(BuffersOf("input", given.input_count, given.inputs, op.desc.inputs, &inputs));
  MP_RETURN_IF_ERROR(BuffersOf("output", given.output_count, given.outputs, op.desc.outputs, &outputs));
  Stream* target = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &target));
  std::vector<std::vector<int64_t>> shapes;
  SingleOpRun run{.inputs = inputs, .outputs = outputs, .advice = given.advice, .out_fault = out_fault};
  if (given.told != nullptr) run.out_shapes = &shapes;
  run.receivers_alive = [&] { return CheckReceivers(given); };
  MP_RETURN_IF_ERROR(RunSingleOp(op, run, target));
  for (size_t i = 0; i < outputs.size(); ++i) {
    aclDataBuffer* buffer = given.outputs[i];
    if (buffer != nullptr && buffer->data == nullptr && outputs[i].data != nullptr) {
      buffer->data = outputs[i].data;
      buffer->length = outputs[i].bytes;
    }
    if (given.told == nullptr || i >= shapes.size() || op.desc.outputs[i].dtype == DType::kUndefined) continue;
    if (!op.row->waits && op.desc.outputs[i].shape_known()) continue;  // it was right
    aclTensorDesc* desc = given.told[i];
    desc->dims = shapes[i];
    desc->storage_dims.clear();
  }
  return Ok();
}

}  // namespace millpond::acl

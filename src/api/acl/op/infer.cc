// SPDX-License-Identifier: Apache-2.0
// Which shapes a GE operator's outputs have, without running it.
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "include/acl/acl_op.h"
#include "src/api/acl/op/attr.h"
#include "src/api/acl/op/data_buffer.h"
#include "src/api/acl/op/tensor_desc.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/base/format.h"
#include "src/device/memory/fault.h"
#include "src/device/memory/memory.h"
#include "src/exec/op/single_op_shapes.h"
#include "src/ops/ge_infer.h"
#include "src/ops/row.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

Status Describe(int number, const aclTensorDesc* desc, GeInferTensor* out) {
  MP_REQUIRE(desc != nullptr && IsAlive(desc), "inputDesc[%d] is not a live tensor descriptor", number);
  if (desc->data_type == ACL_DT_UNDEFINED) return Ok();  // an absent optional operand
  out->dtype = static_cast<DType>(desc->data_type);
  out->dims = desc->dims;
  out->format = desc->format;
  if (!desc->const_data.empty()) out->values = desc->const_data.data();
  return Ok();
}

// The elements of an input that decides a shape. A device's are copied; what writes them must have run.
Status ReadValues(int number, const aclTensorDesc& desc, const aclDataBuffer* buffer,
                  std::unique_ptr<std::byte[]>* copy, GeInferTensor* out) {
  MP_REQUIRE(buffer != nullptr && IsAlive(buffer), "inputs[%d] is not a live data buffer; its values decide a shape",
             number);
  TensorView view;
  view.dtype = out->dtype;
  int64_t count = 1;
  for (const int64_t dim : out->dims) count *= dim;
  const size_t bytes = view.BytesOf(count);
  MP_REQUIRE(buffer->length >= bytes && (buffer->data != nullptr || bytes == 0),
             "inputs[%d] has %zu bytes; its shape %s needs %zu", number, buffer->length, ShapeText(out->dims).c_str(),
             bytes);
  if (desc.placement != ACL_MEMTYPE_DEVICE) {
    out->values = buffer->data;
    return Ok();
  }
  MP_RETURN_IF_ERROR(CheckRange("an input's memory", buffer->data, bytes));
  *copy = std::make_unique<std::byte[]>(bytes);
  MP_RETURN_IF_ERROR(RunOnCaller([&] { CopyBytes(copy->get(), buffer->data, bytes); }));
  out->values = copy->get();
  return Ok();
}

void Tell(const GeInferOutput& inferred, size_t which, aclTensorDesc* desc) {
  const auto& output = inferred.outputs[which];
  desc->data_type = static_cast<aclDataType>(output.dtype);
  desc->storage_dims.clear();
  desc->shape_range.clear();
  desc->dims = output.dims;
  if (!inferred.waits) return;
  for (int64_t& dim : desc->dims) {  // only how large it may get is known
    desc->shape_range.emplace_back(0, dim);
    dim = kUnknownDim;
  }
}

Status InferShape(const char* type, std::span<aclTensorDesc* const> input_descs, aclDataBuffer* const* inputs,
                  std::span<aclTensorDesc* const> output_descs, const aclopAttr* attr) {
  GeInferInput given;
  given.inputs.resize(input_descs.size());
  given.outputs = output_descs.size();
  std::vector<std::string_view> member_of;
  if (attr != nullptr) given.attributes = &attr->values;
  for (size_t i = 0; i < input_descs.size(); ++i) {
    MP_RETURN_IF_ERROR(Describe(static_cast<int>(i), input_descs[i], &given.inputs[i]));
    member_of.push_back(input_descs[i]->dynamic_input);
  }
  const DoorBinding* binding = nullptr;
  if (FindGeOp(type, &binding) != nullptr) {  // else InferGe says why not
    MP_RETURN_IF_ERROR(CountMembers(type, *binding, member_of, &given.input_counts));
  }
  for (size_t i = 0; i < output_descs.size(); ++i) {
    MP_REQUIRE(output_descs[i] != nullptr && IsAlive(output_descs[i]),
               "outputDesc[%zu] is not a live tensor descriptor", i);
  }
  std::vector<std::unique_ptr<std::byte[]>> copies(input_descs.size());
  GeInferOutput inferred;
  for (;;) {
    const Status status = InferGe(type, given, &inferred);
    if (status.ok()) break;
    if (inferred.needed_input < 0 || inputs == nullptr) return status.Clone();
    const auto needed = static_cast<size_t>(inferred.needed_input);
    MP_RETURN_IF_ERROR(ReadValues(inferred.needed_input, *input_descs[needed], inputs[needed], &copies[needed],
                                  &given.inputs[needed]));
  }
  for (size_t i = 0; i < output_descs.size() && i < inferred.outputs.size(); ++i) Tell(inferred, i, output_descs[i]);
  return Ok();
}

}  // namespace

aclError aclopInferShape(const char* opType, int numInputs, aclTensorDesc* inputDesc[], aclDataBuffer* inputs[],
                         int numOutputs, aclTensorDesc* outputDesc[], aclopAttr* attr) {
  return Guard("aclopInferShape", [&]() -> Status {
    MP_NOT_NULL(opType);
    MP_REQUIRE(numInputs >= 0 && numOutputs >= 0, "numInputs is %d, numOutputs %d; neither can be negative", numInputs,
               numOutputs);
    MP_REQUIRE(numInputs == 0 || inputDesc != nullptr, "inputDesc is NULL though numInputs is %d", numInputs);
    MP_REQUIRE(numOutputs == 0 || outputDesc != nullptr, "outputDesc is NULL though numOutputs is %d", numOutputs);
    MP_REQUIRE(attr == nullptr || IsAlive(attr), "attr %p is not a live aclopAttr", static_cast<const void*>(attr));
    return InferShape(opType, {inputDesc, static_cast<size_t>(numInputs)}, inputs,
                      {outputDesc, static_cast<size_t>(numOutputs)}, attr);
  });
}

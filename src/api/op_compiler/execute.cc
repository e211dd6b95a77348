// SPDX-License-Identifier: Apache-2.0
// Single operators by their GE type. There is nothing to compile: the operators of the table run by their kernels, all
// others are refused by name.
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "include/acl/acl_op_compiler.h"
#include "src/api/acl/data_buffer.h"
#include "src/api/acl/guard.h"
#include "src/api/acl/message.h"
#include "src/api/acl/op_attr.h"
#include "src/api/acl/tensor_desc.h"
#include "src/base/format.h"
#include "src/device/memory.h"
#include "src/device/stream.h"
#include "src/exec/kernel_table.h"
#include "src/exec/launch.h"
#include "src/ops/door.h"

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

namespace {

// Host copies of device tensors whose numbers an operator needs at its launch (axes, shapes). They live as long as the
// call is being built.
using HostCopies = std::vector<std::unique_ptr<std::byte[]>>;

Status FindOperator(const char* type, const OpRow** out_row, const DoorBinding** out_binding) {
  MP_NOT_NULL(type);
  *out_row = FindGeOp(type, out_binding);
  MP_CHECK(
      *out_row != nullptr, kUnsupported,
      "there is no kernel for the operator type '%s' in this release; use the aclnn operator of the same meaning, or "
      "PyTorch on the CPU for it",
      type);
  return Ok();
}

Status Describe(const char* what, int number, const aclTensorDesc* desc, const aclDataBuffer* buffer, DoorTensor* out) {
  MP_REQUIRE(desc != nullptr && desc->magic.alive(), "%sDesc[%d] is not a live tensor descriptor", what, number);
  if (desc->data_type == ACL_DT_UNDEFINED) return Ok();  // an absent optional operand
  MP_REQUIRE(buffer != nullptr && buffer->magic.alive(), "%ss[%d] is not a live data buffer", what, number);
  TensorView& view = out->view;
  const auto& dims = desc->storage_dims.empty() ? desc->dims : desc->storage_dims;
  MP_REQUIRE(dims.size() <= TensorView::kMaxRank, "%sDesc[%d] has %zu dimensions; at most %zu are possible", what,
             number, dims.size(), TensorView::kMaxRank);
  for (const int64_t dim : dims) {
    MP_REQUIRE(dim >= 0, "%sDesc[%d] has dimension %lld: the shape must be known", what, number,
               static_cast<long long>(dim));
  }
  view.data = buffer->data;
  view.dtype = static_cast<DType>(desc->data_type);
  view.format = static_cast<int16_t>(desc->format);
  view.rank = static_cast<uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims);
  view.SetContiguousStrides();
  const size_t needed = view.BytesOf(view.elements());
  MP_REQUIRE(buffer->length >= needed, "%ss[%d] has %zu bytes; its shape %s needs %zu", what, number, buffer->length,
             ShapeText(view.shape()).c_str(), needed);
  if (!desc->const_data.empty()) {
    out->values = desc->const_data.data();
  } else if (desc->placement != ACL_MEMTYPE_DEVICE) {
    out->values = buffer->data;
  }
  return Ok();
}

// Numbers that only lie on the device: everything queued before may still write them.
Status ReadValues(const OpRow& row, const DoorBinding& binding, Stream* stream, DoorArguments* arguments,
                  HostCopies* copies) {
  for (const size_t place : ValueInputs(row, binding, *arguments)) {
    DoorTensor& input = arguments->inputs[place];
    const size_t bytes = input.view.BytesOf(input.view.elements());
    if (input.values != nullptr || bytes == 0) continue;
    MP_RETURN_IF_ERROR(CheckRange("an input's memory", input.view.data, bytes));
    MP_RETURN_IF_ERROR(stream->WaitFor(stream->enqueued(), std::nullopt, Code::kStreamSyncTimeout));
    copies->push_back(std::make_unique<std::byte[]>(bytes));
    CopyBytes(copies->back().get(), input.view.data, bytes);
    input.values = copies->back().get();
  }
  return Ok();
}

// An operator whose outputs' shapes are known only after the run: waits for it and tells them in the descriptors.
Status RunAndTell(const kernels::Kernel* kernel, const DoorBinding& binding, OpCallPtr call, Stream* stream,
                  std::span<aclTensorDesc* const> descs) {
  OpCallPtr done;
  MP_RETURN_IF_ERROR(RunOp(kernel, std::move(call), stream, &done));
  const OpRow& row = done->row();
  for (size_t i = 0; i < binding.outputs.size() && i < descs.size(); ++i) {
    for (size_t place = 0; place < row.args.size(); ++place) {
      if (row.args[place].flow != ArgFlow::kOut || binding.outputs[i].name != binding.args[place].name) continue;
      if (!done->has(place)) continue;
      const auto shape = done->view(place).shape();
      descs[i]->dims.assign(shape.begin(), shape.end());
      descs[i]->storage_dims.clear();
    }
  }
  return Ok();
}

template <class InputDesc, class InputBuffer, class OutputDesc, class OutputBuffer>
Status Execute(const char* type, int input_count, InputDesc input_descs, InputBuffer inputs, int output_count,
               OutputDesc output_descs, OutputBuffer outputs, const aclopAttr* attr, aclrtStream handle) {
  const OpRow* row = nullptr;
  const DoorBinding* binding = nullptr;
  MP_RETURN_IF_ERROR(FindOperator(type, &row, &binding));
  MP_REQUIRE(input_count >= 0 && output_count >= 0, "numInputs is %d, numOutputs %d; neither can be negative",
             input_count, output_count);
  MP_REQUIRE(input_count == 0 || (input_descs != nullptr && inputs != nullptr),
             "inputDesc or inputs is NULL though numInputs is %d", input_count);
  MP_REQUIRE(output_count == 0 || (output_descs != nullptr && outputs != nullptr),
             "outputDesc or outputs is NULL though numOutputs is %d", output_count);
  MP_REQUIRE(attr == nullptr || attr->magic.alive(), "attr %p is not a live aclopAttr", static_cast<const void*>(attr));
  DoorArguments arguments;
  arguments.inputs.resize(static_cast<size_t>(input_count));
  arguments.outputs.resize(static_cast<size_t>(output_count));
  for (int i = 0; i < input_count; ++i) {
    MP_RETURN_IF_ERROR(Describe("input", i, input_descs[i], inputs[i], &arguments.inputs[static_cast<size_t>(i)]));
  }
  for (int i = 0; i < output_count; ++i) {
    MP_RETURN_IF_ERROR(Describe("output", i, output_descs[i], outputs[i], &arguments.outputs[static_cast<size_t>(i)]));
  }
  if (attr != nullptr) arguments.attributes = attr->values;
  Stream* stream = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(handle, &stream));
  HostCopies copies;
  MP_RETURN_IF_ERROR(ReadValues(*row, *binding, stream, &arguments, &copies));
  const kernels::Kernel* kernel = nullptr;
  MP_RETURN_IF_ERROR(FindKernel(*row, &kernel));
  OpCallPtr call = NewOpCall();
  MP_RETURN_IF_ERROR(CallFromDoor(*row, *binding, arguments, call.get()));
  MP_RETURN_IF_ERROR(call->CheckShapes());
  MP_RETURN_IF_ERROR(JudgeMemory(*call));
  if (!row->waits) return LaunchOp(kernel, std::move(call), stream);
  if constexpr (std::is_same_v<OutputDesc, aclTensorDesc**>) {
    return RunAndTell(kernel, *binding, std::move(call), stream, {output_descs, static_cast<size_t>(output_count)});
  } else {
    return Unsupported(
        "the shape of an output is known only after the run, and this function cannot tell it; use "
        "aclopCompileAndExecuteV2");
  }
}

template <class... Arguments>
Status ExecuteFor(const char* type, aclrtStream stream, const Arguments&... arguments) {
  Status status = Execute(type, arguments..., stream);
  if (status.ok() || !ClientIsTorch()) return status;
  Stream* target = nullptr;
  MP_RETURN_IF_ERROR(ResolveStream(stream, &target));
  return QueueRefusal("aclopCompileAndExecute",
                      Format("%s: %s", type == nullptr ? "operator" : type, status.message().c_str()), target);
}

}  // namespace

aclError aclopCompile(const char* opType, int, const aclTensorDesc* const[], int, const aclTensorDesc* const[],
                      const aclopAttr*, aclopEngineType, aclopCompileType, const char*) {
  return Guard("aclopCompile", [&]() -> Status {
    const OpRow* row = nullptr;
    const DoorBinding* binding = nullptr;
    return FindOperator(opType, &row, &binding);
  });
}

aclError aclopCompileAndExecute(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                                const aclDataBuffer* const inputs[], int numOutputs,
                                const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[],
                                const aclopAttr* attr, aclopEngineType, aclopCompileType, const char*,
                                aclrtStream stream) {
  return Guard("aclopCompileAndExecute", [&] {
    return ExecuteFor(opType, stream, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr);
  });
}

// The V2 form differs where an output's shape is known only after the run: it waits and writes it to the descriptor.
aclError aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                                  aclDataBuffer* inputs[], int numOutputs, aclTensorDesc* outputDesc[],
                                  aclDataBuffer* outputs[], aclopAttr* attr, aclopEngineType, aclopCompileType,
                                  const char*, aclrtStream stream) {
  return Guard("aclopCompileAndExecuteV2", [&] {
    return ExecuteFor(opType, stream, numInputs, inputDesc, inputs, numOutputs, outputDesc, outputs, attr);
  });
}

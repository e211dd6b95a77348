// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/host.h"

#include <algorithm>
#include <memory>
#include <string>

#include "src/base/format.h"
#include "src/device/stream/stream.h"
#include "src/exec/op/kernel_table.h"
#include "src/graph/passes/infer.h"
#include "src/graph/passes/kinds.h"
#include "src/kernels/runtime/group_kernel.h"
#include "src/ops/door.h"

namespace millpond::program {
namespace {

constexpr size_t kAlignment = 64;

Status Describe(DType dtype, const ir::Dims& dims, const void* data, DoorTensor* out) {
  MP_REQUIRE(dims.size() <= TensorView::kMaxRank, "a tensor of shape %s; at most %zu dimensions are possible",
             ir::TextOf(dims).c_str(), TensorView::kMaxRank);
  out->view.dtype = dtype;
  out->view.rank = static_cast<uint8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), out->view.dims);
  out->view.SetContiguousStrides();
  out->view.data = const_cast<void*>(data);
  return Ok();
}

Status Infer(const ir::Node& node, const passes::NodeDoor& door, std::span<const ir::TensorPtr> inputs,
             passes::InferResult* out) {
  std::vector<passes::InferInput> given(node.inputs.size());
  for (size_t i = 0; i < given.size() && i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    given[i].dtype = inputs[i]->desc.dtype;
    given[i].dims = inputs[i]->desc.dims;
    given[i].values = inputs[i]->data.data;
  }
  MP_RETURN_IF_ERROR(passes::InferNode(node, door, given, nullptr, out));
  MP_CHECK(!out->waits && out->needed_input < 0, kUnsupported, "its outputs' shapes are known only when it has run");
  return Ok();
}

Status NewTensor(const ir::TensorDesc& like, const passes::InferResult::Output& shape,
                 std::shared_ptr<ir::Tensor>* out) {
  const int64_t bytes = ir::IsStatic(shape.dims) ? ir::BytesOf(shape.dtype, shape.dims) : -1;
  MP_REQUIRE(bytes >= 0, "an output of type %s and shape %s has no known size", DTypeName(shape.dtype),
             ir::TextOf(shape.dims).c_str());
  auto tensor = std::make_shared<ir::Tensor>();
  tensor->desc = like;
  tensor->desc.dtype = shape.dtype;
  tensor->desc.dims = tensor->desc.origin_dims = shape.dims;
  tensor->desc.has_shape = tensor->desc.has_origin_shape = true;
  const auto size = static_cast<size_t>(bytes);
  void* memory = std::aligned_alloc(kAlignment, (std::max<size_t>(size, 1) + kAlignment - 1) / kAlignment * kAlignment);
  MP_CHECK(memory != nullptr, kHostOutOfMemory, "there are no %zu bytes of host memory for an output", size);
  tensor->data = {static_cast<const std::byte*>(memory), size, std::shared_ptr<const void>(memory, &std::free)};
  *out = std::move(tensor);
  return Ok();
}

Status Run(const ir::Node& node, std::span<const ir::TensorPtr> inputs, std::vector<ir::TensorPtr>* out_outputs) {
  const DoorBinding* binding = nullptr;
  const OpRow* row = FindGeOp(node.type, &binding);
  MP_CHECK(row != nullptr, kUnsupported, "there is no kernel for this operator type in this release");
  MP_CHECK(passes::InPlace(node).empty(), kUnsupported, "it changes an operand");
  for (const ArgSpec& spec : row->args) MP_CHECK(spec.flow != ArgFlow::kInOut, kUnsupported, "it changes an operand");
  const kernels::Kernel* kernel = nullptr;
  MP_RETURN_IF_ERROR(FindKernel(*row, &kernel));
  MP_CHECK(!kernels::WorksInGroup(*kernel), kUnsupported, "it works with other ranks, and runs on a stream only");
  const passes::NodeDoor door = passes::DoorOf(node);
  passes::InferResult inferred;
  MP_RETURN_IF_ERROR(Infer(node, door, inputs, &inferred));
  DoorArguments given{.inputs = std::vector<DoorTensor>(node.inputs.size()),
                      .outputs = std::vector<DoorTensor>(node.outputs.size()),
                      .attributes = door.attributes,
                      .input_counts = door.input_counts,
                      .output_counts = door.output_counts};
  for (size_t i = 0; i < given.inputs.size() && i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    const ir::TensorDesc& desc = inputs[i]->desc;
    MP_REQUIRE(ir::BytesOf(desc.dtype, desc.dims) <= static_cast<int64_t>(inputs[i]->data.size),
               "the value of input %zu has %zu bytes; shape %s of %s needs more", i, inputs[i]->data.size,
               ir::TextOf(desc.dims).c_str(), DTypeName(desc.dtype));
    MP_RETURN_IF_ERROR(Describe(desc.dtype, desc.dims, inputs[i]->data.data, &given.inputs[i]));
    given.inputs[i].view.format = static_cast<int16_t>(node.inputs[i].desc.format);
    given.inputs[i].values = inputs[i]->data.data;
  }
  std::vector<ir::TensorPtr> made;
  for (size_t i = 0; i < given.outputs.size(); ++i) {
    std::shared_ptr<ir::Tensor> tensor;
    MP_RETURN_IF_ERROR(NewTensor(node.outputs[i], inferred.outputs[i], &tensor));
    MP_RETURN_IF_ERROR(Describe(tensor->desc.dtype, tensor->desc.dims, tensor->data.data, &given.outputs[i]));
    made.push_back(std::move(tensor));
  }
  const OpCallPtr call = NewOpCall();
  MP_RETURN_IF_ERROR(CallFromDoor(*row, *binding, given, call.get()));
  MP_RETURN_IF_ERROR(call->CheckShapes());
  Status status = kernel->run(*call);
  AfterRun();
  MP_RETURN_IF_ERROR(std::move(status));
  *out_outputs = std::move(made);
  return Ok();
}

}  // namespace

Status RunNodeOnHost(const ir::Node& node, std::span<const ir::TensorPtr> inputs,
                     std::vector<ir::TensorPtr>* out_outputs) {
  return Run(node, inputs, out_outputs).Prefixed(passes::Named(node));
}

}  // namespace millpond::program

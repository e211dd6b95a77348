// SPDX-License-Identifier: Apache-2.0
#include "src/api/ge/shared/tensors.h"

#include <atomic>
#include <memory>
#include <utility>

#include "src/api/graph/access.h"

namespace millpond::geapi {

namespace {

// Memory as a gert tensor owns it: counted, because tensors share by asking the manager.
struct Held {
  std::atomic<size_t> owners{1};
  void* address = nullptr;
  std::shared_ptr<void> memory;
};

::ge::graphStatus ManageHeld(void* object, ::gert::TensorOperateType operation, void** out) {
  auto* const held = static_cast<Held*>(object);
  if (held == nullptr) return ::ge::GRAPH_FAILED;
  switch (operation) {
    case ::gert::kGetTensorAddress:
      if (out == nullptr) return ::ge::GRAPH_FAILED;
      *out = held->address;
      return ::ge::GRAPH_SUCCESS;
    case ::gert::kPlusShareCount:
      held->owners.fetch_add(1, std::memory_order_relaxed);
      return ::ge::GRAPH_SUCCESS;
    case ::gert::kFreeTensor:
      if (held->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete held;
      return ::ge::GRAPH_SUCCESS;
    default:
      return ::ge::GRAPH_FAILED;
  }
}

void SetDims(const ir::Dims& dims, ::gert::Shape* shape) {
  shape->SetDimNum(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) shape->SetDim(i, dims[i]);
}

Status CheckCount(size_t made, size_t wanted) {
  MP_REQUIRE(wanted == 0 || wanted == made, "the run made %zu outputs for %zu tensors", made, wanted);
  return Ok();
}

Status PutTensor(const program::Tensor& made, ::ge::Tensor* output) {
  ir::TensorDesc& desc = api::MutableDescOf(*output);
  desc.dtype = made.dtype;
  desc.dims = desc.origin_dims = made.dims;
  desc.has_shape = desc.has_origin_shape = true;
  desc.placement = made.placement;
  if (made.owner == nullptr) return Ok();
  desc.format = desc.origin_format = made.format;
  // The only way for it to fail is a host without memory.
  MP_CHECK(output->SetData(static_cast<uint8_t*>(made.data), made.bytes,
                           [keep = made.owner](uint8_t*) mutable { keep.reset(); }) == ::ge::GRAPH_SUCCESS,
           kHostOutOfMemory, "an output's memory of %zu bytes could not be handed over", made.bytes);
  return Ok();
}

Status PutTensor(const program::Tensor& made, ::gert::Tensor* output) {
  MP_CHECK(made.dims.size() <= ::gert::Shape::kMaxDimNum, kUnsupported,
           "an output has %zu dimensions, and a gert::Tensor has room for %zu", made.dims.size(),
           static_cast<size_t>(::gert::Shape::kMaxDimNum));
  SetDims(made.dims, &output->MutableStorageShape());
  SetDims(made.dims, &output->MutableOriginShape());
  output->SetDataType(api::Wrap(made.dtype));
  if (made.owner == nullptr) return Ok();
  output->SetStorageFormat(static_cast<::ge::Format>(made.format));
  output->SetOriginFormat(static_cast<::ge::Format>(made.format));
  auto held = std::make_unique<Held>();
  held->address = made.data;
  held->memory = made.owner;
  const auto placement = made.placement == ir::Placement::kHost ? ::gert::kOnHost : ::gert::kOnDeviceHbm;
  output->SetData(::gert::TensorData(held.release(), &ManageHeld, made.bytes, placement));
  return Ok();
}

}  // namespace

std::vector<program::Tensor> TensorsFrom(const std::vector<::ge::Tensor>& tensors) {
  std::vector<program::Tensor> made;
  made.reserve(tensors.size());
  for (const ::ge::Tensor& tensor : tensors) {
    const ir::TensorDesc& desc = api::DescOf(tensor);
    const ir::Bytes memory = api::MemoryOf(tensor);
    program::Tensor& one = made.emplace_back();
    one.dtype = desc.dtype;
    one.format = desc.format;
    one.dims = desc.dims;
    one.placement = desc.placement;
    one.data = const_cast<std::byte*>(memory.data);
    one.bytes = memory.size;
  }
  return made;
}

std::vector<program::Tensor> TensorsFrom(const std::vector<::gert::Tensor>& tensors) {
  std::vector<program::Tensor> made;
  made.reserve(tensors.size());
  for (const ::gert::Tensor& tensor : tensors) {
    const ::gert::Shape& shape = tensor.GetStorageShape();
    program::Tensor& one = made.emplace_back();
    one.dtype = api::DTypeOf(tensor.GetDataType());
    one.format = static_cast<int32_t>(tensor.GetStorageFormat());
    for (size_t i = 0; i < shape.GetDimNum(); ++i) one.dims.push_back(shape.GetDim(i));
    one.placement =
        ::gert::TensorPlacementUtils::IsOnHost(tensor.GetPlacement()) ? ir::Placement::kHost : ir::Placement::kDevice;
    one.data = const_cast<void*>(tensor.GetAddr());
    one.bytes = tensor.GetSize();
  }
  return made;
}

std::vector<session::InputDesc> DescsFrom(const std::vector<::ge::Tensor>& tensors) {
  std::vector<session::InputDesc> made;
  for (const ::ge::Tensor& tensor : tensors) {
    const ir::TensorDesc& desc = api::DescOf(tensor);
    made.push_back({desc.dtype, desc.format, desc.dims});
  }
  return made;
}

namespace {

// A list that was empty is filled at the end or not at all.
template <class Tensor>
Status PutAll(std::span<const program::Tensor> made, std::vector<Tensor>* outputs) {
  MP_RETURN_IF_ERROR(CheckCount(made.size(), outputs->size()));
  std::vector<Tensor> fresh(outputs->empty() ? made.size() : 0);
  std::vector<Tensor>& filled = outputs->empty() ? fresh : *outputs;
  for (size_t i = 0; i < made.size(); ++i) MP_RETURN_IF_ERROR(PutTensor(made[i], &filled[i]));
  if (outputs->empty()) outputs->swap(fresh);
  return Ok();
}

}  // namespace

Status PutTensors(std::span<const program::Tensor> made, std::vector<::ge::Tensor>* outputs) {
  return PutAll(made, outputs);
}

Status PutTensors(std::span<const program::Tensor> made, std::vector<::gert::Tensor>* outputs) {
  return PutAll(made, outputs);
}

}  // namespace millpond::geapi

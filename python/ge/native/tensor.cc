// SPDX-License-Identifier: Apache-2.0
// Tensors and their descriptions; between host and device.
#include "include/acl/acl.h"
#include "python/ge/native/wrapper.h"

using gepy::Call;
using gepy::kFailed;
using gepy::kSuccess;
using gepy::Value;

namespace {

std::vector<int64_t> DimsOf(const int64_t* dims, size_t count) {
  return count == 0 ? std::vector<int64_t>() : std::vector<int64_t>(dims, dims + count);
}

// The caller gives *out back to gepy_free; it is null for a scalar.
uint32_t NewDims(const std::vector<int64_t>& dims, int64_t** out, size_t* count) {
  *out = nullptr;
  *count = dims.size();
  if (dims.empty()) return kSuccess;
  *out = static_cast<int64_t*>(std::malloc(dims.size() * sizeof(int64_t)));
  if (*out == nullptr) return kFailed;
  std::memcpy(*out, dims.data(), dims.size() * sizeof(int64_t));
  return kSuccess;
}

// A session hands out memory that is a little larger than the values in it.
size_t BytesOf(const ge::Tensor& tensor, size_t bytes) {
  const size_t size = tensor.GetSize();
  return bytes == 0 || bytes > size ? size : bytes;
}

}  // namespace

// --- Descriptions
GEPY_EXPORT ge::TensorDesc* gepy_desc_create(const int64_t* dims, size_t count, int32_t format, int32_t type) {
  return Value<ge::TensorDesc*>(nullptr, [&] {
    auto desc = std::make_unique<ge::TensorDesc>(ge::Shape(DimsOf(dims, count)), static_cast<ge::Format>(format),
                                                 static_cast<ge::DataType>(type));
    desc->SetOriginFormat(static_cast<ge::Format>(format));
    desc->SetOriginShape(ge::Shape(DimsOf(dims, count)));
    return desc.release();
  });
}
GEPY_EXPORT void gepy_desc_destroy(ge::TensorDesc* desc) { delete desc; }

GEPY_EXPORT uint32_t gepy_desc_get_shape(const ge::TensorDesc* desc, bool origin, int64_t** dims, size_t* count) {
  return Call([&] {
    if (desc == nullptr) return kFailed;
    return NewDims((origin ? desc->GetOriginShape() : desc->GetShape()).GetDims(), dims, count);
  });
}
GEPY_EXPORT uint32_t gepy_desc_set_shape(ge::TensorDesc* desc, bool origin, const int64_t* dims, size_t count) {
  return Call([&] {
    if (desc == nullptr) return kFailed;
    const ge::Shape shape(DimsOf(dims, count));
    if (origin) {
      desc->SetOriginShape(shape);
    } else {
      desc->SetShape(shape);
    }
    return kSuccess;
  });
}
GEPY_EXPORT int32_t gepy_desc_get_format(const ge::TensorDesc* desc, bool origin) {
  return Value<int32_t>(-1, [&]() -> int32_t {
    if (desc == nullptr) return -1;
    return static_cast<int32_t>(origin ? desc->GetOriginFormat() : desc->GetFormat());
  });
}
GEPY_EXPORT uint32_t gepy_desc_set_format(ge::TensorDesc* desc, bool origin, int32_t format) {
  return Call([&] {
    if (desc == nullptr) return kFailed;
    if (origin) {
      desc->SetOriginFormat(static_cast<ge::Format>(format));
    } else {
      desc->SetFormat(static_cast<ge::Format>(format));
    }
    return kSuccess;
  });
}
GEPY_EXPORT int32_t gepy_desc_get_type(const ge::TensorDesc* desc) {
  return Value<int32_t>(-1, [&] { return desc == nullptr ? -1 : static_cast<int32_t>(desc->GetDataType()); });
}
GEPY_EXPORT uint32_t gepy_desc_set_type(ge::TensorDesc* desc, int32_t type) {
  return Call([&] {
    if (desc == nullptr) return kFailed;
    desc->SetDataType(static_cast<ge::DataType>(type));
    return kSuccess;
  });
}

// --- Tensors
GEPY_EXPORT ge::Tensor* gepy_tensor_create() {
  return Value<ge::Tensor*>(nullptr, [] { return new ge::Tensor(); });
}
// Copies the bytes.
GEPY_EXPORT ge::Tensor* gepy_tensor_create_with(const ge::TensorDesc* desc, const uint8_t* data, size_t size) {
  return Value<ge::Tensor*>(nullptr, [&]() -> ge::Tensor* {
    if (desc == nullptr) return nullptr;
    auto tensor = std::make_unique<ge::Tensor>(*desc);
    if (size > 0 && tensor->SetData(data, size) != ge::GRAPH_SUCCESS) return nullptr;
    return tensor.release();
  });
}
GEPY_EXPORT void gepy_tensor_destroy(ge::Tensor* tensor) {
  static_cast<void>(Call([&] {  // the memory's owner is called, who may be anybody
    delete tensor;
    return kSuccess;
  }));
}

GEPY_EXPORT ge::TensorDesc* gepy_tensor_desc(const ge::Tensor* tensor) {
  return Value<ge::TensorDesc*>(
      nullptr, [&] { return tensor == nullptr ? nullptr : new ge::TensorDesc(tensor->GetTensorDesc()); });
}
GEPY_EXPORT uint32_t gepy_tensor_set_format(ge::Tensor* tensor, int32_t format) {
  return Call([&] { return tensor == nullptr ? kFailed : tensor->SetFormat(static_cast<ge::Format>(format)); });
}
GEPY_EXPORT uint32_t gepy_tensor_set_type(ge::Tensor* tensor, int32_t type) {
  return Call([&] { return tensor == nullptr ? kFailed : tensor->SetDataType(static_cast<ge::DataType>(type)); });
}
GEPY_EXPORT int32_t gepy_tensor_placement(const ge::Tensor* tensor) {
  return Value<int32_t>(-1, [&] { return tensor == nullptr ? -1 : static_cast<int32_t>(tensor->GetPlacement()); });
}
GEPY_EXPORT uint32_t gepy_tensor_data(const ge::Tensor* tensor, const uint8_t** data, size_t* size) {
  return Call([&] {
    if (tensor == nullptr) return kFailed;
    *data = tensor->GetData();
    *size = tensor->GetSize();
    return kSuccess;
  });
}

// In place; `bytes` of values (0: all of the memory). Returns acl's status.
GEPY_EXPORT uint32_t gepy_tensor_to_host(ge::Tensor* tensor, size_t bytes) {
  return Call([&]() -> uint32_t {
    if (tensor == nullptr) return kFailed;
    const size_t size = BytesOf(*tensor, bytes);
    if (size == 0) return tensor->SetPlacement(ge::kPlacementHost);
    auto host = std::make_unique<uint8_t[]>(size);
    const uint8_t* device = static_cast<const ge::Tensor*>(tensor)->GetData();
    const aclError status = aclrtMemcpy(host.get(), size, device, size, ACL_MEMCPY_DEVICE_TO_HOST);
    if (status != ACL_SUCCESS) return static_cast<uint32_t>(status);
    const auto adopted = tensor->ResetData(host.get(), size, [](uint8_t* data) { delete[] data; });
    if (adopted != ge::GRAPH_SUCCESS) return adopted;
    static_cast<void>(host.release());
    return tensor->SetPlacement(ge::kPlacementHost);
  });
}

GEPY_EXPORT uint32_t gepy_tensor_to_device(ge::Tensor* tensor) {
  return Call([&]() -> uint32_t {
    if (tensor == nullptr) return kFailed;
    const size_t size = tensor->GetSize();
    if (size == 0) return tensor->SetPlacement(ge::kPlacementDevice);
    void* device = nullptr;
    aclError status = aclrtMalloc(&device, size, ACL_MEM_MALLOC_NORMAL_ONLY);
    if (status != ACL_SUCCESS) return static_cast<uint32_t>(status);
    const auto give_back = [](uint8_t* data) { static_cast<void>(aclrtFree(data)); };
    status =
        aclrtMemcpy(device, size, static_cast<const ge::Tensor*>(tensor)->GetData(), size, ACL_MEMCPY_HOST_TO_DEVICE);
    const uint32_t adopted = status != ACL_SUCCESS ? static_cast<uint32_t>(status)
                                                   : tensor->ResetData(static_cast<uint8_t*>(device), size, give_back);
    if (adopted != kSuccess) {
      give_back(static_cast<uint8_t*>(device));
      return adopted;
    }
    return tensor->SetPlacement(ge::kPlacementDevice);
  });
}

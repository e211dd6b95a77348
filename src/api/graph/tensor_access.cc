// SPDX-License-Identifier: Apache-2.0
// Tensors as a graph's constants, and constants as tensors.
#include "include/acl/acl_rt.h"
#include "src/api/graph/access.h"
#include "src/api/graph/impl.h"

namespace millpond::api {

ir::TensorPtr ConstantOf(const ge::Tensor& tensor) {
  const auto& impl = ValueAccess::Impl(tensor);
  auto constant = std::make_shared<ir::Tensor>();
  if (impl == nullptr) return constant;
  constant->desc = impl->desc;
  if (impl->memory == nullptr || impl->memory->size() == 0) return constant;
  const bool on_device = impl->desc.placement == ir::Placement::kDevice;
  if (!on_device && impl->memory->owned()) {
    impl->memory->SetConstant();
    constant->data = MemoryOf(tensor);
    return constant;
  }
  const size_t size = impl->memory->size();
  if (!on_device) {
    constant->data = ir::Bytes::Copy(impl->memory->data(), size);
    return constant;
  }
  const std::shared_ptr<std::byte[]> copy(new std::byte[size]);
  if (aclrtMemcpy(copy.get(), size, impl->memory->data(), size, ACL_MEMCPY_DEVICE_TO_HOST) != ACL_SUCCESS) {
    return nullptr;  // aclrtMemcpy left the message
  }
  constant->desc.placement = ir::Placement::kHost;
  constant->data = {copy.get(), size, copy};
  return constant;
}

ge::Tensor Wrap(const ir::Tensor& tensor) {
  ge::Tensor wrapped;
  MutableDescOf(wrapped) = tensor.desc;
  if (tensor.data.data == nullptr) return wrapped;
  // Nobody writes through this pointer: the memory is marked first.
  auto* data = reinterpret_cast<uint8_t*>(const_cast<std::byte*>(tensor.data.data));
  auto memory = std::make_shared<TensorMemory>(data, tensor.data.size, nullptr, tensor.data.keep);
  memory->SetConstant();
  ValueAccess::Impl(wrapped)->memory = std::move(memory);
  return wrapped;
}

}  // namespace millpond::api

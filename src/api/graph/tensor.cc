// SPDX-License-Identifier: Apache-2.0
// ge::Tensor: its memory. What it says about its description is in tensor_fields.cc.
#include <cstring>

#include "src/api/graph/access.h"
#include "src/api/graph/impl.h"

namespace ge {

namespace {

// pre: impl != nullptr. The old memory goes only when the new is there, so a tensor may be set from its own bytes.
Status Put(TensorImpl* impl, const uint8_t* data, size_t size) {
  if (size == 0) {
    impl->memory = nullptr;
    return Ok();
  }
  MP_REQUIRE(data != nullptr, "data is null, but size is %zu; pass the bytes, or size 0 for a tensor without memory",
             size);
  return CopyMemory(data, size, ir::Placement::kHost, &impl->memory);
}

Status Adopt(TensorImpl* impl, uint8_t* data, size_t size, const Tensor::DeleteFunc& deleter) {
  MP_REQUIRE(data != nullptr || size == 0,
             "data is null, but size is %zu; pass the memory, or size 0 for a tensor without", size);
  impl->memory = data == nullptr ? nullptr : std::make_shared<TensorMemory>(data, size, deleter);
  return Ok();
}

// A tensor whose impl was moved away gets a new one before it is written to.
TensorImpl* Own(std::shared_ptr<TensorImpl>* impl) {
  if (*impl == nullptr) *impl = std::make_shared<TensorImpl>();
  return impl->get();
}

}  // namespace

Tensor::Tensor() : impl(std::make_shared<TensorImpl>()) {}

Tensor::Tensor(const TensorDesc& tensor_desc) : Tensor() { impl->desc = DescOf(tensor_desc); }

Tensor::Tensor(const TensorDesc& tensor_desc, const std::vector<uint8_t>& data) : Tensor(tensor_desc) {
  static_cast<void>(SetData(data));
}

Tensor::Tensor(const TensorDesc& tensor_desc, const uint8_t* data, size_t size) : Tensor(tensor_desc) {
  static_cast<void>(SetData(data, size));  // a failure leaves its message and a tensor without memory
}

Tensor::Tensor(TensorDesc&& tensor_desc, std::vector<uint8_t>&& data) : Tensor(tensor_desc) {
  static_cast<void>(SetData(std::move(data)));
}

const uint8_t* Tensor::GetData() const {
  return impl == nullptr || impl->memory == nullptr ? nullptr : impl->memory->data();
}

uint8_t* Tensor::GetData() {
  if (impl == nullptr || impl->memory == nullptr) return nullptr;
  if (!impl->memory->constant() || impl->memory->size() == 0) return impl->memory->data();
  const graphStatus copied = Answer("ge::Tensor::GetData", [&]() -> Status {
    return CopyMemory(impl->memory->data(), impl->memory->size(), ir::Placement::kHost, &impl->memory);
  });
  return copied == GRAPH_SUCCESS ? impl->memory->data() : nullptr;
}

size_t Tensor::GetSize() const { return impl == nullptr || impl->memory == nullptr ? 0 : impl->memory->size(); }

graphStatus Tensor::SetData(std::vector<uint8_t>&& data) {
  return Answer("ge::Tensor::SetData", [&]() -> Status {
    TensorImpl* self = Own(&impl);
    if (data.empty()) return Put(self, nullptr, 0);
    auto bytes = std::make_shared<std::vector<uint8_t>>(std::move(data));
    self->memory = std::make_shared<TensorMemory>(bytes->data(), bytes->size(), [bytes](uint8_t*) {});
    return Ok();
  });
}

graphStatus Tensor::SetData(const std::vector<uint8_t>& data) { return SetData(data.data(), data.size()); }

graphStatus Tensor::SetData(const uint8_t* data, size_t size) {
  return Answer("ge::Tensor::SetData", [&]() -> Status { return Put(Own(&impl), data, size); });
}

graphStatus Tensor::SetData(uint8_t* data, size_t size, const Tensor::DeleteFunc& deleter_func) {
  return Answer("ge::Tensor::SetData", [&]() -> Status { return Adopt(Own(&impl), data, size, deleter_func); });
}

graphStatus Tensor::ResetData(uint8_t* data, size_t size, const Tensor::DeleteFunc& deleter_func) {
  return Answer("ge::Tensor::ResetData", [&]() -> Status { return Adopt(Own(&impl), data, size, deleter_func); });
}

graphStatus Tensor::SetData(const char_t* data) {
  return Answer("ge::Tensor::SetData", [&]() -> Status {
    MP_REQUIRE(data != nullptr, "data is null; pass a string");
    MP_REQUIRE(*data != '\0',
               "data is an empty string, which this form does not take; pass a list of one empty string");
    MP_REQUIRE(SetData(std::vector<AscendString>{data}) == GRAPH_SUCCESS, "the string could not be stored");
    return Ok();
  });
}

graphStatus Tensor::SetData(const std::vector<AscendString>& datas) {
  return Answer("ge::Tensor::SetData", [&]() -> Status {
    MP_REQUIRE(!datas.empty(), "the list of strings is empty; a tensor of strings has at least one");
    size_t total = datas.size() * sizeof(StringHead);
    for (const AscendString& text : datas) total += text.GetLength() + 1;
    std::vector<uint8_t> bytes(total);
    size_t at = datas.size() * sizeof(StringHead);
    for (size_t i = 0; i < datas.size(); ++i) {
      const StringHead head{static_cast<int64_t>(at), static_cast<int64_t>(datas[i].GetLength())};
      std::memcpy(&bytes[i * sizeof(StringHead)], &head, sizeof(head));
      std::memcpy(&bytes[at], datas[i].GetString(), datas[i].GetLength() + 1);
      at += datas[i].GetLength() + 1;
    }
    return Put(Own(&impl), bytes.data(), bytes.size());
  });
}

std::unique_ptr<uint8_t[], Tensor::DeleteFunc> Tensor::ResetData() {
  std::unique_ptr<uint8_t[], Tensor::DeleteFunc> released(nullptr, [](uint8_t*) {});
  static_cast<void>(Answer("ge::Tensor::ResetData", [&]() -> Status {
    if (impl == nullptr || impl->memory == nullptr) return Ok();
    std::shared_ptr<TensorMemory> memory = impl->memory;
    // A graph goes on reading its constant: the caller gets bytes of its own.
    if (memory->constant() && memory->size() != 0) {
      MP_RETURN_IF_ERROR(CopyMemory(memory->data(), memory->size(), ir::Placement::kHost, &memory));
    }
    released = memory->Release();
    impl->memory = nullptr;
    return Ok();
  }));
  return released;
}

Tensor Tensor::Clone() const {
  Tensor clone;
  if (impl == nullptr) return clone;
  clone.impl->desc = impl->desc;
  if (impl->memory == nullptr || impl->memory->size() == 0) return clone;
  // A failure leaves its message and a clone without memory.
  static_cast<void>(Answer("ge::Tensor::Clone", [&]() -> Status {
    return CopyMemory(impl->memory->data(), impl->memory->size(), impl->desc.placement, &clone.impl->memory);
  }));
  return clone;
}

}  // namespace ge

namespace millpond::api {

const ir::TensorDesc& DescOf(const ge::Tensor& tensor) { return Held(tensor, &ge::TensorImpl::desc); }
ir::TensorDesc& MutableDescOf(ge::Tensor& tensor) { return MutableHeld(tensor, &ge::TensorImpl::desc); }

ir::Bytes MemoryOf(const ge::Tensor& tensor) {
  const auto& impl = ValueAccess::Impl(tensor);
  if (impl == nullptr || impl->memory == nullptr) return {};
  return {reinterpret_cast<const std::byte*>(impl->memory->data()), impl->memory->size(), impl->memory};
}

}  // namespace millpond::api

// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <utility>

#include "include/acl/acl_rt.h"
#include "src/api/graph/impl.h"
#include "src/base/user_callback.h"

namespace millpond::api {

namespace {

constexpr size_t kHostAlignment = 64;  // what the widest vector instructions like

using Holder = std::unique_ptr<void, void (*)(void*)>;

// The deleter frees what `memory` holds, from here on also when making the object fails.
std::shared_ptr<TensorMemory> Own(Holder memory, size_t size) {
  auto own = std::make_shared<TensorMemory>(static_cast<uint8_t*>(memory.get()), size,
                                            [free = memory.get_deleter()](uint8_t* data) { free(data); });
  static_cast<void>(memory.release());
  return own;
}

Status CopyOnHost(const uint8_t* from, size_t size, std::shared_ptr<TensorMemory>* out) {
  const size_t rounded = (size + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  void* to = rounded < size ? nullptr : std::aligned_alloc(kHostAlignment, rounded);
  MP_CHECK(to != nullptr, kHostOutOfMemory, "no host memory for a copy of %zu bytes of tensor data", size);
  *out = Own({to, &std::free}, size);
  std::memcpy(to, from, size);
  return Ok();
}

// The acl functions leave their own message first.
Status FromAcl(aclError error, const char* what, size_t size) {
  if (error == ACL_SUCCESS) return Ok();
  return InternalError(
      Format("%s of %zu bytes for a copy of a tensor on the device failed with %d; set the device first "
             "(aclrtSetDevice) and see that it has the memory",
             what, size, error));
}

Status CopyOnDevice(const uint8_t* from, size_t size, std::shared_ptr<TensorMemory>* out) {
  void* to = nullptr;
  MP_RETURN_IF_ERROR(FromAcl(aclrtMalloc(&to, size, ACL_MEM_MALLOC_NORMAL_ONLY), "aclrtMalloc", size));
  *out = Own({to, [](void* data) { static_cast<void>(aclrtFree(data)); }}, size);
  return FromAcl(aclrtMemcpy(to, size, from, size, ACL_MEMCPY_DEVICE_TO_DEVICE), "aclrtMemcpy", size);
}

}  // namespace

TensorMemory::~TensorMemory() {
  if (!deleter_) return;
  CallUserQuietly([this] { deleter_(data_); });
}

std::unique_ptr<uint8_t[], ge::Tensor::DeleteFunc> TensorMemory::Release() {
  ge::Tensor::DeleteFunc deleter = std::move(deleter_);
  deleter_ = nullptr;  // moved-from is unspecified
  if (!deleter) deleter = [](uint8_t*) {};
  size_ = 0;
  return {std::exchange(data_, nullptr), std::move(deleter)};
}

Status CopyMemory(const uint8_t* from, size_t size, ir::Placement placement, std::shared_ptr<TensorMemory>* out) {
  std::shared_ptr<TensorMemory> copy;
  MP_RETURN_IF_ERROR(placement == ir::Placement::kDevice ? CopyOnDevice(from, size, &copy)
                                                         : CopyOnHost(from, size, &copy));
  *out = std::move(copy);
  return Ok();
}

}  // namespace millpond::api

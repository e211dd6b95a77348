// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "src/api/atb/atb_guard.h"
#include "src/base/dtype.h"

namespace atb {

std::string Utils::GetAtbVersion() { return "8.5.0"; }

uint64_t Utils::GetTensorNumel(const TensorDesc& tensorDesc) {
  if (tensorDesc.shape.dimNum == 0 || tensorDesc.shape.dimNum > MAX_DIM) return 0;
  uint64_t count = 1;
  for (uint64_t i = 0; i < tensorDesc.shape.dimNum; ++i) {
    if (tensorDesc.shape.dims[i] < 0) return 0;
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(tensorDesc.shape.dims[i]), &count)) return 0;
  }
  return count;
}
uint64_t Utils::GetTensorNumel(const Tensor& tensor) { return GetTensorNumel(tensor.desc); }

uint64_t Utils::GetTensorSize(const TensorDesc& tensorDesc) {
  const auto bits = static_cast<uint64_t>(millpond::BitsOf(static_cast<millpond::DType>(tensorDesc.dtype)));
  uint64_t total = 0;
  if (__builtin_mul_overflow(GetTensorNumel(tensorDesc), bits, &total)) return 0;
  return (total + 7) / 8;
}
uint64_t Utils::GetTensorSize(const Tensor& tensor) { return GetTensorSize(tensor.desc); }

void Utils::QuantParamConvert(const float* src, uint64_t* dest, uint64_t itemCount) {
  if (src == nullptr || dest == nullptr) return;
  for (uint64_t i = 0; i < itemCount; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, src + i, sizeof bits);
    dest[i] = bits;
  }
}

// There is one log, that of the runtime (ASCEND_GLOBAL_LOG_LEVEL): a level of its own would not be obeyed.
Status Utils::SetLogLevel(const LogLevel) {
  return millpond::boost::Guard("Utils::SetLogLevel", []() -> millpond::Status {
    return millpond::Unsupported(
        "libatb has no log of its own; aclrtSetLogLevel and ASCEND_GLOBAL_LOG_LEVEL set the runtime's");
  });
}
Status Utils::ResetLogLevel() { return NO_ERROR; }

}  // namespace atb

// SPDX-License-Identifier: Apache-2.0
#ifndef ATB_UTILS_H_
#define ATB_UTILS_H_

#include <cstdint>
#include <string>

#include "atb/types.h"

namespace atb {

class Utils {
 public:
  static std::string GetAtbVersion();
  // In bytes; 0 for a type without a size.
  static uint64_t GetTensorSize(const Tensor& tensor);
  static uint64_t GetTensorSize(const TensorDesc& tensorDesc);
  static uint64_t GetTensorNumel(const Tensor& tensor);
  static uint64_t GetTensorNumel(const TensorDesc& tensorDesc);
  // Scales as the card's quantised products take them: a float's bits in the lower half of 64.
  static void QuantParamConvert(const float* src, uint64_t* dest, uint64_t itemCount);
  static Status SetLogLevel(const atb::LogLevel atbLogLevel);
  static Status ResetLogLevel();
};

}  // namespace atb

#endif  // ATB_UTILS_H_

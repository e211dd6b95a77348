// SPDX-License-Identifier: Apache-2.0
// Writing where a mask says so, and along the diagonal.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

MP_KERNEL(MaskedFill, Tensor& self, const Tensor& mask, const Operand& value) {
  self.masked_fill_(mask.to(at::kBool), value.value("value"));
}
MP_KERNEL(aclnnInplaceMaskedScatter, Tensor& self, const Tensor& mask, const Tensor& source) {
  self.masked_scatter_(mask.to(at::kBool), source);
}
MP_KERNEL(aclnnInplaceFillDiagonal, Tensor& self, const Scalar& value, bool wrap) { self.fill_diagonal_(value, wrap); }

}  // namespace millpond::kernels

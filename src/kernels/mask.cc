// SPDX-License-Identifier: Apache-2.0
// Writing where a mask says so, and along the diagonal.
#include "src/kernels/outputs.h"

namespace millpond::kernels {

MP_KERNEL(aclnnInplaceMaskedFillScalar, Tensor& self, const Tensor& mask, const Scalar& value) {
  self.masked_fill_(mask.to(at::kBool), value);
}
MP_KERNEL(aclnnInplaceMaskedFillTensor, Tensor& self, const Tensor& mask, const Tensor& value) {
  TORCH_CHECK(value.numel() == 1, "value has ", value.numel(), " elements; it must have one");
  self.masked_fill_(mask.to(at::kBool), value.item());
}
MP_KERNEL(aclnnInplaceMaskedScatter, Tensor& self, const Tensor& mask, const Tensor& source) {
  self.masked_scatter_(mask.to(at::kBool), source);
}
MP_KERNEL(aclnnInplaceFillDiagonal, Tensor& self, const Scalar& value, bool wrap) { self.fill_diagonal_(value, wrap); }

}  // namespace millpond::kernels

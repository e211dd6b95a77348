// SPDX-License-Identifier: Apache-2.0
// Comparisons of a tensor with a tensor or a scalar.
#include "src/kernels/kernel.h"

namespace millpond::kernels {

#define MP_COMPARE(Name, function)                                                                      \
  MP_KERNEL(aclnn##Name##Tensor, const Tensor& self, const Tensor& other, Tensor& out) {                \
    at::function##_out(out, self, other);                                                               \
  }                                                                                                     \
  MP_KERNEL(aclnn##Name##Scalar, const Tensor& self, const Scalar& other, Tensor& out) {                \
    at::function##_out(out, self, other);                                                               \
  }                                                                                                     \
  MP_KERNEL(aclnnInplace##Name##Tensor, Tensor& self, const Tensor& other) { self.function##_(other); } \
  MP_KERNEL(aclnnInplace##Name##Scalar, Tensor& self, const Scalar& other) { self.function##_(other); }

MP_COMPARE(Eq, eq)
MP_COMPARE(Ge, ge)
MP_COMPARE(Gt, gt)
MP_COMPARE(Le, le)
MP_COMPARE(Lt, lt)
MP_COMPARE(Ne, ne)
#undef MP_COMPARE

// Not <: torch_npu calls it for ge(scalar, tensor), as tensor <= scalar.
MP_KERNEL(aclnnLessScalar, const Tensor& self, const Scalar& other, Tensor& out) { at::le_out(out, self, other); }

MP_KERNEL(aclnnEqual, const Tensor& self, const Tensor& other, Tensor& out) { out.fill_(at::equal(self, other)); }

}  // namespace millpond::kernels

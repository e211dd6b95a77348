// SPDX-License-Identifier: Apache-2.0
// Comparisons of a tensor with a tensor or a number.
#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

#define MP_COMPARE(name, function)                                         \
  MP_KERNEL(name, const Tensor& self, const Operand& other, Tensor& out) { \
    if (other.is_number()) {                                               \
      at::function##_out(out, self, other.number());                       \
    } else {                                                               \
      at::function##_out(out, self, other.tensor());                       \
    }                                                                      \
  }

MP_COMPARE(IsEqual, eq)
MP_COMPARE(IsNotEqual, ne)
MP_COMPARE(IsLess, lt)
MP_COMPARE(IsLessOrEqual, le)
MP_COMPARE(IsGreater, gt)
MP_COMPARE(IsGreaterOrEqual, ge)
#undef MP_COMPARE

MP_KERNEL(aclnnEqual, const Tensor& self, const Tensor& other, Tensor& out) { out.fill_(at::equal(self, other)); }

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Arithmetic on two operands.
#include "src/kernels/kernel.h"

namespace millpond::kernels {

MP_KERNEL(aclnnAdd, const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  at::add_out(out, self, other, alpha);
}

}  // namespace millpond::kernels

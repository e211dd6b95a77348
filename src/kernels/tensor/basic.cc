// SPDX-License-Identifier: Apache-2.0
// Copy, fill and cast.
#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

MP_KERNEL(aclnnInplaceZero, Tensor& self) { self.zero_(); }
MP_KERNEL(aclnnInplaceCopy, Tensor& self, const Tensor& source) { self.copy_(source); }
// Page "aclnnCast": NaN becomes the integer 0. The CPU's own conversion makes another number of it.
MP_KERNEL(aclnnCast, const Tensor& self, Tensor& out) {
  if (at::isFloatingType(self.scalar_type()) && at::isIntegralType(out.scalar_type(), /*includeBool=*/false)) {
    const Tensor wide = c10::isFloat8Type(self.scalar_type()) ? self.to(at::kFloat) : self;
    out.copy_(at::where(wide.isnan(), 0, wide));
  } else {
    out.copy_(self);
  }
}
MP_KERNEL(Fill, Tensor& self, const Operand& value) { self.fill_(value.value("value")); }

}  // namespace millpond::kernels

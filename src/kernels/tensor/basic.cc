// SPDX-License-Identifier: Apache-2.0
// Copy, fill and cast.
#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

MP_KERNEL(aclnnInplaceZero, Tensor& self) { self.zero_(); }
MP_KERNEL(aclnnInplaceCopy, Tensor& self, const Tensor& source) { self.copy_(source); }
MP_KERNEL(Fill, Tensor& self, const Operand& value) { self.fill_(value.value("value")); }

}  // namespace millpond::kernels

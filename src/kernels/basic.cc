// SPDX-License-Identifier: Apache-2.0
// Copy, fill and cast.
#include "src/kernels/kernel.h"

namespace millpond::kernels {

MP_KERNEL(aclnnInplaceZero, Tensor& self) { self.zero_(); }
MP_KERNEL(aclnnInplaceOne, Tensor& self) { self.fill_(1); }
MP_KERNEL(aclnnInplaceCopy, Tensor& self, const Tensor& source) { self.copy_(source); }
MP_KERNEL(aclnnInplaceFillScalar, Tensor& self, const Scalar& value) { self.fill_(value); }
MP_KERNEL(aclnnInplaceFillTensor, Tensor& self, const Tensor& value) { self.fill_(value.item()); }
MP_KERNEL(aclnnCast, const Tensor& self, ScalarType, Tensor& out) { out.copy_(self); }

}  // namespace millpond::kernels

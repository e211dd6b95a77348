// SPDX-License-Identifier: Apache-2.0
// Reductions that tell where: extremes with their places.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

MP_KERNEL(aclnnMax, const Tensor& self, Tensor& out) { WriteElements(out, at::max(self)); }
MP_KERNEL(aclnnMin, const Tensor& self, Tensor& out) { WriteElements(out, at::min(self)); }

#define MP_EXTREME(name, function)                                                            \
  MP_KERNEL(name, const Tensor& self, int64_t dim, bool keep, Tensor& out, Tensor& indices) { \
    if (indices.scalar_type() == at::kLong) {                                                 \
      at::function##_out(out, indices, self, dim, keep);                                      \
      return;                                                                                 \
    }                                                                                         \
    const auto [values, places] = at::function(self, dim, keep);                              \
    Write(out, values);                                                                       \
    Write(indices, places);                                                                   \
  }

MP_EXTREME(aclnnMaxDim, max)
MP_EXTREME(aclnnMinDim, min)
#undef MP_EXTREME

MP_KERNEL(aclnnArgMax, const Tensor& self, int64_t dim, bool keep, Tensor& out) {
  WriteElements(out, at::argmax(self, dim, keep));
}
MP_KERNEL(aclnnArgMin, const Tensor& self, int64_t dim, bool keep, Tensor& out) {
  WriteElements(out, at::argmin(self, dim, keep));
}

}  // namespace millpond::kernels

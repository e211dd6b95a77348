// SPDX-License-Identifier: Apache-2.0
// Reductions that tell where: extremes with their places.
#include "src/kernels/outputs.h"

namespace millpond::kernels {

MP_KERNEL(aclnnMax, const Tensor& self, Tensor& out) { WriteElements(out, at::max(self)); }
MP_KERNEL(aclnnMin, const Tensor& self, Tensor& out) { WriteElements(out, at::min(self)); }

MP_KERNEL(aclnnMaxDim, const Tensor& self, int64_t dim, bool keep, Tensor& out, Tensor& indices) {
  if (indices.scalar_type() == at::kLong) {
    at::max_out(out, indices, self, dim, keep);
    return;
  }
  const auto [values, places] = at::max(self, dim, keep);
  Write(out, values);
  Write(indices, places);
}
MP_KERNEL(aclnnMinDim, const Tensor& self, int64_t dim, bool keep, Tensor& out, Tensor& indices) {
  if (indices.scalar_type() == at::kLong) {
    at::min_out(out, indices, self, dim, keep);
    return;
  }
  const auto [values, places] = at::min(self, dim, keep);
  Write(out, values);
  Write(indices, places);
}

MP_KERNEL(aclnnArgMax, const Tensor& self, int64_t dim, bool keep, Tensor& out) {
  WriteElements(out, at::argmax(self, dim, keep));
}
MP_KERNEL(aclnnArgMin, const Tensor& self, int64_t dim, bool keep, Tensor& out) {
  WriteElements(out, at::argmin(self, dim, keep));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Elementwise with bounds: clamp, nan_to_num.
#include <cmath>

#include "src/kernels/elementwise.h"

namespace millpond::kernels {
namespace {

// The replacement of an infinity. The float parameter cannot hold the largest double, so it says infinity for it.
std::optional<double> Replacement(const Tensor& self, double value) {
  if (self.scalar_type() == at::kDouble && std::isinf(value)) return std::nullopt;
  return value;
}

}  // namespace

MP_KERNEL(aclnnClamp, const Tensor& self, const OptScalar& min, const OptScalar& max, Tensor& out) {
  at::clamp_out(out, self, min, max);
}
MP_KERNEL(aclnnClampMax, const Tensor& self, const Scalar& max, Tensor& out) { at::clamp_max_out(out, self, max); }
MP_KERNEL(aclnnClampMin, const Tensor& self, const Scalar& min, Tensor& out) { at::clamp_min_out(out, self, min); }
MP_KERNEL(aclnnClampTensor, const Tensor& self, const OptTensor& min, const OptTensor& max, Tensor& out) {
  at::clamp_out(out, self, min, max);
}
MP_KERNEL(aclnnClampMaxTensor, const Tensor& self, const Tensor& max, Tensor& out) {
  at::clamp_max_out(out, self, max);
}
MP_KERNEL(aclnnClampMinTensor, const Tensor& self, const Tensor& min, Tensor& out) {
  at::clamp_min_out(out, self, min);
}
MP_KERNEL(aclnnInplaceClampMax, Tensor& self, const Scalar& max) { self.clamp_max_(max); }
MP_KERNEL(aclnnInplaceClampMaxTensor, Tensor& self, const Tensor& max) { self.clamp_max_(max); }
MP_KERNEL(aclnnInplaceClampMinTensor, Tensor& self, const Tensor& min) { self.clamp_min_(min); }

MP_KERNEL(aclnnNanToNum, const Tensor& self, double nan, double posinf, double neginf, Tensor& out) {
  at::nan_to_num_out(out, self, nan, Replacement(self, posinf), Replacement(self, neginf));
}
MP_KERNEL(aclnnInplaceNanToNum, Tensor& self, double nan, double posinf, double neginf) {
  self.nan_to_num_(nan, Replacement(self, posinf), Replacement(self, neginf));
}

}  // namespace millpond::kernels

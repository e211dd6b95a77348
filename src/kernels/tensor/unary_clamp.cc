// SPDX-License-Identifier: Apache-2.0
// Elementwise with bounds: clamp, nan_to_num.
#include <cmath>

#include "src/kernels/tensor/elementwise.h"

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
MP_KERNEL(aclnnClampTensor, const Tensor& self, const OptTensor& min, const OptTensor& max, Tensor& out) {
  at::clamp_out(out, self, min, max);
}
MP_KERNEL(ClampMax, const Tensor& self, const Operand& max, Tensor& out) {
  if (max.is_number()) {
    at::clamp_max_out(out, self, max.number());
  } else {
    at::clamp_max_out(out, self, max.tensor());
  }
}
MP_KERNEL(ClampMin, const Tensor& self, const Operand& min, Tensor& out) {
  if (min.is_number()) {
    at::clamp_min_out(out, self, min.number());
  } else {
    at::clamp_min_out(out, self, min.tensor());
  }
}

MP_KERNEL(aclnnNanToNum, const Tensor& self, double nan, double posinf, double neginf, Tensor& out) {
  at::nan_to_num_out(out, self, nan, Replacement(self, posinf), Replacement(self, neginf));
}

}  // namespace millpond::kernels

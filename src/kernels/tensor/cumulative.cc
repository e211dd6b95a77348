// SPDX-License-Identifier: Apache-2.0
// Running sums, products and extremes; counts.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

MP_KERNEL(aclnnCumsum, const Tensor& self, int64_t dim, Tensor& out) {
  if (Overlap(self, out)) {
    Write(out, at::cumsum(self, dim, out.scalar_type()));
  } else {
    at::cumsum_out(out, self, dim, out.scalar_type());
  }
}
MP_WIDE_KERNEL(aclnnCumprod, const Tensor& self, const Scalar& dim, Tensor& out) {
  if (Overlap(self, out)) {
    Write(out, at::cumprod(self, dim.toLong(), out.scalar_type()));
  } else {
    at::cumprod_out(out, self, dim.toLong(), out.scalar_type());
  }
}
MP_KERNEL(aclnnCummax, const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  const auto [extremes, places] = at::cummax(self, dim);
  Write(values, extremes);
  Write(indices, places);
}
MP_KERNEL(aclnnCummin, const Tensor& self, int64_t dim, Tensor& values, Tensor& indices) {
  const auto [extremes, places] = at::cummin(self, dim);
  Write(values, extremes);
  Write(indices, places);
}

MP_KERNEL(aclnnBincount, const Tensor& self, const OptTensor& weights, int64_t minlength, Tensor& out) {
  Write(out, at::bincount(self, weights, minlength));
}
MP_KERNEL(aclnnHistc, const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max, Tensor& out) {
  // ATen counts floating-point values only; the client may ask for integers.
  const Tensor values = at::isFloatingType(self.scalar_type()) && !IsHalf(self.scalar_type()) ? self
                        : IsHalf(self.scalar_type())                                          ? self.to(at::kFloat)
                                                                                              : self.to(at::kDouble);
  Write(out, at::histc(values, bins, min, max));
}

}  // namespace millpond::kernels

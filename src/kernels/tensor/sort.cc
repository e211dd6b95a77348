// SPDX-License-Identifier: Apache-2.0
// Sorting, the largest, the middle.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// For ATen functions that give values with their places.
void WriteBoth(Tensor& values, Tensor& indices, const std::tuple<Tensor, Tensor>& both) {
  Write(values, std::get<0>(both));
  Write(indices, std::get<1>(both));
}

}  // namespace

MP_KERNEL(aclnnSort, const Tensor& self, bool stable, int64_t dim, bool descending, Tensor& values, Tensor& indices) {
  if (indices.scalar_type() == at::kLong && !Overlap(self, values)) {
    at::sort_out(values, indices, self, stable, dim, descending);
  } else {
    WriteBoth(values, indices, at::sort(self, stable, dim, descending));
  }
}

MP_KERNEL(aclnnTopk, const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted, Tensor& values,
          Tensor& indices) {
  if (indices.scalar_type() == at::kLong && !Overlap(self, values)) {
    at::topk_out(values, indices, self, k, dim, largest, sorted);
  } else {
    WriteBoth(values, indices, at::topk(self, k, dim, largest, sorted));
  }
}
// The policy chooses between algorithms of the device; the result is the same.

MP_KERNEL(aclnnKthvalue, const Tensor& self, int64_t k, int64_t dim, bool keep, Tensor& values, Tensor& indices) {
  WriteBoth(values, indices, at::kthvalue(self, k, dim, keep));
}
MP_KERNEL(aclnnMedian, const Tensor& self, Tensor& out) { WriteElements(out, at::median(self)); }
MP_KERNEL(aclnnNanMedian, const Tensor& self, Tensor& out) { WriteElements(out, at::nanmedian(self)); }
MP_KERNEL(aclnnMedianDim, const Tensor& self, int64_t dim, bool keep, Tensor& values, Tensor& indices) {
  WriteBoth(values, indices, at::median(self, dim, keep));
}
MP_KERNEL(aclnnNanMedianDim, const Tensor& self, int64_t dim, bool keep, Tensor& values, Tensor& indices) {
  WriteBoth(values, indices, at::nanmedian(self, dim, keep));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Picking elements by index or mask.
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/tensor/indices.h"

namespace millpond::kernels {

MP_KERNEL(aclnnIndex, const Tensor& self, TensorList indices, Tensor& out) {
  if (out.numel() == 0) return;
  at::index_out(out, self, IndexList(self, indices, /*no_empty=*/true));
}
MP_KERNEL(aclnnIndexSelect, const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  at::index_select_out(out, self, dim, index);
}
MP_KERNEL(aclnnGather, const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  at::gather_out(out, self, dim, Long(index));
}
// index_select at a dimension, with any number of leading dimensions shared; the mode is a hint.
MP_KERNEL(aclnnGatherV3, const Tensor& self, int64_t dim, const Tensor& index, int64_t batch_dims, Tensor& out) {
  TORCH_CHECK(batch_dims == 0, "batchDims is ", batch_dims, "; only 0 is supported");
  dim = at::maybe_wrap_dim(dim, self.dim());
  std::vector<int64_t> shape(self.sizes().begin(), self.sizes().begin() + dim);
  shape.insert(shape.end(), index.sizes().begin(), index.sizes().end());
  shape.insert(shape.end(), self.sizes().begin() + dim + 1, self.sizes().end());
  Write(out, at::index_select(self, dim, index.reshape(-1)).view(shape));
}
MP_KERNEL(aclnnTake, const Tensor& self, const Tensor& index, Tensor& out) { at::take_out(out, self, Long(index)); }

MP_KERNEL(aclnnMaskedSelect, const Tensor& self, const Tensor& mask, Tensor& out) {
  WriteActual(out, at::masked_select(self, mask.to(at::kBool)));
}
MP_KERNEL(aclnnNonzero, const Tensor& self, Tensor& out) { WriteActual(out, at::nonzero(self)); }
// One row for each dimension.
MP_KERNEL(aclnnNonzeroV2, const Tensor& self, Tensor& out) { WriteActual(out, at::nonzero(self).t()); }

MP_KERNEL(aclnnBucketize, const Tensor& self, const Tensor& boundaries, bool out_int32, bool right, Tensor& out) {
  Write(out, at::bucketize(self, boundaries, out_int32, right));
}
MP_KERNEL(aclnnSearchSorted, const Tensor& sequence, const Tensor& self, bool out_int32, bool right,
          const OptTensor& sorter, Tensor& out) {
  Write(out, at::searchsorted(sequence, self, out_int32, right, std::nullopt, sorter));
}
MP_KERNEL(aclnnSearchSorteds, const Tensor& sequence, const Scalar& self, bool out_int32, bool right,
          const OptTensor& sorter, Tensor& out) {
  WriteElements(out, at::searchsorted(sequence, self, out_int32, right, std::nullopt, sorter));
}
MP_KERNEL(aclnnIsInScalarTensor, const Scalar& element, const Tensor& among, bool unique, bool invert, Tensor& out) {
  if (out.sizes() == among.sizes()) {
    Write(out, among.eq(element).bitwise_xor_(at::scalar_tensor(invert, at::kBool)));
  } else {
    WriteElements(out, at::isin(element, among, unique, invert));
  }
}
MP_KERNEL(aclnnIsInTensorScalar, const Tensor& elements, const Scalar& among, bool unique, bool invert, Tensor& out) {
  Write(out, at::isin(elements, among, unique, invert));
}

}  // namespace millpond::kernels

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
  const Tensor places = Long(index);
  // Page "aclnnGather": negative ones count from the end. ATen refuses them; most clients have none.
  const bool behind = places.numel() != 0 && places.min().item<int64_t>() < 0;
  at::gather_out(out, self, dim, behind ? Wrapped(places, self.dim() == 0 ? 1 : self.size(dim)) : places);
}
MP_KERNEL(aclnnTake, const Tensor& self, const Tensor& index, Tensor& out) { at::take_out(out, self, Long(index)); }

MP_KERNEL(aclnnMaskedSelect, const Tensor& self, const Tensor& mask, Tensor& out) {
  WriteActual(out, at::masked_select(self, mask.to(at::kBool)));
}
MP_KERNEL(aclnnNonzero, const Tensor& self, Tensor& out) { WriteActual(out, at::nonzero(self)); }
// One row for each dimension.
MP_KERNEL(aclnnNonzeroV2, const Tensor& self, Tensor& out) { WriteActual(out, at::nonzero(self).t()); }

MP_KERNEL(aclnnBucketize, const Tensor& self, const Tensor& boundaries, bool out_int32, bool right, Tensor& out) {
  TORCH_CHECK(boundaries.dim() == 1, "boundaries has shape ", boundaries.sizes(), "; it must have one dimension");
  const ScalarType wanted = out_int32 ? at::kInt : at::kLong;
  TORCH_CHECK(out.scalar_type() == wanted, "outInt32 asks for ", wanted, ", the output is ", out.scalar_type());
  const ScalarType common = at::promote_types(self.scalar_type(), boundaries.scalar_type());
  Write(out, at::bucketize(self.to(common), boundaries.to(common), out_int32, right));
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

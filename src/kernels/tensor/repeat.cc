// SPDX-License-Identifier: Apache-2.0
// Each element several times over, and counting on one hand.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

// The length comes from the output, not from `outputSize`: ATen would check the sum of the repeats against it once
// more.
MP_KERNEL(aclnnRepeatInterleave, const Tensor& self, const Tensor& repeats, Tensor& out) {
  Write(out, at::repeat_interleave(self, repeats));
}
MP_KERNEL(aclnnRepeatInterleaveWithDim, const Tensor& self, const Tensor& repeats, int64_t dim, Tensor& out) {
  Write(out, at::repeat_interleave(self, repeats, dim));
}
MP_KERNEL(aclnnRepeatInterleaveInt, const Tensor& self, int64_t repeats, Tensor& out) {
  Write(out, at::repeat_interleave(self, repeats));
}
MP_KERNEL(aclnnRepeatInterleaveIntWithDim, const Tensor& self, int64_t repeats, int64_t dim, Tensor& out) {
  Write(out, at::repeat_interleave(self, repeats, dim));
}
MP_KERNEL(aclnnRepeatInterleaveTensor, const Tensor& repeats, Tensor& out) {
  Write(out, at::repeat_interleave(repeats));
}
MP_KERNEL(aclnnRepeatInterleaveGrad, const Tensor& grad, const Tensor& repeats, int64_t axis, Tensor& out) {
  const Tensor from = at::repeat_interleave(Long(repeats));
  const ScalarType type = IsHalf(grad.scalar_type()) ? at::kFloat : grad.scalar_type();
  const Tensor sums = at::zeros(out.sizes(), out.options().dtype(type));
  Write(out, sums.index_add_(axis, from, grad.to(type)));
}

MP_KERNEL(aclnnOneHot, const Tensor& self, int64_t classes, const Tensor& on, const Tensor& off, int64_t axis,
          Tensor& out) {
  TORCH_CHECK(on.numel() == 1 && off.numel() == 1, "onValue and offValue must have one element each");
  axis = at::maybe_wrap_dim(axis, self.dim() + 1);
  std::vector<int64_t> along(static_cast<size_t>(self.dim()) + 1, 1);
  along[static_cast<size_t>(axis)] = classes;
  const Tensor numbers = at::arange(classes, at::TensorOptions().dtype(at::kLong)).view(along);
  Write(out, at::where(self.unsqueeze(axis) == numbers, on.reshape({}), off.reshape({})));
}

}  // namespace millpond::kernels

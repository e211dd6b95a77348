// SPDX-License-Identifier: Apache-2.0
// Each element several times over, and counting on one hand.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// Which element each of `size` copies is of. One number of repeats is for all elements.
Tensor Sources(const Tensor& repeats, int64_t size) {
  if (repeats.numel() != 1) return at::repeat_interleave(repeats);
  const auto times = repeats.item<int64_t>();
  TORCH_CHECK(times > 0 && size % times == 0, "an axis of ", size, " does not split into parts of ", times);
  return at::arange(size, at::kLong).div_(times, "floor");
}

}  // namespace

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
  if (grad.numel() == 0) {
    out.zero_();
    return;
  }
  axis = at::maybe_wrap_dim(axis, grad.dim());
  const Tensor from = Sources(Long(repeats).reshape({-1}), grad.size(axis));
  auto shape = grad.sizes().vec();
  shape[static_cast<size_t>(axis)] = repeats.numel() == 1 ? from[-1].item<int64_t>() + 1 : repeats.numel();
  const ScalarType type = IsHalf(grad.scalar_type()) ? at::kFloat : grad.scalar_type();
  const Tensor sums = at::zeros(shape, out.options().dtype(type));
  WriteElements(out, sums.index_add_(axis, from, grad.to(type)));
}

MP_KERNEL(aclnnOneHot, const Tensor& self, int64_t classes, const Tensor& on, const Tensor& off, int64_t axis,
          Tensor& out) {
  TORCH_CHECK(on.numel() > 0 && off.numel() > 0, "onValue and offValue must have an element each");
  TORCH_CHECK(classes > 0 || (classes == 0 && self.numel() != 0), "numClasses is ", classes, "; it must be above 0");
  axis = at::maybe_wrap_dim(axis, self.dim() + 1);  // graphs count from the end, where aclnn has -1 only
  std::vector<int64_t> along(static_cast<size_t>(self.dim()) + 1, 1);
  along[static_cast<size_t>(axis)] = classes;
  const Tensor numbers = at::arange(classes, at::TensorOptions().dtype(at::kLong)).view(along);
  const auto first = [](const Tensor& values) { return values.reshape({-1})[0]; };
  Write(out, at::where(self.unsqueeze(axis) == numbers, first(on), first(off)));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Shapes at the GE door, where no aclnn function takes the same arguments.
#include "src/kernels/outputs.h"

namespace millpond::kernels {

MP_KERNEL(FillWith, IntArrayRef dims, double value, Tensor& out) {
  TORCH_CHECK(out.numel() == c10::multiply_integers(dims), "dims give shape ", dims, ", the output has ", out.sizes());
  out.fill_(value);
}
MP_KERNEL(Permute, const Tensor& self, IntArrayRef perm, Tensor& out) { Write(out, self.permute(perm)); }
MP_KERNEL(Broadcasted, const Tensor& self, IntArrayRef shape, Tensor& out) { Write(out, self.expand(shape)); }

// The count repeats how many tensors there are.
MP_KERNEL(JoinedAlong, TensorList tensors, int64_t dim, int64_t, Tensor& out) { at::cat_out(out, tensors, dim); }
MP_KERNEL(StackedAlong, TensorList tensors, int64_t dim, int64_t, Tensor& out) { at::stack_out(out, tensors, dim); }
MP_KERNEL(SplitAlong, const Tensor& self, IntArrayRef sizes, int64_t dim, int64_t, OutList out) {
  TORCH_CHECK(out.size() == sizes.size(), "there are ", sizes.size(), " sizes for ", out.size(), " outputs");
  const auto parts = at::split_with_sizes(self, sizes, dim);
  for (size_t i = 0; i < parts.size(); ++i) Write(out[i], parts[i]);
}

}  // namespace millpond::kernels

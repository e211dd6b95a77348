// SPDX-License-Identifier: Apache-2.0
// Joining, splitting, repeating, turning.
#include "src/kernels/outputs.h"

namespace millpond::kernels {

MP_KERNEL(aclnnCat, TensorList tensors, int64_t dim, Tensor& out) { at::cat_out(out, tensors, dim); }
MP_KERNEL(aclnnStack, TensorList tensors, int64_t dim, Tensor& out) { at::stack_out(out, tensors, dim); }
MP_KERNEL(aclnnChunkCat, TensorList tensors, int64_t dim, int64_t chunks, Tensor& out) {
  Write(out, at::_chunk_cat(tensors, dim, chunks));
}
MP_KERNEL(aclnnSplitWithSize, const Tensor& self, IntArrayRef sizes, int64_t dim, OutList out) {
  TORCH_CHECK(out.size() == sizes.size(), "there are ", sizes.size(), " sizes for ", out.size(), " outputs");
  const auto parts = at::split_with_sizes(self, sizes, dim);
  for (size_t i = 0; i < parts.size(); ++i) Write(out[i], parts[i]);
}

MP_KERNEL(aclnnRepeat, const Tensor& self, IntArrayRef repeats, Tensor& out) {
  TORCH_CHECK(static_cast<int64_t>(repeats.size()) >= self.dim(), "there are ", repeats.size(), " repeats for ",
              self.dim(), " dimensions; there must be at least as many");
  if (out.numel() == 0) return;
  // Each dimension of the output splits into copies and what is copied: one pass over the output then does it all.
  std::vector<int64_t> source(2 * repeats.size(), 1);
  std::vector<int64_t> target(2 * repeats.size());
  const size_t leading = repeats.size() - static_cast<size_t>(self.dim());
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (i >= leading) source[2 * i + 1] = self.size(static_cast<int64_t>(i - leading));
    target[2 * i] = repeats[i];
    target[2 * i + 1] = source[2 * i + 1];
  }
  const Tensor all = self.reshape(source).expand(target);
  if (out.is_contiguous()) {
    out.view(target).copy_(all);
  } else {
    WriteElements(out, all);
  }
}
MP_KERNEL(aclnnFlip, const Tensor& self, IntArrayRef dims, Tensor& out) { Write(out, at::flip(self, dims)); }
MP_KERNEL(aclnnRoll, const Tensor& self, IntArrayRef shifts, OptIntArrayRef dims, Tensor& out) {
  Write(out, at::roll(self, shifts, dims.value_or(IntArrayRef())));
}
MP_KERNEL(aclnnChannelShuffle, const Tensor& self, int64_t groups, Tensor& out) {
  Write(out, at::channel_shuffle(self, groups));
}
MP_KERNEL(aclnnConfusionTranspose, const Tensor& x, IntArrayRef perm, IntArrayRef shape, bool transpose_first,
          Tensor& out) {
  Write(out, transpose_first ? x.permute(perm).reshape(shape) : x.reshape(shape).permute(perm));
}

MP_KERNEL(aclnnTril, const Tensor& self, int64_t diagonal, Tensor& out) {
  if (Overlap(self, out)) {
    Write(out, at::tril(self, diagonal));
  } else {
    at::tril_out(out, self, diagonal);
  }
}
MP_KERNEL(aclnnTriu, const Tensor& self, int64_t diagonal, Tensor& out) {
  if (Overlap(self, out)) {
    Write(out, at::triu(self, diagonal));
  } else {
    at::triu_out(out, self, diagonal);
  }
}
MP_KERNEL(aclnnInplaceTril, Tensor& self, int64_t diagonal) { self.tril_(diagonal); }
MP_KERNEL(aclnnInplaceTriu, Tensor& self, int64_t diagonal) { self.triu_(diagonal); }

MP_KERNEL(aclnnRenorm, const Tensor& self, const Scalar& p, int64_t dim, const Scalar& max_norm, Tensor& out) {
  Write(out, at::renorm(self, p, dim, max_norm));
}
MP_KERNEL(aclnnInplaceRenorm, Tensor& self, const Scalar& p, int64_t dim, const Scalar& max_norm) {
  self.renorm_(p, dim, max_norm);
}

}  // namespace millpond::kernels

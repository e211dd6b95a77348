// SPDX-License-Identifier: Apache-2.0
// Joining, splitting, repeating, turning.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "src/kernels/runtime/into.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// Rows are copied and cleared as bytes, many times as fast as element by element: torch_npu makes a mask of 2048 by
// 2048 for each attention call. False when the tensors do not allow it.
bool KeepTriangle(const Tensor& self, int64_t diagonal, bool upper, Tensor& out) {
  const bool same = self.sizes() == out.sizes() && self.scalar_type() == out.scalar_type();
  if (!same || self.dim() < 2 || !self.is_contiguous() || !out.is_contiguous()) return false;
  const bool in_place = self.const_data_ptr() == out.const_data_ptr();
  if (!in_place && Overlap(self, out)) return false;
  const int64_t rows = self.size(-2);
  const int64_t columns = self.size(-1);
  if (self.numel() == 0) return true;
  const size_t width = self.element_size();
  const auto* from = static_cast<const char*>(self.const_data_ptr());
  auto* to = static_cast<char*>(out.mutable_data_ptr());
  constexpr int64_t kElementsPerThread = 1 << 16;
  at::parallel_for(0, self.numel() / columns, std::max<int64_t>(1, kElementsPerThread / columns),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end; ++row) {
                       // Kept: [cut, columns) of the upper triangle, [0, cut) of the lower one.
                       const int64_t edge = std::clamp<int64_t>(diagonal, -rows, columns) + row % rows;
                       const int64_t cut = std::clamp<int64_t>(upper ? edge : edge + 1, 0, columns);
                       const size_t first = static_cast<size_t>(upper ? cut : 0) * width;
                       const size_t kept = static_cast<size_t>(upper ? columns - cut : cut) * width;
                       const size_t all = static_cast<size_t>(columns) * width;
                       const size_t start = static_cast<size_t>(row) * all;
                       std::memset(to + start + (upper ? 0 : kept), 0, all - kept);
                       if (!in_place) std::memcpy(to + start + first, from + start + first, kept);
                     }
                   });
  return true;
}

}  // namespace

MP_KERNEL(aclnnCat, TensorList tensors, int64_t dim, Tensor& out) {
  Into(out, [&](Tensor& to) { at::cat_out(to, tensors, dim); });
}
MP_KERNEL(aclnnStack, TensorList tensors, int64_t dim, Tensor& out) {
  Into(out, [&](Tensor& to) { at::stack_out(to, tensors, dim); });
}
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
  for (const int64_t times : repeats) TORCH_CHECK(times >= 0, "repeats has ", times, "; it must not be negative");
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
  if (KeepTriangle(self, diagonal, /*upper=*/false, out)) return;
  Write(out, at::tril(self, diagonal));
}
MP_KERNEL(aclnnTriu, const Tensor& self, int64_t diagonal, Tensor& out) {
  if (KeepTriangle(self, diagonal, /*upper=*/true, out)) return;
  Write(out, at::triu(self, diagonal));
}

// Page "aclnnRenorm": x / max(norm, eps) * maxNorm, and p may be 0. ATen adds eps to the norm.
MP_WIDE_KERNEL(aclnnRenorm, const Tensor& self, const Scalar& p, int64_t dim, const Scalar& max_norm, Tensor& out) {
  constexpr double kEps = 1e-7;
  const double limit = max_norm.toDouble();
  TORCH_CHECK(p.toDouble() >= 0 && limit >= 0, "p is ", p.toDouble(), " and maxNorm ", limit,
              "; they must not be negative");
  TORCH_CHECK(self.dim() >= 2, "self has ", self.dim(), " dimensions; it must have at least 2");
  std::vector<int64_t> others;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i != at::maybe_wrap_dim(dim, self.dim())) others.push_back(i);
  }
  if (self.numel() == 0) return;
  const Tensor norm = at::linalg_vector_norm(self, p, others, /*keepdim=*/true);
  Write(out, at::where(norm.gt(limit), self.div(norm.clamp_min(kEps)).mul_(limit), self));
}

}  // namespace millpond::kernels

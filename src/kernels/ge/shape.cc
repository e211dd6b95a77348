// SPDX-License-Identifier: Apache-2.0
// Shapes at the GE door, where no aclnn function takes the same arguments. The rules of the shapes are in
// src/ops/infer_view.cc; a kernel finds its output in the right one.
#include <algorithm>
#include <cstring>
#include <vector>

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// Sizes are told to the client in a tensor.
void WriteSizes(Tensor& out, IntArrayRef sizes) { Write(out, at::tensor(sizes, at::TensorOptions(at::kLong))); }

}  // namespace

MP_KERNEL(Reshaped, const Tensor& self, Tensor& out) { WriteElements(out, self); }
MP_KERNEL(CopiedMembers, TensorList members, OutList out) {
  TORCH_CHECK(members.size() == out.size(), "there are ", members.size(), " members for ", out.size(), " outputs");
  for (size_t i = 0; i < members.size(); ++i) WriteElements(out[i], members[i]);
}
MP_KERNEL(BitsAs, const Tensor& self, Tensor& out) {
  TORCH_CHECK(self.nbytes() == out.nbytes(), "the operand has ", self.nbytes(), " bytes, the output ", out.nbytes());
  const Tensor whole = self.contiguous();
  std::memcpy(out.mutable_data_ptr(), whole.const_data_ptr(), whole.nbytes());
}

MP_KERNEL(ShapeOf, const Tensor& self, Tensor& out) { WriteSizes(out, self.sizes()); }
MP_KERNEL(ShapesOf, TensorList members, OutList out) {
  TORCH_CHECK(members.size() == out.size(), "there are ", members.size(), " members for ", out.size(), " outputs");
  for (size_t i = 0; i < members.size(); ++i) WriteSizes(out[i], members[i].sizes());
}
MP_KERNEL(SizeOf, const Tensor& self, Tensor& out) { out.fill_(self.numel()); }
MP_KERNEL(RankOf, const Tensor& self, Tensor& out) { out.fill_(self.dim()); }

// The count repeats how many tensors there are.
MP_KERNEL(JoinedAlong, TensorList tensors, int64_t dim, Tensor& out) {
  const bool scalars = std::any_of(tensors.begin(), tensors.end(), [](const Tensor& one) { return one.dim() == 0; });
  if (!scalars) {
    at::cat_out(out, tensors, dim);
    return;
  }
  std::vector<Tensor> vectors;
  for (const Tensor& one : tensors) vectors.push_back(one.dim() == 0 ? one.reshape({1}) : one);
  at::cat_out(out, vectors, dim);
}
MP_KERNEL(UnstackedAlong, const Tensor& self, int64_t dim, OutList out) {
  const auto parts = at::unbind(self, dim);
  TORCH_CHECK(out.size() == parts.size(), "there are ", parts.size(), " parts for ", out.size(), " outputs");
  for (size_t i = 0; i < parts.size(); ++i) WriteElements(out[i], parts[i]);
}
// One of the sizes may be -1, so the outputs tell them.
MP_KERNEL(SplitAlong, const Tensor& self, int64_t dim, OutList out) {
  int64_t start = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t size = out[i].size(dim);
    Write(out[i], self.narrow(dim, start, size));
    start += size;
  }
  TORCH_CHECK(start == self.size(dim), "the outputs have ", start, " of ", self.size(dim), " elements");
}
MP_KERNEL(SplitEvenly, const Tensor& self, int64_t dim, int64_t count, OutList out) {
  TORCH_CHECK(static_cast<int64_t>(out.size()) == count, "there are ", count, " parts for ", out.size(), " outputs");
  const int64_t size = self.size(dim) / count;
  for (size_t i = 0; i < out.size(); ++i) Write(out[i], self.narrow(dim, static_cast<int64_t>(i) * size, size));
}

MP_KERNEL(SlicedBlock, const Tensor& self, IntArrayRef offsets, IntArrayRef sizes, Tensor& out) {
  TORCH_CHECK(static_cast<int64_t>(offsets.size()) == self.dim() && offsets.size() == sizes.size(), "there are ",
              offsets.size(), " offsets and ", sizes.size(), " sizes for ", self.dim(), " dimensions");
  Tensor view = self;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    view = view.narrow(dim, offsets[i], sizes[i] == -1 ? self.size(dim) - offsets[i] : sizes[i]);
  }
  Write(out, view);
}

MP_KERNEL(Permute, const Tensor& self, IntArrayRef perm, Tensor& out) { Write(out, self.permute(perm)); }
MP_KERNEL(Broadcasted, const Tensor& self, IntArrayRef shape, Tensor& out) { Write(out, self.expand(shape)); }
MP_KERNEL(Expanded, const Tensor& self, Tensor& out) { Write(out, self.expand(out.sizes())); }
// Each slice along the axis as often as asked, all of them in order each time.
MP_KERNEL(TiledAlong, const Tensor& self, int64_t axis, int64_t tiles, Tensor& out) {
  std::vector<int64_t> repeats(static_cast<size_t>(self.dim()), 1);
  repeats[static_cast<size_t>(at::maybe_wrap_dim(axis, self.dim()))] = tiles;
  Write(out, self.repeat(repeats));
}
MP_KERNEL(TriangleOf, const Tensor& self, OptIntArrayRef diagonal, int64_t upper, Tensor& out) {
  const int64_t k = diagonal.has_value() && !diagonal->empty() ? diagonal->front() : 0;
  Write(out, upper != 0 ? at::triu(self, k) : at::tril(self, k));
}
MP_KERNEL(Restrided, const Tensor& self, IntArrayRef size, IntArrayRef stride, int64_t offset, Tensor& out) {
  Write(out, self.contiguous().as_strided(size, stride, offset));
}
MP_KERNEL(CopiedView, Tensor& dst, IntArrayRef dst_size, IntArrayRef dst_stride, int64_t dst_offset, const Tensor& src,
          IntArrayRef src_size, IntArrayRef src_stride, int64_t src_offset) {
  const Tensor from = src.contiguous().as_strided(src_size, src_stride, src_offset);
  dst.as_strided(dst_size, dst_stride, dst_offset).copy_(Overlap(dst, src) ? from.clone() : from);
}

MP_KERNEL(FillWith, IntArrayRef dims, const Scalar& value, Tensor& out) {
  TORCH_CHECK(out.numel() == c10::multiply_integers(dims), "dims give shape ", dims, ", the output has ", out.sizes());
  out.fill_(value);
}
MP_KERNEL(CountedUp, const Scalar& start, const Scalar& delta, Tensor& out) {
  const bool whole = start.isIntegral(false) && delta.isIntegral(false);
  const Tensor steps = at::arange(out.numel(), at::TensorOptions(whole ? at::kLong : at::kDouble));
  WriteElements(out, steps.mul_(delta).add_(start));
}
MP_KERNEL(IdentityMatrix, Tensor& out) {
  out.zero_();
  out.diagonal(0, -2, -1).fill_(1);
}
// Elements that nobody asked to be set are zeros too: a run can be repeated.

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Less common arrangements, searches and small matrices at the GE door.
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {
namespace {

// A picture as NCHW and back.
Tensor ChannelsFirst(const Tensor& x, string_view format) { return format == "NHWC" ? x.permute({0, 3, 1, 2}) : x; }
Tensor AsFormat(const Tensor& x, string_view format) { return format == "NHWC" ? x.permute({0, 2, 3, 1}) : x; }

// The sizes behind the first dimension, split in (outer, inner) where blocks are.
std::vector<int64_t> Order(size_t blocks, int64_t rank, bool to_batch) {
  // From [batch, o1, i1, o2, i2, ..., rest] to [i1, i2, ..., batch, o1, o2, ..., rest], or from the latter's parts
  // back.
  std::vector<int64_t> order;
  const auto count = static_cast<int64_t>(blocks);
  if (to_batch) {
    for (int64_t i = 0; i < count; ++i) order.push_back(2 + 2 * i);
    order.push_back(0);
    for (int64_t i = 0; i < count; ++i) order.push_back(1 + 2 * i);
  } else {
    order.push_back(count);
    for (int64_t i = 0; i < count; ++i) {
      order.push_back(count + 1 + i);
      order.push_back(i);
    }
  }
  for (int64_t i = 2 * count + 1; i < rank; ++i) order.push_back(i);
  return order;
}

// The places of the first of equal elements, in order, and for each element the number of its like.
std::tuple<Tensor, Tensor, Tensor> FirstOfEach(const Tensor& self) {
  const Tensor flat = self.reshape(-1);
  const auto [sorted, inverse, counts] = at::_unique2(flat, /*sorted=*/true, /*return_inverse=*/true, true);
  const int64_t kinds = sorted.numel();
  Tensor first = at::full({kinds}, flat.numel(), at::TensorOptions(at::kLong));
  first.scatter_reduce_(0, inverse, at::arange(flat.numel(), first.options()), "amin");
  const Tensor order = std::get<1>(first.sort());
  Tensor rank = at::empty_like(order);
  rank.index_copy_(0, order, at::arange(kinds, order.options()));
  return {sorted.index_select(0, order), rank.index_select(0, inverse).view(self.sizes()),
          counts.index_select(0, order)};
}

}  // namespace

MP_KERNEL(BlocksToSpace, const Tensor& self, int64_t block, string_view mode, string_view format, Tensor& out) {
  TORCH_CHECK(mode == "DCR" || mode == "CRD", "mode is '", std::string(mode), "'; it must be DCR or CRD");
  const Tensor x = ChannelsFirst(self, format);
  const int64_t depth = x.size(1) / (block * block);
  const bool depth_last = mode == "DCR";
  const Tensor parts =
      depth_last ? x.reshape({x.size(0), block, block, depth, x.size(2), x.size(3)}).permute({0, 3, 4, 1, 5, 2})
                 : x.reshape({x.size(0), depth, block, block, x.size(2), x.size(3)}).permute({0, 1, 4, 2, 5, 3});
  Write(out, AsFormat(parts.reshape({x.size(0), depth, x.size(2) * block, x.size(3) * block}), format));
}
MP_KERNEL(SpaceToBlocks, const Tensor& self, int64_t block, string_view format, Tensor& out) {
  const Tensor x = ChannelsFirst(self, format);
  const int64_t rows = x.size(2) / block;
  const int64_t columns = x.size(3) / block;
  const Tensor parts = x.reshape({x.size(0), x.size(1), rows, block, columns, block}).permute({0, 3, 5, 1, 2, 4});
  Write(out, AsFormat(parts.reshape({x.size(0), x.size(1) * block * block, rows, columns}), format));
}
MP_KERNEL(SpaceToBatches, const Tensor& self, IntArrayRef block, IntArrayRef paddings, Tensor& out) {
  std::vector<int64_t> pads;  // ATen's order: the last dimension first
  for (int64_t i = self.dim() - 1; i > 0; --i) {
    const auto at_block = static_cast<size_t>(i - 1);
    const bool padded = at_block < block.size();
    pads.push_back(padded ? paddings[2 * at_block] : 0);
    pads.push_back(padded ? paddings[2 * at_block + 1] : 0);
  }
  const Tensor x = at::constant_pad_nd(self, pads);
  std::vector<int64_t> shape = {x.size(0)};
  for (int64_t i = 1; i < x.dim(); ++i) {
    const auto at_block = static_cast<size_t>(i - 1);
    if (at_block < block.size()) {
      shape.push_back(x.size(i) / block[at_block]);
      shape.push_back(block[at_block]);
    } else {
      shape.push_back(x.size(i));
    }
  }
  const Tensor parts = x.reshape(shape);
  Write(out, parts.permute(Order(block.size(), parts.dim(), /*to_batch=*/true)).reshape(out.sizes()));
}
MP_KERNEL(BatchesToSpace, const Tensor& self, IntArrayRef block, IntArrayRef crops, Tensor& out) {
  std::vector<int64_t> shape(block.begin(), block.end());
  shape.push_back(self.size(0) / c10::multiply_integers(block));
  std::vector<int64_t> whole = {shape.back()};
  for (int64_t i = 1; i < self.dim(); ++i) {
    shape.push_back(self.size(i));
    const auto at_block = static_cast<size_t>(i - 1);
    whole.push_back(at_block < block.size() ? self.size(i) * block[at_block] : self.size(i));
  }
  const Tensor parts = self.reshape(shape);
  Tensor view = parts.permute(Order(block.size(), parts.dim(), /*to_batch=*/false)).reshape(whole);
  for (size_t i = 0; i < block.size(); ++i) {
    const auto dim = static_cast<int64_t>(i) + 1;
    view = view.slice(dim, crops[2 * i], view.size(dim) - crops[2 * i + 1]);
  }
  Write(out, view);
}

MP_KERNEL(ReversedSequences, const Tensor& self, const Tensor& lengths, int64_t dim, int64_t batch, Tensor& out) {
  dim = at::maybe_wrap_dim(dim, self.dim());
  batch = at::maybe_wrap_dim(batch, self.dim());
  TORCH_CHECK(dim != batch && lengths.numel() == self.size(batch), "there are ", lengths.numel(), " lengths for ",
              self.size(batch), " sequences");
  const Tensor counts = Long(lengths).reshape(-1);
  StartFrom(self, out);
  const Tensor source = self.clone();
  for (int64_t i = 0; i < counts.numel(); ++i) {
    const auto count = counts[i].item<int64_t>();
    TORCH_CHECK(count >= 0 && count <= self.size(dim), "length ", count, " is outside of ", self.size(dim));
    const int64_t inner = dim > batch ? dim - 1 : dim;
    out.select(batch, i).narrow(inner, 0, count).copy_(source.select(batch, i).narrow(inner, 0, count).flip(inner));
  }
}
MP_KERNEL(RepeatedEach, const Tensor& self, IntArrayRef repeats, int64_t axis, Tensor& out) {
  constexpr int64_t kFlat = 1000;
  const Tensor x = axis == kFlat ? self.reshape(-1) : self;
  const int64_t dim = axis == kFlat ? 0 : axis;
  if (repeats.size() == 1) {
    Write(out, at::repeat_interleave(x, repeats[0], dim));
  } else {
    Write(out, at::repeat_interleave(x, at::tensor(repeats, at::TensorOptions(at::kLong)), dim));
  }
}
MP_KERNEL(DiagonalMatrix, const Tensor& self, Tensor& out) { Write(out, at::diag_embed(self)); }
MP_KERNEL(DiagonalOfMatrix, const Tensor& self, Tensor& out) { Write(out, self.diagonal(0, -2, -1)); }
MP_KERNEL(DiagonalTensor, const Tensor& self, Tensor& out) { WriteElements(out, at::diag_embed(self.reshape(-1))); }
MP_KERNEL(DiagonalOfTensor, const Tensor& self, Tensor& out) {
  WriteElements(out, self.reshape({out.numel(), out.numel()}).diagonal());
}
MP_KERNEL(OuterProduct, const Tensor& self, const Tensor& other, Tensor& out) { Write(out, at::outer(self, other)); }
MP_KERNEL(InverseMatrix, const Tensor& self, bool adjoint, Tensor& out) {
  const Tensor inverse = at::linalg_inv(self);
  Write(out, adjoint ? inverse.mH() : inverse);
}
MP_KERNEL(SolvedMatrix, const Tensor& matrix, const Tensor& right, bool adjoint, Tensor& out) {
  Write(out, at::linalg_solve(adjoint ? matrix.mH() : matrix, right));
}
MP_KERNEL(CholeskyFactor, const Tensor& self, Tensor& out) { Write(out, at::linalg_cholesky(self)); }

MP_KERNEL(InplaceIndexSum, Tensor& var, const Tensor& indices, const Tensor& updates, const OptTensor& alpha,
          int64_t axis) {
  var.index_add_(axis, Long(indices), updates.to(var.scalar_type()), alpha ? alpha->item() : Scalar(1));
}
MP_KERNEL(IndexFilled, const Tensor& self, const Tensor& indices, const Tensor& value, int64_t dim, Tensor& out) {
  StartFrom(self, out);
  out.index_fill_(dim, Long(indices), value.item());
}

MP_KERNEL(DistinctElements, const Tensor& self, Tensor& out, Tensor& places) {
  const auto [values, numbers, counts] = FirstOfEach(self);
  WriteActual(out, values);
  Write(places, numbers);
}
MP_KERNEL(DistinctCounted, const Tensor& self, Tensor& out, Tensor& places, Tensor& counts) {
  const auto [values, numbers, many] = FirstOfEach(self);
  WriteActual(out, values);
  Write(places, numbers);
  WriteActual(counts, many.to(counts.scalar_type()));
}

MP_KERNEL(SortedValues, const Tensor& self, int64_t dim, bool descending, Tensor& out) {
  Write(out, std::get<0>(at::sort(self, dim, descending)));
}
// right: a value that equals a boundary is above it.
MP_KERNEL(BucketOf, const Tensor& self, DoubleArray boundaries, bool right, Tensor& out) {
  const Tensor edges = at::tensor(boundaries, at::TensorOptions(at::kDouble)).to(self.scalar_type());
  Write(out, at::bucketize(self, edges, /*out_int32=*/false, right));
}
// Ties count for the target.
MP_KERNEL(AmongLargest, const Tensor& predictions, const Tensor& targets, int64_t k, Tensor& out) {
  const Tensor own = predictions.gather(1, Long(targets).unsqueeze(1));
  const Tensor larger = predictions.gt(own).sum(1);
  Write(out, larger.lt(k).logical_and(own.squeeze(1).isfinite()));
}
MP_KERNEL(HardestMax, const Tensor& self, int64_t axis, Tensor& out) {
  out.zero_();
  out.scatter_(axis, at::argmax(self, axis, /*keepdim=*/true), 1);
}
MP_KERNEL(InvertedPermutation, const Tensor& self, Tensor& out) {
  const Tensor places = at::arange(self.numel(), self.options());
  out.index_copy_(0, Long(self), places);
}

MP_KERNEL(Reformatted, const Tensor& self, string_view from, string_view to, Tensor& out) {
  if (out.sizes() == self.sizes() &&
      (from == to || !std::is_permutation(from.begin(), from.end(), to.begin(), to.end()))) {
    return Write(out, self);  // the device's own layouts: there is one layout here
  }
  TORCH_CHECK(static_cast<size_t>(self.dim()) == from.size() &&
                  std::is_permutation(from.begin(), from.end(), to.begin(), to.end()),
              "layout ", from, " cannot become ", to, "; only orders of the same dimensions can");
  std::vector<int64_t> order;
  for (const char letter : to) order.push_back(static_cast<int64_t>(from.find(letter)));
  Write(out, self.permute(order));
}
MP_KERNEL(HistogramOf, const Tensor& self, int64_t bins, double low, double high, Tensor& out) {
  Write(out, at::histc(at::isFloatingType(self.scalar_type()) ? Widened(self) : self.to(at::kFloat), bins, low, high));
}
MP_KERNEL(BoundIn, const Tensor& sequence, const Tensor& values, bool right, Tensor& out) {
  Write(out, at::searchsorted(sequence, values, /*out_int32=*/false, right));
}

MP_KERNEL(FilledWith, double value, Tensor& out) { out.fill_(value); }
MP_KERNEL(HalfSquareSum, const Tensor& self, Tensor& out) { Write(out, Widened(self).square().sum().div(2)); }
MP_KERNEL(UnitLength, const Tensor& self, IntArrayRef axes, double eps, Tensor& out) {
  const Tensor x = Widened(self);
  Write(out, x / x.square().sum(axes, /*keepdim=*/true).clamp_min(eps).sqrt());
}
MP_KERNEL(Standardised, const Tensor& self, double eps, IntArrayRef axes, Tensor& out) {
  const Tensor x = Widened(self);
  const auto [variance, mean] = at::var_mean(x, axes, /*correction=*/Scalar(0), /*keepdim=*/true);
  Write(out, (x - mean) / (variance.sqrt() + eps));
}
MP_KERNEL(ExtremeGradient, const Tensor& gradient, const Tensor& self, const Tensor& other, bool smaller,
          Tensor& grad_self, Tensor& grad_other) {
  const Tensor first = smaller ? self.le(other) : self.ge(other);
  const Tensor zero = at::zeros_like(gradient);
  WriteElements(grad_self, at::sum_to(at::where(first, gradient, zero), self.sizes()));
  WriteElements(grad_other, at::sum_to(at::where(first, zero, gradient), other.sizes()));
}

}  // namespace millpond::kernels

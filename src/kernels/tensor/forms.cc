// SPDX-License-Identifier: Apache-2.0
// Functions that follow the forms of other frameworks: places, slices, lists of operands.
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

enum How : int64_t { kSum, kMaximum, kMinimum };

// Whether `updates` has one row of `self` for each index.
bool RowForEachIndex(const Tensor& self, const Tensor& indices, const Tensor& updates) {
  std::vector<int64_t> wanted = indices.sizes().vec();
  wanted.insert(wanted.end(), self.sizes().begin() + 1, self.sizes().end());
  return updates.sizes() == IntArrayRef(wanted);
}

}  // namespace

MP_WIDE_KERNEL(MembersCombined, TensorList tensors, int64_t how, Tensor& out) {
  TORCH_CHECK(!tensors.empty(), "the list has no members; it must have at least one");
  Tensor result = tensors[0];
  for (size_t i = 1; i < tensors.size(); ++i) {
    result = how == kSum       ? at::add(result, tensors[i])
             : how == kMaximum ? at::maximum(result, tensors[i])
                               : at::minimum(result, tensors[i]);
  }
  Write(out, result);
}

MP_KERNEL(aclnnArgsort, const Tensor& self, int64_t dim, bool descending, Tensor& out) {
  Write(out, std::get<1>(at::sort(self, /*stable=*/true, dim, descending)));
}
MP_KERNEL(aclnnSlice, const Tensor& self, int64_t dim, int64_t start, int64_t end, int64_t step, Tensor& out) {
  TORCH_CHECK(step > 0, "step is ", step, "; it must be above 0");
  Write(out, self.slice(dim, start, end, step));
}
MP_KERNEL(aclnnSplitTensor, const Tensor& self, int64_t size, int64_t dim, OutList out) {
  TORCH_CHECK(size > 0, "splitSections is ", size, "; it must be above 0");
  const auto parts = at::split(self, size, dim);
  TORCH_CHECK(parts.size() == out.size(), "there are ", parts.size(), " parts for ", out.size(), " outputs");
  for (size_t i = 0; i < parts.size(); ++i) Write(out[i], parts[i]);
}
MP_KERNEL(aclnnDiag, const Tensor& self, int64_t diagonal, Tensor& out) { Write(out, at::diag(self, diagonal)); }
MP_KERNEL(aclnnDiagFlat, const Tensor& self, int64_t diagonal, Tensor& out) {
  Write(out, at::diagflat(self, diagonal));
}
MP_KERNEL(aclnnStridedSliceAssignV2, Tensor& var, const Tensor& value, IntArrayRef begin, IntArrayRef end,
          IntArrayRef strides, OptIntArrayRef axes) {
  TORCH_CHECK(begin.size() == end.size() && begin.size() == strides.size() && (!axes || axes->size() == begin.size()),
              "begin, end, strides and axes have ", begin.size(), ", ", end.size(), ", ", strides.size(), " and ",
              axes ? axes->size() : begin.size(), " entries; they must have as many");
  Tensor view = var;
  for (size_t i = 0; i < begin.size(); ++i) {
    TORCH_CHECK(strides[i] > 0, "stride ", i, " is ", strides[i], "; it must be above 0");
    view = view.slice(axes ? (*axes)[i] : static_cast<int64_t>(i), begin[i], end[i], strides[i]);
  }
  Write(view, value);
}
// The page allows two forms: an index for each row, or tuples that lead deeper. The shapes tell which.
MP_KERNEL(aclnnTfScatterAdd, Tensor& var, const Tensor& indices, const Tensor& updates) {
  if (indices.numel() == 0 || var.numel() == 0) return;
  const Tensor places = Long(indices);
  if (RowForEachIndex(var, indices, updates)) {
    std::vector<int64_t> row(var.sizes().begin() + 1, var.sizes().end());
    row.insert(row.begin(), indices.numel());
    var.index_add_(0, places.reshape(-1), updates.reshape(row));
    return;
  }
  TORCH_CHECK(places.size(-1) <= var.dim(), "the indices name ", places.size(-1), " of ", var.dim(), " dimensions");
  c10::List<std::optional<Tensor>> list;
  for (const Tensor& index : places.unbind(-1)) list.push_back(index);
  var.index_put_(list, updates, /*accumulate=*/true);
}
MP_KERNEL(aclnnExpandIntoJaggedPermute, const Tensor& permute, const Tensor& input_offset, const Tensor& output_offset,
          int64_t output_size, Tensor& out) {
  TORCH_CHECK(output_size == out.numel(), "outputSize is ", output_size, ", the output has ", out.numel(), " elements");
  const auto order = HostList(permute);
  const auto from = HostList(input_offset);
  const auto to = HostList(output_offset);
  TORCH_CHECK(to.size() == order.size() + 1 && from.size() == to.size(), "permute has ", order.size(),
              " entries, the offsets ", from.size(), " and ", to.size(), "; they need one more each");
  for (size_t i = 0; i < order.size(); ++i) {
    TORCH_CHECK(order[i] >= 0 && static_cast<size_t>(order[i]) < order.size(), "permute[", i, "] is ", order[i],
                "; it must be below ", order.size());
    TORCH_CHECK(to[i] >= 0 && to[i] <= to[i + 1] && to[i + 1] <= output_size, "outputOffset[", i, "] is ", to[i],
                ", the next ", to[i + 1], "; they must rise up to ", output_size);
    const int64_t first = from[static_cast<size_t>(order[i])];
    out.narrow(0, to[i], to[i + 1] - to[i]).copy_(at::arange(first, first + to[i + 1] - to[i], at::kLong));
  }
}

// Bit i % 8 of byte i / 8 is set where element i is not negative; elements behind the last count as negative.
MP_KERNEL(aclnnSignBitsPack, const Tensor& self, int64_t size, Tensor& out) {
  TORCH_CHECK(self.dim() == 1 && size > 0 && out.dim() == 2 && out.size(0) == size, "an operand of shape ",
              self.sizes(), " cannot be packed into an output of shape ", out.sizes(), " with size ", size);
  const int64_t bytes = (self.numel() + 7) / 8;
  const Tensor bits = at::constant_pad_nd(self.ge(0).to(at::kInt), {0, bytes * 8 - self.numel()}).view({bytes, 8});
  WriteElements(out, bits.bitwise_left_shift(at::arange(8, at::kInt)).sum(-1));
}
MP_KERNEL(aclnnSignBitsUnpack, const Tensor& self, int64_t size, Tensor& out) {
  TORCH_CHECK(self.dim() == 1 && size > 0 && out.dim() == 2 && out.size(0) == size, "an operand of shape ",
              self.sizes(), " cannot be unpacked into an output of shape ", out.sizes(), " with size ", size);
  const Tensor bits = self.to(at::kInt).unsqueeze(-1).bitwise_right_shift(at::arange(8, at::kInt)).bitwise_and_(1);
  WriteElements(out, bits.mul_(2).sub_(1));
}
// The page's code: 0 where every element is the same, else not 0.
MP_KERNEL(aclnnPrecisionCompare, const Tensor& golden, const Tensor& real, Tensor& out) {
  TORCH_CHECK(golden.sizes() == real.sizes() && golden.scalar_type() == real.scalar_type(), "golden has shape ",
              golden.sizes(), " and type ", golden.scalar_type(), ", realdata ", real.sizes(), " and ",
              real.scalar_type(), "; they must be alike");
  const bool same = golden.eq(real).logical_or_(golden.isnan().logical_and_(real.isnan())).all().item<bool>();
  out.fill_(same ? 0 : 1);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Tables of rows by index.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

MP_KERNEL(aclnnEmbedding, const Tensor& weight, const Tensor& indices, Tensor& out) {
  if (out.is_contiguous() && weight.dim() == 2 && out.numel() == indices.numel() * weight.size(1)) {
    Tensor rows = out.view({indices.numel(), weight.size(1)});
    at::index_select_out(rows, weight, 0, indices.reshape(-1));
  } else {
    Write(out, at::embedding(weight, indices));
  }
}
MP_WIDE_KERNEL(aclnnEmbeddingDenseBackward, const Tensor& grad, const Tensor& indices, int64_t rows,
               int64_t padding_idx, bool scale_by_freq, Tensor& out) {
  Write(out, at::embedding_dense_backward(grad, indices, rows, padding_idx, scale_by_freq));
}
MP_KERNEL(aclnnEmbeddingRenorm, Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  at::embedding_renorm_(self, indices, max_norm, norm_type);
}

// Clients differ in how long they make the three helper outputs: an empty one is not wanted, a longer one ends in
// zeros.
static void WriteFront(Tensor& out, const Tensor& value) {
  if (out.numel() == 0) return;
  if (out.sizes() == value.sizes()) {
    Write(out, value);
    return;
  }
  TORCH_CHECK(out.dim() == 1 && value.dim() == 1, "the result has shape ", value.sizes(), ", the output ", out.sizes());
  const int64_t count = std::min(out.numel(), value.numel());
  out.zero_();
  out.narrow(0, 0, count).copy_(value.narrow(0, 0, count));
}

MP_WIDE_KERNEL(aclnnEmbeddingBag, const Tensor& weight, const Tensor& indices, const Tensor& offsets,
               bool scale_by_freq, int64_t given_mode, bool sparse, const OptTensor& sample_weights,
               bool include_last_offset, int64_t padding_idx, Tensor& output, Tensor& offset2bag, Tensor& bag_size,
               Tensor& max_indices) {
  constexpr int64_t kMax = 2;
  const int64_t mode = given_mode == 0 || given_mode == 1 ? given_mode : kMax;
  // ATen reads both as if they were contiguous.
  const Tensor flat = Long(indices).reshape({-1}).contiguous();
  const Tensor starts = Long(offsets).reshape({-1}).contiguous();
  TORCH_CHECK(starts.numel() > 0 || flat.numel() == 0, "there are ", flat.numel(), " indices and no offsets");
  const auto [sums, bags, sizes, maxima] = at::_embedding_bag(weight, flat, starts, scale_by_freq, mode, sparse,
                                                              sample_weights, include_last_offset, padding_idx);
  Write(output, sums);
  // ATen leaves out what its own backward does not need; these follow from the offsets.
  const Tensor places = at::arange(flat.numel(), flat.options());
  const Tensor bounds = include_last_offset ? starts.narrow(0, 0, starts.numel() - 1) : starts;
  WriteFront(offset2bag, at::searchsorted(bounds, places, /*out_int32=*/false, /*right=*/true) - 1);
  WriteFront(bag_size, sizes);
  if (mode == kMax) {
    WriteFront(max_indices, maxima);
  } else {
    max_indices.zero_();
  }
}

}  // namespace millpond::kernels

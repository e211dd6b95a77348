// SPDX-License-Identifier: Apache-2.0
// Tables of rows by index.
#include "src/kernels/outputs.h"

namespace millpond::kernels {

MP_KERNEL(aclnnEmbedding, const Tensor& weight, const Tensor& indices, Tensor& out) {
  if (out.is_contiguous() && weight.dim() == 2 && out.numel() == indices.numel() * weight.size(1)) {
    Tensor rows = out.view({indices.numel(), weight.size(1)});
    at::index_select_out(rows, weight, 0, indices.reshape(-1));
  } else {
    Write(out, at::embedding(weight, indices));
  }
}
MP_KERNEL(aclnnEmbeddingDenseBackward, const Tensor& grad, const Tensor& indices, int64_t rows, int64_t padding_idx,
          bool scale_by_freq, Tensor& out) {
  Write(out, at::embedding_dense_backward(grad, indices, rows, padding_idx, scale_by_freq));
}
MP_KERNEL(aclnnEmbeddingRenorm, Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  at::embedding_renorm_(self, indices, max_norm, norm_type);
}

}  // namespace millpond::kernels

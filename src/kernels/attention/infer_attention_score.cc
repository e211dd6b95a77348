// SPDX-License-Identifier: Apache-2.0
// Attention for inference: one kernel for every version of the operators.
#include "src/kernels/attention/infer_attention.h"

namespace millpond::kernels {

MP_KERNEL(InferenceAttention, const Tensor& query, TensorList key, TensorList value, const OptTensor& bias,
          const OptTensor& mask, const OptTensor& sink, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths,
          const OptTensor& block_table, const OptTensor& query_padding, const OptTensor& key_padding,
          const OptTensor& key_prefix, const OptTensor& value_prefix, OptIntArrayRef prefix_length,
          const OptTensor& query_rope, const OptTensor& key_rope, int64_t heads, int64_t key_heads, double scale,
          string_view layout, int64_t mode, int64_t before, int64_t after, int64_t block_size, int64_t pse_type,
          bool lse_wanted, Tensor& out, Tensor* lse) {
  TORCH_CHECK(!bias || pse_type == 0, "pseType is ", pse_type, "; supported is 0 (added after the scale)");
  if (!lse_wanted && lse != nullptr) lse->zero_();
  const SparseRule rule{mode, before, after};
  InferAttention(
      {query,       key,           value,       bias,       mask,         sink,          query_lengths, key_lengths,
       block_table, query_padding, key_padding, key_prefix, value_prefix, prefix_length, query_rope,    key_rope,
       heads,       key_heads,     scale,       layout,     rule,         block_size},
      out, lse_wanted ? lse : nullptr);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Training attention: one kernel forward and one backward for every version of the operators.
#include "src/kernels/attention/flash_attention.h"

namespace millpond::kernels {

MP_KERNEL(AttentionForward, const Tensor& query, const Tensor& key, const Tensor& value, const OptTensor& query_rope,
          const OptTensor& key_rope, const OptTensor& pse, const OptTensor& drop, const OptTensor& mask,
          const OptTensor& sink, OptIntArrayRef prefix, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths,
          OptIntArrayRef query_start, OptIntArrayRef key_start, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t mode, int64_t pse_type, string_view softmax_layout,
          int64_t seed, int64_t offset, Tensor& max, Tensor& sum, Tensor& out, Tensor* used_seed, Tensor* used_offset) {
  const SparseRule rule{mode, before, after};
  const FlashArguments arguments{query, key,    value,         query_rope,  key_rope,       pse,       drop,  mask,
                                 sink,  prefix, query_lengths, key_lengths, query_start,    key_start, scale, keep_prob,
                                 rule,  heads,  layout,        pse_type,    softmax_layout, seed,      offset};
  FlashAttention(arguments).Forward(max, sum, out);
  if (used_seed != nullptr) used_seed->fill_(seed);
  if (used_offset != nullptr) used_offset->fill_(offset);
}

MP_KERNEL(AttentionBackward, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& dy,
          const OptTensor& query_rope, const OptTensor& key_rope, const OptTensor& pse, const OptTensor& drop,
          const OptTensor& mask, const OptTensor& sink, const OptTensor& max, const OptTensor& sum,
          const OptTensor& out, OptIntArrayRef prefix, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths,
          OptIntArrayRef query_start, OptIntArrayRef key_start, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t mode, int64_t pse_type, string_view softmax_layout,
          int64_t seed, int64_t offset, Tensor& dquery, Tensor& dkey, Tensor& dvalue, Tensor* dquery_rope,
          Tensor* dkey_rope, Tensor* dpse, Tensor* dsink) {
  const SparseRule rule{mode, before, after};
  const FlashArguments arguments{query, key,    value,         query_rope,  key_rope,       pse,       drop,  mask,
                                 sink,  prefix, query_lengths, key_lengths, query_start,    key_start, scale, keep_prob,
                                 rule,  heads,  layout,        pse_type,    softmax_layout, seed,      offset};
  FlashAttention(arguments).Backward(dy, max, sum, out, {&dquery, &dkey, &dvalue, dpse, dquery_rope, dkey_rope, dsink});
}

}  // namespace millpond::kernels

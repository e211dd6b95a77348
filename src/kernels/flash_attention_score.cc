// SPDX-License-Identifier: Apache-2.0
// Training attention, forward: the versions of one operator, each with a few arguments more.
#include "src/kernels/flash_attention.h"

namespace millpond::kernels {
namespace {

void RefuseQuantized(const OptTensor& scale_q, const OptTensor& scale_k, const OptTensor& scale_v) {
  TORCH_CHECK(!scale_q && !scale_k && !scale_v,
              "scales of a quantised query, key or value are given; only float types are supported");
}

}  // namespace

MP_KERNEL(aclnnFlashAttentionScore, const Tensor& query, const Tensor& key, const Tensor& value, const OptTensor& pse,
          const OptTensor& drop, const OptTensor&, const OptTensor& mask, OptIntArrayRef prefix, double scale,
          double keep_prob, int64_t before, int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode,
          Tensor& max, Tensor& sum, Tensor*, Tensor& out) {
  const FlashArguments arguments{.query = query,
                                 .key = key,
                                 .value = value,
                                 .pse = pse,
                                 .drop = drop,
                                 .mask = mask,
                                 .prefix = prefix,
                                 .scale = scale,
                                 .keep_prob = keep_prob,
                                 .sparse = {mode, before, after},
                                 .heads = heads,
                                 .layout = layout};
  FlashAttention(arguments).Forward(max, sum, out);
}

MP_KERNEL(aclnnFlashAttentionScoreV2, const Tensor& query, const Tensor& key, const Tensor& value, const OptTensor& pse,
          const OptTensor& drop, const OptTensor&, const OptTensor& mask, OptIntArrayRef prefix,
          OptIntArrayRef query_start, OptIntArrayRef key_start, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode, int64_t pse_type, Tensor& max,
          Tensor& sum, Tensor*, Tensor& out) {
  const FlashArguments arguments{.query = query,
                                 .key = key,
                                 .value = value,
                                 .pse = pse,
                                 .drop = drop,
                                 .mask = mask,
                                 .prefix = prefix,
                                 .query_start = query_start,
                                 .key_start = key_start,
                                 .scale = scale,
                                 .keep_prob = keep_prob,
                                 .sparse = {mode, before, after},
                                 .heads = heads,
                                 .layout = layout,
                                 .pse_type = pse_type};
  FlashAttention(arguments).Forward(max, sum, out);
}

MP_KERNEL(aclnnFlashAttentionScoreV3, const Tensor& query, const Tensor& key, const Tensor& value, const OptTensor& pse,
          const OptTensor& drop, const OptTensor&, const OptTensor& mask, const OptTensor& sink, OptIntArrayRef prefix,
          OptIntArrayRef query_start, OptIntArrayRef key_start, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode, int64_t pse_type, Tensor& max,
          Tensor& sum, Tensor*, Tensor& out) {
  const FlashArguments arguments{.query = query,
                                 .key = key,
                                 .value = value,
                                 .pse = pse,
                                 .drop = drop,
                                 .mask = mask,
                                 .sink = sink,
                                 .prefix = prefix,
                                 .query_start = query_start,
                                 .key_start = key_start,
                                 .scale = scale,
                                 .keep_prob = keep_prob,
                                 .sparse = {mode, before, after},
                                 .heads = heads,
                                 .layout = layout,
                                 .pse_type = pse_type};
  FlashAttention(arguments).Forward(max, sum, out);
}

MP_KERNEL(aclnnFlashAttentionScoreV4, const Tensor& query, const Tensor& key, const Tensor& value, const OptTensor& pse,
          const OptTensor& drop, const OptTensor&, const OptTensor& mask, const OptTensor& query_rope,
          const OptTensor& key_rope, const OptTensor& scale_q, const OptTensor& scale_k, const OptTensor& scale_v,
          const OptTensor& sink, OptIntArrayRef prefix, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths,
          OptIntArrayRef query_start, OptIntArrayRef key_start, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode, int64_t, int64_t pse_type,
          string_view softmax_layout, int64_t seed, int64_t offset, Tensor& max, Tensor& sum, Tensor*, Tensor& out) {
  RefuseQuantized(scale_q, scale_k, scale_v);
  const FlashArguments arguments{.query = query,
                                 .key = key,
                                 .value = value,
                                 .query_rope = query_rope,
                                 .key_rope = key_rope,
                                 .pse = pse,
                                 .drop = drop,
                                 .mask = mask,
                                 .sink = sink,
                                 .prefix = prefix,
                                 .query_lengths = query_lengths,
                                 .key_lengths = key_lengths,
                                 .query_start = query_start,
                                 .key_start = key_start,
                                 .scale = scale,
                                 .keep_prob = keep_prob,
                                 .sparse = {mode, before, after},
                                 .heads = heads,
                                 .layout = layout,
                                 .pse_type = pse_type,
                                 .softmax_layout = softmax_layout,
                                 .seed = seed,
                                 .offset = offset};
  FlashAttention(arguments).Forward(max, sum, out);
}

MP_KERNEL(aclnnFlashAttentionVarLenScore, const Tensor& query, const Tensor& key, const Tensor& value,
          const OptTensor& pse, const OptTensor& drop, const OptTensor&, const OptTensor& mask, OptIntArrayRef prefix,
          OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode, Tensor& max, Tensor& sum, Tensor*,
          Tensor& out) {
  const FlashArguments arguments{.query = query,
                                 .key = key,
                                 .value = value,
                                 .pse = pse,
                                 .drop = drop,
                                 .mask = mask,
                                 .prefix = prefix,
                                 .query_lengths = query_lengths,
                                 .key_lengths = key_lengths,
                                 .scale = scale,
                                 .keep_prob = keep_prob,
                                 .sparse = {mode, before, after},
                                 .heads = heads,
                                 .layout = layout};
  FlashAttention(arguments).Forward(max, sum, out);
}

MP_KERNEL(aclnnFlashAttentionVarLenScoreV2, const Tensor& query, const Tensor& key, const Tensor& value,
          const OptTensor& pse, const OptTensor& drop, const OptTensor&, const OptTensor& mask, OptIntArrayRef prefix,
          OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, OptIntArrayRef query_start,
          OptIntArrayRef key_start, double scale, double keep_prob, int64_t before, int64_t after, int64_t heads,
          string_view layout, int64_t, int64_t mode, int64_t pse_type, Tensor& max, Tensor& sum, Tensor*, Tensor& out) {
  const FlashArguments arguments{.query = query,
                                 .key = key,
                                 .value = value,
                                 .pse = pse,
                                 .drop = drop,
                                 .mask = mask,
                                 .prefix = prefix,
                                 .query_lengths = query_lengths,
                                 .key_lengths = key_lengths,
                                 .query_start = query_start,
                                 .key_start = key_start,
                                 .scale = scale,
                                 .keep_prob = keep_prob,
                                 .sparse = {mode, before, after},
                                 .heads = heads,
                                 .layout = layout,
                                 .pse_type = pse_type};
  FlashAttention(arguments).Forward(max, sum, out);
}

MP_KERNEL(aclnnFlashAttentionVarLenScoreV3, const Tensor& query, const OptTensor& query_rope, const Tensor& key,
          const OptTensor& key_rope, const Tensor& value, const OptTensor& pse, const OptTensor& drop, const OptTensor&,
          const OptTensor& mask, OptIntArrayRef prefix, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths,
          OptIntArrayRef query_start, OptIntArrayRef key_start, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode, int64_t pse_type, Tensor& max,
          Tensor& sum, Tensor*, Tensor& out) {
  const FlashArguments arguments{.query = query,
                                 .key = key,
                                 .value = value,
                                 .query_rope = query_rope,
                                 .key_rope = key_rope,
                                 .pse = pse,
                                 .drop = drop,
                                 .mask = mask,
                                 .prefix = prefix,
                                 .query_lengths = query_lengths,
                                 .key_lengths = key_lengths,
                                 .query_start = query_start,
                                 .key_start = key_start,
                                 .scale = scale,
                                 .keep_prob = keep_prob,
                                 .sparse = {mode, before, after},
                                 .heads = heads,
                                 .layout = layout,
                                 .pse_type = pse_type};
  FlashAttention(arguments).Forward(max, sum, out);
}

MP_KERNEL(aclnnFlashAttentionVarLenScoreV4, const Tensor& query, const Tensor& key, const Tensor& value,
          const OptTensor& pse, const OptTensor& drop, const OptTensor&, const OptTensor& mask, OptIntArrayRef prefix,
          OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode, string_view softmax_layout,
          Tensor& max, Tensor& sum, Tensor*, Tensor& out) {
  const FlashArguments arguments{.query = query,
                                 .key = key,
                                 .value = value,
                                 .pse = pse,
                                 .drop = drop,
                                 .mask = mask,
                                 .prefix = prefix,
                                 .query_lengths = query_lengths,
                                 .key_lengths = key_lengths,
                                 .scale = scale,
                                 .keep_prob = keep_prob,
                                 .sparse = {mode, before, after},
                                 .heads = heads,
                                 .layout = layout,
                                 .softmax_layout = softmax_layout};
  FlashAttention(arguments).Forward(max, sum, out);
}

MP_KERNEL(aclnnFlashAttentionVarLenScoreV5, const Tensor& query, const OptTensor& query_rope, const Tensor& key,
          const OptTensor& key_rope, const Tensor& value, const OptTensor& pse, const OptTensor& drop, const OptTensor&,
          const OptTensor& mask, const OptTensor& sink, OptIntArrayRef prefix, OptIntArrayRef query_lengths,
          OptIntArrayRef key_lengths, OptIntArrayRef query_start, OptIntArrayRef key_start, double scale,
          double keep_prob, int64_t before, int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode,
          int64_t pse_type, string_view softmax_layout, Tensor& max, Tensor& sum, Tensor*, Tensor& out) {
  const FlashArguments arguments{.query = query,
                                 .key = key,
                                 .value = value,
                                 .query_rope = query_rope,
                                 .key_rope = key_rope,
                                 .pse = pse,
                                 .drop = drop,
                                 .mask = mask,
                                 .sink = sink,
                                 .prefix = prefix,
                                 .query_lengths = query_lengths,
                                 .key_lengths = key_lengths,
                                 .query_start = query_start,
                                 .key_start = key_start,
                                 .scale = scale,
                                 .keep_prob = keep_prob,
                                 .sparse = {mode, before, after},
                                 .heads = heads,
                                 .layout = layout,
                                 .pse_type = pse_type,
                                 .softmax_layout = softmax_layout};
  FlashAttention(arguments).Forward(max, sum, out);
}

}  // namespace millpond::kernels

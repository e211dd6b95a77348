// SPDX-License-Identifier: Apache-2.0
// Training attention, backward: the versions of one operator, each with a few arguments more.
#include "src/kernels/flash_attention.h"

namespace millpond::kernels {

MP_KERNEL(aclnnFlashAttentionScoreGrad, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& dy,
          const OptTensor& pse, const OptTensor& drop, const OptTensor&, const OptTensor& mask, const OptTensor& max,
          const OptTensor& sum, const OptTensor&, const OptTensor& out, OptIntArrayRef prefix, double scale,
          double keep_prob, int64_t before, int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode,
          Tensor& dquery, Tensor& dkey, Tensor& dvalue, Tensor* dpse) {
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
  FlashAttention(arguments).Backward(dy, max, sum, out, {&dquery, &dkey, &dvalue, dpse, nullptr, nullptr, nullptr});
}

MP_KERNEL(aclnnFlashAttentionScoreGradV2, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& dy,
          const OptTensor& pse, const OptTensor& drop, const OptTensor&, const OptTensor& mask, const OptTensor& max,
          const OptTensor& sum, const OptTensor&, const OptTensor& out, OptIntArrayRef prefix,
          OptIntArrayRef query_start, OptIntArrayRef key_start, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode, int64_t pse_type, Tensor& dquery,
          Tensor& dkey, Tensor& dvalue, Tensor* dpse) {
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
  FlashAttention(arguments).Backward(dy, max, sum, out, {&dquery, &dkey, &dvalue, dpse, nullptr, nullptr, nullptr});
}

MP_KERNEL(aclnnFlashAttentionScoreGradV3, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& dy,
          const OptTensor& pse, const OptTensor& drop, const OptTensor&, const OptTensor& mask, const OptTensor& max,
          const OptTensor& sum, const OptTensor&, const OptTensor& out, const OptTensor& sink, OptIntArrayRef prefix,
          OptIntArrayRef query_start, OptIntArrayRef key_start, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode, int64_t pse_type, Tensor& dquery,
          Tensor& dkey, Tensor& dvalue, Tensor* dpse, Tensor* dsink) {
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
  FlashAttention(arguments).Backward(dy, max, sum, out, {&dquery, &dkey, &dvalue, dpse, nullptr, nullptr, dsink});
}

MP_KERNEL(aclnnFlashAttentionScoreGradV4, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& dy,
          const OptTensor& pse, const OptTensor& drop, const OptTensor&, const OptTensor& mask, const OptTensor& max,
          const OptTensor& sum, const OptTensor&, const OptTensor& out, const OptTensor& sink,
          const OptTensor& query_rope, const OptTensor& key_rope, const OptTensor& scale_q, const OptTensor& scale_k,
          const OptTensor& scale_v, const OptTensor& scale_dy, const OptTensor& scale_o, OptIntArrayRef prefix,
          OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, OptIntArrayRef query_start,
          OptIntArrayRef key_start, double scale, double keep_prob, int64_t before, int64_t after, int64_t heads,
          string_view layout, string_view softmax_layout, int64_t, int64_t mode, int64_t pse_type, int64_t seed,
          int64_t offset, int64_t, Tensor& dquery, Tensor& dkey, Tensor& dvalue, Tensor* dquery_rope, Tensor* dkey_rope,
          Tensor* dpse, Tensor* dsink) {
  TORCH_CHECK(!scale_q && !scale_k && !scale_v && !scale_dy && !scale_o,
              "scales of quantised tensors are given; only float types are supported");
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
  FlashAttention(arguments).Backward(dy, max, sum, out, {&dquery, &dkey, &dvalue, dpse, dquery_rope, dkey_rope, dsink});
}

MP_KERNEL(aclnnFlashAttentionUnpaddingScoreGrad, const Tensor& query, const Tensor& key, const Tensor& value,
          const Tensor& dy, const OptTensor& pse, const OptTensor& drop, const OptTensor&, const OptTensor& mask,
          const OptTensor& max, const OptTensor& sum, const OptTensor&, const OptTensor& out, OptIntArrayRef prefix,
          OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode, Tensor& dquery, Tensor& dkey,
          Tensor& dvalue, Tensor* dpse) {
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
  FlashAttention(arguments).Backward(dy, max, sum, out, {&dquery, &dkey, &dvalue, dpse, nullptr, nullptr, nullptr});
}

MP_KERNEL(aclnnFlashAttentionUnpaddingScoreGradV2, const Tensor& query, const Tensor& key, const Tensor& value,
          const Tensor& dy, const OptTensor& pse, const OptTensor& drop, const OptTensor&, const OptTensor& mask,
          const OptTensor& max, const OptTensor& sum, const OptTensor&, const OptTensor& out, OptIntArrayRef prefix,
          OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, OptIntArrayRef query_start,
          OptIntArrayRef key_start, double scale, double keep_prob, int64_t before, int64_t after, int64_t heads,
          string_view layout, int64_t, int64_t mode, int64_t pse_type, Tensor& dquery, Tensor& dkey, Tensor& dvalue,
          Tensor* dpse) {
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
  FlashAttention(arguments).Backward(dy, max, sum, out, {&dquery, &dkey, &dvalue, dpse, nullptr, nullptr, nullptr});
}

MP_KERNEL(aclnnFlashAttentionUnpaddingScoreGradV3, const Tensor& query, const OptTensor& query_rope, const Tensor& key,
          const OptTensor& key_rope, const Tensor& value, const Tensor& dy, const OptTensor& pse, const OptTensor& drop,
          const OptTensor&, const OptTensor& mask, const OptTensor& max, const OptTensor& sum, const OptTensor&,
          const OptTensor& out, OptIntArrayRef prefix, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths,
          OptIntArrayRef query_start, OptIntArrayRef key_start, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode, int64_t pse_type, Tensor& dquery,
          Tensor* dquery_rope, Tensor& dkey, Tensor* dkey_rope, Tensor& dvalue, Tensor* dpse) {
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
  FlashAttention(arguments).Backward(dy, max, sum, out,
                                     {&dquery, &dkey, &dvalue, dpse, dquery_rope, dkey_rope, nullptr});
}

MP_KERNEL(aclnnFlashAttentionUnpaddingScoreGradV4, const Tensor& query, const Tensor& key, const Tensor& value,
          const Tensor& dy, const OptTensor& pse, const OptTensor& drop, const OptTensor&, const OptTensor& mask,
          const OptTensor& max, const OptTensor& sum, const OptTensor&, const OptTensor& out, OptIntArrayRef prefix,
          OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, double scale, double keep_prob, int64_t before,
          int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode, Tensor& dquery, Tensor& dkey,
          Tensor& dvalue, Tensor* dpse, string_view softmax_layout) {
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
  FlashAttention(arguments).Backward(dy, max, sum, out, {&dquery, &dkey, &dvalue, dpse, nullptr, nullptr, nullptr});
}

MP_KERNEL(aclnnFlashAttentionUnpaddingScoreGradV5, const Tensor& query, const OptTensor& query_rope, const Tensor& key,
          const OptTensor& key_rope, const Tensor& value, const Tensor& dy, const OptTensor& pse, const OptTensor& drop,
          const OptTensor&, const OptTensor& mask, const OptTensor& max, const OptTensor& sum, const OptTensor&,
          const OptTensor& out, const OptTensor& sink, OptIntArrayRef prefix, OptIntArrayRef query_lengths,
          OptIntArrayRef key_lengths, OptIntArrayRef query_start, OptIntArrayRef key_start, double scale,
          double keep_prob, int64_t before, int64_t after, int64_t heads, string_view layout, int64_t, int64_t mode,
          int64_t pse_type, string_view softmax_layout, Tensor& dquery, Tensor* dquery_rope, Tensor& dkey,
          Tensor* dkey_rope, Tensor& dvalue, Tensor* dpse, Tensor* dsink) {
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
  FlashAttention(arguments).Backward(dy, max, sum, out, {&dquery, &dkey, &dvalue, dpse, dquery_rope, dkey_rope, dsink});
}

}  // namespace millpond::kernels

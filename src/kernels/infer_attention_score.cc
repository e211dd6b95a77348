// SPDX-License-Identifier: Apache-2.0
// Attention for inference: the operators and their versions.
#include <array>

#include "src/kernels/infer_attention.h"

namespace millpond::kernels {
namespace {

// Scales and offsets of quantised tensors: none may be given.
template <class... Scales>
void RefuseQuantized(const Scales&... scales) {
  TORCH_CHECK(!(... || scales.has_value()),
              "a scale or offset of a quantised tensor is given; only attention in float types is supported");
}

void NoLse(Tensor* lse) {
  if (lse != nullptr) lse->zero_();
}

}  // namespace

MP_KERNEL(aclnnFusedInferAttentionScoreV2, const Tensor& query, TensorList key, TensorList value, const OptTensor& bias,
          const OptTensor& mask, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, const OptTensor& deq1,
          const OptTensor& quant1, const OptTensor& deq2, const OptTensor& quant2, const OptTensor& quant_offset2,
          const OptTensor& antiquant_scale, const OptTensor& antiquant_offset, const OptTensor& block_table,
          const OptTensor& query_padding, const OptTensor& key_padding, const OptTensor& key_scale,
          const OptTensor& key_offset, const OptTensor& value_scale, const OptTensor& value_offset,
          const OptTensor& key_prefix, const OptTensor& value_prefix, OptIntArrayRef prefix_length, int64_t heads,
          double scale, int64_t before, int64_t after, string_view layout, int64_t key_heads, int64_t mode, int64_t,
          int64_t block_size, int64_t, bool lse_wanted, int64_t, int64_t, Tensor& out, Tensor* lse) {
  RefuseQuantized(deq1, quant1, deq2, quant2, quant_offset2, antiquant_scale, antiquant_offset, key_scale, key_offset,
                  value_scale, value_offset);
  if (!lse_wanted) NoLse(lse);
  InferAttention({.query = query,
                  .key = key,
                  .value = value,
                  .bias = bias,
                  .mask = mask,
                  .query_lengths = query_lengths,
                  .key_lengths = key_lengths,
                  .block_table = block_table,
                  .query_padding = query_padding,
                  .key_padding = key_padding,
                  .key_prefix = key_prefix,
                  .value_prefix = value_prefix,
                  .prefix_length = prefix_length,
                  .heads = heads,
                  .key_heads = key_heads,
                  .scale = scale,
                  .layout = layout,
                  .sparse = {mode, before, after},
                  .block_size = block_size},
                 out, lse_wanted ? lse : nullptr);
}

MP_KERNEL(aclnnFusedInferAttentionScoreV3, const Tensor& query, TensorList key, TensorList value, const OptTensor& bias,
          const OptTensor& mask, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, const OptTensor& deq1,
          const OptTensor& quant1, const OptTensor& deq2, const OptTensor& quant2, const OptTensor& quant_offset2,
          const OptTensor& antiquant_scale, const OptTensor& antiquant_offset, const OptTensor& block_table,
          const OptTensor& query_padding, const OptTensor& key_padding, const OptTensor& key_scale,
          const OptTensor& key_offset, const OptTensor& value_scale, const OptTensor& value_offset,
          const OptTensor& key_prefix, const OptTensor& value_prefix, OptIntArrayRef prefix_length,
          const OptTensor& query_rope, const OptTensor& key_rope, const OptTensor& key_rope_scale, int64_t heads,
          double scale, int64_t before, int64_t after, string_view layout, int64_t key_heads, int64_t mode, int64_t,
          int64_t block_size, int64_t, bool lse_wanted, int64_t, int64_t, Tensor& out, Tensor* lse) {
  RefuseQuantized(deq1, quant1, deq2, quant2, quant_offset2, antiquant_scale, antiquant_offset, key_scale, key_offset,
                  value_scale, value_offset, key_rope_scale);
  if (!lse_wanted) NoLse(lse);
  InferAttention({.query = query,
                  .key = key,
                  .value = value,
                  .bias = bias,
                  .mask = mask,
                  .query_lengths = query_lengths,
                  .key_lengths = key_lengths,
                  .block_table = block_table,
                  .query_padding = query_padding,
                  .key_padding = key_padding,
                  .key_prefix = key_prefix,
                  .value_prefix = value_prefix,
                  .prefix_length = prefix_length,
                  .query_rope = query_rope,
                  .key_rope = key_rope,
                  .heads = heads,
                  .key_heads = key_heads,
                  .scale = scale,
                  .layout = layout,
                  .sparse = {mode, before, after},
                  .block_size = block_size},
                 out, lse_wanted ? lse : nullptr);
}

MP_KERNEL(aclnnFusedInferAttentionScoreV4, const Tensor& query, TensorList key, TensorList value, const OptTensor& bias,
          const OptTensor& mask, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, const OptTensor& deq1,
          const OptTensor& quant1, const OptTensor& deq2, const OptTensor& quant2, const OptTensor& quant_offset2,
          const OptTensor& antiquant_scale, const OptTensor& antiquant_offset, const OptTensor& block_table,
          const OptTensor& query_padding, const OptTensor& key_padding, const OptTensor& key_scale,
          const OptTensor& key_offset, const OptTensor& value_scale, const OptTensor& value_offset,
          const OptTensor& key_prefix, const OptTensor& value_prefix, OptIntArrayRef prefix_length,
          const OptTensor& query_rope, const OptTensor& key_rope, const OptTensor& key_rope_scale,
          const OptTensor& query_scale, const OptTensor& sink, int64_t heads, double scale, int64_t before,
          int64_t after, string_view layout, int64_t key_heads, int64_t mode, int64_t, int64_t block_size, int64_t,
          bool lse_wanted, int64_t, int64_t, int64_t, Tensor& out, Tensor* lse) {
  RefuseQuantized(deq1, quant1, deq2, quant2, quant_offset2, antiquant_scale, antiquant_offset, key_scale, key_offset,
                  value_scale, value_offset, key_rope_scale, query_scale);
  if (!lse_wanted) NoLse(lse);
  InferAttention({.query = query,
                  .key = key,
                  .value = value,
                  .bias = bias,
                  .mask = mask,
                  .sink = sink,
                  .query_lengths = query_lengths,
                  .key_lengths = key_lengths,
                  .block_table = block_table,
                  .query_padding = query_padding,
                  .key_padding = key_padding,
                  .key_prefix = key_prefix,
                  .value_prefix = value_prefix,
                  .prefix_length = prefix_length,
                  .query_rope = query_rope,
                  .key_rope = key_rope,
                  .heads = heads,
                  .key_heads = key_heads,
                  .scale = scale,
                  .layout = layout,
                  .sparse = {mode, before, after},
                  .block_size = block_size},
                 out, lse_wanted ? lse : nullptr);
}

MP_KERNEL(aclnnFusedInferAttentionScoreV5, const Tensor& query, TensorList key, TensorList value, const OptTensor& bias,
          const OptTensor& mask, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, const OptTensor& deq1,
          const OptTensor& quant1, const OptTensor& deq2, const OptTensor& quant2, const OptTensor& quant_offset2,
          const OptTensor& antiquant_scale, const OptTensor& antiquant_offset, const OptTensor& block_table,
          const OptTensor& query_padding, const OptTensor& key_padding, const OptTensor& key_scale,
          const OptTensor& key_offset, const OptTensor& value_scale, const OptTensor& value_offset,
          const OptTensor& key_prefix, const OptTensor& value_prefix, OptIntArrayRef prefix_length,
          const OptTensor& query_rope, const OptTensor& key_rope, const OptTensor& key_rope_scale,
          const OptTensor& query_scale, const OptTensor& sink, OptIntArrayRef, OptIntArrayRef, int64_t heads,
          double scale, int64_t before, int64_t after, string_view layout, int64_t key_heads, int64_t mode, int64_t,
          int64_t block_size, int64_t, bool lse_wanted, int64_t, int64_t, int64_t, int64_t pse_type, Tensor& out,
          Tensor* lse) {
  RefuseQuantized(deq1, quant1, deq2, quant2, quant_offset2, antiquant_scale, antiquant_offset, key_scale, key_offset,
                  value_scale, value_offset, key_rope_scale, query_scale);
  TORCH_CHECK(!bias || pse_type == 0, "pseType is ", pse_type, "; supported is 0 (added after the scale)");
  if (!lse_wanted) NoLse(lse);
  InferAttention({.query = query,
                  .key = key,
                  .value = value,
                  .bias = bias,
                  .mask = mask,
                  .sink = sink,
                  .query_lengths = query_lengths,
                  .key_lengths = key_lengths,
                  .block_table = block_table,
                  .query_padding = query_padding,
                  .key_padding = key_padding,
                  .key_prefix = key_prefix,
                  .value_prefix = value_prefix,
                  .prefix_length = prefix_length,
                  .query_rope = query_rope,
                  .key_rope = key_rope,
                  .heads = heads,
                  .key_heads = key_heads,
                  .scale = scale,
                  .layout = layout,
                  .sparse = {mode, before, after},
                  .block_size = block_size},
                 out, lse_wanted ? lse : nullptr);
}

MP_KERNEL(aclnnPromptFlashAttentionV3, const Tensor& query, const Tensor& key, const Tensor& value,
          const OptTensor& bias, const OptTensor& mask, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths,
          const OptTensor& deq1, const OptTensor& quant1, const OptTensor& deq2, const OptTensor& quant2,
          const OptTensor& quant_offset2, int64_t heads, double scale, int64_t before, int64_t after,
          string_view layout, int64_t key_heads, int64_t mode, int64_t, Tensor& out) {
  RefuseQuantized(deq1, quant1, deq2, quant2, quant_offset2);
  InferAttention({.query = query,
                  .key = key,
                  .value = value,
                  .bias = bias,
                  .mask = mask,
                  .query_lengths = query_lengths,
                  .key_lengths = key_lengths,
                  .heads = heads,
                  .key_heads = key_heads,
                  .scale = scale,
                  .layout = layout,
                  .sparse = {mode, before, after}},
                 out, nullptr);
}

MP_KERNEL(aclnnIncreFlashAttentionV4, const Tensor& query, TensorList key, TensorList value, const OptTensor& bias,
          const OptTensor& mask, OptIntArrayRef key_lengths, const OptTensor& deq1, const OptTensor& quant1,
          const OptTensor& deq2, const OptTensor& quant2, const OptTensor& quant_offset2,
          const OptTensor& antiquant_scale, const OptTensor& antiquant_offset, const OptTensor& block_table,
          const OptTensor& key_padding, int64_t heads, double scale, string_view layout, int64_t key_heads,
          int64_t block_size, int64_t, Tensor& out) {
  RefuseQuantized(deq1, quant1, deq2, quant2, quant_offset2, antiquant_scale, antiquant_offset);
  InferAttention({.query = query,
                  .key = key,
                  .value = value,
                  .bias = bias,
                  .mask = mask,
                  .key_lengths = key_lengths,
                  .block_table = block_table,
                  .key_padding = key_padding,
                  .heads = heads,
                  .key_heads = key_heads,
                  .scale = scale,
                  .layout = layout,
                  .sparse = {1, 0, 0},
                  .block_size = block_size},
                 out, nullptr);
}

}  // namespace millpond::kernels

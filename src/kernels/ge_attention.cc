// SPDX-License-Identifier: Apache-2.0
// torch_npu's own attention as an operator of graphs: the training attention, with the seed of the dropout among its
// results.
#include "src/kernels/flash_attention.h"
#include "src/kernels/outputs.h"

namespace millpond::kernels {
namespace {

// An empty list stands for none: an attribute that is not given.
OptIntArrayRef Given(OptIntArrayRef list) { return list && !list->empty() ? list : OptIntArrayRef(); }

void RefuseDropout(double keep_prob) {
  TORCH_CHECK(keep_prob == 1.0, "keep_prob is ", keep_prob,
              "; attention with dropout is not supported in graphs, set the dropout to 0 or run it eagerly");
}

}  // namespace

MP_KERNEL(NpuFusionAttention, const Tensor& query, const Tensor& key, const Tensor& value, const OptTensor& pse,
          const OptTensor& mask, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, const OptTensor& sink,
          int64_t heads, string_view layout, double scale, double keep_prob, int64_t before, int64_t after,
          OptIntArrayRef prefix, int64_t mode, string_view softmax_layout, Tensor& out, Tensor& max, Tensor& sum,
          Tensor&, Tensor& seed, Tensor& offset) {
  RefuseDropout(keep_prob);
  const FlashArguments arguments{.query = query,
                                 .key = key,
                                 .value = value,
                                 .pse = pse,
                                 .mask = mask,
                                 .sink = sink,
                                 .prefix = Given(prefix),
                                 .query_lengths = Given(query_lengths),
                                 .key_lengths = Given(key_lengths),
                                 .scale = scale,
                                 .sparse = {mode, before, after},
                                 .heads = heads,
                                 .layout = layout,
                                 .softmax_layout = softmax_layout};
  FlashAttention(arguments).Forward(max, sum, out);
  seed.zero_();
  offset.zero_();
}

MP_KERNEL(NpuFusionAttentionGrad, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& dy,
          const OptTensor& pse, const OptTensor& mask, const OptTensor& max, const OptTensor& sum, const OptTensor& out,
          const OptTensor&, const OptTensor&, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, int64_t heads,
          string_view layout, double scale, double keep_prob, int64_t before, int64_t after, OptIntArrayRef prefix,
          int64_t mode, string_view softmax_layout, Tensor& dquery, Tensor& dkey, Tensor& dvalue, Tensor&,
          Tensor& dsink) {
  RefuseDropout(keep_prob);
  const FlashArguments arguments{.query = query,
                                 .key = key,
                                 .value = value,
                                 .pse = pse,
                                 .mask = mask,
                                 .prefix = Given(prefix),
                                 .query_lengths = Given(query_lengths),
                                 .key_lengths = Given(key_lengths),
                                 .scale = scale,
                                 .sparse = {mode, before, after},
                                 .heads = heads,
                                 .layout = layout,
                                 .softmax_layout = softmax_layout};
  FlashAttention(arguments).Backward(dy, max, sum, out, {&dquery, &dkey, &dvalue, nullptr, nullptr, nullptr, nullptr});
  dsink.zero_();
}

}  // namespace millpond::kernels

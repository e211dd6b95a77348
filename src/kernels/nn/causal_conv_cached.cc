// SPDX-License-Identifier: Apache-2.0
// A causal convolution that goes on from cached tokens: each sequence is preceded by the last tokens of its cache,
// which then moves on. Sequences are packed [tokens, dim] or stand by batch [batch, tokens, dim].
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

struct CachedConv {
  const Tensor& weight;  // [K, dim]
  Tensor& states;        // [lines, C, dim]
  const OptTensor& starts;
  const OptTensor& lines;
  const OptTensor& accepted;  // of the tokens a speculative step left in the cache
  const OptTensor& computed;
  int64_t skip;
  bool residual;
  bool reset;  // the outputs that would look before a sequence's first token are 0
};

int64_t At(const OptTensor& list, int64_t i) { return Long(*list).reshape({-1})[i].item<int64_t>(); }

// Writes to `y`, which may be `x`.
void Run(const CachedConv& conv, const Tensor& x, Tensor& y) {
  const int64_t taps = conv.weight.size(0);
  const int64_t room = conv.states.size(1);
  TORCH_CHECK(conv.weight.dim() == 2 && conv.states.dim() == 3 && room >= taps - 1, "weight ", conv.weight.sizes(),
              " and conv_states ", conv.states.sizes(), " must be [K, dim] and [lines, at least K - 1, dim]");
  TORCH_CHECK(!conv.lines || conv.lines->dim() == 1, "cache_indices has shape ", conv.lines->sizes(),
              "; cached prefixes (two dimensions) are not supported");
  TORCH_CHECK(x.dim() == 3 || (x.dim() == 2 && conv.starts), "x has shape ", x.sizes(),
              "; it must be [batch, tokens, dim], or [tokens, dim] with query_start_loc");
  const bool packed = x.dim() == 2;
  const int64_t batches = packed ? conv.starts->numel() - 1 : x.size(0);
  const Tensor weight = conv.weight.to(at::kFloat);
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int64_t line = conv.lines ? At(conv.lines, batch) : batch;
    if (conv.lines && line == conv.skip) continue;
    TORCH_CHECK(line >= 0 && line < conv.states.size(0), "line ", line, " is outside the cache of ",
                conv.states.size(0));
    const auto part = [&](const Tensor& t) {
      if (!packed) return t[batch];
      const int64_t start = At(conv.starts, batch);
      return t.narrow(0, start, At(conv.starts, batch + 1) - start);
    };
    const Tensor tokens = part(x).to(at::kFloat);
    const int64_t length = tokens.size(0);
    const bool fresh = conv.computed && At(conv.computed, batch) == 0;
    Tensor state = conv.states[line];
    int64_t offset = room - (taps - 1);
    if (fresh) offset = 0;
    if (!fresh && conv.accepted) offset = At(conv.accepted, batch) - 1;
    TORCH_CHECK(offset >= 0 && offset + taps - 1 <= room, "sequence ", batch, " accepted ", offset + 1,
                " tokens, the cache holds ", room);
    const Tensor before = fresh ? at::zeros({taps - 1, tokens.size(1)}, at::kFloat)
                                : state.narrow(0, 0, offset + taps - 1).to(at::kFloat);
    const Tensor all = at::cat({before, tokens});
    Tensor result = at::zeros_like(tokens);
    for (int64_t k = 0; k < taps; ++k) result.add_(all.narrow(0, offset + k, length) * weight[k]);
    if (conv.reset && conv.computed) {
      const int64_t first = std::min(std::max<int64_t>(taps - 1 - At(conv.computed, batch), 0), length);
      result.narrow(0, 0, first).zero_();
    }
    if (conv.residual) result.add_(tokens);
    const int64_t moved = std::min(room, all.size(0));
    state.narrow(0, room - moved, moved).copy_(all.narrow(0, all.size(0) - moved, moved));
    part(y).copy_(result);
  }
}

void RefuseUnsupported(const OptTensor& initial_mode, const OptTensor& bias, const OptTensor& first,
                       const OptTensor& last, const OptTensor& initial, int64_t activation) {
  TORCH_CHECK(!initial_mode && !bias && activation == 0,
              "initial_state_mode, bias and activation are not supported, as on the device");
  TORCH_CHECK(!first && !last && !initial, "cached prefixes (block_idx_..., initial_state_idx) are not supported");
}

}  // namespace

MP_KERNEL(aclnnFusedCausalConv1d, const Tensor& x, const Tensor& weight, Tensor& states, const OptTensor& starts,
          const OptTensor& lines, const OptTensor& initial_mode, const OptTensor& bias, const OptTensor& accepted,
          const OptTensor& computed, const OptTensor& first, const OptTensor& last, const OptTensor& initial,
          int64_t activation, int64_t skip, int64_t residual, int64_t mode, Tensor& y) {
  RefuseUnsupported(initial_mode, bias, first, last, initial, activation);
  TORCH_CHECK((mode == 0 || (mode == 1 && computed.has_value())) && (residual == 0 || residual == 1), "convMode is ",
              mode, " and residualConnection ", residual, "; they are 0 or 1, and convMode 1 needs numComputedTokens");
  if (!y.is_same(x)) y.zero_();  // sequences that are skipped; in place they stay
  Run({weight, states, starts, lines, accepted, computed, skip, residual != 0, mode == 1}, x, y);
}

}  // namespace millpond::kernels

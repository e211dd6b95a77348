// SPDX-License-Identifier: Apache-2.0
// Gradients of a mixture of experts' routing, and speculative steps of serving engines.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

// A place of -1 was dropped; with fewer active rows than places, those behind are too.
MP_WIDE_KERNEL(aclnnMoeInitRoutingV2Grad, const Tensor& grad, const Tensor& places, int64_t k, int64_t drop_pad,
               int64_t active, Tensor& out) {
  TORCH_CHECK(k > 0 && places.numel() % k == 0, "there are ", places.numel(), " places for a topK of ", k);
  TORCH_CHECK(drop_pad == 0 || drop_pad == 1, "dropPadMode is ", drop_pad, "; it must be 0 or 1");
  TORCH_CHECK(drop_pad == 1 || active == 0 || active == grad.size(0), "activeNum is ", active, ", gradExpandedX has ",
              grad.size(0), " rows");
  const Tensor rows = grad.reshape({-1, grad.size(-1)});
  const Tensor index = Long(places).reshape({-1});
  const Tensor kept = index.ge(0).logical_and_(index.lt(rows.size(0)));
  const Tensor picked = rows.index_select(0, index.clamp(0, std::max<int64_t>(rows.size(0) - 1, 0)));
  Write(out, picked.mul_(kept.unsqueeze(1)).view({-1, k, rows.size(1)}).sum(1));
}
MP_WIDE_KERNEL(aclnnMoeFinalizeRoutingV2Grad, const Tensor& grad, const Tensor& places, const OptTensor& expanded,
               const OptTensor& scales, const OptTensor& experts, const OptTensor& bias, int64_t drop_pad,
               Tensor& grad_x, Tensor* grad_scales) {
  TORCH_CHECK(drop_pad == 0 || drop_pad == 1, "dropPadMode is ", drop_pad, "; it must be 0 or 1");
  const int64_t k = scales ? scales->size(1) : 1;
  TORCH_CHECK(places.numel() == grad.size(0) * k, "there are ", places.numel(), " places for ", grad.size(0),
              " tokens and ", k, " experts each");
  const Tensor index = Long(places).reshape({-1});
  const Tensor each = grad.repeat_interleave(k, 0);
  Tensor rows = grad_x.view({-1, grad.size(1)});
  const Tensor kept = index.ge(0).logical_and_(index.lt(rows.size(0)));
  const Tensor safe = index.clamp(0, rows.size(0) - 1);
  const Tensor value = (scales ? each * scales->reshape({-1, 1}) : each) * kept.unsqueeze(1);
  rows.zero_();
  rows.index_add_(0, safe, value);
  if (!scales || grad_scales == nullptr) return;
  TORCH_CHECK(expanded.has_value() && (!bias || experts), "scales need expandedX, and bias needs expertIdx");
  Tensor seen = expanded->reshape({-1, grad.size(1)}).index_select(0, safe) * kept.unsqueeze(1);
  if (bias) seen = seen + bias->index_select(0, Long(*experts).reshape({-1}));
  WriteElements(*grad_scales, (seen * each).sum(-1));
}

// Each request goes on behind the tokens that were accepted: the last sampled one first, then those guessed.
MP_KERNEL(aclnnAdvanceStepV2, Tensor& tokens, const Tensor& sampled, Tensor& positions, Tensor& lengths, Tensor& slots,
          const Tensor& tables, const Tensor& guesses, const Tensor& accepted, int64_t requests, int64_t block) {
  const int64_t each = 1 + guesses.size(1);
  TORCH_CHECK(block > 0 && requests > 0 && sampled.size(0) == requests && positions.numel() == requests * each,
              requests, " requests with ", each, " tokens each, ", positions.numel(), " positions and blocks of ",
              block, " do not go together");
  const Tensor next = Long(positions).reshape({requests, each}) + Long(accepted).reshape({-1, 1}) + 1;
  const Tensor taken = Long(sampled);
  // What was not sampled is negative; the last before that is the newest token.
  const Tensor count = taken.ge(0).to(at::kLong).cumprod(1).sum(1, /*keepdim=*/true).sub_(1).clamp_min_(0);
  const Tensor newest = taken.gather(1, count);
  WriteElements(tokens, at::cat({newest, Long(guesses)}, 1));
  const Tensor page = Long(tables).narrow(0, 0, requests).gather(1, next.div(block, "floor"));
  WriteElements(slots, page * block + next.remainder(block));
  WriteElements(lengths, next + 1);
  WriteElements(positions, next);
}

}  // namespace millpond::kernels

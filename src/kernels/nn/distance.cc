// SPDX-License-Identifier: Apache-2.0
// Distances between rows, and the connectionist temporal classification loss. The CPU has no half kernels for these.
#include <cmath>
#include <limits>
#include <utility>

#include "src/kernels/runtime/meant.h"
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {
namespace {

// (T, C) is a batch of one.
Tensor Batched(const Tensor& log_probs) {
  const Tensor wide = Widened(log_probs);
  return wide.dim() == 2 ? wide.unsqueeze(1) : wide;
}

// The losses that the paths' sums at their ends say, infinite ones too, where the forward has put zeros for those.
Tensor LossOfPaths(const Tensor& alpha, IntArrayRef input_lengths, IntArrayRef target_lengths) {
  Tensor loss = at::empty({alpha.size(0)}, alpha.options());
  for (int64_t n = 0; n < alpha.size(0); ++n) {
    const int64_t last = 2 * target_lengths[n];
    const Tensor end =
        alpha.select(0, n).select(0, input_lengths[n] - 1).narrow(0, std::max<int64_t>(last - 1, 0), last == 0 ? 1 : 2);
    loss[n].copy_(end.logsumexp(0).neg());
  }
  return loss;
}

int64_t PathLength(IntArrayRef target_lengths) {
  int64_t longest = 0;
  for (const int64_t length : target_lengths) longest = std::max(longest, length);
  return 2 * longest + 1;
}

// An infinite norm comes as -1.
double NormOf(double p) { return p == -1 ? std::numeric_limits<double>::infinity() : MeantByFloat(p); }

// d distance / d difference, elementwise, for distances of that norm.
Tensor Slope(const Tensor& difference, const Tensor& distance, double norm) {
  if (norm == 0) return at::zeros_like(difference);  // a count, which does not change
  if (norm == 1) return difference.sign();
  if (std::isinf(norm)) return difference.sign().mul(difference.abs().eq(distance));
  const Tensor slope = difference.sign().mul(difference.abs().div(distance).pow(norm - 1));
  return slope.masked_fill(distance.eq(0).logical_or(difference.eq(0)), 0);
}

}  // namespace

MP_WIDE_KERNEL(aclnnCdist, const Tensor& x1, const Tensor& x2, double p, Tensor& out) {
  // 0 and 1 would let ATen compute squares by a product of matrices, whose differences cancel.
  constexpr int64_t kWithoutProduct = 2;
  Write(out, at::_cdist_forward(Widened(x1), Widened(x2), MeantByFloat(p), kWithoutProduct));
}
MP_WIDE_KERNEL(aclnnCdistBackward, const Tensor& grad, const Tensor& x1, const Tensor& x2, const Tensor& cdist,
               double p, Tensor& out) {
  CheckSameShape("grad", grad, "cdist", cdist);
  TORCH_CHECK(cdist.dim() >= 2 && x1.dim() >= 2 && x2.dim() >= 2 && cdist.size(-2) == x1.size(-2) &&
                  cdist.size(-1) == x2.size(-2),
              "cdist has shape ", cdist.sizes(), "; x1 has ", x1.sizes(), " and x2 ", x2.sizes());
  Write(out, at::_cdist_backward(Widened(grad), Widened(x1), Widened(x2), NormOf(p), Widened(cdist)));
}
// The older operator: all inputs broadcast over [..., rows of x1, rows of x2, columns], the gradient summed over x2's.
MP_WIDE_KERNEL(CdistGrad, const Tensor& grad, const Tensor& x1, const Tensor& x2, const Tensor& cdist, double p,
               Tensor& y) {
  const Tensor slope = Slope(Widened(x1).sub(Widened(x2)), Widened(cdist), NormOf(p));
  Write(y, slope.mul(Widened(grad)).sum(-2));
}

MP_WIDE_KERNEL(aclnnPdist, const Tensor& self, double p, Tensor& out) {
  TORCH_CHECK(p >= 0, "p is ", p, "; it must be in [0, inf]");
  Write(out, at::_pdist_forward(Widened(self).contiguous(), MeantByFloat(p)));
}

// ATen reads the targets as if they were contiguous.
MP_KERNEL(aclnnCtcLoss, const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
          IntArrayRef target_lengths, int64_t blank, bool zero_infinity, Tensor& loss_out, Tensor& alpha_out) {
  CheckPlaces("targets", targets, log_probs.size(-1));
  const auto [loss, alpha] =
      at::_ctc_loss(Batched(log_probs), targets.contiguous(), input_lengths, target_lengths, blank, zero_infinity);
  const Tensor told = zero_infinity ? loss.masked_fill(loss.isinf(), 0) : loss;
  Write(loss_out, log_probs.dim() == 2 ? told.squeeze(0) : told);
  // Callers round the last dimension up.
  const int64_t length = alpha.size(-1);
  TORCH_CHECK(alpha_out.dim() == 3 && alpha_out.size(-1) >= length, "logAlphaOut has shape ", alpha_out.sizes(),
              "; it needs ", alpha.sizes());
  Tensor used = alpha_out.narrow(-1, 0, length);
  Write(used, alpha);
  alpha_out.narrow(-1, length, alpha_out.size(-1) - length).zero_();
}
MP_KERNEL(aclnnCtcLossBackward, const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
          IntArrayRef input_lengths, IntArrayRef target_lengths, const Tensor& loss, const Tensor& alpha, int64_t blank,
          bool zero_infinity, Tensor& out) {
  CheckPlaces("targets", targets, log_probs.size(-1));
  const Tensor probs = Batched(log_probs);
  const Tensor paths = Widened(alpha.narrow(-1, 0, PathLength(target_lengths)));
  TORCH_CHECK(std::cmp_equal(input_lengths.size(), probs.size(1)) && input_lengths.size() == target_lengths.size() &&
                  grad.numel() == probs.size(1) && loss.numel() == probs.size(1) && paths.dim() == 3 &&
                  paths.size(0) == probs.size(1) && paths.size(1) == probs.size(0),
              "logProbs has shape ", log_probs.sizes(), ", logAlpha ", alpha.sizes(), ", and there are ",
              input_lengths.size(), " and ", target_lengths.size(), " lengths; they do not go together");
  for (const int64_t length : input_lengths) {
    TORCH_CHECK(length > 0 && length <= probs.size(0), "an input length is ", length, "; it must be in [1, ",
                probs.size(0), "]");
  }
  const int64_t labels = targets.dim() == 1 ? c10::sum_integers(target_lengths)
                                            : *std::max_element(target_lengths.begin(), target_lengths.end());
  TORCH_CHECK(targets.dim() == 1 || (targets.dim() == 2 && targets.size(0) == probs.size(1)), "targets have shape ",
              targets.sizes(), " for ", probs.size(1), " sequences");
  TORCH_CHECK(labels <= targets.size(-1), "the target lengths need ", labels, " labels, targets have ",
              targets.size(-1));
  const Tensor known = zero_infinity ? LossOfPaths(paths, input_lengths, target_lengths) : Widened(loss).reshape({-1});
  WriteElements(out, at::_ctc_loss_backward(Widened(grad).reshape({-1}), probs, targets.contiguous(), input_lengths,
                                            target_lengths, known, paths, blank, zero_infinity));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Distances between rows, and the connectionist temporal classification loss. The CPU has no half kernels for these.
#include <cmath>
#include <limits>

#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/meant.h"

namespace millpond::kernels {
namespace {

Tensor Widened(const Tensor& tensor) { return IsHalf(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor; }

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

MP_WIDE_KERNEL(aclnnCdist, const Tensor& x1, const Tensor& x2, double p, int64_t mode, Tensor& out) {
  Write(out, at::_cdist_forward(Widened(x1), Widened(x2), MeantByFloat(p), mode));
}
MP_WIDE_KERNEL(aclnnCdistBackward, const Tensor& grad, const Tensor& x1, const Tensor& x2, const Tensor& cdist,
               double p, Tensor& out) {
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

MP_KERNEL(aclnnCtcLoss, const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
          IntArrayRef target_lengths, int64_t blank, bool zero_infinity, Tensor& loss_out, Tensor& alpha_out) {
  const auto [loss, alpha] =
      at::_ctc_loss(Widened(log_probs), targets, input_lengths, target_lengths, blank, zero_infinity);
  Write(loss_out, loss);
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
  Write(out,
        at::_ctc_loss_backward(Widened(grad), Widened(log_probs), targets, input_lengths, target_lengths, Widened(loss),
                               Widened(alpha.narrow(-1, 0, PathLength(target_lengths))), blank, zero_infinity));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Losses that compare elementwise, and their gradients.
#include <limits>

#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/meant.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// The gradient that reaches one element of the unreduced loss.
Tensor ElementGrad(const Tensor& grad_output, int64_t reduction, int64_t elements) {
  CheckReduction(reduction);
  return reduction == at::Reduction::Mean ? grad_output.div(elements) : grad_output;
}

// A gradient for an operand that was broadcast comes in the broadcast shape: the output's own, by the callers' rule.
void WriteGrad(Tensor& out, const Tensor& value) {
  if (out.sizes() == value.sizes()) {
    out.copy_(value);
  } else if (value.numel() > out.numel()) {
    Write(out, at::sum_to(value, out.sizes()));
  } else {
    Write(out, value.expand(out.sizes()));
  }
}

constexpr int64_t kBatchMean = 3;

int64_t BatchOf(const Tensor& self) { return self.dim() == 0 ? 1 : self.size(0); }

// The same for Kullback-Leibler's, which may also be divided by the batch.
Tensor KlElementGrad(const Tensor& grad_output, int64_t reduction, int64_t elements, const Tensor& self) {
  if (reduction != kBatchMean) return ElementGrad(grad_output, reduction, elements);
  return grad_output.div(BatchOf(self));
}

void WriteKlDiv(Tensor& out, const Tensor& terms, const Tensor& self, int64_t reduction) {
  if (reduction == at::Reduction::Mean) return WriteLoss(out, terms.mean());
  if (reduction == at::Reduction::Sum) return WriteLoss(out, terms.sum());
  if (reduction == kBatchMean) return WriteLoss(out, terms.sum().div(BatchOf(self)));
  TORCH_CHECK(reduction == at::Reduction::None, "reduction is ", reduction,
              "; there are 0 (none), 1 (mean), 2 (sum) and 3 (batchmean)");
  Write(out, terms);
}

}  // namespace

MP_WIDE_KERNEL(aclnnMseLoss, const Tensor& self, const Tensor& target, int64_t reduction, Tensor& out) {
  CheckReduction(reduction);
  WriteLoss(out, at::mse_loss(self, target, reduction));
}
MP_WIDE_KERNEL(aclnnMseLossBackward, const Tensor& grad_output, const Tensor& self, const Tensor& target,
               int64_t reduction, Tensor& out) {
  CheckReduction(reduction);
  WriteGrad(out, at::mse_loss_backward(grad_output, self, target, reduction));
}

MP_WIDE_KERNEL(aclnnL1Loss, const Tensor& self, const Tensor& target, int64_t reduction, Tensor& out) {
  CheckReduction(reduction);
  WriteLoss(out, at::l1_loss(self, target, reduction));
}
MP_WIDE_KERNEL(aclnnL1LossBackward, const Tensor& grad_output, const Tensor& self, const Tensor& target,
               int64_t reduction, Tensor& grad_input) {
  const Tensor sign = at::sgn(at::sub(self, target));
  WriteGrad(grad_input, sign.mul(ElementGrad(grad_output, reduction, sign.numel())));
}

MP_WIDE_KERNEL(aclnnSmoothL1Loss, const Tensor& self, const Tensor& target, int64_t reduction, double beta,
               Tensor& out) {
  CheckReduction(reduction);
  WriteLoss(out, at::smooth_l1_loss(self, target, reduction, MeantByFloat(beta)));
}
MP_WIDE_KERNEL(aclnnSmoothL1LossBackward, const Tensor& grad_output, const Tensor& self, const Tensor& target,
               int64_t reduction, double beta, Tensor& grad_input) {
  CheckReduction(reduction);
  WriteGrad(grad_input, at::smooth_l1_loss_backward(grad_output, self, target, reduction, MeantByFloat(beta)));
}

MP_WIDE_KERNEL(aclnnBinaryCrossEntropy, const Tensor& self, const Tensor& target, const OptTensor& weight,
               int64_t reduction, Tensor& out) {
  CheckReduction(reduction);
  WriteLoss(out, at::binary_cross_entropy(self, target, weight, reduction));
}
MP_WIDE_KERNEL(aclnnBinaryCrossEntropyBackward, const Tensor& grad_output, const Tensor& self, const Tensor& target,
               const OptTensor& weight, int64_t reduction, Tensor& out) {
  CheckReduction(reduction);
  WriteGrad(out, at::binary_cross_entropy_backward(grad_output, self, target, weight, reduction));
}

MP_WIDE_KERNEL(aclnnBinaryCrossEntropyWithLogits, const Tensor& self, const Tensor& target, const OptTensor& weight,
               const OptTensor& pos_weight, int64_t reduction, Tensor& out) {
  CheckReduction(reduction);
  WriteLoss(out, at::binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction));
}
MP_WIDE_KERNEL(aclnnBinaryCrossEntropyWithLogitsBackward, const Tensor& grad_output, const Tensor& self,
               const Tensor& target, const OptTensor& weight, const OptTensor& pos_weight, int64_t reduction,
               Tensor& out) {
  Tensor grad;
  if (pos_weight.has_value()) {
    const Tensor positive = pos_weight->mul(target);
    grad = positive.add(1).sub_(target).mul_(self.sigmoid()).sub_(positive);
  } else {
    grad = self.sigmoid().sub_(target);
  }
  grad = grad.mul(ElementGrad(grad_output, reduction, grad.numel()));
  if (weight.has_value()) grad = grad.mul(*weight);
  WriteGrad(out, grad);
}

MP_WIDE_KERNEL(aclnnKlDiv, const Tensor& self, const Tensor& target, int64_t reduction, bool log_target, Tensor& out) {
  if (log_target) {
    WriteKlDiv(out, target.exp().mul(target - self), self, reduction);
    return;
  }
  // Page "aclnnKlDiv": NaN where the target is not positive; ATen takes a term of 0 for a target of 0.
  const Tensor terms = target.mul(target.log() - self);
  WriteKlDiv(out, terms.masked_fill(target.le(0), std::numeric_limits<double>::quiet_NaN()), self, reduction);
}
MP_WIDE_KERNEL(aclnnKlDivBackward, const Tensor& grad_output, const Tensor& self, const Tensor& target,
               int64_t reduction, bool log_target, Tensor& out) {
  const Tensor weight = log_target ? target.exp() : at::where(target.gt(0), target, 0);
  const int64_t elements = at::infer_size(self.sizes(), target.sizes()).empty()
                               ? 1
                               : c10::multiply_integers(at::infer_size(self.sizes(), target.sizes()));
  WriteGrad(out, weight.neg().mul(KlElementGrad(grad_output, reduction, elements, self)));
}
MP_WIDE_KERNEL(aclnnKlDivTargetBackward, const Tensor& grad_output, const Tensor& self, const Tensor& target,
               int64_t reduction, bool log_target, Tensor& grad_target) {
  const Tensor log_ratio = log_target ? target.add(1).sub(self).mul(target.exp())
                                      : at::where(target.gt(0), target.log().add(1).sub(self), 0);
  WriteGrad(grad_target, log_ratio.mul(KlElementGrad(grad_output, reduction, log_ratio.numel(), self)));
}

MP_WIDE_KERNEL(aclnnSoftMarginLoss, const Tensor& self, const Tensor& target, int64_t reduction, Tensor& out) {
  CheckReduction(reduction);
  WriteLoss(out, at::soft_margin_loss(self, target, reduction));
}
MP_WIDE_KERNEL(aclnnSoftMarginLossBackward, const Tensor& grad_output, const Tensor& self, const Tensor& target,
               int64_t reduction, Tensor& out) {
  // Not ATen's: that takes no gradient of a larger shape, and is NaN where exp(-target self) overflows.
  const Tensor slope = target.mul(self).neg_().sigmoid_().mul_(target).neg_();
  WriteGrad(out, slope.mul(ElementGrad(grad_output, reduction, self.numel())));
}

}  // namespace millpond::kernels

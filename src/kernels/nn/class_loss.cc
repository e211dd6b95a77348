// SPDX-License-Identifier: Apache-2.0
// Losses over classes.
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {
namespace {

// The CPU takes class numbers of 64 bits only.
Tensor Classes(const Tensor& target) { return target.to(at::kLong); }

int64_t ReductionFrom(string_view text) {
  if (text == "mean") return at::Reduction::Mean;
  if (text == "sum") return at::Reduction::Sum;
  TORCH_CHECK(text == "none", "reduction '", std::string(text), "' is none of mean, sum, none");
  return at::Reduction::None;
}

void CheckSmoothing(double smoothing) {
  TORCH_CHECK(smoothing >= 0 && smoothing <= 1, "labelSmoothing is ", smoothing, "; it must be in [0, 1]");
}

// What cross entropy's two passes both need, per row: is it counted, its class, that class' weight.
struct Rows {
  Tensor ignored;  // bool
  Tensor counted;  // float, its opposite
  Tensor classes;  // ignored rows point at class 0
  Tensor weight;   // 0 for ignored rows
};

Rows RowsOf(const Tensor& target, const OptTensor& weight, int64_t ignore_index) {
  Rows rows;
  rows.ignored = Classes(target).eq(ignore_index);
  rows.classes = Classes(target).masked_fill(rows.ignored, 0);
  rows.counted = rows.ignored.logical_not().to(at::kFloat);
  rows.weight =
      weight.has_value() ? weight->to(at::kFloat).index_select(0, rows.classes).mul_(rows.counted) : rows.counted;
  return rows;
}

}  // namespace

// Of rows, or of images with a class for each pixel.
MP_WIDE_KERNEL(NllLoss, const Tensor& self, const Tensor& target, const OptTensor& weight, int64_t reduction,
               int64_t ignore_index, Tensor& out, Tensor& total_weight) {
  CheckReduction(reduction);
  const auto [loss, total] = self.dim() == 4
                                 ? at::nll_loss2d_forward(self, Classes(target), weight, reduction, ignore_index)
                                 : at::nll_loss_forward(self, Classes(target), weight, reduction, ignore_index);
  WriteLoss(out, loss);
  WriteLoss(total_weight, total);
}
MP_WIDE_KERNEL(NllLossBackward, const Tensor& grad, const Tensor& self, const Tensor& target, const OptTensor& weight,
               int64_t reduction, int64_t ignore_index, const Tensor& total_weight, Tensor& out) {
  CheckReduction(reduction);
  const Tensor classes = Classes(target);
  CheckPlaces("target", classes.masked_fill(classes.eq(ignore_index), 0),
              self.dim() == 1 ? self.size(0) : self.size(1));
  if (self.dim() == 4) {
    Write(out,
          at::nll_loss2d_backward(grad, self.contiguous(), classes, weight, reduction, ignore_index, total_weight));
  } else {
    Write(out, at::nll_loss_backward(grad, self, classes, weight, reduction, ignore_index, total_weight));
  }
}

MP_WIDE_KERNEL(aclnnCrossEntropyLoss, const Tensor& input, const Tensor& target, const OptTensor& weight,
               string_view reduction_text, int64_t ignore_index, double smoothing, double lse_scale, bool return_zloss,
               Tensor& loss_out, Tensor& log_prob_out, Tensor* zloss_out, Tensor* lse_out) {
  const int64_t reduction = ReductionFrom(reduction_text);
  CheckSmoothing(smoothing);
  const Tensor logits = input.to(at::kFloat);
  const Tensor log_prob = at::log_softmax(logits, -1);
  const Rows rows = RowsOf(target, weight, ignore_index);
  // An ignored row may have infinite terms, which no factor of 0 takes out.
  const auto counted = [&](const Tensor& terms) { return terms.masked_fill(rows.ignored, 0); };
  Tensor loss = counted(log_prob.gather(-1, rows.classes.unsqueeze(-1)).squeeze(-1)).neg_().mul_(rows.weight);
  if (smoothing != 0) {
    const Tensor weighted = weight.has_value() ? log_prob.mul(weight->to(at::kFloat)) : log_prob;
    const Tensor smooth = counted(weighted.sum(-1)).neg_().div_(log_prob.size(-1));
    loss = loss.mul(1 - smoothing).add_(smooth, smoothing);
  }
  const auto reduce = [&](const Tensor& value, const Tensor& divisor) {
    if (reduction == at::Reduction::None) return value;
    return reduction == at::Reduction::Mean ? value.sum().div(divisor.sum()) : value.sum();
  };
  const auto write = [](Tensor& out, const Tensor& value) { out.copy_(value.reshape(out.sizes())); };
  write(loss_out, reduce(loss, rows.weight));
  Write(log_prob_out, log_prob);
  if ((return_zloss || lse_scale != 0) && (zloss_out != nullptr || lse_out != nullptr)) {
    const Tensor lse = counted(at::logsumexp(logits, -1));
    if (lse_out != nullptr && lse_out->numel() == lse.numel()) write(*lse_out, lse);
    if (zloss_out != nullptr && return_zloss) write(*zloss_out, reduce(lse.square().mul_(lse_scale), rows.counted));
  }
}

MP_WIDE_KERNEL(aclnnCrossEntropyLossGrad, const Tensor& grad_loss, const Tensor& log_prob, const Tensor& target,
               const OptTensor& weight, const OptTensor& grad_zloss, const OptTensor& lse, string_view reduction_text,
               int64_t ignore_index, double smoothing, double lse_scale, Tensor& out) {
  const int64_t reduction = ReductionFrom(reduction_text);
  CheckSmoothing(smoothing);
  const Tensor log_p = log_prob.to(at::kFloat);
  const Tensor p = log_p.exp();
  const Rows rows = RowsOf(target, weight, ignore_index);
  const auto per_row = [&](const Tensor& grad, const Tensor& divisor) {
    const Tensor wide = grad.to(at::kFloat);
    if (reduction == at::Reduction::None) return wide;
    const Tensor one = wide.reshape({});
    return (reduction == at::Reduction::Mean ? one.div(divisor.sum()) : one).expand(rows.counted.sizes());
  };
  const Tensor row_grad = per_row(grad_loss, rows.weight);
  // d loss_i / d log p, then through the log-softmax: d x = g - p sum(g).
  const Tensor to_class = row_grad.mul(rows.weight).mul_(-(1 - smoothing));
  Tensor to_log_prob;
  if (smoothing != 0) {
    const Tensor to_all =
        row_grad.mul(rows.counted).mul_(-smoothing / static_cast<double>(log_p.size(-1))).unsqueeze(-1);
    to_log_prob = weight.has_value() ? to_all.mul(weight->to(at::kFloat)) : to_all.expand(log_p.sizes()).clone();
  } else {
    to_log_prob = at::zeros_like(log_p);
  }
  to_log_prob.scatter_add_(-1, rows.classes.unsqueeze(-1), to_class.unsqueeze(-1));
  Tensor grad = to_log_prob.sub(p.mul(to_log_prob.sum(-1, /*keepdim=*/true)));
  if (lse_scale != 0 && grad_zloss.has_value() && lse.has_value() && lse->numel() == rows.counted.numel()) {
    const Tensor to_lse = per_row(*grad_zloss, rows.counted).mul(lse->to(at::kFloat)).mul_(2 * lse_scale);
    grad.add_(p.mul(to_lse.mul(rows.counted).unsqueeze(-1)));
  }
  Write(out, grad);
}

MP_WIDE_KERNEL(aclnnMultilabelMarginLoss, const Tensor& self, const Tensor& target, int64_t reduction, Tensor& out,
               Tensor& is_target) {
  CheckReduction(reduction);
  const auto [loss, flags] = at::multilabel_margin_loss_forward(Widened(self), Classes(target), reduction);
  WriteLoss(out, loss);
  Write(is_target, flags);
}

}  // namespace millpond::kernels

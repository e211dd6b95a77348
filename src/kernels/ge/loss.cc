// SPDX-License-Identifier: Apache-2.0
// Losses as GE's operators describe them.
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2, kBatchMean = 3 };

Tensor Reduced(const Tensor& losses, int64_t reduction) {
  switch (reduction) {
    case kMean:
      return losses.mean();
    case kSum:
      return losses.sum();
    case kBatchMean:
      return losses.sum().div_(losses.dim() == 0 ? 1 : losses.size(0));
    default:
      return losses;
  }
}

}  // namespace

MP_KERNEL(GeLpLoss, const Tensor& predict, const Tensor& label, int64_t p, int64_t reduction, Tensor& y) {
  TORCH_CHECK(p == 1, "p is ", p, "; 1 is supported");
  WriteElements(y, Reduced(predict.sub(label).abs_(), reduction));
}

MP_KERNEL(GeKlDiv, const Tensor& x, const Tensor& target, int64_t reduction, bool log_target, Tensor& y) {
  WriteElements(y, Reduced(at::kl_div(x, target, at::Reduction::None, log_target), reduction));
}

MP_KERNEL(GeSoftmaxCrossEntropy, const Tensor& features, const Tensor& labels, bool sparse, Tensor& loss,
          Tensor& backprop) {
  const Tensor log_shares = at::log_softmax(features.to(at::kFloat), -1);
  const Tensor wanted =
      sparse ? at::zeros_like(log_shares).scatter_(-1, Long(labels).unsqueeze(-1), 1) : labels.to(at::kFloat);
  Write(loss, log_shares.mul(wanted).sum(-1).neg_());
  Write(backprop, log_shares.exp().sub_(wanted));  // as the page has it, whatever the labels add up to
}

}  // namespace millpond::kernels

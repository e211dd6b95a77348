// SPDX-License-Identifier: Apache-2.0
// Cross entropy where each rank holds a part of the vocabulary: what a rank finds, the loss, the gradient.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// Bits, eight to a byte, the first element in the highest.
Tensor PackedBits(const Tensor& flags) {
  const int64_t bytes = (flags.numel() + 7) / 8;
  const Tensor bits = at::constant_pad_nd(flags.to(at::kInt), {0, bytes * 8 - flags.numel()}, 1).view({bytes, 8});
  return bits.bitwise_left_shift(at::arange(7, -1, -1, at::kInt)).sum(-1);
}
Tensor UnpackedBits(const Tensor& bytes, int64_t count) {
  TORCH_CHECK(bytes.numel() * 8 >= count, "the mask has ", bytes.numel(), " bytes for ", count, " targets");
  const Tensor bits = bytes.to(at::kInt).reshape({-1, 1}).bitwise_right_shift(at::arange(7, -1, -1, at::kInt));
  return bits.bitwise_and_(1).view(-1).narrow(0, 0, count).to(at::kBool);
}

}  // namespace

MP_KERNEL(aclnnFusedLinearOnlineMaxSum, const Tensor& input, const Tensor& weight, const Tensor& target, int64_t first,
          int64_t last, Tensor& max, Tensor& sum, Tensor& predicted, Tensor& mask, Tensor& masked_target,
          Tensor* logits_out) {
  TORCH_CHECK(first >= 0 && last >= first && last - first < weight.size(0), "the vocabulary from ", first, " to ", last,
              " does not go with ", weight.size(0), " rows of weights");
  const Tensor logits = at::matmul(input.to(at::kFloat), weight.to(at::kFloat).t());
  const Tensor wanted = Long(target);
  const Tensor outside = wanted.lt(first).logical_or_(wanted.gt(last));
  const Tensor place = (wanted - first).masked_fill_(outside, 0);
  const Tensor most = logits.amax(-1, /*keepdim=*/true);
  const Tensor below = logits - most;
  Write(max, most.squeeze(-1));
  Write(sum, below.exp().sum(-1));
  Write(predicted, below.gather(1, place.unsqueeze(1)).squeeze(1).masked_fill_(outside, 0));
  Write(mask, PackedBits(outside));
  Write(masked_target, place);
  if (logits_out != nullptr) Write(*logits_out, logits);
}
MP_KERNEL(aclnnFusedCrossEntropyLossWithMaxSum, const Tensor& max, const Tensor& sum, const Tensor& predicted,
          const OptTensor& logits, Tensor& loss, Tensor* shares) {
  Write(loss, sum.log() - predicted);
  if (shares == nullptr) return;
  TORCH_CHECK(logits.has_value(), "softMaxOut needs vocabParallelLogits, which is NULL");
  Write(*shares, (logits->to(at::kFloat) - max.unsqueeze(-1)).exp_().div_(sum.unsqueeze(-1)));
}
MP_KERNEL(aclnnFusedLinearCrossEntropyLossGrad, const Tensor& grad, const Tensor& input, const Tensor& weight,
          const Tensor& mask, const Tensor& masked_target, const OptTensor& max, const OptTensor& sum,
          const OptTensor& softmax, Tensor& input_grad, Tensor& weight_grad) {
  TORCH_CHECK(softmax || (max && sum), "without softmax both logitsMax and sumExpLogits are needed");
  const Tensor x = input.to(at::kFloat);
  const Tensor w = weight.to(at::kFloat);
  Tensor shares = softmax ? softmax->to(at::kFloat).clone()
                          : (at::matmul(x, w.t()) - max->unsqueeze(-1)).exp_().div_(sum->unsqueeze(-1));
  const Tensor here = UnpackedBits(mask, grad.numel()).logical_not().to(at::kFloat);
  shares.scatter_add_(1, Long(masked_target).unsqueeze(1), here.neg().unsqueeze(1));
  shares.mul_(grad.to(at::kFloat).unsqueeze(-1));
  Write(input_grad, at::matmul(shares, w));
  Write(weight_grad, at::matmul(shares.t(), x));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Batch normalisation in parts: each rank's statistics, their union, the elementwise rest. ATen has these for
// accelerators only. Channels are dimension 1; statistics are float.
#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

Tensor Wide(const Tensor& tensor) { return tensor.to(tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat); }

// [C] as something that broadcasts over x.
Tensor PerChannel(const Tensor& values, const Tensor& x) {
  TORCH_CHECK(x.dim() >= 2 && values.numel() == x.size(1), "a value of each channel has shape ", values.sizes(),
              ", the input ", x.sizes());
  std::vector<int64_t> shape(x.dim(), 1);
  shape[1] = -1;
  return values.reshape(shape);
}

Tensor SumOfChannels(const Tensor& x) {
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (i != 1) dims.push_back(i);
  }
  return x.sum(dims);
}

void Move(Tensor* running, const Tensor& value, double momentum) {
  if (running != nullptr) running->copy_(running->to(at::kFloat).mul(1 - momentum).add_(value, momentum));
}

}  // namespace

MP_KERNEL(aclnnBatchNormStats, const Tensor& input, double eps, Tensor& mean, Tensor& invstd) {
  const Tensor x = Wide(input).transpose(0, 1).reshape({input.size(1), -1});
  const auto [var, average] = at::var_mean(x, at::OptionalIntArrayRef(1), /*correction=*/0, /*keepdim=*/false);
  Write(mean, average);
  Write(invstd, var.add(eps).rsqrt_());
}

MP_WIDE_KERNEL(aclnnBatchNormElemt, const Tensor& input, const OptTensor& weight, const OptTensor& bias,
               const Tensor& mean, const Tensor& invstd, Tensor& output) {
  Tensor value = Wide(input).sub(PerChannel(mean, input)).mul_(PerChannel(invstd, input));
  if (weight.has_value()) value = value.mul(PerChannel(*weight, input));
  if (bias.has_value()) value = value.add(PerChannel(*bias, input));
  Write(output, value);
}

MP_WIDE_KERNEL(aclnnBatchNormElemtBackward, const Tensor& grad_out, const Tensor& input, const Tensor& mean,
               const Tensor& invstd, const OptTensor& weight, const Tensor& sum_dy, const Tensor& sum_dy_xmu,
               const Tensor& counts, Tensor& grad_input) {
  const Tensor count = counts.to(at::kFloat).sum();
  const Tensor scale = Wide(invstd);
  const Tensor slope = Wide(sum_dy_xmu).div(count).mul_(scale).mul_(scale);
  Tensor grad = Wide(grad_out).sub(PerChannel(Wide(sum_dy).div(count), input));
  grad = grad.sub(Wide(input).sub(PerChannel(mean, input)).mul_(PerChannel(slope, input)));
  grad = grad.mul(PerChannel(scale, input));
  if (weight.has_value()) grad = grad.mul(PerChannel(*weight, input));
  Write(grad_input, grad);
}

MP_KERNEL(aclnnBatchNormGatherStatsWithCounts, const Tensor& mean, const Tensor& invstd, Tensor* running_mean,
          Tensor* running_var, double momentum, double eps, const Tensor& counts, Tensor& mean_all,
          Tensor& invstd_all) {
  // [ranks, C]; in double, since a variance is a difference here.
  const Tensor count = counts.to(at::kDouble).reshape({-1, 1});
  const Tensor means = mean.to(at::kDouble).reshape({count.size(0), -1});
  const Tensor vars = invstd.to(at::kDouble).reshape({count.size(0), -1}).pow(-2).sub_(eps);
  const Tensor total = count.sum();
  const Tensor average = means.mul(count).sum(0).div_(total);
  const Tensor var = vars.add(means.sub(average).square_()).mul_(count).sum(0).div_(total);
  Write(mean_all, average);
  Write(invstd_all, var.add(eps).rsqrt_());
  Move(running_mean, average.to(at::kFloat), momentum);
  Move(running_var, var.mul(total).div_(total.sub(1)).to(at::kFloat), momentum);
}

MP_KERNEL(aclnnBatchNormReduce, const Tensor& x, Tensor& sum, Tensor& square_sum) {
  const Tensor wide = Wide(x);
  Write(sum, SumOfChannels(wide));
  Write(square_sum, SumOfChannels(wide.square()));
}

MP_WIDE_KERNEL(aclnnBatchNormReduceBackward, const Tensor& grad_out, const Tensor& input, const Tensor& mean,
               const Tensor& invstd, bool want_input, bool want_weight, bool want_bias, Tensor* sum_dy,
               Tensor* sum_dy_xmu, Tensor* grad_weight, Tensor* grad_bias) {
  const Tensor grad = Wide(grad_out);
  const Tensor sum = SumOfChannels(grad);
  const Tensor weighted = SumOfChannels(grad.mul(Wide(input).sub(PerChannel(mean, input))));
  if (want_input) {
    Write(sum_dy, sum);
    Write(sum_dy_xmu, weighted);
  }
  if (want_weight) Write(grad_weight, weighted.mul(Wide(invstd)));
  if (want_bias) Write(grad_bias, sum);
}

MP_KERNEL(aclnnSyncBatchNormGatherStats, const Tensor& total_sum, const Tensor& total_square_sum,
          const Tensor& sample_count, Tensor* running_mean, Tensor* running_var, double momentum, double eps,
          Tensor& batch_mean, Tensor& batch_invstd) {
  const Tensor count = sample_count.to(at::kDouble).sum();
  const Tensor average = total_sum.to(at::kDouble).sum(0).div_(count);
  const Tensor var = total_square_sum.to(at::kDouble).sum(0).div_(count).sub_(average.square());
  Write(batch_mean, average);
  Write(batch_invstd, var.add(eps).rsqrt_());
  Move(running_mean, average.to(at::kFloat), momentum);
  Move(running_var, var.mul(count).div_(count.sub(1)).to(at::kFloat), momentum);
}

}  // namespace millpond::kernels

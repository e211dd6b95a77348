// SPDX-License-Identifier: Apache-2.0
// Batch, layer and group normalisation.
#include "src/kernels/nn/masks.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"

namespace millpond::kernels {
namespace {

OptTensor Optional(const Tensor* tensor) { return tensor == nullptr ? OptTensor() : OptTensor(*tensor); }

Tensor InType(const Tensor& tensor, ScalarType type) { return tensor.to(type); }
OptTensor InType(const OptTensor& tensor, ScalarType type) {
  return tensor.has_value() ? OptTensor(tensor->to(type)) : OptTensor();
}

// Statistics have as many elements in each client's idea of their shape (with trailing ones, say) as in ATen's.
void WriteStatistics(Tensor* out, const Tensor& value) {
  if (out != nullptr) out->copy_(value.view(out->sizes()));
}

int64_t RowsOf(const Tensor& input, IntArrayRef normalized_shape) {
  return c10::multiply_integers(input.sizes().slice(0, input.dim() - normalized_shape.size()));
}

// ATen wants statistics in the parameters' type (float beside half inputs), clients keep float ones.
ScalarType StatisticsType(const Tensor& input, const OptTensor& weight) {
  const ScalarType type = input.scalar_type();
  return IsHalf(type) && weight.has_value() && weight->scalar_type() == at::kFloat ? at::kFloat : type;
}

}  // namespace

MP_WIDE_KERNEL(aclnnBatchNorm, const Tensor& input, const OptTensor& weight, const OptTensor& bias,
               Tensor* running_mean, Tensor* running_var, bool training, double momentum, double eps, Tensor& output,
               Tensor* save_mean, Tensor* save_invstd) {
  const Loan loan({&output});
  const auto [value, mean, invstd] = at::native_batch_norm(input, weight, bias, Optional(running_mean),
                                                           Optional(running_var), training, momentum, eps);
  if (training) {
    DeliverAll({{&output, value}, {save_mean, mean}, {save_invstd, invstd}});
    return;
  }
  Deliver(output, value);
  // ATen saves nothing outside training; these are what it used.
  if (save_mean != nullptr) Write(save_mean, *running_mean);
  if (save_invstd != nullptr) Write(save_invstd, running_var->to(at::kFloat).add(eps).rsqrt());
}

MP_WIDE_KERNEL(aclnnBatchNormBackward, const Tensor& grad_out, const Tensor& input, const OptTensor& weight,
               const OptTensor& running_mean, const OptTensor& running_var, const OptTensor& save_mean,
               const OptTensor& save_invstd, bool training, double eps, BoolArray mask, Tensor* grad_input,
               Tensor* grad_weight, Tensor* grad_bias) {
  const auto wanted = WantedOutputs<3>(mask, {grad_input, grad_weight, grad_bias});
  const Loan loan({wanted[0] ? grad_input : nullptr});
  const ScalarType stats = StatisticsType(input, weight);
  const auto [to_input, to_weight, to_bias] =
      at::native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, InType(save_mean, stats),
                                     InType(save_invstd, stats), training, eps, wanted);
  DeliverAll({{grad_input, to_input}, {grad_weight, to_weight}, {grad_bias, to_bias}});
}

MP_KERNEL(aclnnLayerNorm, const Tensor& input, IntArrayRef shape, const OptTensor& weight, const OptTensor& bias,
          double eps, Tensor& out, Tensor* mean, Tensor* rstd) {
  const Loan loan({&out});
  const auto [value, mean_value, rstd_value] = at::native_layer_norm(input, shape, weight, bias, eps);
  WriteStatistics(mean, mean_value);
  WriteStatistics(rstd, rstd_value);
  Deliver(out, value);
}

MP_WIDE_KERNEL(aclnnLayerNormBackward, const Tensor& grad_out, const Tensor& input, IntArrayRef shape,
               const Tensor& mean, const Tensor& rstd, const OptTensor& weight, const OptTensor& bias, BoolArray mask,
               Tensor* grad_input, Tensor* grad_weight, Tensor* grad_bias) {
  const auto wanted = WantedOutputs<3>(mask, {grad_input, grad_weight, grad_bias});
  const Loan loan({wanted[0] ? grad_input : nullptr});
  const ScalarType stats = StatisticsType(input, weight);
  const int64_t rows = RowsOf(input, shape);
  const auto [to_input, to_weight, to_bias] = at::native_layer_norm_backward(
      grad_out, input, shape, InType(mean.view({rows}), stats), InType(rstd.view({rows}), stats), weight, bias, wanted);
  DeliverAll({{grad_input, to_input}, {grad_weight, to_weight}, {grad_bias, to_bias}});
}

MP_WIDE_KERNEL(aclnnGroupNorm, const Tensor& self, const OptTensor& gamma, const OptTensor& beta, int64_t n, int64_t c,
               int64_t hxw, int64_t group, double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const Loan loan({&out});
  const auto [value, mean_value, rstd_value] = at::native_group_norm(self, gamma, beta, n, c, hxw, group, eps);
  DeliverAll({{&out, value}, {&mean, mean_value}, {&rstd, rstd_value}});
}

MP_WIDE_KERNEL(aclnnGroupNormBackward, const Tensor& grad_out, const Tensor& input, const Tensor& mean,
               const Tensor& rstd, const OptTensor& gamma, int64_t n, int64_t c, int64_t hxw, int64_t group,
               BoolArray mask, Tensor* grad_input, Tensor* grad_gamma, Tensor* grad_beta) {
  const auto wanted = WantedOutputs<3>(mask, {grad_input, grad_gamma, grad_beta});
  const Loan loan({wanted[0] ? grad_input : nullptr});
  const auto [to_input, to_gamma, to_beta] =
      at::native_group_norm_backward(grad_out, input, mean, rstd, gamma, n, c, hxw, group, wanted);
  DeliverAll({{grad_input, to_input}, {grad_gamma, to_gamma}, {grad_beta, to_beta}});
}

}  // namespace millpond::kernels

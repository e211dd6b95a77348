// SPDX-License-Identifier: Apache-2.0
// Batch, layer and group normalisation.
#include "src/kernels/nn/masks.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"
#include "src/kernels/runtime/outputs.h"

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

// ATen reads one number for each channel without asking how many there are.
void CheckChannels(const Tensor& input, std::initializer_list<std::pair<const char*, OptTensor>> statistics) {
  TORCH_CHECK(input.dim() >= 2, "input has ", input.dim(), " dimensions; it needs a batch and channels");
  for (const auto& [name, tensor] : statistics) {
    TORCH_CHECK(!tensor.has_value() || (tensor->dim() == 1 && tensor->numel() == input.size(1)), name, " has shape ",
                tensor.has_value() ? tensor->sizes() : IntArrayRef(), "; input has ", input.size(1), " channels");
  }
}

void CheckRunning(bool training, bool has_mean, bool has_var) {
  TORCH_CHECK(training || (has_mean && has_var), "outside training runningMean and runningVar are needed");
}

// A gradient of parameters that were not given is that of ones, or of zeros.
OptTensor OrFilled(const OptTensor& tensor, bool wanted, IntArrayRef shape, double number, const Tensor& like) {
  return tensor.has_value() || !wanted ? tensor : OptTensor(at::full(shape, number, like.options()));
}

// ATen keeps the statistics of half types in float only beside float parameters.
bool KeepsFloat(const Tensor& input, const Tensor* statistics) {
  return IsHalf(input.scalar_type()) && statistics != nullptr && statistics->scalar_type() == at::kFloat;
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
  CheckChannels(input, {{"weight", weight},
                        {"bias", bias},
                        {"runningMean", Optional(running_mean)},
                        {"runningVar", Optional(running_var)}});
  CheckRunning(training, running_mean != nullptr, running_var != nullptr);
  const Loan loan({&output});
  const auto [value, mean, invstd] = at::native_batch_norm(input, weight, bias, Optional(running_mean),
                                                           Optional(running_var), training, momentum, eps);
  if (training) {
    DeliverAll({{&output, value}, {save_mean, mean}, {save_invstd, invstd}});
    return;
  }
  Deliver(output, value);
  // ATen saves nothing outside training; these are what it used.
  if (save_mean != nullptr && save_mean->numel() != 0) Write(save_mean, *running_mean);
  if (save_invstd != nullptr && save_invstd->numel() != 0) {
    Write(save_invstd, running_var->to(at::kFloat).add(eps).rsqrt());
  }
}

MP_WIDE_KERNEL(aclnnBatchNormBackward, const Tensor& grad_out, const Tensor& input, const OptTensor& weight,
               const OptTensor& running_mean, const OptTensor& running_var, const OptTensor& save_mean,
               const OptTensor& save_invstd, bool training, double eps, BoolArray mask, Tensor* grad_input,
               Tensor* grad_weight, Tensor* grad_bias) {
  CheckSameShape("gradOut", grad_out, "input", input);
  CheckChannels(input, {{"weight", weight}, {"runningMean", running_mean}, {"runningVar", running_var}});
  if (training) {
    CheckChannels(input, {{"saveMean", save_mean}, {"saveInvstd", save_invstd}});
    TORCH_CHECK(save_mean.has_value() && save_invstd.has_value(), "in training saveMean and saveInvstd are needed");
  }
  CheckRunning(training, running_mean.has_value(), running_var.has_value());
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
  const bool in_float = KeepsFloat(input, mean) || KeepsFloat(input, rstd);
  const auto [value, mean_value, rstd_value] =
      in_float ? at::native_layer_norm(input, shape, InType(OrFilled(weight, true, shape, 1, input), at::kFloat),
                                       InType(bias, at::kFloat), eps)
               : at::native_layer_norm(input, shape, weight, bias, eps);
  WriteStatistics(mean, mean_value);
  WriteStatistics(rstd, rstd_value);
  Deliver(out, value);
}

MP_WIDE_KERNEL(aclnnLayerNormBackward, const Tensor& grad_out, const Tensor& input, IntArrayRef shape,
               const Tensor& mean, const Tensor& rstd, const OptTensor& weight, const OptTensor& bias, BoolArray mask,
               Tensor* grad_input, Tensor* grad_weight, Tensor* grad_bias) {
  const auto wanted = WantedOutputs<3>(mask, {grad_input, grad_weight, grad_bias});
  const Loan loan({wanted[0] ? grad_input : nullptr});
  CheckSameShape("gradOut", grad_out, "input", input);
  const ScalarType stats = StatisticsType(input, weight);
  const int64_t rows = RowsOf(input, shape);
  const auto [to_input, to_weight, to_bias] = at::native_layer_norm_backward(
      grad_out, input, shape, InType(mean.reshape({rows}).contiguous(), stats),
      InType(rstd.reshape({rows}).contiguous(), stats), OrFilled(weight, wanted[1], shape, 1, input),
      OrFilled(bias, wanted[2], shape, 0, input), wanted);
  DeliverAll({{grad_input, to_input}, {grad_weight, to_weight}, {grad_bias, to_bias}});
}

MP_WIDE_KERNEL(aclnnGroupNorm, const Tensor& self, const OptTensor& gamma, const OptTensor& beta, int64_t n, int64_t c,
               int64_t hxw, int64_t group, double eps, Tensor& out, Tensor& mean, Tensor& rstd) {
  const Loan loan({&out});
  const auto [value, mean_value, rstd_value] =
      at::native_group_norm(self.contiguous(), Contiguous(gamma), Contiguous(beta), n, c, hxw, group, eps);
  DeliverAll({{&out, value}, {&mean, mean_value}, {&rstd, rstd_value}});
}

MP_WIDE_KERNEL(aclnnGroupNormBackward, const Tensor& grad_out, const Tensor& input, const Tensor& mean,
               const Tensor& rstd, const OptTensor& gamma, int64_t n, int64_t c, int64_t hxw, int64_t group,
               BoolArray mask, Tensor* grad_input, Tensor* grad_gamma, Tensor* grad_beta) {
  const auto wanted = WantedOutputs<3>(mask, {grad_input, grad_gamma, grad_beta});
  const Loan loan({wanted[0] ? grad_input : nullptr});
  // ATen reads its operands as if they were contiguous.
  const auto [to_input, to_gamma, to_beta] =
      at::native_group_norm_backward(grad_out.contiguous(), input.contiguous(), mean.contiguous(), rstd.contiguous(),
                                     Contiguous(OrFilled(gamma, wanted[1], {c}, 1, input)), n, c, hxw, group, wanted);
  DeliverAll({{grad_input, to_input}, {grad_gamma, to_gamma}, {grad_beta, to_beta}});
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Gradients of the activations.
#include <ATen/ExpandUtils.h>

#include "src/kernels/nn/activation.h"

namespace millpond::kernels {
namespace {

void GeluBackward(Tensor& out, const Tensor& grad, const Tensor& self, string_view approximate) {
  // oneDNN, which ATen may ask, does not broadcast.
  const auto both = at::expand_outplace(grad, self);
  const Tensor& g = *std::get<0>(both);
  const Tensor& x = *std::get<1>(both);
  if (at::result_type(grad, self) == out.scalar_type()) {
    at::gelu_backward_out(out, g, x, approximate);
  } else {
    Write(out, at::gelu_backward(g, x, approximate));
  }
}

Tensor HardswishSlope(const Tensor& self, const Tensor& low, const Tensor& high) {
  return at::where(low, 0, at::where(high, 1, self.div(3).add_(0.5)));
}

}  // namespace

MP_KERNEL(aclnnThresholdBackward, const Tensor& grad, const Tensor& self, const Scalar& threshold, Tensor& out) {
  at::threshold_backward_out(out, grad, self, threshold);
}
MP_WIDE_KERNEL(aclnnSigmoidBackward, const Tensor& grad, const Tensor& output, Tensor& out) {
  at::sigmoid_backward_out(out, grad, output);
}
MP_KERNEL(aclnnTanhBackward, const Tensor& grad, const Tensor& output, Tensor& out) {
  at::tanh_backward_out(out, grad, output);
}
MP_KERNEL(aclnnSiluBackward, const Tensor& grad, const Tensor& self, Tensor& out) {
  at::silu_backward_out(out, grad, self);
}
MP_KERNEL(aclnnMishBackward, const Tensor& grad, const Tensor& self, Tensor& out) {
  Write(out, at::mish_backward(grad, self));
}
MP_KERNEL(aclnnGeluBackwardV2, const Tensor& grad, const Tensor& self, string_view approximate, Tensor& out) {
  GeluBackward(out, grad, self, approximate);
}
MP_KERNEL(aclnnFastGeluBackward, const Tensor& grad, const Tensor& self, Tensor& out) {
  const Tensor scaled = at::mul(Widened(self), kFastGeluSlope);
  const Tensor gate = at::sigmoid(scaled);
  Write(out, at::rsub(gate, 1).mul_(scaled).add_(1).mul_(gate).mul_(grad));
}

MP_KERNEL(aclnnEluBackward, const Tensor& grad, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
          bool is_result, const Tensor& self_or_result, Tensor& out) {
  at::elu_backward_out(out, grad, alpha, scale, input_scale, is_result, self_or_result);
}
MP_WIDE_KERNEL(aclnnGluBackward, const Tensor& grad, const Tensor& self, int64_t dim, Tensor& out) {
  Write(out, at::glu_backward(grad, self, dim));
}
MP_KERNEL(aclnnHardshrinkBackward, const Tensor& grad, const Tensor& self, const Scalar& lambd, Tensor& out) {
  at::hardshrink_backward_out(out, grad, self, lambd);
}
MP_KERNEL(aclnnSoftshrinkBackward, const Tensor& grad, const Tensor& self, const Scalar& lambd, Tensor& out) {
  at::softshrink_backward_out(out, grad, self, lambd);
}
MP_KERNEL(aclnnHardsigmoidBackward, const Tensor& grad, const Tensor& self, Tensor& out) {
  at::hardsigmoid_backward_out(out, grad, self);
}
// The two versions differ at the bounds: the first has the slope there, the second the flat parts.
MP_WIDE_KERNEL(aclnnHardswishBackward, const Tensor& grad, const Tensor& self, Tensor& out) {
  Write(out, grad * HardswishSlope(self, self.lt(-3), self.gt(3)));
}
MP_WIDE_KERNEL(aclnnHardswishBackwardV2, const Tensor& grad, const Tensor& self, Tensor& out) {
  Write(out, grad * HardswishSlope(self, self.le(-3), self.ge(3)));
}
MP_KERNEL(aclnnHardtanhBackward, const Tensor& grad, const Tensor& self, const Scalar& min, const Scalar& max,
          Tensor& out) {
  // Page "aclnnHardtanhBackward": the bounds let the gradient pass; ATen's function stops it there.
  Write(out, at::where(self.gt(max).logical_or_(self.lt(min)), 0, grad));
}
MP_KERNEL(Relu6Backward, const Tensor& grad, const Tensor& self, Tensor& out) {
  at::hardtanh_backward_out(out, grad, self, 0, 6);
}
MP_KERNEL(aclnnLeakyReluBackward, const Tensor& grad, const Tensor& self, const Scalar& slope, bool self_is_result,
          Tensor& out) {
  at::leaky_relu_backward_out(out, grad, self, slope, self_is_result);
}
MP_KERNEL(aclnnSoftplusBackward, const Tensor& grad, const Tensor& self, const Scalar& beta, const Scalar& threshold,
          Tensor& out) {
  at::softplus_backward_out(out, grad, self, beta, threshold);
}
// The client's buffer is not used: torch_npu's is empty. Its value is found again from the operand.
MP_KERNEL(aclnnLogSigmoidBackward, const Tensor& grad, const Tensor& self, Tensor& out) {
  Write(out, at::log_sigmoid_backward(grad, self, std::get<1>(at::log_sigmoid_forward(self))));
}
MP_WIDE_KERNEL(aclnnLogitGrad, const Tensor& self, const Tensor& grad, double eps, Tensor& out) {
  const auto bound = eps < 0 ? std::nullopt : std::optional<double>(eps);  // torch_npu says -1 for None
  at::logit_backward_out(out, grad, self, bound);
}

MP_KERNEL(aclnnPreluBackward, const Tensor& grad, const Tensor& self, const Tensor& weight, Tensor& grad_self,
          Tensor& grad_weight) {
  const Tensor per_channel = PerChannel(weight, self);
  const auto [by_self, by_weight] = at::_prelu_kernel_backward(grad, self, per_channel);
  Write(grad_self, by_self);
  const Tensor summed = per_channel.numel() == 1 ? by_weight.sum() : by_weight.sum_to_size(per_channel.sizes());
  Write(grad_weight, summed.reshape(grad_weight.sizes()));
}

}  // namespace millpond::kernels

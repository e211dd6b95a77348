// SPDX-License-Identifier: Apache-2.0
// Convolution.
#include "src/kernels/kernel.h"
#include "src/kernels/masks.h"

namespace millpond::kernels {

MP_KERNEL(aclnnConvolution, const Tensor& input, const Tensor& weight, const OptTensor& bias, IntArrayRef stride,
          IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups,
          Tensor& output, int64_t) {
  Write(output, at::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups));
}

MP_KERNEL(aclnnConvolutionBackward, const Tensor& grad_output, const Tensor& input, const Tensor& weight,
          OptIntArrayRef bias_sizes, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
          IntArrayRef output_padding, int64_t groups, BoolArray mask, int64_t, Tensor* grad_input, Tensor* grad_weight,
          Tensor* grad_bias) {
  const auto wanted = WantedOutputs<3>(mask, {grad_input, grad_weight, grad_bias});
  at::OptionalIntArrayRef sizes;
  if (bias_sizes.has_value()) sizes = *bias_sizes;
  const auto [to_input, to_weight, to_bias] = at::convolution_backward(
      grad_output, input, weight, sizes, stride, padding, dilation, transposed, output_padding, groups, wanted);
  if (wanted[0]) Write(grad_input, to_input);
  if (wanted[1]) Write(grad_weight, to_weight);
  if (wanted[2]) Write(grad_bias, to_bias);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Convolution.
#include "src/kernels/nn/masks.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"

namespace millpond::kernels {
namespace {

// A padding of two numbers for each dimension is one for each side, [top, bottom, left, right]: what the sides differ
// by goes to the input beforehand.
struct Sides {
  std::vector<int64_t> equal;
  std::vector<int64_t> more;  // as constant_pad_nd takes it, the last dimension first; empty: none

  Sides(const Tensor& input, IntArrayRef padding, bool transposed) : equal(padding.vec()) {
    const auto spatial = static_cast<size_t>(std::max<int64_t>(input.dim() - 2, 0));
    if (spatial == 0 || spatial > 2 || padding.size() != 2 * spatial) return;
    equal.assign(spatial, 0);
    more.assign(2 * spatial, 0);
    bool differ = false;
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t before = padding[2 * i], after = padding[2 * i + 1];
      TORCH_CHECK(before >= 0 && after >= 0, "padding is ", padding, "; no side may be below 0");
      equal[i] = std::min(before, after);
      more[2 * (spatial - 1 - i)] = before - equal[i];
      more[2 * (spatial - 1 - i) + 1] = after - equal[i];
      differ = differ || before != after;
    }
    TORCH_CHECK(!differ || !transposed, "padding is ", padding, "; a transposed convolution needs equal sides");
    if (!differ) more.clear();
  }
  Tensor Padded(const Tensor& input) const { return more.empty() ? input : at::constant_pad_nd(input, more); }
  Tensor Without(const Tensor& padded) const {
    if (more.empty()) return padded;
    std::vector<int64_t> less(more.size());
    for (size_t i = 0; i < more.size(); ++i) less[i] = -more[i];
    return at::constant_pad_nd(padded, less);
  }
};

// The sums of int8 products are exact in double.
void QuantizedConvolution(const Tensor& input, const Tensor& weight, const OptTensor& bias, const Tensor& scale,
                          IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups,
                          Tensor& output) {
  const std::vector<int64_t> none(stride.size(), 0);
  const Tensor sums = at::convolution(input.to(at::kDouble), weight.to(at::kDouble), std::nullopt, stride, padding,
                                      dilation, /*transposed=*/false, none, groups);
  std::vector<int64_t> channel(sums.dim(), 1);
  channel[1] = -1;
  const bool bias_first = bias.has_value() && bias->scalar_type() == at::kInt;  // in the sums' own unit
  Tensor result = bias_first ? sums.add(bias->to(at::kDouble).reshape(channel)) : sums;
  result = result.to(at::kFloat).mul_(DecodedScale(scale).reshape(channel));
  if (bias.has_value() && !bias_first) result = result.add(bias->to(at::kFloat).reshape(channel));
  if (at::isFloatingType(output.scalar_type()) && output.element_size() > 1) {
    Write(output, result);
  } else {
    WriteQuantized(output, result);
  }
}

// ATen trusts the shape. A number without dimensions unfolds into one element.
void CheckUnfolded(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t size, int64_t step) {
  std::vector<int64_t> wanted = sizes.empty() ? std::vector<int64_t>{1} : sizes.vec();
  const int64_t axis = at::maybe_wrap_dim(dim, static_cast<int64_t>(wanted.size()));
  int64_t& along = wanted[static_cast<size_t>(axis)];
  TORCH_CHECK(step > 0 && size > 0 && size <= along, "size is ", size, " and step ", step, " on a dimension of ",
              along);
  along = (along - size) / step + 1;
  if (!sizes.empty()) wanted.push_back(size);
  TORCH_CHECK(grad.sizes() == IntArrayRef(wanted), "gradOut has shape ", grad.sizes(), "; it must be ", wanted);
}

}  // namespace

MP_KERNEL(aclnnConvolution, const Tensor& input, const Tensor& weight, const OptTensor& bias, IntArrayRef stride,
          IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups,
          Tensor& output) {
  // ATen's transposed convolution of half types adds up rounded numbers.
  const auto wide = [&](const Tensor& tensor) {
    return transposed && IsHalf(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
  };
  const OptTensor wide_bias = bias.has_value() ? OptTensor(wide(*bias)) : bias;
  const Sides sides(input, padding, transposed);
  const std::vector<int64_t> none(stride.size(), 0);
  Produce(output, [&] {
    return at::convolution(wide(sides.Padded(input)), wide(weight), wide_bias, stride, sides.equal, dilation,
                           transposed, transposed ? output_padding : IntArrayRef(none), groups);
  });
}

MP_WIDE_KERNEL(aclnnConvolutionBackward, const Tensor& grad_output, const Tensor& input, const Tensor& weight,
               OptIntArrayRef bias_sizes, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
               bool transposed, IntArrayRef output_padding, int64_t groups, BoolArray mask, Tensor* grad_input,
               Tensor* grad_weight, Tensor* grad_bias) {
  const auto wanted = WantedOutputs<3>(mask, {grad_input, grad_weight, grad_bias});
  const Loan loan({wanted[0] ? grad_input : nullptr, wanted[1] ? grad_weight : nullptr});
  at::OptionalIntArrayRef sizes;
  if (bias_sizes.has_value()) sizes = *bias_sizes;
  const Sides sides(input, padding, transposed);
  const std::vector<int64_t> none(stride.size(), 0);
  const auto [to_padded, to_weight, to_bias] =
      at::convolution_backward(grad_output, sides.Padded(input), weight, sizes, stride, sides.equal, dilation,
                               transposed, transposed ? output_padding : IntArrayRef(none), groups, wanted);
  const Tensor to_input = to_padded.defined() ? sides.Without(to_padded) : to_padded;
  DeliverAll({{grad_input, to_input}, {grad_weight, to_weight}, {grad_bias, to_bias}});
}

MP_WIDE_KERNEL(aclnnConvDepthwise2d, const Tensor& self, const Tensor& weight, IntArrayRef kernel,
               const OptTensor& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, Tensor& out) {
  TORCH_CHECK(weight.sizes().slice(2) == kernel, "kernelSize is ", kernel, " but the weight has shape ",
              weight.sizes());
  Write(out, at::conv2d(self, weight, bias, stride, padding, dilation, self.size(-3)));
}

MP_WIDE_KERNEL(aclnnConvTbc, const Tensor& self, const Tensor& weight, const OptTensor& bias, int64_t pad,
               Tensor& output) {
  Write(output, at::conv_tbc(self.contiguous(), weight.contiguous(),
                             bias.has_value() ? *bias : at::zeros({weight.size(2)}, weight.options()), pad));
}
MP_WIDE_KERNEL(aclnnConvTbcBackward, const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& bias,
               int64_t pad, Tensor& grad_input, Tensor& grad_weight, Tensor& grad_bias) {
  const auto [to_input, to_weight, to_bias] =
      at::conv_tbc_backward(grad.contiguous(), input.contiguous(), weight.contiguous(), bias, pad);
  Write(grad_input, to_input);
  Write(grad_weight, to_weight);
  Write(grad_bias, to_bias);
}

MP_KERNEL(aclnnQuantConvolution, const Tensor& input, const Tensor& weight, const OptTensor& bias, const Tensor& scale,
          const OptTensor& offset, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
          int64_t groups, int64_t offset_x, Tensor& output) {
  TORCH_CHECK(!transposed, "a transposed quantised convolution is not supported");
  TORCH_CHECK(!offset.has_value() && offset_x == 0, "offset and offsetx are not supported, as on the device");
  QuantizedConvolution(input, weight, bias, scale, stride, padding, dilation, groups, output);
}

MP_KERNEL(QuantConv2D, const Tensor& x, const Tensor& filter, const Tensor& scale, const OptTensor& bias,
          const OptTensor& offset, IntArrayRef strides, IntArrayRef pads, IntArrayRef dilations, int64_t groups,
          int64_t offset_x, Tensor& y) {
  TORCH_CHECK(!offset.has_value() && offset_x == 0, "offset and offset_x are not supported, as on the device");
  TORCH_CHECK(strides.size() == 4 && pads.size() == 4 && dilations.size() == 4,
              "strides, pads and dilations need 4 entries each; there are ", strides.size(), ", ", pads.size(), ", ",
              dilations.size());
  const Tensor padded = at::constant_pad_nd(x, {pads[2], pads[3], pads[0], pads[1]});
  QuantizedConvolution(padded, filter, bias, scale, strides.slice(2), {0, 0}, dilations.slice(2), groups, y);
}

MP_KERNEL(aclnnIm2col, const Tensor& self, IntArrayRef kernel, IntArrayRef dilation, IntArrayRef padding,
          IntArrayRef stride, Tensor& out) {
  Write(out, at::im2col(self, kernel, dilation, padding, stride));
}
MP_WIDE_KERNEL(aclnnIm2colBackward, const Tensor& grad, IntArrayRef size, IntArrayRef kernel, IntArrayRef dilation,
               IntArrayRef padding, IntArrayRef stride, Tensor& out) {
  Write(out, at::col2im(grad, size, kernel, dilation, padding, stride));
}
MP_WIDE_KERNEL(aclnnUnfoldGrad, const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t size, int64_t step,
               Tensor& out) {
  CheckUnfolded(grad, sizes, dim, size, step);
  Write(out, at::unfold_backward(grad, sizes, dim, size, step));
}

}  // namespace millpond::kernels

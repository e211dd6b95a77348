// SPDX-License-Identifier: Apache-2.0
// Pooling by averages, and unpooling.
#include "src/kernels/runtime/lend.h"
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {
namespace {

// ATen reads as many planes of the gradient as self has.
void CheckPlanes(const Tensor& grad, const Tensor& self, int64_t spatial) {
  TORCH_CHECK(grad.dim() == self.dim() && self.dim() > spatial &&
                  grad.sizes().slice(0, grad.dim() - spatial) == self.sizes().slice(0, self.dim() - spatial),
              "gradOutput has shape ", grad.sizes(), ", self ", self.sizes());
}

std::optional<int64_t> Divisor(int64_t value) { return value == 0 ? std::nullopt : std::optional<int64_t>(value); }

// Pages "aclnnMaxUnpool2d" and "aclnnMaxUnpool3d": an output has as much room as the operand.
void CheckUnpooled(const Tensor& self, IntArrayRef size, size_t spatial) {
  TORCH_CHECK(size.size() == spatial && self.dim() > static_cast<int64_t>(spatial), "outputSize has ", size.size(),
              " entries, the operand shape ", self.sizes());
  const auto given = self.sizes().slice(static_cast<size_t>(self.dim()) - spatial);
  TORCH_CHECK(c10::multiply_integers(size) >= c10::multiply_integers(given), "outputSize is ", size,
              "; it must have room for ", given);
}

}  // namespace

MP_KERNEL(aclnnAvgPool2d, const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, bool ceil,
          bool count_padding, int64_t divisor, Tensor& out) {
  Produce(out, [&] { return at::avg_pool2d(self, kernel, stride, padding, ceil, count_padding, Divisor(divisor)); });
}
MP_WIDE_KERNEL(aclnnAvgPool2dBackward, const Tensor& grad_output, const Tensor& self, IntArrayRef kernel,
               IntArrayRef stride, IntArrayRef padding, bool ceil, bool count_padding, int64_t divisor,
               Tensor& grad_input) {
  Write(grad_input,
        at::avg_pool2d_backward(grad_output, self, kernel, stride, padding, ceil, count_padding, Divisor(divisor)));
}

MP_WIDE_KERNEL(aclnnAvgPool3d, const Tensor& self, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
               bool ceil, bool count_padding, int64_t divisor, Tensor& out) {
  Produce(out, [&] {
    return at::avg_pool3d(Widened(self), kernel, stride, padding, ceil, count_padding, Divisor(divisor));
  });
}
MP_WIDE_KERNEL(aclnnAvgPool3dBackward, const Tensor& grad_output, const Tensor& self, IntArrayRef kernel,
               IntArrayRef stride, IntArrayRef padding, bool ceil, bool count_padding, int64_t divisor,
               Tensor& grad_input) {
  CheckPlanes(grad_output, self, 3);
  Produce(grad_input, [&] {
    return at::avg_pool3d_backward(Widened(grad_output), Widened(self), kernel, stride, padding, ceil, count_padding,
                                   Divisor(divisor));
  });
}

MP_WIDE_KERNEL(aclnnAdaptiveAvgPool2d, const Tensor& self, IntArrayRef size, Tensor& out) {
  Produce(out, [&] { return at::_adaptive_avg_pool2d(self, size); });
}
MP_WIDE_KERNEL(aclnnAdaptiveAvgPool2dBackward, const Tensor& grad_output, const Tensor& self, Tensor& out) {
  CheckPlanes(grad_output, self, 2);
  Produce(out, [&] { return at::_adaptive_avg_pool2d_backward(grad_output, self); });
}
MP_WIDE_KERNEL(aclnnAdaptiveAvgPool3d, const Tensor& self, IntArrayRef size, Tensor& out) {
  Produce(out, [&] { return at::_adaptive_avg_pool3d(self, size); });
}
MP_WIDE_KERNEL(aclnnAdaptiveAvgPool3dBackward, const Tensor& grad_output, const Tensor& self, Tensor& out) {
  CheckPlanes(grad_output, self, 3);
  Produce(out, [&] { return at::_adaptive_avg_pool3d_backward(grad_output, self); });
}

MP_KERNEL(aclnnMaxUnpool2d, const Tensor& self, const Tensor& indices, IntArrayRef size, Tensor& out) {
  CheckUnpooled(self, size, 2);
  Produce(out, [&] { return at::max_unpool2d(self, indices.to(at::kLong), size); });
}
MP_KERNEL(aclnnMaxUnpool3d, const Tensor& self, const Tensor& indices, IntArrayRef size, IntArrayRef stride,
          IntArrayRef padding, Tensor& out) {
  CheckUnpooled(self, size, 3);
  Produce(out, [&] { return at::max_unpool3d(self, indices.to(at::kLong), size, stride, padding); });
}

// The gradient comes back from where the element went.
MP_KERNEL(MaxUnpoolGradient, const Tensor& grad, const Tensor& indices, IntArrayRef size, Tensor& out) {
  const auto spatial = static_cast<int64_t>(size.size());
  TORCH_CHECK(grad.dim() >= spatial && grad.sizes().slice(static_cast<size_t>(grad.dim() - spatial)) == size,
              "gradOutput has shape ", grad.sizes(), "; it must end in ", size);
  const auto flat = [&](const Tensor& x) { return x.flatten(x.dim() - spatial); };
  WriteElements(out, flat(grad).gather(-1, flat(indices.to(at::kLong))));
}
MP_WIDE_KERNEL(aclnnGlobalAveragePool, const Tensor& self, Tensor& out) {
  TORCH_CHECK(self.dim() > 2, "self has ", self.dim(), " dimensions; it must have more than two");
  WriteElements(out, self.flatten(2).mean(-1));
}
MP_KERNEL(aclnnGlobalMaxPool, const Tensor& self, Tensor& out) {
  TORCH_CHECK(self.dim() > 2, "self has ", self.dim(), " dimensions; it must have more than two");
  WriteElements(out, self.flatten(2).amax(-1));
}
// pads: none, one for all sides, {top = bottom, left = right}, or {top, left, bottom, right}.
MP_KERNEL(aclnnMaxPool, const Tensor& self, IntArrayRef kernel, IntArrayRef strides, IntArrayRef pads,
          IntArrayRef dilations, int64_t ceil, Tensor& out) {
  TORCH_CHECK((self.dim() == 3 || self.dim() == 4) && (kernel.size() == 1 || kernel.size() == 2), "self has ",
              self.dim(), " dimensions and kernelShape ", kernel.size(), " entries; 3 or 4 and 1 or 2 go");
  TORCH_CHECK(strides.size() <= 2 && (pads.size() <= 2 || pads.size() == 4), "strides has ", strides.size(),
              " entries and pads ", pads.size(), "; 0 to 2, and 0, 1, 2 or 4 go");
  for (const int64_t dilation : dilations) TORCH_CHECK(dilation == 1, "a dilation is ", dilation, "; 1 is supported");
  const auto entry = [](IntArrayRef list, size_t i, int64_t other) {
    return list.empty() ? other : list[list.size() == 1 ? 0 : i];
  };
  const int64_t before[2] = {entry(pads, 0, 0), entry(pads, 1, 0)};
  const int64_t after[2] = {pads.size() == 4 ? pads[2] : before[0], pads.size() == 4 ? pads[3] : before[1]};
  const bool whole = at::isIntegralType(self.scalar_type(), true);
  const Tensor x = whole ? self.to(at::kDouble) : self;
  int64_t extra[2];  // so that every window is whole; windows that begin behind the padding are left out
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t size = self.size(self.dim() - 2 + i);
    const int64_t window = entry(kernel, static_cast<size_t>(i), 1);
    const int64_t stride = entry(strides, static_cast<size_t>(i), 1);
    TORCH_CHECK(window > 0 && stride > 0, "windows of ", window, " by steps of ", stride, "; both must be above 0");
    const int64_t room = size + before[i] + after[i] - window;
    int64_t count = (ceil != 0 ? (room + stride - 1) / stride : room / stride) + 1;
    if ((count - 1) * stride >= size + before[i]) --count;
    extra[i] = std::max<int64_t>(0, (count - 1) * stride + window - size - before[i]);
  }
  const Tensor padded =
      at::constant_pad_nd(x, {before[1], extra[1], before[0], extra[0]}, -std::numeric_limits<double>::infinity());
  const int64_t windows[2] = {entry(kernel, 0, 1), entry(kernel, 1, 1)};
  const int64_t steps[2] = {entry(strides, 0, 1), entry(strides, 1, 1)};
  const Tensor result = at::max_pool2d(padded, windows, steps);
  Write(out, result.slice(-2, 0, out.size(-2)).slice(-1, 0, out.size(-1)));
}

}  // namespace millpond::kernels

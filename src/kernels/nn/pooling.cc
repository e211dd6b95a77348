// SPDX-License-Identifier: Apache-2.0
// Pooling by averages, and unpooling.
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/lend.h"

namespace millpond::kernels {
namespace {

// The CPU has no half kernels for averages of volumes.
Tensor Widened(const Tensor& tensor) { return IsHalf(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor; }

std::optional<int64_t> Divisor(int64_t value) { return value == 0 ? std::nullopt : std::optional<int64_t>(value); }

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
  Produce(grad_input, [&] {
    return at::avg_pool3d_backward(Widened(grad_output), Widened(self), kernel, stride, padding, ceil, count_padding,
                                   Divisor(divisor));
  });
}

MP_WIDE_KERNEL(aclnnAdaptiveAvgPool2d, const Tensor& self, IntArrayRef size, Tensor& out) {
  Produce(out, [&] { return at::_adaptive_avg_pool2d(self, size); });
}
MP_WIDE_KERNEL(aclnnAdaptiveAvgPool2dBackward, const Tensor& grad_output, const Tensor& self, Tensor& out) {
  Produce(out, [&] { return at::_adaptive_avg_pool2d_backward(grad_output, self); });
}
MP_WIDE_KERNEL(aclnnAdaptiveAvgPool3d, const Tensor& self, IntArrayRef size, Tensor& out) {
  Produce(out, [&] { return at::_adaptive_avg_pool3d(self, size); });
}
MP_WIDE_KERNEL(aclnnAdaptiveAvgPool3dBackward, const Tensor& grad_output, const Tensor& self, Tensor& out) {
  Produce(out, [&] { return at::_adaptive_avg_pool3d_backward(grad_output, self); });
}

MP_KERNEL(aclnnMaxUnpool2d, const Tensor& self, const Tensor& indices, IntArrayRef size, Tensor& out) {
  Produce(out, [&] { return at::max_unpool2d(self, indices.to(at::kLong), size); });
}
MP_KERNEL(aclnnMaxUnpool3d, const Tensor& self, const Tensor& indices, IntArrayRef size, IntArrayRef stride,
          IntArrayRef padding, Tensor& out) {
  Produce(out, [&] { return at::max_unpool3d(self, indices.to(at::kLong), size, stride, padding); });
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Activations, into an output and in place.
#include "src/kernels/nn/activation.h"

namespace millpond::kernels {
namespace {

Tensor FastGelu(const Tensor& self) { return at::sigmoid(at::mul(self, kFastGeluSlope)).mul_(self); }

void Gelu(Tensor& out, const Tensor& self, int64_t approximate) {
  if (self.scalar_type() == out.scalar_type()) {
    at::gelu_out(out, self, GeluKind(approximate));
  } else {
    Write(out, at::gelu(self, GeluKind(approximate)));
  }
}

}  // namespace

// The output has the operand's type.
#define MP_ACTIVATION(name, function) \
  MP_KERNEL(name, const Tensor& self, Tensor& out) { at::function##_out(out, self); }

MP_ACTIVATION(aclnnHardswish, hardswish)
MP_ACTIVATION(aclnnMish, mish)
MP_ACTIVATION(aclnnSilu, silu)
#undef MP_ACTIVATION

// Page "aclnnHardsigmoid": an integer's result is cut to an integer.
MP_KERNEL(aclnnHardsigmoid, const Tensor& self, Tensor& out) {
  if (at::isIntegralType(self.scalar_type(), /*includeBool=*/true)) {
    Write(out, at::hardsigmoid(self.to(at::kFloat)));
  } else {
    at::hardsigmoid_out(out, self);
  }
}

// relu's own out form makes a temporary.
MP_KERNEL(aclnnRelu, const Tensor& self, Tensor& out) { at::clamp_min_out(out, self, 0); }

MP_KERNEL(aclnnElu, const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale,
          Tensor& out) {
  at::elu_out(out, self, alpha, scale, input_scale);
}
MP_KERNEL(aclnnCelu, const Tensor& self, const Scalar& alpha, Tensor& out) {
  TORCH_CHECK(alpha.to<double>() != 0, "alpha must not be 0");
  at::elu_out(out, self, alpha, 1.0, 1.0 / alpha.to<double>());
}

MP_KERNEL(aclnnFastGelu, const Tensor& self, Tensor& out) { Write(out, FastGelu(Widened(self))); }
MP_KERNEL(aclnnGeluV2, const Tensor& self, int64_t approximate, Tensor& out) { Gelu(out, self, approximate); }

MP_KERNEL(aclnnGlu, const Tensor& self, int64_t dim, Tensor& out) { Write(out, at::glu(self, dim)); }

MP_KERNEL(aclnnHardshrink, const Tensor& self, const Scalar& lambd, Tensor& out) {
  at::hardshrink_out(out, self, lambd);
}
MP_KERNEL(aclnnSoftshrink, const Tensor& self, const Scalar& lambd, Tensor& out) {
  at::softshrink_out(out, self, lambd);
}
MP_KERNEL(aclnnHardtanh, const Tensor& self, const Scalar& min, const Scalar& max, Tensor& out) {
  TORCH_CHECK(!(min.to<double>() > max.to<double>()), "clipValueMin is ", min, " and clipValueMax ", max,
              "; the first must not be above the second");
  at::hardtanh_out(out, self, min, max);
}
MP_KERNEL(aclnnLeakyRelu, const Tensor& self, const Scalar& slope, Tensor& out) {
  at::leaky_relu_out(out, self, slope);
}
MP_KERNEL(aclnnSoftplus, const Tensor& self, const Scalar& beta, const Scalar& threshold, Tensor& out) {
  at::softplus_out(out, self, beta, threshold);
}
MP_KERNEL(aclnnThreshold, const Tensor& self, const Scalar& threshold, const Scalar& value, Tensor& out) {
  at::threshold_out(out, self, threshold, value);
}

MP_KERNEL(aclnnLogSigmoid, const Tensor& self, Tensor& out) { Write(out, at::log_sigmoid(self)); }
MP_KERNEL(aclnnLogSigmoidForward, const Tensor& self, Tensor& out, Tensor* buffer) {
  const auto [value, kept] = at::log_sigmoid_forward(self);
  Write(out, value);
  // torch_npu gives an empty buffer, since its backward does without.
  if (buffer != nullptr && buffer->sizes() == kept.sizes()) buffer->copy_(kept);
}

MP_KERNEL(aclnnPrelu, const Tensor& self, const Tensor& weight, Tensor& out) {
  Write(out, at::_prelu_kernel(self, PerChannel(weight, self)));
}

}  // namespace millpond::kernels

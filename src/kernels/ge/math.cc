// SPDX-License-Identifier: Apache-2.0
// Element-wise arithmetic that only the GE door has.
#include "src/kernels/runtime/outputs.h"
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {
namespace {

Tensor ThroughFunction(const Tensor& y, const Tensor& g, int64_t how) {
  switch (how) {
    case 0:
      return g * y.sign();
    case 1:
      return -g * (1 - y * y).rsqrt();
    case 2:
      return g * (1 - y * y).rsqrt();
    case 3:
      return g / (1 + y * y);
    case 4:
      return g / y.sinh();
    case 5:
      return g / y.cosh();
    case 6:
      return -g * y * y;
    case 7:
      return -0.5 * g * y * y * y;
    case 8:
      return 0.5 * g / y;
    case 9: {
      constexpr double kScale = 1.0507009873554805;
      constexpr double kAlpha = 1.6732632423543772;
      return at::where(y.lt(0), g * (y + kScale * kAlpha), g * kScale);
    }
    case 10:
      return g / (1 + y.abs()).square();
    default:
      TORCH_CHECK(false, "there is no gradient ", how);
  }
}

}  // namespace

MP_KERNEL(PartOf, const Tensor& self, int64_t how, Tensor& out) {
  if (how == 0) return Write(out, self.is_complex() ? at::real(self) : self);
  Write(out, self.is_complex() ? at::imag(self) : at::zeros_like(self));
}
MP_KERNEL(Conjugated, const Tensor& self, Tensor& out) {
  Write(out, self.is_complex() ? at::conj_physical(self) : self);
}
MP_KERNEL(Infinite, const Tensor& self, Tensor& out) { Write(out, at::isinf(self)); }
MP_KERNEL(GammaOf, const Tensor& self, int64_t how, Tensor& out) {
  Write(out, how == 0 ? at::lgamma(Widened(self)) : at::digamma(Widened(self)));
}

MP_KERNEL(SafeArithmetic, const Tensor& self, const Tensor& other, int64_t how, Tensor& out) {
  if (how == 1) return Write(out, at::where(other.eq(0), at::zeros_like(other), self * other));
  const Tensor zero = how == 0 ? other.eq(0) : self.eq(0);
  // Integers: the quotient is made with a divisor that is not zero, whatever it then is.
  const Tensor divisor = how == 0 ? other.masked_fill(zero, 1) : other;
  const Tensor quotient =
      at::isIntegralType(out.scalar_type(), false) ? at::div(self, divisor, "trunc") : self / divisor;
  Write(out, quotient.masked_fill(zero.expand_as(quotient), 0));
}
MP_KERNEL(NearlyEqual, const Tensor& self, const Tensor& other, double tolerance, Tensor& out) {
  Write(out, (self - other).abs().lt(tolerance));
}
MP_KERNEL(MultipliedAdded, const Tensor& x1, const Tensor& x2, const Tensor& x3, Tensor& out) {
  Write(out, (Widened(x1) * Widened(x2)).add(Widened(x3)).expand(out.sizes()));
}
// The factor lies on the device.
MP_KERNEL(AddedScaled, const Tensor& self, const Tensor& other, const Tensor& alpha, Tensor& out) {
  TORCH_CHECK(alpha.numel() == 1, "alpha has ", alpha.numel(), " elements; one is needed");
  Write(out, self.to(out.scalar_type()) + other.to(out.scalar_type()) * alpha.reshape({}).to(out.scalar_type()));
}
MP_KERNEL(SubtractedScaled, const Tensor& self, const Tensor& other, const OptTensor& alpha, Tensor& out) {
  TORCH_CHECK(!alpha || alpha->numel() == 1, "alpha must have one element");
  Tensor second = other.to(out.scalar_type());
  if (alpha) second = second * alpha->reshape({}).to(out.scalar_type());
  Write(out, self.to(out.scalar_type()) - second);
}
MP_KERNEL(PoweredLine, const Tensor& self, double power, double scale, double shift, Tensor& out) {
  Write(out, (Widened(self) * scale + shift).pow(power));
}
MP_KERNEL(ExponentialLine, const Tensor& self, double base, double scale, double shift, Tensor& out) {
  if (base == -1 && scale == 1 && shift == 0) {
    at::exp_out(out, self);
    return;
  }
  const Tensor line = Widened(self) * scale + shift;
  Write(out, base == -1 ? line.exp() : at::pow(Scalar(base), line));
}
MP_KERNEL(Quotient, const Tensor& self, const Tensor& other, Tensor& out) {
  const bool whole = at::isIntegralType(out.scalar_type(), /*includeBool=*/true);
  at::div_out(out, self, other, whole ? std::optional<string_view>("trunc") : std::nullopt);
}
MP_KERNEL(LogarithmLine, const Tensor& self, double base, double scale, double shift, Tensor& out) {
  if (base == -1 && scale == 1 && shift == 0) {
    at::log_out(out, self);
    return;
  }
  const Tensor result = (Widened(self) * scale + shift).log();
  Write(out, base == -1 ? result : result / std::log(base));
}
MP_KERNEL(MembersTogether, TensorList members, int64_t count, int64_t mode, OptDoubleArray coefficients, Tensor& out) {
  TORCH_CHECK(!members.empty() && static_cast<size_t>(count) == members.size(), "N is ", count, " for ", members.size(),
              " members");
  const bool scaled = mode == 1 && coefficients && !coefficients->empty();
  TORCH_CHECK(!scaled || coefficients->size() == members.size(), "there are ", coefficients ? coefficients->size() : 0,
              " coefficients for ", members.size(), " members");
  TORCH_CHECK(mode >= 0 && mode <= 2, "mode is ", mode, "; it must be 0 (product), 1 (sum) or 2 (maximum)");
  Tensor result = scaled ? Widened(members[0]) * (*coefficients)[0] : Widened(members[0]);
  for (size_t i = 1; i < members.size(); ++i) {
    const Tensor next = scaled ? Widened(members[i]) * (*coefficients)[i] : Widened(members[i]);
    result = mode == 0 ? result * next : mode == 1 ? result + next : at::maximum(result, next);
  }
  Write(out, result);
}
MP_KERNEL(BesselOf, const Tensor& self, int64_t order, Tensor& out) {
  Write(out, order == 0 ? at::special_i0e(Widened(self)) : at::special_i1e(Widened(self)));
}
// What is not above the threshold becomes the value.
MP_KERNEL(ClippedAbove, const Tensor& self, const Tensor& threshold, const OptTensor& value, Tensor& out) {
  const Scalar other = value ? value->item() : Scalar(0);
  Write(out, at::threshold(self, threshold.item(), other));
}
MP_KERNEL(AboveThreshold, const Tensor& self, double threshold, Tensor& out) { Write(out, self.gt(threshold)); }
MP_KERNEL(CeluOf, const Tensor& self, double alpha1, double alpha2, double alpha3, Tensor& out) {
  const Tensor x = Widened(self);
  Write(out, at::where(x.gt(0), x * alpha3, (x / alpha2).expm1() * alpha1));
}
MP_KERNEL(ScaledSwish, const Tensor& self, double scale, Tensor& out) {
  if (scale == 1) {
    at::silu_out(out, self);
    return;
  }
  const Tensor x = Widened(self);
  Write(out, x * (x * scale).sigmoid());
}
MP_KERNEL(ScaledSwishGrad, const Tensor& gradient, const Tensor& self, double scale, Tensor& out) {
  const Tensor x = Widened(self);
  const Tensor gate = (x * scale).sigmoid();
  Write(out, Widened(gradient) * gate * (1 + x * scale * (1 - gate)));
}
MP_KERNEL(Softsigned, const Tensor& self, Tensor& out) {
  const Tensor x = Widened(self);
  Write(out, x / (1 + x.abs()));
}
MP_KERNEL(GeluGradient, const Tensor& gradient, const Tensor& self, Tensor& out) {
  Write(out, at::gelu_backward(Widened(gradient), Widened(self), "tanh"));
}
MP_KERNEL(BiasGradient, const Tensor& self, string_view format, Tensor& out) {
  const int64_t channel = !format.empty() && format.back() == 'C' ? self.dim() - 1 : 1;
  std::vector<int64_t> others;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i != channel) others.push_back(i);
  }
  Write(out, at::sum(self, others, false, out.scalar_type()));
}
MP_KERNEL(GradientThrough, const Tensor& y, const Tensor& gradient, int64_t how, Tensor& out) {
  Write(out, ThroughFunction(Widened(y), Widened(gradient), how));
}

}  // namespace millpond::kernels

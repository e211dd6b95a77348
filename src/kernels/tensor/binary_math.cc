// SPDX-License-Identifier: Apache-2.0
// Functions of two or three operands: extremes, lerp, addcmul, where, complex numbers, logarithms.
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {

MP_KERNEL(aclnnMaximum, const Tensor& self, const Tensor& other, Tensor& out) { at::maximum_out(out, self, other); }
MP_KERNEL(aclnnMinimum, const Tensor& self, const Tensor& other, Tensor& out) { at::minimum_out(out, self, other); }

// The factor may lie on the device.
MP_KERNEL(Addcmul, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Operand& value,
          Tensor& out) {
  at::addcmul_out(out, self, tensor1, tensor2, value.value("value"));
}
MP_KERNEL(Addcdiv, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, const Operand& value,
          Tensor& out) {
  at::addcdiv_out(out, self, tensor1, tensor2, value.value("value"));
}

MP_KERNEL(aclnnAddRelu, const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  Write(out, at::add(self, other, alpha).relu_());
}

MP_KERNEL(Lerp, const Tensor& self, const Tensor& end, const Operand& weight, Tensor& out) {
  if (weight.is_number()) {
    at::lerp_out(out, self, end, weight.number());
  } else {
    at::lerp_out(out, self, end, weight.tensor());
  }
}

MP_KERNEL(aclnnSWhere, const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
  const Tensor chosen = condition.scalar_type() == at::kBool ? condition : condition.to(at::kBool);
  if (at::result_type(self, other) == out.scalar_type()) {
    at::where_out(out, chosen, self, other);
  } else {
    Write(out, at::where(chosen, self, other));
  }
}

MP_KERNEL(aclnnMaskedScale, const Tensor& self, const Tensor& mask, double scale, Tensor& out) {
  // Half types in float: the product is rounded once.
  const Tensor wide = Widened(self);
  Write(out, at::mul(wide, mask).mul_(scale));
}

MP_KERNEL(aclnnComplex, const Tensor& real, const Tensor& imag, Tensor& out) {
  const ScalarType type = at::toRealValueType(out.scalar_type());
  if (real.scalar_type() == type && imag.scalar_type() == type) {
    at::complex_out(out, real, imag);
  } else {
    Write(out, at::complex(real.to(type), imag.to(type)));
  }
}
MP_KERNEL(aclnnPolar, const Tensor& abs, const Tensor& angle, Tensor& out) { at::polar_out(out, abs, angle); }

MP_KERNEL(aclnnAtan2, const Tensor& self, const Tensor& other, Tensor& out) { at::atan2_out(out, self, other); }

MP_WIDE_KERNEL(aclnnIsClose, const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan,
               Tensor& out) {
  Write(out, at::isclose(self, other, rtol, atol, equal_nan));
}

MP_WIDE_KERNEL(aclnnLinalgCross, const Tensor& self, const Tensor& other, int64_t dim, Tensor& out) {
  Write(out, at::linalg_cross(self, other, dim));
}

MP_KERNEL(aclnnLogAddExp, const Tensor& self, const Tensor& other, Tensor& out) { at::logaddexp_out(out, self, other); }
MP_KERNEL(aclnnLogAddExp2, const Tensor& self, const Tensor& other, Tensor& out) {
  at::logaddexp2_out(out, self, other);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Arithmetic on two operands: add, subtract, multiply, divide, power, remainder.
#include "src/kernels/elementwise.h"

namespace millpond::kernels {
namespace {

std::optional<string_view> Rounding(int64_t mode) {
  TORCH_CHECK(mode >= 0 && mode <= 2, "rounding mode ", mode, " is none of 0 (none), 1 (trunc), 2 (floor)");
  if (mode == 0) return std::nullopt;
  return mode == 1 ? "trunc" : "floor";
}

}  // namespace

MP_KERNEL(aclnnAdd, const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  at::add_out(out, self, other, alpha);
}
MP_KERNEL(aclnnAdds, const Tensor& self, const Scalar& other, const Scalar& alpha, Tensor& out) {
  at::add_out(out, Lifted(self, other, out), Number(other), alpha);
}
MP_KERNEL(aclnnAddV3, const Scalar& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  at::add_out(out, Number(self), Lifted(other, self, out), alpha);
}
MP_KERNEL(aclnnSub, const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  at::sub_out(out, self, other, alpha);
}
MP_KERNEL(aclnnSubs, const Tensor& self, const Scalar& other, const Scalar& alpha, Tensor& out) {
  at::sub_out(out, Lifted(self, other, out), Number(other), alpha);
}
MP_KERNEL(aclnnRsub, const Tensor& self, const Tensor& other, const Scalar& alpha, Tensor& out) {
  at::sub_out(out, other, self, alpha);
}
MP_KERNEL(aclnnRsubs, const Tensor& self, const Scalar& other, const Scalar& alpha, Tensor& out) {
  at::sub_out(out, Number(other), Lifted(self, other, out), alpha);
}
MP_KERNEL(aclnnMul, const Tensor& self, const Tensor& other, Tensor& out) { at::mul_out(out, self, other); }
MP_KERNEL(aclnnMuls, const Tensor& self, const Scalar& other, Tensor& out) {
  at::mul_out(out, Lifted(self, other, out), Number(other));
}
MP_KERNEL(aclnnDiv, const Tensor& self, const Tensor& other, Tensor& out) { at::div_out(out, self, other); }
MP_KERNEL(aclnnDivs, const Tensor& self, const Scalar& other, Tensor& out) {
  at::div_out(out, Lifted(self, other, out), Number(other));
}
MP_KERNEL(aclnnDivMod, const Tensor& self, const Tensor& other, int64_t mode, Tensor& out) {
  at::div_out(out, self, other, Rounding(mode));
}
MP_KERNEL(aclnnDivMods, const Tensor& self, const Scalar& other, int64_t mode, Tensor& out) {
  at::div_out(out, Lifted(self, other, out), Number(other), Rounding(mode));
}
MP_KERNEL(aclnnFloorDivide, const Tensor& self, const Tensor& other, Tensor& out) {
  at::floor_divide_out(out, self, other);
}
MP_KERNEL(aclnnFloorDivides, const Tensor& self, const Scalar& other, Tensor& out) {
  at::floor_divide_out(out, Lifted(self, other, out), Number(other));
}
MP_KERNEL(aclnnFmodTensor, const Tensor& self, const Tensor& other, Tensor& out) { at::fmod_out(out, self, other); }
MP_KERNEL(aclnnFmodScalar, const Tensor& self, const Scalar& other, Tensor& out) {
  at::fmod_out(out, Lifted(self, other, out), Number(other));
}
MP_KERNEL(aclnnRemainderTensorTensor, const Tensor& self, const Tensor& other, Tensor& out) {
  at::remainder_out(out, self, other);
}
MP_KERNEL(aclnnRemainderTensorScalar, const Tensor& self, const Scalar& other, Tensor& out) {
  at::remainder_out(out, Lifted(self, other, out), Number(other));
}
MP_KERNEL(aclnnRemainderScalarTensor, const Scalar& self, const Tensor& other, Tensor& out) {
  at::remainder_out(out, Number(self), Lifted(other, self, out));
}
MP_KERNEL(aclnnPowTensorTensor, const Tensor& self, const Tensor& exponent, Tensor& out) {
  at::pow_out(out, self, exponent);
}
MP_KERNEL(aclnnPowTensorScalar, const Tensor& self, const Scalar& exponent, Tensor& out) {
  at::pow_out(out, Lifted(self, exponent, out), exponent);
}
MP_KERNEL(aclnnPowScalarTensor, const Scalar& self, const Tensor& exponent, Tensor& out) {
  at::pow_out(out, self, Lifted(exponent, self, out));
}

MP_KERNEL(aclnnInplaceAdd, Tensor& self, const Tensor& other, const Scalar& alpha) { self.add_(other, alpha); }
MP_KERNEL(aclnnInplaceAdds, Tensor& self, const Scalar& other, const Scalar& alpha) { self.add_(Number(other), alpha); }
MP_KERNEL(aclnnInplaceSub, Tensor& self, const Tensor& other, const Scalar& alpha) { self.sub_(other, alpha); }
MP_KERNEL(aclnnInplaceSubs, Tensor& self, const Scalar& other, const Scalar& alpha) { self.sub_(Number(other), alpha); }
MP_KERNEL(aclnnInplaceMul, Tensor& self, const Tensor& other) { self.mul_(other); }
MP_KERNEL(aclnnInplaceMuls, Tensor& self, const Scalar& other) { self.mul_(Number(other)); }
MP_KERNEL(aclnnInplaceDiv, Tensor& self, const Tensor& other) { self.div_(other); }
MP_KERNEL(aclnnInplaceDivs, Tensor& self, const Scalar& other) { self.div_(Number(other)); }
MP_KERNEL(aclnnInplaceDivMod, Tensor& self, const Tensor& other, int64_t mode) { self.div_(other, Rounding(mode)); }
MP_KERNEL(aclnnInplaceDivMods, Tensor& self, const Scalar& other, int64_t mode) {
  self.div_(Number(other), Rounding(mode));
}
MP_KERNEL(aclnnInplaceFloorDivide, Tensor& self, const Tensor& other) { self.floor_divide_(other); }
MP_KERNEL(aclnnInplaceFloorDivides, Tensor& self, const Scalar& other) { self.floor_divide_(Number(other)); }
MP_KERNEL(aclnnInplaceFmodTensor, Tensor& self, const Tensor& other) { self.fmod_(other); }
MP_KERNEL(aclnnInplaceFmodScalar, Tensor& self, const Scalar& other) { self.fmod_(Number(other)); }
MP_KERNEL(aclnnInplaceRemainderTensorTensor, Tensor& self, const Tensor& other) { self.remainder_(other); }
MP_KERNEL(aclnnInplaceRemainderTensorScalar, Tensor& self, const Scalar& other) { self.remainder_(Number(other)); }
MP_KERNEL(aclnnInplacePowTensorTensor, Tensor& self, const Tensor& exponent) { self.pow_(exponent); }
MP_KERNEL(aclnnInplacePowTensorScalar, Tensor& self, const Scalar& exponent) { self.pow_(exponent); }

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Bits and truth values of two operands.
#include "src/kernels/elementwise.h"

namespace millpond::kernels {
namespace {

// a op b, into an output that may be of a narrower type than the two promote to (x <<= y).
template <class Out, class Function>
void IntoAnyType(Tensor& out, const Tensor& self, const Tensor& other, Out direct, Function function) {
  if (Fits(at::result_type(self, other), out)) {
    direct(out, self, other);
  } else {
    Write(out, function(self, other));
  }
}

void ShiftLeft(Tensor& out, const Tensor& self, const Tensor& bits) {
  IntoAnyType(
      out, self, bits, [](Tensor& o, const Tensor& a, const Tensor& b) { at::bitwise_left_shift_out(o, a, b); },
      [](const Tensor& a, const Tensor& b) { return at::bitwise_left_shift(a, b); });
}

}  // namespace

#define MP_BITWISE(Name, function)                                                              \
  MP_KERNEL(aclnnBitwise##Name##Tensor, const Tensor& self, const Tensor& other, Tensor& out) { \
    at::bitwise_##function##_out(out, self, other);                                             \
  }                                                                                             \
  MP_KERNEL(aclnnBitwise##Name##Scalar, const Tensor& self, const Scalar& other, Tensor& out) { \
    at::bitwise_##function##_out(out, self, Number(other));                                     \
  }

MP_BITWISE(And, and)
MP_BITWISE(Or, or)
MP_BITWISE(Xor, xor)
#undef MP_BITWISE

MP_KERNEL(aclnnInplaceBitwiseAndScalar, Tensor& self, const Scalar& other) { self.bitwise_and_(Number(other)); }
MP_KERNEL(aclnnInplaceBitwiseAndTensor, Tensor& self, const Tensor& other) { self.bitwise_and_(other); }
MP_KERNEL(aclnnInplaceBitwiseXorScalar, Tensor& self, const Scalar& other) { self.bitwise_xor_(Number(other)); }
MP_KERNEL(aclnnInplaceBitwiseXorTensor, Tensor& self, const Tensor& other) { self.bitwise_xor_(other); }

MP_KERNEL(aclnnLeftShift, const Tensor& self, const Tensor& bits, Tensor& out) { ShiftLeft(out, self, bits); }
MP_KERNEL(aclnnLeftShifts, const Tensor& self, const Scalar& bits, Tensor& out) { ShiftLeft(out, self, Number(bits)); }
MP_KERNEL(aclnnRightShift, const Tensor& self, const Tensor& bits, Tensor& out) {
  IntoAnyType(
      out, self, bits, [](Tensor& o, const Tensor& a, const Tensor& b) { at::bitwise_right_shift_out(o, a, b); },
      [](const Tensor& a, const Tensor& b) { return at::bitwise_right_shift(a, b); });
}

MP_KERNEL(aclnnLogicalAnd, const Tensor& self, const Tensor& other, Tensor& out) {
  at::logical_and_out(out, self, other);
}
MP_KERNEL(aclnnLogicalOr, const Tensor& self, const Tensor& other, Tensor& out) {
  at::logical_or_out(out, self, other);
}
MP_KERNEL(aclnnLogicalXor, const Tensor& self, const Tensor& other, Tensor& out) {
  at::logical_xor_out(out, self, other);
}
MP_KERNEL(aclnnInplaceLogicalAnd, Tensor& self, const Tensor& other) { self.logical_and_(other); }
MP_KERNEL(aclnnInplaceLogicalOr, Tensor& self, const Tensor& other) { self.logical_or_(other); }

MP_KERNEL(aclnnGcd, const Tensor& self, const Tensor& other, Tensor& out) { at::gcd_out(out, self, other); }

}  // namespace millpond::kernels

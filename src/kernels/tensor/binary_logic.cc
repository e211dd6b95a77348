// SPDX-License-Identifier: Apache-2.0
// Bits and truth values of two operands.
#include "src/kernels/tensor/elementwise.h"

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

}  // namespace

#define MP_BINARY(name, function, Other) \
  MP_KERNEL(name, const Tensor& self, const Other& other, Tensor& out) { at::function##_out(out, self, other); }

MP_BINARY(BitwiseAnd, bitwise_and, Operand)
MP_BINARY(BitwiseOr, bitwise_or, Operand)
MP_BINARY(BitwiseXor, bitwise_xor, Operand)
MP_BINARY(aclnnLogicalAnd, logical_and, Tensor)
MP_BINARY(aclnnLogicalOr, logical_or, Tensor)
MP_BINARY(aclnnLogicalXor, logical_xor, Tensor)
MP_BINARY(aclnnGcd, gcd, Tensor)
#undef MP_BINARY

MP_KERNEL(LeftShift, const Tensor& self, const Operand& bits, Tensor& out) {
  IntoAnyType(
      out, self, bits, [](Tensor& o, const Tensor& a, const Tensor& b) { at::bitwise_left_shift_out(o, a, b); },
      [](const Tensor& a, const Tensor& b) { return at::bitwise_left_shift(a, b); });
}
MP_KERNEL(aclnnRightShift, const Tensor& self, const Tensor& bits, Tensor& out) {
  IntoAnyType(
      out, self, bits, [](Tensor& o, const Tensor& a, const Tensor& b) { at::bitwise_right_shift_out(o, a, b); },
      [](const Tensor& a, const Tensor& b) { return at::bitwise_right_shift(a, b); });
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Elementwise on one operand, into an output (which may be the operand itself).
#include <limits>

#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {

#define MP_UNARY_IF(name, function, direct)          \
  MP_KERNEL(name, const Tensor& self, Tensor& out) { \
    if (direct) {                                    \
      at::function##_out(out, self);                 \
    } else {                                         \
      Write(out, at::function(self));                \
    }                                                \
  }
// The result has the operand's type.
#define MP_UNARY(name, function) MP_UNARY_IF(name, function, Fits(self.scalar_type(), out))
// The result of an integer operand is floating, but some clients ask for it in the operand's own type. In place ATen
// refuses that.
#define MP_UNARY_FLOAT(name, function) \
  MP_UNARY_IF(name, function, out.is_same(self) || !at::isIntegralType(out.scalar_type(), true))
// The result is a truth value.
#define MP_UNARY_TEST(name, function) MP_UNARY_IF(name, function, out.scalar_type() == at::kBool)

MP_UNARY(aclnnBitwiseNot, bitwise_not)
MP_UNARY(aclnnCeil, ceil)
MP_UNARY(aclnnFloor, floor)
MP_UNARY(aclnnFrac, frac)
MP_UNARY(aclnnNeg, neg)
MP_UNARY(aclnnRound, round)
MP_UNARY(aclnnSign, sgn)  // serves sign and sgn; they differ for complex numbers only, which sign does not have
MP_UNARY(aclnnTrunc, trunc)

MP_UNARY_FLOAT(aclnnAcos, acos)
MP_UNARY_FLOAT(aclnnAcosh, acosh)
MP_UNARY_FLOAT(aclnnAngleV2, angle)
MP_UNARY_FLOAT(aclnnAsin, asin)
MP_UNARY_FLOAT(aclnnAsinh, asinh)
MP_UNARY_FLOAT(aclnnAtan, atan)
MP_UNARY_FLOAT(aclnnAtanh, atanh)
MP_UNARY_FLOAT(aclnnCos, cos)
MP_UNARY_FLOAT(aclnnCosh, cosh)
MP_UNARY_FLOAT(aclnnErf, erf)
MP_UNARY_FLOAT(aclnnErfc, erfc)
MP_UNARY_FLOAT(aclnnErfinv, erfinv)
MP_UNARY_FLOAT(aclnnExp, exp)
MP_UNARY_FLOAT(aclnnExp2, exp2)
MP_UNARY_FLOAT(aclnnExpm1, expm1)
MP_UNARY_FLOAT(aclnnLog, log)
MP_UNARY_FLOAT(aclnnLog10, log10)
MP_UNARY_FLOAT(aclnnLog1p, log1p)
MP_UNARY_FLOAT(aclnnLog2, log2)
MP_UNARY_FLOAT(aclnnReciprocal, reciprocal)
MP_UNARY_FLOAT(aclnnRsqrt, rsqrt)
MP_UNARY_FLOAT(aclnnSigmoid, sigmoid)
MP_UNARY_FLOAT(aclnnSin, sin)
MP_UNARY_FLOAT(aclnnSinc, sinc)
MP_UNARY_FLOAT(aclnnSinh, sinh)
MP_UNARY_FLOAT(aclnnSqrt, sqrt)
MP_UNARY_FLOAT(aclnnTan, tan)
MP_UNARY_FLOAT(aclnnTanh, tanh)

MP_UNARY_TEST(aclnnIsNegInf, isneginf)
MP_UNARY_TEST(aclnnIsPosInf, isposinf)
MP_UNARY_TEST(aclnnSignbit, signbit)

#undef MP_UNARY_IF
#undef MP_UNARY
#undef MP_UNARY_FLOAT
#undef MP_UNARY_TEST

MP_KERNEL(aclnnAbs, const Tensor& self, Tensor& out) {
  if (self.scalar_type() == out.scalar_type() && !self.is_complex()) {
    at::abs_out(out, self);
  } else {
    Write(out, at::abs(self));
  }
}

MP_KERNEL(aclnnIsFinite, const Tensor& self, Tensor& out) { Write(out, at::isfinite(self)); }
MP_KERNEL(aclnnLogicalNot, const Tensor& self, Tensor& out) { at::logical_not_out(out, self); }

MP_WIDE_KERNEL(aclnnLogit, const Tensor& self, double eps, Tensor& out) {
  const auto bound = eps < 0 ? std::nullopt : std::optional<double>(eps);  // torch_npu says -1 for None
  at::logit_out(out, self, bound);
}

MP_KERNEL(aclnnRoundDecimals, const Tensor& self, int64_t decimals, Tensor& out) {
  if (at::isIntegralType(self.scalar_type(), /*includeBool=*/true)) {  // ATen has no decimals for these
    Write(out, decimals < 0 ? at::round(self.to(at::kDouble), decimals) : self);
  } else {
    at::round_out(out, self, decimals);
  }
}

}  // namespace millpond::kernels

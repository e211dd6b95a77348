// SPDX-License-Identifier: Apache-2.0
// Lists of tensors, one operation on each member: functions of one list, norms, rounding, copies.
#include "src/kernels/tensor/foreach.h"

namespace millpond::kernels {
namespace {

constexpr double kHalf = 0.5;

// ATen has no functions for these two. The sum with a half would itself be rounded: fractions are compared with it.
void RoundHalfAway(Tensor& out, const Tensor& self) {
  const Tensor whole = at::trunc(self);
  out.copy_(at::where(at::sub(self, whole).abs_().ge(kHalf), whole.add(at::sign(self)), whole));
}
void RoundToOdd(Tensor& out, const Tensor& self) {
  const Tensor low = at::floor(self);
  const Tensor stays = at::remainder(low, 2).ne(0).logical_or_(low.eq(self));
  out.copy_(at::where(stays, low, low.add(1)));
}

void RoundOff(Tensor& out, const Tensor& self, int64_t mode) {
  constexpr int64_t kFraction = 7;  // not on the page: torch_npu's torch._foreach_frac
  if (at::isIntegralType(self.scalar_type(), /*includeBool=*/true)) {
    if (mode == kFraction) {
      out.zero_();
    } else {
      out.copy_(self);
    }
    return;
  }
  switch (mode) {
    case 2:
      at::floor_out(out, self);
      return;
    case 3:
      at::ceil_out(out, self);
      return;
    case 4:
      return RoundHalfAway(out, self);
    case 5:
      at::trunc_out(out, self);
      return;
    case 6:
      return RoundToOdd(out, self);
    case kFraction:
      at::frac_out(out, self);
      return;
    default:  // every other number, like 1: to the nearest, ties to even
      at::round_out(out, self);
  }
}

// An integer's exponential is the nearest integer that the output's type holds.
using Function = Tensor (*)(const Tensor& self);
void WriteInteger(Tensor& out, const Tensor& self, Function function) {
  out.copy_(Saturated(function(self.to(at::kDouble)).round_(), out.scalar_type()));
}

}  // namespace

#define MP_FOREACH_UNARY(Name, function)                                                \
  MP_KERNEL(aclnnForeach##Name, TensorList self, OutList out) {                         \
    ForEach(out, self, [&](size_t i, Tensor& to) { at::function##_out(to, self[i]); }); \
  }
#define MP_FOREACH_EXPONENTIAL(Name, function)                                      \
  MP_KERNEL(aclnnForeach##Name, TensorList self, OutList out) {                     \
    ForEach(out, self, [&](size_t i, Tensor& to) {                                  \
      if (!at::isIntegralType(to.scalar_type(), true)) {                            \
        at::function##_out(to, self[i]);                                            \
      } else {                                                                      \
        WriteInteger(to, self[i], [](const Tensor& x) { return at::function(x); }); \
      }                                                                             \
    });                                                                             \
  }

MP_FOREACH_UNARY(Abs, abs)
MP_FOREACH_UNARY(Acos, acos)
MP_FOREACH_UNARY(Asin, asin)
MP_FOREACH_UNARY(Atan, atan)
MP_FOREACH_UNARY(Cos, cos)
MP_FOREACH_UNARY(Cosh, cosh)
MP_FOREACH_UNARY(Erf, erf)
MP_FOREACH_UNARY(Erfc, erfc)
MP_FOREACH_EXPONENTIAL(Exp, exp)
MP_FOREACH_EXPONENTIAL(Expm1, expm1)
MP_FOREACH_UNARY(Log, log)
MP_FOREACH_UNARY(Log10, log10)
MP_FOREACH_UNARY(Log1p, log1p)
MP_FOREACH_UNARY(Log2, log2)
MP_FOREACH_UNARY(Neg, neg)
MP_FOREACH_UNARY(Reciprocal, reciprocal)
MP_FOREACH_UNARY(Sigmoid, sigmoid)
MP_FOREACH_UNARY(Sign, sign)
MP_FOREACH_UNARY(Sin, sin)
MP_FOREACH_UNARY(Sinh, sinh)
MP_FOREACH_UNARY(Sqrt, sqrt)
MP_FOREACH_UNARY(Tan, tan)
MP_FOREACH_UNARY(Tanh, tanh)
#undef MP_FOREACH_UNARY
#undef MP_FOREACH_EXPONENTIAL

MP_KERNEL(aclnnForeachCopy, TensorList self, OutList out) {
  ForEach(out, self, [&](size_t i, Tensor& to) { to.copy_(self[i]); });
}
MP_KERNEL(aclnnForeachZeroInplace, OutList self) {
  for (size_t i = 0; i < self.size(); ++i) self[i].zero_();
}

MP_KERNEL(aclnnForeachNorm, TensorList self, const Scalar& order, OutList out) {
  RequireLength(self.size(), out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    TORCH_CHECK(self[i].defined() && out[i].defined(), "member ", i, " of a list is NULL");
    Write(out[i], at::linalg_vector_norm(self[i], order).reshape(out[i].sizes()));
  }
}

MP_KERNEL(ForeachRound, TensorList self, const Operand& mode, OutList out) {
  const int64_t how = mode.value("roundMode").toLong();
  ForEach(out, self, [&](size_t i, Tensor& to) { RoundOff(to, self[i], how); });
}

MP_KERNEL(aclnnForeachNonFiniteCheckAndUnscale, OutList grads, Tensor& found_inf, const Tensor& inv_scale) {
  at::_amp_foreach_non_finite_check_and_unscale_(grads.tensors, found_inf, inv_scale);
}

}  // namespace millpond::kernels

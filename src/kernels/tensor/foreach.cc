// SPDX-License-Identifier: Apache-2.0
// Lists of tensors, one operation on each member: functions of one list, norms, rounding, copies.
#include "src/kernels/tensor/foreach.h"

#include <iterator>

namespace millpond::kernels {
namespace {

// By the number that names it; 4, nearest with ties away from zero, has no function of ATen's.
using RoundFunction = Tensor& (*)(Tensor& out, const Tensor& self);
constexpr int64_t kHalfAway = 4;
constexpr RoundFunction kRoundFunctions[] = {nullptr, &at::round_out, &at::floor_out, &at::ceil_out,
                                             nullptr, &at::trunc_out, nullptr,        &at::frac_out};

void RoundOff(TensorList self, int64_t mode, OutList out) {
  const bool known = mode >= 0 && mode < static_cast<int64_t>(std::size(kRoundFunctions));
  const RoundFunction function = known ? kRoundFunctions[mode] : nullptr;
  TORCH_CHECK(
      function != nullptr || mode == kHalfAway, "roundMode ", mode,
      " is none of 1 (nearest, ties to even), 2 (floor), 3 (ceil), 4 (nearest, ties away from zero), 5 (towards "
      "zero), 7 (fraction)");
  ForEach(out, self, [&](size_t i) {
    if (mode == kHalfAway) return Write(out[i], at::abs(self[i]).add_(0.5).floor_().mul_(at::sign(self[i])));
    function(out[i], self[i]);
  });
}

}  // namespace

#define MP_FOREACH_UNARY(Name, function)                                        \
  MP_KERNEL(aclnnForeach##Name, TensorList self, OutList out) {                 \
    ForEach(out, self, [&](size_t i) { at::function##_out(out[i], self[i]); }); \
  }

MP_FOREACH_UNARY(Abs, abs)
MP_FOREACH_UNARY(Acos, acos)
MP_FOREACH_UNARY(Asin, asin)
MP_FOREACH_UNARY(Atan, atan)
MP_FOREACH_UNARY(Cos, cos)
MP_FOREACH_UNARY(Cosh, cosh)
MP_FOREACH_UNARY(Erf, erf)
MP_FOREACH_UNARY(Erfc, erfc)
MP_FOREACH_UNARY(Exp, exp)
MP_FOREACH_UNARY(Expm1, expm1)
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

MP_KERNEL(aclnnForeachCopy, TensorList self, OutList out) {
  ForEach(out, self, [&](size_t i) { out[i].copy_(self[i]); });
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
  RoundOff(self, mode.value("roundMode").toLong(), out);
}

MP_KERNEL(aclnnForeachNonFiniteCheckAndUnscale, OutList grads, Tensor& found_inf, const Tensor& inv_scale) {
  at::_amp_foreach_non_finite_check_and_unscale_(grads.tensors, found_inf, inv_scale);
}

}  // namespace millpond::kernels

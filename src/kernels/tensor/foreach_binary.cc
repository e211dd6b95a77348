// SPDX-License-Identifier: Apache-2.0
// Lists of tensors with a list, a scalar or a list of scalars, member by member.
#include "src/kernels/tensor/foreach.h"

namespace millpond::kernels {
namespace {

// How ATen's one step on a half and a number comes out.
bool RoundsOnce(const Scalar&, ScalarType) { return true; }
bool IsSquare(const Scalar& exponent, ScalarType) { return exponent.to<double>() == 2; }  // one product

}  // namespace

#define MP_FOREACH_ONE(function, once, to, self, ...)             \
  if (!(once) && IsHalf((self).scalar_type())) {                  \
    (to).copy_(at::function((self).to(at::kFloat), __VA_ARGS__)); \
  } else {                                                        \
    at::function##_out(to, self, __VA_ARGS__);                    \
  }

// Each of the kinds of second operand: a list; a scalar, in device memory or (V2) given by value; a list of scalars.
#define MP_FOREACH_SCALARS(Name, function, once, Number)                                                 \
  MP_KERNEL(Foreach##Name##Scalar, TensorList self, const Operand& scalar, OutList out) {                \
    const Scalar value = scalar.value("scalar");                                                         \
    const auto number = Number(value);                                                                   \
    ForEach(out, self, [&](size_t i, Tensor& to) {                                                       \
      MP_FOREACH_ONE(function, once(value, self[i].scalar_type()), to, self[i], number)                  \
    });                                                                                                  \
  }                                                                                                      \
  MP_KERNEL(aclnnForeach##Name##ScalarList, TensorList self, const ScalarList& scalars, OutList out) {   \
    RequireLength(scalars.size(), out.size());                                                           \
    ForEach(out, self, [&](size_t i, Tensor& to) {                                                       \
      MP_FOREACH_ONE(function, once(scalars[i], self[i].scalar_type()), to, self[i], Number(scalars[i])) \
    });                                                                                                  \
  }

// One step, which ATen rounds once.
#define MP_FOREACH_LIST(Name, function)                                                                  \
  MP_KERNEL(aclnnForeach##Name##List, TensorList self, TensorList other, OutList out) {                  \
    ForEach(out, self, other, [&](size_t i, Tensor& to) { at::function##_out(to, self[i], other[i]); }); \
  }

// out = self op alpha * other
#define MP_FOREACH_LIST_ALPHA(Name, function)                                                            \
  MP_KERNEL(Foreach##Name##List, TensorList self, TensorList other, const Operand& alpha, OutList out) { \
    const Scalar factor = alpha.value("alpha");                                                          \
    const bool one = factor.to<double>() == 1;                                                           \
    ForEach(out, self, other, [&](size_t i, Tensor& to) {                                                \
      MP_FOREACH_ONE(function, one, to, self[i], one ? other[i] : Widened(other[i]), factor)             \
    });                                                                                                  \
  }

MP_FOREACH_SCALARS(Add, add, IsExact, Number)
MP_FOREACH_SCALARS(Sub, sub, IsExact, Number)
MP_FOREACH_SCALARS(Mul, mul, RoundsOnce, Number)
MP_FOREACH_SCALARS(Div, div, RoundsOnce, Number)
MP_FOREACH_SCALARS(Maximum, maximum, RoundsOnce, Number)
MP_FOREACH_SCALARS(Minimum, minimum, RoundsOnce, Number)
MP_FOREACH_SCALARS(Pow, pow, IsSquare, Scalar)
MP_FOREACH_LIST_ALPHA(Add, add)
MP_FOREACH_LIST_ALPHA(Sub, sub)
MP_FOREACH_LIST(Mul, mul)
MP_FOREACH_LIST(Div, div)
MP_FOREACH_LIST(Maximum, maximum)
MP_FOREACH_LIST(Minimum, minimum)
MP_FOREACH_LIST(Pow, pow)
#undef MP_FOREACH_SCALARS
#undef MP_FOREACH_LIST
#undef MP_FOREACH_LIST_ALPHA

MP_KERNEL(aclnnForeachPowScalarAndTensor, const Scalar& base, TensorList exponents, OutList out) {
  ForEach(out, exponents, [&](size_t i, Tensor& to) {
    if (IsHalf(exponents[i].scalar_type())) {
      to.copy_(at::pow(base, Widened(exponents[i])));
    } else {
      at::pow_out(to, base, exponents[i]);
    }
  });
}
#undef MP_FOREACH_ONE

}  // namespace millpond::kernels

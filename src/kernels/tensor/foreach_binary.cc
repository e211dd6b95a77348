// SPDX-License-Identifier: Apache-2.0
// Lists of tensors with a list, a scalar or a list of scalars, member by member.
#include "src/kernels/tensor/foreach.h"

namespace millpond::kernels {

// Each of the kinds of second operand: a list; a scalar, in device memory or (V2) given by value; a list of scalars.
#define MP_FOREACH_SCALARS(Name, function)                                                             \
  MP_KERNEL(Foreach##Name##Scalar, TensorList self, const Operand& scalar, OutList out) {              \
    const Tensor number = Number(scalar.value("scalar"));                                              \
    ForEach(out, self, [&](size_t i) { at::function##_out(out[i], self[i], number); });                \
  }                                                                                                    \
  MP_KERNEL(aclnnForeach##Name##ScalarList, TensorList self, const ScalarList& scalars, OutList out) { \
    RequireLength(scalars.size(), out.size());                                                         \
    ForEach(out, self, [&](size_t i) { at::function##_out(out[i], self[i], Number(scalars[i])); });    \
  }

#define MP_FOREACH_LIST(Name, function)                                                          \
  MP_KERNEL(aclnnForeach##Name##List, TensorList self, TensorList other, OutList out) {          \
    ForEach(out, self, other, [&](size_t i) { at::function##_out(out[i], self[i], other[i]); }); \
  }

// out = self op alpha * other
#define MP_FOREACH_LIST_ALPHA(Name, function)                                                            \
  MP_KERNEL(Foreach##Name##List, TensorList self, TensorList other, const Operand& alpha, OutList out) { \
    const Scalar factor = alpha.value("alpha");                                                          \
    ForEach(out, self, other, [&](size_t i) { at::function##_out(out[i], self[i], other[i], factor); }); \
  }

MP_FOREACH_SCALARS(Add, add)
MP_FOREACH_SCALARS(Sub, sub)
MP_FOREACH_SCALARS(Mul, mul)
MP_FOREACH_SCALARS(Div, div)
MP_FOREACH_SCALARS(Maximum, maximum)
MP_FOREACH_SCALARS(Minimum, minimum)
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

MP_KERNEL(ForeachPowScalar, TensorList self, const Operand& scalar, OutList out) {
  const Scalar exponent = scalar.value("scalar");
  ForEach(out, self, [&](size_t i) { at::pow_out(out[i], self[i], exponent); });
}
MP_KERNEL(aclnnForeachPowScalarList, TensorList self, const ScalarList& scalars, OutList out) {
  RequireLength(scalars.size(), out.size());
  ForEach(out, self, [&](size_t i) { at::pow_out(out[i], self[i], scalars[i]); });
}
MP_KERNEL(aclnnForeachPowScalarAndTensor, const Scalar& base, TensorList exponents, OutList out) {
  ForEach(out, exponents, [&](size_t i) { at::pow_out(out[i], base, exponents[i]); });
}

}  // namespace millpond::kernels

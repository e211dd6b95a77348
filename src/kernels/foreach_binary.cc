// SPDX-License-Identifier: Apache-2.0
// Lists of tensors with a list, a scalar or a list of scalars, member by member.
#include "src/kernels/foreach.h"

namespace millpond::kernels {

// Each of the four kinds of second operand: a list; a scalar, first in device memory and then (V2) given by value; a
// list of scalars.
#define MP_FOREACH_SCALARS(Name, function)                                                             \
  static void Name##Number(TensorList self, const Scalar& scalar, OutList out) {                       \
    const Tensor number = Number(scalar);                                                              \
    ForEach(out, self, [&](size_t i) { at::function##_out(out[i], self[i], number); });                \
  }                                                                                                    \
  MP_KERNEL(aclnnForeach##Name##Scalar, TensorList self, const Tensor& scalar, OutList out) {          \
    Name##Number(self, OnlyElement(scalar), out);                                                      \
  }                                                                                                    \
  MP_KERNEL(aclnnForeach##Name##ScalarV2, TensorList self, const Scalar& scalar, OutList out) {        \
    Name##Number(self, scalar, out);                                                                   \
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
#define MP_FOREACH_LIST_ALPHA(Name, function)                                                                  \
  MP_KERNEL(aclnnForeach##Name##List, TensorList self, TensorList other, const Tensor& alpha, OutList out) {   \
    const Scalar factor = OnlyElement(alpha);                                                                  \
    ForEach(out, self, other, [&](size_t i) { at::function##_out(out[i], self[i], other[i], factor); });       \
  }                                                                                                            \
  MP_KERNEL(aclnnForeach##Name##ListV2, TensorList self, TensorList other, const Scalar& alpha, OutList out) { \
    ForEach(out, self, other, [&](size_t i) { at::function##_out(out[i], self[i], other[i], alpha); });        \
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

MP_KERNEL(aclnnForeachPowScalar, TensorList self, const Tensor& scalar, OutList out) {
  const Scalar exponent = OnlyElement(scalar);
  ForEach(out, self, [&](size_t i) { at::pow_out(out[i], self[i], exponent); });
}
MP_KERNEL(aclnnForeachPowScalarV2, TensorList self, const Scalar& scalar, OutList out) {
  ForEach(out, self, [&](size_t i) { at::pow_out(out[i], self[i], scalar); });
}
MP_KERNEL(aclnnForeachPowScalarList, TensorList self, const ScalarList& scalars, OutList out) {
  RequireLength(scalars.size(), out.size());
  ForEach(out, self, [&](size_t i) { at::pow_out(out[i], self[i], scalars[i]); });
}
MP_KERNEL(aclnnForeachPowScalarAndTensor, const Scalar& base, TensorList exponents, OutList out) {
  ForEach(out, exponents, [&](size_t i) { at::pow_out(out[i], base, exponents[i]); });
}

}  // namespace millpond::kernels

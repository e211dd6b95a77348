// SPDX-License-Identifier: Apache-2.0
// Three lists of tensors, member by member: lerp, addcmul, addcdiv.
#include "src/kernels/tensor/foreach.h"

namespace millpond::kernels {

MP_KERNEL(aclnnForeachLerpScalar, TensorList self, TensorList end, const Scalar& weight, OutList out) {
  ForEach(out, self, end, [&](size_t i, Tensor& to) { at::lerp_out(to, self[i], end[i], weight); });
}
MP_KERNEL(aclnnForeachLerpList, TensorList self, TensorList end, TensorList weight, OutList out) {
  ForEach(out, self, end, weight, [&](size_t i, Tensor& to) { at::lerp_out(to, self[i], end[i], weight[i]); });
}

// One scalar, in device memory or (V2) by value, or one for each member, in device memory.
#define MP_FOREACH_ADDC(Name, function)                                                                               \
  MP_KERNEL(Foreach##Name##Scalar, TensorList self, TensorList a, TensorList b, const Operand& scalar, OutList out) { \
    const Scalar value = scalar.value("scalar");                                                                      \
    ForEach(out, self, a, b, [&](size_t i, Tensor& to) { at::function##_out(to, self[i], a[i], b[i], value); });      \
  }                                                                                                                   \
  MP_KERNEL(aclnnForeach##Name##ScalarList, TensorList self, TensorList a, TensorList b, const Tensor& values,        \
            OutList out) {                                                                                            \
    RequireLength(static_cast<size_t>(values.numel()), out.size());                                                   \
    const Tensor flat = values.reshape({-1});                                                                         \
    ForEach(out, self, a, b, [&](size_t i, Tensor& to) {                                                              \
      at::function##_out(to, self[i], a[i], b[i], flat[static_cast<int64_t>(i)].item());                              \
    });                                                                                                               \
  }

MP_FOREACH_ADDC(Addcdiv, addcdiv)
MP_FOREACH_ADDC(Addcmul, addcmul)
#undef MP_FOREACH_ADDC

}  // namespace millpond::kernels

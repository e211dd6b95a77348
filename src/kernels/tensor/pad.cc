// SPDX-License-Identifier: Apache-2.0
// Padding.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// ATen's padding gradients have no kernels for half types on the CPU.
template <class F>
void WidenHalf(Tensor& out, const Tensor& grad, const Tensor& self, F&& compute) {
  if (IsHalf(grad.scalar_type())) {
    Write(out, compute(grad.to(at::kFloat), self.to(at::kFloat)));
  } else {
    Write(out, compute(grad, self));
  }
}

}  // namespace

MP_KERNEL(aclnnConstantPadNd, const Tensor& self, IntArrayRef pad, const Scalar& value, Tensor& out) {
  Write(out, at::constant_pad_nd(self, pad, value));
}

#define MP_PAD(name, function)                                                                                 \
  MP_KERNEL(aclnn##name, const Tensor& self, IntArrayRef padding, Tensor& out) {                               \
    Write(out, at::function(self, padding));                                                                   \
  }                                                                                                            \
  MP_KERNEL(aclnn##name##Backward, const Tensor& grad, const Tensor& self, IntArrayRef padding, Tensor& out) { \
    WidenHalf(out, grad, self,                                                                                 \
              [&](const Tensor& g, const Tensor& s) { return at::function##_backward(g, s, padding); });       \
  }
MP_PAD(ReflectionPad1d, reflection_pad1d)
MP_PAD(ReflectionPad2d, reflection_pad2d)
MP_PAD(ReflectionPad3d, reflection_pad3d)
MP_PAD(ReplicationPad1d, replication_pad1d)
MP_PAD(ReplicationPad2d, replication_pad2d)
MP_PAD(ReplicationPad3d, replication_pad3d)
#undef MP_PAD

}  // namespace millpond::kernels

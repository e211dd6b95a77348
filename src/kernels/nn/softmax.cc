// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm. The output's type may be wider than the input's (half_to_float): then all is computed in
// it.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

#define MP_SOFTMAX(name, function)                                                                     \
  MP_WIDE_KERNEL(name, const Tensor& self, int64_t dim, Tensor& out) {                                 \
    if (self.scalar_type() == out.scalar_type() && !Overlap(self, out)) {                              \
      at::function##_out(out, self, dim, /*half_to_float=*/false);                                     \
    } else {                                                                                           \
      Write(out, at::function(self.to(out.scalar_type()), dim, false));                                \
    }                                                                                                  \
  }                                                                                                    \
  MP_WIDE_KERNEL(name##Backward, const Tensor& grad, const Tensor& output, int64_t dim, Tensor& out) { \
    const ScalarType type = grad.scalar_type();                                                        \
    const bool same = type == out.scalar_type() && type == output.scalar_type();                       \
    if (same && !Overlap(grad, out) && !Overlap(output, out)) {                                        \
      at::function##_backward_data_out(out, grad, output, dim, type);                                  \
    } else {                                                                                           \
      Write(out, at::function##_backward_data(grad, output.to(type), dim, type));                      \
    }                                                                                                  \
  }

MP_SOFTMAX(aclnnSoftmax, _softmax)
MP_SOFTMAX(aclnnLogSoftmax, _log_softmax)
#undef MP_SOFTMAX

}  // namespace millpond::kernels

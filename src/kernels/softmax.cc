// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm. The output's type may be wider than the input's (half_to_float): then all is computed in
// it.
#include "src/kernels/outputs.h"

namespace millpond::kernels {

MP_KERNEL(aclnnSoftmax, const Tensor& self, int64_t dim, Tensor& out) {
  if (self.scalar_type() == out.scalar_type() && !Overlap(self, out)) {
    at::_softmax_out(out, self, dim, /*half_to_float=*/false);
  } else {
    Write(out, at::_softmax(self.to(out.scalar_type()), dim, false));
  }
}
MP_KERNEL(aclnnLogSoftmax, const Tensor& self, int64_t dim, Tensor& out) {
  if (self.scalar_type() == out.scalar_type() && !Overlap(self, out)) {
    at::_log_softmax_out(out, self, dim, /*half_to_float=*/false);
  } else {
    Write(out, at::_log_softmax(self.to(out.scalar_type()), dim, false));
  }
}

MP_KERNEL(aclnnSoftmaxBackward, const Tensor& grad, const Tensor& output, int64_t dim, Tensor& out) {
  const ScalarType type = grad.scalar_type();
  if (type == out.scalar_type() && type == output.scalar_type() && !Overlap(grad, out) && !Overlap(output, out)) {
    at::_softmax_backward_data_out(out, grad, output, dim, type);
  } else {
    Write(out, at::_softmax_backward_data(grad, output.to(type), dim, type));
  }
}
MP_KERNEL(aclnnLogSoftmaxBackward, const Tensor& grad, const Tensor& output, int64_t dim, Tensor& out) {
  const ScalarType type = grad.scalar_type();
  if (type == out.scalar_type() && type == output.scalar_type() && !Overlap(grad, out) && !Overlap(output, out)) {
    at::_log_softmax_backward_data_out(out, grad, output, dim, type);
  } else {
    Write(out, at::_log_softmax_backward_data(grad, output.to(type), dim, type));
  }
}

}  // namespace millpond::kernels

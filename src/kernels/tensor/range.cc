// SPDX-License-Identifier: Apache-2.0
// Tensors made from a rule. The output's length decides: clients reckon it themselves.
#include <cstdlib>

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// A client's length may differ by one from ATen's where the step does not divide the interval exactly.
void WriteLength(Tensor& out, const Tensor& value, const Scalar& start, const Scalar& step) {
  const int64_t more = out.numel() - value.numel();
  TORCH_CHECK(std::abs(more) <= 1, "the range has ", value.numel(), " elements, the output ", out.numel());
  const Tensor all = more <= 0 ? value.narrow(0, 0, out.numel())
                               : at::cat({value, value.new_full({1}, 0).add_(step, value.numel()).add_(start)});
  out.copy_(all.view(out.sizes()));
}

}  // namespace

MP_KERNEL(aclnnArange, const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  WriteLength(out, at::arange(start, end, step, out.options()), start, step);
}
MP_KERNEL(aclnnRange, const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  WriteLength(out, at::range(start, end, step, out.options()), start, step);
}
MP_KERNEL(aclnnLinspace, const Scalar& start, const Scalar& end, int64_t steps, Tensor& out) {
  Write(out, at::linspace(start, end, steps, out.options()));
}
MP_KERNEL(aclnnLogSpace, const Scalar& start, const Scalar& end, int64_t steps, double base, Tensor& out) {
  Write(out, at::logspace(start, end, steps, base, out.options()));
}
MP_KERNEL(aclnnEye, int64_t n, int64_t m, Tensor& out) { Write(out, at::eye(n, m, out.options())); }

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Tensors made from a rule. The output's length decides: clients reckon it themselves.
#include <cstdlib>

#include "src/kernels/runtime/outputs.h"
#include "src/kernels/tensor/elementwise.h"

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

// ATen cuts all three to whole numbers first where the output has such, and divides by a step that is then 0.
at::TensorOptions OptionsFor(const Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step) {
  const auto is_whole = [](const Scalar& value) { return value.isIntegral(/*includeBool=*/true); };
  const bool cut = at::isIntegralType(out.scalar_type(), true) && !(is_whole(start) && is_whole(end) && is_whole(step));
  return cut ? out.options().dtype(at::kDouble) : out.options();
}

}  // namespace

MP_KERNEL(aclnnArange, const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  WriteLength(out, at::arange(start, end, step, out.options()), start, step);
}
MP_KERNEL(aclnnRange, const Scalar& start, const Scalar& end, const Scalar& step, Tensor& out) {
  WriteLength(out, at::range(start, end, step, OptionsFor(out, start, end, step)), start, step);
}
// The steps of half types would be rounded before they are added up, and the ends be cut to whole numbers.
MP_KERNEL(aclnnLinspace, const Scalar& start, const Scalar& end, int64_t steps, Tensor& out) {
  const bool whole = start.isIntegral(/*includeBool=*/true) && end.isIntegral(true);
  const bool wide = at::isFloatingType(out.scalar_type()) || (!whole && !out.is_complex());
  WriteElements(out, at::linspace(start, end, steps, wide ? out.options().dtype(at::kDouble) : out.options()));
}
// Page "aclnnLogSpace": integers are cut towards zero behind the power and saturate. ATen cuts the exponents.
MP_KERNEL(aclnnLogSpace, const Scalar& start, const Scalar& end, int64_t steps, double base, Tensor& out) {
  if (out.is_complex()) return WriteElements(out, at::logspace(start, end, steps, base, out.options()));
  Tensor powers = at::logspace(start, end, steps, base, out.options().dtype(at::kDouble));
  if (at::isIntegralType(out.scalar_type(), /*includeBool=*/false)) powers = Saturated(powers, out.scalar_type());
  WriteElements(out, powers);
}
MP_KERNEL(aclnnEye, int64_t n, int64_t m, Tensor& out) { Write(out, at::eye(n, m, out.options())); }

}  // namespace millpond::kernels

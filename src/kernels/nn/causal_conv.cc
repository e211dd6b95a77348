// SPDX-License-Identifier: Apache-2.0
// Convolutions over a sequence that look back only: each channel by itself.
#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

// x [S, B, H] moved by `steps` to later places, zeros in front.
Tensor Later(const Tensor& x, int64_t steps) {
  if (steps >= x.size(0)) return at::zeros_like(x);
  if (steps == 0) return x;
  return at::cat({at::zeros_like(x.narrow(0, 0, steps)), x.narrow(0, 0, x.size(0) - steps)});
}
Tensor Earlier(const Tensor& x, int64_t steps) { return Later(x.flip(0), steps).flip(0); }

// [S, B, 1] of a mask [B, S].
Tensor AlongTokens(const Tensor& mask) { return mask.to(at::kFloat).t().unsqueeze(-1); }

void CheckShapes(const Tensor& x, const Tensor& weight) {
  TORCH_CHECK(x.dim() == 3 && weight.dim() == 2 && weight.size(1) == x.size(2), "x ", x.sizes(), " and weight ",
              weight.sizes(), " must be [S, B, H] and [W, H]");
}

}  // namespace

MP_KERNEL(aclnnMaskedCausalConv1d, const Tensor& x, const Tensor& weight, const OptTensor& mask, Tensor& out) {
  CheckShapes(x, weight);
  const Tensor wide = x.to(at::kFloat);
  const Tensor taps = weight.to(at::kFloat);
  Tensor sum = at::zeros_like(wide);
  for (int64_t k = 0; k < taps.size(0); ++k) sum.add_(Later(wide, k) * taps[taps.size(0) - 1 - k]);
  if (mask) sum.mul_(AlongTokens(*mask));
  Write(out, sum);
}

MP_KERNEL(aclnnMaskedCausalConv1dBackward, const Tensor& grad, const Tensor& x, const Tensor& weight,
          const OptTensor& mask, Tensor& dx, Tensor& dweight) {
  CheckShapes(x, weight);
  const Tensor wide = x.to(at::kFloat);
  const Tensor taps = weight.to(at::kFloat);
  Tensor dy = grad.to(at::kFloat);
  if (mask) dy = dy * AlongTokens(*mask);
  Tensor result = at::zeros_like(wide);
  std::vector<Tensor> by_tap(static_cast<size_t>(taps.size(0)));
  for (int64_t k = 0; k < taps.size(0); ++k) {
    const int64_t tap = taps.size(0) - 1 - k;
    result.add_(Earlier(dy, k) * taps[tap]);
    by_tap[static_cast<size_t>(tap)] = (dy * Later(wide, k)).sum(at::IntArrayRef({0, 1}));
  }
  Write(dx, result);
  Write(dweight, at::stack(by_tap));
}

}  // namespace millpond::kernels

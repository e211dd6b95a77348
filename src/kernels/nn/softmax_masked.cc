// SPDX-License-Identifier: Apache-2.0
// Attention's softmax with scale, mask and bias in one. Computed in float.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

constexpr double kMasked = -10000.0;  // the device's stand-in for minus infinity: a row that is all masked stays finite

Tensor AsFloat(const Tensor& x) { return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat); }

// Where an element does not take part.
Tensor MaskFor(const Tensor& x, const OptTensor& mask, bool upper_triangle) {
  if (upper_triangle) return at::ones({x.size(-2), x.size(-1)}, at::TensorOptions().dtype(at::kBool)).triu(1);
  TORCH_CHECK(mask.has_value(), "mask is NULL; that is allowed only with fixedTriuMask");
  return mask->to(at::kBool);
}

}  // namespace

MP_KERNEL(aclnnScaledMaskedSoftmax, const Tensor& x, const OptTensor& mask, double scale, bool upper_triangle,
          Tensor& out) {
  const Tensor scaled = AsFloat(x) * scale;
  Write(out, at::softmax(scaled.masked_fill(MaskFor(x, mask, upper_triangle), kMasked), -1));
}
MP_KERNEL(aclnnScaledMaskedSoftmaxBackward, const Tensor& grad, const Tensor& y, const OptTensor& mask, double scale,
          bool upper_triangle, Tensor& out) {
  const Tensor wide = AsFloat(grad);
  const Tensor inner = at::_softmax_backward_data(wide, y.to(wide.scalar_type()), -1, wide.scalar_type());
  Write(out, (inner * scale).masked_fill(MaskFor(y, mask, upper_triangle), 0));
}

// x is (batch, windows, heads, rows, columns), or has the first two as one; the mask is per window, the bias per head.
MP_KERNEL(aclnnMaskedSoftmaxWithRelPosBias, const Tensor& x, const OptTensor& mask, const Tensor& bias, double scale,
          Tensor& out) {
  TORCH_CHECK(x.dim() == 4 || x.dim() == 5, "x has ", x.dim(), " dimensions; it must have 4 or 5");
  const int64_t rows = x.size(-2);
  const int64_t columns = x.size(-1);
  const int64_t heads = x.size(-3);
  const int64_t windows = mask ? mask->numel() / std::max<int64_t>(rows * columns, 1) : (x.dim() == 5 ? x.size(1) : 1);
  Tensor sum = AsFloat(x).reshape({-1, windows, heads, rows, columns}) * scale;
  if (mask) sum = sum + AsFloat(*mask).reshape({1, windows, 1, rows, columns});
  sum = sum + AsFloat(bias).reshape({1, 1, heads, rows, columns});
  WriteElements(out, at::softmax(sum, -1));
}

}  // namespace millpond::kernels

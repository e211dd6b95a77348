// SPDX-License-Identifier: Apache-2.0
// Root-mean-square normalisation: y = x / sqrt(mean(x^2) + eps) * gamma over the dimensions that gamma has.
#include "src/kernels/nn/rms_norm.h"

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

// gamma without the ones in front: [1, n] stands for a row, whatever x has in the dimension before its last.
Tensor RowOf(const Tensor& gamma, const Tensor& x) {
  int64_t ones = 0;
  while (ones + 1 < gamma.dim() && gamma.size(ones) == 1) ++ones;
  const Tensor row = gamma.reshape(gamma.sizes().slice(ones));
  TORCH_CHECK(row.dim() <= x.dim() && x.sizes().slice(x.dim() - row.dim()) == row.sizes(), "gamma has shape ",
              gamma.sizes(), ", which is not the end of ", x.sizes());
  return row;
}

std::vector<int64_t> DimsOf(const Tensor& gamma) {
  std::vector<int64_t> dims(gamma.dim());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i) - gamma.dim();
  return dims;
}

void WriteRstd(Tensor* out, const Tensor& rstd) {
  if (out != nullptr) out->copy_(rstd.reshape(out->sizes()));
}

}  // namespace

ScalarType StatisticsType(ScalarType type) { return type == at::kDouble ? at::kDouble : at::kFloat; }

RmsNormResult RmsNorm(const Tensor& x, const Tensor& given_gamma, double eps, double gamma_offset) {
  const Tensor gamma = RowOf(given_gamma, x);
  const ScalarType type = StatisticsType(x.scalar_type());
  const Tensor wide = x.to(type);
  const Tensor rstd = wide.square().mean(DimsOf(gamma), /*keepdim=*/true).add_(eps).rsqrt_();
  Tensor scale = gamma.to(type);
  if (gamma_offset != 0) scale = scale + gamma_offset;
  return {wide.mul(rstd).mul_(scale), rstd};
}

RmsNormGrads RmsNormBackward(const Tensor& dy, const Tensor& x, const Tensor& rstd, const Tensor& given_gamma) {
  const Tensor gamma = RowOf(given_gamma, x);
  const ScalarType type = StatisticsType(x.scalar_type());
  std::vector<int64_t> kept(x.sizes().begin(), x.sizes().end());
  std::fill(kept.end() - gamma.dim(), kept.end(), 1);
  const Tensor scale = rstd.to(type).reshape(kept);
  const Tensor normal = x.to(type).mul(scale);
  const Tensor grad = dy.to(type);
  const Tensor weighted = grad.mul(gamma.to(type));
  const Tensor mean = weighted.mul(normal).mean(DimsOf(gamma), /*keepdim=*/true);
  const Tensor product = grad.mul(normal);
  return {weighted.sub(normal.mul(mean)).mul_(scale), at::sum_to(product, gamma.sizes()).reshape(given_gamma.sizes())};
}

MP_KERNEL(aclnnRmsNorm, const Tensor& x, const Tensor& gamma, double eps, Tensor& y, Tensor* rstd_out) {
  const auto [value, rstd] = RmsNorm(x, gamma, eps);
  Write(y, value);
  WriteRstd(rstd_out, rstd);
}

MP_KERNEL(aclnnGemmaRmsNorm, const Tensor& x, const Tensor& gamma, double eps, Tensor& y, Tensor* rstd_out) {
  const auto [value, rstd] = RmsNorm(x, gamma, eps, /*gamma_offset=*/1);
  Write(y, value);
  WriteRstd(rstd_out, rstd);
}

MP_KERNEL(aclnnRmsNormGrad, const Tensor& dy, const Tensor& x, const Tensor& rstd, const Tensor& gamma, Tensor& dx,
          Tensor& dgamma) {
  const RmsNormGrads grads = RmsNormBackward(dy, x, rstd, gamma);
  Write(dx, grads.x);
  Write(dgamma, grads.gamma);
}

MP_KERNEL(aclnnAddRmsNorm, const Tensor& x1, const Tensor& x2, const Tensor& gamma, double eps, Tensor& y,
          Tensor* rstd_out, Tensor* x_out) {
  TORCH_CHECK(rstd_out == nullptr || x_out != nullptr, "xOut is NULL beside rstdOut");
  const Tensor x = at::add(x1, x2);
  const auto [value, rstd] = RmsNorm(x, gamma, eps);
  Write(x_out, x);
  Write(y, value);
  WriteRstd(rstd_out, rstd);
}

MP_KERNEL(aclnnAddRmsNormCast, const Tensor& x1, const Tensor& x2, const Tensor& gamma, double eps, Tensor& y1,
          Tensor& y2, Tensor* rstd_out, Tensor& x_out) {
  const ScalarType type = StatisticsType(x1.scalar_type());
  const Tensor x = x1.to(type).add(x2.to(type));
  const auto [value, rstd] = RmsNorm(x, gamma, eps);
  Write(x_out, x);
  Write(y2, value);
  Write(y1, value);
  WriteRstd(rstd_out, rstd);
}

}  // namespace millpond::kernels

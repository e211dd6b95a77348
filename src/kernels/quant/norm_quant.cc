// SPDX-License-Identifier: Apache-2.0
// Root-mean-square normalisation that ends with a quantisation.
#include "src/kernels/nn/rms_norm.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

Tensor PlusBeta(const Tensor& value, const OptTensor& beta) {
  return beta.has_value() ? value.add(beta->to(at::kFloat)) : value;
}

void Quantize(Tensor& out, const Tensor& value, const Tensor& scale, const OptTensor& zero_point, bool divide) {
  const Tensor factor = scale.to(at::kFloat);
  Tensor scaled = divide ? value.div(factor) : value.mul(factor);
  if (zero_point.has_value()) scaled = scaled.add(zero_point->to(at::kFloat));
  WriteQuantized(out, scaled);
}

// One scale for each row, such that the row's largest value becomes the type's largest.
void QuantizeRows(Tensor& out, Tensor& scale_out, const Tensor& value, const OptTensor& smooth) {
  const Tensor input = smooth.has_value() ? value.mul(smooth->to(at::kFloat)) : value;
  const Tensor scale = input.abs().amax(-1, /*keepdim=*/true).div_(QuantizedMaximum(out));
  // A row of zeros has scale 0; its values stay 0.
  WriteQuantized(out, input.div(scale.masked_fill(scale.eq(0), 1)));
  WriteElements(scale_out, scale);
}

void WriteRstd(bool wanted, Tensor* out, const Tensor& rstd) {
  if (wanted && out != nullptr) WriteElements(*out, rstd);
}

void AddRmsNormQuant(const Tensor& x1, const Tensor& x2, const Tensor& gamma, const Tensor& scales1,
                     const OptTensor& scales2, const OptTensor& zero1, const OptTensor& zero2, const OptTensor& beta,
                     double eps, bool divide, Tensor& y1, Tensor* y2, Tensor& x_out, Tensor* norm_out) {
  const Tensor x = at::add(x1, x2);
  const Tensor norm = RmsNorm(x, gamma, eps).y;
  const Tensor value = PlusBeta(norm, beta);
  Write(x_out, x);
  Write(norm_out, norm);
  Quantize(y1, value, scales1, zero1, divide);
  // Without scales2 the second output is quantised with 1; in a graph it has one element then, and is not wanted.
  if (y2 != nullptr && (scales2.has_value() || y2->sizes() == value.sizes())) {
    Quantize(*y2, value, scales2.has_value() ? *scales2 : at::ones({}), zero2, divide);
  }
}

}  // namespace

MP_KERNEL(aclnnRmsNormQuantV3, const Tensor& x, const Tensor& gamma, const Tensor& scale, const OptTensor& offset,
          const OptTensor& beta, double eps, bool divide, bool output_rstd, Tensor& y, Tensor* rstd_out) {
  const auto [norm, rstd] = RmsNorm(x, gamma, eps);
  Quantize(y, PlusBeta(norm, beta), scale, offset, divide);
  WriteRstd(output_rstd, rstd_out, rstd);
}

MP_KERNEL(aclnnRmsNormDynamicMxQuant, const Tensor& x, const Tensor& gamma, const OptTensor& beta, double eps,
          int64_t algorithm, bool output_rstd, Tensor& y, Tensor& scale, Tensor* rstd_out) {
  const auto [norm, rstd] = RmsNorm(x, gamma, eps);
  WriteBlockScaled(y, scale, PlusBeta(norm, beta), algorithm);
  WriteRstd(output_rstd, rstd_out, rstd);
}

MP_KERNEL(aclnnRmsNormGradQuant, const Tensor& dy, const Tensor& x, const Tensor& rstd, const Tensor& gamma,
          const Tensor& scale, const OptTensor& offset, string_view mode, bool divide, Tensor& dx, Tensor& dgamma) {
  TORCH_CHECK(mode == "static", "quantMode '", std::string(mode), "' is not supported; static is, as on the device");
  const RmsNormGrads grads = RmsNormBackward(dy, x, rstd, gamma);
  Quantize(dx, grads.x, scale, offset, divide);
  Write(dgamma, grads.gamma);
}

MP_KERNEL(aclnnAddRmsNormQuantV2, const Tensor& x1, const Tensor& x2, const Tensor& gamma, const Tensor& scales1,
          const OptTensor& scales2, const OptTensor& zero1, const OptTensor& zero2, const OptTensor& beta, double eps,
          bool divide, Tensor& y1, Tensor* y2, Tensor& x_out, Tensor* norm_out) {
  AddRmsNormQuant(x1, x2, gamma, scales1, scales2, zero1, zero2, beta, eps, divide, y1, y2, x_out, norm_out);
}

MP_KERNEL(aclnnAddRmsNormDynamicQuantV2, const Tensor& x1, const Tensor& x2, const Tensor& gamma,
          const OptTensor& smooth1, const OptTensor& smooth2, const OptTensor& beta, double eps, OptBoolArray mask,
          Tensor& y1, Tensor* y2, Tensor& x_out, Tensor& scale1, Tensor* scale2) {
  const bool masked = mask.has_value() && !mask->empty();
  TORCH_CHECK(!masked || mask->size() == 2, "outputMask has ", mask.has_value() ? mask->size() : 0,
              " entries; there are 2 outputs");
  const bool want1 = !masked || (*mask)[0] != 0;
  const bool want2 = masked ? (*mask)[1] != 0 : smooth1.has_value() && smooth2.has_value();
  const Tensor x = at::add(x1, x2);
  const Tensor value = PlusBeta(RmsNorm(x, gamma, eps).y, beta);
  Write(x_out, x);
  if (want1) QuantizeRows(y1, scale1, value, smooth1);
  if (want2) {
    TORCH_CHECK(y2 != nullptr && scale2 != nullptr, "y2Out and scale2Out are asked for but are NULL");
    QuantizeRows(*y2, *scale2, value, smooth2);
  }
}

MP_KERNEL(aclnnAddRmsNormDynamicMxQuant, const Tensor& x1, const Tensor& x2, const Tensor& gamma, const OptTensor& beta,
          double eps, int64_t algorithm, bool output_rstd, Tensor& y, Tensor& x_out, Tensor& scale, Tensor* rstd_out) {
  const Tensor x = at::add(x1, x2);
  const auto [norm, rstd] = RmsNorm(x, gamma, eps);
  Write(x_out, x);
  WriteBlockScaled(y, scale, PlusBeta(norm, beta), algorithm);
  WriteRstd(output_rstd, rstd_out, rstd);
}

}  // namespace millpond::kernels

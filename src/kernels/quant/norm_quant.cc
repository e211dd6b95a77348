// SPDX-License-Identifier: Apache-2.0
// Normalisation that ends with a quantisation.
#include <limits>

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
  if (!wanted) return;
  TORCH_CHECK(out != nullptr, "outputRstd is true and rstd's output is NULL");
  WriteElements(*out, rstd);
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

// Over the dimensions of gamma, in float.
Tensor LayerNorm(const Tensor& x, const OptTensor& gamma, const OptTensor& beta, IntArrayRef shape, double eps) {
  const auto wide = [](const OptTensor& one) { return one.has_value() ? OptTensor(one->to(at::kFloat)) : OptTensor(); };
  return at::layer_norm(x.to(at::kFloat), shape, wide(gamma), wide(beta), eps);
}

void CheckQuantMode(string_view mode, bool has_scales1, bool has_scales2, bool has_zeros) {
  TORCH_CHECK(mode == "static" || mode == "dynamic", "quantMode is '", std::string(mode),
              "'; it must be static or dynamic");
  TORCH_CHECK(has_scales1 || (mode == "dynamic" && !has_scales2), "scales1Optional is needed with quantMode '",
              std::string(mode), has_scales2 ? "' and scales2Optional" : "'");
  TORCH_CHECK(mode == "static" || !has_zeros, "zero points go with the quantMode static only");
}

}  // namespace

MP_KERNEL(aclnnAddLayerNormQuantV2, const Tensor& x1, const Tensor& x2, const Tensor& gamma, const Tensor& beta,
          const OptTensor& bias, const OptTensor& scales1, const OptTensor& scales2, const OptTensor& zeros1,
          const OptTensor& zeros2, string_view mode, double eps, bool output_x, bool divide, Tensor& y1, Tensor* y2,
          Tensor* x_out, Tensor* norm_out, Tensor* scale1, Tensor* scale2) {
  CheckQuantMode(mode, scales1.has_value(), scales2.has_value(), zeros1.has_value() || zeros2.has_value());
  Tensor x = x1.to(at::kFloat).add(x2.to(at::kFloat));
  if (bias.has_value()) x = x.add(bias->to(at::kFloat));
  if (output_x) Write(x_out, x);
  const Tensor value = LayerNorm(x, gamma, beta, gamma.sizes(), eps);
  if (norm_out != nullptr) WriteElements(*norm_out, value);
  TORCH_CHECK(!scales2.has_value() || y2 != nullptr, "y2Out is NULL beside scales2Optional");
  if (mode == "static") {
    Quantize(y1, value, *scales1, zeros1, divide);
    if (scales2.has_value()) Quantize(*y2, value, *scales2, zeros2, divide);
    return;
  }
  TORCH_CHECK(scale1 != nullptr && (!scales2.has_value() || scale2 != nullptr),
              "the quantMode dynamic needs outScales1Out, and outScales2Out beside scales2Optional");
  QuantizeRows(y1, *scale1, value, scales1);
  if (scales2.has_value()) QuantizeRows(*y2, *scale2, value, scales2);
}

MP_KERNEL(aclnnAdaLayerNormQuant, const Tensor& x, const Tensor& scale, const Tensor& shift, const OptTensor& weight,
          const OptTensor& bias, const OptTensor& smooth, double eps, Tensor& out, Tensor& scale_out) {
  const auto for_rows = [&](const Tensor& one) {
    return (one.dim() == x.dim() - 1 ? one.unsqueeze(-2) : one).to(at::kFloat);
  };
  const Tensor value = LayerNorm(x, weight, bias, x.sizes().slice(x.dim() - 1), eps);
  QuantizeRows(out, scale_out, value.mul(for_rows(scale).add(1)).add(for_rows(shift)), smooth);
}

MP_KERNEL(aclnnQuantizedBatchNorm, const Tensor& input, const Tensor& mean, const Tensor& var, const Scalar& in_scale,
          const Scalar& in_zero, const Scalar& out_scale, const Scalar& out_zero, const OptTensor& weight,
          const OptTensor& bias, double eps, Tensor& output) {
  TORCH_CHECK(input.dim() >= 2, "input has ", input.dim(), " dimensions; it needs a batch and channels");
  std::vector<int64_t> shape(static_cast<size_t>(input.dim()), 1);
  shape[1] = input.size(1);
  const Tensor centred = input.to(at::kDouble).sub_(in_zero).mul_(in_scale).sub_(mean.to(at::kDouble).reshape(shape));
  Tensor value = centred.div_(var.to(at::kDouble).add_(eps).sqrt_().reshape(shape));
  if (weight.has_value()) value = value.mul_(weight->to(at::kDouble).reshape(shape));
  if (bias.has_value()) value = value.add_(bias->to(at::kDouble).reshape(shape));
  value = value.div_(out_scale).add_(out_zero).round_();
  const ScalarType type = output.scalar_type();
  TORCH_CHECK(type == at::kChar || type == at::kByte || type == at::kInt, "output is of type ", type,
              "; it must be INT8, UINT8 or INT32");
  const double low = type == at::kChar ? -128 : type == at::kByte ? 0 : std::numeric_limits<int32_t>::min();
  const double high = type == at::kChar ? 127 : type == at::kByte ? 255 : std::numeric_limits<int32_t>::max();
  Write(output, value.clamp_(low, high));
}

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
  TORCH_CHECK(want1 || want2, "outputMask asks for neither output");
  TORCH_CHECK((want1 || !smooth1.has_value()) && (want2 || !smooth2.has_value()),
              masked ? "a smoothScale is given for an output that outputMask leaves out"
                     : "smoothScale2Optional needs smoothScale1Optional beside it");
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

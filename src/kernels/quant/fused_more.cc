// SPDX-License-Identifier: Apache-2.0
// Norms with adaptive factors or a quantised result, and products of quantised matrices that are added up.
#include <string>

#include "src/kernels/nn/activation.h"
#include "src/kernels/quant/block_scale.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// [B.., H] and [B.., 1, H] say the same of rows [B.., S, H].
Tensor ForEachRow(const Tensor& factor, const Tensor& x) {
  return factor.dim() == x.dim() - 1 ? factor.unsqueeze(-2) : factor;
}

// The floats behind MX values whose blocks lie along the first dimension; the scales are [pairs, columns, 2].
Tensor Unscaled(const Tensor& x, const Tensor& scale) {
  constexpr int64_t kBlock = 32;
  TORCH_CHECK(
      scale.dim() == 3 && scale.size(2) == 2 && scale.size(1) == x.size(1) && scale.size(0) * 2 * kBlock >= x.size(0),
      "scales of shape ", scale.sizes(), " do not go with values of shape ", x.sizes());
  const Tensor powers = scale.view(at::kByte).transpose(1, 2).flatten(0, 1).to(at::kFloat).sub_(127);
  return x.to(at::kFloat) * at::exp2(powers).repeat_interleave(kBlock, 0).narrow(0, 0, x.size(0));
}

}  // namespace

MP_WIDE_KERNEL(AdaptiveLayerNorm, const Tensor& x, const Tensor& scale, const Tensor& shift, const OptTensor& weight,
               const OptTensor& bias, double eps, Tensor& out, Tensor* mean, Tensor* rstd) {
  const auto [value, middle, inverse] = at::native_layer_norm(x, x.sizes().slice(x.dim() - 1), weight, bias, eps);
  Write(out, value * ForEachRow(scale, x).add(1) + ForEachRow(shift, x));
  Write(mean, middle);
  Write(rstd, inverse);
}
MP_WIDE_KERNEL(aclnnAdaLayerNormBackward, const Tensor& grad, const Tensor& input, IntArrayRef shape,
               const Tensor& rstd, const Tensor& mean, const Tensor& scale, const OptTensor& weight,
               const OptTensor& bias, Tensor* by_input, Tensor* by_scale, Tensor* by_shift, Tensor* by_weight,
               Tensor* by_bias) {
  const int64_t width = input.size(-1);
  TORCH_CHECK(input.dim() >= 2 && shape.size() == 1 && shape[0] == width && grad.sizes() == input.sizes() &&
                  mean.numel() * width == input.numel() && rstd.numel() == mean.numel(),
              "input has shape ", input.sizes(), ", gradOut ", grad.sizes(), ", mean ", mean.sizes(), ", rstd ",
              rstd.sizes(), " and normalizedShape is ", shape);
  auto kept = input.sizes().vec();
  kept.back() = 1;
  const Tensor inverse = rstd.reshape(kept);
  const Tensor normed = (input - mean.reshape(kept)) * inverse;
  const Tensor factor = ForEachRow(scale, input).add(1);
  Tensor inner = grad * factor;
  if (weight) inner = inner * *weight;
  if (by_input != nullptr) {
    const Tensor slope = (inner * normed).mean(-1, /*keepdim=*/true);
    Write(*by_input, (inner - inner.mean(-1, /*keepdim=*/true) - normed * slope) * inverse);
  }
  const auto over_rows = [](Tensor* out, const Tensor& value) {
    if (out != nullptr) WriteElements(*out, value.sum(-2));
  };
  Tensor plain = weight ? normed * *weight : normed;
  if (bias) plain = plain + *bias;
  over_rows(by_scale, grad * plain);
  over_rows(by_shift, grad);
  const auto over_all = [&](Tensor* out, const Tensor& value) {
    if (out != nullptr) WriteElements(*out, value.reshape({-1, width}).sum(0));
  };
  over_all(by_weight, grad * factor * normed);
  over_all(by_bias, grad * factor);
}
MP_WIDE_KERNEL(aclnnLayerNormQuant, const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& scale,
               const OptTensor& zero, double eps, Tensor& out) {
  const Tensor value = at::layer_norm(x, x.sizes().slice(x.dim() - 1), gamma.reshape(-1), beta.reshape(-1), eps);
  const Tensor steps = value / scale.reshape({});
  WriteQuantized(out, zero ? steps + zero->to(at::kFloat).reshape({}) : steps);
}
MP_WIDE_KERNEL(aclnnGroupNormSiluQuant, const Tensor& self, const OptTensor& gamma, const OptTensor& beta,
               const Tensor& scale, int64_t group, double eps, bool activate, Tensor& out, Tensor& mean, Tensor& rstd) {
  TORCH_CHECK(activate, "activateSilu must be true, as on the device");
  const int64_t batch = self.size(0);
  const int64_t channels = self.size(1);
  const int64_t points = batch * channels == 0 ? 0 : self.numel() / (batch * channels);
  const auto [value, middle, inverse] = at::native_group_norm(self.contiguous(), Contiguous(gamma), Contiguous(beta),
                                                              batch, channels, points, group, eps);
  std::vector<int64_t> shape(static_cast<size_t>(self.dim()), 1);
  shape[1] = scale.numel();
  WriteQuantized(out, at::silu(value) / scale.reshape(shape));
  Write(mean, middle);
  Write(rstd, inverse);
}

MP_KERNEL(aclnnQuantBatchMatmulInplaceAdd, const Tensor& x1, const Tensor& x2, const Tensor& scale1,
          const Tensor& scale2, Tensor& y, bool transpose1, bool transpose2) {
  TORCH_CHECK(transpose1 && !transpose2, "transposeX1 and transposeX2 are ", transpose1, " and ", transpose2,
              "; true and false are supported, as on the device");
  y.add_(at::matmul(Unscaled(x1, scale1).t(), Unscaled(x2, scale2)));
}
// Groups along the first dimension of both; the scales of a group begin anew with each, as many pairs as it needs.
MP_KERNEL(aclnnQuantGroupedMatmulInplaceAdd, const Tensor& x1, const Tensor& x2, const OptTensor& scale1,
          const Tensor& scale2, const Tensor& groups, Tensor& y, int64_t type) {
  constexpr int64_t kPair = 64;
  TORCH_CHECK(scale1.has_value() && scale1->dim() == 3, "scale1 must be given, with the powers of blocks of 32");
  TORCH_CHECK(type == 0 || type == 1, "groupListType is ", type, "; it must be 0 (ends) or 1 (lengths)");
  const auto ranges = GroupRanges(HostList(groups), type == 1, x1.size(0));
  TORCH_CHECK(y.size(0) == static_cast<int64_t>(ranges.size()), "yRef has ", y.size(0), " matrices for ", ranges.size(),
              " groups");
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto [begin, end] = ranges[i];
    if (begin == end) continue;
    // Group i's scales begin at begin / 64 + i: the groups before it took at most that many pairs.
    const int64_t row = begin / kPair + static_cast<int64_t>(i);
    const int64_t pairs = (end - begin + kPair - 1) / kPair;
    const auto part = [&](const Tensor& x, const Tensor& scale) {
      return Unscaled(x.narrow(0, begin, end - begin), scale.narrow(0, row, pairs));
    };
    y[static_cast<int64_t>(i)].add_(at::matmul(part(x1, *scale1).t(), part(x2, scale2)));
  }
}
MP_KERNEL(aclnnQuantMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, double scale, Tensor& out) {
  Tensor sums = ExactGemm(x1, x2).to(at::kDouble);
  if (bias) sums = sums + bias->to(at::kDouble);
  Write(out, sums.mul_(scale));
}
// The activation, then int8 by truncation, with given steps or those of each row.
MP_KERNEL(aclnnDequantSituQuant, const Tensor& x, const OptTensor& weight_scale, const OptTensor& activation_scale,
          const OptTensor& bias, const OptTensor& quant_scale, const OptTensor& quant_offset, double beta,
          double linear_beta, bool left, string_view type, Tensor& y, Tensor& scale_out) {
  const bool dynamic = type.empty() || type == "dynamic";
  TORCH_CHECK(dynamic || type == "static", "quantTypeOptional is '", std::string(type), "'; static or dynamic");
  Tensor value = x.to(at::kFloat);
  if (!x.is_floating_point()) {
    TORCH_CHECK(weight_scale && (x.scalar_type() == at::kInt) == activation_scale.has_value(),
                "weightScaleOptional goes with INT8 and INT32, activationScaleOptional with INT32");
    value = value * weight_scale->to(at::kFloat);
    if (activation_scale) value = value * activation_scale->to(at::kFloat).reshape({});
    if (bias) value = value + bias->to(at::kFloat);
  }
  TORCH_CHECK(dynamic || quant_scale, "quantScaleOptional is NULL; static needs it");
  value = Situ(GateOf(value, -1, left), beta, linear_beta);
  if (dynamic) {
    if (quant_scale) value = value * quant_scale->to(at::kFloat);
    const Scaled scaled = ScaledToLargest(value, {-1}, QuantizedMaximum(y));
    WriteElements(scale_out, scaled.scale);
    return WriteQuantized(y, scaled.values.trunc());
  }
  value = value / quant_scale->to(at::kFloat);
  WriteQuantized(y, (quant_offset ? value + quant_offset->to(at::kFloat) : value).trunc());
}
MP_KERNEL(aclnnQuantMatmulReduceSumWeightNz, const Tensor& x1, const Tensor& x2, const Tensor& scale1,
          const Tensor& scale2, IntArrayRef dims, Tensor& out) {
  TORCH_CHECK(dims.size() == 1 && dims[0] == 0, "dims is ", dims, "; [0] is supported, as on the device");
  TORCH_CHECK(x1.dim() == 3 && x2.dim() == 3 && scale1.sizes() == x1.sizes().slice(0, 2), "x1, x2 and x1Scale have ",
              "shapes ", x1.sizes(), ", ", x2.sizes(), " and ", scale1.sizes());
  Tensor total = at::zeros(out.sizes(), at::kFloat);
  for (int64_t i = 0; i < x1.size(0); ++i) {
    total.add_(ExactGemm(x1[i], x2[i]).to(at::kFloat).mul_(scale1[i].to(at::kFloat).unsqueeze(-1)));
  }
  Write(out, total.mul_(scale2.to(at::kFloat)));
}
// Scales are of each row (or one) and of each column, or of blocks of 32 values along the inner dimension of both.
MP_KERNEL(TransposedQuantGemm, const Tensor& x1, const Tensor& x2, const OptTensor& scale1, const Tensor& scale2,
          int64_t group_size, IntArrayRef perm1, IntArrayRef perm2, IntArrayRef perm_y, Tensor& out) {
  TORCH_CHECK(x1.dim() == 3 && x2.dim() == 3, "x1 has ", x1.dim(), " dimensions and x2 ", x2.dim(), "; three each");
  const Blocks blocks = BlocksOf(x1, x2, scale1, scale2);
  if (blocks == Blocks::kMx) {
    CheckGroupSize(group_size, blocks);
    const auto lines = [](const Tensor& x, const Tensor& scale, const char* name, IntArrayRef perm, bool inner_last) {
      TORCH_CHECK(scale.dim() == 4, name, " has shape ", scale.sizes(), "; four dimensions, the last of 2, are needed");
      if (inner_last) return MxInFloat(x, scale).permute(perm);
      return MxInFloat(x.transpose(1, 2), scale.transpose(1, 2)).transpose(1, 2).permute(perm);
    };
    TORCH_CHECK(perm1.size() == 3 && perm2.size() == 3, "permX1 is ", perm1, " and permX2 ", perm2, "; three each");
    const Tensor left = lines(x1, *scale1, "x1Scale", perm1, perm1[2] == 2);
    const Tensor right = lines(x2, scale2, "x2Scale", perm2, perm2[1] == 2);
    return Write(out, at::bmm(left, right).permute(perm_y));
  }
  TORCH_CHECK(scale2.dim() == 1 && (!scale1 || scale1->dim() == 1), "x1Scale and x2Scale must have one dimension, or ",
              "four and the type FLOAT8_E8M0");
  const Tensor product = at::bmm(x1.to(at::kFloat).permute(perm1), x2.to(at::kFloat).permute(perm2));
  Tensor value = product * DecodedScale(scale2);
  if (scale1) value = value * scale1->to(at::kFloat).reshape({1, -1, 1});
  Write(out, value.permute(perm_y));
}

}  // namespace millpond::kernels

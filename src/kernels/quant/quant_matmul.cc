// SPDX-License-Identifier: Apache-2.0
// GEMM of quantised matrices.
#include "src/kernels/gemm/matmul.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// x quantised on the way in, for each row or with one given scale.
Scaled QuantizedInput(const Tensor& x, const OptTensor& x_scale, const OptTensor& x_offset, const OptTensor& smooth,
                      string_view mode) {
  TORCH_CHECK(!Given(x_offset).has_value(), "xOffset is not supported, as on the device; pass NULL");
  TORCH_CHECK(mode.empty() || mode == "pertoken" || mode == "pertensor", "xQuantMode is '", std::string(mode),
              "'; pertoken and pertensor are known");
  Tensor value = x.to(at::kFloat);
  if (Given(smooth).has_value()) value = value.mul(smooth->to(at::kFloat));
  Scaled scaled;
  if (Given(x_scale).has_value()) {
    const Tensor scale = x_scale->to(at::kFloat);
    const int64_t wanted = mode == "pertensor" ? 1 : x.size(0);
    TORCH_CHECK(mode.empty() || scale.numel() == wanted, "xScale has ", scale.numel(), " elements; xQuantMode '",
                std::string(mode), "' needs ", wanted);
    scaled.scale = scale.numel() == 1 ? scale.reshape({1, 1}) : scale.reshape({-1, 1});
    scaled.values = value.div(scaled.scale);
  } else {
    TORCH_CHECK(mode.empty() || mode == "pertoken", "xQuantMode '", std::string(mode), "' needs xScale, which is NULL");
    scaled = ScaledToLargest(value, {-1}, 127);
  }
  Tensor stored = at::empty(value.sizes(), value.options().dtype(at::kChar));
  WriteQuantized(stored, scaled.values);
  scaled.values = stored;
  return scaled;
}

void CheckFactor(const char* name, const OptTensor& factor, int64_t count) {
  TORCH_CHECK(!factor.has_value() || factor->numel() == 1 || factor->numel() == count, name, " has shape ",
              factor.has_value() ? factor->sizes() : IntArrayRef(), "; it must have 1 element or ", count);
}

// A weight's scale in 64-bit words has the one scale of x in it already.
QuantFactors DequantFactors(const OptTensor& bias, const Tensor& weight_scale, const Tensor& x_scale) {
  QuantFactors factors{bias, weight_scale, {}, x_scale, /*bias_first=*/true};
  if (!at::isFloatingType(weight_scale.scalar_type())) {
    TORCH_CHECK(x_scale.numel() == 1, "a weightScale of INT64 is not supported beside ", x_scale.numel(),
                " scales of x; it has the only one in it");
    factors.scale = DecodedScale(weight_scale);
    factors.token_scale.reset();
  }
  return factors;
}

Tensor TransposedIf(const Tensor& matrix, bool transpose) { return transpose ? matrix.transpose(-1, -2) : matrix; }

}  // namespace

MP_KERNEL(QuantGemm, const Tensor& x1, const Tensor& x2, const OptTensor& x1_scale, const OptTensor& x2_scale,
          const OptTensor& x2_offset, const OptTensor& bias, bool transpose1, bool transpose2, int64_t group_size,
          string_view activation, Tensor& out) {
  CheckPlain(x2, "x2");
  TORCH_CHECK(group_size <= 0 || (group_size & 0xFFFF) == 0, "groupSize asks for groups of ", group_size & 0xFFFF,
              " along K; only scales for whole rows and columns are supported (groupSize 0)");
  TORCH_CHECK(x1.scalar_type() != at::kChar || x2.scalar_type() != at::kInt,
              "an int8 x1 with an int4 x2 is not supported; int8 with int8 and int4 with int4 are");
  const bool known =
      activation.empty() || activation == "gelu_tanh" || activation == "gelu_erf" || activation == "relu";
  TORCH_CHECK(known, "fusedOpType '", std::string(activation), "' is none of gelu_tanh, gelu_erf, relu");
  const Tensor lhs = TransposedIf(x1, transpose1);
  const Tensor a = lhs.scalar_type() == at::kInt ? PlainWeight(lhs, lhs.size(-2)) : lhs;
  const Tensor b = PlainWeight(TransposedIf(x2, transpose2), a.size(-1));
  CheckFactor("x2Scale", Given(x2_scale), b.size(-1));
  CheckFactor("x2Offset", Given(x2_offset), b.size(-1));
  CheckFactor("x1Scale", Given(x1_scale), a.size(-2));
  QuantFactors factors{Given(bias), Given(x2_scale), Given(x2_offset), Given(x1_scale)};
  // Beside the fixed pipe's words the bias is in the sums' own unit, of 8-bit floats too.
  factors.bias_first = factors.scale.has_value() && !at::isFloatingType(factors.scale->scalar_type()) &&
                       !factors.token_scale.has_value();
  const Tensor value = ScaledGemm(a, b, factors,
                                  /*raw=*/activation.empty() && out.scalar_type() == at::kInt);
  if (activation.empty()) return WriteGemm(out, value);
  WriteGemm(out, activation == "relu" ? value.relu() : at::gelu(value, activation == "gelu_tanh" ? "tanh" : "none"));
}

MP_KERNEL(aclnnQuantMatmulDequant, const Tensor& x, const Tensor& weight, const Tensor& weight_scale,
          const OptTensor& bias, const OptTensor& x_scale, const OptTensor& x_offset, const OptTensor& smooth,
          string_view mode, bool transpose, Tensor& out) {
  CheckPlain(weight, "weight");
  const Scaled input = QuantizedInput(x, x_scale, x_offset, smooth, mode);
  Write(out, ScaledGemm(input.values, transpose ? weight.t() : weight,
                        DequantFactors(Given(bias), weight_scale, input.scale), /*raw=*/false));
}

MP_KERNEL(aclnnQuantGroupedMatmulDequant, const Tensor& x, const Tensor& weight, const Tensor& weight_scale,
          const Tensor& group_list, const OptTensor& bias, const OptTensor& x_scale, const OptTensor& x_offset,
          const OptTensor& smooth, string_view mode, bool transpose, Tensor& out) {
  CheckPlain(weight, "weight");
  const Scaled input = QuantizedInput(x, x_scale, x_offset, smooth, mode);
  int64_t group = 0;
  for (const auto& [begin, end] : GroupRanges(HostList(group_list), /*counts=*/false, x.size(0))) {
    const Tensor matrix = weight.select(0, group);
    const Tensor scale = input.scale.size(0) == 1 ? input.scale : input.scale.slice(0, begin, end);
    const OptTensor shift = Given(bias).has_value() ? OptTensor(bias->select(0, group)) : OptTensor();
    const QuantFactors factors = DequantFactors(shift, weight_scale.select(0, group), scale);
    Tensor rows = out.slice(0, begin, end);
    Write(rows, ScaledGemm(input.values.slice(0, begin, end), transpose ? matrix.t() : matrix, factors, /*raw=*/false));
    ++group;
  }
}

MP_KERNEL(WeightQuantGemm, const Tensor& x, const Tensor& weight, const Tensor& scale, const OptTensor& offset,
          const OptTensor& quant_scale, const OptTensor& quant_offset, const OptTensor& bias, bool transpose_x,
          bool transpose_weight, int64_t group_size, Tensor& y) {
  CheckPlain(weight, "weight");  // before it is transposed: only a kernel's own operands can be asked
  const Tensor lhs = TransposedIf(x, transpose_x && x.dim() == 2);
  const Tensor plain = PlainWeight(TransposedIf(weight, transpose_weight && weight.dim() == 2), lhs.size(-1));
  TORCH_CHECK(plain.scalar_type() == at::kChar || at::isFloat8Type(plain.scalar_type()), "the weight has type ",
              weight.scalar_type(), "; int8 and int4 packed in int32 are supported");
  const auto turned = [&](const Tensor& factor) { return TransposedIf(factor, transpose_weight && factor.dim() == 2); };
  const OptTensor shift = Given(offset).has_value() ? OptTensor(turned(*offset)) : OptTensor();
  Tensor value = at::matmul(lhs.to(at::kFloat), Dequantized(plain, turned(scale), shift, group_size));
  if (Given(bias).has_value()) value = value.add(bias->to(at::kFloat));
  if (!Given(quant_scale).has_value()) return Write(y, value);
  value = value.mul(DecodedScale(*quant_scale));
  WriteGemm(y, Given(quant_offset).has_value() ? value.add(quant_offset->to(at::kFloat)) : value);
}

}  // namespace millpond::kernels

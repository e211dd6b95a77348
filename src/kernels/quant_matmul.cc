// SPDX-License-Identifier: Apache-2.0
// Products of quantised matrices.
#include "src/kernels/kernel.h"
#include "src/kernels/matmul.h"
#include "src/kernels/outputs.h"
#include "src/kernels/quant_product.h"
#include "src/kernels/quantized.h"
#include "src/kernels/row_quant.h"

namespace millpond::kernels {
namespace {

struct Operands {
  const Tensor& x1;
  const Tensor& x2;
  bool transpose1 = false;
  bool transpose2 = false;
};

Tensor QuantProduct(const Operands& o, const OptTensor& x1_scale, const OptTensor& x2_scale, const OptTensor& y_scale,
                    const OptTensor& x1_offset, const OptTensor& x2_offset, const OptTensor& y_offset,
                    const OptTensor& bias, int64_t group_size, ScalarType out_type) {
  TORCH_CHECK(!Given(y_scale).has_value() && !Given(x1_offset).has_value() && !Given(y_offset).has_value(),
              "yScale, x1Offset and yOffset are not supported; pass NULL");
  TORCH_CHECK((group_size & 0xFFFF) == 0, "groupSize asks for groups of ", group_size & 0xFFFF,
              " along K; only scales for whole rows and columns are supported (groupSize 0)");
  TORCH_CHECK(o.x1.scalar_type() != at::kChar || o.x2.scalar_type() != at::kInt,
              "an int8 x1 with an int4 x2 is not supported; int8 with int8 and int4 with int4 are");
  const Tensor left = o.transpose1 ? o.x1.transpose(-1, -2) : o.x1;
  const Tensor a = left.scalar_type() == at::kInt ? PlainWeight(left, left.size(-2)) : left;
  const Tensor b = PlainWeight(o.transpose2 ? o.x2.transpose(-1, -2) : o.x2, a.size(-1));
  return ScaledProduct(a, b, {Given(bias), Given(x2_scale), Given(x2_offset), Given(x1_scale)},
                       /*raw=*/out_type == at::kInt);
}

// x quantised on the way in, for each row or with one given scale.
Scaled QuantizedInput(const Tensor& x, const OptTensor& x_scale, const OptTensor& x_offset, const OptTensor& smooth,
                      string_view mode) {
  TORCH_CHECK(!Given(x_offset).has_value(), "xOffset is not supported, as on the device; pass NULL");
  Tensor value = x.to(at::kFloat);
  if (Given(smooth).has_value()) value = value.mul(smooth->to(at::kFloat));
  Scaled scaled;
  if (Given(x_scale).has_value()) {
    const Tensor scale = x_scale->to(at::kFloat);
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

void WeightQuant(const Tensor& x, const Tensor& weight, const Tensor& scale, const OptTensor& offset,
                 const OptTensor& quant_scale, const OptTensor& quant_offset, const OptTensor& bias, Tensor& y) {
  const Tensor plain = PlainWeight(weight, x.size(-1));
  TORCH_CHECK(plain.scalar_type() == at::kChar || at::isFloat8Type(plain.scalar_type()), "the weight has type ",
              weight.scalar_type(), "; int8 and int4 packed in int32 are supported");
  Tensor value = at::matmul(x.to(at::kFloat), Dequantized(plain, scale, Given(offset)));
  if (Given(bias).has_value()) value = value.add(bias->to(at::kFloat));
  if (!Given(quant_scale).has_value()) return Write(y, value);
  value = value.mul(DecodedScale(*quant_scale));
  WriteProduct(y, Given(quant_offset).has_value() ? value.add(quant_offset->to(at::kFloat)) : value);
}

}  // namespace

MP_KERNEL(aclnnQuantMatmulV5, const Tensor& x1, const Tensor& x2, const OptTensor& x1_scale, const OptTensor& x2_scale,
          const OptTensor& y_scale, const OptTensor& x1_offset, const OptTensor& x2_offset, const OptTensor& y_offset,
          const OptTensor& bias, bool transpose1, bool transpose2, int64_t group_size, Tensor& out) {
  CheckPlain(x2, "x2");
  WriteProduct(out, QuantProduct({x1, x2, transpose1, transpose2}, x1_scale, x2_scale, y_scale, x1_offset, x2_offset,
                                 y_offset, bias, group_size, out.scalar_type()));
}
MP_KERNEL(aclnnQuantMatmulWeightNz, const Tensor& x1, const Tensor& x2, const OptTensor& x1_scale,
          const OptTensor& x2_scale, const OptTensor& y_scale, const OptTensor& x1_offset, const OptTensor& x2_offset,
          const OptTensor& y_offset, const OptTensor& bias, bool transpose1, bool transpose2, int64_t group_size,
          Tensor& out) {
  CheckPlain(x2, "x2");
  WriteProduct(out, QuantProduct({x1, x2, transpose1, transpose2}, x1_scale, x2_scale, y_scale, x1_offset, x2_offset,
                                 y_offset, bias, group_size, out.scalar_type()));
}

MP_KERNEL(aclnnFusedQuantMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& x1_scale,
          const OptTensor& x2_scale, const OptTensor& y_scale, const OptTensor& x1_offset, const OptTensor& x2_offset,
          const OptTensor& y_offset, const OptTensor& bias, const OptTensor& x3, string_view op, int64_t group_size,
          Tensor& out) {
  CheckPlain(x2, "x2");
  TORCH_CHECK(!Given(x3).has_value(), "x3 is not supported; pass NULL");
  TORCH_CHECK(op == "gelu_tanh" || op == "gelu_erf" || op == "relu", "fusedOpType '", std::string(op),
              "' is none of gelu_tanh, gelu_erf, relu");
  const Tensor product =
      QuantProduct({x1, x2}, x1_scale, x2_scale, y_scale, x1_offset, x2_offset, y_offset, bias, group_size, at::kFloat);
  WriteProduct(out, op == "relu" ? product.relu() : at::gelu(product, op == "gelu_tanh" ? "tanh" : "none"));
}

MP_KERNEL(aclnnQuantMatmulDequant, const Tensor& x, const Tensor& weight, const Tensor& weight_scale,
          const OptTensor& bias, const OptTensor& x_scale, const OptTensor& x_offset, const OptTensor& smooth,
          string_view mode, bool transpose, Tensor& out) {
  CheckPlain(weight, "weight");
  const Scaled input = QuantizedInput(x, x_scale, x_offset, smooth, mode);
  Write(out, ScaledProduct(input.values, transpose ? weight.t() : weight, {Given(bias), weight_scale, {}, input.scale},
                           /*raw=*/false));
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
    QuantFactors factors{{}, weight_scale.select(0, group), {}, scale};
    if (Given(bias).has_value()) factors.bias = bias->select(0, group);
    Tensor rows = out.slice(0, begin, end);
    Write(rows,
          ScaledProduct(input.values.slice(0, begin, end), transpose ? matrix.t() : matrix, factors, /*raw=*/false));
    ++group;
  }
}

MP_KERNEL(aclnnWeightQuantBatchMatmulV2, const Tensor& x, const Tensor& weight, const Tensor& scale,
          const OptTensor& offset, const OptTensor& quant_scale, const OptTensor& quant_offset, const OptTensor& bias,
          int64_t, Tensor& y) {
  CheckPlain(weight, "weight");
  WeightQuant(x, weight, scale, offset, quant_scale, quant_offset, bias, y);
}
MP_KERNEL(aclnnWeightQuantBatchMatmulV3, const Tensor& x, const Tensor& weight, const Tensor& scale,
          const OptTensor& offset, const OptTensor& quant_scale, const OptTensor& quant_offset, const OptTensor& bias,
          int64_t, int64_t, Tensor& y) {
  CheckPlain(weight, "weight");
  WeightQuant(x, weight, scale, offset, quant_scale, quant_offset, bias, y);
}
MP_KERNEL(aclnnWeightQuantBatchMatmulNz, const Tensor& x, const Tensor& weight, const Tensor& scale,
          const OptTensor& offset, const OptTensor& quant_scale, const OptTensor& quant_offset, const OptTensor& bias,
          int64_t, Tensor& y) {
  CheckPlain(weight, "weight");
  WeightQuant(x, weight, scale, offset, quant_scale, quant_offset, bias, y);
}

// What GE's graphs have beyond these: the output's type is an attribute, as are turned operands.
MP_KERNEL(GeQuantMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& x1_scale, const OptTensor& x2_scale,
          const OptTensor& y_scale, const OptTensor& x1_offset, const OptTensor& x2_offset, const OptTensor& y_offset,
          const OptTensor& bias, bool transpose1, bool transpose2, int64_t group_size, int64_t, Tensor& out) {
  CheckPlain(x2, "x2");
  WriteProduct(out, QuantProduct({x1, x2, transpose1, transpose2}, x1_scale, x2_scale, y_scale, x1_offset, x2_offset,
                                 y_offset, bias, std::max<int64_t>(group_size, 0), out.scalar_type()));
}
MP_KERNEL(GeFusedQuantMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& x1_scale, const OptTensor& x2_scale,
          const OptTensor& y_scale, const OptTensor& x1_offset, const OptTensor& x2_offset, const OptTensor& y_offset,
          const OptTensor& bias, const OptTensor& x3, string_view op, bool transpose1, bool transpose2,
          int64_t group_size, int64_t, Tensor& out) {
  CheckPlain(x2, "x2");
  TORCH_CHECK(!Given(x3).has_value(), "x3 is not supported");
  const Tensor product =
      QuantProduct({x1, x2, transpose1, transpose2}, x1_scale, x2_scale, y_scale, x1_offset, x2_offset, y_offset, bias,
                   std::max<int64_t>(group_size, 0), op.empty() ? out.scalar_type() : at::kFloat);
  if (op.empty()) return WriteProduct(out, product);
  TORCH_CHECK(op == "gelu_tanh" || op == "gelu_erf" || op == "relu", "fused_op_type '", std::string(op),
              "' is none of gelu_tanh, gelu_erf, relu");
  WriteProduct(out, op == "relu" ? product.relu() : at::gelu(product, op == "gelu_tanh" ? "tanh" : "none"));
}
MP_KERNEL(GeWeightQuantMatmul, const Tensor& x, const Tensor& weight, const Tensor& scale, const OptTensor& offset,
          const OptTensor& quant_scale, const OptTensor& quant_offset, const OptTensor& bias, bool transpose_x,
          bool transpose_weight, int64_t, int64_t, Tensor& y) {
  CheckPlain(weight, "weight");  // before it is turned: only a kernel's own operands can be asked
  const auto turned = [&](const Tensor& matrix, bool turn) {
    return turn && matrix.dim() == 2 ? matrix.transpose(0, 1) : matrix;
  };
  const OptTensor shift = Given(offset).has_value() ? OptTensor(turned(*offset, transpose_weight)) : OptTensor();
  WeightQuant(turned(x, transpose_x), turned(weight, transpose_weight), turned(scale, transpose_weight), shift,
              quant_scale, quant_offset, bias, y);
}

}  // namespace millpond::kernels

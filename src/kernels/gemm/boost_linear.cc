// SPDX-License-Identifier: Apache-2.0
// The transformer boost library's product: summed in float, rounded once.
#include "src/kernels/quant/quantized.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

MP_KERNEL(AtbLinear, const Tensor& x, const Tensor& weight, const OptTensor& bias, const OptTensor& accumulated,
          const OptTensor& scale, const OptTensor& token_scale, bool transpose_x, bool transpose_weight, bool einsum,
          Tensor& out) {
  // Sums of int8 products are exact in double.
  const ScalarType type = x.scalar_type() == at::kChar ? at::kDouble : at::kFloat;
  const Tensor a = transpose_x ? x.to(type).transpose(-1, -2) : x.to(type);
  const Tensor b = transpose_weight ? weight.to(type).transpose(-1, -2) : weight.to(type);
  // [m, e, k] by [e, k, n] gives [m, e, n].
  Tensor result = einsum ? at::matmul(a.transpose(0, 1), b).transpose(0, 1) : at::matmul(a, b);
  if (bias) result = result.add(bias->to(type));
  if (scale) result = result.mul(DecodedScale(*scale).to(type));
  if (token_scale) result = result.mul(token_scale->to(type).reshape({-1, 1}));
  if (accumulated) result = result.add(accumulated->to(type));
  WriteElements(out, result);
}

}  // namespace millpond::kernels

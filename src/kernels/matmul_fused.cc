// SPDX-License-Identifier: Apache-2.0
// Products of matrices with something before or after.
#include "src/kernels/kernel.h"
#include "src/kernels/matmul.h"
#include "src/kernels/quantized.h"

namespace millpond::kernels {
namespace {

Tensor AfterProduct(string_view op, const Tensor& product, const OptTensor& x3) {
  if (op.empty() || op == "16cast32") return product;
  if (op == "relu") return product.relu();
  if (op == "gelu_erf") return at::gelu(product, "none");
  if (op == "gelu_tanh") return at::gelu(product, "tanh");
  TORCH_CHECK(op == "add" || op == "mul", "fusedOpType '", std::string(op),
              "' is none of '', 16cast32, relu, gelu_erf, gelu_tanh, add, mul");
  TORCH_CHECK(x3.has_value(), "fusedOpType '", std::string(op), "' needs x3, which is absent");
  return op == "add" ? product.add(x3->to(product.scalar_type())) : product.mul(x3->to(product.scalar_type()));
}

void TransposedProduct(const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& scale,
                       IntArrayRef perm1, IntArrayRef perm2, IntArrayRef perm_y, int64_t split, Tensor& out) {
  TORCH_CHECK(!bias.has_value(), "bias is not supported, as on the device; pass NULL");
  Tensor product = at::bmm(x1.permute(perm1), x2.permute(perm2)).permute(perm_y);  // [M, B, N]
  const int64_t rows = product.size(0);
  if (scale.has_value()) {
    product = product.reshape({rows, 1, -1}).to(at::kFloat).mul(DecodedScale(*scale));
    WriteQuantized(out, product);
    return;
  }
  if (split > 1) product = product.reshape({rows, split, -1}).transpose(0, 1);
  Write(out, product);
}

}  // namespace

MP_KERNEL(aclnnFusedMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& x3,
          string_view op, int64_t, Tensor& y) {
  // As the device does: one product in float, rounded once at the end.
  const ScalarType type = IsHalf(x1.scalar_type()) ? at::kFloat : x1.scalar_type();
  Tensor product = at::matmul(x1.to(type), x2.to(type));
  if (bias.has_value()) product = product.add(bias->to(type));
  Write(y, AfterProduct(op, product, x3));
}

MP_KERNEL(MatrixProduct, const Tensor& x1, const Tensor& x2, const OptTensor& bias, bool transpose1, bool transpose2,
          Tensor& y) {
  Multiply(y, transpose1 ? x1.mT() : x1, transpose2 ? x2.mT() : x2);
  if (bias.has_value()) y.add_(*bias);
}

MP_KERNEL(aclnnTransposeBatchMatMul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& scale,
          IntArrayRef perm1, IntArrayRef perm2, IntArrayRef perm_y, int64_t, int64_t split, Tensor& out) {
  TransposedProduct(x1, x2, bias, scale, perm1, perm2, perm_y, split, out);
}
MP_KERNEL(aclnnTransposeBatchMatMulWeightNz, const Tensor& x1, const Tensor& x2, const OptTensor& bias,
          const OptTensor& scale, IntArrayRef perm1, IntArrayRef perm2, IntArrayRef perm_y, int64_t, int64_t split,
          Tensor& out) {
  CheckPlain(x2, "x2");
  TransposedProduct(x1, x2, bias, scale, perm1, perm2, perm_y, split, out);
}

}  // namespace millpond::kernels

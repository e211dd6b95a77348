// SPDX-License-Identifier: Apache-2.0
// GEMM with transposes before and epilogues after.
#include "src/kernels/gemm/matmul.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

Tensor WithEpilogue(string_view op, const Tensor& product, const OptTensor& x3) {
  if (op.empty() || op == "16cast32") return product;
  if (op == "relu") return product.relu();
  if (op == "gelu_erf") return at::gelu(product, "none");
  if (op == "gelu_tanh") return at::gelu(product, "tanh");
  TORCH_CHECK(op == "add" || op == "mul", "fusedOpType '", std::string(op),
              "' is none of '', 16cast32, relu, gelu_erf, gelu_tanh, add, mul");
  TORCH_CHECK(x3.has_value(), "fusedOpType '", std::string(op), "' needs x3, which is absent");
  return op == "add" ? product.add(x3->to(product.scalar_type())) : product.mul(x3->to(product.scalar_type()));
}

void TransposedGemm(const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& scale,
                    IntArrayRef perm1, IntArrayRef perm2, IntArrayRef perm_y, int64_t split, Tensor& out) {
  TORCH_CHECK(!bias.has_value(), "bias is not supported, as on the device; pass NULL");
  // What is quantised is not rounded to a half type before.
  const auto wide = [&](const Tensor& x) { return scale.has_value() ? x.to(at::kFloat) : x; };
  const Tensor both = at::bmm(wide(x1).permute(perm1), wide(x2).permute(perm2));
  Tensor product = both.permute(perm_y);  // [M, B, N]
  const int64_t rows = product.size(0);
  TORCH_CHECK(split == 1 || (!scale.has_value() && split > 1 && product.size(1) % split == 0), "batchSplitFactor is ",
              split, "; it must divide the batch of ", product.size(1), ", and be 1 beside a scale");
  if (scale.has_value()) {
    WriteQuantized(out, product.reshape({rows, 1, -1}).mul(DecodedScale(*scale)));
    return;
  }
  if (split > 1) product = product.reshape({rows, split, -1}).transpose(0, 1);
  Write(out, product);
}

}  // namespace

MP_KERNEL(aclnnFusedMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& x3,
          string_view op, Tensor& y) {
  TORCH_CHECK(!bias.has_value() || (op != "gelu_erf" && op != "gelu_tanh"), "fusedOpType '", std::string(op),
              "' takes no bias; pass NULL");
  // As the device does: one GEMM in float, rounded once at the end.
  const ScalarType type = IsHalf(x1.scalar_type()) ? at::kFloat : x1.scalar_type();
  Tensor product = at::matmul(x1.to(type), x2.to(type));
  if (bias.has_value()) product = product.add(bias->to(type));
  Write(y, WithEpilogue(op, product, x3));
}

MP_KERNEL(GeMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, bool transpose1, bool transpose2,
          Tensor& y) {
  Multiply(y, transpose1 ? x1.mT() : x1, transpose2 ? x2.mT() : x2);
  if (bias.has_value()) y.add_(*bias);
}

// alpha * a x b + beta * c; both factors lie on the device. Halves are rounded at each step, as a card does: CANN's
// sample asks for the very numbers of Matmul, Muls and Add.
MP_KERNEL(ScaledMatmul, const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& alpha, const Tensor& beta,
          bool transpose_a, bool transpose_b, Tensor& y) {
  const ScalarType type = IsHalf(a.scalar_type()) || IsHalf(c.scalar_type()) ? at::kFloat : c.scalar_type();
  const Tensor lhs = transpose_a ? a.mT() : a;
  const Tensor rhs = transpose_b ? b.mT() : b;
  if (IsHalf(c.scalar_type()) && a.scalar_type() == c.scalar_type() && b.scalar_type() == c.scalar_type()) {
    Tensor product = at::empty_like(c);
    Multiply(product, lhs, rhs);
    return Write(y, product.mul(alpha.item()).add(c.mul(beta.item())));
  }
  Write(y, at::matmul(lhs.to(type), rhs.to(type)) * alpha.item() + c.to(type) * beta.item());
}

// The dimensions of x from axis on are one.
MP_KERNEL(InnerProduct, const Tensor& x, const Tensor& w, const OptTensor& b, int64_t outputs, bool transpose,
          int64_t axis, Tensor& y) {
  axis = at::maybe_wrap_dim(axis, x.dim());
  const Tensor rows = x.flatten(axis, -1);
  const Tensor weight = w.reshape({w.size(0), -1});
  TORCH_CHECK(weight.size(transpose ? 1 : 0) == outputs, "num_output is ", outputs, ", the weight has shape ",
              w.sizes());
  const ScalarType type = IsHalf(x.scalar_type()) ? at::kFloat : y.scalar_type();
  Tensor product = at::matmul(rows.to(type), (transpose ? weight : weight.t()).to(type));
  if (b.has_value()) product = product + b->to(type).reshape(-1);
  Write(y, product);
}

MP_KERNEL(GeFusedMatmul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& x3,
          bool transpose1, bool transpose2, string_view op, Tensor& y) {
  const ScalarType type = IsHalf(x1.scalar_type()) ? at::kFloat : x1.scalar_type();
  Tensor product = at::matmul((transpose1 ? x1.mT() : x1).to(type), (transpose2 ? x2.mT() : x2).to(type));
  if (bias.has_value()) product = product.add(bias->to(type));
  Write(y, WithEpilogue(op == "none" ? "" : op, product, x3));
}

MP_KERNEL(aclnnTransposeBatchMatMul, const Tensor& x1, const Tensor& x2, const OptTensor& bias, const OptTensor& scale,
          IntArrayRef perm1, IntArrayRef perm2, IntArrayRef perm_y, int64_t split, Tensor& out) {
  CheckPlain(x2, "x2");
  TransposedGemm(x1, x2, bias, scale, perm1, perm2, perm_y, split, out);
}

// alpha A B + beta C; half types are summed and scaled in float and rounded once.
MP_WIDE_KERNEL(aclnnGemm, const Tensor& a, const Tensor& b, const Tensor& c, double alpha, double beta, int64_t trans_a,
               int64_t trans_b, Tensor& out) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2, "A has ", a.dim(), " dimensions and B ", b.dim(), "; both must have two");
  const Tensor product = at::mm(trans_a != 0 ? a.t() : a, trans_b != 0 ? b.t() : b).mul_(alpha);
  Write(out, beta == 0 ? product : at::add(product, c, beta));
}
// A float32 weight in two halves: X high + scale X low.
MP_WIDE_KERNEL(aclnnMatmulEmuSplitWeight, const Tensor& x, const Tensor& high, const Tensor& low, Tensor& y,
               double scale) {
  Write(y, at::matmul(x, high).add_(at::matmul(x, low), scale));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication of matrices and vectors.
#include "src/kernels/gemm/matmul.h"

#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

constexpr int16_t kFractalNz = 29;

bool SameTypes(const Tensor& out, std::initializer_list<const Tensor*> inputs) {
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](const Tensor* input) { return input->scalar_type() == out.scalar_type(); });
}

// The type of a GEMM whose inputs have unlike types: wide enough for each of them and for the output.
ScalarType WidestType(const Tensor& out, std::initializer_list<const Tensor*> inputs) {
  ScalarType type = out.scalar_type();
  for (const Tensor* input : inputs) type = c10::promoteTypes(type, input->scalar_type());
  return type;
}

// [..., M, K] x [K, N] as one GEMM, when the output's memory allows it.
bool MultiplyFolded(Tensor& out, const Tensor& self, const Tensor& mat2) {
  if (self.dim() < 3 || mat2.dim() != 2 || !out.is_contiguous() || !self.is_contiguous()) return false;
  const int64_t inner = self.size(-1);
  const int64_t rows = c10::multiply_integers(self.sizes().slice(0, self.dim() - 1));
  Tensor flat = out.view({rows, mat2.size(1)});
  at::mm_out(flat, self.view({rows, inner}), mat2);
  return true;
}

// [..., M, K] x [..., K, N] with the same leading dimensions as one batch.
bool MultiplyBatch(Tensor& out, const Tensor& self, const Tensor& mat2) {
  if (self.dim() < 3 || self.dim() != mat2.dim() || !out.is_contiguous()) return false;
  const auto leading = self.sizes().slice(0, self.dim() - 2);
  if (leading != mat2.sizes().slice(0, mat2.dim() - 2)) return false;
  if (self.dim() == 3) {
    at::bmm_out(out, self, mat2);
    return true;
  }
  const int64_t batch = c10::multiply_integers(leading);
  Tensor flat = out.view({batch, self.size(-2), mat2.size(-1)});
  at::bmm_out(flat, self.reshape({batch, self.size(-2), self.size(-1)}),
              mat2.reshape({batch, mat2.size(-2), mat2.size(-1)}));
  return true;
}

void AddGemm(Tensor& out, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  if (SameTypes(out, {&self, &mat1, &mat2}) && !Overlap(out, mat1) && !Overlap(out, mat2)) {
    at::addmm_out(out, self, mat1, mat2, beta, alpha);
    return;
  }
  const ScalarType type = WidestType(out, {&self, &mat1, &mat2});
  Write(out, at::addmm(self.to(type), mat1.to(type), mat2.to(type), beta, alpha));
}

// A batch of one serves all of the other's.
std::pair<Tensor, Tensor> OfOneBatch(const Tensor& a, const Tensor& b) {
  if (a.dim() != 3 || b.dim() != 3 || a.size(0) == b.size(0)) return {a, b};
  if (a.size(0) == 1) return {a.expand({b.size(0), -1, -1}), b};
  return {a, b.size(0) == 1 ? b.expand({a.size(0), -1, -1}) : b};
}

Scalar OrOne(const OptScalar& value) { return value.value_or(Scalar(1)); }

}  // namespace

void CheckPlain(const Tensor& tensor, const char* name) {
  const TensorView& view = *Frame::Current()->ViewOf(tensor);
  TORCH_CHECK(view.format != kFractalNz || view.layout != PrivateLayout::kPlain, name,
              " is said to be of the private format FRACTAL_NZ (29), and the storage's shape of such a tensor was not ",
              "given; pass it in ND format (2), or as the operator's page describes the storage");
}

void Multiply(Tensor& out, const Tensor& self, const Tensor& mat2) {
  if (!SameTypes(out, {&self, &mat2}) || Overlap(out, self) || Overlap(out, mat2)) {
    const ScalarType type = WidestType(out, {&self, &mat2});
    Write(out, at::matmul(self.to(type), mat2.to(type)));
    return;
  }
  if (self.dim() == 2 && mat2.dim() == 2) {
    at::mm_out(out, self, mat2);
    return;
  }
  if (MultiplyFolded(out, self, mat2) || MultiplyBatch(out, self, mat2)) return;
  Write(out, at::matmul(self, mat2));  // not matmul_out: it may bind `out` to other memory
}

MP_KERNEL(aclnnMatmul, const Tensor& self, const Tensor& mat2, Tensor& out) { Multiply(out, self, mat2); }

MP_KERNEL(aclnnMatmulWeightNz, const Tensor& self, const Tensor& mat2, Tensor& out) {
  CheckPlain(mat2, "mat2");
  Multiply(out, self, mat2);
}

MP_KERNEL(aclnnAddmm, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
          const Scalar& alpha, Tensor& out) {
  AddGemm(out, self, mat1, mat2, beta, alpha);
}
MP_KERNEL(aclnnAddmmWeightNz, const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
          const Scalar& alpha, Tensor& out) {
  CheckPlain(mat2, "mat2");
  AddGemm(out, self, mat1, mat2, beta, alpha);
}

MP_KERNEL(aclnnBaddbmm, const Tensor& self, const Tensor& given1, const Tensor& given2, const Scalar& beta,
          const Scalar& alpha, Tensor& out) {
  const auto [batch1, batch2] = OfOneBatch(given1, given2);
  if (SameTypes(out, {&self, &batch1, &batch2}) && !Overlap(out, batch1) && !Overlap(out, batch2)) {
    at::baddbmm_out(out, self, batch1, batch2, beta, alpha);
    return;
  }
  const ScalarType type = WidestType(out, {&self, &batch1, &batch2});
  Write(out, at::baddbmm(self.to(type), batch1.to(type), batch2.to(type), beta, alpha));
}

MP_WIDE_KERNEL(aclnnAddbmm, const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha, Tensor& out) {
  const auto [left, right] = OfOneBatch(batch1, batch2);
  Write(out, at::addbmm(self, left, right, beta, alpha));
}

MP_KERNEL(aclnnAddmv, const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& alpha, const Scalar& beta,
          Tensor& out) {
  Write(out, at::addmv(self, mat, vec, beta, alpha));
}
MP_KERNEL(aclnnMv, const Tensor& self, const Tensor& vec, Tensor& out) { Write(out, at::mv(self, vec)); }
MP_KERNEL(aclnnDot, const Tensor& self, const Tensor& other, Tensor& out) { Write(out, at::dot(self, other)); }

MP_WIDE_KERNEL(aclnnAddr, const Tensor& self, const Tensor& vec1, const Tensor& vec2, const OptScalar& beta,
               const OptScalar& alpha, Tensor& out) {
  Write(out, at::addr(self, vec1, vec2, OrOne(beta), OrOne(alpha)));
}

}  // namespace millpond::kernels

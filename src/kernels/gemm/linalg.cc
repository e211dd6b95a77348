// SPDX-License-Identifier: Apache-2.0
// Linear algebra.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

MP_WIDE_KERNEL(aclnnInverse, const Tensor& self, Tensor& out) { Write(out, at::linalg_inv(self)); }
MP_WIDE_KERNEL(aclnnLinalgCholesky, const Tensor& self, bool upper, Tensor& out) {
  Write(out, at::linalg_cholesky(self, upper));
}
MP_WIDE_KERNEL(aclnnLinalgQr, const Tensor& self, int64_t mode, Tensor& q, Tensor& r) {
  constexpr const char* kModes[] = {"reduced", "complete", "r"};
  TORCH_CHECK(mode >= 0 && mode <= 2, "mode is ", mode, "; it must be 0 (reduced), 1 (complete) or 2 (r)");
  const auto [orthogonal, triangle] = at::linalg_qr(self, kModes[mode]);
  if (orthogonal.numel() != 0) Write(q, orthogonal);  // 'r' gives none
  Write(r, triangle);
}
MP_KERNEL(aclnnQr, const Tensor& self, bool some, Tensor& q, Tensor& r) {
  const auto [orthogonal, triangle] = at::linalg_qr(self, some ? "reduced" : "complete");
  Write(q, orthogonal);
  Write(r, triangle);
}
MP_KERNEL(aclnnLogdet, const Tensor& self, Tensor& out) { WriteElements(out, at::logdet(self)); }
MP_KERNEL(aclnnSlogdet, const Tensor& self, Tensor& sign, Tensor& log) {
  const auto [signs, logs] = at::linalg_slogdet(self);
  WriteElements(sign, signs);
  WriteElements(log, logs);
}
// `v` holds the columns; clients that want rows pass a transposed view of theirs.
MP_KERNEL(aclnnSvd, const Tensor& self, bool full, bool compute_uv, Tensor& sigma, Tensor& u, Tensor& v) {
  if (!compute_uv) {
    Write(sigma, at::linalg_svdvals(self));
    return;
  }
  const auto [left, values, right] = at::linalg_svd(self, full);
  Write(sigma, values);
  Write(u, left);
  Write(v, right.transpose(-2, -1));
}
MP_KERNEL(aclnnTriangularSolve, const Tensor& self, const Tensor& a, bool upper, bool transpose, bool unitriangular,
          Tensor& x, Tensor& m) {
  const auto [solution, copy] = at::triangular_solve(self, a, upper, transpose, unitriangular);
  Write(x, solution);
  Write(m, upper ? copy.triu() : copy.tril());  // ATen copies both
}

}  // namespace millpond::kernels

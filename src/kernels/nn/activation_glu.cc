// SPDX-License-Identifier: Apache-2.0
// Gated units: one half of a dimension, activated, times the other half.
#include "src/kernels/nn/activation.h"

namespace millpond::kernels {
namespace {

struct Halves {
  Tensor left;
  Tensor right;
};

Halves Split(const Tensor& self, int64_t dim) {
  TORCH_CHECK(self.dim() > 0 && self.size(dim) % 2 == 0, "dimension ", dim, " of an operand of shape ", self.sizes(),
              " cannot be split into two halves");
  const int64_t half = self.size(dim) / 2;
  return {self.narrow(dim, 0, half), self.narrow(dim, half, half)};
}

}  // namespace

MP_KERNEL(aclnnSwiGlu, const Tensor& self, int64_t dim, Tensor& out) {
  const auto [gate, value] = Split(Widened(self), dim);
  Write(out, at::silu(gate).mul_(value));
}
MP_KERNEL(aclnnSwiGluGrad, const Tensor& grad, const Tensor& self, int64_t dim, Tensor& out) {
  const auto [gate, value] = Split(Widened(self), dim);
  const Tensor wide = Widened(grad);
  Write(out, at::cat({at::silu_backward(at::mul(wide, value), gate), at::silu(gate).mul_(wide)}, dim));
}

// mode 0 bounds the gate before it is activated, mode 1 afterwards; then alpha and bias do not count.
MP_KERNEL(aclnnClippedSwigluV2, const Tensor& self, const OptTensor& group_index, int64_t dim, double alpha,
          double limit, double bias, bool interleaved, int64_t mode, Tensor& out) {
  TORCH_CHECK(mode == 0 || mode == 1, "clampMode is ", mode, "; it must be 0 or 1");
  TORCH_CHECK(self.dim() > 0, "the operand has no dimensions");
  const int64_t axis = at::maybe_wrap_dim(dim, self.dim());
  int64_t rows = 1;
  for (int64_t i = 0; i < axis; ++i) rows *= self.size(i);
  // The split dimension and those behind it count as one row, also for the interleaved form.
  const int64_t columns = rows == 0 ? 0 : self.numel() / rows;
  TORCH_CHECK(columns % 2 == 0 && out.numel() * 2 == self.numel(), "an operand of shape ", self.sizes(),
              " cannot be halved along ", dim, " into an output of shape ", out.sizes());
  // Only the rows that belong to a group are computed; the output's others stay as they are.
  int64_t used = rows;
  if (group_index.has_value()) used = std::clamp<int64_t>(group_index->sum().item<int64_t>(), 0, rows);
  const Tensor flat = Widened(self).reshape({rows, columns}).narrow(0, 0, used);
  const Tensor gate = interleaved ? flat.slice(1, 0, columns, 2) : flat.narrow(1, 0, columns / 2);
  const Tensor value = interleaved ? flat.slice(1, 1, columns, 2) : flat.narrow(1, columns / 2, columns / 2);
  const Tensor linear = at::clamp(value, -limit, limit);
  const Tensor bounded = at::clamp_max(gate, limit);
  const Tensor result = mode == 1 ? at::silu(gate).clamp_max_(limit).mul_(linear)
                                  : at::sigmoid(at::mul(bounded, alpha)).mul_(bounded).mul_(linear.add(bias));
  Tensor all = used == rows ? at::empty({rows, columns / 2}, out.options()) : out.reshape({rows, columns / 2}).clone();
  all.narrow(0, 0, used).copy_(result);
  Write(out, all.reshape(out.sizes()));
}

MP_KERNEL(aclnnGeGluV3, const Tensor& self, int64_t dim, int64_t approximate, bool activate_left, Tensor& out,
          Tensor& out_gelu) {
  const auto [left, right] = Split(Widened(self), dim);
  const Tensor active = at::gelu(activate_left ? left : right, GeluKind(approximate));
  Write(out_gelu, active);
  Write(out, at::mul(active, activate_left ? right : left));
}
MP_KERNEL(aclnnGeGluV3Backward, const Tensor& grad, const Tensor& self, const Tensor& gelu, int64_t dim,
          int64_t approximate, bool activate_left, Tensor& out) {
  const auto [left, right] = Split(Widened(self), dim);
  const Tensor wide = Widened(grad);
  const Tensor& gated = activate_left ? left : right;
  const Tensor by_gate = at::gelu_backward(at::mul(wide, activate_left ? right : left), gated, GeluKind(approximate));
  const Tensor by_value = at::mul(wide, gelu);
  Write(out, activate_left ? at::cat({by_gate, by_value}, dim) : at::cat({by_value, by_gate}, dim));
}
MP_KERNEL(aclnnGeluMul, const Tensor& self, string_view approximate, Tensor& out) {
  const auto [gate, value] = Split(Widened(self), -1);
  Write(out, at::gelu(gate, approximate.empty() ? string_view("none") : approximate).mul_(value));
}

}  // namespace millpond::kernels

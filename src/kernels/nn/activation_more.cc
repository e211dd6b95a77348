// SPDX-License-Identifier: Apache-2.0
// Steps, shrinks and gated units that only aclnn has.
#include "src/kernels/nn/activation.h"

namespace millpond::kernels {
namespace {

// How many rows the groups hold; all of them without groups.
int64_t RowsOf(const OptTensor& groups, int64_t rows) {
  return groups ? std::clamp<int64_t>(groups->sum().item<int64_t>(), 0, rows) : rows;
}

double BetaOf(const OptScalar& beta) { return beta ? beta->toDouble() : 1.0; }

}  // namespace

MP_WIDE_KERNEL(aclnnHeaviside, const Tensor& input, const Tensor& values, Tensor& out) {
  Write(out, at::heaviside(input, values.to(input.scalar_type())));
}
MP_WIDE_KERNEL(aclnnShrink, const Tensor& self, const Scalar& lambd, const Scalar& bias, Tensor& out) {
  TORCH_CHECK(lambd.toDouble() >= 0, "lambd is ", lambd.toDouble(), "; it must not be negative");
  const Tensor zero = at::zeros({}, self.options());
  const Tensor low = at::where(self.lt(-lambd.toDouble()), self.add(bias), zero);
  Write(out, at::where(self.gt(lambd), self.sub(bias), low));
}
MP_WIDE_KERNEL(aclnnSwish, const Tensor& self, const OptScalar& beta, Tensor& out) {
  Write(out, at::mul(self, BetaOf(beta)).sigmoid_().mul_(self));
}
MP_WIDE_KERNEL(aclnnSwishBackward, const Tensor& grad, const Tensor& self, const OptScalar& beta, Tensor& out) {
  const Tensor line = at::mul(self, BetaOf(beta));
  const Tensor gate = line.sigmoid();
  Write(out, at::mul(grad, gate).mul_(at::rsub(gate, 1).mul_(line).add_(1)));
}
MP_WIDE_KERNEL(aclnnSquaredRelu, const Tensor& self, Tensor& out) { Write(out, at::relu(self).square_()); }

MP_WIDE_KERNEL(aclnnSituGlu, const Tensor& x, int64_t dim, double beta, double linear_beta, bool left, Tensor& out) {
  Write(out, Situ(GateOf(x, dim, left), beta, linear_beta));
}
MP_WIDE_KERNEL(aclnnSituGluGrad, const Tensor& grad, const Tensor& x, int64_t dim, double beta, double linear_beta,
               bool left, Tensor& out) {
  const auto [gate, up] = GateOf(x, dim, left);
  const Tensor t = at::div(gate, beta).tanh_();
  const Tensor s = at::sigmoid(gate);
  const Tensor bent = linear_beta > 0 ? at::div(up, linear_beta).tanh_() : up;
  const Tensor by_active = at::mul(grad, linear_beta > 0 ? bent.mul(linear_beta) : bent);
  const Tensor slope = at::rsub(t.square(), 1).add_(at::mul(t, beta).mul_(at::rsub(s, 1)));
  const Tensor by_gate = by_active * s * slope;
  Tensor by_up = grad * t * s * beta;
  if (linear_beta > 0) by_up = by_up * at::rsub(bent.square(), 1);
  Write(out, left ? at::cat({by_gate, by_up}, dim) : at::cat({by_up, by_gate}, dim));
}

// Rows behind the last group keep what they had.
MP_WIDE_KERNEL(aclnnSwigluGroup, const Tensor& x, const OptTensor& weight, const OptTensor& groups, double limit,
               Tensor& out) {
  const auto halves = GateOf(x, -1, /*activate_left=*/true);
  const Tensor gate = limit > 0 ? halves.gate.clamp_max(limit) : halves.gate;
  Tensor result = at::silu(gate).mul_(limit > 0 ? halves.up.clamp(-limit, limit) : halves.up);
  if (weight) {
    auto shape = result.sizes().vec();
    shape.back() = 1;
    result.mul_(weight->reshape(shape));
  }
  TORCH_CHECK(out.sizes() == result.sizes(), "the result has shape ", result.sizes(), ", the output ", out.sizes());
  const int64_t rows = result.numel() == 0 ? 0 : result.numel() / result.size(-1);
  const int64_t used = RowsOf(groups, rows);
  out.view({rows, -1}).narrow(0, 0, used).copy_(result.view({rows, -1}).narrow(0, 0, used));
}
MP_WIDE_KERNEL(SwigluGroupGradient, const Tensor& grad, const Tensor& x, const OptTensor& weight, const OptTensor& y,
               const OptTensor& groups, double limit, Tensor& grad_x, Tensor* grad_weight) {
  TORCH_CHECK(weight.has_value() == y.has_value(), "weight and yOrigin go together; one of them is NULL");
  const auto halves = GateOf(x, -1, /*activate_left=*/true);
  const Tensor gate = limit > 0 ? halves.gate.clamp_max(limit) : halves.gate;
  const Tensor up = limit > 0 ? halves.up.clamp(-limit, limit) : halves.up;
  const Tensor given = weight ? at::mul(grad, *weight) : grad;
  Tensor by_gate = at::silu_backward(at::mul(given, up), gate);
  Tensor by_up = at::mul(given, at::silu(gate));
  if (limit > 0) {
    by_gate.mul_(halves.gate.lt(limit));
    by_up.mul_(halves.up.abs().lt(limit));
  }
  Tensor all = at::cat({by_gate, by_up}, -1);
  const int64_t rows = all.numel() == 0 ? 0 : all.numel() / all.size(-1);
  const int64_t used = RowsOf(groups, rows);
  if (used < rows) all.view({rows, -1}).narrow(0, used, rows - used).zero_();
  Write(grad_x, all);
  if (weight && grad_weight != nullptr) Write(grad_weight, at::mul(grad, *y).sum(-1, /*keepdim=*/true));
}

}  // namespace millpond::kernels

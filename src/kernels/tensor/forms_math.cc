// SPDX-License-Identifier: Apache-2.0
// Arithmetic that only aclnn has: scales and shifts by axis, sums by group, semiseparable matrices.
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// True on and above the diagonal, shifted up by `above`.
Tensor Upper(int64_t size, int64_t above) { return at::ones({size, size}, at::kBool).triu(above); }

// A factor for each row of a batch: [B, D] and [B, 1, D] say the same.
Tensor ForEachBatch(const Tensor& factor, const Tensor& self) {
  TORCH_CHECK(self.dim() == 3 && (factor.dim() == 2 || factor.dim() == 3), "an operand of shape ", self.sizes(),
              " does not go with a factor of shape ", factor.sizes(), "; [B, L, D] and [B, 1, D] or [B, D] do");
  return factor.dim() == 2 ? factor.unsqueeze(1) : factor;
}

}  // namespace

MP_WIDE_KERNEL(aclnnScale, const Tensor& x, const Tensor& scale, const OptTensor& bias, int64_t axis, int64_t count,
               bool from_blob, Tensor& y) {
  const int64_t first = x.dim() == 0 ? 0 : at::maybe_wrap_dim(axis, x.dim());
  TORCH_CHECK(count >= -1, "numAxes is ", count, "; it must be -1 or more");
  const int64_t axes = !from_blob ? scale.dim() : count == -1 ? x.dim() - first : count;
  TORCH_CHECK(first + axes <= x.dim() || scale.numel() == 1, "axis ", axis, " and ", axes, " axes go beyond the ",
              x.dim(), " dimensions of x");
  TORCH_CHECK(!bias || bias->sizes() == scale.sizes(), "bias and scale must have one shape");
  Tensor factor = scale;
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  if (scale.numel() != 1) {
    TORCH_CHECK(scale.sizes() == x.sizes().slice(static_cast<size_t>(first), static_cast<size_t>(axes)),
                "scale has shape ", scale.sizes(), "; ", axes, " axes of ", x.sizes(), " from ", first, " are needed");
    for (int64_t i = 0; i < axes; ++i) shape[static_cast<size_t>(first + i)] = scale.size(i);
  }
  const Tensor product = at::mul(x, factor.reshape(shape));
  Write(y, bias ? at::add(product, bias->reshape(shape)) : product);
}
MP_WIDE_KERNEL(aclnnModulate, const Tensor& self, const OptTensor& scale, const OptTensor& shift, Tensor& out) {
  Tensor result = scale ? at::mul(self, ForEachBatch(*scale, self).add(1)) : self;
  if (shift) result = at::add(result, ForEachBatch(*shift, self));
  Write(out, result);
}
MP_WIDE_KERNEL(aclnnModulateBackward, const Tensor& grad, const Tensor& input, const Tensor& scale, Tensor& grad_input,
               Tensor& grad_scale, Tensor& grad_shift) {
  Write(grad_input, at::mul(grad, ForEachBatch(scale, grad)));
  WriteElements(grad_scale, at::mul(grad, input).sum(1));
  WriteElements(grad_shift, grad.sum(1));
}
MP_WIDE_KERNEL(aclnnXlog1py, const Tensor& x, const Tensor& y, Tensor& z) { Write(z, at::special_xlog1py(x, y)); }

// groupIdx holds each group's end (type 0) or length (type 1); without it the groups are the first dimension.
MP_WIDE_KERNEL(GroupedBiasGrad, const Tensor& grad, const OptTensor& groups, int64_t type, Tensor& out) {
  if (!groups) {
    TORCH_CHECK(grad.dim() == 3, "without groupIdx gradY must have three dimensions; it has ", grad.dim());
    return Write(out, grad.sum(1));
  }
  TORCH_CHECK(grad.dim() == 2 && (type == 0 || type == 1), "with groupIdx gradY must have two dimensions and ",
              "groupIdxType be 0 or 1; there are ", grad.dim(), " and ", type);
  const auto ranges = GroupRanges(HostList(*groups), type == 1, grad.size(0));
  TORCH_CHECK(out.dim() == 2 && static_cast<size_t>(out.size(0)) == ranges.size() && out.size(1) == grad.size(1),
              "the output has shape ", out.sizes(), "; it must be [", ranges.size(), ", ", grad.size(1), "]");
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto [begin, end] = ranges[i];
    out.select(0, static_cast<int64_t>(i)).copy_(grad.narrow(0, begin, end - begin).sum(0));
  }
}

// exp of the sums self[j+1] + ... + self[i] for i >= j; zeros above the diagonal.
MP_WIDE_KERNEL(aclnnExpSegsum, const Tensor& self, Tensor& out) {
  TORCH_CHECK(self.dim() >= 1, "the operand has no dimensions");
  const int64_t size = self.size(-1);
  auto shape = self.sizes().vec();
  shape.push_back(size);
  const Tensor below = self.unsqueeze(-1).expand(shape).masked_fill(Upper(size, 0), 0).cumsum(-2);
  Write(out, below.masked_fill(Upper(size, 1), -std::numeric_limits<double>::infinity()).exp());
}
MP_WIDE_KERNEL(aclnnExpSegsumBackward, const Tensor& grad, const Tensor& result, Tensor& out) {
  const Tensor hidden = Upper(grad.size(-1), 0);
  const Tensor sums = at::mul(grad, result).masked_fill(hidden, 0).flip(-2).cumsum(-2).flip(-2);
  Write(out, sums.masked_fill(hidden, 0).sum(-1));
}

MP_WIDE_KERNEL(aclnnSinkhorn, const Tensor& given, const OptScalar& tol, Tensor& p) {
  constexpr double kDefaultTolerance = 1e-4;
  constexpr double kEps = 1e-8;
  constexpr int kMaxSteps = 1000000;
  const double wanted = tol ? tol->toDouble() : kDefaultTolerance;
  TORCH_CHECK(given.dim() == 2 && wanted >= 0, "cost has ", given.dim(), " dimensions and tol is ", wanted,
              "; two are needed, and a tol that is not negative");
  if (given.numel() == 0) return;
  const Tensor cost = given.exp();
  Tensor rows = at::ones({cost.size(0)}, cost.options());
  Tensor columns = at::ones({cost.size(1)}, cost.options());
  for (int step = 0;; ++step) {
    TORCH_CHECK(step < kMaxSteps, "no balance within ", wanted, " after ", step, " steps; raise tol");
    rows = at::mul(columns, cost).sum(1).add_(kEps).mul_(cost.size(0)).reciprocal_();
    const Tensor next = at::mul(rows.unsqueeze(1), cost).sum(0).add_(kEps).mul_(cost.size(1)).reciprocal_();
    const double error = at::sub(columns, next).abs_().mean().item<double>();
    columns = next;
    if (error <= wanted) break;
  }
  Write(p, at::mul(columns, cost).mul_(rows.unsqueeze(1)));
}

}  // namespace millpond::kernels

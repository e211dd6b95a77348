// SPDX-License-Identifier: Apache-2.0
// Reductions at the GE door: one entry for all of them, since they share their arguments.
#include <ATen/Dispatch.h>

#include <limits>

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

enum How : int64_t { kSum, kMean, kMax, kMin, kProduct, kAll, kAny, kLogSumExp, kLogSum, kNanSum, kSquareSum };

std::vector<int64_t> AxesOf(const Tensor& self, IntArrayRef axes) {
  std::vector<int64_t> all(axes.begin(), axes.end());
  if (axes.empty()) {
    for (int64_t i = 0; i < self.dim(); ++i) all.push_back(i);
  }
  for (int64_t& axis : all) axis = at::maybe_wrap_dim(axis, self.dim());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// For operators that take one axis at a time: from the last, so that the others stay where they are.
template <class Step>
Tensor OneByOne(Tensor x, const std::vector<int64_t>& axes, Step step) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) x = step(x, *axis);
  return x;
}

// The greatest of no elements is what every other is greater than, and the least likewise; ATen refuses them.
bool IsOfNothing(const Tensor& x, const std::vector<int64_t>& axes) {
  return std::any_of(axes.begin(), axes.end(), [&](int64_t axis) { return x.size(axis) == 0; });
}
template <class Pick>
Tensor FilledBy(const Tensor& x, const std::vector<int64_t>& axes, bool keep, double infinity, bool flag, Pick pick) {
  Tensor out = at::sum(x, axes, keep, x.scalar_type());
  if (at::isFloatingType(x.scalar_type())) return out.fill_(infinity);
  if (x.scalar_type() == at::kBool) return out.fill_(flag);
  AT_DISPATCH_INTEGRAL_TYPES(x.scalar_type(), "FilledBy", [&] { out.fill_(pick(std::numeric_limits<scalar_t>())); });
  return out;
}
Tensor LeastOf(const Tensor& x, const std::vector<int64_t>& axes, bool keep) {
  return FilledBy(x, axes, keep, -std::numeric_limits<double>::infinity(), false, [](auto of) { return of.lowest(); });
}
Tensor MostOf(const Tensor& x, const std::vector<int64_t>& axes, bool keep) {
  return FilledBy(x, axes, keep, std::numeric_limits<double>::infinity(), true, [](auto of) { return of.max(); });
}

Tensor Reduced(const Tensor& x, const std::vector<int64_t>& axes, bool keep, int64_t how, ScalarType type) {
  switch (how) {
    case kSum:
      return at::sum(x, axes, keep, type);
    case kMean:
      // Integers are averaged as such; ATen's mean refuses them.
      if (at::isIntegralType(type, true)) return at::mean(x, axes, keep, at::kDouble).trunc_();
      return at::mean(x, axes, keep, type);
    case kMax:
      return IsOfNothing(x, axes) ? LeastOf(x, axes, keep) : at::amax(x, axes, keep);
    case kMin:
      return IsOfNothing(x, axes) ? MostOf(x, axes, keep) : at::amin(x, axes, keep);
    case kProduct:
      return OneByOne(x, axes, [&](const Tensor& t, int64_t axis) { return at::prod(t, axis, keep, type); });
    case kAll:
      return OneByOne(x.to(at::kBool), axes, [&](const Tensor& t, int64_t axis) { return at::all(t, axis, keep); });
    case kAny:
      return OneByOne(x.to(at::kBool), axes, [&](const Tensor& t, int64_t axis) { return at::any(t, axis, keep); });
    case kLogSumExp:
      return at::logsumexp(x, axes, keep);
    case kLogSum:
      return at::sum(x, axes, keep, type).log_();
    case kNanSum:
      return at::nansum(x, axes, keep, type);
    case kSquareSum:
      return at::sum(x.to(IsHalf(x.scalar_type()) ? at::kFloat : x.scalar_type()).square(), axes, keep);
    default:
      TORCH_CHECK(false, "there is no reduction ", how);
  }
}

}  // namespace

MP_KERNEL(ReducedBy, const Tensor& self, IntArrayRef axes, bool keep, bool noop, int64_t how, Tensor& out) {
  if (axes.empty() && (noop || self.dim() == 0)) {
    Tensor same = how == kAll || how == kAny ? self.to(at::kBool) : self;
    if (how == kSquareSum) same = self.square();
    if (how == kLogSum) same = self.log();
    return WriteElements(out, same);
  }
  WriteElements(out, Reduced(self, AxesOf(self, axes), keep, how, out.scalar_type()));
}

// epsilon keeps a divisor above zero where the norm is one; the norm itself does not have it.
MP_KERNEL(NormOver, const Tensor& self, double p, IntArrayRef axes, bool keep, Tensor& out) {
  const auto over = AxesOf(self, axes);
  const ScalarType type = IsHalf(self.scalar_type()) ? at::kFloat : self.scalar_type();
  // The device's own marks of the infinite orders: the ends of int32, of which a float attribute keeps the nearest.
  if (p >= 2147483647.0) p = std::numeric_limits<double>::infinity();
  if (p <= -2147483648.0) p = -std::numeric_limits<double>::infinity();
  WriteElements(out, at::linalg_vector_norm(self.to(type), p, over, keep));
}

MP_KERNEL(StdAroundMean, const Tensor& self, const Tensor& mean, IntArrayRef axes, bool unbiased, bool keep,
          bool invert, double epsilon, int64_t correction, Tensor& out) {
  const auto over = AxesOf(self, axes);
  const ScalarType type = IsHalf(self.scalar_type()) ? at::kFloat : self.scalar_type();
  int64_t count = 1;
  for (const int64_t axis : over) count *= self.size(axis);
  const Tensor squares = self.to(type).sub(mean.to(type)).square_().sum(over, keep);
  Tensor deviation = squares.div_(static_cast<double>(count - (unbiased ? correction : 0)));
  deviation = invert ? deviation.add_(epsilon).rsqrt_() : deviation.sqrt_();
  WriteElements(out, deviation);
}

MP_KERNEL(SquaresAndSum, const Tensor& self, IntArrayRef axes, bool keep, Tensor& sum, Tensor& squares) {
  const auto over = AxesOf(self, axes);
  WriteElements(sum, Reduced(self, over, keep, kSquareSum, sum.scalar_type()));
  Write(squares, self.square());
}

MP_KERNEL(SoftmaxOver, const Tensor& self, IntArrayRef axes, bool logarithm, Tensor& out) {
  const auto over = AxesOf(self, axes);
  const ScalarType type = IsHalf(self.scalar_type()) ? at::kFloat : self.scalar_type();
  if (self.dim() == 0) {
    out.fill_(logarithm ? 0 : 1);
    return;
  }
  if (over.size() == 1) {
    Write(out, logarithm ? at::log_softmax(self, over[0], type) : at::softmax(self, over[0], type));
    return;
  }
  const Tensor x = self.to(type);
  const Tensor logs = x.sub(at::logsumexp(x, over, /*keepdim=*/true));
  Write(out, logarithm ? logs : logs.exp());
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// What elementwise kernels share: scalars as ATen promotes them, and outputs of another type than ATen's own result.
#ifndef MILLPOND_SRC_KERNELS_TENSOR_ELEMENTWISE_H_
#define MILLPOND_SRC_KERNELS_TENSOR_ELEMENTWISE_H_

#include <ATen/Dispatch.h>
#include <ATen/ScalarOps.h>

#include <cmath>
#include <limits>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// A scalar that takes part in type promotion as a Python number does: its kind counts, its width does not.
inline Tensor Number(const Scalar& value) { return at::native::wrapped_scalar_tensor(value); }

// An out form may be used: ATen casts `result` to the output's type by itself.
inline bool Fits(ScalarType result, const Tensor& out) {
  return result == out.scalar_type() || at::can_cast(result, out.scalar_type());
}

// `self`, in the output's type where only that tells the wanted arithmetic: an integer tensor and a floating scalar
// that was a 0-d float64 or float16 tensor at the client give that tensor's type, a mere number would give float32.
inline Tensor Lifted(const Tensor& self, const Scalar& other, const Tensor& out) {
  if (at::isFloatingType(self.scalar_type()) || self.is_complex() || other.isIntegral(true)) return self;
  const ScalarType promoted = at::result_type(self, other);
  const bool same_kind = at::isComplexType(promoted) == out.is_complex() &&
                         at::isFloatingType(promoted) == at::isFloatingType(out.scalar_type());
  return promoted == out.scalar_type() || !same_kind ? self : self.to(out.scalar_type());
}

// Half types are computed in float and rounded once, as the device does; ATen may round after each step.
inline Tensor Widened(const Tensor& self) { return IsHalf(self.scalar_type()) ? self.to(at::kFloat) : self; }

// ATen adds a number to halves as a half, so it must be one.
inline bool IsExact(const Scalar& value, ScalarType type) {
  if (!IsHalf(type)) return true;
  const auto wanted = value.to<float>();
  return wanted ==
         (type == at::kHalf ? static_cast<float>(at::Half(wanted)) : static_cast<float>(at::BFloat16(wanted)));
}

// Numbers in double as integers of a type: cut towards zero, and the nearest that it has where they are beyond it.
inline Tensor Saturated(const Tensor& values, ScalarType type) {
  return AT_DISPATCH_INTEGRAL_TYPES(type, "saturated", [&] {
    using Limits = std::numeric_limits<scalar_t>;
    // As doubles: the first number beyond a type is always one of them, its largest is not.
    const double beyond = std::ldexp(1.0, Limits::digits);
    const Tensor above = values.ge(beyond);
    const Tensor inside = values.clamp_min(static_cast<double>(Limits::min())).masked_fill_(above, 0);
    return inside.to(type).masked_fill_(above, Limits::max());
  });
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_TENSOR_ELEMENTWISE_H_

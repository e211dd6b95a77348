// SPDX-License-Identifier: Apache-2.0
// Arithmetic on two operands: add, subtract, multiply, divide, power, remainder. Each operand may be a number.
#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {
namespace {

std::optional<string_view> Rounding(int64_t mode) {
  TORCH_CHECK(mode >= 0 && mode <= 2, "rounding mode ", mode, " is none of 0 (none), 1 (trunc), 2 (floor)");
  if (mode == 0) return std::nullopt;
  return mode == 1 ? "trunc" : "floor";
}

// Calls function(self, other), the tensor beside a number lifted.
template <class Function>
void Promoted(const Operand& self, const Operand& other, const Tensor& out, Function&& function) {
  if (other.is_number()) return function(Lifted(self, other.number(), out), other.tensor());
  if (self.is_number()) return function(self.tensor(), Lifted(other, self.number(), out));
  function(self.tensor(), other.tensor());
}

// ATen rounds a sum of halves once, but before that the product with alpha, and a number.
bool RoundsOnce(const Operand& self, const Operand& other, const Scalar& alpha, const Tensor& out) {
  const ScalarType type = out.scalar_type();
  if (!IsHalf(type)) return true;
  const auto exact = [&](const Operand& one) { return !one.is_number() || IsExact(one.number(), type); };
  return alpha.to<double>() == 1 && exact(self) && exact(other);
}

}  // namespace

#define MP_SUM(name, function)                                                                   \
  MP_KERNEL(name, const Operand& self, const Operand& other, const Scalar& alpha, Tensor& out) { \
    const bool once = RoundsOnce(self, other, alpha, out);                                       \
    Promoted(self, other, out, [&](const Tensor& a, const Tensor& b) {                           \
      if (once) {                                                                                \
        at::function##_out(out, a, b, alpha);                                                    \
      } else {                                                                                   \
        Write(out, at::function(Widened(a), Widened(b), alpha));                                 \
      }                                                                                          \
    });                                                                                          \
  }

MP_SUM(Add, add)
MP_SUM(Sub, sub)
#undef MP_SUM
MP_KERNEL(Div, const Operand& self, const Operand& other, int64_t mode, Tensor& out) {
  Promoted(self, other, out, [&](const Tensor& a, const Tensor& b) { at::div_out(out, a, b, Rounding(mode)); });
}

#define MP_BINARY(name, function)                                                                         \
  MP_KERNEL(name, const Operand& self, const Operand& other, Tensor& out) {                               \
    Promoted(self, other, out, [&](const Tensor& a, const Tensor& b) { at::function##_out(out, a, b); }); \
  }

MP_BINARY(Mul, mul)
MP_BINARY(FloorDivide, floor_divide)
MP_BINARY(Fmod, fmod)
MP_BINARY(XLogY, xlogy)
#undef MP_BINARY

MP_KERNEL(Remainder, const Operand& self, const Operand& other, Tensor& out) {
  Promoted(self, other, out, [&](const Tensor& a, const Tensor& b) {
    // Page "aclnnRemainderTensorTensor": an integer divided by 0 leaves itself. ATen refuses that.
    const bool whole = at::isIntegralType(at::result_type(a, b), /*includeBool=*/false);
    const Tensor zero = whole ? b.eq(0) : Tensor();
    if (whole && zero.any().item<bool>()) {
      at::add_out(out, at::remainder(a, b.masked_fill(zero, 1)), at::where(zero, a, 0));
    } else {
      at::remainder_out(out, a, b);
    }
  });
}

// ATen has shorter ways for a power that is a number.
MP_KERNEL(Pow, const Operand& self, const Operand& exponent, Tensor& out) {
  const auto is_half = [&](const Operand& one) {
    return IsHalf(out.scalar_type()) && one.tensor().scalar_type() == out.scalar_type();
  };
  if (exponent.is_number() && is_half(self) && exponent.number().to<double>() != 2) {
    Write(out, at::pow(Widened(self), exponent.number()));  // ATen would round after each product
  } else if (self.is_number() && is_half(exponent)) {
    Write(out, at::pow(self.number(), Widened(exponent)));
  } else if (exponent.is_number()) {
    at::pow_out(out, Lifted(self, exponent.number(), out), exponent.number());
  } else if (self.is_number()) {
    at::pow_out(out, self.number(), Lifted(exponent, self.number(), out));
  } else {
    const auto is_bool = [](const Tensor& operand) { return operand.scalar_type() == at::kBool; };
    TORCH_CHECK(!is_bool(self.tensor()) || !is_bool(exponent.tensor()),
                "self and exponent are both BOOL, which is not supported");
    at::pow_out(out, self.tensor(), exponent.tensor());
  }
}

}  // namespace millpond::kernels

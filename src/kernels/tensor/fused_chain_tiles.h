// SPDX-License-Identifier: Apache-2.0
// The loops of fused_chain.h, by ATen's own vectors: included once for each set of vector instructions, by a file that
// is compiled for it alone (kernels.cmake). Everything here must be within ATen's namespace for that set or without a
// name outside the file: else the linker may choose another file's form, which the processor may not know.
#include <ATen/cpu/vec/vec.h>

#include "src/kernels/tensor/fused_chain.h"

namespace millpond::kernels {
namespace {

using Floats = at::vec::Vectorized<float>;
using chain::Op;

inline Floats Sigmoid(const Floats& x) { return Floats(1) / (Floats(1) + x.neg().exp()); }
inline Floats Gelu(const Floats& x) {
  return x * Floats(0.5F) * (Floats(1) + (x * Floats(0.70710678118654752F)).erf());
}
inline Floats GeluTanh(const Floats& x) {
  const Floats inner = Floats(0.79788456080286536F) * (x + Floats(0.044715F) * x * x * x);
  return Floats(0.5F) * x * (Floats(1) + inner.tanh());
}
inline Floats HardSwish(const Floats& x) {
  return x * at::vec::minimum(at::vec::maximum(x + Floats(3), Floats(0)), Floats(6)) / Floats(6);
}

template <class Apply>
inline void Both(const ChainStep& step, int64_t count, Apply apply) {
  const float* left = step.left.data;
  const float* right = step.right.data;
  int64_t i = 0;
  for (; i + Floats::size() <= count; i += Floats::size()) {
    apply(Floats::loadu(left + i * step.left.step), Floats::loadu(right + i * step.right.step)).store(step.result + i);
  }
  if (i == count) return;
  const auto rest = static_cast<int>(count - i);
  const auto part = [&](const ChainOperand& from) {
    return from.step == 0 ? Floats::loadu(from.data) : Floats::loadu(from.data + i, rest);
  };
  apply(part(step.left), part(step.right)).store(step.result + i, rest);
}

template <class Apply>
inline void One(const ChainStep& step, int64_t count, Apply apply) {
  Both(step, count, [&](const Floats& x, const Floats&) { return apply(x); });
}

void RunStep(const ChainStep& s, int64_t n) {
  switch (s.op) {
    case Op::kAdd:
      return Both(s, n, [](const Floats& a, const Floats& b) { return a + b; });
    case Op::kSub:
      return Both(s, n, [](const Floats& a, const Floats& b) { return a - b; });
    case Op::kMul:
      return Both(s, n, [](const Floats& a, const Floats& b) { return a * b; });
    case Op::kDiv:
      return Both(s, n, [](const Floats& a, const Floats& b) { return a / b; });
    case Op::kMaximum:
      return Both(s, n, [](const Floats& a, const Floats& b) { return at::vec::maximum(a, b); });
    case Op::kMinimum:
      return Both(s, n, [](const Floats& a, const Floats& b) { return at::vec::minimum(a, b); });
    case Op::kPow:
      return Both(s, n, [](const Floats& a, const Floats& b) { return a.pow(b); });
    case Op::kNeg:
      return One(s, n, [](const Floats& x) { return x.neg(); });
    case Op::kAbs:
      return One(s, n, [](const Floats& x) { return x.abs(); });
    case Op::kExp:
      return One(s, n, [](const Floats& x) { return x.exp(); });
    case Op::kLog:
      return One(s, n, [](const Floats& x) { return x.log(); });
    case Op::kSqrt:
      return One(s, n, [](const Floats& x) { return x.sqrt(); });
    case Op::kRsqrt:
      return One(s, n, [](const Floats& x) { return Floats(1) / x.sqrt(); });
    case Op::kReciprocal:
      return One(s, n, [](const Floats& x) { return Floats(1) / x; });
    case Op::kSquare:
      return One(s, n, [](const Floats& x) { return x * x; });
    case Op::kRelu:
      return One(s, n, [](const Floats& x) { return at::vec::maximum(x, Floats(0)); });
    case Op::kSigmoid:
      return One(s, n, [](const Floats& x) { return Sigmoid(x); });
    case Op::kTanh:
      return One(s, n, [](const Floats& x) { return x.tanh(); });
    case Op::kErf:
      return One(s, n, [](const Floats& x) { return x.erf(); });
    case Op::kGelu:
      return One(s, n, [](const Floats& x) { return Gelu(x); });
    case Op::kGeluTanh:
      return One(s, n, [](const Floats& x) { return GeluTanh(x); });
    case Op::kSwish:
      return One(s, n, [](const Floats& x) { return x * Sigmoid(x); });
    case Op::kHardSwish:
      return One(s, n, [](const Floats& x) { return HardSwish(x); });
    case Op::kOps:
      return;
  }
}

void RunTile(const ChainStep* steps, size_t step_count, int64_t count) {
  for (size_t i = 0; i < step_count; ++i) RunStep(steps[i], count);
}

static_assert(Floats::size() <= kRepeated);

}  // namespace
}  // namespace millpond::kernels

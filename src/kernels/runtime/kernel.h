// SPDX-License-Identifier: Apache-2.0
// How a kernel is written:
//
//   MP_KERNEL(AddScaled, const Operand& self, const Operand& other, const Scalar& alpha, Tensor& out) {
//     at::add_out(out, self, other, alpha);
//   }
//
// The parameters are those of the kernel in the operator table, in order: of its declaration there, or of the row of
// its name (tools/op_kernels.py). Their types say what the table says (a test compares):
//
// clang-format off
//   T    const Tensor&    T?   const OptTensor&    >t   Tensor&        >t?  Tensor* (null when absent)
//   TL   TensorList       TL?  OptTensorList       >tl  OutList        >tl? OptOutList
//   TS   const Operand&   S    const Scalar&       S?   const OptScalar&    SL   const ScalarList&
//   IA   IntArrayRef      IA?  OptIntArrayRef      FA   DoubleArray    FA?  OptDoubleArray
//   BA   BoolArray        BA?  OptBoolArray        bool bool           f64, f32  double
//   dt   ScalarType       str  string_view         any integer  int64_t
// clang-format on
//
// Tensors are views of the client's memory: an output must be written in place, never resized or rebound. A row may
// give one tensor as an input and as an output: both are then the same object, as in ATen's in-place forms. A kernel
// that cannot do what is asked throws (TORCH_CHECK): the task fails with that message, nothing is half claimed.
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_KERNEL_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_KERNEL_H_

#include <ATen/ATen.h>

#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "src/kernels/runtime/arguments.h"
#include "src/kernels/runtime/library.h"
#include "src/kernels/runtime/registry.h"

namespace millpond::kernels {

using at::IntArrayRef;
using at::Scalar;
using at::ScalarType;
using at::Tensor;
using at::TensorList;
using std::string_view;

// Writes `value` to `out`: casts, checks that the shapes agree. For ATen functions that have no out form, or whose out
// form resizes or insists on a type.
inline void Write(Tensor& out, const Tensor& value) {
  TORCH_CHECK(out.sizes() == value.sizes(), "the result has shape ", value.sizes(), ", the output ", out.sizes());
  out.copy_(value);
}
inline void Write(Tensor* out, const Tensor& value) {
  if (out != nullptr) Write(*out, value);
}

// The result's real shape, for rows that wait: writes the elements to the front of the output's memory, contiguous, and
// reports the shape to the caller.
void WriteActual(Tensor& out, const Tensor& value);

// A generator that is a pure function of its two arguments.
at::Generator MakeGenerator(int64_t seed, int64_t offset);

inline bool IsHalf(ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

}  // namespace millpond::kernels

#define MP_KERNEL_RUN_BY(run, name, ...)                                                                         \
  static void name(__VA_ARGS__);                                                                                 \
  static const ::millpond::kernels::Kernel mp_kernel_##name{#name, ::millpond::kernels::Bind<&name>::kSignature, \
                                                            &::millpond::kernels::Bind<&name>::run};             \
  static const ::millpond::kernels::Registered mp_registered_##name{&mp_kernel_##name};                          \
  static void name(__VA_ARGS__)
#define MP_KERNEL(name, ...) MP_KERNEL_RUN_BY(Run, name, __VA_ARGS__)
// Half types are computed in float32 from beginning to end (Frame::Widen). Not with WriteActual.
#define MP_WIDE_KERNEL(name, ...) MP_KERNEL_RUN_BY(RunWide, name, __VA_ARGS__)

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_KERNEL_H_

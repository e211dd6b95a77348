// SPDX-License-Identifier: Apache-2.0
// From an OpCall to a kernel's C++ parameters. Frame is one running kernel: its tensors are taken from a per-thread
// stock and rebound to the call's memory, since making a tensor costs more than most small kernels.
#ifndef MILLPOND_SRC_KERNELS_ARGUMENTS_H_
#define MILLPOND_SRC_KERNELS_ARGUMENTS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/ops/call.h"

namespace millpond::kernels {

using OptTensor = std::optional<at::Tensor>;
using OptTensorList = std::optional<at::TensorList>;
using OptScalar = std::optional<at::Scalar>;
using ScalarList = std::vector<at::Scalar>;
using OptIntArrayRef = std::optional<at::IntArrayRef>;
using DoubleArray = at::ArrayRef<double>;
using OptDoubleArray = std::optional<DoubleArray>;
using BoolArray = at::IntArrayRef;  // each 0 or 1
using OptBoolArray = std::optional<BoolArray>;
// Members are written in place.
struct OutList {
  at::TensorList tensors;
  size_t size() const { return tensors.size(); }
  at::Tensor& operator[](size_t i) const { return const_cast<at::Tensor&>(tensors[i]); }
};
using OptOutList = std::optional<OutList>;

at::ScalarType TypeFrom(DType type);  // throws for types that ATen does not have
at::Scalar ScalarFrom(const ScalarValue& value);

class Frame {
 public:
  explicit Frame(OpCall* call);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  OpCall& call() { return *call_; }
  at::Tensor& tensor(size_t place) { return tensors_[call_->arg(place).first]; }
  at::TensorList tensors(size_t place) {
    const OpCall::Arg& arg = call_->arg(place);
    return {tensors_ + arg.first, arg.count};
  }
  // The call's own view behind a tensor of the frame.
  TensorView* ViewOf(const at::Tensor& tensor);
  static Frame* Current();

 private:
  OpCall* call_;
  Frame* outer_;
  at::Tensor* tensors_;
  size_t count_;
  static constexpr size_t kInline = 12;
  alignas(at::Tensor) std::byte inline_[kInline * sizeof(at::Tensor)];
};

// Runs `body` with ATen prepared (see run.cc) and turns what it throws into a Status.
Status RunGuarded(OpCall& call, void (*body)(Frame& frame));

namespace internal {

template <class T>
struct Parameter;  // one for each type a kernel may name

inline at::IntArrayRef Ints(Frame& f, size_t i) { return {f.call().ints(i).data(), f.call().ints(i).size()}; }
inline DoubleArray Reals(Frame& f, size_t i) { return {f.call().reals(i).data(), f.call().reals(i).size()}; }

#define MP_PARAMETER(type, letter, expression)                              \
  template <>                                                               \
  struct Parameter<type> {                                                  \
    static constexpr char kLetter = letter;                                 \
    static decltype(auto) From(Frame& f, size_t i) { return (expression); } \
  };
MP_PARAMETER(const at::Tensor&, 'T', f.tensor(i))
MP_PARAMETER(at::Tensor&, 'O', f.tensor(i))
MP_PARAMETER(const OptTensor&, 'P', (f.call().has(i) ? OptTensor(f.tensor(i)) : OptTensor()))
MP_PARAMETER(at::Tensor*, 'Q', (f.call().has(i) ? &f.tensor(i) : nullptr))
MP_PARAMETER(at::TensorList, 'L', f.tensors(i))
MP_PARAMETER(OptTensorList, 'K', (f.call().has(i) ? OptTensorList(f.tensors(i)) : OptTensorList()))
MP_PARAMETER(OutList, 'M', OutList{f.tensors(i)})
MP_PARAMETER(OptOutList, 'N', (f.call().has(i) ? OptOutList(OutList{f.tensors(i)}) : OptOutList()))
MP_PARAMETER(const at::Scalar&, 'S', ScalarFrom(f.call().scalar(i)))
MP_PARAMETER(const OptScalar&, 's', (f.call().has(i) ? OptScalar(ScalarFrom(f.call().scalar(i))) : OptScalar()))
MP_PARAMETER(at::IntArrayRef, 'I', Ints(f, i))
MP_PARAMETER(OptIntArrayRef, 'i', (f.call().has(i) ? OptIntArrayRef(Ints(f, i)) : OptIntArrayRef()))
MP_PARAMETER(DoubleArray, 'F', Reals(f, i))
MP_PARAMETER(OptDoubleArray, 'f', (f.call().has(i) ? OptDoubleArray(Reals(f, i)) : OptDoubleArray()))
MP_PARAMETER(int64_t, 'n', f.call().integer(i))
MP_PARAMETER(bool, 'b', f.call().integer(i) != 0)
MP_PARAMETER(double, 'd', f.call().real(i))
MP_PARAMETER(at::ScalarType, 'y', TypeFrom(f.call().dtype(i)))
MP_PARAMETER(std::string_view, 'c', f.call().text(i))
#undef MP_PARAMETER

template <>
struct Parameter<const ScalarList&> {
  static constexpr char kLetter = 'V';
  static ScalarList From(Frame& f, size_t i) {
    ScalarList list;
    for (const ScalarValue& value : f.call().scalars(i)) list.push_back(ScalarFrom(value));
    return list;
  }
};

}  // namespace internal

template <auto kFunction>
struct Bind;

template <class... P, void (*kFunction)(P...)>
struct Bind<kFunction> {
  static constexpr char kSignature[] = {internal::Parameter<P>::kLetter..., '\0'};
  static Status Run(OpCall& call) {
    return RunGuarded(call, [](Frame& frame) { Call(frame, std::index_sequence_for<P...>()); });
  }

 private:
  template <size_t... I>
  static void Call(Frame& frame, std::index_sequence<I...>) {
    kFunction(internal::Parameter<P>::From(frame, I)...);
  }
};

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ARGUMENTS_H_

// SPDX-License-Identifier: Apache-2.0
// From an OpCall to a kernel's C++ parameters. Frame is one running kernel: its tensors are taken from a per-thread
// stock and rebound to the call's memory, since making a tensor costs more than most small kernels.
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_ARGUMENTS_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_ARGUMENTS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/kernels/runtime/laid_out.h"
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

// A tensor, or a scalar in its place: as a tensor it then takes part in type promotion as a Python number does, its
// kind counts and its width does not.
class Operand {
 public:
  explicit Operand(const at::Tensor& tensor) : tensor_(&tensor) {}
  explicit Operand(const at::Scalar& number) : number_(number) {}
  bool is_number() const { return tensor_ == nullptr; }
  const at::Scalar& number() const { return *number_; }
  const at::Tensor& tensor() const { return tensor_ != nullptr ? *tensor_ : Made(); }
  operator const at::Tensor&() const { return tensor(); }  // NOLINT: where ATen takes a tensor
  // The number, or that in a tensor of one element.
  at::Scalar value(const char* name) const;

 private:
  const at::Tensor& Made() const;

  const at::Tensor* tensor_ = nullptr;
  std::optional<at::Scalar> number_;
  mutable at::Tensor made_;
};

at::ScalarType TypeFrom(DType type);  // throws for types that ATen does not have
at::Scalar ScalarFrom(const ScalarValue& value);

class Frame {
 public:
  explicit Frame(OpCall* call);
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  OpCall& call() { return *call_; }

  // A card computes in float32 and rounds once, where several steps of ATen on half types would round after each:
  // between the two, the frame's half tensors are float32 copies.
  void Widen();
  void Round();
  // ATen has no kernel for some types that a card computes with: the frame's tensors become copies of types that it
  // has. False when there is nothing to change.
  enum class Lift : uint8_t { kNone, kExact, kDouble };
  bool LiftTo(Lift lift);
  // The kernel has ended well: outputs that it saw as copies (lifted, private layouts, INT4) get what it wrote to them.
  void LayOut();

  // What the kernel's parameters are given. Tensors are always the call's; the rest may be the row's constants.
  bool has(size_t i) const { return IsConstant(i) ? constant(i).dtype != DType::kUndefined : call_->has(places_[i]); }
  at::Tensor& tensor(size_t i) { return tensors_[call_->arg(places_[i]).first]; }
  at::TensorList tensors(size_t i) {
    const OpCall::Arg& arg = call_->arg(places_[i]);
    return {tensors_ + arg.first, arg.count};
  }
  Operand operand(size_t i) {
    if (IsConstant(i)) return Operand(scalar(i));
    switch (call_->row().args[places_[i]].kind) {
      case ArgKind::kScalar:
        return Operand(scalar(i));
      case ArgKind::kInt:
        return Operand(at::Scalar(integer(i)));
      default:
        return Operand(tensor(i));
    }
  }
  int64_t integer(size_t i) const { return IsConstant(i) ? constant(i).integer : call_->integer(places_[i]); }
  double real(size_t i) const { return IsConstant(i) ? constant(i).real : call_->real(places_[i]); }
  std::string_view text(size_t i) const { return IsConstant(i) ? constant(i).text : call_->text(places_[i]); }
  DType dtype(size_t i) const { return static_cast<DType>(integer(i)); }
  at::Scalar scalar(size_t i) const {
    return IsConstant(i) ? ConstantScalar(constant(i)) : ScalarFrom(call_->scalar(places_[i]));
  }
  std::span<const ScalarValue> scalars(size_t i) const { return call_->scalars(places_[i]); }
  at::IntArrayRef ints(size_t i) const {
    const auto values = call_->ints(places_[i]);
    return {values.data(), values.size()};
  }
  DoubleArray reals(size_t i) const {
    const auto values = call_->reals(places_[i]);
    return {values.data(), values.size()};
  }

  // The call's own view behind a tensor of the frame.
  TensorView* ViewOf(const at::Tensor& tensor);
  static Frame* Current();

 private:
  bool IsConstant(size_t i) const { return places_[i] >= KernelBinding::kConstant; }
  const KernelConstant& constant(size_t i) const {
    return call_->row().kernel.constants[places_[i] - KernelBinding::kConstant];
  }
  static at::Scalar ConstantScalar(const KernelConstant& value);

  OpCall* call_;
  const uint8_t* places_;
  Frame* outer_;
  at::Tensor* tensors_;
  size_t count_;
  struct Widened {
    size_t place;
    at::Tensor own;  // the call's own
  };
  std::vector<Widened> widened_;
  std::vector<Widened> lifted_;
  std::vector<LaidOut> laid_out_;
  static constexpr size_t kInline = 12;
  alignas(at::Tensor) std::byte inline_[kInline * sizeof(at::Tensor)];
};

// Runs `body` with ATen prepared (see run.cc) and turns what it throws into a Status.
// A kernel that works with other ranks is run once: what it has asked them for cannot be asked again in other types.
Status RunGuarded(OpCall& call, void (*body)(Frame& frame), bool once = false);

namespace internal {

template <class T>
struct Parameter;  // one for each type a kernel may name

#define MP_PARAMETER(type, letter, expression)                              \
  template <>                                                               \
  struct Parameter<type> {                                                  \
    static constexpr char kLetter = letter;                                 \
    static decltype(auto) From(Frame& f, size_t i) { return (expression); } \
  };
MP_PARAMETER(const at::Tensor&, 'T', f.tensor(i))
MP_PARAMETER(at::Tensor&, 'O', f.tensor(i))
MP_PARAMETER(const OptTensor&, 'P', (f.has(i) ? OptTensor(f.tensor(i)) : OptTensor()))
MP_PARAMETER(at::Tensor*, 'Q', (f.has(i) ? &f.tensor(i) : nullptr))
MP_PARAMETER(const Operand&, 'X', f.operand(i))
MP_PARAMETER(at::TensorList, 'L', f.tensors(i))
MP_PARAMETER(OptTensorList, 'K', (f.has(i) ? OptTensorList(f.tensors(i)) : OptTensorList()))
MP_PARAMETER(OutList, 'M', OutList{f.tensors(i)})
MP_PARAMETER(OptOutList, 'N', (f.has(i) ? OptOutList(OutList{f.tensors(i)}) : OptOutList()))
MP_PARAMETER(const at::Scalar&, 'S', f.scalar(i))
MP_PARAMETER(const OptScalar&, 's', (f.has(i) ? OptScalar(f.scalar(i)) : OptScalar()))
MP_PARAMETER(at::IntArrayRef, 'I', f.ints(i))
MP_PARAMETER(OptIntArrayRef, 'i', (f.has(i) ? OptIntArrayRef(f.ints(i)) : OptIntArrayRef()))
MP_PARAMETER(DoubleArray, 'F', f.reals(i))
MP_PARAMETER(OptDoubleArray, 'f', (f.has(i) ? OptDoubleArray(f.reals(i)) : OptDoubleArray()))
MP_PARAMETER(int64_t, 'n', f.integer(i))
MP_PARAMETER(bool, 'b', f.integer(i) != 0)
MP_PARAMETER(double, 'd', f.real(i))
MP_PARAMETER(at::ScalarType, 'y', TypeFrom(f.dtype(i)))
MP_PARAMETER(std::string_view, 'c', f.text(i))
#undef MP_PARAMETER

template <>
struct Parameter<const ScalarList&> {
  static constexpr char kLetter = 'V';
  static ScalarList From(Frame& f, size_t i) {
    ScalarList list;
    for (const ScalarValue& value : f.scalars(i)) list.push_back(ScalarFrom(value));
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
  static Status RunWide(OpCall& call) {
    return RunGuarded(call, [](Frame& frame) {
      frame.Widen();
      Call(frame, std::index_sequence_for<P...>());
      frame.Round();
    });
  }

 private:
  template <size_t... I>
  static void Call(Frame& frame, std::index_sequence<I...>) {
    kFunction(internal::Parameter<P>::From(frame, I)...);
  }
};

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_ARGUMENTS_H_

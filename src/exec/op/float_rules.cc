// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/float_rules.h"

#include <cstring>
#include <limits>
#include <string_view>

#include "src/device/memory/memory.h"

namespace millpond {

namespace {

// A type by its bits: those of the exponent, and the greatest finite value.
template <class Bits, Bits kExponent>
struct Encoding {
  using Word = Bits;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (std::numeric_limits<Bits>::digits - 1));
  static constexpr Bits kGreatest = static_cast<Bits>((kExponent - 1) & static_cast<Bits>(~kSign));
  static bool Finite(Bits value) { return (value & kExponent) != kExponent; }
  // Page "aclrtFloatOverflowMode": an infinity becomes the greatest value, a NaN becomes 0.
  static Bits Saturated(Bits value) {
    const auto magnitude = static_cast<Bits>(value & static_cast<Bits>(~kSign));
    return magnitude == kExponent ? static_cast<Bits>((value & kSign) | kGreatest) : Bits{0};
  }
};
using HalfEncoding = Encoding<uint16_t, 0x7C00>;
using BfloatEncoding = Encoding<uint16_t, 0x7F80>;
using FloatEncoding = Encoding<uint32_t, 0x7F800000>;
using DoubleEncoding = Encoding<uint64_t, 0x7FF0000000000000>;
static_assert(HalfEncoding::kGreatest == 0x7BFF && BfloatEncoding::kGreatest == 0x7F7F);
static_assert(FloatEncoding::kGreatest == 0x7F7FFFFF && DoubleEncoding::kGreatest == 0x7FEFFFFFFFFFFFFF);

// `count` elements `stride` apart. True when one of them is not finite.
template <class F>
bool SweepRow(typename F::Word* row, int64_t count, int64_t stride, bool saturate) {
  bool found = false;
  for (int64_t i = 0; i < count; ++i) {
    typename F::Word& word = row[i * stride];
    if (__builtin_expect(F::Finite(word), true)) continue;
    found = true;
    if (saturate) word = F::Saturated(word);
  }
  return found;
}

// A view's elements, the last dimension at a time.
template <class F>
bool Sweep(const TensorView& view, bool saturate) {
  auto* const first = static_cast<typename F::Word*>(Reachable(const_cast<void*>(view.first())));
  const int64_t count = view.rank == 0 ? 1 : view.dims[view.rank - 1];
  const int64_t stride = view.rank == 0 ? 1 : view.strides[view.rank - 1];
  const int64_t rows = count == 0 ? 0 : view.elements() / count;
  int64_t at[TensorView::kMaxRank] = {};
  int64_t offset = 0;
  bool found = false;
  for (int64_t row = 0; row < rows; ++row) {
    found |= SweepRow<F>(first + offset, count, stride, saturate);
    for (size_t dim = view.rank; dim-- > 1;) {  // the next row, as an odometer turns
      const size_t outer = dim - 1;
      offset += view.strides[outer];
      if (++at[outer] < view.dims[outer]) break;
      offset -= at[outer] * view.strides[outer];
      at[outer] = 0;
    }
  }
  return found;
}

bool SweepView(const TensorView& view, bool saturate) {
  switch (view.dtype) {
    case DType::kHalf:
      return Sweep<HalfEncoding>(view, saturate);
    case DType::kBfloat16:
      return Sweep<BfloatEncoding>(view, saturate);
    case DType::kFloat:
      return Sweep<FloatEncoding>(view, saturate);
    case DType::kDouble:
      return Sweep<DoubleEncoding>(view, saturate);
    default:
      return false;
  }
}

// The graph operators that read and clear the status: their kernels wrote zeros.
bool IsStatusOperator(const OpCall& call, Device* device) {
  const std::string_view name = call.row().name;
  if (name == "GeClearFloatStatus") {
    device->overflowed.store(false, std::memory_order_relaxed);
    return true;
  }
  if (name != "GeGetFloatStatus" && name != "GeFloatStatusV2") return name == "GeFloatStatus";
  if (!device->overflowed.load(std::memory_order_relaxed)) return true;
  const TensorView& data = call.view(call.size() - 1);
  const float one = 1;
  uint32_t word = 1;
  if (data.dtype == DType::kFloat) std::memcpy(&word, &one, sizeof word);
  FillWords(const_cast<void*>(data.first()), word, static_cast<size_t>(data.elements()));
  return true;
}

}  // namespace

void FloatRules::Apply(OpCall& call) const {
  if (IsStatusOperator(call, device_)) return;
  bool found = false;
  for (size_t place = 0; place < call.size(); ++place) {
    const ArgSpec& spec = call.row().args[place];
    if (spec.flow == ArgFlow::kIn || !call.has(place)) continue;
    if (spec.kind != ArgKind::kTensor && spec.kind != ArgKind::kTensorList) continue;
    for (const TensorView& view : call.views(place)) {
      if (view.data != nullptr) found |= SweepView(view, (bits_ & Stream::kSaturates) != 0);
    }
  }
  if (found && (bits_ & Stream::kWatchesOverflow) != 0) device_->overflowed.store(true, std::memory_order_relaxed);
}

Status FloatRules::RunDumped(const kernels::Kernel& kernel, OpCall& call, const dump::Node& node) const {
  return target_->Run(call, node, device_->id(), stream_, [&] { return RunPlainly(kernel, call); });
}

}  // namespace millpond

// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/type_trial.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <complex>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>

#include "src/base/format.h"
#include "src/base/private_layout.h"
#include "src/device/stream/stream.h"
#include "src/exec/op/group_run.h"
#include "src/exec/op/kernel_table.h"
#include "src/kernels/runtime/about_types.h"
#include "src/kernels/runtime/team.h"

namespace millpond {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kLargestSearch = size_t{1} << 20;  // of a call whose other types are tried too, for the message
constexpr DType kTried[] = {DType::kFloat,     DType::kHalf,       DType::kBfloat16,   DType::kDouble,    DType::kInt8,
                            DType::kInt16,     DType::kInt32,      DType::kInt64,      DType::kUint8,     DType::kBool,
                            DType::kComplex64, DType::kComplex128, DType::kFloat8E5m2, DType::kFloat8E4m3};

bool IsTensors(const ArgSpec& spec) { return spec.kind == ArgKind::kTensor || spec.kind == ArgKind::kTensorList; }

// What decides which of its paths a kernel takes, in one number; 0 where a tensor is empty: then the kernel may return
// before it looks at any type.
uint64_t MixtureOf(const OpCall& call) {
  uint64_t key = call.row().id + uint64_t{1};
  const auto mix = [&key](int64_t value) {
    key = (key ^ static_cast<uint64_t>(value)) * 0x9E3779B97F4A7C15U;
    key ^= key >> 29U;
  };
  constexpr int64_t kMinMode = -8, kMaxMode = 32;  // numbers between may be modes, others are lengths and seeds
  const auto args = call.row().args;
  for (size_t place = 0; place < args.size(); ++place) {
    mix(call.has(place) ? 1 : 2);
    if (!call.has(place)) continue;
    switch (args[place].kind) {
      case ArgKind::kTensor:
      case ArgKind::kTensorList:
        for (const TensorView& view : call.views(place)) {
          if (view.dtype != DType::kUndefined && view.extent() == 0) return 0;
          mix((static_cast<int64_t>(view.dtype) << 16) + (view.rank << 8) + static_cast<int64_t>(view.layout));
        }
        break;
      case ArgKind::kScalar:
      case ArgKind::kScalarList:
        for (const ScalarValue& scalar : call.scalars(place)) mix(static_cast<int64_t>(scalar.dtype));
        break;
      case ArgKind::kInt:
      case ArgKind::kBool:
      case ArgKind::kDType:
        if (call.integer(place) >= kMinMode && call.integer(place) < kMaxMode) mix(call.integer(place));
        break;
      default:
        break;
    }
  }
  return key == 0 ? 1 : key;
}

// The mixtures that have been tried. One that finds no place is tried again.
class Known {
 public:
  static Known& Get() {
    static auto& known = *new Known;  // leaked: asked until the process has ended
    return known;
  }
  bool Has(uint64_t key) const {
    for (size_t i = 0; i < kProbes; ++i) {
      const uint64_t found = keys_[(key + i) % kPlaces].load(std::memory_order_relaxed);
      if (found == key) return true;
      if (found == 0) return false;
    }
    return false;
  }
  void Add(uint64_t key) {
    for (size_t i = 0; i < kProbes; ++i) {
      uint64_t expected = 0;
      if (keys_[(key + i) % kPlaces].compare_exchange_strong(expected, key, std::memory_order_relaxed)) return;
    }
    keys_[key % kPlaces].store(key, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kPlaces = size_t{1} << 15, kProbes = 8;
  std::array<std::atomic<uint64_t>, kPlaces> keys_{};
};

size_t BytesFor(const TensorView& view) {
  if (view.dtype == DType::kUndefined) return 0;
  const size_t bytes = view.BytesOf(view.layout == PrivateLayout::kPlain ? view.extent() : StorageElements(view));
  return (bytes + kLine - 1) / kLine * kLine;
}

struct Released {
  void operator()(std::byte* memory) const { std::free(memory); }
};

// Moves the call's tensors into zeros: one address of the client's stays one address. Null where they are too large.
std::unique_ptr<std::byte, Released> MoveToZeros(OpCall* call, size_t limit) {
  const auto identity = [](const TensorView& view) -> const void* {
    return view.data == nullptr ? &view : view.first();
  };
  std::unordered_map<const void*, size_t> place_of;  // at first the bytes, then where they begin
  for (const TensorView& view : call->all_views()) {
    size_t& bytes = place_of[identity(view)];
    bytes = std::max(bytes, BytesFor(view));
  }
  size_t total = 0;
  for (auto& [key, bytes] : place_of) {
    const size_t begin = total;
    total += bytes;
    bytes = begin;
  }
  if (total > limit) return nullptr;
  std::unique_ptr<std::byte, Released> memory(static_cast<std::byte*>(std::calloc(total + 2 * kLine, 1)));
  if (memory == nullptr) return nullptr;
  std::byte* begin = memory.get() + kLine - reinterpret_cast<uintptr_t>(memory.get()) % kLine;
  for (TensorView& view : call->all_views()) {
    view.data = begin + place_of[identity(view)];
    view.offset = 0;
  }
  return memory;
}

// Whether the kernel computes the call's types; what it says is kept where it does not.
bool Computes(const kernels::Kernel& kernel, const OpCall& call, size_t limit, std::string* out_refusal = nullptr) {
  const OpCallPtr copy = CloneOpCall(call);
  const auto memory = MoveToZeros(copy.get(), limit);
  if (memory == nullptr) return true;
  const Status status = kernel.run(*copy);
  AfterRun();
  if (kernels::NeedsTeam(*copy)) RestKernels();  // this thread need not keep OpenMP's others
  if (status.ok() || status.code() != Code::kOperatorRefused) return true;
  const std::string message(status.message());
  if (!kernels::IsAboutTheCall(message) && !kernels::MayBeAboutTypes(message)) return true;
  if (out_refusal != nullptr) *out_refusal = message.substr(0, message.find('\n'));
  return false;
}

// The call with the tensors that `chosen` names of another type.
template <class Chosen>
OpCallPtr WithType(const OpCall& call, DType type, const Chosen& chosen) {
  OpCallPtr changed = CloneOpCall(call);
  for (size_t place = 0; place < call.size(); ++place) {
    if (!IsTensors(call.row().args[place]) || !call.has(place)) continue;
    const OpCall::Arg& arg = call.arg(place);
    for (size_t i = arg.first; i < arg.first + arg.count; ++i) {
      TensorView& view = changed->all_views()[i];
      if (view.dtype == DType::kUndefined || !chosen(place, view)) continue;
      view.dtype = type;
    }
  }
  return changed;
}

template <class Chosen>
std::string Possible(const kernels::Kernel& kernel, const OpCall& call, const Chosen& chosen) {
  std::string names;
  for (const DType type : kTried) {
    if (!Computes(kernel, *WithType(call, type, chosen), kLargestSearch)) continue;
    names += (names.empty() ? "" : ", ") + std::string(DTypeName(type));
  }
  return names;
}

std::string TypesOf(const OpCall& call) {
  std::string text;
  for (size_t place = 0; place < call.size(); ++place) {
    const ArgSpec& spec = call.row().args[place];
    if (!IsTensors(spec) || !call.has(place) || call.views(place).empty()) continue;
    text += Format("%s%s %s", text.empty() ? "" : ", ", spec.name, DTypeName(call.views(place).front().dtype));
  }
  return text;
}

// What the tensors may be: each alone, or, where that never helps, all that have the first one's type together.
std::string Instead(const kernels::Kernel& kernel, const OpCall& call) {
  size_t bytes = 0;
  DType first = DType::kUndefined;
  for (const TensorView& view : call.all_views()) {
    bytes += BytesFor(view);
    if (view.layout != PrivateLayout::kPlain) return "";  // its blocks are of the type
    if (first == DType::kUndefined) first = view.dtype;
  }
  if (bytes * sizeof(std::complex<double>) > kLargestSearch) return "";
  std::string text;
  for (size_t place = 0; place < call.size(); ++place) {
    if (!IsTensors(call.row().args[place]) || !call.has(place)) continue;
    const std::string names =
        Possible(kernel, call, [place](size_t at, const TensorView& /*view*/) { return at == place; });
    if (!names.empty()) text += Format("; beside the others %s may be %s", call.row().args[place].name, names.c_str());
  }
  if (!text.empty()) return text;
  const std::string names =
      Possible(kernel, call, [first](size_t /*at*/, const TensorView& view) { return view.dtype == first; });
  return names.empty() ? "" : Format("; all that are %s now may be %s", DTypeName(first), names.c_str());
}

}  // namespace

Status TryTypes(const kernels::Kernel& kernel, const OpCall& call) {
  const uint64_t mixture = MixtureOf(call);
  if (__builtin_expect(mixture == 0 || Known::Get().Has(mixture), true)) return Ok();
  if (kernels::WorksInGroup(kernel)) return Ok();
  std::string refusal;
  if (Computes(kernel, call, kLargestTrial, &refusal)) {
    Known::Get().Add(mixture);
    return Ok();
  }
  const std::string instead = Instead(kernel, call);
  // What no other type mends is the zeros' doing.
  if (instead.empty() && !kernels::IsAboutTheCall(refusal)) {
    Known::Get().Add(mixture);
    return Ok();
  }
  return InvalidArgument(Format("nothing here computes %s%s (the kernel says: %s)", TypesOf(call).c_str(),
                                instead.c_str(), refusal.c_str()));
}

}  // namespace millpond

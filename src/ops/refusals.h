// SPDX-License-Identifier: Apache-2.0
// Arguments that a row's kernel does not take and that would change the result.
#ifndef MILLPOND_SRC_OPS_REFUSALS_H_
#define MILLPOND_SRC_OPS_REFUSALS_H_

#include <algorithm>
#include <string>

#include "src/base/format.h"
#include "src/ops/call.h"

namespace millpond {
namespace internal {

// Tensors without elements stand for none.
inline bool IsAllowed(const OpCall& call, size_t place, const KernelConstant& allowed) {
  switch (call.row().args[place].kind) {
    case ArgKind::kInt:
    case ArgKind::kBool:
    case ArgKind::kDType:
      return call.integer(place) == allowed.integer;
    case ArgKind::kDouble:
      return call.real(place) == allowed.real;
    case ArgKind::kString:
      return call.text(place).empty() || call.text(place) == allowed.text;
    case ArgKind::kTensor:
    case ArgKind::kTensorList: {
      const auto views = call.views(place);
      const auto is_empty = [](const TensorView& view) {
        return view.dtype == DType::kUndefined || view.elements() == 0;
      };
      return !call.has(place) || std::all_of(views.begin(), views.end(), is_empty);
    }
    default:
      return !call.has(place);
  }
}

inline std::string WhyRefused(const OpCall& call, const Refusal& refusal) {
  const ArgSpec& spec = call.row().args[refusal.place];
  switch (spec.kind) {
    case ArgKind::kInt:
    case ArgKind::kBool:
    case ArgKind::kDType:
      return Format("%s is %lld; %s", spec.name, static_cast<long long>(call.integer(refusal.place)), refusal.reason);
    case ArgKind::kDouble:
      return Format("%s is %g; %s", spec.name, call.real(refusal.place), refusal.reason);
    case ArgKind::kString:
      return Format("%s is '%s'; %s", spec.name, std::string(call.text(refusal.place)).c_str(), refusal.reason);
    default:
      return refusal.reason;
  }
}

}  // namespace internal

// Why the call is refused; empty: it is not.
inline std::string RefusedArgument(const OpCall& call) {
  for (const Refusal& refusal : call.row().kernel.refusals) {
    if (!internal::IsAllowed(call, refusal.place, refusal.allowed)) return internal::WhyRefused(call, refusal);
  }
  return {};
}

}  // namespace millpond

#endif  // MILLPOND_SRC_OPS_REFUSALS_H_

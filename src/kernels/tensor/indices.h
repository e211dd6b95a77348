// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_TENSOR_INDICES_H_
#define MILLPOND_SRC_KERNELS_TENSOR_INDICES_H_

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

// Negative ones count from the end.
inline Tensor Wrapped(const Tensor& index, int64_t size) {
  const Tensor places = Long(index);
  return at::where(places.lt(0), places.add(size), places);
}

// The members of an index list as ATen wants them. Clients mark a dimension that is not indexed with an empty tensor of
// `self`'s type, which must not be taken for an index that happens to be empty: a mask without a true element leaves
// one, with memory behind it. Where the result has elements no index can be empty (`no_empty`).
inline c10::List<std::optional<Tensor>> IndexList(const Tensor& self, TensorList indices, bool no_empty) {
  const auto is_marker = [&](const Tensor& index) {
    if (!index.defined()) return true;
    if (index.numel() != 0) return false;
    if (no_empty || !at::isIntegralType(index.scalar_type(), /*includeBool=*/true)) return true;
    return index.dtype() == self.dtype() && Frame::Current()->ViewOf(index)->data == nullptr;
  };
  c10::List<std::optional<Tensor>> list;
  list.reserve(indices.size());
  for (const Tensor& index : indices) {
    list.push_back(is_marker(index) ? std::nullopt : std::optional<Tensor>(index));
  }
  return list;
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_TENSOR_INDICES_H_

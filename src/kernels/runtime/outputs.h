// SPDX-License-Identifier: Apache-2.0
// Small questions and answers about a kernel's outputs.
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_OUTPUTS_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_OUTPUTS_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// Whether the two share bytes. Each tensor of a call has a storage of its own, so ATen's own test cannot see it.
inline bool Overlap(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0) return false;
  const auto* a_first = static_cast<const char*>(a.storage().data());
  const auto* b_first = static_cast<const char*>(b.storage().data());
  return a_first < b_first + b.storage().nbytes() && b_first < a_first + a.storage().nbytes();
}

// As Write, for a result that may have the output's elements in another shape (a kept dimension, 0-d against [1]).
inline void WriteElements(Tensor& out, const Tensor& value) {
  TORCH_CHECK(out.numel() == value.numel(), "the result has shape ", value.sizes(), ", the output ", out.sizes());
  out.copy_(value.reshape(out.sizes()));
}

// Where ATen reads one operand in the shape of another without asking.
inline void CheckSameShape(const char* name, const Tensor& tensor, const char* other_name, const Tensor& other) {
  TORCH_CHECK(tensor.sizes() == other.sizes(), name, " has shape ", tensor.sizes(), ", ", other_name, " ",
              other.sizes());
}

// Where ATen writes or reads at a client's number without asking: each must be in [0, count).
inline void CheckPlaces(const char* name, const Tensor& places, int64_t count) {
  if (places.numel() == 0) return;
  const auto [low, high] = places.aminmax();
  TORCH_CHECK(low.item<int64_t>() >= 0 && high.item<int64_t>() < count, name, " has places from ", low.item<int64_t>(),
              " to ", high.item<int64_t>(), "; they must be in [0, ", count, ")");
}

// Where ATen reads an operand as if it were contiguous.
inline OptTensor Contiguous(const OptTensor& tensor) {
  return tensor.has_value() ? OptTensor(tensor->contiguous()) : tensor;
}

// A loss: one number, where it was reduced, may be 0-d or [1].
inline void WriteLoss(Tensor& out, const Tensor& value) {
  value.dim() == 0 && out.numel() == 1 ? WriteElements(out, value) : Write(out, value);
}

// ATen takes a reduction that it does not know for one that it does.
inline void CheckReduction(int64_t reduction) {
  TORCH_CHECK(reduction >= 0 && reduction <= 2, "reduction is ", reduction,
              "; it must be 0 (none), 1 (mean) or 2 (sum)");
}

// ATen's indices are int64; clients may also give int32 ones.
inline Tensor Long(const Tensor& index) { return index.scalar_type() == at::kLong ? index : index.to(at::kLong); }

// Gives `out` the contents of `self`, from where an in-place operation goes on. Clients pass the same tensor twice.
inline void StartFrom(const Tensor& self, Tensor& out) {
  const bool same = self.numel() != 0 && self.data_ptr() == out.data_ptr() && self.sizes() == out.sizes() &&
                    self.strides() == out.strides() && self.dtype() == out.dtype();
  if (!same) Write(out, Overlap(self, out) ? self.clone() : self);
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_OUTPUTS_H_

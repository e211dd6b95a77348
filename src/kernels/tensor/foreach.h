// SPDX-License-Identifier: Apache-2.0
// What the foreach kernels share. An output list may be an input list: each member is then computed in place.
#ifndef MILLPOND_SRC_KERNELS_TENSOR_FOREACH_H_
#define MILLPOND_SRC_KERNELS_TENSOR_FOREACH_H_

#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {

inline void RequireLength(size_t length, size_t wanted) {
  TORCH_CHECK(length == wanted, "a list has ", length, " members, the output has ", wanted);
}

// Where a member's result goes: its output, which may have another shape and more elements, of which the first are then
// written.
inline Tensor RoomFor(const Tensor& self, Tensor& out, size_t i) {
  if (self.sizes() == out.sizes()) return out;
  TORCH_CHECK(out.is_contiguous() && out.numel() >= self.numel(), "member ", i, " has shape ", self.sizes(),
              ", its output ", out.sizes());
  return out.view(-1).narrow(0, 0, self.numel()).view(self.sizes());
}

inline void RequireMember(const Tensor& self, const Tensor& other, size_t i) {
  TORCH_CHECK(other.defined(), "member ", i, " of a list is NULL");
  TORCH_CHECK(self.sizes() == other.sizes(), "member ", i, " has shape ", self.sizes(), " in one list and ",
              other.sizes(), " in another");
}

// Calls body(i, room for the i-th result).
template <class Body>
void ForEach(OutList out, TensorList self, Body body) {
  RequireLength(self.size(), out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    TORCH_CHECK(self[i].defined() && out[i].defined(), "member ", i, " of a list is NULL");
    Tensor to = RoomFor(self[i], out[i], i);
    body(i, to);
  }
}
template <class Body>
void ForEach(OutList out, TensorList self, TensorList other, Body body) {
  RequireLength(other.size(), out.size());
  ForEach(out, self, [&](size_t i, Tensor& to) {
    RequireMember(self[i], other[i], i);
    body(i, to);
  });
}
template <class Body>
void ForEach(OutList out, TensorList self, TensorList other, TensorList third, Body body) {
  RequireLength(third.size(), out.size());
  ForEach(out, self, other, [&](size_t i, Tensor& to) {
    RequireMember(self[i], third[i], i);
    body(i, to);
  });
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_TENSOR_FOREACH_H_

// SPDX-License-Identifier: Apache-2.0
// What the foreach kernels share. An output list may be an input list: each member is then computed in place.
#ifndef MILLPOND_SRC_KERNELS_TENSOR_FOREACH_H_
#define MILLPOND_SRC_KERNELS_TENSOR_FOREACH_H_

#include "src/kernels/tensor/elementwise.h"

namespace millpond::kernels {

inline void RequireLength(size_t length, size_t wanted) {
  TORCH_CHECK(length == wanted, "a list has ", length, " members, the output has ", wanted);
}

template <class Body>
void ForEach(OutList out, TensorList self, Body body) {
  RequireLength(self.size(), out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    TORCH_CHECK(self[i].defined() && out[i].defined(), "member ", i, " of a list is NULL");
    TORCH_CHECK(self[i].sizes() == out[i].sizes(), "member ", i, " has shape ", self[i].sizes(), ", its output ",
                out[i].sizes());
    body(i);
  }
}

template <class Body>
void ForEach(OutList out, TensorList self, TensorList other, Body body) {
  RequireLength(other.size(), out.size());
  ForEach(out, self, [&](size_t i) {
    TORCH_CHECK(other[i].defined(), "member ", i, " of a list is NULL");
    body(i);
  });
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_TENSOR_FOREACH_H_

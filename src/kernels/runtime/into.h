// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_RUNTIME_INTO_H_
#define MILLPOND_SRC_KERNELS_RUNTIME_INTO_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// Runs `compute(out)`, an out form of ATen's. These change the shape of an output that does not fit instead of
// refusing it; the memory stays ours, but the client would read something else than was written.
template <class Compute>
void Into(Tensor& out, Compute&& compute) {
  const c10::DimVector before(out.sizes());
  compute(out);
  TORCH_CHECK(out.sizes() == IntArrayRef(before), "the result has shape ", out.sizes(), ", the output ",
              IntArrayRef(before));
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_RUNTIME_INTO_H_

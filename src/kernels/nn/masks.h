// SPDX-License-Identifier: Apache-2.0
// Output masks of the backward operators: which gradients the caller asks for.
#ifndef MILLPOND_SRC_KERNELS_NN_MASKS_H_
#define MILLPOND_SRC_KERNELS_NN_MASKS_H_

#include <array>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// A gradient is computed if the mask says so and there is somewhere to put it.
template <size_t kCount>
std::array<bool, kCount> WantedOutputs(BoolArray mask, const std::array<Tensor*, kCount>& outputs) {
  TORCH_CHECK(mask.size() == kCount, "the output mask has ", mask.size(), " entries; there are ", kCount, " outputs");
  std::array<bool, kCount> wanted;
  for (size_t i = 0; i < kCount; ++i) wanted[i] = mask[i] != 0 && outputs[i] != nullptr;
  return wanted;
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_NN_MASKS_H_

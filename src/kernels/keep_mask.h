// SPDX-License-Identifier: Apache-2.0
// The bit masks that dropout's two halves pass through the client: bit i % 8 of byte i / 8 is 1 where element i stays.
#ifndef MILLPOND_SRC_KERNELS_KEEP_MASK_H_
#define MILLPOND_SRC_KERNELS_KEEP_MASK_H_

#include "src/kernels/kernel.h"

namespace millpond::kernels {

// Fills `mask` (uint8, at least one bit for each of `elements`), a pure function of seed and offset.
void FillKeepMask(Tensor& mask, int64_t elements, double drop, int64_t seed, int64_t offset);

// What each element is multiplied with: 1 / (1 - drop) where its bit is set, 0 elsewhere.
Tensor KeepFactors(const Tensor& mask, IntArrayRef shape, double drop, ScalarType type);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_KEEP_MASK_H_

// SPDX-License-Identifier: Apache-2.0
// The bit masks that dropout's two halves pass through the client: bit i % 8 of byte i / 8 is 1 where element i stays.
#ifndef MILLPOND_SRC_KERNELS_NN_KEEP_MASK_H_
#define MILLPOND_SRC_KERNELS_NN_KEEP_MASK_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// Fills `mask` (uint8, at least one bit for each of `elements`), a pure function of seed and offset.
void FillKeepMask(Tensor& mask, int64_t elements, double drop, int64_t seed, int64_t offset);

// How much the elements that stay are enlarged.
inline double KeepScale(double drop) { return drop < 1 ? 1.0 / (1.0 - drop) : 0.0; }

// Elements times `scale` where their bit is set, 0 elsewhere, of whatever value they are.
void KeepScaled(const Tensor& self, const Tensor& mask, double scale, Tensor& out);

// What each element is multiplied with: `scale` where its bit is set, 0 elsewhere. `type` is float or double.
Tensor KeepFactors(const Tensor& mask, IntArrayRef shape, double scale, ScalarType type);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_NN_KEEP_MASK_H_

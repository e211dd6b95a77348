// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding: y = part * cos + rotated * sin, where each pair of elements turns by its angle. The modes
// say which elements make a pair.
#ifndef MILLPOND_SRC_KERNELS_ATTENTION_ROTARY_H_
#define MILLPOND_SRC_KERNELS_ATTENTION_ROTARY_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

enum class RotaryMode : int64_t {
  kHalf = 0,            // x[i] with x[i + D / 2]
  kInterleave = 1,      // x[2i] with x[2i + 1]
  kQuarter = 2,         // as half, in each half of x by itself
  kInterleaveHalf = 3,  // pairs as interleave, results ordered as half
};
RotaryMode RotaryModeFrom(int64_t mode);
RotaryMode RotaryModeFrom(string_view name);

struct RotaryParts {
  Tensor part, rotated;
};
RotaryParts SplitRotary(const Tensor& x, RotaryMode mode);

// In float; cos and sin broadcast to x.
Tensor Rotary(const Tensor& x, const Tensor& cos, const Tensor& sin, RotaryMode mode);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ATTENTION_ROTARY_H_

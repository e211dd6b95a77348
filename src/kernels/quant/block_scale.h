// SPDX-License-Identifier: Apache-2.0
// Matrices whose scales belong to blocks: a power of two for 32 values of a line (MX), in pairs, or a float for
// 128 x 128 values.
#ifndef MILLPOND_SRC_KERNELS_QUANT_BLOCK_SCALE_H_
#define MILLPOND_SRC_KERNELS_QUANT_BLOCK_SCALE_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

constexpr int64_t kMxBlock = 32;
constexpr int64_t kSquareBlock = 128;

// A line of so many values has so many pairs of scales.
inline int64_t MxPairs(int64_t length) { return (length + 2 * kMxBlock - 1) / (2 * kMxBlock); }

// Lines of the last dimension times their scales, of shape (..., pairs, 2), in float.
Tensor MxInFloat(const Tensor& lines, const Tensor& scale);

// The same for a right-hand side (length, columns): `scale` is (columns, pairs, 2) or (pairs, columns, 2). Where both
// would fit, `by_column` says which it is.
Tensor MxColumnsInFloat(const Tensor& matrix, const Tensor& scale, bool by_column);

enum class Blocks { kNone, kSquare, kMx };

// What the scales of a product are. Scales for whole rows and columns are kNone.
Blocks BlocksOf(const Tensor& x1, const Tensor& x2, const OptTensor& x1_scale, const OptTensor& x2_scale);

// Refuses a groupSize (K, N and M in 16 bits each, 0: not told) that the scales contradict.
void CheckGroupSize(int64_t group_size, Blocks blocks);

// x1 (..., rows, length) times x2 (length, columns), both with their scales, in float. pre: `blocks` is not kNone.
Tensor BlockGemm(const Tensor& x1, const Tensor& x2, const Tensor& x1_scale, const Tensor& x2_scale, Blocks blocks);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_QUANT_BLOCK_SCALE_H_

// SPDX-License-Identifier: Apache-2.0
// The softmax of attention, row by row in the cache: one pass where whole-tensor operations would make ten.
#ifndef MILLPOND_SRC_KERNELS_ATTENTION_ROWS_H_
#define MILLPOND_SRC_KERNELS_ATTENTION_ROWS_H_

#include "src/kernels/attention.h"

namespace millpond::kernels {

// A block of scores: rows [row, row + rows) of the queries, keys [key, key + keys).
struct ScoreBlock {
  int64_t row, rows, key, keys;
};

// What rows that see no key have for a maximum and a sum.
inline constexpr float kBlindMax = std::numeric_limits<float>::lowest();
inline constexpr float kBlindSum = std::numeric_limits<float>::max();

// `scores` [B, N, rows, keys], contiguous floats, become weights: scaled, hidden where not visible, exp(score - max),
// divided by their sum. `max` and `sum` [B, N, rows, 1], contiguous, are written.
void SoftmaxRows(Tensor& scores, const ScoreBlock& block, const Visibility& visible, double scale, Tensor& max,
                 Tensor& sum);

// The same with the maxima and sums of an earlier softmax.
void WeightRows(Tensor& scores, const ScoreBlock& block, const Visibility& visible, double scale, const Tensor& max,
                const Tensor& sum);

// change = (change - shared) * weights * scale; `shared` [B, N, rows, 1], all contiguous floats.
void ChangeRows(Tensor& change, const Tensor& weights, const Tensor& shared, double scale);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ATTENTION_ROWS_H_

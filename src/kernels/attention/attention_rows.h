// SPDX-License-Identifier: Apache-2.0
// The softmax of attention, row by row in the cache: one pass where whole-tensor operations would make ten.
#ifndef MILLPOND_SRC_KERNELS_ATTENTION_ATTENTION_ROWS_H_
#define MILLPOND_SRC_KERNELS_ATTENTION_ATTENTION_ROWS_H_

#include "src/kernels/attention/attention.h"

namespace millpond::kernels {

// A block of scores: rows [row, row + rows) of the queries, keys [key, key + keys).
struct ScoreBlock {
  int64_t row, rows, key, keys;
};

// What rows that see no key have for a maximum and a sum.
inline constexpr float kBlindMax = std::numeric_limits<float>::lowest();
inline constexpr float kBlindSum = std::numeric_limits<float>::max();

// The rows of one head in a block of scores.
class ScoreRows {
 public:
  ScoreRows(const Visibility& visible, const ScoreBlock& block, int64_t batch, int64_t head);

  // `row`, number `i` of the block, becomes weights: scaled, exp(score - max), 0 where hidden, divided by their sum.
  void Softmax(float* row, int64_t i, double scale, float* max, float* sum) const;
  // The same with the maximum and the sum of an earlier softmax.
  void Weights(float* row, int64_t i, double scale, float max, float sum) const;

 private:
  Span Hide(float* row, int64_t i, float value) const;
  const Visibility& visible_;
  const ScoreBlock& block_;
  const bool* masked_ = nullptr;  // of the block's first row and key
  int64_t row_stride_ = 0, key_stride_ = 0;
};

// row = (row - shared) * weights * scale.
void ChangeRow(float* row, const float* weights, int64_t count, float shared, float scale);
float RowDot(const float* a, const float* b, int64_t count);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ATTENTION_ATTENTION_ROWS_H_

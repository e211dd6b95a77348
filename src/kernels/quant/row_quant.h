// SPDX-License-Identifier: Apache-2.0
// Quantisation whose scale follows from the values.
#ifndef MILLPOND_SRC_KERNELS_QUANT_ROW_QUANT_H_
#define MILLPOND_SRC_KERNELS_QUANT_ROW_QUANT_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// Which row of `scales` belongs to which row of a grouped tensor. `ends` holds each group's end, or its length when
// `counts`. Rows behind the last group get -1.
Tensor GroupOfRow(const Tensor& ends, bool counts, int64_t rows);

// Each group's begin and end along a dimension of `size`, checked.
std::vector<std::pair<int64_t, int64_t>> GroupRanges(IntArrayRef list, bool counts, int64_t size);
std::vector<int64_t> HostList(const Tensor& list);

// A tensor's last two dimensions in float, with zeros up to whole blocks.
struct Padded {
  int64_t rows, columns;  // without the zeros
  int64_t high, wide;     // blocks
  Tensor values;          // [-1, high * row_block, wide * col_block]
};
Padded PadToBlocks(const Tensor& x, int64_t row_block, int64_t col_block);

struct Scaled {
  Tensor values;  // float, not yet rounded
  Tensor scale;   // of the reduced dimensions, kept
};
// The scale that makes the largest magnitude along `dims` equal to `largest`. Where all is zero, scale and values are
// 0.
Scaled ScaledToLargest(const Tensor& value, IntArrayRef dims, double largest);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_QUANT_ROW_QUANT_H_

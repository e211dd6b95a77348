// SPDX-License-Identifier: Apache-2.0
// GEMM of quantised operands, one group at a time.
#ifndef MILLPOND_SRC_KERNELS_QUANT_QUANT_GEMM_H_
#define MILLPOND_SRC_KERNELS_QUANT_QUANT_GEMM_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// Clients also pass an empty tensor, or an empty list, for "none".
inline OptTensor Given(const OptTensor& tensor) {
  return tensor.has_value() && tensor->numel() != 0 ? tensor : OptTensor();
}

// int8 x int8 summed in int32, exactly; 8-bit floats in float; other types as at::matmul in float.
Tensor ExactGemm(const Tensor& a, const Tensor& b);

// A weight of `rows` rows: int4 packed in int32, along either dimension, becomes int8; others stay.
Tensor PlainWeight(const Tensor& weight, int64_t rows);

// (weight + offset) * scale in float, for one scale, one for each column, or one for each group of rows and column.
// The last group may have fewer than group_size rows; 0: all groups have the same.
Tensor Dequantized(const Tensor& weight, const Tensor& scale, const OptTensor& offset, int64_t group_size = 0);

struct QuantFactors {
  OptTensor bias;         // int32: added to the sums; a float: added at the end, unless bias_first
  OptTensor scale;        // for each column; 64-bit words of the device are understood
  OptTensor offset;       // added after the scale
  OptTensor token_scale;  // for each row
  bool bias_first = false;
};
// The GEMM with its factors in float; raw int32 sums when `raw`.
Tensor ScaledGemm(const Tensor& a, const Tensor& b, const QuantFactors& factors, bool raw);

// int8 x int4 as the device has it: `a` counts as a - 8 (its low halves are taken less 8), and `assist` (8 * weight *
// scale, summed along each column) puts that right. `scale` is of each column, or of each group of rows and column.
Tensor ShiftedGemm(const Tensor& a, const Tensor& weight, const Tensor& scale, const Tensor& assist,
                   const OptTensor& token_scale);
// int4 x int4 with such a scale.
Tensor NarrowGemm(const Tensor& a, const Tensor& weight, const Tensor& scale, const OptTensor& token_scale);

// Casts, or rounds and saturates when `out` is int8.
void WriteGemm(Tensor& out, const Tensor& value);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_QUANT_QUANT_GEMM_H_

// SPDX-License-Identifier: Apache-2.0
// Quantised outputs of operators that end with a quantisation.
#ifndef MILLPOND_SRC_KERNELS_QUANT_QUANTIZED_H_
#define MILLPOND_SRC_KERNELS_QUANT_QUANTIZED_H_

#include <ATen/core/Tensor.h>

namespace millpond::kernels {

// Rounds (half to even) and saturates float values to the output's type: int8, an 8-bit float, or int4 packed by eight
// into int32, the first in the lowest bits. For int4 the output's last dimension is an eighth of the value's.
void WriteQuantized(at::Tensor& out, const at::Tensor& value);

// The largest value of the type that WriteQuantized writes to such an output: 127 for int8, 7 for packed int4.
double QuantizedMaximum(const at::Tensor& out);

// A tensor of the kernel's own parameters that the client gave as INT4: the kernel sees int8 (arguments.cc).
bool IsInt4(const at::Tensor& tensor);

// Block scaling: for each 32 values of the last dimension one power of two, `scale`, and the values divided by it.
// algorithm 0 takes the exponent of the largest value, 1 rounds the needed scale up. No block's largest value counts as
// less than `least`.
void WriteBlockScaled(at::Tensor& out, at::Tensor& scale, const at::Tensor& value, int64_t algorithm, float least = 0);

// Scales of the device's fixed pipe: 64-bit words with a float in the lower half. Floats stay as they are.
at::Tensor DecodedScale(const at::Tensor& scale);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_QUANT_QUANTIZED_H_

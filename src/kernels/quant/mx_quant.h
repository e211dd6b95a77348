// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_QUANT_MX_QUANT_H_
#define MILLPOND_SRC_KERNELS_QUANT_MX_QUANT_H_

#include "src/kernels/quant/quantized.h"
#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// Refuses a way of rounding that 8-bit floats do not have.
void RequireRint(string_view mode);

// Blocks of 32 along one axis, each with its power of two. `least`: as WriteBlockScaled.
void MxQuantAlong(const Tensor& x, int64_t axis, int64_t algorithm, Tensor& y, Tensor& scale, double least = 0);

// Blocks along the rows; those of a group (each group's end in `groups`) begin anew.
void MxQuantGroups(const Tensor& x, const OptTensor& groups, int64_t algorithm, Tensor& y, Tensor& scale);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_QUANT_MX_QUANT_H_

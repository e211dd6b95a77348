// SPDX-License-Identifier: Apache-2.0
// Rows that travel quantised, and the scales that travel with them.
#ifndef MILLPOND_SRC_KERNELS_GROUP_PACKED_ROWS_H_
#define MILLPOND_SRC_KERNELS_GROUP_PACKED_ROWS_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// What has a scale of its own: a row, 128 values of one, or 32 of them (MX, a power of two).
enum class Grain { kRow, kTile, kMx };

struct PackedRows {
  Tensor rows;    // (rows, width)
  Tensor scales;  // (rows, scales of a row); not defined where rows have none
};
PackedRows Pack(const Tensor& value, ScalarType type, Grain grain);
// In float. `grain` is kRow or kMx.
Tensor Unpacked(const PackedRows& packed, Grain grain);

// Rows in another order, of any type.
Tensor PickRows(const Tensor& rows, const Tensor& order);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_GROUP_PACKED_ROWS_H_

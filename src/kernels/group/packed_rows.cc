// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/group/packed_rows.h"

#include "src/kernels/quant/block_scale.h"
#include "src/kernels/quant/mx_quant.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"

namespace millpond::kernels {

PackedRows Pack(const Tensor& value, ScalarType type, Grain grain) {
  const int64_t rows = value.size(0), width = value.size(1);
  Tensor stored = at::empty({rows, width}, value.options().dtype(type));
  if (grain == Grain::kMx) {
    Tensor scales = at::empty({rows, MxPairs(width), 2}, value.options().dtype(at::kFloat8_e8m0fnu));
    MxQuantAlong(value, -1, /*algorithm=*/0, stored, scales);
    return {stored, scales.view({rows, MxPairs(width) * 2})};
  }
  constexpr int64_t kTile = 128;
  const int64_t tile = grain == Grain::kRow ? width : kTile;
  const int64_t tiles = tile == 0 ? 0 : (width + tile - 1) / tile;
  const Tensor padded = at::constant_pad_nd(value.to(at::kFloat), {0, tiles * tile - width});
  const Scaled scaled = ScaledToLargest(padded.view({rows, tiles, tile}), {-1}, QuantizedMaximum(stored));
  WriteQuantized(stored, scaled.values.reshape({rows, tiles * tile}).narrow(1, 0, width));
  return {stored, scaled.scale.reshape({rows, tiles}).contiguous()};
}

Tensor Unpacked(const PackedRows& packed, Grain grain) {
  if (grain == Grain::kMx) return MxInFloat(packed.rows, packed.scales);
  return packed.rows.to(at::kFloat).mul_(packed.scales);
}

Tensor PickRows(const Tensor& rows, const Tensor& order) {
  const Tensor picked = rows.contiguous().view(at::kByte).index_select(0, order);
  return picked.view(rows.scalar_type());
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// The innermost loops of GEMM and convolutions with packed weights: a tile of a few rows by 32 columns, kept in
// registers while all of the depth goes by.
//
// A row of the LHS is `runs` pieces of `length` floats each: one piece for GEMM, one for each row of the filter for a
// convolution with channels last. The RHS is packed so that it is read from front to back.
//
// This header is compiled for several processors: nothing in it may be shared between them.
#ifndef MILLPOND_SRC_KERNELS_GEMM_GEMM_TILE_H_
#define MILLPOND_SRC_KERNELS_GEMM_GEMM_TILE_H_

#include <cstdint>

namespace millpond::kernels {

inline constexpr int64_t kTileColumns = 32;
inline constexpr int kMaxTileRows = 14;

struct TileCall {
  const float* lhs[2];  // the first row of each group of rows; a convolution's narrow lines come in pairs
  int64_t row_stride;   // floats from row to row of a group
  const int64_t* run_offsets;
  int64_t runs;
  int64_t length;
  const float* rhs;  // [runs * length][32]
  const char* next;  // what to prefetch meanwhile: `next_step` bytes for each step of the depth
  int64_t next_step;
  const float* bias;       // 32
  const float* addend[2];  // as `out`; null for none
  float* out[2];
  int64_t out_stride;
  bool relu;
};

using TileFunction = void (*)(const TileCall& call);

struct TileSet {
  int max_rows;
  TileFunction one[kMaxTileRows + 1];      // by rows
  TileFunction two[kMaxTileRows / 2 + 1];  // two groups of so many rows each
};

// Null where the processor is not of that kind.
const TileSet* TilesForAvx512();
// Runs everywhere.
const TileSet* PlainTiles();

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_GEMM_GEMM_TILE_H_

// SPDX-License-Identifier: Apache-2.0
// Tiles of 14 rows by two registers: 28 sums, which is what thirty-two registers allow. Compiled for AVX-512
// (kernels.cmake).
#include "src/kernels/gemm/gemm_tile_code.h"

namespace millpond::kernels {

const TileSet* TilesForAvx512() {
#if defined(__AVX512F__) && defined(__x86_64__)
  static constexpr TileSet kSet{
      14,
      {nullptr, RunTile<1, 0>, RunTile<2, 0>, RunTile<3, 0>, RunTile<4, 0>, RunTile<5, 0>, RunTile<6, 0>, RunTile<7, 0>,
       RunTile<8, 0>, RunTile<9, 0>, RunTile<10, 0>, RunTile<11, 0>, RunTile<12, 0>, RunTile<13, 0>, RunTile<14, 0>},
      {nullptr, RunTile<1, 1>, RunTile<2, 2>, RunTile<3, 3>, RunTile<4, 4>, RunTile<5, 5>, RunTile<6, 6>,
       RunTile<7, 7>}};
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma") ? &kSet : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace millpond::kernels

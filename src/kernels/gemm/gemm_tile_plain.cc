// SPDX-License-Identifier: Apache-2.0
// The same for any processor: it runs models that were compiled, and their constants packed, on another machine.
#include "src/kernels/gemm/gemm_tile_code.h"

namespace millpond::kernels {

const TileSet* PlainTiles() {
  static constexpr TileSet kSet{4,
                                {nullptr, RunTile<1, 0>, RunTile<2, 0>, RunTile<3, 0>, RunTile<4, 0>},
                                {nullptr, RunTile<1, 1>, RunTile<2, 2>}};
  return &kSet;
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/tensor/fused_chain_tiles.h"

namespace millpond::kernels {

RunTileFn PlainChain() { return &RunTile; }

}  // namespace millpond::kernels

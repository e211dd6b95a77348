// SPDX-License-Identifier: Apache-2.0
#ifdef CPU_CAPABILITY_AVX2
#include "src/kernels/tensor/fused_chain_tiles.h"

namespace millpond::kernels {
RunTileFn Avx2Chain() { return &RunTile; }
}  // namespace millpond::kernels
#else
#include "src/kernels/tensor/fused_chain.h"

namespace millpond::kernels {
RunTileFn Avx2Chain() { return nullptr; }
}  // namespace millpond::kernels
#endif

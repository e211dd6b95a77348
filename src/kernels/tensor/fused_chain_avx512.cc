// SPDX-License-Identifier: Apache-2.0
#ifdef CPU_CAPABILITY_AVX512
#include "src/kernels/tensor/fused_chain_tiles.h"

namespace millpond::kernels {
RunTileFn Avx512Chain() { return &RunTile; }
}  // namespace millpond::kernels
#else
#include "src/kernels/tensor/fused_chain.h"

namespace millpond::kernels {
RunTileFn Avx512Chain() { return nullptr; }
}  // namespace millpond::kernels
#endif

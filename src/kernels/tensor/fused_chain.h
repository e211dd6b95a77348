// SPDX-License-Identifier: Apache-2.0
// A tile of a chain of elementwise operations (src/ops/chain.h): small enough for the first cache, so that only inputs
// and the result go through memory.
#ifndef MILLPOND_SRC_KERNELS_TENSOR_FUSED_CHAIN_H_
#define MILLPOND_SRC_KERNELS_TENSOR_FUSED_CHAIN_H_

#include <cstdint>

#include "src/ops/chain.h"

namespace millpond::kernels {

// Elements of a tile. Two or three results are alive at a time.
inline constexpr int64_t kTile = 2048;
// Floats that a repeated number is written out in: as many as the widest vector has.
inline constexpr int64_t kRepeated = 16;

struct ChainOperand {
  const float* data = nullptr;
  int64_t step = 1;  // 0: one number, kRepeated times
};
struct ChainStep {
  chain::Op op = chain::Op::kAdd;
  ChainOperand left, right;
  float* result = nullptr;
};

// Runs the steps on `count` elements.
using RunTileFn = void (*)(const ChainStep* steps, size_t step_count, int64_t count);

// One for each set of vector instructions; null where the compiler does not know it.
RunTileFn PlainChain();
RunTileFn Avx2Chain();
RunTileFn Avx512Chain();

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_TENSOR_FUSED_CHAIN_H_

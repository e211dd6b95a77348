// SPDX-License-Identifier: Apache-2.0
// Caches of keys and values in blocks of tokens: a slot is block * block size + place in the block.
#ifndef MILLPOND_SRC_KERNELS_ATTENTION_PAGED_CACHE_H_
#define MILLPOND_SRC_KERNELS_ATTENTION_PAGED_CACHE_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// A view [blocks, block size, fractals, width] of a cache; one token is [block, place].
//   by token    [blocks, block size, ...]
//   fractal     the same bytes as [blocks, N * D / 32 bytes, block size, 32 bytes]
Tensor ByToken(const Tensor& cache);
Tensor ByFractal(const Tensor& cache, int64_t block_size);

// Token t of `tokens` (first dimension) goes to slots[t]; negative slots are left out.
void PutTokens(const Tensor& cache_view, const Tensor& tokens, const Tensor& slots);
// The tokens at `slots`, [count, elements of one token].
Tensor TakeTokens(const Tensor& cache_view, const Tensor& slots);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ATTENTION_PAGED_CACHE_H_

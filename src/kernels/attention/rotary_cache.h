// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_KERNELS_ATTENTION_ROTARY_CACHE_H_
#define MILLPOND_SRC_KERNELS_ATTENTION_ROTARY_CACHE_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// Puts `x`, [B, N, S, D], where `index` says. Modes: Norm (a cache for each batch), PA and PA_BNSD (slots of tokens in
// blocks), PA_NZ (those in fractals), PA_BLK_BNSD and PA_BLK_NZ (a block's first slot for each block of tokens).
void FileInCache(Tensor& cache, const Tensor& x, const Tensor& index, string_view mode);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ATTENTION_ROTARY_CACHE_H_

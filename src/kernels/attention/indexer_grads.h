// SPDX-License-Identifier: Apache-2.0
// Gradients of the indexer that scores keys, and statistics of the attention it stands for.
#ifndef MILLPOND_SRC_KERNELS_ATTENTION_INDEXER_GRADS_H_
#define MILLPOND_SRC_KERNELS_ATTENTION_INDEXER_GRADS_H_

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {

// [1, N1, S1, 1] of a statistic [N2, S1, G].
inline Tensor ByHead(const Tensor& statistic) {
  return statistic.to(at::kFloat).transpose(1, 2).reshape({1, -1, statistic.size(1), 1});
}

// From the gradient [S1, S2] of each score: q is [S1, N1, D], k [S2, D], w [S1, N1].
struct IndexerGrads {
  Tensor q, k, w;
};
inline IndexerGrads IndexerBackward(const Tensor& q, const Tensor& k, const Tensor& w, const Tensor& by_score) {
  const Tensor active = at::matmul(q, k.t()).relu_();  // [S1, N1, S2]
  const Tensor by_product = active.gt(0) * by_score.unsqueeze(1) * w.unsqueeze(-1);
  return {at::matmul(by_product, k), at::einsum("snk,snd->kd", {by_product, q}),
          (active * by_score.unsqueeze(1)).sum(-1)};
}

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ATTENTION_INDEXER_GRADS_H_

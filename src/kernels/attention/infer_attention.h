// SPDX-License-Identifier: Apache-2.0
// Attention for inference: sequences of different lengths in one batch, keys and values in pages or one tensor for each
// batch, a prefix that all batches share.
#ifndef MILLPOND_SRC_KERNELS_ATTENTION_INFER_ATTENTION_H_
#define MILLPOND_SRC_KERNELS_ATTENTION_INFER_ATTENTION_H_

#include "src/kernels/attention/attention.h"

namespace millpond::kernels {

struct InferArguments {
  const Tensor& query;
  TensorList key;
  TensorList value;
  OptTensor bias = {}, mask = {}, sink = {};
  OptIntArrayRef query_lengths = {}, key_lengths = {};
  OptTensor block_table = {}, query_padding = {}, key_padding = {};
  OptTensor key_prefix = {}, value_prefix = {};
  OptIntArrayRef prefix_length = {};
  OptTensor query_rope = {}, key_rope = {};
  int64_t heads = 0, key_heads = 0;
  double scale = 1;
  string_view layout = {};
  SparseRule sparse = {};
  int64_t block_size = 0;
};

// `lse` may be null.
void InferAttention(const InferArguments& arguments, Tensor& out, Tensor* lse);

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ATTENTION_INFER_ATTENTION_H_

// SPDX-License-Identifier: Apache-2.0
// The training attention of the FlashAttention*Score operators: what their versions have in common, and the pieces
// (batches or packed sequences) it is computed in.
#ifndef MILLPOND_SRC_KERNELS_ATTENTION_FLASH_ATTENTION_H_
#define MILLPOND_SRC_KERNELS_ATTENTION_FLASH_ATTENTION_H_

#include <string>
#include <vector>

#include "src/kernels/attention/attention.h"

namespace millpond::kernels {

struct FlashArguments {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  OptTensor query_rope = {}, key_rope = {};
  OptTensor pse = {}, drop = {}, mask = {}, sink = {};
  OptIntArrayRef prefix = {}, query_lengths = {}, key_lengths = {}, query_start = {}, key_start = {};
  double scale = 1, keep_prob = 1;
  SparseRule sparse = {};
  int64_t heads = 0;
  string_view layout = {};
  int64_t pse_type = 1;
  string_view softmax_layout = {};
  int64_t seed = 0, offset = 0;  // used where no drop mask is given
};

class FlashAttention {
 public:
  explicit FlashAttention(const FlashArguments& arguments);

  void Forward(Tensor& max, Tensor& sum, Tensor& out) const;

  struct GradOutputs {
    Tensor* query;
    Tensor* key;
    Tensor* value;
    Tensor* pse;  // these may be null or empty
    Tensor* query_rope;
    Tensor* key_rope;
    Tensor* sink;
  };
  void Backward(const Tensor& dy, const OptTensor& max, const OptTensor& sum, const OptTensor& out,
                const GradOutputs& grads) const;

 private:
  struct Piece {
    size_t number;        // of the sequence, or of the first batch
    int64_t first_batch;  // batches of the query's view
    int64_t batches;
    Span query, key;
    int64_t scores_before;  // in all pieces before this one
  };

  std::vector<Piece> Pieces() const;
  SparseRule RuleOf(const Piece& piece, const std::vector<Piece>& pieces) const;
  Attention Build(const Piece& piece, const std::vector<Piece>& pieces) const;
  Tensor MaskOf(const Piece& piece) const;
  Tensor Distance(const Piece& piece) const;
  bool IsPseCompressed(const Piece& piece) const;
  Tensor BiasOf(const Tensor& pse, const Piece& piece) const;
  Tensor StatisticsOf(const Tensor& statistics, const Piece& piece) const;
  Tensor Rows(const Tensor& tensor, const Piece& piece) const;
  Tensor Keys(const Tensor& tensor, const Piece& piece) const;
  bool packed() const { return IsTokenLayout(layout_); }
  bool generated_bias() const { return given_.pse && given_.pse_type >= 2; }

  const FlashArguments& given_;
  std::string layout_;
  int64_t heads_, key_heads_;
  Tensor query_, key_, value_;  // [B, N, S, D]
  Tensor keep_;                 // flat
};

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ATTENTION_FLASH_ATTENTION_H_

// SPDX-License-Identifier: Apache-2.0
// What operators of sparse attention share: sequences in their layouts, and which keys were chosen.
#ifndef MILLPOND_SRC_KERNELS_ATTENTION_SEQUENCES_H_
#define MILLPOND_SRC_KERNELS_ATTENTION_SEQUENCES_H_

#include <string>
#include <vector>

#include "src/kernels/attention/attention.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

// The sequences behind a query and a key tensor, each in a layout of its own.
class Sequences {
 public:
  Sequences(const Tensor& query, const OptTensor& query_lengths, const OptTensor& key_lengths, const OptTensor& table,
            string_view query_layout, string_view key_layout)
      : query_(query), table_(table), query_layout_(UpperCase(query_layout)), key_layout_(UpperCase(key_layout)) {
    TORCH_CHECK(query_layout_ == "BSND" || query_layout_ == "TND", "the query's layout is '", query_layout_,
                "'; supported are BSND and TND");
    TORCH_CHECK(key_layout_ == "BSND" || key_layout_ == "TND" || key_layout_ == "PA_BSND", "the key's layout is '",
                key_layout_, "'; supported are BSND, TND and PA_BSND");
    query_lengths_ = List(query_lengths);
    key_lengths_ = List(key_lengths);
    TORCH_CHECK(query_layout_ != "TND" || !query_lengths_.empty(), "the layout TND needs the lengths of the queries");
    TORCH_CHECK(key_layout_ == "BSND" || !key_lengths_.empty(), "the layout ", key_layout_,
                " needs the lengths of the keys");
    TORCH_CHECK(key_layout_ != "PA_BSND" || table_, "the layout PA_BSND needs a block table");
  }

  int64_t batches() const {
    return query_layout_ == "TND" ? static_cast<int64_t>(query_lengths_.size()) : query_.size(0);
  }

  // [S, ...] of one batch of a tensor that is laid out as the query.
  Tensor Rows(const Tensor& tensor, int64_t batch) const {
    return OfBatch(tensor, batch, 0, query_layout_ == "TND", query_lengths_);
  }

  // [N2, S1, G] of one batch of a statistic: (B, N2, S1, G) beside BSND, (N2, T1, G) beside TND.
  Tensor Statistic(const Tensor& tensor, int64_t batch) const {
    return OfBatch(tensor, batch, 1, query_layout_ == "TND", query_lengths_);
  }

  // [S, N, D] of one batch of a tensor that is laid out as the key.
  Tensor Keys(const Tensor& tensor, int64_t batch) const {
    if (key_layout_ != "PA_BSND") return OfBatch(tensor, batch, 0, key_layout_ == "TND", key_lengths_);
    const int64_t length = key_lengths_.at(static_cast<size_t>(batch));
    const int64_t count = (length + tensor.size(1) - 1) / tensor.size(1);
    return tensor.index_select(0, Long((*table_)[batch].narrow(0, 0, count))).flatten(0, 1).narrow(0, 0, length);
  }

 private:
  // `dim` of the result counts the places of the sequence. Those of all batches stand one after another where they are
  // `packed`; else the batches are the first dimension, and without lengths each is full.
  static Tensor OfBatch(const Tensor& tensor, int64_t batch, int64_t dim, bool packed,
                        const std::vector<int64_t>& lengths) {
    const auto place = static_cast<size_t>(batch);
    if (packed) {
      const Span span = SpanOf(lengths, place);
      return tensor.narrow(dim, span.start, span.length);
    }
    return tensor[batch].narrow(dim, 0, lengths.empty() ? tensor.size(dim + 1) : lengths.at(place));
  }

  static std::vector<int64_t> List(const OptTensor& lengths) {
    if (!lengths) return {};
    const Tensor list = Long(*lengths).reshape({-1}).contiguous();
    return {list.const_data_ptr<int64_t>(), list.const_data_ptr<int64_t>() + list.numel()};
  }

  const Tensor& query_;
  const OptTensor& table_;
  std::string query_layout_, key_layout_;
  std::vector<int64_t> query_lengths_, key_lengths_;
};

// What every attention over chosen keys is given.
struct OverChosen {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  const Tensor& chosen;  // [..., count] numbers of blocks, -1 for none
  double scale;
  int64_t block_size;
  int64_t mode;
};

// [Sq, Skv], true where a later key would be seen.
inline Tensor HiddenBy(int64_t mode, int64_t queries, int64_t keys) {
  TORCH_CHECK(mode == 0 || mode == 3, "sparseMode is ", mode, "; supported are 0 and 3");
  const Tensor all = at::ones({queries, keys}, at::kBool);
  return mode == 0 ? at::zeros_like(all) : all.triu(keys - queries + 1);
}

// [N, Sq, Skv], true where a key was not chosen. `chosen` is [Sq, N, count] numbers of blocks, -1 for none.
inline Tensor NotChosen(const Tensor& chosen, int64_t block_size, int64_t keys) {
  const int64_t blocks = (keys + block_size - 1) / block_size;
  const Tensor index = Long(chosen).transpose(0, 1);
  // One block more, for the choices that name none.
  const Tensor place = at::where(index.lt(0).logical_or(index.ge(blocks)), blocks, index);
  const Tensor seen = at::zeros({index.size(0), index.size(1), blocks + 1}, at::kBool).scatter_(2, place, true);
  return seen.narrow(2, 0, blocks).repeat_interleave(block_size, 2).narrow(2, 0, keys).logical_not();
}

// [S, N, D] as one batch of heads: [1, N, S, D].
inline Tensor HeadsFirst(const Tensor& rows) { return rows.transpose(0, 1).unsqueeze(0); }

}  // namespace millpond::kernels

#endif  // MILLPOND_SRC_KERNELS_ATTENTION_SEQUENCES_H_

// SPDX-License-Identifier: Apache-2.0
// Attention over chosen keys: an indexer scores all keys of each query and names the best, attention looks at those.
#include <algorithm>
#include <string>

#include "src/kernels/attention/attention.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

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
    const auto place = static_cast<size_t>(batch);
    if (query_layout_ == "TND") {
      const Span span = SpanOf(query_lengths_, place);
      return tensor.narrow(0, span.start, span.length);
    }
    return tensor[batch].narrow(0, 0, query_lengths_.empty() ? tensor.size(1) : query_lengths_.at(place));
  }

  // [S, N, D] of one batch of a tensor that is laid out as the key.
  Tensor Keys(const Tensor& tensor, int64_t batch) const {
    const auto place = static_cast<size_t>(batch);
    if (key_layout_ == "TND") {
      const Span span = SpanOf(key_lengths_, place);
      return tensor.narrow(0, span.start, span.length);
    }
    if (key_layout_ == "BSND")
      return tensor[batch].narrow(0, 0, key_lengths_.empty() ? tensor.size(1) : key_lengths_.at(place));
    const int64_t length = key_lengths_.at(place);
    const int64_t count = (length + tensor.size(1) - 1) / tensor.size(1);
    return tensor.index_select(0, Long((*table_)[batch].narrow(0, 0, count))).flatten(0, 1).narrow(0, 0, length);
  }

 private:
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

// [Sq, Skv], true where a later key would be seen.
Tensor HiddenBy(int64_t mode, int64_t queries, int64_t keys) {
  TORCH_CHECK(mode == 0 || mode == 3, "sparseMode is ", mode, "; supported are 0 and 3");
  const Tensor all = at::ones({queries, keys}, at::kBool);
  return mode == 0 ? at::zeros_like(all) : all.triu(keys - queries + 1);
}

// [N, Sq, Skv], true where a key was not chosen. `chosen` is [Sq, N, count] numbers of blocks, -1 for none.
Tensor NotChosen(const Tensor& chosen, int64_t block_size, int64_t keys) {
  const int64_t blocks = (keys + block_size - 1) / block_size;
  const Tensor index = Long(chosen).transpose(0, 1);
  // One block more, for the choices that name none.
  const Tensor place = at::where(index.lt(0).logical_or(index.ge(blocks)), blocks, index);
  const Tensor seen = at::zeros({index.size(0), index.size(1), blocks + 1}, at::kBool).scatter_(2, place, true);
  return seen.narrow(2, 0, blocks).repeat_interleave(block_size, 2).narrow(2, 0, keys).logical_not();
}

struct SparseArguments {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  const Tensor& chosen;
  const OptTensor& query_rope;
  const OptTensor& key_rope;
  OptTensor sinks;
  double scale;
  int64_t block_size;
  int64_t mode;
};

void SparseAttention(const Sequences& sequences, const SparseArguments& given, Tensor& out) {
  TORCH_CHECK(given.block_size > 0, "sparseBlockSize is ", given.block_size, "; it must be positive");
  out.zero_();
  const auto heads_first = [](const Tensor& x) { return x.transpose(0, 1).unsqueeze(0); };
  for (int64_t batch = 0; batch < sequences.batches(); ++batch) {
    Attention attention;
    attention.query = heads_first(sequences.Rows(given.query, batch));
    attention.key = heads_first(sequences.Keys(given.key, batch));
    attention.value = heads_first(sequences.Keys(given.value, batch));
    if (given.query_rope) {
      TORCH_CHECK(given.key_rope, "queryRope is given without keyRope");
      attention.query = at::cat({attention.query, heads_first(sequences.Rows(*given.query_rope, batch))}, -1);
      attention.key = at::cat({attention.key, heads_first(sequences.Keys(*given.key_rope, batch))}, -1);
    }
    attention.scale = given.scale;
    if (given.sinks) attention.sink = *given.sinks;
    const int64_t queries = attention.query.size(2);
    const int64_t keys = attention.key.size(2);
    if (queries == 0 || keys == 0) continue;
    const Tensor hidden = NotChosen(sequences.Rows(given.chosen, batch), given.block_size, keys)
                              .logical_or(HiddenBy(given.mode, queries, keys));
    const int64_t group = attention.query.size(1) / hidden.size(0);
    attention.visible.masked = hidden.repeat_interleave(group, 0).unsqueeze(0);
    sequences.Rows(out, batch).copy_(Attend(attention).out[0].transpose(0, 1));
  }
}

}  // namespace

MP_KERNEL(aclnnLightningIndexer, const Tensor& query, const Tensor& key, const Tensor& weights,
          const OptTensor& query_lengths, const OptTensor& key_lengths, const OptTensor& table,
          string_view query_layout, string_view key_layout, int64_t count, int64_t mode, bool values_wanted,
          Tensor& indices, Tensor* values) {
  const Sequences sequences(query, query_lengths, key_lengths, table, query_layout, key_layout);
  const double hidden = -std::numeric_limits<double>::infinity();
  indices.fill_(-1);
  if (values_wanted && values != nullptr) values->fill_(hidden);
  for (int64_t batch = 0; batch < sequences.batches(); ++batch) {
    const Tensor q = sequences.Rows(query, batch).to(at::kFloat).transpose(0, 1);      // [N1, S1, D]
    const Tensor k = sequences.Keys(key, batch).to(at::kFloat).permute({1, 2, 0});     // [N2, D, S2]
    const Tensor w = sequences.Rows(weights, batch).to(at::kFloat).t().unsqueeze(-1);  // [N1, S1, 1]
    const int64_t kept = std::min(count, k.size(2));
    if (q.size(1) == 0 || kept == 0) continue;
    const int64_t group = q.size(0) / k.size(0);
    Tensor scores = at::matmul(q, k.repeat_interleave(group, 0)).relu_().mul_(w);
    scores = scores.view({k.size(0), group, q.size(1), k.size(2)}).sum(1);  // [N2, S1, S2]
    scores.masked_fill_(HiddenBy(mode, q.size(1), k.size(2)), hidden);
    auto [best, place] = at::topk(scores, kept, -1);
    place.masked_fill_(best.eq(hidden), -1);
    sequences.Rows(indices, batch).narrow(-1, 0, kept).copy_(place.transpose(0, 1));
    if (values_wanted && values != nullptr)
      sequences.Rows(*values, batch).narrow(-1, 0, kept).copy_(best.transpose(0, 1));
  }
}

MP_KERNEL(aclnnSparseFlashAttentionV2, const Tensor& query, const Tensor& key, const OptTensor& value,
          const Tensor& chosen, const OptTensor& table, const OptTensor& query_lengths, const OptTensor& key_lengths,
          const OptTensor& query_rope, const OptTensor& key_rope, const OptTensor& sinks, double scale,
          int64_t block_size, string_view query_layout, string_view key_layout, int64_t mode, bool lse_wanted,
          Tensor& out) {
  TORCH_CHECK(!lse_wanted, "softmaxMax and softmaxSum are not supported; pass returnSoftmaxLse = false");
  SparseAttention({query, query_lengths, key_lengths, table, query_layout, key_layout},
                  {query, key, value ? *value : key, chosen, query_rope, key_rope, sinks, scale, block_size, mode},
                  out);
}

}  // namespace millpond::kernels

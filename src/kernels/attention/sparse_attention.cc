// SPDX-License-Identifier: Apache-2.0
// Attention over chosen keys: an indexer scores all keys of each query and names the best, attention looks at those.
#include <algorithm>

#include "src/kernels/attention/sequences.h"

namespace millpond::kernels {
namespace {

struct SparseArguments : OverChosen {
  const OptTensor& query_rope;
  const OptTensor& key_rope;
  OptTensor sinks;
};

// [N2, S1, G] of a statistic [1, N1, S1, 1].
Tensor ByGroup(const Tensor& statistic, int64_t key_heads) {
  return statistic[0].squeeze(-1).view({key_heads, -1, statistic.size(2)}).transpose(1, 2);
}

void SparseAttention(const Sequences& sequences, const SparseArguments& given, Tensor& out, Tensor* max, Tensor* sum) {
  TORCH_CHECK(given.block_size > 0, "sparseBlockSize is ", given.block_size, "; it must be positive");
  out.zero_();
  for (int64_t batch = 0; batch < sequences.batches(); ++batch) {
    Attention attention;
    attention.query = HeadsFirst(sequences.Rows(given.query, batch));
    attention.key = HeadsFirst(sequences.Keys(given.key, batch));
    attention.value = HeadsFirst(sequences.Keys(given.value, batch));
    if (given.query_rope) {
      TORCH_CHECK(given.key_rope, "queryRope is given without keyRope");
      attention.query = at::cat({attention.query, HeadsFirst(sequences.Rows(*given.query_rope, batch))}, -1);
      attention.key = at::cat({attention.key, HeadsFirst(sequences.Keys(*given.key_rope, batch))}, -1);
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
    const AttentionResult result = Attend(attention);
    sequences.Rows(out, batch).copy_(result.out[0].transpose(0, 1));
    if (max != nullptr) sequences.Statistic(*max, batch).copy_(ByGroup(result.max, hidden.size(0)));
    if (sum != nullptr) sequences.Statistic(*sum, batch).copy_(ByGroup(result.sum, hidden.size(0)));
  }
}

// Keys of tiles in 8 bits, then the turned part in the query's type, then a float for each tile: the two parts in
// float.
struct TiledKeys {
  Tensor plain, turned;
};
TiledKeys FromTiles(const Tensor& key, int64_t tile, int64_t turned, ScalarType turned_type) {
  const int64_t turned_bytes = turned * 2;
  // bytes = plain + turned_bytes + plain / tile * 4.
  TORCH_CHECK(tile > 0 && turned > 0 && key.element_size() == 1 && key.size(-1) > turned_bytes &&
                  (key.size(-1) - turned_bytes) * tile % (tile + 4) == 0,
              "keys of shape ", key.sizes(), " are not made of tiles of ", tile, ", ", turned,
              " turned values and a scale for each tile");
  const int64_t plain = (key.size(-1) - turned_bytes) * tile / (tile + 4);
  const auto bytes = [&](int64_t from, int64_t count, ScalarType type) {
    return key.narrow(-1, from, count).contiguous().view(at::kByte).view(type).to(at::kFloat);
  };
  const Tensor scale = bytes(plain + turned_bytes, plain / tile * 4, at::kFloat).repeat_interleave(tile, -1);
  return {key.narrow(-1, 0, plain).to(at::kFloat) * scale, bytes(plain, turned_bytes, turned_type)};
}

}  // namespace

MP_KERNEL(aclnnKvQuantSparseFlashAttention, const Tensor& query, const Tensor& key, const Tensor& chosen,
          const OptTensor& table, const OptTensor& query_lengths, const OptTensor& key_lengths, double scale,
          int64_t block_size, string_view query_layout, string_view key_layout, int64_t mode, int64_t tile,
          int64_t turned, Tensor& out) {
  TORCH_CHECK(IsHalf(query.scalar_type()), "the query is of type ", query.scalar_type(), "; a half type is needed");
  const auto [plain_key, turned_key] = FromTiles(key, tile, turned, query.scalar_type());
  const int64_t plain = plain_key.size(-1);
  TORCH_CHECK(query.size(-1) == plain + turned, "the query has heads of ", query.size(-1), ", the keys of ", plain,
              " + ", turned);
  const Tensor plain_query = query.narrow(-1, 0, plain);
  const OptTensor query_rope(query.narrow(-1, plain, turned)), key_rope(turned_key);
  SparseAttention({plain_query, query_lengths, key_lengths, table, query_layout, key_layout},
                  {{plain_query, plain_key, plain_key, chosen, scale, block_size, mode}, query_rope, key_rope, {}}, out,
                  nullptr, nullptr);
}

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
          Tensor& out, Tensor* max, Tensor* sum) {
  TORCH_CHECK(!lse_wanted || (max != nullptr && sum != nullptr), "returnSoftmaxLse needs softmaxMax and softmaxSum");
  SparseAttention({query, query_lengths, key_lengths, table, query_layout, key_layout},
                  {{query, key, value ? *value : key, chosen, scale, block_size, mode}, query_rope, key_rope, sinks},
                  out, lse_wanted ? max : nullptr, lse_wanted ? sum : nullptr);
}

}  // namespace millpond::kernels

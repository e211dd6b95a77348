// SPDX-License-Identifier: Apache-2.0
// Gradients of attention over chosen keys and of the indexer that chooses them; the indexer on quantised operands.
#include <algorithm>

#include "src/kernels/attention/indexer_grads.h"
#include "src/kernels/attention/sequences.h"

namespace millpond::kernels {
namespace {

// [N2, S1, S2]: what each key is worth to each query.
Tensor Scores(const Tensor& q, const Tensor& k, const Tensor& w) {
  const int64_t group = q.size(0) / k.size(0);
  const Tensor scores = at::matmul(q, k.repeat_interleave(group, 0)).relu_().mul_(w);
  return scores.view({k.size(0), group, q.size(1), k.size(2)}).sum(1);
}

}  // namespace

MP_KERNEL(SparseAttentionGradient, const Tensor& query, const Tensor& key, const OptTensor& value, const Tensor& chosen,
          const Tensor& grad, const Tensor& out, const Tensor& max, const Tensor& sum, const OptTensor& query_lengths,
          const OptTensor& key_lengths, const OptTensor& query_rope, const OptTensor& key_rope, double scale,
          int64_t block_size, string_view layout, int64_t mode, Tensor& dq, Tensor& dk, Tensor* dv, Tensor* dq_rope,
          Tensor* dk_rope) {
  TORCH_CHECK(block_size > 0, "sparseBlockSize is ", block_size, "; it must be positive");
  TORCH_CHECK(query_rope.has_value() == key_rope.has_value(), "queryRope and keyRope go together");
  TORCH_CHECK(value.has_value() == (dv != nullptr),
              "value and its gradient go together: without value its gradient is ", "part of the key's");
  TORCH_CHECK(max.numel() == query.numel() / std::max<int64_t>(query.size(-1), 1) && sum.numel() == max.numel(),
              "softmaxMax has shape ", max.sizes(), " and softmaxSum ", sum.sizes(), " for a query of ", query.sizes());
  const OptTensor no_table;
  const Sequences sequences(query, query_lengths, key_lengths, no_table, layout, layout);
  for (Tensor* written : {&dq, &dk, dv, dq_rope, dk_rope}) {
    if (written != nullptr) written->zero_();
  }
  for (int64_t batch = 0; batch < sequences.batches(); ++batch) {
    Attention attention;
    attention.query = HeadsFirst(sequences.Rows(query, batch));
    attention.key = HeadsFirst(sequences.Keys(key, batch));
    attention.value = HeadsFirst(sequences.Keys(value ? *value : key, batch));
    attention.scale = scale;
    const int64_t plain = query.size(-1);
    const int64_t queries = attention.query.size(2);
    const int64_t keys = attention.key.size(2);
    if (queries == 0 || keys == 0) continue;
    if (query_rope) {
      attention.query = at::cat({attention.query, HeadsFirst(sequences.Rows(*query_rope, batch))}, -1);
      attention.key = at::cat({attention.key, HeadsFirst(sequences.Keys(*key_rope, batch))}, -1);
    }
    const Tensor hidden =
        NotChosen(sequences.Rows(chosen, batch), block_size, keys).logical_or(HiddenBy(mode, queries, keys));
    attention.visible.masked = hidden.repeat_interleave(attention.query.size(1) / hidden.size(0), 0).unsqueeze(0);
    const AttentionResult forward{HeadsFirst(sequences.Rows(out, batch)).to(at::kFloat),
                                  ByHead(sequences.Statistic(max, batch)), ByHead(sequences.Statistic(sum, batch))};
    const AttentionGrads grads = AttendBackward(attention, HeadsFirst(sequences.Rows(grad, batch)), forward);
    const auto rows = [](const Tensor& x) { return x[0].transpose(0, 1); };
    sequences.Rows(dq, batch).copy_(rows(grads.query.narrow(-1, 0, plain)));
    const Tensor by_key = grads.key.narrow(-1, 0, plain);
    sequences.Keys(dk, batch).copy_(rows(value ? by_key : by_key + grads.value));
    if (dv != nullptr) sequences.Keys(*dv, batch).copy_(rows(grads.value));
    const int64_t turned = attention.query.size(-1) - plain;
    if (dq_rope != nullptr) sequences.Rows(*dq_rope, batch).copy_(rows(grads.query.narrow(-1, plain, turned)));
    if (dk_rope != nullptr) sequences.Keys(*dk_rope, batch).copy_(rows(grads.key.narrow(-1, plain, turned)));
  }
}

// dy has one number for each chosen key.
MP_KERNEL(aclnnLightningIndexerGrad, const Tensor& query, const Tensor& key, const Tensor& dy, const Tensor& chosen,
          const Tensor& weights, const OptTensor& query_lengths, const OptTensor& key_lengths, int64_t heads,
          string_view layout, int64_t mode, Tensor& dq, Tensor& dk, Tensor& dw) {
  TORCH_CHECK(heads == query.size(-2), "headNum is ", heads, ", the query has ", query.size(-2), " heads");
  TORCH_CHECK(key.size(-2) == 1, "the key has ", key.size(-2), " heads; it must have one");
  const OptTensor no_table;
  const Sequences sequences(query, query_lengths, key_lengths, no_table, layout, layout);
  for (Tensor* written : {&dq, &dk, &dw}) written->zero_();
  for (int64_t batch = 0; batch < sequences.batches(); ++batch) {
    const Tensor q = sequences.Rows(query, batch).to(at::kFloat);             // [S1, N1, D]
    const Tensor k = sequences.Keys(key, batch).to(at::kFloat).select(1, 0);  // [S2, D]
    const Tensor w = sequences.Rows(weights, batch).to(at::kFloat);           // [S1, N1]
    if (q.size(0) == 0 || k.size(0) == 0) continue;
    const Tensor index = Long(sequences.Rows(chosen, batch)).reshape({q.size(0), -1});
    const Tensor given = sequences.Rows(dy, batch).to(at::kFloat).reshape(index.sizes());
    const Tensor named = index.ge(0).logical_and(index.lt(k.size(0)));
    // [S1, S2]: the gradient of each score; a key that was not chosen has none.
    Tensor by_score = at::zeros({q.size(0), k.size(0)}, at::kFloat)
                          .scatter_add_(1, index.clamp(0, k.size(0) - 1), given.masked_fill(named.logical_not(), 0));
    by_score.masked_fill_(HiddenBy(mode, q.size(0), k.size(0)), 0);
    const IndexerGrads grads = IndexerBackward(q, k, w, by_score);
    sequences.Rows(dw, batch).copy_(grads.w);
    sequences.Rows(dq, batch).copy_(grads.q);
    sequences.Keys(dk, batch).copy_(grads.k.unsqueeze(1));
  }
}

// (B, N2, S1) beside BSND, (N2, T1) beside TND.
MP_KERNEL(aclnnDenseLightningIndexerSoftmaxLse, const Tensor& query, const Tensor& key, const Tensor& weights,
          OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, string_view layout, int64_t mode, Tensor& max,
          Tensor& sum) {
  TORCH_CHECK(mode == 3, "sparseMode is ", mode, "; 3 is supported, as on the device");
  const auto tensor = [](const OptIntArrayRef& list) {
    return list ? OptTensor(at::tensor(*list, at::kLong)) : OptTensor();
  };
  const OptTensor ends1 = tensor(query_lengths);
  const OptTensor ends2 = tensor(key_lengths);
  const OptTensor no_table;
  const string_view used = layout.empty() ? "BSND" : layout;
  const Sequences sequences(query, ends1, ends2, no_table, used, used);
  for (int64_t batch = 0; batch < sequences.batches(); ++batch) {
    const Tensor q = sequences.Rows(query, batch).to(at::kFloat).transpose(0, 1);
    const Tensor k = sequences.Keys(key, batch).to(at::kFloat).permute({1, 2, 0});
    const Tensor w = sequences.Rows(weights, batch).to(at::kFloat).t().unsqueeze(-1);
    if (q.size(1) == 0 || k.size(2) == 0) continue;
    const Tensor scores =
        Scores(q, k, w).masked_fill_(HiddenBy(mode, q.size(1), k.size(2)), -std::numeric_limits<double>::infinity());
    const Tensor most = scores.amax(-1, /*keepdim=*/true);
    sequences.Statistic(max.unsqueeze(-1), batch).copy_(most);
    sequences.Statistic(sum.unsqueeze(-1), batch).copy_((scores - most).exp_().sum(-1, /*keepdim=*/true));
  }
}

MP_KERNEL(aclnnQuantLightningIndexer, const Tensor& query, const Tensor& key, const Tensor& weights,
          const Tensor& query_scale, const Tensor& key_scale, const OptTensor& query_lengths,
          const OptTensor& key_lengths, const OptTensor& table, string_view query_layout, string_view key_layout,
          int64_t count, int64_t mode, Tensor& indices) {
  const Sequences sequences(query, query_lengths, key_lengths, table, query_layout, key_layout);
  const double hidden = -std::numeric_limits<double>::infinity();
  indices.fill_(-1);
  for (int64_t batch = 0; batch < sequences.batches(); ++batch) {
    const auto scaled = [](const Tensor& x, const Tensor& by) {
      return x.to(at::kFloat).mul(by.to(at::kFloat).unsqueeze(-1));
    };
    const Tensor q = scaled(sequences.Rows(query, batch), sequences.Rows(query_scale, batch)).transpose(0, 1);
    const Tensor k = scaled(sequences.Keys(key, batch), sequences.Keys(key_scale, batch)).permute({1, 2, 0});
    const Tensor w = sequences.Rows(weights, batch).to(at::kFloat).t().unsqueeze(-1);
    const int64_t kept = std::min(count, k.size(2));
    if (q.size(1) == 0 || kept == 0) continue;
    const Tensor scores = Scores(q, k, w).masked_fill_(HiddenBy(mode, q.size(1), k.size(2)), hidden);
    auto [best, place] = at::topk(scores, kept, -1);
    place.masked_fill_(best.eq(hidden), -1);
    sequences.Rows(indices, batch).narrow(-1, 0, kept).copy_(place.transpose(0, 1));
  }
}

}  // namespace millpond::kernels

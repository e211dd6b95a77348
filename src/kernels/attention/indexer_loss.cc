// SPDX-License-Identifier: Apache-2.0
// How far the indexer's shares of the keys are from those of the attention it stands for, and its gradients.
#include "src/kernels/attention/indexer_grads.h"
#include "src/kernels/attention/sequences.h"

namespace millpond::kernels {
namespace {

// Pages tell of lengths, callers of the sequences' ends; both mean the same where the last is the number of tokens.
OptTensor EndsOf(const OptIntArrayRef& list, string_view layout, int64_t tokens) {
  if (!list) return {};
  const Tensor given = at::tensor(*list, at::kLong);
  const bool packed = UpperCase(layout) == "TND";
  return packed && !list->empty() && list->back() != tokens ? given.cumsum(0) : given;
}

// [S1, S2]: the attention's share of each key over all heads, 1 in all for a query.
Tensor Shares(const Tensor& query, const Tensor& key, const Tensor& max, const Tensor& sum, double scale,
              const Tensor& hidden) {
  const Tensor keys = key[0].to(at::kFloat).repeat_interleave(query.size(1) / key.size(1), 0);
  const Tensor scores = at::matmul(query[0].to(at::kFloat), keys.transpose(-1, -2)) * scale;
  const Tensor each = (scores - max[0]).exp_() / sum[0];
  const Tensor total = each.sum(0).masked_fill_(hidden, 0);
  return total / total.sum(-1, /*keepdim=*/true).clamp_min(std::numeric_limits<float>::min());
}

}  // namespace

MP_KERNEL(IndexerLoss, const Tensor& query, const Tensor& key, const Tensor& index_query, const Tensor& index_key,
          const Tensor& weights, const OptTensor& chosen, const Tensor& max, const Tensor& sum,
          const OptTensor& index_max, const OptTensor& index_sum, const OptTensor& query_rope,
          const OptTensor& key_rope, OptIntArrayRef query_lengths, OptIntArrayRef key_lengths, double scale,
          string_view layout, int64_t mode, Tensor& dq, Tensor& dk, Tensor& dw, Tensor& loss) {
  TORCH_CHECK(mode == 3, "sparseMode is ", mode, "; 3 is supported, as on the device");
  TORCH_CHECK(index_key.size(-2) == 1, "keyIndex has ", index_key.size(-2), " heads; it must have one");
  TORCH_CHECK(query_rope.has_value() == key_rope.has_value(), "queryRope and keyRope go together");
  const string_view used = layout.empty() ? "BSND" : layout;
  const OptTensor ends1 = EndsOf(query_lengths, used, query.size(0)), ends2 = EndsOf(key_lengths, used, key.size(0));
  const OptTensor no_table;
  const Sequences sequences(query, ends1, ends2, no_table, used, used);
  for (Tensor* written : {&dq, &dk, &dw}) written->zero_();
  Tensor total = at::zeros({1}, at::kFloat);
  for (int64_t batch = 0; batch < sequences.batches(); ++batch) {
    Tensor main_query = HeadsFirst(sequences.Rows(query, batch)), main_key = HeadsFirst(sequences.Keys(key, batch));
    if (query_rope) {
      main_query = at::cat({main_query, HeadsFirst(sequences.Rows(*query_rope, batch))}, -1);
      main_key = at::cat({main_key, HeadsFirst(sequences.Keys(*key_rope, batch))}, -1);
    }
    const int64_t queries = main_query.size(2), keys = main_key.size(2);
    if (queries == 0 || keys == 0) continue;
    Tensor hidden = HiddenBy(mode, queries, keys);
    if (chosen) hidden = hidden.logical_or(NotChosen(sequences.Rows(*chosen, batch), 1, keys)[0]);
    const Tensor shares = Shares(main_query, main_key, ByHead(sequences.Statistic(max, batch)),
                                 ByHead(sequences.Statistic(sum, batch)), scale, hidden);
    const Tensor q = sequences.Rows(index_query, batch).to(at::kFloat);             // [S1, N1, D]
    const Tensor k = sequences.Keys(index_key, batch).to(at::kFloat).select(1, 0);  // [S2, D]
    const Tensor w = sequences.Rows(weights, batch).to(at::kFloat);                 // [S1, N1]
    const Tensor scores = (at::matmul(q, k.t()).relu_() * w.unsqueeze(-1)).sum(1);  // [S1, S2]
    Tensor logs;
    if (index_max && index_sum) {
      const auto row = [&](const Tensor& kept) {
        return sequences.Statistic(kept.to(at::kFloat).unsqueeze(-1), batch).reshape({queries, 1});
      };
      logs = scores - row(*index_max) - row(*index_sum).log();
    } else {
      logs = at::log_softmax(scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()), -1);
    }
    const Tensor counted = shares.gt(0).logical_and(hidden.logical_not());
    total.add_(at::where(counted, shares * (shares.log() - logs), 0).sum());
    const Tensor by_score = (logs.exp() - shares).masked_fill_(hidden, 0).nan_to_num_(0);
    const IndexerGrads grads = IndexerBackward(q, k, w, by_score);
    sequences.Rows(dw, batch).copy_(grads.w);
    sequences.Rows(dq, batch).copy_(grads.q);
    sequences.Keys(dk, batch).copy_(grads.k.unsqueeze(1));
  }
  WriteElements(loss, total);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Mixture of experts: which experts a token goes to.
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

struct Top {
  Tensor values;
  Tensor indices;
};

// Of equal values the one with the lowest index comes first; at::topk promises no order.
Top TopOf(const Tensor& scores, int64_t k) {
  TORCH_CHECK(k >= 0 && k <= scores.size(-1), "k is ", k, "; there are ", scores.size(-1), " to choose from");
  const auto [values, indices] = at::sort(scores, /*stable=*/true, -1, /*descending=*/true);
  return {values.narrow(-1, 0, k), indices.narrow(-1, 0, k)};
}

Tensor Normalised(const Tensor& x, int64_t norm_type) {
  const Tensor wide = x.to(at::kFloat);
  switch (norm_type) {
    case 0:
      return wide.softmax(-1);
    case 1:
      return wide.sigmoid();
    case 2:
      return at::softplus(wide).sqrt();
    default:
      TORCH_CHECK(false, "normType is ", norm_type, "; 0 (softmax), 1 (sigmoid) and 2 (sqrt of softplus) are known");
  }
}

// Only the experts of the best groups stay eligible.
Tensor WithinGroups(const Tensor& scores, int64_t groups, int64_t kept, int64_t select_mode) {
  if (kept == groups) return scores;
  const Tensor grouped = scores.reshape({-1, groups, scores.size(-1) / groups});
  const Tensor best = select_mode == 0 ? grouped.amax(-1) : TopOf(grouped, 2).values.sum(-1);
  const Tensor dropped =
      at::ones(best.sizes(), best.options().dtype(at::kBool)).scatter_(1, TopOf(best, kept).indices, false);
  return grouped.masked_fill(dropped.unsqueeze(-1), -std::numeric_limits<double>::infinity()).reshape(scores.sizes());
}

struct Gate {
  int64_t k, k_group, groups, select_mode, renorm, norm_type;
};

void CheckGate(const Gate& gate, int64_t experts) {
  TORCH_CHECK(gate.groups >= 1 && experts % gate.groups == 0, "groupCount is ", gate.groups,
              ", which does not divide the ", experts, " experts");
  TORCH_CHECK(gate.k_group >= 1 && gate.k_group <= gate.groups, "kGroup is ", gate.k_group, "; there are ", gate.groups,
              " groups");
  const int64_t each = experts / gate.groups;
  TORCH_CHECK(gate.k >= 1 && gate.k <= each * gate.k_group, "k is ", gate.k, "; there are ", each * gate.k_group,
              " to choose from");
  TORCH_CHECK(gate.select_mode == 0 || gate.select_mode == 1, "groupSelectMode is ", gate.select_mode,
              "; 0 (largest) and 1 (sum of two) are known");
  TORCH_CHECK(each > gate.select_mode, "groupSelectMode 1 needs two experts in each group; there is ", each);
  TORCH_CHECK(gate.norm_type != 0 || gate.renorm == 0 || gate.renorm == 1, "renorm is ", gate.renorm,
              "; 0 and 1 are known");
}

// Each token's id names its experts.
Tensor OfTable(const Gate& gate, int64_t experts, const Tensor& ids, const Tensor& table, int64_t rows) {
  constexpr int64_t kMaxChosen = 64;
  TORCH_CHECK(gate.k <= kMaxChosen, "k is ", gate.k, "; experts of a table are at most ", kMaxChosen);
  TORCH_CHECK(gate.k_group == gate.groups || gate.groups == experts,
              "experts of a table go with kGroup = groupCount or a group for each expert");
  TORCH_CHECK(table.dim() == 2 && table.size(1) == gate.k, "tid2eid has shape ", table.sizes(), "; it must be [keys, ",
              gate.k, "]");
  TORCH_CHECK(ids.dim() == 1 && ids.size(0) == rows, "inputIds has shape ", ids.sizes(), "; it must be [", rows, "]");
  return Long(table).index_select(0, Long(ids));
}

// A finished row goes to no expert: one past the last.
Tensor Unfinished(const Tensor& chosen, const OptTensor& finished, int64_t experts) {
  return finished.has_value() ? chosen.masked_fill(finished->to(at::kBool).unsqueeze(-1), experts) : chosen;
}

}  // namespace

MP_KERNEL(aclnnMoeGatingTopKV2, const Tensor& x, const OptTensor& bias, const OptTensor& ids, const OptTensor& table,
          int64_t k, int64_t k_group, int64_t groups, int64_t select_mode, int64_t renorm, int64_t norm_type,
          bool out_flag, double factor, double eps, Tensor& y, Tensor& expert_idx, Tensor* out) {
  const Gate gate{k, k_group, groups, select_mode, renorm, norm_type};
  CheckGate(gate, x.size(-1));
  const Tensor norm = Normalised(x, norm_type);
  const Tensor biased = bias.has_value() ? norm.add(bias->to(at::kFloat)) : norm;
  const Tensor chosen = ids.has_value() && table.has_value()
                            ? OfTable(gate, x.size(-1), *ids, *table, x.size(0))
                            : TopOf(WithinGroups(biased, groups, k_group, select_mode), k).indices;
  Tensor weights = norm.gather(-1, chosen);
  if (norm_type != 0 || renorm == 1) weights = weights.div(weights.sum(-1, /*keepdim=*/true).add(eps));
  Write(y, weights.mul(factor));
  Write(expert_idx, chosen);
  if (!out_flag) return;
  TORCH_CHECK(out != nullptr, "outFlag is true and outOut is NULL");
  Write(out, norm);
}

MP_KERNEL(aclnnMoeGatingTopKBackward, const Tensor& norm, const Tensor& grad_y, const Tensor& expert_idx,
          int64_t norm_type, double factor, double eps, Tensor& out) {
  TORCH_CHECK(norm_type == 1, "normType is ", norm_type, "; the gradient is defined for 1 (sigmoid) only");
  const Tensor wide = norm.to(at::kFloat);
  const Tensor chosen = Long(expert_idx);
  const Tensor scores = wide.gather(-1, chosen);
  const Tensor total = scores.sum(-1, /*keepdim=*/true).add(eps);
  const Tensor grad = grad_y.to(at::kFloat).mul(factor);
  const Tensor mean = scores.div(total).mul(grad).sum(-1, /*keepdim=*/true);
  const Tensor spread = at::zeros_like(wide).scatter_add_(-1, chosen, grad.sub(mean).div(total));
  Write(out, spread.mul(wide).mul(at::rsub(wide, 1)));
}

MP_KERNEL(aclnnMoeGatingTopKSoftmax, const Tensor& x, const OptTensor& finished, int64_t k, Tensor& y,
          Tensor& expert_idx, Tensor& row_idx) {
  const Top top = TopOf(x.to(at::kFloat).softmax(-1), k);
  Write(y, top.values);
  Write(expert_idx, Unfinished(top.indices, finished, x.size(-1)));
  // Column by column, as aclnnMoeInitRouting wants it.
  const int64_t rows = row_idx.numel() / std::max<int64_t>(k, 1);
  WriteElements(row_idx, at::arange(rows * k, x.options().dtype(at::kLong)).view({k, rows}).t());
}

MP_KERNEL(aclnnMoeGatingTopKSoftmaxV2, const Tensor& x, const OptTensor& finished, int64_t k, int64_t renorm,
          bool softmax_wanted, Tensor& y, Tensor& expert_idx, Tensor* softmax_out) {
  TORCH_CHECK(renorm == 0 || renorm == 1, "renorm is ", renorm, "; 0 and 1 are known");
  const Tensor wide = x.to(at::kFloat);
  const Tensor scores = renorm == 0 ? wide.softmax(-1) : wide;
  const Top top = TopOf(scores, k);
  Write(y, renorm == 0 ? top.values : top.values.softmax(-1));
  Write(expert_idx, Unfinished(top.indices, finished, x.size(-1)));
  if (renorm == 0 && softmax_wanted) Write(softmax_out, scores);
}

MP_KERNEL(aclnnMoeComputeExpertTokens, const Tensor& sorted, int64_t experts, Tensor& out) {
  // Rows of no expert of this rank bear the number of experts: they come last, behind what is counted.
  const Tensor counts = at::bincount(Long(sorted).reshape({-1}), {}, experts + 1);
  TORCH_CHECK(counts.numel() == experts + 1, "an expert index is ", counts.numel() - 1, "; there are ", experts,
              " experts");
  Write(out, counts.narrow(0, 0, experts).cumsum(0));
}

MP_KERNEL(aclnnMoeFusedTopk, const Tensor& x, const Tensor& add, int64_t groups, int64_t kept_groups, int64_t summed,
          int64_t k, bool normalise, double scale, Tensor& y, Tensor& indices) {
  TORCH_CHECK(x.dim() == 2 && groups > 0 && x.size(1) % groups == 0 && kept_groups > 0 && kept_groups <= groups &&
                  summed > 0 && summed <= x.size(1) / groups && k > 0 && k <= kept_groups * (x.size(1) / groups),
              "x has shape ", x.sizes(), ", groupNum is ", groups, ", groupTopk ", kept_groups, ", topN ", summed,
              " and topK ", k);
  const Tensor chances = at::sigmoid(x.to(at::kFloat));
  const Tensor worth = (chances + add.to(at::kFloat)).view({x.size(0), groups, -1});
  const Tensor of_group = std::get<0>(at::topk(worth, summed, -1)).sum(-1);
  const Tensor best = std::get<1>(at::topk(of_group, kept_groups, -1));
  const Tensor kept = at::zeros({x.size(0), groups}, at::kBool).scatter_(1, best, true).unsqueeze(-1);
  const Tensor open = worth.masked_fill(kept.logical_not(), -std::numeric_limits<double>::infinity()).flatten(1);
  const Tensor place = std::get<1>(at::topk(open, k, -1));
  Tensor value = chances.gather(1, place);
  if (normalise) value = value / value.sum(-1, /*keepdim=*/true) * scale;
  Write(y, value);
  Write(indices, place);
}

// Which instance of each chosen expert this rank sends to: a row of the table is a count, then as many instances, which
// share the ranks out among them.
MP_KERNEL(aclnnMoeUpdateExpert, const Tensor& experts, const Tensor& table, int64_t rank, int64_t ranks,
          Tensor& balanced) {
  TORCH_CHECK(experts.dim() == 2 && table.dim() == 2 && table.size(1) >= 2, "expertIds has shape ", experts.sizes(),
              " and eplbTable ", table.sizes(), "; [BS, K] and [experts, at least 2]");
  TORCH_CHECK(rank >= 0 && rank < ranks, "localRankId is ", rank, " of a world of ", ranks);
  const Tensor rows = Long(table);
  CheckPlaces("expertIds", Long(experts), rows.size(0));
  const Tensor own = rows.index_select(0, Long(experts).reshape({-1}));
  const Tensor count = own.select(1, 0);
  CheckPlaces("the counts of eplbTable - 1", count - 1, table.size(1) - 1);
  const Tensor each = (count + ranks - 1).div(count, "floor");  // ranks for each instance
  const Tensor place = at::full_like(count, rank).div(each, "floor");
  WriteElements(balanced, own.gather(1, (place + 1).unsqueeze(1)));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// Experts on the ranks of one group, the columns of each expert's matrices on the ranks of another: tokens are
// exchanged in the first and put together in the second, or summed in the second and sent back in the first.
#include "src/kernels/gemm/matmul.h"
#include "src/kernels/nn/activation.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/runtime/group.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

constexpr int64_t kHidden = 0, kTokens = 1;  // which dimension the second group divides

struct Groups {
  string_view ep, tp;
  int64_t ep_ranks, tp_ranks;
};

Groups GroupsOf(Group& group, string_view ep, string_view tp, int64_t ep_ranks, int64_t tp_ranks) {
  group.CheckRanks(ep, ep_ranks);
  group.CheckRanks(tp, tp_ranks);
  return {ep, tp, group.ranks(ep), group.ranks(tp)};
}

void CheckShard(const char* name, int64_t shard) {
  TORCH_CHECK(shard == kHidden || shard == kTokens, name, " is ", shard,
              "; 0 (the hidden dimension) and 1 (the tokens) are known");
}

void CheckMatrices(const Tensor& x, const Tensor& weight) {
  TORCH_CHECK(x.dim() == 3 && weight.dim() == 3, "x has shape ", x.sizes(), " and weight ", weight.sizes(),
              "; both have 3 dimensions");
  TORCH_CHECK(at::isFloatingType(x.scalar_type()) && weight.scalar_type() == x.scalar_type(), "x has type ",
              x.scalar_type(), " and weight ", weight.scalar_type(), "; they must be the same");
}

// (experts, 1, columns), whichever way it was given.
Tensor BiasOf(const Tensor& bias) { return bias.dim() == 2 ? bias.unsqueeze(1) : bias; }

void CheckActivation(int64_t kind) {
  TORCH_CHECK(kind >= 0 && kind <= 4, "actType is ", kind,
              "; 0 (none), 1 (gelu), 2 (silu), 3 (relu) and 4 (fastgelu) are known");
}

Tensor Activated(const Tensor& value, int64_t kind) {
  switch (kind) {
    case 0:
      return value;
    case 1:
      return at::gelu(value, "tanh");
    case 2:
      return at::silu(value);
    case 3:
      return at::relu(value);
    case 4:
      return value.mul(at::sigmoid(value.mul(kFastGeluSlope)));
    default:
      CheckActivation(kind);
      return value;
  }
}

}  // namespace

MP_GROUP_KERNEL(AlltoAllAllGatherBatchMatMul, const Tensor& x, const Tensor& weight, const OptTensor& bias,
                string_view group_ep, string_view group_tp, int64_t ep_ranks, int64_t tp_ranks, int64_t shard,
                int64_t activation, Tensor& y1, Tensor* y2, Tensor* y3) {
  const Groups at_work = GroupsOf(group, group_ep, group_tp, ep_ranks, tp_ranks);
  const int64_t ep = at_work.ep_ranks, tp = at_work.tp_ranks;
  if (group.step() == 0) {
    CheckShard("xShardType", shard);
    CheckActivation(activation);
    CheckMatrices(x, weight);
    const int64_t inner = x.size(2) * (shard == kHidden ? tp : 1);
    TORCH_CHECK(inner == weight.size(1), "what is gathered has ", inner, " columns, and weight has ", weight.size(1),
                " rows");
    TORCH_CHECK(x.size(0) == ep * weight.size(0), "x has ", x.size(0), " experts and weight ", weight.size(0), " on ",
                ep, " ranks");
    group.kept(0) = group.Packed(x);
    group.kept(1) = at::empty_like(group.kept(0));
    return group.AlltoAll(group_ep, group.kept(0), group.kept(1));
  }
  const int64_t experts = weight.size(0), tokens = x.size(1), hidden = x.size(2);
  if (group.step() == 1) {
    group.kept(0) = group.kept(1).view({ep, experts, tokens, hidden}).transpose(0, 1).contiguous();
    group.kept(1) = at::empty({tp, experts, ep, tokens, hidden}, x.options());
    return group.AllGather(group_tp, group.kept(0), group.kept(1));
  }
  const Tensor parts = group.kept(1).view({tp, experts, ep, tokens, hidden});
  const Tensor gathered = shard == kHidden
                              ? parts.permute({1, 2, 3, 0, 4}).reshape({experts, ep * tokens, tp * hidden})
                              : parts.permute({1, 2, 0, 3, 4}).reshape({experts, ep * tp * tokens, hidden});
  if (y2 != nullptr) Write(*y2, gathered);
  Tensor product = at::bmm(gathered.to(at::kFloat), weight.to(at::kFloat));
  if (Given(bias).has_value()) product.add_(BiasOf(*bias).to(at::kFloat));
  const Tensor rounded = product.to(x.scalar_type());
  if (y3 != nullptr) Write(*y3, rounded);
  Write(y1, Activated(rounded.to(at::kFloat), activation));
}

MP_GROUP_KERNEL(BatchMatMulReduceScatterAlltoAll, const Tensor& x, const Tensor& weight, const OptTensor& bias,
                string_view group_ep, string_view group_tp, int64_t ep_ranks, int64_t tp_ranks, int64_t shard,
                Tensor& out) {
  const Groups at_work = GroupsOf(group, group_ep, group_tp, ep_ranks, tp_ranks);
  const int64_t ep = at_work.ep_ranks, tp = at_work.tp_ranks;
  if (group.step() == 0) {
    CheckShard("yShardType", shard);
    CheckMatrices(x, weight);
    const int64_t experts = x.size(0), rows = x.size(1), hidden = weight.size(2);
    TORCH_CHECK(weight.size(0) == experts && weight.size(1) == x.size(2), "x has shape ", x.sizes(), " and weight ",
                weight.sizes());
    TORCH_CHECK(rows % (shard == kHidden ? ep : ep * tp) == 0 && (shard == kTokens || hidden % tp == 0), rows,
                " tokens and ", hidden, " columns cannot be divided among ", ep, " and ", tp, " ranks");
    const Tensor product = group.checking() ? at::empty({experts, rows, hidden}, x.options())
                                            : at::bmm(x.to(at::kFloat), weight.to(at::kFloat)).to(x.scalar_type());
    group.kept(0) = group.Packed(
        shard == kHidden ? product.view({experts, rows, tp, hidden / tp}).permute({2, 0, 1, 3})
                         : product.view({experts, ep, tp, rows / ep / tp, hidden}).permute({2, 0, 1, 3, 4}));
    const int64_t columns = shard == kHidden ? hidden / tp : hidden;
    group.kept(1) = at::empty({experts, shard == kHidden ? rows : rows / tp, columns}, x.options());
    return group.ReduceScatter(group_tp, group.kept(0), group.kept(1), "sum");
  }
  if (group.step() == 1) {
    Tensor sum = group.kept(1);
    if (Given(bias).has_value()) sum = sum.to(at::kFloat).add(BiasOf(*bias).to(at::kFloat)).to(x.scalar_type());
    const int64_t experts = sum.size(0), tokens = sum.size(1) / ep;
    group.kept(0) = sum.view({experts, ep, tokens, sum.size(2)}).transpose(0, 1).contiguous();
    group.kept(1) = at::empty({ep * experts, tokens, sum.size(2)}, x.options());
    return group.AlltoAll(group_ep, group.kept(0), group.kept(1));
  }
  Write(out, group.kept(1));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// How the transformer boost library chooses experts: by groups first.
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// `x` is [tokens, experts]; experts outside the `chosen` best groups get 0. A group is worth the sum of its best `n`.
Tensor OnlyBestGroups(const Tensor& x, int64_t groups, int64_t chosen, int64_t n) {
  TORCH_CHECK(x.dim() == 2 && groups > 0 && x.size(1) % groups == 0, "a tensor of shape ", x.sizes(),
              " does not divide into ", groups, " groups of experts");
  const int64_t size = x.size(1) / groups;
  TORCH_CHECK(chosen > 0 && chosen <= groups && n > 0 && n <= size, chosen, " of ", groups, " groups and ", n, " of ",
              size, " experts of each were asked for");
  const Tensor grouped = x.unflatten(1, {groups, size});
  const Tensor worth = std::get<0>(grouped.topk(n, -1)).sum(-1);
  const Tensor order = std::get<1>(worth.sort(/*stable=*/true, -1, /*descending=*/true));
  const Tensor kept = at::zeros_like(worth, at::kBool).scatter_(1, order.narrow(1, 0, chosen), true);
  return grouped.masked_fill(kept.logical_not().unsqueeze(-1), 0).flatten(1);
}

// A copy of each chosen expert, drawn from its row of the table: the draw depends on the token's order of experts
// alone.
Tensor Mapped(const Tensor& experts, const Tensor& drawing_expert, const Tensor& number, const Tensor& table) {
  constexpr int64_t kPrime = 100000007, kShift = 7;
  const Tensor modulus = drawing_expert.add(kShift);
  const Tensor share =
      at::remainder(at::full_like(modulus, kPrime), modulus).to(at::kFloat).div(modulus.to(at::kFloat));
  const Tensor place = number.to(at::kFloat).index({experts}).mul(share.unsqueeze(1)).floor().to(at::kLong);
  return Long(table).index({experts, place});
}

}  // namespace

MP_KERNEL(AtbGroupTopk, const Tensor& x, int64_t groups, int64_t chosen, int64_t n, Tensor& out) {
  Write(out, OnlyBestGroups(x.to(at::kFloat), groups, chosen, n));
}

MP_KERNEL(AtbFusedAddTopkDiv, const Tensor& x, const Tensor& add, const OptTensor& mapping_number,
          const OptTensor& mapping_table, int64_t groups, int64_t group_topk, int64_t n, int64_t k, bool normalise,
          double scale, Tensor& y, Tensor& indices) {
  const Tensor weights = x.to(at::kFloat).sigmoid();
  const Tensor worth = OnlyBestGroups(weights.add(add.to(at::kFloat)), groups, group_topk, n);
  TORCH_CHECK(k > 0 && k <= worth.size(1), "k is ", k, "; there are ", worth.size(1), " experts");
  const Tensor order = std::get<1>(worth.sort(/*stable=*/true, -1, /*descending=*/true));
  Tensor experts = order.narrow(1, 0, k);
  Tensor chosen = weights.gather(1, experts);
  if (normalise) chosen = chosen.div(chosen.sum(-1, /*keepdim=*/true)).mul(scale);
  if (mapping_number && mapping_table) {
    experts =
        Mapped(experts, order.select(1, group_topk * (worth.size(1) / groups) - 1), *mapping_number, *mapping_table);
  }
  Write(y, chosen);
  Write(indices, experts.to(at::kInt));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// What the experts made of a token's copies comes back along the way that moe_distribute.cc sent them, and is added up.
#include <numeric>

#include "src/kernels/group/expert_order.h"
#include "src/kernels/group/moe_layout.h"
#include "src/kernels/group/packed_rows.h"
#include "src/kernels/nn/rms_norm.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// What a combine is given, besides its outputs.
struct CombineInputs {
  const Tensor& expand_x;
  const Tensor& expert_ids;
  const Tensor& ep_counts;
  const Tensor& expert_scales;
  const OptTensor& mask;
  const OptTensor& shared_x;
  const OptTensor& ori_x;
  const OptTensor& alpha1;
  const OptTensor& alpha2;
  const OptTensor& vectors;
  int64_t comm_mode;
};

// Counts by rank and expert, from the ends that the dispatch told expert by expert.
std::vector<int64_t> CountsFromEnds(const ExpertLayout& layout, const Tensor& ends) {
  const std::vector<int64_t> list = HostList(ends.reshape({-1}).narrow(0, 0, layout.ranks * layout.here()));
  std::vector<int64_t> counts(layout.ranks * layout.local, 0);
  int64_t before = 0;
  for (int64_t expert = 0; expert < layout.here(); ++expert) {
    for (int64_t rank = 0; rank < layout.ranks; ++rank) {
      const int64_t end = list[expert * layout.ranks + rank];
      TORCH_CHECK(end >= before, "epSendCounts is not what a dispatch wrote: ", end, " comes after ", before);
      counts[rank * layout.local + expert] = end - before;
      before = end;
    }
  }
  return counts;
}

// commQuantMode: rows come back as they are, in int8, or in 8-bit floats with a power of two for each 32 values.
constexpr int64_t kAsTheyAre = 0, kInt8 = 2, kE5m2 = 3, kE4m3 = 4;
Grain GrainOf(int64_t mode) { return mode == kInt8 ? Grain::kRow : Grain::kMx; }

void CheckCombine(const ExpertLayout& layout, const CombineInputs& in, int64_t out_elements) {
  CheckChoice(in.expert_ids, in.mask);
  TORCH_CHECK(in.ep_counts.numel() >= layout.ranks * layout.here(), "epSendCounts has ", in.ep_counts.numel(),
              " elements; ", layout.ranks * layout.here(), " are needed");
  TORCH_CHECK(in.comm_mode == kAsTheyAre || (in.comm_mode >= kInt8 && in.comm_mode <= kE4m3), "commQuantMode is ",
              in.comm_mode, "; 0 (none), 2 (int8), 3 (mx, float8_e5m2) and 4 (mx, float8_e4m3fn) are known");
  TORCH_CHECK(in.expand_x.dim() == 2, "expandX has ", in.expand_x.dim(), " dimensions; it needs 2");
  const int64_t tokens = in.expert_ids.size(0), width = in.expand_x.size(1);
  TORCH_CHECK(in.expert_scales.numel() == in.expert_ids.numel() || in.expert_scales.numel() == 0,
              "expertScales has shape ", in.expert_scales.sizes(), "; expertIds has ", in.expert_ids.sizes());
  TORCH_CHECK(out_elements == tokens * width, "the result has ", out_elements, " elements; ", tokens, " tokens of ",
              width, " come back");
  TORCH_CHECK(!Given(in.shared_x).has_value() || layout.experts.shared_ranks == 0,
              "sharedExpertX goes without ranks of shared experts; sharedExpertRankNum is ",
              layout.experts.shared_ranks);
  TORCH_CHECK(!Given(in.shared_x).has_value() || in.shared_x->numel() == out_elements, "sharedExpertX has ",
              Given(in.shared_x).has_value() ? in.shared_x->numel() : 0, " elements; the result has ", out_elements);
}

PackedRows RowsToSend(const Tensor& rows, int64_t mode) {
  if (mode == kAsTheyAre) return {rows, {}};
  return Pack(rows, mode == kInt8 ? at::kChar : mode == kE5m2 ? at::kFloat8_e5m2 : at::kFloat8_e4m3fn, GrainOf(mode));
}

// Asks for what is missing yet: true when all rows have come. kept: 0 rows that are sent, 1 their scales, 2 rows that
// come, 3 their scales.
bool BringBack(Group& group, string_view name, const ExpertLayout& layout, const CombineInputs& in,
               int64_t out_elements) {
  if (group.step() == 0) CheckCombine(layout, in, out_elements);
  if (group.checking()) return false;  // how many rows it gives and gets only the values say
  const bool scaled = in.comm_mode != kAsTheyAre;
  const size_t step = group.step();
  if (step >= (scaled ? 2U : 1U)) return true;
  const std::vector<int64_t> gives = CountsFromEnds(layout, in.ep_counts);
  if (step == 0) {
    const int64_t rows = std::accumulate(gives.begin(), gives.end(), int64_t{0});
    TORCH_CHECK(rows <= in.expand_x.size(0), "epSendCounts are ", rows, " tokens, and expandX has ",
                in.expand_x.size(0));
    Tensor by_rank = at::empty({rows, in.expand_x.size(1)}, in.expand_x.options());
    if (rows > 0) by_rank.index_copy_(0, ByExpert(gives, layout.ranks), in.expand_x.narrow(0, 0, rows));
    const PackedRows packed = RowsToSend(by_rank, in.comm_mode);
    group.kept(0) = packed.rows;
    group.kept(1) = packed.scales;
  }
  const std::vector<int64_t> gets = CopiesOf(layout, in.expert_ids, in.mask).counts;
  const Tensor& sent = group.kept(step);
  const int64_t width = sent.size(1);
  group.kept(step + 2) = at::empty({std::accumulate(gets.begin(), gets.end(), int64_t{0}), width}, sent.options());
  group.AlltoAllV(name, sent, RowsOfRanks(gives, layout.ranks, width), group.kept(step + 2),
                  RowsOfRanks(gets, layout.ranks, width));
  return false;
}

Tensor Picked(const OptTensor& from, const Tensor& which) { return from->to(at::kFloat).index_select(0, which); }

// What the copying and the constant experts make of the tokens.
void AddStaying(const Copies& copies, const ExpertLayout& layout, const CombineInputs& in, Tensor& by_slot) {
  if (copies.staying.empty()) return;
  TORCH_CHECK(Given(in.ori_x).has_value(), "there are copying or constant experts, and no oriX");
  const Tensor slots = at::tensor(copies.staying, at::kLong);
  const Tensor numbers = in.expert_ids.reshape({-1}).to(at::kLong).index_select(0, slots);
  Tensor made = Picked(in.ori_x, slots.div(in.expert_ids.size(1), "floor"));
  const Tensor constant = numbers.ge(layout.first_constant()).nonzero().reshape({-1});
  if (constant.numel() != 0) {
    const auto fits = [&](const OptTensor& factor) {
      return Given(factor).has_value() && factor->dim() == 2 && factor->size(0) == layout.experts.constant;
    };
    TORCH_CHECK(fits(in.alpha1) && fits(in.alpha2) && fits(in.vectors), "there are ", layout.experts.constant,
                " constant experts; constExpertAlpha1, constExpertAlpha2 and constExpertV have a row for each");
    const Tensor which = numbers.index_select(0, constant).sub_(layout.first_constant());
    const Tensor mixed = Picked(in.alpha1, which)
                             .mul_(made.index_select(0, constant))
                             .add_(Picked(in.alpha2, which).mul_(Picked(in.vectors, which)));
    made.index_copy_(0, constant, mixed);
  }
  by_slot.index_copy_(0, slots, made);
}

// In float: each token's experts in the order of expertIds, then the shared ones.
Tensor AddUp(Group& group, const ExpertLayout& layout, const CombineInputs& in) {
  const Copies copies = CopiesOf(layout, in.expert_ids, in.mask);
  const Tensor values = in.comm_mode == kAsTheyAre ? group.kept(2).to(at::kFloat)
                                                   : Unpacked({group.kept(2), group.kept(3)}, GrainOf(in.comm_mode));
  const int64_t tokens = in.expert_ids.size(0), k = in.expert_ids.size(1), width = values.size(1);
  Tensor by_slot = at::zeros({tokens * k, width}, values.options());
  Tensor sum = at::zeros({tokens, width}, values.options());
  std::vector<int64_t> from, to, shared_from, shared_to;
  for (size_t i = 0; i < copies.slots.size(); ++i) {
    const bool routed = copies.slots[i] >= 0;
    (routed ? from : shared_from).push_back(i);
    (routed ? to : shared_to).push_back(routed ? copies.slots[i] : copies.tokens[i]);
  }
  const auto picked = [&](const std::vector<int64_t>& which) {
    return values.index_select(0, at::tensor(which, at::kLong));
  };
  if (!from.empty()) by_slot.index_copy_(0, at::tensor(to, at::kLong), picked(from));
  AddStaying(copies, layout, in, by_slot);
  if (in.expert_scales.numel() != 0 || tokens == 0) {  // an empty tensor: all weigh the same
    by_slot.mul_(in.expert_scales.to(at::kFloat).reshape({-1, 1}));
  }
  const Tensor weighted = by_slot.view({tokens, k, width});
  for (int64_t i = 0; i < k; ++i) sum.add_(weighted.select(1, i));
  if (!shared_from.empty()) sum.index_add_(0, at::tensor(shared_to, at::kLong), picked(shared_from));
  if (Given(in.shared_x).has_value()) sum.add_(in.shared_x->to(at::kFloat).reshape(sum.sizes()));
  return sum;
}

}  // namespace

MP_GROUP_KERNEL(MoeDistributeCombine, const Tensor& expand_x, const Tensor& expert_ids, const Tensor& ep_counts,
                const Tensor& expert_scales, const OptTensor& mask, const OptTensor& shared_x, const OptTensor& ori_x,
                const OptTensor& alpha1, const OptTensor& alpha2, const OptTensor& vectors, string_view name,
                int64_t ep_ranks, int64_t ep_rank, int64_t experts, int64_t tp_ranks, int64_t shared,
                int64_t shared_ranks, int64_t comm_mode, int64_t zero, int64_t copying, int64_t constant, Tensor& x) {
  const ExpertLayout layout = ExpertLayoutOf(group, name, ep_ranks, ep_rank, tp_ranks,
                                             {experts, shared, shared_ranks, zero, copying, constant});
  const CombineInputs in{expand_x, expert_ids, ep_counts, expert_scales, mask,     shared_x,
                         ori_x,    alpha1,     alpha2,    vectors,       comm_mode};
  if (!BringBack(group, name, layout, in, x.numel())) return;
  WriteElements(x, AddUp(group, layout, in));
}

MP_GROUP_KERNEL(MoeDistributeCombineAddRmsNorm, const Tensor& expand_x, const Tensor& expert_ids,
                const Tensor& ep_counts, const Tensor& expert_scales, const Tensor& residual, const Tensor& gamma,
                const OptTensor& mask, const OptTensor& shared_x, const OptTensor& ori_x, const OptTensor& alpha1,
                const OptTensor& alpha2, const OptTensor& vectors, string_view name, int64_t ep_ranks, int64_t ep_rank,
                int64_t experts, int64_t tp_ranks, int64_t shared, int64_t shared_ranks, int64_t comm_mode, double eps,
                int64_t zero, int64_t copying, int64_t constant, Tensor& y, Tensor* rstd, Tensor& x) {
  const ExpertLayout layout = ExpertLayoutOf(group, name, ep_ranks, ep_rank, tp_ranks,
                                             {experts, shared, shared_ranks, zero, copying, constant});
  const CombineInputs in{expand_x, expert_ids, ep_counts, expert_scales, mask,     shared_x,
                         ori_x,    alpha1,     alpha2,    vectors,       comm_mode};
  if (group.step() == 0) {
    TORCH_CHECK(residual.dim() >= 1 && gamma.numel() == residual.size(-1), "residualX has shape ", residual.sizes(),
                ", and gamma has ", gamma.numel(), " elements; it needs one for each column");
    TORCH_CHECK(x.numel() == residual.numel() && y.numel() == residual.numel(), "residualX has shape ",
                residual.sizes(), ", and the results ", x.sizes(), " and ", y.sizes());
  }
  if (!BringBack(group, name, layout, in, residual.numel())) return;
  const Tensor sum = AddUp(group, layout, in).to(residual.scalar_type()).reshape(residual.sizes());
  const Tensor added = at::add(sum, residual);
  const RmsNormResult norm = RmsNorm(added, gamma, eps);
  WriteElements(x, added);
  WriteElements(y, norm.y);
  if (rstd != nullptr && rstd->numel() != 0) WriteElements(*rstd, norm.rstd);
}

}  // namespace millpond::kernels

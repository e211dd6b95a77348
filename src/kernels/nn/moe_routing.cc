// SPDX-License-Identifier: Apache-2.0
// Mixture of experts: a copy of each token for each of its experts, sorted by expert, and the way back.
#include <limits>

#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

enum QuantMode : int64_t { kNone = -1, kStatic = 0, kDynamic = 1, kDynamicInt4 = 13 };

void CheckDropPad(int64_t mode, int64_t capacity, int64_t experts, int64_t tokens) {
  TORCH_CHECK(mode == 0 || mode == 1, "dropPadMode is ", mode, "; 0 and 1 are known");
  if (mode == 0) return;
  TORCH_CHECK(experts > 0, "expertNum is ", experts, "; dropPadMode 1 needs a positive one");
  TORCH_CHECK(capacity > 0 && capacity <= tokens, "expertCapacity is ", capacity,
              "; with dropPadMode 1 it is at least 1 and at most the ", tokens, " tokens");
}

// (token, choice) pairs in the order of their experts; those of experts outside [begin, end) at the end: the ones above
// by their experts' numbers too, then the ones below.
struct Plan {
  Tensor order;   // which pair comes at each place
  Tensor expert;  // its expert, counted from begin
  Tensor counts;  // pairs of each expert
  int64_t active;
  int64_t top_k;
};

Plan MakePlan(const Tensor& expert_idx, int64_t begin, int64_t end) {
  TORCH_CHECK(begin >= 0 && begin <= end, "the experts' range is [", begin, ", ", end, ")");
  const Tensor flat = Long(expert_idx).reshape({-1}).sub(begin);
  const int64_t experts = end - begin;
  const Tensor key = flat.masked_fill(flat.lt(0), std::numeric_limits<int64_t>::max());
  const auto [expert, order] = at::sort(key, /*stable=*/true, 0, /*descending=*/false);
  const Tensor counts = at::bincount(key.clamp_max(experts), {}, experts + 1).narrow(0, 0, experts);
  return {order, expert, counts, counts.sum().item<int64_t>(), expert_idx.dim() == 2 ? expert_idx.size(1) : 1};
}

// For each place of the expanded tensor the pair it holds, -1 for none.
Tensor PairOfPlace(const Plan& plan, bool drop_pad, int64_t places, int64_t capacity) {
  Tensor pair = at::full({places}, -1, plan.order.options());
  if (!drop_pad) {
    const int64_t used = std::min(places, plan.active);
    pair.narrow(0, 0, used).copy_(plan.order.narrow(0, 0, used));
    return pair;
  }
  const Tensor expert = plan.expert.narrow(0, 0, plan.active);
  const Tensor first = plan.counts.cumsum(0).sub(plan.counts);
  const Tensor rank = at::arange(plan.active, expert.options()).sub(first.index_select(0, expert));
  const Tensor kept = rank.lt(capacity).nonzero().squeeze(-1);
  const Tensor place = expert.mul(capacity).add(rank).index_select(0, kept);
  TORCH_CHECK(plan.counts.numel() * capacity == places, "expandedXOut has ", places, " rows; ", plan.counts.numel(),
              " experts of capacity ", capacity, " need ", plan.counts.numel() * capacity);
  return pair.index_put_({place}, plan.order.narrow(0, 0, plan.active).index_select(0, kept));
}

void WritePlaces(Tensor& out, const Plan& plan, const Tensor& pair_of_place, bool drop_pad, int64_t row_idx_type) {
  if (row_idx_type == 1) {
    TORCH_CHECK(!drop_pad, "rowIdxType 1 goes with dropPadMode 0 only");
    WriteElements(out, plan.order);
    return;
  }
  TORCH_CHECK(row_idx_type == 0, "rowIdxType is ", row_idx_type, "; 0 (gather) and 1 (scatter) are known");
  Tensor place_of_pair = at::full_like(plan.order, -1);
  if (drop_pad) {
    const Tensor used = pair_of_place.ge(0).nonzero().squeeze(-1);
    place_of_pair.index_put_({pair_of_place.index_select(0, used)}, used);
  } else {
    place_of_pair.index_put_({plan.order.narrow(0, 0, plan.active)}, at::arange(plan.active, plan.order.options()));
  }
  WriteElements(out, place_of_pair);
}

struct Expansion {
  const Tensor& x;
  const OptTensor& scale;
  const OptTensor& offset;
  int64_t quant_mode;
  bool drop_pad;
  int64_t capacity;
  int64_t row_idx_type;
};

// `value` is the tokens' at the places `used`. An int8 output may stand for INT4, which only the output itself tells.
Tensor Quantise(const Expansion& e, const Plan& plan, const Tensor& used, Tensor value, const Tensor& out,
                Tensor* scale_out) {
  TORCH_CHECK(out.scalar_type() == at::kChar, "quantised outputs of type ", out.scalar_type(),
              " are not supported; int8 and int4 are");
  const double largest = QuantizedMaximum(out);
  if (e.quant_mode == kStatic) {
    TORCH_CHECK(e.scale.has_value() && e.offset.has_value(), "static quantisation needs a scale and an offset");
    value = value.mul(e.scale->to(at::kFloat)).add_(e.offset->to(at::kFloat));
    return value.round_().clamp_(-largest - 1, largest);
  }
  TORCH_CHECK(e.quant_mode == kDynamic || (e.quant_mode == kDynamicInt4 && IsInt4(out)), "quantMode is ", e.quant_mode,
              " for an output of ", out.scalar_type(),
              "; -1 (none), 0 (static), 1 (dynamic) and 13 (dynamic, int4) are supported");
  if (e.scale.has_value()) {
    const Tensor smooth = e.scale->to(at::kFloat).view({-1, value.size(1)});
    const Tensor expert = e.drop_pad ? used.floor_divide(e.capacity) : plan.expert.narrow(0, 0, used.numel());
    value = value.mul(smooth.size(0) == 1 ? smooth : smooth.index_select(0, expert));
  }
  const Scaled scaled = ScaledToLargest(value, {-1}, largest);
  if (scale_out != nullptr) scale_out->view({-1}).index_copy_(0, used, scaled.scale.view({-1}));
  return scaled.values.round().clamp_(-largest - 1, largest);
}

void Expand(const Expansion& e, const Plan& plan, Tensor& expanded_x, Tensor& row_idx, Tensor* scale_out) {
  const int64_t width = e.x.size(1);
  Tensor out = expanded_x.view({-1, width});
  const Tensor pair = PairOfPlace(plan, e.drop_pad, out.size(0), e.capacity);
  WritePlaces(row_idx, plan, pair, e.drop_pad, e.row_idx_type);
  const Tensor used = pair.ge(0).nonzero().squeeze(-1);
  const Tensor token = pair.index_select(0, used).floor_divide(plan.top_k);
  const Tensor rows = e.x.index_select(0, token);
  if (scale_out != nullptr) scale_out->zero_();
  out.zero_();
  if (e.quant_mode == kNone) {
    out.index_copy_(0, used, rows);
    if (e.scale.has_value() && scale_out != nullptr) {
      // A token's scale is one number, or the row of numbers that goes with narrow floats.
      const Tensor scales = e.scale->reshape({e.x.size(0), -1});
      scale_out->view({-1, scales.size(1)}).index_copy_(0, used, scales.index_select(0, token));
    }
    return;
  }
  out.index_copy_(0, used, Quantise(e, plan, used, rows.to(at::kFloat), expanded_x, scale_out).to(out.scalar_type()));
}

// V2's flag: 0 nothing, 1 running sums, 2 counts.
void WriteCountsV2(const Plan& plan, bool drop_pad, int64_t flag, bool before_flag, Tensor* counts, Tensor* before) {
  TORCH_CHECK(flag >= 0 && flag <= 2, "expertTokensCountOrCumsumFlag is ", flag, "; 0, 1 and 2 are known");
  const bool wanted = drop_pad ? before_flag : flag != 0;
  if (!wanted) return;
  Tensor* out = drop_pad ? before : counts;
  TORCH_CHECK(out != nullptr, drop_pad ? "expertTokensBeforeCapacityOut" : "expertTokensCountOrCumsumOut",
              " is wanted and NULL");
  Write(out, !drop_pad && flag == 1 ? plan.counts.cumsum(0) : plan.counts);
}

void WriteCountsV3(const Plan& plan, int64_t type, int64_t begin, Tensor& out) {
  if (type == 0) return Write(out, plan.counts.cumsum(0));
  if (type == 1) return Write(out, plan.counts);
  TORCH_CHECK(type == 2, "expertTokensNumType is ", type, "; 0 (running sums), 1 (counts) and 2 (pairs) are known");
  const Tensor expert = plan.counts.nonzero().squeeze(-1);
  out.zero_();
  out.narrow(0, 0, expert.numel()).copy_(at::stack({expert.add(begin), plan.counts.index_select(0, expert)}, 1));
}

// Experts that are no network: their pairs add nothing (zero), the token itself (copy), or a mix of it and a vector of
// the expert's (constant).
struct SpecialExperts {
  bool any = false;
  Tensor expert;                     // of each pair
  Tensor zero, copy, constant, all;  // which pairs
  int64_t first_constant = 0;
};

SpecialExperts SpecialExpertsOf(const OptTensor& expert_idx, const OptIntArrayRef& zero, const OptIntArrayRef& copy,
                                const OptIntArrayRef& constant) {
  SpecialExperts special;
  const auto begin_end = [](const OptIntArrayRef& range) -> std::pair<int64_t, int64_t> {
    if (!range.has_value() || range->empty()) return {0, 0};
    TORCH_CHECK(range->size() == 2, "a range of experts has ", range->size(), " entries, not 2");
    return {(*range)[0], (*range)[1]};
  };
  const auto is_given = [&](const OptIntArrayRef& range) { return begin_end(range).first < begin_end(range).second; };
  special.any = is_given(zero) || is_given(copy) || is_given(constant);
  if (!special.any) return special;
  TORCH_CHECK(expert_idx.has_value(), "zero, copy and constant experts need expertIdx, which is absent");
  special.expert = Long(*expert_idx).reshape({-1});
  const auto of = [&](const OptIntArrayRef& range) {
    const auto [begin, end] = begin_end(range);
    return special.expert.ge(begin).logical_and_(special.expert.lt(end));
  };
  special.zero = of(zero);
  special.copy = of(copy);
  special.constant = of(constant);
  special.first_constant = begin_end(constant).first;
  const Tensor times = special.zero.to(at::kLong) + special.copy + special.constant;
  TORCH_CHECK(times.le(1).all().item<bool>(), "the ranges of zero, copy and constant experts overlap");
  special.all = times.ne(0);
  return special;
}

void FillSpecial(Tensor& value, const SpecialExperts& special, int64_t top_k, const OptTensor& x, const OptTensor& a1,
                 const OptTensor& a2, const OptTensor& v) {
  const auto rows = [&](const OptTensor& given, const char* name, const Tensor& index) {
    TORCH_CHECK(given.has_value(), name, " is NULL; copy and constant experts need it");
    return given->to(at::kFloat).index_select(0, index);
  };
  const auto pairs = [](const Tensor& which) { return which.nonzero().squeeze(-1); };
  if (const Tensor pair = pairs(special.copy); pair.numel() != 0) {
    value.index_copy_(0, pair, rows(x, "x", pair.floor_divide(top_k)));
  }
  if (const Tensor pair = pairs(special.constant); pair.numel() != 0) {
    const Tensor expert = special.expert.index_select(0, pair).sub(special.first_constant);
    const Tensor mixed = rows(a1, "alpha1", expert).mul_(rows(x, "x", pair.floor_divide(top_k)));
    value.index_copy_(0, pair, mixed.add(rows(a2, "alpha2", expert).mul_(rows(v, "v", expert))));
  }
}

}  // namespace

namespace {

// Rows of x in the order of their experts; the order is told on the way.
Tensor Expanded(const Tensor& x, const Tensor& row_idx, const Tensor& expert_idx, int64_t rows,
                Tensor& expanded_row_idx, Tensor& expanded_expert_idx) {
  const auto [expert, order] = at::sort(Long(expert_idx).reshape({-1}), /*stable=*/true, 0, /*descending=*/false);
  const Tensor sorted_rows = Long(row_idx).reshape({-1}).index_select(0, order);
  Write(expanded_expert_idx, expert);
  Write(expanded_row_idx,
        at::zeros_like(sorted_rows).index_put_({sorted_rows}, at::arange(order.numel(), order.options())));
  TORCH_CHECK(rows <= order.numel(), "expandedXOut has ", rows, " rows; there are ", order.numel(), " choices");
  return x.index_select(0, sorted_rows.narrow(0, 0, rows).remainder(x.size(0)));
}

}  // namespace

MP_KERNEL(aclnnMoeInitRouting, const Tensor& x, const Tensor& row_idx, const Tensor& expert_idx, Tensor& expanded_x,
          Tensor& expanded_row_idx, Tensor& expanded_expert_idx) {
  Write(expanded_x, Expanded(x, row_idx, expert_idx, expanded_x.size(0), expanded_row_idx, expanded_expert_idx));
}
MP_KERNEL(aclnnMoeInitRoutingQuant, const Tensor& x, const Tensor& row_idx, const Tensor& expert_idx, double scale,
          double offset, Tensor& expanded_x, Tensor& expanded_row_idx, Tensor& expanded_expert_idx) {
  const Tensor rows =
      Expanded(x, row_idx, expert_idx, expanded_x.size(0), expanded_row_idx, expanded_expert_idx).to(at::kFloat);
  WriteQuantized(expanded_x, rows.mul(scale).add(offset));
}

MP_KERNEL(aclnnMoeInitRoutingV2, const Tensor& x, const Tensor& expert_idx, int64_t capacity, int64_t experts,
          int64_t drop_pad, int64_t count_flag, bool before_flag, Tensor& expanded_x, Tensor& row_idx, Tensor* counts,
          Tensor* before) {
  CheckDropPad(drop_pad, capacity, experts, x.size(0));
  // Without a count to write the number of experts may be left 0.
  const bool bounded = drop_pad != 0 || count_flag != 0;
  const int64_t end = bounded || expert_idx.numel() == 0 ? experts : Long(expert_idx).max().item<int64_t>() + 1;
  const Plan plan = MakePlan(expert_idx, 0, end);
  WriteCountsV2(plan, drop_pad != 0, count_flag, before_flag, counts, before);
  Expand({x, {}, {}, kNone, drop_pad != 0, capacity, 0}, plan, expanded_x, row_idx, nullptr);
}

MP_KERNEL(aclnnMoeInitRoutingQuantV2, const Tensor& x, const Tensor& expert_idx, const OptTensor& scale,
          const OptTensor& offset, int64_t capacity, int64_t experts, int64_t drop_pad, int64_t count_flag,
          bool before_flag, int64_t quant_mode, Tensor& expanded_x, Tensor& row_idx, Tensor* counts, Tensor* before,
          Tensor* scale_out) {
  CheckDropPad(drop_pad, capacity, experts, x.size(0));
  TORCH_CHECK(quant_mode == kStatic || quant_mode == kDynamic, "quantMode is ", quant_mode,
              "; 0 (static) and 1 (dynamic) are known");
  const bool bounded = drop_pad != 0 || count_flag != 0;
  const int64_t end = bounded || expert_idx.numel() == 0 ? experts : Long(expert_idx).max().item<int64_t>() + 1;
  const Plan plan = MakePlan(expert_idx, 0, end);
  WriteCountsV2(plan, drop_pad != 0, count_flag, before_flag, counts, before);
  Expand({x, scale, offset, quant_mode, drop_pad != 0, capacity, 0}, plan, expanded_x, row_idx, scale_out);
}

MP_KERNEL(aclnnMoeInitRoutingV3, const Tensor& x, const Tensor& expert_idx, const OptTensor& scale,
          const OptTensor& offset, int64_t capacity, int64_t experts, int64_t drop_pad, int64_t count_type,
          bool count_flag, int64_t quant_mode, OptIntArrayRef range, int64_t row_idx_type, Tensor& expanded_x,
          Tensor& row_idx, Tensor* counts, Tensor* scale_out) {
  const bool ranged = range.has_value() && !range->empty();
  TORCH_CHECK(!ranged || range->size() == 2, "activeExpertRange has ", ranged ? range->size() : 0, " entries, not 2");
  const int64_t begin = ranged ? (*range)[0] : 0;
  const int64_t end = ranged ? (*range)[1] : experts;
  CheckDropPad(drop_pad, capacity, experts, x.size(0));
  TORCH_CHECK(end <= experts, "activeExpertRange ends at ", end, "; there are ", experts, " experts");
  TORCH_CHECK(drop_pad == 0 || end - begin == experts, "dropPadMode 1 goes with an activeExpertRange of all experts");
  TORCH_CHECK(!count_flag || counts != nullptr, "expertTokensCountOrCumsumOut is wanted and NULL");
  const Plan plan = MakePlan(expert_idx, begin, end);
  if (count_flag) WriteCountsV3(plan, count_type, begin, *counts);
  Expand({x, scale, offset, quant_mode, drop_pad != 0, capacity, row_idx_type}, plan, expanded_x, row_idx, scale_out);
}

MP_KERNEL(aclnnMoeFinalizeRoutingV4, const Tensor& expanded_x, const Tensor& row_idx, const OptTensor& x1,
          const OptTensor& x2, const OptTensor& bias, const OptTensor& scales, const OptTensor& expert_idx,
          const OptTensor& x, const OptTensor& a1, const OptTensor& a2, const OptTensor& v, int64_t mode,
          OptIntArrayRef zero, OptIntArrayRef copy, OptIntArrayRef constant, int64_t k, Tensor& out) {
  TORCH_CHECK(mode >= 0 && mode <= 3, "dropPadMode is ", mode, "; 0 to 3 are known");
  TORCH_CHECK(x1.has_value() || !x2.has_value(), "x2 is given without x1");
  TORCH_CHECK(!scales.has_value() || k <= 1 || k == scales->size(1), "k is ", k, "; scales has shape ",
              scales.has_value() ? scales->sizes() : IntArrayRef());
  const int64_t top_k = scales.has_value() ? scales->size(1) : std::max<int64_t>(k, 1);
  const Tensor rows = expanded_x.reshape({-1, expanded_x.size(-1)}).to(at::kFloat);
  Tensor index = Long(row_idx).reshape({-1});
  TORCH_CHECK(index.numel() % top_k == 0, "expandedRowIdx has ", index.numel(), " elements; K is ", top_k);
  index = mode < 2 ? index.view({top_k, -1}).t() : index.view({-1, top_k});  // [rows, K]
  const SpecialExperts special = SpecialExpertsOf(expert_idx, zero, copy, constant);
  const Tensor flat = special.any ? index.reshape({-1}).masked_fill(special.all, -1) : index.reshape({-1});
  const Tensor dropped = flat.lt(0);
  Tensor value = rows.index_select(0, flat.clamp_min(0)).masked_fill_(dropped.unsqueeze(-1), 0);
  if (special.any) FillSpecial(value, special, top_k, x, a1, a2, v);
  if (bias.has_value()) {
    TORCH_CHECK(expert_idx.has_value(), "a bias needs expertIdx, which is absent");
    value = value.add(bias->to(at::kFloat).index_select(0, Long(*expert_idx).reshape({-1})));
  }
  if (special.any) value = value.masked_fill(special.zero.unsqueeze(-1), 0);
  value = value.view({-1, top_k, rows.size(1)});
  if (scales.has_value()) value = value.mul(scales->to(at::kFloat).unsqueeze(-1));
  Tensor sum = value.sum(1);
  if (x1.has_value()) sum = sum.add(x1->to(at::kFloat));
  if (x2.has_value()) sum = sum.add(x2->to(at::kFloat));
  Write(out, sum);
}

MP_KERNEL(aclnnMoeReRouting, const Tensor& tokens, const Tensor& per_rank, const OptTensor& scales, int64_t count_type,
          int64_t idx_type, Tensor& tokens_out, Tensor& scales_out, Tensor& index_out, Tensor& counts_out) {
  TORCH_CHECK(per_rank.dim() == 2, "expertTokenNumPerRank has ", per_rank.dim(), " dimensions, not 2");
  TORCH_CHECK(idx_type == 0 || idx_type == 1, "idxType is ", idx_type, "; 0 (gather) and 1 (scatter) are known");
  const Tensor counts = Long(per_rank);  // [ranks, experts]
  const Tensor expert_of_block = at::arange(counts.size(1), counts.options()).expand(counts.sizes()).reshape({-1});
  const Tensor expert = expert_of_block.repeat_interleave(counts.reshape({-1}));
  TORCH_CHECK(expert.numel() == tokens.size(0), "expertTokenNumPerRank adds up to ", expert.numel(), "; there are ",
              tokens.size(0), " tokens");
  const Tensor order = at::argsort(expert, /*stable=*/true, 0);
  Write(tokens_out, tokens.index_select(0, order));
  if (scales.has_value()) Write(scales_out, scales->index_select(0, order));
  Write(index_out, idx_type == 0 ? order : at::argsort(order, /*stable=*/true, 0));
  Write(counts_out, count_type == 0 ? counts.sum(0).cumsum(0) : counts.sum(0));
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// A token goes to the rank of each of its experts (dispatch), and what the experts made of it comes back and is added
// up (combine). Both follow from the experts' numbers alone: a rank's copies of its tokens travel in the order of their
// experts, and within an expert in the order of the tokens. At the expert they lie rank by rank.
#include <algorithm>
#include <numeric>

#include "src/kernels/group/expert_order.h"
#include "src/kernels/nn/rms_norm.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/group.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// Which ranks have which experts.
struct Layout {
  int64_t ranks = 0;
  int64_t rank = 0;
  int64_t experts = 0;       // that are routed to
  int64_t shared = 0;        // experts that see every token
  int64_t shared_ranks = 0;  // the first ones: they have the shared experts' copies
  int64_t local = 0;         // experts of a rank behind them
  int64_t special = 0;       // numbers behind the experts' that go nowhere
  int64_t copying = 0;       // of these the last ones, which give the token back

  int64_t here() const { return rank < shared_ranks ? 1 : local; }
};

Layout LayoutOf(const Group& group, string_view name, int64_t ep_ranks, int64_t ep_rank, int64_t experts,
                int64_t tp_ranks, int64_t shared, int64_t shared_ranks, int64_t zero, int64_t copying) {
  group.CheckRanks(name, ep_ranks);
  Layout layout{group.ranks(name), group.rank(name), experts, shared_ranks > 0 ? shared : 0, shared_ranks, 0,
                zero + copying,    copying};
  TORCH_CHECK(tp_ranks <= 1, "tpWorldSize is ", tp_ranks, "; a second group (TP) is not supported, pass 0 or 1");
  TORCH_CHECK(ep_rank == layout.rank, "epRankId is ", ep_rank, "; this is rank ", layout.rank, " of the group");
  TORCH_CHECK(shared_ranks >= 0 && shared_ranks < layout.ranks, "sharedExpertRankNum is ", shared_ranks, " of ",
              layout.ranks, " ranks");
  TORCH_CHECK(shared_ranks == 0 || (shared > 0 && shared_ranks % shared == 0), "sharedExpertRankNum is ", shared_ranks,
              " and sharedExpertNum ", shared, "; each shared expert has the same number of ranks");
  TORCH_CHECK(experts > 0 && experts % (layout.ranks - shared_ranks) == 0, "moeExpertNum is ", experts,
              ", which is not shared evenly by ", layout.ranks - shared_ranks, " ranks");
  TORCH_CHECK(zero >= 0 && copying >= 0, "zeroExpertNum is ", zero, " and copyExpertNum ", copying);
  layout.local = experts / (layout.ranks - shared_ranks);
  return layout;
}

// This rank's copies of its tokens, in the order in which they travel.
struct Copies {
  std::vector<int64_t> tokens;   // of each copy
  std::vector<int64_t> slots;    // token * K + k; of a shared expert -1
  std::vector<int64_t> scales;   // the row of `scales` that belongs to its expert
  std::vector<int64_t> counts;   // [ranks][local]
  std::vector<int64_t> numbers;  // by slot: how many of this rank's copies go to that expert before it
};

Copies CopiesOf(const Layout& layout, const Tensor& expert_ids, const OptTensor& mask) {
  TORCH_CHECK(expert_ids.dim() == 2, "expertIds has ", expert_ids.dim(), " dimensions; it needs 2");
  const int64_t tokens = expert_ids.size(0), k = expert_ids.size(1);
  const Tensor ids = expert_ids.to(at::kInt).contiguous();
  const int32_t* id = ids.const_data_ptr<int32_t>();
  Tensor active;
  if (Given(mask).has_value()) {
    TORCH_CHECK(mask->numel() == tokens || mask->numel() == tokens * k, "xActiveMask has shape ", mask->sizes(),
                "; one entry for each token, or for each of its experts, is needed");
    active = mask->to(at::kBool).reshape({tokens, -1}).expand({tokens, k}).contiguous();
  }
  struct Copy {
    int64_t place, token, slot, scale;
  };
  std::vector<Copy> copies;
  Copies made;
  made.counts.assign(layout.ranks * layout.local, 0);
  made.numbers.assign(tokens * k, 0);
  for (int64_t token = 0; token < tokens; ++token) {
    bool taken = false;
    for (int64_t slot = token * k; slot < (token + 1) * k; ++slot) {
      if (active.defined() && !active.const_data_ptr<bool>()[slot]) continue;
      TORCH_CHECK(id[slot] >= 0 && id[slot] < layout.experts + layout.special, "expertIds has ", id[slot],
                  "; there are ", layout.experts + layout.special, " experts");
      taken = true;
      if (id[slot] >= layout.experts) continue;
      const int64_t rank = layout.shared_ranks + id[slot] / layout.local;
      copies.push_back({rank * layout.local + id[slot] % layout.local, token, slot, layout.shared + id[slot]});
    }
    // Each shared expert has so many ranks, and each of these serves a block of the group's.
    for (int64_t expert = 0; taken && expert < layout.shared; ++expert) {
      const int64_t each = layout.shared_ranks / layout.shared;
      const int64_t rank = expert * each + layout.rank * each / layout.ranks;
      copies.push_back({rank * layout.local, token, -1, expert});
    }
  }
  std::stable_sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) { return a.place < b.place; });
  for (const Copy& copy : copies) {
    made.tokens.push_back(copy.token);
    made.slots.push_back(copy.slot);
    made.scales.push_back(copy.scale);
    if (copy.slot >= 0) made.numbers[copy.slot] = made.counts[copy.place];
    ++made.counts[copy.place];
  }
  return made;
}

std::vector<int64_t> ReadCounts(const Tensor& counts) {
  const Tensor wide = counts.to(at::kLong).contiguous();
  return {wide.const_data_ptr<int64_t>(), wide.const_data_ptr<int64_t>() + wide.numel()};
}

// Fills a 1-D output from its beginning; what is behind is zero.
void WriteFront(Tensor* out, const std::vector<int64_t>& values, const char* name) {
  if (out == nullptr) return;
  TORCH_CHECK(out->numel() >= static_cast<int64_t>(values.size()), name, " has room for ", out->numel(), " elements; ",
              values.size(), " are needed");
  Tensor filled = at::zeros({out->numel()}, out->options());
  if (!values.empty()) filled.narrow(0, 0, values.size()).copy_(at::tensor(values, at::kLong));
  out->copy_(filled.reshape(out->sizes()));
}
void Clear(Tensor* out) {
  if (out != nullptr && out->numel() != 0) out->zero_();
}

void WriteRows(Tensor& out, const Tensor& rows, const char* name) {
  TORCH_CHECK(out.size(0) >= rows.size(0), name, " has room for ", out.size(0), " tokens, and ", rows.size(0), " came");
  out.narrow(0, 0, rows.size(0)).copy_(rows);
  if (out.size(0) > rows.size(0)) out.narrow(0, rows.size(0), out.size(0) - rows.size(0)).zero_();
}

// The tokens' copies, quantised row by row with the smoothing of their experts.
Scaled QuantisedCopies(const Tensor& x, const Copies& copies, const OptTensor& scales, const Layout& layout) {
  Tensor value = x.to(at::kFloat);
  if (Given(scales).has_value()) {
    const int64_t rows = layout.shared + layout.experts;
    TORCH_CHECK(scales->dim() == 2 && scales->size(0) == rows, "scales has shape ", scales->sizes(), "; it needs ",
                rows, " rows, one for each expert");
    value = value.mul(scales->to(at::kFloat).index_select(0, at::tensor(copies.scales, at::kLong)));
  }
  Scaled scaled = ScaledToLargest(value, {-1}, 127);
  Tensor stored = at::empty(value.sizes(), value.options().dtype(at::kChar));
  WriteQuantized(stored, scaled.values);
  return {stored, scaled.scale.reshape({-1})};
}

void TellWhatCame(const Layout& layout, const std::vector<int64_t>& came, int64_t nums_type, Tensor& expert_nums,
                  Tensor& ep_counts) {
  std::vector<int64_t> nums, ends;
  int64_t end = 0;
  for (int64_t expert = 0; expert < layout.here(); ++expert) {
    int64_t sum = 0;
    for (int64_t rank = 0; rank < layout.ranks; ++rank) {
      sum += came[rank * layout.local + expert];
      ends.push_back(end + sum);
    }
    end += sum;
    nums.push_back(nums_type == 0 ? end : sum);
  }
  WriteFront(&expert_nums, nums, "expertTokenNums");
  WriteFront(&ep_counts, ends, "epRecvCounts");
}

}  // namespace

MP_GROUP_KERNEL(MoeDistributeDispatch, const Tensor& x, const Tensor& expert_ids, const OptTensor& scales,
                const OptTensor& mask, string_view name, int64_t ep_ranks, int64_t ep_rank, int64_t experts,
                int64_t tp_ranks, int64_t shared, int64_t shared_ranks, int64_t quant_mode, int64_t nums_type,
                int64_t zero, int64_t copying, Tensor& expand_x, Tensor* dynamic_scales, Tensor& expand_idx,
                Tensor& expert_nums, Tensor& ep_counts, Tensor* tp_counts, Tensor* expand_scales) {
  const Layout layout =
      LayoutOf(group, name, ep_ranks, ep_rank, experts, tp_ranks, shared, shared_ranks, zero, copying);
  const auto width = [&] { return x.size(1); };
  // kept: 0 rows to send, 1 their scales, 2 counts to send, 3 counts that came, 4 rows that came, 5 their scales
  if (group.step() == 0) {
    TORCH_CHECK(quant_mode == 0 || quant_mode == 2, "quantMode is ", quant_mode,
                "; 0 (none) and 2 (int8, a scale for each token) are supported");
    TORCH_CHECK(x.dim() == 2 && x.size(0) == expert_ids.size(0), "x has shape ", x.sizes(), " and expertIds ",
                expert_ids.sizes());
    TORCH_CHECK(quant_mode == 2 || (!Given(scales).has_value() && x.scalar_type() == expand_x.scalar_type()),
                "without quantisation there are no scales, and expandX has x's type");
    const Copies copies = CopiesOf(layout, expert_ids, mask);
    group.kept(0) = x.index_select(0, at::tensor(copies.tokens, at::kLong)).contiguous();
    if (quant_mode == 2) {
      const Scaled scaled = QuantisedCopies(group.kept(0), copies, scales, layout);
      group.kept(0) = scaled.values;
      group.kept(1) = scaled.scale.contiguous();
    }
    std::vector<int64_t> numbers = copies.numbers;
    numbers.resize(std::min<int64_t>(numbers.size(), expand_idx.numel()));
    WriteFront(&expand_idx, numbers, "expandIdx");
    group.kept(2) = at::tensor(copies.counts, at::kLong);
    group.kept(3) = at::empty_like(group.kept(2));
    return group.AlltoAll(name, group.kept(2), group.kept(3));
  }
  const std::vector<int64_t> gave = ReadCounts(group.kept(2)), came = ReadCounts(group.kept(3));
  const int64_t rows = std::accumulate(came.begin(), came.end(), int64_t{0});
  if (group.step() == 1) {
    group.kept(4) = at::empty({rows, width()}, group.kept(0).options());
    return group.AlltoAllV(name, group.kept(0), RowsOfRanks(gave, layout.ranks, width()), group.kept(4),
                           RowsOfRanks(came, layout.ranks, width()));
  }
  if (group.step() == 2 && quant_mode == 2) {
    group.kept(5) = at::empty({rows}, group.kept(1).options());
    return group.AlltoAllV(name, group.kept(1), RowsOfRanks(gave, layout.ranks, 1), group.kept(5),
                           RowsOfRanks(came, layout.ranks, 1));
  }
  const Tensor order = ByExpert(came, layout.ranks);
  WriteRows(expand_x, group.kept(4).index_select(0, order), "expandX");
  if (quant_mode == 2) {
    TORCH_CHECK(dynamic_scales != nullptr, "quantMode is 2, and there is no dynamicScales");
    WriteRows(*dynamic_scales, group.kept(5).index_select(0, order), "dynamicScales");
  } else {
    Clear(dynamic_scales);
  }
  TellWhatCame(layout, came, nums_type, expert_nums, ep_counts);
  Clear(tp_counts);
  Clear(expand_scales);
}

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
};

// Counts by rank and expert, from the ends that the dispatch told expert by expert.
std::vector<int64_t> CountsFromEnds(const Layout& layout, const Tensor& ends) {
  TORCH_CHECK(ends.numel() >= layout.ranks * layout.here(), "epSendCounts has ", ends.numel(), " elements; ",
              layout.ranks * layout.here(), " are needed");
  const std::vector<int64_t> list = ReadCounts(ends.reshape({-1}).narrow(0, 0, layout.ranks * layout.here()));
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

void SendBack(Group& group, string_view name, const Layout& layout, const CombineInputs& in) {
  const std::vector<int64_t> gives = CountsFromEnds(layout, in.ep_counts);
  const int64_t rows = std::accumulate(gives.begin(), gives.end(), int64_t{0}), width = in.expand_x.size(1);
  TORCH_CHECK(rows <= in.expand_x.size(0), "epSendCounts are ", rows, " tokens, and expandX has ", in.expand_x.size(0));
  Tensor by_rank = at::empty({rows, width}, in.expand_x.options());
  if (rows > 0) by_rank.index_copy_(0, ByExpert(gives, layout.ranks), in.expand_x.narrow(0, 0, rows));
  const Copies copies = CopiesOf(layout, in.expert_ids, in.mask);
  group.kept(0) = by_rank;
  group.kept(1) = at::empty({static_cast<int64_t>(copies.tokens.size()), width}, in.expand_x.options());
  group.AlltoAllV(name, group.kept(0), RowsOfRanks(gives, layout.ranks, width), group.kept(1),
                  RowsOfRanks(copies.counts, layout.ranks, width));
}

// In float: each token's experts in the order of expertIds, then the shared ones.
Tensor AddUp(const Tensor& came, const Layout& layout, const CombineInputs& in) {
  const Copies copies = CopiesOf(layout, in.expert_ids, in.mask);
  const int64_t tokens = in.expert_ids.size(0), k = in.expert_ids.size(1), width = came.size(1);
  const Tensor values = came.to(at::kFloat);
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
  if (layout.copying > 0) {
    TORCH_CHECK(Given(in.ori_x).has_value(), "there are copying experts, and no oriX");
    const Tensor first = at::arange(tokens * k, at::kLong).div(k, "floor");
    Tensor copied = in.expert_ids.reshape({-1}).ge(layout.experts + layout.special - layout.copying);
    if (Given(in.mask).has_value()) {
      copied = copied.logical_and(in.mask->to(at::kBool).reshape({tokens, -1}).expand({tokens, k}).reshape({-1}));
    }
    by_slot = at::where(copied.unsqueeze(1), in.ori_x->to(at::kFloat).index_select(0, first), by_slot);
  }
  TORCH_CHECK(in.expert_scales.numel() == tokens * k, "expertScales has shape ", in.expert_scales.sizes(),
              "; expertIds has ", in.expert_ids.sizes());
  const Tensor weighted = by_slot.mul(in.expert_scales.to(at::kFloat).reshape({-1, 1})).view({tokens, k, width});
  for (int64_t i = 0; i < k; ++i) sum.add_(weighted.select(1, i));
  if (!shared_from.empty()) sum.index_add_(0, at::tensor(shared_to, at::kLong), picked(shared_from));
  if (Given(in.shared_x).has_value()) sum.add_(in.shared_x->to(at::kFloat).reshape(sum.sizes()));
  return sum;
}

}  // namespace

MP_GROUP_KERNEL(MoeDistributeCombine, const Tensor& expand_x, const Tensor& expert_ids, const Tensor& ep_counts,
                const Tensor& expert_scales, const OptTensor& mask, const OptTensor& shared_x, const OptTensor& ori_x,
                string_view name, int64_t ep_ranks, int64_t ep_rank, int64_t experts, int64_t tp_ranks, int64_t shared,
                int64_t shared_ranks, int64_t zero, int64_t copying, Tensor& x) {
  const Layout layout =
      LayoutOf(group, name, ep_ranks, ep_rank, experts, tp_ranks, shared, shared_ranks, zero, copying);
  const CombineInputs in{expand_x, expert_ids, ep_counts, expert_scales, mask, shared_x, ori_x};
  if (group.step() == 0) return SendBack(group, name, layout, in);
  WriteElements(x, AddUp(group.kept(1), layout, in));
}

MP_GROUP_KERNEL(MoeDistributeCombineAddRmsNorm, const Tensor& expand_x, const Tensor& expert_ids,
                const Tensor& ep_counts, const Tensor& expert_scales, const Tensor& residual, const Tensor& gamma,
                const OptTensor& mask, const OptTensor& shared_x, const OptTensor& ori_x, string_view name,
                int64_t ep_ranks, int64_t ep_rank, int64_t experts, int64_t tp_ranks, int64_t shared,
                int64_t shared_ranks, double eps, int64_t zero, int64_t copying, Tensor& y, Tensor* rstd, Tensor& x) {
  const Layout layout =
      LayoutOf(group, name, ep_ranks, ep_rank, experts, tp_ranks, shared, shared_ranks, zero, copying);
  const CombineInputs in{expand_x, expert_ids, ep_counts, expert_scales, mask, shared_x, ori_x};
  if (group.step() == 0) return SendBack(group, name, layout, in);
  const Tensor sum = AddUp(group.kept(1), layout, in).to(residual.scalar_type()).reshape(residual.sizes());
  const Tensor added = at::add(sum, residual);
  const RmsNormResult norm = RmsNorm(added, gamma, eps);
  WriteElements(x, added);
  WriteElements(y, norm.y);
  if (rstd != nullptr && rstd->numel() != 0) WriteElements(*rstd, norm.rstd);
}

}  // namespace millpond::kernels

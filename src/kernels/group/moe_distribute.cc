// SPDX-License-Identifier: Apache-2.0
// A token goes to the rank of each of its experts; moe_combine.cc brings back what they made of it.
#include <algorithm>
#include <numeric>

#include "src/kernels/group/expert_order.h"
#include "src/kernels/group/moe_layout.h"
#include "src/kernels/group/packed_rows.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/quant/quantized.h"
#include "src/kernels/quant/row_quant.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// quantMode: none, with scales that are given, or that follow from each row, 128 values of one, 32 of them.
constexpr int64_t kNone = 0, kStatic = 1, kEachRow = 2, kEachTile = 3, kEachBlock = 4;

void CheckRoom(const Tensor& out, int64_t needed, const char* name) {
  TORCH_CHECK(out.numel() >= needed, name, " has room for ", out.numel(), " elements; ", needed, " are needed");
}

// Fills a 1-D output from its beginning; what is behind is zero.
void WriteFront(Tensor* out, const std::vector<int64_t>& values, const char* name) {
  if (out == nullptr) return;
  CheckRoom(*out, static_cast<int64_t>(values.size()), name);
  Tensor filled = at::zeros({out->numel()}, out->options());
  if (!values.empty()) filled.narrow(0, 0, values.size()).copy_(at::tensor(values, at::kLong));
  out->copy_(filled.reshape(out->sizes()));
}
// Also of types that have no zero.
void ZeroBytes(const Tensor& out) { (out.element_size() == 1 ? out.view(at::kByte) : out).zero_(); }
void Clear(Tensor* out) {
  if (out != nullptr && out->numel() != 0) ZeroBytes(*out);
}

void WriteRows(Tensor& out, const Tensor& rows, const char* name) {
  const int64_t width = out.size(0) == 0 ? rows.size(1) : out.numel() / out.size(0);
  TORCH_CHECK(width == rows.size(1) && out.scalar_type() == rows.scalar_type(), name, " has type ", out.scalar_type(),
              " and shape ", out.sizes(), "; ", rows.size(1), " elements of type ", rows.scalar_type(),
              " are needed for each token");
  TORCH_CHECK(out.size(0) >= rows.size(0), name, " has room for ", out.size(0), " tokens, and ", rows.size(0), " came");
  Tensor front = out.narrow(0, 0, rows.size(0));
  front.copy_(rows.reshape(front.sizes()));
  if (out.size(0) > rows.size(0)) ZeroBytes(out.narrow(0, rows.size(0), out.size(0) - rows.size(0)));
}

// One value for all copies, or one for each column.
bool AlikeForAll(const Tensor& scales, int64_t mode) { return mode == kStatic && scales.dim() <= 1; }

// What `scales` multiplies the copies by: one value, one for each column, or a row for each expert.
Tensor Smoothed(const Tensor& rows, const Copies& copies, const OptTensor& scales, int64_t mode) {
  const Tensor value = rows.to(at::kFloat);
  if (!Given(scales).has_value()) return value;
  if (AlikeForAll(*scales, mode)) return value.mul(scales->to(at::kFloat));
  return value.mul(scales->to(at::kFloat).index_select(0, at::tensor(copies.scales, at::kLong)));
}

void CheckScales(const Tensor& x, const OptTensor& scales, const ExpertLayout& layout, int64_t mode, ScalarType type) {
  const bool given = Given(scales).has_value();
  if (mode == kNone) {
    const bool quantised = at::isFloat8Type(x.scalar_type());  // by the client, whose scales go along
    TORCH_CHECK(x.scalar_type() == type && quantised == given, "x has type ", x.scalar_type(), ", expandX ", type,
                " and scales are ", given ? "" : "not ",
                "given; without quantisation (quantMode 0) expandX has x's type, and 8-bit floats alone have scales");
    TORCH_CHECK(!quantised || (scales->dim() >= 1 && scales->size(0) == x.size(0)), "scales has ", scales->numel(),
                " elements; x has ", x.size(0), " tokens");
    return;
  }
  TORCH_CHECK(mode != kStatic || given, "quantMode is 1 (given scales), and scales is not given");
  TORCH_CHECK(mode != kEachBlock || !given, "quantMode is 4 (mx), and scales is given; pass NULL");
  if (!given || AlikeForAll(*scales, mode)) return;
  const int64_t needed = layout.experts.shared + layout.experts.routed;
  TORCH_CHECK(scales->dim() == 2 && scales->size(0) == needed, "scales has shape ", scales->sizes(), "; it needs ",
              needed, " rows, one for each expert");
}

// Whether scales go with the copies.
bool HaveScales(const Tensor& x, int64_t mode) {
  return mode == kNone ? at::isFloat8Type(x.scalar_type()) : mode != kStatic;
}

// The tokens' copies as they travel, in the type of expandX.
PackedRows CopiesToSend(const Tensor& x, const Copies& copies, const OptTensor& scales, int64_t mode, ScalarType type) {
  const Tensor which = at::tensor(copies.tokens, at::kLong);
  const Tensor rows = PickRows(x, which);
  if (mode == kNone) {
    if (!HaveScales(x, mode)) return {rows, {}};
    return {rows, PickRows(scales->reshape({x.size(0), -1}), which)};
  }
  const Tensor value = Smoothed(rows, copies, scales, mode);
  if (mode != kStatic) {
    return Pack(value, type, mode == kEachRow ? Grain::kRow : mode == kEachTile ? Grain::kTile : Grain::kMx);
  }
  Tensor stored = at::empty(value.sizes(), value.options().dtype(type));
  WriteQuantized(stored, value);
  return {stored, {}};
}

void CheckMode(int64_t mode, ScalarType type) {
  const bool eight = at::isFloat8Type(type);
  const bool known = mode == kNone || (mode == kStatic && type == at::kChar) ||
                     (mode == kEachRow && (eight || type == at::kChar)) ||
                     ((mode == kEachTile || mode == kEachBlock) && eight);
  TORCH_CHECK(known, "quantMode is ", mode, " and expandX has type ", type,
              "; 0 (none), 1 (given scales: int8), 2 (a scale for each token: int8, 8-bit floats), 3 (for 128 values: "
              "8-bit floats) and 4 (mx: 8-bit floats) are supported");
}

void TellWhatCame(const ExpertLayout& layout, const std::vector<int64_t>& came, int64_t nums_type, Tensor& expert_nums,
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
                int64_t zero, int64_t copying, int64_t constant, Tensor& expand_x, Tensor* dynamic_scales,
                Tensor& expand_idx, Tensor& expert_nums, Tensor& ep_counts, Tensor* tp_counts, Tensor* expand_scales) {
  const ExpertLayout layout = ExpertLayoutOf(group, name, ep_ranks, ep_rank, tp_ranks,
                                             {experts, shared, shared_ranks, zero, copying, constant});
  // kept: 0 rows to send, 1 their scales, 2 counts to send, 3 counts that came, 4 rows that came, 5 their scales
  if (group.step() == 0) {
    CheckMode(quant_mode, expand_x.scalar_type());
    TORCH_CHECK(nums_type == 0 || nums_type == 1, "expertTokenNumsType is ", nums_type,
                "; 0 (running sums) and 1 (counts) are known");
    CheckChoice(expert_ids, mask);
    TORCH_CHECK(x.dim() == 2 && x.size(0) == expert_ids.size(0), "x has shape ", x.sizes(), " and expertIds ",
                expert_ids.sizes());
    CheckScales(x, scales, layout, quant_mode, expand_x.scalar_type());
    TORCH_CHECK(!HaveScales(x, quant_mode) || dynamic_scales != nullptr,
                "tokens have scales, and there is no dynamicScales");
    CheckRoom(expert_nums, layout.here(), "expertTokenNums");
    CheckRoom(ep_counts, layout.here() * layout.ranks, "epRecvCounts");
    TORCH_CHECK(expand_x.dim() == 2 && expand_x.size(1) == x.size(1), "expandX has shape ", expand_x.sizes(),
                "; a token has ", x.size(1), " elements");
    if (group.checking()) {
      group.kept(2) = at::empty({layout.ranks * layout.local}, at::kLong);
      group.kept(3) = at::empty_like(group.kept(2));
      return group.AlltoAll(name, group.kept(2), group.kept(3));
    }
    const Copies copies = CopiesOf(layout, expert_ids, mask);
    const PackedRows packed = CopiesToSend(x, copies, scales, quant_mode, expand_x.scalar_type());
    group.kept(0) = packed.rows;
    group.kept(1) = packed.scales;
    std::vector<int64_t> numbers = copies.numbers;
    numbers.resize(std::min<int64_t>(numbers.size(), expand_idx.numel()));
    WriteFront(&expand_idx, numbers, "expandIdx");
    group.kept(2) = at::tensor(copies.counts, at::kLong);
    group.kept(3) = at::empty_like(group.kept(2));
    return group.AlltoAll(name, group.kept(2), group.kept(3));
  }
  const std::vector<int64_t> gave = HostList(group.kept(2)), came = HostList(group.kept(3));
  const bool scaled = group.kept(1).defined();
  if (group.step() == 1 || (group.step() == 2 && scaled)) {
    const Tensor& sent = group.kept(group.step() - 1);
    Tensor& got = group.kept(group.step() + 3);
    got = at::empty({std::accumulate(came.begin(), came.end(), int64_t{0}), sent.size(1)}, sent.options());
    return group.AlltoAllV(name, sent, RowsOfRanks(gave, layout.ranks, sent.size(1)), got,
                           RowsOfRanks(came, layout.ranks, sent.size(1)));
  }
  const Tensor order = ByExpert(came, layout.ranks);
  WriteRows(expand_x, PickRows(group.kept(4), order), "expandX");
  if (scaled) {
    WriteRows(*dynamic_scales, PickRows(group.kept(5), order), "dynamicScales");
  } else {
    Clear(dynamic_scales);
  }
  TellWhatCame(layout, came, nums_type, expert_nums, ep_counts);
  Clear(tp_counts);
  Clear(expand_scales);
}

}  // namespace millpond::kernels

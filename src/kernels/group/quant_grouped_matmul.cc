// SPDX-License-Identifier: Apache-2.0
// As grouped_matmul.cc, of 8-bit floats with a power of two for each 32 values (MX): products are computed in float and
// rounded once.
#include "src/kernels/group/expert_order.h"
#include "src/kernels/group/group_gemm.h"
#include "src/kernels/quant/block_scale.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// What one product is of: rows and their scales, a weight and its own.
struct Operands {
  const OptTensor& x;
  const OptTensor& weight;
  const OptTensor& x_scale;
  const OptTensor& weight_scale;
  bool turn;
};

// A weight's scales lie as it does: one that is transposed has those of each column together.
Tensor WeightInFloat(const Tensor& weight, const Tensor& scale, bool turn) {
  return MxColumnsInFloat(turn ? weight.t() : weight, scale, /*by_column=*/turn);
}

void SharedExpert(Group& group, const Operands& mm, int64_t x_mode, int64_t weight_mode, Tensor* out) {
  if (!Given(mm.x).has_value() && !Given(mm.weight).has_value()) return;
  TORCH_CHECK(Given(mm.x).has_value() && Given(mm.weight).has_value() && Given(mm.x_scale).has_value() &&
                  Given(mm.weight_scale).has_value() && out != nullptr,
              "mmX, mmWeight, both scales and mmY go together; one is not given");
  TORCH_CHECK(x_mode == kByMx && weight_mode == kByMx, "mmXQuantMode is ", x_mode, " and mmWeightQuantMode ",
              weight_mode, "; 6 (mx) is supported");
  if (group.checking()) return;
  Write(*out, at::matmul(MxInFloat(*mm.x, *mm.x_scale), WeightInFloat(*mm.weight, *mm.weight_scale, mm.turn)));
}

// Rows in float that lie expert by expert.
Tensor MultiplyEach(const Tensor& rows, const std::vector<int64_t>& counts, const Tensor& weight, const Tensor& scale,
                    bool turn) {
  Tensor out = at::empty({rows.size(0), weight.size(turn ? 1 : 2)}, rows.options());
  EachExpert(counts, weight.size(0), [&](int64_t expert, int64_t begin, int64_t length) {
    const Tensor matrix = WeightInFloat(weight.select(0, expert), scale.select(0, expert), turn);
    out.narrow(0, begin, length).copy_(at::matmul(rows.narrow(0, begin, length), matrix));
  });
  return out;
}

void CheckExperts(const Tensor& x, const Tensor& weight, const Tensor& weight_scale, int64_t group_size) {
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 3 && weight_scale.dim() == 4 && weight_scale.size(0) == weight.size(0),
              "gmmX has shape ", x.sizes(), ", gmmWeight ", weight.sizes(), " and gmmWeightScale ",
              weight_scale.sizes(), "; 2, 3 and 4 dimensions, and as many experts, are needed");
  CheckGroupSize(group_size, Blocks::kMx);
}

}  // namespace

// Tokens and their scales travel as bytes, one after the other.
MP_GROUP_KERNEL(AlltoAllvQuantGroupedMatMul, const Tensor& x, const Tensor& weight, const Tensor& x_scale,
                const Tensor& weight_scale, const OptTensor& mm_x, const OptTensor& mm_weight,
                const OptTensor& mm_x_scale, const OptTensor& mm_weight_scale, int64_t mm_x_mode,
                int64_t mm_weight_mode, int64_t group_size, string_view name, int64_t ep_ranks, IntArrayRef send_counts,
                IntArrayRef recv_counts, bool turn, bool mm_turn, bool permute_flag, Tensor& y, Tensor* mm_y,
                Tensor* permute_out) {
  if (group.step() == 0) CheckExperts(x, weight, weight_scale, group_size);
  const Operands shared{mm_x, mm_weight, mm_x_scale, mm_weight_scale, mm_turn};
  const int64_t ranks = group.ranks(name), experts = weight.size(0), scales = MxPairs(x.size(1)) * 2;
  const std::vector<int64_t> gives = Counts("sendCounts", send_counts, experts, ranks, x.size(0), "gmmX");
  const std::vector<int64_t> gets = Counts("recvCounts", recv_counts, experts, ranks, y.size(0), "gmmY");
  // kept: 0 what is sent, 1 rows that came, 2 their scales
  const auto exchange = [&](const Tensor& rows, size_t place) {
    const int64_t width = rows.size(1);
    group.kept(0) = group.Packed(rows);
    group.kept(place) = at::empty({y.size(0), width}, rows.options());
    group.AlltoAllV(name, group.kept(0), RowsOfRanks(gives, ranks, width), group.kept(place),
                    RowsOfRanks(gets, ranks, width));
  };
  if (group.step() == 0) {
    group.CheckRanks(name, ep_ranks);
    TORCH_CHECK(x_scale.numel() == x.size(0) * scales, "gmmXScale has shape ", x_scale.sizes(), "; each of gmmX's ",
                x.size(0), " rows needs ", scales / 2, " pairs");
    TORCH_CHECK(!permute_flag || permute_out != nullptr, "permuteOutFlag is set, and there is no permuteOut");
    if (group.checking()) SharedExpert(group, shared, mm_x_mode, mm_weight_mode, mm_y);
    return exchange(x.view(at::kByte), 1);
  }
  if (group.step() == 1) return exchange(x_scale.view(at::kByte).reshape({x.size(0), scales}), 2);
  const Tensor order = ByExpert(gets, ranks);
  const Tensor rows = group.kept(1).index_select(0, order).view(x.scalar_type());
  if (permute_flag) permute_out->copy_(rows);
  const Tensor plain = MxInFloat(rows, group.kept(2).index_select(0, order));
  Write(y, MultiplyEach(plain, gets, weight, weight_scale, turn));
  SharedExpert(group, shared, mm_x_mode, mm_weight_mode, mm_y);
}

MP_GROUP_KERNEL(QuantGroupedMatMulAlltoAllv, const Tensor& x, const Tensor& weight, const Tensor& x_scale,
                const Tensor& weight_scale, const OptTensor& mm_x, const OptTensor& mm_weight,
                const OptTensor& mm_x_scale, const OptTensor& mm_weight_scale, int64_t mm_x_mode,
                int64_t mm_weight_mode, int64_t group_size, string_view name, int64_t ep_ranks, IntArrayRef send_counts,
                IntArrayRef recv_counts, bool turn, bool mm_turn, Tensor& y, Tensor* mm_y) {
  const Operands shared{mm_x, mm_weight, mm_x_scale, mm_weight_scale, mm_turn};
  if (group.step() > 0) {
    if (!group.kept(0).is_same(y)) Write(y, group.kept(0));
    return SharedExpert(group, shared, mm_x_mode, mm_weight_mode, mm_y);
  }
  group.CheckRanks(name, ep_ranks);
  CheckExperts(x, weight, weight_scale, group_size);
  const int64_t ranks = group.ranks(name), experts = weight.size(0);
  const std::vector<int64_t> gives = Counts("sendCounts", send_counts, experts, ranks, x.size(0), "gmmX");
  if (group.checking()) {
    SharedExpert(group, shared, mm_x_mode, mm_weight_mode, mm_y);
    group.kept(1) = at::empty({x.size(0), weight.size(turn ? 1 : 2)}, y.options());
  } else {
    group.kept(1) = MultiplyEach(MxInFloat(x, x_scale), gives, weight, weight_scale, turn).to(y.scalar_type());
  }
  SendBackRows(group, name, gives, Counts("recvCounts", recv_counts, experts, ranks, y.size(0), "y"), y);
}

}  // namespace millpond::kernels

// SPDX-License-Identifier: Apache-2.0
// As grouped_matmul.cc, of 8-bit floats with one scale for each 32 values (mx): products are computed in float and
// rounded once.
#include <numeric>

#include "src/kernels/group/expert_order.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/runtime/group.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

constexpr int64_t kBlock = 32, kPair = 2;
constexpr int64_t kMx = 6;  // of the quantisation modes

struct Operands {
  const OptTensor& x;
  const OptTensor& weight;
  const OptTensor& x_scale;
  const OptTensor& weight_scale;
  bool turn;
};

int64_t Pairs(int64_t length) { return (length + kBlock * kPair - 1) / (kBlock * kPair); }

void CheckEight(const char* name, const Tensor& tensor) {
  TORCH_CHECK(tensor.scalar_type() == at::kFloat8_e4m3fn || tensor.scalar_type() == at::kFloat8_e5m2, name,
              " has type ", tensor.scalar_type(), "; float8_e4m3fn and float8_e5m2 have kernels here");
}

// (rows, length) times its scales (rows, pairs, 2), in float.
Tensor RowsInFloat(const char* name, const Tensor& rows, const Tensor& scale) {
  CheckEight(name, rows);
  const int64_t length = rows.size(-1);
  TORCH_CHECK(scale.scalar_type() == at::kFloat8_e8m0fnu && scale.numel() == rows.size(0) * Pairs(length) * kPair, name,
              "Scale has type ", scale.scalar_type(), " and shape ", scale.sizes(), "; float8_e8m0 of shape [",
              rows.size(0), ", ", Pairs(length), ", 2] is needed");
  const Tensor each =
      scale.to(at::kFloat).reshape({rows.size(0), -1}).repeat_interleave(kBlock, 1).narrow(1, 0, length);
  return rows.to(at::kFloat).mul_(each);
}

// A weight of `length` rows and `columns` columns with its scales, as a matrix in float. Scales lie as the weight does:
// (pairs, columns, 2), or (columns, pairs, 2) for one that is turned.
Tensor WeightInFloat(const char* name, const Tensor& weight, const Tensor& scale, bool turn) {
  CheckEight(name, weight);
  if (turn) return RowsInFloat(name, weight, scale).t();
  const int64_t length = weight.size(0), columns = weight.size(1);
  const bool other = scale.dim() == 3 && scale.size(0) == columns && scale.size(1) == Pairs(length);
  if (other && columns != Pairs(length)) return RowsInFloat(name, weight.t(), scale).t();  // one page has it so
  TORCH_CHECK(scale.scalar_type() == at::kFloat8_e8m0fnu && scale.dim() == 3 && scale.size(0) == Pairs(length) &&
                  scale.size(1) == columns && scale.size(2) == kPair,
              name, "Scale has type ", scale.scalar_type(), " and shape ", scale.sizes(), "; float8_e8m0 of shape [",
              Pairs(length), ", ", columns, ", 2] is needed");
  const Tensor each =
      scale.to(at::kFloat).permute({0, 2, 1}).reshape({-1, columns}).repeat_interleave(kBlock, 0).narrow(0, 0, length);
  return weight.to(at::kFloat).mul_(each);
}

std::vector<int64_t> Checked(const char* what, IntArrayRef counts, int64_t wanted, int64_t rows) {
  TORCH_CHECK(static_cast<int64_t>(counts.size()) == wanted, what, " has ", counts.size(), " entries; ", wanted,
              " are needed");
  for (const int64_t count : counts) TORCH_CHECK(count >= 0, what, " has a negative entry, ", count);
  const int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  TORCH_CHECK(sum == rows, what, " are ", sum, " rows, and there are ", rows);
  return counts.vec();
}

void SharedExpert(const Operands& mm, int64_t x_mode, int64_t weight_mode, Tensor* out) {
  if (!Given(mm.x).has_value()) return;
  TORCH_CHECK(Given(mm.weight).has_value() && Given(mm.x_scale).has_value() && Given(mm.weight_scale).has_value() &&
                  out != nullptr,
              "mmX is given; mmWeight, both scales and mmY are needed with it");
  TORCH_CHECK(x_mode == kMx && weight_mode == kMx, "mmXQuantMode is ", x_mode, " and mmWeightQuantMode ", weight_mode,
              "; 6 (mx) is supported");
  Write(*out, at::matmul(RowsInFloat("mmX", *mm.x, *mm.x_scale),
                         WeightInFloat("mmWeight", *mm.weight, *mm.weight_scale, mm.turn)));
}

// Rows in float that lie expert by expert.
Tensor EachExpert(const Tensor& rows, const std::vector<int64_t>& counts, const Tensor& weight, const Tensor& scale,
                  bool turn) {
  const int64_t experts = weight.size(0), ranks = static_cast<int64_t>(counts.size()) / experts;
  Tensor out = at::empty({rows.size(0), weight.size(turn ? 1 : 2)}, rows.options());
  int64_t begin = 0;
  for (int64_t expert = 0; expert < experts; ++expert) {
    int64_t length = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) length += counts[rank * experts + expert];
    if (length == 0) continue;
    const Tensor matrix = WeightInFloat("gmmWeight", weight.select(0, expert), scale.select(0, expert), turn);
    out.narrow(0, begin, length).copy_(at::matmul(rows.narrow(0, begin, length), matrix));
    begin += length;
  }
  return out;
}

void CheckExperts(const Tensor& x, const Tensor& weight, const Tensor& weight_scale) {
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 3 && weight_scale.dim() == 4 && weight_scale.size(0) == weight.size(0),
              "gmmX has shape ", x.sizes(), ", gmmWeight ", weight.sizes(), " and gmmWeightScale ",
              weight_scale.sizes());
  CheckEight("gmmX", x);
}

}  // namespace

// Tokens and their scales travel as bytes, one after the other.
MP_GROUP_KERNEL(AlltoAllvQuantGroupedMatMul, const Tensor& x, const Tensor& weight, const Tensor& x_scale,
                const Tensor& weight_scale, const OptTensor& mm_x, const OptTensor& mm_weight,
                const OptTensor& mm_x_scale, const OptTensor& mm_weight_scale, int64_t mm_x_mode,
                int64_t mm_weight_mode, string_view name, int64_t ep_ranks, IntArrayRef send_counts,
                IntArrayRef recv_counts, bool turn, bool mm_turn, bool permute_flag, Tensor& y, Tensor* mm_y,
                Tensor* permute_out) {
  const int64_t ranks = group.ranks(name), experts = weight.size(0), width = x.size(1), scales = Pairs(width) * kPair;
  const std::vector<int64_t> gets = Checked("recvCounts", recv_counts, experts * ranks, y.size(0));
  if (group.step() == 0) {
    group.CheckRanks(name, ep_ranks);
    CheckExperts(x, weight, weight_scale);
    TORCH_CHECK(x_scale.numel() == x.size(0) * scales, "gmmXScale has shape ", x_scale.sizes(), "; gmmX has ",
                x.sizes());
    const std::vector<int64_t> gives = Checked("sendCounts", send_counts, experts * ranks, x.size(0));
    group.kept(0) = x.contiguous().view(at::kByte);
    group.kept(1) = at::empty({y.size(0), width}, group.kept(0).options());
    return group.AlltoAllV(name, group.kept(0), RowsOfRanks(gives, ranks, width), group.kept(1),
                           RowsOfRanks(gets, ranks, width));
  }
  if (group.step() == 1) {
    group.kept(0) = x_scale.contiguous().view(at::kByte).reshape({x.size(0), scales});
    group.kept(2) = at::empty({y.size(0), scales}, group.kept(0).options());
    return group.AlltoAllV(name, group.kept(0), RowsOfRanks(send_counts.vec(), ranks, scales), group.kept(2),
                           RowsOfRanks(gets, ranks, scales));
  }
  const Tensor order = ByExpert(gets, ranks);
  const Tensor rows = group.kept(1).index_select(0, order).view(x.scalar_type());
  const Tensor row_scales = group.kept(2).index_select(0, order).view(at::kFloat8_e8m0fnu);
  if (permute_flag) {
    TORCH_CHECK(permute_out != nullptr, "permuteOutFlag is set, and there is no permuteOut");
    permute_out->copy_(rows);
  }
  Write(y, EachExpert(RowsInFloat("gmmX", rows, row_scales), gets, weight, weight_scale, turn));
  SharedExpert({mm_x, mm_weight, mm_x_scale, mm_weight_scale, mm_turn}, mm_x_mode, mm_weight_mode, mm_y);
}

MP_GROUP_KERNEL(QuantGroupedMatMulAlltoAllv, const Tensor& x, const Tensor& weight, const Tensor& x_scale,
                const Tensor& weight_scale, const OptTensor& mm_x, const OptTensor& mm_weight,
                const OptTensor& mm_x_scale, const OptTensor& mm_weight_scale, int64_t mm_x_mode,
                int64_t mm_weight_mode, string_view name, int64_t ep_ranks, IntArrayRef send_counts,
                IntArrayRef recv_counts, bool turn, bool mm_turn, Tensor& y, Tensor* mm_y) {
  if (group.step() > 0) {
    Write(y, group.kept(0));
    return SharedExpert({mm_x, mm_weight, mm_x_scale, mm_weight_scale, mm_turn}, mm_x_mode, mm_weight_mode, mm_y);
  }
  group.CheckRanks(name, ep_ranks);
  CheckExperts(x, weight, weight_scale);
  const int64_t ranks = group.ranks(name), experts = weight.size(0);
  const std::vector<int64_t> gives = Checked("sendCounts", send_counts, experts * ranks, x.size(0));
  const std::vector<int64_t> gets = Checked("recvCounts", recv_counts, experts * ranks, y.size(0));
  const Tensor product =
      EachExpert(RowsInFloat("gmmX", x, x_scale), gives, weight, weight_scale, turn).to(y.scalar_type());
  group.kept(1) = at::empty_like(product).index_copy_(0, ByExpert(gives, ranks), product);
  group.kept(0) = at::empty(y.sizes(), y.options());
  group.AlltoAllV(name, group.kept(1), RowsOfRanks(gives, ranks, y.size(1)), group.kept(0),
                  RowsOfRanks(gets, ranks, y.size(1)));
}

}  // namespace millpond::kernels

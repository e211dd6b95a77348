// SPDX-License-Identifier: Apache-2.0
// Tokens go to the ranks that have their experts, and each expert multiplies its own. Counts are listed rank by rank,
// and within a rank expert by expert; what an expert multiplies lies together, rank by rank.
#include <numeric>

#include "src/kernels/gemm/matmul.h"
#include "src/kernels/group/expert_order.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/runtime/group.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

// The counts as they are listed, checked.
std::vector<int64_t> Counts(const char* what, IntArrayRef counts, int64_t experts, int64_t ranks) {
  TORCH_CHECK(static_cast<int64_t>(counts.size()) == experts * ranks, what, " has ", counts.size(),
              " entries; one for each of ", experts, " experts of ", ranks, " ranks is needed");
  for (const int64_t count : counts) TORCH_CHECK(count >= 0, what, " has a negative entry, ", count);
  return counts.vec();
}

int64_t Sum(const std::vector<int64_t>& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

void SharedExpert(const OptTensor& x, const OptTensor& weight, bool turn, Tensor* out) {
  if (!Given(x).has_value() || !Given(weight).has_value()) return;
  TORCH_CHECK(out != nullptr, "mmX and mmWeight are given, and there is no mmY");
  Multiply(*out, *x, turn ? weight->transpose(-1, -2) : *weight);
}

// Rows that lie expert by expert.
void EachExpert(const Tensor& rows, const std::vector<int64_t>& counts, const Tensor& weight, bool turn, Tensor& out) {
  const int64_t experts = weight.size(0), ranks = static_cast<int64_t>(counts.size()) / experts;
  int64_t begin = 0;
  for (int64_t expert = 0; expert < experts; ++expert) {
    int64_t length = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) length += counts[rank * experts + expert];
    if (length == 0) continue;
    const Tensor matrix = weight.select(0, expert);
    Tensor into = out.narrow(0, begin, length);
    Multiply(into, rows.narrow(0, begin, length), turn ? matrix.t() : matrix);
    begin += length;
  }
}

}  // namespace

MP_GROUP_KERNEL(AlltoAllvGroupedMatMul, const Tensor& x, const Tensor& weight, const OptTensor& mm_x,
                const OptTensor& mm_weight, string_view name, int64_t ep_ranks, IntArrayRef send_counts,
                IntArrayRef recv_counts, bool turn, bool mm_turn, bool permute_flag, Tensor& y, Tensor* mm_y,
                Tensor* permute_out) {
  const int64_t ranks = group.ranks(name), experts = weight.size(0);
  const std::vector<int64_t> gets = Counts("recvCounts", recv_counts, experts, ranks);
  if (group.step() == 0) {
    CheckPlain(weight, "gmmWeight");
    group.CheckRanks(name, ep_ranks);
    const std::vector<int64_t> gives = Counts("sendCounts", send_counts, experts, ranks);
    TORCH_CHECK(x.dim() == 2 && Sum(gives) == x.size(0), "gmmX has shape ", x.sizes(), "; sendCounts are ", Sum(gives),
                " rows");
    TORCH_CHECK(Sum(gets) == y.size(0), "recvCounts are ", Sum(gets), " rows, and gmmY has ", y.size(0));
    group.kept(0) = x.contiguous();
    group.kept(1) = at::empty({Sum(gets), x.size(1)}, x.options());
    return group.AlltoAllV(name, group.kept(0), RowsOfRanks(gives, ranks, x.size(1)), group.kept(1),
                           RowsOfRanks(gets, ranks, x.size(1)));
  }
  const Tensor rows = group.kept(1).index_select(0, ByExpert(gets, ranks));
  if (permute_flag) {
    TORCH_CHECK(permute_out != nullptr, "permuteOutFlag is set, and there is no permuteOut");
    Write(*permute_out, rows);
  }
  EachExpert(rows, gets, weight, turn, y);
  SharedExpert(mm_x, mm_weight, mm_turn, mm_y);
}

MP_GROUP_KERNEL(GroupedMatMulAlltoAllv, const Tensor& x, const Tensor& weight, const OptTensor& mm_x,
                const OptTensor& mm_weight, string_view name, int64_t ep_ranks, IntArrayRef send_counts,
                IntArrayRef recv_counts, bool turn, bool mm_turn, Tensor& y, Tensor* mm_y) {
  if (group.step() > 0) {
    if (!group.kept(0).is_same(y)) Write(y, group.kept(0));
    return SharedExpert(mm_x, mm_weight, mm_turn, mm_y);
  }
  CheckPlain(weight, "gmmWeight");
  group.CheckRanks(name, ep_ranks);
  const int64_t ranks = group.ranks(name), experts = weight.size(0);
  const std::vector<int64_t> gives = Counts("sendCounts", send_counts, experts, ranks);
  const std::vector<int64_t> gets = Counts("recvCounts", recv_counts, experts, ranks);
  TORCH_CHECK(x.dim() == 2 && Sum(gives) == x.size(0) && Sum(gets) == y.size(0), "gmmX has ", x.size(0), " rows and y ",
              y.size(0), "; sendCounts are ", Sum(gives), " rows and recvCounts ", Sum(gets));
  Tensor product = at::empty({x.size(0), y.size(1)}, y.options());
  EachExpert(x, gives, weight, turn, product);
  Tensor by_rank = at::empty_like(product);
  by_rank.index_copy_(0, ByExpert(gives, ranks), product);
  group.kept(1) = by_rank;
  group.kept(0) = y.is_contiguous() ? y : at::empty(y.sizes(), y.options());
  group.AlltoAllV(name, group.kept(1), RowsOfRanks(gives, ranks, y.size(1)), group.kept(0),
                  RowsOfRanks(gets, ranks, y.size(1)));
}

}  // namespace millpond::kernels

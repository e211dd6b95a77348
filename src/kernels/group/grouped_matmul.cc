// SPDX-License-Identifier: Apache-2.0
// Tokens go to the ranks that have their experts, and each expert multiplies its own. Counts are listed rank by rank,
// and within a rank expert by expert; what an expert multiplies lies together, rank by rank.
#include "src/kernels/gemm/matmul.h"
#include "src/kernels/group/expert_order.h"
#include "src/kernels/group/group_gemm.h"
#include "src/kernels/quant/quant_gemm.h"
#include "src/kernels/runtime/group.h"
#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {
namespace {

void SharedExpert(Group& group, const OptTensor& x, const OptTensor& weight, bool turn, Tensor* out) {
  TORCH_CHECK(Given(x).has_value() == Given(weight).has_value(), "mmX and mmWeight go together; one is not given");
  if (!Given(x).has_value()) return;
  TORCH_CHECK(out != nullptr, "mmX and mmWeight are given, and there is no mmY");
  GroupGemm(group, *out, *x, Transposed(*weight, turn), {});
}

void CheckExperts(const Tensor& x, const Tensor& weight, bool turn, const Tensor& out) {
  CheckPlain(weight, "gmmWeight");
  TORCH_CHECK(x.dim() == 2 && weight.dim() == 3 && out.dim() == 2, "gmmX has ", x.dim(), " dimensions, gmmWeight ",
              weight.dim(), " and the result ", out.dim(), "; 2, 3 and 2 are needed");
  const int64_t inner = weight.size(turn ? 2 : 1), columns = weight.size(turn ? 1 : 2);
  TORCH_CHECK(x.size(1) == inner && out.size(1) == columns, "gmmX has ", x.size(1), " columns and the result ",
              out.size(1), "; each expert's matrix makes ", columns, " of ", inner);
}

// Rows that lie expert by expert.
void MultiplyEach(const Tensor& rows, const std::vector<int64_t>& counts, const Tensor& weight, bool turn,
                  Tensor& out) {
  EachExpert(counts, weight.size(0), [&](int64_t expert, int64_t begin, int64_t length) {
    const Tensor matrix = weight.select(0, expert);
    Tensor into = out.narrow(0, begin, length);
    Multiply(into, rows.narrow(0, begin, length), turn ? matrix.t() : matrix);
  });
}

}  // namespace

MP_GROUP_KERNEL(AlltoAllvGroupedMatMul, const Tensor& x, const Tensor& weight, const OptTensor& mm_x,
                const OptTensor& mm_weight, string_view name, int64_t ep_ranks, IntArrayRef send_counts,
                IntArrayRef recv_counts, bool turn, bool mm_turn, bool permute_flag, Tensor& y, Tensor* mm_y,
                Tensor* permute_out) {
  if (group.step() == 0) CheckExperts(x, weight, turn, y);
  const int64_t ranks = group.ranks(name), experts = weight.size(0);
  const std::vector<int64_t> gets = Counts("recvCounts", recv_counts, experts, ranks, y.size(0), "gmmY");
  if (group.step() == 0) {
    group.CheckRanks(name, ep_ranks);
    TORCH_CHECK(!permute_flag || permute_out != nullptr, "permuteOutFlag is set, and there is no permuteOut");
    if (group.checking()) SharedExpert(group, mm_x, mm_weight, mm_turn, mm_y);
    const std::vector<int64_t> gives = Counts("sendCounts", send_counts, experts, ranks, x.size(0), "gmmX");
    group.kept(0) = group.Packed(x);
    group.kept(1) = at::empty({y.size(0), x.size(1)}, x.options());
    return group.AlltoAllV(name, group.kept(0), RowsOfRanks(gives, ranks, x.size(1)), group.kept(1),
                           RowsOfRanks(gets, ranks, x.size(1)));
  }
  const Tensor rows = group.kept(1).index_select(0, ByExpert(gets, ranks));
  if (permute_flag) Write(*permute_out, rows);
  MultiplyEach(rows, gets, weight, turn, y);
  SharedExpert(group, mm_x, mm_weight, mm_turn, mm_y);
}

MP_GROUP_KERNEL(GroupedMatMulAlltoAllv, const Tensor& x, const Tensor& weight, const OptTensor& mm_x,
                const OptTensor& mm_weight, string_view name, int64_t ep_ranks, IntArrayRef send_counts,
                IntArrayRef recv_counts, bool turn, bool mm_turn, Tensor& y, Tensor* mm_y) {
  if (group.step() > 0) {
    if (!group.kept(0).is_same(y)) Write(y, group.kept(0));
    return SharedExpert(group, mm_x, mm_weight, mm_turn, mm_y);
  }
  CheckExperts(x, weight, turn, y);
  group.CheckRanks(name, ep_ranks);
  if (group.checking()) SharedExpert(group, mm_x, mm_weight, mm_turn, mm_y);
  const int64_t ranks = group.ranks(name), experts = weight.size(0);
  const std::vector<int64_t> gives = Counts("sendCounts", send_counts, experts, ranks, x.size(0), "gmmX");
  Tensor product = at::empty({x.size(0), y.size(1)}, y.options());
  if (!group.checking()) MultiplyEach(x, gives, weight, turn, product);
  group.kept(1) = product;
  SendBackRows(group, name, gives, Counts("recvCounts", recv_counts, experts, ranks, y.size(0), "y"), y);
}

}  // namespace millpond::kernels

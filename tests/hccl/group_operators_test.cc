// SPDX-License-Identifier: Apache-2.0
// aclnn operators that take a group's name, as threads and as processes, against the few lines that say what they mean.
#include <cmath>

#include "aclnnop/aclnn_all_gather_matmul.h"
#include "aclnnop/aclnn_inplace_matmul_all_reduce_add_rms_norm.h"
#include "aclnnop/aclnn_matmul_all_reduce.h"
#include "aclnnop/aclnn_matmul_all_reduce_add_rms_norm.h"
#include "aclnnop/aclnn_matmul_reduce_scatter.h"
#include "aclnnop/aclnn_moe_distribute_combine.h"
#include "aclnnop/aclnn_moe_distribute_dispatch.h"
#include "tests/hccl/group_test.h"

namespace {

using namespace ranks_test;  // NOLINT
using namespace group_test;  // NOLINT

// Small whole numbers, so that every sum is exact.
std::vector<float> Of(uint32_t rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((rank * 5 + i * 3) % 7) - 2;
  return values;
}
std::vector<float> Product(const std::vector<float>& a, const std::vector<float>& b, size_t inner, size_t columns) {
  std::vector<float> product(a.size() / inner * columns, 0);
  for (size_t i = 0; i < product.size(); ++i) {
    for (size_t k = 0; k < inner; ++k) product[i] += a[i / columns * inner + k] * b[k * columns + i % columns];
  }
  return product;
}
void AddTo(std::vector<float>& sum, const std::vector<float>& part) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
}

// How messages name a line of this file: without libdw, which knows lines, it is a place in this program.
std::string Line(int line) { return LineOf("group_operators_test", line); }

constexpr size_t kRows = 4, kInner = 3, kColumns = 2;

struct Matrices {
  explicit Matrices(const Rank& r)
      : x1(Of(r.rank, kRows * kInner)),
        x2(Of(r.rank + 1, kInner * kColumns)),
        out(std::vector<float>(kRows * kColumns, -9)) {}
  Halves x1, x2, out;
};
std::vector<float> SumOfProducts(uint32_t ranks) {
  std::vector<float> sum(kRows * kColumns, 0);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    AddTo(sum, Product(Of(rank, kRows * kInner), Of(rank + 1, kInner * kColumns), kInner, kColumns));
  }
  return sum;
}

void LaunchMatmulAllReduce(Rank& r, const Matrices& m, const std::string& name, aclrtStream stream) {
  const Tensor x1(m.x1.get(), {kRows, kInner}), x2(m.x2.get(), {kInner, kColumns}), out(m.out.get(), {kRows, kColumns});
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  RANK_OK(r,
          aclnnMatmulAllReduceGetWorkspaceSize(x1, x2, nullptr, name.c_str(), "sum", 0, 1, out, &workspace, &executor));
  RANK_OK(r, aclnnMatmulAllReduce(nullptr, workspace, executor, stream));
}

RANK_BODY(MatmulAllReduce) {
  const Matrices m(r);
  for (int i = 0; i < 20; ++i) LaunchMatmulAllReduce(r, m, NameOf(r.comm), r.stream);
  r.Sync();
  Expect(r, "MatmulAllReduce", m.out.Read(), SumOfProducts(r.ranks));
}

// Operators and HCCL's own calls meet in the order of issue, whatever streams they are on.
RANK_BODY(OrderOfIssue) {
  const Matrices m(r);
  const Values<float> one(std::vector<float>(8, 1)), sum(std::vector<float>(8, 0));
  aclrtStream other = nullptr;
  RANK_OK(r, aclrtCreateStream(&other));
  for (int i = 0; i < 20; ++i) {
    LaunchMatmulAllReduce(r, m, NameOf(r.comm), i % 2 == 0 ? r.stream : other);
    RANK_OK(r, HcclAllReduce(one.get(), sum.get(), 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm,
                             i % 2 == 0 ? other : r.stream));
  }
  RANK_OK(r, aclrtSynchronizeStream(other));
  r.Sync();
  Expect(r, "MatmulAllReduce", m.out.Read(), SumOfProducts(r.ranks));
  Expect(r, "HcclAllReduce", sum.Read(), std::vector<float>(8, static_cast<float>(r.ranks)));
  RANK_OK(r, aclrtDestroyStream(other));
}

RANK_BODY(Replay) {
  const Matrices m(r);
  aclmdlRI graph = nullptr;
  RANK_OK(r, aclmdlRICaptureBegin(r.stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  LaunchMatmulAllReduce(r, m, NameOf(r.comm), r.stream);
  RANK_OK(r, aclmdlRICaptureEnd(r.stream, &graph));
  Expect(r, "nothing ran yet", m.out.Read(), std::vector<float>(kRows * kColumns, -9));
  for (int i = 0; i < 3; ++i) RANK_OK(r, aclmdlRIExecuteAsync(graph, r.stream));
  r.Sync();
  Expect(r, "MatmulAllReduce in a graph", m.out.Read(), SumOfProducts(r.ranks));
  RANK_OK(r, aclmdlRIDestroy(graph));
}

RANK_BODY(UnknownGroup) {
  const Matrices m(r);
  const Tensor x1(m.x1.get(), {kRows, kInner}), x2(m.x2.get(), {kInner, kColumns}), out(m.out.get(), {kRows, kColumns});
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  acl_test::RecentMessage();
  if (aclnnMatmulAllReduceGetWorkspaceSize(x1, x2, nullptr, "nobody", "sum", 0, 1, out, &workspace, &executor) == 0) {
    r.Complain("a group that nobody knows was accepted");
  }
  const std::string text = acl_test::RecentMessage();
  const std::string known = "'" + NameOf(r.comm) + "' (" + std::to_string(r.ranks) + " ranks)";
  if (text.find("no group 'nobody'") == std::string::npos || text.find(known) == std::string::npos) r.Complain(text);
}

// One rank multiplies other sizes: everybody hears of it, and the process lives.
RANK_BODY(Disagreement) {
  const Matrices m(r);
  const int64_t rows = r.rank == 0 ? kRows : kRows - 1;
  const Tensor x1(m.x1.get(), {rows, kInner}), x2(m.x2.get(), {kInner, kColumns}), out(m.out.get(), {rows, kColumns});
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  RANK_OK(r, aclnnMatmulAllReduceGetWorkspaceSize(x1, x2, nullptr, NameOf(r.comm).c_str(), "sum", 0, 1, out, &workspace,
                                                  &executor));
  const int line = __LINE__ + 1;
  RANK_OK(r, aclnnMatmulAllReduce(nullptr, workspace, executor, r.stream));
  acl_test::RecentMessage();
  if (aclrtSynchronizeStream(r.stream) == 0) r.Complain("nobody minded");
  const std::string text = acl_test::RecentMessage();
  for (const std::string& said :
       {std::string("EI0005"), std::string("operation 0 (aclnnMatmulAllReduce)"), std::string("8 (rank 0)"),
        std::string("Rank 0 called aclnnMatmulAllReduce (its HcclAllReduce: 8 of ") + kHalfName + ", sum) at ",
        Line(line)}) {
    if (text.find(said) == std::string::npos) r.Complain("'" + said + "' is not in: " + text);
  }
}

RANK_BODY(GatherAndScatter) {
  const std::string name = NameOf(r.comm);
  const size_t rows = kRows * r.ranks;
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  const Halves part(Of(r.rank, kRows * kInner)), weight(Of(9, kInner * kColumns));
  const Halves gathered(std::vector<float>(rows * kInner, -9)), all(std::vector<float>(rows * kColumns, -9));
  {
    const Tensor x1(part.get(), {kRows, kInner}), x2(weight.get(), {kInner, kColumns});
    const Tensor out(all.get(), {static_cast<int64_t>(rows), kColumns}),
        seen(gathered.get(), {static_cast<int64_t>(rows), kInner});
    const int prepared =
        aclnnAllGatherMatmulGetWorkspaceSize(x1, x2, nullptr, name.c_str(), 0, 0, 1, out, seen, &workspace, &executor);
    if (!HasKernel(prepared)) return;
    RANK_OK(r, prepared);
    RANK_OK(r, aclnnAllGatherMatmul(nullptr, workspace, executor, r.stream));
  }
  r.Sync();
  std::vector<float> everybody;
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    for (const float value : Of(rank, kRows * kInner)) everybody.push_back(value);
  }
  Expect(r, "what was gathered", gathered.Read(), everybody);
  Expect(r, "AllGatherMatmul", all.Read(), Product(everybody, Of(9, kInner * kColumns), kInner, kColumns));
  const Halves whole(Of(r.rank, rows * kInner)), mine(std::vector<float>(kRows * kColumns, -9));
  {
    const Tensor x1(whole.get(), {static_cast<int64_t>(rows), kInner}), x2(weight.get(), {kInner, kColumns});
    const Tensor out(mine.get(), {kRows, kColumns});
    RANK_OK(r, aclnnMatmulReduceScatterGetWorkspaceSize(x1, x2, nullptr, name.c_str(), "sum", 0, 1, out, &workspace,
                                                        &executor));
    RANK_OK(r, aclnnMatmulReduceScatter(nullptr, workspace, executor, r.stream));
  }
  r.Sync();
  std::vector<float> sum(rows * kColumns, 0);
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    AddTo(sum, Product(Of(rank, rows * kInner), Of(9, kInner * kColumns), kInner, kColumns));
  }
  const auto first = sum.begin() + static_cast<ptrdiff_t>(r.rank * kRows * kColumns);
  Expect(r, "MatmulReduceScatter", mine.Read(), std::vector<float>(first, first + kRows * kColumns));
}

// A rank that ends leaves nobody waiting: all hear which one it was.
RANK_BODY(OneRankEnds) {
  if (r.rank + 1 == r.ranks) {
    if (getenv("TEST_BODY") != nullptr) _exit(0);  // a process; a thread leaves by ending its communicator
    return;
  }
  const Matrices m(r);
  LaunchMatmulAllReduce(r, m, NameOf(r.comm), r.stream);
  acl_test::RecentMessage();
  if (aclrtSynchronizeStream(r.stream) == 0) r.Complain("nobody minded");
  const std::string text = acl_test::RecentMessage();
  const std::string who = "rank " + std::to_string(r.ranks - 1);
  if (text.find("EI0002") == std::string::npos || text.find(who) == std::string::npos) r.Complain(text);
}

// The sum is added to what was there, and its rows are normed; in place the sum goes where that was.
RANK_BODY(AddAndNorm) {
  const Matrices m(r);
  const std::vector<float> before = Of(20 + r.rank, kRows * kColumns), weights = {2, 3};
  const Halves residual(before), gamma(weights), norm(std::vector<float>(kRows * kColumns, -9));
  const Tensor x1(m.x1.get(), {kRows, kInner}), x2(m.x2.get(), {kInner, kColumns}), y(m.out.get(), {kRows, kColumns});
  const Tensor tresidual(residual.get(), {kRows, kColumns}), tgamma(gamma.get(), {kColumns}),
      tnorm(norm.get(), {kRows, kColumns});
  const std::string name = NameOf(r.comm);
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  const int prepared = aclnnMatmulAllReduceAddRmsNormGetWorkspaceSize(
      x1, x2, nullptr, tresidual, tgamma, 0.0, name.c_str(), "sum", 0, 1, y, tnorm, &workspace, &executor);
  if (!HasKernel(prepared)) return;
  RANK_OK(r, prepared);
  RANK_OK(r, aclnnMatmulAllReduceAddRmsNorm(nullptr, workspace, executor, r.stream));
  r.Sync();
  std::vector<float> sum = SumOfProducts(r.ranks);
  AddTo(sum, before);
  Expect(r, "the sum", m.out.Read(), sum);
  const std::vector<float> normed = norm.Read();
  for (size_t row = 0; row < kRows; ++row) {
    const float a = sum[row * kColumns], b = sum[row * kColumns + 1];
    const float scale = 1 / std::sqrt((a * a + b * b) / 2);
    if (a == 0 && b == 0) continue;  // without an epsilon that has no norm
    const float wrong =
        std::abs(normed[row * kColumns] - a * scale * 2) + std::abs(normed[row * kColumns + 1] - b * scale * 3);
    if (!(wrong < 1e-2F))
      r.Complain("row " + std::to_string(row) + " of the norm is wrong by " + std::to_string(wrong));
  }
  RANK_OK(r, aclnnInplaceMatmulAllReduceAddRmsNormGetWorkspaceSize(
                 x1, x2, nullptr, tresidual, tgamma, 0.0, name.c_str(), "sum", 0, 1, tnorm, &workspace, &executor));
  RANK_OK(r, aclnnInplaceMatmulAllReduceAddRmsNorm(nullptr, workspace, executor, r.stream));
  r.Sync();
  Expect(r, "the sum in place", residual.Read(), sum);
}

// Halves of small whole numbers: the encoding of n for 0 <= n < 2048 by its exponent.
uint16_t Half(uint32_t n) {
  if (n == 0) return 0;
  uint32_t exponent = 0;
  while (n >> (exponent + 1) != 0) ++exponent;
  return static_cast<uint16_t>(((15 + exponent) << 10) | ((n << (10 - exponent)) & 0x3FF));
}

// Each token goes to two experts, which send it back as it is: weighted 1 and 2 it comes back threefold.
RANK_BODY(DispatchAndCombine) {
  constexpr int64_t kTokens = 3, kWidth = 4, kChosen = 2;
  const int64_t experts = 2 * r.ranks, room = kTokens * r.ranks * kChosen;
  const auto count = [](int64_t n) { return static_cast<size_t>(n); };
  std::vector<uint16_t> tokens, threefold;
  std::vector<int32_t> ids;
  std::vector<float> weights;
  for (int64_t i = 0; i < kTokens; ++i) {
    for (int64_t k = 0; k < kChosen; ++k) {
      ids.push_back(static_cast<int32_t>((r.rank + i * 3 + k) % experts));
      weights.push_back(static_cast<float>(k + 1));
    }
    for (int64_t j = 0; j < kWidth; ++j) {
      const auto value = static_cast<uint32_t>(r.rank * 50 + i * 10 + j);
      tokens.push_back(Half(value));
      threefold.push_back(Half(3 * value));
    }
  }
  const Values<uint16_t> x(tokens), expand(std::vector<uint16_t>(count(room * kWidth), 7)),
      back(std::vector<uint16_t>(tokens.size(), 7));
  const Values<int32_t> chosen(ids), idx(std::vector<int32_t>(ids.size(), 7)),
      ep(std::vector<int32_t>(count(experts), 7)), tp(std::vector<int32_t>(1, 7));
  const Values<int64_t> nums(std::vector<int64_t>(2, 7));
  const Values<float> scales(weights), dynamic(std::vector<float>(count(room), 7)),
      expanded(std::vector<float>(count(room), 7));
  const Tensor tx(x.get(), {kTokens, kWidth}, ACL_FLOAT16), tids(chosen.get(), {kTokens, kChosen}, ACL_INT32);
  const Tensor tscales(scales.get(), {kTokens, kChosen}, ACL_FLOAT), texpand(expand.get(), {room, kWidth}, ACL_FLOAT16);
  const Tensor tdynamic(dynamic.get(), {room}, ACL_FLOAT), tidx(idx.get(), {kTokens * kChosen}, ACL_INT32),
      tnums(nums.get(), {2}, ACL_INT64);
  const Tensor tep(ep.get(), {experts}, ACL_INT32), ttp(tp.get(), {1}, ACL_INT32),
      texpanded(expanded.get(), {room}, ACL_FLOAT);
  const Tensor tback(back.get(), {kTokens, kWidth}, ACL_FLOAT16);
  const std::string name = NameOf(r.comm);
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  const int prepared = aclnnMoeDistributeDispatchGetWorkspaceSize(
      tx, tids, nullptr, nullptr, tscales, name.c_str(), r.ranks, r.rank, experts, "", 0, 0, 0, 1, 0, 0, 0, 1, texpand,
      tdynamic, tidx, tnums, tep, ttp, texpanded, &workspace, &executor);
  if (!HasKernel(prepared)) return;
  RANK_OK(r, prepared);
  RANK_OK(r, aclnnMoeDistributeDispatch(nullptr, workspace, executor, r.stream));
  RANK_OK(r, aclnnMoeDistributeCombineGetWorkspaceSize(
                 texpand, tids, tidx, tep, tscales, ttp, nullptr, nullptr, nullptr, nullptr, texpanded, name.c_str(),
                 r.ranks, r.rank, experts, "", 0, 0, 0, 1, 0, 0, 0, 0, 0, tback, &workspace, &executor));
  RANK_OK(r, aclnnMoeDistributeCombine(nullptr, workspace, executor, r.stream));
  r.Sync();
  std::vector<int64_t> came(2, 0);
  for (int64_t rank = 0; rank < r.ranks; ++rank) {
    for (int64_t i = 0; i < kTokens * kChosen; ++i) {
      const int64_t expert = (rank + i / kChosen * 3 + i % kChosen) % experts;
      if (expert / 2 == r.rank) ++came[count(expert % 2)];
    }
  }
  Expect(r, "tokens for each expert", nums.Read(), came);
  Expect(r, "what came back", back.Read(), threefold);
}

MP_ROLE(rank) { return BeRank(); }

class GroupOperators : public ::testing::TestWithParam<std::string> {};

TEST_P(GroupOperators, AsThreads) {
  EXPECT_EQ(RunThreads(2, Bodies().at(GetParam())), "");
  EXPECT_EQ(RunThreads(4, Bodies().at(GetParam())), "");
}

TEST_P(GroupOperators, AsProcesses) { EXPECT_EQ(Complaints(RunProcesses(3, GetParam())), ""); }

INSTANTIATE_TEST_SUITE_P(Each, GroupOperators,
                         ::testing::Values("MatmulAllReduce", "OrderOfIssue", "Replay", "UnknownGroup", "Disagreement",
                                           "OneRankEnds", "GatherAndScatter", "AddAndNorm", "DispatchAndCombine"),
                         [](const auto& info) { return info.param; });

}  // namespace

MP_TEST_MAIN()

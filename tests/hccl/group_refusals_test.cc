// SPDX-License-Identifier: Apache-2.0
// What is wrong with a call of an operator of a group is said in its first phase, where it costs nothing: what fails
// while it runs costs the group its communicator, and all ranks hear of it.
#include <functional>

#include "aclnnop/aclnn_all_gather_matmul.h"
#include "aclnnop/aclnn_matmul_all_reduce.h"
#include "aclnnop/aclnn_matmul_reduce_scatter.h"
#include "aclnnop/aclnn_moe_distribute_combine.h"
#include "aclnnop/aclnn_moe_distribute_dispatch.h"
#include "tests/hccl/group_test.h"

namespace {

using namespace ranks_test;  // NOLINT
using namespace group_test;  // NOLINT

constexpr int64_t kRows = 4, kInner = 3, kColumns = 2;

std::vector<float> Ones(int64_t count) { return std::vector<float>(static_cast<size_t>(count), 1); }

// One call's first phase, which gives an executor where it says yes.
using Prepare = std::function<int(aclOpExecutor** out_executor)>;

void ExpectRefused(Rank& r, const char* what, const std::string& text, const Prepare& prepare) {
  acl_test::RecentMessage();
  aclOpExecutor* executor = nullptr;
  if (prepare(&executor) == 0) return r.Complain(std::string(what) + " was accepted");
  const std::string said = acl_test::RecentMessage();
  if (said.find(text) == std::string::npos) r.Complain(std::string(what) + ": '" + text + "' is not in: " + said);
}

// 3 tokens of 4 elements, each for 2 of 2 experts on each rank.
class Dispatch {
 public:
  struct Changes {
    int64_t ranks = 0, rank = 0, experts = 0, second_group = 0, quant_mode = 0, nums = 2;
  };
  explicit Dispatch(const Rank& r, int32_t first_id = 0)
      : ranks_(r.ranks),
        name_(NameOf(r.comm)),
        good_{r.ranks, r.rank, int64_t{2} * r.ranks, 0, 0, 2},
        ids_({first_id, 1, 0, 1, 0, 1}),
        ep_(std::vector<int32_t>(2 * ranks_, 7)) {}
  Changes good() const { return good_; }
  int Prepared(const Changes& is, aclOpExecutor** out_executor) const {
    const auto room = static_cast<int64_t>(ranks_ * 6), all = static_cast<int64_t>(2 * ranks_);
    const Tensor x(x_.get(), {3, 4}, ACL_FLOAT16), ids(ids_.get(), {3, 2}, ACL_INT32),
        expand(expand_.get(), {room, 4}, ACL_FLOAT16), scales(scales_.get(), {room}, ACL_FLOAT),
        idx(idx_.get(), {6}, ACL_INT32), nums(nums_.get(), {is.nums}, ACL_INT64), ep(ep_.get(), {all}, ACL_INT32),
        tp(tp_.get(), {1}, ACL_INT32), expanded(expanded_.get(), {room}, ACL_FLOAT);
    uint64_t workspace = 0;
    return aclnnMoeDistributeDispatchGetWorkspaceSize(
        x, ids, nullptr, nullptr, nullptr, name_.c_str(), is.ranks, is.rank, is.experts, "", is.second_group, 0, 0, 1,
        0, is.quant_mode, 0, 1, expand, scales, idx, nums, ep, tp, expanded, &workspace, out_executor);
  }

 private:
  const size_t ranks_;
  const std::string name_;
  const Changes good_;
  const Values<uint16_t> x_{std::vector<uint16_t>(12, 0x3C00)}, expand_{std::vector<uint16_t>(4 * 6 * 4, 7)};
  const Values<int32_t> ids_, idx_{std::vector<int32_t>(6, 7)}, ep_, tp_{std::vector<int32_t>(1, 7)};
  const Values<int64_t> nums_{std::vector<int64_t>(2, 7)};
  const Values<float> scales_{std::vector<float>(4 * 6, 7)}, expanded_{std::vector<float>(4 * 6, 7)};
};

int PrepareSum(Rank& r, const char* reduction, const Halves& x1, const Halves& x2, const Halves& out,
               aclOpExecutor** out_executor) {
  const Tensor a(x1.get(), {kRows, kInner}), b(x2.get(), {kInner, kColumns}), c(out.get(), {kRows, kColumns});
  uint64_t workspace = 0;
  return aclnnMatmulAllReduceGetWorkspaceSize(a, b, nullptr, NameOf(r.comm).c_str(), reduction, 0, 1, c, &workspace,
                                              out_executor);
}

// Nobody was told anything, so the group still works.
void ExpectUnspent(Rank& r) {
  const Halves x1(Ones(kRows * kInner)), x2(Ones(kInner * kColumns)), out(Ones(kRows * kColumns));
  aclOpExecutor* executor = nullptr;
  RANK_OK(r, PrepareSum(r, "sum", x1, x2, out, &executor));
  RANK_OK(r, aclnnMatmulAllReduce(nullptr, 0, executor, r.stream));
  r.Sync();
  Expect(r, "a sum afterwards", out.Read(), std::vector<float>(kRows * kColumns, static_cast<float>(kInner * r.ranks)));
}

RANK_BODY(Reductions) {
  const Halves x1(Ones(kRows * kInner)), x2(Ones(kInner * kColumns)), out(Ones(kRows * kColumns));
  for (const char* reduction : {"max", "median"}) {
    ExpectRefused(r, reduction, "only sum is supported",
                  [&](aclOpExecutor** made) { return PrepareSum(r, reduction, x1, x2, out, made); });
  }
  Expect(r, "what was not computed", out.Read(), Ones(kRows * kColumns));
  ExpectUnspent(r);
}

RANK_BODY(Products) {
  const auto rows = static_cast<int64_t>(kRows * r.ranks);
  const Halves part(Ones(kRows * kInner)), weight(Ones(kInner * kColumns)), all(Ones(rows * kColumns)),
      seen(Ones(rows * kInner));
  const std::string name = NameOf(r.comm);
  const auto gather = [&](int64_t index, int64_t inner, int64_t out_rows, aclOpExecutor** made) {
    const Tensor x1(part.get(), {kRows, kInner}), x2(weight.get(), {inner, kColumns}),
        out(all.get(), {out_rows, kColumns}), gathered(seen.get(), {rows, kInner});
    uint64_t workspace = 0;
    return aclnnAllGatherMatmulGetWorkspaceSize(x1, x2, nullptr, name.c_str(), index, 0, 1, out, gathered, &workspace,
                                                made);
  };
  aclOpExecutor* executor = nullptr;
  if (!HasKernel(gather(0, kInner, rows, &executor))) return;
  ExpectRefused(r, "another index", "gatherIndex is 1", [&](auto made) { return gather(1, kInner, rows, made); });
  ExpectRefused(r, "fewer rows of x2", "columns of 2", [&](auto made) { return gather(0, kInner - 1, rows, made); });
  ExpectRefused(r, "too few rows", "does not fill", [&](auto made) { return gather(0, kInner, rows - 1, made); });
  ExpectRefused(r, "rows for nobody", "cannot be shared evenly", [&](auto made) {
    const Tensor x1(seen.get(), {rows - 1, kInner}), x2(weight.get(), {kInner, kColumns}),
        out(all.get(), {kRows, kColumns});
    uint64_t workspace = 0;
    return aclnnMatmulReduceScatterGetWorkspaceSize(x1, x2, nullptr, name.c_str(), "sum", 0, 1, out, &workspace, made);
  });
  ExpectUnspent(r);
}

RANK_BODY(Experts) {
  const Dispatch dispatch(r);
  aclOpExecutor* executor = nullptr;
  if (!HasKernel(dispatch.Prepared(dispatch.good(), &executor))) return;
  const auto refused = [&](const char* what, const std::string& text,
                           const std::function<void(Dispatch::Changes*)>& change) {
    Dispatch::Changes is = dispatch.good();
    change(&is);
    ExpectRefused(r, what, text, [&](aclOpExecutor** made) { return dispatch.Prepared(is, made); });
  };
  refused("a second group", "tpWorldSize is 2", [](auto* is) { is->second_group = 2; });
  refused("another rank", "this is rank " + std::to_string(r.rank),
          [](auto* is) { is->rank = is->ranks - 1 - is->rank; });
  refused("more ranks", "were told", [](auto* is) { is->ranks += 1; });
  refused("an odd number of experts", "not shared evenly", [](auto* is) { is->experts += 1; });
  refused("an unknown mode", "quantMode is 7", [](auto* is) { is->quant_mode = 7; });
  refused("a mode for another type", "quantMode is 2", [](auto* is) { is->quant_mode = 2; });
  refused("room for one number", "expertTokenNums has room for 1", [](auto* is) { is->nums = 1; });
  ExpectUnspent(r);
}

// Only the tokens' values tell that rank 0 asks for an expert that nobody has: the others hear of it, and do not wait.
RANK_BODY(ValuesFailWhenTheyAreRead) {
  const Dispatch dispatch(r, r.rank == 0 ? 999 : 0);
  aclOpExecutor* executor = nullptr;
  const int prepared = dispatch.Prepared(dispatch.good(), &executor);
  if (!HasKernel(prepared)) return;
  RANK_OK(r, prepared);
  RANK_OK(r, aclnnMoeDistributeDispatch(nullptr, 0, executor, r.stream));
  acl_test::RecentMessage();
  if (aclrtSynchronizeStream(r.stream) == 0) r.Complain("nobody minded");
  const std::string text = acl_test::RecentMessage();
  const char* expected = r.rank == 0 ? "expertIds has 999" : "rank 0 has failed";
  if (text.find(expected) == std::string::npos) r.Complain(text);
}

MP_ROLE(rank) { return BeRank(); }

class GroupRefusals : public ::testing::TestWithParam<std::string> {};

TEST_P(GroupRefusals, CostNothing) {
  EXPECT_EQ(RunThreads(2, Bodies().at(GetParam())), "");
  EXPECT_EQ(Complaints(RunProcesses(2, GetParam())), "");
}

INSTANTIATE_TEST_SUITE_P(Each, GroupRefusals, ::testing::Values("Reductions", "Products", "Experts"),
                         [](const auto& info) { return info.param; });

TEST(GroupFailures, AreHeardOfByAllRanks) {
  EXPECT_EQ(RunThreads(4, Bodies().at("ValuesFailWhenTheyAreRead")), "");
  EXPECT_EQ(Complaints(RunProcesses(3, "ValuesFailWhenTheyAreRead")), "");
}

}  // namespace

MP_TEST_MAIN()

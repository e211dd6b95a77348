// SPDX-License-Identifier: Apache-2.0
// Which types each series of devices reduces, and how. Pages "HcclAllReduce" and "HcclReduceScatterV".
#include "tests/hccl/hccl_test.h"

namespace {

using namespace hccl_test;  // NOLINT

struct Row {
  const char* soc;
  // The types' numbers that are added up, multiplied, and compared; with one count, and with a list of counts.
  const char *sum, *prod, *extremes, *listed_sum, *listed_prod, *listed_extremes;
};
constexpr Row kRows[] = {
    {"Ascend910B1", "0 1 2 3 4 5 11", "0 2 3 4 5", "0 1 2 3 4 5 11", "0 1 2 3 4 11", "", "0 1 2 3 4 11"},
    {"Ascend910_9392", "0 1 2 3 4 5 11", "0 2 3 4 5", "0 1 2 3 4 5 11", "0 1 2 3 4 5 11", "", "0 1 2 3 4 5 11"},
    {"Ascend950", "0 1 2 3 4 5 6 10 11", "0 2 3 4 5 6 10", "0 1 2 3 4 5 6 10 11", "0 1 2 3 4 5 11", "0 2 3 4 5",
     "0 1 2 3 4 5 11"},
    {"Ascend310P3", "0 1 2 3 4", "0 2 3 4", "0 2 3 4", "1 3 4", "", ""},
    {"Ascend910A", "0 2 3 4 5", "0 2 3 4 5", "0 2 3 4 5", "", "", ""},
};

// The types that are taken, as `Row` has them. All others are refused by name.
class Tried {
 public:
  Tried() {
    EXPECT_EQ(aclrtCreateStream(&stream_), 0) << RecentMessage();
    EXPECT_EQ(device_, 0) << RecentMessage();
    HcclRootInfo root;
    HCCL_OK(HcclGetRootInfo(&root));
    HCCL_OK(HcclCommInitRootInfo(1, &root, 0, &comm_));
  }
  std::string Types(HcclReduceOp op, bool listed) {
    std::string taken;
    for (int type = 0; type <= 17; ++type) {
      const HcclResult result = Reduce(Beyond<HcclDataType>(type), op, listed);
      const std::string said = RecentMessage();
      if (result == HCCL_SUCCESS) {
        taken += (taken.empty() ? "" : " ") + std::to_string(type);
        continue;
      }
      EXPECT_EQ(result, HCCL_E_NOT_SUPPORT);
      EXPECT_NE(said.find("EI0003"), std::string::npos) << said;
      EXPECT_NE(said.find("Value " + std::to_string(type) + " for parameter dataType"), std::string::npos) << said;
    }
    EXPECT_EQ(aclrtSynchronizeStream(stream_), 0) << RecentMessage();
    return taken;
  }

 private:
  HcclResult Reduce(HcclDataType type, HcclReduceOp op, bool listed) {
    const uint64_t count = 2, begin = 0;
    if (!listed) return HcclAllReduce(send_.get(), receive_.get(), count, type, op, comm_, stream_);
    return HcclReduceScatterV(send_.get(), &count, &begin, receive_.get(), count, type, op, comm_, stream_);
  }

  const int device_ = aclInit(nullptr) + aclrtSetDevice(0);  // before what is allocated on it
  aclrtStream stream_ = nullptr;
  HcclComm comm_ = nullptr;
  Floats send_{std::vector<float>(8, 1)}, receive_{std::vector<float>(8, 0)};
};

MP_ROLE(tries) {
  const Row& row = kRows[std::stoul(getenv("TEST_ROW"))];
  Tried tried;
  EXPECT_EQ(tried.Types(HCCL_REDUCE_SUM, false), row.sum);
  EXPECT_EQ(tried.Types(HCCL_REDUCE_PROD, false), row.prod);
  EXPECT_EQ(tried.Types(HCCL_REDUCE_MAX, false), row.extremes);
  EXPECT_EQ(tried.Types(HCCL_REDUCE_MIN, false), row.extremes);
  EXPECT_EQ(tried.Types(HCCL_REDUCE_SUM, true), row.listed_sum);
  EXPECT_EQ(tried.Types(HCCL_REDUCE_PROD, true), row.listed_prod);
  EXPECT_EQ(tried.Types(HCCL_REDUCE_MAX, true), row.listed_extremes);
  EXPECT_EQ(tried.Types(HCCL_REDUCE_MIN, true), row.listed_extremes);
  return ::testing::Test::HasFailure() ? 3 : 0;
}

TEST(Reductions, TakeTheTypesThatTheSeriesIsDocumentedFor) {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    acl_test::ExpectRole("tries", {{"MILLPOND_SOC", kRows[i].soc}, {"TEST_ROW", std::to_string(i)}});
  }
}

}  // namespace

MP_TEST_MAIN()

// SPDX-License-Identifier: Apache-2.0
// What is refused where it is asked for, before other ranks hear of it: buffers that overlap, messages of a rank to
// itself that do not fit, rank tables that cannot be read. The communicator is as good as before.
#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;
constexpr size_t kCount = 8;  // elements of each rank

void ExpectRefused(Rank& r, const char* what, const char* text, int result) {
  const std::string said = acl_test::RecentMessage();
  if (result == 0) r.Complain(std::string(what) + " was accepted");
  if (said.find(text) == std::string::npos) r.Complain(std::string(what) + ": '" + text + "' is not in: " + said);
}

// Nobody was told of anything, so all ranks still agree.
void ExpectUnspent(Rank& r, const Values<float>& buffer) {
  RANK_OK(r, HcclAllReduce(buffer.get(), buffer.get(), 1, kFloat, HCCL_REDUCE_MAX, r.comm, r.stream));
  r.Sync();
}

RANK_BODY(Overlaps) {
  const size_t all = kCount * r.ranks;
  const Values<float> buffer(std::vector<float>(2 * all + 1, 1));
  float* const from = buffer.get();
  float* const to = from + 1;
  const std::vector<uint64_t> counts(r.ranks, kCount);
  std::vector<uint64_t> places(r.ranks);
  for (uint32_t i = 0; i < r.ranks; ++i) places[i] = i * kCount;
  const auto refused = [&](const char* what, int result) { ExpectRefused(r, what, "overlap", result); };
  refused("AllReduce", HcclAllReduce(from, to, kCount, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  refused("ReduceScatter", HcclReduceScatter(from, to, kCount, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  refused("AllGather", HcclAllGather(to, from, kCount, kFloat, r.comm, r.stream));
  refused("AlltoAll", HcclAlltoAll(from, kCount, kFloat, to, kCount, kFloat, r.comm, r.stream));
  refused("AlltoAllV", HcclAlltoAllV(from, counts.data(), places.data(), kFloat, to, counts.data(), places.data(),
                                     kFloat, r.comm, r.stream));
  // Only who touches both buffers of these can be wrong.
  if (r.rank == 0) {
    refused("Reduce", HcclReduce(from, to, kCount, kFloat, HCCL_REDUCE_SUM, 0, r.comm, r.stream));
    refused("Scatter", HcclScatter(from, to, kCount, kFloat, 0, r.comm, r.stream));
  }
  ExpectUnspent(r, buffer);
}

// Each part is sent from where it is written, or the two lie in one buffer and apart.
RANK_BODY(InPlace) {
  const size_t all = kCount * r.ranks;
  const auto own = static_cast<float>(r.rank + 1);
  const float sum = static_cast<float>(r.ranks * (r.ranks + 1)) / 2;
  const Values<float> whole(std::vector<float>(all, own)), parts(std::vector<float>(all, own)),
      both(std::vector<float>(2 * all, own));
  RANK_OK(r, HcclAllReduce(whole.get(), whole.get(), all, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  RANK_OK(r, HcclAllGather(parts.get() + r.rank * kCount, parts.get(), kCount, kFloat, r.comm, r.stream));
  RANK_OK(r, HcclAlltoAll(both.get(), kCount, kFloat, both.get() + all, kCount, kFloat, r.comm, r.stream));
  r.Sync();
  Expect(r, "AllReduce", whole.Read(), std::vector<float>(all, sum));
  const std::vector<float> gathered = parts.Read(), exchanged = both.Read();
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    const auto value = static_cast<float>(rank + 1);
    if (gathered[rank * kCount] != value) r.Complain("AllGather in place");
    if (exchanged[all + rank * kCount] != value) r.Complain("AlltoAll within one buffer");
  }
}

RANK_BODY(ToItself) {
  const Values<float> from(std::vector<float>(kCount, 1)), to(std::vector<float>(kCount, 0));
  const auto batch = [&](uint64_t count, HcclDataType type) {
    HcclSendRecvItem items[] = {{HCCL_SEND, from.get(), kCount, kFloat, r.rank},
                                {HCCL_RECV, to.get(), count, type, r.rank}};
    return HcclBatchSendRecv(items, 2, r.comm, r.stream);
  };
  ExpectRefused(r, "another type", "fp32 and int32", batch(kCount, HCCL_DATA_TYPE_INT32));
  ExpectRefused(r, "another size", "32 and 28 bytes", batch(kCount - 1, kFloat));
  RANK_OK(r, batch(kCount, kFloat));
  r.Sync();
  Expect(r, "what a rank sent itself", to.Read(), std::vector<float>(kCount, 1));
  ExpectUnspent(r, to);
}

MP_ROLE(rank) { return BeRank(); }

class RefusedOperations : public ::testing::TestWithParam<std::string> {};

TEST_P(RefusedOperations, CostNothing) {
  EXPECT_EQ(RunThreads(3, Bodies().at(GetParam())), "");
  EXPECT_EQ(Complaints(RunProcesses(2, GetParam())), "");
}

INSTANTIATE_TEST_SUITE_P(Each, RefusedOperations, ::testing::Values("Overlaps", "InPlace", "ToItself"),
                         [](const auto& info) { return info.param; });

struct BadTable {
  const char* name;
  const char* text;
  const char* code;
};
class RankTables : public ::testing::TestWithParam<BadTable> {};

TEST_P(RankTables, SayWhatIsWrongWithThem) {
  ACL_OK(aclInit(nullptr));
  ACL_OK(aclrtSetDevice(0));
  const TemporaryFolder folder;
  const std::string text = GetParam().text;
  WriteFile(folder / "table", text.data(), text.size());
  HcclComm comm = nullptr;
  acl_test::RecentMessage();
  EXPECT_NE(HcclCommInitClusterInfo((folder / "table").c_str(), 0, &comm), HCCL_SUCCESS);
  const std::string said = acl_test::RecentMessage();
  EXPECT_NE(said.find(GetParam().code), std::string::npos) << said;
  EXPECT_NE(said.find("table"), std::string::npos) << said;
  ACL_OK(aclFinalize());
}

INSTANTIATE_TEST_SUITE_P(
    Each, RankTables,
    ::testing::Values(
        BadTable{"NotJson", "ranks: 0, 1", "EI0004"}, BadTable{"NoObject", "[1, 2]", "EI0004"},
        BadTable{"NotCompleted", R"({"version": "1.0", "status": "initializing", "server_count": "1", "server_list": [
            {"server_id": "10.0.0.1", "device": [{"device_id": "0", "rank_id": "0"}]}]})",
                 "EI0014"},
        BadTable{"NoSuchRank", R"({"version": "1.0", "status": "completed", "server_count": "1", "server_list": [
            {"server_id": "10.0.0.1", "device": [{"device_id": "0", "rank_id": "1"}]}]})",
                 "EI0014"},
        BadTable{"NoSuchRankInAList", R"({"version": "2.0", "status": "completed", "rank_count": 2, "rank_list": [
            {"rank_id": 0, "device_id": 0}, {"rank_id": 2, "device_id": 1}]})",
                 "EI0014"},
        BadTable{"ARankTwiceInAList", R"({"version": "2.0", "status": "completed", "rank_count": 2, "rank_list": [
            {"rank_id": 0, "device_id": 0}, {"rank_id": 0, "device_id": 1}]})",
                 "EI0014"},
        BadTable{"AnotherCount", R"({"version": "2.0", "status": "completed", "rank_count": 3, "rank_list": [
            {"rank_id": 0, "device_id": 0}, {"rank_id": 1, "device_id": 1}]})",
                 "EI0014"},
        BadTable{"NoServers", R"({"version": "1.0", "status": "completed"})", "EI0017"},
        BadTable{"NoDevices", R"({"version": "1.0", "status": "completed", "server_count": "1", "server_list": [
            {"server_id": "10.0.0.1"}]})",
                 "EI0017"}),
    [](const auto& info) { return info.param.name; });

}  // namespace

MP_TEST_MAIN()

// SPDX-License-Identifier: Apache-2.0
// Memory of other ranks: symmetric windows, exchanged windows, one-sided transfers. And communicators that are
// suspended, aborted and resumed, asked by name, and told of.
#include "hccl/hccl_one_sided_services.h"
#include "hccl/hcom.h"
#include "tests/hccl/ranks_test.h"

// Without a header: clients look them up.
extern "C" HcclResult HcomExecInitialize(void);
extern "C" HcclResult HcomExecEnqueueOperation(void);
extern "C" HcclResult HcomExecEnqueueAllToAllV(void);
extern "C" HcclResult HcomExecFinalize(void);

namespace {

using namespace ranks_test;  // NOLINT

// Symmetric windows are the A3's.
struct Series {
  Series() { setenv("MILLPOND_SOC", "Ascend910_9392", 1); }
};
const Series g_series;

constexpr HcclDataType kInt = HCCL_DATA_TYPE_INT32;
constexpr size_t kWords = 1024;

// The failure of a call, which must have all of these texts.
void Fails(Rank& r, int result, HcclResult expected, std::initializer_list<const char*> texts) {
  const std::string message = acl_test::RecentMessage();
  if (result != expected) r.Complain("the result is " + std::to_string(result) + ": " + message);
  for (const char* text : texts) {
    if (message.find(text) == std::string::npos) r.Complain(std::string("'") + text + "' is not in: " + message);
  }
}

void Put(Rank& r, void* to, const std::vector<int32_t>& values) {
  RANK_OK(r, aclrtMemcpy(to, values.size() * 4, values.data(), values.size() * 4, ACL_MEMCPY_HOST_TO_DEVICE));
}
std::vector<int32_t> Get(Rank& r, const void* from, size_t count) {
  std::vector<int32_t> values(count);
  RANK_OK(r, aclrtMemcpy(values.data(), count * 4, from, count * 4, ACL_MEMCPY_DEVICE_TO_HOST));
  return values;
}
std::vector<int32_t> Of(uint32_t rank) {
  std::vector<int32_t> values(kWords);
  for (size_t i = 0; i < kWords; ++i) values[i] = static_cast<int32_t>(rank * 100000 + i);
  return values;
}
void Barrier(Rank& r) {
  RANK_OK(r, HcclBarrier(r.comm, r.stream));
  r.Sync();
}

// Each rank writes a word into every other rank's part, and reads the neighbour's part as it is.
RANK_BODY(Windows) {
  void* memory = nullptr;
  RANK_OK(r, HcommMemAlloc(&memory, kWords * 4));
  Put(r, memory, Of(r.rank));
  HcclCommSymWindow window = nullptr;
  RANK_OK(r, HcclCommSymWinRegister(r.comm, memory, kWords * 4, &window, HCCL_WIN_COLL_SYMMETRIC));
  if (window == nullptr) return;
  HcclCommSymWindow found = nullptr;
  size_t offset = 0;
  RANK_OK(r, HcclCommSymWinGet(r.comm, static_cast<char*>(memory) + 40, 16, &found, &offset));
  if (found != window || offset != 40) r.Complain("the window of an address is another");
  Fails(r, HcclCommSymWinGet(r.comm, static_cast<char*>(memory) + 40, kWords * 4, &found, &offset), HCCL_E_PARA,
        {"no symmetric window"});
  Barrier(r);
  const uint32_t next = (r.rank + 1) % r.ranks;
  void* there = nullptr;
  RANK_OK(r, HcclSymWinGetPeerPointer(window, 0, next, &there));
  Expect(r, "the neighbour's part", Get(r, there, kWords), Of(next));
  Fails(r, HcclSymWinGetPeerPointer(window, 0, r.ranks, &there), HCCL_E_PARA, {"peerRank"});
  Fails(r, HcclSymWinGetPeerPointer(window, kWords * 4, 0, &there), HCCL_E_PARA, {"offset"});
  Barrier(r);
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    RANK_OK(r, HcclSymWinGetPeerPointer(window, r.rank * 4, rank, &there));
    Put(r, there, {static_cast<int32_t>(r.rank) + 7});
  }
  Barrier(r);
  std::vector<int32_t> expected = Of(r.rank);
  for (uint32_t rank = 0; rank < r.ranks; ++rank) expected[rank] = static_cast<int32_t>(rank) + 7;
  Expect(r, "what the others wrote", Get(r, memory, kWords), expected);
  // Collectives work on it as on any memory.
  char* const half = static_cast<char*>(memory) + kWords * 2;
  RANK_OK(r, HcclAllReduce(memory, half, 8, kInt, HCCL_REDUCE_SUM, r.comm, r.stream));
  Barrier(r);
  RANK_OK(r, HcclCommSymWinDeregister(window));
  Fails(r, HcclCommSymWinDeregister(window), HCCL_E_PARA, {"winHandle"});
  RANK_OK(r, HcommMemFree(memory));
  Fails(r, HcommMemFree(memory), HCCL_E_PARA, {"HcommMemAlloc"});
}

RANK_BODY(WindowsThatDiffer) {
  void* memory = nullptr;
  RANK_OK(r, HcommMemAlloc(&memory, kWords * 4));
  HcclCommSymWindow window = nullptr;
  Fails(r, HcclCommSymWinRegister(r.comm, memory, r.rank == 0 ? 64 : 128, &window, HCCL_WIN_COLL_SYMMETRIC),
        HCCL_E_PARA, {"EI0005", "64", "128"});
  Fails(r, HcclCommSymWinRegister(r.comm, memory, 64, &window, 0), HCCL_E_PARA, {"flag"});
  Fails(r, HcclCommSymWinRegister(r.comm, memory, uint64_t{17} << 30, &window, HCCL_WIN_COLL_SYMMETRIC), HCCL_E_PARA,
        {"hcclSymWinMaxMemSizePerRank"});
  const Values<int32_t> block(Of(0));
  Fails(r, HcclCommSymWinRegister(r.comm, block.get(), 64, &window, HCCL_WIN_COLL_SYMMETRIC), HCCL_E_PARA,
        {"HcommMemAlloc"});
  Barrier(r);
  RANK_OK(r, HcommMemFree(memory));
}

RANK_BODY(Exchanged) {
  const Values<int32_t> block(Of(r.rank));
  void* handle = nullptr;
  RANK_OK(r, HcclCommRegister(r.comm, block.get(), kWords * 4, &handle, 0));
  std::vector<uint32_t> peers;
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    if (rank != r.rank) peers.push_back(rank);
  }
  RANK_OK(r, HcclCommExchangeMem(r.comm, handle, peers.data(), static_cast<uint32_t>(peers.size())));
  uint32_t self = r.rank;
  Fails(r, HcclCommExchangeMem(r.comm, handle, &self, 1), HCCL_E_PARA, {"another rank"});
  Barrier(r);
  RANK_OK(r, HcclCommDeregister(r.comm, handle));
}

// Every rank puts its own number into its place of every other rank's memory, and gets what the neighbour has.
RANK_BODY(OneSided) {
  const Values<int32_t> table(std::vector<int32_t>(r.ranks, -1)), source({static_cast<int32_t>(r.rank) + 50}),
      fetched(std::vector<int32_t>(100, -1));
  CommMem memory = {COMM_MEM_TYPE_DEVICE, table.get(), r.ranks * 4};
  void* handle = nullptr;
  RANK_OK(r, HcclRegisterGlobalMem(&memory, &handle));
  RANK_OK(r, HcclCommBindMem(r.comm, handle));
  Fails(r, HcclCommBindMem(r.comm, handle), HCCL_E_PARA, {"bound to this communicator already"});
  HcclPrepareConfig config = {HCCL_TOPO_FULLMESH, 0, 0, 0};
  RANK_OK(r, HcclCommPrepare(r.comm, &config, 30));
  // Where each rank's table is, the program tells by itself, as programs do.
  const Values<int64_t> own({static_cast<int64_t>(reinterpret_cast<uintptr_t>(table.get()))}),
      all(std::vector<int64_t>(r.ranks, 0));
  RANK_OK(r, HcclAllGather(own.get(), all.get(), 1, HCCL_DATA_TYPE_INT64, r.comm, r.stream));
  r.Sync();
  const std::vector<int64_t> tables = all.Read();
  const auto at = [&](uint32_t rank, uint32_t place) {
    return reinterpret_cast<int32_t*>(tables[rank]) + place;
  };  // NOLINT
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    if (rank == r.rank) continue;
    HcclOneSideOpDesc put = {source.get(), at(rank, r.rank), 1, kInt};
    RANK_OK(r, HcclBatchPut(r.comm, rank, &put, 1, r.stream));
  }
  Barrier(r);
  std::vector<int32_t> expected(r.ranks);
  for (uint32_t rank = 0; rank < r.ranks; ++rank)
    expected[rank] = rank == r.rank ? -1 : static_cast<int32_t>(rank) + 50;
  Expect(r, "what was put", table.Read(), expected);
  const uint32_t next = (r.rank + 1) % r.ranks;
  HcclOneSideOpDesc get = {fetched.get(), at(next, r.rank), 1, kInt};
  RANK_OK(r, HcclBatchGet(r.comm, next, &get, 1, r.stream));
  r.Sync();
  if (fetched.Read()[0] != static_cast<int32_t>(r.rank) + 50) r.Complain("what was got is something else");
  get.count = 100;
  Fails(r, HcclBatchGet(r.comm, next, &get, 1, r.stream), HCCL_E_PARA, {"was told of", "bytes)"});
  Fails(r, HcclDeregisterGlobalMem(handle), HCCL_E_PARA, {"HcclCommUnbindMem"});
  Barrier(r);
  RANK_OK(r, HcclCommUnbindMem(r.comm, handle));
  RANK_OK(r, HcclDeregisterGlobalMem(handle));
}

// The same by descriptions of two ranks.
RANK_BODY(Described) {
  if (r.rank > 1) return Barrier(r);
  const uint32_t other = 1 - r.rank;
  const Values<int32_t> block(Of(r.rank)), copy(std::vector<int32_t>(kWords, -1));
  HcclMemDesc mine{}, came[2] = {};
  RANK_OK(r, HcclRegisterMem(r.comm, other, COMM_MEM_TYPE_DEVICE, block.get(), kWords * 4, &mine));
  HcclMemDescs local = {&mine, 1}, remote = {came, 2};
  uint32_t count = 0;
  RANK_OK(r, HcclExchangeMemDesc(r.comm, other, &local, 0, &remote, &count));
  if (count != 1) r.Complain("there came " + std::to_string(count));
  CommMem there{};
  RANK_OK(r, HcclEnableMemAccess(r.comm, &came[0], &there));
  if (there.size != kWords * 4) r.Complain("its size is " + std::to_string(there.size));
  HcclOneSideOpDesc get = {copy.get(), there.addr, kWords, kInt};
  RANK_OK(r, HcclBatchGet(r.comm, other, &get, 1, r.stream));
  r.Sync();
  Expect(r, "the other's block", copy.Read(), Of(other));
  RANK_OK(r, HcclDisableMemAccess(r.comm, &came[0]));
  Fails(r, HcclBatchGet(r.comm, other, &get, 1, r.stream), HCCL_E_PARA, {"there is: none"});
  HcclMemDesc garbage{};
  Fails(r, HcclEnableMemAccess(r.comm, &garbage, &there), HCCL_E_PARA, {"HcclRegisterMem"});
  Barrier(r);
  RANK_OK(r, HcclDeregisterMem(r.comm, &mine));
}

// Rank 0's operation waits for the others, which do not come, and is aborted. All resume: the handle works again.
RANK_BODY(Resumed) {
  static std::atomic<int> told;
  RANK_OK(r, HcclCommRegCommStateCallback(
                 "test",
                 [](HcclComm, HcclCommStatePhase, void* args) {
                   ++*static_cast<std::atomic<int>*>(args);
                   return HCCL_SUCCESS;
                 },
                 &told));
  const Values<int32_t> one(std::vector<int32_t>(8, 1)), sum(std::vector<int32_t>(8, 0));
  RANK_OK(r, HcclAllReduce(one.get(), sum.get(), 8, kInt, HCCL_REDUCE_SUM, r.comm, r.stream));
  r.Sync();
  // Others know of rank 0's abort by its second communicator, as jobs do by their own means.
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::vector<uint32_t> all(r.ranks);
  std::iota(all.begin(), all.end(), 0);
  HcclComm control = nullptr;
  RANK_OK(r, HcclCreateSubCommConfig(&r.comm, r.ranks, all.data(), 1, r.rank, &config, &control));
  if (r.rank == 0) {
    RANK_OK(r, HcclAllReduce(one.get(), sum.get(), 8, kInt, HCCL_REDUCE_SUM, r.comm, r.stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    RANK_OK(r, HcclCommSuspend(r.comm));
    Fails(r, HcclBarrier(r.comm, r.stream), HCCL_E_SUSPENDING, {"HcclCommResume"});
    RANK_OK(r, aclrtDeviceTaskAbort(0, 1000));
    aclrtSynchronizeStream(r.stream);  // says that it was aborted
    acl_test::RecentMessage();
  }
  RANK_OK(r, HcclBarrier(control, r.stream));
  r.Sync();
  if (getenv("MILLPOND_RANK_HOST") != nullptr) {  // the way between hosts has gone with the failure
    Fails(r, HcclCommResume(r.comm), HCCL_E_REMOTE, {"EI0002", "several hosts"});
    RANK_OK(r, HcclCommDestroy(control));
    return;
  }
  RANK_OK(r, HcclCommResume(r.comm));
  HcclResult error = HCCL_E_RESERVED;
  RANK_OK(r, HcclGetCommAsyncError(r.comm, &error));
  if (error != HCCL_SUCCESS) r.Complain("HcclGetCommAsyncError says " + std::to_string(error));
  RANK_OK(r, HcclAllReduce(one.get(), sum.get(), 8, kInt, HCCL_REDUCE_SUM, r.comm, r.stream));
  r.Sync();
  Expect(r, "after resuming", sum.Read(), std::vector<int32_t>(8, static_cast<int32_t>(r.ranks)));
  RANK_OK(r, HcclCommDestroy(control));
  if (told < 2) r.Complain("the callback was not told");
}

RANK_BODY(AskedByName) {
  char name[128] = {};
  RANK_OK(r, HcclGetCommName(r.comm, name));
  HcclComm found = nullptr;
  RANK_OK(r, HcclCommGetHandleWithName(name, &found));
  if (found != r.comm) r.Complain("the handle of the name is another");
  Fails(r, HcclCommGetHandleWithName("nobody", &found), HCCL_E_PARA, {"nobody", name});
  HcclCommStatus status = HCCL_COMM_STATUS_INVALID;
  RANK_OK(r, HcclCommGetStatus(name, &status));
  if (status != HCCL_COMM_STATUS_READY) r.Complain("it is not ready");
  RANK_OK(r, HcclCommSuspend(r.comm));
  RANK_OK(r, HcclCommGetStatus(name, &status));
  if (status != HCCL_COMM_STATUS_SUSPENDING) r.Complain("it is not suspended");
  RANK_OK(r, HcclCommResume(r.comm));
  uint32_t rank = 99, size = 99, local = 99, locals = 99, world = 99;
  RANK_OK(r, HcomGetRankId(name, &rank));
  RANK_OK(r, HcomGetRankSize(name, &size));
  RANK_OK(r, HcomGetLocalRankId(name, &local));
  RANK_OK(r, HcomGetLocalRankSize(name, &locals));
  RANK_OK(r, HcomGetWorldRankFromGroupRank(name, 1, &world));
  if (rank != r.rank || size != r.ranks || local != r.rank || locals != r.ranks || world != 1) {
    r.Complain("Hcom tells other numbers");
  }
  HcclOpExpansionMode mode = HCCL_OP_EXPANSION_MODE_INVALID;
  RANK_OK(r, HcclConfigGetInfo(r.comm, HCCL_CONFIG_TYPE_OP_EXPANSION_MODE, sizeof(mode), &mode));
  if (mode != HCCL_OP_EXPANSION_MODE_AI_CPU) r.Complain("its mode is " + std::to_string(mode));
  bool open = true;
  RANK_OK(r, HcclGroupStatusGet(&open));
  if (open) r.Complain("a group is open");
  RANK_OK(r, HcclGroupStart());
  RANK_OK(r, HcclGroupStatusGet(&open));
  if (!open) r.Complain("no group is open");
  RANK_OK(r, HcclGroupEnd());
  Barrier(r);
}

MP_ROLE(rank) { return BeRank(); }

class RemoteMemory : public ::testing::TestWithParam<std::string> {};
TEST_P(RemoteMemory, AsThreads) { EXPECT_EQ(RunThreads(3, Bodies().at(GetParam())), ""); }
TEST_P(RemoteMemory, AsProcesses) { EXPECT_EQ(Complaints(RunProcesses(3, GetParam())), ""); }
INSTANTIATE_TEST_SUITE_P(Each, RemoteMemory,
                         ::testing::Values("Windows", "WindowsThatDiffer", "Exchanged", "OneSided", "Described",
                                           "AskedByName"),
                         [](const auto& info) { return info.param; });

// Two threads of one process among the ranks: both map what the third has.
TEST(RemoteMemoryMixed, ThreadsAndProcesses) {
  for (const char* body : {"Windows", "OneSided"}) EXPECT_EQ(Complaints(RunMixed({"0", "1,2"}, body)), "");
}

TEST(Resume, MakesAbortedCommunicatorsUsableAgain) { EXPECT_EQ(Complaints(RunProcesses(2, "Resumed")), ""); }
TEST(Resume, IsRefusedByNameBetweenHosts) { EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}}, "Resumed")), ""); }

// What is on another host cannot be mapped, and everybody is told.
RANK_BODY(FarWindows) {
  void* memory = nullptr;
  RANK_OK(r, HcommMemAlloc(&memory, kWords * 4));
  HcclCommSymWindow window = nullptr;
  const HcclResult result = HcclCommSymWinRegister(r.comm, memory, 64, &window, HCCL_WIN_COLL_SYMMETRIC);
  if (result == HCCL_SUCCESS) r.Complain("a window over two hosts was made");
  if (acl_test::RecentMessage().find("on another host") == std::string::npos) r.Complain("and nothing was said");
  Barrier(r);
  RANK_OK(r, HcommMemFree(memory));
}
TEST(RemoteMemoryHosts, AreRefusedByName) { EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}}, "FarWindows")), ""); }

// All ranks of a rank table, and parts of them by name.
MP_ROLE(hcom) {
  ROLE_CHECK(aclInit(nullptr) == 0 && aclrtSetDevice(0) == 0);
  const char* const own = getenv("TEST_RANK");
  ROLE_CHECK(HcomInitByFile(getenv("TEST_TABLE"), "one") == HCCL_E_PARA);
  ROLE_CHECK(HcomInitByFile(getenv("TEST_TABLE"), own) == HCCL_SUCCESS);
  uint32_t rank = 0, size = 0, members[] = {2, 0}, place = 9, world = 9;
  ROLE_CHECK(HcomGetRankId(nullptr, &rank) == HCCL_SUCCESS && rank == static_cast<uint32_t>(atoi(own)));
  ROLE_CHECK(HcomGetRankSize("hccl_world_group", &size) == HCCL_SUCCESS && size == 3);
  if (rank == 1) {
    ROLE_CHECK(HcomCreateGroup("ends", 2, members) == HCCL_E_PARA);
    ROLE_CHECK(HcomGetRankSize("ends", &size) == HCCL_E_PARA);
  } else {
    ROLE_CHECK(HcomCreateGroup("ends", 2, members) == HCCL_SUCCESS);
    ROLE_CHECK(HcomGetRankId("ends", &place) == HCCL_SUCCESS && place == (rank == 2 ? 0U : 1U));
    ROLE_CHECK(HcomGetWorldRankFromGroupRank("ends", 0, &world) == HCCL_SUCCESS && world == 2);
    ROLE_CHECK(HcomGetGroupRankFromWorldRank(0, "ends", &place) == HCCL_SUCCESS && place == 1);
    ROLE_CHECK(HcomGetGroupRankFromWorldRank(1, "ends", &place) == HCCL_E_PARA);
    if (rank == 2) ROLE_CHECK(HcomDestroyGroup("ends") == HCCL_SUCCESS);
  }
  ROLE_CHECK(HcomDestroy() == HCCL_SUCCESS);
  ROLE_CHECK(HcomGetRankId(nullptr, &rank) == HCCL_E_PARA);
  return 0;
}

TEST(Hcom, NamesTheRanksOfATable) {
  const std::string text = R"({"version": "1.0", "status": "completed", "server_count": "1", "server_list": [
      {"server_id": "10.0.0.2", "device": [{"device_id": "0", "rank_id": "0"}, {"device_id": "1", "rank_id": "1"},
       {"device_id": "2", "rank_id": "2"}]}]})";
  ExpectThreeRoles("hcom", text);
}

TEST(Hcom, RefusesTheExecutorByName) {
  EXPECT_EQ(HcomExecInitialize(), HCCL_E_NOT_SUPPORT);
  EXPECT_NE(acl_test::RecentMessage().find("HcomExecInitialize"), std::string::npos);
  EXPECT_EQ(HcomExecEnqueueOperation(), HCCL_E_NOT_SUPPORT);
  EXPECT_EQ(HcomExecEnqueueAllToAllV(), HCCL_E_NOT_SUPPORT);
  EXPECT_NE(acl_test::RecentMessage().find("HcomExecEnqueueAllToAllV"), std::string::npos);
  EXPECT_EQ(HcomExecFinalize(), HCCL_E_NOT_SUPPORT);
}

}  // namespace

MP_TEST_MAIN()

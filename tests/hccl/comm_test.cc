// SPDX-License-Identifier: Apache-2.0
// Communicators: how they are made, named, refused and ended.
#include <unistd.h>

#include "tests/hccl/hccl_test.h"

namespace {

using namespace hccl_test;  // NOLINT

std::string NameOf(HcclComm comm) {
  char name[COMM_NAME_MAX_LENGTH] = {};
  HCCL_OK(HcclGetCommName(comm, name));
  return name;
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    const int file = mkstemp(path_.data());
    EXPECT_GE(file, 0);
    EXPECT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(file);
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_ = ::testing::TempDir() + "mp_ranktable_XXXXXX";
};

constexpr char kOneRank[] =
    R"({"version": "1.0", "status": "completed", "server_count": "1",
        "server_list": [{"server_id": "127.0.0.1", "device": [{"device_id": "0", "rank_id": "0"}]}]})";
// On two servers.
constexpr char kTwoRanks[] = R"({"server_list": [{"device": [{"rank_id": "0"}]}, {"device": [{"rank_id": "1"}]}]})";

TEST_F(HcclTest, OneRankKnowsItselfAndItsSize) {
  uint32_t size = 99, rank = 99;
  HCCL_OK(HcclGetRankSize(comm_, &size));
  HCCL_OK(HcclGetRankId(comm_, &rank));
  EXPECT_EQ(size, 1u);
  EXPECT_EQ(rank, 0u);
  HcclResult async = HCCL_E_RESERVED;
  HCCL_OK(HcclGetCommAsyncError(comm_, &async));
  EXPECT_EQ(async, HCCL_SUCCESS);
}

TEST_F(HcclTest, ServersWithoutAddressesAndMoreRanksThanThereCanBeAreNamed) {
  HcclComm comm = nullptr;
  const TemporaryFile table(kTwoRanks);
  HCCL_FAILS(HCCL_E_PARA, "no IP address for that of rank 0", HcclCommInitClusterInfo(table.path(), 1, &comm));
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  HCCL_FAILS(HCCL_E_NOT_SUPPORT, "at most 256", HcclCommInitRootInfo(100000, &root, 0, &comm));
  EXPECT_EQ(comm, nullptr);
}

TEST_F(HcclTest, WrongRanksAndPointersAreNamed) {
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  HcclComm comm = nullptr;
  HCCL_FAILS(HCCL_E_PARA, "nRanks", HcclCommInitRootInfo(0, &root, 0, &comm));
  HCCL_FAILS(HCCL_E_PARA, "rank", HcclCommInitRootInfo(1, &root, 1, &comm));
  HCCL_FAILS(HCCL_E_PTR, "rootInfo", HcclCommInitRootInfo(1, nullptr, 0, &comm));
  HCCL_FAILS(HCCL_E_PTR, "comm", HcclCommInitRootInfo(1, &root, 0, nullptr));
  HCCL_FAILS(HCCL_E_PTR, "rootInfo", HcclGetRootInfo(nullptr));
  HcclRootInfo foreign{};
  HCCL_FAILS(HCCL_E_PARA, "HcclGetRootInfo", HcclCommInitRootInfo(1, &foreign, 0, &comm));
}

TEST_F(HcclTest, RootInfosDiffer) {
  HcclRootInfo one, two;
  HCCL_OK(HcclGetRootInfo(&one));
  HCCL_OK(HcclGetRootInfo(&two));
  EXPECT_NE(std::memcmp(&one, &two, sizeof(one)), 0);
}

TEST(HcclWithoutDevice, RootInfoNeedsADevice) {
  ACL_OK(aclInit(nullptr));
  HcclRootInfo root;
  EXPECT_EQ(HcclGetRootInfo(&root), HCCL_E_RUNTIME);
  ACL_OK(aclFinalize());
}

TEST_F(HcclTest, DestroyedCommunicatorsAndGarbageAreRefused) {
  const HcclComm comm = std::exchange(comm_, nullptr);
  HCCL_OK(HcclCommDestroy(comm));
  HCCL_FAILS(HCCL_E_PARA, "destroyed", HcclCommDestroy(comm));
  uint32_t size = 0;
  HCCL_FAILS(HCCL_E_PARA, "comm", HcclGetRankSize(comm, &size));
  HCCL_FAILS(HCCL_E_PTR, "comm", HcclGetRankSize(nullptr, &size));
  int garbage = 0;
  HCCL_FAILS(HCCL_E_PARA, "comm", HcclBarrier(&garbage, stream_));
}

TEST_F(HcclTest, ConfigSetsTheName) {
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::strcpy(config.hcclCommName, "my_group");  // NOLINT
  HcclComm comm = nullptr;
  HCCL_OK(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
  EXPECT_EQ(NameOf(comm), "my_group");
  HcclComm twin = nullptr;
  HCCL_FAILS(HCCL_E_PARA, "my_group", HcclCommInitRootInfoConfig(1, &root, 0, &config, &twin));
  HCCL_OK(HcclCommDestroy(comm));
  HCCL_OK(HcclCommInitRootInfoConfig(1, &root, 0, &config, &twin));
  HCCL_OK(HcclCommDestroy(twin));
  EXPECT_FALSE(NameOf(comm_).empty());
  EXPECT_NE(NameOf(comm_), "my_group");
}

// A client built with an older header: its structure ends early, and what follows must not be read.
TEST_F(HcclTest, ConfigIsReadNoFurtherThanItsOwnSize) {
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::memset(config.hcclCommName, 'x', sizeof(config.hcclCommName));  // no end: refused if it is looked at
  const size_t old_size = offsetof(HcclCommConfig, hcclCommName);
  HcclComm comm = nullptr;
  HCCL_FAILS(HCCL_E_PARA, "hcclCommName", HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
  std::memcpy(&config, &old_size, sizeof(old_size));
  HCCL_OK(HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
  HCCL_OK(HcclCommDestroy(comm));
  // A newer one is longer than ours.
  std::vector<char> longer(sizeof(HcclCommConfig) + 512, 'y');
  HcclCommConfigInit(reinterpret_cast<HcclCommConfig*>(longer.data()));
  const size_t new_size = longer.size();
  std::memcpy(longer.data(), &new_size, sizeof(new_size));
  HCCL_OK(HcclCommInitRootInfoConfig(1, &root, 0, reinterpret_cast<HcclCommConfig*>(longer.data()), &comm));
  HCCL_OK(HcclCommDestroy(comm));
}

TEST_F(HcclTest, ConfigWithoutInitIsRefused) {
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  HcclCommConfig config{};
  HcclComm comm = nullptr;
  HCCL_FAILS(HCCL_E_PARA, "HcclCommConfigInit", HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
  HCCL_FAILS(HCCL_E_PTR, "config", HcclCommInitRootInfoConfig(1, &root, 0, nullptr, &comm));
  HcclCommConfigInit(&config);
  config.hcclBufferSize = 0;
  HCCL_FAILS(HCCL_E_PARA, "hcclBufferSize", HcclCommInitRootInfoConfig(1, &root, 0, &config, &comm));
  HcclCommConfigInit(nullptr);
}

TEST_F(HcclTest, RankTableOfOneRankWorks) {
  const TemporaryFile table(kOneRank);
  HcclComm comm = nullptr;
  HCCL_OK(HcclCommInitClusterInfo(table.path(), 0, &comm));
  HCCL_OK(HcclCommDestroy(comm));
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  HCCL_OK(HcclCommInitClusterInfoConfig(table.path(), 0, &config, &comm));
  HCCL_OK(HcclCommDestroy(comm));
  const TemporaryFile second(R"({"version": "2.0", "rank_count": 1, "rank_list": [{"rank_id": 0}]})");
  HCCL_OK(HcclCommInitClusterInfo(second.path(), 0, &comm));
  HCCL_OK(HcclCommDestroy(comm));
}

TEST_F(HcclTest, BrokenRankTablesAreNamed) {
  HcclComm comm = nullptr;
  HCCL_FAILS(HCCL_E_OPEN_FILE_FAILURE, "/no/such/table", HcclCommInitClusterInfo("/no/such/table", 0, &comm));
  HCCL_FAILS(HCCL_E_PTR, "clusterInfo", HcclCommInitClusterInfo(nullptr, 0, &comm));
  for (const char* text : {"", "not json", "[]", "{}", R"({"server_list": []})", R"({"server_list": [1]})",
                           R"({"server_list": [{"device": 3}]})"}) {
    const TemporaryFile table(text);
    HCCL_FAILS(HCCL_E_PARA, "rank table", HcclCommInitClusterInfo(table.path(), 0, &comm));
  }
}

TEST_F(HcclTest, InitAllTakesADeviceById) {
  int32_t device = 0;
  HcclComm comm = nullptr;
  HCCL_OK(HcclCommInitAll(1, &device, &comm));
  HCCL_OK(HcclCommDestroy(comm));
  device = 4096;
  EXPECT_EQ(HcclCommInitAll(1, &device, &comm), HCCL_E_PARA);
  HCCL_FAILS(HCCL_E_PTR, "devices", HcclCommInitAll(1, nullptr, &comm));
}

TEST_F(HcclTest, SubCommunicatorOfOneRank) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  uint32_t ranks[] = {0};
  HcclComm sub = nullptr;
  HCCL_OK(HcclCreateSubCommConfig(&comm_, 1, ranks, 7, 0, &config, &sub));
  ASSERT_NE(sub, nullptr);
  EXPECT_NE(NameOf(sub), NameOf(comm_));
  HCCL_OK(HcclCommDestroy(sub));
  // Not a member: no communicator, and no error.
  HCCL_OK(HcclCreateSubCommConfig(&comm_, 0, nullptr, 0xffffffff, 0, &config, &sub));
  EXPECT_EQ(sub, nullptr);
  HCCL_FAILS(HCCL_E_PARA, "rankNum", HcclCreateSubCommConfig(&comm_, 2, ranks, 7, 0, &config, &sub));
  ranks[0] = 3;
  HCCL_FAILS(HCCL_E_PARA, "rankIds", HcclCreateSubCommConfig(&comm_, 1, ranks, 7, 0, &config, &sub));
}

TEST_F(HcclTest, SuspendedCommunicatorRefusesWorkUntilResumed) {
  const Floats send(Counting(8, 1)), receive(Counting(8, 0));
  HCCL_OK(HcclCommSuspend(comm_));
  HCCL_FAILS(HCCL_E_SUSPENDING, "HcclCommResume",
             HcclAllReduce(send.get(), receive.get(), 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm_, stream_));
  HCCL_OK(HcclCommResume(comm_));
  HCCL_OK(HcclAllReduce(send.get(), receive.get(), 8, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm_, stream_));
  Sync();
  EXPECT_EQ(receive.Read(), Counting(8, 1));
}

TEST(HcclSettings, DeterministicIsStored) {
  HcclConfigValue value{.value = 1};
  HCCL_OK(HcclSetConfig(HCCL_DETERMINISTIC, value));
  value.value = 0;
  HCCL_OK(HcclGetConfig(HCCL_DETERMINISTIC, &value));
  EXPECT_EQ(value.value, 1);
  value.value = 7;
  HCCL_FAILS(HCCL_E_PARA, "configValue", HcclSetConfig(HCCL_DETERMINISTIC, value));
  HCCL_FAILS(HCCL_E_NOT_SUPPORT, "setting 9", HcclSetConfig(Beyond<HcclConfig>(9), value));
  HCCL_FAILS(HCCL_E_PTR, "configValue", HcclGetConfig(HCCL_DETERMINISTIC, nullptr));
}

TEST(HcclSettings, EveryResultHasAMessage) {
  for (int code = HCCL_SUCCESS; code < HCCL_E_RESERVED; ++code) {
    EXPECT_STRNE(HcclGetErrorString(static_cast<HcclResult>(code)), "unknown HCCL result") << code;
  }
  EXPECT_STREQ(HcclGetErrorString(Beyond<HcclResult>(1234)), "unknown HCCL result");
  EXPECT_GT(HcclGetCommConfigCapability(), static_cast<uint32_t>(HCCL_COMM_CONFIG_COMM_NAME));
}

TEST_F(HcclTest, RegisteredMemoryIsRememberedAndChecked) {
  const Floats window(Counting(64, 0));
  void* handle = nullptr;
  HCCL_OK(HcclCommRegister(comm_, window.get(), 256, &handle, 0));
  HCCL_FAILS(HCCL_E_PARA, "registered", HcclCommRegister(comm_, window.get(), 256, &handle, 0));
  HCCL_OK(HcclCommExchangeMem(comm_, handle, nullptr, 0));
  uint32_t peer = 1;
  HCCL_FAILS(HCCL_E_PARA, "no peers", HcclCommExchangeMem(comm_, handle, &peer, 1));
  HCCL_OK(HcclCommDeregister(comm_, handle));
  HCCL_FAILS(HCCL_E_PARA, "handle", HcclCommDeregister(comm_, handle));
  HCCL_FAILS(HCCL_E_PARA, "size", HcclCommRegister(comm_, window.get(), 0, &handle, 0));
}

TEST_F(HcclTest, MemoryRangesHoldWhatIsActivated) {
  char* const base = reinterpret_cast<char*>(uintptr_t{1} << 40);
  int physical = 0;
  const auto handle = reinterpret_cast<aclrtDrvMemHandle>(&physical);
  HCCL_OK(HcclCommSetMemoryRange(comm_, base, 4096, 0, 1));
  HCCL_FAILS(HCCL_E_PARA, "overlaps", HcclCommSetMemoryRange(comm_, base + 4095, 1, 0, 1));
  HCCL_FAILS(HCCL_E_PARA, "overlaps", HcclCommSetMemoryRange(comm_, base - 1, 2, 0, 1));
  HCCL_OK(HcclCommActivateCommMemory(comm_, base + 1024, 1024, 0, handle, 0));
  HCCL_FAILS(HCCL_E_PARA, "already", HcclCommActivateCommMemory(comm_, base + 1024, 1024, 0, handle, 0));
  HCCL_FAILS(HCCL_E_PARA, "no range", HcclCommActivateCommMemory(comm_, base + 4000, 1024, 0, handle, 0));
  HCCL_FAILS(HCCL_E_PARA, "active", HcclCommUnsetMemoryRange(comm_, base));
  HCCL_OK(HcclCommDeactivateCommMemory(comm_, base + 1024));
  HCCL_FAILS(HCCL_E_PARA, "not active", HcclCommDeactivateCommMemory(comm_, base + 1024));
  HCCL_OK(HcclCommUnsetMemoryRange(comm_, base));
  HCCL_FAILS(HCCL_E_PARA, "begins", HcclCommUnsetMemoryRange(comm_, base));
}

TEST_F(HcclTest, NetworkCardsAreRefused) {
  uint32_t rank = 0;
  bool backup = true;
  HCCL_FAILS(HCCL_E_NOT_SUPPORT, "HcclCommWorkingDevNicSet", HcclCommWorkingDevNicSet(comm_, &rank, &backup, 1));
}

}  // namespace

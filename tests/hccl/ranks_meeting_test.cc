// SPDX-License-Identifier: Apache-2.0
// How ranks meet: root info, rank table, all devices of a process, groups, sub-communicators; and who is told what when
// they do not.
#include <sys/stat.h>

#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

// The sum of rank + 1 over the communicator's ranks.
void ExpectSum(Rank& r, HcclComm comm, float mine, float expected) {
  const Values<float> send({mine}), receive({-1});
  RANK_OK(r, HcclAllReduce(send.get(), receive.get(), 1, kFloat, HCCL_REDUCE_SUM, comm, r.stream));
  r.Sync();
  Expect(r, "AllReduce", receive.Read(), {expected});
}

std::string NameOf(HcclComm comm) {
  char name[COMM_NAME_MAX_LENGTH] = {};
  HCCL_OK(HcclGetCommName(comm, name));
  return name;
}

// Result and message of one call.
struct Said {
  HcclResult result = HCCL_SUCCESS;
  std::string text;
};
Said Tell(HcclResult result) { return {result, result == HCCL_SUCCESS ? "" : acl_test::RecentMessage()}; }

class RanksMeeting : public acl_test::AclTest {
 protected:
  static void OnThreads(uint32_t count, const std::function<void(uint32_t)>& body) {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        ACL_OK(aclrtSetDevice(static_cast<int>(i % kDevices)));
        body(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(RanksMeeting, EachRankKnowsItsPlaceAndAllHaveOneName) {
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  std::string names[3];
  OnThreads(3, [&](uint32_t i) {
    HcclComm comm = nullptr;
    HCCL_OK(HcclCommInitRootInfo(3, &root, i, &comm));
    uint32_t size = 0, rank = 99;
    HCCL_OK(HcclGetRankSize(comm, &size));
    HCCL_OK(HcclGetRankId(comm, &rank));
    EXPECT_EQ(size, 3u);
    EXPECT_EQ(rank, i);
    names[i] = NameOf(comm);
    HCCL_OK(HcclCommDestroy(comm));
  });
  EXPECT_FALSE(names[0].empty());
  EXPECT_EQ(names[0], names[1]);
  EXPECT_EQ(names[0], names[2]);
}

TEST_F(RanksMeeting, AllDevicesOfAProcess) {
  int32_t devices[] = {0, 1, 2};
  HcclComm comms[3] = {};
  HCCL_OK(HcclCommInitAll(3, devices, comms));
  OnThreads(3, [&](uint32_t i) {
    Rank r{.rank = i, .ranks = 3, .comm = comms[i], .stream = nullptr, .complaints = {}};
    ACL_OK(aclrtCreateStream(&r.stream));
    ExpectSum(r, comms[i], static_cast<float>(i + 1), 6);
    Finish(r);
    EXPECT_EQ(r.complaints, "");
  });
  devices[2] = 0;
  HCCL_FAILS(HCCL_E_PARA, "same", HcclCommInitAll(3, devices, comms));
}

// Two of the ranks are roots, and everybody is given both root infos.
TEST_F(RanksMeeting, SeveralRootsBringTheRanksTogether) {
  HcclRootInfo roots[2];
  for (HcclRootInfo& root : roots) HCCL_OK(HcclGetRootInfoScalable(&root));
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::strcpy(config.hcclCommName, "several_roots");
  OnThreads(3, [&](uint32_t i) {
    Rank r{.rank = i, .ranks = 3, .comm = nullptr, .stream = nullptr, .complaints = {}};
    HCCL_OK(HcclCommInitRootInfoScalable(3, 2, roots, i, 0, &config, &r.comm));
    ACL_OK(aclrtCreateStream(&r.stream));
    EXPECT_EQ(NameOf(r.comm), "several_roots");
    ExpectSum(r, r.comm, static_cast<float>(i + 1), 6);
    Finish(r);
    EXPECT_EQ(r.complaints, "");
  });
  HcclComm comm = nullptr;
  HCCL_FAILS(HCCL_E_PARA, "nRoot", HcclCommInitRootInfoScalable(3, 0, roots, 0, 0, &config, &comm));
  HCCL_FAILS(HCCL_E_PARA, "nRoot", HcclCommInitRootInfoScalable(1, 2, roots, 0, 0, &config, &comm));
  HCCL_FAILS(HCCL_E_PARA, "nExtRoot", HcclCommInitRootInfoScalable(3, 2, roots, 0, 1, &config, &comm));
  std::memset(&roots[1], 'x', sizeof(roots[1]));
  HCCL_FAILS(HCCL_E_PARA, "rootInfo", HcclCommInitRootInfoScalable(3, 2, roots, 0, 0, &config, &comm));
}

// One thread for both devices: the calls of a group are waited for together.
TEST_F(RanksMeeting, AGroupMakesTheRanksOfOneThread) {
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  HcclComm comms[2] = {};
  HCCL_OK(HcclGroupStart());
  for (uint32_t i = 0; i < 2; ++i) {
    ACL_OK(aclrtSetDevice(static_cast<int>(i)));
    HCCL_OK(HcclCommInitRootInfo(2, &root, i, &comms[i]));
  }
  HCCL_OK(HcclGroupEnd());
  for (const HcclComm comm : comms) {
    ASSERT_NE(comm, nullptr);
    HCCL_OK(HcclCommDestroy(comm));
  }
  ACL_OK(aclrtSetDevice(0));
}

// The streams of a group's messages are those of the devices that were set when each was asked for.
TEST_F(RanksMeeting, AGroupSendsAndReceivesForAllDevicesOfOneThread) {
  constexpr uint32_t kRanks = 3, kCount = 1000;
  int32_t devices[kRanks] = {0, 1, 2};
  HcclComm comms[kRanks] = {};
  HCCL_OK(HcclCommInitAll(kRanks, devices, comms));
  aclrtStream streams[kRanks] = {};
  std::vector<std::unique_ptr<Values<float>>> send, receive;
  HCCL_OK(HcclGroupStart());
  for (uint32_t i = 0; i < kRanks; ++i) {
    ACL_OK(aclrtSetDevice(devices[i]));
    ACL_OK(aclrtCreateStream(&streams[i]));
    send.push_back(std::make_unique<Values<float>>(std::vector<float>(kCount, static_cast<float>(i + 1))));
    receive.push_back(std::make_unique<Values<float>>(std::vector<float>(kCount, 0)));
    const uint32_t next = (i + 1) % kRanks, previous = (i + kRanks - 1) % kRanks;
    HCCL_OK(HcclSend(send[i]->get(), kCount, HCCL_DATA_TYPE_FP32, next, comms[i], streams[i]));
    HCCL_OK(HcclRecv(receive[i]->get(), kCount, HCCL_DATA_TYPE_FP32, previous, comms[i], streams[i]));
  }
  HCCL_OK(HcclGroupEnd());
  int32_t current = -1;
  ACL_OK(aclrtGetDevice(&current));
  EXPECT_EQ(current, devices[kRanks - 1]) << "the thread's device is what it was";
  for (uint32_t i = 0; i < kRanks; ++i) {
    ACL_OK(aclrtSetDevice(devices[i]));
    ACL_OK(aclrtSynchronizeStream(streams[i]));
    EXPECT_EQ(receive[i]->Read(), std::vector<float>(kCount, static_cast<float>((i + kRanks - 1) % kRanks + 1)));
    ACL_OK(aclrtDestroyStream(streams[i]));
    HCCL_OK(HcclCommDestroy(comms[i]));
  }
  ACL_OK(aclrtSetDevice(0));
}

RANK_BODY(SubCommunicators) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  // The odd ones and the even ones, in reverse order, twice with the same id.
  for (int again = 0; again < 2; ++again) {
    std::vector<uint32_t> members;
    for (uint32_t i = 0; i < r.ranks; ++i) {
      if (i % 2 == r.rank % 2) members.insert(members.begin(), i);
    }
    const auto place = static_cast<uint32_t>(std::find(members.begin(), members.end(), r.rank) - members.begin());
    HcclComm sub = nullptr;
    RANK_OK(r, HcclCreateSubCommConfig(&r.comm, static_cast<uint32_t>(members.size()), members.data(), r.rank % 2,
                                       place, &config, &sub));
    if (sub == nullptr) return;
    uint32_t rank = 99;
    RANK_OK(r, HcclGetRankId(sub, &rank));
    if (rank != place) r.Complain("it is rank " + std::to_string(rank) + " of the sub-communicator");
    const std::string name = NameOf(sub), parent = NameOf(r.comm);
    if (name != parent + "_sub_" + std::to_string(r.rank % 2)) r.Complain("its name is " + name);
    float sum = 0;
    for (const uint32_t member : members) sum += static_cast<float>(member + 1);
    ExpectSum(r, sub, static_cast<float>(r.rank + 1), sum);
    HcclComm below = nullptr;
    if (HcclCreateSubCommConfig(&sub, static_cast<uint32_t>(members.size()), members.data(), 9, place, &config,
                                &below) == HCCL_SUCCESS) {
      r.Complain("a sub-communicator has one of its own");
    }
    RANK_OK(r, HcclCommDestroy(sub));
  }
  ExpectSum(r, r.comm, 1, static_cast<float>(r.ranks));
}

TEST(RanksSub, MembersMeetInTheParent) {
  EXPECT_EQ(RunThreads(4, Bodies().at("SubCommunicators")), "");
  EXPECT_EQ(Complaints(RunProcesses(4, "SubCommunicators")), "");
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2,3"}}, "SubCommunicators")), "");
}

MP_ROLE(rank) { return BeRank(); }

// Two ranks that are threads of one process, and a third that is another.
MP_ROLE(third) {
  ROLE_INIT();
  HcclRootInfo root;
  ROLE_CHECK(AwaitFile(getenv("TEST_ROOT"), &root, sizeof(root)));
  Rank r;
  ROLE_CHECK(Prepare(r) && HcclCommInitRootInfo(3, &root, 2, &r.comm) == HCCL_SUCCESS);
  ExpectSum(r, r.comm, 3, 6);
  Finish(r);
  ROLE_CHECK(r.complaints.empty());
  return 0;
}

TEST_F(RanksMeeting, ThreadsAndProcessesTogether) {
  const TemporaryFolder folder;
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  WriteFile(folder / "root", &root, sizeof(root));
  std::thread child([&] { acl_test::ExpectRole("third", {{"TEST_ROOT", folder / "root"}}); });
  OnThreads(2, [&](uint32_t i) {
    Rank r{.rank = i, .ranks = 3, .comm = nullptr, .stream = nullptr, .complaints = {}};
    ACL_OK(aclrtCreateStream(&r.stream));
    HCCL_OK(HcclCommInitRootInfo(3, &root, i, &r.comm));
    ExpectSum(r, r.comm, static_cast<float>(i + 1), 6);
    Finish(r);
    EXPECT_EQ(r.complaints, "");
  });
  child.join();
}

MP_ROLE(table) {
  ROLE_INIT();
  Rank r;
  r.rank = Number("TEST_RANK");
  ROLE_CHECK(Prepare(r));
  ROLE_CHECK(HcclCommInitClusterInfo(getenv("TEST_TABLE"), r.rank, &r.comm) == HCCL_SUCCESS);
  ROLE_CHECK(NameOf(r.comm) == "hccl_world_group");
  ExpectSum(r, r.comm, static_cast<float>(r.rank + 1), 6);
  Finish(r);
  ROLE_CHECK(r.complaints.empty());
  return 0;
}

TEST(RanksTable, ProcessesMeetByARankTable) {
  const std::string text =
      R"({"version": "1.0", "status": "completed", "server_count": "1", "server_list": [{"server_id": "10.0.0.1", "device": [
          {"device_id": "0", "rank_id": "0"}, {"device_id": "1", "rank_id": "1"}, {"device_id": "2", "rank_id": "2"}]}]})";
  ExpectThreeRoles("table", text);
}

// A rank that is done early asks for the next communicator while rank 0 still stands at the door of this one.
MP_ROLE(table_again) {
  ROLE_INIT();
  Rank r;
  r.rank = Number("TEST_RANK");
  ROLE_CHECK(Prepare(r));
  for (int i = 0; i < 100; ++i) {
    RANK_OK(r, HcclCommInitClusterInfo(getenv("TEST_TABLE"), r.rank, &r.comm));
    if (r.comm == nullptr) break;
    RANK_OK(r, HcclCommDestroy(std::exchange(r.comm, nullptr)));
  }
  Finish(r);
  std::fputs(r.complaints.c_str(), stderr);
  ROLE_CHECK(r.complaints.empty());
  return 0;
}

TEST(RanksTable, OneTableServesOneCommunicatorAfterTheOther) {
  const std::string text =
      R"({"version": "1.0", "status": "completed", "server_count": "1", "server_list": [{"server_id": "10.0.0.4", "device": [
          {"device_id": "0", "rank_id": "0"}, {"device_id": "1", "rank_id": "1"}, {"device_id": "2", "rank_id": "2"}]}]})";
  ExpectThreeRoles("table_again", text);
}

// The table's text instead of its file, with settings.
MP_ROLE(table_in_memory) {
  ROLE_INIT();
  Rank r;
  r.rank = Number("TEST_RANK");
  ROLE_CHECK(Prepare(r));
  std::stringstream text;
  text << std::ifstream(getenv("TEST_TABLE")).rdbuf();
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::strcpy(config.hcclCommName, "in_memory");
  ROLE_CHECK(HcclCommInitClusterInfoMemConfig(nullptr, r.rank, &config, &r.comm) != HCCL_SUCCESS);
  ROLE_CHECK(HcclCommInitClusterInfoMemConfig(text.str().c_str(), r.rank, &config, &r.comm) == HCCL_SUCCESS);
  ROLE_CHECK(NameOf(r.comm) == "in_memory");
  ExpectSum(r, r.comm, static_cast<float>(r.rank + 1), 6);
  Finish(r);
  ROLE_CHECK(r.complaints.empty());
  return 0;
}

TEST(RanksTable, ProcessesMeetByTheTextOfATable) {
  const std::string text =
      R"({"version": "1.0", "status": "completed", "server_count": "1", "server_list": [{"server_id": "10.0.0.3", "device": [
          {"device_id": "0", "rank_id": "0"}, {"device_id": "1", "rank_id": "1"}, {"device_id": "2", "rank_id": "2"}]}]})";
  ExpectThreeRoles("table_in_memory", text);
}

// --- Who does not come ------------------------------------------------------------------------------------------

// What one rank hears whose peers do not come.
Said MeetAlone(uint32_t ranks, uint32_t rank, HcclRootInfo* root, HcclComm* comm) {
  ROLE_INIT();
  ROLE_CHECK(HcclGetRootInfo(root) == HCCL_SUCCESS);
  return Tell(HcclCommInitRootInfo(ranks, root, rank, comm));
}

MP_ROLE(alone) {
  HcclRootInfo root;
  HcclComm comm = nullptr;
  const Said said = MeetAlone(3, 1, &root, &comm);
  ROLE_CHECK(said.result == HCCL_E_TIMEOUT && comm == nullptr);
  ROLE_CHECK(said.text.find("EI0015") != std::string::npos);
  ROLE_CHECK(said.text.find("ranks 0, 2 did not come") != std::string::npos);
  ROLE_CHECK(said.text.find("in the same order on all ranks") != std::string::npos);
  // The meeting is over: whoever comes late hears of it.
  ROLE_CHECK(Tell(HcclCommInitRootInfo(3, &root, 0, &comm)).text.find("EI0015") != std::string::npos);
  return 0;
}

TEST(RanksMissing, AreNamedWhenTheTimeIsOver) { acl_test::ExpectRole("alone", {{"MILLPOND_RANK_TIMEOUT_MS", "200"}}); }

MP_ROLE(environment) {
  HcclRootInfo root;
  HcclComm comm = nullptr;
  const Said said = MeetAlone(2, 0, &root, &comm);
  ROLE_CHECK(said.result == HCCL_E_PARA);
  ROLE_CHECK(said.text.find("EI0001") != std::string::npos && said.text.find("'7'") != std::string::npos &&
             said.text.find("from 120 to 7200") != std::string::npos);
  return 0;
}

TEST(RanksMissing, ATimeoutThatHcclDoesNotAllowIsNamed) {
  acl_test::ExpectRole("environment", {{"HCCL_CONNECT_TIMEOUT", "7"}});
}

TEST_F(RanksMeeting, RanksThatDisagreeAboutTheirNumberHearOfItAtOnce) {
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  OnThreads(2, [&](uint32_t i) {
    HcclComm comm = nullptr;
    const Said said = Tell(HcclCommInitRootInfo(i + 2, &root, i, &comm));
    EXPECT_NE(said.result, HCCL_SUCCESS);
    EXPECT_NE(said.text.find("EI0015"), std::string::npos) << said.text;
  });
}

TEST_F(RanksMeeting, ARankThatComesTwiceIsNamed) {
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  std::atomic<int> named{0};
  OnThreads(2, [&](uint32_t) {
    HcclComm comm = nullptr;
    const Said said = Tell(HcclCommInitRootInfo(2, &root, 1, &comm));
    EXPECT_NE(said.result, HCCL_SUCCESS);
    named += said.text.find("rank 1 has come twice") != std::string::npos;
  });
  EXPECT_EQ(named, 2);
}

TEST_F(RanksMeeting, SettingsThatDifferAreNamed) {
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  OnThreads(2, [&](uint32_t i) {
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    std::strcpy(config.hcclCommName, i == 0 ? "left" : "right");  // NOLINT
    HcclComm comm = nullptr;
    const Said said = Tell(HcclCommInitRootInfoConfig(2, &root, i, &config, &comm));
    EXPECT_EQ(said.result, HCCL_E_PARA);
    EXPECT_NE(said.text.find("EI0016"), std::string::npos) << said.text;
    EXPECT_NE(said.text.find("'left' (rank 0), 'right' (rank 1)"), std::string::npos) << said.text;
  });
}

// --- The same as processes and hosts ---------------------------------------------------------------------------------

// One that cannot meet the other: says what it heard. TEST_NAME is the communicator's.
MP_ROLE(meets_in_vain) {
  ROLE_INIT();
  const std::string path = getenv("TEST_ROOT");
  HcclRootInfo root;
  if (getenv("TEST_MAKES_ROOT") != nullptr) {
    ROLE_CHECK(HcclGetRootInfo(&root) == HCCL_SUCCESS);
    WriteFile(path, &root, sizeof(root));
  } else {
    ROLE_CHECK(AwaitFile(path, &root, sizeof(root)));
  }
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  const char* name = getenv("TEST_NAME");  // an empty one is not passed on
  std::strncpy(config.hcclCommName, name != nullptr ? name : "", sizeof(config.hcclCommName) - 1);
  HcclComm comm = nullptr;
  const Said said = Tell(HcclCommInitRootInfoConfig(Number("TEST_RANKS"), &root, Number("TEST_RANK"), &config, &comm));
  ROLE_CHECK(said.result != HCCL_SUCCESS && comm == nullptr);
  std::fputs(said.text.c_str(), stderr);
  return 0;
}

struct Comer {
  const char *rank, *ranks, *name;
};

// What the two hear; the first makes the root info. As two hosts, or as two processes of one.
std::vector<std::string> MeetInVain(const Comer& first, const Comer& second, bool as_hosts) {
  const TemporaryFolder folder;
  std::vector<acl_test::ChildResult> results(2);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      const Comer& comer = i == 0 ? first : second;
      std::map<std::string, std::string> variables = {{"TEST_ROOT", folder / "root"},
                                                      {"TEST_RANK", comer.rank},
                                                      {"TEST_RANKS", comer.ranks},
                                                      {"TEST_NAME", comer.name}};
      if (i == 0) variables["TEST_MAKES_ROOT"] = "1";
      if (as_hosts) {
        variables["MILLPOND_RANK_HOST"] = "h" + std::to_string(i);
        variables["HCCL_IF_IP"] = "127.0.0." + std::to_string(i + 1);
      }
      results[i] = acl_test::RunRole("meets_in_vain", variables);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result.exit_code, 0) << result.output;
  return {results[0].output, results[1].output};
}

class RanksThatDoNotFit : public ::testing::TestWithParam<bool> {};

TEST_P(RanksThatDoNotFit, HearOfAnotherNumberOfRanks) {
  for (const std::string& text : MeetInVain({"0", "2", ""}, {"1", "3", ""}, GetParam())) {
    EXPECT_NE(text.find("EI0015"), std::string::npos) << text;
    EXPECT_NE(text.find("pass the same nRanks on all ranks"), std::string::npos) << text;
  }
}

TEST_P(RanksThatDoNotFit, HearOfARankThatCameTwice) {
  for (const std::string& text : MeetInVain({"1", "2", ""}, {"1", "2", ""}, GetParam())) {
    EXPECT_NE(text.find("EI0015"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 1 has come twice"), std::string::npos) << text;
  }
}

TEST_P(RanksThatDoNotFit, HearOfOtherSettings) {
  for (const std::string& text : MeetInVain({"0", "2", "left"}, {"1", "2", "right"}, GetParam())) {
    EXPECT_NE(text.find("EI0016"), std::string::npos) << text;
    EXPECT_NE(text.find("'left' (rank 0), 'right' (rank 1)"), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, RanksThatDoNotFit, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "AsHosts" : "AsProcesses"; });

// --- Given up -------------------------------------------------------------------------------------------------------

// Another thread destroys what this one waits for, whose handle is there meanwhile.
template <class Init>
void ExpectGivenUp(const Init& init) {
  HcclComm comm = nullptr;
  std::thread destroyer([&] {
    const auto handle = [&] { return __atomic_load_n(&comm, __ATOMIC_ACQUIRE); };
    EXPECT_TRUE(acl_test::Eventually([&] { return handle() != nullptr; }));
    EXPECT_EQ(HcclCommDestroy(handle()), HCCL_SUCCESS) << acl_test::RecentMessage();
  });
  const Said said = Tell(init(&comm));
  destroyer.join();
  EXPECT_NE(said.result, HCCL_SUCCESS);
  EXPECT_NE(said.text.find("EI0015"), std::string::npos) << said.text;
  EXPECT_NE(said.text.find("HcclCommDestroy"), std::string::npos) << said.text;
  EXPECT_EQ(comm, nullptr);
}

TEST_F(RanksMeeting, AnotherThreadMayDestroyWhatIsWaitedFor) {
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  ExpectGivenUp([&](HcclComm* comm) { return HcclCommInitRootInfo(2, &root, 0, comm); });
  // The meeting is over for the others as well.
  HcclComm comm = nullptr;
  HCCL_FAILS(HCCL_E_REMOTE, "EI0015", HcclCommInitRootInfo(2, &root, 1, &comm));
  const TemporaryFolder folder;
  std::ofstream(folder / "table")
      << R"({"version": "1.0", "status": "completed", "server_count": "1", "server_list": [{"server_id": "127.0.0.9",
             "device": [{"device_id": "0", "rank_id": "0"}, {"device_id": "1", "rank_id": "1"}]}]})";
  for (const uint32_t rank : {0U, 1U}) {
    ExpectGivenUp([&](HcclComm* waits) { return HcclCommInitClusterInfo((folder / "table").c_str(), rank, waits); });
  }
}

MP_ROLE(root_and_gone) {
  ROLE_INIT();
  HcclRootInfo root;
  ROLE_CHECK(HcclGetRootInfo(&root) == HCCL_SUCCESS);
  WriteFile(getenv("TEST_ROOT"), &root, sizeof(root));
  return 0;
}

TEST_F(RanksMeeting, ARootInfoOfAProcessThatHasEndedIsRefusedAtOnce) {
  const TemporaryFolder folder;
  acl_test::ExpectRole("root_and_gone", {{"TEST_ROOT", folder / "root"}});
  HcclRootInfo root;
  ASSERT_TRUE(AwaitFile(folder / "root", &root, sizeof(root)));
  HcclComm comm = nullptr;
  HCCL_FAILS(HCCL_E_REMOTE, "EI0015", HcclCommInitRootInfo(2, &root, 1, &comm));
}

MP_ROLE(stranger) {
  ROLE_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
  ROLE_INIT();
  HcclRootInfo root;
  ROLE_CHECK(AwaitFile(getenv("TEST_ROOT"), &root, sizeof(root)));
  HcclComm comm = nullptr;
  const Said said = Tell(HcclCommInitRootInfo(2, &root, 1, &comm));
  ROLE_CHECK(said.result != HCCL_SUCCESS && comm == nullptr);
  ROLE_CHECK(said.text.find("belongs to user 65534") != std::string::npos);
  return 0;
}

class RanksSecret : public RanksMeeting {};
TEST_F(RanksSecret, AnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  const std::string path = ::testing::TempDir() + "mp_stranger_" + std::to_string(getpid());
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  WriteFile(path, &root, sizeof(root));
  chmod(path.c_str(), 0644);
  acl_test::ExpectRole("stranger", {{"TEST_ROOT", path}});
  unlink(path.c_str());
}

TEST_F(RanksMeeting, BytesThatWereChangedOnTheWayAreRefused) {
  HcclRootInfo root;
  HCCL_OK(HcclGetRootInfo(&root));
  root.internal[40] ^= 1;  // in the key
  HcclComm comm = nullptr;
  EXPECT_NE(HcclCommInitRootInfo(2, &root, 0, &comm), HCCL_SUCCESS);
  EXPECT_EQ(comm, nullptr);
}

}  // namespace

MP_TEST_MAIN()

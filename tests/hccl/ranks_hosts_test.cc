// SPDX-License-Identifier: Apache-2.0
// Ranks on several hosts: how they meet, who is let in, what listens, and what the others hear when a host goes. One
// machine is told to take itself for several; network namespaces make real ones of it where they are permitted.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <regex>

#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

void ExpectSum(Rank& r) {
  const Values<float> send({static_cast<float>(r.rank + 1)}), receive({-1});
  RANK_OK(r, HcclAllReduce(send.get(), receive.get(), 1, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  r.Sync();
  Expect(r, "AllReduce", receive.Read(), {static_cast<float>(r.ranks * (r.ranks + 1)) / 2});
}

// TCP sockets of this process in that state ("0A": they listen, "01": they are connected), as the kernel prints their
// addresses ("0200007F:..." is 127.0.0.2).
std::vector<std::string> Sockets(const std::string& state) {
  std::set<std::string> own;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    char target[64] = {};
    if (readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) > 0) own.insert(target);
  }
  closedir(folder);
  std::vector<std::string> found;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      std::stringstream words(line);
      std::vector<std::string> word(10);
      for (std::string& each : word) words >> each;
      if (word[3] == state && own.contains("socket:[" + word[9] + "]")) found.push_back(word[1]);
    }
  }
  return found;
}
std::vector<std::string> Listening() { return Sockets("0A"); }

// --- Meeting ------------------------------------------------------------------------------------------------------

RANK_BODY(Sum) {
  ExpectSum(r);
  if (!acl_test::Eventually([] { return Listening().empty(); })) r.Complain("something listens on when all have come");
}

// The other numbers of ranks and kinds of hosts are in ranks_operations_test.cc.
TEST(RanksOfSeveralHosts, ListenNoLongerThanTheyMust) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2", "3"}}, "Sum")), "");
}

// The root's host is no party to it.
RANK_BODY(SubOfOthers) {
  if (r.rank == 0) {
    ExpectSum(r);
    return;
  }
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::vector<uint32_t> members = {2, 1};
  HcclComm sub = nullptr;
  RANK_OK(r, HcclCreateSubCommConfig(&r.comm, 2, members.data(), 7, r.rank == 2 ? 0 : 1, &config, &sub));
  const Values<float> send({static_cast<float>(r.rank)}), receive({-1});
  RANK_OK(r, HcclAllReduce(send.get(), receive.get(), 1, kFloat, HCCL_REDUCE_SUM, sub, r.stream));
  r.Sync();
  Expect(r, "AllReduce of the sub-communicator", receive.Read(), {3.0F});
  ExpectSum(r);
  RANK_OK(r, HcclCommDestroy(sub));
}
TEST(RanksOfSeveralHosts, MakeSubCommunicators) {
  EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}, {"2"}}, "SubOfOthers")), "");
}

bool IsStopped(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  file >> number >> name >> state;
  return state == "T";
}

// Rank 0's process, which speaks for the root's host, stands still meanwhile: bytes between two others cannot have gone
// through it.
RANK_BODY(AroundTheRoot) {
  const Values<int64_t> own({getpid()}), all({0, 0, 0});
  RANK_OK(r, HcclAllGather(own.get(), all.get(), 1, HCCL_DATA_TYPE_INT64, r.comm, r.stream));
  r.Sync();
  const int root = static_cast<int>(all.Read()[0]);
  // Before the first message the two may still be about to change over, which the root's host is needed for.
  const auto connected = [] { return Sockets("01").size() >= 2; };
  if (r.rank != 0 && !acl_test::Eventually(connected)) r.Complain("has one connection only");
  const Values<float> send(std::vector<float>(300000, 5)), receive(std::vector<float>(300000, -1));
  const auto pass = [&] {
    if (r.rank == 1) RANK_OK(r, HcclSend(send.get(), 300000, kFloat, 2, r.comm, r.stream));
    if (r.rank == 2) RANK_OK(r, HcclRecv(receive.get(), 300000, kFloat, 1, r.comm, r.stream));
    r.Sync();
  };
  std::this_thread::sleep_for(std::chrono::seconds(1));
  ExpectSum(r);
  // Rank 2 has got what came through the root, too.
  const Values<float> ready({1});
  if (r.rank == 2) RANK_OK(r, HcclSend(ready.get(), 1, kFloat, 1, r.comm, r.stream));
  if (r.rank == 1) RANK_OK(r, HcclRecv(ready.get(), 1, kFloat, 2, r.comm, r.stream));
  r.Sync();
  if (r.rank == 1) {
    kill(root, SIGSTOP);
    if (!acl_test::Eventually([&] { return IsStopped(root); })) r.Complain("rank 0 goes on");
  }
  for (int i = 0; i < 20; ++i) pass();
  if (r.rank == 1) {
    if (!IsStopped(root)) r.Complain("rank 0 went on meanwhile");
    kill(root, SIGCONT);
  }
  if (r.rank == 2) Expect(r, "what came past the root", receive.Read(), std::vector<float>(300000, 5));
  ExpectSum(r);
}
TEST(RanksOfSeveralHosts, ReachEachOtherWithoutTheRoot) {
  EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}, {"2"}}, "AroundTheRoot")), "");
}

MP_ROLE(rank) { return BeRank(); }

// What `./millpond trace merge` looks for.
TEST(RanksOfSeveralHosts, SayInTracesWhichOperationItWas) {
  const TemporaryFolder folder;
  const std::string path = folder / "table";
  EXPECT_EQ(Complaints(RunHosts({{"0,1"}}, "Sum", {{"MILLPOND_TRACE", path}})), "");
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_NE(text.str().find("\"name\":\"millpond_origin\""), std::string::npos);
  for (const char* rank : {"0", "1"}) {
    const std::string part =
        std::string("\"rank\":") + rank + ",\"ranks\":2,\"operation\":\"HcclAllReduce\",\"sequence\":0,\"bytes\":4";
    EXPECT_NE(text.str().find(part), std::string::npos) << "no " << part << " in " << text.str();
  }
}

// A process that is one rank of the table in TEST_TABLE.
MP_ROLE(table_rank) {
  Rank r;
  r.rank = Number("TEST_RANK");
  r.ranks = 4;
  ROLE_CHECK(aclInit(nullptr) == 0);
  const bool prepared = Prepare(r);
  const char* times = getenv("TEST_TIMES");
  for (int left = times != nullptr ? atoi(times) : 1; prepared && left > 0 && r.complaints.empty(); --left) {
    RANK_OK(r, HcclCommInitClusterInfo(getenv("TEST_TABLE"), r.rank, &r.comm));
    if (r.comm != nullptr) ExpectSum(r);
    if (left > 1 && r.comm != nullptr) RANK_OK(r, HcclCommDestroy(std::exchange(r.comm, nullptr)));
  }
  Finish(r);
  std::fputs(r.complaints.c_str(), stderr);
  return r.complaints.empty() ? 0 : 3;
}

// An address of the loopback that no other test has: so is every port there.
std::string OwnAddress(int which) {
  const int pid = getpid();
  return "127." + std::to_string(64 + which + 2 * (pid >> 16)) + "." + std::to_string(pid >> 8 & 255) + "." +
         std::to_string(pid & 255);
}

void WriteTable(const std::string& path) {
  std::ofstream(path) << R"({"version": "1.0", "status": "completed", "server_count": "2", "server_list": [
    {"server_id": ")" << OwnAddress(0)
                      << R"(", "device": [{"device_id": "0", "rank_id": "0", "host_port": "23456"},
                                                           {"device_id": "1", "rank_id": "1"}]},
    {"server_id": ")" << OwnAddress(1)
                      << R"(", "device": [{"device_id": "0", "rank_id": "2"},
                                                           {"device_id": "1", "rank_id": "3"}]}]})";
}

// `secret` by rank; empty: none.
std::vector<acl_test::ChildResult> RunTable(const std::string& path, const std::vector<std::string>& secret,
                                            const char* timeout_ms, const char* times = "1") {
  std::vector<acl_test::ChildResult> results(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      results[i] = acl_test::RunRole("table_rank", {{"TEST_RANK", std::to_string(i)},
                                                    {"TEST_TABLE", path},
                                                    {"TEST_TIMES", times},
                                                    {"MILLPOND_RANK_SECRET", secret[i]},
                                                    {"MILLPOND_RANK_TIMEOUT_MS", timeout_ms}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(RanksOfSeveralHosts, MeetByATableOfTwoServers) {
  const TemporaryFolder folder;
  WriteTable(folder / "table");
  EXPECT_EQ(Complaints(RunTable(folder / "table", {"", "", "", ""}, "60000")), "");
}

TEST(RanksOfSeveralHosts, MeetByOneTableAgainAndAgain) {
  const TemporaryFolder folder;
  WriteTable(folder / "table");
  EXPECT_EQ(Complaints(RunTable(folder / "table", {"", "", "", ""}, "60000", "20")), "");
}

// Who has the table alone is not let in; a secret that others can read is none.
TEST(RanksNetwork, ASecretBesideTheTableIsAskedFor) {
  const TemporaryFolder folder;
  const std::string right = folder / "root", wrong = folder / "root.new";
  WriteTable(folder / "table");
  std::ofstream(right) << "red herring";
  std::ofstream(wrong) << "kettle of fish";
  chmod(right.c_str(), 0600);
  chmod(wrong.c_str(), 0600);
  EXPECT_EQ(Complaints(RunTable(folder / "table", {right, right, right, right}, "60000")), "");
  const auto strangers = RunTable(folder / "table", {right, right, wrong, wrong}, "1500");
  for (const auto& result : strangers) EXPECT_NE(result.exit_code, 0) << result.output;
  chmod(wrong.c_str(), 0644);
  const auto careless = RunTable(folder / "table", {wrong, wrong, wrong, wrong}, "1500");
  for (const auto& result : careless) EXPECT_NE(result.output.find("which others can read"), std::string::npos);
}

// --- Ports ----------------------------------------------------------------------------------------------------------

int ListenAt(const std::string& address, int port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;  // connections of an earlier test may still be on their way out
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = inet_addr(address.c_str());
  at.sin_port = htons(static_cast<uint16_t>(port));
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0 && listen(listener, 1) == 0) return listener;
  close(listener);
  return -1;
}

// Others have the first port, then all that may be tried.
MP_ROLE(ports_taken) {
  constexpr int kFirst = 40960, kPorts = 32;
  const std::string address = getenv("HCCL_IF_IP");
  HcclRootInfo root;
  ROLE_INIT();
  ROLE_CHECK(ListenAt(address, kFirst) >= 0);
  ROLE_CHECK(HcclGetRootInfo(&root) == HCCL_SUCCESS);
  const std::vector<std::string> found = Listening();
  ROLE_CHECK(std::count_if(found.begin(), found.end(), [](const auto& at) { return at.ends_with(":A001"); }) == 1);
  for (int i = 2; i < kPorts; ++i) ROLE_CHECK(ListenAt(address, kFirst + i) >= 0);
  ROLE_CHECK(HcclGetRootInfo(&root) != HCCL_SUCCESS);
  std::fputs(acl_test::RecentMessage().c_str(), stderr);
  return 0;
}
TEST(RanksNetwork, APortThatIsTakenIsPassedOverAndAllOfThemNamed) {
  const std::string address = OwnAddress(0);
  const auto result = acl_test::RunRole("ports_taken", {{"HCCL_IF_IP", address}, {"HCCL_IF_BASE_PORT", "40960"}});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  for (const std::string& part : {std::string("EI0019"), address, std::string("port 40960 to 40991")}) {
    EXPECT_NE(result.output.find(part), std::string::npos) << result.output;
  }
}

// The list wins over the first port, and its ports are tried in its order.
MP_ROLE(port_of_the_list) {
  HcclRootInfo root;
  ROLE_INIT();
  ROLE_CHECK(ListenAt(getenv("HCCL_IF_IP"), 50001) >= 0);
  for (const char* port : {":C352", ":C350"}) {  // 50002, 50000
    ROLE_CHECK(HcclGetRootInfo(&root) == HCCL_SUCCESS);
    const std::vector<std::string> found = Listening();
    ROLE_CHECK(std::count_if(found.begin(), found.end(), [&](const auto& at) { return at.ends_with(port); }) == 1);
  }
  ROLE_CHECK(HcclGetRootInfo(&root) != HCCL_SUCCESS);
  return 0;
}
TEST(RanksNetwork, PortsMayBeGivenAsAList) {
  const auto result = acl_test::RunRole("port_of_the_list", {{"HCCL_IF_IP", OwnAddress(0)},
                                                             {"HCCL_IF_BASE_PORT", "40960"},
                                                             {"HCCL_HOST_SOCKET_PORT_RANGE", "50001-50002,50000"}});
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST(RanksNetwork, ThePortOfATableThatIsTakenIsNamed) {
  const TemporaryFolder folder;
  WriteTable(folder / "table");
  const int taken = ListenAt(OwnAddress(0), 23456);
  ASSERT_GE(taken, 0);
  const auto results = RunTable(folder / "table", {"", "", "", ""}, "1500");
  close(taken);
  for (const auto& result : results) EXPECT_NE(result.exit_code, 0) << result.output;
  EXPECT_NE(results[0].output.find("EI0019"), std::string::npos) << results[0].output;
  EXPECT_NE(results[0].output.find("port 23456"), std::string::npos) << results[0].output;
}

// --- Who is let in ----------------------------------------------------------------------------------------------

MP_ROLE(listens_nowhere) {
  HcclRootInfo root;
  ROLE_CHECK(aclInit(nullptr) == 0 && aclrtSetDevice(0) == 0);
  ROLE_CHECK(HcclGetRootInfo(&root) == 0);
  ROLE_CHECK(Listening().empty());
  return 0;
}
MP_ROLE(listens_at_one) {
  HcclRootInfo root;
  ROLE_CHECK(aclInit(nullptr) == 0 && aclrtSetDevice(0) == 0);
  ROLE_CHECK(HcclGetRootInfo(&root) == 0);
  const std::vector<std::string> found = Listening();
  ROLE_CHECK(found.size() == 1);
  ROLE_CHECK(found[0].starts_with("0200007F:"));
  return 0;
}
TEST(RanksNetwork, NothingListensUnlessItIsAskedFor) {
  const auto result = acl_test::RunRole("listens_nowhere");
  EXPECT_EQ(result.exit_code, 0) << result.output;
}
TEST(RanksNetwork, ListensAtTheAddressThatWasAskedForAndNoOther) {
  for (const auto& variables : std::vector<std::map<std::string, std::string>>{
           {{"HCCL_IF_IP", "127.0.0.2"}}, {{"HCCL_IF_IP", "127.0.0.2"}, {"HCCL_IF_BASE_PORT", "40960"}}}) {
    const auto result = acl_test::RunRole("listens_at_one", variables);
    EXPECT_EQ(result.exit_code, 0) << result.output;
  }
}

MP_ROLE(root_info_fails) {
  HcclRootInfo root;
  ROLE_CHECK(aclInit(nullptr) == 0 && aclrtSetDevice(0) == 0);
  ROLE_CHECK(HcclGetRootInfo(&root) != 0);
  std::fputs(acl_test::RecentMessage().c_str(), stderr);
  return 0;
}
TEST(RanksNetwork, SettingsThatDoNotFitAreNamed) {
  const auto said = [](std::map<std::string, std::string> variables) {
    variables.try_emplace("MILLPOND_RANK_NETWORK", "1");
    const auto result = acl_test::RunRole("root_info_fails", variables);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result.output;
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  for (const auto& [name, value] : std::map<std::string, std::string>{{"HCCL_IF_IP", "127.0.0"},
                                                                      {"HCCL_SOCKET_IFNAME", "=nosuch0"},
                                                                      {"HCCL_SOCKET_FAMILY", "AF_UNIX"},
                                                                      {"HCCL_HOST_SOCKET_PORT_RANGE", "9-"},
                                                                      {"HCCL_IF_BASE_PORT", "80"}}) {
    const std::string text = said({{name, value}});
    EXPECT_TRUE(has(text, "EI0001") && has(text, name.c_str()) && has(text, value.c_str())) << text;
  }
  // TEST-NET-1 is nobody's.
  const std::string text = said({{"HCCL_IF_IP", "192.0.2.1"}});
  EXPECT_TRUE(has(text, "EI0019") && has(text, "192.0.2.1")) << text;
}

// Where a root info has its address; the secret lies behind that.
size_t PlaceOfAddress(const HcclRootInfo& root) {
  return std::string(reinterpret_cast<const char*>(&root), sizeof(root)).find("127.0.0.1");
}

// The second of two ranks, which joins as it should when `first` has done what it does with the root info.
template <class First>
int JoinAfter(First first) {
  Rank r;
  r.rank = 1;
  r.ranks = 2;
  ROLE_CHECK(aclInit(nullptr) == 0);
  HcclRootInfo root;
  if (Prepare(r) && AwaitFile(getenv("TEST_ROOT"), &root, sizeof(root))) {
    first(r, root);
    RANK_OK(r, HcclCommInitRootInfo(2, &root, 1, &r.comm));
    if (r.comm != nullptr) ExpectSum(r);
  }
  Finish(r);
  std::fputs(r.complaints.c_str(), stderr);
  return r.complaints.empty() ? 0 : 3;
}

// Comes first with a secret that is another in one bit, then as it should.
MP_ROLE(wrong_secret) {
  return JoinAfter([](Rank& r, const HcclRootInfo& root) {
    HcclRootInfo changed = root;
    reinterpret_cast<char*>(&changed)[PlaceOfAddress(root) + 64] ^= 1;
    if (HcclCommInitRootInfo(2, &changed, 1, &r.comm) == 0) r.Complain("a wrong secret was let in");
    const std::string text = acl_test::RecentMessage();
    if (text.find("EI0015") == std::string::npos || text.find("127.0.0.1") == std::string::npos) r.Complain(text);
  });
}
TEST(RanksNetwork, AWrongSecretIsRefusedAndDisturbsNobody) {
  const TemporaryFolder folder;
  acl_test::ChildResult stranger;
  std::thread second([&] {
    stranger = acl_test::RunRole("wrong_secret", {{"TEST_ROOT", folder / "root"}, {"MILLPOND_RANK_HOST", "h1"}});
  });
  const auto first = acl_test::RunRole("rank", {{"TEST_ROOT", folder / "root"},
                                                {"TEST_RANK", "0"},
                                                {"TEST_RANKS", "2"},
                                                {"TEST_BODY", "Sum"},
                                                {"MILLPOND_RANK_HOST", "h0"},
                                                {"HCCL_IF_IP", "127.0.0.1"}});
  second.join();
  EXPECT_EQ(Complaints({first, stranger}), "");
}

// Many connect and say nothing, or nonsense, or stop in the middle; then the other rank comes, and is let in.
MP_ROLE(strangers_first) {
  std::vector<int> strangers;
  const int code = JoinAfter([&](Rank&, const HcclRootInfo& root) {
    uint32_t port = 0;  // behind the address and the secret
    std::memcpy(&port, reinterpret_cast<const char*>(&root) + PlaceOfAddress(root) + 64 + 16, sizeof(port));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = inet_addr("127.0.0.1");
    address.sin_port = htons(static_cast<uint16_t>(port));
    for (int i = 0; i < 100; ++i) {
      strangers.push_back(socket(AF_INET, SOCK_STREAM, 0));
      ROLE_CHECK(connect(strangers.back(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
      const std::string nonsense(static_cast<size_t>(i) * 7, 'x');
      send(strangers.back(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
    }
    // The first has said nothing, and its place was needed.
    char bytes[4096];
    ROLE_CHECK(acl_test::Eventually([&] { return recv(strangers[0], bytes, sizeof(bytes), MSG_DONTWAIT) == 0; }));
  });
  for (const int stranger : strangers) close(stranger);
  return code;
}
TEST(RanksNetwork, StrangersAreClosedAndDisturbNobody) {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> both = {{"TEST_ROOT", folder / "root"}, {"HCCL_IF_IP", "127.0.0.1"}};
  auto one = both, other = both;
  one.insert({{"TEST_RANK", "0"}, {"TEST_RANKS", "2"}, {"TEST_BODY", "Sum"}, {"MILLPOND_RANK_HOST", "h0"}});
  other["MILLPOND_RANK_HOST"] = "h1";
  acl_test::ChildResult second;
  std::thread stranger([&] { second = acl_test::RunRole("strangers_first", other); });
  const auto first = acl_test::RunRole("rank", one);
  stranger.join();
  EXPECT_EQ(Complaints({first, second}), "");
}

// Rank 0's process is gone; what it gave out opens nothing, and that is known at once.
MP_ROLE(makes_root_info) {
  HcclRootInfo root;
  ROLE_CHECK(aclInit(nullptr) == 0 && aclrtSetDevice(0) == 0);
  ROLE_CHECK(HcclGetRootInfo(&root) == 0);
  WriteFile(getenv("TEST_ROOT"), &root, sizeof(root));
  return 0;
}
MP_ROLE(comes_too_late) {
  HcclRootInfo root;
  HcclComm comm = nullptr;
  ROLE_CHECK(aclInit(nullptr) == 0 && aclrtSetDevice(0) == 0);
  ROLE_CHECK(AwaitFile(getenv("TEST_ROOT"), &root, sizeof(root)));
  ROLE_CHECK(HcclCommInitRootInfo(2, &root, 1, &comm) == HCCL_E_REMOTE);
  std::fputs(acl_test::RecentMessage().c_str(), stderr);
  return 0;
}
TEST(RanksNetwork, AStaleRootInfoIsRefusedAtOnce) {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> root = {{"TEST_ROOT", folder / "root"}};
  auto listens = root, comes = root;
  listens["HCCL_IF_IP"] = "127.0.0.1";
  comes["MILLPOND_RANK_HOST"] = "h1";
  for (const auto& variables : {listens, root}) {
    const auto made = acl_test::RunRole("makes_root_info", variables);
    ASSERT_EQ(made.exit_code, 0) << made.output;
    const auto late = acl_test::RunRole("comes_too_late", comes);
    EXPECT_EQ(late.exit_code, 0) << late.output;
    EXPECT_NE(late.output.find("EI0015"), std::string::npos) << late.output;
  }
}

// --- Gone -------------------------------------------------------------------------------------------------------

// TEST_VICTIM dies in a stretch of large operations; everybody else hears who it was. The process that spoke for its
// host takes the host with it, and which of two it is nobody knows before.
RANK_BODY(Killed) {
  const uint32_t victim = Number("TEST_VICTIM");
  const size_t count = size_t{1} << 20;
  const Values<float> send(std::vector<float>(count, 1)), receive(std::vector<float>(count, 0));
  for (int i = 0; i < 20; ++i) {
    RANK_OK(r, HcclAllReduce(send.get(), receive.get(), count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    // What it has not sent dies with it, so the others need not come even to the end of the first.
    if (i == 0 && r.rank == victim) r.Sync();
  }
  if (r.rank == victim) kill(getpid(), SIGKILL);
  if (aclrtSynchronizeStream(r.stream) == 0) return r.Complain("the stream has not failed");
  const std::string text = acl_test::RecentMessage(), who = "rank " + std::to_string(victim);
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  if (!has("EI0002") || !has("Communication_Error_Timeout") || !has("HcclAllReduce")) r.Complain(text);
  const std::string host =
      victim < 2 ? "host h0 (127.0.0.1), with ranks 0, 1, " : "host h1 (127.0.0.2), with ranks 2, 3, ";
  if (!has(who + " has ended (process ") && !has(" cannot be reached: " + host)) r.Complain(text);
  HcclResult found = HCCL_SUCCESS;
  RANK_OK(r, HcclGetCommAsyncError(r.comm, &found));
  if (found != HCCL_E_REMOTE) r.Complain("HcclGetCommAsyncError says " + std::to_string(found));
}

class AHostThatLosesARank : public ::testing::TestWithParam<int> {};
TEST_P(AHostThatLosesARank, IsNamedByAllOthers) {
  const auto victim = static_cast<size_t>(GetParam());
  const auto results = RunHosts({{"0", "1"}, {"2", "3"}}, "Killed", {{"TEST_VICTIM", std::to_string(victim)}});
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].exit_code, i == victim ? -SIGKILL : 0) << "rank " << i << ": " << results[i].output;
  }
}
INSTANTIATE_TEST_SUITE_P(Each, AHostThatLosesARank, ::testing::Values(0, 1, 2, 3));

// The process that speaks for its host ends well before the others of that host are done.
RANK_BODY(LeaderIsDoneFirst) {
  const std::string done = std::string(getenv("TEST_ROOT")) + ".new";
  ExpectSum(r);
  if (r.rank == 0) return;  // and the process ends
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  const Values<float> send(std::vector<float>(300000, 5)), receive(std::vector<float>(300000, -1));
  for (int i = 0; i < 50; ++i) {
    if (r.rank == 1) RANK_OK(r, HcclSend(send.get(), 300000, kFloat, 2, r.comm, r.stream));
    if (r.rank == 2) RANK_OK(r, HcclRecv(receive.get(), 300000, kFloat, 1, r.comm, r.stream));
  }
  r.Sync();
  if (r.rank == 2) Expect(r, "what came after rank 0 had gone", receive.Read(), std::vector<float>(300000, 5));
}
TEST(RanksOfSeveralHosts, GoOnWhenRank0IsDoneFirst) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2"}}, "LeaderIsDoneFirst")), "");
}

// Ranks that end the hard way as soon as their communicator is destroyed, as forked ones do: what they gave in their
// last operation arrives all the same.
RANK_BODY(LeavesInHaste) {
  const size_t count = size_t{1} << 20;
  const Values<float> send(std::vector<float>(count, 1)), receive(std::vector<float>(count, 0));
  for (int i = 0; i < 3; ++i) {
    RANK_OK(r, HcclAllReduce(send.get(), receive.get(), count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  }
  r.Sync();
  RANK_OK(r, HcclCommDestroy(std::exchange(r.comm, nullptr)));
  std::fputs(r.complaints.c_str(), stderr);
  _exit(r.complaints.empty() ? 0 : 3);
}
TEST(RanksOfSeveralHosts, MayEndInHasteOnceTheCommunicatorIsDestroyed) {
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(Complaints(RunHosts({{"0", "1"}, {"2", "3"}}, "LeavesInHaste")), "");
  }
}

// --- Real hosts ---------------------------------------------------------------------------------------------------

// Enters the namespace before anything else happens in the process.
MP_ROLE(rank_in_namespace) {
  const int space = open(getenv("TEST_NAMESPACE"), O_RDONLY | O_CLOEXEC);
  ROLE_CHECK(space >= 0 && setns(space, CLONE_NEWNET) == 0);
  return BeRank();
}

class Namespaces {
 public:
  Namespaces() {
    const std::string a = Name(0), b = Name(1), devices = Device();
    ok_ = Run("ip netns add " + a) && Run("ip netns add " + b) &&
          Run("ip link add " + devices + " netns " + a + " type veth peer name mpb netns " + b) &&
          Run("ip -n " + a + " addr add 10.77.0.1/24 dev " + devices) &&
          Run("ip -n " + b + " addr add 10.77.0.2/24 dev mpb") && Run("ip -n " + a + " link set " + devices + " up") &&
          Run("ip -n " + b + " link set mpb up");
  }
  ~Namespaces() {
    for (int i = 0; i < 2; ++i) Run("ip netns del " + Name(i));
  }
  bool ok() const { return ok_; }
  static std::string Device() { return "mpa" + std::to_string(getpid() % 100000); }
  static std::string Name(int i) { return "mp_test_" + std::to_string(getpid()) + "_" + std::to_string(i); }

 private:
  static bool Run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }
  bool ok_ = false;
};

// Two ranks in each.
std::vector<acl_test::ChildResult> RunInNamespaces(const char* body, std::map<std::string, std::string> variables) {
  const TemporaryFolder folder;
  variables.insert({{"TEST_RANKS", "4"},
                    {"TEST_BODY", body},
                    {"TEST_ROOT", folder / "root"},
                    {"MILLPOND_RANK_NETWORK", "1"},
                    {"TEST_DEVICE", Namespaces::Device()}});
  std::vector<acl_test::ChildResult> results(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      std::map<std::string, std::string> own = variables;
      own["TEST_RANK"] = std::to_string(i);
      own["TEST_NAMESPACE"] = "/run/netns/" + Namespaces::Name(static_cast<int>(i / 2));
      results[i] = acl_test::RunRole("rank_in_namespace", own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

constexpr char kNoNamespaces[] = "this user may not make network namespaces (`ip netns add`, a veth pair)";

TEST(RanksOfSeveralHosts, InNetworkNamespaces) {
  const Namespaces spaces;
  if (!spaces.ok()) GTEST_SKIP() << kNoNamespaces;
  EXPECT_EQ(Complaints(RunInNamespaces("Sum", {})), "");
}

// The cable is pulled in the midst of large operations: no rank hangs, and each names those it cannot reach. They go on
// until somebody minds: how many there are before the cable is out depends on how busy the machine is.
RANK_BODY(CutOff) {
  constexpr int kAtOnce = 8;
  const size_t count = size_t{1} << 20;
  const Values<float> send(std::vector<float>(count, 1)), receive(std::vector<float>(count, 0));
  const auto reduce = [&] {
    return HcclAllReduce(send.get(), receive.get(), count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream);
  };
  RANK_OK(r, reduce());
  r.Sync();
  std::thread cut;
  if (r.rank == 0) {
    cut = std::thread([&] {
      const std::string command = "ip link set " + std::string(getenv("TEST_DEVICE")) + " down";
      if (std::system(command.c_str()) != 0) r.Complain("the link stays up");
    });
  }
  std::string text;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (text.empty() && std::chrono::steady_clock::now() < end) {
    int result = 0;
    for (int i = 0; i < kAtOnce && result == 0; ++i) result = reduce();
    if (result == 0) result = aclrtSynchronizeStream(r.stream);
    if (result != 0) text = acl_test::RecentMessage();
  }
  if (cut.joinable()) cut.join();
  if (text.empty()) r.Complain("nobody minded");
  // Of the other host's two ranks, whoever is waited for: what one of them had sent may have come before the cut. A
  // rank may wait for the other one of its own host alone; then it says whom that one waits for.
  const std::regex other(r.rank < 2 ? "waits for ranks? ([0-9]+, )*[23]" : "waits for ranks? ([0-9]+, )*[01]");
  const bool named = text.find("has failed") != std::string::npos || std::regex_search(text, other);
  if (text.find("EI0002") == std::string::npos || !named) r.Complain(text);
}

TEST(RanksOfSeveralHosts, HearWhomTheyCannotReachWhenTheLinkIsCut) {
  const Namespaces spaces;
  if (!spaces.ok()) GTEST_SKIP() << kNoNamespaces;
  EXPECT_EQ(Complaints(RunInNamespaces("CutOff", {{"HCCL_EXEC_TIMEOUT", "3"}})), "");
}

}  // namespace

MP_TEST_MAIN()

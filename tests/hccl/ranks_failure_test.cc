// SPDX-License-Identifier: Apache-2.0
// Ranks that disagree, die, leave or never come: every other rank hears of it in time, with names, and lives on.
#include <dirent.h>

#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

// The failure of the stream's work, which must be there and have all of these texts.
std::string Failure(Rank& r, std::initializer_list<const char*> texts) {
  if (aclrtSynchronizeStream(r.stream) == 0) {
    r.Complain("the stream has not failed");
    return {};
  }
  const std::string message = acl_test::RecentMessage();
  for (const char* text : texts) {
    if (message.find(text) == std::string::npos) r.Complain(std::string("'") + text + "' is not in: " + message);
  }
  return message;
}

void ExpectAsync(Rank& r, HcclResult expected) {
  HcclResult found = HCCL_SUCCESS;
  acl_test::RecentMessage();
  RANK_OK(r, HcclGetCommAsyncError(r.comm, &found));
  if (found != expected) r.Complain("HcclGetCommAsyncError says " + std::to_string(found));
  if (acl_test::RecentMessage().find("EI000") == std::string::npos) r.Complain("and leaves no message");
}

std::string Line(int line) { return LineOf("ranks_failure_test", line); }

struct Buffers {
  Values<float> send{std::vector<float>(4096, 1)};
  Values<float> receive{std::vector<float>(4096, -1)};
};

RANK_BODY(OtherCount) {
  const Buffers b;
  RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), r.rank == 1 ? 20 : 10, kFloat, HCCL_REDUCE_SUM, r.comm,
                           r.stream));
  Failure(r, {"EI0005", "HcclAllReduce", r.ranks == 2 ? "10 (rank 0)" : "10 (ranks 0, 2", "20 (rank 1)"});
  Expect(r, "what was not moved", b.receive.Read(), std::vector<float>(4096, -1));
  ExpectAsync(r, HCCL_E_PARA);
  // The communicator is spent, and says so at once.
  RANK_OK(r, HcclBarrier(r.comm, r.stream));
  Failure(r, {"EI0005"});
}

RANK_BODY(OtherTypeAndReduction) {
  const Buffers b;
  const bool odd = r.rank % 2 == 1;
  RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 10, odd ? HCCL_DATA_TYPE_INT32 : kFloat,
                           odd ? HCCL_REDUCE_MAX : HCCL_REDUCE_SUM, r.comm, r.stream));
  Failure(r, {"EI0005", "int32 (rank", "fp32 (rank", "max (rank", "sum (rank"});
}

RANK_BODY(OtherOperation) {
  const Buffers b;
  const int line = __LINE__ + 2;
  if (r.rank == 0) {
    RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 10, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  } else {
    RANK_OK(r, HcclBroadcast(b.receive.get(), 10, kFloat, 1, r.comm, r.stream));
  }
  const std::string first = "Rank 0 called HcclAllReduce (10 of fp32, sum) at ", where = Line(line);
  const std::string second = r.ranks == 2 ? "Rank 1 called HcclBroadcast (10 of fp32, root 1) at "
                                          : "Ranks 1, 2 called HcclBroadcast (10 of fp32, root 1) at ";
  Failure(r, {"EI0005", "HcclAllReduce (rank 0)", "HcclBroadcast (rank", "reduction: none (rank", first.c_str(),
              where.c_str(), second.c_str(), Line(line + 2).c_str()});
}

RANK_BODY(OtherRoot) {
  const Buffers b;
  RANK_OK(r, HcclBroadcast(b.receive.get(), 10, kFloat, r.rank == 0 ? 0 : 1, r.comm, r.stream));
  Failure(r, {"EI0005", "root: 0 (rank 0), 1 (rank"});
}

RANK_BODY(OtherCounts) {
  const Buffers b;
  std::vector<uint64_t> to(r.ranks, 5), from(r.ranks, 5), offsets(r.ranks, 0);
  for (uint32_t i = 0; i < r.ranks; ++i) offsets[i] = 5 * i;
  if (r.rank == 0) from[1] = 4;
  RANK_OK(r, HcclAlltoAllV(b.send.get(), to.data(), offsets.data(), kFloat, b.receive.get(), from.data(),
                           offsets.data(), kFloat, r.comm, r.stream));
  Failure(r, {"EI0005", "rank 1 sends 5 elements to rank 0, which expects 4"});
}

RANK_BODY(OtherMessage) {
  const Buffers b;
  const int line = __LINE__ + 1;
  if (r.rank == 0) RANK_OK(r, HcclSend(b.send.get(), 100, kFloat, 1, r.comm, r.stream));
  if (r.rank == 1) RANK_OK(r, HcclRecv(b.receive.get(), 99, kFloat, 0, r.comm, r.stream));
  if (r.rank > 1) return;
  const std::string sends = "sends 100 of fp32 (400 bytes) at ", expects = "expects 99 of fp32 (396 bytes) at ";
  Failure(r, {"EI0005", "from rank 0 to rank 1", sends.c_str(), Line(line).c_str(), expects.c_str(),
              Line(line + 1).c_str()});
}

// The process lives, and a new communicator of the same ranks works.
RANK_BODY(LifeAfterwards) {
  const Buffers b;
  HcclComm second = SameRanks(r, 1);
  RANK_OK(r, HcclBroadcast(b.receive.get(), r.rank + 1, kFloat, 0, r.comm, r.stream));
  Failure(r, {"EI0005"});
  RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 10, kFloat, HCCL_REDUCE_SUM, second, r.stream));
  r.Sync();
  Expect(r, "AllReduce", b.receive.Read(), std::vector<float>(10, static_cast<float>(r.ranks)));
  RANK_OK(r, HcclCommDestroy(second));
}

class RanksThatDisagree : public ::testing::TestWithParam<std::string> {};
TEST_P(RanksThatDisagree, AreNamedOnEveryRank) { ExpectSilentEverywhere(GetParam(), {{"0"}, {"1,2"}}); }
INSTANTIATE_TEST_SUITE_P(Each, RanksThatDisagree,
                         ::testing::Values("OtherCount", "OtherTypeAndReduction", "OtherOperation", "OtherRoot",
                                           "OtherCounts", "OtherMessage", "LifeAfterwards"),
                         [](const auto& info) { return info.param; });

// The process ends as soon as it has heard, and with it whoever speaks for its host.
[[noreturn]] void EndAtOnce(const Rank& r) {
  std::fputs(r.complaints.c_str(), stderr);
  _exit(r.complaints.empty() ? 0 : 3);
}

RANK_BODY(OtherCountAndTheEnd) {
  const Buffers b;
  RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), r.rank == 1 ? 20 : 10, kFloat, HCCL_REDUCE_SUM, r.comm,
                           r.stream));
  Failure(r, {"EI0005", "20 (rank 1)"});
  EndAtOnce(r);
}

RANK_BODY(OtherMessageAndTheEnd) {
  const Buffers b;
  if (r.rank == 0) RANK_OK(r, HcclSend(b.send.get(), 100, kFloat, 1, r.comm, r.stream));
  if (r.rank == 1) RANK_OK(r, HcclRecv(b.receive.get(), 99, kFloat, 0, r.comm, r.stream));
  Failure(r, {"EI0005", "from rank 0 to rank 1"});
  EndAtOnce(r);
}

class DisagreementOfHosts : public ::testing::TestWithParam<std::string> {};
TEST_P(DisagreementOfHosts, IsHeardOfByAllThoughOneEndsAtOnce) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}}, GetParam())), "");
}
INSTANTIATE_TEST_SUITE_P(Each, DisagreementOfHosts, ::testing::Values("OtherCountAndTheEnd", "OtherMessageAndTheEnd"),
                         [](const auto& info) { return info.param; });

// --- Gone -------------------------------------------------------------------------------------------------------

// The last rank dies in the middle of a stretch of large operations; the others are told who it was.
RANK_BODY(Killed) {
  const size_t count = size_t{16} << 20;  // 64 MiB
  const Values<float> send(std::vector<float>(count, 1)), receive(std::vector<float>(count, 0));
  RANK_OK(r, HcclAllReduce(send.get(), receive.get(), count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  r.Sync();
  const bool victim = r.rank == r.ranks - 1;
  for (int i = 0; i < 20; ++i) {
    RANK_OK(r, HcclAllReduce(send.get(), receive.get(), count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  }
  const std::string stamp = std::string(getenv("TEST_ROOT")) + ".new";  // of a clock that all processes have
  using Clock = std::chrono::steady_clock;
  if (victim) {
    std::ofstream(stamp) << Clock::now().time_since_epoch().count();
    kill(getpid(), SIGKILL);
  }
  const std::string dead = "rank " + std::to_string(r.ranks - 1) + " has ended";
  Failure(r, {"EI0002", "Communication_Error_Timeout", dead.c_str(), "HcclAllReduce"});
  Clock::rep died = 0;
  std::ifstream(stamp) >> died;
  const auto took = Clock::now().time_since_epoch() - Clock::duration(died);
  if (!MP_SANITIZED && took > std::chrono::seconds(2)) r.Complain("heard of it only after more than 2 s");
  ExpectAsync(r, HCCL_E_REMOTE);
}

// It ends as programs do, without a word. Of another host the process that spoke for it may be what is missed first.
RANK_BODY(Exits) {
  const Buffers b;
  RANK_OK(r, HcclBarrier(r.comm, r.stream));
  r.Sync();
  // Of several hosts rank 0 may be the one that carries the barrier to the others, and this is about what comes after.
  const auto past = [](uint32_t rank) { return getenv("TEST_ROOT") + (".past" + std::to_string(rank)); };
  std::ofstream(past(r.rank)) << "done";
  if (r.rank == 0) {
    for (uint32_t rank = 1; rank < r.ranks; ++rank) {
      if (!acl_test::Eventually([&] { return std::ifstream(past(rank)).good(); })) _exit(1);
    }
    _exit(0);
  }
  RANK_OK(r, HcclBroadcast(b.receive.get(), 10, kFloat, 0, r.comm, r.stream));
  const std::string text = Failure(r, {"EI0002", "rank 0 "});
  const bool of_host = getenv("MILLPOND_RANK_HOST") != nullptr && text.find("cannot be reached") != std::string::npos;
  if (text.find("rank 0 has ended") == std::string::npos && !of_host) r.Complain(text);
  ExpectAsync(r, HCCL_E_REMOTE);
}

RANK_BODY(Leaves) {
  const Buffers b;
  RANK_OK(r, HcclBarrier(r.comm, r.stream));
  r.Sync();
  if (r.rank == 0) {
    RANK_OK(r, HcclCommDestroy(std::exchange(r.comm, nullptr)));
    return;
  }
  RANK_OK(r, HcclRecv(b.receive.get(), 10, kFloat, 0, r.comm, r.stream));
  Failure(r, {"EI0002", "rank 0 has left"});
}

// Rank 0 has given up: another rank may end.
void TellOthers() { std::ofstream(std::string(getenv("TEST_ROOT")) + ".new") << "done"; }
void AwaitRank0(Rank& r) {
  const std::string done = std::string(getenv("TEST_ROOT")) + ".new";
  if (!acl_test::Eventually([&] { return access(done.c_str(), F_OK) == 0; })) r.Complain("rank 0 did not give up");
}

// Rank 1 does nothing, and stays until the others have given up.
RANK_BODY(NeverCalls) {
  const Buffers b;
  const int line = __LINE__ + 1;
  RANK_OK(r, HcclBarrier(r.comm, r.stream));
  r.Sync();
  if (r.rank == 1) {
    // Rank 0 has failed when an operation with it fails at once, whatever the time.
    RANK_OK(r, aclrtSynchronizeStream(r.stream));
    AwaitRank0(r);
    return;
  }
  RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 10, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  Failure(r, {"EI0002", "waits for rank 1", "Rank 1, not there", "last HcclBarrier (its operation 0, done) at ",
              Line(line).c_str(), "last HcclAllReduce (10 of fp32, sum; its operation 1, under way) at ",
              "HCCL_EXEC_TIMEOUT"});
  ExpectAsync(r, HCCL_E_REMOTE);
  TellOthers();
}

// A call without elements is no operation. Whoever takes it for one hears of it.
RANK_BODY(CallsWithNothing) {
  const Buffers b;
  if (r.rank == 1) {
    RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 0, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    AwaitRank0(r);
    return;
  }
  const int line = __LINE__ - 4;
  RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 10, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  Failure(r, {"EI0002", "Rank 1, not there", "last HcclAllReduce without elements, which is no operation",
              Line(line).c_str()});
  TellOthers();
}

// A message is something that a rank did last as well; rank 1 receives one of two.
RANK_BODY(ReceivesOne) {
  const Buffers b;
  if (r.rank == 1) {
    RANK_OK(r, HcclRecv(b.receive.get(), 10, kFloat, 0, r.comm, r.stream));
    r.Sync();
    const std::string done = std::string(getenv("TEST_ROOT")) + ".new";
    if (!acl_test::Eventually([&] { return access(done.c_str(), F_OK) == 0; })) r.Complain("rank 0 did not give up");
    return;
  }
  RANK_OK(r, HcclSend(b.send.get(), 10, kFloat, 1, r.comm, r.stream));
  r.Sync();
  const int line = __LINE__ + 1;
  RANK_OK(r, HcclSend(b.send.get(), 12, kFloat, 1, r.comm, r.stream));
  Failure(r,
          {"EI0002", "waits for rank 1", "last send (12 of fp32 to rank 1; its message 1, under way) at ",
           Line(line).c_str(), "Rank 1, not there", "last receive (10 of fp32 from rank 0; its message 0, done) at "});
  std::ofstream(std::string(getenv("TEST_ROOT")) + ".new") << "done";
}

// Rank 0's stream is aborted before what it was asked for has begun: the others hear of it, instead of taking what it
// is asked for next for that.
RANK_BODY(DroppedUnbegun) {
  const Buffers b;
  HcclComm other = SameRanks(r, 1), third = SameRanks(r, 2);
  if (r.rank == 0) {
    RANK_OK(r, HcclBarrier(other, r.stream));  // nobody else comes to it
    RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 10, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    RANK_OK(r, HcclSend(b.send.get(), 10, kFloat, 1, third, r.stream));
    RANK_OK(r, aclrtStreamAbort(r.stream));
    aclrtSynchronizeStream(r.stream);
    RANK_OK(r, HcclAllReduce(b.receive.get(), b.receive.get(), 10, kFloat, HCCL_REDUCE_MAX, r.comm, r.stream));
    Failure(r, {"EI0002", "HcclAllReduce of rank 0 was dropped"});
  } else {
    RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 10, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    Failure(r, {"EI0002", "rank 0 has failed", "HcclAllReduce of rank 0 was dropped"});
    ExpectAsync(r, HCCL_E_REMOTE);
  }
  if (r.rank == 1) {
    RANK_OK(r, HcclRecv(b.receive.get(), 10, kFloat, 0, third, r.stream));
    Failure(r, {"EI0002", "rank 0 has failed", "HcclSend of rank 0 was dropped"});
  }
  RANK_OK(r, HcclCommDestroy(other));
  RANK_OK(r, HcclCommDestroy(third));
}

MP_ROLE(rank) { return BeRank(); }

// For an operation; ranks have all the time to meet.
const std::map<std::string, std::string> kShortWait = {{"HCCL_EXEC_TIMEOUT", "3"}};

TEST(RanksThatAreGone, AKilledRankIsNamedByAllOthers) {
  const auto results = RunProcesses(3, "Killed");
  EXPECT_EQ(results[0].exit_code, 0) << results[0].output;
  EXPECT_EQ(results[1].exit_code, 0) << results[1].output;
  EXPECT_EQ(results[2].exit_code, -SIGKILL) << results[2].output;
}

// Unix sockets that the kernel lists, and files, of the process.
int Traces(int pid) {
  int found = 0;
  const std::string mark = "millpond-" + std::to_string(pid) + "-";
  const auto look = [&](const std::string& name) { found += name.find(mark) != std::string::npos; };
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) look(line);
  for (const char* folder : {"/dev/shm", "/tmp"}) {
    DIR* open = opendir(folder);
    if (open == nullptr) continue;
    while (const dirent* entry = readdir(open)) look(entry->d_name);
    closedir(open);
  }
  return found;
}

// All ranks die in the midst of it; the one that the others met at says how it can be seen while it lives.
RANK_BODY(AllKilled) {
  const Buffers b;
  RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 10, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  RANK_OK(r, HcclRecv(b.receive.get(), 10, kFloat, (r.rank + 1) % r.ranks, r.comm, r.stream));
  if (r.rank == 0) dprintf(2, "pid=%d traces=%d\n", getpid(), Traces(getpid()));
  kill(getpid(), SIGKILL);
}

TEST(RanksThatAreGone, NothingIsLeftBehindByRanksThatWereKilled) {
  const auto results = RunProcesses(2, "AllKilled");
  for (const auto& result : results) EXPECT_EQ(result.exit_code, -SIGKILL) << result.output;
  int pid = 0, traces = 0;
  const size_t said = results[0].output.find("pid=");
  ASSERT_NE(said, std::string::npos) << results[0].output;
  ASSERT_EQ(std::sscanf(results[0].output.c_str() + said, "pid=%d traces=%d", &pid, &traces), 2);
  EXPECT_GT(traces, 0) << "this test looks in the wrong place";
  EXPECT_EQ(Traces(pid), 0);
}

TEST(RanksThatAreGone, ARankThatExitsIsNamed) {
  EXPECT_EQ(Complaints(RunProcesses(3, "Exits")), "");
  EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1", "2"}}, "Exits")), "");
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2"}}, "Exits")), "");
}

TEST(RanksThatAreGone, ARankThatDestroysItsCommunicatorIsNamed) {
  EXPECT_EQ(RunThreads(2, Bodies().at("Leaves")), "");
  EXPECT_EQ(Complaints(RunProcesses(2, "Leaves")), "");
  EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}}, "Leaves")), "");
}

TEST(RanksThatAreGone, WhatWasDroppedBeforeItBeganIsNamed) {
  EXPECT_EQ(RunThreads(3, Bodies().at("DroppedUnbegun")), "");
  EXPECT_EQ(Complaints(RunProcesses(2, "DroppedUnbegun")), "");
  EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1", "2"}}, "DroppedUnbegun")), "");
}

TEST(RanksThatAreGone, ARankThatNeverCallsIsNamedWhenTheTimeIsOver) {
  const auto results = RunProcesses(2, "NeverCalls", kShortWait);
  EXPECT_EQ(Complaints(results), "");
  EXPECT_NE(results[0].output.find("no progress for"), std::string::npos)
      << "no note came before: " << results[0].output;
}

TEST(RanksThatAreGone, ACallWithoutElementsIsNamed) {
  EXPECT_EQ(Complaints(RunProcesses(2, "CallsWithNothing", kShortWait)), "");
  EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}}, "CallsWithNothing", kShortWait)), "");
}

TEST(RanksThatAreGone, ARankOfAnotherHostThatNeverCallsIsNamedWhenTheTimeIsOver) {
  EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}}, "NeverCalls", kShortWait)), "");
}

TEST(RanksThatAreGone, TheLastMessageOfEachRankIsNamedToo) {
  EXPECT_EQ(Complaints(RunProcesses(2, "ReceivesOne", kShortWait)), "");
  EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}}, "ReceivesOne", kShortWait)), "");
}

// A collective that waits parks its stream: with fewer threads than streams that wait, other work goes on.
RANK_BODY(ManyWait) {
  const Buffers b;
  constexpr size_t kMany = 12;
  HcclComm comms[kMany] = {};
  aclrtStream streams[kMany] = {};
  for (size_t i = 0; i < kMany; ++i) {
    comms[i] = SameRanks(r, i);
    RANK_OK(r, aclrtCreateStream(&streams[i]));
  }
  // Each rank issues on its communicators in another order.
  for (size_t i = 0; i < kMany; ++i) {
    const size_t at = r.rank % 2 == 0 ? i : kMany - 1 - i;
    RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get() + at, 1, kFloat, HCCL_REDUCE_SUM, comms[at], streams[at]));
    if (i == kMany / 2) {
      RANK_OK(r, aclrtMemsetAsync(b.receive.get() + 100, 4, 0, 4, r.stream));
      r.Sync();
    }
  }
  for (size_t i = 0; i < kMany; ++i) {
    RANK_OK(r, aclrtSynchronizeStream(streams[i]));
    RANK_OK(r, HcclCommDestroy(comms[i]));
    RANK_OK(r, aclrtDestroyStream(streams[i]));
  }
  Expect(r, "AllReduce", b.receive.Read(), std::vector<float>(kMany, static_cast<float>(r.ranks)));
}

TEST(RanksThatWait, HoldNoThread) {
  EXPECT_EQ(RunThreads(3, Bodies().at("ManyWait")), "");
  EXPECT_EQ(Complaints(RunProcesses(2, "ManyWait", {{"MILLPOND_WORKERS", "2"}})), "");
  EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}}, "ManyWait", {{"MILLPOND_WORKERS", "2"}})), "");
}

// A rank that stands still for a while is late, not gone.
RANK_BODY(Stopped) {
  const Buffers b;
  for (int i = 0; i < 200; ++i) {
    RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 4096, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    if (i == 100 && r.rank == 1) {
      const pid_t self = getpid();
      const pid_t waker = fork();
      if (waker == 0) {
        usleep(300000);
        kill(self, SIGCONT);
        _exit(0);
      }
      kill(self, SIGSTOP);
      waitpid(waker, nullptr, 0);
    }
  }
  r.Sync();
  Expect(r, "AllReduce", b.receive.Read(), std::vector<float>(4096, static_cast<float>(r.ranks)));
}

// Rank 1 is late by half of the time that is allowed: the others wait, and say so after a third of it.
RANK_BODY(Late) {
  const Buffers b;
  if (r.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 4096, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  r.Sync();
  Expect(r, "AllReduce", b.receive.Read(), std::vector<float>(4096, static_cast<float>(r.ranks)));
}

TEST(RanksThatWait, SayForWhom) {
  const auto results = RunProcesses(2, "Late", kShortWait);
  EXPECT_EQ(Complaints(results), "");
  EXPECT_NE(results[0].output.find("waits for rank 1"), std::string::npos) << results[0].output;
}

// Rank 0 waits for rank 1, which waits for rank 2, and that one is where to look.
RANK_BODY(InTurn) {
  const Buffers b;
  const std::string done = std::string(getenv("TEST_ROOT")) + ".new";
  if (r.rank == 2) {
    if (!acl_test::Eventually([&] { return access(done.c_str(), F_OK) == 0; })) r.Complain("rank 0 did not give up");
    return;
  }
  RANK_OK(r, HcclRecv(b.receive.get(), 10, kFloat, r.rank + 1, r.comm, r.stream));
  Failure(r, {"EI0002"});
  if (r.rank == 0) std::ofstream(done) << "done";
}

TEST(RanksThatWait, SayForWhomTheOtherWaitsInTurn) {
  for (const auto& results :
       {RunProcesses(3, "InTurn", kShortWait), RunHosts({{"0"}, {"1", "2"}}, "InTurn", kShortWait)}) {
    EXPECT_EQ(Complaints(results), "");
    const std::string& text = results[0].output;
    const size_t note = text.find("no progress for"), rank1 = text.find("Rank 1, not there", note);
    ASSERT_NE(rank1, std::string::npos) << text;
    EXPECT_LT(text.find(", waits for rank 2.", rank1), text.find("Rank 2 ", rank1)) << text;
  }
}

TEST(RanksThatWait, ForOneThatWasStopped) {
  EXPECT_EQ(Complaints(RunProcesses(2, "Stopped")), "");
  EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}}, "Stopped")), "");
}

}  // namespace

MP_TEST_MAIN()

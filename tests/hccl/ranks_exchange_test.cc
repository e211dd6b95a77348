// SPDX-License-Identifier: Apache-2.0
// Large AlltoAlls over several hosts, which go from buffer to buffer, and operations with lists, which do on one host
// too: the right bytes whatever the hosts, the way back where a buffer cannot be reached, and no byte written to memory
// that a rank has taken back.
#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

constexpr HcclDataType kByte = HCCL_DATA_TYPE_UINT8;
constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kPart = kMiB + 37;  // odd, and more than a frame
constexpr int kTimes = 3;            // a block is worth the move when it is used again

// What rank `from` gives to rank `to` in round `time`.
uint8_t At(uint32_t from, uint32_t to, size_t i, int time) {
  return static_cast<uint8_t>(i * 7 + i / 251 + from * 31 + to * 17 + static_cast<size_t>(time) * 5);
}
std::vector<uint8_t> Given(const Rank& r, size_t part, int time) {
  std::vector<uint8_t> all(part * r.ranks);
  for (size_t i = 0; i < all.size(); ++i) all[i] = At(r.rank, static_cast<uint32_t>(i / part), i % part, time);
  return all;
}
std::vector<uint8_t> Taken(const Rank& r, size_t part, int time) {
  std::vector<uint8_t> all(part * r.ranks);
  for (size_t i = 0; i < all.size(); ++i) all[i] = At(static_cast<uint32_t>(i / part), r.rank, i % part, time);
  return all;
}

void Exchange(Rank& r, const void* send, void* receive, size_t part) {
  RANK_OK(r, HcclAlltoAll(send, part, kByte, receive, part, kByte, r.comm, r.stream));
}

// Of several sizes, beside operations that go through the staging memory.
RANK_BODY(Sizes) {
  for (const size_t part : {kPart, kMiB / 3 + 1}) {
    const Values<uint8_t> send(Given(r, part, 0)), receive(std::vector<uint8_t>(part * r.ranks, 0));
    const Values<uint8_t> little(Given(r, 100, 0)), got(std::vector<uint8_t>(100 * r.ranks, 0));
    for (int time = 0; time < kTimes; ++time) {
      const std::vector<uint8_t> given = Given(r, part, time);
      RANK_OK(r, aclrtMemcpy(send.get(), given.size(), given.data(), given.size(), ACL_MEMCPY_HOST_TO_DEVICE));
      RANK_OK(r, aclrtMemset(receive.get(), part * r.ranks, 0, part * r.ranks));
      Exchange(r, little.get(), got.get(), 100);
      Exchange(r, send.get(), receive.get(), part);
      Exchange(r, little.get(), got.get(), 100);
      r.Sync();
      Expect(r, "AlltoAll", receive.Read(), Taken(r, part, time));
      Expect(r, "a small AlltoAll", got.Read(), Taken(r, 100, 0));
      Expect(r, "what was only read", send.Read(), given);
    }
  }
  const char* const mapped = getenv("TEST_MAPPED");
  if (mapped != nullptr && (MappedBlocks() > 0) != (*mapped == '1')) {
    r.Complain(std::to_string(MappedBlocks()) + " blocks are mapped");
  }
}

// New blocks each time, and pinned memory on one rank now and then.
RANK_BODY(OtherMemory) {
  void* pinned = nullptr;
  RANK_OK(r, aclrtMallocHost(&pinned, kPart * r.ranks));
  const Values<uint8_t> receive(std::vector<uint8_t>(kPart * r.ranks, 0));
  const Values<uint8_t> steady(std::vector<uint8_t>(kPart * r.ranks, 0));
  for (int time = 0; time < 2 * kTimes; ++time) {
    const std::vector<uint8_t> given = Given(r, kPart, time);
    const Values<uint8_t> fresh(given);
    std::memcpy(pinned, given.data(), given.size());
    RANK_OK(r, aclrtMemcpy(steady.get(), given.size(), given.data(), given.size(), ACL_MEMCPY_HOST_TO_DEVICE));
    const bool odd_one = r.rank == 1 && time % 2 == 0;
    Exchange(r, odd_one ? pinned : time < kTimes ? fresh.get() : steady.get(), receive.get(), kPart);
    r.Sync();
    Expect(r, "AlltoAll", receive.Read(), Taken(r, kPart, time));
  }
  RANK_OK(r, aclrtFreeHost(pinned));
}

RANK_BODY(Replayed) {
  const Values<uint8_t> send(Given(r, kPart, 0)), receive(std::vector<uint8_t>(kPart * r.ranks, 0));
  aclmdlRI graph = nullptr;
  RANK_OK(r, aclmdlRICaptureBegin(r.stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  Exchange(r, send.get(), receive.get(), kPart);
  RANK_OK(r, aclmdlRICaptureEnd(r.stream, &graph));
  for (int time = 0; time < kTimes + 1; ++time) {
    RANK_OK(r, aclrtMemset(receive.get(), kPart * r.ranks, 0, kPart * r.ranks));
    RANK_OK(r, aclmdlRIExecuteAsync(graph, r.stream));
    r.Sync();
    Expect(r, "AlltoAll", receive.Read(), Taken(r, kPart, 0));
  }
  RANK_OK(r, aclmdlRIDestroy(graph));
}

// Lists that differ from rank to rank, with gaps, another order at the sender, and ranks that give or get nothing.
RANK_BODY(Lists) {
  const uint32_t n = r.ranks;
  const auto count = [&](uint32_t from, uint32_t to) {
    return from + 1 == n && n > 2 ? uint64_t{0} : uint64_t{60'000} + 7'001 * from + 101 * to;
  };
  const auto value = [](uint32_t from, uint32_t to, uint64_t i) {
    return static_cast<int32_t>(from * 1'000'003 + to * 10'007 + i);
  };
  std::vector<uint64_t> gives(n), gets(n), from_where(n), to_where(n);
  uint64_t sends = 3, receives = 1;
  for (uint32_t i = n; i-- > 0; sends += gives[i] + i) {
    gives[i] = count(r.rank, i);
    from_where[i] = sends;
  }
  for (uint32_t i = 0; i < n; receives += gets[i] + 2, ++i) {
    gets[i] = count(i, r.rank);
    to_where[i] = receives;
  }
  std::vector<int32_t> given(sends, 7), taken(receives, -1);
  std::vector<uint64_t> shares(n), parts(n);
  uint64_t gathers = 5;
  for (uint32_t i = 0; i < n; ++i) {
    for (uint64_t k = 0; k < gives[i]; ++k) given[from_where[i] + k] = value(r.rank, i, k);
    for (uint64_t k = 0; k < gets[i]; ++k) taken[to_where[i] + k] = value(i, r.rank, k);
    shares[i] = count(i, 0) + 40'000;
    parts[i] = gathers;
    gathers += shares[i] + 3;
  }
  const uint64_t mine = shares[r.rank];
  std::vector<int32_t> own(mine), all(gathers, -1), sums(mine, 0);
  for (uint64_t k = 0; k < mine; ++k) own[k] = value(r.rank, 0, k);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint64_t k = 0; k < shares[i]; ++k) all[parts[i] + k] = value(i, 0, k);
  }
  // What is summed up lies at another place on each rank.
  std::vector<uint64_t> shifted(parts);
  for (uint64_t& at : shifted) at += r.rank;
  std::vector<int32_t> summed(gathers + n, 0);
  for (uint32_t i = 0; i < n; ++i) {
    for (uint64_t k = 0; k < shares[i]; ++k) summed[shifted[i] + k] = value(r.rank, i, k);
  }
  for (uint32_t i = 0; i < n; ++i) {
    for (uint64_t k = 0; k < mine; ++k) sums[k] += value(i, r.rank, k);
  }
  constexpr HcclDataType kInt = HCCL_DATA_TYPE_INT32;
  const Values<int32_t> send(given), receive(std::vector<int32_t>(receives, -1)), one(own);
  const Values<int32_t> whole(std::vector<int32_t>(gathers, -1)), to_sum(summed), sum(std::vector<int32_t>(mine, -1));
  for (int time = 0; time < kTimes; ++time) {
    RANK_OK(r, aclrtMemset(receive.get(), receives * 4, 0xff, receives * 4));
    RANK_OK(r, aclrtMemset(whole.get(), gathers * 4, 0xff, gathers * 4));
    RANK_OK(r, HcclAlltoAllV(send.get(), gives.data(), from_where.data(), kInt, receive.get(), gets.data(),
                             to_where.data(), kInt, r.comm, r.stream));
    RANK_OK(r, HcclAllGatherV(one.get(), mine, whole.get(), shares.data(), parts.data(), kInt, r.comm, r.stream));
    RANK_OK(r, HcclReduceScatterV(to_sum.get(), shares.data(), shifted.data(), sum.get(), mine, kInt, HCCL_REDUCE_SUM,
                                  r.comm, r.stream));
    r.Sync();
    Expect(r, "AlltoAllV", receive.Read(), taken);
    Expect(r, "AllGatherV", whole.Read(), all);
    Expect(r, "ReduceScatterV", sum.Read(), sums);
    Expect(r, "what was only read", send.Read(), given);
  }
}

void ExpectFailed(Rank& r) {
  if (aclrtSynchronizeStream(r.stream) == 0) r.Complain("the stream has not failed");
  const std::string text = acl_test::RecentMessage();
  if (text.find("EI0002") == std::string::npos) r.Complain(text);
}

// The victim dies in the midst of it.
// The last exchange is the last thing that a host does: that it has gone comes right behind its bytes.
RANK_BODY(AndIsGone) {
  const Values<uint8_t> send(Given(r, kPart, 0)), receive(std::vector<uint8_t>(kPart * r.ranks, 0));
  for (int time = 0; time < kTimes; ++time) Exchange(r, send.get(), receive.get(), kPart);
  r.Sync();
  if (r.rank < 2) Expect(r, "AlltoAll", receive.Read(), Taken(r, kPart, 0));  // the others leave at once
}

RANK_BODY(Killed) {
  const uint32_t victim = Number("TEST_VICTIM");
  const Values<uint8_t> send(Given(r, kPart, 0)), receive(std::vector<uint8_t>(kPart * r.ranks, 0));
  for (int i = 0; i < 40; ++i) {
    Exchange(r, send.get(), receive.get(), kPart);
    if (i == kTimes && r.rank == victim) r.Sync();
  }
  if (r.rank == victim) kill(getpid(), SIGKILL);
  ExpectFailed(r);
}

// The victim's stream is aborted in the midst of it, and its memory given to others, which find in it what they wrote.
RANK_BODY(Aborted) {
  const uint32_t victim = Number("TEST_VICTIM");
  auto send = std::make_unique<Values<uint8_t>>(Given(r, kPart, 0));
  auto receive = std::make_unique<Values<uint8_t>>(std::vector<uint8_t>(kPart * r.ranks, 0));
  for (int i = 0; i < 40; ++i) {
    Exchange(r, send->get(), receive->get(), kPart);
    if (i == kTimes && r.rank == victim) r.Sync();
  }
  if (r.rank != victim) return ExpectFailed(r);
  RANK_OK(r, aclrtStreamAbort(r.stream));
  send = nullptr;
  receive = nullptr;
  const Values<uint8_t> first(std::vector<uint8_t>(kPart * r.ranks, 123));
  const Values<uint8_t> second(std::vector<uint8_t>(kPart * r.ranks, 123));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  Expect(r, "what was written afterwards", first.Read(), std::vector<uint8_t>(kPart * r.ranks, 123));
  Expect(r, "what was written afterwards", second.Read(), std::vector<uint8_t>(kPart * r.ranks, 123));
}

MP_ROLE(rank) { return BeRank(); }

TEST(ExchangeOfHosts, GivesEachRankItsBytes) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2", "3"}}, "Sizes", {{"TEST_MAPPED", "1"}})), "");
  EXPECT_EQ(Complaints(RunHosts({{"0,3"}, {"1"}, {"2", "4"}}, "Sizes")), "");
  EXPECT_EQ(Complaints(RunHosts({{"1"}, {"0"}}, "Sizes")), "");
  const std::map<std::string, std::string> staged = {{"TEST_MAPPED", "0"}, {"MILLPOND_RANK_DIRECT", "0"}};
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2"}}, "Sizes", staged)), "");
}
TEST(ExchangeOfHosts, TakesListsThatDiffer) {
  EXPECT_EQ(RunThreads(3, Bodies().at("Lists")), "");
  EXPECT_EQ(Complaints(RunProcesses(4, "Lists")), "");
  EXPECT_EQ(Complaints(RunProcesses(3, "Lists", {{"MILLPOND_RANK_DIRECT", "0"}})), "");
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2", "3"}}, "Lists")), "");
  EXPECT_EQ(Complaints(RunHosts({{"0,2"}, {"1"}, {"3"}}, "Lists")), "");
}
TEST(ExchangeOfHosts, IsLeftWhereABufferCannotBeReached) {
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2,3"}}, "OtherMemory")), "");
}
TEST(ExchangeOfHosts, IsReplayed) { EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2"}}, "Replayed")), ""); }

TEST(ExchangeOfHosts, IsWholeThoughTheOtherHostLeaves) {
  for (int time = 0; time < 6; ++time) {
    EXPECT_EQ(Complaints(RunHosts({{"0,1"}, {"2,3"}}, "AndIsGone")), "");
  }
}

class ExchangeThatEndsEarly : public ::testing::TestWithParam<int> {};
TEST_P(ExchangeThatEndsEarly, BecauseARankWasKilled) {
  const auto victim = static_cast<size_t>(GetParam());
  const auto results = RunHosts({{"0", "1"}, {"2", "3"}}, "Killed", {{"TEST_VICTIM", std::to_string(victim)}});
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].exit_code, i == victim ? -SIGKILL : 0) << "rank " << i << ": " << results[i].output;
  }
}
TEST_P(ExchangeThatEndsEarly, BecauseAStreamWasAborted) {
  const std::map<std::string, std::string> victim = {{"TEST_VICTIM", std::to_string(GetParam())}};
  EXPECT_EQ(Complaints(RunHosts({{"0", "1"}, {"2", "3"}}, "Aborted", victim)), "");
  EXPECT_EQ(Complaints(RunHosts({{"0,1"}, {"2,3"}}, "Aborted", victim)), "");
  EXPECT_EQ(Complaints(RunMixed({"0,1", "2,3"}, "Aborted", victim)), "");
}
INSTANTIATE_TEST_SUITE_P(Each, ExchangeThatEndsEarly, ::testing::Values(0, 1, 3));

}  // namespace

MP_TEST_MAIN()

// SPDX-License-Identifier: Apache-2.0
// More ranks than the machine has cores make progress, and each is told the truth about its device's memory.
// MILLPOND_MANY_RANKS sets how many processes there are at most (`./millpond test --long`: 64).
#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

constexpr HcclDataType kInt = HCCL_DATA_TYPE_INT32;
constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kRim = 4096;  // aclrtMalloc adds some bytes to what is asked for, and rounds up to 2 MiB

uint32_t MostProcesses() {
  const char* text = getenv("MILLPOND_MANY_RANKS");
  return text != nullptr ? static_cast<uint32_t>(atoi(text)) : 16;
}

// Sums, a ring of messages and everybody to everybody, several times.
RANK_BODY(Progress) {
  const auto n = static_cast<size_t>(r.ranks);
  const Values<int32_t> own(std::vector<int32_t>(1000, static_cast<int32_t>(r.rank))),
      sum(std::vector<int32_t>(1000, -1));
  const Values<int32_t> given(std::vector<int32_t>(n, static_cast<int32_t>(r.rank))),
      taken(std::vector<int32_t>(n, -1));
  const Values<int32_t> token({static_cast<int32_t>(r.rank)}), came({-1});
  const uint32_t next = (r.rank + 1) % r.ranks, previous = (r.rank + r.ranks - 1) % r.ranks;
  for (int i = 0; i < 5; ++i) {
    RANK_OK(r, HcclAllReduce(own.get(), sum.get(), 1000, kInt, HCCL_REDUCE_SUM, r.comm, r.stream));
    RANK_OK(r, HcclAlltoAll(given.get(), 1, kInt, taken.get(), 1, kInt, r.comm, r.stream));
    HcclSendRecvItem items[] = {{HCCL_SEND, token.get(), 1, kInt, next}, {HCCL_RECV, came.get(), 1, kInt, previous}};
    RANK_OK(r, HcclBatchSendRecv(items, 2, r.comm, r.stream));
  }
  r.Sync();
  Expect(r, "AllReduce", sum.Read(), std::vector<int32_t>(1000, static_cast<int32_t>(n * (n - 1) / 2)));
  std::vector<int32_t> everybody(n);
  std::iota(everybody.begin(), everybody.end(), 0);
  Expect(r, "AlltoAll", taken.Read(), everybody);
  Expect(r, "ring", came.Read(), {static_cast<int32_t>(previous)});
}

struct Memory {
  size_t free = 0, total = 0;
};
Memory MemoryOf(Rank& r) {
  Memory memory;
  RANK_OK(r, aclrtGetMemInfo(ACL_HBM_MEM, &memory.free, &memory.total));
  return memory;
}

// So that each of a device's ranks takes another share, and all of them have room.
size_t ShareOf(uint32_t rank) { return (rank % 7 + 1) * 4 * kMiB; }

// Each rank takes its share of its device. The number that its device then says is free is less by what the
// ranks of that device have taken, by that alone, and by all of that.
RANK_BODY(TrueMemory) {
  const Values<int32_t> one({1});
  const auto barrier = [&] {
    RANK_OK(r, HcclBarrier(r.comm, r.stream));
    r.Sync();
  };
  barrier();
  const Memory before = MemoryOf(r);
  barrier();
  const bool alone = getenv("TEST_BODY") != nullptr;  // a process has devices of its own
  size_t expected = 0;
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    if (rank == r.rank || (!alone && rank % kDevices == r.rank % kDevices)) expected += ShareOf(rank);
  }
  void* block = nullptr;
  RANK_OK(r, aclrtMalloc(&block, ShareOf(r.rank) - kRim, ACL_MEM_MALLOC_HUGE_FIRST));
  barrier();
  const Memory during = MemoryOf(r);
  const size_t taken = before.free - during.free;
  // Pages of what the barriers need may come on top.
  if (taken < expected || taken > expected + 2 * kMiB) {
    r.Complain(std::to_string(taken) + " bytes are gone of device " + std::to_string(r.rank % kDevices) +
               "'s memory, and its ranks have taken " + std::to_string(expected));
  }
  if (before.total != during.total) r.Complain("the device has grown");
  barrier();
  RANK_OK(r, aclrtFree(block));
  barrier();
  const Memory after = MemoryOf(r);
  if (after.free + 2 * kMiB < before.free) r.Complain("what was freed did not come back");
}

// A rank that takes all that its own device has takes nothing from the others: each gets as much.
RANK_BODY(FairShare) {
  const auto barrier = [&] {
    RANK_OK(r, HcclBarrier(r.comm, r.stream));
    r.Sync();
  };
  barrier();
  const Memory before = MemoryOf(r);
  std::vector<void*> blocks;
  for (;;) {
    void* block = nullptr;
    if (aclrtMalloc(&block, 8 * kMiB - kRim, ACL_MEM_MALLOC_HUGE_FIRST) != 0) break;
    blocks.push_back(block);
  }
  acl_test::RecentMessage();
  barrier();  // everybody has all it got
  if ((blocks.size() + 1) * 8 * kMiB < before.free) {
    r.Complain(std::to_string(blocks.size()) + " blocks of 8 MiB came of " + std::to_string(before.free) + " bytes");
  }
  if (MemoryOf(r).free >= 8 * kMiB) r.Complain("more is said to be free");
  for (void* block : blocks) RANK_OK(r, aclrtFree(block));
  barrier();
}

MP_ROLE(rank) { return BeRank(); }

// A device allows some streams, each rank has one.
TEST(ManyRanks, AsThreads) {
  for (const uint32_t ranks : {8U, 16U, 64U}) EXPECT_EQ(RunThreads(ranks, Bodies().at("Progress")), "") << ranks;
}

TEST(ManyRanks, AsProcesses) {
  for (uint32_t ranks = 8; ranks <= MostProcesses(); ranks *= 2) {
    EXPECT_EQ(Complaints(RunProcesses(ranks, "Progress")), "") << ranks;
  }
}

TEST(ManyRanks, AsHosts) {
  EXPECT_EQ(Complaints(RunHosts({{"0,1,2,3"}, {"4,5,6,7"}, {"8,9,10,11"}, {"12,13,14,15"}}, "Progress")), "");
}

TEST(ManyRanks, AreToldTheTruthAboutMemory) {
  for (const uint32_t ranks : {8U, 16U, 64U}) EXPECT_EQ(RunThreads(ranks, Bodies().at("TrueMemory")), "") << ranks;
  for (uint32_t ranks = 8; ranks <= MostProcesses(); ranks *= 2) {
    EXPECT_EQ(Complaints(RunProcesses(ranks, "TrueMemory")), "") << ranks;
  }
}

TEST(ManyRanks, ShareMemoryFairly) {
  const std::map<std::string, std::string> little = {{"MILLPOND_MEMORY", "128MiB"}};
  for (uint32_t ranks = 8; ranks <= MostProcesses(); ranks *= 2) {
    EXPECT_EQ(Complaints(RunProcesses(ranks, "FairShare", little)), "") << ranks;
  }
}

}  // namespace

MP_TEST_MAIN()

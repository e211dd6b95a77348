// SPDX-License-Identifier: Apache-2.0
// Large collectives that reach the other ranks' buffers as they lie: the same results as through the staging memory,
// nothing mapped that is not needed any more, and the way back where a buffer cannot be reached.
#include <functional>

#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;
constexpr size_t kCount = 300007;  // odd, and more than a staging half
constexpr int kTimes = 3;          // a block is worth the move when it is used again

// Bits that show an order of summing up: the ranks' values differ by magnitudes.
float At(uint32_t rank, size_t i) {
  return (static_cast<float>(i % 977) + 0.1F) * (rank % 2 == 0 ? 1.0F : 1e-4F) + static_cast<float>(rank);
}
std::vector<float> Of(uint32_t rank, size_t count, size_t first = 0) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = At(rank, first + i);
  return values;
}
std::vector<float> Sums(uint32_t ranks, size_t count, size_t first = 0) {
  std::vector<float> values = Of(0, count, first);
  for (uint32_t rank = 1; rank < ranks; ++rank) {
    for (size_t i = 0; i < count; ++i) values[i] += At(rank, first + i);
  }
  return values;
}

void ExpectMapped(Rank& r, bool some) {
  const bool as_processes = getenv("TEST_RANK") != nullptr;
  const char* const setting = getenv("MILLPOND_RANK_DIRECT");
  const bool direct = as_processes && (setting == nullptr || std::string(setting) != "0");
  if ((MappedBlocks() > 0) != (some && direct)) {
    r.Complain(std::to_string(MappedBlocks()) + " blocks are mapped, and direct is " + std::to_string(direct));
  }
}

RANK_BODY(EveryOperation) {
  const Values<float> send(Of(r.rank, kCount)), receive(std::vector<float>(kCount, -1));
  const Values<float> all(Of(r.rank, kCount * r.ranks)), gathered(std::vector<float>(kCount * r.ranks, -1));
  std::vector<float> in_order, from_each;
  for (uint32_t i = 0; i < r.ranks; ++i) {
    const std::vector<float> own = Of(i, kCount), part = Of(i, kCount, r.rank * kCount);
    in_order.insert(in_order.end(), own.begin(), own.end());
    from_each.insert(from_each.end(), part.begin(), part.end());
  }
  for (int time = 0; time < kTimes; ++time) {
    const auto root = static_cast<uint32_t>(time) % r.ranks;
    RANK_OK(r, HcclAllReduce(send.get(), receive.get(), kCount, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    r.Sync();
    Expect(r, "AllReduce", receive.Read(), Sums(r.ranks, kCount));
    RANK_OK(r, HcclReduce(send.get(), receive.get(), kCount, kFloat, HCCL_REDUCE_SUM, root, r.comm, r.stream));
    r.Sync();
    if (r.rank == root) Expect(r, "Reduce", receive.Read(), Sums(r.ranks, kCount));
    RANK_OK(r, HcclReduceScatter(all.get(), receive.get(), kCount, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    r.Sync();
    Expect(r, "ReduceScatter", receive.Read(), Sums(r.ranks, kCount, r.rank * kCount));
    RANK_OK(r, HcclAllGather(send.get(), gathered.get(), kCount, kFloat, r.comm, r.stream));
    r.Sync();
    Expect(r, "AllGather", gathered.Read(), in_order);
    RANK_OK(r, HcclAlltoAll(all.get(), kCount, kFloat, gathered.get(), kCount, kFloat, r.comm, r.stream));
    r.Sync();
    Expect(r, "AlltoAll", gathered.Read(), from_each);
    RANK_OK(r, HcclScatter(all.get(), receive.get(), kCount, kFloat, root, r.comm, r.stream));
    r.Sync();
    Expect(r, "Scatter", receive.Read(), Of(root, kCount, r.rank * kCount));
    RANK_OK(r, HcclAllReduce(send.get(), receive.get(), kCount, kFloat, HCCL_REDUCE_MAX, r.comm, r.stream));
    RANK_OK(r, HcclBroadcast(r.rank == root ? send.get() : receive.get(), kCount, kFloat, root, r.comm, r.stream));
    r.Sync();
    if (r.rank != root) Expect(r, "Broadcast", receive.Read(), Of(root, kCount));
    Expect(r, "what was only read", send.Read(), Of(r.rank, kCount));
  }
  ExpectMapped(r, true);
}

// In place where the parts meet, and where HCCL allows it although another rank still reads what is overwritten.
RANK_BODY(InPlace) {
  const Values<float> memory(std::vector<float>(kCount * r.ranks, 0));
  const auto write = [&](size_t at, const std::vector<float>& values) {
    RANK_OK(r, aclrtMemcpy(memory.get() + at, values.size() * 4, values.data(), values.size() * 4,
                           ACL_MEMCPY_HOST_TO_DEVICE));
  };
  for (int time = 0; time < kTimes; ++time) {
    write(0, Of(r.rank, kCount));
    RANK_OK(r, HcclAllReduce(memory.get(), memory.get(), kCount, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    r.Sync();
    Expect(r, "AllReduce in place", memory.Read(), Sums(r.ranks, kCount));
    write(r.rank * kCount, Of(r.rank, kCount));
    RANK_OK(r, HcclAllGather(memory.get() + r.rank * kCount, memory.get(), kCount, kFloat, r.comm, r.stream));
    r.Sync();
    std::vector<float> in_order;
    for (uint32_t i = 0; i < r.ranks; ++i) {
      const std::vector<float> own = Of(i, kCount);
      in_order.insert(in_order.end(), own.begin(), own.end());
    }
    Expect(r, "AllGather in place", memory.Read(), in_order);
    for (const size_t to : {size_t{0}, r.rank * kCount}) {
      write(0, Of(r.rank, kCount * r.ranks));
      RANK_OK(r, HcclReduceScatter(memory.get(), memory.get() + to, kCount, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
      r.Sync();
      const std::vector<float> found = memory.Read(), expected = Sums(r.ranks, kCount, r.rank * kCount);
      Expect(r, "ReduceScatter in place", {found.begin() + static_cast<long>(to), found.end()}, expected);
    }
  }
}

// A rank whose buffers are no plain blocks, or new each time, sends all of them to the staging memory.
RANK_BODY(OneCannotBeReached) {
  const Values<float> send(Of(r.rank, kCount)), receive(std::vector<float>(kCount, -1));
  void* pinned = nullptr;
  RANK_OK(r, aclrtMallocHost(&pinned, kCount * 4));
  std::memcpy(pinned, Of(r.rank, kCount).data(), kCount * 4);
  for (int time = 0; time < kTimes; ++time) {
    void* const from = r.rank == 1 ? pinned : static_cast<void*>(send.get());
    RANK_OK(r, HcclAllReduce(from, receive.get(), kCount, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    r.Sync();
    Expect(r, "AllReduce", receive.Read(), Sums(r.ranks, kCount));
    const Values<float> fresh(Of(r.rank, kCount));
    RANK_OK(r, HcclAllReduce(fresh.get(), fresh.get(), kCount, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    r.Sync();
    Expect(r, "AllReduce of a new block", fresh.Read(), Sums(r.ranks, kCount));
  }
  RANK_OK(r, aclrtFreeHost(pinned));
}

// What a rank has freed, the others let go of at the next operation; what is left at the end, with the communicator.
RANK_BODY(FreedBlocks) {
  int first = 0;
  for (int round = 0; round < 6; ++round) {
    const Values<float> send(Of(r.rank, kCount)), receive(std::vector<float>(kCount, -1));
    for (int time = 0; time < kTimes; ++time) {
      RANK_OK(r, HcclAllReduce(send.get(), receive.get(), kCount, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
      r.Sync();
    }
    Expect(r, "AllReduce", receive.Read(), Sums(r.ranks, kCount));
    if (round == 0) first = MappedBlocks();
    if (MappedBlocks() > first) {
      r.Complain(std::to_string(MappedBlocks()) + " blocks are mapped in round " + std::to_string(round) + ", and " +
                 std::to_string(first) + " in the first");
    }
  }
  // Everybody has freed everything: after a small operation nobody maps more than nothing.
  const Values<float> one(std::vector<float>(1, 1));
  RANK_OK(r, HcclBarrier(r.comm, r.stream));
  RANK_OK(r, HcclAllReduce(one.get(), one.get(), 1, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  r.Sync();
  ExpectMapped(r, false);
}

// A captured graph takes the same way at each replay.
RANK_BODY(Replayed) {
  const Values<float> send(Of(r.rank, kCount)), receive(std::vector<float>(kCount, -1));
  aclmdlRI graph = nullptr;
  RANK_OK(r, aclmdlRICaptureBegin(r.stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  RANK_OK(r, HcclAllReduce(send.get(), receive.get(), kCount, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  RANK_OK(r, aclmdlRICaptureEnd(r.stream, &graph));
  for (int time = 0; time < kTimes + 1; ++time) {
    RANK_OK(r, aclrtMemset(receive.get(), kCount * 4, 0, kCount * 4));
    RANK_OK(r, aclmdlRIExecuteAsync(graph, r.stream));
    r.Sync();
    Expect(r, "AllReduce", receive.Read(), Sums(r.ranks, kCount));
  }
  RANK_OK(r, aclmdlRIDestroy(graph));
}

MP_ROLE(rank) { return BeRank(); }

class DirectRanks : public ::testing::TestWithParam<std::string> {};
TEST_P(DirectRanks, GiveTheSameBits) {
  EXPECT_EQ(RunThreads(3, Bodies().at(GetParam())), "");
  EXPECT_EQ(Complaints(RunProcesses(2, GetParam())), "");
  EXPECT_EQ(Complaints(RunProcesses(3, GetParam(), {{"MILLPOND_RANK_DIRECT", "0"}})), "");
}
INSTANTIATE_TEST_SUITE_P(Each, DirectRanks,
                         ::testing::Values("EveryOperation", "InPlace", "OneCannotBeReached", "FreedBlocks",
                                           "Replayed"),
                         [](const auto& info) { return info.param; });

}  // namespace

MP_TEST_MAIN()

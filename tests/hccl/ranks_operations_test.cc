// SPDX-License-Identifier: Apache-2.0
// Every operation between several ranks, as threads and as processes, against the few lines that say what it means.
#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

// What rank `rank` has at place i; small whole numbers, so that every sum is exact.
float At(uint32_t rank, size_t i) { return static_cast<float>((rank * 7 + i * 3) % 13) + 1; }

std::vector<float> Of(uint32_t rank, size_t count, size_t first = 0) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = At(rank, first + i);
  return values;
}

template <class Op>
std::vector<float> Reduced(uint32_t ranks, size_t count, size_t first, const Op& op) {
  std::vector<float> values = Of(0, count, first);
  for (uint32_t rank = 1; rank < ranks; ++rank) {
    for (size_t i = 0; i < count; ++i) values[i] = op(values[i], At(rank, first + i));
  }
  return values;
}
float Sum(float a, float b) { return a + b; }

// One element, less than a staging half, and several of them with an odd end.
constexpr size_t kCounts[] = {1, 1000, 400003};

RANK_BODY(Reductions) {
  for (const size_t count : kCounts) {
    const Values<float> send(Of(r.rank, count)), receive(std::vector<float>(count, -1));
    RANK_OK(r, HcclAllReduce(send.get(), receive.get(), count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    r.Sync();
    Expect(r, "AllReduce sum", receive.Read(), Reduced(r.ranks, count, 0, Sum));
    Expect(r, "AllReduce keeps what it read", send.Read(), Of(r.rank, count));
    RANK_OK(r, HcclAllReduce(send.get(), receive.get(), count, kFloat, HCCL_REDUCE_MAX, r.comm, r.stream));
    r.Sync();
    Expect(r, "AllReduce max", receive.Read(),
           Reduced(r.ranks, count, 0, [](float a, float b) { return std::max(a, b); }));
    RANK_OK(r, HcclReduce(send.get(), receive.get(), count, kFloat, HCCL_REDUCE_PROD, 1, r.comm, r.stream));
    r.Sync();
    if (r.rank == 1) {
      Expect(r, "Reduce prod", receive.Read(), Reduced(r.ranks, count, 0, [](float a, float b) { return a * b; }));
    }
    RANK_OK(r, HcclAllReduce(send.get(), send.get(), count, kFloat, HCCL_REDUCE_MIN, r.comm, r.stream));
    r.Sync();
    Expect(r, "AllReduce min in place", send.Read(),
           Reduced(r.ranks, count, 0, [](float a, float b) { return std::min(a, b); }));
    const Values<float> all(Of(r.rank, count * r.ranks)), part(std::vector<float>(count, -1));
    RANK_OK(r, HcclReduceScatter(all.get(), part.get(), count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    r.Sync();
    Expect(r, "ReduceScatter", part.Read(), Reduced(r.ranks, count, r.rank * count, Sum));
  }
  // Rank i gets 100 + 50 i elements; they lie in reverse order, with gaps.
  std::vector<uint64_t> counts, offsets;
  for (uint32_t i = 0; i < r.ranks; ++i) {
    counts.push_back(100 + 50 * i);
    offsets.push_back((r.ranks - 1 - i) * 1000 + 3);
  }
  const Values<float> all(Of(r.rank, r.ranks * 1000)), part(std::vector<float>(counts[r.rank], -1));
  RANK_OK(r, HcclReduceScatterV(all.get(), counts.data(), offsets.data(), part.get(), counts[r.rank], kFloat,
                                HCCL_REDUCE_SUM, r.comm, r.stream));
  r.Sync();
  Expect(r, "ReduceScatterV", part.Read(), Reduced(r.ranks, counts[r.rank], offsets[r.rank], Sum));
}

RANK_BODY(Gathers) {
  for (const size_t count : kCounts) {
    const Values<float> send(Of(r.rank, count)), all(std::vector<float>(count * r.ranks, -1));
    std::vector<float> expected;
    for (uint32_t i = 0; i < r.ranks; ++i) {
      for (const float value : Of(i, count)) expected.push_back(value);
    }
    RANK_OK(r, HcclAllGather(send.get(), all.get(), count, kFloat, r.comm, r.stream));
    r.Sync();
    Expect(r, "AllGather", all.Read(), expected);
    const Values<float> buffer(Of(r.rank, count));
    RANK_OK(r, HcclBroadcast(buffer.get(), count, kFloat, r.ranks - 1, r.comm, r.stream));
    r.Sync();
    Expect(r, "Broadcast", buffer.Read(), Of(r.ranks - 1, count));
    const Values<float> parts(Of(r.rank, count * r.ranks)), part(std::vector<float>(count, -1));
    RANK_OK(r, HcclScatter(r.rank == 1 ? parts.get() : nullptr, part.get(), count, kFloat, 1, r.comm, r.stream));
    r.Sync();
    Expect(r, "Scatter", part.Read(), Of(1, count, r.rank * count));
    RANK_OK(r, HcclBarrier(r.comm, r.stream));
  }
  std::vector<uint64_t> counts, offsets;
  std::vector<float> expected(r.ranks * 1000, -1);
  for (uint32_t i = 0; i < r.ranks; ++i) {
    counts.push_back(i == 0 ? 0 : 10 * i);
    offsets.push_back(i * 1000 + 7);
    for (size_t k = 0; k < counts[i]; ++k) expected[offsets[i] + k] = At(i, k);
  }
  const Values<float> send(Of(r.rank, 1000)), all(std::vector<float>(r.ranks * 1000, -1));
  RANK_OK(r, HcclAllGatherV(send.get(), counts[r.rank], all.get(), counts.data(), offsets.data(), kFloat, r.comm,
                            r.stream));
  r.Sync();
  Expect(r, "AllGatherV", all.Read(), expected);
}

// What rank i sends to rank j in the exchanges with lists.
uint64_t Sent(uint32_t i, uint32_t j) { return i == j + 1 ? 0 : 20 + 30000 * i + 7 * j; }

RANK_BODY(Exchanges) {
  for (const size_t count : kCounts) {
    const Values<float> send(Of(r.rank, count * r.ranks)), receive(std::vector<float>(count * r.ranks, -1));
    std::vector<float> expected;
    for (uint32_t i = 0; i < r.ranks; ++i) {
      for (const float value : Of(i, count, r.rank * count)) expected.push_back(value);
    }
    RANK_OK(r, HcclAlltoAll(send.get(), count, kFloat, receive.get(), count, kFloat, r.comm, r.stream));
    r.Sync();
    Expect(r, "AlltoAll", receive.Read(), expected);
  }
  std::vector<uint64_t> matrix, to, from, to_offsets, from_offsets;
  uint64_t sends = 0, receives = 0;
  std::vector<float> expected;
  for (uint32_t i = 0; i < r.ranks; ++i) {
    for (uint32_t j = 0; j < r.ranks; ++j) matrix.push_back(Sent(i, j));
    to.push_back(Sent(r.rank, i));
    to_offsets.push_back(std::exchange(sends, sends + to.back()));
    from.push_back(Sent(i, r.rank));
    from_offsets.push_back(std::exchange(receives, receives + from.back()));
    uint64_t first = 0;
    for (uint32_t j = 0; j < r.rank; ++j) first += Sent(i, j);
    for (const float value : Of(i, from.back(), first)) expected.push_back(value);
  }
  const Values<float> send(Of(r.rank, sends)), receive(std::vector<float>(receives, -1));
  RANK_OK(r, HcclAlltoAllV(send.get(), to.data(), to_offsets.data(), kFloat, receive.get(), from.data(),
                           from_offsets.data(), kFloat, r.comm, r.stream));
  r.Sync();
  Expect(r, "AlltoAllV", receive.Read(), expected);
  const Values<float> again(std::vector<float>(receives, -1));
  RANK_OK(r, HcclAlltoAllVC(send.get(), matrix.data(), kFloat, again.get(), kFloat, r.comm, r.stream));
  r.Sync();
  Expect(r, "AlltoAllVC", again.Read(), expected);
}

RANK_BODY(Messages) {
  const uint32_t next = (r.rank + 1) % r.ranks, previous = (r.rank + r.ranks - 1) % r.ranks;
  for (const size_t count : kCounts) {
    const Values<float> send(Of(r.rank, count)), receive(std::vector<float>(count, -1));
    // A ring in which the first sends first.
    if (r.rank == 0) RANK_OK(r, HcclSend(send.get(), count, kFloat, next, r.comm, r.stream));
    RANK_OK(r, HcclRecv(receive.get(), count, kFloat, previous, r.comm, r.stream));
    if (r.rank != 0) RANK_OK(r, HcclSend(send.get(), count, kFloat, next, r.comm, r.stream));
    r.Sync();
    Expect(r, "Send and Recv", receive.Read(), Of(previous, count));
    // All at once: two sends to the next and one to oneself, whose receives are listed in another order.
    const Values<float> two(std::vector<float>(2 * count, -1)), own(std::vector<float>(count, -1));
    HcclSendRecvItem items[] = {
        {HCCL_SEND, send.get(), count, kFloat, next},    {HCCL_SEND, send.get(), count, kFloat, next},
        {HCCL_SEND, send.get(), count, kFloat, r.rank},  {HCCL_RECV, own.get(), count, kFloat, r.rank},
        {HCCL_RECV, two.get(), count, kFloat, previous}, {HCCL_RECV, two.get() + count, count, kFloat, previous}};
    RANK_OK(r, HcclBatchSendRecv(items, 6, r.comm, r.stream));
    r.Sync();
    std::vector<float> expected = Of(previous, count);
    for (const float value : Of(previous, count)) expected.push_back(value);
    Expect(r, "BatchSendRecv", two.Read(), expected);
    Expect(r, "to oneself", own.Read(), Of(r.rank, count));
    const Values<float> third(std::vector<float>(count, -1));
    RANK_OK(r, HcclGroupStart());
    RANK_OK(r, HcclSend(send.get(), count, kFloat, previous, r.comm, r.stream));
    RANK_OK(r, HcclRecv(third.get(), count, kFloat, next, r.comm, r.stream));
    RANK_OK(r, HcclGroupEnd());
    r.Sync();
    Expect(r, "group", third.Read(), Of(next, count));
  }
}

// Halves are added up as floats in the order of the ranks, and every rank has the same bits.
RANK_BODY(Halves) {
  const size_t count = 70000;  // more than two ranks share the work
  std::vector<uint16_t> mine(count), expected(count);
  const uint16_t kOne = 0x3C00, kTiny = 0x1000, kBig = 0x6C00;  // 1, 2^-11, 4096
  for (size_t i = 0; i < count; ++i) {
    mine[i] = r.rank == 0 ? kBig : i % 2 == 0 ? kOne : kTiny;
    // 4096 + 1 (+ 1 + 1) is exact in float; halves step by 4 there, ties to even.
    expected[i] = i % 2 == 0 && r.ranks == 4 ? kBig + 1 : kBig;
  }
  const Values<uint16_t> send(mine), receive(std::vector<uint16_t>(count, 0));
  RANK_OK(r, HcclAllReduce(send.get(), receive.get(), count, HCCL_DATA_TYPE_FP16, HCCL_REDUCE_SUM, r.comm, r.stream));
  r.Sync();
  Expect(r, "fp16 sum", receive.Read(), expected);
}

// The calls return while the ranks are not there yet, and operations on two streams meet in the order of issue.
RANK_BODY(TwoStreams) {
  aclrtStream other = nullptr;
  RANK_OK(r, aclrtCreateStream(&other));
  const size_t count = 5000;
  const Values<float> a(Of(r.rank, count)), b(Of(r.rank, count, 5)), sum(std::vector<float>(count, -1)),
      all(std::vector<float>(count * r.ranks, -1));
  for (int i = 0; i < 20; ++i) {
    RANK_OK(r, HcclAllReduce(a.get(), sum.get(), count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
    RANK_OK(r, HcclAllGather(b.get(), all.get(), count, kFloat, r.comm, other));
  }
  RANK_OK(r, aclrtSynchronizeStream(other));
  r.Sync();
  Expect(r, "AllReduce", sum.Read(), Reduced(r.ranks, count, 0, Sum));
  std::vector<float> expected;
  for (uint32_t i = 0; i < r.ranks; ++i) {
    for (const float value : Of(i, count, 5)) expected.push_back(value);
  }
  Expect(r, "AllGather", all.Read(), expected);
  RANK_OK(r, aclrtDestroyStream(other));
}

RANK_BODY(Replay) {
  const size_t count = 3000;
  const Values<float> send(Of(r.rank, count)), sum(std::vector<float>(count, -1)),
      all(std::vector<float>(count * r.ranks));
  aclmdlRI graph = nullptr;
  RANK_OK(r, aclmdlRICaptureBegin(r.stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  RANK_OK(r, HcclAllReduce(send.get(), sum.get(), count, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream));
  RANK_OK(r, HcclAllGather(sum.get(), all.get(), count, kFloat, r.comm, r.stream));
  RANK_OK(r, aclmdlRICaptureEnd(r.stream, &graph));
  for (int i = 0; i < 5; ++i) {
    RANK_OK(r, aclmdlRIExecuteAsync(graph, r.stream));
    RANK_OK(r, HcclBarrier(r.comm, r.stream));  // issued while the replay has yet to run
  }
  r.Sync();
  Expect(r, "AllReduce in a graph", sum.Read(), Reduced(r.ranks, count, 0, Sum));
  RANK_OK(r, aclmdlRIDestroy(graph));
}

MP_ROLE(rank) { return BeRank(); }

class RanksOperations : public ::testing::TestWithParam<std::string> {};

TEST_P(RanksOperations, AsThreads) {
  EXPECT_EQ(RunThreads(2, Bodies().at(GetParam())), "");
  EXPECT_EQ(RunThreads(4, Bodies().at(GetParam())), "");
}

TEST_P(RanksOperations, AsProcesses) {
  EXPECT_EQ(Complaints(RunProcesses(2, GetParam())), "");
  EXPECT_EQ(Complaints(RunProcesses(3, GetParam())), "");
}

// Neighbours in the order of ranks on different hosts, threads beside processes, and three hosts.
TEST_P(RanksOperations, AsHosts) {
  EXPECT_EQ(Complaints(RunHosts({{"0"}, {"1"}}, GetParam())), "");
  EXPECT_EQ(Complaints(RunHosts({{"0", "2"}, {"1,3"}}, GetParam())), "");
  EXPECT_EQ(Complaints(RunHosts({{"1"}, {"0"}, {"2"}}, GetParam())), "");
}

INSTANTIATE_TEST_SUITE_P(Each, RanksOperations,
                         ::testing::Values("Reductions", "Gathers", "Exchanges", "Messages", "Halves", "TwoStreams",
                                           "Replay"),
                         [](const auto& info) { return info.param; });

}  // namespace

MP_TEST_MAIN()

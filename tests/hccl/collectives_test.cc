// SPDX-License-Identifier: Apache-2.0
// What collectives of one rank do to the data, when they do it, and what they refuse.
#include "tests/hccl/hccl_test.h"

namespace {

using namespace hccl_test;  // NOLINT

constexpr uint64_t kCount = 1000;
constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

class CollectivesTest : public HcclTest {
 protected:
  void SetUp() override {
    HcclTest::SetUp();
    send_ = std::make_unique<Floats>(Counting(kCount, 1));
    receive_ = std::make_unique<Floats>(std::vector<float>(kCount, -1));
  }
  void TearDown() override {
    send_.reset();
    receive_.reset();
    HcclTest::TearDown();
  }
  // The operation moved all of send_ to receive_, and left send_ alone.
  void ExpectMoved() {
    Sync();
    EXPECT_EQ(receive_->Read(), Counting(kCount, 1));
    EXPECT_EQ(send_->Read(), Counting(kCount, 1));
  }
  void* from() const { return send_->get(); }
  void* to() const { return receive_->get(); }

  std::unique_ptr<Floats> send_, receive_;
};

TEST_F(CollectivesTest, AllReduceReturnsTheOneValueForEveryOperation) {
  for (const HcclReduceOp op : {HCCL_REDUCE_SUM, HCCL_REDUCE_PROD, HCCL_REDUCE_MAX, HCCL_REDUCE_MIN}) {
    receive_ = std::make_unique<Floats>(std::vector<float>(kCount, -1));
    HCCL_OK(HcclAllReduce(from(), to(), kCount, kFloat, op, comm_, stream_));
    ExpectMoved();
  }
}

TEST_F(CollectivesTest, AllReduceInPlaceKeepsTheData) {
  HCCL_OK(HcclAllReduce(from(), from(), kCount, kFloat, HCCL_REDUCE_SUM, comm_, stream_));
  Sync();
  EXPECT_EQ(send_->Read(), Counting(kCount, 1));
}

TEST_F(CollectivesTest, Reduce) {
  HCCL_OK(HcclReduce(from(), to(), kCount, kFloat, HCCL_REDUCE_SUM, 0, comm_, stream_));
  ExpectMoved();
  HCCL_FAILS(HCCL_E_PARA, "root", HcclReduce(from(), to(), kCount, kFloat, HCCL_REDUCE_SUM, 1, comm_, stream_));
}

TEST_F(CollectivesTest, ReduceScatter) {
  HCCL_OK(HcclReduceScatter(from(), to(), kCount, kFloat, HCCL_REDUCE_MAX, comm_, stream_));
  ExpectMoved();
}

TEST_F(CollectivesTest, ReduceScatterVStartsAtTheDisplacement) {
  const uint64_t counts[] = {10}, displacements[] = {100};
  HCCL_OK(HcclReduceScatterV(from(), counts, displacements, to(), 10, kFloat, HCCL_REDUCE_SUM, comm_, stream_));
  Sync();
  std::vector<float> expected(kCount, -1);
  for (int i = 0; i < 10; ++i) expected[i] = static_cast<float>(101 + i);
  EXPECT_EQ(receive_->Read(), expected);
  HCCL_FAILS(HCCL_E_PARA, "sendCounts",
             HcclReduceScatterV(from(), counts, displacements, to(), 11, kFloat, HCCL_REDUCE_SUM, comm_, stream_));
}

TEST_F(CollectivesTest, BroadcastKeepsTheData) {
  HCCL_OK(HcclBroadcast(from(), kCount, kFloat, 0, comm_, stream_));
  Sync();
  EXPECT_EQ(send_->Read(), Counting(kCount, 1));
  HCCL_FAILS(HCCL_E_PARA, "root", HcclBroadcast(from(), kCount, kFloat, 3, comm_, stream_));
}

TEST_F(CollectivesTest, Scatter) {
  HCCL_OK(HcclScatter(from(), to(), kCount, kFloat, 0, comm_, stream_));
  ExpectMoved();
  HCCL_FAILS(HCCL_E_PTR, "sendBuf", HcclScatter(nullptr, to(), kCount, kFloat, 0, comm_, stream_));
}

TEST_F(CollectivesTest, AllGather) {
  HCCL_OK(HcclAllGather(from(), to(), kCount, kFloat, comm_, stream_));
  ExpectMoved();
}

TEST_F(CollectivesTest, AllGatherVWritesAtTheDisplacement) {
  const uint64_t counts[] = {10}, displacements[] = {50};
  HCCL_OK(HcclAllGatherV(from(), 10, to(), counts, displacements, kFloat, comm_, stream_));
  Sync();
  std::vector<float> expected(kCount, -1);
  for (int i = 0; i < 10; ++i) expected[50 + i] = static_cast<float>(1 + i);
  EXPECT_EQ(receive_->Read(), expected);
}

TEST_F(CollectivesTest, AlltoAll) {
  HCCL_OK(HcclAlltoAll(from(), kCount, kFloat, to(), kCount, kFloat, comm_, stream_));
  ExpectMoved();
  HCCL_FAILS(HCCL_E_PARA, "recvCounts", HcclAlltoAll(from(), kCount, kFloat, to(), kCount - 1, kFloat, comm_, stream_));
  HCCL_FAILS(HCCL_E_PARA, "recvBuf", HcclAlltoAll(from(), kCount, kFloat, from(), kCount, kFloat, comm_, stream_));
}

TEST_F(CollectivesTest, AlltoAllVMovesFromDisplacementToDisplacement) {
  const uint64_t counts[] = {20}, here[] = {5}, there[] = {900};
  HCCL_OK(HcclAlltoAllV(from(), counts, here, kFloat, to(), counts, there, kFloat, comm_, stream_));
  Sync();
  std::vector<float> expected(kCount, -1);
  for (int i = 0; i < 20; ++i) expected[900 + i] = static_cast<float>(6 + i);
  EXPECT_EQ(receive_->Read(), expected);
  HCCL_FAILS(HCCL_E_PTR, "rdispls",
             HcclAlltoAllV(from(), counts, here, kFloat, to(), counts, nullptr, kFloat, comm_, stream_));
}

TEST_F(CollectivesTest, AlltoAllVC) {
  const uint64_t matrix[] = {kCount};
  HCCL_OK(HcclAlltoAllVC(from(), matrix, kFloat, to(), kFloat, comm_, stream_));
  ExpectMoved();
}

TEST_F(CollectivesTest, BatchPairsSendsWithReceives) {
  auto* source = static_cast<float*>(from());
  auto* target = static_cast<float*>(to());
  HcclSendRecvItem items[] = {{HCCL_RECV, target + 500, 100, kFloat, 0},
                              {HCCL_SEND, source, 100, kFloat, 0},
                              {HCCL_SEND, source + 100, 200, kFloat, 0},
                              {HCCL_RECV, target, 200, kFloat, 0}};
  HCCL_OK(HcclBatchSendRecv(items, 4, comm_, stream_));
  Sync();
  const std::vector<float> result = receive_->Read();
  EXPECT_EQ(result[500], 1);
  EXPECT_EQ(result[599], 100);
  EXPECT_EQ(result[0], 101);
  EXPECT_EQ(result[199], 300);
  EXPECT_EQ(result[200], -1);
  HcclSendRecvItem uneven[] = {items[1], items[0], items[3]};
  HCCL_FAILS(HCCL_E_PARA, "1 sends and 2 receives", HcclBatchSendRecv(uneven, 3, comm_, stream_));
  items[1].count = 99;
  HCCL_FAILS(HCCL_E_PARA, "differ", HcclBatchSendRecv(items, 4, comm_, stream_));
  items[0].remoteRank = 1;
  HCCL_FAILS(HCCL_E_PARA, "remoteRank", HcclBatchSendRecv(items, 4, comm_, stream_));
  HCCL_OK(HcclBatchSendRecv(nullptr, 0, comm_, stream_));
}

TEST_F(CollectivesTest, SendToOneselfNeedsItsReceive) {
  HCCL_FAILS(HCCL_E_PARA, "HcclGroupStart", HcclSend(from(), kCount, kFloat, 0, comm_, stream_));
  HCCL_FAILS(HCCL_E_PARA, "HcclBatchSendRecv", HcclRecv(to(), kCount, kFloat, 0, comm_, stream_));
  HCCL_FAILS(HCCL_E_PARA, "destRank", HcclSend(from(), kCount, kFloat, 1, comm_, stream_));
}

TEST_F(CollectivesTest, GroupLaunchesSendsWithTheirReceives) {
  HCCL_OK(HcclGroupStart());
  HCCL_OK(HcclGroupStart());
  HCCL_OK(HcclSend(from(), kCount, kFloat, 0, comm_, stream_));
  HCCL_OK(HcclGroupEnd());
  Sync();
  EXPECT_EQ(receive_->Read()[0], -1) << "launched before the outer group ended";
  HCCL_OK(HcclRecv(to(), kCount, kFloat, 0, comm_, stream_));
  HCCL_OK(HcclGroupEnd());
  ExpectMoved();
  HCCL_FAILS(HCCL_E_PARA, "HcclGroupStart", HcclGroupEnd());
}

TEST_F(CollectivesTest, GroupWithoutReceiveFailsAndLeavesNothingBehind) {
  HCCL_OK(HcclGroupStart());
  HCCL_OK(HcclSend(from(), kCount, kFloat, 0, comm_, stream_));
  HCCL_FAILS(HCCL_E_PARA, "1 sends and 0 receives", HcclGroupEnd());
  HCCL_OK(HcclGroupStart());
  HCCL_OK(HcclGroupEnd());
}

TEST_F(CollectivesTest, WorkRunsInStreamOrder) {
  acl_test::Hold hold;
  ACL_OK(hold.On(stream_));
  HCCL_OK(HcclAllReduce(from(), to(), kCount, kFloat, HCCL_REDUCE_SUM, comm_, stream_));
  HCCL_OK(HcclBarrier(comm_, stream_));
  EXPECT_EQ(receive_->Read()[0], -1) << "the call did not wait for the stream";
  hold.Release();
  ExpectMoved();
}

TEST_F(CollectivesTest, CapturedWorkRunsAtReplay) {
  aclmdlRI graph = nullptr;
  ACL_OK(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  HCCL_OK(HcclAllReduce(from(), to(), kCount, kFloat, HCCL_REDUCE_SUM, comm_, stream_));
  ACL_OK(aclmdlRICaptureEnd(stream_, &graph));
  EXPECT_EQ(receive_->Read()[0], -1);
  ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  ExpectMoved();
  ACL_OK(aclmdlRIDestroy(graph));
}

TEST_F(CollectivesTest, QueuedWorkOutlivesTheCommunicator) {
  acl_test::Hold hold;
  ACL_OK(hold.On(stream_));
  HCCL_OK(HcclAllGather(from(), to(), kCount, kFloat, comm_, stream_));
  HCCL_OK(HcclCommDestroy(std::exchange(comm_, nullptr)));
  hold.Release();
  ExpectMoved();
}

TEST_F(CollectivesTest, ACountOfZeroSucceedsWhateverElseIsWrong) {
  HCCL_OK(HcclAllReduce(nullptr, nullptr, 0, kFloat, HCCL_REDUCE_SUM, comm_, stream_));
  HCCL_OK(HcclAlltoAll(nullptr, 0, kFloat, nullptr, 0, kFloat, comm_, stream_));
}

TEST_F(CollectivesTest, WrongBuffersAreNamed) {
  HCCL_FAILS(HCCL_E_PTR, "sendBuf", HcclAllGather(nullptr, to(), kCount, kFloat, comm_, stream_));
  HCCL_FAILS(HCCL_E_PTR, "recvBuf", HcclAllGather(from(), nullptr, kCount, kFloat, comm_, stream_));
  HCCL_FAILS(HCCL_E_PTR, "stream", HcclAllGather(from(), to(), kCount, kFloat, comm_, nullptr));
  HCCL_FAILS(HCCL_E_PARA, "sendBuf", HcclAllGather(from(), to(), 100 * kCount, kFloat, comm_, stream_));
  HCCL_FAILS(HCCL_E_PARA, "recvBuf",
             HcclAllGather(from(), static_cast<char*>(to()) + 4096, kCount, kFloat, comm_, stream_));
  std::vector<float> host(kCount);
  HCCL_FAILS(HCCL_E_PARA, "host memory", HcclAllGather(host.data(), to(), kCount, kFloat, comm_, stream_));
  HCCL_FAILS(HCCL_E_PARA, "count", HcclAllGather(from(), to(), UINT64_MAX, kFloat, comm_, stream_));
  HCCL_FAILS(HCCL_E_PARA, "aligned",
             HcclAllReduce(static_cast<char*>(from()) + 1, to(), 8, kFloat, HCCL_REDUCE_SUM, comm_, stream_));
}

// Whatever is wrong with it: EI0003, the operation, and the parameter.
TEST_F(CollectivesTest, AnArgumentThatIsRefusedHasTheCodeForIt) {
  const auto expect = [&](const char* operation, const char* parameter, HcclResult result) {
    const std::string said = RecentMessage();
    EXPECT_NE(result, HCCL_SUCCESS);
    for (const char* text : {"(EI0003): ", operation, parameter}) {
      EXPECT_NE(said.find(text), std::string::npos) << text << " is not in: " << said;
    }
  };
  const auto reduce = [&](void* send, uint64_t count, HcclComm comm, aclrtStream stream) {
    return HcclAllReduce(send, to(), count, kFloat, HCCL_REDUCE_SUM, comm, stream);
  };
  int none = 0;
  std::vector<float> host(8);
  expect("HcclAllReduce", "sendBuf", reduce(nullptr, 8, comm_, stream_));
  expect("HcclAllReduce", "sendBuf", reduce(host.data(), 8, comm_, stream_));
  expect("HcclAllReduce", "sendBuf", reduce(from(), 100 * kCount, comm_, stream_));
  expect("HcclAllReduce", "count", reduce(from(), UINT64_MAX, comm_, stream_));
  expect("HcclAllReduce", "comm", reduce(from(), 8, nullptr, stream_));
  expect("HcclAllReduce", "comm", reduce(from(), 8, &none, stream_));
  expect("HcclAllReduce", "stream", reduce(from(), 8, comm_, nullptr));
  expect("HcclBroadcast", "root", HcclBroadcast(to(), 8, kFloat, 1, comm_, stream_));
  expect("HcclSend", "destRank", HcclSend(from(), 8, kFloat, 3, comm_, stream_));
  expect("HcclAllGather", "dataType", HcclAllGather(from(), to(), 8, Beyond<HcclDataType>(13), comm_, stream_));
  expect("HcclAlltoAllVC", "sendCountMatrix",
         HcclAlltoAllVC(from(), reinterpret_cast<void*>(0x1000), kFloat, to(), kFloat, comm_, stream_));
  HcclSendRecvItem item{Beyond<HcclSendRecvType>(5), from(), 8, kFloat, 0};
  expect("HcclBatchSendRecv", "sendRecvType", HcclBatchSendRecv(&item, 1, comm_, stream_));
}

TEST_F(CollectivesTest, UndocumentedTypesAndOperationsAreRefused) {
  const auto reduce = [&](HcclDataType type, HcclReduceOp op) {
    return HcclAllReduce(from(), to(), 8, type, op, comm_, stream_);
  };
  HCCL_FAILS(HCCL_E_NOT_SUPPORT, "prod", reduce(HCCL_DATA_TYPE_BFP16, HCCL_REDUCE_PROD));
  HCCL_FAILS(HCCL_E_NOT_SUPPORT, "Value 7 for parameter dataType", reduce(HCCL_DATA_TYPE_UINT8, HCCL_REDUCE_SUM));
  HCCL_FAILS(HCCL_E_NOT_SUPPORT, "Value 10 for parameter dataType", reduce(HCCL_DATA_TYPE_FP64, HCCL_REDUCE_SUM));
  HCCL_FAILS(HCCL_E_NOT_SUPPORT, "Value 9 for parameter op", reduce(kFloat, Beyond<HcclReduceOp>(9)));
  HCCL_FAILS(HCCL_E_NOT_SUPPORT, "13", HcclAllGather(from(), to(), 8, Beyond<HcclDataType>(13), comm_, stream_));
}

TEST_F(CollectivesTest, EveryTypeMovesItsOwnNumberOfBytes) {
  const std::pair<HcclDataType, size_t> types[] = {
      {HCCL_DATA_TYPE_INT8, 1},    {HCCL_DATA_TYPE_UINT8, 1},   {HCCL_DATA_TYPE_HIF8, 1},   {HCCL_DATA_TYPE_FP8E4M3, 1},
      {HCCL_DATA_TYPE_FP8E5M2, 1}, {HCCL_DATA_TYPE_FP8E8M0, 1}, {HCCL_DATA_TYPE_INT16, 2},  {HCCL_DATA_TYPE_UINT16, 2},
      {HCCL_DATA_TYPE_FP16, 2},    {HCCL_DATA_TYPE_BFP16, 2},   {HCCL_DATA_TYPE_INT32, 4},  {HCCL_DATA_TYPE_UINT32, 4},
      {HCCL_DATA_TYPE_FP32, 4},    {HCCL_DATA_TYPE_INT64, 8},   {HCCL_DATA_TYPE_UINT64, 8}, {HCCL_DATA_TYPE_FP64, 8},
      {HCCL_DATA_TYPE_INT128, 16}};
  for (const auto& [type, bytes] : types) {
    receive_ = std::make_unique<Floats>(std::vector<float>(kCount, -1));
    HCCL_OK(HcclAllGather(from(), to(), 16, type, comm_, stream_));
    Sync();
    const std::vector<float> result = receive_->Read();
    const size_t moved = 16 * bytes / sizeof(float);
    EXPECT_EQ(result[moved - 1], static_cast<float>(moved)) << type;
    EXPECT_EQ(result[moved], -1) << type;
  }
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// What a rank was asked for and does not do, because its stream or its graph is aborted: the other ranks hear of it at
// once instead of waiting, whether it had begun or not, and whether it was an operation, an operator or a replay.
#include <array>

#include "aclnnop/aclnn_matmul_all_reduce.h"
#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT

constexpr HcclDataType kFloat = HCCL_DATA_TYPE_FP32;

struct Buffers {
  Values<float> send{std::vector<float>(64, 1)};
  Values<float> receive{std::vector<float>(64, -1)};
};

void Validate(Rank& r, int result, std::initializer_list<std::string> texts) {
  if (result == 0) return r.Complain("the stream has not failed");
  const std::string message = acl_test::RecentMessage();
  for (const std::string& text : texts) {
    if (message.find(text) == std::string::npos) r.Complain("'" + text + "' is not in: " + message);
  }
}

void ExpectFailure(Rank& r, std::initializer_list<std::string> texts) {
  Validate(r, aclrtSynchronizeStream(r.stream), texts);
}

// What rank 0 had begun it may have given to all others, who then go on; what comes next nobody gets.
void ExpectMissed(Rank& r, const std::function<void()>& launch, const std::string& text) {
  launch();
  int result = aclrtSynchronizeStream(r.stream);
  if (result == 0) {
    launch();
    result = aclrtSynchronizeStream(r.stream);
  }
  Validate(r, result, {"EI0002", text});
}

// What is behind this on the stream does not begin: nobody else comes to it.
void Obstruct(Rank& r, HcclComm other) { RANK_OK(r, HcclBarrier(other, r.stream)); }

void AllReduce(Rank& r, const Buffers& b, HcclComm comm) {
  RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 10, kFloat, HCCL_REDUCE_SUM, comm, r.stream));
}

void Abort(Rank& r) {
  RANK_OK(r, aclrtStreamAbort(r.stream));
  aclrtSynchronizeStream(r.stream);  // says that it was aborted
  acl_test::RecentMessage();
}

// 2 x 2 matrices of ones.
class Operator {
 public:
  Operator(Rank& r, HcclComm comm) : r_(r) { RANK_OK(r_, HcclGetCommName(comm, name_.data())); }
  void Launch() const {
    const int64_t shape[] = {2, 2}, strides[] = {2, 1};
    const auto tensor = [&](const Values<float>& values) {
      return aclCreateTensor(shape, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, shape, 2, values.get());
    };
    aclTensor* const x1 = tensor(x1_);
    aclTensor* const x2 = tensor(x2_);
    aclTensor* const out = tensor(out_);
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    RANK_OK(r_, aclnnMatmulAllReduceGetWorkspaceSize(x1, x2, nullptr, name_.data(), "sum", 0, 1, out, &workspace,
                                                     &executor));
    RANK_OK(r_, aclnnMatmulAllReduce(nullptr, workspace, executor, r_.stream));
    for (const aclTensor* each : {x1, x2, out}) aclDestroyTensor(each);
  }

 private:
  Rank& r_;
  std::array<char, 128> name_{};
  Values<float> x1_{std::vector<float>(4, 1)}, x2_{std::vector<float>(4, 1)}, out_{std::vector<float>(4, -1)};
};

RANK_BODY(OperatorUnbegun) {
  HcclComm other = SameRanks(r, 1);
  const Operator op(r, r.comm);
  if (r.rank == 0) {
    Obstruct(r, other);
    op.Launch();
    Abort(r);
    op.Launch();
    ExpectFailure(r, {"EI0002", "aclnnMatmulAllReduce of rank 0 was dropped"});
  } else {
    op.Launch();
    ExpectFailure(r, {"EI0002", "rank 0 has failed", "aclnnMatmulAllReduce of rank 0 was dropped"});
  }
  RANK_OK(r, HcclCommDestroy(other));
}

// All ranks go on together.
void Meet(Rank& r, HcclComm other) {
  RANK_OK(r, HcclBarrier(other, r.stream));
  r.Sync();
}

RANK_BODY(OperatorBegun) {
  HcclComm other = SameRanks(r, 1);
  const Operator op(r, r.comm);
  if (r.rank == 0) {
    op.Launch();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it should have come to the sum, and need not
    Abort(r);
  }
  Meet(r, other);
  ExpectMissed(
      r, [&] { op.Launch(); }, "aclnnMatmulAllReduce of rank 0 was dropped");
  RANK_OK(r, HcclCommDestroy(other));
}

RANK_BODY(StreamDestroyed) {
  const Operator op(r, r.comm);
  HcclComm other = SameRanks(r, 1);
  if (r.rank == 0) {
    Obstruct(r, other);
    op.Launch();
    RANK_OK(r, aclrtDestroyStreamForce(std::exchange(r.stream, nullptr)));
  } else {
    op.Launch();
    ExpectFailure(r, {"EI0002", "rank 0 has failed", "aclnnMatmulAllReduce of rank 0 was dropped"});
  }
  RANK_OK(r, HcclCommDestroy(other));
}

aclmdlRI Capture(Rank& r, const std::function<void()>& record) {
  aclmdlRI graph = nullptr;
  RANK_OK(r, aclmdlRICaptureBegin(r.stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
  record();
  RANK_OK(r, aclmdlRICaptureEnd(r.stream, &graph));
  return graph;
}

// A graph of an operation, a message and an operator, each of a communicator of its own.
struct Recorded {
  explicit Recorded(Rank& rank)
      : r(rank), sum(SameRanks(r, 2)), message(SameRanks(r, 3)), product(SameRanks(r, 4)), op(r, product) {
    graph = Capture(r, [&] {
      AllReduce(r, b, sum);
      if (r.rank == 0) RANK_OK(r, HcclSend(b.send.get(), 10, kFloat, 1, message, r.stream));
      if (r.rank == 1) RANK_OK(r, HcclRecv(b.receive.get(), 10, kFloat, 0, message, r.stream));
      op.Launch();
    });
  }
  ~Recorded() {
    RANK_OK(r, aclmdlRIDestroy(graph));
    for (HcclComm each : {sum, message, product}) RANK_OK(r, HcclCommDestroy(each));
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  void Replay() const { RANK_OK(r, aclmdlRIExecuteAsync(graph, r.stream)); }

  Rank& r;
  const Buffers b;
  HcclComm sum, message, product;
  Operator op;
  aclmdlRI graph = nullptr;
};

// Each part of what rank 0 has not replayed is missed by name.
void ExpectAllMissed(Rank& r, const Recorded& recorded) {
  ExpectMissed(
      r, [&] { AllReduce(r, recorded.b, recorded.sum); }, "HcclAllReduce of rank 0 was dropped");
  const auto receive = [&] {
    RANK_OK(r, HcclRecv(recorded.b.receive.get(), 10, kFloat, 0, recorded.message, r.stream));
  };
  if (r.rank == 1) ExpectMissed(r, receive, "HcclSend of rank 0 was dropped");
  ExpectMissed(
      r, [&] { recorded.op.Launch(); }, "aclnnMatmulAllReduce of rank 0 was dropped");
}

RANK_BODY(ReplayUnbegun) {
  HcclComm other = SameRanks(r, 1);
  const Recorded recorded(r);
  if (r.rank == 0) {
    Obstruct(r, other);
    recorded.Replay();
    Abort(r);
  }
  ExpectAllMissed(r, recorded);
  RANK_OK(r, HcclCommDestroy(other));
}

// Two replays: one is parked in its first node, the other waits for it. Afterwards the graph begins anew, and does not
// go on with what was dropped.
RANK_BODY(ReplayBegun) {
  HcclComm other = SameRanks(r, 1);
  const Recorded recorded(r);
  if (r.rank == 0) {
    recorded.Replay();
    recorded.Replay();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    Abort(r);
  }
  Meet(r, other);
  ExpectAllMissed(r, recorded);
  recorded.Replay();
  ExpectFailure(r, {"EI0002", "HcclAllReduce of rank 0 was dropped"});
  RANK_OK(r, HcclCommDestroy(other));
}

// The graph is aborted in a node of another communicator, before the others.
RANK_BODY(GraphAborted) {
  HcclComm other = SameRanks(r, 1);
  const Buffers b;
  aclmdlRI graph = nullptr;
  aclrtStream bound = nullptr;
  if (r.rank == 0) {
    RANK_OK(r, aclrtCreateStreamWithConfig(&bound, 0, ACL_STREAM_PERSISTENT));
    RANK_OK(r, aclmdlRIBuildBegin(&graph, 0));
    RANK_OK(r, aclmdlRIBindStream(graph, bound, ACL_MODEL_STREAM_FLAG_HEAD));
    RANK_OK(r, HcclBarrier(other, bound));
    RANK_OK(r, HcclAllReduce(b.send.get(), b.receive.get(), 10, kFloat, HCCL_REDUCE_SUM, r.comm, bound));
    RANK_OK(r, aclmdlRIEndTask(graph, bound));
    RANK_OK(r, aclmdlRIBuildEnd(graph, nullptr));
    RANK_OK(r, aclmdlRIExecuteAsync(graph, r.stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    RANK_OK(r, aclmdlRIAbort(graph));
    ExpectFailure(r, {"aborted"});
  }
  ExpectMissed(
      r, [&] { AllReduce(r, b, r.comm); }, "HcclAllReduce of rank 0 was dropped");
  ExpectMissed(
      r, [&] { RANK_OK(r, HcclBarrier(other, r.stream)); }, "HcclBarrier of rank 0 was dropped");
  if (r.rank == 0) {
    RANK_OK(r, aclmdlRIUnbindStream(graph, bound));
    RANK_OK(r, aclmdlRIDestroy(graph));
    RANK_OK(r, aclrtDestroyStream(bound));
  }
  RANK_OK(r, HcclCommDestroy(other));
}

// What was replayed to its end, and what a refused call would have done, is owed to nobody.
RANK_BODY(NothingOwed) {
  const Recorded recorded(r);
  recorded.Replay();
  r.Sync();
  if (r.rank == 0) {
    RANK_OK(r, aclrtStreamAbort(r.stream));
    aclrtSynchronizeStream(r.stream);
  }
  recorded.Replay();
  r.Sync();
  Expect(r, "AllReduce", recorded.b.receive.Read(),
         std::vector<float>(10, r.rank == 1 ? 1.0F : static_cast<float>(r.ranks)));
}

MP_ROLE(rank) { return BeRank(); }

class DroppedWork : public ::testing::TestWithParam<std::string> {};

TEST_P(DroppedWork, IsHeardOfByAllRanks) { ExpectSilentEverywhere(GetParam(), {{"0"}, {"1"}}); }

INSTANTIATE_TEST_SUITE_P(Each, DroppedWork,
                         ::testing::Values("OperatorUnbegun", "OperatorBegun", "StreamDestroyed", "ReplayUnbegun",
                                           "ReplayBegun", "GraphAborted", "NothingOwed"),
                         [](const auto& info) { return info.param; });

}  // namespace

MP_TEST_MAIN()

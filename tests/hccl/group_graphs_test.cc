// SPDX-License-Identifier: Apache-2.0
// Collectives within graphs: the group that their attribute names, as threads and as processes.
#include <array>
#include <mutex>

#include "ge/ge_api.h"
#include "ge/ge_api_v2.h"
#include "graph/graph.h"
#include "tests/ge/operators.h"
#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT
using Options = std::map<ge::AscendString, ge::AscendString>;

constexpr int64_t kRows = 3, kColumns = 4;
constexpr size_t kCount = kRows * kColumns;

std::string NameOf(HcclComm comm) {
  std::array<char, 128> name{};
  EXPECT_EQ(HcclGetCommName(comm, name.data()), 0) << acl_test::RecentMessage();
  return name.data();
}

std::vector<float> Of(uint32_t rank) {
  std::vector<float> values(kCount);
  for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(rank * 100 + i);
  return values;
}

ge::Operator Collective(const char* type, const std::string& group) {
  ge::Operator made = ge::OperatorFactory::CreateOperator(type, type);
  made.SetAttr("group", ge::AscendString(group.c_str()));
  return made;
}

ge::Tensor On(const Values<float>& values, size_t count, const std::vector<int64_t>& dims) {
  ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, ge::DT_FLOAT);
  desc.SetPlacement(ge::kPlacementDevice);
  ge::Tensor tensor(desc);
  tensor.SetData(reinterpret_cast<uint8_t*>(values.get()), count * sizeof(float), [](uint8_t*) {});
  return tensor;
}

// Ranks that are threads share a process's start.
void StartGe(Rank& r) {
  static std::once_flag once;
  std::call_once(once, [&] { RANK_OK(r, static_cast<int>(ge::GEInitialize(Options{}))); });
}

// Runs the graph three times on x; `out` has `count` elements. What the last synchronisation said.
int Run(Rank& r, const ge::Graph& graph, const Values<float>& x, const Values<float>& out, size_t count,
        const std::vector<int64_t>& dims) {
  StartGe(r);
  const std::string device = std::to_string(r.rank % kDevices);
  ge::Session session(Options{{"ge.session_device_id", device.c_str()}});
  RANK_OK(r, static_cast<int>(session.AddGraph(1, graph)));
  int result = 0;
  for (int i = 0; i < 3 && result == 0; ++i) {
    std::vector<ge::Tensor> outputs = {On(out, count, dims)};
    const ge::Status started =
        session.RunGraphWithStreamAsync(1, r.stream, {On(x, kCount, {kRows, kColumns})}, outputs);
    if (started != ge::SUCCESS) {
      r.Complain(std::string("RunGraphWithStreamAsync: ") + ge::GEGetErrorMsgV2().GetString());
      return static_cast<int>(started);
    }
    result = aclrtSynchronizeStream(r.stream);
  }
  return result;
}

// dims of a graph's input: as the rank's values, or with rows that only a run tells.
std::vector<int64_t> Dims(bool dynamic) { return {dynamic ? -1 : kRows, kColumns}; }

void AllReduce(Rank& r, bool dynamic) {
  ge::Operator x = ge_test::Data("x", 0, Dims(dynamic));
  ge::Operator one = ge_test::Const("one", {kColumns}, 1.0F);
  ge::Operator more = ge_test::Binary("more", "Add", x, one);
  ge::Operator sum = Collective("HcomAllReduce", NameOf(r.comm));
  sum.SetInput("x", more);
  sum.SetAttr("reduction", ge::AscendString("sum"));
  ge::Operator twice = ge_test::Binary("twice", "Add", sum, sum);
  ge::Graph graph("reduce");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{twice});
  const Values<float> in(Of(r.rank)), out(std::vector<float>(kCount, -1));
  RANK_OK(r, Run(r, graph, in, out, kCount, {kRows, kColumns}));
  std::vector<float> expected(kCount, 0);
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    for (size_t i = 0; i < kCount; ++i) expected[i] += 2 * (Of(rank)[i] + 1);
  }
  Expect(r, dynamic ? "HcomAllReduce, dynamic" : "HcomAllReduce", out.Read(), expected);
}

RANK_BODY(AllReduces) {
  AllReduce(r, false);
  AllReduce(r, true);
}

RANK_BODY(Gathers) {
  ge::Operator x = ge_test::Data("x", 0, Dims(false));
  ge::Operator all = Collective("HcomAllGather", NameOf(r.comm));
  all.SetInput("x", x);
  all.SetAttr("rank_size", static_cast<int64_t>(r.ranks));
  ge::Graph graph("gather");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{all});
  const Values<float> in(Of(r.rank)), out(std::vector<float>(kCount * r.ranks, -1));
  RANK_OK(r, Run(r, graph, in, out, kCount * r.ranks, {static_cast<int64_t>(kRows * r.ranks), kColumns}));
  std::vector<float> expected;
  for (uint32_t rank = 0; rank < r.ranks; ++rank) {
    for (const float value : Of(rank)) expected.push_back(value);
  }
  Expect(r, "HcomAllGather", out.Read(), expected);
}

// Even ranks send what the odd ones behind them receive; a rank without a partner adds to its own.
RANK_BODY(Messages) {
  const bool odd = r.rank % 2 == 1;
  if (!odd && r.rank + 1 == r.ranks) return;
  ge::Operator x = ge_test::Data("x", 0, Dims(false));
  ge::Graph graph("message");
  const Values<float> in(Of(r.rank)), out(std::vector<float>(kCount, -1));
  if (odd) {
    ge::Operator receive = Collective("HcomReceive", NameOf(r.comm));
    receive.SetAttr("sr_tag", static_cast<int64_t>(5));
    receive.SetAttr("src_rank", static_cast<int64_t>(r.rank - 1));
    receive.SetAttr("shape", std::vector<int64_t>{kRows, kColumns});
    receive.SetAttr("dtype", ge::DT_FLOAT);
    ge::Operator sum = ge_test::Binary("sum", "Add", x, receive);
    graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{sum});
  } else {
    ge::Operator send = Collective("HcomSend", NameOf(r.comm));
    send.SetInput("x", x);
    send.SetAttr("sr_tag", static_cast<int64_t>(5));
    send.SetAttr("dest_rank", static_cast<int64_t>(r.rank + 1));
    ge::Operator sum = ge_test::Binary("sum", "Add", x, x);
    graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{sum}).SetTargets({send});
  }
  RANK_OK(r, Run(r, graph, in, out, kCount, {kRows, kColumns}));
  std::vector<float> expected = Of(r.rank);
  for (size_t i = 0; i < kCount; ++i) expected[i] += odd ? Of(r.rank - 1)[i] : expected[i];
  Expect(r, odd ? "HcomReceive" : "HcomSend", out.Read(), expected);
}

RANK_BODY(UnknownGroup) {
  ge::Operator x = ge_test::Data("x", 0, Dims(false));
  ge::Operator sum = Collective("HcomAllReduce", "nobody");
  sum.SetInput("x", x);
  sum.SetAttr("reduction", ge::AscendString("sum"));
  ge::Graph graph("unknown");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{sum});
  const Values<float> in(Of(r.rank)), out(std::vector<float>(kCount, -1));
  Rank quiet = r;
  const int result = Run(quiet, graph, in, out, kCount, {kRows, kColumns});
  if (result == 0) r.Complain("a group that nobody knows was accepted");
  const bool named = quiet.complaints.find("no group 'nobody'") != std::string::npos &&
                     quiet.complaints.find(NameOf(r.comm)) != std::string::npos;
  if (!named) r.Complain("it was refused with: " + quiet.complaints);
}

// A graph whose other part fails does not leave the other ranks waiting in its collective.
RANK_BODY(OtherReduction) {
  ge::Operator x = ge_test::Data("x", 0, Dims(false));
  ge::Operator sum = Collective("HcomAllReduce", NameOf(r.comm));
  sum.SetInput("x", x);
  sum.SetAttr("reduction", ge::AscendString(r.rank == 0 ? "max" : "sum"));
  ge::Graph graph("other");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{sum});
  const Values<float> in(Of(r.rank)), out(std::vector<float>(kCount, -1));
  acl_test::RecentMessage();
  if (Run(r, graph, in, out, kCount, {kRows, kColumns}) == 0) r.Complain("nobody minded");
  const std::string text = acl_test::RecentMessage();
  if (text.find("EI0005") == std::string::npos) r.Complain(text);
}

// Rank 0's stream is aborted before its graph has begun: the other ranks hear of it in theirs.
void Drop(Rank& r, bool dynamic) {
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::vector<uint32_t> all(r.ranks);
  std::iota(all.begin(), all.end(), 0);
  HcclComm other = nullptr, own = nullptr;
  RANK_OK(r, HcclCreateSubCommConfig(&r.comm, r.ranks, all.data(), 1, r.rank, &config, &other));
  RANK_OK(r, HcclCreateSubCommConfig(&r.comm, r.ranks, all.data(), 2, r.rank, &config, &own));
  ge::Operator x = ge_test::Data("x", 0, Dims(dynamic));
  ge::Operator sum = Collective("HcomAllReduce", NameOf(own));
  sum.SetInput("x", x);
  sum.SetAttr("reduction", ge::AscendString("sum"));
  ge::Graph graph("dropped");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{sum});
  const Values<float> in(Of(r.rank)), out(std::vector<float>(kCount, -1));
  StartGe(r);
  const std::string device = std::to_string(r.rank % kDevices);
  ge::Session session(Options{{"ge.session_device_id", device.c_str()}});
  RANK_OK(r, static_cast<int>(session.AddGraph(1, graph)));
  if (r.rank == 0) RANK_OK(r, HcclBarrier(other, r.stream));  // nobody else comes to it
  std::vector<ge::Tensor> outputs = {On(out, kCount, {kRows, kColumns})};
  RANK_OK(r,
          static_cast<int>(session.RunGraphWithStreamAsync(1, r.stream, {On(in, kCount, {kRows, kColumns})}, outputs)));
  if (r.rank == 0) RANK_OK(r, aclrtStreamAbort(r.stream));
  acl_test::RecentMessage();
  if (aclrtSynchronizeStream(r.stream) == 0) r.Complain("nobody minded");
  const std::string text = acl_test::RecentMessage();
  if (r.rank != 0 && text.find("HcomAllReduce of rank 0 was dropped") == std::string::npos) r.Complain(text);
  RANK_OK(r, HcclCommDestroy(other));
  RANK_OK(r, HcclCommDestroy(own));
}

RANK_BODY(Dropped) { Drop(r, false); }
RANK_BODY(DroppedDynamic) { Drop(r, true); }

MP_ROLE(rank) { return BeRank(); }

class GroupGraphs : public ::testing::TestWithParam<std::string> {};

TEST_P(GroupGraphs, AsThreads) { EXPECT_EQ(RunThreads(4, Bodies().at(GetParam())), ""); }

TEST_P(GroupGraphs, AsProcesses) { EXPECT_EQ(Complaints(RunProcesses(2, GetParam())), ""); }

INSTANTIATE_TEST_SUITE_P(Each, GroupGraphs,
                         ::testing::Values("AllReduces", "Gathers", "Messages", "UnknownGroup", "OtherReduction",
                                           "Dropped", "DroppedDynamic"),
                         [](const auto& info) { return info.param; });

}  // namespace

MP_TEST_MAIN()

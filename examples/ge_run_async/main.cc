// SPDX-License-Identifier: Apache-2.0
// RunGraphWithStreamAsync: compiles, loads and runs a graph on a stream, and returns before it has run. Where inputs
// and outputs lie, who allocates outputs that the caller did not, and what is refused.
#include <atomic>

#include "../ge_shared/small_graph.h"
#include "../ge_shared/talking_pool.h"

namespace {

constexpr size_t kRows = 8;
using Options = std::map<ge::AscendString, ge::AscendString>;

std::atomic<bool> gate{false};
void WaitAtGate(void*) {
  while (!gate.load()) {
  }
}

size_t ReturnsBeforeItRuns(ge::Session& session, aclrtStream stream, const DeviceInput& input) {
  std::puts("== Inputs and outputs are device memory of the caller's; the call returns before the graph has run");
  DeviceInput output(kRows);  // holds 0, 1, 2, ... until the graph has written to it
  std::vector<ge::Tensor> outputs = {output.tensor()};
  CHECK(session.AddGraph(1, MakeGraph("given", kRows)));
  CHECK(aclrtLaunchHostFunc(stream, &WaitAtGate, nullptr));  // holds the stream
  CHECK(session.RunGraphWithStreamAsync(1, stream, {input.tensor()}, outputs));
  const size_t early = CountWrong(output.data(), kRows);
  gate = true;
  CHECK(aclrtSynchronizeStream(stream));  // only now is there a result
  const size_t late = CountWrong(output.data(), kRows);
  std::printf("  before the stream was synchronised %zu elements were not there yet, after it %zu\n", early, late);
  return late + (early == 0 ? 1 : 0);
}

size_t OutputsFromAnAllocator(ge::Session& session, aclrtStream stream, const DeviceInput& input) {
  std::puts(
      "== Outputs without memory, an allocator registered: it is asked, and gets them back when they are dropped");
  auto pool = std::make_shared<TalkingPool>("pool");
  CHECK(session.RegisterExternalAllocator(stream, pool));
  size_t wrong = 0;
  for (const int64_t rows : {int64_t{kRows}, int64_t{-1}}) {
    const uint32_t graph = rows < 0 ? 3 : 2;
    std::printf("  a graph of %s shape:\n", rows < 0 ? "unknown" : "known");
    CHECK(session.AddGraph(graph, MakeGraph("asked", rows)));
    std::vector<ge::Tensor> outputs;
    CHECK(session.RunGraphWithStreamAsync(graph, stream, {input.tensor()}, outputs));
    CHECK(aclrtSynchronizeStream(stream));
    wrong += CountWrong(outputs[0].GetData(), kRows);
    outputs.clear();  // before the allocator is destroyed
    CHECK(session.RemoveGraph(graph));
  }
  CHECK(session.UnregisterExternalAllocator(stream));
  return wrong + (pool->given == pool->freed ? 0 : 1);
}

size_t OutputsOfTheGraphsOwn(ge::Session& session, aclrtStream stream) {
  std::puts("== No allocator: built-in memory, for as many rows as come");
  CHECK(session.AddGraph(4, MakeGraph("built-in", -1)));
  size_t wrong = 0;
  for (const size_t rows : {2, 5, 1000}) {
    const DeviceInput some(rows);
    std::vector<ge::Tensor> outputs;
    CHECK(session.RunGraphWithStreamAsync(4, stream, {some.tensor()}, outputs));
    CHECK(aclrtSynchronizeStream(stream));
    std::printf("  %zu rows: the output is %zu bytes at %p\n", rows, outputs[0].GetSize(),
                static_cast<const void*>(outputs[0].GetData()));
    wrong += CountWrong(outputs[0].GetData(), rows);
  }  // dropped before the graph is
  CHECK(session.RemoveGraph(4));
  return wrong;
}

size_t HostInputs(ge::Session& session, aclrtStream stream) {
  std::puts("== An input in host memory is refused, unless ge.exec.hostInputIndexes names it");
  std::vector<float> values(kRows * kColumns);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const ge::TensorDesc desc(ge::Shape({kRows, kColumns}), ge::FORMAT_ND, ge::DT_FLOAT);
  const ge::Tensor host(desc, reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float));
  std::vector<ge::Tensor> outputs;
  CHECK(session.AddGraph(5, MakeGraph("device input", kRows)));
  const ge::Status refused = session.RunGraphWithStreamAsync(5, stream, {host}, outputs);
  std::printf("  without the option: status %u\n%s\n", refused, ge::GEGetErrorMsgV2().GetString());
  CHECK(session.AddGraph(6, MakeGraph("host input", kRows), Options{{"ge.exec.hostInputIndexes", "0"}}));
  CHECK(session.RunGraphWithStreamAsync(6, stream, {host}, outputs));
  CHECK(aclrtSynchronizeStream(stream));
  return CountWrong(outputs[0].GetData(), kRows) + (refused == ge::SUCCESS ? 1 : 0);
}

}  // namespace

int main() {
  OpenDevice();
  CHECK(ge::GEInitialize(Options{}));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));  // in the default context: graphs run in no other
  size_t wrong = 0;
  {
    ge::Session session(Options{});
    const DeviceInput input(kRows);
    wrong += ReturnsBeforeItRuns(session, stream, input);
    wrong += OutputsFromAnAllocator(session, stream, input);
    wrong += OutputsOfTheGraphsOwn(session, stream);
    wrong += HostInputs(session, stream);
  }
  std::printf("%zu elements wrong\n", wrong);
  CHECK(aclrtDestroyStream(stream));
  CHECK(ge::GEFinalize());
  CloseDevice();
  return wrong == 0 ? 0 : 1;
}

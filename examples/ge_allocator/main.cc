// SPDX-License-Identifier: Apache-2.0
// RegisterExternalAllocator: a graph on the user's own memory pool. Every block is printed as it is allocated and
// freed: constants and feature memory when the graph is loaded, outputs (and feature memory that can move) for each
// run.
#include "../ge_shared/small_graph.h"
#include "../ge_shared/talking_pool.h"

namespace {

constexpr size_t kRows = 8;
using Options = std::map<ge::AscendString, ge::AscendString>;

size_t Run(ge::Session& session, uint32_t graph, aclrtStream stream, const DeviceInput& input,
           std::vector<ge::Tensor>* outputs) {
  CHECK(session.RunGraphWithStreamAsync(graph, stream, {input.tensor()}, *outputs));
  CHECK(aclrtSynchronizeStream(stream));  // before anyone looks at the result
  return CountWrong((*outputs)[0].GetData(), kRows);
}

size_t Demonstrate(aclrtStream stream, aclrtStream second_stream) {
  size_t wrong = 0;
  const DeviceInput input(kRows);
  // The pools outlive the session: graphs and outputs hold blocks of theirs.
  auto pool = std::make_shared<TalkingPool>("pool");
  auto other = std::make_shared<TalkingPool>("other");
  std::vector<ge::Tensor> outputs;
  {
    ge::Session session(Options{});
    // Refreshable: feature memory may move between runs, so each run requests and frees it.
    CHECK(session.AddGraph(1, MakeGraph("allocator", kRows), Options{{"ge.featureBaseRefreshable", "1"}}));

    std::puts("== Register before LoadGraph: constants come from the pool");
    CHECK(session.RegisterExternalAllocator(stream, pool));
    CHECK(session.CompileGraph(1));
    size_t constants = 0;
    size_t feature = 0;
    CHECK(session.GetCompiledGraphSummary(1)->GetConstMemorySize(constants));
    CHECK(session.GetCompiledGraphSummary(1)->GetFeatureMemorySize(feature));
    std::printf("  the graph needs %zu bytes of const and %zu of feature memory\n", constants, feature);
    CHECK(session.LoadGraph(1, {}, stream));

    std::puts("== First run: feature memory and the output that nobody allocated");
    wrong += Run(session, 1, stream, input, &outputs);
    std::puts("== Second run: the output has memory now; feature memory is asked for where it was (MallocAdvise)");
    wrong += Run(session, 1, stream, input, &outputs);

    std::puts("== Registered again: the last registration counts, from the next run on");
    CHECK(session.RegisterExternalAllocator(stream, other));
    std::vector<ge::Tensor> more;
    wrong += Run(session, 1, stream, input, &more);
    std::puts("== That output is dropped: its block goes back to where it came from");
    more.clear();

    std::puts("== The same pool on a second stream; the first one was synchronised, as it must be");
    CHECK(session.RegisterExternalAllocator(second_stream, pool));
    wrong += Run(session, 1, second_stream, input, &more);
    more.clear();

    std::puts("== The graph is removed: constants go back");
    CHECK(session.RemoveGraph(1));
    CHECK(session.UnregisterExternalAllocator(stream));
    CHECK(session.UnregisterExternalAllocator(second_stream));
  }
  std::puts("== The last output is dropped, then the pools");
  outputs.clear();
  const bool complete = pool->given == pool->freed && other->given == other->freed && pool->advised >= 1;
  return complete ? wrong : wrong + 1;
}

}  // namespace

int main() {
  OpenDevice();
  CHECK(ge::GEInitialize(Options{}));
  aclrtStream stream = nullptr;
  aclrtStream second_stream = nullptr;
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtCreateStream(&second_stream));
  const size_t wrong = Demonstrate(stream, second_stream);
  std::printf("%zu elements wrong\n", wrong);
  CHECK(aclrtDestroyStream(second_stream));
  CHECK(aclrtDestroyStream(stream));
  CHECK(ge::GEFinalize());
  CloseDevice();
  return wrong == 0 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// External allocators, the finer rules: which stream, which session, how many bytes, whose block, and what happens when
// registrations change under a run. Sentences of pages "UnregisterExternalAllocator", "RegisterExternalAllocator" and
// "RunGraphWithStreamAsync" that allocator_test.cc has not, docs/compat.md, "Requests of graphs" and "When a
// registration counts".
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "session_fixture.h"

namespace {

using namespace ge_test;  // NOLINT

const Options kRefreshable = {{"ge.featureBaseRefreshable", "1"}};

// A stream of a test's own.
class TestStream {
 public:
  TestStream() { EXPECT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS); }
  ~TestStream() { EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  aclrtStream get() const { return stream_; }
  void Synchronize() const { EXPECT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS) << ErrorMessage(); }

 private:
  aclrtStream stream_ = nullptr;
};

class AllocatorRulesTest : public OneSessionTest {
 protected:
  std::shared_ptr<CountingAllocator> Register(void* stream) {
    auto allocator = std::make_shared<CountingAllocator>();
    GE_OK(session_->RegisterExternalAllocator(stream, allocator));
    return allocator;
  }
  ge::Status Run(uint32_t id, void* stream, std::vector<ge::Tensor>* outputs) {
    return session_->RunGraphWithStreamAsync(id, stream, {DeviceTensor(input_->data())}, *outputs);
  }
};

// Pages "UnregisterExternalAllocator" and "RegisterExternalAllocator", header and library: ge_api_v2.h with
// libge_runner_v2.so, ge_api.h with libge_runner.so.
TEST_F(AllocatorRulesTest, BothCallsAreInTheLibrariesThatTheDocumentsName) {
  struct Place {
    const char* library;
    const char* symbol;
  };
  for (const Place& place :
       {Place{"libge_runner_v2.so", "_ZNK2ge9GeSession27UnregisterExternalAllocatorEPKv"},
        Place{"libge_runner_v2.so", "_ZNK2ge9GeSession25RegisterExternalAllocatorEPKvSt10shared_ptrINS_9AllocatorEE"},
        Place{"libge_runner.so", "_ZNK2ge7Session25RegisterExternalAllocatorEPKvSt10shared_ptrINS_9AllocatorEE"},
        Place{"libge_runner.so", "_ZNK2ge7Session27UnregisterExternalAllocatorEPKv"},
        Place{"libge_runner.so", "_ZN2ge7Session23RunGraphWithStreamAsyncEjPvRKSt6vectorINS_6TensorESaIS3_EERS5_"}}) {
    void* const library = dlopen(place.library, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    EXPECT_NE(dlsym(library, place.symbol), nullptr) << place.library << ": " << place.symbol;
    dlclose(library);
  }
}

// Page "RegisterExternalAllocator", stream: "which stream the allocator is registered on"; page
// "UnregisterExternalAllocator", stream: "which stream's allocator goes".
TEST_F(AllocatorRulesTest, AnAllocatorServesOnlyItsStreamAndIsUnregisteredOnlyFromIt) {
  TestStream other;
  GE_REQUIRE_OK(session_->AddGraph(1, TwoOutputs("first"), kRefreshable));
  GE_REQUIRE_OK(session_->AddGraph(2, TwoOutputs("second"), kRefreshable));
  auto mine = Register(stream_);
  auto others = Register(other.get());
  std::vector<ge::Tensor> first;
  std::vector<ge::Tensor> second;
  GE_REQUIRE_OK(Run(1, stream_, &first));
  EXPECT_EQ(mine->mallocs, 4);
  EXPECT_EQ(others->mallocs, 0);
  GE_REQUIRE_OK(Run(2, other.get(), &second));
  EXPECT_EQ(mine->mallocs, 4);
  EXPECT_EQ(others->mallocs, 4);
  GE_OK(session_->UnregisterExternalAllocator(stream_));
  std::vector<ge::Tensor> third;
  std::vector<ge::Tensor> fourth;
  GE_REQUIRE_OK(Run(1, stream_, &third));
  GE_REQUIRE_OK(Run(2, other.get(), &fourth));
  EXPECT_EQ(mine->mallocs, 4);
  EXPECT_EQ(others->mallocs, 7) << "feature memory by advice, two outputs";
  EXPECT_EQ(others->advises, 1);
  Synchronize();
  other.Synchronize();
  for (const auto* outputs : {&first, &second, &third, &fourth}) {
    EXPECT_EQ(Read((*outputs)[0].GetData()), Products());
  }
  second.clear();
  fourth.clear();
  session_.reset();
}

// docs/compat.md, "Requests of graphs": "stream == nullptr always means built-in allocation".
TEST_F(AllocatorRulesTest, ARunWithoutAStreamCallsNoAllocator) {
  GE_REQUIRE_OK(session_->AddGraph(1, TwoOutputs("null")));
  auto allocator = Register(stream_);
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(Run(1, nullptr, &outputs));
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(allocator->mallocs, 0);
  EXPECT_EQ(Read(outputs[0].GetData()), Products());
}

ge::Graph Sized(int64_t elements) {
  ge::Operator x = Data("x", 0, {elements});
  ge::Operator sum = Binary("sum", "Add", x, x);
  ge::Graph graph("sized");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{sum});
  return graph;
}

// docs/compat.md, "Requests of graphs": one output is RoundUp(bytes, 32) + 32, an empty one 32.
TEST_F(AllocatorRulesTest, AnOutputsRequestIsRoundedUpAndPadded) {
  struct Case {
    int64_t elements;
    size_t request;
  };
  uint32_t id = 0;
  for (const Case& one : {Case{0, 32}, Case{1, 64}, Case{8, 64}, Case{9, 96}, Case{16, 96}, Case{1000, 4032}}) {
    ++id;
    GE_REQUIRE_OK(session_->AddGraph(id, Sized(one.elements)));
    auto allocator = Register(stream_);
    const auto bytes = static_cast<size_t>(one.elements) * sizeof(float);
    DeviceMemory input(std::max<size_t>(bytes, 32));
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(
        session_->RunGraphWithStreamAsync(id, stream_, {DeviceTensor(input.data(), bytes, {one.elements})}, outputs));
    Synchronize();
    ASSERT_FALSE(allocator->requests.empty());
    EXPECT_EQ(allocator->requests.back(), one.request) << one.elements;
    outputs.clear();
    GE_OK(session_->RemoveGraph(id));
  }
}

// docs/compat.md, "Requests of graphs": blocks are freed through MemBlock::Free, which drops one of the block's
// counts.
TEST_F(AllocatorRulesTest, ABlockThatItsAllocatorSharesIsFreedByTheLastShare) {
  class Sharing : public CountingAllocator {
   public:
    ge::MemBlock* Malloc(size_t size) override {
      ge::MemBlock* const block = CountingAllocator::Malloc(size);
      if (block != nullptr) shared.push_back((block->AddCount(), block));
      return block;
    }
    std::vector<ge::MemBlock*> shared;
  };
  GE_REQUIRE_OK(session_->AddGraph(1, TwoOutputs("shares")));
  auto allocator = std::make_shared<Sharing>();
  GE_OK(session_->RegisterExternalAllocator(stream_, allocator));
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(Run(1, stream_, &outputs));
  Synchronize();
  ASSERT_EQ(allocator->shared.size(), 4U);
  for (const ge::MemBlock* block : allocator->shared) EXPECT_EQ(block->GetCount(), 2U);
  outputs.clear();
  GE_OK(session_->RemoveGraph(1));
  EXPECT_EQ(allocator->frees, 0) << "each block has a share left";
  for (ge::MemBlock* block : allocator->shared) block->Free();
  EXPECT_EQ(allocator->frees, 4);
}

// docs/compat.md, "Requests of graphs": const and feature memory are freed with the graph, outputs when the user
// drops them.
TEST_F(AllocatorRulesTest, BlocksAreFreedWhenTheTableSays) {
  GE_REQUIRE_OK(session_->AddGraph(1, TwoOutputs("moments")));
  auto allocator = Register(stream_);
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(Run(1, stream_, &outputs));
  Synchronize();
  EXPECT_EQ(allocator->frees, 0);
  outputs.pop_back();
  EXPECT_EQ(allocator->frees, 1);
  GE_OK(session_->RemoveGraph(1));
  EXPECT_EQ(allocator->frees, 3);
  const ge::Tensor copy = outputs[0];  // shares the memory
  outputs.clear();
  EXPECT_EQ(allocator->frees, 3);
  EXPECT_EQ(Read(copy.GetData()), Products());
}

// docs/compat.md, "When a registration counts", last row: "GEFinalize / ~Session: registry entries survive".
TEST_F(AllocatorRulesTest, ARegistrationOutlivesItsSessionAndTheEngine) {
  auto allocator = Register(stream_);
  session_ = std::make_unique<ge::Session>(Options{});
  GE_REQUIRE_OK(session_->AddGraph(1, TwoOutputs("other session")));
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(Run(1, stream_, &outputs));
  EXPECT_EQ(allocator->mallocs, 4);
  Synchronize();
  outputs.clear();
  session_.reset();
  EXPECT_EQ(ge::GEFinalize(), ge::SUCCESS);
  EXPECT_EQ(ge::GEInitialize(Options{}), ge::SUCCESS);
  ge::GeSession again(Options{});
  GE_REQUIRE_OK(again.AddGraph(1, TwoOutputs("other engine")));
  std::vector<gert::Tensor> others;
  GE_REQUIRE_OK(again.RunGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), others));
  EXPECT_EQ(allocator->mallocs, 8);
  Synchronize();
  EXPECT_EQ(Read(others[0].GetAddr()), Products());
  others.clear();
  GE_OK(again.RemoveGraph(1));
  GE_OK(again.UnregisterExternalAllocator(stream_));
}

// docs/compat.md, "When a registration counts": "session construction failed: FAILED".
TEST_F(AllocatorRulesTest, AFailedSessionRegistersNothing) {
  ge::Session failed(Options{{"ge.featureBaseRefreshable", "x"}});
  ge::GeSession failed_too(Options{{"ge.featureBaseRefreshable", "x"}});
  auto allocator = std::make_shared<CountingAllocator>();
  GE_FAILS(ge::FAILED, failed.RegisterExternalAllocator(stream_, allocator));
  GE_FAILS(ge::FAILED, failed_too.RegisterExternalAllocator(stream_, allocator));
  GE_FAILS(ge::FAILED, failed.UnregisterExternalAllocator(stream_));
  GE_FAILS(ge::FAILED, failed_too.UnregisterExternalAllocator(stream_));
  EXPECT_EQ(allocator.use_count(), 1);
}

// Page "UnregisterExternalAllocator" is of GeSession, page "RegisterExternalAllocator" of Session: the second
// generation keeps the same counts (docs/compat.md, "Rules of sessions").
TEST_F(AllocatorRulesTest, GeSessionMakesTheSameRequests) {
  ge::GeSession session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("second"), kRefreshable));
  auto allocator = std::make_shared<CountingAllocator>();
  GE_OK(session.RegisterExternalAllocator(stream_, allocator));
  std::vector<gert::Tensor> outputs;
  GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), outputs));
  EXPECT_EQ(allocator->mallocs, 4);
  EXPECT_EQ(allocator->advises, 0);
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].GetSize(), kPadded) << "MallocOutputsMemory_success_with_gertTensor: 96 for 64 bytes";
  GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), outputs));
  EXPECT_EQ(allocator->mallocs, 5);
  EXPECT_EQ(allocator->advises, 1);
  Synchronize();
  EXPECT_EQ(Read(outputs[0].GetAddr()), Products());
  outputs[0].MutableTensorData().Free();  // as torchair asks for new memory
  GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), outputs));
  EXPECT_EQ(allocator->mallocs, 7);
  Synchronize();
  EXPECT_EQ(Read(outputs[0].GetAddr()), Products());
  outputs.clear();
  GE_OK(session.RemoveGraph(1));
  EXPECT_EQ(allocator->live, 0);
  GE_OK(session.UnregisterExternalAllocator(stream_));
  GE_OK(session.UnregisterExternalAllocator(stream_));
}

// docs/compat.md, "Requests of graphs": what a dynamic graph copies from the host is in the allocator's memory too; a
// static one's does not.
TEST_F(AllocatorRulesTest, AHostInputOfADynamicGraphIsCopiedIntoTheAllocatorsMemory) {
  const std::vector<float> values = Counting();
  int asked[2] = {0, 0};
  for (const bool host : {false, true}) {
    const uint32_t id = host ? 2 : 1;
    GE_REQUIRE_OK(session_->AddGraph(id, Dynamic("host"), Options{{"ge.exec.hostInputIndexes", "0"}}));
    GE_REQUIRE_OK(session_->CompileGraph(id));
    auto allocator = Register(stream_);
    GE_REQUIRE_OK(session_->LoadGraph(id, {}, stream_));
    std::vector<gert::Tensor> outputs;
    GE_REQUIRE_OK(session_->ExecuteGraphWithStreamAsync(
        id, stream_, host ? GertTensors(values.data(), kBytes, gert::kOnHost) : GertTensors(input_->data()), outputs));
    Synchronize();
    EXPECT_EQ(Read(outputs[0].GetAddr()), Products());
    asked[host ? 1 : 0] = allocator->mallocs;
    outputs.clear();
    GE_OK(session_->RemoveGraph(id));
  }
  EXPECT_EQ(asked[1], asked[0] + 1);
}

// docs/compat.md, "Rules of sessions".
TEST_F(AllocatorRulesTest, AHostInputNextToADeviceInputAddsNoRequest) {
  ge::Operator x = Data("x", 0, {4, 4});
  ge::Operator y = Data("y", 1, {4, 4});
  ge::Operator one = Const("one", {4}, 1.0F);
  ge::Operator sum = Binary("sum", "Add", x, one);
  ge::Operator product = Binary("product", "Mul", sum, y);
  ge::Graph graph("host input");
  graph.SetInputs({x, y, one}).SetOutputs(std::vector<ge::Operator>{product});
  GE_REQUIRE_OK(session_->AddGraph(1, graph, Options{{"ge.exec.hostInputIndexes", "1"}}));
  auto allocator = Register(stream_);
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(
      session_->RunGraphWithStreamAsync(1, stream_, {DeviceTensor(input_->data()), HostTensor(Counting())}, outputs));
  Synchronize();
  EXPECT_EQ(Read(outputs[0].GetData()), Products());
  EXPECT_EQ(allocator->mallocs, 3) << "const, feature, one output";
  EXPECT_EQ(allocator->advises, 0);
  // Issue 13: naming one input admits that one and no other.
  std::vector<ge::Tensor> none;
  for (const bool both : {false, true}) {
    const std::vector<ge::Tensor> given = {HostTensor(Counting()),
                                           both ? HostTensor(Counting()) : DeviceTensor(input_->data())};
    GE_FAILS(ge::FAILED, session_->RunGraphWithStreamAsync(1, stream_, given, none));
    EXPECT_NE(ErrorMessage().find("input 0 of graph 1"), std::string::npos) << ErrorMessage();
  }
}

// docs/compat.md, "When a registration counts" and the documents' "unregister before you destroy it", done at the worst
// moment: while others run.
TEST_F(AllocatorRulesTest, RegistrationsMayChangeWhileAnotherThreadRuns) {
  for (const bool dynamic : {false, true}) {
    const uint32_t id = dynamic ? 2 : 1;
    GE_REQUIRE_OK(session_->AddGraph(id, dynamic ? Dynamic("changing") : TwoOutputs("changing"), kRefreshable));
    std::atomic<bool> done{false};
    std::thread changer([&] {
      while (!done.load()) {
        auto allocator = std::make_shared<CountingAllocator>();
        GE_OK(session_->RegisterExternalAllocator(stream_, allocator));
        std::this_thread::yield();
        GE_OK(session_->UnregisterExternalAllocator(stream_));
      }
    });
    for (int run = 0; run < 100; ++run) {
      std::vector<ge::Tensor> outputs;
      GE_OK(Run(id, stream_, &outputs));
      Synchronize();
      ASSERT_EQ(outputs.size(), 2U);
      ASSERT_EQ(Read(outputs[0].GetData()), Products());
    }
    done = true;
    changer.join();
    GE_OK(session_->RemoveGraph(id));
  }
}

// Destroying a stream removes its registration; the graph it loaded still runs, on another stream.
TEST_F(AllocatorRulesTest, AGraphOutlivesTheStreamThatLoadedIt) {
  for (const bool dynamic : {false, true}) {
    const uint32_t id = dynamic ? 2 : 1;
    GE_REQUIRE_OK(session_->AddGraph(id, dynamic ? Dynamic("stream") : TwoOutputs("stream"), kRefreshable));
    std::shared_ptr<CountingAllocator> allocator;
    void* gone = nullptr;
    {
      TestStream stream;
      gone = stream.get();
      allocator = Register(stream.get());
      std::vector<ge::Tensor> outputs;
      GE_REQUIRE_OK(Run(id, stream.get(), &outputs));
      stream.Synchronize();
      EXPECT_EQ(Read(outputs[0].GetData()), Products());
    }
    std::vector<ge::Tensor> outputs;
    GE_FAILS(ge::FAILED, Run(id, gone, &outputs));
    EXPECT_NE(ErrorMessage().find("is not a live stream"), std::string::npos);
    const int asked = allocator->mallocs;
    GE_REQUIRE_OK(Run(id, stream_, &outputs));
    Synchronize();
    EXPECT_EQ(Read(outputs[0].GetData()), Products());
    EXPECT_EQ(allocator->mallocs, asked);
    GE_OK(session_->RemoveGraph(id));
    EXPECT_EQ(allocator->live, 0);
  }
}

// docs/compat.md, "Rules of sessions", as far as gears have a meaning here (docs/compat.md).
TEST_F(AllocatorRulesTest, AGraphWithGearsRunsAndExecutesOnOneAllocator) {
  const Options gears = {{"ge.inputShape", "x:-1,4"}, {"ge.dynamicNodeType", "1"}, {"ge.dynamicDims", "2;4"}};
  GE_REQUIRE_OK(session_->AddGraph(1, Dynamic("gears"), gears));
  GE_REQUIRE_OK(session_->CompileGraph(1));
  auto allocator = Register(stream_);
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(Run(1, stream_, &outputs));
  std::vector<gert::Tensor> executed;
  GE_REQUIRE_OK(session_->ExecuteGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), executed));
  Synchronize();
  EXPECT_EQ(Read(outputs[0].GetData()), Products());
  EXPECT_EQ(Read(executed[0].GetAddr()), Products());
  EXPECT_GT(allocator->mallocs, 0);
  EXPECT_EQ(allocator->advises, 0);
}

// An allocator may be re-entered: its callback runs the same graph.
TEST_F(AllocatorRulesTest, ACallbackMayRunAGraphItself) {
  for (const bool dynamic : {false, true}) {
    const uint32_t id = dynamic ? 2 : 1;
    GE_REQUIRE_OK(session_->AddGraph(id, dynamic ? Dynamic("nested") : TwoOutputs("nested"), kRefreshable));
    std::vector<ge::Tensor> warm;
    GE_REQUIRE_OK(Run(id, stream_, &warm));  // loaded: from here on no call holds the graph
    auto allocator = Register(stream_);
    int nested = 0;
    allocator->on_malloc = [&] {
      if (++nested > 1) return;
      std::vector<ge::Tensor> inner;
      GE_OK(Run(id, stream_, &inner));
    };
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(Run(id, stream_, &outputs));
    Synchronize();
    EXPECT_GT(nested, 1);
    EXPECT_EQ(Read(outputs[0].GetData()), Products());
    allocator->on_malloc = nullptr;
  }
}

}  // namespace

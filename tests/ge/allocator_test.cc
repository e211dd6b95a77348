// SPDX-License-Identifier: Apache-2.0
// External allocators of sessions: each sentence of pages "UnregisterExternalAllocator", "RegisterExternalAllocator"
// and "RunGraphWithStreamAsync" about them, and the requests of docs/compat.md, "Requests of graphs".
#include <thread>

#include "session_fixture.h"

namespace {

using namespace ge_test;  // NOLINT

class AllocatorTest : public SessionTest {
 protected:
  // One graph on a session of its own, one input on the device.
  void Add(const ge::Graph& graph, const Options& options = {}) {
    session_ = std::make_unique<ge::Session>(Options{});
    GE_REQUIRE_OK(session_->AddGraph(1, graph, options));
  }
  std::shared_ptr<CountingAllocator> Register(void* stream) {
    auto allocator = std::make_shared<CountingAllocator>();
    GE_OK(session_->RegisterExternalAllocator(stream, allocator));
    return allocator;
  }
  ge::Status Run(void* stream, std::vector<ge::Tensor>* outputs) {
    return session_->RunGraphWithStreamAsync(1, stream, {DeviceTensor(input_->data())}, *outputs);
  }
  void TearDown() override {
    session_.reset();
    SessionTest::TearDown();
  }
  size_t ConstBytes() {
    size_t bytes = 0;
    GE_OK(session_->GetCompiledGraphSummary(1)->GetConstMemorySize(bytes));
    return bytes;
  }
  size_t FeatureBytes() {
    size_t bytes = 0;
    GE_OK(session_->GetCompiledGraphSummary(1)->GetFeatureMemorySize(bytes));
    return bytes;
  }

  std::unique_ptr<ge::Session> session_;
};

// Page "RegisterExternalAllocator", function: "the user registers his own Allocator with GE, for the user's memory
// pool". docs/compat.md, "Rules of sessions": 4 requests on the first run, 5 and one advise after the second.
TEST_F(AllocatorTest, TheFirstRunRequestsConstFeatureAndOutputsAndTheSecondOnlyFeatureByMallocAdvise) {
  Add(TwoOutputs("two"), {{"ge.featureBaseRefreshable", "1"}});
  auto allocator = Register(stream_);
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(Run(stream_, &outputs));
  EXPECT_EQ(allocator->requests, (std::vector<size_t>{ConstBytes(), FeatureBytes(), kPadded, kPadded}));
  EXPECT_EQ(allocator->advises, 0);
  EXPECT_EQ(allocator->frees, 1) << "the feature memory goes back as the launch returns";
  Synchronize();
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].GetSize(), kPadded);
  EXPECT_EQ(Read(outputs[0].GetData()), Products());
  GE_REQUIRE_OK(Run(stream_, &outputs));  // the outputs have memory now
  EXPECT_EQ(allocator->mallocs, 5);
  EXPECT_EQ(allocator->advises, 1);
  EXPECT_NE(allocator->advised, nullptr);
  Synchronize();
  EXPECT_EQ(Read(outputs[1].GetData()), std::vector<float>(kElements, 1.0F));
  outputs.clear();
  GE_OK(session_->RemoveGraph(1));
  EXPECT_EQ(allocator->live, 0);
  GE_OK(session_->UnregisterExternalAllocator(stream_));
}

// docs/compat.md, "Rules of sessions".
TEST_F(AllocatorTest, AnOutputWithMemoryIsNotRequested) {
  Add(TwoOutputs("part"), {{"ge.featureBaseRefreshable", "1"}});
  auto allocator = Register(stream_);
  DeviceMemory given(kBytes);
  std::vector<ge::Tensor> outputs = {DeviceTensor(given.data()), ge::Tensor()};
  GE_REQUIRE_OK(Run(stream_, &outputs));
  EXPECT_EQ(allocator->mallocs, 3);
  EXPECT_EQ(allocator->advises, 0);
  GE_REQUIRE_OK(Run(stream_, &outputs));
  EXPECT_EQ(allocator->mallocs, 4);
  EXPECT_EQ(allocator->advises, 1);
  Synchronize();
  EXPECT_EQ(outputs[0].GetData(), given.data());
  EXPECT_EQ(Read(given.data()), Products());
}

// docs/compat.md, "Rules of sessions".
TEST_F(AllocatorTest, FixedFeatureMemoryIsRequestedOnce) {
  Add(TwoOutputs("fixed"));
  auto allocator = Register(stream_);
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(Run(stream_, &outputs));
  GE_REQUIRE_OK(Run(stream_, &outputs));
  Synchronize();
  EXPECT_EQ(allocator->mallocs, 4);
  EXPECT_EQ(allocator->advises, 0);
  EXPECT_EQ(allocator->frees, 0);
}

// Page "RegisterExternalAllocator", constraint: "for one stream, repeated calls: the last registration counts". Docs
// over code (docs/compat.md, "Rules of sessions").
TEST_F(AllocatorTest, TheLastRegistrationForAStreamCounts) {
  for (const bool dynamic : {false, true}) {
    Add(dynamic ? Dynamic("dynamic") : TwoOutputs("static"));
    auto first = Register(stream_);
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(Run(stream_, &outputs));
    const int asked = first->mallocs;
    EXPECT_GT(asked, 0);
    auto second = Register(stream_);
    std::vector<ge::Tensor> others;
    GE_REQUIRE_OK(Run(stream_, &others));
    EXPECT_EQ(first->mallocs, asked);
    EXPECT_GT(second->mallocs, 0);
    Synchronize();
    outputs.clear();
    others.clear();
    session_.reset();
    EXPECT_EQ(first->frees, first->mallocs) << "blocks go back to where they came from";
    EXPECT_EQ(second->frees, second->mallocs);
  }
}

// Page "RegisterExternalAllocator", constraint: "for different streams with one Allocator ... synchronise the former
// stream before the next runs".
TEST_F(AllocatorTest, OneAllocatorServesTwoStreamsOneAfterTheOther) {
  aclrtStream other = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), ACL_SUCCESS);
  Add(TwoOutputs("shared"));
  auto allocator = Register(stream_);
  GE_OK(session_->RegisterExternalAllocator(other, allocator));
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(Run(stream_, &outputs));
  Synchronize();
  std::vector<ge::Tensor> others;
  GE_REQUIRE_OK(Run(other, &others));
  EXPECT_EQ(aclrtSynchronizeStream(other), ACL_SUCCESS);
  EXPECT_EQ(Read(others[0].GetData()), Products());
  EXPECT_EQ(allocator->mallocs, 6);
  EXPECT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
}

// Page "RegisterExternalAllocator", constraint: "before the Allocator's memory is released to the operating system,
// synchronise the stream".
TEST_F(AllocatorTest, AfterASynchronisationEverythingCanBeReleased) {
  Add(Dynamic("released"));
  const size_t before = FreeMemory();
  {
    auto allocator = Register(stream_);
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(Run(stream_, &outputs));
    Synchronize();
    outputs.clear();
    GE_OK(session_->RemoveGraph(1));
    GE_OK(session_->UnregisterExternalAllocator(stream_));
    EXPECT_EQ(allocator.use_count(), 1);
    EXPECT_EQ(allocator->live, 0);
  }
  EXPECT_EQ(FreeMemory(), before);
}

// Page "RegisterExternalAllocator", function: "to be used with LoadGraph, RunGraphWithStreamAsync or
// ExecuteGraphWithStreamAsync, and registered before LoadGraph".
TEST_F(AllocatorTest, RegisteredBeforeLoadGraphItServesTheLoadAndEachExecution) {
  Add(TwoOutputs("load"));
  auto allocator = Register(stream_);
  GE_REQUIRE_OK(session_->CompileGraph(1));
  EXPECT_EQ(allocator->mallocs, 0);
  GE_REQUIRE_OK(session_->LoadGraph(1, {}, stream_));
  EXPECT_EQ(allocator->requests, (std::vector<size_t>{ConstBytes(), FeatureBytes()}));
  std::vector<gert::Tensor> outputs;
  GE_REQUIRE_OK(session_->ExecuteGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), outputs));
  EXPECT_EQ(allocator->mallocs, 4);
  Synchronize();
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].GetSize(), kPadded);
  EXPECT_EQ(Read(outputs[0].GetAddr()), Products());
  gert::TensorData shared;
  EXPECT_EQ(shared.ShareFrom(outputs[0].GetTensorData()), ge::GRAPH_SUCCESS);
  outputs.clear();
  EXPECT_EQ(allocator->frees, 1) << "a tensor that shares keeps the block";
  EXPECT_EQ(shared.Free(), ge::GRAPH_SUCCESS);
  EXPECT_EQ(allocator->frees, 2);
}

// docs/compat.md, "When a registration counts": registered after the load, it has a part in outputs only.
TEST_F(AllocatorTest, RegisteredAfterTheLoadItServesOutputs) {
  Add(TwoOutputs("late"));
  std::vector<ge::Tensor> none;
  GE_REQUIRE_OK(Run(stream_, &none));
  auto allocator = Register(stream_);
  std::vector<ge::Tensor> outputs;
  GE_REQUIRE_OK(Run(stream_, &outputs));
  EXPECT_EQ(allocator->requests, (std::vector<size_t>{kPadded, kPadded}));
  Synchronize();
  EXPECT_EQ(Read(outputs[0].GetData()), Products());
}

// docs/compat.md, "When a registration counts": unregistered while the graph is loaded.
TEST_F(AllocatorTest, AfterUnregisteringALoadedGraphUsesItsOwnMemory) {
  for (const char* refreshable : {"0", "1"}) {
    Add(TwoOutputs("gone"), {{"ge.featureBaseRefreshable", refreshable}});
    auto allocator = Register(stream_);
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(Run(stream_, &outputs));
    GE_OK(session_->UnregisterExternalAllocator(stream_));
    const int asked = allocator->mallocs;
    std::vector<ge::Tensor> others;
    GE_REQUIRE_OK(Run(stream_, &others));
    Synchronize();
    EXPECT_EQ(allocator->mallocs, asked);
    EXPECT_EQ(Read(others[0].GetData()), Products());
    session_.reset();
  }
}

// docs/compat.md, "Requests of graphs": every buffer of a dynamic graph, none by advice; outputs report their exact
// size.
TEST_F(AllocatorTest, ADynamicGraphTakesEveryBufferFromTheAllocator) {
  Add(Dynamic("dynamic"));
  auto allocator = Register(stream_);
  for (const int64_t rows : {4, 2, 4}) {
    const auto count = static_cast<size_t>(rows) * 4;
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(session_->RunGraphWithStreamAsync(
        1, stream_, {DeviceTensor(input_->data(), count * sizeof(float), {rows, 4})}, outputs));
    Synchronize();
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(outputs[0].GetSize(), count * sizeof(float));
    EXPECT_EQ(outputs[0].GetTensorDesc().GetShape().GetDims(), (std::vector<int64_t>{rows, 4}));
    EXPECT_EQ(Read(outputs[0].GetData(), count), Products(count));
  }
  EXPECT_GE(allocator->mallocs, 9) << "a value in between and two outputs for each run";
  EXPECT_EQ(allocator->advises, 0);
  EXPECT_GT(allocator->frees, 0);
}

// Page "UnregisterExternalAllocator", return value and constraints: "call this before the Allocator is destroyed"; "the
// stream is not there, or it was unregistered before: nothing is done and the call succeeds".
TEST_F(AllocatorTest, UnregisteringAnUnknownStreamOrTwiceSucceeds) {
  Add(TwoOutputs("unknown"));
  int nobody = 0;
  GE_OK(session_->UnregisterExternalAllocator(&nobody));
  std::weak_ptr<CountingAllocator> watched;
  {
    auto allocator = Register(stream_);
    watched = allocator;
  }
  EXPECT_FALSE(watched.expired()) << "a registration keeps its allocator";
  GE_OK(session_->UnregisterExternalAllocator(stream_));
  EXPECT_TRUE(watched.expired());
  GE_OK(session_->UnregisterExternalAllocator(stream_));
}

// docs/compat.md, "When a registration counts".
TEST_F(AllocatorTest, NullArgumentsAreRefusedAndInvalidHandlesAreNot) {
  Add(TwoOutputs("null"));
  ge::GeSession second(Options{});
  auto allocator = std::make_shared<CountingAllocator>();
  GE_FAILS(kParamInvalid, session_->RegisterExternalAllocator(nullptr, allocator));
  EXPECT_NE(ErrorMessage().find("E10062"), std::string::npos);
  GE_FAILS(kParamInvalid, session_->RegisterExternalAllocator(stream_, nullptr));
  GE_FAILS(kParamInvalid, session_->UnregisterExternalAllocator(nullptr));
  GE_FAILS(kParamInvalid, second.RegisterExternalAllocator(nullptr, nullptr));
  void* const fake = reinterpret_cast<void*>(0x10);
  GE_OK(second.RegisterExternalAllocator(fake, allocator));
  std::vector<ge::Tensor> outputs;
  GE_FAILS(ge::FAILED, Run(fake, &outputs));
  EXPECT_NE(ErrorMessage().find("0x10"), std::string::npos);
  GE_OK(session_->UnregisterExternalAllocator(fake));  // the registry is the process's
  EXPECT_EQ(allocator.use_count(), 1);
}

TEST_F(AllocatorTest, BeforeInitialisationBothCallsFail) {
  ge::Session early(Options{});
  GE_OK(ge::GEFinalize());
  auto allocator = std::make_shared<CountingAllocator>();
  GE_FAILS(ge::FAILED, early.RegisterExternalAllocator(stream_, allocator));
  GE_FAILS(ge::FAILED, early.UnregisterExternalAllocator(stream_));
  EXPECT_NE(ErrorMessage().find("GEInitialize"), std::string::npos);
  GE_OK(ge::GEInitialize(Options{}));
}

// The registry is notified of destroyed streams: a recycled handle must not inherit an allocator.
TEST_F(AllocatorTest, AStreamThatIsDestroyedLosesItsAllocator) {
  Add(TwoOutputs("stream"));
  aclrtStream gone = nullptr;
  ASSERT_EQ(aclrtCreateStream(&gone), ACL_SUCCESS);
  auto allocator = Register(gone);
  EXPECT_EQ(allocator.use_count(), 2);
  EXPECT_EQ(aclrtDestroyStream(gone), ACL_SUCCESS);
  EXPECT_EQ(allocator.use_count(), 1);
}

// Page "RunGraphWithStreamAsync": "no external allocator: GE uses the built-in one, and the memory lives as long as the
// graph".
TEST_F(AllocatorTest, WithoutAnAllocatorOutputsComeFromTheGraphsOwnMemory) {
  for (const bool dynamic : {false, true}) {
    const size_t before = FreeMemory();
    Add(dynamic ? Dynamic("dynamic") : TwoOutputs("static"));
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(Run(stream_, &outputs));
    Synchronize();
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(Read(outputs[0].GetData()), Products());
    outputs.clear();
    session_.reset();
    EXPECT_EQ(FreeMemory(), before);
  }
}

// Page "RunGraphWithStreamAsync": "the user must free this memory before the external allocator is destroyed": one that
// is only dropped stays alive for its blocks.
TEST_F(AllocatorTest, AnAllocatorThatOnlyItsBlocksKnowStaysForThem) {
  Add(TwoOutputs("kept"));
  std::weak_ptr<CountingAllocator> watched;
  std::vector<ge::Tensor> outputs;
  {
    auto allocator = Register(stream_);
    watched = allocator;
    GE_REQUIRE_OK(Run(stream_, &outputs));
    Synchronize();
    GE_OK(session_->UnregisterExternalAllocator(stream_));
  }
  GE_OK(session_->RemoveGraph(1));
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(Read(outputs[0].GetData()), Products());
  outputs.clear();
  EXPECT_TRUE(watched.expired());
}

// docs/compat.md, "Rules of sessions": bases of the client and outputs with memory leave the allocator nothing to do.
TEST_F(AllocatorTest, MemoryBasesOfTheClientBypassTheAllocator) {
  Add(TwoOutputs("bases"));
  auto allocator = Register(stream_);
  GE_REQUIRE_OK(session_->CompileGraph(1));
  DeviceMemory constants(ConstBytes());
  DeviceMemory feature(FeatureBytes());
  DeviceMemory first(kBytes);
  DeviceMemory second(kBytes);
  GE_OK(session_->SetGraphConstMemoryBase(1, constants.data(), constants.bytes()));
  GE_OK(session_->UpdateGraphFeatureMemoryBase(1, feature.data(), feature.bytes()));
  std::vector<ge::Tensor> outputs = {DeviceTensor(first.data()), DeviceTensor(second.data())};
  GE_REQUIRE_OK(Run(stream_, &outputs));
  GE_REQUIRE_OK(Run(stream_, &outputs));
  Synchronize();
  EXPECT_EQ(allocator->mallocs, 0);
  EXPECT_EQ(Read(first.data()), Products());
  std::vector<ge::Tensor> none;
  GE_FAILS(ge::FAILED, Run(stream_, &none));
  session_.reset();
}

// The rules of the documents allow one stream after the other; two graphs with their own allocators run concurrently.
TEST_F(AllocatorTest, GraphsOnStreamsOfTheirOwnRunAtOnce) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      aclrtStream stream = nullptr;
      ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
      {
        ge::Session session(Options{});
        GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("own"), Options{{"ge.featureBaseRefreshable", "1"}}));
        auto allocator = std::make_shared<CountingAllocator>();
        GE_OK(session.RegisterExternalAllocator(stream, allocator));
        for (int run = 0; run < 20; ++run) {
          std::vector<ge::Tensor> outputs;
          GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream, {DeviceTensor(input_->data())}, outputs));
          ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
          ASSERT_EQ(Read(outputs[0].GetData()), Products());
        }
        EXPECT_EQ(allocator->advises, 19);
      }
      EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
      EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

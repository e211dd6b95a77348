// SPDX-License-Identifier: Apache-2.0
// Sessions of both generations: the rules of docs/compat.md, "Rules of sessions" and the conformance list 3.6.
#include <dlfcn.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "session_fixture.h"

namespace {

using namespace ge_test;  // NOLINT

class GeSessionTest : public SessionTest {};

// What a callback received, for a thread that waits for it.
template <class Tensor>
class Told {
 public:
  std::function<void(ge::Status, std::vector<Tensor>&)> Callback() {
    return [this](ge::Status status, std::vector<Tensor>& outputs) {
      std::lock_guard lock(mutex_);
      status_ = status;
      outputs_.swap(outputs);
      ++calls_;
      changed_.notify_all();
    };
  }
  ge::Status Wait(int calls = 1) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return calls_ >= calls; }));
    return status_;
  }
  std::vector<Tensor>& outputs() { return outputs_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  ge::Status status_ = 0;
  std::vector<Tensor> outputs_;
  int calls_ = 0;
};

TEST_F(GeSessionTest, EveryMethodFailsBeforeInitialisation) {
  GE_OK(ge::GEFinalize());
  {
    ge::Session session(Options{});
    ge::GeSession second(Options{});
    std::vector<ge::Tensor> outputs;
    EXPECT_EQ(session.GetSessionId(), 0U);
    GE_FAILS(ge::FAILED, session.AddGraph(1, TwoOutputs("a")));
    EXPECT_NE(ErrorMessage().find("Invalid_Argument_API_Call_Sequence(E10062)"), std::string::npos);
    GE_FAILS(ge::FAILED, session.CompileGraph(1));
    GE_FAILS(ge::FAILED, session.RunGraph(1, {}, outputs));
    GE_FAILS(ge::FAILED, session.RemoveGraph(1));
    GE_FAILS(ge::FAILED, session.SetGraphConstMemoryBase(1, &session, 1));
    EXPECT_EQ(session.GetCompiledGraphSummary(1), nullptr);
    EXPECT_FALSE(session.IsGraphNeedRebuild(1));
    GE_FAILS(ge::FAILED, second.CompileGraph(1));
    GE_FAILS(ge::FAILED, second.SetGraphConstMemoryBase(1, &session, 1));
  }
  GE_OK(ge::GEFinalize());  // not initialised: fine
  GE_OK(ge::GEInitialize(Options{}));
}

TEST_F(GeSessionTest, FinalisingEndsSessionsAndInitialisingAgainWorks) {
  ge::Session left(Options{});
  GE_OK(left.AddGraph(1, TwoOutputs("a")));
  GE_OK(ge::GEFinalize());
  GE_FAILS(ge::FAILED, left.CompileGraph(1));
  GE_OK(ge::GEInitialize(Options{}));
  GE_FAILS(ge::FAILED, left.CompileGraph(1));
  ge::Session fresh(Options{});
  GE_OK(fresh.AddGraph(1, TwoOutputs("a")));
}

TEST_F(GeSessionTest, ASessionMadeBeforeInitialisingWorksAfterwards) {
  GE_OK(ge::GEFinalizeV2());
  ge::GeSession early(std::map<ge::AscendString, ge::AscendString>{});
  GE_FAILS(ge::FAILED, early.AddGraph(1, TwoOutputs("a")));
  GE_OK(ge::GEInitializeV2(Options{}));
  GE_OK(early.AddGraph(1, TwoOutputs("a")));
  GE_OK(early.CompileGraph(1));
}

TEST_F(GeSessionTest, InitialisingTwiceChangesNothing) {
  GE_OK(ge::GEInitialize(Options{}));
  GE_OK(ge::GEInitializeV2(Options{{"ge.deterministic", "1"}}));
  EXPECT_NE(std::string(ge::GEGetWarningMsgV3().GetString()).find("initialised already"), std::string::npos);
}

TEST_F(GeSessionTest, ReadingAMessageClearsIt) {
  ge::Session session(Options{});
  GE_FAILS(ge::FAILED, session.RemoveGraph(7));
  const std::string text = ge::GEGetErrorMsg();
  EXPECT_EQ(text.rfind("[PID: ", 0), 0U) << text;
  EXPECT_NE(text.find("RemoveGraph"), std::string::npos);
  EXPECT_NE(text.find("TraceBack (most recent call last):"), std::string::npos);
  EXPECT_EQ(ge::GEGetErrorMsg(), "");
}

// ge_session_test of the reference.
TEST_F(GeSessionTest, AnIdInUseKeepsItsGraph) {
  ge::Session session(Options{});
  const ge::Graph first = TwoOutputs("first");
  GE_OK(session.AddGraph(1, first));
  GE_OK(session.AddGraph(1, first));
  GE_FAILS(ge::FAILED, session.AddGraphWithCopy(1, TwoOutputs("second")));
  GE_FAILS(ge::FAILED, session.AddGraph(2, first));  // one object, two ids
  GE_OK(session.AddGraphWithCopy(2, first));
  GE_FAILS(ge::FAILED, session.AddGraph(3, TwoOutputs("third"), Options{{"", "x"}}));
  EXPECT_NE(ErrorMessage().find("E10059"), std::string::npos);
  GE_FAILS(kParamInvalid, session.AddGraph(4, ge::Graph()));
  EXPECT_TRUE(session.IsGraphNeedRebuild(1));
  EXPECT_TRUE(session.IsGraphNeedRebuild(99));
  GE_OK(session.RemoveGraph(1));
  GE_FAILS(ge::FAILED, session.RemoveGraph(1));
}

TEST_F(GeSessionTest, AllWaysOfRunningAgree) {
  ge::Session session(Options{});
  const std::vector<ge::Tensor> host = {HostTensor(Counting())};
  for (const bool dynamic : {false, true}) {
    const uint32_t base = dynamic ? 10 : 0;
    const auto graph = [&] { return dynamic ? Dynamic("dynamic") : TwoOutputs("static"); };
    GE_REQUIRE_OK(session.AddGraph(base + 1, graph()));
    std::vector<ge::Tensor> outputs;
    GE_REQUIRE_OK(session.RunGraph(base + 1, host, outputs));
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(Floats(outputs[0]), Products());
    EXPECT_EQ(outputs[0].GetTensorDesc().GetPlacement(), ge::kPlacementHost);
    EXPECT_FALSE(session.IsGraphNeedRebuild(base + 1));

    Told<ge::Tensor> told;
    GE_REQUIRE_OK(session.RunGraphAsync(base + 1, host, told.Callback()));
    GE_OK(told.Wait());
    ASSERT_EQ(told.outputs().size(), 2U);
    EXPECT_EQ(Floats(told.outputs()[0]), Products());

    GE_REQUIRE_OK(session.AddGraph(base + 2, graph()));
    std::vector<ge::Tensor> on_device;
    GE_REQUIRE_OK(session.RunGraphWithStreamAsync(base + 2, stream_, Inputs(), on_device));
    Synchronize();
    EXPECT_EQ(Read(on_device[0].GetData()), Products());

    GE_REQUIRE_OK(session.AddGraph(base + 3, graph()));
    GE_REQUIRE_OK(session.CompileGraph(base + 3));
    GE_REQUIRE_OK(session.LoadGraph(base + 3, {}, nullptr));
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
    std::vector<gert::Tensor> executed;
    GE_REQUIRE_OK(session.ExecuteGraphWithStreamAsync(base + 3, stream_, GertTensors(input_->data()), executed));
    Synchronize();
    EXPECT_EQ(Read(executed[0].GetAddr()), Products());
    on_device.clear();
    executed.clear();
  }
}

TEST_F(GeSessionTest, CompileGraphExcludesRunGraphAndBuildGraph) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("compiled")));
  std::vector<ge::Tensor> outputs;
  GE_FAILS(kGraphNotExist, session.RunGraph(9, {HostTensor(Counting())}, outputs));
  GE_REQUIRE_OK(session.CompileGraph(1));
  GE_OK(session.CompileGraph(1));
  GE_FAILS(kUnsupported, session.RunGraph(1, {HostTensor(Counting())}, outputs));
  GE_FAILS(kUnsupported, session.BuildGraph(1, std::vector<ge::Tensor>{}));
  Told<ge::Tensor> told;
  GE_FAILS(kUnsupported, session.RunGraphAsync(1, {HostTensor(Counting())}, told.Callback()));
  GE_FAILS(kUnsupported, told.Wait());
  EXPECT_TRUE(told.outputs().empty());
  GE_REQUIRE_OK(session.AddGraph(2, TwoOutputs("built")));
  GE_REQUIRE_OK(session.BuildGraph(2, std::vector<ge::InputTensorInfo>{{ge::DT_FLOAT, {4, 4}, nullptr, 0}}));
  GE_FAILS(kUnsupported, session.CompileGraph(2));
  GE_OK(session.RunGraph(2, {HostTensor(Counting())}, outputs));
}

TEST_F(GeSessionTest, LoadingAndExecutingKeepTheirOrder) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("order")));
  GE_FAILS(ge::FAILED, session.LoadGraph(1, {}, stream_));
  std::vector<gert::Tensor> outputs;
  GE_FAILS(ge::FAILED, session.ExecuteGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), outputs));
  GE_REQUIRE_OK(session.CompileGraph(1));
  GE_FAILS(ge::FAILED, session.ExecuteGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), outputs));
  GE_FAILS(ge::FAILED, session.LoadGraph(1, {{"ge.exec.frozenInputIndexes", "2a"}}, stream_));
  GE_FAILS(ge::FAILED, session.LoadGraph(1, {{"ge.exec.frozenInputIndexes", "0,b,8"}}, stream_));
  GE_FAILS(ge::FAILED, session.LoadGraph(1, {{"ge.exec.hostInputIndexes", "4"}}, stream_));
  GE_REQUIRE_OK(session.LoadGraph(1, {{"ge.exec.frozenInputIndexes", "0,1111,10"}}, stream_));
  GE_FAILS(ge::FAILED, session.LoadGraph(1, {}, stream_));
  Synchronize();
  GE_OK(session.ExecuteGraphWithStreamAsync(1, nullptr, GertTensors(input_->data()), outputs));
  GE_OK(session.ExecuteGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), outputs));
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(Read(outputs[0].GetAddr()), Products());
}

// session_execute_invalid of the reference.
TEST_F(GeSessionTest, WrongTensorsAreRefusedByName) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("wrong")));
  std::vector<ge::Tensor> outputs;
  GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(1, stream_, {}, outputs));
  GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(1, stream_, {DeviceTensor(input_->data(), 8)}, outputs));
  EXPECT_NE(ErrorMessage().find("input 0 of graph 1 has 8 bytes; it takes 64"), std::string::npos);
  std::vector<ge::Tensor> one(1);
  GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(1, stream_, Inputs(), one));
  GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(9, stream_, Inputs(), outputs));
  DeviceMemory small(kBytes);
  std::vector<ge::Tensor> narrow = {DeviceTensor(small.data(), 32), ge::Tensor()};
  GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(1, stream_, Inputs(), narrow));
  GE_OK(session.RunGraphWithStreamAsync(1, stream_, Inputs(), outputs));
  Synchronize();
}

// Page "RunGraphWithStreamAsync": inputs are device memory, unless ge.exec.hostInputIndexes names them.
TEST_F(GeSessionTest, HostMemoryIsAcceptedOnlyWhereTheOptionNamesIt) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("device")));
  std::vector<ge::Tensor> outputs;
  GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(1, stream_, {HostTensor(Counting())}, outputs));
  EXPECT_NE(ErrorMessage().find("ge.exec.hostInputIndexes"), std::string::npos);
  GE_REQUIRE_OK(session.AddGraph(2, TwoOutputs("host"), Options{{"ge.exec.hostInputIndexes", "0"}}));
  {
    std::vector<float> values = Counting();
    std::vector<gert::Tensor> made;
    GE_REQUIRE_OK(session.CompileGraph(2));
    GE_REQUIRE_OK(session.LoadGraph(2, {}, stream_));
    GE_REQUIRE_OK(
        session.ExecuteGraphWithStreamAsync(2, stream_, GertTensors(values.data(), kBytes, gert::kOnHost), made));
    std::fill(values.begin(), values.end(), -1.0F);  // the call has copied what it needs
    Synchronize();
    EXPECT_EQ(Read(made[0].GetAddr()), Products());
  }
}

// Page "RunGraphWithStreamAsync": "outputs are device memory": given ones are never written past their bytes.
TEST_F(GeSessionTest, OutputsAreWrittenUpToTheirLastByte) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("exact")));
  DeviceMemory first(std::vector<float>(kElements + 8, -7.0F));
  DeviceMemory second(std::vector<float>(kElements + 8, -7.0F));
  std::vector<ge::Tensor> outputs = {DeviceTensor(first.data()), DeviceTensor(second.data())};
  GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream_, Inputs(), outputs));
  Synchronize();
  const std::vector<float> all = Read(first.data(), kElements + 8);
  EXPECT_EQ(std::vector<float>(all.begin(), all.begin() + kElements), Products());
  EXPECT_EQ(std::vector<float>(all.begin() + kElements, all.end()), std::vector<float>(8, -7.0F));
}

// Page "RunGraphWithStreamAsync", constraint: "only streams of the default context".
TEST_F(GeSessionTest, AStreamOfAnotherContextIsRefused) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("context")));
  aclrtContext own = nullptr;
  ASSERT_EQ(aclrtGetCurrentContext(&own), ACL_SUCCESS);
  aclrtContext other = nullptr;
  aclrtStream foreign = nullptr;
  ASSERT_EQ(aclrtCreateContext(&other, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&foreign), ACL_SUCCESS);
  std::vector<ge::Tensor> outputs;
  GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(1, foreign, Inputs(), outputs));
  EXPECT_NE(ErrorMessage().find("context"), std::string::npos);
  GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(1, stream_, Inputs(), outputs));
  EXPECT_EQ(aclrtDestroyStream(foreign), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(other), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetCurrentContext(own), ACL_SUCCESS);
  GE_OK(session.RunGraphWithStreamAsync(1, stream_, Inputs(), outputs));
  Synchronize();
}

TEST_F(GeSessionTest, GeSessionRunsAGraphInOneWayOnly) {
  ge::GeSession session(Options{});
  for (const uint32_t id : {1U, 2U, 3U}) GE_REQUIRE_OK(session.AddGraph(id, TwoOutputs("mode")));
  const std::vector<float> host = Counting();
  const auto on_host = [&] { return GertTensors(host.data(), kBytes, gert::kOnHost); };
  std::vector<gert::Tensor> outputs;
  Told<gert::Tensor> told;
  GE_REQUIRE_OK(session.RunGraph(1, on_host(), outputs));
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].GetPlacement(), gert::kOnHost);
  const auto* values = outputs[0].GetData<float>();
  EXPECT_EQ(std::vector<float>(values, values + kElements), Products());
  GE_FAILS(kUnsupported, session.RunGraphAsync(1, on_host(), told.Callback()));
  std::vector<gert::Tensor> others;
  GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), others));
  GE_REQUIRE_OK(session.RunGraphWithStreamAsync(2, stream_, GertTensors(input_->data()), others));
  Synchronize();
  EXPECT_EQ(Read(others[0].GetAddr()), Products());
  GE_FAILS(kUnsupported, session.RunGraph(2, on_host(), outputs));
  const std::vector<gert::Tensor> inputs = on_host();
  GE_REQUIRE_OK(session.RunGraphAsync(3, inputs, told.Callback()));
  GE_OK(told.Wait(2));
  GE_FAILS(kUnsupported, session.RunGraph(3, on_host(), outputs));
  GE_FAILS(ge::FAILED, session.RunGraph(9, on_host(), outputs));
}

TEST_F(GeSessionTest, TheSecondGenerationLoadsWithoutCompiling) {
  ge::GeSession session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("load")));
  GE_REQUIRE_OK(session.LoadGraph(1, {}, stream_));
  std::vector<gert::Tensor> outputs;
  GE_REQUIRE_OK(session.RunGraphWithStreamAsync(1, stream_, GertTensors(input_->data()), outputs));
  Synchronize();
  EXPECT_EQ(Read(outputs[0].GetAddr()), Products());
  GE_REQUIRE_OK(session.AddGraphClone(2, Dynamic("described")));
  GE_REQUIRE_OK(session.CompileGraph(2, {HostTensor(Counting())}));
  EXPECT_TRUE(session.GetCompiledGraphSummary(2)->IsStatic()) << "the inputs' shapes replace the graph's";
  ge::ModelBufferData model{nullptr, 7};
  GE_FAILS(kUnsupported, session.GetCompiledModel(1, model));
}

TEST_F(GeSessionTest, CopiesOfASessionShareIt) {
  std::unique_ptr<ge::GeSession> copy;
  {
    ge::GeSession session(Options{});
    copy = std::make_unique<ge::GeSession>(session);
    GE_OK(session.AddGraph(1, TwoOutputs("shared")));
  }
  GE_OK(copy->CompileGraph(1));
  EXPECT_NE(copy->GetSessionId(), 0U);
}

TEST_F(GeSessionTest, AnAsynchronousRunReportsItsFailure) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("async")));
  Told<ge::Tensor> told;
  GE_OK(session.RunGraphAsync(1, {}, told.Callback()));  // queued nevertheless
  EXPECT_NE(told.Wait(), ge::SUCCESS);
  GE_OK(session.RunGraphAsync(1, {HostTensor(Counting())}, nullptr));
  GE_OK(session.RunGraphAsync(1, {HostTensor(Counting())},
                              [](ge::Status, std::vector<ge::Tensor>&) { throw std::runtime_error("callback"); }));
  GE_OK(session.RunGraphAsync(1, {HostTensor(Counting())}, told.Callback()));
  GE_OK(told.Wait(2));
}

TEST_F(GeSessionTest, ThreadsRunOneGraphAndManyAtOnce) {
  ge::Session session(Options{});
  for (uint32_t id = 1; id <= 3; ++id) GE_REQUIRE_OK(session.AddGraph(id, TwoOutputs("threads")));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 6; ++i) {
    threads.emplace_back([&session, i] {
      for (int run = 0; run < 20; ++run) {
        std::vector<ge::Tensor> outputs;
        GE_REQUIRE_OK(session.RunGraph(1 + i % 3, {HostTensor(Counting())}, outputs));
        ASSERT_EQ(Floats(outputs[0]), Products());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GeSessionTest, RemovingARunningGraphNeitherWaitsNorBreaksTheRun) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("removed")));
  Told<ge::Tensor> told;
  for (int i = 0; i < 8; ++i) GE_OK(session.RunGraphAsync(1, {HostTensor(Counting())}, told.Callback()));
  GE_OK(session.RemoveGraph(1));
  GE_OK(told.Wait(8));
  EXPECT_EQ(Floats(told.outputs()[0]), Products());
}

TEST_F(GeSessionTest, ASummaryReportsWhatAGraphNeeds) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("static")));
  GE_REQUIRE_OK(session.AddGraph(2, Dynamic("dynamic")));
  EXPECT_EQ(session.GetCompiledGraphSummary(1), nullptr);
  GE_REQUIRE_OK(session.CompileGraph(1));
  GE_REQUIRE_OK(session.CompileGraph(2));
  const ge::CompiledGraphSummaryPtr first = session.GetCompiledGraphSummary(1);
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(first->IsStatic());
  size_t size = 0;
  GE_OK(first->GetConstMemorySize(size));
  EXPECT_GE(size, 16U);
  size_t feature = 0;
  size_t fixed = 1;
  size_t refreshable = 0;
  GE_OK(first->GetFeatureMemorySize(feature));
  GE_OK(first->GetFixedFeatureMemorySize(fixed));
  GE_OK(first->GetRefreshableFeatureMemorySize(refreshable));
  EXPECT_EQ(feature, fixed + refreshable);
  std::vector<ge::Shape> shapes;
  std::vector<ge::DataType> types;
  GE_OK(first->GetOutputShapes(shapes));
  GE_OK(first->GetOutputDtypes(types));
  ASSERT_EQ(shapes.size(), 2U);
  EXPECT_EQ(shapes[0].GetDims(), (std::vector<int64_t>{4, 4}));
  EXPECT_EQ(types, (std::vector<ge::DataType>{ge::DT_FLOAT, ge::DT_FLOAT}));
  const ge::CompiledGraphSummaryPtr second = session.GetCompiledGraphSummary(2);
  ASSERT_NE(second, nullptr);
  EXPECT_FALSE(second->IsStatic());
  bool flag = true;
  GE_FAILS(ge::FAILED, second->GetConstMemorySize(size));
  EXPECT_EQ(size, 0U);
  GE_FAILS(ge::FAILED, second->GetFeatureMemoryBaseRefreshable(flag));
  EXPECT_FALSE(flag);
  GE_FAILS(ge::FAILED, second->GetOutputShapes(shapes));
  GE_OK(second->GetFixedFeatureMemorySize(fixed));
  GE_OK(second->GetStreamNum(size));
  EXPECT_EQ(size, 1U);
}

// Four results of 16 KiB in a row, three of which are live at once.
TEST_F(GeSessionTest, ASummarysMemorySizesAreThePlans) {
  ge::Operator x = Data("x", 0, {64, 64});
  ge::Operator a = Binary("a", "MatMul", x, x);
  ge::Operator b = Binary("b", "MatMul", a, a);
  ge::Operator c = Binary("c", "MatMul", b, a);
  ge::Operator d = Binary("d", "MatMul", c, b);
  ge::Graph graph("chain");
  graph.SetInputs({x}).SetOutputs(std::vector<ge::Operator>{Binary("y", "MatMul", d, c)});
  constexpr size_t kResult = 64 * 64 * sizeof(float);
  for (const bool reuses : {true, false}) {
    ge::Session session(Options{});
    const Options options{{"ge.exec.disableReuseMemory", reuses ? "0" : "1"}};
    GE_REQUIRE_OK(session.AddGraph(1, graph, options));
    if (session.CompileGraph(1) != ge::SUCCESS) {
      const std::string why = ge::GEGetErrorMsgV2().GetString();
      ASSERT_NE(why.find("has no kernel"), why.npos) << why;
      GTEST_SKIP() << "this build has no kernel for MatMul";
    }
    size_t constants = 1;
    size_t feature = 0;
    GE_OK(session.GetCompiledGraphSummary(1)->GetConstMemorySize(constants));
    GE_OK(session.GetCompiledGraphSummary(1)->GetFeatureMemorySize(feature));
    EXPECT_EQ(constants, 0U);
    EXPECT_EQ(feature, (reuses ? 3 : 4) * kResult);
  }
}

// docs/compat.md, "Names that clients look up": what torchair looks up by name.
TEST_F(GeSessionTest, TheFunctionsThatTorchairLooksUpAreThere) {
  void* const library = dlopen("libge_runner.so", RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  for (const char* name :
       {"GeSessionLoadGraph", "GeSessionExecuteGraphWithStreamAsync", "GetRegisteredIrDef",
        "GEStreamAllocationSummaryGetStringInfos", "GeSessionGraphDebugJSONPrint", "IsIrRepSupport"}) {
    EXPECT_NE(dlsym(library, name), nullptr) << name;
  }
  dlclose(library);
  EXPECT_TRUE(IsIrRepSupport("_inference_rule"));
  EXPECT_FALSE(IsIrRepSupport("other"));
  EXPECT_FALSE(IsIrRepSupport(nullptr));
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("named")));
  GE_REQUIRE_OK(session.CompileGraph(1));
  GE_OK(GeSessionLoadGraph(session, 1, {}, stream_));
  std::vector<gert::Tensor> outputs;
  GE_OK(GeSessionExecuteGraphWithStreamAsync(session, 1, stream_, GertTensors(input_->data()), outputs));
  Synchronize();
  EXPECT_EQ(Read(outputs[0].GetAddr()), Products());
  ge::AscendString json;
  GE_OK(GeSessionGraphDebugJSONPrint(session, 1, 0, json));
  EXPECT_NE(std::string(json.GetString()).find("\"product\""), std::string::npos);
  GE_FAILS(ge::FAILED, GeSessionGraphDebugJSONPrint(session, 1, 1, json));
  std::map<ge::AscendString, std::vector<ge::AscendString>> infos;
  GE_OK(ge::GEStreamAllocationSummaryGetStringInfos(*session.GetCompiledGraphSummary(1), infos));
  EXPECT_EQ(infos.size(), 1U);
  std::vector<std::pair<ge::AscendString, ge::AscendString>> inputs;
  std::vector<std::pair<ge::AscendString, ge::AscendString>> results;
  std::vector<std::pair<ge::AscendString, ge::AscendString>> attributes;
  GE_OK(GetRegisteredIrDef("Cast", inputs, results, attributes));
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_STREQ(inputs[0].second.GetString(), "required");
  ASSERT_FALSE(attributes.empty());
  EXPECT_STREQ(attributes[0].first.GetString(), "dst_type");
  EXPECT_STREQ(attributes[0].second.GetString(), "VT_INT");
  GE_FAILS(ge::FAILED, GetRegisteredIrDef("NoSuchType", inputs, results, attributes));
  GE_FAILS(ge::FAILED, GetRegisteredIrDef(nullptr, inputs, results, attributes));
}

TEST_F(GeSessionTest, UnsupportedCallsAreRefusedByName) {
  ge::Session session(Options{});
  ge::DataFlowInfo info;
  std::vector<ge::Tensor> tensors;
  GE_FAILS(ge::FAILED, session.FeedDataFlowGraph(1, tensors, info, 0));
  EXPECT_NE(ErrorMessage().find("Not_Supported(E10055)"), std::string::npos);
  GE_FAILS(ge::FAILED, session.FetchDataFlowGraph(1, tensors, info, 0));
  GE_FAILS(ge::FAILED, session.ShardGraphs());
  GE_FAILS(ge::FAILED, session.ShardGraphsToFile());
  GE_FAILS(ge::FAILED, session.SaveGraphsToPb("./"));
  GE_FAILS(ge::FAILED, session.GetVariables(std::vector<ge::AscendString>{"nobody"}, tensors));
  GE_OK(session.PaRemapped(0, 0, 0));
  GE_OK(session.RegisterCallBackFunc(
      "Save", +[](uint32_t, const std::map<ge::AscendString, ge::Tensor>&) { return 0U; }));
  EXPECT_NE(ge::GEGetWarningMsg().find("will not be called"), std::string::npos);
}

TEST_F(GeSessionTest, TheStatusFactoryDescribesKnownCodes) {
  EXPECT_EQ(ge::StatusFactory::Instance(), ge::StatusFactory::Instance());
  EXPECT_EQ(ge::StatusFactory::Instance()->GetErrDesc(ge::SUCCESS), "success");
  EXPECT_STREQ(ge::StatusFactory::Instance()->GetErrDescV2(ge::FAILED).GetString(), "failed");
  EXPECT_EQ(ge::StatusFactory::Instance()->GetErrDesc(12345), "");
}

}  // namespace

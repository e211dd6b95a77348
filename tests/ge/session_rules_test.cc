// SPDX-License-Identifier: Apache-2.0
// Sessions, the rest of docs/compat.md, "Rules of sessions": every method before initialisation, modes that a failed
// run claims, spellings of load options, what DUMP_GE_GRAPH writes.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "session_fixture.h"

namespace {

using namespace ge_test;  // NOLINT

class SessionRulesTest : public SessionTest {};

// api_not_init_failed: "every method FAILED, summary nullptr, IsGraphNeedRebuild false", with E10062.
TEST_F(SessionRulesTest, EveryMethodOfASessionFailsBeforeInitialisation) {
  DeviceMemory memory(4096);
  GE_OK(ge::GEFinalize());
  {
    ge::Session session(Options{});
    const ge::Graph graph = TwoOutputs("early");
    std::vector<ge::Tensor> tensors;
    std::vector<gert::Tensor> gert_tensors;
    ge::AscendString json;
    auto allocator = std::make_shared<CountingAllocator>();
    const auto fails = [](ge::Status status, const char* name) {
      EXPECT_EQ(status, ge::FAILED) << name;
      const std::string text = ErrorMessage();
      EXPECT_NE(text.find("E10062"), std::string::npos) << name << ": " << text;
      EXPECT_NE(text.find(name), std::string::npos) << text;
    };
    const auto all_fail = [&](auto& early, auto& data) {
      ErrorMessage();
      fails(early.AddGraph(1, graph), "AddGraph");
      fails(early.AddGraph(1, graph, Options{}), "AddGraph");
      fails(early.RemoveGraph(1), "RemoveGraph");
      fails(early.CompileGraph(1), "CompileGraph");
      fails(early.LoadGraph(1, {}, stream_), "LoadGraph");
      fails(early.GraphDebugJSONPrint(1, 0, json), "GraphDebugJSONPrint");
      fails(early.RunGraph(1, data, data), "RunGraph");
      fails(early.RunGraphAsync(1, data, nullptr), "RunGraphAsync");
      fails(early.RunGraphWithStreamAsync(1, stream_, data, data), "RunGraphWithStreamAsync");
      fails(early.SetGraphConstMemoryBase(1, memory.data(), 4096), "SetGraphConstMemoryBase");
      fails(early.UpdateGraphFeatureMemoryBase(1, memory.data(), 4096), "UpdateGraphFeatureMemoryBase");
      for (const auto type : {ge::MemoryType::MEMORY_TYPE_DEFAULT, ge::MemoryType::MEMORY_TYPE_P2P}) {
        fails(early.SetGraphFixedFeatureMemoryBaseWithType(1, type, memory.data(), 4096),
              "SetGraphFixedFeatureMemoryBaseWithType");
      }
      fails(early.UpdateGraphRefreshableFeatureMemoryBase(1, memory.data(), 4096),
            "UpdateGraphRefreshableFeatureMemoryBase");
      fails(early.RegisterExternalAllocator(stream_, allocator), "RegisterExternalAllocator");
      fails(early.UnregisterExternalAllocator(stream_), "UnregisterExternalAllocator");
      EXPECT_EQ(early.GetCompiledGraphSummary(1), nullptr);
      EXPECT_FALSE(early.IsGraphNeedRebuild(1));
    };
    all_fail(session, tensors);
    fails(session.AddGraphWithCopy(1, graph), "AddGraphWithCopy");
    fails(session.AddGraphWithCopy(1, graph, Options{}), "AddGraphWithCopy");
    fails(session.BuildGraph(1, std::vector<ge::InputTensorInfo>{}), "BuildGraph");
    fails(session.BuildGraph(1, tensors), "BuildGraph");
    fails(session.ExecuteGraphWithStreamAsync(1, stream_, gert_tensors, gert_tensors), "ExecuteGraphWithStreamAsync");
    fails(session.SetGraphFixedFeatureMemoryBase(1, memory.data(), 4096), "SetGraphFixedFeatureMemoryBase");
    fails(session.GetVariables(std::vector<ge::AscendString>{"v"}, tensors), "GetVariables");
    fails(session.PaRemapped(0, 0, 0), "PaRemapped");

    ge::GeSession second(Options{});
    all_fail(second, gert_tensors);
    fails(second.AddGraphClone(1, graph), "AddGraphClone");
    ge::ModelBufferData model;
    fails(second.GetCompiledModel(1, model), "GetCompiledModel");
    EXPECT_EQ(allocator.use_count(), 1);
  }
  GE_OK(ge::GEInitialize(Options{}));
}

// docs/compat.md, "Rules of sessions": the mode is "decided by the first run call that reached execution (even a failed
// one)".
TEST_F(SessionRulesTest, AFailedRunClaimsItsModeToo) {
  DeviceMemory input(Counting());
  ge::GeSession session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("claimed")));
  std::vector<gert::Tensor> outputs;
  EXPECT_NE(session.RunGraph(1, {}, outputs), ge::SUCCESS) << "it has one input";
  GE_FAILS(ge::FAILED, session.RunGraphWithStreamAsync(1, stream_, GertTensors(input.data()), outputs));
  GE_FAILS(kUnsupported, session.RunGraphAsync(1, GertTensors(input.data()), nullptr));
  const std::vector<float> host = Counting();
  GE_OK(session.RunGraph(1, GertTensors(host.data(), kBytes, gert::kOnHost), outputs));
}

// docs/compat.md, "Rules of sessions": frozenInputIndexes "2a", "0,b,8", overflow.
TEST_F(SessionRulesTest, FrozenInputsAreSpeltAsDocumented) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("frozen")));
  GE_REQUIRE_OK(session.CompileGraph(1));
  for (const char* wrong :
       {"2a", "0,b,8", "0,99999999999999999999999,8", "99999999999999999999999", "0,1", "-1", ";0,1,"}) {
    GE_FAILS(ge::FAILED, session.LoadGraph(1, {{"ge.exec.frozenInputIndexes", wrong}}, stream_));
    EXPECT_NE(ErrorMessage().find("ge.exec.frozenInputIndexes"), std::string::npos) << wrong;
  }
  GE_OK(session.LoadGraph(1, {{"ge.exec.frozenInputIndexes", "0,1111,10"}}, stream_));
}

// docs/compat.md, "Log and dump variables" and issue 6.4: a file after each pass, in the folder and format that the
// environment names.
TEST_F(SessionRulesTest, DumpGeGraphWritesAFileAfterEachPass) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("millpond_dump_passes_" + std::to_string(getpid()));
  const auto stages = [&](const char* level) {
    std::filesystem::remove_all(folder);
    setenv("DUMP_GE_GRAPH", "2", 1);
    setenv("DUMP_GRAPH_PATH", folder.c_str(), 1);
    setenv("DUMP_GRAPH_FORMAT", "readable", 1);
    setenv("DUMP_GRAPH_LEVEL", level, 1);
    ge::Session session(Options{});
    GE_OK(session.AddGraph(7, TwoOutputs("dumped")));
    GE_OK(session.CompileGraph(7));
    for (const char* name : {"DUMP_GE_GRAPH", "DUMP_GRAPH_PATH", "DUMP_GRAPH_FORMAT", "DUMP_GRAPH_LEVEL"})
      unsetenv(name);
    std::set<std::string> found;
    if (!std::filesystem::exists(folder)) return found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      const std::string name = entry.path().filename().string();
      const size_t at = name.find("_graph_7_");
      EXPECT_NE(at, std::string::npos) << name;
      EXPECT_EQ(name.rfind("ge_readable_", 0), 0U) << name;
      found.insert(name.substr(at + 9, name.rfind('.') - at - 9));
    }
    std::filesystem::remove_all(folder);
    return found;
  };
  const std::set<std::string> all = stages("1");  // there may be more
  for (const char* stage : {"begin", "verify", "dead", "inline", "infer", "identities", "deduplicate", "final"}) {
    EXPECT_TRUE(all.contains(stage)) << stage;
  }
  EXPECT_EQ(stages("3"), std::set<std::string>{"final"});
  EXPECT_EQ(stages("4"), std::set<std::string>{"begin"});
  EXPECT_EQ(stages("infer|dead"), (std::set<std::string>{"infer", "dead"}));
}

// docs/compat.md, "Rules of sessions": "LoadGraph: load options do not override same-key graph options".
TEST_F(SessionRulesTest, AGraphsOwnOptionOverridesTheLoads) {
  ge::Session session(Options{});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("options"), Options{{"ge.exec.hostInputIndexes", "0"}}));
  GE_REQUIRE_OK(session.CompileGraph(1));
  GE_OK(session.LoadGraph(1, {{"ge.exec.hostInputIndexes", "9"}}, stream_));  // the graph's own counts
  const std::vector<float> host = Counting();
  std::vector<gert::Tensor> outputs;
  GE_OK(session.ExecuteGraphWithStreamAsync(1, stream_, GertTensors(host.data(), kBytes, gert::kOnHost), outputs));
  Synchronize();
}

}  // namespace

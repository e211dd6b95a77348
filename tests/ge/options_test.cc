// SPDX-License-Identifier: Apache-2.0
// Options (docs/compat.md, "Options of the graph engine"): wrong values are refused by name, unknown ones warned about
// once, levels override each other.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "session_fixture.h"

namespace {

using namespace ge_test;  // NOLINT

class OptionsTest : public SessionTest {};

struct Wrong {
  const char* key;
  const char* value;
};

constexpr Wrong kWrong[] = {
    {"ge.featureBaseRefreshable", "2"},
    {"ge.constLifecycle", "forever"},
    {"ge.enableSingleStream", "yes"},
    {"ge.tiling_schedule_optimize", "2"},
    {"ge.exec.precision_mode", "fastest"},
    {"ge.exec.precision_mode_v2", "fastest"},
    {"ge.oo.level", "O9"},
    {"ge.oo.constantFolding", "1"},
    {"ge.exec.disableReuseMemory", "maybe"},
    {"ge.exec.staticMemoryPolicy", "5"},
    {"ge.graphRunMode", "3"},
    {"ge.exec.inputReuseMemIndexes", "0,x"},
    {"ge.exec.hostInputIndexes", "-1"},
    {"ge.exec.hostSchedulingMaxThreshold", "many"},
    {"ge.exec.static_model_ops_lower_limit", "-2"},
    {"ge.session_device_id", "99"},
    {"ge.graph_key", "a b"},
};

TEST_F(OptionsTest, WrongValuesAreRefusedByName) {
  for (const Wrong& wrong : kWrong) {
    ge::Session session(Options{{wrong.key, wrong.value}});
    EXPECT_EQ(session.GetSessionId(), 0U) << wrong.key;
    const std::string text = ErrorMessage();
    EXPECT_NE(text.find("E10001"), std::string::npos) << text;
    EXPECT_NE(text.find(wrong.key), std::string::npos) << text;
    EXPECT_NE(text.find(wrong.value), std::string::npos) << text;
    GE_FAILS(ge::FAILED, session.AddGraph(1, TwoOutputs("inert")));
  }
}

// invalid_options: no id is consumed.
TEST_F(OptionsTest, AFailedSessionConsumesNoId) {
  ge::Session first(Options{});
  ge::Session failed(Options{{"ge.featureBaseRefreshable", "x"}});
  ge::Session second(Options{});
  EXPECT_EQ(second.GetSessionId(), first.GetSessionId() + 1);
}

TEST_F(OptionsTest, GraphOptionsAreCheckedToo) {
  ge::Session session(Options{});
  GE_FAILS(ge::FAILED, session.AddGraph(1, TwoOutputs("a"), Options{{"ge.constLifecycle", "never"}}));
  GE_OK(session.AddGraph(1, TwoOutputs("a"),
                         Options{{"ge.constLifecycle", "graph"}, {"ge.exec.frozenInputIndexes", "1000"}}));
}

TEST_F(OptionsTest, InitialisationRefusesThemAsWell) {
  GE_OK(ge::GEFinalize());
  GE_FAILS(ge::FAILED, ge::GEInitialize(Options{{"ge.exec.precision_mode", "fastest"}}));
  GE_FAILS(ge::FAILED, ge::GEInitialize(Options{{"", "value"}}));
  EXPECT_NE(ErrorMessage().find("E10059"), std::string::npos);
  GE_FAILS(ge::FAILED, ge::GEInitialize(Options{{"ge.exec.jobId", std::string(129, 'j').c_str()}}));
  GE_OK(ge::GEInitialize(Options{{"ge.exec.deviceId", "0"}, {"ge.graphRunMode", "1"}}));
}

TEST_F(OptionsTest, AnUnknownOptionIsWarnedAboutOnce) {
  ge::GEGetWarningMsgV2();
  GE_OK(ge::GEFinalize());
  GE_OK(ge::GEInitialize(Options{{"ge.noSuchOption", "1"}}));
  EXPECT_NE(ge::GEGetWarningMsg().find("ge.noSuchOption"), std::string::npos);
  EXPECT_EQ(ge::GEGetWarningMsg(), "") << "reading clears";
  ge::Session session(Options{{"ge.noSuchOption", "1"}});
  EXPECT_EQ(ge::GEGetWarningMsg(), "") << "once";
  EXPECT_NE(session.GetSessionId(), 0U);
}

TEST_F(OptionsTest, TheMoreParticularLevelWins) {
  GE_OK(ge::GEFinalize());
  GE_OK(ge::GEInitialize(Options{{"ge.featureBaseRefreshable", "1"}}));
  ge::Session session(Options{});
  ge::Session other(Options{{"ge.featureBaseRefreshable", "0"}});
  GE_REQUIRE_OK(session.AddGraph(1, TwoOutputs("global")));
  GE_REQUIRE_OK(session.AddGraph(2, TwoOutputs("graph"), Options{{"ge.featureBaseRefreshable", "0"}}));
  GE_REQUIRE_OK(other.AddGraph(1, TwoOutputs("session")));
  const auto refreshable = [](ge::Session& of, uint32_t id) {
    GE_OK(of.CompileGraph(id));
    bool value = false;
    GE_OK(of.GetCompiledGraphSummary(id)->GetFeatureMemoryBaseRefreshable(value));
    return value;
  };
  EXPECT_TRUE(refreshable(session, 1));
  EXPECT_FALSE(refreshable(session, 2));
  EXPECT_FALSE(refreshable(other, 1));
}

TEST_F(OptionsTest, TheStringFormsAreTheSame) {
  GE_OK(ge::GEFinalize());
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  GE_OK(ge::GEInitialize(std::map<std::string, std::string>{{"ge.exec.deviceId", "0"}}));
  ge::Session session(std::map<std::string, std::string>{{"ge.featureBaseRefreshable", "1"}});
  GE_OK(session.AddGraph(1, TwoOutputs("strings"), std::map<std::string, std::string>{{"ge.graphRunMode", "0"}}));
  std::vector<ge::Tensor> values;
  GE_FAILS(ge::FAILED, session.GetVariables(std::vector<std::string>{"nobody"}, values));
  GE_OK(session.RegisterCallBackFunc(
      std::string("Summary"), +[](uint32_t, const std::map<std::string, ge::Tensor>&) { return 0U; }));
#pragma GCC diagnostic pop
  GE_OK(session.CompileGraph(1));
}

TEST_F(OptionsTest, DumpGeGraphWritesTheGraphAfterEachPass) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("millpond_dump_ge_graph_" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  setenv("DUMP_GE_GRAPH", "2", 1);
  setenv("DUMP_GRAPH_PATH", folder.c_str(), 1);
  ge::Session session(Options{});
  GE_OK(session.AddGraph(1, TwoOutputs("dumped")));
  GE_OK(session.CompileGraph(1));
  unsetenv("DUMP_GE_GRAPH");
  unsetenv("DUMP_GRAPH_PATH");
  ASSERT_TRUE(std::filesystem::exists(folder));
  EXPECT_FALSE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

}  // namespace

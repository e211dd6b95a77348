// SPDX-License-Identifier: Apache-2.0
// Graphs under the seeded scheduler and with a trace: settings of a process, so each runs in a child.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers
using nlohmann::json;

std::vector<int>& Log() {
  static std::vector<int> log;
  return log;
}

struct Noted {
  int number;
};
int Note(aclrtStream stream, int number) {
  static std::vector<std::unique_ptr<Noted>> keep;
  keep.push_back(std::make_unique<Noted>(Noted{number}));
  return millpond_launch(
      stream, "Note", [](void* argument) { Log().push_back(static_cast<Noted*>(argument)->number); },
      keep.back().get());
}

void Order(aclrtStream from, aclrtStream to) {
  aclrtEvent event = nullptr;
  ROLE_CHECK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS);
  ROLE_CHECK(aclrtRecordEvent(event, from) == ACL_SUCCESS && aclrtStreamWaitEvent(to, event) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS);
}

// Prints the order of three executions of: 0; three lanes of 10..13, 20..23, 30..33; 99.
MP_ROLE(ForkJoin) {
  ROLE_INIT();
  aclrtStream streams[4];
  for (aclrtStream& stream : streams) ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  ROLE_CHECK(aclmdlRICaptureBegin(streams[0], ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) == ACL_SUCCESS);
  ROLE_CHECK(Note(streams[0], 0) == ACL_SUCCESS);
  for (int lane = 1; lane < 4; ++lane) Order(streams[0], streams[lane]);
  for (int i = 0; i < 4; ++i) {
    for (int lane = 1; lane < 4; ++lane) ROLE_CHECK(Note(streams[lane], lane * 10 + i) == ACL_SUCCESS);
  }
  for (int lane = 1; lane < 4; ++lane) Order(streams[lane], streams[0]);
  ROLE_CHECK(Note(streams[0], 99) == ACL_SUCCESS);
  aclmdlRI graph = nullptr;
  ROLE_CHECK(aclmdlRICaptureEnd(streams[0], &graph) == ACL_SUCCESS);
  for (int run = 0; run < 3; ++run) {
    Log().clear();
    ROLE_CHECK(aclmdlRIExecuteAsync(graph, streams[0]) == ACL_SUCCESS);
    ROLE_CHECK(aclrtSynchronizeStream(streams[0]) == ACL_SUCCESS);
    ROLE_CHECK(Log().size() == 14 && Log().front() == 0 && Log().back() == 99);
    for (int lane = 1; lane < 4; ++lane) {
      std::vector<int> mine;
      for (const int number : Log()) {
        if (number / 10 == lane) mine.push_back(number);
      }
      ROLE_CHECK(mine.size() == 4 && std::is_sorted(mine.begin(), mine.end()));
    }
    for (const int number : Log()) std::printf("%d ", number);
    std::printf("\n");
  }
  ROLE_CHECK(aclmdlRIDestroy(graph) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

// The issue: the order depends "only on the seed and the enqueue sequence", within what events allow.
TEST(CapturePolicyTest, SeededReplaysAreValidVariedAndRepeatable) {
  std::set<std::string> outputs;
  for (int seed = 1; seed <= 6; ++seed) {
    const std::map<std::string, std::string> variables{{"MILLPOND_SEED", std::to_string(seed)}};
    const ChildResult first = RunRole("ForkJoin", variables);
    ASSERT_EQ(first.exit_code, 0) << first.output;
    EXPECT_EQ(RunRole("ForkJoin", variables).output, first.output) << "seed " << seed;
    outputs.insert(first.output);
    std::set<std::string> runs;
    for (size_t at = 0, end; (end = first.output.find('\n', at)) != std::string::npos; at = end + 1) {
      runs.insert(first.output.substr(at, end - at));
    }
    EXPECT_GT(runs.size(), 1u) << "three runs in one order: " << first.output;
  }
  EXPECT_EQ(outputs.size(), 6u);
}

TEST(CapturePolicyTest, WithoutASeedEveryReplayHasTheOrderOfCapture) {
  const ChildResult child = RunRole("ForkJoin", {{"MILLPOND_SEED", ""}});
  ASSERT_EQ(child.exit_code, 0) << child.output;
  const std::string line = "0 10 20 30 11 21 31 12 22 32 13 23 33 99 \n";
  EXPECT_EQ(child.output, line + line + line);
}

MP_ROLE(TracedReplay) {
  ROLE_INIT();
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  void* memory = nullptr;
  ROLE_CHECK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) == ACL_SUCCESS);
  ROLE_CHECK(Note(stream, 1) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemsetAsync(memory, 4096, 0, 4096, stream) == ACL_SUCCESS);
  aclmdlRI graph = nullptr;
  ROLE_CHECK(aclmdlRICaptureEnd(stream, &graph) == ACL_SUCCESS);
  for (int run = 0; run < 3; ++run) ROLE_CHECK(aclmdlRIExecuteAsync(graph, stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
  ROLE_CHECK(Log().size() == 3);
  ROLE_CHECK(aclmdlRIDestroy(graph) == ACL_SUCCESS && aclrtFree(memory) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

TEST(CapturePolicyTest, NodesOfAReplayAreTasksInTheTrace) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("replay_" + std::to_string(getpid()) + ".json")).string();
  const ChildResult child = RunRole("TracedReplay", {{"MILLPOND_TRACE", path}});
  ASSERT_EQ(child.exit_code, 0) << child.output;
  std::ifstream file(path);
  const json root = json::parse(file, nullptr, false);
  ASSERT_FALSE(root.is_discarded());
  int notes = 0, executes = 0, with_memory = 0;
  for (const json& event : root["traceEvents"]) {
    if (event.value("ph", "") != "X") continue;
    notes += event["name"] == "Note";
    executes += event["name"] == "GraphExecute";
    with_memory += event.dump().find("4096") != std::string::npos && event.value("cat", "") != "api";
  }
  EXPECT_EQ(notes, 3);
  EXPECT_EQ(executes, 3);
  EXPECT_EQ(with_memory, 3);
  std::filesystem::remove(path);
}

}  // namespace

MP_TEST_MAIN()

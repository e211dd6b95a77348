// SPDX-License-Identifier: Apache-2.0
// Inspecting a graph and changing single tasks (CANN's chapter on model running instances: names, ids, GetStreams,
// GetTasksByStream, Task*, Update, DebugPrint, DebugJsonPrint).
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/acl/capture/capture_fixture.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers
using nlohmann::json;

class CaptureInspectTest : public CaptureTest {
 protected:
  void SetUp() override {
    CaptureTest::SetUp();
    word_ = std::make_unique<PinnedBuffer>(64);
    for (int i = 0; i < 8; ++i) word_->words()[i] = 0;
  }
  void TearDown() override {
    word_.reset();
    CaptureTest::TearDown();
  }
  // Asks twice, as documented: for the number, then for the list.
  template <class One, class Of>
  static std::vector<One> ListOf(aclError (*get)(Of, One*, uint32_t*), Of of) {
    uint32_t count = 0;
    ACL_OK(get(of, nullptr, &count));
    std::vector<One> list(count);
    ACL_OK(get(of, list.data(), &count));
    return list;
  }
  std::vector<aclrtStream> Lanes(aclmdlRI graph) { return ListOf(aclmdlRIGetStreams, graph); }
  std::vector<aclmdlRITask> Tasks(aclrtStream lane) { return ListOf(aclmdlRIGetTasksByStream, lane); }
  aclmdlRITaskType TypeOf(aclmdlRITask task) {
    aclmdlRITaskType type{};
    ACL_OK(aclmdlRITaskGetType(task, &type));
    return type;
  }
  std::unique_ptr<PinnedBuffer> word_;
};

TEST_F(CaptureInspectTest, IdsAreDifferentAndNamesAreKept) {
  aclmdlRI one = Capture(stream_, [] {});
  aclmdlRI two = Capture(stream_, [] {});
  uint32_t first = 0, second = 0;
  ACL_OK(aclmdlRIGetId(one, &first));
  ACL_OK(aclmdlRIGetId(two, &second));
  EXPECT_NE(first, second);
  char name[600];
  ACL_OK(aclmdlRIGetName(one, sizeof(name), name));
  EXPECT_STREQ(name, "");  // "the empty string when SetName was not called"
  ACL_OK(aclmdlRISetName(one, "early"));
  ACL_OK(aclmdlRISetName(one, "decode"));  // "the last one counts"
  ACL_OK(aclmdlRIGetName(one, sizeof(name), name));
  EXPECT_STREQ(name, "decode");
  ACL_OK(aclmdlRIGetName(one, 4, name));
  EXPECT_STREQ(name, "dec");
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclmdlRIGetName(one, 0, name));
  ACL_OK(aclmdlRISetName(one, std::string(1000, 'x').c_str()));  // "beyond 512 bytes it is cut"
  ACL_OK(aclmdlRIGetName(one, sizeof(name), name));
  EXPECT_EQ(std::strlen(name), 511u);
}

TEST_F(CaptureInspectTest, StreamsAndTasksAreListedInOrder) {
  aclrtStream side = NewStream();
  aclmdlRI graph = Capture(stream_, [&] {
    ACL_OK(Note(stream_, 1));
    Order(stream_, side);
    ACL_OK(aclrtValueWrite(word_->get(), 1, 0, side));
    ACL_OK(aclrtValueWait(word_->get(), 1, ACL_STREAM_WAIT_VALUE_EQ, side));
    Order(side, stream_);
    ACL_OK(aclrtMemsetAsync(word_->get(), 64, 0, 64, stream_));
  });
  const auto lanes = Lanes(graph);
  ASSERT_EQ(lanes.size(), 2u);
  const auto main_tasks = Tasks(lanes[0]);
  const auto side_tasks = Tasks(lanes[1]);
  std::vector<aclmdlRITaskType> types;
  for (aclmdlRITask task : main_tasks) types.push_back(TypeOf(task));
  EXPECT_EQ(types, (std::vector<aclmdlRITaskType>{ACL_MODEL_RI_TASK_KERNEL, ACL_MODEL_RI_TASK_EVENT_RECORD,
                                                  ACL_MODEL_RI_TASK_EVENT_WAIT, ACL_MODEL_RI_TASK_DEFAULT}));
  types.clear();
  std::set<uint32_t> ids;
  for (aclmdlRITask task : side_tasks) {
    types.push_back(TypeOf(task));
    uint32_t id = 0;
    ACL_OK(aclmdlRITaskGetSeqId(task, &id));
    ids.insert(id);
  }
  EXPECT_EQ(types, (std::vector<aclmdlRITaskType>{ACL_MODEL_RI_TASK_EVENT_WAIT, ACL_MODEL_RI_TASK_VALUE_WRITE,
                                                  ACL_MODEL_RI_TASK_VALUE_WAIT, ACL_MODEL_RI_TASK_EVENT_RECORD}));
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_EQ(Tasks(lanes[1]), side_tasks);  // the same handles on a second query

  // errors, 107039: the array is too small.
  uint32_t count = 1;
  aclrtStream one_lane[1];
  ACL_FAILS(ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY, aclmdlRIGetStreams(graph, one_lane, &count));
  EXPECT_EQ(count, 2u);
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIGetTasksByStream(stream_, nullptr, &count));
  Destroy(graph);
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRIGetTasksByStream(lanes[0], nullptr, &count));
  aclmdlRITaskType type{};
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclmdlRITaskGetType(side_tasks[0], &type));
}

TEST_F(CaptureInspectTest, ParametersAreThoseOfTheCapture) {
  aclrtEvent out = Event();
  aclrtTaskGrp group = nullptr;
  aclmdlRI graph = Capture(stream_, [&] {
    ACL_OK(aclrtValueWrite(word_->get(), 5, 0, stream_));
    ACL_OK(aclrtValueWait(word_->get(), 5, ACL_STREAM_WAIT_VALUE_GEQ, stream_));
    ACL_OK(aclrtRecordEventWithFlag(out, stream_, ACL_EVENT_RECORD_EXTERNAL));
    ACL_OK(aclmdlRICaptureTaskGrpBegin(stream_));
    ACL_OK(Note(stream_, 1));
    ACL_OK(aclmdlRICaptureTaskGrpEnd(stream_, &group));
  });
  const auto tasks = Tasks(Lanes(graph)[0]);
  ASSERT_EQ(tasks.size(), 4u);
  aclmdlRITaskParams params{};
  ACL_OK(aclmdlRITaskGetParams(tasks[0], &params));
  EXPECT_EQ(params.type, ACL_MODEL_RI_TASK_VALUE_WRITE);
  EXPECT_EQ(params.valueWriteTaskParams.devAddr, word_->get());
  EXPECT_EQ(params.valueWriteTaskParams.value, 5u);
  EXPECT_EQ(params.taskGrp, nullptr);
  ACL_OK(aclmdlRITaskGetParams(tasks[1], &params));
  EXPECT_EQ(params.valueWaitTaskParams.flag, static_cast<uint32_t>(ACL_STREAM_WAIT_VALUE_GEQ));
  ACL_OK(aclmdlRITaskGetParams(tasks[2], &params));
  EXPECT_EQ(params.type, ACL_MODEL_RI_TASK_EVENT_RECORD);
  EXPECT_EQ(params.eventRecordTaskParams.event, out);
  EXPECT_EQ(params.eventRecordTaskParams.eventFlag, static_cast<uint32_t>(ACL_EVENT_SYNC));
  EXPECT_EQ(params.eventRecordTaskParams.recordFlag, static_cast<uint32_t>(ACL_EVENT_RECORD_EXTERNAL));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclmdlRITaskGetParams(tasks[3], &params));
  EXPECT_EQ(params.taskGrp, group);
}

// "SetParams, then aclmdlRIUpdate".
TEST_F(CaptureInspectTest, NewParametersTakeEffectAtUpdate) {
  aclmdlRI graph = Capture(stream_, [&] { ACL_OK(aclrtValueWrite(word_->get(), 5, 0, stream_)); });
  const auto tasks = Tasks(Lanes(graph)[0]);
  aclmdlRITaskParams params{};
  ACL_OK(aclmdlRITaskGetParams(tasks[0], &params));
  params.valueWriteTaskParams.devAddr = word_->words() + 1;
  params.valueWriteTaskParams.value = 6;
  ACL_OK(aclmdlRITaskSetParams(tasks[0], &params));
  Run(graph, stream_);
  EXPECT_EQ(word_->words()[0], 5u);
  EXPECT_EQ(word_->words()[1], 0u);
  word_->words()[0] = 0;
  ACL_OK(aclmdlRIUpdate(graph));
  Run(graph, stream_);
  EXPECT_EQ(word_->words()[0], 0u);
  EXPECT_EQ(word_->words()[1], 6u);
  params.valueWriteTaskParams.devAddr = reinterpret_cast<char*>(word_->get()) + 3;
  ACL_FAILS(ACL_ERROR_RT_ADDR_UNALIGNED, aclmdlRITaskSetParams(tasks[0], &params));
  params.type = ACL_MODEL_RI_TASK_KERNEL;
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRITaskSetParams(tasks[0], &params));
}

// errors, 107040: the model is executing.
TEST_F(CaptureInspectTest, UpdateIsRefusedWhileExecutionsAreQueued) {
  aclmdlRI graph = Capture(stream_, [&] { ACL_OK(Note(stream_, 1)); });
  Hold hold;
  ACL_OK(hold.On(stream_));
  ACL_OK(aclmdlRIExecuteAsync(graph, stream_));
  ACL_FAILS(ACL_ERROR_RT_MODEL_UPDATE_FAILED, aclmdlRIUpdate(graph));
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream_));
  ACL_OK(aclmdlRIUpdate(graph));
}

// Page "aclmdlRITaskDisable": "no longer takes part in scheduling"; it too needs Update.
TEST_F(CaptureInspectTest, ADisabledTaskDoesNotRunAfterUpdate) {
  aclmdlRI graph = Capture(stream_, [&] {
    for (int i = 0; i < 3; ++i) ACL_OK(Note(stream_, i));
  });
  ACL_OK(aclmdlRITaskDisable(Tasks(Lanes(graph)[0])[1]));
  Run(graph, stream_);
  EXPECT_EQ(log_, (std::vector<int>{0, 1, 2}));
  ACL_OK(aclmdlRIUpdate(graph));
  log_.clear();
  Run(graph, stream_);
  EXPECT_EQ(log_, (std::vector<int>{0, 2}));
}

TEST_F(CaptureInspectTest, DebugPrintShowsEveryTask) {
  aclmdlRI graph = Capture(stream_, [&] {
    ACL_OK(Note(stream_, 1, "FirstOperator"));
    ACL_OK(Note(stream_, 2, "SecondOperator"));
  });
  testing::internal::CaptureStdout();
  ACL_OK(aclmdlRIDebugPrint(graph));
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("FirstOperator"), std::string::npos) << text;
  EXPECT_NE(text.find("SecondOperator"), std::string::npos) << text;
}

// Page "aclmdlRIDebugJsonPrint": "Model ID, Stream ID, Task ID, Task Type ... to be looked at with chrome://tracing".
TEST_F(CaptureInspectTest, DebugJsonHasNodesAndWhatEachIsAfter) {
  aclrtStream side = NewStream();
  DeviceBuffer memory(64);
  aclmdlRI graph = Capture(stream_, [&] {
    ACL_OK(Note(stream_, 1, "Quote\"d"));
    Order(stream_, side);
    ACL_OK(aclrtMemsetAsync(memory.get(), 64, 0, 64, side));
    Order(side, stream_);
  });
  const std::string path =
      (std::filesystem::temp_directory_path() / ("graph_" + std::to_string(getpid()) + ".json")).string();
  for (const uint32_t flags : {0U, 1U}) {  // SUMMARY, VERBOSE
    ACL_OK(aclmdlRIDebugJsonPrint(graph, path.c_str(), flags));
    std::ifstream file(path);
    const json root = json::parse(file, nullptr, false);
    ASSERT_FALSE(root.is_discarded());
    int nodes = 0, arrows = 0, with_accesses = 0;
    ASSERT_TRUE(root.is_array());  // torch_npu's debug_dump goes through it
    for (const json& event : root) {
      EXPECT_TRUE(event.contains("dur")) << event;
      if (event["ph"] != "X") continue;
      ++nodes;
      arrows += static_cast<int>(event["args"]["after"].size());
      EXPECT_TRUE(event["args"].contains("model_id") && event["args"].contains("stream_id") &&
                  event["args"].contains("task_id") && event["args"].contains("task_type"));
      with_accesses += event["args"].contains("accesses") && !event["args"]["accesses"].empty();
    }
    EXPECT_EQ(nodes, 6);
    EXPECT_EQ(arrows, 2);
    EXPECT_EQ(with_accesses, static_cast<int>(flags));
  }
  std::filesystem::remove(path);
  // "the path must exist and be writable, otherwise this call fails"
  ACL_FAILS(ACL_ERROR_INVALID_FILE, aclmdlRIDebugJsonPrint(graph, "/nowhere/at/all.json", 0));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclmdlRIDebugJsonPrint(graph, path.c_str(), 2));
}

}  // namespace

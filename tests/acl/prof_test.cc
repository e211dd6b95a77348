// SPDX-License-Identifier: Apache-2.0
// aclprof: sessions keep their documented order, marks their pairs.
#include <algorithm>
#include <filesystem>

#include "acl/acl_prof.h"
#include "tests/acl/acl_test.h"

extern "C" aclError aclprofWarmup(const aclprofConfig* profilerConfig);  // in no public header

namespace {

using namespace acl_test;  // NOLINT

constexpr int kAlreadyRun = 100042, kNotRun = 100043, kConflict = 148047;

class ProfTest : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    stream_ = NewStream();
    path_ = ::testing::TempDir() + "mp_prof_XXXXXX";
    ASSERT_NE(mkdtemp(path_.data()), nullptr);
  }
  void TearDown() override {
    std::filesystem::remove_all(path_);
    AclTest::TearDown();
  }
  int Init() { return aclprofInit(path_.c_str(), path_.size()); }
  // The output of the sessions so far: the lines of every folder's data.
  std::vector<std::string> Recorded() {
    std::vector<std::string> lines;
    for (const auto& folder : std::filesystem::directory_iterator(path_)) {
      EXPECT_EQ(folder.path().filename().string().rfind("PROF_", 0), 0u) << folder.path();
      std::ifstream file(folder.path() / "host" / "data" / "millpond.tsv");
      for (std::string line; std::getline(file, line);) lines.push_back(line);
    }
    return lines;
  }
  int Count(const std::string& text) {
    const std::vector<std::string> lines = Recorded();
    return static_cast<int>(std::count_if(
        lines.begin(), lines.end(), [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }
  aclprofConfig* NewConfig(uint64_t types = ACL_PROF_TASK_TIME | ACL_PROF_ACL_API) {
    uint32_t device = 0;
    aclprofConfig* config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, types);
    EXPECT_NE(config, nullptr) << RecentMessage();
    return config;
  }
  aclrtStream stream_ = nullptr;
  std::string path_;
};

// Initialised and started; ended again by the destructor.
class RunningProfTest : public ProfTest {
 protected:
  void SetUp() override {
    ProfTest::SetUp();
    ACL_REQUIRE_OK(Init());
    config_ = NewConfig();
    ACL_REQUIRE_OK(aclprofStart(config_));
  }
  void TearDown() override {
    ACL_OK(aclprofStop(config_));
    ACL_OK(aclprofDestroyConfig(config_));
    ACL_OK(aclprofFinalize());
    ProfTest::TearDown();
  }
  aclprofConfig* config_ = nullptr;
};

TEST_F(ProfTest, ASessionRunsToItsEndAndAgain) {
  for (int round = 0; round < 2; ++round) {
    ACL_OK(Init());
    ACL_OK(aclprofSetConfig(ACL_PROF_SYS_HARDWARE_MEM_FREQ, "50", 2));
    aclprofConfig* config = NewConfig();
    ACL_OK(aclprofWarmup(config));
    ACL_OK(aclprofStart(config));
    ACL_OK(Launch(stream_, [] {}));
    ACL_OK(aclrtSynchronizeStream(stream_));
    ACL_OK(aclprofStop(config));
    ACL_OK(aclprofDestroyConfig(config));
    ACL_OK(aclprofFinalize());
  }
}

TEST_F(ProfTest, WhatRanBetweenStartAndStopIsRecorded) {
  ACL_OK(Launch(
      stream_, [] {}, "Before"));
  ACL_OK(aclrtSynchronizeStream(stream_));
  ACL_OK(Init());
  aclprofConfig* config = NewConfig();
  ACL_OK(aclprofStart(config));
  ACL_OK(Launch(
      stream_, [] {}, "During"));
  ACL_OK(Launch(
      stream_, [] {}, "During"));
  ACL_OK(aclrtSynchronizeStream(stream_));
  ACL_OK(aclprofStop(config));
  ACL_OK(Launch(
      stream_, [] {}, "After"));
  ACL_OK(aclrtSynchronizeStream(stream_));
  ACL_OK(aclprofDestroyConfig(config));
  ACL_OK(aclprofFinalize());
  EXPECT_EQ(Count("\tDuring\t"), 2);
  EXPECT_EQ(Count("\tBefore\t") + Count("\tAfter\t"), 0);
  EXPECT_EQ(Count("call\t"), Count("aclrtSynchronizeStream") + Count("millpond_launch") + Count("aclprof"));
  EXPECT_EQ(Count("aclrtSynchronizeStream"), 1);
}

// Issue 13: what was recorded is kept until it could be written, here by the next session, to where that one writes.
TEST_F(ProfTest, AProfileThatCannotBeWrittenIsKeptAndWrittenWithTheNext) {
  ACL_OK(Init());
  aclprofConfig* config = NewConfig();
  ACL_OK(aclprofStart(config));
  ACL_OK(Launch(
      stream_, [] {}, "Kept"));
  ACL_OK(aclrtSynchronizeStream(stream_));
  std::filesystem::remove_all(path_);
  EXPECT_NE(aclprofStop(config), ACL_SUCCESS);
  EXPECT_NE(RecentMessage().find("kept until it can be written"), std::string::npos) << RecentMessage();
  EXPECT_NE(aclprofFinalize(), ACL_SUCCESS) << "nor now";
  std::filesystem::create_directory(path_);
  ACL_OK(Init());
  ACL_OK(aclprofStart(config));
  ACL_OK(aclprofStop(config));
  ACL_OK(aclprofDestroyConfig(config));
  ACL_OK(aclprofFinalize());
  EXPECT_EQ(Count("\tKept\t"), 1);
  EXPECT_EQ(Count("millpond\t"), 2) << "a folder for each session";
}

TEST_F(ProfTest, CallsAreRecordedOnlyWhenRequested) {
  ACL_OK(Init());
  aclprofConfig* config = NewConfig(ACL_PROF_TASK_TIME);
  ACL_OK(aclprofStart(config));
  ACL_OK(aclrtSynchronizeStream(stream_));
  ACL_OK(aclprofDestroyConfig(config));
  ACL_OK(aclprofFinalize());  // writes sessions that were not stopped
  EXPECT_EQ(Count("call\t"), 0);
  EXPECT_EQ(Count("millpond\t"), 1);
}

TEST_F(ProfTest, AFolderThatCannotBeCreatedFailsTheStart) {
  const std::string file = path_ + "/file";
  std::ofstream(file) << "not a folder";
  ACL_OK(aclprofInit(file.c_str(), file.size()));
  aclprofConfig* config = NewConfig();
  ACL_FAILS(ACL_ERROR_INVALID_FILE, aclprofStart(config));
  EXPECT_NE(RecentMessage().find(file), std::string::npos);
  ACL_OK(aclprofDestroyConfig(config));
  ACL_OK(aclprofFinalize());
  std::filesystem::remove(file);
}

TEST_F(ProfTest, CallsOutOfOrderAreRefused) {
  aclprofConfig* config = NewConfig();
  ACL_FAILS(kNotRun, aclprofStart(config));
  ACL_FAILS(kNotRun, aclprofStop(config));
  ACL_FAILS(kNotRun, aclprofWarmup(config));
  ACL_FAILS(kNotRun, aclprofFinalize());
  EXPECT_NE(RecentMessage().find("aclprofInit"), std::string::npos);
  ACL_OK(Init());
  ACL_FAILS(ACL_ERROR_REPEAT_INITIALIZE, Init());
  ACL_FAILS(kNotRun, aclprofStop(config));
  ACL_OK(aclprofStart(config));
  ACL_FAILS(kAlreadyRun, aclprofStart(config));
  ACL_FAILS(kConflict, aclprofWarmup(config));
  aclprofConfig* other = NewConfig(ACL_PROF_TASK_TIME);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofStop(other));
  ACL_OK(aclprofStop(config));
  ACL_OK(aclprofDestroyConfig(other));
  ACL_OK(aclprofDestroyConfig(config));
  ACL_OK(aclprofFinalize());
}

TEST_F(ProfTest, WrongArgumentsAreRefused) {
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofInit(nullptr, 3));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofInit("here", 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofInit("here", 3));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofInit("here", 4096));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofSetConfig(ACL_PROF_ARGS_MIN, "1", 1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofSetConfig(ACL_PROF_HOST_SYS, nullptr, 1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofSetConfig(ACL_PROF_HOST_SYS, "cpu", 2));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofStart(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofStop(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofWarmup(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofDestroyConfig(nullptr));
}

TEST_F(ProfTest, ConfigurationsNameRealDevicesOnce) {
  uint32_t devices[] = {0, 0};
  EXPECT_EQ(aclprofCreateConfig(nullptr, 1, ACL_AICORE_NONE, nullptr, 1), nullptr);
  EXPECT_EQ(aclprofCreateConfig(devices, 2, ACL_AICORE_NONE, nullptr, 1), nullptr);
  EXPECT_EQ(aclprofCreateConfig(devices, 0, ACL_AICORE_NONE, nullptr, 1), nullptr);
  devices[0] = 77;
  EXPECT_EQ(aclprofCreateConfig(devices, 1, ACL_AICORE_NONE, nullptr, 1), nullptr);
  EXPECT_NE(RecentMessage().find("77"), std::string::npos);
  aclprofConfig* marks = aclprofCreateConfig(nullptr, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX);
  ASSERT_NE(marks, nullptr);
  ACL_OK(aclprofDestroyConfig(marks));
}

TEST_F(ProfTest, StampsNeedARunningSession) { EXPECT_EQ(aclprofCreateStamp(), nullptr); }

TEST_F(RunningProfTest, MarksAndRangesKeepTheirPairs) {
  void* stamp = aclprofCreateStamp();
  ASSERT_NE(stamp, nullptr) << RecentMessage();
  ACL_OK(aclprofSetStampTraceMessage(stamp, "epoch", 5));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofSetStampTraceMessage(stamp, "epoch", 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofSetStampTraceMessage(stamp, nullptr, 5));
  ACL_OK(aclprofMark(stamp));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofPop());
  ACL_OK(aclprofPush(stamp));
  ACL_OK(aclprofPop());
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofPop());
  uint32_t first = 0, second = 0;
  ACL_OK(aclprofRangeStart(stamp, &first));
  ACL_OK(aclprofRangeStart(stamp, &second));
  EXPECT_NE(first, second);
  std::thread([&] { ACL_OK(aclprofRangeStop(first)); }).join();
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofRangeStop(first));
  ACL_OK(aclprofRangeStop(second));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofMark(nullptr));
  aclprofDestroyStamp(stamp);
}

TEST_F(RunningProfTest, AMarkOnAStreamIsATaskOfIt) {
  Hold hold;
  ACL_OK(hold.On(stream_));
  ACL_OK(aclprofMarkEx("here", 4, stream_));
  aclrtStreamStatus status;
  ACL_OK(aclrtStreamQuery(stream_, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofMarkEx(nullptr, 4, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofMarkEx("here", 200, stream_));
}

TEST_F(RunningProfTest, AStepStartsAndEndsOnce) {
  aclprofStepInfo* step = aclprofCreateStepInfo();
  ASSERT_NE(step, nullptr);
  ACL_OK(aclprofGetStepTimestamp(step, ACL_STEP_START, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofGetStepTimestamp(step, ACL_STEP_START, stream_));
  ACL_OK(aclprofGetStepTimestamp(step, ACL_STEP_END, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofGetStepTimestamp(step, ACL_STEP_END, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofGetStepTimestamp(nullptr, ACL_STEP_END, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  aclprofDestroyStepInfo(step);
}

TEST_F(RunningProfTest, TensorRangesAndHashes) {
  aclprofEventAttributes attributes{};
  attributes.version = ACL_PROF_EVENT_ATTR_VERSION;
  attributes.size = sizeof(attributes);
  ACL_OK(aclprofRangePushEx(&attributes));
  ACL_OK(aclprofRangePop());
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofRangePop());
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclprofRangePushEx(nullptr));
  EXPECT_EQ(aclprofStr2Id("add"), aclprofStr2Id("add"));
  EXPECT_NE(aclprofStr2Id("add"), aclprofStr2Id("mul"));
  EXPECT_EQ(aclprofStr2Id(nullptr), 0u);
}

}  // namespace

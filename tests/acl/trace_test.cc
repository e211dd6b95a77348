// SPDX-License-Identifier: Apache-2.0
// Issue 3, Trace: "every API call, task, allocation and event through one Sink; --trace FILE writes a Chrome/Perfetto
// JSON with stream lanes, flow arrows for events and a memory counter". `millpond run --trace` sets MILLPOND_TRACE.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/acl/acl_test.h"

namespace {

using nlohmann::json;

class TraceTest : public testing::Test {
 protected:
  TraceTest() : path_((std::filesystem::temp_directory_path() / ("trace_" + std::to_string(getpid()))).string()) {}
  ~TraceTest() override { std::filesystem::remove(path_); }

  void Run(const char* role) {
    const auto child = acl_test::RunRole(role, {{"MILLPOND_TRACE", path_}});
    EXPECT_EQ(child.exit_code, 0) << child.output;
    std::ifstream file(path_);
    const json root = json::parse(file, nullptr, false);
    ASSERT_FALSE(root.is_discarded());
    events_ = root["traceEvents"];
  }
  std::vector<json> Where(const json& pattern) const {
    std::vector<json> found;
    for (const json& event : events_) {
      bool fits = true;
      for (const auto& [key, value] : pattern.items()) fits = fits && event.contains(key) && event[key] == value;
      if (fits) found.push_back(event);
    }
    return found;
  }
  std::string path_;
  json events_;
};

// Two streams, one event from the first to the second, a copy with known ranges, and an error.
MP_ROLE(TwoStreams) {
  ROLE_INIT();
  aclrtStream one = nullptr, two = nullptr;
  ROLE_CHECK(aclrtCreateStream(&one) == ACL_SUCCESS && aclrtCreateStream(&two) == ACL_SUCCESS);
  aclrtEvent event = nullptr;
  ROLE_CHECK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS);
  void *device = nullptr, *pinned = nullptr;
  ROLE_CHECK(aclrtMalloc(&device, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMallocHost(&pinned, 4096) == ACL_SUCCESS);
  ROLE_CHECK(acl_test::Launch(
                 one, [] {}, "ProducerTask") == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemcpyAsync(device, 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE, one) == ACL_SUCCESS);
  ROLE_CHECK(aclrtRecordEvent(event, one) == ACL_SUCCESS);
  ROLE_CHECK(aclrtStreamWaitEvent(two, event) == ACL_SUCCESS);
  ROLE_CHECK(acl_test::Launch(
                 two, [] {}, "ConsumerTask") == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(two) == ACL_SUCCESS && aclrtSynchronizeStream(one) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(55) == ACL_ERROR_RT_INVALID_DEVICEID);
  ROLE_CHECK(aclrtFreeHost(pinned) == ACL_SUCCESS && aclrtFree(device) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDestroyEvent(event) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDestroyStream(one) == ACL_SUCCESS && aclrtDestroyStream(two) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}

TEST_F(TraceTest, ApiCallsAreThereWithTheirResults) {
  Run("TwoStreams");
  EXPECT_EQ(Where({{"cat", "api"}, {"name", "aclrtCreateStream"}}).size(), 2u);
  std::multiset<int> results;
  for (const json& call : Where({{"cat", "api"}, {"name", "aclrtSetDevice"}}))
    results.insert(call["args"]["result"].get<int>());
  EXPECT_EQ(results, (std::multiset<int>{0, ACL_ERROR_RT_INVALID_DEVICEID}));
}

TEST_F(TraceTest, TasksAreInTheLaneOfTheirStreamInOrder) {
  Run("TwoStreams");
  const auto producer = Where({{"cat", "task"}, {"name", "ProducerTask"}});
  const auto consumer = Where({{"cat", "task"}, {"name", "ConsumerTask"}});
  ASSERT_EQ(producer.size(), 1u);
  ASSERT_EQ(consumer.size(), 1u);
  EXPECT_EQ(producer[0]["pid"], 0);
  EXPECT_NE(producer[0]["tid"], consumer[0]["tid"]);
  EXPECT_EQ(producer[0]["args"]["ok"], true);
  EXPECT_LE(producer[0]["ts"].get<double>() + producer[0]["dur"].get<double>(), consumer[0]["ts"].get<double>());
  for (const json& task : {producer[0], consumer[0]}) {
    const auto names = Where({{"ph", "M"}, {"name", "thread_name"}, {"pid", 0}, {"tid", task["tid"]}});
    ASSERT_EQ(names.size(), 1u);
    EXPECT_EQ(names[0]["args"]["name"], "stream " + std::to_string(task["tid"].get<int>()));
  }
}

TEST_F(TraceTest, ACopyRecordsWhatItReadsAndWrites) {
  Run("TwoStreams");
  int with_ranges = 0;
  for (const json& task : Where({{"cat", "task"}})) {
    const json& args = task["args"];
    if (!args.contains("reads") || args["reads"].empty() || args["writes"].empty()) continue;
    ++with_ranges;
    EXPECT_TRUE(args["reads"][0].get<std::string>().ends_with("+4096")) << args;
    EXPECT_TRUE(args["writes"][0].get<std::string>().ends_with("+4096")) << args;
  }
  EXPECT_EQ(with_ranges, 1);
}

TEST_F(TraceTest, AnArrowGoesFromTheRecordToTheWait) {
  Run("TwoStreams");
  const auto begins = Where({{"ph", "s"}}), ends = Where({{"ph", "f"}});
  ASSERT_EQ(begins.size(), 1u);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(begins[0]["id"], ends[0]["id"]);
  EXPECT_EQ(begins[0]["tid"], Where({{"name", "ProducerTask"}})[0]["tid"]);
  EXPECT_EQ(ends[0]["tid"], Where({{"name", "ConsumerTask"}})[0]["tid"]);
}

TEST_F(TraceTest, MemoryIsCounted) {
  Run("TwoStreams");
  const auto counters = Where({{"ph", "C"}, {"name", "memory"}});
  ASSERT_GE(counters.size(), 2u);
  uint64_t most = 0;
  for (const json& counter : counters) most = std::max(most, counter["args"]["bytes"].get<uint64_t>());
  EXPECT_GE(most, uint64_t{1} << 20);
  EXPECT_EQ(counters.back()["args"]["bytes"], 0);
  EXPECT_EQ(Where({{"name", "allocate pinned"}}).size(), 1u);
  EXPECT_EQ(Where({{"name", "free pinned"}}).size(), 1u);
}

// Rows of a rectangle are told as such: what lies between them is not touched.
MP_ROLE(Rectangles) {
  ROLE_INIT();
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  void *device = nullptr, *pinned = nullptr;
  ROLE_CHECK(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMallocHost(&pinned, 4096) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemcpy2dAsync(device, 64, pinned, 32, 32, 10, ACL_MEMCPY_HOST_TO_DEVICE, stream) == ACL_SUCCESS);
  const millpond_access accesses[] = {{device, 16, 0, 0, MILLPOND_READ}, {device, 8, 4, 128, MILLPOND_WRITE}};
  ROLE_CHECK(millpond_launch_with_accesses(
                 stream, "Custom", [](void*) {}, nullptr, accesses, 2) == ACL_SUCCESS);
  const millpond_access narrow{device, 8, 4, 7, MILLPOND_WRITE}, useless{device, 8, 0, 0, 0};
  ROLE_CHECK(millpond_launch_with_accesses(
                 stream, "Custom", [](void*) {}, nullptr, &narrow, 1) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(millpond_launch_with_accesses(
                 stream, "Custom", [](void*) {}, nullptr, &useless, 1) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtFreeHost(pinned) == ACL_SUCCESS && aclrtFree(device) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDestroyStream(stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtResetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}
TEST_F(TraceTest, RowsAreToldWithTheirPitch) {
  Run("Rectangles");
  const auto copies = Where({{"cat", "task"}, {"name", "Memcpy2dAsync"}});
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_TRUE(copies[0]["args"]["reads"][0].get<std::string>().ends_with("+320")) << "rows that touch are one range";
  EXPECT_TRUE(copies[0]["args"]["writes"][0].get<std::string>().ends_with("+32*10/64")) << copies[0];
  const auto custom = Where({{"cat", "task"}, {"name", "Custom"}});
  ASSERT_EQ(custom.size(), 1u);
  EXPECT_TRUE(custom[0]["args"]["reads"][0].get<std::string>().ends_with("+16"));
  EXPECT_TRUE(custom[0]["args"]["writes"][0].get<std::string>().ends_with("+8*4/128"));
}

// A program that just ends, without aclFinalize, still leaves its whole trace.
MP_ROLE(NoFinalize) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  for (int i = 0; i < 100; ++i) ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
  return 0;
}
TEST_F(TraceTest, IsCompleteAtExit) {
  Run("NoFinalize");
  EXPECT_EQ(Where({{"name", "aclrtSynchronizeDevice"}}).size(), 100u);
}

// One that dies leaves what it had written, and that parses.
MP_ROLE(Dies) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS);
  for (int i = 0; i < 20000; ++i) ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
  _exit(0);
}
TEST_F(TraceTest, ParsesAfterACrash) {
  Run("Dies");
  EXPECT_GT(Where({{"name", "aclrtSynchronizeDevice"}}).size(), 10000u);
}

// A file that cannot be written is said, and the program runs on.
MP_ROLE(Short) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS);
  return 0;
}
TEST(TraceFile, AnImpossiblePathIsReportedAndHarmless) {
  const auto child = acl_test::RunRole("Short", {{"MILLPOND_TRACE", "/no/such/folder/trace.json"}});
  EXPECT_EQ(child.exit_code, 0);
  EXPECT_NE(child.output.find("/no/such/folder/trace.json"), std::string::npos) << child.output;
}

}  // namespace

MP_TEST_MAIN()

// SPDX-License-Identifier: Apache-2.0
// Devices: set and reset with their counts, how many there are, which profile.
#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { ACL_REQUIRE_OK(aclInit(nullptr)); }
  void TearDown() override { ACL_OK(aclFinalize()); }
};

enum Call { kSet, kReset, kForce };

// Makes the calls and says which of them, counting from 0, failed; -1 when none did.
int FirstFailure(const std::vector<Call>& calls) {
  for (size_t i = 0; i < calls.size(); ++i) {
    const int code = calls[i] == kSet     ? aclrtSetDevice(0)
                     : calls[i] == kReset ? aclrtResetDevice(0)
                                          : aclrtResetDeviceForce(0);
    if (code != ACL_SUCCESS) {
      EXPECT_EQ(code, ACL_ERROR_RT_INVALID_DEVICEID);
      while (aclrtResetDevice(0) == ACL_SUCCESS) {
      }
      return static_cast<int>(i);
    }
  }
  while (aclrtResetDevice(0) == ACL_SUCCESS) {
  }
  return -1;
}

// A virtual device has no hardware faults, and says so: a program that queries after its own error continues.
TEST_F(DeviceTest, ADeviceHasNoFaultToRepair) {
  aclrtErrorInfo info;
  std::memset(&info, 0xFF, sizeof(info));
  ACL_REQUIRE_OK(aclrtSetDevice(0));
  ACL_OK(aclrtGetErrorVerbose(0, &info));
  EXPECT_EQ(info.errorType, ACL_RT_NO_ERROR);
  EXPECT_EQ(info.tryRepair, 0);
  EXPECT_EQ(info.hasDetail, 0);
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtGetErrorVerbose(99, &info));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetErrorVerbose(0, nullptr));
  ACL_OK(aclrtResetDevice(0));
}

// Page "aclrtResetDeviceForce": the orders it calls right.
TEST_F(DeviceTest, RightOrdersOfSetAndResetSucceed) {
  EXPECT_EQ(FirstFailure({kSet, kForce, kSet, kForce}), -1);
  EXPECT_EQ(FirstFailure({kSet, kSet, kForce}), -1);
  EXPECT_EQ(FirstFailure({kSet, kReset, kSet, kForce}), -1);
  EXPECT_EQ(FirstFailure({kSet, kSet, kReset, kForce}), -1);
  EXPECT_EQ(FirstFailure({kSet, kSet, kReset, kReset}), -1);
}

// The same page: the orders it calls wrong, and where they fail.
TEST_F(DeviceTest, WrongCallOrderFailsWhereDocumented) {
  EXPECT_EQ(FirstFailure({kSet, kSet, kReset, kReset, kForce}), 4);
  EXPECT_EQ(FirstFailure({kSet, kSet, kReset, kForce, kForce}), 4);
  EXPECT_EQ(FirstFailure({kSet, kSet, kForce, kReset}), 3);
  EXPECT_EQ(FirstFailure({kSet, kForce, kForce}), 2);
  EXPECT_EQ(FirstFailure({kSet, kReset, kReset}), 2);
  EXPECT_EQ(FirstFailure({kReset}), 0);
  EXPECT_EQ(FirstFailure({kForce}), 0);
}

// The same page: two threads that both set and both force: the second force fails.
TEST_F(DeviceTest, OnlyOneThreadsForcedResetSucceeds) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> set{0};
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        ACL_OK(aclrtSetDevice(0));
        set.fetch_add(1);
        while (set.load() < 2) std::this_thread::yield();
        if (aclrtResetDeviceForce(0) == ACL_SUCCESS) good.fetch_add(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(good.load(), 1);
  }
}

// CANN's chapter on device management: the count is the process's; N sets need N resets, from whichever thread, and not
// one less succeeds.
TEST_F(DeviceTest, CountIsExactUnderThreads) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    std::atomic<int> good{0};
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 5; ++k) ACL_OK(aclrtSetDevice(0));
        for (int k = 0; k < 5; ++k) good.fetch_add(aclrtResetDevice(0) == ACL_SUCCESS ? 1 : 0);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(good.load(), 20);
    ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtResetDevice(0));
  }
}

// docs/compat.md, "What clients rely on": exactly 107002 before a device is set and after it is reset.
TEST_F(DeviceTest, GetDeviceIs107002Without) {
  int32_t device = -7;
  EXPECT_EQ(aclrtGetDevice(&device), 107002);
  ACL_OK(aclrtSetDevice(0));
  ACL_OK(aclrtGetDevice(&device));
  EXPECT_EQ(device, 0);
  ACL_OK(aclrtResetDevice(0));
  EXPECT_EQ(aclrtGetDevice(&device), 107002);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetDevice(nullptr));
}

TEST_F(DeviceTest, DeviceIdsOutOfRangeAre107001) {
  uint32_t count = 0;
  ACL_OK(aclrtGetDeviceCount(&count));
  EXPECT_GE(count, 1u);
  const auto past = static_cast<int32_t>(count);
  for (const int32_t id : {-1, past, 1 << 30, INT32_MIN}) {
    ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtSetDevice(id));
    ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtResetDevice(id));
    ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtResetDeviceForce(id));
  }
  EXPECT_EQ(ACL_ERROR_RT_INVALID_DEVICEID, 107001);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetDeviceCount(nullptr));
  aclrtRunMode mode = ACL_DEVICE;
  ACL_OK(aclrtGetRunMode(&mode));
  EXPECT_EQ(mode, ACL_HOST);
}

// Page "aclrtResetDevice": frees the default context, its default stream and all streams made in it; waits for
// their tasks first.
TEST_F(DeviceTest, ResetWaitsAndTakesTheStreams) {
  ACL_OK(aclrtSetDevice(0));
  aclrtContext context = nullptr;
  ACL_OK(aclrtGetCurrentContext(&context));
  aclrtStream stream = nullptr;
  ACL_OK(aclrtCreateStream(&stream));
  std::atomic<int> ran{0};
  const auto slow = [&ran] {
    std::this_thread::sleep_for(milliseconds(20));
    ran.fetch_add(1);
  };
  ACL_OK(Launch(stream, slow));
  ACL_OK(Launch(nullptr, slow));
  ACL_OK(aclrtResetDevice(0));
  EXPECT_EQ(ran.load(), 2);
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtSetCurrentContext(context));
  ACL_OK(aclrtSetDevice(0));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtSynchronizeStream(stream));
  aclrtContext fresh = nullptr;
  ACL_OK(aclrtGetCurrentContext(&fresh));
  EXPECT_NE(fresh, context);
  ACL_OK(aclrtResetDevice(0));
}

// A host function that sets the device does not deadlock with the reset that waits for it.
TEST_F(DeviceTest, ResetWaitsForAHostFunctionThatSetsTheDevice) {
  ACL_OK(aclrtSetDevice(0));
  std::atomic<int> code{-1};
  ACL_OK(aclrtLaunchHostFunc(
      nullptr,
      [](void* result) {
        std::this_thread::sleep_for(milliseconds(20));
        *static_cast<std::atomic<int>*>(result) = aclrtSetDevice(0);
      },
      &code));
  ACL_OK(aclrtResetDevice(0));
  EXPECT_EQ(code.load(), ACL_SUCCESS);
  ACL_OK(aclrtResetDevice(0));  // what the function set
}

// An explicit context of the device survives the reset of the default one.
TEST_F(DeviceTest, ExplicitContextSurvivesAReset) {
  ACL_OK(aclrtSetDevice(0));
  aclrtContext own = nullptr;
  ACL_OK(aclrtCreateContext(&own, 0));
  ACL_OK(aclrtResetDevice(0));
  std::atomic<bool> ran{false};
  ACL_OK(Launch(nullptr, [&] { ran = true; }));
  ACL_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_TRUE(ran.load());
  ACL_OK(aclrtDestroyContext(own));
}

// Page "aclrtRegDeviceStateCallback".
TEST_F(DeviceTest, StateCallbacksSeeSetAndReset) {
  static std::vector<int> seen;
  seen.clear();
  const auto note = [](int32_t device, aclrtDeviceState state, void*) {
    EXPECT_EQ(device, 0);
    seen.push_back(state);
  };
  ACL_OK(aclrtRegDeviceStateCallback("mine", note, nullptr));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtRegDeviceStateCallback("mine", note, nullptr));
  ACL_OK(aclrtSetDevice(0));
  ACL_OK(aclrtResetDevice(0));
  ACL_OK(aclrtRegDeviceStateCallback("mine", nullptr, nullptr));
  EXPECT_EQ(seen, (std::vector<int>{ACL_RT_DEVICE_STATE_SET_PRE, ACL_RT_DEVICE_STATE_SET_POST,
                                    ACL_RT_DEVICE_STATE_RESET_PRE, ACL_RT_DEVICE_STATE_RESET_POST}));
}

// --- The environment -------------------------------------------------------------------------------------------

MP_ROLE(devices) {
  const int code = aclInit(nullptr);
  if (code != ACL_SUCCESS) {
    std::printf("init %d: %s\n", code, RecentMessage().c_str());
    return 1;
  }
  uint32_t count = 0;
  ROLE_CHECK(aclrtGetDeviceCount(&count) == ACL_SUCCESS);
  std::printf("count %u\n", count);
  for (int32_t id = 0; id < static_cast<int32_t>(count); ++id) {
    int32_t now = -1;
    ROLE_CHECK(aclrtSetDevice(id) == ACL_SUCCESS);
    ROLE_CHECK(aclrtGetDevice(&now) == ACL_SUCCESS && now == id);
    std::atomic<bool> ran{false};
    ROLE_CHECK(Launch(nullptr, [&] { ran = true; }) == ACL_SUCCESS);
    ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS && ran.load());
  }
  ROLE_CHECK(aclrtSetDevice(static_cast<int32_t>(count)) == ACL_ERROR_RT_INVALID_DEVICEID);
  for (int32_t id = 0; id < static_cast<int32_t>(count); ++id) ROLE_CHECK(aclrtResetDevice(id) == ACL_SUCCESS);
  return 0;
}

TEST(DeviceEnvironment, MillpondDevicesSetsTheCount) {
  for (const char* count : {"1", "2", "8"}) {
    const ChildResult child = ExpectRole("devices", {{"MILLPOND_DEVICES", count}});
    EXPECT_NE(child.output.find(std::string("count ") + count + "\n"), std::string::npos) << child.output;
  }
  for (const char* wrong : {"0", "65", "-1", "many", "1.5"}) {
    const ChildResult child = RunRole("devices", {{"MILLPOND_DEVICES", wrong}});
    EXPECT_EQ(child.exit_code, 1) << child.output;
    EXPECT_NE(child.output.find("MILLPOND_DEVICES"), std::string::npos) << child.output;
    EXPECT_NE(child.output.find("64"), std::string::npos) << child.output;  // the bound
  }
}

// The vendor's environment variables: ids in ascending order, read up to the first bad one.
TEST(DeviceEnvironment, VisibleDevicesAreHonoured) {
  const std::map<std::string, std::string> cases = {
      {"3,5,7", "3"}, {"0", "1"}, {"0,1,2,3,4,5,6,7", "8"}, {"2,1", "1"}, {"1,1", "1"}, {"0,9", "1"}, {"1,x,2", "1"}};
  for (const auto& [list, count] : cases) {
    const ChildResult child = ExpectRole("devices", {{"MILLPOND_DEVICES", "8"}, {"ASCEND_RT_VISIBLE_DEVICES", list}});
    EXPECT_NE(child.output.find("count " + count + "\n"), std::string::npos) << list << ": " << child.output;
  }
}

TEST(DeviceEnvironment, UnknownProfileListsTheKnownOnes) {
  const ChildResult child = RunRole("devices", {{"MILLPOND_SOC", "Ascend000"}});
  EXPECT_EQ(child.exit_code, 1) << child.output;
  for (const char* known : {"Ascend000", "Ascend910B3", "Ascend910B4", "Ascend910_9392", "Ascend950", "Ascend310P3"}) {
    EXPECT_NE(child.output.find(known), std::string::npos) << known << " is not in: " << child.output;
  }
}

TEST(DeviceEnvironment, WrongSettingsAreNamed) {
  const std::map<std::string, std::string> wrong = {{"MILLPOND_SEED", "soon"},
                                                    {"MILLPOND_WORKERS", "0"},
                                                    {"MILLPOND_SPIN_US", "-1"},
                                                    {"MILLPOND_DEVICE_MEMORY", "visible"}};
  for (const auto& [variable, value] : wrong) {
    const ChildResult child = RunRole("devices", {{variable, value}});
    EXPECT_EQ(child.exit_code, 1) << child.output;
    EXPECT_NE(child.output.find(variable), std::string::npos) << child.output;
    EXPECT_NE(child.output.find(value), std::string::npos) << child.output;
  }
}

MP_ROLE(soc_name) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  std::printf("soc %s\n", aclrtGetSocName());
  return 0;
}

TEST(DeviceEnvironment, ProfileNamesTheChip) {
  for (const char* soc : {"Ascend910B3", "Ascend910B4", "Ascend910_9392", "Ascend310P3"}) {
    const ChildResult child = RunRole("soc_name", {{"MILLPOND_SOC", soc}});
    EXPECT_NE(child.output.find(std::string("soc ") + soc + "\n"), std::string::npos) << child.output;
  }
}

}  // namespace

MP_TEST_MAIN()

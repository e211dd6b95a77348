// SPDX-License-Identifier: Apache-2.0
// Switches, limits, ids and peers.
#include <set>

#include "tests/acl/acl_test.h"

namespace {

using acl_test::Unlisted;
class SysinfoTest : public acl_test::AclTest {};

// CANN's chapter on runtime configuration: unset process parameters read 0; docs/compat.md, "What clients rely on":
// DETERMINISTIC takes 0 to 3.
TEST_F(SysinfoTest, ProcessParametersStartAtZero) {
  for (const auto opt : {ACL_OPT_DETERMINISTIC, ACL_OPT_ENABLE_DEBUG_KERNEL, ACL_OPT_STRONG_CONSISTENCY,
                         ACL_OPT_ENABLE_KERNEL_EARLY_START}) {
    int64_t value = -1;
    ACL_OK(aclrtGetSysParamOpt(opt, &value));
    EXPECT_EQ(value, 0);
    ACL_OK(aclrtSetSysParamOpt(opt, 1));
    ACL_OK(aclrtGetSysParamOpt(opt, &value));
    EXPECT_EQ(value, 1);
    ACL_OK(aclrtSetSysParamOpt(opt, 0));
  }
  ACL_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3));
  ACL_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0));
  int64_t value = 0;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 4));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, 2));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetSysParamOpt(Unlisted<aclSysParamOpt>(9), 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetSysParamOpt(Unlisted<aclSysParamOpt>(-1), &value));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr));
}

// CANN's chapter on context management: a context's parameters have no default; asking before setting fails (107021).
// They are the context's own.
TEST_F(SysinfoTest, ContextParametersMustBeSetFirst) {
  aclrtContext context = nullptr;
  ACL_REQUIRE_OK(aclrtCreateContext(&context, 0));
  int64_t value = -1;
  ACL_FAILS(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  ACL_OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
  ACL_OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 2));  // "the last one counts"
  ACL_OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 2);
  ACL_OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 0) << "the process's is another";
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 4));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr));
  ACL_OK(aclrtDestroyContext(context));
  std::thread([] { ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1)); }).join();
  ACL_REQUIRE_OK(aclrtSetDevice(0));
}

// CANN's chapter on callbacks: a time-out takes effect in whole intervals, rounded up, 1 to 254 of them; 0 is the
// longest.
TEST_F(SysinfoTest, ExecuteTimeoutsAreWholeIntervals) {
  uint64_t interval = 0, actual = 0;
  uint32_t ms = 0;
  ACL_REQUIRE_OK(aclrtGetOpTimeOutInterval(&interval));
  ASSERT_GT(interval, 0u);
  ACL_OK(aclrtGetOpExecuteTimeout(&ms));
  EXPECT_EQ(ms, interval * 254 / 1000) << "the default, 1091 s on the A2 series";
  ACL_OK(aclrtSetOpExecuteTimeOutV2(1, &actual));
  EXPECT_EQ(actual, interval);
  ACL_OK(aclrtSetOpExecuteTimeOutV2(interval + 1, &actual));
  EXPECT_EQ(actual, 2 * interval);
  ACL_OK(aclrtGetOpExecuteTimeout(&ms));
  EXPECT_EQ(ms, 2 * interval / 1000);
  ACL_OK(aclrtSetOpExecuteTimeOutV2(UINT64_MAX, &actual));
  EXPECT_EQ(actual, 254 * interval);
  ACL_OK(aclrtSetOpExecuteTimeOut(60));
  ACL_OK(aclrtGetOpExecuteTimeout(&ms));
  EXPECT_GE(ms, 60000u);
  EXPECT_LT(ms, 60000u + interval / 1000 + 1);
  ACL_OK(aclrtSetOpExecuteTimeOutWithMs(1));
  ACL_OK(aclrtGetOpExecuteTimeout(&ms));
  EXPECT_EQ(ms, interval / 1000);
  ACL_OK(aclrtSetOpExecuteTimeOut(0));
  ACL_OK(aclrtGetOpExecuteTimeout(&ms));
  EXPECT_EQ(ms, 254 * interval / 1000);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetOpExecuteTimeOutV2(1, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetOpExecuteTimeout(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetOpTimeOutInterval(nullptr));
}

// Page "aclrtFloatOverflowMode": inf/nan unless set, on this series.
TEST_F(SysinfoTest, SaturationModeOfTheCurrentDevice) {
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  ACL_OK(aclrtGetDeviceSatMode(&mode));
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
  ACL_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION));
  ACL_OK(aclrtGetDeviceSatMode(&mode));
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  ACL_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetDeviceSatMode(nullptr));
  std::thread([] {
    aclrtFloatOverflowMode other;
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtGetDeviceSatMode(&other));
  }).join();
}

// --- limits ---

uint32_t Cores(aclrtDevAttr attribute) {
  int64_t value = 0;
  EXPECT_EQ(aclrtGetDeviceInfo(0, attribute, &value), ACL_SUCCESS);
  return static_cast<uint32_t>(value);
}

// CANN's chapter on runtime configuration: without a limit the hardware's number; set, read, the last one counts; reset
// brings the hardware's back.
TEST_F(SysinfoTest, DeviceLimits) {
  const uint32_t cube = Cores(ACL_DEV_ATTR_CUBE_CORE_NUM), vector = Cores(ACL_DEV_ATTR_VECTOR_CORE_NUM);
  uint32_t value = 0;
  ACL_OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value));
  EXPECT_EQ(value, cube);
  ACL_OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 8));
  ACL_OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 4));
  ACL_OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value));
  EXPECT_EQ(value, 4u);
  ACL_OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &value));
  EXPECT_EQ(value, vector);
  ACL_OK(aclrtResetDeviceResLimit(0));
  ACL_OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value));
  EXPECT_EQ(value, cube);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, cube + 1));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetDeviceResLimit(0, Unlisted<aclrtDevResLimitType>(2), 1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, nullptr));
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtGetDeviceResLimit(99, ACL_RT_DEV_RES_CUBE_CORE, &value));
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtResetDeviceResLimit(-1));
}

// CANN's chapter on runtime configuration: "stream > process > hardware", for the stream itself and for a thread that
// uses the stream's limits.
TEST_F(SysinfoTest, StreamLimitsGoBeforeTheDevices) {
  const aclrtStream stream = NewStream();
  const uint32_t vector = Cores(ACL_DEV_ATTR_VECTOR_CORE_NUM);
  uint32_t value = 0;
  ACL_OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, 20));
  ACL_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, &value));
  EXPECT_EQ(value, 20u);
  ACL_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, 6));
  ACL_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, &value));
  EXPECT_EQ(value, 6u);
  ACL_OK(aclrtGetStreamResLimit(nullptr, ACL_RT_DEV_RES_VECTOR_CORE, &value));  // NULL: the default stream
  EXPECT_EQ(value, 20u);

  ACL_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
  EXPECT_EQ(value, 20u);
  ACL_OK(aclrtUseStreamResInCurrentThread(stream));
  ACL_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
  EXPECT_EQ(value, 6u);
  ACL_OK(aclrtUnuseStreamResInCurrentThread(stream));
  ACL_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_VECTOR_CORE, &value));
  EXPECT_EQ(value, 20u);

  ACL_OK(aclrtResetStreamResLimit(stream));
  ACL_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, &value));
  EXPECT_EQ(value, 20u);
  ACL_OK(aclrtResetDeviceResLimit(0));
  ACL_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, &value));
  EXPECT_EQ(value, vector);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, vector + 1));
}

// A thread whose stream was destroyed falls back, and a new stream starts without limits.
TEST_F(SysinfoTest, LimitsDieWithTheStream) {
  aclrtStream stream = nullptr;
  ACL_REQUIRE_OK(aclrtCreateStream(&stream));
  ACL_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 2));
  ACL_OK(aclrtUseStreamResInCurrentThread(stream));
  ACL_OK(aclrtDestroyStream(stream));
  uint32_t value = 0;
  ACL_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
  EXPECT_EQ(value, Cores(ACL_DEV_ATTR_CUBE_CORE_NUM));
  for (int i = 0; i < 200; ++i) {  // enough to come back to the recycled object
    ACL_REQUIRE_OK(aclrtCreateStream(&stream));
    ACL_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value));
    ASSERT_EQ(value, Cores(ACL_DEV_ATTR_CUBE_CORE_NUM));
    ACL_OK(aclrtDestroyStream(stream));
  }
}

// Page "aclrtDeviceLimit", A2 series: stack 32K unless larger, 16K steps, at most 192K; no SIMT limits.
TEST_F(SysinfoTest, KernelStackAndPrintSizes) {
  size_t value = 0;
  ACL_OK(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, &value));
  EXPECT_EQ(value, 32768u);
  ACL_OK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 32769));
  ACL_OK(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, &value));
  EXPECT_EQ(value, 49152u);
  ACL_OK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 1));
  ACL_OK(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, &value));
  EXPECT_EQ(value, 32768u);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 196609));
  ACL_OK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, 1025));
  ACL_OK(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, &value));
  EXPECT_EQ(value, 1032u);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, 1023));
  for (const auto limit : {ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE,
                           ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE}) {
    ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtDeviceGetLimit(limit, &value));
    ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtDeviceSetLimit(limit, 1 << 20));
  }
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDeviceSetLimit(Unlisted<aclrtDeviceLimit>(5), 1));
}

// --- state ---

// CANN's chapter on device management: normal; memory use is -1 ("not available"); the cores are busy while a stream
// has work.
TEST_F(SysinfoTest, StatusAndUse) {
  aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_END;
  ACL_OK(aclrtQueryDeviceStatus(0, &status));
  EXPECT_EQ(status, ACL_RT_DEVICE_STATUS_NORMAL);
  aclrtUtilizationInfo use{};
  ACL_OK(aclrtGetDeviceUtilizationRate(0, &use));
  EXPECT_EQ(use.cubeUtilization, 0);
  EXPECT_EQ(use.memoryUtilization, -1);
  {
    acl_test::Gate gate;
    const aclrtStream stream = NewStream();
    ACL_OK(gate.LaunchOn(stream));
    ACL_OK(aclrtGetDeviceUtilizationRate(0, &use));
    EXPECT_EQ(use.cubeUtilization, 100);
    EXPECT_EQ(use.vectorUtilization, 100);
    gate.Open();
    ACL_OK(aclrtSynchronizeStream(stream));
  }
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtQueryDeviceStatus(77, &status));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtQueryDeviceStatus(0, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetDeviceUtilizationRate(0, nullptr));
}

// Device memory is coherent with the host's caches: a flush has nothing to do, but needs a device and NULL.
TEST_F(SysinfoTest, CacheFlushNeedsADevice) {
  ACL_OK(aclrtDeviceL2CacheFlush(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDeviceL2CacheFlush(this));
  std::thread([] { ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtDeviceL2CacheFlush(nullptr)); }).join();
}

// No instruction of the NPU runs here, so none of its atomics is claimed.
TEST_F(SysinfoTest, NoAtomicsAreClaimed) {
  const aclrtAtomicOperation operations[] = {ACL_RT_ATOMIC_OPERATION_INTEGER_ADD, ACL_RT_ATOMIC_OPERATION_CAS};
  uint32_t capabilities[] = {7, 7};
  ACL_OK(aclrtDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 0));
  EXPECT_EQ(capabilities[0] | capabilities[1], 0u);
  capabilities[0] = 7;
  ACL_OK(aclrtDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 0));
  EXPECT_EQ(capabilities[0], 0u);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDeviceGetHostAtomicCapabilities(nullptr, operations, 2, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDeviceGetHostAtomicCapabilities(capabilities, nullptr, 2, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDeviceGetHostAtomicCapabilities(capabilities, operations, 0, 0));
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 88));
  const auto unknown = Unlisted<aclrtAtomicOperation>(25);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDeviceGetHostAtomicCapabilities(capabilities, &unknown, 1, 0));
}

// --- several devices, some of them visible ---

std::string Uuid(int32_t device) {
  aclrtUuid uuid{};
  EXPECT_EQ(aclrtDeviceGetUuid(device, &uuid), ACL_SUCCESS);
  return std::string(uuid.bytes, sizeof(uuid.bytes));
}

// The example of CANN's chapter on device management: with ASCEND_RT_VISIBLE_DEVICES=1,3 the user's device 1 is the
// logical and physical device 3.
MP_ROLE(Visible) {
  int32_t id = -1;
  ROLE_CHECK(aclrtGetLogicDevIdByUserDevId(1, &id) == ACL_SUCCESS && id == 3);
  ROLE_CHECK(aclrtGetUserDevIdByLogicDevId(3, &id) == ACL_SUCCESS && id == 1);
  ROLE_CHECK(aclrtGetPhyDevIdByUserDevId(0, &id) == ACL_SUCCESS && id == 1);
  ROLE_CHECK(aclrtGetUserDevIdByPhyDevId(1, &id) == ACL_SUCCESS && id == 0);
  // "The semantics of the logical id in these two is wrong; it is the user's."
  ROLE_CHECK(aclrtGetLogicDevIdByPhyDevId(3, &id) == ACL_SUCCESS && id == 1);
  ROLE_CHECK(aclrtGetPhyDevIdByLogicDevId(1, &id) == ACL_SUCCESS && id == 3);
  ROLE_CHECK(aclrtGetUserDevIdByPhyDevId(0, &id) == ACL_ERROR_RT_INVALID_DEVICEID);
  ROLE_CHECK(aclrtGetLogicDevIdByUserDevId(2, &id) == ACL_ERROR_RT_INVALID_DEVICEID);
  ROLE_CHECK(aclrtGetLogicDevIdByUserDevId(0, nullptr) == ACL_ERROR_INVALID_PARAM);
  char bus[13] = {};
  ROLE_CHECK(aclrtDeviceGetPCIBusId(1, bus, sizeof(bus)) == ACL_SUCCESS && std::string(bus) == "0000:04:00.0");
  fwrite(Uuid(1).data(), 1, 16, stdout);
  return 0;
}
MP_ROLE(AllVisible) {
  fwrite(Uuid(3).data(), 1, 16, stdout);
  return 0;
}
TEST(Topology, IdsOfVisibleDevices) {
  const auto some = acl_test::RunRole("Visible", {{"MILLPOND_DEVICES", "4"}, {"ASCEND_RT_VISIBLE_DEVICES", "1,3"}});
  EXPECT_EQ(some.exit_code, 0) << some.output;
  // A physical device has one UUID, whatever a process calls it.
  const auto all = acl_test::RunRole("AllVisible", {{"MILLPOND_DEVICES", "4"}, {"ASCEND_RT_VISIBLE_DEVICES", ""}});
  EXPECT_EQ(all.exit_code, 0) << all.output;
  EXPECT_EQ(some.output, all.output);
}

MP_ROLE(Peers) {
  std::set<std::string> uuids;
  for (int32_t id = 0; id < 3; ++id) {
    uuids.insert(Uuid(id));
    char bus[16] = {};
    int32_t found = -1;
    ROLE_CHECK(aclrtDeviceGetPCIBusId(id, bus, sizeof(bus)) == ACL_SUCCESS && strlen(bus) == 12);
    ROLE_CHECK(aclrtDeviceGetByPCIBusId(bus, &found) == ACL_SUCCESS && found == id);
  }
  ROLE_CHECK(uuids.size() == 3);
  int32_t can = -1, status = -1;
  ROLE_CHECK(aclrtDeviceCanAccessPeer(&can, 0, 1) == ACL_SUCCESS && can == 1);
  // CANN's chapter on device management: the two ids must differ.
  ROLE_CHECK(aclrtDeviceCanAccessPeer(&can, 1, 1) == ACL_ERROR_RT_PARAM_INVALID);
  ROLE_CHECK(aclrtDeviceCanAccessPeer(&can, 0, 3) == ACL_ERROR_RT_INVALID_DEVICEID);
  ROLE_CHECK(aclrtDeviceCanAccessPeer(nullptr, 0, 1) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(aclrtDeviceEnablePeerAccess(1, 0) == ACL_ERROR_RT_CONTEXT_NULL);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDeviceEnablePeerAccess(1, 1) == ACL_ERROR_INVALID_PARAM);  // "flags must be 0"
  ROLE_CHECK(aclrtDeviceEnablePeerAccess(0, 0) == ACL_ERROR_RT_PARAM_INVALID);
  ROLE_CHECK(aclrtDeviceEnablePeerAccess(1, 0) == ACL_SUCCESS);
  // "It is one-way": from 0 to 1 only.
  ROLE_CHECK(aclrtDevicePeerAccessStatus(0, 1, &status) == ACL_SUCCESS && status == 1);
  ROLE_CHECK(aclrtDevicePeerAccessStatus(1, 0, &status) == ACL_SUCCESS && status == 0);
  ROLE_CHECK(aclrtDeviceDisablePeerAccess(1) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDevicePeerAccessStatus(0, 1, &status) == ACL_SUCCESS && status == 0);
  ROLE_CHECK(aclrtDevicePeerAccessStatus(0, 9, &status) == ACL_ERROR_RT_PARAM_INVALID);
  uint64_t topology = 0;
  ROLE_CHECK(aclrtGetDevicesTopo(0, 1, &topology) == ACL_SUCCESS && topology == ACL_RT_DEVS_TOPOLOGY_HCCS);
  ROLE_CHECK(aclrtGetDevicesTopo(0, 9, &topology) == ACL_ERROR_RT_INVALID_DEVICEID);
  // CANN's chapter on device management: a bus id needs 13 bytes.
  char small[12];
  int32_t found = -1;
  ROLE_CHECK(aclrtDeviceGetPCIBusId(0, small, sizeof(small)) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(aclrtDeviceGetByPCIBusId("0000:ff:00.0", &found) == ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(aclrtDeviceGetUuid(5, nullptr) == ACL_ERROR_INVALID_PARAM);
  return 0;
}
TEST(Topology, PeersBusesAndUuids) {
  const auto child = acl_test::RunRole("Peers", {{"MILLPOND_DEVICES", "3"}, {"MILLPOND_SOC", "Ascend910B3"}});
  EXPECT_EQ(child.exit_code, 0) << child.output;
}

}  // namespace

MP_TEST_MAIN()

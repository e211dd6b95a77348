// SPDX-License-Identifier: Apache-2.0
// Contexts: which is current where, and which owns which stream.
#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class ContextTest : public AclTest {
 protected:
  aclrtContext Current() {
    aclrtContext context = nullptr;
    EXPECT_EQ(aclrtGetCurrentContext(&context), ACL_SUCCESS) << RecentMessage();
    return context;
  }
};

// docs/compat.md, "What clients rely on": a thread starts with none: 107002, and *context is NULL because a client
// reads it all the same.
TEST_F(ContextTest, AThreadWithoutContextGetsNullAnd107002) {
  std::thread([] {
    aclrtContext context = reinterpret_cast<aclrtContext>(1);
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtGetCurrentContext(&context));
    EXPECT_EQ(context, nullptr);
    int32_t device = -5;
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtGetDevice(&device));
    EXPECT_EQ(ACL_ERROR_RT_CONTEXT_NULL, 107002);
    aclrtStream stream = nullptr;
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtCreateStream(&stream));
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtSynchronizeStream(nullptr));
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtSynchronizeDevice());
    aclrtEvent event = nullptr;
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtCreateEvent(&event));
  }).join();
}

// Page "aclrtSetDevice": threads that set the same device share its default context.
TEST_F(ContextTest, ThreadsOfOneDeviceShareTheDefaultContext) {
  const aclrtContext mine = Current();
  std::thread([&] {
    ACL_OK(aclrtSetDevice(0));
    EXPECT_EQ(Current(), mine);
    ACL_OK(aclrtResetDevice(0));
    EXPECT_EQ(Current(), mine);  // still set once by the other thread
  }).join();
}

// Page "aclrtCreateContext": the new context becomes the thread's; aclrtSetCurrentContext: the last call counts.
TEST_F(ContextTest, CreateMakesCurrentAndSetSwitches) {
  const aclrtContext primary = Current();
  aclrtContext one = nullptr;
  aclrtContext two = nullptr;
  ACL_REQUIRE_OK(aclrtCreateContext(&one, 0));
  EXPECT_EQ(Current(), one);
  ACL_REQUIRE_OK(aclrtCreateContext(&two, 0));
  EXPECT_EQ(Current(), two);
  EXPECT_NE(one, two);
  ACL_OK(aclrtSetCurrentContext(primary));
  ACL_OK(aclrtSetCurrentContext(one));
  EXPECT_EQ(Current(), one);
  std::thread([&] {
    ACL_OK(aclrtSetCurrentContext(two));  // CANN's chapter on context management: threads of the process may use it
    EXPECT_EQ(Current(), two);
  }).join();
  EXPECT_EQ(Current(), one);
  ACL_OK(aclrtDestroyContext(one));
  ACL_OK(aclrtDestroyContext(two));
  aclrtContext context = reinterpret_cast<aclrtContext>(1);
  ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtGetCurrentContext(&context));  // it was destroyed under this thread
  EXPECT_EQ(context, nullptr);
  ACL_OK(aclrtSetCurrentContext(primary));
  EXPECT_EQ(Current(), primary);
}

// Page "aclrtDestroyContext": only what aclrtCreateContext made.
TEST_F(ContextTest, OnlyExplicitContextsAreDestroyed) {
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDestroyContext(Current()));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDestroyContext(nullptr));
  aclrtContext context = nullptr;
  ACL_OK(aclrtCreateContext(&context, 0));
  ACL_OK(aclrtDestroyContext(context));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyContext(context));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtSetCurrentContext(context));
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtCreateContext(&context, 1000));
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtCreateContext(&context, -1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateContext(nullptr, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtSetCurrentContext(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetCurrentContext(nullptr));
  ACL_OK(aclrtSetDevice(0));
}

// docs/compat.md: a stream of another context is 107003 for every call that takes one.
TEST_F(ContextTest, AStreamOfAnotherContextIsRefused) {
  aclrtStream foreign = NewStream();
  const aclrtContext primary = Current();
  aclrtContext own = nullptr;
  ACL_OK(aclrtCreateContext(&own, 0));
  EXPECT_EQ(ACL_ERROR_RT_STREAM_CONTEXT, 107003);
  ACL_FAILS(ACL_ERROR_RT_STREAM_CONTEXT, aclrtSynchronizeStream(foreign));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CONTEXT, Launch(foreign, [] {}));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CONTEXT, aclrtDestroyStream(foreign));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CONTEXT, aclrtStreamAbort(foreign));
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  ACL_FAILS(ACL_ERROR_RT_STREAM_CONTEXT, aclrtStreamQuery(foreign, &status));
  aclrtEvent event = nullptr;
  ACL_OK(aclrtCreateEvent(&event));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CONTEXT, aclrtRecordEvent(event, foreign));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CONTEXT, aclrtStreamWaitEvent(foreign, event));
  ACL_OK(aclrtDestroyEvent(event));
  ACL_OK(aclrtDestroyContext(own));
  ACL_OK(aclrtSetCurrentContext(primary));
  ACL_OK(aclrtSynchronizeStream(foreign));
}

// Each context has a default stream of its own.
TEST_F(ContextTest, DefaultStreamsDiffer) {
  aclrtStream first = nullptr;
  aclrtStream second = nullptr;
  ACL_OK(aclrtCtxGetCurrentDefaultStream(&first));
  aclrtContext own = nullptr;
  ACL_OK(aclrtCreateContext(&own, 0));
  ACL_OK(aclrtCtxGetCurrentDefaultStream(&second));
  EXPECT_NE(first, second);
  std::atomic<bool> ran{false};
  ACL_OK(Launch(nullptr, [&] { ran = true; }));
  ACL_OK(aclrtSynchronizeStream(second));
  EXPECT_TRUE(ran.load());
  ACL_OK(aclrtDestroyContext(own));
  ACL_OK(aclrtSetDevice(0));
}

// Destroying a context waits for its streams and takes them along.
TEST_F(ContextTest, DestroyTakesItsStreamsAlong) {
  uint32_t before = 0;
  ACL_OK(aclrtGetStreamAvailableNum(&before));
  aclrtContext own = nullptr;
  ACL_OK(aclrtCreateContext(&own, 0));
  aclrtStream stream = nullptr;
  ACL_OK(aclrtCreateStream(&stream));
  std::atomic<bool> ran{false};
  ACL_OK(Launch(stream, [&] {
    std::this_thread::sleep_for(milliseconds(20));
    ran = true;
  }));
  ACL_OK(aclrtDestroyContext(own));
  EXPECT_TRUE(ran.load());
  ACL_OK(aclrtSetDevice(0));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtSynchronizeStream(stream));
  uint32_t after = 0;
  ACL_OK(aclrtGetStreamAvailableNum(&after));
  EXPECT_EQ(after, before);
}

// Page "aclrtCtxSetSysParamOpt": per context, no default (107021).
TEST_F(ContextTest, SystemParametersArePerContext) {
  int64_t value = -1;
  ACL_FAILS(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  ACL_OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
  ACL_OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 1);
  aclrtContext own = nullptr;
  ACL_OK(aclrtCreateContext(&own, 0));
  ACL_FAILS(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  ACL_OK(aclrtDestroyContext(own));
  ACL_OK(aclrtSetDevice(0));
}

// Page "aclrtCreateContext" without aclrtSetDevice: the device's own default stream is taken into account too.
TEST(ContextAlone, AnExplicitContextBindsTheDevicesDefaultStreamToo) { ExpectRole("context_alone"); }

MP_ROLE(context_alone) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  int32_t active = -1;
  ROLE_CHECK(aclrtGetPrimaryCtxState(0, nullptr, &active) == ACL_SUCCESS && active == 0);
  aclrtContext context = nullptr;
  ROLE_CHECK(aclrtCreateContext(&context, 0) == ACL_SUCCESS);
  uint32_t available = 0;
  ROLE_CHECK(aclrtGetStreamAvailableNum(&available) == ACL_SUCCESS && available == 1982);
  // Another context takes one stream, not two; and aclrtSetDevice the one that was kept for it.
  aclrtContext second = nullptr;
  ROLE_CHECK(aclrtCreateContext(&second, 0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtGetStreamAvailableNum(&available) == ACL_SUCCESS && available == 1981);
  aclrtStream stream = nullptr;
  for (int i = 0; i < 1981; ++i) ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_ERROR_RT_NO_STREAM_RESOURCE);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtGetPrimaryCtxState(0, nullptr, &active) == ACL_SUCCESS && active == 1);
  ROLE_CHECK(aclrtGetStreamAvailableNum(&available) == ACL_SUCCESS && available == 0);
  ROLE_CHECK(aclrtDestroyContext(second) == ACL_SUCCESS);
  ROLE_CHECK(aclrtGetStreamAvailableNum(&available) == ACL_SUCCESS && available == 1982);
  ROLE_CHECK(aclrtDestroyContext(context) == ACL_SUCCESS);
  ROLE_CHECK(aclrtGetStreamAvailableNum(&available) == ACL_SUCCESS && available == 1983);
  return aclrtResetDevice(0);
}

// Page "aclrtSetCurrentContext": the device follows the context; and the other way round.
TEST(ContextDevices, SwitchingTheContextSwitchesTheDevice) { ExpectRole("switch_device", {{"MILLPOND_DEVICES", "2"}}); }

MP_ROLE(switch_device) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  aclrtContext zero = nullptr;
  aclrtContext one = nullptr;
  int32_t device = -1;
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS && aclrtGetCurrentContext(&zero) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateContext(&one, 1) == ACL_SUCCESS);
  ROLE_CHECK(aclrtGetDevice(&device) == ACL_SUCCESS && device == 1);
  ROLE_CHECK(aclrtSetCurrentContext(zero) == ACL_SUCCESS);
  ROLE_CHECK(aclrtGetDevice(&device) == ACL_SUCCESS && device == 0);
  // Setting the device selects its default context, not the explicit one.
  aclrtContext now = nullptr;
  ROLE_CHECK(aclrtSetDevice(1) == ACL_SUCCESS && aclrtGetCurrentContext(&now) == ACL_SUCCESS);
  ROLE_CHECK(now != one && now != zero);
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_STREAM_CONTEXT);
  // An event made on one device orders streams of another.
  aclrtEvent event = nullptr;
  aclrtStream here = nullptr;
  ROLE_CHECK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateStream(&here) == ACL_SUCCESS);
  std::atomic<int> clock{0};
  std::atomic<int> first{0};
  std::atomic<int> second{0};
  ROLE_CHECK(Launch(here, [&] {
               std::this_thread::sleep_for(milliseconds(10));
               first = ++clock;
             }) == ACL_SUCCESS);
  ROLE_CHECK(aclrtRecordEvent(event, here) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(1) == ACL_SUCCESS);
  ROLE_CHECK(aclrtStreamWaitEvent(stream, event) == ACL_SUCCESS);
  ROLE_CHECK(Launch(stream, [&] { second = ++clock; }) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
  ROLE_CHECK(first.load() == 1 && second.load() == 2);
  return 0;
}

}  // namespace

MP_TEST_MAIN()

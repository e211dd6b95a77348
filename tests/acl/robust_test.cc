// SPDX-License-Identifier: Apache-2.0
// Every entry point of streams, events, notifies, callbacks, devices and contexts with what a confused client may
// pass: nulls, garbage, handles of another kind, dead handles; from several threads at once. Nothing may crash, hang or
// succeed.
#include <pthread.h>

#include <random>

#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

// A call that takes one handle, by what the handle should be.
struct Entry {
  const char* name;
  char kind;  // S stream, E event, C context, N notify, M count notify
  std::function<int(void*)> call;
};

// A call that writes one value of the handle.
template <class Value>
std::function<int(void*)> Tells(aclError (*call)(void*, Value*)) {
  return [call](void* h) {
    Value value;
    return call(h, &value);
  };
}

std::vector<Entry> EventEntries() {
  return {
      {"aclrtDestroyEvent", 'E', [](void* h) { return aclrtDestroyEvent(h); }},
      {"aclrtRecordEvent", 'E', [](void* h) { return aclrtRecordEvent(h, nullptr); }},
      {"aclrtRecordEventWithFlag", 'E', [](void* h) { return aclrtRecordEventWithFlag(h, nullptr, 0); }},
      {"aclrtResetEvent", 'E', [](void* h) { return aclrtResetEvent(h, nullptr); }},
      {"aclrtStreamWaitEvent", 'E', [](void* h) { return aclrtStreamWaitEvent(nullptr, h); }},
      {"aclrtStreamWaitEventWithTimeout", 'E', [](void* h) { return aclrtStreamWaitEventWithTimeout(nullptr, h, 1); }},
      {"aclrtStreamWaitEventWithFlag", 'E', [](void* h) { return aclrtStreamWaitEventWithFlag(nullptr, h, 1, 0); }},
      {"aclrtQueryEvent", 'E', Tells(aclrtQueryEvent)},
      {"aclrtQueryEventStatus", 'E', Tells(aclrtQueryEventStatus)},
      {"aclrtQueryEventWaitStatus", 'E', Tells(aclrtQueryEventWaitStatus)},
      {"aclrtSynchronizeEvent", 'E', [](void* h) { return aclrtSynchronizeEvent(h); }},
      {"aclrtSynchronizeEventWithTimeout", 'E', [](void* h) { return aclrtSynchronizeEventWithTimeout(h, 1); }},
      {"aclrtEventElapsedTime", 'E',
       [](void* h) {
         float ms;
         return aclrtEventElapsedTime(&ms, h, h);
       }},
      {"aclrtEventGetTimestamp", 'E', Tells(aclrtEventGetTimestamp)},
      {"aclrtGetEventId", 'E', Tells(aclrtGetEventId)},
  };
}

void Nothing(void*) {}

// Calls for which null is the default stream are only tried with other wrong handles.
std::vector<Entry> StreamEntries() {
  return {
      {"aclrtDestroyStream", 'S', [](void* h) { return aclrtDestroyStream(h); }},
      {"aclrtDestroyStreamForce", 'S', [](void* h) { return aclrtDestroyStreamForce(h); }},
      {"aclrtSynchronizeStream", 's', [](void* h) { return aclrtSynchronizeStream(h); }},
      {"aclrtSynchronizeStreamWithTimeout", 's', [](void* h) { return aclrtSynchronizeStreamWithTimeout(h, 1); }},
      {"aclrtStreamQuery", 's', Tells(aclrtStreamQuery)},
      {"aclrtStreamAbort", 'S', [](void* h) { return aclrtStreamAbort(h); }},
      {"aclrtStreamGetId", 's', Tells(aclrtStreamGetId)},
      {"aclrtStreamGetPriority", 's', Tells(aclrtStreamGetPriority)},
      {"aclrtStreamGetFlags", 's', Tells(aclrtStreamGetFlags)},
      {"aclrtSetStreamFailureMode", 's', [](void* h) { return aclrtSetStreamFailureMode(h, 0); }},
      {"aclrtSetStreamOverflowSwitch", 's', [](void* h) { return aclrtSetStreamOverflowSwitch(h, 0); }},
      {"aclrtGetStreamOverflowSwitch", 's', Tells(aclrtGetStreamOverflowSwitch)},
      {"aclrtSubscribeReport", 's', [](void* h) { return aclrtSubscribeReport(1, h); }},
      {"aclrtUnSubscribeReport", 'S', [](void* h) { return aclrtUnSubscribeReport(1, h); }},
      {"aclrtSubscribeHostFunc", 's', [](void* h) { return aclrtSubscribeHostFunc(1, h); }},
      {"aclrtUnSubscribeHostFunc", 'S', [](void* h) { return aclrtUnSubscribeHostFunc(1, h); }},
      {"aclrtLaunchCallback", 'S',
       [](void* h) { return aclrtLaunchCallback(Nothing, nullptr, ACL_CALLBACK_BLOCK, h); }},
      {"aclrtLaunchHostFunc", 's', [](void* h) { return aclrtLaunchHostFunc(h, Nothing, nullptr); }},
      {"millpond_launch", 's', [](void* h) { return millpond_launch(h, "Fuzz", Nothing, nullptr); }},
      {"aclrtDestroyContext", 'C', [](void* h) { return aclrtDestroyContext(h); }},
      {"aclrtSetCurrentContext", 'C', [](void* h) { return aclrtSetCurrentContext(h); }},
      {"aclrtDestroyNotify", 'N', [](void* h) { return aclrtDestroyNotify(h); }},
      {"aclrtRecordNotify", 'N', [](void* h) { return aclrtRecordNotify(h, nullptr); }},
      {"aclrtWaitAndResetNotify", 'N', [](void* h) { return aclrtWaitAndResetNotify(h, nullptr, 1); }},
      {"aclrtNotifyBatchReset", 'N', [](void* h) { return aclrtNotifyBatchReset(&h, 1); }},
      {"aclrtGetNotifyId", 'N', Tells(aclrtGetNotifyId)},
      {"aclrtCntNotifyDestroy", 'M', [](void* h) { return aclrtCntNotifyDestroy(h); }},
      {"aclrtCntNotifyReset", 'M', [](void* h) { return aclrtCntNotifyReset(h, nullptr); }},
      {"aclrtCntNotifyRecord", 'M',
       [](void* h) {
         aclrtCntNotifyRecordInfo info{};
         return aclrtCntNotifyRecord(h, nullptr, &info);
       }},
      {"aclrtCntNotifyWaitWithTimeout", 'M',
       [](void* h) {
         aclrtCntNotifyWaitInfo info{};
         return aclrtCntNotifyWaitWithTimeout(h, nullptr, &info);
       }},
      {"aclrtCntNotifyGetId", 'M', Tells(aclrtCntNotifyGetId)},
  };
}

std::vector<Entry> AllEntries() {
  std::vector<Entry> entries = EventEntries();
  for (Entry& entry : StreamEntries()) entries.push_back(std::move(entry));
  return entries;
}

class RobustTest : public AclTest {
 protected:
  // Live and dead handles of every kind, by the letter of Entry::kind.
  void SetUp() override {
    AclTest::SetUp();
    live_['S'] = NewStream();
    live_['E'] = NewEvent();
    ACL_REQUIRE_OK(aclrtGetCurrentContext(&live_['C']));
    ACL_REQUIRE_OK(aclrtCreateNotify(&live_['N'], 0));
    ACL_REQUIRE_OK(aclrtCntNotifyCreate(&live_['M'], 0));
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    aclrtContext context = nullptr;
    aclrtNotify notify = nullptr;
    aclrtCntNotify count = nullptr;
    ACL_OK(aclrtCreateStream(&stream));
    ACL_OK(aclrtDestroyStream(stream));
    ACL_OK(aclrtCreateEvent(&event));
    ACL_OK(aclrtDestroyEvent(event));
    ACL_OK(aclrtCreateContext(&context, 0));
    ACL_OK(aclrtDestroyContext(context));
    ACL_OK(aclrtSetCurrentContext(live_['C']));
    ACL_OK(aclrtCreateNotify(&notify, 0));
    ACL_OK(aclrtDestroyNotify(notify));
    ACL_OK(aclrtCntNotifyCreate(&count, 0));
    ACL_OK(aclrtCntNotifyDestroy(count));
    dead_ = {stream, event, context, notify, count};
  }
  void TearDown() override {
    ACL_OK(aclrtDestroyNotify(live_['N']));
    ACL_OK(aclrtCntNotifyDestroy(live_['M']));
    AclTest::TearDown();
  }
  std::vector<void*> Wrong(char kind) {
    std::vector<void*> wrong = dead_;
    for (const auto& [letter, handle] : live_) {
      if (letter != std::toupper(kind)) wrong.push_back(handle);
    }
    static int local = 0;
    for (const uintptr_t bits :
         {uintptr_t{1}, uintptr_t{0x10}, uintptr_t{0xDEADBEEF}, ~uintptr_t{0}, reinterpret_cast<uintptr_t>(&local),
          uintptr_t{0x5100000000000000}, uintptr_t{0x51FFFFFFFFFFFFFF}, uintptr_t{0x52000001FFFFFFFF},
          reinterpret_cast<uintptr_t>(live_['S']) ^ 0x100000, reinterpret_cast<uintptr_t>(live_['E']) + 0x100000,
          reinterpret_cast<uintptr_t>(live_['S']) + (uintptr_t{1} << 32)}) {
      wrong.push_back(reinterpret_cast<void*>(bits));
    }
    if (std::isupper(kind)) wrong.push_back(nullptr);
    return wrong;
  }
  std::map<char, void*> live_;
  std::vector<void*> dead_;
};

TEST_F(RobustTest, WrongHandlesAreRefusedEverywhere) {
  for (const Entry& entry : AllEntries()) {
    for (void* handle : Wrong(entry.kind)) {
      const int code = entry.call(handle);
      EXPECT_NE(code, ACL_SUCCESS) << entry.name << "(" << handle << ")";
      EXPECT_TRUE(code == ACL_ERROR_INVALID_PARAM || code == ACL_ERROR_RT_INVALID_HANDLE ||
                  code == ACL_ERROR_RT_STREAM_SUBSCRIBE || code == ACL_ERROR_RT_STREAM_NO_CB_REG)
          << entry.name << "(" << handle << ") answers " << code;
      EXPECT_FALSE(RecentMessage().empty()) << entry.name;
    }
  }
  ACL_OK(aclrtSynchronizeDevice());
}

TEST_F(RobustTest, WrongHandlesFromFourThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      ACL_OK(aclrtSetCurrentContext(live_['C']));
      const std::vector<Entry> entries = AllEntries();
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < (MP_SANITIZED ? 1500 : 10000); ++i) {
        const Entry& entry = entries[random() % entries.size()];
        const std::vector<void*> wrong = Wrong(entry.kind);
        void* handle = wrong[random() % wrong.size()];
        ASSERT_NE(entry.call(handle), ACL_SUCCESS) << entry.name << "(" << handle << ")";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ACL_OK(aclrtSynchronizeDevice());
}

TEST_F(RobustTest, NullOutputsAreRefused) {
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateStream(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateStreamWithConfig(nullptr, 0, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateEvent(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateEventWithFlag(nullptr, 1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateContext(nullptr, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCntNotifyCreate(nullptr, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtStreamGetId(nullptr, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtStreamGetPriority(nullptr, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtStreamGetFlags(nullptr, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetStreamAvailableNum(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetEventAvailNum(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtQueryEvent(live_['E'], nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtQueryEventStatus(live_['E'], nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtQueryEventWaitStatus(live_['E'], nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtEventGetTimestamp(live_['E'], nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetEventId(live_['E'], nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCtxGetCurrentDefaultStream(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetPrimaryCtxState(0, nullptr, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, millpond_launch(nullptr, "Null", nullptr, nullptr));
}

// Four threads make, use, pass round and destroy the same few handles: each destroy succeeds once.
TEST_F(RobustTest, SharedHandlesAreDestroyedOnce) {
  for (int round = 0; round < (MP_SANITIZED ? 10 : 50); ++round) {
    std::vector<aclrtStream> streams(8);
    std::vector<aclrtEvent> events(8);
    for (aclrtStream& stream : streams) ACL_OK(aclrtCreateStream(&stream));
    for (aclrtEvent& event : events) ACL_OK(aclrtCreateEvent(&event));
    std::atomic<int> destroyed{0};
    std::atomic<int> launched{0};
    std::atomic<int> ran{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        ACL_OK(aclrtSetCurrentContext(live_['C']));
        for (size_t i = 0; i < streams.size(); ++i) {
          const int code = millpond_launch(
              streams[i], "Count", [](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }, &ran);
          if (code == ACL_SUCCESS) launched.fetch_add(1);
          (void)aclrtRecordEvent(events[i], streams[i]);
          (void)aclrtStreamWaitEvent(streams[i], events[i]);
          if (aclrtDestroyEvent(events[i]) == ACL_SUCCESS) destroyed.fetch_add(1);
          if (aclrtDestroyStream(streams[i]) == ACL_SUCCESS) destroyed.fetch_add(1);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(destroyed.load(), 16);
    // A launch that raced with the destroy may have come just after it; either way none is lost.
    EXPECT_TRUE(Eventually([&] { return ran.load() == launched.load(); }));
  }
}

// The device is reset and set again while other threads work on it: errors, nothing worse.
TEST(RobustReset, ResetUnderLoad) {
  ACL_REQUIRE_OK(aclInit(nullptr));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      std::atomic<int> ran{0};
      int launched = 0;
      while (!stop.load()) {
        if (aclrtSetDevice(0) != ACL_SUCCESS) continue;
        aclrtStream stream = nullptr;
        aclrtEvent event = nullptr;
        if (aclrtCreateStream(&stream) == ACL_SUCCESS && aclrtCreateEvent(&event) == ACL_SUCCESS) {
          for (int i = 0; i < 20; ++i) {
            if (millpond_launch(
                    stream, "Count", [](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); }, &ran) ==
                ACL_SUCCESS) {
              ++launched;
            }
          }
          (void)aclrtRecordEvent(event, stream);
          (void)aclrtSynchronizeStream(stream);
          (void)aclrtDestroyStream(stream);
        }
        if (event != nullptr) ACL_OK(aclrtDestroyEvent(event));
        (void)aclrtResetDevice(0);
      }
      EXPECT_TRUE(Eventually([&] { return ran.load() == launched; })) << ran.load() << " of " << launched;
    });
  }
  const auto until = Clock::now() + milliseconds(MP_SANITIZED ? 500 : 1000);
  while (Clock::now() < until) {
    (void)aclrtResetDeviceForce(0);
    std::this_thread::sleep_for(milliseconds(1));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  while (aclrtResetDevice(0) == ACL_SUCCESS) {
  }
  ACL_OK(aclrtSetDevice(0));
  uint32_t available = 0;
  ACL_OK(aclrtGetStreamAvailableNum(&available));
  EXPECT_EQ(available, 1983u);  // no stream was lost on the way
  ACL_OK(aclrtResetDevice(0));
  ACL_OK(aclFinalize());
}

// After aclFinalize every call still answers; handles made before it are still distinguished from garbage.
TEST(RobustFinalize, EveryEntryPointSurvivesFinalize) {
  ACL_REQUIRE_OK(aclInit(nullptr));
  ACL_REQUIRE_OK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  ACL_OK(aclrtCreateStream(&stream));
  ACL_OK(aclrtResetDevice(0));
  ACL_OK(aclFinalize());
  for (const Entry& entry : AllEntries()) {
    for (void* handle : {stream, reinterpret_cast<void*>(0x1234)}) {
      EXPECT_NE(entry.call(handle), ACL_SUCCESS) << entry.name;
    }
  }
  ACL_FAILS(ACL_ERROR_REPEAT_FINALIZE, aclFinalize());
}

}  // namespace

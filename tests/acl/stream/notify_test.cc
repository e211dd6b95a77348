// SPDX-License-Identifier: Apache-2.0
// Notifies and count notifies.
#include "tests/acl/acl_test.h"

namespace {

using namespace acl_test;  // NOLINT: the suite's own helpers

class NotifyTest : public AclTest {};

// Page "aclrtWaitAndResetNotify": holds the stream until the record, then takes it back to unrecorded.
TEST_F(NotifyTest, WaitTakesTheRecordAndResets) {
  aclrtNotify notify = nullptr;
  ACL_REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
  aclrtStream source = NewStream();
  aclrtStream waiter = NewStream();
  std::atomic<int> ran{0};
  ACL_OK(aclrtWaitAndResetNotify(notify, waiter, 0));
  ACL_OK(Launch(waiter, [&] { ran.fetch_add(1); }));
  EXPECT_TRUE(Held(waiter));
  EXPECT_EQ(ran.load(), 0);
  ACL_OK(aclrtRecordNotify(notify, source));
  ACL_OK(aclrtSynchronizeStream(waiter));
  EXPECT_EQ(ran.load(), 1);
  // It was reset: the next wait needs its own record. A record may come first, and two count as one (CANN's chapter on
  // count notifies: a notify counts to 1 only).
  ACL_OK(aclrtRecordNotify(notify, source));
  ACL_OK(aclrtRecordNotify(notify, source));
  ACL_OK(aclrtSynchronizeStream(source));
  ACL_OK(aclrtWaitAndResetNotify(notify, waiter, 0));
  ACL_OK(aclrtSynchronizeStream(waiter));
  ACL_OK(aclrtWaitAndResetNotify(notify, waiter, 0));
  EXPECT_TRUE(Held(waiter));
  ACL_OK(aclrtRecordNotify(notify, nullptr));
  ACL_OK(aclrtSynchronizeStream(waiter));
  ACL_OK(aclrtDestroyNotify(notify));
}

// CANN's chapter on notify management: of two waits one record frees one.
TEST_F(NotifyTest, OneRecordFreesOneWaiter) {
  aclrtNotify notify = nullptr;
  ACL_REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
  std::atomic<int> ran{0};
  std::vector<aclrtStream> waiters = {NewStream(), NewStream(), NewStream()};
  for (aclrtStream waiter : waiters) {
    ACL_OK(aclrtWaitAndResetNotify(notify, waiter, 0));
    ACL_OK(Launch(waiter, [&] { ran.fetch_add(1); }));
  }
  for (int expected = 1; expected <= 3; ++expected) {
    ACL_OK(aclrtRecordNotify(notify, nullptr));
    EXPECT_TRUE(Eventually([&] { return ran.load() == expected; }));
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_EQ(ran.load(), expected);
  }
  ACL_OK(aclrtSynchronizeDevice());
  ACL_OK(aclrtDestroyNotify(notify));
}

// Page "aclrtWaitAndResetNotify": seconds, 0 for ever; what runs out shows at the synchronisation.
TEST_F(NotifyTest, WaitTimesOutAtTheSynchronisation) {
  aclrtNotify notify = nullptr;
  ACL_REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
  aclrtStream waiter = NewStream();
  ACL_OK(aclrtWaitAndResetNotify(notify, waiter, 1));
  const auto start = Clock::now();
  ACL_FAILS(ACL_ERROR_RT_WAIT_TIMEOUT, aclrtSynchronizeStream(waiter));
  EXPECT_GE(Clock::now() - start, milliseconds(900));
  ACL_OK(aclrtSynchronizeStream(waiter));
  ACL_OK(aclrtDestroyNotify(notify));
}

TEST_F(NotifyTest, BatchResetTakesRecordsBack) {
  aclrtNotify notifies[2] = {};
  for (aclrtNotify& notify : notifies) ACL_REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
  for (aclrtNotify notify : notifies) ACL_OK(aclrtRecordNotify(notify, nullptr));
  ACL_OK(aclrtSynchronizeStream(nullptr));
  ACL_OK(aclrtNotifyBatchReset(notifies, 2));
  aclrtStream waiter = NewStream();
  ACL_OK(aclrtWaitAndResetNotify(notifies[1], waiter, 0));
  EXPECT_TRUE(Held(waiter));
  ACL_OK(aclrtRecordNotify(notifies[1], nullptr));
  ACL_OK(aclrtSynchronizeStream(waiter));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtNotifyBatchReset(nullptr, 2));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtNotifyBatchReset(notifies, 0));
  for (aclrtNotify notify : notifies) ACL_OK(aclrtDestroyNotify(notify));
}

TEST_F(NotifyTest, HandlesAreChecked) {
  aclrtNotify notify = nullptr;
  aclrtCntNotify count = nullptr;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateNotify(nullptr, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCreateNotify(&notify, 2));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCntNotifyCreate(&count, 1));
  ACL_REQUIRE_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEVICE_USE_ONLY));
  ACL_REQUIRE_OK(aclrtCntNotifyCreate(&count, 0));
  uint32_t one = 0;
  ACL_OK(aclrtGetNotifyId(notify, &one));
  ACL_OK(aclrtCntNotifyGetId(count, &one));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetNotifyId(notify, nullptr));
  // One kind is not the other, and neither is an event.
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtGetNotifyId(count, &one));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtCntNotifyReset(notify, nullptr));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtRecordNotify(NewEvent(), nullptr));
  ACL_OK(aclrtDestroyNotify(notify));
  ACL_OK(aclrtCntNotifyDestroy(count));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtDestroyNotify(notify));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtCntNotifyDestroy(count));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtWaitAndResetNotify(notify, nullptr, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtDestroyNotify(nullptr));
}

// A destroyed notify still frees the stream that waits for its record.
TEST_F(NotifyTest, DestroyDoesNotLoseWhatIsQueued) {
  aclrtNotify notify = nullptr;
  ACL_REQUIRE_OK(aclrtCreateNotify(&notify, 0));
  aclrtStream source = NewStream();
  aclrtStream waiter = NewStream();
  Hold hold;
  ACL_OK(hold.On(source));
  ACL_OK(aclrtWaitAndResetNotify(notify, waiter, 0));
  ACL_OK(aclrtRecordNotify(notify, source));
  ACL_OK(aclrtDestroyNotify(notify));
  hold.Release();
  ACL_OK(aclrtSynchronizeStream(waiter));
}

// Page "aclrtCreateNotify": 8192 per device on the A2 family, 207009 beyond.
TEST_F(NotifyTest, DeviceHasSoManyNotifies) {
  std::vector<aclrtNotify> notifies(8192);
  for (aclrtNotify& notify : notifies) ACL_REQUIRE_OK(aclrtCreateNotify(&notify, 0));
  aclrtNotify extra = nullptr;
  ACL_FAILS(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, aclrtCreateNotify(&extra, 0));
  EXPECT_EQ(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, 207009);
  EXPECT_NE(RecentMessage().find("8192"), std::string::npos);
  ACL_OK(aclrtDestroyNotify(notifies.back()));
  ACL_OK(aclrtCreateNotify(&notifies.back(), 0));
  for (aclrtNotify notify : notifies) ACL_OK(aclrtDestroyNotify(notify));
}

class CountNotifyTest : public NotifyTest {
 protected:
  void SetUp() override {
    NotifyTest::SetUp();
    ACL_REQUIRE_OK(aclrtCntNotifyCreate(&notify_, 0));
    source_ = NewStream();
    waiter_ = NewStream();
  }
  void TearDown() override {
    ACL_OK(aclrtCntNotifyDestroy(notify_));
    NotifyTest::TearDown();
  }
  void Record(aclrtCntNotifyRecordMode mode, uint32_t value) {
    aclrtCntNotifyRecordInfo info{mode, value};
    ACL_OK(aclrtCntNotifyRecord(notify_, source_, &info));
    ACL_OK(aclrtSynchronizeStream(source_));
  }
  void Set(uint32_t value) { Record(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, value); }
  // Whether a wait in this mode for this value passes at the present count; the waiter is free again afterwards.
  bool Passes(aclrtCntNotifyWaitMode mode, uint32_t value, bool clear = false) {
    aclrtCntNotifyWaitInfo info{};
    info.mode = mode;
    info.value = value;
    info.isClear = clear ? 1 : 0;
    ACL_OK(aclrtCntNotifyWaitWithTimeout(notify_, waiter_, &info));
    const bool held = Held(waiter_);
    if (held) {
      ACL_OK(aclrtStreamAbort(waiter_));
      EXPECT_EQ(aclrtSynchronizeStream(waiter_), ACL_ERROR_RT_STREAM_ABORT);
    }
    return !held;
  }
  bool CountIs(uint32_t value) { return Passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, value); }

  aclrtCntNotify notify_ = nullptr;
  aclrtStream source_ = nullptr;
  aclrtStream waiter_ = nullptr;
};

// Page "aclrtCntNotifyRecordMode".
TEST_F(CountNotifyTest, RecordModes) {
  EXPECT_TRUE(CountIs(0));
  Set(6);
  EXPECT_TRUE(CountIs(6));
  Record(ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 4);
  EXPECT_TRUE(CountIs(10));
  Record(ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE, 0x21);
  EXPECT_TRUE(CountIs(0x2B));
  Record(ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE, 0x22);
  EXPECT_TRUE(CountIs(0x22));
  EXPECT_FALSE(CountIs(0x21));
  ACL_OK(aclrtCntNotifyReset(notify_, source_));  // Page "aclrtCntNotifyReset": back to 0, in stream order
  ACL_OK(aclrtSynchronizeStream(source_));
  EXPECT_TRUE(CountIs(0));
  aclrtCntNotifyRecordInfo info{static_cast<aclrtCntNotifyRecordMode>(3), 1};
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCntNotifyRecord(notify_, source_, &info));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCntNotifyRecord(notify_, source_, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCntNotifyRecord(nullptr, source_, &info));
}

// Page "aclrtCntNotifyWaitMode".
TEST_F(CountNotifyTest, WaitModes) {
  Set(10);
  EXPECT_TRUE(Passes(ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE, 11));
  EXPECT_FALSE(Passes(ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE, 10));
  EXPECT_TRUE(Passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 10));
  EXPECT_FALSE(Passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 9));
  EXPECT_TRUE(Passes(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 9));
  EXPECT_FALSE(Passes(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 10));
  EXPECT_TRUE(Passes(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 10));
  EXPECT_FALSE(Passes(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 11));
  EXPECT_TRUE(Passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, 0x8));
  EXPECT_FALSE(Passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, 0x9));
  EXPECT_TRUE(CountIs(10));  // isClear 0 leaves the count
  EXPECT_TRUE(Passes(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 1, true));
  EXPECT_TRUE(CountIs(0));  // Page "aclrtCntNotifyWaitInfo": isClear 1 empties it
}

TEST_F(CountNotifyTest, WaitIsFreedByALaterRecord) {
  std::atomic<bool> ran{false};
  aclrtCntNotifyWaitInfo info{};
  info.mode = ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE;
  info.value = 3;
  ACL_OK(aclrtCntNotifyWaitWithTimeout(notify_, waiter_, &info));
  ACL_OK(Launch(waiter_, [&] { ran = true; }));
  Record(ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1);
  Record(ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1);
  EXPECT_TRUE(Held(waiter_));
  Record(ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 1);
  ACL_OK(aclrtSynchronizeStream(waiter_));
  EXPECT_TRUE(ran.load());
}

TEST_F(CountNotifyTest, WaitTimesOut) {
  aclrtCntNotifyWaitInfo info{};
  info.mode = ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE;
  info.value = 1;
  info.timeout = 1;  // seconds (CANN's chapter on structs)
  ACL_OK(aclrtCntNotifyWaitWithTimeout(notify_, waiter_, &info));
  // Records that do not satisfy it wake the wait in vain; the deadline must hold all the same.
  Set(7);
  ACL_FAILS(ACL_ERROR_RT_WAIT_TIMEOUT, aclrtSynchronizeStream(waiter_));
  info.mode = static_cast<aclrtCntNotifyWaitMode>(5);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCntNotifyWaitWithTimeout(notify_, waiter_, &info));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCntNotifyWaitWithTimeout(notify_, waiter_, nullptr));
}

}  // namespace

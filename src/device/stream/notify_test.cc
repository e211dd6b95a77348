// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/notify.h"

#include <gtest/gtest.h>

#include "src/device/testing.h"

namespace millpond {
namespace {

class NotifyUnitTest : public DeviceTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(DeviceTest::SetUp());
    ASSERT_TRUE(CreateNotify(device_, false, &handle_).ok());
    ASSERT_TRUE(FindNotify(handle_, false, &notify_).ok());
  }
  void TearDown() override {
    EXPECT_TRUE(DestroyNotify(handle_, false).ok());
    DeviceTest::TearDown();
  }
  void* handle_ = nullptr;
  Notify* notify_ = nullptr;
};

TEST_F(NotifyUnitTest, AWordInSharedMemoryFreesTheWaitWhoeverWritesIt) {
  std::atomic<uint32_t> word{0};
  notify_->Share(&word, nullptr);
  ASSERT_TRUE(notify_->Wait(stream_, CountWait::kEqual, 1, true, 0).ok());
  EXPECT_FALSE(stream_->drained());
  word.store(1);  // as another process would
  ASSERT_TRUE(Sync(stream_).ok());
  EXPECT_EQ(word.load(), 0u);  // taken
  ASSERT_TRUE(notify_->Record(stream_, CountRecord::kSet, 1).ok());
  ASSERT_TRUE(Sync(stream_).ok());
  EXPECT_EQ(word.load(), 1u);
}

TEST_F(NotifyUnitTest, SharingCarriesTheRecordAlong) {
  ASSERT_TRUE(notify_->Record(stream_, CountRecord::kSet, 1).ok());
  ASSERT_TRUE(Sync(stream_).ok());
  std::atomic<uint32_t> word{0};
  notify_->Share(&word, nullptr);
  EXPECT_TRUE(notify_->shared());
  EXPECT_EQ(word.load(), 1u);
  notify_->ResetNow();
  EXPECT_EQ(word.load(), 0u);
}

TEST_F(NotifyUnitTest, TheCountOfADeviceComesBack) {
  const uint32_t before = device_->live_notifies.load();
  void* handle = nullptr;
  ASSERT_TRUE(CreateNotify(device_, true, &handle).ok());
  EXPECT_EQ(device_->live_notifies.load(), before + 1);
  ASSERT_TRUE(DestroyNotify(handle, true).ok());
  EXPECT_EQ(device_->live_notifies.load(), before);
  EXPECT_EQ(DestroyNotify(handle, true).code(), Code::kInvalidHandle);
}

}  // namespace
}  // namespace millpond

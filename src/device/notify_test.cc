// SPDX-License-Identifier: Apache-2.0
#include "src/device/notify.h"

#include <gtest/gtest.h>

#include "src/device/device.h"
#include "src/device/runtime.h"
#include "src/device/stream.h"

namespace millpond {
namespace {

class NotifyUnitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Runtime* runtime = nullptr;
    ASSERT_TRUE(Runtime::Get(&runtime).ok());
    device_ = runtime->device(0);
    ASSERT_TRUE(device_->RetainPrimary(&context_).ok());
    ASSERT_TRUE(device_->CreateStream(context_, 0, 0, false, &stream_).ok());
    ASSERT_TRUE(CreateNotify(device_, false, &handle_).ok());
    ASSERT_TRUE(FindNotify(handle_, false, &notify_).ok());
  }
  void TearDown() override {
    EXPECT_TRUE(DestroyNotify(handle_, false).ok());
    EXPECT_TRUE(device_->ReleasePrimary(true).ok());
  }
  Status Sync() { return stream_->Synchronize(std::nullopt, Code::kStreamSyncTimeout); }

  Device* device_ = nullptr;
  Context* context_ = nullptr;
  Stream* stream_ = nullptr;
  void* handle_ = nullptr;
  Notify* notify_ = nullptr;
};

TEST_F(NotifyUnitTest, AWordInSharedMemoryFreesTheWaitWhoeverWritesIt) {
  std::atomic<uint32_t> word{0};
  notify_->Share(&word);
  ASSERT_TRUE(notify_->Wait(stream_, CountWait::kEqual, 1, true, 0).ok());
  EXPECT_FALSE(stream_->drained());
  word.store(1);  // as another process would
  ASSERT_TRUE(Sync().ok());
  EXPECT_EQ(word.load(), 0u);  // taken
  ASSERT_TRUE(notify_->Record(stream_, CountRecord::kSet, 1).ok());
  ASSERT_TRUE(Sync().ok());
  EXPECT_EQ(word.load(), 1u);
}

TEST_F(NotifyUnitTest, SharingCarriesTheRecordAlong) {
  ASSERT_TRUE(notify_->Record(stream_, CountRecord::kSet, 1).ok());
  ASSERT_TRUE(Sync().ok());
  std::atomic<uint32_t> word{0};
  notify_->Share(&word);
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

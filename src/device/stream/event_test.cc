// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/event.h"

#include <gtest/gtest.h>

#include <thread>

#include "src/device/testing.h"

namespace millpond {
namespace {

class EventUnitTest : public DeviceTest {};

TEST_F(EventUnitTest, MakingsDecideTheManner) {
  EXPECT_TRUE(NewEvent(EventMaking::kPlain, 0)->can_sync());
  EXPECT_TRUE(NewEvent(EventMaking::kPlain, 0)->has_timeline());
  EXPECT_FALSE(NewEvent(EventMaking::kPlain, 0)->is_level());
  EXPECT_TRUE(NewEvent(EventMaking::kFlagged, kEventSync)->is_level());
  EXPECT_FALSE(NewEvent(EventMaking::kEx, kEventSync)->is_level());
  EXPECT_FALSE(NewEvent(EventMaking::kEx, kEventTimeline)->can_sync());
  EXPECT_TRUE(NewEvent(EventMaking::kEx, 0x0E)->can_sync());  // torch_npu's default
  EXPECT_TRUE(NewEvent(EventMaking::kEx, 0x0E)->has_timeline());
}

// A destroyed event's object stays its own until the last task that names it has run.
TEST_F(EventUnitTest, QueuedTasksKeepADestroyedEvent) {
  Event* event = NewEvent(EventMaking::kEx, kEventSync | kEventTimeline);
  void* handle = event->handle();
  std::atomic<bool> go{false};
  Block(stream_, &go);
  ASSERT_TRUE(event->Record(stream_).ok());
  ASSERT_TRUE(DestroyEvent(handle).ok());
  EXPECT_EQ(Events().Find(handle), nullptr);
  for (int i = 0; i < 500; ++i) {
    Event* next = NewEvent(EventMaking::kEx, kEventSync);
    ASSERT_NE(next, event);  // not recycled: a task still names it
    ASSERT_TRUE(DestroyEvent(next->handle()).ok());
  }
  go = true;
  ASSERT_TRUE(stream_->Synchronize(std::nullopt, Code::kStreamSyncTimeout).ok());
  bool came_back = false;
  for (int i = 0; i < 2000 && !came_back; ++i) {
    Event* next = NewEvent(EventMaking::kEx, kEventSync);
    came_back = next == event;
    ASSERT_TRUE(DestroyEvent(next->handle()).ok());
  }
  EXPECT_TRUE(came_back);
}

TEST_F(EventUnitTest, OnlyTheNewestRecordCounts) {
  Event* event = NewEvent(EventMaking::kEx, kEventSync);
  EXPECT_FALSE(event->recorded());
  EXPECT_TRUE(event->Complete());
  event->PointTo({stream_, 5, 2});
  event->PointTo({stream_, 3, 1});  // an older generation arrives late
  EXPECT_EQ(event->LatestPoint().target, 5u);
  EXPECT_EQ(event->LatestPoint().generation, 2u);
  EXPECT_TRUE(event->recorded());
}

TEST_F(EventUnitTest, LevelsWakeTheirWaiters) {
  Event* event = NewEvent(EventMaking::kFlagged, kEventSync);
  ASSERT_TRUE(event->Wait(stream_, 0).ok());
  EXPECT_FALSE(event->WaitsComplete());
  Stream* source = nullptr;
  ASSERT_TRUE(device_->CreateStream(context_, 0, 0, false, &source).ok());
  ASSERT_TRUE(event->Record(source).ok());
  ASSERT_TRUE(stream_->Synchronize(std::nullopt, Code::kStreamSyncTimeout).ok());
  EXPECT_TRUE(event->WaitsComplete());
  EXPECT_TRUE(event->LevelUpOrWait(stream_));
  event->LowerLevel(*stream_);
  EXPECT_FALSE(event->LevelUpOrWait(stream_));
}

// The state two processes share: a wait looks at the numbers, whoever writes them.
TEST_F(EventUnitTest, SharedStateTakesThePlaceOfThePoint) {
  SharedEventState state;
  Event* event = NewEvent(EventMaking::kEx, kEventIpc);
  event->Share(&state, nullptr);
  EXPECT_FALSE(event->recorded());
  state.recorded = 1;  // the other process has recorded and not got there
  EXPECT_FALSE(event->Complete());
  EXPECT_EQ(event->Synchronize(Clock::now() + std::chrono::milliseconds(5)).code(), Code::kEventSyncTimeout);
  ASSERT_TRUE(event->Wait(stream_, 0).ok());
  EXPECT_FALSE(stream_->drained());
  state.completed = 1;
  ASSERT_TRUE(stream_->Synchronize(std::nullopt, Code::kStreamSyncTimeout).ok());
  ASSERT_TRUE(event->Record(stream_).ok());
  ASSERT_TRUE(stream_->Synchronize(std::nullopt, Code::kStreamSyncTimeout).ok());
  EXPECT_EQ(state.completed.load(), 2u);
  ASSERT_TRUE(DestroyEvent(event->handle()).ok());
}

TEST_F(EventUnitTest, DefaultWaitTimeoutIsTheProcesss) {
  EXPECT_EQ(DefaultWaitTimeout(), 0u);
  SetDefaultWaitTimeout(9);
  EXPECT_EQ(DefaultWaitTimeout(), 9u);
  SetDefaultWaitTimeout(0);
}

}  // namespace
}  // namespace millpond

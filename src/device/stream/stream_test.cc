// SPDX-License-Identifier: Apache-2.0
// What clients cannot see of a stream: its counters, its bound, the life of a task's body.
#include "src/device/stream/stream.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <thread>
#include <vector>

#include "src/device/testing.h"

namespace millpond {
namespace {

class StreamUnitTest : public DeviceTest {};

// Counts its copies alive; large enough to be boxed when kBytes says so.
std::atomic<int> g_alive{0};
template <size_t kBytes>
struct Body {
  Body() { g_alive.fetch_add(1); }
  Body(const Body&) { g_alive.fetch_add(1); }
  Body(Body&&) noexcept { g_alive.fetch_add(1); }
  ~Body() { g_alive.fetch_sub(1); }
  Status operator()() {
    fill[0] = std::byte{1};
    return Ok();
  }
  std::array<std::byte, kBytes> fill{};
};

TEST_F(StreamUnitTest, BodiesOfAnySizeEndExactlyOnce) {
  g_alive = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(stream_->Launch<TaskKind::kCompute>("Small", {}, Body<8>()).ok());
    ASSERT_TRUE(stream_->Launch<TaskKind::kCompute>("Full", {}, Body<TaskSlot::kInlineBytes>()).ok());
    ASSERT_TRUE(stream_->Launch<TaskKind::kCompute>("Boxed", {}, Body<TaskSlot::kInlineBytes + 1>()).ok());
  }
  ASSERT_TRUE(Sync(stream_).ok());
  EXPECT_EQ(g_alive.load(), 0);
}

TEST_F(StreamUnitTest, OwnedTasksAreCopiedMovedAndDropped) {
  g_alive = 0;
  {
    OwnedTask task = OwnedTask::Make<TaskKind::kCompute>("Task", {}, Body<200>());
    OwnedTask copy = task.Copy();
    ASSERT_TRUE(copy);
    ASSERT_TRUE(stream_->LaunchOwned(std::move(copy)).ok());
    ASSERT_TRUE(stream_->LaunchOwned(task.Copy()).ok());
    ASSERT_TRUE(Sync(stream_).ok());
    EXPECT_EQ(g_alive.load(), 1);
  }
  EXPECT_EQ(g_alive.load(), 0);
  // A body that cannot be copied gives an empty copy.
  OwnedTask single = OwnedTask::Make<TaskKind::kCompute>(
      "Single", {}, [only = std::make_unique<int>(1)]() -> Status { return *only == 1 ? Ok() : InternalError(""); });
  EXPECT_FALSE(single.Copy());
}

TEST_F(StreamUnitTest, CountersGoOnOverTheStreamsLives) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(stream_->Launch<TaskKind::kCompute>("Task", {}, Body<8>()).ok());
  ASSERT_TRUE(Sync(stream_).ok());
  const uint64_t count = stream_->completed();
  EXPECT_EQ(stream_->enqueued(), count);
  ASSERT_TRUE(device_->DestroyStream(stream_, false).ok());
  // Find the same object again: its counts must not start over, or a stale (stream, count) pair would wait.
  for (int i = 0; i < 2000; ++i) {
    Stream* next = NewStream();
    ASSERT_GE(next->completed(), next == stream_ ? count : 0);
    if (next == stream_) {
      EXPECT_GE(next->completed(), count);
      return;
    }
    ASSERT_TRUE(device_->DestroyStream(next, false).ok());
  }
  FAIL() << "the object never came back";
}

TEST_F(StreamUnitTest, WaitersAreToldOnceAtTheirCount) {
  std::atomic<bool> go{false};
  Block(stream_, &go);
  const uint64_t target = stream_->enqueued();
  std::vector<std::atomic<uint32_t>> words(20);  // more than one round of waking
  for (auto& word : words) ASSERT_TRUE(stream_->AddThreadWaiter(&word, target));
  std::atomic<uint32_t> removed{0};
  ASSERT_TRUE(stream_->AddThreadWaiter(&removed, target));
  stream_->RemoveThreadWaiter(&removed);
  for (auto& word : words) EXPECT_EQ(word.load(), 0u);
  go = true;
  ASSERT_TRUE(Sync(stream_).ok());
  for (auto& word : words) {
    while (word.load() == 0) std::this_thread::yield();
  }
  EXPECT_EQ(removed.load(), 0u);
  EXPECT_FALSE(stream_->AddThreadWaiter(&removed, target));  // reached already
  EXPECT_TRUE(stream_->AddThreadWaiter(&removed, target + 1));
  stream_->RemoveThreadWaiter(&removed);
}

// A task that blocks twice, woken by hand.
TEST_F(StreamUnitTest, ABlockedTaskParksTheStreamAndSpuriousWakesAreHarmless) {
  std::atomic<int> runs{0};
  std::atomic<bool> open{false};
  ASSERT_TRUE(stream_
                  ->Launch<TaskKind::kOther>("Blocks", {},
                                             [&](TaskSlot& slot, Stream&, Status*) -> TaskEnd {
                                               EXPECT_EQ(slot.phase++, static_cast<uint32_t>(runs.fetch_add(1)));
                                               return open.load() ? TaskEnd::kDone : TaskEnd::kBlocked;
                                             })
                  .ok());
  while (runs.load() == 0) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) stream_->Unblock();
  EXPECT_FALSE(stream_->drained());
  open = true;
  stream_->Unblock();
  ASSERT_TRUE(Sync(stream_).ok());
  EXPECT_TRUE(stream_->drained());
  stream_->Unblock();  // idle: nothing happens
}

TEST_F(StreamUnitTest, ARunnableStreamStaysBounded) {
  // Four producers against one consumer: the depth stays near the bound because launching helps.
  std::atomic<uint64_t> deepest{0};
  std::vector<std::thread> producers;
  for (int t = 0; t < 4; ++t) {
    producers.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        ASSERT_TRUE(stream_->Launch<TaskKind::kCompute>("Task", {}, []() -> Status { return Ok(); }).ok());
        // In this order: a thread put aside between the two reads sees too little, never too much.
        const uint64_t enqueued = stream_->enqueued();
        const uint64_t depth = enqueued - std::min(enqueued, stream_->completed());
        uint64_t seen = deepest.load();
        while (depth > seen && !deepest.compare_exchange_weak(seen, depth)) {
        }
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  ASSERT_TRUE(Sync(stream_).ok());
  EXPECT_LE(deepest.load(), Stream::kMaxDepth + 8);
}

TEST_F(StreamUnitTest, ConcurrentAbortsAllReturn) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 3; ++i) {
          ASSERT_TRUE(stream_
                          ->Launch<TaskKind::kOther>(
                              "Never", {}, [](TaskSlot&, Stream&, Status*) -> TaskEnd { return TaskEnd::kBlocked; })
                          .ok());
        }
        ASSERT_TRUE(stream_->Abort(Status(Code::kStreamAborted, "test")).ok());
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(stream_->WasAborted(stream_->enqueued()));
    EXPECT_EQ(Sync(stream_).code(), Code::kStreamAborted);
    EXPECT_TRUE(stream_->drained());
  }
}

TEST_F(StreamUnitTest, ATaskMayNotWaitForStreams) {
  Code code = Code::kOk;
  Stream* other = NewStream();
  ASSERT_TRUE(other
                  ->Launch<TaskKind::kOther>("Never", {},
                                             [](TaskSlot&, Stream&, Status*) -> TaskEnd { return TaskEnd::kBlocked; })
                  .ok());
  ASSERT_TRUE(stream_
                  ->Launch<TaskKind::kCompute>("Waits", {},
                                               [&]() -> Status {
                                                 EXPECT_TRUE(InTask());
                                                 code = Sync(other).code();
                                                 EXPECT_FALSE(device_->DestroyStream(other, false).ok());
                                                 return Ok();
                                               })
                  .ok());
  ASSERT_TRUE(Sync(stream_).ok());
  EXPECT_EQ(code, Code::kInternal);
  EXPECT_FALSE(InTask());
  ASSERT_TRUE(other->Abort(Ok()).ok());
}

TEST_F(StreamUnitTest, TheFirstFailureIsKeptWithItsTask) {
  ASSERT_TRUE(
      stream_->Launch<TaskKind::kCompute>("First", {}, []() -> Status { return Status(Code::kDeviceMemory, "one"); })
          .ok());
  ASSERT_TRUE(stream_->Launch<TaskKind::kCompute>("Second", {}, []() -> Status { return InternalError("two"); }).ok());
  const Status status = Sync(stream_);
  EXPECT_EQ(status.code(), Code::kDeviceMemory);
  EXPECT_NE(status.message().find("First"), std::string::npos);
  EXPECT_TRUE(Sync(stream_).ok());
}

// Tasks that compute with a team leave the number of their thread.
struct TeamBody {
  static constexpr bool kNeedsTeam = true;
  std::atomic<uint64_t>* threads;  // a bit for each thread that ran one
  std::vector<int>* order;
  int number;
  Status operator()() {
    threads->fetch_or(uint64_t{1} << (trace::ThreadNumber() % 64));
    order->push_back(number);
    return Ok();
  }
};

TEST_F(StreamUnitTest, WhatNeedsTheTeamRunsOnOneThreadAndInOrderWhoeverSynchronises) {
  constexpr int kTasks = 400;
  std::atomic<uint64_t> threads{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < 3; ++client) {
    clients.emplace_back([&, client] {
      Stream* stream = NewStream();
      for (int round = 0; round < 10; ++round) {
        std::vector<int> order;
        order.reserve(kTasks);
        for (int i = 0; i < kTasks; ++i) {
          // Runs of small tasks of several lengths between the large ones, which the synchronising thread may take.
          if (i % (client + 2) == 0) {
            ASSERT_TRUE(stream->Launch<TaskKind::kCompute>("Large", {}, TeamBody{&threads, &order, i}).ok());
          } else {
            ASSERT_TRUE(stream
                            ->Launch<TaskKind::kCompute>("Small", {},
                                                         [&order, i]() -> Status {
                                                           order.push_back(i);
                                                           return Ok();
                                                         })
                            .ok());
          }
          if (i % 50 == 49) {
            ASSERT_TRUE(Sync(stream).ok());
          }
        }
        ASSERT_TRUE(Sync(stream).ok());
        ASSERT_EQ(order.size(), size_t{kTasks});
        for (int i = 0; i < kTasks; ++i) ASSERT_EQ(order[static_cast<size_t>(i)], i);
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(std::popcount(threads.load()), 1);
}

TEST_F(StreamUnitTest, ADeepQueueOfLargeTasksDoesNotStopItsProducer) {
  std::atomic<uint64_t> threads{0};
  std::vector<int> order;
  constexpr int kTasks = 3 * static_cast<int>(Stream::kMaxDepth);
  for (int i = 0; i < kTasks; ++i) {
    ASSERT_TRUE(stream_->Launch<TaskKind::kCompute>("Large", {}, TeamBody{&threads, &order, i}).ok());
  }
  ASSERT_TRUE(Sync(stream_).ok());
  EXPECT_EQ(order.size(), static_cast<size_t>(kTasks));
}

}  // namespace
}  // namespace millpond

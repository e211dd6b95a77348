// SPDX-License-Identifier: Apache-2.0
#include "src/trace/fan_out.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "src/trace/emit.h"

namespace millpond::trace {
namespace {

class Counting : public Sink {
 public:
  explicit Counting(uint32_t interests) : interests_(interests) {}
  uint32_t interests() const override { return interests_; }
  void OnApi(const ApiCall&) override { ++calls; }
  void OnObject(const ObjectLife& life) override {
    ++lives;
    last = life;
  }
  void OnHostWait(const HostWait&) override { ++waits; }
  std::atomic<int> calls{0}, lives{0}, waits{0};
  ObjectLife last{};

 private:
  const uint32_t interests_;
};

void Call() {
  if (FanOut* sinks = Active()) sinks->OnApi({"api", 1, 0, 0, 0});
}

TEST(FanOut, WithoutASinkNobodyListens) {
  EXPECT_EQ(Active(), nullptr);
  EXPECT_FALSE(Wants(kAllRecords | kClocks | kStacks));
  EXPECT_EQ(StampNs(), 0u);
  EXPECT_EQ(StackIfWanted(), 0u);
}

TEST(FanOut, EverySinkHearsWhatItAskedForAndNothingElse) {
  Counting api(kApi), lives(kLives), both(kApi | kLives);
  {
    const Attached one(&api), two(&lives), three(&both);
    EXPECT_TRUE(Wants(kApi));
    EXPECT_TRUE(Wants(kLives));
    EXPECT_FALSE(Wants(kHost));
    EXPECT_EQ(Listening(kHost), nullptr);
    Call();
    TellObject(true, ObjectKind::kEvent, 2, &api, 7, 9);
    TellHostWait(WaitKind::kStream, 0, 1, 2);
  }
  EXPECT_EQ(Active(), nullptr);
  Call();
  EXPECT_EQ(api.calls, 1);
  EXPECT_EQ(api.lives, 0);
  EXPECT_EQ(lives.calls, 0);
  EXPECT_EQ(lives.lives, 1);
  EXPECT_EQ(both.calls, 1);
  EXPECT_EQ(both.lives, 1);
  EXPECT_EQ(both.waits, 0);
  EXPECT_EQ(lives.last.kind, ObjectKind::kEvent);
  EXPECT_EQ(lives.last.device, 2);
  EXPECT_EQ(lives.last.id, 7u);
  EXPECT_EQ(lives.last.detail, 9u);
  EXPECT_EQ(lives.last.time_ns, 0u) << "no sink asked for clocks";
  EXPECT_EQ(lives.last.stack, 0u);
}

TEST(FanOut, SomeCallsAreHeardWhileSomebodyWishes) {
  Counting some(kSomeCalls), all(kApi);
  const auto call = [] {
    if (HearsCalls()) internal::g_fan_out.fan_out.OnApi({"api", 1, 0, 0, 0});
  };
  const CallsHeard early;
  {
    const Attached one(&some);
    call();
    EXPECT_EQ(some.calls, 1) << "a wish from before the sink was there counts";
  }
  EXPECT_EQ(Active(), nullptr);
  call();
  EXPECT_EQ(some.calls, 1);
}

TEST(FanOut, WithoutAWishOnlySinksOfAllCallsHearThem) {
  Counting some(kSomeCalls), all(kApi);
  const Attached one(&some);
  EXPECT_FALSE(HearsCalls());
  {
    const CallsHeard outer;
    const CallsHeard inner;
    EXPECT_TRUE(HearsCalls());
    const Attached two(&all);
    Call();
    EXPECT_EQ(some.calls, 1);
    EXPECT_EQ(all.calls, 1);
  }
  EXPECT_FALSE(HearsCalls());
}

TEST(FanOut, ClocksAndStacksComeWhenAnySinkAsks) {
  Counting sink(kLives), clocks(kClocks | kStacks);
  const Attached one(&sink), two(&clocks);
  TellObject(true, ObjectKind::kEvent, 0, &sink);
  EXPECT_NE(sink.last.time_ns, 0u);
  EXPECT_NE(sink.last.stack, 0u);
  void* frames[kMaxStackFrames];
  EXPECT_GT(StackFrames(sink.last.stack, frames), 0u);
}

TEST(FanOut, AttachingIsCountedAndDetachingAStrangerIsHarmless) {
  Counting sink(kApi), stranger(kApi);
  const uint32_t before = AttachCount();
  Attach(&sink);
  EXPECT_EQ(AttachCount(), before + 1);
  Detach(&stranger);
  Call();
  EXPECT_EQ(sink.calls, 1);
  Detach(&sink);
  Detach(&sink);
  EXPECT_EQ(Active(), nullptr);
}

// A sink may be destroyed as soon as Detach has returned: threads that were inside have left, others find it gone.
class Fragile : public Sink {
 public:
  ~Fragile() override { alive_ = false; }
  uint32_t interests() const override { return kApi; }
  void OnApi(const ApiCall&) override {
    if (!alive_) ++g_used_after;
    std::this_thread::yield();
    if (!alive_) ++g_used_after;
    ++heard;
  }
  static inline std::atomic<int> g_used_after{0};
  std::atomic<int> heard{0};

 private:
  std::atomic<bool> alive_{true};
};

TEST(FanOut, ADetachedSinkIsLeftBeforeDetachReturns) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) Call();
    });
  }
  int heard = 0;
  for (int round = 0; round < 50; ++round) {
    auto sink = std::make_unique<Fragile>();
    Attach(sink.get());
    if (round % 8 == 0) {
      while (sink->heard == 0) std::this_thread::yield();
    }
    Detach(sink.get());
    heard += sink->heard;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(heard, 0);
  EXPECT_EQ(Fragile::g_used_after, 0);
}

// A sink whose memory runs out loses the record. What it would have heard of has happened, and others hear of it.
TEST(FanOut, WhatASinkThrowsEndsHereAndIsCounted) {
  class Forgetful : public Sink {
   public:
    uint32_t interests() const override { return kApi; }
    void OnApi(const ApiCall&) override { throw std::bad_alloc(); }
  } forgetful;
  Counting counting(kApi);
  const Attached first(&forgetful);
  const Attached second(&counting);
  const uint64_t lost = LostRecords();
  Call();
  Call();
  EXPECT_EQ(counting.calls, 2);
  EXPECT_EQ(LostRecords(), lost + 2);
}

TEST(Asking, TheInnermostPurposeHolds) {
  EXPECT_EQ(CurrentAsker().purpose, Purpose::kUnknown);
  {
    const Asking outer({.purpose = Purpose::kConstants, .who = "model", .stream = nullptr});
    {
      const Asking inner({.purpose = Purpose::kWorkspace, .who = "op", .stream = nullptr});
      EXPECT_EQ(CurrentAsker().purpose, Purpose::kWorkspace);
      EXPECT_STREQ(CurrentAsker().who, "op");
    }
    EXPECT_EQ(CurrentAsker().purpose, Purpose::kConstants);
    std::thread([] { EXPECT_EQ(CurrentAsker().purpose, Purpose::kUnknown); }).join();
  }
  EXPECT_EQ(CurrentAsker().who, nullptr);
}

}  // namespace
}  // namespace millpond::trace

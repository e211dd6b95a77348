// SPDX-License-Identifier: Apache-2.0
// Random work from several threads on several streams, checked against a reference model: a map of live blocks, and a
// source that knows which work is unfinished.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "src/pool/fake_source.h"
#include "src/pool/pool.h"

namespace millpond::pool {
namespace {

// The reference: live blocks never overlap.
class NaiveModel {
 public:
  // Empty: fine. pre of Remove: called before the pool's Free, so that a quick reuse finds the range gone.
  std::string Add(Address address, size_t bytes) {
    std::lock_guard lock(lock_);
    const auto after = live_.lower_bound(address);
    if (after != live_.end() && after->first < address + bytes)
      return Format("overlaps the block at %#zx", after->first);
    if (after != live_.begin() && std::prev(after)->first + std::prev(after)->second > address) {
      return Format("overlaps the block at %#zx", std::prev(after)->first);
    }
    live_.emplace_hint(after, address, bytes);
    live_bytes_ += bytes;
    return "";
  }
  void Remove(Address address) {
    std::lock_guard lock(lock_);
    const auto found = live_.find(address);
    live_bytes_ -= found->second;
    live_.erase(found);
  }
  size_t live_bytes() const {
    std::lock_guard lock(lock_);
    return live_bytes_;
  }

 private:
  mutable std::mutex lock_;
  std::map<Address, size_t> live_;
  size_t live_bytes_ = 0;
};

struct Held {
  Address address;
  size_t bytes;
  StreamKey stream;
};

class Actor {
 public:
  Actor(Pool* pool, FakeSource* source, NaiveModel* model, uint32_t seed, StreamKey own)
      : pool_(pool), source_(source), model_(model), random_(seed), own_(own) {}

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) Step();
    while (!held_.empty()) FreeOne(0);
  }

 private:
  uint32_t Below(uint32_t bound) { return std::uniform_int_distribution<uint32_t>(0, bound - 1)(random_); }
  // Usually its own stream, sometimes one that all share.
  StreamKey AStream() { return Below(4) == 0 ? 0x9000 : own_; }
  size_t ASize() { return (size_t{1} << Below(24)) + Below(3000); }

  void Step() {
    const uint32_t what = Below(100);
    if (what < 45 && held_.size() < 60) {
      Allocate();
    } else if (what < 80 && !held_.empty()) {
      FreeOne(Below(static_cast<uint32_t>(held_.size())));
    } else if (what < 88 && !held_.empty()) {
      const Held& block = held_[Below(static_cast<uint32_t>(held_.size()))];
      const StreamKey other = AStream();
      ASSERT_TRUE(pool_->RecordStream(block.address, other).ok());
      source_->Launch(other, block.address, block.bytes);
    } else if (what < 97) {
      source_->Finish(AStream(), 1 + Below(20));
    } else if (what < 98) {
      ASSERT_TRUE(pool_->Trim(0, Below(2) == 0).ok());
    } else if (what < 99) {
      const Snapshot snapshot = pool_->TakeSnapshot();
      for (const SpanInfo& span : snapshot.spans) {
        Address at = span.address;
        for (const BlockInfo& block : span.blocks) {
          ASSERT_EQ(block.address, at);
          at += block.bytes;
        }
        ASSERT_EQ(at, span.address + span.bytes);
      }
    } else {
      Address address = 0;
      EXPECT_EQ(pool_->Allocate(0, own_, &address).code(), Code::kInvalidArgument);
      EXPECT_EQ(pool_->Free(0x77, own_).code(), Code::kMemoryFree);
    }
  }

  void Allocate() {
    const Held block{.address = 0, .bytes = ASize(), .stream = AStream()};
    Address address = 0;
    const Status status = pool_->Allocate(block.bytes, block.stream, &address);
    if (!status.ok()) {
      EXPECT_EQ(status.code(), Code::kOutOfMemory) << status.message();
      if (!held_.empty()) FreeOne(0);
      return;
    }
    EXPECT_EQ(model_->Add(address, block.bytes), "");
    source_->CheckHandedOut(block.stream, address, block.bytes);
    source_->Launch(block.stream, address, block.bytes);
    held_.push_back({.address = address, .bytes = block.bytes, .stream = block.stream});
  }

  void FreeOne(uint32_t which) {
    const Held block = held_[which];
    held_[which] = held_.back();
    held_.pop_back();
    StreamKey last = block.stream;
    if (Below(10) == 0) {
      last = AStream();
      source_->Launch(last, block.address, block.bytes);
      if (last != block.stream) {
        ASSERT_TRUE(pool_->RecordStream(block.address, last).ok());
      }
    }
    model_->Remove(block.address);
    const Status status = pool_->Free(block.address, last);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  Pool* pool_;
  FakeSource* source_;
  NaiveModel* model_;
  std::mt19937 random_;
  const StreamKey own_;
  std::vector<Held> held_;
};

struct Case {
  bool pages;
  int threads;
  size_t memory_pages;  // few: out of memory is common
};

class PoolStressTest : public testing::TestWithParam<Case> {};

TEST_P(PoolStressTest, LiveBlocksNeverOverlapAndMemoryInUseIsNeverReused) {
  const Case& given = GetParam();
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    FakeSource source(given.memory_pages, given.pages);
    NaiveModel model;
    Settings settings;
    settings.wait = 0;
    settings.slack = seed == 2 ? 0 : 2;
    settings.cache = seed == 3 ? 0 : size_t{256} << 10;
    {
      Pool pool(&source, settings, 0);
      std::vector<std::thread> threads;
      for (int t = 0; t < given.threads; ++t) {
        threads.emplace_back([&, t] {
          Actor(&pool, &source, &model, seed * 100 + static_cast<uint32_t>(t), 0x1000u * static_cast<StreamKey>(t + 1))
              .Run(1500);
        });
      }
      for (std::thread& thread : threads) thread.join();
      const Statistics now = pool.GetStatistics();
      EXPECT_EQ(now.live_bytes, model.live_bytes());
      EXPECT_EQ(now.live_bytes, 0u);
      EXPECT_EQ(now.live_blocks, 0u);
      EXPECT_EQ(now.used_bytes, 0u);
      EXPECT_GE(now.reserved_bytes_high, now.reserved_bytes);
      EXPECT_LE(now.reserved_bytes_high, given.memory_pages * FakeSource::kPage);
    }
    EXPECT_EQ(source.complaints(), std::vector<std::string>()) << "seed " << seed;
    EXPECT_EQ(source.pages_out(), 0u);
    EXPECT_EQ(source.addresses_out(), 0u);
    EXPECT_EQ(source.tickets_out(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PoolStressTest,
                         testing::Values(Case{true, 1, 1024}, Case{true, 4, 1024}, Case{true, 4, 60},
                                         Case{false, 1, 1024}, Case{false, 4, 1024}, Case{false, 4, 80}),
                         [](const auto& info) {
                           return Format("%s_%dthreads_%zupages", info.param.pages ? "pages" : "segments",
                                         info.param.threads, info.param.memory_pages);
                         });

// Pairs and small bursts hit the thread caches while other threads take snapshots and trim.
TEST(PoolThreadCacheTest, OwnersAndRevokersAgree) {
  FakeSource source;
  {
    Pool pool(&source, Settings(), 0);
    std::atomic<bool> done{false};
    std::vector<std::thread> owners;
    for (int t = 0; t < 3; ++t) {
      owners.emplace_back([&, t] {
        const StreamKey stream = 0x1000u * static_cast<StreamKey>(t % 2 + 1);
        std::vector<Address> held;
        for (int i = 0; i < 20'000; ++i) {
          Address address = 0;
          ASSERT_TRUE(pool.Allocate(static_cast<size_t>(i % 7 + 1) * 700, stream, &address).ok());
          held.push_back(address);
          if (held.size() > static_cast<size_t>(i % 30)) {
            for (const Address each : held) ASSERT_TRUE(pool.Free(each, stream).ok());
            held.clear();
          }
        }
        for (const Address each : held) ASSERT_TRUE(pool.Free(each, stream).ok());
      });
    }
    std::thread revoker([&] {
      while (!done.load()) {
        ASSERT_TRUE(pool.Trim(0, false).ok());
        pool.TakeSnapshot();
        pool.ResetHighs();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
    for (std::thread& owner : owners) owner.join();
    done.store(true);
    revoker.join();
    EXPECT_EQ(pool.GetStatistics().live_bytes, 0u);
    EXPECT_EQ(pool.GetStatistics().allocations, 60'000u);
  }
  EXPECT_EQ(source.complaints(), std::vector<std::string>());
}

}  // namespace
}  // namespace millpond::pool

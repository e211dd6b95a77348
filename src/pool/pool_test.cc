// SPDX-License-Identifier: Apache-2.0
#include "src/pool/pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <utility>

#include "src/pool/fake_source.h"

namespace millpond::pool {
namespace {

constexpr StreamKey kA = 0x1000;
constexpr StreamKey kB = 0x2000;
constexpr size_t kMiB = size_t{1} << 20;

class PoolTest : public testing::TestWithParam<bool> {
 protected:
  // Half of what these tests check is what the source saw: it must have no complaints.
  ~PoolTest() override {
    EXPECT_EQ(source_.complaints(), std::vector<std::string>());
    EXPECT_EQ(source_.pages_out(), 0u);
    EXPECT_EQ(source_.addresses_out(), 0u);
    EXPECT_EQ(source_.tickets_out(), 0u);
  }
  std::unique_ptr<Pool> Make(void (*change)(Settings*) = [](Settings*) {}) {
    Settings settings;
    change(&settings);
    return std::make_unique<Pool>(&source_, settings, 0);
  }
  Address Get(Pool& pool, size_t bytes, StreamKey stream = kA) {
    Address address = 0;
    const Status status = pool.Allocate(bytes, stream, &address);
    EXPECT_TRUE(status.ok()) << status.message();
    source_.CheckHandedOut(stream, address, bytes);
    return address;
  }
  FakeSource source_{1024, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(PagesAndSegments, PoolTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Pages" : "Segments"; });

// Pages move; segments cannot.
class PagePoolTest : public PoolTest {};
INSTANTIATE_TEST_SUITE_P(Pages, PagePoolTest, testing::Values(true));

TEST_P(PoolTest, SameStreamReusesABlockImmediately) {
  auto pool = Make();
  for (const size_t bytes : {size_t{1}, size_t{512}, size_t{100'000}, 3 * kMiB, 64 * kMiB}) {
    const Address first = Get(*pool, bytes);
    source_.Launch(kA, first, bytes);
    ASSERT_TRUE(pool->Free(first, kA).ok());
    EXPECT_EQ(Get(*pool, bytes), first) << bytes;
    ASSERT_TRUE(pool->Free(first, kA).ok());
  }
}

TEST_P(PoolTest, BlocksAreAlignedAndDisjoint) {
  auto pool = Make();
  const Address one = Get(*pool, 1);
  const Address two = Get(*pool, 513);
  const Address three = Get(*pool, 1);
  EXPECT_EQ(one % Pool::kAlignment, 0u);
  EXPECT_EQ(two - one, 512u);
  EXPECT_EQ(three - two, 1024u);
}

TEST_P(PoolTest, AnotherStreamNeverGetsMemoryInUse) {
  auto pool = Make([](Settings* settings) { settings->wait = 0; });
  const Address block = Get(*pool, 40 * kMiB);
  source_.Launch(kA, block, 40 * kMiB);
  ASSERT_TRUE(pool->Free(block, kA).ok());
  Get(*pool, 40 * kMiB, kB);  // CheckHandedOut and Unmap look
  EXPECT_EQ(pool->GetStatistics().reserved_bytes, 80 * kMiB);
}

TEST_P(PagePoolTest, AnotherStreamGetsPagesThatAreNoLongerInUse) {
  auto pool = Make([](Settings* settings) { settings->slack = 0; });
  const Address block = Get(*pool, 40 * kMiB);
  source_.Launch(kA, block, 40 * kMiB);
  ASSERT_TRUE(pool->Free(block, kA).ok());
  source_.Finish(kA);
  Get(*pool, 40 * kMiB, kB);
  EXPECT_EQ(pool->GetStatistics().reserved_bytes, 40 * kMiB);
  EXPECT_EQ(pool->GetStatistics().pages_moved, 20u);
}

TEST_P(PoolTest, RecordedStreamDelaysTheReuse) {
  auto pool = Make();
  const Address block = Get(*pool, 4 * kMiB);
  ASSERT_TRUE(pool->RecordStream(block, kB).ok());
  source_.Launch(kB, block, 4 * kMiB);
  ASSERT_TRUE(pool->Free(block, kA).ok());
  EXPECT_EQ(pool->GetStatistics().pending_bytes, 4 * kMiB);
  const Address other = Get(*pool, 4 * kMiB);
  EXPECT_NE(other, block);
  source_.Finish(kB);
  EXPECT_EQ(Get(*pool, 4 * kMiB), block);
  EXPECT_EQ(pool->GetStatistics().pending_bytes, 0u);
}

TEST_P(PoolTest, FreeOnAnotherStreamWaitsForThatStream) {
  auto pool = Make();
  const Address block = Get(*pool, 4 * kMiB);
  source_.Launch(kB, block, 4 * kMiB);
  ASSERT_TRUE(pool->Free(block, kB).ok());
  EXPECT_NE(Get(*pool, 4 * kMiB), block);
  source_.Finish(kB);
  EXPECT_EQ(Get(*pool, 4 * kMiB), block);
}

TEST_P(PoolTest, FreeNeighboursMerge) {
  auto pool = Make();
  std::vector<Address> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(Get(*pool, kMiB));
  const size_t reserved = pool->GetStatistics().reserved_bytes;
  for (const int i : {1, 3, 2, 0, 7, 5, 6, 4}) ASSERT_TRUE(pool->Free(blocks[static_cast<size_t>(i)], kA).ok());
  EXPECT_EQ(Get(*pool, 8 * kMiB), blocks[0]);
  EXPECT_EQ(pool->GetStatistics().reserved_bytes, reserved);
}

TEST_P(PagePoolTest, PagesOfFragmentsAreReused) {
  auto pool = Make([](Settings* settings) { settings->slack = 0; });
  std::vector<Address> blocks;
  for (int i = 0; i < 32; ++i) blocks.push_back(Get(*pool, 6 * kMiB));
  for (size_t i = 0; i < 32; i += 2) ASSERT_TRUE(pool->Free(blocks[i], kA).ok());
  Get(*pool, 90 * kMiB);  // no gap is longer than 6 MiB, but the pages move
  EXPECT_LE(pool->GetStatistics().reserved_bytes, 32 * 6 * kMiB);
  EXPECT_GE(pool->GetStatistics().pages_moved, 40u);
}

TEST_P(PagePoolTest, AProgramThatRepeatsItselfStopsMovingPages) {
  auto pool = Make();
  const auto run = [&] {
    std::vector<Address> blocks;
    for (int i = 0; i < 60; ++i) blocks.push_back(Get(*pool, 6 * kMiB));
    for (size_t i = 0; i < 60; i += 6) ASSERT_TRUE(pool->Free(std::exchange(blocks[i], 0), kA).ok());
    blocks.push_back(Get(*pool, 40 * kMiB));  // no gap is longer than 6 MiB
    for (const Address block : blocks) ASSERT_TRUE(block == 0 || pool->Free(block, kA).ok());
  };
  run();
  EXPECT_GE(pool->GetStatistics().pages_moved, 10u);
  for (int i = 0; i < 20; ++i) run();
  const uint64_t moved = pool->GetStatistics().pages_moved;
  for (int i = 0; i < 20; ++i) run();
  EXPECT_EQ(pool->GetStatistics().pages_moved, moved);
  EXPECT_LE(pool->GetStatistics().reserved_bytes_high, 360 * kMiB / 100 * 115);
}

TEST_P(PoolTest, BadFreesAreRefusedWithTheReason) {
  auto pool = Make();
  const Address block = Get(*pool, 100'000);
  const auto message = [&](Address address) {
    const Status status = pool->Free(address, kA);
    EXPECT_EQ(status.code(), Code::kMemoryFree);
    return status.message();
  };
  EXPECT_NE(message(block + 512).find("512 bytes inside a live block of 100000"), std::string::npos);
  EXPECT_NE(message(block + 7).find("inside a live block"), std::string::npos);
  EXPECT_NE(message(0x1234).find("not allocated from this pool"), std::string::npos);
  EXPECT_NE(message(0).find("not allocated from this pool"), std::string::npos);
  ASSERT_TRUE(pool->Free(block, kA).ok());
  EXPECT_NE(message(block).find("double free"), std::string::npos);
  EXPECT_EQ(pool->RecordStream(block, kB).code(), Code::kMemoryFree);
  EXPECT_EQ(pool->Tag(block, "x").code(), Code::kMemoryFree);
  EXPECT_EQ(pool->GetStatistics().frees, 1u);
}

TEST_P(PoolTest, BadRequestsAreRefused) {
  auto pool = Make();
  Address address = 0;
  EXPECT_EQ(pool->Allocate(0, kA, &address).code(), Code::kInvalidArgument);
  EXPECT_EQ(pool->Allocate(SIZE_MAX, kA, &address).code(), Code::kOutOfMemory);
  EXPECT_EQ(pool->Allocate(source_.total_bytes() + 1, kA, &address).code(), Code::kOutOfMemory);
  Get(*pool, 512);
  EXPECT_EQ(pool->Allocate(0, kA, &address).code(), Code::kInvalidArgument) << "with a thread cache";
}

TEST_P(PoolTest, TrimReleasesWhatStreamsAreDoneWith) {
  auto pool = Make();
  const Address keep = Get(*pool, 40 * kMiB);
  const Address gone = Get(*pool, 40 * kMiB);
  source_.Launch(kA, gone, 40 * kMiB);
  ASSERT_TRUE(pool->Free(gone, kA).ok());
  ASSERT_TRUE(pool->Trim(0, false).ok());
  EXPECT_EQ(pool->GetStatistics().reserved_bytes, 80 * kMiB) << "still in use";
  ASSERT_TRUE(pool->Trim(60 * kMiB, true).ok());
  EXPECT_EQ(pool->GetStatistics().reserved_bytes, GetParam() ? 60 * kMiB : 40 * kMiB);
  ASSERT_TRUE(pool->Trim(0, true).ok());
  EXPECT_EQ(pool->GetStatistics().reserved_bytes, 40 * kMiB);
  source_.Launch(kA, keep, 40 * kMiB);  // still backed
}

TEST_P(PoolTest, KeepLimitsFreeMemory) {
  auto pool = Make([](Settings* settings) { settings->keep = 10 * kMiB; });
  std::vector<Address> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(Get(*pool, 20 * kMiB));
  for (const Address block : blocks) ASSERT_TRUE(pool->Free(block, kA).ok());
  EXPECT_LE(pool->GetStatistics().reserved_bytes, 60 * kMiB);
}

TEST_P(PoolTest, TheLimitIsNeverExceeded) {
  auto pool = Make([](Settings* settings) { settings->limit = 64 * kMiB; });
  const Address block = Get(*pool, 60 * kMiB);
  Address other = 0;
  const Status refused = pool->Allocate(20 * kMiB, kB, &other);
  EXPECT_EQ(refused.code(), Code::kOutOfMemory);
  EXPECT_NE(refused.message().find("limit is 67108864"), std::string::npos) << refused.message();
  source_.Launch(kA, block, 60 * kMiB);
  ASSERT_TRUE(pool->Free(block, kA).ok());
  EXPECT_TRUE(pool->Allocate(20 * kMiB, kB, &other).ok()) << "waits for stream A, then takes its memory";
  EXPECT_EQ(pool->GetStatistics().retries, 1u);
}

TEST_P(PoolTest, AForgottenStreamsMemoryIsReusedByTheNextStream) {
  auto pool = Make();
  const Address block = Get(*pool, 10 * kMiB);
  const Address live = Get(*pool, 10 * kMiB);
  ASSERT_TRUE(pool->Free(block, kA).ok());
  const size_t reserved = pool->GetStatistics().reserved_bytes;
  pool->ForgetStream(kA);
  EXPECT_EQ(Get(*pool, 10 * kMiB, kB), block);
  ASSERT_TRUE(pool->Free(live).ok());
  EXPECT_EQ(Get(*pool, 10 * kMiB, kB), live);
  EXPECT_EQ(pool->GetStatistics().reserved_bytes, reserved);
  // The same handle again is another stream, with memory of its own.
  const Address fresh = Get(*pool, 10 * kMiB, kA);
  EXPECT_NE(fresh, block);
  ASSERT_TRUE(pool->Free(fresh, kA).ok());
  source_.Launch(kA, fresh, 10 * kMiB);
  EXPECT_NE(Get(*pool, 10 * kMiB, kB), fresh);
}

TEST_P(PoolTest, AdviceIsHonouredWherePossible) {
  auto pool = Make();
  const Address block = Get(*pool, 10 * kMiB);
  const Address behind = Get(*pool, 10 * kMiB);
  ASSERT_TRUE(pool->Free(block, kA).ok());
  Address got = 0;
  ASSERT_TRUE(pool->AllocateAt(2 * kMiB, kA, block + 4 * kMiB, &got).ok());
  EXPECT_EQ(got, block + 4 * kMiB);
  ASSERT_TRUE(pool->AllocateAt(2 * kMiB, kA, behind, &got).ok());
  EXPECT_NE(got, behind) << "taken";
  ASSERT_TRUE(pool->AllocateAt(2 * kMiB, kA, 7, &got).ok()) << "not an address of ours";
}

TEST_P(PoolTest, StatisticsAddUp) {
  auto pool = Make();
  const Address one = Get(*pool, 1000);
  const Address two = Get(*pool, 3 * kMiB);
  Statistics now = pool->GetStatistics();
  EXPECT_EQ(now.live_bytes, 1000 + 3 * kMiB);
  EXPECT_EQ(now.used_bytes, 1024 + 3 * kMiB);
  EXPECT_EQ(now.live_blocks, 2u);
  ASSERT_TRUE(pool->Free(two, kA).ok());
  ASSERT_TRUE(pool->Free(one, kA).ok());
  Get(*pool, 1000);  // from the cache
  now = pool->GetStatistics();
  EXPECT_EQ(now.live_bytes, 1000u);
  EXPECT_EQ(now.live_bytes_high, 1000 + 3 * kMiB);
  EXPECT_EQ(now.allocations, 3u);
  EXPECT_EQ(now.frees, 2u);
  pool->ResetHighs();
  EXPECT_EQ(pool->GetStatistics().live_bytes_high, 1000u);
}

TEST_P(PoolTest, ASnapshotTilesTheSpans) {
  auto pool = Make([](Settings* settings) { settings->history = 100; });
  const Address block = Get(*pool, 3 * kMiB);
  Get(*pool, 5000, kB);
  ASSERT_TRUE(pool->Tag(block, "weights").ok());
  const Snapshot snapshot = pool->TakeSnapshot();
  size_t live = 0;
  for (const SpanInfo& span : snapshot.spans) {
    Address at = span.address;
    for (const BlockInfo& each : span.blocks) {
      EXPECT_EQ(each.address, at);
      at += each.bytes;
      if (each.state == BlockState::kLive) live += each.requested;
      if (each.address == block) {
        EXPECT_STREQ(each.tag, "weights");
      }
    }
    EXPECT_EQ(at, span.address + span.bytes);
  }
  EXPECT_EQ(live, 3 * kMiB + 5000);
  EXPECT_EQ(snapshot.history.back().action, HistoryEntry::Action::kAllocate);
}

TEST_P(PoolTest, APlanIsFollowedUntilTheRunDiverges) {
  auto pool = Make();
  const auto run = [&](size_t last) {
    std::vector<Address> got;
    for (const size_t bytes : {4 * kMiB, 2 * kMiB, last}) got.push_back(Get(*pool, bytes));
    for (const Address address : got) EXPECT_TRUE(pool->Free(address, kA).ok());
    return got;
  };
  ASSERT_TRUE(pool->StartRecording().ok());
  run(kMiB);
  Recording recording;
  const Pool::UseRecording keep = [&](const Recording& made) {
    recording = made;
    return Ok();
  };
  ASSERT_TRUE(pool->StopRecording(keep).ok());
  ASSERT_EQ(recording.steps.size(), 6u);
  Plan plan;
  ASSERT_TRUE(MakePlan(recording, Pool::kAlignment, &plan).ok());
  ASSERT_TRUE(pool->Follow(plan).ok());
  EXPECT_FALSE(pool->StartRecording().ok());
  ASSERT_TRUE(pool->BeginRun().ok());
  const std::vector<Address> first = run(kMiB);
  ASSERT_TRUE(pool->EndRun().ok());
  EXPECT_EQ(pool->GetStatistics().planned, 3u);
  ASSERT_TRUE(pool->BeginRun().ok());
  const std::vector<Address> second = run(5 * kMiB);
  ASSERT_TRUE(pool->EndRun().ok());
  EXPECT_EQ(second[0], first[0]);
  EXPECT_EQ(second[1], first[1]);
  EXPECT_EQ(pool->GetStatistics().planned, 5u);
  EXPECT_EQ(pool->GetStatistics().diverged, 1u);
  EXPECT_EQ(pool->Free(first[0], kA).code(), Code::kMemoryFree) << "twice";
  ASSERT_TRUE(pool->Unfollow().ok());
  run(kMiB);
}

TEST_P(PoolTest, APlanWithAMisalignedPlaceIsNotFollowed) {
  auto pool = Make();
  const size_t before = pool->GetStatistics().reserved_bytes;
  const Plan plan{.places = {{.bytes = 512, .stream = 0, .offset = 8}}, .area_bytes = {1024}};
  const Status status = pool->Follow(plan);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("not a multiple of 512"), std::string::npos) << status.message();
  EXPECT_EQ(pool->GetStatistics().reserved_bytes, before);
  EXPECT_TRUE(pool->StartRecording().ok()) << "no plan is being followed";
}

TEST_P(PoolTest, EveryRequestForMemoryMayFail) {
  // The same work each time, first with the n-th request to the source failing, then with all from the n-th on.
  const auto work = [&](Pool& pool) {
    std::vector<std::pair<Address, StreamKey>> live;
    size_t failed = 0;
    for (int i = 0; i < 60; ++i) {
      const StreamKey stream = i % 3 == 0 ? kB : kA;
      const size_t bytes = (static_cast<size_t>(i) * 7919 % 97 + 1) * 100'000;
      Address address = 0;
      const Status status = pool.Allocate(bytes, stream, &address);
      if (status.ok()) {
        source_.CheckHandedOut(stream, address, bytes);
        source_.Launch(stream, address, bytes);
        live.emplace_back(address, stream);
      } else {
        EXPECT_EQ(status.code(), Code::kOutOfMemory) << status.message();
        ++failed;
      }
      if (i % 4 == 3 && !live.empty()) {
        EXPECT_TRUE(pool.Free(live.front().first, live.front().second).ok());
        live.erase(live.begin());
      }
    }
    for (const auto& [address, stream] : live) EXPECT_TRUE(pool.Free(address, stream).ok());
    return failed;
  };
  uint64_t requests = 0;
  {
    auto pool = Make();
    const uint64_t before = source_.requests();
    EXPECT_EQ(work(*pool), 0u);
    requests = source_.requests() - before;
  }
  ASSERT_GT(requests, 10u);
  for (uint64_t nth = 1; nth <= requests; ++nth) {
    for (const bool once : {true, false}) {
      auto pool = Make();
      source_.FailFrom(nth, once);
      const size_t failed = work(*pool);
      if (once) {
        EXPECT_EQ(failed, 0u) << "the pool recovers from one refusal; request " << nth;
      }
      source_.FailFrom(0, true);
      EXPECT_EQ(pool->GetStatistics().live_bytes, 0u);
      Get(*pool, 5 * kMiB);
    }
  }
}

TEST_P(PoolTest, DestroyWaitsForStreams) {
  auto pool = Make();
  source_.Launch(kA, Get(*pool, 10 * kMiB), 10 * kMiB);
  const Address block = Get(*pool, 10 * kMiB, kB);
  source_.Launch(kB, block, 10 * kMiB);
  ASSERT_TRUE(pool->Free(block, kB).ok());
  pool.reset();  // the source complains if memory goes while work is under way
}

TEST_P(PoolTest, AThreadsCacheReturnsWhenItExits) {
  auto pool = Make();
  Address block = 0;
  std::thread([&] {
    block = Get(*pool, 20 * kMiB);
    EXPECT_TRUE(pool->Free(block, kA).ok());
  }).join();
  EXPECT_EQ(Get(*pool, 20 * kMiB), block);
}

TEST_P(PoolTest, AForkedChildIsRefused) {
  auto pool = Make();
  const Address block = Get(*pool, 1000);
  const Address cached = Get(*pool, 1000);
  ASSERT_TRUE(pool->Free(cached, kA).ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Address address = 0;
    const bool refused = pool->Allocate(1000, kA, &address).code() == Code::kForked &&
                         pool->Free(block, kA).code() == Code::kForked && pool->Trim(0, false).code() == Code::kForked;
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Get(*pool, 1000), cached) << "the parent goes on";
}

}  // namespace
}  // namespace millpond::pool

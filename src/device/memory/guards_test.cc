// SPDX-License-Identifier: Apache-2.0
// Issue 14, point 5: red zones, quarantine and watched sources, as a sink sees them.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/device/memory/device_heap.h"
#include "src/device/memory/guard_pattern.h"
#include "src/device/memory/memory.h"
#include "src/device/memory/own_file.h"
#include "src/device/memory/red_zones.h"
#include "src/device/memory/watched_copy.h"
#include "src/device/testing.h"
#include "src/trace/emit.h"

namespace millpond {
namespace {

using trace::Damage;

constexpr size_t kMiB = size_t{1} << 20;

class DamageSink final : public trace::Sink {
 public:
  uint32_t interests() const override { return trace::kGuards | trace::kSources; }
  void OnDamage(const Damage& damage) override {
    MutexLock lock(mutex_);
    damages_.push_back(damage);
  }
  std::vector<Damage> Take() {
    MutexLock lock(mutex_);
    return std::exchange(damages_, {});
  }

 private:
  Mutex mutex_;
  std::vector<Damage> damages_ GUARDED_BY(mutex_);
};

class GuardsTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    memory_ = &device_->memory();
    trace::Attach(&sink_);
  }
  void TearDown() override {
    memory_->FreeAll();
    trace::Detach(&sink_);
    DeviceTest::TearDown();
  }
  char* Allocate(size_t bytes) { return AllocatePages(memory_, bytes); }
  void Free(char* block) {
    const Status status = memory_->Free(block);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  DeviceMemory* memory_ = nullptr;
  DamageSink sink_;
};

TEST_F(GuardsTest, AFreedBlockIsNotGivenOutAgainAtOnceAndTheQuotaDoesNotCountIt) {
  const uint64_t free = memory_->free_bytes();
  char* first = Allocate(8192);
  Free(first);
  EXPECT_EQ(memory_->free_bytes(), free) << "as without the guards";
  EXPECT_EQ(memory_->quarantined_bytes(), 8192u);
  EXPECT_EQ(LookUp(first).kind, PointerKind::kUnallocated);
  EXPECT_NE(memory_->Free(first).message().find("already freed"), std::string::npos);
  char* second = Allocate(8192);
  EXPECT_NE(second, first);
  unsigned char byte = 0;
  CopyBytes(&byte, first, 1);
  EXPECT_EQ(byte, internal::kGuardWord & 0xFF) << "whoever reads it gets nonsense";
  Free(second);
  EXPECT_EQ(memory_->FreeAll(), 0u);
  EXPECT_EQ(memory_->quarantined_bytes(), 0u);
  EXPECT_TRUE(sink_.Take().empty()) << "nobody wrote";
}

TEST_F(GuardsTest, AWriteAfterTheFreeIsToldOnceWhenItIsLookedFor) {
  char* block = Allocate(10'000);
  Free(block);
  FillBytes(block + 5001, 0, 30);
  internal::CheckGuards();
  const std::vector<Damage> damages = sink_.Take();
  ASSERT_EQ(damages.size(), 1u);
  EXPECT_EQ(damages[0].kind, Damage::Kind::kAfterFree);
  EXPECT_EQ(damages[0].block, block);
  EXPECT_EQ(damages[0].address, block + 5001);
  EXPECT_EQ(damages[0].bytes, 30u);
  internal::CheckGuards();
  memory_->FreeAll();
  EXPECT_TRUE(sink_.Take().empty());
}

TEST_F(GuardsTest, WhileTasksAreQueuedAFreedBlockKeepsItsBytesAndALateWriteIsFoundAllTheSame) {
  char *read = Allocate(4096), *written = Allocate(4096), *result = Allocate(1);
  for (char* block : {read, written}) FillBytes(block, 5, 4096);
  std::atomic<bool> open{false};
  Block(stream_, &open);
  const auto body = [=]() -> Status {
    CopyBytes(result, read, 1);
    FillBytes(written + 4000, 6, 1);
    return Ok();
  };
  ASSERT_TRUE(stream_->Launch<TaskKind::kCompute>("Late", {}, body).ok());
  Free(read);
  Free(written);
  open = true;
  ASSERT_TRUE(Sync(stream_).ok());
  char byte = 0;
  CopyBytes(&byte, result, 1);
  EXPECT_EQ(byte, 5);
  internal::CheckGuards();
  const std::vector<Damage> damages = sink_.Take();
  ASSERT_EQ(damages.size(), 1u);
  EXPECT_EQ(damages[0].kind, Damage::Kind::kAfterFree);
  EXPECT_EQ(damages[0].block, written);
  Free(result);
  memory_->FreeAll();
  EXPECT_TRUE(sink_.Take().empty()) << "told once";
}

TEST_F(GuardsTest, TheQuarantineHasAnEighthOfTheQuotaAndTheOldestLeaveFirst) {
  const size_t piece = memory_->total_bytes() / 8 / 4 / 4096 * 4096;
  std::vector<char*> blocks;
  for (int i = 0; i < 6; ++i) {
    blocks.push_back(Allocate(piece));
    FillBytes(blocks.back(), 1, 16);
  }
  for (char* block : blocks) {
    Free(block);
    EXPECT_LE(memory_->quarantined_bytes(), memory_->total_bytes() / 8);
  }
  EXPECT_EQ(memory_->quarantined_bytes(), 4 * piece);
  FillBytes(blocks[2], 1, 16);  // the oldest that is kept
  Free(Allocate(piece));
  const std::vector<Damage> damages = sink_.Take();
  ASSERT_EQ(damages.size(), 1u) << "it left";
  EXPECT_EQ(damages[0].block, blocks[2]);
  Free(Allocate(memory_->total_bytes() / 4));
  EXPECT_EQ(memory_->quarantined_bytes(), 4 * piece) << "what is larger than all of it is not kept";
}

TEST_F(GuardsTest, WhatIsKeptGivesWayBeforeAnAllocationFails) {
  Free(Allocate(memory_->total_bytes() / 16));
  EXPECT_NE(memory_->quarantined_bytes(), 0u);
  char* all = Allocate(memory_->total_bytes());
  EXPECT_EQ(memory_->quarantined_bytes(), 0u);
  EXPECT_EQ(memory_->free_bytes(), 0u);
  Free(all);
  Free(Allocate(memory_->total_bytes() / 16));
  ASSERT_TRUE(memory_->Charge(memory_->free_bytes()).ok()) << "for pages that clients map";
  EXPECT_EQ(memory_->quarantined_bytes(), 0u);
  memory_->Uncharge(memory_->total_bytes());
}

TEST_F(GuardsTest, BytesBehindABlockAreWatchedAndTheBlockIsWhatWasAskedFor) {
  for (const size_t bytes : {size_t{32}, size_t{4000}, size_t{4096}, size_t{4096 - 32}, 2 * kMiB}) {
    char* block = Allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 4096, 0u);
    EXPECT_EQ(LookUp(block + bytes - 1).bytes, bytes);
    EXPECT_EQ(LookUp(block + bytes).kind, PointerKind::kUnallocated);
    FillBytes(block, 9, bytes);
    internal::CheckGuards();
    EXPECT_TRUE(sink_.Take().empty());
    FillBytes(block + bytes + 3, 9, 5);
    Free(block);
    const std::vector<Damage> damages = sink_.Take();
    ASSERT_EQ(damages.size(), 1u) << bytes;
    EXPECT_EQ(damages[0].kind, Damage::Kind::kRedZone);
    EXPECT_EQ(damages[0].block, block);
    EXPECT_EQ(damages[0].address, block + bytes + 3);
    EXPECT_EQ(damages[0].bytes, 5u);
    EXPECT_TRUE(damages[0].at_free);
  }
}

TEST_F(GuardsTest, AWaitOfTheHostLooksAtRedZones) {
  char* block = Allocate(100);
  const auto write = [block]() -> Status {
    FillBytes(block + 100, 1, 1);
    return Ok();
  };
  ASSERT_TRUE(stream_->Launch<TaskKind::kCompute>("Writer", {}, write).ok());
  ASSERT_TRUE(Sync(stream_).ok());
  EXPECT_EQ(sink_.Take().size(), 1u);
  Free(block);
  EXPECT_TRUE(sink_.Take().empty()) << "told once";
}

TEST_F(GuardsTest, AWaitOfTheHostLooksAtTheBeginningOfARedZoneAndTellsAllThatIsDamaged) {
  char* block = Allocate(100);
  internal::CheckSomeRedZones(1);
  EXPECT_TRUE(sink_.Take().empty());
  FillBytes(block + 2000, 1, 1);
  internal::CheckSomeRedZones(1);
  EXPECT_TRUE(sink_.Take().empty()) << "far behind the block: looked at later";
  FillBytes(block + 100, 1, 1);
  internal::CheckSomeRedZones(1);
  const std::vector<Damage> damages = sink_.Take();
  ASSERT_EQ(damages.size(), 1u);
  EXPECT_EQ(damages[0].address, block + 100);
  EXPECT_EQ(damages[0].bytes, 1901u);
  FillBytes(block + 2000, 1, 1);
  Free(block);
  EXPECT_EQ(sink_.Take().size(), 1u) << "the whole zone is looked at when its block goes";
}

TEST_F(GuardsTest, ABlockThatOtherProcessesMapHasNoRedZoneAndIsNotKept) {
  char* block = Allocate(5000);
  FillBytes(block, 1, 5000);
  SharedFd file;
  ASSERT_TRUE(memory_->OwnFileOf(block, LookUp(block).block, &file).ok());
  internal::CheckGuards();
  Free(block);
  EXPECT_EQ(memory_->quarantined_bytes(), 0u);
  EXPECT_TRUE(sink_.Take().empty());
}

TEST_F(GuardsTest, ARangeInsideABlockCanBeMarkedAndUnmarked) {
  char* block = Allocate(64 * 1024);
  const auto zone = reinterpret_cast<uintptr_t>(block) + 1000;
  internal::MarkRedZone(zone, 100, 0);
  FillBytes(block, 1, 1000);
  FillBytes(block + 1100, 1, 1000);
  internal::CheckGuards();
  EXPECT_TRUE(sink_.Take().empty());
  FillBytes(block + 1099, 1, 1);
  internal::UnmarkRedZones(zone, zone + 1);
  const std::vector<Damage> damages = sink_.Take();
  ASSERT_EQ(damages.size(), 1u);
  EXPECT_EQ(damages[0].address, block + 1099);
  EXPECT_EQ(damages[0].bytes, 1u);
  FillBytes(block, 1, 2000);
  internal::CheckGuards();
  EXPECT_TRUE(sink_.Take().empty()) << "it is the block's again";
  Free(block);
}

TEST_F(GuardsTest, WhenTheLastSinkHasGoneBlocksAreReusedAtOnce) {
  char* guarded = Allocate(8192);
  trace::Detach(&sink_);
  Free(guarded);
  EXPECT_EQ(memory_->quarantined_bytes(), 0u);
  char* again = Allocate(8192);
  Free(again);
  EXPECT_EQ(Allocate(8192), again);
}

TEST_F(GuardsTest, ACopyTellsOfASourceThatChangedBeforeItRan) {
  void* pinned = nullptr;
  ASSERT_TRUE(AllocatePinned(4096, &pinned).ok());
  std::memset(pinned, 1, 4096);
  char* block = Allocate(4096);
  std::atomic<bool> open{false};
  Block(stream_, &open);
  ASSERT_TRUE(LaunchWatchedCopy(stream_, block, pinned, 4096).ok());
  ASSERT_TRUE(LaunchWatchedCopy(stream_, block, pinned, 2048).ok());
  static_cast<char*>(pinned)[4095] = 2;
  open = true;
  ASSERT_TRUE(Sync(stream_).ok());
  const std::vector<Damage> damages = sink_.Take();
  ASSERT_EQ(damages.size(), 1u) << "the second has only bytes that stayed";
  EXPECT_EQ(damages[0].kind, Damage::Kind::kSource);
  EXPECT_EQ(damages[0].address, pinned);
  EXPECT_EQ(damages[0].stream, stream_->id());
  char copied = 0;
  CopyBytes(&copied, block + 4095, 1);
  EXPECT_EQ(copied, 2) << "the copy is made all the same";
  Free(block);
  ASSERT_TRUE(FreePinned(pinned).ok());
}

TEST_F(GuardsTest, ChangedBytesAreFoundExactly) {
  constexpr size_t kBytes = 300;
  char* block = Allocate(4096);
  const auto begin = reinterpret_cast<uintptr_t>(block);
  std::mt19937 random(3);
  internal::ChangedBytes changed;
  for (int round = 0; round < 2000; ++round) {
    const uintptr_t at = begin + random() % 64;
    const size_t bytes = random() % kBytes;
    internal::FillWithGuard(begin, 4096);
    ASSERT_FALSE(internal::FindChanged(at, bytes, &changed));
    const uintptr_t first = begin + random() % (kBytes + 64), last = first + random() % 20;
    for (const uintptr_t flip : {first, last}) {
      auto* byte = Reachable(reinterpret_cast<unsigned char*>(flip));
      if (flip == first || last != first) *byte = static_cast<unsigned char>(~*byte);
      if (last == first) break;
    }
    std::vector<uintptr_t> inside;
    for (const uintptr_t flip : {first, last}) {
      if (flip >= at && flip < at + bytes) inside.push_back(flip);
    }
    ASSERT_EQ(internal::FindChanged(at, bytes, &changed), !inside.empty());
    if (inside.empty()) continue;
    ASSERT_EQ(changed.begin, inside.front());
    ASSERT_EQ(changed.bytes, inside.back() - inside.front() + 1);
  }
  Free(block);
}

TEST(SumOf, EqualBytesHaveEqualSumsAndOneByteMakesAnother) {
  std::vector<unsigned char> bytes(200);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7);
  for (size_t offset = 0; offset < 9; ++offset) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{8}, size_t{33}, size_t{150}}) {
      const uint64_t sum = internal::SumOf(bytes.data() + offset, count);
      EXPECT_EQ(internal::SumOf(bytes.data() + offset, count), sum);
      for (size_t i = 0; i < count; ++i) {
        bytes[offset + i] ^= 1;
        EXPECT_NE(internal::SumOf(bytes.data() + offset, count), sum);
        bytes[offset + i] ^= 1;
      }
    }
  }
}

}  // namespace
}  // namespace millpond

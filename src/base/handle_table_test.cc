// SPDX-License-Identifier: Apache-2.0
#include "src/base/handle_table.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "src/base/hold_count.h"

namespace millpond {
namespace {

struct Thing {
  int value = 0;
};
using Things = HandleTable<Thing, HandleKind::kStream>;
using Others = HandleTable<Thing, HandleKind::kEvent>;

// Tables never free objects, so each test's own lives as long as the process.
TEST(HandleTable, FindsWhatIsLiveAndNothingElse) {
  static Things things;
  static Others others;
  void* handle = nullptr;
  Thing* thing = things.Create(&handle);
  ASSERT_NE(thing, nullptr);
  EXPECT_EQ(things.Find(handle), thing);
  EXPECT_EQ(others.Find(handle), nullptr);  // another kind
  for (const uint64_t bits :
       {uint64_t{0}, uint64_t{1}, ~uint64_t{0}, uint64_t{0x5100000000000000}, reinterpret_cast<uint64_t>(handle) + 1,
        reinterpret_cast<uint64_t>(handle) + (uint64_t{1} << 32)}) {
    EXPECT_EQ(things.Find(reinterpret_cast<void*>(bits)), nullptr) << bits;
  }
  EXPECT_EQ(things.live(), 1u);
  EXPECT_TRUE(things.Retire(handle));
  EXPECT_FALSE(things.Retire(handle));
  EXPECT_EQ(things.Find(handle), nullptr);
  EXPECT_EQ(things.live(), 0u);
  thing->value = 7;  // usable until it is recycled
  things.Recycle(handle);
}

TEST(HandleTable, ARecycledObjectIsReusedLaterWithAFreshHandle) {
  static Things things;
  void* first = nullptr;
  Thing* thing = things.Create(&first);
  ASSERT_TRUE(things.Retire(first));
  things.Recycle(first);
  std::set<void*> handles = {first};
  int until_reuse = 0;
  for (int i = 0; i < 1000; ++i) {
    void* handle = nullptr;
    Thing* next = things.Create(&handle);
    ASSERT_TRUE(handles.insert(handle).second) << "a handle came twice";
    if (next == thing) {
      until_reuse = i;
      break;
    }
    things.Retire(handle);
    things.Recycle(handle);
  }
  EXPECT_GE(until_reuse, 60);  // oldest first, after a delay
  EXPECT_EQ(things.Find(first), nullptr);
}

TEST(HandleTable, IsFullAtItsBoundAndContinuesAfterARetire) {
  static Things things;
  constexpr uint32_t kMax = Things::kChunkSize * Things::kMaxChunks;
  std::vector<void*> handles(kMax);
  for (void*& handle : handles) ASSERT_NE(things.Create(&handle), nullptr);
  void* extra = nullptr;
  EXPECT_EQ(things.Create(&extra), nullptr);
  EXPECT_EQ(things.live(), kMax);
  ASSERT_TRUE(things.Retire(handles[5]));
  things.Recycle(handles[5]);
  EXPECT_NE(things.Create(&extra), nullptr);
  EXPECT_EQ(things.Find(handles[5]), nullptr);
  uint32_t visited = 0;
  things.ForEach([&](void*, Thing&) { ++visited; });
  EXPECT_EQ(visited, kMax);
}

TEST(HandleTable, ExactlyOneOfManyThreadsRetiresAHandle) {
  static Things things;
  for (int round = 0; round < 200; ++round) {
    void* handle = nullptr;
    things.Create(&handle);
    std::atomic<int> winners{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        things.Find(handle);
        if (things.Retire(handle)) winners.fetch_add(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(winners.load(), 1);
    things.Recycle(handle);
  }
}

TEST(HoldCount, ALateHoldDoesNotEndTheObjectAgain) {
  HoldCount holds;
  holds.Open();
  holds.Hold();
  EXPECT_FALSE(holds.Release());
  EXPECT_TRUE(holds.Release());
  EXPECT_FALSE(holds.TryHold());
  holds.Hold();  // by a caller that found the handle before it was destroyed
  EXPECT_FALSE(holds.Release());
}

TEST(HoldCount, ALateHoldDoesNotEndTheNextObjectInItsPlace) {
  HoldCount holds;
  holds.Open();
  EXPECT_TRUE(holds.Release());
  holds.Hold();
  holds.Open();  // given out again
  EXPECT_FALSE(holds.Release());
  EXPECT_TRUE(holds.TryHold());
  EXPECT_FALSE(holds.Release());
  EXPECT_TRUE(holds.Release());
}

}  // namespace
}  // namespace millpond

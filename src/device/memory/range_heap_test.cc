// SPDX-License-Identifier: Apache-2.0
#include "src/device/memory/range_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "src/device/memory/page_returner.h"

namespace millpond {
namespace {

constexpr uintptr_t kBegin = uintptr_t{1} << 40;  // never touched, so any address will do
constexpr size_t kMiB = size_t{1} << 20;

class HeapTest : public ::testing::Test {
 protected:
  void Open(size_t span, size_t keep = SIZE_MAX / 2) {
    const Status status = heap_.Open(kBegin, span, keep, [this](uintptr_t address, size_t bytes) {
      std::lock_guard guard(mutex_);
      given_back_.push_back({address, bytes});
    });
    ASSERT_TRUE(status.ok()) << status.message();
  }
  uintptr_t Allocate(size_t bytes, size_t alignment = RangeHeap::kGranule) {
    return heap_.Allocate(bytes, alignment, PageClass::kNormal, "test", &number_);
  }
  // Until what is to be given back is.
  void GiveBackAll() {
    PageReturner::Get().Forget(&heap_);
    while (heap_.GiveBackSome()) continue;
  }
  HeapBlock block_;
  uint64_t number_ = 0;
  std::mutex mutex_;
  std::vector<std::pair<uintptr_t, size_t>> given_back_;
  RangeHeap heap_;  // ends first: another thread gives back what it has left
};

// Issue 14, point 5.
TEST_F(HeapTest, ARetiredBlockIsFreedForAllWhoAskAndItsPlaceIsUsedOnlyAfterItsRelease) {
  Open(64 * kMiB, 0);
  const uintptr_t a = Allocate(5000, RangeHeap::kHostPage);
  ASSERT_TRUE(heap_.Retire(a, &block_));
  EXPECT_EQ(block_.base, a);
  EXPECT_EQ(block_.bytes, 5000u);
  EXPECT_FALSE(heap_.Find(a, &block_));
  EXPECT_TRUE(heap_.FindFreed(a + 4999, &block_));
  EXPECT_FALSE(heap_.Free(a, &block_)) << "it is freed already";
  EXPECT_FALSE(heap_.Retire(a, &block_));
  EXPECT_TRUE(heap_.LiveBlocks().empty());
  EXPECT_TRUE(heap_.IsValid());
  GiveBackAll();
  EXPECT_TRUE(given_back_.empty()) << "its pages are still in use";
  const uintptr_t b = Allocate(5000, RangeHeap::kHostPage);
  EXPECT_NE(b, a);
  heap_.Release(a);
  EXPECT_TRUE(heap_.IsValid());
  EXPECT_EQ(Allocate(5000, RangeHeap::kHostPage), a);
  EXPECT_TRUE(heap_.IsValid());
}

TEST_F(HeapTest, BehindAFencedBlockAPageIsNobodys) {
  Open(64 * kMiB);
  const uintptr_t a = heap_.Allocate(8192, RangeHeap::kHostPage, PageClass::kNormal, "test", &number_, /*fenced=*/true);
  const uintptr_t b = Allocate(4096, RangeHeap::kHostPage);
  EXPECT_EQ(b, a + 8192 + 4096);
  EXPECT_FALSE(heap_.Find(a + 8192, &block_));
  EXPECT_TRUE(heap_.IsValid());
  ASSERT_TRUE(heap_.Free(a, &block_));
  EXPECT_TRUE(block_.fenced);
  EXPECT_TRUE(heap_.IsValid());
  EXPECT_EQ(Allocate(8192 + 4096, RangeHeap::kHostPage), a) << "the page went with the block";
}

// Issue 13, point 2.
TEST_F(HeapTest, BlocksOnPagesOfTheirOwnEndThereTooAndAHoleOfTheSameSizeIsUsedAgain) {
  Open(64 * kMiB);
  Allocate(512);  // so that free runs do not begin on a page
  const uintptr_t a = Allocate(5000, RangeHeap::kHostPage), b = Allocate(100, RangeHeap::kHostPage);
  const uintptr_t c = Allocate(5000, RangeHeap::kHostPage);
  EXPECT_EQ(a % 4096, 0u);
  EXPECT_EQ(b, a + 8192);
  EXPECT_EQ(c, b + 4096);
  EXPECT_TRUE(heap_.IsValid());
  ASSERT_TRUE(heap_.Find(b + 99, &block_));
  EXPECT_EQ(block_.bytes, 100u);
  EXPECT_TRUE(block_.own_pages);
  EXPECT_FALSE(heap_.Find(b + 100, &block_));
  ASSERT_TRUE(heap_.Free(b, &block_));
  EXPECT_EQ(Allocate(4096, RangeHeap::kHostPage), b) << "no room to spare is needed where the run is aligned";
  EXPECT_TRUE(heap_.IsValid());
  for (const uintptr_t at : {a, b, c}) EXPECT_TRUE(heap_.Free(at, &block_));
  EXPECT_TRUE(heap_.IsValid());
}

TEST_F(HeapTest, APinnedBlockIsNotFreedUntilItIsUnpinned) {
  Open(64 * kMiB);
  const uintptr_t small = Allocate(4096);
  EXPECT_FALSE(heap_.Pin(small, number_, true)) << "its pages may be others' as well";
  const uintptr_t at = Allocate(4096, RangeHeap::kHostPage);
  EXPECT_FALSE(heap_.Pin(at, number_ + 1, true)) << "another block's number";
  EXPECT_FALSE(heap_.Pin(at + 512, number_, true));
  ASSERT_TRUE(heap_.Pin(at, number_, true));
  EXPECT_FALSE(heap_.Free(at, &block_));
  ASSERT_TRUE(heap_.Find(at, &block_));
  EXPECT_TRUE(block_.pinned);
  ASSERT_TRUE(heap_.Pin(at, number_, false));
  EXPECT_TRUE(heap_.Free(at, &block_));
  EXPECT_FALSE(heap_.Pin(at, number_, true)) << "freed";
}

TEST_F(HeapTest, BlocksAre512AlignedAndKeepTheAskedSize) {
  Open(64 * kMiB);
  for (const size_t bytes : {size_t{1}, size_t{511}, size_t{512}, size_t{513}, 3 * kMiB + 7}) {
    const uintptr_t at = Allocate(bytes);
    ASSERT_NE(at, 0u);
    EXPECT_EQ(at % RangeHeap::kGranule, 0u);
    ASSERT_TRUE(heap_.Find(at + bytes - 1, &block_));
    EXPECT_EQ(block_.base, at);
    EXPECT_EQ(block_.bytes, bytes);
    EXPECT_EQ(block_.number, number_);
    EXPECT_STREQ(block_.tag, "test");
    EXPECT_FALSE(heap_.Find(at + bytes, &block_) && block_.base == at) << "one past the end is not in the block";
  }
  EXPECT_TRUE(heap_.IsValid());
}

TEST_F(HeapTest, FreeRefusesInteriorDoubleAndForeignAddresses) {
  Open(64 * kMiB);
  const uintptr_t at = Allocate(4096);
  EXPECT_FALSE(heap_.Free(at + 512, &block_));
  EXPECT_FALSE(heap_.Free(at + 1, &block_));
  EXPECT_FALSE(heap_.Free(kBegin - 512, &block_));
  EXPECT_FALSE(heap_.Free(kBegin + 64 * kMiB, &block_));
  EXPECT_TRUE(heap_.Free(at, &block_));
  EXPECT_FALSE(heap_.Free(at, &block_));
  EXPECT_TRUE(heap_.IsValid());
}

TEST_F(HeapTest, FreedBlocksAreRememberedNewestFirst) {
  Open(64 * kMiB);
  const uintptr_t at = Allocate(1024);
  heap_.Free(at, &block_);
  ASSERT_EQ(Allocate(2048), at) << "a freed run is used again first";
  const uint64_t second = number_;
  heap_.Free(at, &block_);
  ASSERT_TRUE(heap_.FindFreed(at + 1000, &block_));
  EXPECT_EQ(block_.number, second);
  EXPECT_EQ(block_.bytes, 2048u);
  EXPECT_FALSE(heap_.FindFreed(at + 4096, &block_));
}

TEST_F(HeapTest, NeighboursCoalesceSoThatTheWholeSpanFitsAgain) {
  Open(64 * kMiB);
  std::vector<uintptr_t> blocks;
  while (const uintptr_t at = Allocate(100'000)) blocks.push_back(at);
  EXPECT_GT(blocks.size(), 600u);
  std::shuffle(blocks.begin(), blocks.end(), std::mt19937(1));
  for (const uintptr_t at : blocks) ASSERT_TRUE(heap_.Free(at, &block_));
  GiveBackAll();
  EXPECT_EQ(heap_.LargestFree(), 64 * kMiB);
  EXPECT_EQ(Allocate(64 * kMiB), kBegin);
  EXPECT_TRUE(heap_.IsValid());
}

TEST_F(HeapTest, AlignmentIsKeptAndTheRestStaysUsable) {
  Open(64 * kMiB);
  Allocate(512);
  const uintptr_t at = Allocate(2 * kMiB, 2 * kMiB);
  ASSERT_NE(at, 0u);
  EXPECT_EQ(at % (2 * kMiB), 0u);
  const uintptr_t between = Allocate(kMiB);
  EXPECT_LT(between, at) << "the run before an aligned block is free, and fits better";
  EXPECT_TRUE(heap_.IsValid());
}

TEST_F(HeapTest, OnlyTheSurplusOfFreePagesIsGivenBackAndOnlyOnce) {
  Open(64 * kMiB, /*keep=*/8 * kMiB);
  const uintptr_t low = Allocate(4 * kMiB), high = Allocate(16 * kMiB);
  heap_.Free(low, &block_);
  GiveBackAll();
  EXPECT_TRUE(given_back_.empty());
  heap_.Free(high, &block_);
  GiveBackAll();
  size_t total = 0;
  for (const auto& [address, bytes] : given_back_) {
    EXPECT_LE(bytes, RangeHeap::kReturnedAtOnce);
    total += bytes;
  }
  EXPECT_EQ(total, 12 * kMiB);
  EXPECT_EQ(heap_.kept_bytes(), 8 * kMiB);
  EXPECT_TRUE(heap_.IsValid());
  given_back_.clear();
  const uintptr_t again = Allocate(20 * kMiB);
  ASSERT_NE(again, 0u) << "given back, not lost";
  EXPECT_EQ(heap_.kept_bytes(), 0u);
  EXPECT_TRUE(heap_.IsValid());
}

TEST_F(HeapTest, APageWithALiveBlockIsNeverGivenBack) {
  Open(64 * kMiB, /*keep=*/0);
  const uintptr_t a = Allocate(kMiB + 512 * 1024), b = Allocate(512), c = Allocate(kMiB);
  heap_.Free(a, &block_);
  heap_.Free(c, &block_);
  GiveBackAll();
  const uintptr_t page = b / RangeHeap::kPage * RangeHeap::kPage;
  for (const auto& [address, bytes] : given_back_) {
    EXPECT_TRUE(page + RangeHeap::kPage <= address || page >= address + bytes) << "b's page was given back";
  }
  EXPECT_TRUE(heap_.IsValid());
}

// Issue 13: a free of a large block lasted for as long as the host took for its pages, hundreds of milliseconds.
TEST(HeapGiveBack, AFreeReturnsWhileThePagesAreOnTheirWay) {
  std::atomic<bool> open{false};
  std::atomic<int> entered{0};
  RangeHeap heap;
  ASSERT_TRUE(heap.Open(kBegin, 64 * kMiB, 0,
                        [&](uintptr_t, size_t) {
                          entered.fetch_add(1);
                          while (!open.load()) std::this_thread::sleep_for(std::chrono::microseconds(50));
                        })
                  .ok());
  uint64_t number = 0;
  HeapBlock block;
  const uintptr_t large = heap.Allocate(32 * kMiB, RangeHeap::kGranule, PageClass::kNormal, "large", &number);
  const uintptr_t small = heap.Allocate(4096, RangeHeap::kGranule, PageClass::kNormal, "small", &number);
  EXPECT_TRUE(heap.Free(large, &block));  // back, though no page is
  while (entered.load() == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  EXPECT_TRUE(heap.Free(small, &block));  // and the heap goes on meanwhile
  EXPECT_NE(heap.Allocate(8 * kMiB, RangeHeap::kGranule, PageClass::kNormal, "next", &number), 0u);
  open = true;
  PageReturner::Get().Forget(&heap);
  while (heap.GiveBackSome()) continue;
  EXPECT_EQ(heap.kept_bytes(), 0u);
  EXPECT_TRUE(heap.IsValid());
}

TEST_F(HeapTest, ImpossibleSizesGiveZeroAndChangeNothing) {
  Open(4 * kMiB);
  EXPECT_EQ(Allocate(4 * kMiB + 1), 0u);
  EXPECT_EQ(Allocate(SIZE_MAX), 0u);
  EXPECT_EQ(Allocate(4 * kMiB, 8 * kMiB), 0u);
  EXPECT_EQ(Allocate(4 * kMiB), kBegin);
  EXPECT_EQ(Allocate(1), 0u);
  EXPECT_TRUE(heap_.IsValid());
}

// A model as dumb as can be: a map of what is live.
TEST_F(HeapTest, RandomTrafficAgreesWithAModel) {
  Open(256 * kMiB, /*keep=*/16 * kMiB);
  std::mt19937 random(7);
  std::map<uintptr_t, size_t> live;
  for (int step = 0; step < 40'000; ++step) {
    if (live.size() < 200 || random() % 2 == 0) {
      const size_t bytes = size_t{1} << random() % 21;
      const size_t size = bytes + random() % bytes;
      const size_t alignment = random() % 16 == 0 ? size_t{1} << random() % 22 : 1;
      const uintptr_t at = Allocate(size, alignment);
      if (at == 0) continue;
      EXPECT_EQ(at % std::max<size_t>(alignment, 1), 0u);
      const auto after = live.lower_bound(at);
      ASSERT_TRUE(after == live.end() || at + size <= after->first) << "overlaps the block after it";
      ASSERT_TRUE(after == live.begin() || std::prev(after)->first + std::prev(after)->second <= at);
      live.emplace(at, size);
    } else {
      auto victim = live.lower_bound(kBegin + random() % (256 * kMiB));
      if (victim == live.end()) victim = live.begin();
      const uintptr_t inside = victim->first + random() % victim->second;
      ASSERT_TRUE(heap_.Find(inside, &block_));
      ASSERT_EQ(block_.base, victim->first);
      ASSERT_EQ(block_.bytes, victim->second);
      ASSERT_TRUE(heap_.Free(victim->first, &block_));
      live.erase(victim);
    }
    if (step % 1000 == 0) {
      ASSERT_TRUE(heap_.IsValid()) << "at step " << step;
    }
  }
  EXPECT_EQ(heap_.LiveBlocks().size(), live.size());
  for (const auto& [at, size] : live) ASSERT_TRUE(heap_.Free(at, &block_));
  GiveBackAll();  // what another thread gives back just now is not free
  EXPECT_TRUE(heap_.IsValid());
  EXPECT_EQ(heap_.LargestFree(), 256 * kMiB);
}

// Each thread's own blocks are found while all the others allocate and free around them.
TEST_F(HeapTest, LookUpsNeverMissALiveBlockUnderConcurrentTraffic) {
  Open(256 * kMiB, /*keep=*/4 * kMiB);
  std::atomic<int> misses{0}, overlaps{0};
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 8; ++id) {
    threads.emplace_back([&, id] {
      std::mt19937 random(id);
      std::vector<std::pair<uintptr_t, size_t>> mine;
      HeapBlock block;
      uint64_t number;
      for (int step = 0; step < 4'000; ++step) {
        if (mine.size() < 32) {
          const size_t bytes = 1 + random() % 300'000;
          const uintptr_t at = heap_.Allocate(bytes, 1, PageClass::kNormal, "t", &number);
          if (at != 0) mine.push_back({at, bytes});
        } else {
          const size_t victim = random() % mine.size();
          if (!heap_.Free(mine[victim].first, &block) || block.bytes != mine[victim].second) ++overlaps;
          mine[victim] = mine.back();
          mine.pop_back();
        }
        for (int look = 0; look < 4 && !mine.empty(); ++look) {
          const auto [at, bytes] = mine[random() % mine.size()];
          if (!heap_.Find(at + random() % bytes, &block) || block.base != at || block.bytes != bytes) ++misses;
        }
      }
      for (const auto& [at, bytes] : mine) heap_.Free(at, &block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(misses, 0);
  EXPECT_EQ(overlaps, 0);
  EXPECT_TRUE(heap_.IsValid());
  EXPECT_TRUE(heap_.LiveBlocks().empty());
}

}  // namespace
}  // namespace millpond

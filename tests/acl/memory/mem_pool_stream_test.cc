// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory pools, the order: who may have a freed block, and when (CANN's chapter on memory pools, "memory
// reuse"). A Gate is a task that waits; a stream behind it has not got to anything launched later.
#include <random>

#include "tests/acl/memory/mem_pool_fixture.h"

using namespace acl_test;  // NOLINT

namespace {

class MemPoolOrder : public MemPoolTest {
 protected:
  void SetUp() override {
    MemPoolTest::SetUp();
    other_ = NewStream();
  }
  // Writes `value` into the whole block, as a kernel on `stream`.
  static void Write(aclrtStream stream, void* block, size_t size, uint8_t value) {
    ACL_OK(Launch(stream, [=] { std::memset(millpond_reachable(block), value, size); }));
  }
  // Counts the bytes that are not `value`, as a kernel on `stream`.
  void Check(aclrtStream stream, void* block, size_t size, uint8_t value) {
    ACL_OK(Launch(stream, [=, this] {
      const auto* bytes = static_cast<const uint8_t*>(millpond_reachable(block));
      size_t bad = 0;
      for (size_t i = 0; i < size; ++i) bad += bytes[i] != value;
      wrong_.fetch_add(bad);
    }));
  }
  void Use(aclrtStream stream, void* block, size_t size, uint8_t value) {
    Write(stream, block, size, value);
    Check(stream, block, size, value);
  }
  // All that the pool has.
  void UseAndFree(aclrtStream stream, aclrtMemPool pool) {
    void* block = Alloc(pool, 4 * kMiB, stream);
    Use(stream, block, 4 * kMiB, 0xaa);
    ACL_OK(aclrtMemPoolFreeAsync(block, stream));
  }
  // A new stream, which `stop` holds, and which uses and frees all that the pool has behind that.
  template <class Stop>
  aclrtStream UseAndFreeOnNewStream(aclrtMemPool pool, Stop stop) {
    aclrtStream stream = nullptr;
    ACL_OK(aclrtCreateStream(&stream));
    ACL_OK(stop(stream));
    UseAndFree(stream, pool);
    return stream;
  }
  // stream_ uses all that the pool has behind the gate, which is closed, then sets done_; the memory is freed there.
  void UseAndFreeBehind(Gate* gate, aclrtMemPool pool) {
    ACL_OK(gate->LaunchOn(stream_));
    void* block = Alloc(pool, 4 * kMiB);
    Use(stream_, block, 4 * kMiB, 0xaa);
    ACL_OK(Launch(stream_, [this] { done_ = true; }));
    ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  }
  // The block is all that the pool has, and the stream's alone: so was everybody's before.
  void UseLast(aclrtStream stream, void* block, aclrtMemPool pool) {
    Use(stream, block, 4 * kMiB, 0xbb);
    ACL_OK(aclrtSynchronizeStream(stream));
    EXPECT_EQ(wrong_, 0u);
    Destroy(pool);
  }
  static int TryAlloc(aclrtMemPool pool, size_t size, aclrtStream stream, void** block) {
    return aclrtMemPoolMallocAsync(block, size, pool, stream);
  }

  aclrtStream other_ = nullptr;
  std::atomic<size_t> wrong_{0};
  std::atomic<bool> done_{false};
};

// CANN's chapter on memory pools: within a stream, what an earlier task has returned is reused, before the task has
// run; nothing waits.
TEST_F(MemPoolOrder, SameStreamReusesAtOnce) {
  aclrtMemPool pool = Create(4 * kMiB);
  Gate gate;
  ACL_OK(gate.LaunchOn(stream_));
  void* first = nullptr;
  for (uint8_t i = 1; i <= 50; ++i) {
    void* block = Alloc(pool, 4 * kMiB);  // all the pool has
    if (first == nullptr) first = block;
    EXPECT_EQ(block, first);
    Use(stream_, block, 4 * kMiB, i);
    ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  }
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(wrong_, 0u);
  Destroy(pool);
}

// CANN's chapter on memory pools: what was freed is used again before new memory is taken. (Which of several free
// places: docs/compat.md.)
TEST_F(MemPoolOrder, FreeMemoryIsUsedBeforeNewMemory) {
  aclrtMemPool pool = Create(256 * kMiB);
  std::vector<void*> blocks;
  for (const size_t size : {16 * kMiB, 4 * kMiB, 32 * kMiB, 8 * kMiB}) {
    blocks.push_back(Alloc(pool, size));
    Alloc(pool, kPage);  // keeps the free ones apart
  }
  const uint64_t reserved = Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT);
  Gate gate;
  ACL_OK(gate.LaunchOn(stream_));
  for (void* block : blocks) ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  for (const size_t size : {32 * kMiB, 16 * kMiB, 7 * kMiB, 4 * kMiB}) Alloc(pool, size);
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), reserved);
  gate.Open();
  Destroy(pool);
}

// CANN's chapter on memory pools, "opportunistic": without a dependency, another stream gets memory only when the work
// on it is done; until then the allocation fails. It is an asynchronous call: it does not wait.
TEST_F(MemPoolOrder, OtherStreamDoesNotGetMemoryBeforeItsWorkIsDone) {
  aclrtMemPool pool = Create(4 * kMiB);
  Switch(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, 1);
  Gate gate;
  UseAndFreeBehind(&gate, pool);
  void* again = nullptr;
  for (int i = 0; i < 3; ++i) ACL_FAILS(ACL_ERROR_RT_MEMORY_ALLOCATION, TryAlloc(pool, 4 * kMiB, other_, &again));
  EXPECT_NE(RecentMessage().find("ALLOW_INTERNAL_DEPENDENCIES"), std::string::npos);
  EXPECT_FALSE(done_);
  gate.Open();
  EXPECT_TRUE(Eventually([&] { return done_.load(); }));
  // Done, though not synchronised: reused now.
  EXPECT_TRUE(Eventually([&] { return TryAlloc(pool, 4 * kMiB, other_, &again) == ACL_SUCCESS; }));
  UseLast(other_, again, pool);
}

// CANN's chapter on memory pools, "implicit dependency": the allocation itself waits until the other stream is done
// with the memory.
TEST_F(MemPoolOrder, InternalDependencyWaitsForTheOtherStream) {
  aclrtMemPool pool = Create(4 * kMiB);
  Switch(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 1);
  Gate gate;
  UseAndFreeBehind(&gate, pool);
  std::thread opener([&] {
    std::this_thread::sleep_for(milliseconds(30));
    gate.Open();
  });
  void* again = Alloc(pool, 4 * kMiB, other_);
  EXPECT_TRUE(done_) << "the memory came before its last use was over";
  UseLast(other_, again, pool);
  opener.join();
}

// CANN's chapter on memory pools, "event dependency": a stream that waits for an event of the other may reuse what was
// freed before it. Here that happens when the event has happened (docs/compat.md), never before.
TEST_F(MemPoolOrder, EventDependencyReusesOnceTheEventHasHappened) {
  aclrtMemPool pool = Create(4 * kMiB);
  Switch(pool, ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1);
  aclrtEvent event = NewEvent();
  UseAndFree(stream_, pool);
  ACL_OK(aclrtRecordEvent(event, stream_));
  ACL_OK(aclrtStreamWaitEvent(other_, event));
  EXPECT_TRUE(Eventually([&] {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return aclrtQueryEventStatus(event, &status) == ACL_SUCCESS && status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
  }));
  void* again = Alloc(pool, 4 * kMiB, other_);
  UseLast(other_, again, pool);
}

// Page "aclrtMemPoolFreeAsync": the stream given is the one that performs the free. Freed on another stream than it was
// allocated on, a block is in use until that one gets there, for its own stream too.
TEST_F(MemPoolOrder, FreeOnAnotherStreamIsInThatStreamsOrder) {
  aclrtMemPool pool = Create(4 * kMiB);
  void* block = Alloc(pool, 4 * kMiB, stream_);
  Gate gate;
  ACL_OK(gate.LaunchOn(other_));
  Use(other_, block, 4 * kMiB, 0xcc);
  ACL_OK(aclrtMemPoolFreeAsync(block, other_));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), 0u);
  void* again = nullptr;
  ACL_FAILS(ACL_ERROR_RT_MEMORY_ALLOCATION, TryAlloc(pool, 4 * kMiB, stream_, &again));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolFreeAsync(block, stream_));  // freed already
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(other_));
  again = Alloc(pool, 4 * kMiB, stream_);
  UseLast(stream_, again, pool);
}

// CANN's chapter on memory pools: synchronising one stream, and trimming, leave alone what another stream still works
// on.
TEST_F(MemPoolOrder, MemoryInUseByAStreamIsNotReleased) {
  aclrtMemPool pool = Create(16 * kMiB);
  Gate gate;
  ACL_OK(gate.LaunchOn(stream_));
  void* block = Alloc(pool, 8 * kMiB);
  Use(stream_, block, 8 * kMiB, 0x11);
  ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  ACL_OK(aclrtSynchronizeStream(other_));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 8 * kMiB);
  ACL_OK(aclrtMemPoolTrimTo(pool, 0));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 8 * kMiB);
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 0u);
  EXPECT_EQ(wrong_, 0u);
  Destroy(pool);
}

// A destroyed stream's memory is the next one's, live blocks of it stay valid and may be freed on any stream.
TEST_F(MemPoolOrder, DestroyedStreamLeavesItsMemory) {
  aclrtMemPool pool = Create(8 * kMiB);
  for (int round = 0; round < 5; ++round) {
    aclrtStream stream = nullptr;
    ACL_REQUIRE_OK(aclrtCreateStream(&stream));
    void* live = Alloc(pool, 4 * kMiB, stream);
    ACL_OK(aclrtMemPoolFreeAsync(Alloc(pool, 4 * kMiB, stream), stream));
    ACL_OK(aclrtDestroyStream(stream));
    ACL_OK(aclrtMemset(live, 4 * kMiB, 3, 4 * kMiB));
    ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtMemPoolFreeAsync(live, stream));
    ACL_OK(aclrtMemPoolFreeAsync(live, other_));
  }
  Alloc(pool, 8 * kMiB, other_);
  Destroy(pool);
}

// A stream that is being destroyed has work until the call returns: its memory is not reused before that.
TEST_F(MemPoolOrder, StreamUnderDestructionKeepsItsMemory) {
  aclrtMemPool pool = Create(4 * kMiB);
  Gate gate;
  const aclrtStream stream = UseAndFreeOnNewStream(pool, [&](aclrtStream made) { return gate.LaunchOn(made); });
  EXPECT_TRUE(gate.WaitEntered());
  std::atomic<bool> destroyed{false};
  std::thread destroyer([&] {
    ACL_OK(aclrtSetDevice(0));
    ACL_OK(aclrtDestroyStream(stream));
    destroyed = true;
  });
  // The handle is dead as soon as the destruction has begun.
  uint32_t flags = 0;
  EXPECT_TRUE(Eventually([&] { return aclrtStreamGetFlags(stream, &flags) != ACL_SUCCESS; }));
  void* again = nullptr;
  for (int i = 0; i < 5; ++i) ACL_FAILS(ACL_ERROR_RT_MEMORY_ALLOCATION, TryAlloc(pool, 4 * kMiB, other_, &again));
  EXPECT_FALSE(destroyed);
  gate.Open();
  destroyer.join();
  Alloc(pool, 4 * kMiB, other_);
  EXPECT_EQ(wrong_, 0u);
  Destroy(pool);
}

// A stream destroyed by force drops its work; what it had used is free then.
TEST_F(MemPoolOrder, ForcedDestructionFreesTheMemory) {
  aclrtMemPool pool = Create(4 * kMiB);
  Hold hold;
  const aclrtStream stream = UseAndFreeOnNewStream(pool, [&](aclrtStream made) { return hold.On(made); });
  void* again = nullptr;
  ACL_FAILS(ACL_ERROR_RT_MEMORY_ALLOCATION, TryAlloc(pool, 4 * kMiB, other_, &again));
  ACL_OK(aclrtDestroyStreamForce(stream));
  Alloc(pool, 4 * kMiB, other_);
  Destroy(pool);
}

// A stream under capture orders nothing now: allocation and free are refused there, and the capture stays whole.
TEST_F(MemPoolOrder, CapturingStreamIsRefused) {
  aclrtMemPool pool = Create(16 * kMiB);
  void* block = Alloc(pool, 64);
  ACL_OK(aclrtMemset(block, 64, 0, 64));
  ACL_REQUIRE_OK(aclmdlRICaptureBegin(stream_, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
  void* more = nullptr;
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, TryAlloc(pool, 64, stream_, &more));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, aclrtMemPoolFreeAsync(block, stream_));
  Write(stream_, block, 64, 9);  // a block from before may be used
  aclmdlRI model = nullptr;
  ACL_REQUIRE_OK(aclmdlRICaptureEnd(stream_, &model));
  ACL_OK(aclmdlRIExecuteAsync(model, stream_));
  Check(stream_, block, 64, 9);
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(wrong_, 0u);
  ACL_OK(aclmdlRIDestroy(model));
  ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  Destroy(pool);
}

// Threads with streams of their own share one pool that is too small for all: each block belongs only to its owner,
// from its first task to its last.
TEST_F(MemPoolOrder, ThreadsNeverSeeEachOthersBlocks) {
  constexpr int kThreads = 4;
  constexpr int kRounds = MP_SANITIZED ? 150 : 600;
  aclrtMemPool pool = Create(24 * kMiB);
  std::vector<aclrtStream> streams;
  for (int i = 0; i < kThreads; ++i) streams.push_back(NewStream());
  std::atomic<size_t> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ACL_OK(aclrtSetDevice(0));
      std::mt19937 random(static_cast<unsigned>(t + 1));
      std::vector<std::pair<void*, size_t>> mine;
      const auto value = static_cast<uint8_t>(0x10 + t);
      const auto release = [&] {
        const auto [block, size] = mine.back();
        mine.pop_back();
        Check(streams[t], block, size, value);
        ACL_OK(aclrtMemPoolFreeAsync(block, streams[t]));
      };
      for (int round = 0; round < kRounds; ++round) {
        const size_t size = size_t{512} << random() % 12;
        void* block = nullptr;
        const int code = TryAlloc(pool, size, streams[t], &block);
        if (code == ACL_SUCCESS) {
          Write(streams[t], block, size, value);
          mine.emplace_back(block, size);
        } else {
          EXPECT_EQ(code, ACL_ERROR_RT_MEMORY_ALLOCATION);
          failures.fetch_add(1);
          if (mine.empty()) ACL_OK(aclrtSynchronizeStream(streams[t]));
        }
        while (mine.size() > 6 || (code != ACL_SUCCESS && !mine.empty())) release();
        if (random() % 64 == 0) ACL_OK(aclrtMemPoolTrimTo(pool, random() % (24 * kMiB)));
        if (random() % 64 == 0) ACL_OK(aclrtSynchronizeStream(streams[t]));
      }
      while (!mine.empty()) release();
      ACL_OK(aclrtSynchronizeStream(streams[t]));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong_, 0u);
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), 0u);
  EXPECT_LE(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH), 24 * kMiB);
  ACL_OK(aclrtSynchronizeDevice());
  ACL_OK(aclrtMemPoolTrimTo(pool, 0));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 0u);
  Destroy(pool);
}

// A client that destroys a pool under another thread's feet gets errors, not a crash.
TEST_F(MemPoolOrder, DestroyRacesWithUse) {
  for (int round = 0; round < 20; ++round) {
    aclrtMemPool pool = Create(16 * kMiB);
    std::atomic<int> started{0};
    std::vector<std::thread> threads;
    for (aclrtStream stream : {stream_, other_}) {
      threads.emplace_back([&, stream] {
        ACL_OK(aclrtSetDevice(0));
        started.fetch_add(1);
        for (;;) {
          void* block = nullptr;
          const int code = aclrtMemPoolMallocAsync(&block, 4096, pool, stream);
          if (code == ACL_ERROR_RT_INVALID_HANDLE) return;
          EXPECT_EQ(code, ACL_SUCCESS) << RecentMessage();
          const int freed = aclrtMemPoolFreeAsync(block, stream);
          EXPECT_TRUE(freed == ACL_SUCCESS || freed == ACL_ERROR_RT_PARAM_INVALID) << freed;
        }
      });
    }
    while (started < 2) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    Destroy(pool);
    for (std::thread& thread : threads) thread.join();
  }
}

// --- A device of 64 MiB: what happens when there is no more ---

// For every n: with n pages left, the work either succeeds or is refused with 207001, nothing leaks, and the pool
// still serves what fits.
MP_ROLE(every_page_fails) {
  ROLE_INIT();
  aclrtStream streams[2];
  for (aclrtStream& stream : streams) ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  const size_t sizes[] = {512, 100000, kMiB, 3 * kMiB, 5 * kMiB, 64, 7 * kMiB, kPage};
  bool all_fit = false;
  for (size_t pages = 0; !all_fit; ++pages) {
    size_t before = 0, free = 0, total = 0;
    ROLE_CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total) == ACL_SUCCESS);
    ROLE_CHECK(pages * kPage <= before);
    std::vector<void*> fillers;
    for (size_t left = before; left / kPage > pages; left -= kPage) {
      void* filler = nullptr;
      ROLE_CHECK(aclrtMallocAlign32(&filler, kPage, ACL_MEM_MALLOC_HUGE_ONLY) == ACL_SUCCESS);
      fillers.push_back(filler);
    }
    aclrtMemPool pool = nullptr;
    const aclrtMemPoolProps props = MemPoolTest::Props(0);
    ROLE_CHECK(aclrtMemPoolCreate(&pool, &props) == ACL_SUCCESS);
    std::vector<void*> blocks;
    all_fit = true;
    for (size_t i = 0; i < std::size(sizes); ++i) {
      void* block = nullptr;
      const int code = aclrtMemPoolMallocAsync(&block, sizes[i], pool, streams[i % 2]);
      ROLE_CHECK(code == ACL_SUCCESS || code == ACL_ERROR_RT_MEMORY_ALLOCATION);
      ROLE_CHECK((code == ACL_SUCCESS) == (block != nullptr));
      if (code != ACL_SUCCESS) {
        all_fit = false;
        continue;
      }
      ROLE_CHECK(aclrtMemset(block, sizes[i], static_cast<int>(i), sizes[i]) == ACL_SUCCESS);
      blocks.push_back(block);
    }
    for (void* block : blocks) ROLE_CHECK(aclrtMemPoolFreeAsync(block, streams[0]) == ACL_SUCCESS);
    if (pages > 0) {  // after the failures, all that is left can still be had in one piece
      void* whole = nullptr;
      ROLE_CHECK(aclrtMemPoolMallocAsync(&whole, pages * kPage, pool, streams[0]) == ACL_SUCCESS);
      ROLE_CHECK(aclrtMemset(whole, pages * kPage, 1, pages * kPage) == ACL_SUCCESS);
    }
    ROLE_CHECK(aclrtMemPoolDestroy(pool) == ACL_SUCCESS);
    for (void* filler : fillers) ROLE_CHECK(aclrtFree(filler) == ACL_SUCCESS);
    ROLE_CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total) == ACL_SUCCESS && free == before);
  }
  return 0;
}
TEST(MemPoolShortage, EveryPageMayFail) { ExpectRole("every_page_fails", {{"MILLPOND_MEMORY", "64MiB"}}); }

// Page "aclrtMemPoolTrimTo" describes idle memory in a pool that blocks another allocation. Reference: an
// aclrtMalloc that finds no memory trims the pools and tries again; so does an allocation of another pool here.
MP_ROLE(idle_pools_give_back) {
  ROLE_INIT();
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  aclrtMemPool idle = nullptr, pool = nullptr;
  const aclrtMemPoolProps props = MemPoolTest::Props(0);
  ROLE_CHECK(aclrtMemPoolCreate(&idle, &props) == ACL_SUCCESS && aclrtMemPoolCreate(&pool, &props) == ACL_SUCCESS);
  uint64_t threshold = 64 * kMiB;
  ROLE_CHECK(aclrtMemPoolSetAttr(idle, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold) == ACL_SUCCESS);
  void* block = nullptr;
  const auto fill = [&] {
    ROLE_CHECK(aclrtMemPoolMallocAsync(&block, 48 * kMiB, idle, stream) == ACL_SUCCESS);
    ROLE_CHECK(aclrtMemPoolFreeAsync(block, stream) == ACL_SUCCESS);
    ROLE_CHECK(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
    uint64_t reserved = 0;
    ROLE_CHECK(aclrtMemPoolGetAttr(idle, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, &reserved) == ACL_SUCCESS);
    ROLE_CHECK(reserved == 48 * kMiB);
  };
  fill();
  void* plain = nullptr;
  ROLE_CHECK(aclrtMalloc(&plain, 40 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtFree(plain) == ACL_SUCCESS);
  fill();
  ROLE_CHECK(aclrtMemPoolMallocAsync(&block, 40 * kMiB, pool, stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemset(block, 40 * kMiB, 1, 40 * kMiB) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemPoolMallocAsync(&plain, 40 * kMiB, idle, stream) == ACL_ERROR_RT_MEMORY_ALLOCATION);
  return 0;
}
TEST(MemPoolShortage, IdlePoolsReleaseMemory) { ExpectRole("idle_pools_give_back", {{"MILLPOND_MEMORY", "64MiB"}}); }

// The adversarial scheduler runs tasks late and out of order between streams: memory safety must not depend on luck.
MP_ROLE(seeded) {
  ROLE_INIT();
  constexpr int kStreams = 4;
  aclrtStream streams[kStreams];
  for (aclrtStream& stream : streams) ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  aclrtMemPool pool = nullptr;
  const aclrtMemPoolProps props = MemPoolTest::Props(12 * kMiB);
  ROLE_CHECK(aclrtMemPoolCreate(&pool, &props) == ACL_SUCCESS);
  std::atomic<size_t> wrong{0};
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const int s = static_cast<int>(random() % kStreams);
    const size_t size = (random() % 4 + 1) * kMiB;
    const auto value = static_cast<uint8_t>(round);
    void* block = nullptr;
    if (aclrtMemPoolMallocAsync(&block, size, pool, streams[s]) != ACL_SUCCESS) {
      ROLE_CHECK(aclrtSynchronizeStream(streams[random() % kStreams]) == ACL_SUCCESS);
      continue;
    }
    ROLE_CHECK(Launch(streams[s], [=] { std::memset(millpond_reachable(block), value, size); }) == ACL_SUCCESS);
    ROLE_CHECK(Launch(streams[s], [=, &wrong] {
                 const auto* bytes = static_cast<const uint8_t*>(millpond_reachable(block));
                 for (size_t i = 0; i < size; i += 997) wrong += bytes[i] != value;
               }) == ACL_SUCCESS);
    ROLE_CHECK(aclrtMemPoolFreeAsync(block, streams[s]) == ACL_SUCCESS);
  }
  ROLE_CHECK(aclrtSynchronizeDevice() == ACL_SUCCESS);
  ROLE_CHECK(wrong == 0);
  ROLE_CHECK(aclrtMemPoolDestroy(pool) == ACL_SUCCESS);
  return 0;
}
TEST(MemPoolShortage, SeededSchedulesKeepBlocksApart) {
  for (const char* seed : {"1", "2", "3", "17"}) {
    ExpectRole("seeded", {{"MILLPOND_SEED", seed}, {"MILLPOND_MEMORY", "64MiB"}});
  }
}

// MILLPOND_POOL_RED_ZONE and _POISON (docs/pool.md) work for these pools too.
MP_ROLE(red_zone) {
  const auto [stream, pool] = RolePool(16 * kMiB);
  void* block = nullptr;
  ROLE_CHECK(aclrtMemPoolMallocAsync(&block, 1000, pool, stream) == ACL_SUCCESS);
  ROLE_CHECK(Launch(stream, [=] { std::memset(millpond_reachable(block), 1, 1000); }) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemPoolFreeAsync(block, stream) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemPoolMallocAsync(&block, 1000, pool, stream) == ACL_SUCCESS);
  ROLE_CHECK(Launch(stream, [=] { std::memset(millpond_reachable(block), 1, 1001); }) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemPoolFreeAsync(block, stream) != ACL_SUCCESS);
  ROLE_CHECK(RecentMessage().find("red zone") != std::string::npos);
  return 0;
}
TEST(MemPoolShortage, RedZonesNameAnOverrun) {
  ExpectRole("red_zone", {{"MILLPOND_POOL_RED_ZONE", "512"}, {"MILLPOND_POOL_POISON", "1"}});
}

}  // namespace

MP_TEST_MAIN()

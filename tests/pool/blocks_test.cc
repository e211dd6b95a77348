// SPDX-License-Identifier: Apache-2.0
// Pools and blocks: what each function of millpond/pool.h returns, and each error.
#include <algorithm>
#include <random>

#include "tests/pool/pool_fixture.h"

namespace {

using namespace pool_test;  // NOLINT: the fixture's words are this file's words

class PoolBlocks : public PoolTest {};

TEST_F(PoolBlocks, AreAlignedDisjointAndHoldTheirBytes) {
  millpondPool pool = NewPool();
  aclrtStream stream = NewStream();
  std::mt19937 random(1);
  std::vector<std::pair<char*, size_t>> blocks;
  for (int i = 0; i < 300; ++i) {
    const size_t size = 1 + random() % (i % 10 == 0 ? 3 * kMiB : 40 * kKiB);
    char* address = Bytes(Malloc(pool, size, stream));
    ASSERT_NE(address, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % 512, 0U);
    ACL_OK(aclrtMemsetAsync(address, size, i & 0xff, size, stream));
    blocks.emplace_back(address, size);
  }
  ACL_OK(aclrtSynchronizeStream(stream));
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::vector<char> host(blocks[i].second);
    ACL_OK(aclrtMemcpy(host.data(), host.size(), blocks[i].first, host.size(), ACL_MEMCPY_DEVICE_TO_HOST));
    ASSERT_EQ(std::count(host.begin(), host.end(), static_cast<char>(i & 0xff)), static_cast<int64_t>(host.size()))
        << i;
  }
  std::sort(blocks.begin(), blocks.end());
  for (size_t i = 1; i < blocks.size(); ++i) EXPECT_LE(blocks[i - 1].first + blocks[i - 1].second, blocks[i].first);
  for (auto& [address, size] : blocks) POOL_OK(millpondPoolFree(pool, address, stream));
  EXPECT_EQ(StatisticsOf(pool).liveBlocks, 0U);
}

TEST_F(PoolBlocks, FreedBlockIsReusedOnItsStreamWhileTheStreamRuns) {
  millpondPool pool = NewPool();
  aclrtStream stream = NewStream();
  for (size_t size : {size_t{512}, 40 * kKiB, 5 * kMiB}) {
    Gate gate;
    void* first = Malloc(pool, size, stream);
    ACL_OK(gate.LaunchOn(stream));
    POOL_OK(millpondPoolFree(pool, first, stream));
    EXPECT_EQ(Malloc(pool, size, stream), first) << size;
    POOL_OK(millpondPoolFree(pool, first, stream));
    gate.Open();
    ACL_OK(aclrtSynchronizeStream(stream));
  }
}

TEST_F(PoolBlocks, NullStreamIsTheDefaultStreamOfTheCurrentContext) {
  millpondPool pool = NewPool();
  aclrtStream standard = nullptr;
  ACL_OK(aclrtCtxGetCurrentDefaultStream(&standard));
  void* block = Malloc(pool, kMiB, nullptr);
  POOL_OK(millpondPoolFree(pool, block, standard));
  EXPECT_EQ(StatisticsOf(pool).pendingBytes, 0U) << "the same stream: nothing to wait for";
  EXPECT_EQ(Malloc(pool, kMiB, standard), block);
  POOL_OK(millpondPoolFree(pool, block, nullptr));
}

TEST_F(PoolBlocks, AdviceIsHonouredWhereItIsFree) {
  millpondPool pool = NewPool();
  aclrtStream stream = NewStream();
  void* low = Malloc(pool, 4 * kMiB, stream);
  void* high = Malloc(pool, 4 * kMiB, stream);
  POOL_OK(millpondPoolFree(pool, low, stream));
  POOL_OK(millpondPoolFree(pool, high, stream));
  void* got = nullptr;
  POOL_OK(millpondPoolMallocAt(pool, 3 * kMiB, stream, high, &got));
  EXPECT_EQ(got, high);
  void* taken = nullptr;
  POOL_OK(millpondPoolMallocAt(pool, kMiB, stream, high, &taken));  // not free: anywhere
  EXPECT_NE(taken, nullptr);
  EXPECT_TRUE(Bytes(taken) + kMiB <= high || Bytes(taken) >= Bytes(high) + 3 * kMiB);
  void* odd = nullptr;
  POOL_OK(millpondPoolMallocAt(pool, kMiB, stream, reinterpret_cast<void*>(12345), &odd));
  EXPECT_NE(odd, nullptr);
  for (void* block : {got, taken, odd}) POOL_OK(millpondPoolFree(pool, block, stream));
}

// --- refusals -------------------------------------------------------------------------------------------------------

TEST_F(PoolBlocks, BadFreesAreExplainedAndChangeNothing) {
  millpondPool pool = NewPool();
  aclrtStream stream = NewStream();
  for (size_t size : {size_t{2 * kKiB}, 6 * kMiB}) {
    char* block = Bytes(Malloc(pool, size, stream));
    POOL_FAILS(kBadFree, "inside a live block", millpondPoolFree(pool, block + 512, stream));
    POOL_FAILS(kBadFree, "inside a live block", millpondPoolFree(pool, block + 7, stream));
    POOL_OK(millpondPoolFree(pool, block, stream));
    POOL_FAILS(kBadFree, "double free", millpondPoolFree(pool, block, stream));
    POOL_FAILS(kBadFree, "double free", millpondPoolRecordStream(pool, block, NewStream()));
    POOL_FAILS(kBadFree, "double free", millpondPoolTag(pool, block, "late"));
  }
  acl_test::DeviceBuffer foreign(kMiB);
  POOL_FAILS(kBadFree, "not allocated from this pool", millpondPoolFree(pool, foreign.get(), stream));
  millpondPool other = NewPool();
  void* theirs = Malloc(other, kMiB, stream);
  POOL_FAILS(kBadFree, "not allocated from this pool", millpondPoolFree(pool, theirs, stream));
  POOL_FAILS(kBadFree, "not allocated", millpondPoolFree(pool, &foreign, stream));
  POOL_FAILS(kBadFree, "not allocated", millpondPoolRecordStream(pool, theirs, stream));
  POOL_FAILS(kBadArgument, "ptr is null", millpondPoolFree(pool, nullptr, stream));
  POOL_FAILS(kBadArgument, "ptr is null", millpondPoolRecordStream(pool, nullptr, stream));
  POOL_FAILS(kBadArgument, "ptr is null", millpondPoolTag(pool, nullptr, "x"));
  POOL_OK(millpondPoolFree(other, theirs, stream));
  EXPECT_EQ(StatisticsOf(pool).frees, 2U);
  EXPECT_EQ(StatisticsOf(pool).liveBytes, 0U);
}

TEST_F(PoolBlocks, BadRequestsAreExplained) {
  millpondPool pool = NewPool();
  aclrtStream stream = NewStream();
  int mark = 0;
  void* address = &mark;
  POOL_FAILS(kBadArgument, "0 bytes", millpondPoolMalloc(pool, 0, stream, &address));
  EXPECT_EQ(address, nullptr) << "the output must not keep the caller's garbage";
  POOL_FAILS(kBadArgument, "ptr is null", millpondPoolMalloc(pool, 1, stream, nullptr));
  POOL_FAILS(kBadArgument, "ptr is null", millpondPoolMallocAt(pool, 1, stream, nullptr, nullptr));
  POOL_FAILS(kOutOfMemory, "in total", millpondPoolMalloc(pool, SIZE_MAX, stream, &address));
  POOL_FAILS(kOutOfMemory, "in total", millpondPoolMallocAt(pool, SIZE_MAX - 100, stream, nullptr, &address));
  void* block = Malloc(pool, 1, stream);
  POOL_FAILS(kBadArgument, "tag is null", millpondPoolTag(pool, block, nullptr));
  POOL_OK(millpondPoolFree(pool, block, stream));
}

// Every function that takes a pool, with something that is not one.
void ExpectRefused(millpondPool pool, const char* what) {
  SCOPED_TRACE(what);
  void* address = nullptr;
  aclrtAllocatorDesc desc = nullptr;
  millpondPoolStatistics statistics = {};
  statistics.size = sizeof(statistics);
  const aclError codes[] = {millpondPoolMalloc(pool, 512, nullptr, &address),
                            millpondPoolMallocAt(pool, 512, nullptr, nullptr, &address),
                            millpondPoolFree(pool, &address, nullptr),
                            millpondPoolRecordStream(pool, &address, nullptr),
                            millpondPoolTag(pool, &address, "tag"),
                            millpondPoolForgetStream(pool, nullptr),
                            millpondPoolTrim(pool, 0, 1),
                            millpondPoolGetStatistics(pool, &statistics),
                            millpondPoolResetHighs(pool),
                            millpondPoolSaveSnapshot(pool, "/dev/null", "json"),
                            millpondPoolStartRecording(pool),
                            millpondPoolStopRecording(pool, "/dev/null", nullptr),
                            millpondPoolFollow(pool, "/dev/null"),
                            millpondPoolBeginRun(pool),
                            millpondPoolEndRun(pool),
                            millpondPoolUnfollow(pool),
                            millpondPoolCreateDesc(pool, nullptr, &desc),
                            millpondPoolDestroy(pool)};
  for (size_t i = 0; i < std::size(codes); ++i) EXPECT_EQ(codes[i], kBadArgument) << "call " << i;
  EXPECT_NE(Said().find("millpondPoolDestroy: "), std::string::npos) << Said();
  EXPECT_NE(Said().find("is not a pool"), std::string::npos) << Said();
}

TEST_F(PoolBlocks, EveryFunctionRefusesAHandleThatIsNotAPool) {
  int local = 0;
  ExpectRefused(nullptr, "null");
  ExpectRefused(reinterpret_cast<millpondPool>(&local), "an address");
  ExpectRefused(reinterpret_cast<millpondPool>(uintptr_t{0x7000000000000000}), "our kind, no generation");
  ExpectRefused(reinterpret_cast<millpondPool>(~uintptr_t{0}), "all ones");
  ExpectRefused(static_cast<millpondPool>(NewStream()), "a stream");
  millpondPool pool = NewPool();
  POOL_OK(millpondPoolDestroy(pool));
  ForgetPool(pool);
  ExpectRefused(pool, "destroyed");
  millpondPool next = NewPool();
  EXPECT_NE(next, pool) << "a handle is not used again";
}

TEST_F(PoolBlocks, BadSettingsAreRefusedWithTheirRange) {
  millpondPool pool = reinterpret_cast<millpondPool>(uintptr_t{1});
  const auto create = [&](std::vector<millpondPoolSetting> settings, int32_t device = 0) {
    return millpondPoolCreate(device, settings.data(), settings.size(), &pool);
  };
  POOL_FAILS(kBadArgument, "512 to 1048576", create({{"small", "100"}}));
  EXPECT_EQ(pool, nullptr);
  POOL_FAILS(kBadArgument, "0 to 1", create({{"vmm", "2"}}));
  POOL_FAILS(kBadArgument, "is not a number", create({{"limit", "much"}}));
  POOL_FAILS(kBadArgument, "is not a number", create({{"keep", "-1"}}));
  POOL_FAILS(kBadArgument, "colour", create({{"colour", "1"}}));
  POOL_FAILS(kBadArgument, "name is null", create({{nullptr, "1"}}));
  POOL_FAILS(kBadArgument, "null value", create({{"limit", nullptr}}));
  POOL_FAILS(kBadArgument, "settings is null", millpondPoolCreate(0, nullptr, 2, &pool));
  POOL_FAILS(kBadArgument, "pool is null", millpondPoolCreate(0, nullptr, 0, nullptr));
  POOL_FAILS(kBadArgument, "numbered from 0", create({}, 1));
  POOL_FAILS(kBadArgument, "numbered from 0", create({}, -1));
  POOL_FAILS(kBadArgument, "device is -1", millpondPoolDefault(-1, &pool));
  POOL_FAILS(kBadArgument, "device is 256", millpondPoolDefault(256, &pool));
  POOL_FAILS(kBadArgument, "numbered from 0", millpondPoolDefault(255, &pool));
  POOL_FAILS(kBadArgument, "pool is null", millpondPoolDefault(0, nullptr));
}

TEST_F(PoolBlocks, ExceedingTheLimitIsOutOfMemoryWithAReason) {
  millpondPool pool = NewPool({{"limit", "8MiB"}});
  aclrtStream stream = NewStream();
  void* most = Malloc(pool, 6 * kMiB, stream);
  void* none = most;
  POOL_FAILS(kOutOfMemory, "limit is 8388608", millpondPoolMalloc(pool, 4 * kMiB, stream, &none));
  EXPECT_EQ(none, nullptr);
  EXPECT_NE(Said().find("6291456 bytes are live"), std::string::npos) << Said();
  EXPECT_EQ(StatisticsOf(pool).failures, 1U);
  void* rest = Malloc(pool, 2 * kMiB, stream);
  EXPECT_LE(StatisticsOf(pool).reservedBytes, 8 * kMiB);
  POOL_OK(millpondPoolFree(pool, most, stream));
  void* again = Malloc(pool, 4 * kMiB, stream);
  for (void* block : {rest, again}) POOL_OK(millpondPoolFree(pool, block, stream));
}

TEST_F(PoolBlocks, MessagesArePerThread) {
  millpondPool pool = NewPool();
  POOL_FAILS(kBadArgument, "ptr is null", millpondPoolFree(pool, nullptr, nullptr));
  std::thread([] { EXPECT_EQ(Said(), ""); }).join();
  EXPECT_NE(Said().find("millpondPoolFree"), std::string::npos);
}

TEST_F(PoolBlocks, ThreadsWorkOnTheirOwnStreamsAndOnASharedOne) {
  millpondPool pool = NewPool();
  aclrtStream shared = NewStream();
  std::vector<aclrtStream> own = {NewStream(), NewStream(), NewStream()};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < own.size(); ++t) {
    threads.emplace_back([&, t] {  // no context is set here: the pool brings its own
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<std::pair<void*, aclrtStream>> live;
      for (int i = 0; i < 4000; ++i) {
        if (live.size() < 64 && random() % 2 == 0) {
          aclrtStream stream = random() % 2 == 0 ? shared : own[t];
          live.emplace_back(Malloc(pool, 1 + random() % (64 * kKiB), stream), stream);
        } else if (!live.empty()) {
          std::swap(live[random() % live.size()], live.back());
          POOL_OK(millpondPoolFree(pool, live.back().first, live.back().second));
          live.pop_back();
        }
      }
      for (auto& [block, stream] : live) POOL_OK(millpondPoolFree(pool, block, stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const millpondPoolStatistics statistics = StatisticsOf(pool);
  EXPECT_EQ(statistics.liveBytes, 0U);
  EXPECT_EQ(statistics.allocations, statistics.frees);
}

TEST_F(PoolBlocks, DestroyReleasesAllMemoryIncludingLiveBlocks) {
  const size_t before = DeviceFree();
  for (const char* vmm : {"1", "0"}) {
    millpondPool pool = NewPool({{"vmm", vmm}});
    aclrtStream stream = NewStream();
    Malloc(pool, 30 * kMiB, stream);
    POOL_OK(millpondPoolFree(pool, Malloc(pool, 10 * kMiB, stream), stream));
    EXPECT_LE(DeviceFree() + 40 * kMiB, before + 10 * kMiB);
    POOL_OK(millpondPoolDestroy(pool));
    ForgetPool(pool);
    EXPECT_EQ(DeviceFree(), before) << "vmm=" << vmm;
  }
}

}  // namespace

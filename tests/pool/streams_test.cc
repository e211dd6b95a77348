// SPDX-License-Identifier: Apache-2.0
// What the pool guarantees about streams: memory is neither reused nor released before the work that uses it is done,
// and calls work from any thread, context and device and during a capture.
#include "tests/pool/pool_fixture.h"

namespace {

using namespace pool_test;  // NOLINT: the fixture's words are this file's words

// One page in total: a stream that needs memory must wait for the one that has it.
const std::vector<millpondPoolSetting> kOnePage = {{"limit", "2MiB"}};
constexpr size_t kMax = kPage - 64 * kKiB;

class PoolStreams : public PoolTest {
 protected:
  static std::future<void*> MallocElsewhere(millpondPool pool, size_t size, aclrtStream stream) {
    return std::async(std::launch::async, [=] { return Malloc(pool, size, stream); });
  }
  // The block of the pool's only page, which the stream gets when the gate opens, and not before.
  static void* OnceOpen(Gate* gate, millpondPool pool, aclrtStream stream) {
    std::future<void*> wanted = MallocElsewhere(pool, kMax, stream);
    EXPECT_FALSE(Ready(wanted, kAWhile));
    gate->Open();
    return wanted.get();
  }
  // A pool whose only block is the first stream's.
  struct OnlyBlock {
    millpondPool pool;
    aclrtStream owner, other;
    void* block;
  };
  OnlyBlock TakeAll() {
    OnlyBlock taken{NewPool(kOnePage), NewStream(), NewStream(), nullptr};
    taken.block = Malloc(taken.pool, kMax, taken.owner);
    return taken;
  }
  // What the one stream gets after the other, which is held up, has freed the block.
  static void* OnceFreed(const OnlyBlock& taken, aclrtStream freeing, aclrtStream wanting) {
    Gate gate;
    ACL_OK(gate.LaunchOn(freeing));
    POOL_OK(millpondPoolFree(taken.pool, taken.block, freeing));
    return OnceOpen(&gate, taken.pool, wanting);
  }
};

TEST_F(PoolStreams, BlockOfABusyStreamIsNotGivenToAnotherStream) {
  const OnlyBlock taken = TakeAll();
  EXPECT_NE(OnceFreed(taken, taken.owner, taken.other), nullptr);
  EXPECT_EQ(StatisticsOf(taken.pool).reservedBytes, kPage);
}

TEST_F(PoolStreams, RecordedStreamDelaysReuseEvenOnTheBlocksOwnStream) {
  const auto [pool, owner, user, block] = TakeAll();
  Gate gate;
  ACL_OK(gate.LaunchOn(user));
  POOL_OK(millpondPoolRecordStream(pool, block, user));
  POOL_OK(millpondPoolRecordStream(pool, block, user));  // twice is once
  POOL_OK(millpondPoolFree(pool, block, owner));
  EXPECT_EQ(StatisticsOf(pool).pendingBytes, kMax);
  EXPECT_EQ(StatisticsOf(pool).liveBlocks, 0U);
  EXPECT_EQ(OnceOpen(&gate, pool, owner), block);
  EXPECT_EQ(StatisticsOf(pool).pendingBytes, 0U);
}

// Work launched on the recorded stream after record_stream but before the free counts too.
TEST_F(PoolStreams, RecordedStreamCountsUpToTheFree) {
  const auto [pool, owner, user, block] = TakeAll();
  POOL_OK(millpondPoolRecordStream(pool, block, user));
  Gate gate;
  ACL_OK(gate.LaunchOn(user));
  POOL_OK(millpondPoolFree(pool, block, owner));
  EXPECT_NE(OnceOpen(&gate, pool, owner), nullptr);
}

TEST_F(PoolStreams, FreeNamesTheStreamOfTheLastUse) {
  const OnlyBlock taken = TakeAll();
  EXPECT_NE(OnceFreed(taken, taken.other, taken.owner), nullptr);
}

// Two streams hand each other data through blocks that change owners all the time; every byte is checked by a task.
TEST_F(PoolStreams, DataIsCorrectWhileBlocksChangeStreams) {
  millpondPool pool = NewPool({{"limit", "8MiB"}});
  aclrtStream maker = NewStream(), reader = NewStream();
  aclrtEvent made = NewEventEx(ACL_EVENT_SYNC);
  std::atomic<size_t> wrong{0}, checked{0};
  for (int round = 1; round <= 200; ++round) {
    const size_t size = (static_cast<size_t>(round) * 37 % 900 + 1) * kKiB;
    aclrtStream owner = round % 3 == 0 ? reader : maker;
    void* block = Malloc(pool, size, owner);
    ASSERT_NE(block, nullptr);
    if (owner != maker) POOL_OK(millpondPoolRecordStream(pool, block, maker));
    aclrtEvent ready = made;
    if (owner != maker) {  // the block was last used on the reader's stream: the maker must not overtake it
      ACL_OK(aclrtRecordEvent(ready, reader));
      ACL_OK(aclrtStreamWaitEvent(maker, ready));
    }
    ACL_OK(aclrtMemsetAsync(block, size, round & 0xff, size, maker));
    ACL_OK(aclrtRecordEvent(made, maker));
    ACL_OK(aclrtStreamWaitEvent(reader, made));
    ACL_OK(acl_test::Launch(reader, [=, &wrong, &checked] {
      const auto* bytes = static_cast<const unsigned char*>(millpond_reachable(block));
      for (size_t i = 0; i < size; i += 61) {
        wrong += bytes[i] != static_cast<unsigned char>(round & 0xff);
        ++checked;
      }
    }));
    if (owner != reader) POOL_OK(millpondPoolRecordStream(pool, block, reader));
    POOL_OK(millpondPoolFree(pool, block, owner));
  }
  ACL_OK(aclrtSynchronizeStream(reader));
  ACL_OK(aclrtSynchronizeStream(maker));
  EXPECT_EQ(wrong.load(), 0U);
  EXPECT_GT(checked.load(), 1000U);
}

// --- streams that end -----------------------------------------------------------------------------------------------

TEST_F(PoolStreams, ForgottenStreamsMemoryIsReusedByTheNextStream) {
  millpondPool pool = NewPool();
  aclrtStream first = NewStream();
  void* free_one = Malloc(pool, 3 * kMiB, first);
  void* live_one = Malloc(pool, kMiB, first);
  POOL_OK(millpondPoolFree(pool, free_one, first));
  const millpondPoolStatistics before = StatisticsOf(pool);
  POOL_OK(millpondPoolForgetStream(pool, first));
  ACL_OK(aclrtDestroyStream(first));
  Forget(first);
  aclrtStream second = NewStream();
  EXPECT_EQ(Malloc(pool, 3 * kMiB, second), free_one);
  POOL_OK(millpondPoolFree(pool, live_one, second));
  EXPECT_EQ(StatisticsOf(pool).pagesTaken, before.pagesTaken);
  EXPECT_EQ(StatisticsOf(pool).pagesMoved, before.pagesMoved);
  POOL_OK(millpondPoolFree(pool, free_one, second));
}

TEST_F(PoolStreams, ForgetStreamWaitsForTheStreamsWork) {
  millpondPool pool = NewPool(kOnePage);
  aclrtStream ending = NewStream(), next = NewStream();
  POOL_OK(millpondPoolFree(pool, Malloc(pool, kMax, ending), ending));
  Gate gate;
  ACL_OK(gate.LaunchOn(ending));
  auto forgotten = std::async(std::launch::async, [&] { return millpondPoolForgetStream(pool, ending); });
  EXPECT_FALSE(Ready(forgotten, kAWhile));
  gate.Open();
  EXPECT_EQ(forgotten.get(), ACL_SUCCESS);
  EXPECT_NE(Malloc(pool, kMax, next), nullptr);
  aclrtStream never = NewStream();
  POOL_OK(millpondPoolForgetStream(pool, never));  // one the pool never met
}

// A client that does not call ForgetStream: the stream is destroyed first. Its handle is invalid and its work done.
TEST_F(PoolStreams, StreamDestroyedWithoutForgetStreamBlocksNothing) {
  millpondPool pool = NewPool(kOnePage);
  aclrtStream silent = NewStream(), next = NewStream();
  POOL_OK(millpondPoolFree(pool, Malloc(pool, kMax, silent), silent));
  ACL_OK(aclrtDestroyStream(silent));
  Forget(silent);
  EXPECT_NE(Malloc(pool, kMax, next), nullptr);
}

TEST_F(PoolStreams, TrimReleasesOnlyWhatItsStreamIsDoneWith) {
  const size_t before = DeviceFree();
  millpondPool pool = NewPool();
  aclrtStream stream = NewStream();
  void* kept = Malloc(pool, 6 * kMiB, stream);
  POOL_OK(millpondPoolFree(pool, Malloc(pool, 20 * kMiB, stream), stream));
  Gate gate;
  ACL_OK(gate.LaunchOn(stream));
  POOL_OK(millpondPoolTrim(pool, 0, 0));
  EXPECT_GE(StatisticsOf(pool).reservedBytes, 26 * kMiB) << "the stream may still use it";
  auto trimmed = std::async(std::launch::async, [&] { return millpondPoolTrim(pool, 0, 1); });
  EXPECT_FALSE(Ready(trimmed, kAWhile));
  gate.Open();
  EXPECT_EQ(trimmed.get(), ACL_SUCCESS);
  EXPECT_LE(StatisticsOf(pool).reservedBytes, 8 * kMiB);
  EXPECT_GE(DeviceFree() + 8 * kMiB, before);
  POOL_OK(millpondPoolFree(pool, kept, stream));
  ACL_OK(aclrtSynchronizeStream(stream));
  POOL_OK(millpondPoolTrim(pool, 4 * kMiB, 0));
  EXPECT_LE(StatisticsOf(pool).reservedBytes, 4 * kMiB);
  POOL_OK(millpondPoolTrim(pool, 0, 0));
  EXPECT_EQ(StatisticsOf(pool).reservedBytes, 0U);
  EXPECT_EQ(DeviceFree(), before);
}

TEST_F(PoolStreams, TrimWithWaitReleasesPendingBlocksToo) {
  millpondPool pool = NewPool();
  aclrtStream owner = NewStream(), user = NewStream();
  void* block = Malloc(pool, 6 * kMiB, owner);
  Gate gate;
  ACL_OK(gate.LaunchOn(user));
  POOL_OK(millpondPoolRecordStream(pool, block, user));
  POOL_OK(millpondPoolFree(pool, block, owner));
  POOL_OK(millpondPoolTrim(pool, 0, 0));
  EXPECT_EQ(StatisticsOf(pool).reservedBytes, 6 * kMiB);
  auto trimmed = std::async(std::launch::async, [&] { return millpondPoolTrim(pool, 0, 1); });
  EXPECT_FALSE(Ready(trimmed, kAWhile));
  gate.Open();
  EXPECT_EQ(trimmed.get(), ACL_SUCCESS);
  EXPECT_EQ(StatisticsOf(pool).reservedBytes, 0U);
}

TEST_F(PoolStreams, DestroyWaitsForTheStreamsThatUseItsMemory) {
  millpondPool pool = NewPool();
  aclrtStream stream = NewStream(), user = NewStream();
  void* block = Malloc(pool, kMiB, stream);
  Gate gate;
  ACL_OK(gate.LaunchOn(user));
  POOL_OK(millpondPoolRecordStream(pool, block, user));
  POOL_OK(millpondPoolFree(pool, block, stream));
  ForgetPool(pool);
  auto destroyed = std::async(std::launch::async, [&] { return millpondPoolDestroy(pool); });
  EXPECT_FALSE(Ready(destroyed, kAWhile));
  gate.Open();
  EXPECT_EQ(destroyed.get(), ACL_SUCCESS);
}

// --- threads, contexts, devices, captures ---------------------------------------------------------------------------

TEST_F(PoolStreams, StreamsOfSeveralContextsShareAPool) {
  aclrtContext first = nullptr, second = nullptr;
  ACL_OK(aclrtGetCurrentContext(&first));
  millpondPool pool = NewPool(kOnePage);
  aclrtStream here = NewStream();
  ACL_OK(aclrtCreateContext(&second, 0));
  aclrtStream there = nullptr;
  ACL_OK(aclrtCreateStream(&there));
  void* block = Malloc(pool, kMax, there);
  Gate gate;
  ACL_OK(gate.LaunchOn(there));
  ACL_OK(aclrtSetCurrentContext(first));
  POOL_OK(millpondPoolFree(pool, block, there));
  // The pool must mark a stream of the other context, from this one.
  auto wanted = std::async(std::launch::async, [&] {
    ACL_OK(aclrtSetCurrentContext(first));
    void* got = Malloc(pool, kMax, here);
    aclrtContext after = nullptr;
    ACL_OK(aclrtGetCurrentContext(&after));
    EXPECT_EQ(after, first);
    return got;
  });
  EXPECT_FALSE(Ready(wanted, kAWhile));
  gate.Open();
  EXPECT_NE(wanted.get(), nullptr);
  POOL_OK(millpondPoolForgetStream(pool, there));
  ACL_OK(aclrtSetCurrentContext(second));
  ACL_OK(aclrtDestroyStream(there));
  ACL_OK(aclrtDestroyContext(second));
  ACL_OK(aclrtSetCurrentContext(first));
}

TEST_F(PoolStreams, ThePoolWorksDuringACapture) {
  millpondPool pool = NewPool();
  aclrtStream captured = NewStream(), other = NewStream();
  void* block = Malloc(pool, kMiB, other);
  ACL_OK(aclmdlRICaptureBegin(captured, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
  void* inside = Malloc(pool, 9 * kMiB, captured);  // new pages during the capture
  EXPECT_NE(inside, nullptr);
  ACL_OK(aclrtMemsetAsync(inside, kMiB, 1, kMiB, captured));
  POOL_OK(millpondPoolRecordStream(pool, block, captured));
  POOL_FAILS(ACL_ERROR_RT_STREAM_CAPTURED, "being captured", millpondPoolFree(pool, block, other));
  EXPECT_EQ(StatisticsOf(pool).liveBlocks, 2U) << "a refused free changes nothing";
  aclmdlRI graph = nullptr;
  ACL_OK(aclmdlRICaptureEnd(captured, &graph));
  POOL_OK(millpondPoolFree(pool, block, other));
  ACL_OK(aclmdlRIExecuteAsync(graph, captured));
  ACL_OK(aclrtSynchronizeStream(captured));
  ACL_OK(aclmdlRIDestroy(graph));
  POOL_OK(millpondPoolFree(pool, inside, captured));
}

MP_ROLE(two_devices) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  aclrtStream zero = nullptr, one = nullptr;
  ROLE_CHECK(aclrtCreateStream(&zero) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(1) == ACL_SUCCESS);
  ROLE_CHECK(aclrtCreateStream(&one) == ACL_SUCCESS);
  // The current device is 1 throughout; the pools are distinguished by their own.
  millpondPool pools[2] = {};
  ROLE_CHECK(millpondPoolDefault(0, &pools[0]) == ACL_SUCCESS);
  ROLE_CHECK(millpondPoolDefault(1, &pools[1]) == ACL_SUCCESS);
  ROLE_CHECK(pools[0] != pools[1]);
  for (const char* which : {"zero", "one"}) {
    const int device = *which == 'z' ? 0 : 1;
    aclrtStream stream = device == 0 ? zero : one;
    void* block = nullptr;
    ROLE_CHECK(millpondPoolMalloc(pools[device], 5 << 20, stream, &block) == ACL_SUCCESS);
    aclrtPtrAttributes attributes = {};
    ROLE_CHECK(aclrtPointerGetAttributes(block, &attributes) == ACL_SUCCESS);
    ROLE_CHECK(attributes.location.id == static_cast<uint32_t>(device));
    int32_t current = -1;
    ROLE_CHECK(aclrtGetDevice(&current) == ACL_SUCCESS && current == 1);
    ROLE_CHECK(millpondPoolFree(pools[device], block, stream) == ACL_SUCCESS);
    ROLE_CHECK(millpondPoolTrim(pools[device], 0, 1) == ACL_SUCCESS);
    ROLE_CHECK(aclrtGetDevice(&current) == ACL_SUCCESS && current == 1);
    millpondPoolStatistics statistics = {};
    statistics.size = sizeof(statistics);
    ROLE_CHECK(millpondPoolGetStatistics(pools[device], &statistics) == ACL_SUCCESS);
    ROLE_CHECK(statistics.reservedBytes == 0);
  }
  for (millpondPool pool : pools) ROLE_CHECK(millpondPoolDestroy(pool) == ACL_SUCCESS);
  return 0;
}

TEST(PoolDevices, EachDeviceHasADefaultPoolWhateverTheCurrentDeviceIs) {
  acl_test::ExpectRole("two_devices", {{"MILLPOND_DEVICES", "2"}});
}

}  // namespace

MP_TEST_MAIN()

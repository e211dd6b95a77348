// SPDX-License-Identifier: Apache-2.0
// The pool's C interface when the host runs out of memory: each request of each call fails in turn, alone or with all
// that follow on this thread, in the pool and in the runtime beneath it. Issue 13, point 11.
#include "src/base/failing_new.h"
#include "tests/pool/pool_fixture.h"

namespace {

using namespace pool_test;  // NOLINT: the fixture's words are this file's words

class PoolHostFault : public PoolTest {
 protected:
  // `call` as often as it has requests, each failing once; `after` sees every answer and restores everything.
  template <class Call, class After>
  void FailEach(const char* what, const Call& call, const After& after) {
    after(call());
    int64_t nth = 1;
    int64_t told = 0;
    for (bool reached = true; reached; ++nth) {
      aclError code = ACL_SUCCESS;
      reached = failing_new::FailNth(nth, [&] { code = call(); });
      EXPECT_TRUE(reached || code == ACL_SUCCESS) << what << ": " << Said();
      told += code != ACL_SUCCESS ? 1 : 0;
      after(code);
      ASSERT_FALSE(HasFailure()) << what << ": request " << nth;
    }
    std::printf("%s: %lld requests, %lld told\n", what, static_cast<long long>(nth - 2), static_cast<long long>(told));
  }
};

TEST_F(PoolHostFault, APoolIsMadeOrNotAtAll) {
  const size_t before = DeviceFree();
  millpondPool pool = nullptr;
  FailEach(
      "create", [&] { return millpondPoolCreate(0, nullptr, 0, &pool); },
      [&](aclError code) {
        if (code == ACL_SUCCESS) {
          POOL_OK(millpondPoolDestroy(pool));
        }
      });
  EXPECT_EQ(DeviceFree(), before);
}

// A new stream each time: its lane, addresses, pages and thread cache are all made by the call.
TEST_F(PoolHostFault, TheFirstBlockOfAStreamIsThereOrNothingIsLost) {
  const char* const kinds[] = {"1", "0"};
  for (const char* vmm : kinds) {
    millpondPool pool = NewPool({{"vmm", vmm}});
    aclrtStream stream = NewStream();
    void* block = nullptr;
    FailEach(
        "malloc", [&] { return millpondPoolMalloc(pool, 3 * kMiB, stream, &block); },
        [&](aclError code) {
          if (code == ACL_SUCCESS) {
            POOL_OK(millpondPoolFree(pool, block, stream));
          }
          POOL_OK(millpondPoolForgetStream(pool, stream));
          POOL_OK(millpondPoolTrim(pool, 0, 1));
          const millpondPoolStatistics now = StatisticsOf(pool);
          EXPECT_EQ(now.liveBytes, 0u);
          EXPECT_EQ(now.reservedBytes, 0u);
          stream = NewStream();
        });
  }
}

// A free asks for nothing, so it cannot fail: not on the block's own stream and not on one that works on it still.
TEST_F(PoolHostFault, EveryBlockIsFreedWithoutHostMemory) {
  for (const bool foreign : {false, true}) {
    millpondPool pool = NewPool();
    aclrtStream own = NewStream(), other = NewStream();
    std::vector<void*> blocks(300);
    for (void*& block : blocks) block = Malloc(pool, 50'000, own);
    Gate gate;
    ACL_OK(gate.LaunchOn(other));
    POOL_OK(millpondPoolRecordStream(pool, blocks[0], other));
    POOL_OK(millpondPoolFree(pool, blocks[0], own));  // an event is made, and kept for the next
    int failed = 0;
    failing_new::FailNthAnywhere(1, true, [&] {
      for (size_t i = 2; i < blocks.size(); i += 2) {
        failed += millpondPoolFree(pool, blocks[i], foreign && i == 2 ? other : own) != ACL_SUCCESS ? 1 : 0;
      }
      for (size_t i = 1; i < blocks.size(); i += 2) {
        failed += millpondPoolFree(pool, blocks[i], own) != ACL_SUCCESS ? 1 : 0;
      }
    });
    // An event that could not be had is told, and the block is still there to be freed.
    if (foreign && failed == 1) {
      POOL_OK(millpondPoolFree(pool, blocks[2], other));
    }
    EXPECT_LE(failed, foreign ? 1 : 0) << Said();
    gate.Open();
    ACL_OK(aclrtSynchronizeStream(other));
    POOL_OK(millpondPoolTrim(pool, 0, 1));
    const millpondPoolStatistics now = StatisticsOf(pool);
    EXPECT_EQ(now.liveBlocks, 0u);
    EXPECT_EQ(now.reservedBytes, 0u);
  }
}

TEST_F(PoolHostFault, TheOtherCallsOutliveEachRequestThatFails) {
  millpondPool pool = NewPool();
  aclrtStream own = NewStream(), other = NewStream();
  void* block = Malloc(pool, 3 * kMiB, own);
  const auto ignore = [](aclError) {};
  FailEach(
      "record stream", [&] { return millpondPoolRecordStream(pool, block, other); }, ignore);
  FailEach(
      "tag", [&] { return millpondPoolTag(pool, block, "block"); }, ignore);
  FailEach(
      "reset highs", [&] { return millpondPoolResetHighs(pool); }, ignore);
  aclrtAllocatorDesc desc = nullptr;
  FailEach(
      "descriptor", [&] { return millpondPoolCreateDesc(pool, own, &desc); },
      [&](aclError code) {
        if (code == ACL_SUCCESS) {
          ACL_OK(aclrtAllocatorDestroyDesc(desc));
        }
      });
  void* advised = nullptr;
  FailEach(
      "malloc at", [&] { return millpondPoolMallocAt(pool, kMiB, own, Bytes(block) + 8 * kMiB, &advised); },
      [&](aclError code) {
        if (code == ACL_SUCCESS) {
          POOL_OK(millpondPoolFree(pool, advised, own));
        }
      });
  FailEach(
      "trim", [&] { return millpondPoolTrim(pool, 0, 1); },
      [&](aclError) { POOL_OK(millpondPoolFree(pool, Malloc(pool, 5 * kMiB, own), own)); });
  POOL_OK(millpondPoolFree(pool, block, own));
  POOL_OK(millpondPoolTrim(pool, 0, 1));
  EXPECT_EQ(StatisticsOf(pool).reservedBytes, 0u);
}

// What goes with a pool goes when the host has nothing left, too.
TEST_F(PoolHostFault, APoolIsDestroyedWithoutHostMemory) {
  const size_t before = DeviceFree();
  for (const char* vmm : {"1", "0"}) {
    millpondPool pool = NewPool({{"vmm", vmm}});
    aclrtStream stream = NewStream();
    for (int i = 0; i < 200; ++i) {
      void* block = Malloc(pool, 100'000, stream);
      if (i % 2 == 0) {
        POOL_OK(millpondPoolFree(pool, block, stream));
      }
    }
    ForgetPool(pool);
    aclError code = ACL_SUCCESS;
    failing_new::FailNthAnywhere(1, true, [&] { code = millpondPoolDestroy(pool); });
    EXPECT_EQ(code, ACL_SUCCESS) << Said();
    EXPECT_EQ(DeviceFree(), before);
  }
}

}  // namespace

MP_TEST_MAIN()

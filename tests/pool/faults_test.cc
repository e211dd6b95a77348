// SPDX-License-Identifier: Apache-2.0
// Running out of memory at every possible point, and memory misuse: what the pool reports and what survives.
#include <random>

#include "tests/pool/pool_fixture.h"

namespace {

using namespace pool_test;  // NOLINT: the fixture's words are this file's words

class PoolFaults : public PoolTest {};

struct Outcome {
  int refused = 0;
  size_t live_high = 0;
};

// Blocks of all sizes on two streams, freed at random. Every failure is 207001, and everything else works.
Outcome Churn(millpondPool pool, aclrtStream first, aclrtStream second) {
  Outcome outcome;
  std::mt19937 random(7);
  std::vector<std::pair<void*, aclrtStream>> live;
  for (int i = 0; i < 120; ++i) {
    aclrtStream stream = random() % 2 == 0 ? first : second;
    const size_t size = 1 + random() % (i % 4 == 0 ? 5 * kMiB : 300 * kKiB);
    void* block = nullptr;
    const aclError code = millpondPoolMalloc(pool, size, stream, &block);
    if (code == ACL_SUCCESS) {
      ACL_OK(aclrtMemsetAsync(block, size, i, size, stream));
      live.emplace_back(block, stream);
    } else {
      EXPECT_EQ(code, kOutOfMemory) << Said();
      EXPECT_EQ(block, nullptr);
      ++outcome.refused;
    }
    if (live.size() > 20 || (code != ACL_SUCCESS && !live.empty())) {
      std::swap(live[random() % live.size()], live.back());
      POOL_OK(millpondPoolFree(pool, live.back().first, live.back().second));
      live.pop_back();
    }
  }
  for (auto& [block, stream] : live) POOL_OK(millpondPoolFree(pool, block, stream));
  return outcome;
}

// The n-th page is refused, for every n until none is.
void EveryPageFails(millpondPool (*make)(const char* limit), aclrtStream first, aclrtStream second) {
  const size_t before = DeviceFree();
  bool some_refused = false;
  for (size_t pages = 1; pages < 200; ++pages) {
    SCOPED_TRACE(pages);
    const std::string limit = std::to_string(pages * kPage);
    millpondPool pool = make(limit.c_str());
    const Outcome outcome = Churn(pool, first, second);
    millpondPoolStatistics now = StatisticsOf(pool);
    EXPECT_EQ(now.failures, static_cast<uint64_t>(outcome.refused));
    EXPECT_LE(now.reservedBytesHigh, pages * kPage);
    EXPECT_EQ(now.liveBlocks, 0U);
    POOL_OK(millpondPoolTrim(pool, 0, 1));
    EXPECT_EQ(StatisticsOf(pool).reservedBytes, 0U);
    EXPECT_EQ(DeviceFree(), before);
    void* after = nullptr;
    POOL_OK(millpondPoolMalloc(pool, kPage, first, &after));
    POOL_OK(millpondPoolDestroy(pool));
    EXPECT_EQ(DeviceFree(), before);
    if (outcome.refused == 0 || testing::Test::HasFailure()) {
      EXPECT_TRUE(some_refused) << "the limit was never reached: the test proves nothing";
      return;
    }
    some_refused = true;
  }
  ADD_FAILURE() << "still refused at 200 pages";
}

TEST_F(PoolFaults, TheNthPageFailsForEveryN) {
  EveryPageFails(
      [](const char* limit) {
        const millpondPoolSetting settings[] = {{"limit", limit}};
        millpondPool pool = nullptr;
        POOL_OK(millpondPoolCreate(0, settings, 1, &pool));
        return pool;
      },
      NewStream(), NewStream());
}

TEST_F(PoolFaults, TheNthSegmentFailsForEveryN) {
  EveryPageFails(
      [](const char* limit) {
        const millpondPoolSetting settings[] = {{"limit", limit}, {"vmm", "0"}, {"segment", "2MiB"}};
        millpondPool pool = nullptr;
        POOL_OK(millpondPoolCreate(0, settings, 3, &pool));
        return pool;
      },
      NewStream(), NewStream());
}

// Not the pool's limit but the device's: the source itself refuses.
MP_ROLE(full_device) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ROLE_CHECK(aclrtCreateStream(&stream) == ACL_SUCCESS);
  millpondPool pool = nullptr;
  ROLE_CHECK(millpondPoolDefault(0, &pool) == ACL_SUCCESS);
  std::vector<void*> blocks;
  aclError code = ACL_SUCCESS;
  for (void* block = nullptr; (code = millpondPoolMalloc(pool, 3 * kMiB, stream, &block)) == ACL_SUCCESS;) {
    blocks.push_back(block);
  }
  ROLE_CHECK(code == kOutOfMemory);
  ROLE_CHECK(Said().find("even after waiting") != std::string::npos);
  ROLE_CHECK(blocks.size() >= 18 && blocks.size() <= 22);
  ROLE_CHECK(millpondPoolFree(pool, blocks.back(), stream) == ACL_SUCCESS);
  ROLE_CHECK(millpondPoolMalloc(pool, 3 * kMiB, stream, &blocks.back()) == ACL_SUCCESS);
  // Another stream finds room as soon as this one gives some up.
  aclrtStream other = nullptr;
  ROLE_CHECK(aclrtCreateStream(&other) == ACL_SUCCESS);
  ROLE_CHECK(millpondPoolFree(pool, blocks.back(), stream) == ACL_SUCCESS);
  void* moved = nullptr;
  ROLE_CHECK(millpondPoolMalloc(pool, 2 * kMiB, other, &moved) == ACL_SUCCESS);
  ROLE_CHECK(millpondPoolDestroy(pool) == ACL_SUCCESS);
  return 0;
}

TEST(PoolFullDevice, ExhaustingTheDeviceIsOutOfMemoryToo) {
  acl_test::ExpectRole("full_device", {{"MILLPOND_MEMORY", "64MiB"}});
}

MP_ROLE(bad_environment) {
  ROLE_CHECK(aclInit(nullptr) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  millpondPool pool = nullptr;
  ROLE_CHECK(millpondPoolDefault(0, &pool) == kBadArgument);
  ROLE_CHECK(Said().find("MILLPOND_POOL_VMM") != std::string::npos && Said().find("0 to 1") != std::string::npos);
  ROLE_CHECK(millpondPoolCreate(0, nullptr, 0, &pool) == kBadArgument);
  ROLE_CHECK(millpond_malloc(100, 0, nullptr) == nullptr);
  millpond_init(1);
  return 0;
}

TEST(PoolEnvironment, BadValueIsRefusedWithItsNameAndRange) {
  const acl_test::ChildResult child = acl_test::ExpectRole("bad_environment", {{"MILLPOND_POOL_VMM", "7"}});
  EXPECT_NE(child.output.find("millpond_malloc: "), std::string::npos) << child.output;
  EXPECT_NE(child.output.find("millpond_init: "), std::string::npos) << child.output;
}

// --- misuse by tasks ------------------------------------------------------------------------------------------------

void WriteAt(aclrtStream stream, char* address, char value) {
  ACL_OK(acl_test::Launch(stream, [=] { *static_cast<char*>(millpond_reachable(address)) = value; }));
}

TEST_F(PoolFaults, RedZonesCatchATaskThatWritesOutOfBounds) {
  aclrtStream stream = NewStream();
  for (const int64_t where : {int64_t{1000}, int64_t{1000 + 23}, int64_t{-1}, int64_t{-512}}) {
    millpondPool pool = NewPool({{"red_zone", "512"}});
    char* block = Bytes(Malloc(pool, 1000, stream));
    ACL_OK(aclrtMemsetAsync(block, 1000, 1, 1000, stream));  // all of it, and no more
    WriteAt(stream, block + where, 'x');
    const char* side = where < 0 ? "before the block" : "after the block";
    POOL_FAILS(ACL_ERROR_RT_DEVICE_MEM_ERROR, side, millpondPoolFree(pool, block, stream));
    EXPECT_NE(Said().find("byte " + std::to_string(where) + " is 0x78"), std::string::npos) << Said();
    POOL_FAILS(ACL_ERROR_RT_MEMORY_FREE, "double free", millpondPoolFree(pool, block, stream));  // it was freed
    EXPECT_EQ(Malloc(pool, 1000, stream), static_cast<void*>(block));
  }
  millpondPool pool = NewPool({{"red_zone", "512"}});
  char* right = Bytes(Malloc(pool, 1000, stream));
  WriteAt(stream, right, 'x');
  WriteAt(stream, right + 999, 'x');
  POOL_OK(millpondPoolFree(pool, right, stream));
}

TEST_F(PoolFaults, PoisonOverwritesWhatIsFreedInStreamOrder) {
  millpondPool pool = NewPool({{"poison", "1"}});
  aclrtStream stream = NewStream();
  char* block = Bytes(Malloc(pool, kMiB, stream));
  unsigned char before = 0, after = 0;
  ACL_OK(aclrtMemsetAsync(block, kMiB, 5, kMiB, stream));
  const auto look = [&](unsigned char* seen) {
    ACL_OK(acl_test::Launch(stream, [=] { *seen = static_cast<unsigned char*>(millpond_reachable(block))[kMiB - 1]; }));
  };
  Gate gate;
  ACL_OK(gate.LaunchOn(stream));
  look(&before);  // launched before the free: must see its data
  POOL_OK(millpondPoolFree(pool, block, stream));
  look(&after);  // a use after free
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(before, 5);
  EXPECT_EQ(after, 0xdb);
}

TEST_F(PoolFaults, PoisonWaitsForRecordedStreams) {
  millpondPool pool = NewPool({{"poison", "1"}});
  aclrtStream owner = NewStream(), reader = NewStream();
  char* block = Bytes(Malloc(pool, kMiB, owner));
  ACL_OK(aclrtMemsetAsync(block, kMiB, 5, kMiB, owner));
  ACL_OK(aclrtSynchronizeStream(owner));
  Gate gate;
  unsigned char seen = 0;
  ACL_OK(gate.LaunchOn(reader));
  ACL_OK(acl_test::Launch(reader, [=, &seen] { seen = static_cast<unsigned char*>(millpond_reachable(block))[100]; }));
  POOL_OK(millpondPoolRecordStream(pool, block, reader));
  POOL_OK(millpondPoolFree(pool, block, owner));
  ACL_OK(aclrtSynchronizeStream(owner));
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(reader));
  EXPECT_EQ(seen, 5) << "the reader was recorded, so its data must stay until it is done";
}

}  // namespace

MP_TEST_MAIN()

// SPDX-License-Identifier: Apache-2.0
// Device memory: sizes, policies, figures, refusals.
#include <array>
#include <random>

#include "tests/acl/acl_test.h"

using namespace acl_test;  // NOLINT

namespace {

constexpr size_t kMiB = size_t{1} << 20;

class Malloc : public AclTest {
 protected:
  size_t FreeBytes() {
    size_t free = 0, total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
    return free;
  }
  size_t UsableBytes(void* address) {
    size_t bytes = 0;
    EXPECT_EQ(aclrtMemGetAddressRange(address, nullptr, &bytes), ACL_SUCCESS);
    return bytes;
  }
};

// Page "aclrtMalloc": the first address is 64-byte aligned.
TEST_F(Malloc, AddressesAre64ByteAligned) {
  for (const size_t size : {size_t{1}, size_t{31}, size_t{100}, size_t{4097}, 3 * kMiB}) {
    void* block = nullptr;
    ACL_REQUIRE_OK(aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    ACL_OK(aclrtFree(block));
  }
}

// docs/compat.md, "What clients rely on": usable = roundup(size, 32) + 32; MallocAlign32 without the extra 32; HUGE1G
// without it too.
TEST_F(Malloc, SizesAreRoundedUpTo32AndPadded) {
  void* block = nullptr;
  for (const auto& [size, padded, plain] :
       {std::array<size_t, 3>{1, 64, 32}, {32, 64, 32}, {33, 96, 64}, {4096, 4128, 4096}}) {
    ACL_REQUIRE_OK(aclrtMalloc(&block, size, ACL_MEM_MALLOC_NORMAL_ONLY));
    EXPECT_EQ(UsableBytes(block), padded);
    ACL_OK(aclrtFree(block));
    ACL_REQUIRE_OK(aclrtMallocAlign32(&block, size, ACL_MEM_MALLOC_NORMAL_ONLY));
    EXPECT_EQ(UsableBytes(block), plain);
    ACL_OK(aclrtFree(block));
    ACL_REQUIRE_OK(aclrtMallocCached(&block, size, ACL_MEM_MALLOC_NORMAL_ONLY));
    EXPECT_EQ(UsableBytes(block), padded) << "equal to aclrtMalloc (page aclrtMallocCached)";
    ACL_OK(aclrtFree(block));
  }
  if (FreeBytes() >= size_t{1} << 30) {
    ACL_REQUIRE_OK(aclrtMalloc(&block, 100, ACL_MEM_MALLOC_HUGE1G_ONLY));
    EXPECT_EQ(UsableBytes(block), 128u);
    ACL_OK(aclrtFree(block));
  }
}

// CANN's chapter on device memory: size must not be 0; docs/compat.md, "What clients rely on": devPtr NULL -> 100000,
// size overflow -> 100000.
TEST_F(Malloc, BadArgumentsAreRefusedAndTheOutputIsUnchanged) {
  void* block = this;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMalloc(nullptr, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMalloc(&block, 0, ACL_MEM_MALLOC_HUGE_FIRST));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocAlign32(&block, 0, ACL_MEM_MALLOC_HUGE_FIRST));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocCached(&block, 0, ACL_MEM_MALLOC_HUGE_FIRST));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMalloc(&block, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMalloc(&block, SIZE_MAX - 62, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(block, this);
}

// docs/compat.md, "What clients rely on": out of memory is exactly 207001.
TEST_F(Malloc, OutOfMemoryIs207001WithTheFigures) {
  void* block = nullptr;
  ACL_FAILS(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtMalloc(&block, FreeBytes() + kMiB, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(ACL_ERROR_RT_MEMORY_ALLOCATION, 207001);
  const std::string message = RecentMessage();
  EXPECT_NE(message.find("asked for"), std::string::npos) << message;
  EXPECT_NE(message.find("MILLPOND_MEMORY"), std::string::npos) << message;
  ACL_FAILS(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtMalloc(&block, SIZE_MAX / 2, ACL_MEM_MALLOC_NORMAL_ONLY));
}

// Page "aclrtMemMallocPolicy": huge pages count in units of 2 MiB; HUGE_FIRST uses normal ones up to 1 MiB, HUGE1G
// counts in GiB; CANN's chapter on device memory: a policy out of range means huge pages from 2 MiB on, else normal
// ones.
TEST_F(Malloc, PoliciesCountWholePages) {
  struct Case {
    size_t size;
    uint32_t policy;
    size_t counted;
  };
  std::vector<Case> cases = {
      {kMiB + 1, ACL_MEM_MALLOC_HUGE_FIRST, 2 * kMiB},
      {kMiB - 64, ACL_MEM_MALLOC_HUGE_FIRST, kMiB},
      {1, ACL_MEM_MALLOC_HUGE_ONLY, 2 * kMiB},
      {3 * kMiB, ACL_MEM_MALLOC_HUGE_ONLY_P2P, 4 * kMiB},
      {3 * kMiB, ACL_MEM_MALLOC_NORMAL_ONLY, 3 * kMiB + 512},
      {3 * kMiB, ACL_MEM_MALLOC_NORMAL_ONLY_P2P, 3 * kMiB + 512},
      {3 * kMiB, 77, 4 * kMiB},
      {kMiB, 77, kMiB + 512},
      {3 * kMiB, ACL_MEM_TYPE_HIGH_BAND_WIDTH, 4 * kMiB},
  };
  if (FreeBytes() >= size_t{2} << 30) cases.push_back({1, ACL_MEM_MALLOC_HUGE1G_ONLY, size_t{1} << 30});
  for (const Case& c : cases) {
    const size_t before = FreeBytes();
    void* block = nullptr;
    ACL_REQUIRE_OK(aclrtMalloc(&block, c.size, static_cast<aclrtMemMallocPolicy>(c.policy)));
    EXPECT_EQ(before - FreeBytes(), c.counted) << c.size << " B, policy " << c.policy;
    ACL_OK(aclrtFree(block));
    EXPECT_EQ(FreeBytes(), before);
  }
}

// Page "aclrtMallocWithCfg": NULL is no settings; a device id other than the current one is an error (page
// "aclrtMallocAttrValue").
TEST_F(Malloc, ConfigurationsAreReadAndCheckedBeforeAnythingIsAllocated) {
  void* block = nullptr;
  const size_t before = FreeBytes();
  ACL_REQUIRE_OK(aclrtMallocWithCfg(&block, 100, ACL_MEM_MALLOC_HUGE_FIRST, nullptr));
  ACL_OK(aclrtFree(block));
  aclrtMallocAttribute attributes[2] = {};
  attributes[0].attr = ACL_RT_MEM_ATTR_MODULE_ID;
  attributes[0].value.moduleId = 33;
  attributes[1].attr = ACL_RT_MEM_ATTR_DEVICE_ID;
  attributes[1].value.deviceId = 0;
  aclrtMallocConfig config = {attributes, 2};
  const auto combined = static_cast<aclrtMemMallocPolicy>(ACL_MEM_TYPE_HIGH_BAND_WIDTH | ACL_MEM_MALLOC_HUGE_ONLY);
  ACL_REQUIRE_OK(aclrtMallocWithCfg(&block, 100, combined, &config));
  ACL_OK(aclrtFree(block));
  ACL_REQUIRE_OK(aclrtMallocForTaskScheduler(&block, 100, ACL_MEM_MALLOC_HUGE_FIRST, &config));
  ACL_OK(aclrtFree(block));
  attributes[1].value.deviceId = 1;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocWithCfg(&block, 100, ACL_MEM_MALLOC_HUGE_FIRST, &config));
  attributes[1].attr = ACL_RT_MEM_ATTR_RSV;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocWithCfg(&block, 100, ACL_MEM_MALLOC_HUGE_FIRST, &config));
  config.attrs = nullptr;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocWithCfg(&block, 100, ACL_MEM_MALLOC_HUGE_FIRST, &config));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocForTaskScheduler(&block, 0, ACL_MEM_MALLOC_HUGE_FIRST, nullptr));
  // What cannot be kept is refused, not promised: page "ACL_MEM_ACCESS_USER_SPACE_READONLY".
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
            aclrtMallocWithCfg(&block, 100, ACL_MEM_ACCESS_USER_SPACE_READONLY, nullptr));
  EXPECT_EQ(FreeBytes(), before);
}

// Page "aclrtFree": null is an error; it only takes what the aclrtMalloc family gave out. Issue 3: "by name".
TEST_F(Malloc, FreeRefusesNullForeignInteriorAndDoublePointersByName) {
  char* block = nullptr;
  ACL_REQUIRE_OK(aclrtMalloc(reinterpret_cast<void**>(&block), 1024, ACL_MEM_MALLOC_HUGE_FIRST));
  int local = 0;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFree(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFree(&local));
  EXPECT_NE(RecentMessage().find("host memory"), std::string::npos);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFree(block + 256));
  EXPECT_NE(RecentMessage().find("points 256 B into block #"), std::string::npos);
  const PinnedBuffer pinned(64);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFree(pinned.get()));
  EXPECT_NE(RecentMessage().find("aclrtFreeHost"), std::string::npos);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFree(reinterpret_cast<void*>(0xdeadbeefdeadbeef)));
  ACL_OK(aclrtFree(block));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFree(block));
  EXPECT_NE(RecentMessage().find("already freed (block #"), std::string::npos);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFreeWithDevSync(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFreeWithDevSync(block));
}

// Page "aclrtFree": immediate, waits for no task.
TEST_F(Malloc, FreeDoesNotWaitForTasks) {
  void* block = nullptr;
  ACL_REQUIRE_OK(aclrtMalloc(&block, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
  aclrtStream stream = NewStream();
  Gate gate;
  ACL_OK(gate.LaunchOn(stream));
  ACL_OK(aclrtFree(block));  // would hang if it waited: the gate is closed
  gate.Open();
  ACL_OK(aclrtSynchronizeStream(stream));
}

// Page "aclrtFreeWithDevSync": waits for the tasks of the device.
TEST_F(Malloc, FreeWithDevSyncWaitsForTheDevice) {
  void* block = nullptr;
  ACL_REQUIRE_OK(aclrtMalloc(&block, 1024, ACL_MEM_MALLOC_HUGE_FIRST));
  aclrtStream stream = NewStream();
  std::atomic<bool> ran{false};
  ACL_OK(Launch(stream, [&] {
    std::this_thread::sleep_for(milliseconds(30));
    ran = true;
  }));
  ACL_OK(aclrtFreeWithDevSync(block));
  EXPECT_TRUE(ran);
}

// docs/compat.md, "What clients rely on" aclrtGetMemInfo; CANN's chapter on device memory: what the hardware lacks is 0
// and 0.
TEST_F(Malloc, MemInfoFollowsAllocationsForEveryAttribute) {
  size_t free = 0, total = 0;
  const size_t before = FreeBytes();
  const DeviceBuffer block(64 * kMiB);
  for (int attr = ACL_DDR_MEM; attr <= ACL_MEM_P2P_HUGE1G; ++attr) {
    ACL_OK(aclrtGetMemInfo(static_cast<aclrtMemAttr>(attr), &free, &total));
    const bool ddr = attr == ACL_DDR_MEM || attr == ACL_DDR_MEM_HUGE || attr == ACL_DDR_MEM_NORMAL ||
                     attr == ACL_DDR_MEM_P2P_HUGE || attr == ACL_DDR_MEM_P2P_NORMAL;
    EXPECT_EQ(total == 0, ddr) << "attribute " << attr << ": this product has HBM only";
    EXPECT_EQ(free, ddr ? 0 : before - 66 * kMiB) << "attribute " << attr;
  }
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &total));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetMemInfo(ACL_HBM_MEM, &free, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetMemInfo(static_cast<aclrtMemAttr>(18), &free, &total));
}

// Page "aclrtGetMemInfo": a device must have been chosen.
TEST_F(Malloc, AThreadWithoutADeviceIsRefused) {
  std::thread([] {
    size_t free = 0, total = 0;
    void* block = nullptr;
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  }).join();
}

// Page "aclrtGetMemUsageInfo".
TEST_F(Malloc, MemUsageNamesTheProgramWithItsPeak) {
  aclrtMemUsageInfo info[3] = {};
  size_t found = 0;
  { const DeviceBuffer block(10 * kMiB); }
  const DeviceBuffer block(2 * kMiB);
  ACL_OK(aclrtGetMemUsageInfo(0, info, 3, &found));
  ASSERT_EQ(found, 1u) << "fewer components than asked for";
  EXPECT_STREQ(info[0].name, "APP");
  EXPECT_EQ(info[0].curMemSize, 4 * kMiB);
  EXPECT_GE(info[0].memPeakSize, 12 * kMiB);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetMemUsageInfo(0, nullptr, 1, &found));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetMemUsageInfo(0, info, 1, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetMemUsageInfo(0, info, 0, &found));
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtGetMemUsageInfo(999, info, 1, &found));
}

// Page "aclrtPointerGetAttributes"; page "aclrtMemLocationType".
TEST_F(Malloc, PointerAttributesSayWhereMemoryIs) {
  const auto attributes = [](const void* address) {
    aclrtPtrAttributes found = {};
    EXPECT_EQ(aclrtPointerGetAttributes(address, &found), ACL_SUCCESS);
    return found;
  };
  const DeviceBuffer small(1000), large(4 * kMiB);
  const PinnedBuffer pinned(100);
  int local = 0;
  const aclrtPtrAttributes device = attributes(static_cast<char*>(small.get()) + 999);
  EXPECT_EQ(device.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(device.location.id, 0u);
  EXPECT_EQ(device.pageSize, 4096u);
  EXPECT_EQ(attributes(large.get()).pageSize, 2 * kMiB);
  EXPECT_EQ(attributes(pinned.get()).location.type, ACL_MEM_LOCATION_TYPE_HOST);
  EXPECT_EQ(attributes(&local).location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  void* freed = nullptr;
  ACL_REQUIRE_OK(aclrtMalloc(&freed, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  ACL_OK(aclrtFree(freed));
  EXPECT_EQ(attributes(freed).location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  aclrtPtrAttributes unused = {};
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtPointerGetAttributes(nullptr, &unused));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtPointerGetAttributes(&local, nullptr));
}

// Page "aclrtMemGetAddressRange", its table of uses.
TEST_F(Malloc, AddressRangeFindsTheBlockOfAnInteriorPointer) {
  const DeviceBuffer block(1000);
  const PinnedBuffer pinned(100);
  void* base = nullptr;
  size_t bytes = 0;
  ACL_OK(aclrtMemGetAddressRange(static_cast<char*>(block.get()) + 500, &base, &bytes));
  EXPECT_EQ(base, block.get());
  EXPECT_EQ(bytes, 1024u + 32u);
  ACL_OK(aclrtMemGetAddressRange(static_cast<char*>(pinned.get()) + 50, &base, nullptr));
  EXPECT_EQ(base, pinned.get());
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemGetAddressRange(block.get(), nullptr, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemGetAddressRange(nullptr, &base, &bytes));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemGetAddressRange(&base, &base, &bytes));
}

// Page "aclrtCheckMemType".
TEST_F(Malloc, CheckMemTypeComparesEveryAddress) {
  const DeviceBuffer a(64), b(64);
  const PinnedBuffer pinned(64);
  uint32_t result = 7;
  void* devices[] = {a.get(), b.get()};
  ACL_OK(aclrtCheckMemType(devices, 2, ACL_RT_MEM_TYPE_DEV, &result, 0));
  EXPECT_EQ(result, 1u);
  ACL_OK(aclrtCheckMemType(devices, 2, ACL_RT_MEM_TYPE_RSVD, &result, 0));
  EXPECT_EQ(result, 0u);
  void* mixed[] = {a.get(), pinned.get()};
  ACL_OK(aclrtCheckMemType(mixed, 2, ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_RSVD, &result, 0));
  EXPECT_EQ(result, 0u);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCheckMemType(devices, 0, ACL_RT_MEM_TYPE_DEV, &result, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCheckMemType(devices, 2, 1, &result, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCheckMemType(devices, 2, ACL_RT_MEM_TYPE_DEV, &result, 1));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCheckMemType(nullptr, 2, ACL_RT_MEM_TYPE_DEV, &result, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCheckMemType(devices, 2, ACL_RT_MEM_TYPE_DEV, nullptr, 0));
}

// Pages "aclrtMemFlush" and "aclrtMemInvalidate": size must not be 0.
TEST_F(Malloc, CacheCallsCheckTheirRange) {
  const DeviceBuffer block(1024);
  ACL_OK(aclrtMemFlush(block.get(), 1024));
  ACL_OK(aclrtMemInvalidate(block.get(), 1024));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemFlush(block.get(), 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemInvalidate(nullptr, 64));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemFlush(block.get(), 4096));
}

// Issue 3, "Load": allocations from 8 threads, nothing lost.
TEST_F(Malloc, EightThreadsAllocateAndFreeWithoutLoss) {
  const size_t before = FreeBytes();
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 8; ++id) {
    threads.emplace_back([&, id] {
      failed += aclrtSetDevice(0) != ACL_SUCCESS;
      std::mt19937 random(id);
      std::vector<void*> mine;
      for (int step = 0; step < (MP_SANITIZED ? 1000 : 10000); ++step) {
        void* block = nullptr;
        failed += aclrtMalloc(&block, 1 + random() % 20000, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS;
        mine.push_back(block);
        if (mine.size() > 50) {
          std::swap(mine[random() % mine.size()], mine.back());
          failed += aclrtFree(mine.back()) != ACL_SUCCESS;
          mine.pop_back();
        }
      }
      for (void* block : mine) failed += aclrtFree(block) != ACL_SUCCESS;
      failed += aclrtResetDevice(0) != ACL_SUCCESS;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(FreeBytes(), before);
}

// --- Small devices, other products: processes of their own ---

MP_ROLE(small_device) {
  ROLE_INIT();
  size_t free = 0, total = 0;
  ROLE_CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total) == ACL_SUCCESS);
  ROLE_CHECK(total == 8 * kMiB && free == total);
  // HUGE_FIRST falls back to normal pages when the huge ones are gone, HUGE_ONLY does not (page
  // "aclrtMemMallocPolicy").
  void* blocks[3] = {};
  ROLE_CHECK(aclrtMalloc(&blocks[0], 5 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);  // counts 6 MiB
  ROLE_CHECK(aclrtMalloc(&blocks[1], 512, ACL_MEM_MALLOC_NORMAL_ONLY) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMalloc(&blocks[2], 1536 * 1024, ACL_MEM_MALLOC_HUGE_ONLY) == ACL_ERROR_RT_MEMORY_ALLOCATION);
  ROLE_CHECK(aclrtMalloc(&blocks[2], 1536 * 1024, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMalloc(&blocks[2], kMiB, ACL_MEM_MALLOC_HUGE1G_ONLY) == ACL_ERROR_RT_MEMORY_ALLOCATION);
  return 0;
}
TEST(SmallDevice, HugeFirstFallsBackAndHugeOnlyDoesNot) { ExpectRole("small_device", {{"MILLPOND_MEMORY", "8MiB"}}); }

// STYLE.md habit 14: every allocation of a little program fails in turn; nothing leaks, the error is 207001.
MP_ROLE(fail_in_turn) {
  ROLE_INIT();
  size_t all = 0, total = 0, free = 0;
  ROLE_CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &all, &total) == ACL_SUCCESS);
  constexpr size_t kSizes[] = {4 * kMiB, 2 * kMiB, 8 * kMiB, 6 * kMiB};
  size_t needed = 0;
  for (const size_t size : kSizes) needed += size;
  for (size_t room = 0; room <= needed; room += 2 * kMiB) {
    void* ballast = nullptr;
    ROLE_CHECK(aclrtMallocAlign32(&ballast, all - room - 512, ACL_MEM_MALLOC_NORMAL_ONLY) == ACL_SUCCESS);
    std::vector<void*> live;
    size_t left = room + 512;
    for (const size_t size : kSizes) {
      void* block = nullptr;
      const int code = aclrtMallocAlign32(&block, size, ACL_MEM_MALLOC_HUGE_ONLY);
      ROLE_CHECK(code == (size <= left ? ACL_SUCCESS : ACL_ERROR_RT_MEMORY_ALLOCATION));
      if (code != ACL_SUCCESS) break;
      left -= size;
      live.push_back(block);
    }
    ROLE_CHECK(room < needed || live.size() == 4);
    for (void* block : live) ROLE_CHECK(aclrtFree(block) == ACL_SUCCESS);
    ROLE_CHECK(aclrtFree(ballast) == ACL_SUCCESS);
    ROLE_CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total) == ACL_SUCCESS && free == all);
  }
  return 0;
}
TEST(SmallDevice, EveryAllocationInTurnFailsCleanly) { ExpectRole("fail_in_turn", {{"MILLPOND_MEMORY", "64MiB"}}); }

// CANN's chapter on device memory: the 950 adds no 32 bytes. Page "aclrtMemMallocPolicy": 310P has no 1 GiB pages; its
// HBM figures are those of its DDR.
MP_ROLE(ascend950) {
  ROLE_INIT();
  void* block = nullptr;
  size_t bytes = 0;
  ROLE_CHECK(aclrtMalloc(&block, 33, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemGetAddressRange(block, nullptr, &bytes) == ACL_SUCCESS && bytes == 64);
  return 0;
}
MP_ROLE(ascend310p) {
  ROLE_INIT();
  void* block = nullptr;
  size_t free = 0, total = 0, ddr = 0;
  ROLE_CHECK(aclrtMalloc(&block, 33, ACL_MEM_MALLOC_HUGE1G_ONLY) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  ROLE_CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total) == ACL_SUCCESS && total > 0);
  ROLE_CHECK(aclrtGetMemInfo(ACL_DDR_MEM, &free, &ddr) == ACL_SUCCESS && ddr == total);
  ROLE_CHECK(aclrtGetMemInfo(ACL_MEM_HUGE1G, &free, &total) == ACL_SUCCESS && total == 0);
  return 0;
}
TEST(OtherProducts, PaddingAndPagesFollowTheProfile) {
  EXPECT_EQ(RunRole("ascend950", {{"MILLPOND_SOC", "Ascend950PR_9589"}}).exit_code, 0);
  EXPECT_EQ(RunRole("ascend310p", {{"MILLPOND_SOC", "Ascend310P3"}}).exit_code, 0);
}

// Issue 3, "Fork, exit": frees after aclFinalize, from static destructors too, are harmless.
struct FreesAtExit {
  void *device = nullptr, *host = nullptr, *managed = nullptr;
  ~FreesAtExit() {
    for (int twice = 0; twice < 2; ++twice) {
      aclrtFree(device);
      aclrtFreeHost(host);
      aclrtFree(managed);
    }
    std::fprintf(stderr, "destructor done\n");
  }
};
MP_ROLE(free_at_exit) {
  static FreesAtExit keeper;
  ROLE_INIT();
  ROLE_CHECK(aclrtMalloc(&keeper.device, 1024, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMallocHost(&keeper.host, 1024) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemAllocManaged(&keeper.managed, 1024, ACL_RT_MEM_ATTACH_GLOBAL) == ACL_SUCCESS);
  aclrtResetDevice(0);
  aclFinalize();
  return 0;
}
TEST(Exit, FreesFromStaticDestructorsAfterFinalizeAreHarmless) {
  const ChildResult result = ExpectRole("free_at_exit");
  EXPECT_NE(result.output.find("destructor done"), std::string::npos) << result.output;
}

}  // namespace

MP_TEST_MAIN()

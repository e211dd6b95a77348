// SPDX-License-Identifier: Apache-2.0
// Stream-ordered memory pools, what each call promises (CANN's chapter on memory pools; page "aclrtMemPoolAttr", page
// "aclrtMemPoolProps"). How they order memory between streams is in mem_pool_stream_test.cc. "Reference": what the
// vendor's public sources do where the documents are silent.
#include "tests/acl/memory/mem_pool_fixture.h"

using namespace acl_test;  // NOLINT

namespace {

using MemPool = MemPoolTest;

// CANN's chapter on memory pools, the example: blocks, a copy, a kernel, frees, all in the order of one stream and
// without waiting.
TEST_F(MemPool, TheDocumentsExampleRuns) {
  struct Args {
    uint64_t *x, *y, *z;
  };
  aclrtContext context = nullptr;
  ACL_REQUIRE_OK(aclrtCreateContext(&context, 0));
  aclrtStream stream = nullptr;
  ACL_REQUIRE_OK(aclrtCreateStream(&stream));
  aclrtMemPool pool = Create(64 * kMiB);
  void *args = nullptr, *x = nullptr, *y = nullptr, *z = nullptr;
  ACL_OK(aclrtMemPoolMallocAsync(&x, sizeof(uint64_t), pool, stream));
  ACL_OK(aclrtMemPoolMallocAsync(&y, sizeof(uint64_t), pool, stream));
  ACL_OK(aclrtMemPoolMallocAsync(&z, sizeof(uint64_t), pool, stream));
  ACL_OK(aclrtMemPoolMallocAsync(&args, sizeof(Args), pool, stream));
  const PinnedBuffer host(64), result(64);
  *static_cast<Args*>(host.get()) = {static_cast<uint64_t*>(x), static_cast<uint64_t*>(y), static_cast<uint64_t*>(z)};
  host.words()[4] = 40;
  host.words()[5] = 2;
  ACL_OK(aclrtMemcpyAsync(args, sizeof(Args), host.get(), sizeof(Args), ACL_MEMCPY_HOST_TO_DEVICE, stream));
  ACL_OK(aclrtMemcpyAsync(x, 8, host.words() + 4, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  ACL_OK(aclrtMemcpyAsync(y, 8, host.words() + 5, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  ACL_OK(Launch(stream, [args] {
    const auto* given = static_cast<Args*>(millpond_reachable(args));
    *static_cast<uint64_t*>(millpond_reachable(given->z)) =
        *static_cast<uint64_t*>(millpond_reachable(given->x)) + *static_cast<uint64_t*>(millpond_reachable(given->y));
  }));
  ACL_OK(aclrtMemcpyAsync(result.get(), 8, z, 8, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  for (void* block : {args, x, y, z}) ACL_OK(aclrtMemPoolFreeAsync(block, stream));
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(result.words()[0], 42u);
  Destroy(pool);
  ACL_OK(aclrtDestroyStream(stream));
  ACL_OK(aclrtDestroyContext(context));
}

// Page "aclrtMemPoolProps": pinned only, device only, reserved all zero.
TEST_F(MemPool, PropertiesAreChecked) {
  aclrtMemPool pool = nullptr;
  aclrtMemPoolProps props = Props(16 * kMiB);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolCreate(nullptr, &props));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolCreate(&pool, nullptr));
  props.allocType = static_cast<aclrtMemAllocationType>(1);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolCreate(&pool, &props));
  for (const auto type : {ACL_MEM_LOCATION_TYPE_HOST, ACL_MEM_LOCATION_TYPE_UNREGISTERED, ACL_MEM_LOCATION_TYPE_MANAGED,
                          ACL_MEM_LOCATION_TYPE_HOST_NUMA}) {
    props = Props(16 * kMiB);
    props.location.type = type;
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolCreate(&pool, &props));
    EXPECT_NE(RecentMessage().find("location.type"), std::string::npos);
  }
  for (const size_t at : {0, 31}) {
    props = Props(16 * kMiB);
    props.reserved[at] = 1;
    ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolCreate(&pool, &props));
    EXPECT_NE(RecentMessage().find("reserved"), std::string::npos);
  }
  props = Props(16 * kMiB);
  props.handleType = static_cast<aclrtMemHandleType>(1);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolCreate(&pool, &props));
  props = Props(16 * kMiB);
  props.location.id = 1000;
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtMemPoolCreate(&pool, &props));
  EXPECT_EQ(pool, nullptr);
  // Page "aclrtMemHandleType": both values are allowed, and no call exports a pool.
  for (const auto type : {ACL_MEM_HANDLE_TYPE_NONE, ACL_MEM_HANDLE_TYPE_POSIX}) {
    props = Props(16 * kMiB);
    props.handleType = type;
    ACL_REQUIRE_OK(aclrtMemPoolCreate(&pool, &props));
    ACL_OK(aclrtMemPoolDestroy(pool));
  }
}

// page "aclrtMemPoolProps", maxSize: the pool's size in bytes. Reference: in whole pages of 2 MiB, rounded up.
TEST_F(MemPool, PoolHoldsMaxSizeAndNoMore) {
  aclrtMemPool pool = Create(4 * kMiB + 1);
  void *first = nullptr, *second = nullptr;
  ACL_REQUIRE_OK(aclrtMemPoolMallocAsync(&first, 6 * kMiB, pool, stream_));
  second = &pool;
  ACL_FAILS(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtMemPoolMallocAsync(&second, 1, pool, stream_));
  EXPECT_NE(RecentMessage().find("maxSize"), std::string::npos);
  EXPECT_EQ(second, &pool) << "a failed call leaves the output alone";
  ACL_OK(aclrtMemPoolFreeAsync(first, stream_));
  ACL_FAILS(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtMemPoolMallocAsync(&first, 6 * kMiB + 1, pool, stream_));
  ACL_FAILS(ACL_ERROR_RT_MEMORY_ALLOCATION, aclrtMemPoolMallocAsync(&first, SIZE_MAX, pool, stream_));
  ACL_REQUIRE_OK(aclrtMemPoolMallocAsync(&first, 6 * kMiB, pool, stream_));
  Destroy(pool);
}

// Reference: maxSize 0 is all the device has; more than that is refused.
TEST_F(MemPool, MaxSizeZeroIsTheDevicesMemory) {
  aclrtMemPool pool = Create(0);
  const size_t most = TotalMemory() / kPage * kPage;
  ACL_OK(aclrtMemPoolTrimTo(pool, most));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolTrimTo(pool, most + 1));
  Destroy(pool);
  for (const size_t wrong : {TotalMemory() + 1, SIZE_MAX - 1, SIZE_MAX}) {
    const aclrtMemPoolProps props = Props(wrong);
    ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolCreate(&pool, &props));
  }
}

// Page "aclrtMemPoolMallocAsync". Reference: size 0 succeeds without memory; a null stream is refused.
TEST_F(MemPool, AllocationArgumentsAreChecked) {
  aclrtMemPool pool = Create(16 * kMiB);
  void* block = &pool;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolMallocAsync(nullptr, 64, pool, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolMallocAsync(&block, 64, nullptr, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolMallocAsync(&block, 64, pool, nullptr));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtMemPoolMallocAsync(&block, 64, pool, NewEvent()));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtMemPoolMallocAsync(&block, 64, stream_, stream_));
  EXPECT_EQ(block, &pool);
  ACL_OK(aclrtMemPoolMallocAsync(&block, 0, pool, stream_));
  EXPECT_EQ(block, nullptr);
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 0u);
  aclrtContext other = nullptr;
  ACL_REQUIRE_OK(aclrtCreateContext(&other, 0));
  ACL_FAILS(ACL_ERROR_RT_STREAM_CONTEXT, aclrtMemPoolMallocAsync(&block, 64, pool, stream_));
  ACL_OK(aclrtDestroyContext(other));
  ACL_OK(aclrtSetDevice(0));
  Destroy(pool);
}

// Page "aclrtMemPoolFreeAsync": takes what aclrtMemPoolMallocAsync gave, once.
TEST_F(MemPool, FreeNamesWhatIsWrong) {
  aclrtMemPool pool = Create(16 * kMiB);
  void *block = Alloc(pool, 4096), *keep = Alloc(pool, 4096);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolFreeAsync(nullptr, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolFreeAsync(block, nullptr));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolFreeAsync(static_cast<char*>(block) + 512, stream_));
  EXPECT_NE(RecentMessage().find("inside a live block"), std::string::npos);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolFreeAsync(static_cast<char*>(block) + 1, stream_));
  ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolFreeAsync(block, stream_));
  EXPECT_NE(RecentMessage().find("double free"), std::string::npos);
  const DeviceBuffer plain(4096);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolFreeAsync(plain.get(), stream_));
  EXPECT_NE(RecentMessage().find("aclrtFree"), std::string::npos);
  int host = 0;
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolFreeAsync(&host, stream_));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), 4096u) << "only the one good free counted";
  ACL_OK(aclrtMemPoolFreeAsync(keep, stream_));
  Destroy(pool);
}

// A pool's memory belongs to the pool: the calls for other kinds of memory leave it alone.
TEST_F(MemPool, OtherCallsCannotTakePoolMemoryAway) {
  aclrtMemPool pool = Create(16 * kMiB);
  void* block = Alloc(pool, kPage);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtFree(block));
  EXPECT_NE(RecentMessage().find("aclrtMemPoolFreeAsync"), std::string::npos);
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtFreeWithDevSync(block));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtUnmapMem(block));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtReleaseMemAddress(block));
  aclrtDrvMemHandle handle = nullptr;
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemRetainAllocationHandle(block, &handle));
  aclrtMemAccessDesc access{};
  access.flags = ACL_RT_MEM_ACCESS_FLAGS_NONE;
  access.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemSetAccess(block, kPage, &access, 1));
  char key[65] = {};
  EXPECT_NE(aclrtIpcMemGetExportKey(block, kPage, key, sizeof(key), 0), ACL_SUCCESS);
  ACL_OK(aclrtMemset(block, kPage, 7, kPage));  // still there
  ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  Destroy(pool);
}

// Pages "aclrtPointerGetAttributes", "aclrtMemGetAddressRange": a block of a pool is device memory of its own size.
TEST_F(MemPool, BlocksAreDeviceMemory) {
  aclrtMemPool pool = Create(64 * kMiB);
  auto* block = static_cast<char*>(Alloc(pool, 1000));
  void* large = Alloc(pool, 5 * kMiB);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 512, 0u);
  aclrtPtrAttributes attributes{};
  ACL_OK(aclrtPointerGetAttributes(block + 999, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(attributes.location.id, 0u);
  void* base = nullptr;
  size_t size = 0;
  ACL_OK(aclrtMemGetAddressRange(block + 999, &base, &size));
  EXPECT_EQ(base, block);
  EXPECT_EQ(size, 1000u);
  ACL_OK(aclrtMemGetAddressRange(static_cast<char*>(large) + 3 * kMiB, &base, &size));
  EXPECT_EQ(base, large);
  EXPECT_EQ(size, 5 * kMiB);
  std::vector<uint8_t> data(5 * kMiB), back(5 * kMiB);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 31 >> 3);
  ACL_OK(aclrtMemcpy(large, data.size(), data.data(), data.size(), ACL_MEMCPY_HOST_TO_DEVICE));
  ACL_OK(aclrtMemcpy(back.data(), back.size(), large, data.size(), ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(data, back);
  Destroy(pool);
}

// Page "aclrtMemPoolGetAttr": an attribute that was not set has its default value. page "aclrtMemPoolAttr": the types
// of the values.
TEST_F(MemPool, AttributesHaveDefaultsAndTypes) {
  aclrtMemPool pool = Create(16 * kMiB);
  for (const aclrtMemPoolAttr attr : kSwitches) {
    uint32_t value[2] = {7, 7};
    ACL_OK(aclrtMemPoolGetAttr(pool, attr, value));
    EXPECT_EQ(value[0], 0u) << attr;
    EXPECT_EQ(value[1], 7u) << "attribute " << attr << " is a uint32_t";
  }
  for (const aclrtMemPoolAttr attr : kFigures) {
    uint64_t value[2] = {7, 7};
    ACL_OK(aclrtMemPoolGetAttr(pool, attr, value));
    EXPECT_EQ(value[0], 0u) << attr;
    EXPECT_EQ(value[1], 7u) << attr;
  }
  Destroy(pool);
}

// Page "aclrtMemPoolSetAttr": of several settings of one attribute the last one counts.
TEST_F(MemPool, LastSettingCounts) {
  aclrtMemPool pool = Create(16 * kMiB);
  for (const aclrtMemPoolAttr attr : kSwitches) {
    for (uint32_t value : {1u, 0u, 1u}) {
      ACL_OK(aclrtMemPoolSetAttr(pool, attr, &value));
      uint32_t found = 7;
      ACL_OK(aclrtMemPoolGetAttr(pool, attr, &found));
      EXPECT_EQ(found, value);
    }
  }
  for (uint64_t value : {4 * kMiB, size_t{0}, 16 * kMiB}) {
    ACL_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &value));
    EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD), value);
  }
  Destroy(pool);
}

// Page "aclrtMemPoolAttr": the current figures are read-only; a high can be set to 0 only. Reference: a threshold
// beyond the pool's size, an unknown attribute and a null value are refused.
TEST_F(MemPool, WrongAttributesAreRefused) {
  aclrtMemPool pool = Create(16 * kMiB);
  uint64_t value = 0;
  for (const auto attr : {ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT}) {
    ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolSetAttr(pool, attr, &value));
    EXPECT_NE(RecentMessage().find("only be read"), std::string::npos);
  }
  value = 1;
  for (const auto attr : {ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH}) {
    ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolSetAttr(pool, attr, &value));
  }
  value = 16 * kMiB + 1;
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &value));
  for (const int wrong : {0, 9, 0xff, -1}) {
    ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolSetAttr(pool, static_cast<aclrtMemPoolAttr>(wrong), &value));
    ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolGetAttr(pool, static_cast<aclrtMemPoolAttr>(wrong), &value));
  }
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, nullptr));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolSetAttr(nullptr, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &value));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolGetAttr(nullptr, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &value));
  Destroy(pool);
}

// Page "aclrtMemPoolAttr": reserved is what the pool has taken, used is what is in use; their highs are reset one by
// one.
TEST_F(MemPool, FiguresFollowTheMemory) {
  aclrtMemPool pool = Create(64 * kMiB);
  const size_t before = FreeMemory();
  void *a = Alloc(pool, 4 * kMiB), *b = Alloc(pool, 6 * kMiB);
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), 10 * kMiB);
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 10 * kMiB);
  EXPECT_EQ(before - FreeMemory(), 10 * kMiB) << "the device's figures count what the pool has taken";
  ACL_OK(aclrtMemPoolFreeAsync(b, stream_));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), 4 * kMiB);
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH), 10 * kMiB);
  // Page "aclrtMemPoolFreeAsync": the memory goes back to the pool only.
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 10 * kMiB);
  EXPECT_EQ(before - FreeMemory(), 10 * kMiB);
  ACL_OK(aclrtMemPoolTrimTo(pool, 0));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 4 * kMiB);
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH), 10 * kMiB);
  uint64_t zero = 0;
  ACL_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &zero));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH), 4 * kMiB) << "the high of what is there now";
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH), 10 * kMiB) << "the other high stays";
  ACL_OK(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH, &zero));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH), 4 * kMiB);
  void* c = Alloc(pool, 2 * kMiB);
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH), 6 * kMiB);
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH), 6 * kMiB);
  for (void* block : {a, c}) ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  Destroy(pool);
  EXPECT_EQ(FreeMemory(), before);
}

// CANN's chapter on memory pools: idle memory beyond the release threshold (default 0) goes back at the next
// synchronisation of a stream, an event or the device.
TEST_F(MemPool, SynchronisationReleasesIdleMemory) {
  aclrtMemPool pool = Create(64 * kMiB);
  aclrtEvent event = NewEvent();
  const std::vector<std::function<int()>> ways = {
      [&] { return aclrtSynchronizeStream(stream_); },
      [&] { return aclrtSynchronizeStreamWithTimeout(stream_, 10000); },
      [&] { return aclrtSynchronizeDevice(); },
      [&] { return aclrtSynchronizeDeviceWithTimeout(10000); },
      [&] { return aclrtSynchronizeEvent(event); },
      [&] { return aclrtSynchronizeEventWithTimeout(event, 10000); },
  };
  void* keep = Alloc(pool, kPage);
  for (const auto& synchronise : ways) {
    ACL_OK(aclrtMemPoolFreeAsync(Alloc(pool, 8 * kMiB), stream_));
    EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 10 * kMiB);
    ACL_OK(aclrtRecordEvent(event, stream_));
    ACL_OK(synchronise());
    EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), kPage);
  }
  ACL_OK(aclrtMemset(keep, kPage, 1, kPage));  // in use, so it stayed
  Destroy(pool);
}

// CANN's chapter on memory pools: that much idle memory is kept; the last threshold set is the one in force.
TEST_F(MemPool, ReleaseThresholdKeepsIdleMemory) {
  aclrtMemPool pool = CreateKeeping(8 * kMiB);
  void* keep = Alloc(pool, 2 * kMiB);
  ACL_OK(aclrtMemPoolFreeAsync(Alloc(pool, 6 * kMiB), stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 8 * kMiB) << "6 MiB idle are not beyond 8";
  ACL_OK(aclrtMemPoolFreeAsync(Alloc(pool, 20 * kMiB), stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 10 * kMiB) << "2 MiB in use, 8 MiB idle";
  SetThreshold(pool, 0);
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 2 * kMiB);
  ACL_OK(aclrtMemPoolFreeAsync(keep, stream_));
  Destroy(pool);
}

// Page "aclrtMemPoolTrimTo": gives unused memory back down to minBytesToKeep, does not touch what is in use, and has
// the last word over the threshold.
TEST_F(MemPool, TrimToReleasesUnusedMemory) {
  aclrtMemPool pool = CreateKeeping(64 * kMiB);
  void* keep = Alloc(pool, 4 * kMiB);
  ACL_OK(aclrtMemset(keep, 4 * kMiB, 0x5a, 4 * kMiB));
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(Alloc(pool, 4 * kMiB));
  for (void* block : blocks) ACL_OK(aclrtMemPoolFreeAsync(block, stream_));
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 36 * kMiB) << "kept by the threshold";
  ACL_OK(aclrtMemPoolTrimTo(pool, 40 * kMiB));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 36 * kMiB) << "less than that is there";
  ACL_OK(aclrtMemPoolTrimTo(pool, 20 * kMiB));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 20 * kMiB);
  ACL_OK(aclrtMemPoolTrimTo(pool, 1));
  EXPECT_EQ(Attr(pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT), 4 * kMiB);
  std::vector<uint8_t> data(4 * kMiB);
  ACL_OK(aclrtMemcpy(data.data(), data.size(), keep, data.size(), ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(data, std::vector<uint8_t>(4 * kMiB, 0x5a));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolTrimTo(nullptr, 0));
  Destroy(pool);
}

// Page "aclrtMemPoolDestroy". Reference: blocks that were not freed go with the pool.
TEST_F(MemPool, DestroyTakesLiveBlocksAlong) {
  const size_t before = FreeMemory();
  aclrtMemPool pool = Create(64 * kMiB);
  void* block = Alloc(pool, 4 * kMiB);
  void* freed = Alloc(pool, 4 * kMiB);
  ACL_OK(aclrtMemPoolFreeAsync(freed, stream_));
  std::atomic<bool> ran{false};
  Gate gate;
  ACL_OK(gate.LaunchOn(stream_));
  ACL_OK(Launch(stream_, [&, block] {
    std::memset(millpond_reachable(block), 1, 4 * kMiB);  // the pool must still be there
    ran = true;
  }));
  std::thread opener([&] {
    std::this_thread::sleep_for(milliseconds(30));
    gate.Open();
  });
  Destroy(pool);
  EXPECT_TRUE(ran) << "destroy waits for the streams";
  opener.join();
  ACL_OK(aclrtSynchronizeStream(stream_));
  EXPECT_EQ(FreeMemory(), before);
  uint64_t value = 0;
  void* more = nullptr;
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtMemPoolDestroy(pool));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtMemPoolMallocAsync(&more, 64, pool, stream_));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtMemPoolTrimTo(pool, 0));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &value));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &value));
  ACL_FAILS(ACL_ERROR_RT_PARAM_INVALID, aclrtMemPoolFreeAsync(block, stream_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemset(block, 64, 0, 64));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemPoolDestroy(nullptr));
  ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtMemPoolDestroy(&value));
}

// Each pool has its own memory and figures; a block finds its pool by itself.
TEST_F(MemPool, PoolsAreIndependent) {
  std::vector<aclrtMemPool> pools;
  std::vector<void*> blocks;
  for (int i = 0; i < 20; ++i) {
    pools.push_back(Create(8 * kMiB));
    blocks.push_back(Alloc(pools.back(), kPage));
  }
  for (int i = 0; i < 20; i += 2) ACL_OK(aclrtMemPoolFreeAsync(blocks[i], stream_));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Attr(pools[i], ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT), i % 2 == 0 ? 0 : kPage) << i;
  }
  for (aclrtMemPool pool : pools) Destroy(pool);
}

// The last reset of a device and aclFinalize release its pools; a later use of the handle is refused.
TEST(MemPoolLife, ResetAndFinalizeDestroyPools) {
  for (const bool finalize : {false, true}) {
    ACL_REQUIRE_OK(aclInit(nullptr));
    ACL_REQUIRE_OK(aclrtSetDevice(0));
    aclrtStream stream = nullptr;
    ACL_REQUIRE_OK(aclrtCreateStream(&stream));
    size_t before = 0, now = 0, total = 0;
    ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
    aclrtMemPool pool = nullptr;
    const aclrtMemPoolProps props = MemPoolTest::Props(16 * kMiB);
    ACL_REQUIRE_OK(aclrtMemPoolCreate(&pool, &props));
    void* block = nullptr;
    ACL_OK(aclrtMemPoolMallocAsync(&block, 4 * kMiB, pool, stream));
    if (finalize) {
      ACL_OK(aclFinalize());
      ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &now, &total));
      EXPECT_EQ(now, before);
      ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtMemPoolDestroy(pool));
      ACL_OK(aclrtResetDevice(0));
    } else {
      ACL_OK(aclrtResetDevice(0));
      ACL_FAILS(ACL_ERROR_RT_INVALID_HANDLE, aclrtMemPoolDestroy(pool));
      ACL_OK(aclrtSetDevice(0));
      ACL_OK(aclrtGetMemInfo(ACL_HBM_MEM, &now, &total));
      EXPECT_EQ(now, before);
      ACL_OK(aclrtResetDevice(0));
      ACL_OK(aclFinalize());
    }
  }
}

TEST(MemPoolLife, CreateNeedsAContext) {
  std::thread([] {
    aclrtMemPool pool = nullptr;
    const aclrtMemPoolProps props = MemPoolTest::Props(16 * kMiB);
    ACL_FAILS(ACL_ERROR_RT_CONTEXT_NULL, aclrtMemPoolCreate(&pool, &props));
  }).join();
}

// page "aclrtMemPoolProps", location: the pool is on the device it names, and a stream of another device is refused.
MP_ROLE(two_devices) {
  ROLE_INIT();
  aclrtStream here = nullptr, there = nullptr;
  ROLE_CHECK(aclrtCreateStream(&here) == ACL_SUCCESS);
  aclrtMemPoolProps props = MemPoolTest::Props(16 * kMiB);
  props.location.id = 1;
  aclrtMemPool pool = nullptr;
  ROLE_CHECK(aclrtMemPoolCreate(&pool, &props) == ACL_SUCCESS);
  void* block = nullptr;
  ROLE_CHECK(aclrtMemPoolMallocAsync(&block, 64, pool, here) == ACL_ERROR_RT_PARAM_INVALID);
  ROLE_CHECK(RecentMessage().find("device 1") != std::string::npos);
  ROLE_CHECK(aclrtSetDevice(1) == ACL_SUCCESS && aclrtCreateStream(&there) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemPoolMallocAsync(&block, 64, pool, there) == ACL_SUCCESS);
  aclrtPtrAttributes attributes{};
  ROLE_CHECK(aclrtPointerGetAttributes(block, &attributes) == ACL_SUCCESS && attributes.location.id == 1);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemPoolFreeAsync(block, here) == ACL_ERROR_RT_PARAM_INVALID);
  ROLE_CHECK(aclrtResetDeviceForce(0) == ACL_SUCCESS);  // not the pool's device
  ROLE_CHECK(aclrtSetDevice(1) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemPoolFreeAsync(block, there) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemPoolDestroy(pool) == ACL_SUCCESS);
  return 0;
}
TEST(MemPoolLife, PoolIsOnTheDeviceItNames) {
  ExpectRole("two_devices", {{"MILLPOND_DEVICES", "2"}, {"MILLPOND_MEMORY", "64MiB"}});
}

// A forked child is refused, and the parent's pools stay as they were (docs/compat.md).
MP_ROLE(forked) {
  const auto [stream, pool] = RolePool(16 * kMiB);
  void* block = nullptr;
  ROLE_CHECK(aclrtMemPoolMallocAsync(&block, 64, pool, stream) == ACL_SUCCESS);
  const pid_t child = fork();
  if (child == 0) {
    void* more = nullptr;
    if (aclrtMemPoolMallocAsync(&more, 64, pool, stream) == ACL_SUCCESS) _exit(1);
    if (aclrtMemPoolFreeAsync(block, stream) == ACL_SUCCESS) _exit(2);
    if (aclrtMemPoolDestroy(pool) == ACL_SUCCESS) _exit(3);
    _exit(0);
  }
  int status = 1;
  ROLE_CHECK(waitpid(child, &status, 0) == child && status == 0);
  ROLE_CHECK(aclrtMemset(block, 64, 1, 64) == ACL_SUCCESS);
  ROLE_CHECK(aclrtMemPoolFreeAsync(block, stream) == ACL_SUCCESS && aclrtMemPoolDestroy(pool) == ACL_SUCCESS);
  return 0;
}
TEST(MemPoolLife, ForkedChildIsRefused) { ExpectRole("forked"); }

}  // namespace

MP_TEST_MAIN()

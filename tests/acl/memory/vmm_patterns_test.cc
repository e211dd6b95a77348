// SPDX-License-Identifier: Apache-2.0
// Virtual memory as two clients use it: torch_npu's expandable segments and vLLM's sleep mode (docs/compat.md, "What
// clients rely on").
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "tests/acl/memory/physical_memory.h"

namespace {

using acl_test::HugeProp;

constexpr size_t kPage = acl_test::kHugePage;
constexpr size_t kGiB = size_t{1} << 30;

class VmmPatterns : public acl_test::PhysicalMemoryTest {
 protected:
  static void Write(char* to, uint64_t value) {
    EXPECT_EQ(aclrtMemcpy(to, sizeof(value), &value, sizeof(value), ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  }
  static uint64_t Read(const char* from) {
    uint64_t value = 0;
    EXPECT_EQ(aclrtMemcpy(&value, sizeof(value), from, sizeof(value), ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return value;
  }
};

// torch_npu: one reservation of 9/8 of the memory with flags 1; a handle per segment, mapped at ptr + i * segment,
// unmapped, cached and mapped elsewhere with its contents.
TEST_F(VmmPatterns, ExpandableSegmentsKeepContentsAcrossRemapping) {
  constexpr size_t kSegment = 10 * kPage;
  constexpr size_t kCount = 16;
  void* reserved = nullptr;
  const size_t bytes = (total_ + total_ / 8) / kSegment * kSegment;
  ASSERT_EQ(aclrtReserveMemAddress(&reserved, bytes, 0, nullptr, 1), ACL_SUCCESS);
  char* base = static_cast<char*>(reserved);
  std::vector<aclrtDrvMemHandle> handles;
  for (size_t i = 0; i < kCount; ++i) {
    handles.push_back(Make(kSegment));
    ASSERT_EQ(aclrtMapMem(base + i * kSegment, kSegment, 0, handles[i], 0), ACL_SUCCESS);
    Write(base + i * kSegment, 1000 + i);
    Write(base + (i + 1) * kSegment - 8, 2000 + i);
  }
  // One tensor over all segments: neighbours are one range.
  std::vector<char> all(kCount * kSegment);
  ASSERT_EQ(aclrtMemcpy(all.data(), all.size(), base, all.size(), ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  for (size_t i = 0; i < kCount; ++i) {
    uint64_t value = 0;
    memcpy(&value, &all[i * kSegment], sizeof(value));
    EXPECT_EQ(value, 1000 + i);
  }
  // Move every segment to another place, in reverse.
  for (size_t i = 0; i < kCount; ++i) ASSERT_EQ(aclrtUnmapMem(base + i * kSegment), ACL_SUCCESS);
  for (size_t i = 0; i < kCount; ++i) {
    char* to = base + (100 - i) * kSegment;
    ASSERT_EQ(aclrtMapMem(to, kSegment, 0, handles[i], 0), ACL_SUCCESS);
    EXPECT_EQ(Read(to), 1000 + i);
    EXPECT_EQ(Read(to + kSegment - 8), 2000 + i);
  }
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(aclrtUnmapMem(base + (100 - i) * kSegment), ACL_SUCCESS);
    ASSERT_EQ(aclrtFreePhysical(handles[i]), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

// torch_npu grows a segment until 207001, frees cached handles, and tries again.
TEST_F(VmmPatterns, GrowingUntilOutOfMemoryAndBackLeaksNothing) {
  void* reserved = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&reserved, total_ + kGiB, 0, nullptr, 1), ACL_SUCCESS);
  char* base = static_cast<char*>(reserved);
  const aclrtPhysicalMemProp prop = HugeProp();
  std::vector<aclrtDrvMemHandle> handles;
  aclError last = ACL_SUCCESS;
  while (last == ACL_SUCCESS) {
    aclrtDrvMemHandle handle = nullptr;
    last = aclrtMallocPhysical(&handle, kGiB, &prop, 0);
    if (last != ACL_SUCCESS) break;
    ASSERT_EQ(aclrtMapMem(base + handles.size() * kGiB, kGiB, 0, handle, 0), ACL_SUCCESS);
    handles.push_back(handle);
    ASSERT_LE(handles.size() * kGiB, total_);
  }
  EXPECT_EQ(last, ACL_ERROR_RT_MEMORY_ALLOCATION);
  ASSERT_FALSE(handles.empty());
  EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(handles[0]), ACL_SUCCESS);
  handles[0] = Make(kGiB);
  EXPECT_EQ(aclrtMapMem(base, kGiB, 0, handles[0], 0), ACL_SUCCESS);
  for (size_t i = 0; i < handles.size(); ++i) {
    EXPECT_EQ(aclrtUnmapMem(base + i * kGiB), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreePhysical(handles[i]), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

// vLLM's camem: asleep, the physical memory is gone and the address stays; awake, a new handle is mapped at the old
// address.
TEST_F(VmmPatterns, SleepReleasesMemoryAndWakeKeepsTheAddress) {
  aclrtPhysicalMemProp prop = HugeProp();
  size_t granularity = 0;
  ASSERT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity), ACL_SUCCESS);
  const size_t bytes = (5 * 1000 * 1000 + granularity - 1) / granularity * granularity;
  void* reserved = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&reserved, bytes, 0, nullptr, 0), ACL_SUCCESS);
  char* base = static_cast<char*>(reserved);
  for (uint64_t round = 1; round <= 3; ++round) {
    aclrtDrvMemHandle handle = Make(bytes);
    ASSERT_EQ(aclrtMapMem(base, bytes, 0, handle, 0), ACL_SUCCESS);
    Write(base + 4096, round);
    EXPECT_EQ(Read(base + 4096), round);
    ASSERT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
    ASSERT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
    size_t free = 0, total = 0;
    ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
    EXPECT_EQ(free, free_before_) << "asleep in round " << round;
    uint64_t value = 0;
    EXPECT_NE(aclrtMemcpy(&value, 8, base + 4096, 8, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

// Kernels and copies on streams see what is mapped when they run.
TEST_F(VmmPatterns, AsyncCopiesReachMappedMemory) {
  void* reserved = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&reserved, 2 * kPage, 0, nullptr, 0), ACL_SUCCESS);
  char* base = static_cast<char*>(reserved);
  aclrtDrvMemHandle handles[2] = {Make(kPage), Make(kPage)};
  for (size_t i = 0; i < 2; ++i) ASSERT_EQ(aclrtMapMem(base + i * kPage, kPage, 0, handles[i], 0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(base, 2 * kPage, 0x11, kPage + 8, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(base + kPage + 64, 64, base + kPage - 8, 16, ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
            ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(Read(base + kPage + 64), 0x1111111111111111u);
  EXPECT_EQ(Read(base + kPage + 72), 0x1111111111111111u);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(aclrtUnmapMem(base + i * kPage), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreePhysical(handles[i]), ACL_SUCCESS);
  }
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

TEST_F(VmmPatterns, ThreadsWithTheirOwnReservationsDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      void* reserved = nullptr;
      ASSERT_EQ(aclrtReserveMemAddress(&reserved, 8 * kPage, 0, nullptr, 0), ACL_SUCCESS);
      char* base = static_cast<char*>(reserved);
      for (uint64_t round = 0; round < 20; ++round) {
        aclrtDrvMemHandle handle = Make(kPage);
        char* at = base + (round % 8) * kPage;
        ASSERT_EQ(aclrtMapMem(at, kPage, 0, handle, 0), ACL_SUCCESS);
        Write(at, t << 32 | round);
        EXPECT_EQ(Read(at), t << 32 | round);
        ASSERT_EQ(aclrtUnmapMem(at), ACL_SUCCESS);
        ASSERT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
      }
      EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
      EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

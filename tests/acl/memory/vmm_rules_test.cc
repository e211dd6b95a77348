// SPDX-License-Identifier: Apache-2.0
// Every rule of virtual memory management, through the public API.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "tests/acl/memory/physical_memory.h"

namespace {

using acl_test::FreeBytes;
using acl_test::HugeProp;

constexpr size_t kPage = acl_test::kHugePage;
constexpr size_t kGiB = size_t{1} << 30;

class VmmRules : public acl_test::PhysicalMemoryTest {
 protected:
  static char* Reserve(size_t bytes) {
    void* address = nullptr;
    EXPECT_EQ(aclrtReserveMemAddress(&address, bytes, 0, nullptr, 0), ACL_SUCCESS);
    return static_cast<char*>(address);
  }
  // A page of memory, mapped there.
  static aclrtDrvMemHandle MakeAt(char* base) {
    aclrtDrvMemHandle handle = Make();
    EXPECT_EQ(aclrtMapMem(base, kPage, 0, handle, 0), ACL_SUCCESS);
    return handle;
  }
  // What is mapped there, the memory itself, and the address.
  static void Unmap(char* base, aclrtDrvMemHandle handle) {
    EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
    EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
  }
  static void Write(char* to, const std::string& text) {
    EXPECT_EQ(aclrtMemcpy(to, text.size(), text.data(), text.size(), ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  }
  static std::string Read(const char* from, size_t bytes) {
    std::string text(bytes, '\0');
    EXPECT_EQ(aclrtMemcpy(text.data(), bytes, from, bytes, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    return text;
  }
};

// Page "aclrtMemGetAllocationGranularity"; docs/compat.md, "What clients rely on": 2 MiB for huge (and "normal", which
// is huge inside), 1 GiB for 1G.
TEST_F(VmmRules, GranularityFollowsThePageKind) {
  aclrtPhysicalMemProp prop = HugeProp();
  size_t granularity = 0;
  for (const aclrtMemAttr attribute :
       {ACL_HBM_MEM_HUGE, ACL_HBM_MEM_NORMAL, ACL_MEM_NORMAL, ACL_MEM_HUGE, ACL_MEM_P2P_NORMAL, ACL_MEM_P2P_HUGE}) {
    prop.memAttr = attribute;
    for (const auto option : {ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED}) {
      ASSERT_EQ(aclrtMemGetAllocationGranularity(&prop, option, &granularity), ACL_SUCCESS) << attribute;
      EXPECT_EQ(granularity, kPage) << attribute;
    }
  }
  prop.memAttr = ACL_HBM_MEM_HUGE1G;
  ASSERT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity), ACL_SUCCESS);
  EXPECT_EQ(granularity, kGiB);
}

TEST_F(VmmRules, GranularityRefusesWhatCannotBeAllocated) {
  aclrtPhysicalMemProp prop = HugeProp();
  size_t granularity = 7;
  EXPECT_EQ(aclrtMemGetAllocationGranularity(nullptr, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, nullptr),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_NE(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF, &granularity), ACL_SUCCESS);
  prop.memAttr = ACL_DDR_MEM_HUGE;  // host only
  EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity),
            ACL_ERROR_INVALID_PARAM);
  prop = HugeProp();
  prop.location.id = 4096;
  EXPECT_EQ(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity),
            ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(granularity, 7u) << "a refused call leaves its output alone";
}

// Page "aclrtReserveMemAddress": size not 0, alignment only 0; docs/compat.md, "What clients rely on": flags 0 or 1.
TEST_F(VmmRules, ReserveChecksItsArguments) {
  void* address = nullptr;
  EXPECT_EQ(aclrtReserveMemAddress(nullptr, kPage, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&address, 0, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&address, kPage, 0, nullptr, 2), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddress(&address, kPage, kPage, nullptr, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtReserveMemAddress(&address, SIZE_MAX, 0, nullptr, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(address, nullptr);
  for (const uint64_t flags : {0, 1}) {
    ASSERT_EQ(aclrtReserveMemAddress(&address, 1, 0, nullptr, flags), ACL_SUCCESS);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % kPage, 0u);
    EXPECT_EQ(aclrtReleaseMemAddress(address), ACL_SUCCESS);
    address = nullptr;
  }
}

// CANN's chapter on virtual memory: an expectPtr is taken exactly or the call fails.
TEST_F(VmmRules, ReserveAtARequestedAddressIsExactOrRefused) {
  char* first = Reserve(4 * kPage);
  void* address = nullptr;
  EXPECT_EQ(aclrtReserveMemAddress(&address, kPage, 0, first + kPage, 0), ACL_ERROR_RT_PARAM_INVALID) << "occupied";
  EXPECT_EQ(aclrtReserveMemAddress(&address, kPage, 0, &address, 0), ACL_ERROR_RT_PARAM_INVALID) << "a host address";
  ASSERT_EQ(aclrtReleaseMemAddress(first), ACL_SUCCESS);
  ASSERT_EQ(aclrtReserveMemAddress(&address, kPage, 0, first + kPage, 0), ACL_SUCCESS);
  EXPECT_EQ(address, first + kPage);
  EXPECT_EQ(aclrtReleaseMemAddress(address), ACL_SUCCESS);
}

// CANN's chapter on virtual memory: aclrtReserveMemAddressNoUCMemory exists on the A3 series only; the default profile
// is an A2.
TEST_F(VmmRules, ReserveNoUcIsRefusedWhereTheSeriesLacksIt) {
  void* address = nullptr;
  EXPECT_EQ(aclrtReserveMemAddressNoUCMemory(nullptr, kGiB, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddressNoUCMemory(&address, 0, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReserveMemAddressNoUCMemory(&address, kGiB, 0, nullptr, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
}

TEST_F(VmmRules, ReleaseWantsTheFirstAddressOnce) {
  char* base = Reserve(4 * kPage);
  int local = 0;
  EXPECT_EQ(aclrtReleaseMemAddress(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtReleaseMemAddress(base + kPage), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtReleaseMemAddress(&local), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_ERROR_RT_PARAM_INVALID);
}

// Page "aclrtReleaseMemAddress": unmap first.
TEST_F(VmmRules, ReleaseWithLiveMappingsIsRefused) {
  char* base = Reserve(4 * kPage);
  aclrtDrvMemHandle handle = Make();
  ASSERT_EQ(aclrtMapMem(base + kPage, kPage, 0, handle, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtUnmapMem(base + kPage), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
}

// Page "aclrtMallocPhysical" and docs/compat.md, "What clients rely on", one wrong field at a time.
TEST_F(VmmRules, MallocPhysicalChecksItsArguments) {
  aclrtDrvMemHandle handle = nullptr;
  aclrtPhysicalMemProp prop = HugeProp();
  EXPECT_EQ(aclrtMallocPhysical(nullptr, kPage, &prop, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPage, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocPhysical(&handle, 0, &prop, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPage, &prop, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPage + 1, &prop, 0), ACL_ERROR_RT_PARAM_INVALID) << "not a granule multiple";
  prop.handleType = ACL_MEM_HANDLE_TYPE_POSIX;
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPage, &prop, 0), ACL_ERROR_INVALID_PARAM);
  prop = HugeProp();
  prop.allocationType = static_cast<aclrtMemAllocationType>(1);
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPage, &prop, 0), ACL_ERROR_INVALID_PARAM);
  for (const auto type : {ACL_MEM_LOCATION_TYPE_UNREGISTERED, ACL_MEM_LOCATION_TYPE_MANAGED}) {
    prop = HugeProp();
    prop.location.type = type;
    EXPECT_EQ(aclrtMallocPhysical(&handle, kPage, &prop, 0), ACL_ERROR_INVALID_PARAM);
  }
  for (const auto attribute : {ACL_DDR_MEM, ACL_HBM_MEM, ACL_DDR_MEM_HUGE, ACL_DDR_MEM_NORMAL, ACL_DDR_MEM_P2P_HUGE,
                               ACL_DDR_MEM_P2P_NORMAL, ACL_HBM_MEM_P2P_HUGE}) {
    prop = HugeProp();
    prop.memAttr = attribute;
    EXPECT_EQ(aclrtMallocPhysical(&handle, kPage, &prop, 0), ACL_ERROR_INVALID_PARAM) << attribute;
  }
  prop = HugeProp();
  prop.location.id = 4096;
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPage, &prop, 0), ACL_ERROR_RT_INVALID_DEVICEID);
  prop = HugeProp();
  prop.memAttr = ACL_MEM_P2P_HUGE1G;  // A3 only
  EXPECT_EQ(aclrtMallocPhysical(&handle, kGiB, &prop, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  prop.memAttr = ACL_HBM_MEM_HUGE1G;
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPage, &prop, 0), ACL_ERROR_RT_PARAM_INVALID) << "2 MiB of 1 GiB pages";
  EXPECT_EQ(handle, nullptr) << "a refused call leaves its output alone";
}

// docs/compat.md, "What clients rely on": torch_npu treats 207001 as "out of memory" and throws on every other code.
TEST_F(VmmRules, MallocPhysicalBeyondTheQuotaIs207001AndCostsNothing) {
  const aclrtPhysicalMemProp prop = HugeProp();
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_EQ(aclrtMallocPhysical(&handle, (free_before_ / kPage + 1) * kPage, &prop, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(aclrtMallocPhysical(&handle, size_t{1} << 62, &prop, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_EQ(handle, nullptr);
  ASSERT_EQ(aclrtMallocPhysical(&handle, free_before_ / kPage * kPage, &prop, 0), ACL_SUCCESS) << "all there is";
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
}

TEST_F(VmmRules, MapChecksItsArguments) {
  char* base = Reserve(4 * kPage);
  aclrtDrvMemHandle handle = Make(2 * kPage);
  EXPECT_EQ(aclrtMapMem(nullptr, 2 * kPage, 0, handle, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(base, 2 * kPage, 0, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(base, 0, 0, handle, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMapMem(base, 2 * kPage, 0, handle, 1), ACL_ERROR_INVALID_PARAM);
  // CANN's chapter on virtual memory: size equals the physical size; offset only 0.
  EXPECT_EQ(aclrtMapMem(base, kPage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMapMem(base, kPage, kPage, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMapMem(base + 1, 2 * kPage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID) << "off the granule";
  EXPECT_EQ(aclrtMapMem(base + 3 * kPage, 2 * kPage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID) << "past the end";
  int local = 0;
  EXPECT_EQ(aclrtMapMem(&local, 2 * kPage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID) << "not reserved";
  // CANN's chapter on virtual memory: the address may lie inside the reservation.
  EXPECT_EQ(aclrtMapMem(base + kPage, 2 * kPage, 0, handle, 0), ACL_SUCCESS);
  aclrtDrvMemHandle other = Make(2 * kPage);
  for (const size_t at : {0, 1, 2}) {
    EXPECT_EQ(aclrtMapMem(base + at * kPage, 2 * kPage, 0, other, 0), ACL_ERROR_RT_PARAM_INVALID) << "mapped already";
  }
  EXPECT_EQ(aclrtUnmapMem(base), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtUnmapMem(base + 2 * kPage), ACL_ERROR_RT_PARAM_INVALID) << "not where it was mapped";
  EXPECT_EQ(aclrtUnmapMem(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtUnmapMem(base + kPage), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnmapMem(base + kPage), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(other), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

TEST_F(VmmRules, GarbageHandlesAreRefusedByName) {
  char* base = Reserve(kPage);
  aclrtDrvMemHandle handle = Make();
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  aclrtPhysicalMemProp prop{};
  int local = 0;
  const auto far = reinterpret_cast<uintptr_t>(handle) + 1000;
  for (void* garbage : {static_cast<void*>(&local), reinterpret_cast<void*>(uintptr_t{1}), static_cast<void*>(stream),
                        reinterpret_cast<void*>(far), reinterpret_cast<void*>(UINTPTR_MAX), static_cast<void*>(base)}) {
    EXPECT_EQ(aclrtFreePhysical(garbage), ACL_ERROR_RT_INVALID_HANDLE) << garbage;
    EXPECT_EQ(aclrtMapMem(base, kPage, 0, garbage, 0), ACL_ERROR_RT_INVALID_HANDLE) << garbage;
    EXPECT_EQ(aclrtMemGetAllocationPropertiesFromHandle(garbage, &prop), ACL_ERROR_RT_INVALID_HANDLE) << garbage;
  }
  EXPECT_EQ(aclrtFreePhysical(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_ERROR_RT_INVALID_HANDLE) << "freed twice";
  EXPECT_EQ(aclrtMapMem(base, kPage, 0, handle, 0), ACL_ERROR_RT_INVALID_HANDLE) << "freed";
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

// Page "aclrtFreePhysical": while mapped, the memory stays until aclrtUnmapMem.
TEST_F(VmmRules, FreePhysicalWhileMappedWaitsForTheUnmap) {
  char* base = Reserve(kPage);
  aclrtDrvMemHandle handle = MakeAt(base);
  Write(base, "still here");
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(FreeBytes(), free_before_ - kPage);
  EXPECT_EQ(Read(base, 10), "still here");
  EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
  EXPECT_EQ(FreeBytes(), free_before_);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

// Page "aclrtMapMem", parameter handle: one reservation does not hold memory of two devices; nothing forbids one handle
// at two addresses, and both then show the same bytes.
TEST_F(VmmRules, OneHandleMayBeMappedAtTwoAddresses) {
  char* base = Reserve(2 * kPage);
  aclrtDrvMemHandle handle = MakeAt(base);
  ASSERT_EQ(aclrtMapMem(base + kPage, kPage, 0, handle, 0), ACL_SUCCESS);
  Write(base + 100, "seen twice");
  EXPECT_EQ(Read(base + kPage + 100, 10), "seen twice");
  EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
  EXPECT_EQ(Read(base + kPage + 100, 10), "seen twice");
  EXPECT_EQ(aclrtUnmapMem(base + kPage), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

TEST_F(VmmRules, CopiesIntoUnmappedReservationsAreRefused) {
  char* base = Reserve(2 * kPage);
  char text[8] = "text";
  EXPECT_NE(aclrtMemcpy(base, 8, text, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  aclrtDrvMemHandle handle = MakeAt(base);
  EXPECT_EQ(aclrtMemcpy(base, 8, text, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_NE(aclrtMemcpy(base + kPage - 4, 8, text, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS) << "half unmapped";
  EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
  EXPECT_NE(aclrtMemcpy(base, 8, text, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_NE(aclrtFree(base), ACL_SUCCESS) << "a reservation is not a block of aclrtMalloc";
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

// Page "aclrtMemMapNoAccess": nothing may touch it before aclrtMemSetAccess.
TEST_F(VmmRules, NoAccessMappingOpensWithSetAccess) {
  char* base = Reserve(kPage);
  aclrtDrvMemHandle handle = Make();
  ASSERT_EQ(aclrtMemMapNoAccess(base, kPage, 0, handle, 0), ACL_SUCCESS);
  aclrtMemLocation location{0, ACL_MEM_LOCATION_TYPE_DEVICE};
  uint64_t flag = 9;
  ASSERT_EQ(aclrtMemGetAccess(base, &location, &flag), ACL_SUCCESS);
  EXPECT_EQ(flag, uint64_t{ACL_RT_MEM_ACCESS_FLAGS_NONE});
  char text[8] = "text";
  EXPECT_NE(aclrtMemcpy(base, 8, text, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  aclrtMemAccessDesc desc{};
  desc.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  desc.location = location;
  // Page "aclrtMemSetAccess": address and size as mapped.
  EXPECT_EQ(aclrtMemSetAccess(base, kPage - 1, &desc, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemSetAccess(base + 1, kPage, &desc, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemSetAccess(base, kPage, &desc, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemSetAccess(base, kPage, nullptr, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemSetAccess(nullptr, kPage, &desc, 1), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(aclrtMemSetAccess(base, kPage, &desc, 1), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemGetAccess(base, &location, &flag), ACL_SUCCESS);
  EXPECT_EQ(flag, uint64_t{ACL_RT_MEM_ACCESS_FLAGS_READWRITE});
  Write(base, "open");
  EXPECT_EQ(Read(base, 4), "open");
  Unmap(base, handle);
}

TEST_F(VmmRules, OnlyTheDeviceHasAccessToMappedMemory) {
  const char* mode = getenv("MILLPOND_DEVICE_MEMORY");
  if (mode != nullptr && strcmp(mode, "shared") == 0) GTEST_SKIP() << "shared mode gives the host access";
  char* base = Reserve(kPage);
  aclrtDrvMemHandle handle = MakeAt(base);
  uint64_t flag = 9;
  aclrtMemLocation device{0, ACL_MEM_LOCATION_TYPE_DEVICE};
  aclrtMemLocation host{0, ACL_MEM_LOCATION_TYPE_HOST};
  ASSERT_EQ(aclrtMemGetAccess(base, &device, &flag), ACL_SUCCESS);
  EXPECT_EQ(flag, uint64_t{ACL_RT_MEM_ACCESS_FLAGS_READWRITE});
  ASSERT_EQ(aclrtMemGetAccess(base, &host, &flag), ACL_SUCCESS);
  EXPECT_EQ(flag, uint64_t{ACL_RT_MEM_ACCESS_FLAGS_NONE});
  aclrtMemLocation numa{0, ACL_MEM_LOCATION_TYPE_HOST_NUMA};  // CANN's chapter on virtual memory: host and device only
  EXPECT_EQ(aclrtMemGetAccess(base, &numa, &flag), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemGetAccess(base + 1, &device, &flag), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemGetAccess(nullptr, &device, &flag), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemGetAccess(base, nullptr, &flag), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemGetAccess(base, &device, nullptr), ACL_ERROR_INVALID_PARAM);
  aclrtMemAccessDesc desc{};
  desc.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  desc.location = host;
  EXPECT_EQ(aclrtMemSetAccess(base, kPage, &desc, 1), ACL_ERROR_RT_FEATURE_NOT_SUPPORT)
      << "the host cannot touch device memory, and no call may pretend so";
  desc.location = device;
  desc.flags = static_cast<aclrtMemAccessFlags>(2);
  EXPECT_EQ(aclrtMemSetAccess(base, kPage, &desc, 1), ACL_ERROR_RT_PARAM_INVALID);
  desc.flags = ACL_RT_MEM_ACCESS_FLAGS_READ;
  desc.location.id = 4096;
  EXPECT_EQ(aclrtMemSetAccess(base, kPage, &desc, 1), ACL_ERROR_RT_INVALID_DEVICEID);
  Unmap(base, handle);
}

// Page "aclrtMemRetainAllocationHandle": as many aclrtFreePhysical as calls.
TEST_F(VmmRules, RetainedHandlesNeedOneFreeEach) {
  char* base = Reserve(kPage);
  aclrtDrvMemHandle handle = Make();
  aclrtDrvMemHandle retained = nullptr;
  EXPECT_EQ(aclrtMemRetainAllocationHandle(base, &retained), ACL_ERROR_RT_PARAM_INVALID) << "nothing mapped";
  ASSERT_EQ(aclrtMapMem(base, kPage, 0, handle, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemRetainAllocationHandle(nullptr, &retained), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemRetainAllocationHandle(base, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemRetainAllocationHandle(base + 4096, &retained), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(aclrtMemRetainAllocationHandle(base, &retained), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemRetainAllocationHandle(base, &retained), ACL_SUCCESS);
  EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(FreeBytes(), free_before_ - kPage) << i;
    EXPECT_EQ(aclrtFreePhysical(retained), ACL_SUCCESS) << i;
  }
  EXPECT_EQ(aclrtFreePhysical(retained), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

TEST_F(VmmRules, PropertiesAreReturnedAsRequested) {
  aclrtPhysicalMemProp asked = HugeProp();
  asked.memAttr = ACL_MEM_P2P_HUGE;
  asked.reserve = 77;
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(aclrtMallocPhysical(&handle, kPage, &asked, 0), ACL_SUCCESS);
  aclrtPhysicalMemProp told{};
  EXPECT_EQ(aclrtMemGetAllocationPropertiesFromHandle(nullptr, &told), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemGetAllocationPropertiesFromHandle(handle, nullptr), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclrtMemGetAllocationPropertiesFromHandle(handle, &told), ACL_SUCCESS);
  EXPECT_EQ(told.handleType, asked.handleType);
  EXPECT_EQ(told.allocationType, asked.allocationType);
  EXPECT_EQ(told.memAttr, asked.memAttr);
  EXPECT_EQ(told.location.type, asked.location.type);
  EXPECT_EQ(told.location.id, asked.location.id);
  EXPECT_EQ(told.reserve, asked.reserve);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
}

// A CPU has no links between dies; choosing one would be success for nothing.
TEST_F(VmmRules, LinksAreRefused) {
  char* base = Reserve(2 * kPage);
  aclrtDrvMemHandle handle = MakeAt(base);
  EXPECT_EQ(aclrtMemMapSetLink(nullptr, ACL_RT_MEM_ACCESS_LINK_SIO), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemMapSetLink(handle, ACL_RT_MEM_ACCESS_LINK_SIO), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtMemMapSelectedLink(base + kPage, 0, base, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemMapSelectedLink(base + kPage, kPage, base, 2), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemMapSelectedLink(base + kPage, kPage, base, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  Unmap(base, handle);
}

// CANN's chapter on virtual memory: host memory, numbered by NUMA node or not, is memory the host may touch.
TEST_F(VmmRules, HostPhysicalMemoryIsTheHostsToTouch) {
  for (const auto type : {ACL_MEM_LOCATION_TYPE_HOST, ACL_MEM_LOCATION_TYPE_HOST_NUMA}) {
    aclrtPhysicalMemProp prop = HugeProp();
    prop.memAttr = ACL_DDR_MEM_HUGE;
    prop.location.type = type;
    aclrtDrvMemHandle handle = nullptr;
    ASSERT_EQ(aclrtMallocPhysical(&handle, kPage, &prop, 0), ACL_SUCCESS);
    EXPECT_EQ(FreeBytes(), free_before_) << "host memory is not charged to the device";
    char* base = Reserve(kPage);
    ASSERT_EQ(aclrtMapMem(base, kPage, 0, handle, 0), ACL_SUCCESS);
    memcpy(base, "by the host", 12);
    void* device = nullptr;
    ASSERT_EQ(aclrtMalloc(&device, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(device, 64, base, 12, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(base + 64, 64, device, 12, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_STREQ(base + 64, "by the host");
    EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
    EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
    EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  }
  aclrtPhysicalMemProp prop = HugeProp();
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  prop.memAttr = ACL_MEM_HUGE1G;  // CANN's chapter on virtual memory: device only
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_EQ(aclrtMallocPhysical(&handle, kGiB, &prop, 0), ACL_ERROR_INVALID_PARAM);
  prop.memAttr = ACL_MEM_HUGE;
  prop.location = {100000, ACL_MEM_LOCATION_TYPE_HOST_NUMA};
  EXPECT_EQ(aclrtMallocPhysical(&handle, kPage, &prop, 0), ACL_ERROR_RT_PARAM_INVALID) << "no such node";
}

// Every refusal leaves a message that names the function.
TEST_F(VmmRules, RefusalsSayWhatWasWrong) {
  char* base = Reserve(kPage);
  aclrtDrvMemHandle handle = Make(2 * kPage);
  EXPECT_EQ(aclrtMapMem(base, 2 * kPage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  const char* message = aclGetRecentErrMsg();
  ASSERT_NE(message, nullptr);
  EXPECT_NE(std::string(message).find("past the end of the reservation"), std::string::npos) << message;
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Managed memory (CANN's chapter on managed memory; the attribute rules are in page "aclrtMemManagedRangeAttribute").
#include "tests/acl/acl_test.h"

using namespace acl_test;  // NOLINT

namespace {

constexpr size_t kUnit = size_t{2} << 20;
constexpr aclrtMemManagedLocation kDevice0 = {ACL_MEM_LOCATIONTYPE_DEVICE, 0};
constexpr aclrtMemManagedLocation kHost = {ACL_MEM_LOCATIONTYPE_HOST, 0};
constexpr aclrtMemManagedLocation kNowhere = {ACL_MEM_LOCATIONTYPE_INVALID, 0};

class Managed : public AclTest {
 protected:
  void SetUp() override {
    AclTest::SetUp();
    ACL_REQUIRE_OK(aclrtMemAllocManaged(reinterpret_cast<void**>(&memory_), 3 * kUnit, ACL_RT_MEM_ATTACH_GLOBAL));
  }
  void TearDown() override {
    ACL_OK(aclrtFree(memory_));  // CANN's chapter on managed memory: aclrtFree releases it
    AclTest::TearDown();
  }
  int32_t Get(aclrtMemManagedRangeAttribute attribute, size_t size = 3 * kUnit) {
    int32_t value = -77;
    EXPECT_EQ(aclrtMemManagedGetAttr(attribute, memory_, size, &value, 4), ACL_SUCCESS) << RecentMessage();
    return value;
  }
  char* memory_ = nullptr;
};

// Page "aclrtMemAllocManaged": rounded up to 2 MiB, reached from host and device.
TEST_F(Managed, HostAndDeviceSeeTheSameBytes) {
  size_t bytes = 0;
  ACL_OK(aclrtMemGetAddressRange(memory_, nullptr, &bytes));
  EXPECT_EQ(bytes, 3 * kUnit);
  std::memset(memory_, 1, 64);
  const DeviceBuffer block(64);
  aclrtStream stream = NewStream();
  ACL_OK(aclrtMemcpyAsync(block.get(), 64, memory_, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  ACL_OK(aclrtMemsetAsync(memory_, 64, 2, 64, stream));
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(memory_[63], 2) << "what the device wrote, the host reads at the same address";
  char back[64] = {};
  ACL_OK(aclrtMemcpy(back, 64, block.get(), 64, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(back[63], 1);
  aclrtPtrAttributes attributes = {};
  ACL_OK(aclrtPointerGetAttributes(memory_, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_MANAGED);
}

TEST_F(Managed, AllocationChecksSizeAndFlag) {
  void* memory = nullptr;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemAllocManaged(nullptr, 64, ACL_RT_MEM_ATTACH_GLOBAL));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemAllocManaged(&memory, 0, ACL_RT_MEM_ATTACH_GLOBAL));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemAllocManaged(&memory, 64, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemAllocManaged(&memory, (uint64_t{3} << 40) + 1, ACL_RT_MEM_ATTACH_GLOBAL))
      << "at most 3 TB";
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFreeHost(memory_));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFree(memory_ + 1));
}

TEST_F(Managed, ReadMostlyIsOneOnlyWhenAllPagesHaveIt) {
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
  ACL_OK(aclrtMemManagedAdvise(memory_, 2 * kUnit, ACL_MEM_ADVISE_SET_READ_MOSTLY, kNowhere));
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 2 * kUnit), 1);
  ACL_OK(aclrtMemManagedAdvise(memory_, 2 * kUnit, ACL_MEM_ADVISE_UNSET_READ_MOSTLY, kNowhere));
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 2 * kUnit), 0);
}

TEST_F(Managed, PreferredLocationIsADeviceTheHostOrNone) {
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), -2);
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE), ACL_MEM_LOCATIONTYPE_INVALID);
  ACL_OK(aclrtMemManagedAdvise(memory_, 3 * kUnit, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, kDevice0));
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), 0);
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE), ACL_MEM_LOCATIONTYPE_DEVICE);
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID), 0);
  ACL_OK(aclrtMemManagedAdvise(memory_, kUnit, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, kHost));
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, kUnit), -1);
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, kUnit), ACL_MEM_LOCATIONTYPE_HOST);
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), -2) << "the pages differ";
  ACL_OK(aclrtMemManagedAdvise(memory_, kUnit, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION,
                               {ACL_MEM_LOCATIONTYPE_HOST_NUMA, 0}));
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, kUnit), ACL_MEM_LOCATIONTYPE_HOST_NUMA);
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, kUnit), 0);
  ACL_OK(aclrtMemManagedAdvise(memory_, 3 * kUnit, ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION, kNowhere));
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), -2);
}

TEST_F(Managed, AccessedByListsLocationsThenMinusTwo) {
  ACL_OK(aclrtMemManagedAdvise(memory_, 3 * kUnit, ACL_MEM_ADVISE_SET_ACCESSED_BY, kDevice0));
  ACL_OK(aclrtMemManagedAdvise(memory_, 3 * kUnit, ACL_MEM_ADVISE_SET_ACCESSED_BY, kHost));
  int32_t ids[4] = {};
  ACL_OK(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory_, 3 * kUnit, ids, sizeof(ids)));
  EXPECT_TRUE((ids[0] == -1 && ids[1] == 0) || (ids[0] == 0 && ids[1] == -1));
  EXPECT_EQ(ids[2], -2);
  EXPECT_EQ(ids[3], -2);
  ACL_OK(aclrtMemManagedAdvise(memory_, 3 * kUnit, ACL_MEM_ADVISE_UNSET_ACCESSED_BY, kHost));
  ACL_OK(aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory_, 3 * kUnit, ids, 4));
  EXPECT_EQ(ids[0], 0) << "an array that is too small is filled";
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory_, kUnit, ids, 6));
}

TEST_F(Managed, SeveralAttributesInOneCall) {
  ACL_OK(aclrtMemManagedAdvise(memory_, 3 * kUnit, ACL_MEM_ADVISE_SET_READ_MOSTLY, kNowhere));
  aclrtMemManagedRangeAttribute attributes[] = {ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                                ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
  int32_t mostly = -7, preferred = -7;
  void* data[] = {&mostly, &preferred};
  size_t sizes[] = {4, 4};
  ACL_OK(aclrtMemManagedGetAttrs(attributes, 2, memory_, kUnit, data, sizes));
  EXPECT_EQ(mostly, 1);
  EXPECT_EQ(preferred, -2);
  sizes[1] = 8;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemManagedGetAttrs(attributes, 2, memory_, kUnit, data, sizes));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemManagedGetAttrs(attributes, 0, memory_, kUnit, data, sizes));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemManagedGetAttrs(nullptr, 2, memory_, kUnit, data, sizes));
}

// CANN's chapter on managed memory: sizes are multiples of 2 MiB, memory must be managed, locations must exist.
TEST_F(Managed, AdviceChecksItsArguments) {
  const DeviceBuffer block(kUnit);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemManagedAdvise(nullptr, kUnit, ACL_MEM_ADVISE_SET_READ_MOSTLY, kNowhere));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemManagedAdvise(memory_, 4096, ACL_MEM_ADVISE_SET_READ_MOSTLY, kNowhere));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemManagedAdvise(memory_, 0, ACL_MEM_ADVISE_SET_READ_MOSTLY, kNowhere));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemManagedAdvise(memory_, 4 * kUnit, ACL_MEM_ADVISE_SET_READ_MOSTLY, kNowhere));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemManagedAdvise(block.get(), kUnit, ACL_MEM_ADVISE_SET_READ_MOSTLY, kNowhere));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemManagedAdvise(memory_, kUnit, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, kNowhere));
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtMemManagedAdvise(memory_, kUnit, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                                                 {ACL_MEM_LOCATIONTYPE_DEVICE, 99}));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemManagedAdvise(memory_, kUnit, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION,
                                                           {ACL_MEM_LOCATIONTYPE_HOST_NUMA, 1000}));
  int32_t value = 0;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory_, kUnit, &value, 8));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory_, kUnit, nullptr, 4));
}

// Page "aclrtMemManagedPrefetchAsync" and its batch form.
TEST_F(Managed, PrefetchKeepsTheBytesAndIsRemembered) {
  aclrtStream stream = NewStream();
  std::memset(memory_, 3, 3 * kUnit);
  ACL_OK(aclrtMemManagedPrefetchAsync(memory_, kUnit, kDevice0, 0, stream));
  const void* ranges[] = {memory_ + kUnit, memory_ + 2 * kUnit};
  size_t sizes[] = {kUnit, kUnit};
  aclrtMemManagedLocation locations[] = {kDevice0, kHost};
  size_t indexes[] = {0, 1};
  ACL_OK(aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 2, locations, indexes, 2, 0, stream));
  ACL_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(memory_[3 * kUnit - 1], 3);
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 2 * kUnit), 0);
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), -2);
  EXPECT_EQ(Get(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, kUnit), ACL_MEM_LOCATIONTYPE_DEVICE);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemManagedPrefetchAsync(memory_, 4096, kDevice0, 0, stream));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemManagedPrefetchAsync(memory_, kUnit, kDevice0, 1, stream));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMemManagedPrefetchAsync(nullptr, kUnit, kDevice0, 0, stream));
  indexes[0] = 1;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 2, locations, indexes, 2, 0, stream));
  indexes[0] = 0;
  indexes[1] = 2;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 2, locations, indexes, 2, 0, stream));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 1, locations, indexes, 2, 0, stream));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM,
            aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 0, locations, indexes, 1, 0, stream));
}

MP_ROLE(no_managed_memory) {
  void* memory = nullptr;
  ROLE_INIT();
  ROLE_CHECK(aclrtMemAllocManaged(&memory, 64, ACL_RT_MEM_ATTACH_GLOBAL) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  return 0;
}
// CANN's chapter on managed memory: only A2 and A3 have managed memory.
TEST(OtherProducts, The950And310PRefuseManagedMemory) {
  for (const char* soc : {"Ascend950PR_9589", "Ascend310P3"}) {
    ExpectRole("no_managed_memory", {{"MILLPOND_SOC", soc}});
  }
}

}  // namespace

MP_TEST_MAIN()

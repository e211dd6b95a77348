// SPDX-License-Identifier: Apache-2.0
// Physical memory in tests: what most ask for, and that none is left behind.
#ifndef MILLPOND_TESTS_ACL_MEMORY_PHYSICAL_MEMORY_H_
#define MILLPOND_TESTS_ACL_MEMORY_PHYSICAL_MEMORY_H_

#include <gtest/gtest.h>

#include <cstddef>

#include "acl/acl.h"

namespace acl_test {

inline constexpr size_t kHugePage = size_t{2} << 20;

// Huge pages of device 0.
inline aclrtPhysicalMemProp HugeProp() {
  aclrtPhysicalMemProp prop{};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  return prop;
}

inline size_t FreeBytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
  return free;
}

// Device 0, which is reset without force: that nothing is left on it is part of the test.
class PlainDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  }
};

class PhysicalMemoryTest : public PlainDeviceTest {
 protected:
  void SetUp() override {
    PlainDeviceTest::SetUp();
    ASSERT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_before_, &total_), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(FreeBytes(), free_before_) << "physical memory was left behind";
    PlainDeviceTest::TearDown();
  }
  static aclrtDrvMemHandle Make(size_t bytes = kHugePage) {
    const aclrtPhysicalMemProp prop = HugeProp();
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(aclrtMallocPhysical(&handle, bytes, &prop, 0), ACL_SUCCESS);
    return handle;
  }

  size_t free_before_ = 0, total_ = 0;
};

}  // namespace acl_test

#endif  // MILLPOND_TESTS_ACL_MEMORY_PHYSICAL_MEMORY_H_

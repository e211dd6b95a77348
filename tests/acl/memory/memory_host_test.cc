// SPDX-License-Identifier: Apache-2.0
// Pinned and registered host memory (CANN's chapter on host memory).
#include "tests/acl/acl_test.h"

using namespace acl_test;  // NOLINT

namespace {

struct Pages {
  explicit Pages(size_t count) : bytes(count * 4096), address(std::aligned_alloc(4096, bytes)) {}
  ~Pages() { std::free(address); }
  char* at(size_t offset = 0) const { return static_cast<char*>(address) + offset; }
  size_t bytes;
  void* address;
};

class HostMemory : public AclTest {};

// Page "aclrtMallocHost": 64-byte aligned; size must not be 0.
TEST_F(HostMemory, PinnedMemoryIsAlignedAndUsable) {
  void* memory = nullptr;
  for (const size_t size : {size_t{1}, size_t{65}, size_t{1} << 20}) {
    ACL_REQUIRE_OK(aclrtMallocHost(&memory, size));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 1, size);
    ACL_OK(aclrtFreeHost(memory));
  }
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocHost(nullptr, 64));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocHost(&memory, 0));
  ACL_FAILS(ACL_ERROR_BAD_ALLOC, aclrtMallocHost(&memory, SIZE_MAX / 2));
}

// Page "aclrtMallocHostWithCfg"; page "aclrtMallocAttrValue": vaFlag is 0 or 1.
TEST_F(HostMemory, ConfigurationsAreChecked) {
  void* memory = nullptr;
  ACL_REQUIRE_OK(aclrtMallocHostWithCfg(&memory, 64, nullptr));
  ACL_OK(aclrtFreeHost(memory));
  aclrtMallocAttribute attribute = {};
  attribute.attr = ACL_RT_MEM_ATTR_VA_FLAG;
  attribute.value.vaFlag = 1;
  aclrtMallocConfig config = {&attribute, 1};
  ACL_REQUIRE_OK(aclrtMallocHostWithCfg(&memory, 4096, &config));
  ACL_OK(aclrtFreeHost(memory));
  attribute.value.vaFlag = 2;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocHostWithCfg(&memory, 64, &config));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocHostWithCfg(&memory, 0, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtMallocHostWithCfg(nullptr, 64, nullptr));
}

TEST_F(HostMemory, FreeHostRefusesWhatMallocHostDidNotReturn) {
  const DeviceBuffer device(64);
  int local = 0;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFreeHost(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFreeHost(&local));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFreeHost(device.get()));
  EXPECT_NE(RecentMessage().find("aclrtFree"), std::string::npos);
  char* memory = nullptr;
  ACL_REQUIRE_OK(aclrtMallocHost(reinterpret_cast<void**>(&memory), 64));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFreeHost(memory + 1));
  ACL_OK(aclrtFreeHost(memory));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFreeHost(memory));
  EXPECT_NE(RecentMessage().find("already freed"), std::string::npos);
}

// CANN's chapter on host memory: aclrtFreeHost waits for nothing, aclrtFreeHostWithDevSync for the device.
TEST_F(HostMemory, OnlyFreeHostWithDevSyncWaits) {
  void *now = nullptr, *later = nullptr;
  ACL_REQUIRE_OK(aclrtMallocHost(&now, 64));
  ACL_REQUIRE_OK(aclrtMallocHost(&later, 64));
  aclrtStream stream = NewStream();
  Gate gate;
  ACL_OK(gate.LaunchOn(stream));
  ACL_OK(aclrtFreeHost(now));
  std::atomic<bool> ran{false};
  ACL_OK(Launch(stream, [&] { ran = true; }));
  gate.Open();
  ACL_OK(aclrtFreeHostWithDevSync(later));
  EXPECT_TRUE(ran);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtFreeHostWithDevSync(nullptr));
}

// Page "aclrtHostRegister"; DESIGN.md 3: the address is the same one.
TEST_F(HostMemory, RegistrationReturnsTheSameAddressAndPinsTheRange) {
  const Pages pages(4);
  void* device = nullptr;
  ACL_REQUIRE_OK(aclrtHostRegister(pages.address, pages.bytes, ACL_HOST_REGISTER_MAPPED, &device));
  EXPECT_EQ(device, pages.address);
  ACL_OK(aclrtHostGetDevicePointer(pages.at(100), &device, 0));
  EXPECT_EQ(device, pages.at(100));
  aclrtPtrAttributes attributes = {};
  ACL_OK(aclrtPointerGetAttributes(pages.at(5000), &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  ACL_FAILS(ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
            aclrtHostRegister(pages.at(4096), 4096, ACL_HOST_REGISTER_MAPPED, &device));
  ACL_OK(aclrtHostUnregister(pages.address));
  ACL_FAILS(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, aclrtHostUnregister(pages.address));
  ACL_FAILS(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, aclrtHostGetDevicePointer(pages.address, &device, 0));
  ACL_OK(aclrtPointerGetAttributes(pages.address, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
}

// CANN's chapter on host memory: 4 KiB alignment; reserved types are not supported.
TEST_F(HostMemory, RegistrationChecksItsArguments) {
  const Pages pages(2);
  void* device = nullptr;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostRegister(nullptr, 4096, ACL_HOST_REGISTER_MAPPED, &device));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostRegister(pages.address, 4096, ACL_HOST_REGISTER_MAPPED, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostRegister(pages.address, 0, ACL_HOST_REGISTER_MAPPED, &device));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostRegister(pages.at(64), 64, ACL_HOST_REGISTER_MAPPED, &device));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
            aclrtHostRegister(pages.address, 4096, ACL_HOST_REGISTER_READONLY, &device));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
            aclrtHostRegister(pages.address, 4096, ACL_HOST_REGISTER_IOMEMORY, &device));
  const DeviceBuffer block(4096);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostRegister(block.get(), 4096, ACL_HOST_REGISTER_MAPPED, &device));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostUnregister(nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostGetDevicePointer(pages.address, &device, 1));
}

// Page "aclrtHostRegisterV2".
TEST_F(HostMemory, RegisterV2TakesFlagsAndPinnedOnlyForPageableMemory) {
  const Pages pages(2);
  void* device = nullptr;
  ACL_REQUIRE_OK(aclrtHostRegisterV2(pages.address, 4096, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED));
  ACL_OK(aclrtHostGetDevicePointer(pages.address, &device, 0));
  EXPECT_EQ(device, pages.address);
  ACL_OK(aclrtHostUnregister(pages.address));
  ACL_REQUIRE_OK(aclrtHostRegisterV2(pages.address, 4096, ACL_HOST_REG_PINNED));
  ACL_FAILS(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, aclrtHostGetDevicePointer(pages.address, &device, 0));
  ACL_OK(aclrtHostUnregister(pages.address));
  ACL_FAILS(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, aclrtHostRegisterV2(pages.address, 4096, ACL_HOST_REG_READONLY));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostRegisterV2(pages.address, 4096, 0));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostRegisterV2(pages.address, 4096, 1));
  void* pinned = nullptr;
  ACL_REQUIRE_OK(aclrtMallocHost(&pinned, 8192));
  char* aligned = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(pinned) + 4095) / 4096 * 4096);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostRegisterV2(aligned, 4096, ACL_HOST_REG_PINNED));
  ACL_OK(aclrtHostRegisterV2(aligned, 4096, ACL_HOST_REG_MAPPED));
  ACL_OK(aclrtHostUnregister(aligned));
  ACL_OK(aclrtFreeHost(pinned));
}

// Page "aclrtHostMemMapCapabilities".
TEST_F(HostMemory, CapabilitiesSayWhichEnginesReachRegisteredMemory) {
  aclrtHostMemMapCapability capability = ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED;
  ACL_OK(aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_AIC, &capability));
  EXPECT_EQ(capability, ACL_RT_HOST_MEM_MAP_SUPPORTED);
  ACL_OK(aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_DVPP, &capability));
  EXPECT_EQ(capability, ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED);
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclrtHostMemMapCapabilities(99, ACL_RT_HAC_TYPE_AIC, &capability));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostMemMapCapabilities(0, static_cast<aclrtHacType>(15), &capability));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_AIC, nullptr));
}

MP_ROLE(register_310p) {
  const Pages pages(1);
  void* device = nullptr;
  ROLE_INIT();
  ROLE_CHECK(aclrtHostRegister(pages.address, 4096, ACL_HOST_REGISTER_MAPPED, &device) ==
             ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  return 0;
}
// CANN's chapter on host memory: the Atlas inference series has no aclrtHostRegister.
TEST(OtherProducts, The310PRefusesRegistration) { ExpectRole("register_310p", {{"MILLPOND_SOC", "Ascend310P3"}}); }

}  // namespace

MP_TEST_MAIN()

// SPDX-License-Identifier: Apache-2.0
// Versions and what the device can do.
#include <filesystem>
#include <set>

#include "tests/acl/acl_test.h"

namespace {

using acl_test::Unlisted;
namespace fs = std::filesystem;

// An installation that the test writes, found through ASCEND_HOME_PATH.
class VersionTest : public testing::Test {
 protected:
  VersionTest() : home_(fs::temp_directory_path() / ("version_test_" + std::to_string(getpid()))) {
    setenv("ASCEND_HOME_PATH", home_.c_str(), 1);
  }
  ~VersionTest() override {
    unsetenv("ASCEND_HOME_PATH");
    fs::remove_all(home_);
  }
  void Install(const std::string& package, const std::string& text) {
    fs::create_directories(home_ / "share/info" / package);
    std::ofstream(home_ / "share/info" / package / "version.info") << text;
  }
  static std::string Text(const char* package) {
    char version[ACL_PKG_VERSION_MAX_SIZE] = {};
    std::string name = package;
    const int code = aclsysGetVersionStr(name.data(), version);
    return code == ACL_SUCCESS ? version : "error " + std::to_string(code);
  }
  int32_t Number(const std::string& version) {
    Install("numbered", "version=" + version + "\n");
    std::string name = "numbered";
    int32_t number = -1;
    EXPECT_EQ(aclsysGetVersionNum(name.data(), &number), ACL_SUCCESS) << version << acl_test::RecentMessage();
    return number;
  }

  fs::path home_;
};

// CANN's chapter on other APIs: aclrtGetVersion gives the interface's A.B.C; docs/compat.md, "What clients rely
// on": 1.17.0.
TEST(Version, OfTheInterface) {
  int32_t major = 0, minor = 0, patch = -1;
  ACL_OK(aclrtGetVersion(&major, &minor, &patch));
  EXPECT_EQ(major, 1);
  EXPECT_EQ(minor, 17);
  EXPECT_EQ(patch, 0);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetVersion(nullptr, &minor, &patch));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetVersion(&major, nullptr, &patch));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetVersion(&major, &minor, nullptr));
}

// CANN's chapter on other APIs: the string is the one of share/info/<package>/version.info.
TEST_F(VersionTest, StringIsTheInstalledOne) {
  Install("runtime", "Version=8.3.RC1\nversion_dir=x\n");
  Install("ops_math", "# a comment\n version = 9.1.0-beta.2 \n");
  EXPECT_EQ(Text("runtime"), "8.3.RC1");
  EXPECT_EQ(Text("ops_math"), "9.1.0-beta.2");
}

// A package of ours has a version even where nothing is installed; any other must be there (CANN's chapter on other
// APIs).
TEST_F(VersionTest, OnlyOurPackagesHaveABuiltInVersion) {
  EXPECT_EQ(Text("runtime"), "9.0.0");
  EXPECT_EQ(Text("no_such_package"), "error " + std::to_string(ACL_ERROR_INVALID_FILE));
  EXPECT_NE(acl_test::RecentMessage().find("no_such_package"), std::string::npos);
  Install("empty", "nothing here\n");
  EXPECT_EQ(Text("empty"), "error " + std::to_string(ACL_ERROR_INVALID_FILE));
  Install("endless", "version=" + std::string(500, '9') + "\n");
  EXPECT_EQ(Text("endless"), "error " + std::to_string(ACL_ERROR_INVALID_FILE)) << "would not fit the client's buffer";
}

TEST_F(VersionTest, NamesAreNotPaths) {
  for (const char* name : {"", "..", "../info/runtime", "a/b", ".hidden"}) {
    EXPECT_EQ(Text(name), "error " + std::to_string(ACL_ERROR_INVALID_PARAM)) << name;
  }
  char version[ACL_PKG_VERSION_MAX_SIZE];
  std::string name = "runtime";
  int32_t number = 0;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclsysGetVersionStr(nullptr, version));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclsysGetVersionStr(name.data(), nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclsysGetVersionNum(nullptr, &number));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclsysGetVersionNum(name.data(), nullptr));
}

// CANN's chapter on other APIs gives exactly this order as its example.
TEST_F(VersionTest, NumbersGrowAsDocumented) {
  const char* order[] = {"9.0.0-alpha.1", "9.0.0-alpha.2", "9.0.0-beta.1", "9.0.0-beta.2",
                         "9.0.0-rc.1",    "9.0.0-rc.2",    "9.0.0",        "9.0.1"};
  for (size_t i = 1; i < std::size(order); ++i) EXPECT_LT(Number(order[i - 1]), Number(order[i])) << order[i];
  EXPECT_EQ(Number("9.0.0"), 90000000);
  EXPECT_EQ(Number("9.1.2"), 90102000);
  EXPECT_EQ(Number("8.1.RC1"), 80100000 - 100 + 1);  // the older spelling (docs/compat.md, "What clients rely on")
  EXPECT_EQ(Number("8.0.T5"), 80000000);
  Install("numbered", "version=banana\n");
  std::string name = "numbered";
  int32_t number = 0;
  ACL_FAILS(ACL_ERROR_PARSE_FILE, aclsysGetVersionNum(name.data(), &number));
}

// CANN's chapter on structs, aclCANNPackageVersion: parts that are not there read "0".
TEST_F(VersionTest, PartsOfAPackage) {
  Install("toolkit", "version=8.1.RC1.alpha002\n");
  Install("opp", "version=9.0.0\n");
  aclCANNPackageVersion version;
  ACL_OK(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version));
  EXPECT_STREQ(version.version, "8.1.RC1.alpha002");
  EXPECT_STREQ(version.majorVersion, "8");
  EXPECT_STREQ(version.minorVersion, "1");
  EXPECT_STREQ(version.releaseVersion, "RC1");
  EXPECT_STREQ(version.patchVersion, "alpha002");
  ACL_OK(aclsysGetCANNVersion(ACL_PKG_NAME_OPP, &version));
  EXPECT_STREQ(version.version, "9.0.0");
  EXPECT_STREQ(version.releaseVersion, "0");
  EXPECT_STREQ(version.patchVersion, "0");
  for (int name = ACL_PKG_NAME_CANN; name <= ACL_PKG_NAME_DRIVER; ++name) {
    ACL_OK(aclsysGetCANNVersion(static_cast<aclCANNPackageName>(name), &version));
  }
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclsysGetCANNVersion(Unlisted<aclCANNPackageName>(8), &version));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclsysGetCANNVersion(ACL_PKG_NAME_CANN, nullptr));
}

// --- the device's facts, one process per profile ---

std::string Soc() {
  const char* name = aclrtGetSocName();
  return name == nullptr ? "" : name;
}
int64_t Info(aclrtDevAttr attribute) {
  int64_t value = -1;
  const int code = aclrtGetDeviceInfo(0, attribute, &value);
  return code == ACL_SUCCESS ? value : -code;
}

// The numbers of profiles/Ascend910B3.ini, and CANN's chapter on enumerations for the rest.
MP_ROLE(A2) {
  ROLE_CHECK(Soc() == "Ascend910B3");
  ROLE_CHECK(Info(ACL_DEV_ATTR_AICORE_CORE_NUM) == 20);
  ROLE_CHECK(Info(ACL_DEV_ATTR_CUBE_CORE_NUM) == 20);
  ROLE_CHECK(Info(ACL_DEV_ATTR_VECTOR_CORE_NUM) == 40);
  ROLE_CHECK(Info(ACL_DEV_ATTR_L2_CACHE_SIZE) == 201326592);
  ROLE_CHECK(Info(ACL_DEV_ATTR_NPU_ARCH) == 2201);
  ROLE_CHECK(Info(ACL_DEV_ATTR_IS_VIRTUAL) == 0);
  ROLE_CHECK(Info(ACL_DEV_ATTR_WARP_SIZE) == 0);  // "products without it answer 0"
  ROLE_CHECK(Info(ACL_DEV_ATTR_MAX_BLOCK_DIM_Z) == 0);
  ROLE_CHECK(Info(ACL_DEV_ATTR_HD_CONNECT_TYPE) == -ACL_ERROR_RT_FEATURE_NOT_SUPPORT);  // "returns an error"
  ROLE_CHECK(Info(ACL_DEV_ATTR_DEVICE_FORM_FACTOR) == -ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  ROLE_CHECK(Info(Unlisted<aclrtDevAttr>(12345)) == -ACL_ERROR_INVALID_PARAM);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  size_t free = 0, total = 0;
  ROLE_CHECK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total) == ACL_SUCCESS);
  ROLE_CHECK(Info(ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE) == static_cast<int64_t>(total));
  int64_t value = 0;
  ROLE_CHECK(aclrtGetDeviceInfo(1, ACL_DEV_ATTR_L2_CACHE_SIZE, &value) == ACL_ERROR_RT_INVALID_DEVICEID);
  ROLE_CHECK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_L2_CACHE_SIZE, nullptr) == ACL_ERROR_INVALID_PARAM);
  return 0;
}
TEST(DeviceFacts, ComeFromTheProfile) {
  const auto child = acl_test::RunRole("A2", {{"MILLPOND_SOC", "Ascend910B3"}, {"MILLPOND_DEVICES", "1"}});
  EXPECT_EQ(child.exit_code, 0) << child.output;
}

MP_ROLE(A310P) {
  ROLE_CHECK(Soc() == "Ascend310P3");
  ROLE_CHECK(Info(ACL_DEV_ATTR_NPU_ARCH) == 2002);
  int32_t value = -1;
  ROLE_CHECK(aclGetCannAttribute(ACL_CANN_ATTR_BF16, &value) == ACL_SUCCESS && value == 0);
  const aclCannAttr* list = nullptr;
  size_t count = 99;
  ROLE_CHECK(aclGetCannAttributeList(&list, &count) == ACL_SUCCESS);
  for (size_t i = 0; i < count; ++i) ROLE_CHECK(list[i] != ACL_CANN_ATTR_BF16 && list[i] != ACL_CANN_ATTR_INF_NAN);
  int32_t compatible = -1;
  ROLE_CHECK(aclrtCheckArchCompatibility("Ascend910B3", &compatible) == ACL_SUCCESS && compatible == 0);
  // Page "aclrtFloatOverflowMode": this series has the saturation mode only.
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  ROLE_CHECK(aclrtGetDeviceSatMode(&mode) == ACL_SUCCESS && mode == ACL_RT_OVERFLOW_MODE_SATURATION);
  ROLE_CHECK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  return 0;
}
MP_ROLE(A950) {
  ROLE_CHECK(Soc().rfind("Ascend950", 0) == 0);
  ROLE_CHECK(Info(ACL_DEV_ATTR_NPU_ARCH) == 3510);
  ROLE_CHECK(Info(ACL_DEV_ATTR_HD_CONNECT_TYPE) == ACL_HOST_DEVICE_CONNECT_TYPE_PCIE);
  ROLE_CHECK(Info(ACL_DEV_ATTR_CUST_OP_PRIVILEGE) == -ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  // Page "aclrtDeviceLimit": SIMT stack sizes round to 128 and read back times 32; both may not be 0.
  size_t value = 0;
  ROLE_CHECK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, 200) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, &value) == ACL_SUCCESS && value == 256 * 32);
  ROLE_CHECK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE, 512) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE, &value) == ACL_SUCCESS && value == 512);
  ROLE_CHECK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, 0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE, 0) == ACL_ERROR_RT_PARAM_INVALID);
  ROLE_CHECK(aclrtSetDevice(0) == ACL_SUCCESS);
  ROLE_CHECK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  return 0;
}
TEST(DeviceFacts, DifferBySeries) {
  auto child = acl_test::RunRole("A310P", {{"MILLPOND_SOC", "Ascend310P3"}});
  EXPECT_EQ(child.exit_code, 0) << child.output;
  child = acl_test::RunRole("A950", {{"MILLPOND_SOC", "Ascend950"}});
  EXPECT_EQ(child.exit_code, 0) << child.output;
}

// docs/compat.md, "What clients rely on": AI_CORE_NUM 0, VECTOR_CORE_NUM 1, L2_SIZE 2; the two doors to the same facts
// agree.
TEST(DeviceFacts, CapabilityAgreesWithInfo) {
  const std::pair<aclDeviceInfo, aclrtDevAttr> pairs[] = {
      {ACL_DEVICE_INFO_AI_CORE_NUM, ACL_DEV_ATTR_AICORE_CORE_NUM},
      {ACL_DEVICE_INFO_VECTOR_CORE_NUM, ACL_DEV_ATTR_VECTOR_CORE_NUM},
      {ACL_DEVICE_INFO_L2_SIZE, ACL_DEV_ATTR_L2_CACHE_SIZE},
  };
  int64_t value = 0;
  for (const auto& [capability, attribute] : pairs) {
    ACL_OK(aclGetDeviceCapability(0, capability, &value));
    EXPECT_EQ(value, Info(attribute));
    EXPECT_GT(value, 0);
  }
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclGetDeviceCapability(0, ACL_DEVICE_INFO_UNDEFINED, &value));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, nullptr));
  ACL_FAILS(ACL_ERROR_RT_INVALID_DEVICEID, aclGetDeviceCapability(64, ACL_DEVICE_INFO_L2_SIZE, &value));
}

// CANN's chapter on other APIs: the list and the single question say the same.
TEST(DeviceFacts, FeatureListAgreesWithFeature) {
  const aclCannAttr* list = nullptr;
  size_t count = 0;
  ACL_REQUIRE_OK(aclGetCannAttributeList(&list, &count));
  const std::set<int> listed(list, list + count);
  for (int attribute = 0; attribute <= 2; ++attribute) {
    int32_t value = -1;
    ACL_OK(aclGetCannAttribute(static_cast<aclCannAttr>(attribute), &value));
    EXPECT_EQ(value, listed.contains(attribute) ? 1 : 0) << attribute;
  }
  int32_t value = 0;
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &value));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclGetCannAttribute(Unlisted<aclCannAttr>(3), &value));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclGetCannAttribute(ACL_CANN_ATTR_BF16, nullptr));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclGetCannAttributeList(nullptr, &count));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclGetCannAttributeList(&list, nullptr));
}

// CANN's chapter on device management: 0 says that a feature is not there; both documented ones need what a CPU has
// not.
TEST(DeviceFacts, HardwareFeaturesAreNotClaimed) {
  int32_t value = -1;
  for (const auto feature : {ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV}) {
    ACL_OK(aclrtGetDeviceCapability(0, feature, &value));
    EXPECT_EQ(value, ACL_DEV_FEATURE_NOT_SUPPORT);
  }
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetDeviceCapability(0, Unlisted<aclrtDevFeatureType>(5), &value));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtGetDeviceCapability(0, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV, nullptr));
}

// CANN's chapter on model running instances, aclrtCheckArchCompatibility: by instruction set, which the A2 and A3
// series share.
TEST(DeviceFacts, CompatibilityIsByInstructionSet) {
  int32_t compatible = -1;
  ACL_OK(aclrtCheckArchCompatibility(Soc().c_str(), &compatible));
  EXPECT_EQ(compatible, 1);
  ACL_OK(aclrtCheckArchCompatibility("NoSuchChip", &compatible));
  EXPECT_EQ(compatible, 0);
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCheckArchCompatibility(nullptr, &compatible));
  ACL_FAILS(ACL_ERROR_INVALID_PARAM, aclrtCheckArchCompatibility("Ascend910B3", nullptr));
}

}  // namespace

MP_TEST_MAIN()

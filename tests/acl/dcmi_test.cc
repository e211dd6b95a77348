// SPDX-License-Identifier: Apache-2.0
// The devices' management: which there are, and which CPUs are near them.
#include "dcmi_interface_api.h"
#include "tests/acl/acl_test.h"

namespace acl_test {
namespace {

TEST(Dcmi, NothingIsToldBeforeItIsInitialised) {
  int count = 0;
  int ids[4] = {};
  EXPECT_EQ(dcmi_get_card_num_list(&count, ids, 4), DCMI_ERR_CODE_NOT_REDAY);
}

TEST(Dcmi, EveryDeviceIsACardWithOneChip) {
  ASSERT_EQ(dcmi_init(), DCMI_OK);
  uint32_t devices = 0;
  ACL_OK(aclrtGetDeviceCount(&devices));
  int count = 0;
  std::vector<int> ids(64, -7);
  ASSERT_EQ(dcmi_get_card_num_list(&count, ids.data(), 64), DCMI_OK);
  EXPECT_EQ(count, static_cast<int>(devices));
  EXPECT_EQ(ids[0], 0);
  EXPECT_EQ(ids[devices], -7);
  int chips = 0, mcu = 0, cpu = 0;
  EXPECT_EQ(dcmi_get_device_id_in_card(0, &chips, &mcu, &cpu), DCMI_OK);
  EXPECT_EQ(chips, 1);
  EXPECT_EQ(mcu, -1);
  EXPECT_EQ(cpu, -1);
  EXPECT_EQ(dcmi_get_device_id_in_card(count, &chips, &mcu, &cpu), DCMI_ERR_CODE_INVALID_DEVICE_ID);
  dcmi_pcie_info_all bus = {};
  EXPECT_EQ(dcmi_get_device_pcie_info_v2(0, 0, &bus), DCMI_ERR_CODE_NOT_SUPPORT);
  ASSERT_EQ(dcmiv2_init(), DCMI_OK);
  EXPECT_EQ(dcmiv2_get_device_list(ids.data(), &count, 1), DCMI_OK);
  EXPECT_EQ(dcmiv2_get_device_list(nullptr, &count, 1), DCMI_ERR_CODE_INVALID_PARAMETER);
}

TEST(Dcmi, TheCpusOfTheProcessAreNear) {
  ASSERT_EQ(dcmi_init(), DCMI_OK);
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) last = CPU_ISSET(cpu, &all) ? cpu : last;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  char text[256] = "";
  int length = 0;
  EXPECT_EQ(dcmi_get_affinity_cpu_info_by_device_id(0, 0, text, &length), DCMI_OK);
  EXPECT_EQ(text, std::to_string(last));
  EXPECT_EQ(length, static_cast<int>(strlen(text)));
  char again[256] = "";
  EXPECT_EQ(dcmiv2_get_affinity_cpu_info_by_dev_id(0, again, &length), DCMI_OK);
  EXPECT_STREQ(again, text);
  EXPECT_EQ(dcmi_get_affinity_cpu_info_by_device_id(0, 1, text, &length), DCMI_ERR_CODE_INVALID_DEVICE_ID);
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
}

}  // namespace
}  // namespace acl_test

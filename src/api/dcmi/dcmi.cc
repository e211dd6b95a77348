// SPDX-License-Identifier: Apache-2.0
// libdcmi: what frameworks ask of the devices' management (pages "dcmi_get_card_num_list" and its like).
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "include/acl/acl_rt.h"
#include "include/dcmi_interface_api.h"

namespace {

constexpr size_t kMaxText = 255;
std::atomic<bool> ready{false};

int DeviceCount(int* out_count) {
  uint32_t count = 0;
  if (aclrtGetDeviceCount(&count) != ACL_SUCCESS) return DCMI_ERR_CODE_INNER_ERR;
  *out_count = static_cast<int>(count);
  return DCMI_OK;
}

int Begin() {
  int count = 0;
  const int found = DeviceCount(&count);
  if (found == DCMI_OK) ready.store(true, std::memory_order_release);
  return found;
}

int List(int* numbers, int* count, int length) {
  if (!ready.load(std::memory_order_acquire)) return DCMI_ERR_CODE_NOT_REDAY;
  if (numbers == nullptr || count == nullptr || length <= 0) return DCMI_ERR_CODE_INVALID_PARAMETER;
  const int found = DeviceCount(count);
  if (found != DCMI_OK) return found;
  for (int i = 0; i < std::min(*count, length); ++i) numbers[i] = i;
  return DCMI_OK;
}

int Check(int card, int chip) {
  if (!ready.load(std::memory_order_acquire)) return DCMI_ERR_CODE_NOT_REDAY;
  int count = 0;
  const int found = DeviceCount(&count);
  if (found != DCMI_OK) return found;
  return card >= 0 && card < count && chip == 0 ? DCMI_OK : DCMI_ERR_CODE_INVALID_DEVICE_ID;
}

// "0-3,8": the CPUs that the process may use.
std::string Cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "";
  std::string text;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    int last = cpu;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cpu);
    if (last > cpu) text += "-" + std::to_string(last);
    cpu = last;
  }
  return text;
}

int Affinity(int card, int chip, char* text, int* length) {
  if (const int checked = Check(card, chip); checked != DCMI_OK) return checked;
  if (text == nullptr || length == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  const std::string cpus = Cpus();
  if (cpus.empty() || cpus.size() > kMaxText) return DCMI_ERR_CODE_INNER_ERR;
  std::memcpy(text, cpus.c_str(), cpus.size() + 1);
  *length = static_cast<int>(cpus.size());
  return DCMI_OK;
}

}  // namespace

extern "C" int dcmi_init(void) { return Begin(); }
extern "C" int dcmi_get_card_num_list(int* card_num, int* card_list, int list_len) {
  return List(card_list, card_num, list_len);
}
extern "C" int dcmi_get_device_id_in_card(int card_id, int* device_id_max, int* mcu_id, int* cpu_id) {
  if (const int checked = Check(card_id, 0); checked != DCMI_OK) return checked;
  if (device_id_max == nullptr || mcu_id == nullptr || cpu_id == nullptr) return DCMI_ERR_CODE_INVALID_PARAMETER;
  *device_id_max = 1;
  *mcu_id = *cpu_id = -1;
  return DCMI_OK;
}
extern "C" int dcmi_get_device_pcie_info_v2(int card_id, int device_id, dcmi_pcie_info_all* /*pcie_info*/) {
  const int checked = Check(card_id, device_id);
  return checked == DCMI_OK ? DCMI_ERR_CODE_NOT_SUPPORT : checked;
}
extern "C" int dcmi_get_affinity_cpu_info_by_device_id(int card_id, int device_id, char* affinity_cpu, int* length) {
  return Affinity(card_id, device_id, affinity_cpu, length);
}

extern "C" int dcmiv2_init(void) { return Begin(); }
extern "C" int dcmiv2_get_device_list(int* device_list, int* device_cnt, int list_len) {
  return List(device_list, device_cnt, list_len);
}
extern "C" int dcmiv2_get_affinity_cpu_info_by_dev_id(int dev_id, char* affinity_cpu, int* len) {
  return Affinity(dev_id, 0, affinity_cpu, len);
}
extern "C" int dcmiv2_get_affinity_cpu_info_by_device_id(int dev_id, char* affinity_cpu, int* len) {
  return Affinity(dev_id, 0, affinity_cpu, len);
}

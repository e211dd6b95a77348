/* SPDX-License-Identifier: Apache-2.0
 *
 * Management of devices, as far as frameworks ask for it: which there are, and which CPUs are near them. Each virtual
 * device is a card with one chip; every CPU of the process is as near as any other. */
#ifndef MILLPOND_INCLUDE_DCMI_INTERFACE_API_H_
#define MILLPOND_INCLUDE_DCMI_INTERFACE_API_H_

#ifdef __cplusplus
extern "C" {
#endif

#define DCMIDLLEXPORT __attribute__((visibility("default")))

#define DCMI_OK 0
#define DCMI_ERROR_CODE_BASE (-8000)
#define DCMI_ERR_CODE_INVALID_PARAMETER (DCMI_ERROR_CODE_BASE - 1)
#define DCMI_ERR_CODE_INNER_ERR (DCMI_ERROR_CODE_BASE - 5)
#define DCMI_ERR_CODE_INVALID_DEVICE_ID (DCMI_ERROR_CODE_BASE - 7)
#define DCMI_ERR_CODE_NOT_REDAY (DCMI_ERROR_CODE_BASE - 12)
#define DCMI_ERR_CODE_NOT_SUPPORT (DCMI_ERROR_CODE_BASE - 255)

struct dcmi_pcie_info_all {
  unsigned int venderid;
  unsigned int subvenderid;
  unsigned int deviceid;
  unsigned int subdeviceid;
  int domain;
  unsigned int bdf_busid;
  unsigned int bdf_deviceid;
  unsigned int bdf_funcid;
  unsigned char reserve[32];
};

/* Comes first: the others answer DCMI_ERR_CODE_NOT_REDAY before. */
DCMIDLLEXPORT int dcmi_init(void);
/* The first list_len ids, and how many cards there are. */
DCMIDLLEXPORT int dcmi_get_card_num_list(int* card_num, int* card_list, int list_len);
/* One chip; -1 for the MCU and the CPU, which are not there. */
DCMIDLLEXPORT int dcmi_get_device_id_in_card(int card_id, int* device_id_max, int* mcu_id, int* cpu_id);
/* DCMI_ERR_CODE_NOT_SUPPORT: a virtual device is on no bus. */
DCMIDLLEXPORT int dcmi_get_device_pcie_info_v2(int card_id, int device_id, struct dcmi_pcie_info_all* pcie_info);
/* "0-3,8", at most 255 characters and a zero; `length` becomes how many characters. */
DCMIDLLEXPORT int dcmi_get_affinity_cpu_info_by_device_id(int card_id, int device_id, char* affinity_cpu, int* length);

/* The same by device alone. */
DCMIDLLEXPORT int dcmiv2_init(void);
DCMIDLLEXPORT int dcmiv2_get_device_list(int* device_list, int* device_cnt, int list_len);
DCMIDLLEXPORT int dcmiv2_get_affinity_cpu_info_by_dev_id(int dev_id, char* affinity_cpu, int* len);
DCMIDLLEXPORT int dcmiv2_get_affinity_cpu_info_by_device_id(int dev_id, char* affinity_cpu, int* len);

#ifdef __cplusplus
}
#endif

#endif /* MILLPOND_INCLUDE_DCMI_INTERFACE_API_H_ */

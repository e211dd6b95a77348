/* SPDX-License-Identifier: Apache-2.0
 *
 * What libraries of one's own report to the vendor's profiler: calls with their times, and records of 64 or 256 bytes.
 * No such profiler runs here: reports answer MSPROF_ERROR_UNINITIALIZE, and a command handle is taken and never called.
 * Traces are made by `millpond run --trace` and acl/acl_prof.h. Link libascendcl.so or libprofapi.so. Functions and
 * records of CANN's header that are not below are not in the library either. */
#ifndef MILLPOND_INCLUDE_PROFILING_APROF_PUB_H_
#define MILLPOND_INCLUDE_PROFILING_APROF_PUB_H_

#include <stddef.h>
#include <stdint.h>

#ifndef MSVP_PROF_API
#define MSVP_PROF_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef void* VOID_PTR;

/* Where a report comes from: its level. */
#define MSPROF_REPORT_PYTORCH_LEVEL 30000U
#define MSPROF_REPORT_PTA_LEVEL 25000U
#define MSPROF_REPORT_TX_LEVEL 20500U
#define MSPROF_REPORT_ACL_LEVEL 20000U
#define MSPROF_REPORT_MODEL_LEVEL 15000U
#define MSPROF_REPORT_NODE_LEVEL 10000U
#define MSPROF_REPORT_AICPU_LEVEL 6000U
#define MSPROF_REPORT_HCCL_NODE_LEVEL 5500U
#define MSPROF_REPORT_RUNTIME_LEVEL 5000U

/* What it is about: its type, counted from these within a level. */
#define MSPROF_REPORT_ACL_OP_BASE_TYPE 0x010000U
#define MSPROF_REPORT_ACL_MODEL_BASE_TYPE 0x020000U
#define MSPROF_REPORT_ACL_RUNTIME_BASE_TYPE 0x030000U
#define MSPROF_REPORT_ACL_OTHERS_BASE_TYPE 0x040000U
#define MSPROF_REPORT_ACL_NN_BASE_TYPE 0x050000U
#define MSPROF_REPORT_ACL_HOST_HCCL_BASE_TYPE 0x070000U
#define MSPROF_REPORT_NODE_BASIC_INFO_TYPE 0U
#define MSPROF_REPORT_NODE_TENSOR_INFO_TYPE 1U
#define MSPROF_REPORT_NODE_CONTEXT_ID_INFO_TYPE 4U
#define MSPROF_REPORT_NODE_LAUNCH_TYPE 5U
#define MSPROF_REPORT_NODE_HCCL_BASE_TYPE 0x020000U

#define MSPROF_REPORT_DATA_MAGIC_NUM 0x5A5AU
#define MSPROF_COMPACT_INFO_DATA_LENGTH 40
#define MSPROF_ADDTIONAL_INFO_DATA_LENGTH (232)

enum MsprofErrorCode {
  MSPROF_ERROR_NONE = 0,
  MSPROF_ERROR_MEM_NOT_ENOUGH = 1,
  MSPROF_ERROR_GET_ENV = 2,
  MSPROF_ERROR_CONFIG_INVALID = 3,
  MSPROF_ERROR_ACL_JSON_OFF = 4,
  MSPROF_ERROR = 5,
  MSPROF_ERROR_UNINITIALIZE = 6
};

/* Every record begins with this number: in C++ by itself, in C by the caller's hand. */
#ifdef __cplusplus
#define MILLPOND_PROF_MAGIC_ uint16_t magicNumber = MSPROF_REPORT_DATA_MAGIC_NUM
#else
#define MILLPOND_PROF_MAGIC_ uint16_t magicNumber
#endif

struct MsprofApi {
  MILLPOND_PROF_MAGIC_;
  uint16_t level;
  uint32_t type;
  uint32_t threadId;
  uint32_t reserve;
  uint64_t beginTime; /* by MsprofSysCycleTime */
  uint64_t endTime;
  uint64_t itemId; /* by MsprofGetHashId */
};

#pragma pack(push, 1)
struct MsprofNodeBasicInfo {
  uint64_t opName;
  uint32_t taskType;
  uint64_t opType;
  uint32_t blockDim;
  uint32_t opFlag;
};
#pragma pack(pop)

struct MsprofCompactInfo {
  MILLPOND_PROF_MAGIC_;
  uint16_t level;
  uint32_t type;
  uint32_t threadId;
  uint32_t dataLen;
  uint64_t timeStamp;
  union {
    uint8_t info[MSPROF_COMPACT_INFO_DATA_LENGTH];
    struct MsprofNodeBasicInfo nodeBasicInfo;
  } data;
};

struct MsprofAdditionalInfo {
  MILLPOND_PROF_MAGIC_;
  uint16_t level;
  uint32_t type;
  uint32_t threadId;
  uint32_t dataLen;
  uint64_t timeStamp;
  uint8_t data[MSPROF_ADDTIONAL_INFO_DATA_LENGTH];
};

#undef MILLPOND_PROF_MAGIC_

typedef int32_t (*ProfCommandHandle)(uint32_t type, void* data, uint32_t len);

MSVP_PROF_API int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle);
MSVP_PROF_API int32_t MsprofReportApi(uint32_t nonPersistantFlag, const struct MsprofApi* api);
MSVP_PROF_API int32_t MsprofReportCompactInfo(uint32_t nonPersistantFlag, const VOID_PTR data, uint32_t length);
MSVP_PROF_API int32_t MsprofReportAdditionalInfo(uint32_t nonPersistantFlag, const VOID_PTR data, uint32_t length);
/* Equal texts have equal numbers; UINT64_MAX for no text. */
MSVP_PROF_API uint64_t MsprofGetHashId(const char* hashInfo, size_t length);
/* Nanoseconds of a clock that only goes forward. */
MSVP_PROF_API uint64_t MsprofSysCycleTime(void);

#ifdef __cplusplus
}
#endif

#endif /* MILLPOND_INCLUDE_PROFILING_APROF_PUB_H_ */

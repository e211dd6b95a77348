// SPDX-License-Identifier: Apache-2.0
// One-sided transfers: a rank reads and writes memory of another rank without its help, once that rank has told of it.
#ifndef MILLPOND_INCLUDE_HCCL_HCCL_ONE_SIDED_SERVICES_H_
#define MILLPOND_INCLUDE_HCCL_HCCL_ONE_SIDED_SERVICES_H_

#include <stdint.h>

#include "acl/acl_base_rt.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CommMemType { COMM_MEM_TYPE_INVALID = -1, COMM_MEM_TYPE_DEVICE = 0, COMM_MEM_TYPE_HOST = 1 } CommMemType;

typedef struct CommMem {
  CommMemType type;
  void* addr;
  uint64_t size;
} CommMem;

#define HCCL_MEM_DESC_LENGTH 511u
// For the other rank; what the bytes are is this library's affair.
typedef struct HcclMemDesc {
  char desc[HCCL_MEM_DESC_LENGTH + 1u];
} HcclMemDesc;

typedef struct HcclMemDescs {
  HcclMemDesc* array;
  uint32_t arrayLength;
} HcclMemDescs;

typedef struct HcclOneSideOpDesc {
  void* localAddr;
  void* remoteAddr;  // as the other rank knows it
  uint64_t count;
  HcclDataType dataType;
} HcclOneSideOpDesc;

typedef enum HcclTopoType { HCCL_TOPO_FULLMESH = 0, HCCL_TOPO_NUM = 1 } HcclTopoType;

typedef struct HcclPrepareConfig {
  HcclTopoType topoType;
  uint64_t rsvd0;
  uint64_t rsvd1;
  uint64_t rsvd2;
} HcclPrepareConfig;

// Of the process, and bound to communicators; HcclCommPrepare, which all ranks call, tells the others of what is bound.
ACL_FUNC_VISIBILITY HcclResult HcclRegisterGlobalMem(const CommMem* mem, void** memHandle);
ACL_FUNC_VISIBILITY HcclResult HcclDeregisterGlobalMem(void* memHandle);
ACL_FUNC_VISIBILITY HcclResult HcclCommBindMem(HcclComm comm, void* memHandle);
ACL_FUNC_VISIBILITY HcclResult HcclCommUnbindMem(HcclComm comm, void* memHandle);
ACL_FUNC_VISIBILITY HcclResult HcclCommPrepare(HcclComm comm, const HcclPrepareConfig* prepareConfig, int timeout);

// For one other rank, by descriptions that the two exchange.
ACL_FUNC_VISIBILITY HcclResult HcclRegisterMem(HcclComm comm, uint32_t remoteRank, int type, void* addr, uint64_t size,
                                               HcclMemDesc* desc);
ACL_FUNC_VISIBILITY HcclResult HcclDeregisterMem(HcclComm comm, HcclMemDesc* desc);
ACL_FUNC_VISIBILITY HcclResult HcclExchangeMemDesc(HcclComm comm, uint32_t remoteRank, HcclMemDescs* local, int timeout,
                                                   HcclMemDescs* remote, uint32_t* actualNum);
ACL_FUNC_VISIBILITY HcclResult HcclEnableMemAccess(HcclComm comm, HcclMemDesc* remoteMemDesc, CommMem* remoteMem);
ACL_FUNC_VISIBILITY HcclResult HcclDisableMemAccess(HcclComm comm, HcclMemDesc* remoteMemDesc);

// Tasks of a stream.
ACL_FUNC_VISIBILITY HcclResult HcclBatchPut(HcclComm comm, uint32_t remoteRank, HcclOneSideOpDesc* desc,
                                            uint32_t descNum, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclBatchGet(HcclComm comm, uint32_t remoteRank, HcclOneSideOpDesc* desc,
                                            uint32_t descNum, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // MILLPOND_INCLUDE_HCCL_HCCL_ONE_SIDED_SERVICES_H_

// SPDX-License-Identifier: Apache-2.0
// Communicators by the name of their group. A null group is all ranks, hccl_world_group.
#ifndef MILLPOND_INCLUDE_HCCL_HCOM_H_
#define MILLPOND_INCLUDE_HCCL_HCOM_H_

#include <stdint.h>

#include "acl/acl_base_rt.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

// `identify` is this rank's number, as text.
ACL_FUNC_VISIBILITY HcclResult HcomInitByFile(const char* rankTablePath, const char* identify);
ACL_FUNC_VISIBILITY HcclResult HcomDestroy(void);
ACL_FUNC_VISIBILITY HcclResult HcomCreateGroup(const char* group, uint32_t rankNum, uint32_t* rankIds);
ACL_FUNC_VISIBILITY HcclResult HcomDestroyGroup(const char* group);
ACL_FUNC_VISIBILITY HcclResult HcomGetRankId(const char* group, uint32_t* rankId);
ACL_FUNC_VISIBILITY HcclResult HcomGetRankSize(const char* group, uint32_t* rankSize);
// Among the ranks of this host.
ACL_FUNC_VISIBILITY HcclResult HcomGetLocalRankId(const char* group, uint32_t* localRankId);
ACL_FUNC_VISIBILITY HcclResult HcomGetLocalRankSize(const char* group, uint32_t* localRankSize);
ACL_FUNC_VISIBILITY HcclResult HcomGetWorldRankFromGroupRank(const char* group, uint32_t groupRank,
                                                             uint32_t* worldRank);
ACL_FUNC_VISIBILITY HcclResult HcomGetGroupRankFromWorldRank(uint32_t worldRank, const char* group,
                                                             uint32_t* groupRank);

#ifdef __cplusplus
}
#endif

#endif  // MILLPOND_INCLUDE_HCCL_HCOM_H_

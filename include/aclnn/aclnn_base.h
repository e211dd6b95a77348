// SPDX-License-Identifier: Apache-2.0
//
// Start and stop of the operator library, for programs that do not call aclInit.
#ifndef MILLPOND_INCLUDE_ACLNN_ACLNN_BASE_H_
#define MILLPOND_INCLUDE_ACLNN_ACLNN_BASE_H_

#include "acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

// Start and stop.

ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}
#endif

#endif  // MILLPOND_INCLUDE_ACLNN_ACLNN_BASE_H_

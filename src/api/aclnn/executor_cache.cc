// SPDX-License-Identifier: Apache-2.0
// What torch_npu asks before an operator's first phase: may it take an executor of an earlier call with equal
// arguments, and is there memory for executors. None is kept here, and the arenas of executors grow by themselves:
// phase 1 costs less than the key that torch_npu would make of the arguments. No public header declares these.
#include "include/aclnn/aclnn_base.h"

extern "C" {

ACL_FUNC_VISIBILITY bool CanUsePTACache(const char* api);
ACL_FUNC_VISIBILITY aclOpExecutor* PTAGetExecCache(uint64_t hash, uint64_t* workspaceSize);
ACL_FUNC_VISIBILITY aclOpExecutor* PTAFindExecCache(uint8_t* key, size_t length, uint64_t* workspaceSize);
ACL_FUNC_VISIBILITY void InitPTACacheThreadLocal(void);
ACL_FUNC_VISIBILITY void UnInitPTACacheThreadLocal(void);
ACL_FUNC_VISIBILITY void SetPTAHashKey(uint64_t hash);
ACL_FUNC_VISIBILITY void SetPTACacheHashKey(uint8_t* key, size_t length);
ACL_FUNC_VISIBILITY int InitHugeMemThreadLocal(void* argument, bool sync);
ACL_FUNC_VISIBILITY void UnInitHugeMemThreadLocal(void* argument, bool sync);
ACL_FUNC_VISIBILITY void ReleaseHugeMem(void* argument, bool sync);

bool CanUsePTACache(const char*) { return false; }
aclOpExecutor* PTAGetExecCache(uint64_t, uint64_t*) { return nullptr; }
aclOpExecutor* PTAFindExecCache(uint8_t*, size_t, uint64_t*) { return nullptr; }
// A key names the executor that would be kept next.
void InitPTACacheThreadLocal() {}
void UnInitPTACacheThreadLocal() {}
void SetPTAHashKey(uint64_t) {}
void SetPTACacheHashKey(uint8_t*, size_t) {}

int InitHugeMemThreadLocal(void*, bool) { return 0; }
void UnInitHugeMemThreadLocal(void*, bool) {}
void ReleaseHugeMem(void*, bool) {}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
// Dumps other than those of operators' data: of what a faulting AI Core leaves, to callbacks.

#include "include/acl/acl_dump.h"
#include "include/acl/acl_rt.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoDump[] = "of dumps there are those of operators' data, to files: aclmdlInitDump and aclmdlSetDump";

}  // namespace

MP_REFUSE(aclError, acldumpGetExceptionInfoPath, (char*, size_t), kNoDump)
MP_REFUSE(aclError, acldumpRegCallback, (int32_t(*)(const acldumpChunk*, int32_t), int32_t), kNoDump)
MP_REFUSE(aclError, acldumpSaveExceptionInfo, (const char*, const char*, const acldumpTensorInfo*, size_t), kNoDump)
MP_REFUSE(void, acldumpUnregCallback, (), kNoDump)
MP_REFUSE(aclError, aclrtCacheLastTaskExtendInfo, (const char*, size_t), kNoDump)
MP_REFUSE(aclError, aclrtCacheLastTaskOpInfo, (const void*, size_t), kNoDump)

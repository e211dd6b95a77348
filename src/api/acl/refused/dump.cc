// SPDX-License-Identifier: Apache-2.0
// Dumps of operator data.

#include "include/acl/acl_dump.h"
#include "include/acl/acl_rt.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoDump[] =
    "operator data is not dumped by this release; copy the tensors back with aclrtMemcpy, or run with a trace "
    "(millpond run --trace FILE)";

}  // namespace

// Model and operator dumps.
MP_REFUSE(aclError, aclmdlFinalizeDump, (), kNoDump)
MP_REFUSE(aclError, aclmdlInitDump, (), kNoDump)
MP_REFUSE(aclError, aclmdlSetDump, (const char*), kNoDump)
MP_REFUSE(aclError, acldumpGetExceptionInfoPath, (char*, size_t), kNoDump)
MP_REFUSE(const char*, acldumpGetPath, (acldumpType), kNoDump)
MP_REFUSE(aclError, acldumpRegCallback, (int32_t(*)(const acldumpChunk*, int32_t), int32_t), kNoDump)
MP_REFUSE(aclError, acldumpSaveExceptionInfo, (const char*, const char*, const acldumpTensorInfo*, size_t), kNoDump)
MP_REFUSE(void, acldumpUnregCallback, (), kNoDump)
MP_REFUSE(aclError, aclopStartDumpArgs, (uint32_t, const char*), kNoDump)
MP_REFUSE(aclError, aclopStopDumpArgs, (uint32_t), kNoDump)
MP_REFUSE(aclError, aclrtCacheLastTaskExtendInfo, (const char*, size_t), kNoDump)
MP_REFUSE(aclError, aclrtCacheLastTaskOpInfo, (const void*, size_t), kNoDump)

// SPDX-License-Identifier: Apache-2.0
// Hardware faults, their repair, and snapshots of a process.

#include "include/acl/acl_mdl.h"
#include "include/acl/acl_rt.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoFaults[] = "virtual devices have no memory or core faults to repair; restart the process instead";
constexpr char kNoSnapshot[] = "the state of a virtual device cannot be snapshot; save what you need with aclrtMemcpy";
constexpr char kNoHccl[] = "there are no communication tasks to recover; create the communicator again";

}  // namespace

// Faults.
MP_REFUSE(aclError, aclrtGetMemUceInfo, (int32_t, aclrtMemUceInfo*, size_t, size_t*), kNoFaults)
MP_REFUSE(aclError, aclrtMemUceRepair, (int32_t, aclrtMemUceInfo*, size_t), kNoFaults)
MP_REFUSE(aclError, aclrtRepairError, (int32_t, const aclrtErrorInfo*), kNoFaults)

// Snapshots.
MP_REFUSE(aclError, aclrtSnapShotCallbackRegister, (aclrtSnapShotStage, aclrtSnapShotCallBack, void*), kNoSnapshot)
MP_REFUSE(aclError, aclrtSnapShotCallbackUnregister, (aclrtSnapShotStage, aclrtSnapShotCallBack), kNoSnapshot)
MP_REFUSE(aclError, aclrtSnapShotProcessBackup, (int, aclrtSnapShotBackupArgs*), kNoSnapshot)
MP_REFUSE(aclError, aclrtSnapShotProcessLock, (int, void*), kNoSnapshot)
MP_REFUSE(aclError, aclrtSnapShotProcessRestore, (int, aclrtSnapShotRestoreArgs*), kNoSnapshot)
MP_REFUSE(aclError, aclrtSnapShotProcessUnlock, (int, void*), kNoSnapshot)

// Communication.
MP_REFUSE(aclError, aclRecoverAllHcclTasks, (int32_t), kNoHccl)

// SPDX-License-Identifier: Apache-2.0
// Control flow and tasks that only the hardware scheduler of an NPU carries out.

#include "include/acl/acl_rt.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoSwitch[] =
    "streams cannot be switched by the device here; branch on the host, or order streams with aclrtStreamWaitEvent";
constexpr char kNoStop[] =
    "a task that runs on a CPU cannot be stopped half-way; aclrtStreamAbort drops what has not started";
constexpr char kNoClean[] =
    "the tasks of a persistent stream belong to the model it is bound to; unbind it, or destroy the stream and make "
    "another";
constexpr char kNoTaskUpdate[] =
    "tasks cannot be changed after launch; capture a graph and use aclmdlRICaptureTaskUpdateBegin instead";
constexpr char kNoCmo[] =
    "there is no device cache to manage by descriptor or barrier; aclrtCmoAsync and stream order are enough";
constexpr char kNoOverflow[] =
    "the address is for AI Core kernels, which do not run here; aclrtGetOverflowStatus tells the status";
constexpr char kNoSync[] = "there is no hardware synchronisation block; use events or notifies";
constexpr char kNoGroups[] =
    "cores are not divided into groups here; use aclrtSetDeviceResLimit or aclrtSetStreamResLimit";

}  // namespace

// Switches and labels.
MP_REFUSE(aclError, aclrtActiveStream, (aclrtStream, aclrtStream), kNoSwitch)
MP_REFUSE(aclError, aclrtSwitchStream,
          (void*, aclrtCondition, void*, aclrtCompareDataType, aclrtStream, aclrtStream, aclrtStream), kNoSwitch)
MP_REFUSE(aclError, aclrtStreamStop, (aclrtStream), kNoStop)
MP_REFUSE(aclError, aclrtPersistentTaskClean, (aclrtStream), kNoClean)
MP_REFUSE(aclError, aclrtCreateLabel, (aclrtLabel*), kNoSwitch)
MP_REFUSE(aclError, aclrtDestroyLabel, (aclrtLabel), kNoSwitch)
MP_REFUSE(aclError, aclrtSetLabel, (aclrtLabel, aclrtStream), kNoSwitch)
MP_REFUSE(aclError, aclrtCreateLabelList, (aclrtLabel*, size_t, aclrtLabelList*), kNoSwitch)
MP_REFUSE(aclError, aclrtDestroyLabelList, (aclrtLabelList), kNoSwitch)
MP_REFUSE(aclError, aclrtSwitchLabelByIndex, (void*, uint32_t, aclrtLabelList, aclrtStream), kNoSwitch)

// Task update.
MP_REFUSE(aclError, aclrtTaskUpdateAsync, (aclrtStream, uint32_t, aclrtTaskUpdateInfo*, aclrtStream), kNoTaskUpdate)

// Cache maintenance with descriptors and barriers.
MP_REFUSE(aclError, aclrtCmoGetDescSize, (size_t*), kNoCmo)
MP_REFUSE(aclError, aclrtCmoSetDesc, (void*, void*, size_t), kNoCmo)
MP_REFUSE(aclError, aclrtCmoAsyncWithDesc, (void*, aclrtCmoType, aclrtStream, const void*), kNoCmo)
MP_REFUSE(aclError, aclrtCmoAsyncWithBarrier, (void*, size_t, aclrtCmoType, uint32_t, aclrtStream), kNoCmo)
MP_REFUSE(aclError, aclrtCmoWaitBarrier, (aclrtBarrierTaskInfo*, aclrtStream, uint32_t), kNoCmo)

// The overflow flag's address.
MP_REFUSE(aclError, aclrtCtxGetFloatOverflowAddr, (void**), kNoOverflow)

// Hardware synchronisation.
MP_REFUSE(aclError, aclrtGetHardwareSyncAddr, (void**), kNoSync)

// Groups of cores.
MP_REFUSE(aclError, aclrtGetGroupCount, (uint32_t*), kNoGroups)
MP_REFUSE(aclrtGroupInfo*, aclrtCreateGroupInfo, (), kNoGroups)
MP_REFUSE(aclError, aclrtGetAllGroupInfo, (aclrtGroupInfo*), kNoGroups)
MP_REFUSE(aclError, aclrtGetGroupInfoDetail, (const aclrtGroupInfo*, int32_t, aclrtGroupAttr, void*, size_t, size_t*),
          kNoGroups)
MP_REFUSE(aclError, aclrtSetGroup, (int32_t), kNoGroups)
MP_REFUSE(aclError, aclrtDestroyGroupInfo, (aclrtGroupInfo*), kNoGroups)

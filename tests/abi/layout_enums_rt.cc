// SPDX-License-Identifier: Apache-2.0
//
// Values of every enumerator of acl_rt.h: clients compile them in, so they may never change.

#include "acl/acl.h"
#include "acl/acl_dump.h"
#include "acl/acl_op_compiler.h"
#include "acl/acl_platform.h"
#include "acl/acl_prof.h"
#include "acl/acl_rt_allocator.h"
#include "acl/acl_rt_memory_soma.h"
#include "acl/acl_tdt.h"
#include "acl/acl_tdt_queue.h"
#include "acl/ops/acl_cblas.h"
#include "aclnn/aclnn_base.h"

// aclrtRunMode
static_assert(sizeof(aclrtRunMode) == 4);
static_assert(ACL_DEVICE == 0);
static_assert(ACL_HOST == 1);

// aclrtTsId
static_assert(sizeof(aclrtTsId) == 4);
static_assert(ACL_TS_ID_AICORE == 0);
static_assert(ACL_TS_ID_AIVECTOR == 1);
static_assert(ACL_TS_ID_RESERVED == 2);

// aclrtEventStatus
static_assert(sizeof(aclrtEventStatus) == 4);
static_assert(ACL_EVENT_STATUS_COMPLETE == 0);
static_assert(ACL_EVENT_STATUS_NOT_READY == 1);
static_assert(ACL_EVENT_STATUS_RESERVED == 2);

// aclrtEventRecordedStatus
static_assert(sizeof(aclrtEventRecordedStatus) == 4);
static_assert(ACL_EVENT_RECORDED_STATUS_NOT_READY == 0);
static_assert(ACL_EVENT_RECORDED_STATUS_COMPLETE == 1);

// aclrtEventWaitStatus
static_assert(sizeof(aclrtEventWaitStatus) == 4);
static_assert(ACL_EVENT_WAIT_STATUS_COMPLETE == 0);
static_assert(ACL_EVENT_WAIT_STATUS_NOT_READY == 1);
static_assert(ACL_EVENT_WAIT_STATUS_RESERVED == 65535);

// aclrtStreamStatus
static_assert(sizeof(aclrtStreamStatus) == 4);
static_assert(ACL_STREAM_STATUS_COMPLETE == 0);
static_assert(ACL_STREAM_STATUS_NOT_READY == 1);
static_assert(ACL_STREAM_STATUS_RESERVED == 65535);

// aclrtCallbackBlockType
static_assert(sizeof(aclrtCallbackBlockType) == 4);
static_assert(ACL_CALLBACK_NO_BLOCK == 0);
static_assert(ACL_CALLBACK_BLOCK == 1);

// aclrtMemcpyKind
static_assert(sizeof(aclrtMemcpyKind) == 4);
static_assert(ACL_MEMCPY_HOST_TO_HOST == 0);
static_assert(ACL_MEMCPY_HOST_TO_DEVICE == 1);
static_assert(ACL_MEMCPY_DEVICE_TO_HOST == 2);
static_assert(ACL_MEMCPY_DEVICE_TO_DEVICE == 3);
static_assert(ACL_MEMCPY_DEFAULT == 4);
static_assert(ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE == 5);
static_assert(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE == 6);
static_assert(ACL_MEMCPY_INTER_DEVICE_TO_DEVICE == 7);

// aclrtMemManagedAdviseType
static_assert(sizeof(aclrtMemManagedAdviseType) == 4);
static_assert(ACL_MEM_ADVISE_SET_READ_MOSTLY == 0);
static_assert(ACL_MEM_ADVISE_UNSET_READ_MOSTLY == 1);
static_assert(ACL_MEM_ADVISE_SET_PREFERRED_LOCATION == 2);
static_assert(ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION == 3);
static_assert(ACL_MEM_ADVISE_SET_ACCESSED_BY == 4);
static_assert(ACL_MEM_ADVISE_UNSET_ACCESSED_BY == 5);

// aclrtMemManagedLocationType
static_assert(sizeof(aclrtMemManagedLocationType) == 4);
static_assert(ACL_MEM_LOCATIONTYPE_INVALID == 0);
static_assert(ACL_MEM_LOCATIONTYPE_DEVICE == 1);
static_assert(ACL_MEM_LOCATIONTYPE_HOST == 2);
static_assert(ACL_MEM_LOCATIONTYPE_HOST_NUMA == 3);
static_assert(ACL_MEM_LOCATIONTYPE_HOST_NUMA_CURRENT == 4);

// aclrtMemMallocPolicy
static_assert(sizeof(aclrtMemMallocPolicy) == 4);
static_assert(ACL_MEM_MALLOC_HUGE_FIRST == 0);
static_assert(ACL_MEM_MALLOC_HUGE_ONLY == 1);
static_assert(ACL_MEM_MALLOC_NORMAL_ONLY == 2);
static_assert(ACL_MEM_MALLOC_HUGE_FIRST_P2P == 3);
static_assert(ACL_MEM_MALLOC_HUGE_ONLY_P2P == 4);
static_assert(ACL_MEM_MALLOC_NORMAL_ONLY_P2P == 5);
static_assert(ACL_MEM_MALLOC_HUGE1G_ONLY == 6);
static_assert(ACL_MEM_MALLOC_HUGE1G_ONLY_P2P == 7);
static_assert(ACL_MEM_TYPE_LOW_BAND_WIDTH == 256);
static_assert(ACL_MEM_TYPE_HIGH_BAND_WIDTH == 4096);
static_assert(ACL_MEM_ACCESS_USER_SPACE_READONLY == 1048576);

// aclrtHostRegisterType
static_assert(sizeof(aclrtHostRegisterType) == 4);
static_assert(ACL_HOST_REGISTER_MAPPED == 0);
static_assert(ACL_HOST_REGISTER_IOMEMORY == 4);
static_assert(ACL_HOST_REGISTER_READONLY == 8);

// aclrtMallocAttrType
static_assert(sizeof(aclrtMallocAttrType) == 4);
static_assert(ACL_RT_MEM_ATTR_RSV == 0);
static_assert(ACL_RT_MEM_ATTR_MODULE_ID == 1);
static_assert(ACL_RT_MEM_ATTR_DEVICE_ID == 2);
static_assert(ACL_RT_MEM_ATTR_VA_FLAG == 3);

// aclrtMemAttr
static_assert(sizeof(aclrtMemAttr) == 4);
static_assert(ACL_DDR_MEM == 0);
static_assert(ACL_HBM_MEM == 1);
static_assert(ACL_DDR_MEM_HUGE == 2);
static_assert(ACL_DDR_MEM_NORMAL == 3);
static_assert(ACL_HBM_MEM_HUGE == 4);
static_assert(ACL_HBM_MEM_NORMAL == 5);
static_assert(ACL_DDR_MEM_P2P_HUGE == 6);
static_assert(ACL_DDR_MEM_P2P_NORMAL == 7);
static_assert(ACL_HBM_MEM_P2P_HUGE == 8);
static_assert(ACL_HBM_MEM_P2P_NORMAL == 9);
static_assert(ACL_HBM_MEM_HUGE1G == 10);
static_assert(ACL_HBM_MEM_P2P_HUGE1G == 11);
static_assert(ACL_MEM_NORMAL == 12);
static_assert(ACL_MEM_HUGE == 13);
static_assert(ACL_MEM_HUGE1G == 14);
static_assert(ACL_MEM_P2P_NORMAL == 15);
static_assert(ACL_MEM_P2P_HUGE == 16);
static_assert(ACL_MEM_P2P_HUGE1G == 17);

// aclrtMemPgType
static_assert(sizeof(aclrtMemPgType) == 4);
static_assert(NORMAL_PAGE_TYPE == 0);
static_assert(HUGE_PAGE_TYPE == 1);
static_assert(HUGE1G_PAGE_TYPE == 2);

// aclrtMemType
static_assert(sizeof(aclrtMemType) == 4);
static_assert(HBM_TYPE == 0);
static_assert(DDR_TYPE == 1);
static_assert(P2P_HBM_TYPE == 2);
static_assert(P2P_DDR_TYPE == 3);

// aclrtIpcMemAttrType
static_assert(sizeof(aclrtIpcMemAttrType) == 4);
static_assert(ACL_RT_IPC_MEM_ATTR_ACCESS_LINK == 0);

// aclrtGroupAttr
static_assert(sizeof(aclrtGroupAttr) == 4);
static_assert(ACL_GROUP_AICORE_INT == 0);
static_assert(ACL_GROUP_AIV_INT == 1);
static_assert(ACL_GROUP_AIC_INT == 2);
static_assert(ACL_GROUP_SDMANUM_INT == 3);
static_assert(ACL_GROUP_ASQNUM_INT == 4);
static_assert(ACL_GROUP_GROUPID_INT == 5);

// aclrtFloatOverflowMode
static_assert(sizeof(aclrtFloatOverflowMode) == 4);
static_assert(ACL_RT_OVERFLOW_MODE_SATURATION == 0);
static_assert(ACL_RT_OVERFLOW_MODE_INFNAN == 1);
static_assert(ACL_RT_OVERFLOW_MODE_UNDEF == 2);

// aclrtStreamConfigAttr
static_assert(sizeof(aclrtStreamConfigAttr) == 4);
static_assert(ACL_RT_STREAM_WORK_ADDR_PTR == 0);
static_assert(ACL_RT_STREAM_WORK_SIZE == 1);
static_assert(ACL_RT_STREAM_FLAG == 2);
static_assert(ACL_RT_STREAM_PRIORITY == 3);

// aclrtMemLocationType
static_assert(sizeof(aclrtMemLocationType) == 4);
static_assert(ACL_MEM_LOCATION_TYPE_HOST == 0);
static_assert(ACL_MEM_LOCATION_TYPE_DEVICE == 1);
static_assert(ACL_MEM_LOCATION_TYPE_UNREGISTERED == 2);
static_assert(ACL_MEM_LOCATION_TYPE_MANAGED == 3);
static_assert(ACL_MEM_LOCATION_TYPE_HOST_NUMA == 4);

// aclrtMemManagedRangeAttribute
static_assert(sizeof(aclrtMemManagedRangeAttribute) == 4);
static_assert(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY == 1);
static_assert(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION == 2);
static_assert(ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY == 3);
static_assert(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE == 4);
static_assert(ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID == 5);
static_assert(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION == 6);
static_assert(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE == 7);
static_assert(ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID == 8);

// aclrtMemAllocationType
static_assert(sizeof(aclrtMemAllocationType) == 4);
static_assert(ACL_MEM_ALLOCATION_TYPE_PINNED == 0);

// aclrtMemHandleType
static_assert(sizeof(aclrtMemHandleType) == 4);
static_assert(ACL_MEM_HANDLE_TYPE_NONE == 0);
static_assert(ACL_MEM_HANDLE_TYPE_POSIX == 2);

// aclrtMemSharedHandleType
static_assert(sizeof(aclrtMemSharedHandleType) == 4);
static_assert(ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT == 1);
static_assert(ACL_MEM_SHARE_HANDLE_TYPE_FABRIC == 2);

// aclrtMemGranularityOptions
static_assert(sizeof(aclrtMemGranularityOptions) == 4);
static_assert(ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM == 0);
static_assert(ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED == 1);
static_assert(ACL_RT_MEM_ALLOC_GRANULARITY_UNDEF == 65535);

// aclrtDeviceStatus
static_assert(sizeof(aclrtDeviceStatus) == 4);
static_assert(ACL_RT_DEVICE_STATUS_NORMAL == 0);
static_assert(ACL_RT_DEVICE_STATUS_ABNORMAL == 1);
static_assert(ACL_RT_DEVICE_STATUS_END == 65535);

// aclmdlRICaptureMode
static_assert(sizeof(aclmdlRICaptureMode) == 4);
static_assert(ACL_MODEL_RI_CAPTURE_MODE_GLOBAL == 0);
static_assert(ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL == 1);
static_assert(ACL_MODEL_RI_CAPTURE_MODE_RELAXED == 2);

// aclmdlRICaptureStatus
static_assert(sizeof(aclmdlRICaptureStatus) == 4);
static_assert(ACL_MODEL_RI_CAPTURE_STATUS_NONE == 0);
static_assert(ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE == 1);
static_assert(ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED == 2);

// aclrtErrorType
static_assert(sizeof(aclrtErrorType) == 4);
static_assert(ACL_RT_NO_ERROR == 0);
static_assert(ACL_RT_ERROR_MEMORY == 1);
static_assert(ACL_RT_ERROR_L2 == 2);
static_assert(ACL_RT_ERROR_AICORE == 3);
static_assert(ACL_RT_ERROR_LINK == 4);
static_assert(ACL_RT_ERROR_L3_PORT == 5);
static_assert(ACL_RT_ERROR_OTHERS == 65535);

// aclrtAicoreErrorType
static_assert(sizeof(aclrtAicoreErrorType) == 4);
static_assert(ACL_RT_AICORE_ERROR_UNKNOWN == 0);
static_assert(ACL_RT_AICORE_ERROR_SW == 1);
static_assert(ACL_RT_AICORE_ERROR_HW_LOCAL == 2);

// aclrtCmoType
static_assert(sizeof(aclrtCmoType) == 4);
static_assert(ACL_RT_CMO_TYPE_PREFETCH == 0);
static_assert(ACL_RT_CMO_TYPE_WRITEBACK == 1);
static_assert(ACL_RT_CMO_TYPE_INVALID == 2);
static_assert(ACL_RT_CMO_TYPE_FLUSH == 3);

// aclrtLastErrLevel
static_assert(sizeof(aclrtLastErrLevel) == 4);
static_assert(ACL_RT_THREAD_LEVEL == 0);

// aclrtBinaryLoadOptionType
static_assert(sizeof(aclrtBinaryLoadOptionType) == 4);
static_assert(ACL_RT_BINARY_LOAD_OPT_LAZY_LOAD == 1);
static_assert(ACL_RT_BINARY_LOAD_OPT_LAZY_MAGIC == 2);
static_assert(ACL_RT_BINARY_LOAD_OPT_MAGIC == 2);
static_assert(ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE == 3);

// aclrtEngineType
static_assert(sizeof(aclrtEngineType) == 4);
static_assert(ACL_RT_ENGINE_TYPE_AIC == 0);
static_assert(ACL_RT_ENGINE_TYPE_AIV == 1);

// aclrtLaunchKernelAttrId
static_assert(sizeof(aclrtLaunchKernelAttrId) == 4);
static_assert(ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE == 1);
static_assert(ACL_RT_LAUNCH_KERNEL_ATTR_LOCAL_MEMORY_SIZE == 2);
static_assert(ACL_RT_LAUNCH_KERNEL_ATTR_DYN_UBUF_SIZE == 2);
static_assert(ACL_RT_LAUNCH_KERNEL_ATTR_ENGINE_TYPE == 3);
static_assert(ACL_RT_LAUNCH_KERNEL_ATTR_BLOCKDIM_OFFSET == 4);
static_assert(ACL_RT_LAUNCH_KERNEL_ATTR_BLOCK_TASK_PREFETCH == 5);
static_assert(ACL_RT_LAUNCH_KERNEL_ATTR_DATA_DUMP == 6);
static_assert(ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT == 7);
static_assert(ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US == 8);
static_assert(ACL_RT_LAUNCH_KERNEL_ATTR_ENABLE_PROFILING == 9);

// aclrtStreamAttr
static_assert(sizeof(aclrtStreamAttr) == 4);
static_assert(ACL_STREAM_ATTR_FAILURE_MODE == 1);
static_assert(ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK == 2);
static_assert(ACL_STREAM_ATTR_USER_CUSTOM_TAG == 3);
static_assert(ACL_STREAM_ATTR_CACHE_OP_INFO == 4);
static_assert(ACL_STREAM_ATTR_PRIORITY == 5);

// aclmdlRITaskType
static_assert(sizeof(aclmdlRITaskType) == 4);
static_assert(ACL_MODEL_RI_TASK_DEFAULT == 0);
static_assert(ACL_MODEL_RI_TASK_KERNEL == 1);
static_assert(ACL_MODEL_RI_TASK_EVENT_RECORD == 2);
static_assert(ACL_MODEL_RI_TASK_EVENT_WAIT == 3);
static_assert(ACL_MODEL_RI_TASK_EVENT_RESET == 4);
static_assert(ACL_MODEL_RI_TASK_VALUE_WRITE == 5);
static_assert(ACL_MODEL_RI_TASK_VALUE_WAIT == 6);

// aclrtDevAttr
static_assert(sizeof(aclrtDevAttr) == 4);
static_assert(ACL_DEV_ATTR_AICPU_CORE_NUM == 1);
static_assert(ACL_DEV_ATTR_AICORE_CORE_NUM == 101);
static_assert(ACL_DEV_ATTR_CUBE_CORE_NUM == 102);
static_assert(ACL_DEV_ATTR_VECTOR_CORE_NUM == 201);
static_assert(ACL_DEV_ATTR_WARP_SIZE == 202);
static_assert(ACL_DEV_ATTR_MAX_THREAD_PER_VECTOR_CORE == 203);
static_assert(ACL_DEV_ATTR_LOCAL_MEM_PER_VECTOR_CORE == 204);
static_assert(ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE == 204);
static_assert(ACL_DEV_ATTR_MAX_GRID_DIM_X == 205);
static_assert(ACL_DEV_ATTR_MAX_GRID_DIM_Y == 206);
static_assert(ACL_DEV_ATTR_MAX_GRID_DIM_Z == 207);
static_assert(ACL_DEV_ATTR_MAX_BLOCK_PER_GRID == 208);
static_assert(ACL_DEV_ATTR_MAX_THREADS_PER_BLOCK == 209);
static_assert(ACL_DEV_ATTR_MAX_BLOCK_DIM_X == 210);
static_assert(ACL_DEV_ATTR_MAX_BLOCK_DIM_Y == 211);
static_assert(ACL_DEV_ATTR_MAX_BLOCK_DIM_Z == 212);
static_assert(ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE == 301);
static_assert(ACL_DEV_ATTR_L2_CACHE_SIZE == 302);
static_assert(ACL_DEV_ATTR_SMP_ID == 401);
static_assert(ACL_DEV_ATTR_PHY_CHIP_ID == 402);
static_assert(ACL_DEV_ATTR_SUPER_POD_DEVIDE_ID == 403);
static_assert(ACL_DEV_ATTR_SUPER_POD_DEVICE_ID == 403);
static_assert(ACL_DEV_ATTR_SUPER_POD_SERVER_ID == 404);
static_assert(ACL_DEV_ATTR_SUPER_POD_ID == 405);
static_assert(ACL_DEV_ATTR_CUST_OP_PRIVILEGE == 406);
static_assert(ACL_DEV_ATTR_MAINBOARD_ID == 407);
static_assert(ACL_DEV_ATTR_HD_CONNECT_TYPE == 408);
static_assert(ACL_DEV_ATTR_DEVICE_FORM_FACTOR == 409);
static_assert(ACL_DEV_ATTR_IS_VIRTUAL == 501);
static_assert(ACL_DEV_ATTR_NPU_ARCH == 601);

// aclrtDevFeatureType
static_assert(sizeof(aclrtDevFeatureType) == 4);
static_assert(ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV == 1);
static_assert(ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV == 21);

// aclrtReduceKind
static_assert(sizeof(aclrtReduceKind) == 4);
static_assert(ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM == 10);
static_assert(ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX == 11);
static_assert(ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN == 12);
static_assert(ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL == 13);

// aclrtDevResLimitType
static_assert(sizeof(aclrtDevResLimitType) == 4);
static_assert(ACL_RT_DEV_RES_CUBE_CORE == 0);
static_assert(ACL_RT_DEV_RES_VECTOR_CORE == 1);

// aclrtCondition
static_assert(sizeof(aclrtCondition) == 4);
static_assert(ACL_RT_EQUAL == 0);
static_assert(ACL_RT_NOT_EQUAL == 1);
static_assert(ACL_RT_GREATER == 2);
static_assert(ACL_RT_GREATER_OR_EQUAL == 3);
static_assert(ACL_RT_LESS == 4);
static_assert(ACL_RT_LESS_OR_EQUAL == 5);

// aclrtCompareDataType
static_assert(sizeof(aclrtCompareDataType) == 4);
static_assert(ACL_RT_SWITCH_INT32 == 0);
static_assert(ACL_RT_SWITCH_INT64 == 1);

// aclrtRandomNumFuncType
static_assert(sizeof(aclrtRandomNumFuncType) == 4);
static_assert(ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK == 0);
static_assert(ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS == 1);
static_assert(ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS == 2);
static_assert(ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS == 3);

// aclrtDeviceTaskAbortStage
static_assert(sizeof(aclrtDeviceTaskAbortStage) == 4);
static_assert(ACL_RT_DEVICE_TASK_ABORT_PRE == 0);
static_assert(ACL_RT_DEVICE_TASK_ABORT_POST == 1);

// aclrtUpdateTaskAttrId
static_assert(sizeof(aclrtUpdateTaskAttrId) == 4);
static_assert(ACL_RT_UPDATE_RANDOM_TASK == 1);
static_assert(ACL_RT_UPDATE_AIC_AIV_TASK == 2);

// aclrtDeviceState
static_assert(sizeof(aclrtDeviceState) == 4);
static_assert(ACL_RT_DEVICE_STATE_SET_PRE == 0);
static_assert(ACL_RT_DEVICE_STATE_SET_POST == 1);
static_assert(ACL_RT_DEVICE_STATE_RESET_PRE == 2);
static_assert(ACL_RT_DEVICE_STATE_RESET_POST == 3);

// aclrtSnapShotStage
static_assert(sizeof(aclrtSnapShotStage) == 4);
static_assert(ACL_RT_SNAPSHOT_LOCK_PRE == 0);
static_assert(ACL_RT_SNAPSHOT_BACKUP_PRE == 1);
static_assert(ACL_RT_SNAPSHOT_BACKUP_POST == 2);
static_assert(ACL_RT_SNAPSHOT_RESTORE_PRE == 3);
static_assert(ACL_RT_SNAPSHOT_RESTORE_POST == 4);
static_assert(ACL_RT_SNAPSHOT_UNLOCK_POST == 5);

// aclrtStreamState
static_assert(sizeof(aclrtStreamState) == 4);
static_assert(ACL_RT_STREAM_STATE_CREATE_POST == 1);
static_assert(ACL_RT_STREAM_STATE_DESTROY_PRE == 2);

// aclrtFuncAttribute
static_assert(sizeof(aclrtFuncAttribute) == 4);
static_assert(ACL_FUNC_ATTR_KERNEL_TYPE == 1);
static_assert(ACL_FUNC_ATTR_KERNEL_RATIO == 2);
static_assert(ACL_FUNC_ATTR_KERNEL_SCHED_MODE == 3);

// aclrtKernelType
static_assert(sizeof(aclrtKernelType) == 4);
static_assert(ACL_KERNEL_TYPE_AICORE == 0);
static_assert(ACL_KERNEL_TYPE_CUBE == 1);
static_assert(ACL_KERNEL_TYPE_VECTOR == 2);
static_assert(ACL_KERNEL_TYPE_MIX == 3);
static_assert(ACL_KERNEL_TYPE_AICPU == 100);

// aclrtCntNotifyRecordMode
static_assert(sizeof(aclrtCntNotifyRecordMode) == 4);
static_assert(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE == 0);
static_assert(ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE == 1);
static_assert(ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE == 2);
static_assert(ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE == 4);

// aclrtCntNotifyWaitMode
static_assert(sizeof(aclrtCntNotifyWaitMode) == 4);
static_assert(ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE == 0);
static_assert(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE == 1);
static_assert(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE == 2);
static_assert(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE == 3);
static_assert(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE == 4);

// aclrtMemAccessFlags
static_assert(sizeof(aclrtMemAccessFlags) == 4);
static_assert(ACL_RT_MEM_ACCESS_FLAGS_NONE == 0);
static_assert(ACL_RT_MEM_ACCESS_FLAGS_READ == 1);
static_assert(ACL_RT_MEM_ACCESS_FLAGS_READWRITE == 3);

// aclCANNPackageName
static_assert(sizeof(aclCANNPackageName) == 4);
static_assert(ACL_PKG_NAME_CANN == 0);
static_assert(ACL_PKG_NAME_RUNTIME == 1);
static_assert(ACL_PKG_NAME_COMPILER == 2);
static_assert(ACL_PKG_NAME_HCCL == 3);
static_assert(ACL_PKG_NAME_TOOLKIT == 4);
static_assert(ACL_PKG_NAME_OPP == 5);
static_assert(ACL_PKG_NAME_OPP_KERNEL == 6);
static_assert(ACL_PKG_NAME_DRIVER == 7);

// aclrtHacType
static_assert(sizeof(aclrtHacType) == 4);
static_assert(ACL_RT_HAC_TYPE_STARS == 0);
static_assert(ACL_RT_HAC_TYPE_AICPU == 1);
static_assert(ACL_RT_HAC_TYPE_AIC == 2);
static_assert(ACL_RT_HAC_TYPE_AIV == 3);
static_assert(ACL_RT_HAC_TYPE_PCIEDMA == 4);
static_assert(ACL_RT_HAC_TYPE_RDMA == 5);
static_assert(ACL_RT_HAC_TYPE_SDMA == 6);
static_assert(ACL_RT_HAC_TYPE_DVPP == 7);
static_assert(ACL_RT_HAC_TYPE_UDMA == 8);
static_assert(ACL_RT_HAC_TYPE_CCU == 9);

// aclrtHostMemMapCapability
static_assert(sizeof(aclrtHostMemMapCapability) == 4);
static_assert(ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED == 0);
static_assert(ACL_RT_HOST_MEM_MAP_SUPPORTED == 1);

// aclrtMemLinkType
static_assert(sizeof(aclrtMemLinkType) == 4);
static_assert(ACL_RT_MEM_ACCESS_LINK_SIO == 0);
static_assert(ACL_RT_MEM_ACCESS_LINK_HCCS == 1);
static_assert(ACL_RT_MEM_ACCESS_UB_ONE_PORT_PATH == 2);
static_assert(ACL_RT_MEM_ACCESS_UB_MULTI_PORT_PATH == 3);

// aclrtAtomicOperationCapability
static_assert(sizeof(aclrtAtomicOperationCapability) == 4);
static_assert(ACL_RT_ATOMIC_CAPABILITY_SIGNED == 1);
static_assert(ACL_RT_ATOMIC_CAPABILITY_UNSIGNED == 2);
static_assert(ACL_RT_ATOMIC_CAPABILITY_REDUCATION == 4);
static_assert(ACL_RT_ATOMIC_CAPABILITY_REDUCTION == 4);
static_assert(ACL_RT_ATOMIC_CAPABILITY_SCALAR8 == 8);
static_assert(ACL_RT_ATOMIC_CAPABILITY_SCALAR16 == 16);
static_assert(ACL_RT_ATOMIC_CAPABILITY_SCALAR32 == 32);
static_assert(ACL_RT_ATOMIC_CAPABILITY_SCALAR64 == 64);
static_assert(ACL_RT_ATOMIC_CAPABILITY_SCALAR128 == 128);
static_assert(ACL_RT_ATOMIC_CAPABILITY_VECTOR32X4 == 256);

// aclrtAtomicOperation
static_assert(sizeof(aclrtAtomicOperation) == 4);
static_assert(ACL_RT_ATOMIC_OPERATION_INTEGER_ADD == 0);
static_assert(ACL_RT_ATOMIC_OPERATION_INTEGER_MIN == 1);
static_assert(ACL_RT_ATOMIC_OPERATION_INTEGER_MAX == 2);
static_assert(ACL_RT_ATOMIC_OPERATION_INTEGER_INCREMENT == 3);
static_assert(ACL_RT_ATOMIC_OPERATION_INTEGER_DECREMENT == 4);
static_assert(ACL_RT_ATOMIC_OPERATION_AND == 5);
static_assert(ACL_RT_ATOMIC_OPERATION_OR == 6);
static_assert(ACL_RT_ATOMIC_OPERATION_XOR == 7);
static_assert(ACL_RT_ATOMIC_OPERATION_EXCHANGE == 8);
static_assert(ACL_RT_ATOMIC_OPERATION_CAS == 9);
static_assert(ACL_RT_ATOMIC_OPERATION_FLOAT_ADD == 10);
static_assert(ACL_RT_ATOMIC_OPERATION_FLOAT_MIN == 11);
static_assert(ACL_RT_ATOMIC_OPERATION_FLOAT_MAX == 12);
static_assert(ACL_RT_ATOMIC_OPERATION_DMA_ADD == 30);
static_assert(ACL_RT_ATOMIC_OPERATION_DMA_MIN == 31);
static_assert(ACL_RT_ATOMIC_OPERATION_DMA_MAX == 32);
static_assert(ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_ADD == 40);
static_assert(ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_MIN == 41);
static_assert(ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_MAX == 42);
static_assert(ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_CAS == 43);
static_assert(ACL_RT_ATOMIC_OPERATION_SIMD_SCALAR_EXCH == 44);

// aclmdlRICondHandleFlag
static_assert(sizeof(aclmdlRICondHandleFlag) == 4);
static_assert(ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT == 1);

// aclmdlRICondTaskType
static_assert(sizeof(aclmdlRICondTaskType) == 4);
static_assert(ACL_MODEL_RI_COND_TYPE_IF == 0);
static_assert(ACL_MODEL_RI_COND_TYPE_WHILE == 1);
static_assert(ACL_MODEL_RI_COND_TYPE_SWITCH == 2);

// aclrtDeviceLimit
static_assert(sizeof(aclrtDeviceLimit) == 4);
static_assert(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE == 0);
static_assert(ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE == 1);
static_assert(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE == 2);
static_assert(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE == 3);
static_assert(ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE == 4);

// aclRegisterCallbackType
static_assert(sizeof(aclRegisterCallbackType) == 4);
static_assert(ACL_REG_TYPE_ACL_MODEL == 0);
static_assert(ACL_REG_TYPE_ACL_OP_EXECUTOR == 1);
static_assert(ACL_REG_TYPE_ACL_OP_CBLAS == 2);
static_assert(ACL_REG_TYPE_ACL_OP_COMPILER == 3);
static_assert(ACL_REG_TYPE_ACL_TDT_CHANNEL == 4);
static_assert(ACL_REG_TYPE_ACL_TDT_QUEUE == 5);
static_assert(ACL_REG_TYPE_ACL_DVPP == 6);
static_assert(ACL_REG_TYPE_ACL_RETR == 7);
static_assert(ACL_REG_TYPE_OTHER == 65535);

// aclrtProcessState
static_assert(sizeof(aclrtProcessState) == 4);
static_assert(ACL_RT_PROCESS_STATE_RUNNING == 0);
static_assert(ACL_RT_PROCESS_STATE_LOCKED == 1);

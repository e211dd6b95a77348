// SPDX-License-Identifier: Apache-2.0
//
// Values of every public enumerator outside acl_rt.h: clients compile them in, so they may never change.

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

// aclDataType
static_assert(sizeof(aclDataType) == 4);
static_assert(ACL_DT_UNDEFINED == -1);
static_assert(ACL_FLOAT == 0);
static_assert(ACL_FLOAT16 == 1);
static_assert(ACL_INT8 == 2);
static_assert(ACL_INT32 == 3);
static_assert(ACL_UINT8 == 4);
static_assert(ACL_INT16 == 6);
static_assert(ACL_UINT16 == 7);
static_assert(ACL_UINT32 == 8);
static_assert(ACL_INT64 == 9);
static_assert(ACL_UINT64 == 10);
static_assert(ACL_DOUBLE == 11);
static_assert(ACL_BOOL == 12);
static_assert(ACL_STRING == 13);
static_assert(ACL_COMPLEX64 == 16);
static_assert(ACL_COMPLEX128 == 17);
static_assert(ACL_BF16 == 27);
static_assert(ACL_INT4 == 29);
static_assert(ACL_UINT1 == 30);
static_assert(ACL_COMPLEX32 == 33);
static_assert(ACL_HIFLOAT8 == 34);
static_assert(ACL_FLOAT8_E5M2 == 35);
static_assert(ACL_FLOAT8_E4M3FN == 36);
static_assert(ACL_FLOAT8_E8M0 == 37);
static_assert(ACL_FLOAT6_E3M2 == 38);
static_assert(ACL_FLOAT6_E2M3 == 39);
static_assert(ACL_FLOAT4_E2M1 == 40);
static_assert(ACL_FLOAT4_E1M2 == 41);

// aclFormat
static_assert(sizeof(aclFormat) == 4);
static_assert(ACL_FORMAT_UNDEFINED == -1);
static_assert(ACL_FORMAT_NCHW == 0);
static_assert(ACL_FORMAT_NHWC == 1);
static_assert(ACL_FORMAT_ND == 2);
static_assert(ACL_FORMAT_NC1HWC0 == 3);
static_assert(ACL_FORMAT_FRACTAL_Z == 4);
static_assert(ACL_FORMAT_NC1HWC0_C04 == 12);
static_assert(ACL_FORMAT_HWCN == 16);
static_assert(ACL_FORMAT_NDHWC == 27);
static_assert(ACL_FORMAT_FRACTAL_NZ == 29);
static_assert(ACL_FORMAT_NCDHW == 30);
static_assert(ACL_FORMAT_NDC1HWC0 == 32);
static_assert(ACL_FRACTAL_Z_3D == 33);
static_assert(ACL_FORMAT_NC == 35);
static_assert(ACL_FORMAT_NCL == 47);
static_assert(ACL_FORMAT_FRACTAL_NZ_C0_16 == 50);
static_assert(ACL_FORMAT_FRACTAL_NZ_C0_32 == 51);
static_assert(ACL_FORMAT_FRACTAL_NZ_C0_2 == 52);
static_assert(ACL_FORMAT_FRACTAL_NZ_C0_4 == 53);
static_assert(ACL_FORMAT_FRACTAL_NZ_C0_8 == 54);

// aclLogLevel
static_assert(sizeof(aclLogLevel) == 4);
static_assert(ACL_DEBUG == 0);
static_assert(ACL_INFO == 1);
static_assert(ACL_WARNING == 2);
static_assert(ACL_ERROR == 3);

// aclMemType
static_assert(sizeof(aclMemType) == 4);
static_assert(ACL_MEMTYPE_DEVICE == 0);
static_assert(ACL_MEMTYPE_HOST == 1);
static_assert(ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT == 2);

// aclSysParamOpt
static_assert(sizeof(aclSysParamOpt) == 4);
static_assert(ACL_OPT_DETERMINISTIC == 0);
static_assert(ACL_OPT_ENABLE_DEBUG_KERNEL == 1);
static_assert(ACL_OPT_STRONG_CONSISTENCY == 2);
static_assert(ACL_OPT_ENABLE_KERNEL_EARLY_START == 3);

// aclCannAttr
static_assert(sizeof(aclCannAttr) == 4);
static_assert(ACL_CANN_ATTR_UNDEFINED == -1);
static_assert(ACL_CANN_ATTR_INF_NAN == 0);
static_assert(ACL_CANN_ATTR_BF16 == 1);
static_assert(ACL_CANN_ATTR_JIT_COMPILE == 2);

// aclDeviceInfo
static_assert(sizeof(aclDeviceInfo) == 4);
static_assert(ACL_DEVICE_INFO_UNDEFINED == -1);
static_assert(ACL_DEVICE_INFO_AI_CORE_NUM == 0);
static_assert(ACL_DEVICE_INFO_VECTOR_CORE_NUM == 1);
static_assert(ACL_DEVICE_INFO_L2_SIZE == 2);

// acldumpType
static_assert(sizeof(acldumpType) == 4);
static_assert(AIC_ERR_BRIEF_DUMP == 1);
static_assert(AIC_ERR_NORM_DUMP == 2);
static_assert(AIC_ERR_DETAIL_DUMP == 3);
static_assert(DATA_DUMP == 4);
static_assert(OVERFLOW_DUMP == 5);

// acldumpTensorType
static_assert(sizeof(acldumpTensorType) == 4);
static_assert(ACL_DUMP_TENSOR_INPUT == 0);
static_assert(ACL_DUMP_TENSOR_OUTPUT == 1);
static_assert(ACL_DUMP_TENSOR_WORKSPACE == 2);

// acldumpTensorAddressType
static_assert(sizeof(acldumpTensorAddressType) == 4);
static_assert(ACL_DUMP_ADDR_PTR == 0);
static_assert(ACL_DUMP_ADDR_PTR_PTR == 1);
static_assert(ACL_DUMP_ADDR_RAW == 2);

// acldumpTensorPlacement
static_assert(sizeof(acldumpTensorPlacement) == 4);
static_assert(ACL_DUMP_PLACEMENT_DEVICE == 0);
static_assert(ACL_DUMP_PLACEMENT_HOST == 1);
static_assert(ACL_DUMP_PLACEMENT_END == 2);

// aclopEngineType
static_assert(sizeof(aclopEngineType) == 4);
static_assert(ACL_ENGINE_SYS == 0);
static_assert(ACL_ENGINE_AICORE == 1);
static_assert(ACL_ENGINE_VECTOR == 2);

// aclAippInputFormat
static_assert(sizeof(aclAippInputFormat) == 4);
static_assert(ACL_YUV420SP_U8 == 1);
static_assert(ACL_XRGB8888_U8 == 2);
static_assert(ACL_RGB888_U8 == 3);
static_assert(ACL_YUV400_U8 == 4);
static_assert(ACL_NC1HWC0DI_FP16 == 5);
static_assert(ACL_NC1HWC0DI_S8 == 6);
static_assert(ACL_ARGB8888_U8 == 7);
static_assert(ACL_YUYV_U8 == 8);
static_assert(ACL_YUV422SP_U8 == 9);
static_assert(ACL_AYUV444_U8 == 10);
static_assert(ACL_RAW10 == 11);
static_assert(ACL_RAW12 == 12);
static_assert(ACL_RAW16 == 13);
static_assert(ACL_RAW24 == 14);
static_assert(ACL_AIPP_RESERVED == 65535);

// aclmdlConfigAttr
static_assert(sizeof(aclmdlConfigAttr) == 4);
static_assert(ACL_MDL_PRIORITY_INT32 == 0);
static_assert(ACL_MDL_LOAD_TYPE_SIZET == 1);
static_assert(ACL_MDL_PATH_PTR == 2);
static_assert(ACL_MDL_MEM_ADDR_PTR == 3);
static_assert(ACL_MDL_MEM_SIZET == 4);
static_assert(ACL_MDL_WEIGHT_ADDR_PTR == 5);
static_assert(ACL_MDL_WEIGHT_SIZET == 6);
static_assert(ACL_MDL_WORKSPACE_ADDR_PTR == 7);
static_assert(ACL_MDL_WORKSPACE_SIZET == 8);
static_assert(ACL_MDL_INPUTQ_NUM_SIZET == 9);
static_assert(ACL_MDL_INPUTQ_ADDR_PTR == 10);
static_assert(ACL_MDL_OUTPUTQ_NUM_SIZET == 11);
static_assert(ACL_MDL_OUTPUTQ_ADDR_PTR == 12);
static_assert(ACL_MDL_WORKSPACE_MEM_OPTIMIZE == 13);
static_assert(ACL_MDL_WEIGHT_PATH_PTR == 14);
static_assert(ACL_MDL_MODEL_DESC_PTR == 15);
static_assert(ACL_MDL_MODEL_DESC_SIZET == 16);
static_assert(ACL_MDL_KERNEL_PTR == 17);
static_assert(ACL_MDL_KERNEL_SIZET == 18);
static_assert(ACL_MDL_KERNEL_ARGS_PTR == 19);
static_assert(ACL_MDL_KERNEL_ARGS_SIZET == 20);
static_assert(ACL_MDL_STATIC_TASK_PTR == 21);
static_assert(ACL_MDL_STATIC_TASK_SIZET == 22);
static_assert(ACL_MDL_DYNAMIC_TASK_PTR == 23);
static_assert(ACL_MDL_DYNAMIC_TASK_SIZET == 24);
static_assert(ACL_MDL_MEM_MALLOC_POLICY_SIZET == 25);
static_assert(ACL_MDL_FIFO_PTR == 26);
static_assert(ACL_MDL_FIFO_SIZET == 27);
static_assert(ACL_MDL_WITHOUT_GRAPH_INT32 == 28);
static_assert(ACL_NPU_PERF_MODE == 29);
static_assert(ACL_MDL_RESERVED == 65535);

// aclmdlAttr
static_assert(sizeof(aclmdlAttr) == 4);
static_assert(ACL_MDL_ATTR_PRIORITY_INT32 == 0);

// aclmdlExecConfigAttr
static_assert(sizeof(aclmdlExecConfigAttr) == 4);
static_assert(ACL_MDL_STREAM_SYNC_TIMEOUT == 0);
static_assert(ACL_MDL_EVENT_SYNC_TIMEOUT == 1);
static_assert(ACL_MDL_WORK_ADDR_PTR == 2);
static_assert(ACL_MDL_WORK_SIZET == 3);
static_assert(ACL_MDL_MPAIMID_SIZET == 4);
static_assert(ACL_MDL_AICQOS_SIZET == 5);
static_assert(ACL_MDL_AICOST_SIZET == 6);
static_assert(ACL_MDL_MEC_TIMETHR_SIZET == 7);
static_assert(ACL_MDL_EXEC_PRIORITY_INT32 == 8);
static_assert(ACL_MDL_NPU_PERF_MODE == 9);

// aclmdlInputAippType
static_assert(sizeof(aclmdlInputAippType) == 4);
static_assert(ACL_DATA_WITHOUT_AIPP == 0);
static_assert(ACL_DATA_WITH_STATIC_AIPP == 1);
static_assert(ACL_DATA_WITH_DYNAMIC_AIPP == 2);
static_assert(ACL_DYNAMIC_AIPP_NODE == 3);

// aclopCompileType
static_assert(sizeof(aclopCompileType) == 4);
static_assert(ACL_COMPILE_SYS == 0);
static_assert(ACL_COMPILE_UNREGISTERED == 1);

// aclCompileOpt
static_assert(sizeof(aclCompileOpt) == 4);
static_assert(ACL_PRECISION_MODE == 0);
static_assert(ACL_AICORE_NUM == 1);
static_assert(ACL_AUTO_TUNE_MODE == 2);
static_assert(ACL_OP_SELECT_IMPL_MODE == 3);
static_assert(ACL_OPTYPELIST_FOR_IMPLMODE == 4);
static_assert(ACL_OP_DEBUG_LEVEL == 5);
static_assert(ACL_DEBUG_DIR == 6);
static_assert(ACL_OP_COMPILER_CACHE_MODE == 7);
static_assert(ACL_OP_COMPILER_CACHE_DIR == 8);
static_assert(ACL_OP_PERFORMANCE_MODE == 9);
static_assert(ACL_OP_JIT_COMPILE == 10);
static_assert(ACL_OP_DETERMINISTIC == 11);
static_assert(ACL_CUSTOMIZE_DTYPES == 12);
static_assert(ACL_OP_PRECISION_MODE == 13);
static_assert(ACL_ALLOW_HF32 == 14);
static_assert(ACL_PRECISION_MODE_V2 == 15);
static_assert(ACL_OP_DEBUG_OPTION == 16);

// aclOpCompileFlag
static_assert(sizeof(aclOpCompileFlag) == 4);
static_assert(ACL_OP_COMPILE_DEFAULT == 0);
static_assert(ACL_OP_COMPILE_FUZZ == 1);

// aclplatformDevInfo
static_assert(sizeof(aclplatformDevInfo) == 4);
static_assert(ACL_PLATFORM_AICORE_CNT == 0);
static_assert(ACL_PLATFORM_AICORE_UB_SIZE == 1);
static_assert(ACL_PLATFORM_CUBE_CORE_CNT == 2);
static_assert(ACL_PLATFORM_VECTOR_CORE_CNT == 3);
static_assert(ACL_PLATFORM_L2_SIZE == 4);
static_assert(ACL_PLATFORM_MEMORY_SIZE == 5);
static_assert(ACL_PLATFORM_CUBE_FREQ == 6);
static_assert(ACL_PLATFORM_VEC_FREQ == 7);
static_assert(ACL_PLATFORM_BT_SIZE == 8);
static_assert(ACL_PLATFORM_L0_A_SIZE == 9);
static_assert(ACL_PLATFORM_L0_B_SIZE == 10);
static_assert(ACL_PLATFORM_L0_C_SIZE == 11);
static_assert(ACL_PLATFORM_L1_SIZE == 12);
static_assert(ACL_PLATFORM_SOC_VERSION == 13);
static_assert(ACL_PLATFORM_AIC_VERSION == 14);
static_assert(ACL_PLATFORM_NPU_ARCH == 15);
static_assert(ACL_PLATFORM_MEMORY_TYPE == 16);

// aclplatformCoreType
static_assert(sizeof(aclplatformCoreType) == 4);
static_assert(ACL_PLATFORM_CORE_TYPE_AI_CORE == 0);
static_assert(ACL_PLATFORM_CORE_TYPE_VECTOR_CORE == 1);

// aclplatformNpuArch
static_assert(sizeof(aclplatformNpuArch) == 4);
static_assert(DAV_1001 == 1001);
static_assert(DAV_2002 == 2002);
static_assert(DAV_2102 == 2102);
static_assert(DAV_2201 == 2201);
static_assert(DAV_3002 == 3002);
static_assert(DAV_3003 == 3003);
static_assert(DAV_3004 == 3004);
static_assert(DAV_3102 == 3102);
static_assert(DAV_3113 == 3113);
static_assert(DAV_3505 == 3505);
static_assert(DAV_3510 == 3510);
static_assert(DAV_5102 == 5102);
static_assert(DAV_5162 == 5162);
static_assert(DAV_RESV == 65535);

// aclplatformLocalMemType
static_assert(sizeof(aclplatformLocalMemType) == 4);
static_assert(L0_A == 0);
static_assert(L0_B == 1);
static_assert(L0_C == 2);
static_assert(L1 == 3);
static_assert(L2 == 4);
static_assert(UB == 5);
static_assert(HBM == 6);

// aclprofAicoreMetrics
static_assert(sizeof(aclprofAicoreMetrics) == 4);
static_assert(ACL_AICORE_ARITHMETIC_UTILIZATION == 0);
static_assert(ACL_AICORE_PIPE_UTILIZATION == 1);
static_assert(ACL_AICORE_MEMORY_BANDWIDTH == 2);
static_assert(ACL_AICORE_L0B_AND_WIDTH == 3);
static_assert(ACL_AICORE_RESOURCE_CONFLICT_RATIO == 4);
static_assert(ACL_AICORE_MEMORY_UB == 5);
static_assert(ACL_AICORE_L2_CACHE == 6);
static_assert(ACL_AICORE_PIPE_EXECUTE_UTILIZATION == 7);
static_assert(ACL_AICORE_MEMORY_ACCESS == 8);
static_assert(ACL_AICORE_NONE == 255);

// aclprofStepTag
static_assert(sizeof(aclprofStepTag) == 4);
static_assert(ACL_STEP_START == 0);
static_assert(ACL_STEP_END == 1);

// aclprofSubscribeOpFlag
static_assert(sizeof(aclprofSubscribeOpFlag) == 4);
static_assert(ACL_SUBSCRIBE_OP == 0);
static_assert(ACL_SUBSCRIBE_SUBGRAPH == 1);
static_assert(ACL_SUBSCRIBE_OP_THREAD == 2);
static_assert(ACL_SUBSCRIBE_NONE == 255);

// aclprofSubscribeOpAttri
static_assert(sizeof(aclprofSubscribeOpAttri) == 4);
static_assert(ACL_SUBSCRIBE_ATTRI_THREADID == 0);
static_assert(ACL_SUBSCRIBE_ATTRI_NONE == 1);

// aclprofConfigType
static_assert(sizeof(aclprofConfigType) == 4);
static_assert(ACL_PROF_ARGS_MIN == 0);
static_assert(ACL_PROF_STORAGE_LIMIT == 1);
static_assert(ACL_PROF_SYS_HARDWARE_MEM_FREQ == 3);
static_assert(ACL_PROF_LLC_MODE == 4);
static_assert(ACL_PROF_SYS_IO_FREQ == 5);
static_assert(ACL_PROF_SYS_INTERCONNECTION_FREQ == 6);
static_assert(ACL_PROF_DVPP_FREQ == 7);
static_assert(ACL_PROF_HOST_SYS == 8);
static_assert(ACL_PROF_HOST_SYS_USAGE == 9);
static_assert(ACL_PROF_HOST_SYS_USAGE_FREQ == 10);
static_assert(ACL_PROF_LOW_POWER_FREQ == 11);
static_assert(ACL_PROF_SYS_MEM_SERVICEFLOW == 12);
static_assert(ACL_PROF_SYS_CPU_FREQ == 13);
static_assert(ACL_PROF_OPTYPE == 14);
static_assert(ACL_PROF_NTS_METRICS == 15);
static_assert(ACL_PROF_PATH == 16);
static_assert(ACL_PROF_ARGS_MAX == 17);

// aclprofMessageType
static_assert(sizeof(aclprofMessageType) == 4);
static_assert(ACL_PROF_MESSAGE_TYPE_TENSOR_INFO == 0);

// aclrtMemPoolAttr
static_assert(sizeof(aclrtMemPoolAttr) == 4);
static_assert(ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES == 1);
static_assert(ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC == 2);
static_assert(ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES == 3);
static_assert(ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD == 4);
static_assert(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT == 5);
static_assert(ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH == 6);
static_assert(ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT == 7);
static_assert(ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH == 8);

// acltdtTensorType
static_assert(sizeof(acltdtTensorType) == 4);
static_assert(ACL_TENSOR_DATA_UNDEFINED == -1);
static_assert(ACL_TENSOR_DATA_TENSOR == 0);
static_assert(ACL_TENSOR_DATA_END_OF_SEQUENCE == 1);
static_assert(ACL_TENSOR_DATA_ABNORMAL == 2);
static_assert(ACL_TENSOR_DATA_SLICE_TENSOR == 3);
static_assert(ACL_TENSOR_DATA_END_TENSOR == 4);

// acltdtQueueAttrType
static_assert(sizeof(acltdtQueueAttrType) == 4);
static_assert(ACL_TDT_QUEUE_NAME_PTR == 0);
static_assert(ACL_TDT_QUEUE_DEPTH_UINT32 == 1);

// acltdtQueueRouteParamType
static_assert(sizeof(acltdtQueueRouteParamType) == 4);
static_assert(ACL_TDT_QUEUE_ROUTE_SRC_UINT32 == 0);
static_assert(ACL_TDT_QUEUE_ROUTE_DST_UINT32 == 1);
static_assert(ACL_TDT_QUEUE_ROUTE_STATUS_INT32 == 2);

// acltdtQueueRouteQueryMode
static_assert(sizeof(acltdtQueueRouteQueryMode) == 4);
static_assert(ACL_TDT_QUEUE_ROUTE_QUERY_SRC == 0);
static_assert(ACL_TDT_QUEUE_ROUTE_QUERY_DST == 1);
static_assert(ACL_TDT_QUEUE_ROUTE_QUERY_SRC_AND_DST == 2);
static_assert(ACL_TDT_QUEUE_ROUTE_QUERY_ABNORMAL == 100);

// acltdtQueueRouteQueryInfoParamType
static_assert(sizeof(acltdtQueueRouteQueryInfoParamType) == 4);
static_assert(ACL_TDT_QUEUE_ROUTE_QUERY_MODE_ENUM == 0);
static_assert(ACL_TDT_QUEUE_ROUTE_QUERY_SRC_ID_UINT32 == 1);
static_assert(ACL_TDT_QUEUE_ROUTE_QUERY_DST_ID_UINT32 == 2);

// acltdtAllocBufType
static_assert(sizeof(acltdtAllocBufType) == 4);
static_assert(ACL_TDT_NORMAL_MEM == 0);
static_assert(ACL_TDT_DVPP_MEM == 1);

// aclTransType
static_assert(sizeof(aclTransType) == 4);
static_assert(ACL_TRANS_N == 0);
static_assert(ACL_TRANS_T == 1);
static_assert(ACL_TRANS_NZ == 2);
static_assert(ACL_TRANS_NZ_T == 3);

// aclComputeType
static_assert(sizeof(aclComputeType) == 4);
static_assert(ACL_COMPUTE_HIGH_PRECISION == 0);
static_assert(ACL_COMPUTE_LOW_PRECISION == 1);

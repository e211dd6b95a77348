// SPDX-License-Identifier: Apache-2.0
//
// Types behind the public names: handles stay pointers, codes stay 32-bit, callbacks keep their signature.
#include <cstdint>
#include <type_traits>

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

static_assert(std::is_same_v<aclrtStream, void*>);
static_assert(std::is_same_v<aclmdlRITask, void*>);
static_assert(std::is_same_v<aclrtEvent, void*>);
static_assert(std::is_same_v<aclrtContext, void*>);
static_assert(std::is_same_v<aclrtNotify, void*>);
static_assert(std::is_same_v<aclrtCntNotify, void*>);
static_assert(std::is_same_v<aclrtLabel, void*>);
static_assert(std::is_same_v<aclrtLabelList, void*>);
static_assert(std::is_same_v<aclrtMbuf, void*>);
static_assert(std::is_same_v<aclError, int>);
static_assert(std::is_same_v<aclFloat16, uint16_t>);
static_assert(std::is_same_v<aclrtAllocatorDesc, void*>);
static_assert(std::is_same_v<aclrtAllocator, void*>);
static_assert(std::is_same_v<aclrtAllocatorBlock, void*>);
static_assert(std::is_same_v<aclrtAllocatorAddr, void*>);
static_assert(std::is_same_v<aclrtTaskGrp, void*>);
static_assert(std::is_same_v<aclrtAllocatorAllocFunc, void* (*)(aclrtAllocator, size_t)>);
static_assert(std::is_same_v<aclrtAllocatorFreeFunc, void (*)(aclrtAllocator, aclrtAllocatorBlock)>);
static_assert(std::is_same_v<aclrtAllocatorAllocAdviseFunc, void* (*)(aclrtAllocator, size_t, aclrtAllocatorAddr)>);
static_assert(std::is_same_v<aclrtAllocatorGetAddrFromBlockFunc, void* (*)(aclrtAllocatorBlock)>);
static_assert(std::is_same_v<aclrtDrvMemHandle, void*>);
static_assert(std::is_same_v<aclrtCallback, void (*)(void*)>);
static_assert(std::is_same_v<aclrtHostFunc, void (*)(void*)>);
static_assert(std::is_same_v<aclrtExceptionInfoCallback, void (*)(aclrtExceptionInfo*)>);
static_assert(std::is_same_v<aclrtOpExceptionCallback, void (*)(aclrtExceptionInfo*, void*)>);
static_assert(std::is_same_v<aclrtBinary, void*>);
static_assert(std::is_same_v<aclrtBinHandle, void*>);
static_assert(std::is_same_v<aclrtFuncHandle, void*>);
static_assert(std::is_same_v<aclrtArgsHandle, void*>);
static_assert(std::is_same_v<aclrtParamHandle, void*>);
static_assert(std::is_same_v<aclmdlRI, void*>);
static_assert(std::is_same_v<aclrtDeviceStateCallback, void (*)(int32_t, aclrtDeviceState, void*)>);
static_assert(std::is_same_v<aclrtSnapShotCallBack, uint32_t (*)(int32_t, void*)>);
static_assert(std::is_same_v<aclrtStreamStateCallback, void (*)(aclrtStream, aclrtStreamState, void*)>);
static_assert(
    std::is_same_v<aclrtDeviceTaskAbortCallback, int32_t (*)(int32_t, aclrtDeviceTaskAbortStage, uint32_t, void*)>);
static_assert(std::is_same_v<aclmdlRICondHandle, void*>);
static_assert(std::is_same_v<aclInitCallbackFunc, aclError (*)(const char*, size_t, void*)>);
static_assert(std::is_same_v<aclFinalizeCallbackFunc, aclError (*)(void*)>);
static_assert(std::is_same_v<aclDataDeallocator, void (*)(void*, size_t)>);
static_assert(
    std::is_same_v<aclopCompileFunc, aclError (*)(int, const aclTensorDesc* const*, int, const aclTensorDesc* const*,
                                                  const aclopAttr*, aclopKernelDesc*)>);
static_assert(std::is_same_v<aclmdlModel, void*>);
static_assert(std::is_same_v<aclrtMemPool, void*>);
static_assert(std::is_same_v<acltdtBuf, void*>);
static_assert(std::is_same_v<aclnnStatus, int32_t>);

// SPDX-License-Identifier: Apache-2.0
// Single operators through aclop.

#include "include/acl/acl_op.h"
#include "src/api/acl/refuse.h"

namespace {

constexpr char kNoOps[] = "single operators through aclop are not in this release; use PyTorch or the aclnn operators";
constexpr char kNoUserKernels[] = "kernels registered by the user are NPU code and do not run on a CPU";

}  // namespace

// Models, execution and handles.
MP_REFUSE(aclError, aclopSetModelDir, (const char*), kNoOps)
MP_REFUSE(aclError, aclopLoad, (const void*, size_t), kNoOps)
MP_REFUSE(aclError, aclopSetMaxOpQueueNum, (uint64_t), kNoOps)
MP_REFUSE(aclError, aclopExecute,
          (const char*, int, const aclTensorDesc* const[], const aclDataBuffer* const[], int,
           const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*, aclrtStream),
          kNoOps)
MP_REFUSE(aclError, aclopExecuteV2,
          (const char*, int, aclTensorDesc*[], aclDataBuffer*[], int, aclTensorDesc*[], aclDataBuffer*[], aclopAttr*,
           aclrtStream),
          kNoOps)
MP_REFUSE(aclError, aclopExecWithHandle,
          (aclopHandle*, int, const aclDataBuffer* const[], int, aclDataBuffer* const[], aclrtStream), kNoOps)
MP_REFUSE(aclError, aclopUpdateParams,
          (const char*, int, const aclTensorDesc* const[], int, const aclTensorDesc* const[], const aclopAttr*), kNoOps)
MP_REFUSE(aclError, aclopCreateHandle,
          (const char*, int, const aclTensorDesc* const[], int, const aclTensorDesc* const[], const aclopAttr*,
           aclopHandle**),
          kNoOps)
MP_REFUSE(aclError, aclopCreateHandleForCast, (aclTensorDesc*, aclTensorDesc*, uint8_t, aclopHandle**), kNoOps)
MP_REFUSE(void, aclopDestroyHandle, (aclopHandle*), kNoOps)
MP_REFUSE(aclError, aclopCast,
          (const aclTensorDesc*, const aclDataBuffer*, const aclTensorDesc*, aclDataBuffer*, uint8_t, aclrtStream),
          kNoOps)

// Kernels of the user.
MP_REFUSE(aclError, aclopRegisterCompileFunc, (const char*, aclopCompileFunc), kNoUserKernels)
MP_REFUSE(aclError, aclopUnregisterCompileFunc, (const char*), kNoUserKernels)
MP_REFUSE(aclError, aclopCreateKernel,
          (const char*, const char*, const char*, void*, int, aclopEngineType, aclDataDeallocator), kNoUserKernels)
MP_REFUSE(aclError, aclopSetKernelArgs, (aclopKernelDesc*, const char*, uint32_t, const void*, uint32_t),
          kNoUserKernels)
MP_REFUSE(aclError, aclopSetKernelWorkspaceSizes, (aclopKernelDesc*, int, size_t*), kNoUserKernels)

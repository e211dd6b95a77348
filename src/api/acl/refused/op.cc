// SPDX-License-Identifier: Apache-2.0
// What single operators through aclop cannot do.

#include "include/acl/acl_op.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoUserKernels[] = "kernels registered by the user are NPU code and do not run on a CPU";

}  // namespace

// Kernels of the user.
MP_REFUSE(aclError, aclopRegisterCompileFunc, (const char*, aclopCompileFunc), kNoUserKernels)
MP_REFUSE(aclError, aclopUnregisterCompileFunc, (const char*), kNoUserKernels)
MP_REFUSE(aclError, aclopCreateKernel,
          (const char*, const char*, const char*, void*, int, aclopEngineType, aclDataDeallocator), kNoUserKernels)
MP_REFUSE(aclError, aclopSetKernelArgs, (aclopKernelDesc*, const char*, uint32_t, const void*, uint32_t),
          kNoUserKernels)
MP_REFUSE(aclError, aclopSetKernelWorkspaceSizes, (aclopKernelDesc*, int, size_t*), kNoUserKernels)

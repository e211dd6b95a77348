// SPDX-License-Identifier: Apache-2.0
// libnnopbase.so: arguments of the aclnn operators.

#include "include/aclnn/acl_meta.h"
#include "include/aclnn/aclnn_base.h"
#include "src/api/acl/refuse.h"

namespace {

constexpr aclnnStatus kRuntimeError = 361001;

constexpr char kNoAclnn[] = "aclnn operators are not in this release";

}  // namespace

// Tensors, scalars, arrays, lists and executors.
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, AclSetDynamicInputTensorAddr,
               (aclOpExecutor*, size_t, size_t, aclTensorList*, void*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, AclSetDynamicOutputTensorAddr,
               (aclOpExecutor*, size_t, size_t, aclTensorList*, void*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, AclSetDynamicTensorAddr,
               (aclOpExecutor*, size_t, size_t, aclTensorList*, void*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, AclSetInputTensorAddr, (aclOpExecutor*, size_t, aclTensor*, void*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, AclSetOutputTensorAddr, (aclOpExecutor*, size_t, aclTensor*, void*),
               kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, AclSetTensorAddr, (aclOpExecutor*, size_t, aclTensor*, void*), kNoAclnn)
MP_REFUSE(aclBoolArray*, aclCreateBoolArray, (const bool*, uint64_t), kNoAclnn)
MP_REFUSE(aclFloatArray*, aclCreateFloatArray, (const float*, uint64_t), kNoAclnn)
MP_REFUSE(aclIntArray*, aclCreateIntArray, (const int64_t*, uint64_t), kNoAclnn)
MP_REFUSE(aclScalar*, aclCreateScalar, (void*, aclDataType), kNoAclnn)
MP_REFUSE(aclScalarList*, aclCreateScalarList, (const aclScalar* const*, uint64_t), kNoAclnn)
MP_REFUSE(aclTensor*, aclCreateTensor,
          (const int64_t*, uint64_t, aclDataType, const int64_t*, int64_t, aclFormat, const int64_t*, uint64_t, void*),
          kNoAclnn)
MP_REFUSE(aclTensorList*, aclCreateTensorList, (const aclTensor* const*, uint64_t), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclDestroyAclOpExecutor, (aclOpExecutor*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclDestroyBoolArray, (const aclBoolArray*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclDestroyFloatArray, (const aclFloatArray*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclDestroyIntArray, (const aclIntArray*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclDestroyScalar, (const aclScalar*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclDestroyScalarList, (const aclScalarList*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclDestroyTensor, (const aclTensor*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclDestroyTensorList, (const aclTensorList*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclDumpOpTensors,
               (const char*, const char*, aclTensor**, size_t, size_t, aclrtStream), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetBoolArraySize, (const aclBoolArray*, uint64_t*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetDataType, (const aclTensor*, aclDataType*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetFloatArraySize, (const aclFloatArray*, uint64_t*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetFormat, (const aclTensor*, aclFormat*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetIntArraySize, (const aclIntArray*, uint64_t*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetRawTensorAddr, (const aclTensor*, void**), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetScalarListSize, (const aclScalarList*, uint64_t*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetStorageShape, (const aclTensor*, int64_t**, uint64_t*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetTensorListSize, (const aclTensorList*, uint64_t*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetViewOffset, (const aclTensor*, int64_t*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetViewShape, (const aclTensor*, int64_t**, uint64_t*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclGetViewStrides, (const aclTensor*, int64_t**, uint64_t*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclInitTensor,
               (aclTensor*, const int64_t*, uint64_t, aclDataType, const int64_t*, int64_t, aclFormat, const int64_t*,
                uint64_t, void*),
               kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclSetAclOpExecutorRepeatable, (aclOpExecutor*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclSetDynamicInputTensorAddr,
               (aclOpExecutor*, size_t, size_t, aclTensorList*, void*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclSetDynamicOutputTensorAddr,
               (aclOpExecutor*, size_t, size_t, aclTensorList*, void*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclSetDynamicTensorAddr,
               (aclOpExecutor*, size_t, size_t, aclTensorList*, void*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclSetInputTensorAddr, (aclOpExecutor*, size_t, aclTensor*, void*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclSetOutputTensorAddr, (aclOpExecutor*, size_t, aclTensor*, void*),
               kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclSetRawTensorAddr, (aclTensor*, void*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclSetTensorAddr, (aclOpExecutor*, size_t, aclTensor*, void*), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclnnFinalize, (), kNoAclnn)
MP_REFUSE_WITH(aclnnStatus, kRuntimeError, aclnnInit, (const char*), kNoAclnn)

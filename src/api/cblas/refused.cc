// SPDX-License-Identifier: Apache-2.0
// libacl_cblas.so: matrix products through operators.

#include "include/acl/ops/acl_cblas.h"
#include "src/api/acl/refuse.h"

namespace {

constexpr char kNoBlas[] = "matrix products through aclblas are not in this release; use PyTorch or aclnnMatmul";

}  // namespace

// Products.
MP_REFUSE(aclError, aclblasCreateHandleForGemmEx,
          (aclTransType, aclTransType, aclTransType, int, int, int, aclDataType, aclDataType, aclDataType,
           aclComputeType, aclopHandle**),
          kNoBlas)
MP_REFUSE(aclError, aclblasCreateHandleForGemvEx,
          (aclTransType, int, int, aclDataType, aclDataType, aclDataType, aclComputeType, aclopHandle**), kNoBlas)
MP_REFUSE(aclError, aclblasCreateHandleForHgemm,
          (aclTransType, aclTransType, aclTransType, int, int, int, aclComputeType, aclopHandle**), kNoBlas)
MP_REFUSE(aclError, aclblasCreateHandleForHgemv, (aclTransType, int, int, aclComputeType, aclopHandle**), kNoBlas)
MP_REFUSE(aclError, aclblasCreateHandleForS8gemm,
          (aclTransType, aclTransType, aclTransType, int, int, int, aclComputeType, aclopHandle**), kNoBlas)
MP_REFUSE(aclError, aclblasCreateHandleForS8gemv, (aclTransType, int, int, aclComputeType, aclopHandle**), kNoBlas)
MP_REFUSE(aclError, aclblasGemmEx,
          (aclTransType, aclTransType, aclTransType, int, int, int, const void*, const void*, int, aclDataType,
           const void*, int, aclDataType, const void*, void*, int, aclDataType, aclComputeType, aclrtStream),
          kNoBlas)
MP_REFUSE(aclError, aclblasGemvEx,
          (aclTransType, int, int, const void*, const void*, int, aclDataType, const void*, int, aclDataType,
           const void*, void*, int, aclDataType, aclComputeType, aclrtStream),
          kNoBlas)
MP_REFUSE(aclError, aclblasHgemm,
          (aclTransType, aclTransType, aclTransType, int, int, int, const aclFloat16*, const aclFloat16*, int,
           const aclFloat16*, int, const aclFloat16*, aclFloat16*, int, aclComputeType, aclrtStream),
          kNoBlas)
MP_REFUSE(aclError, aclblasHgemv,
          (aclTransType, int, int, const aclFloat16*, const aclFloat16*, int, const aclFloat16*, int, const aclFloat16*,
           aclFloat16*, int, aclComputeType, aclrtStream),
          kNoBlas)
MP_REFUSE(aclError, aclblasS8gemm,
          (aclTransType, aclTransType, aclTransType, int, int, int, const int32_t*, const int8_t*, int, const int8_t*,
           int, const int32_t*, int32_t*, int, aclComputeType, aclrtStream),
          kNoBlas)
MP_REFUSE(aclError, aclblasS8gemv,
          (aclTransType, int, int, const int32_t*, const int8_t*, int, const int8_t*, int, const int32_t*, int32_t*,
           int, aclComputeType, aclrtStream),
          kNoBlas)

// SPDX-License-Identifier: Apache-2.0
// libacl_cblas.so: matrix products. Each entry point is a choice of types and shapes for gemm.cc.
#include "include/acl/ops/acl_cblas.h"
#include "src/api/cblas/gemm.h"

using millpond::acl::CreateGemmHandle;
using millpond::acl::RunGemm;
using millpond::acl::WithVector;

aclError aclblasGemmEx(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                       const void* alpha, const void* matrixA, int lda, aclDataType dataTypeA, const void* matrixB,
                       int ldb, aclDataType dataTypeB, const void* beta, void* matrixC, int ldc, aclDataType dataTypeC,
                       aclComputeType type, aclrtStream stream) {
  return RunGemm("aclblasGemmEx", {transA, transB, transC, m, n, k, dataTypeA, dataTypeB, dataTypeC, type},
                 {alpha, matrixA, lda, matrixB, ldb, beta, matrixC, ldc}, stream);
}

aclError aclblasHgemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                      const aclFloat16* alpha, const aclFloat16* matrixA, int lda, const aclFloat16* matrixB, int ldb,
                      const aclFloat16* beta, aclFloat16* matrixC, int ldc, aclComputeType type, aclrtStream stream) {
  return RunGemm("aclblasHgemm", {transA, transB, transC, m, n, k, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, type},
                 {alpha, matrixA, lda, matrixB, ldb, beta, matrixC, ldc}, stream);
}

aclError aclblasS8gemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                       const int32_t* alpha, const int8_t* matrixA, int lda, const int8_t* matrixB, int ldb,
                       const int32_t* beta, int32_t* matrixC, int ldc, aclComputeType type, aclrtStream stream) {
  return RunGemm("aclblasS8gemm", {transA, transB, transC, m, n, k, ACL_INT8, ACL_INT8, ACL_INT32, type},
                 {alpha, matrixA, lda, matrixB, ldb, beta, matrixC, ldc}, stream);
}

aclError aclblasGemvEx(aclTransType transA, int m, int n, const void* alpha, const void* a, int lda,
                       aclDataType dataTypeA, const void* x, int incx, aclDataType dataTypeX, const void* beta, void* y,
                       int incy, aclDataType dataTypeY, aclComputeType type, aclrtStream stream) {
  return RunGemm("aclblasGemvEx", WithVector(transA, m, n, dataTypeA, dataTypeX, dataTypeY, type),
                 {alpha, a, lda, x, incx, beta, y, incy}, stream);
}

aclError aclblasHgemv(aclTransType transA, int m, int n, const aclFloat16* alpha, const aclFloat16* a, int lda,
                      const aclFloat16* x, int incx, const aclFloat16* beta, aclFloat16* y, int incy,
                      aclComputeType type, aclrtStream stream) {
  return RunGemm("aclblasHgemv", WithVector(transA, m, n, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, type),
                 {alpha, a, lda, x, incx, beta, y, incy}, stream);
}

aclError aclblasS8gemv(aclTransType transA, int m, int n, const int32_t* alpha, const int8_t* a, int lda,
                       const int8_t* x, int incx, const int32_t* beta, int32_t* y, int incy, aclComputeType type,
                       aclrtStream stream) {
  return RunGemm("aclblasS8gemv", WithVector(transA, m, n, ACL_INT8, ACL_INT8, ACL_INT32, type),
                 {alpha, a, lda, x, incx, beta, y, incy}, stream);
}

aclError aclblasCreateHandleForGemmEx(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n,
                                      int k, aclDataType dataTypeA, aclDataType dataTypeB, aclDataType dataTypeC,
                                      aclComputeType type, aclopHandle** handle) {
  return CreateGemmHandle("aclblasCreateHandleForGemmEx",
                          {transA, transB, transC, m, n, k, dataTypeA, dataTypeB, dataTypeC, type}, handle);
}

aclError aclblasCreateHandleForHgemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n, int k,
                                     aclComputeType type, aclopHandle** handle) {
  return CreateGemmHandle("aclblasCreateHandleForHgemm",
                          {transA, transB, transC, m, n, k, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, type}, handle);
}

aclError aclblasCreateHandleForS8gemm(aclTransType transA, aclTransType transB, aclTransType transC, int m, int n,
                                      int k, aclComputeType type, aclopHandle** handle) {
  return CreateGemmHandle("aclblasCreateHandleForS8gemm",
                          {transA, transB, transC, m, n, k, ACL_INT8, ACL_INT8, ACL_INT32, type}, handle);
}

aclError aclblasCreateHandleForGemvEx(aclTransType transA, int m, int n, aclDataType dataTypeA, aclDataType dataTypeX,
                                      aclDataType dataTypeY, aclComputeType type, aclopHandle** handle) {
  return CreateGemmHandle("aclblasCreateHandleForGemvEx",
                          WithVector(transA, m, n, dataTypeA, dataTypeX, dataTypeY, type), handle);
}

aclError aclblasCreateHandleForHgemv(aclTransType transA, int m, int n, aclComputeType type, aclopHandle** handle) {
  return CreateGemmHandle("aclblasCreateHandleForHgemv",
                          WithVector(transA, m, n, ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16, type), handle);
}

aclError aclblasCreateHandleForS8gemv(aclTransType transA, int m, int n, aclComputeType type, aclopHandle** handle) {
  return CreateGemmHandle("aclblasCreateHandleForS8gemv", WithVector(transA, m, n, ACL_INT8, ACL_INT8, ACL_INT32, type),
                          handle);
}

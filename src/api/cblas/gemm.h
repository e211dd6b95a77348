// SPDX-License-Identifier: Apache-2.0
// C = alpha * A x B + beta * C as the single operator GEMM, which is what aclblas is made of on the device too.
#ifndef MILLPOND_SRC_API_CBLAS_GEMM_H_
#define MILLPOND_SRC_API_CBLAS_GEMM_H_

#include "include/acl/ops/acl_cblas.h"
#include "src/base/status.h"

namespace millpond::acl {

// What is multiplied, apart from where it lies.
struct GemmShape {
  aclTransType trans_a;
  aclTransType trans_b;
  aclTransType trans_c;
  int m;
  int n;
  int k;
  aclDataType type_a;
  aclDataType type_b;
  aclDataType type_c;
  aclComputeType compute;
};

// The factors and the matrices, all in device memory; the leading dimensions are reserved (-1).
struct GemmData {
  const void* alpha;
  const void* a;
  int lda;
  const void* b;
  int ldb;
  const void* beta;
  void* c;
  int ldc;
};

// A product with a vector is one whose second matrix has a column.
inline GemmShape WithVector(aclTransType trans_a, int m, int n, aclDataType type_a, aclDataType type_x,
                            aclDataType type_y, aclComputeType compute) {
  return {trans_a, ACL_TRANS_N, ACL_TRANS_N, m, 1, n, type_a, type_x, type_y, compute};
}

aclError RunGemm(const char* api, const GemmShape& shape, const GemmData& data, aclrtStream stream);
aclError CreateGemmHandle(const char* api, const GemmShape& shape, aclopHandle** handle);

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_CBLAS_GEMM_H_

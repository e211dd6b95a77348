// SPDX-License-Identifier: Apache-2.0
// Weights of products in blocks (FRACTAL_NZ): how many elements the storage needs, and the two phases that lay one out.
#ifndef MILLPOND_INCLUDE_ACLNNOP_ACLNN_TRANS_MATMUL_WEIGHT_H_
#define MILLPOND_INCLUDE_ACLNNOP_ACLNN_TRANS_MATMUL_WEIGHT_H_

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

ACL_FUNC_VISIBILITY aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray* tensorShape,
                                                               uint64_t* weightTensorSize);
ACL_FUNC_VISIBILITY aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray* tensorShape, aclDataType dataType,
                                                                 uint64_t* weightTensorSize);
ACL_FUNC_VISIBILITY aclnnStatus aclnnTransMatmulWeightGetWorkspaceSize(aclTensor* mmWeightRef, uint64_t* workspaceSize,
                                                                       aclOpExecutor** executor);
ACL_FUNC_VISIBILITY aclnnStatus aclnnTransMatmulWeight(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                                       aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif  // MILLPOND_INCLUDE_ACLNNOP_ACLNN_TRANS_MATMUL_WEIGHT_H_

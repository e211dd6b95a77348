// SPDX-License-Identifier: Apache-2.0
// The question before aclnnNpuFormatCast: which shape and layout will the result have? Here always the source's own, in
// ND: private layouts would only cost copies on a CPU.
#include <algorithm>

#include "include/aclnn/acl_meta.h"
#include "src/api/aclnn/aclnn_guard.h"
#include "src/api/aclnn/objects.h"

using namespace millpond;         // NOLINT: a shim is a page of delegation
using namespace millpond::aclnn;  // NOLINT

extern "C" ACL_FUNC_VISIBILITY aclnnStatus aclnnNpuFormatCastCalculateSizeAndFormat(
    const aclTensor* srcTensor, const int, const int, int64_t** dstShape, uint64_t* dstShapeSize, int* actualFormat) {
  return Guard("aclnnNpuFormatCastCalculateSizeAndFormat", [&]() -> Outcome {
    if (srcTensor == nullptr || dstShape == nullptr || dstShapeSize == nullptr || actualFormat == nullptr) {
      return IsNull("an argument is NULL");
    }
    MP_REQUIRE(Alive(srcTensor), "srcTensor is not a live aclTensor");
    const auto shape = srcTensor->view.shape();
    *dstShape = new int64_t[shape.size()];  // the caller releases it with delete[]
    std::copy(shape.begin(), shape.end(), *dstShape);
    *dstShapeSize = shape.size();
    *actualFormat = ACL_FORMAT_ND;
    return Ok();
  });
}

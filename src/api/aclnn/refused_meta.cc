// SPDX-License-Identifier: Apache-2.0
// libnnopbase.so: what it declares and does not carry out.
#include "include/aclnn/acl_meta.h"
#include "src/api/aclnn/aclnn_guard.h"
#include "src/api/common/refuse.h"

MP_REFUSE_WITH(
    aclnnStatus, millpond::aclnn::kRuntimeError, aclDumpOpTensors,
    (const char*, const char*, aclTensor**, size_t, size_t, aclrtStream),
    "tensors are not dumped to files; --trace names every operation, and the tensor can be copied to the host")

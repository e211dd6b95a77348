// SPDX-License-Identifier: Apache-2.0
// What stands behind the opaque pointers of aclnn.
#ifndef MILLPOND_SRC_API_ACLNN_OBJECTS_H_
#define MILLPOND_SRC_API_ACLNN_OBJECTS_H_

#include <cstdint>
#include <vector>

#include "include/aclnn/acl_meta.h"
#include "src/base/tensor_view.h"
#include "src/ops/call.h"

namespace millpond::kernels {
struct Kernel;
}

struct aclTensor {
  millpond::TensorView view;
  uint8_t storage_rank = 0;
  int64_t storage_dims[millpond::TensorView::kMaxRank];
};
struct aclScalar {
  millpond::ScalarValue value;
};
struct aclIntArray {
  std::vector<int64_t> values;
};
struct aclFloatArray {
  std::vector<float> values;
};
struct aclBoolArray {
  std::vector<uint8_t> values;
};
struct aclTensorList {
  std::vector<aclTensor*> members;  // null where the client gave null
};
struct aclScalarList {
  std::vector<aclScalar*> members;
};
struct aclOpExecutor {
  const millpond::kernels::Kernel* kernel = nullptr;
  millpond::OpCallPtr call;
  bool repeatable = false;
  bool validated = false;  // is the memory that the call names now known to be fit?
  // The client's own objects, for rows that report their outputs' real shapes.
  std::vector<aclTensor*> reported;
};

#endif  // MILLPOND_SRC_API_ACLNN_OBJECTS_H_

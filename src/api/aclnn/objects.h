// SPDX-License-Identifier: Apache-2.0
// What stands behind the opaque pointers of aclnn.
#ifndef MILLPOND_SRC_API_ACLNN_OBJECTS_H_
#define MILLPOND_SRC_API_ACLNN_OBJECTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "include/aclnn/acl_meta.h"
#include "src/api/aclnn/arena.h"
#include "src/base/status.h"
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
  bool judged = false;  // is the memory that the call names now known to be fit?
  // The client's own objects, for rows that report their outputs' real shapes.
  std::vector<aclTensor*> reported;
};

namespace millpond::aclnn {

// The codes of aclnn.
inline constexpr aclnnStatus kNullPointer = 161001;
inline constexpr aclnnStatus kInvalidParameter = 161002;
inline constexpr aclnnStatus kRuntimeError = 361001;
inline constexpr aclnnStatus kInnerError = 561000;
inline constexpr aclnnStatus kNoKernel = 561003;
inline constexpr aclnnStatus kNoExecutor = 561101;
inline constexpr aclnnStatus kInnerNull = 561103;

// Leaves the message where aclGetRecentErrMsg finds it; returns `code`.
aclnnStatus Fail(const std::string& api, aclnnStatus code, const std::string& message);
aclnnStatus Fail(const std::string& api, const Status& status);
aclnnStatus FailCurrentException(const std::string& api);
// What the calling thread's latest Fail said.
const std::string& LastFailure();

template <class Body>
aclnnStatus Guarded(const char* api, Body&& body) {
  try {
    return body();
  } catch (...) {
    return FailCurrentException(api);
  }
}

// A create function: null when the body fails, with a message.
template <class T, class Body>
T* GuardedCreate(const char* api, Body&& body) {
  T* made = nullptr;
  try {
    made = Arena<T>::Get().Create();
    const Status status = body(made);
    if (status.ok()) return made;
    Fail(api, status);
  } catch (...) {
    FailCurrentException(api);
  }
  if (made != nullptr) Arena<T>::Get().Destroy(made);
  return nullptr;
}

template <class T>
bool Alive(const T* object) {
  return Arena<T>::Get().Alive(object);
}

}  // namespace millpond::aclnn

#endif  // MILLPOND_SRC_API_ACLNN_OBJECTS_H_

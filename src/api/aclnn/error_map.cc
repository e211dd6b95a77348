// SPDX-License-Identifier: Apache-2.0
// aclnn's numbers for our codes.
#include "src/api/aclnn/aclnn_guard.h"

namespace millpond::aclnn {

aclnnStatus NumberOf(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kRuntimeArgument:
    case Code::kUnaligned:
      return kInvalidParameter;
    case Code::kUnsupported:
      return kNoKernel;
    case Code::kInternal:
      return kInnerError;
    case Code::kHostOutOfMemory:
      return kNoExecutor;
    default:
      return kRuntimeError;
  }
}

}  // namespace millpond::aclnn

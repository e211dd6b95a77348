// SPDX-License-Identifier: Apache-2.0
#include "src/api/atb/atb_guard.h"

namespace millpond::boost {

int32_t NumberOf(Code code) {
  switch (code) {
    case Code::kOk:
      return atb::NO_ERROR;
    case Code::kInvalidArgument:
    case Code::kUnsupported:
      return atb::ERROR_INVALID_PARAM;
    case Code::kInvalidHandle:
      return atb::ERROR_INVALID_STREAM;
    case Code::kOutOfMemory:
      return atb::ERROR_OUT_OF_DEVICE_MEMORY;
    case Code::kHostOutOfMemory:
      return atb::ERROR_OUT_OF_HOST_MEMORY;
    case Code::kInternal:
      return atb::ERROR_INTERNAL_ERROR;
    default:
      return atb::ERROR_RT_FAIL;
  }
}

}  // namespace millpond::boost

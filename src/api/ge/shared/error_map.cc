// SPDX-License-Identifier: Apache-2.0
// The graph engine's numbers for our codes.
#include "src/api/ge/shared/entry.h"

namespace millpond::geapi {

::ge::Status NumberOf(Numbers numbers, Code code) {
  const bool first = numbers == Numbers::kFirstRun || numbers == Numbers::kFirstMemory;
  const bool memory = numbers == Numbers::kMemory || numbers == Numbers::kFirstMemory;
  switch (code) {
    case Code::kUnsupported:
      return numbers == Numbers::kFailed ? kFailed : kNotSupported;
    case Code::kGraphUnknown:
      if (first) return kGraphNotExist;
      return memory ? kParamInvalid : kFailed;
    case Code::kGraphNotBuilt:
      if (numbers == Numbers::kFirstMemory) return kGraphNotBuilt;
      return memory ? kParamInvalid : kFailed;
    case Code::kUninitialized:
    case Code::kInternal:
    case Code::kHostOutOfMemory:
    case Code::kForked:
      return kFailed;
    default:
      return memory ? kParamInvalid : kFailed;
  }
}

}  // namespace millpond::geapi

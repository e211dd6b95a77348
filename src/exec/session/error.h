// SPDX-License-Identifier: Apache-2.0
// Failures of sessions. The tag in front selects the template of the graph engine's message table (E100xx), as
// "[EH0008] " does for acl; what has no tag is told as the failure of the call that met it.
#ifndef MILLPOND_SRC_EXEC_SESSION_ERROR_H_
#define MILLPOND_SRC_EXEC_SESSION_ERROR_H_

#include <string>

#include "src/base/status.h"

namespace millpond {

inline Status OptionError(const std::string& key, const std::string& value, const std::string& reason) {
  return InvalidArgument(
      Format("[E10001] Value %s for parameter %s is invalid. Reason: %s", value.c_str(), key.c_str(), reason.c_str()));
}

inline Status SequenceError(Code code, const std::string& reason) {
  return {code, "[E10062] Failed to call {api}. Reason: " + reason + "."};
}

inline Status UnsupportedError(const std::string& reason) {
  return Unsupported("[E10055] The operation is not supported. Reason: {api}: " + reason + ".");
}

inline Status TensorError(const std::string& reason) {
  return InvalidArgument("[E13025] Input tensor is invalid. Reason: {api}: " + reason + ".");
}

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_SESSION_ERROR_H_

// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_API_ACL_RT_STREAM_TIMEOUT_H_
#define MILLPOND_SRC_API_ACL_RT_STREAM_TIMEOUT_H_

#include "src/base/futex.h"
#include "src/base/status.h"

namespace millpond::acl {

// Milliseconds as the synchronising calls take them: -1 for ever, less is 107000 (not 100000: docs/compat.md, "What
// clients rely on").
inline Status DeadlineFrom(int32_t timeout_ms, Deadline* out_deadline) {
  MP_CHECK(timeout_ms >= -1, kRuntimeArgument, "timeout is %d ms; it must be -1 (for ever) or not negative",
           timeout_ms);
  *out_deadline = timeout_ms == -1 ? Deadline() : Clock::now() + std::chrono::milliseconds(timeout_ms);
  return Ok();
}

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_RT_STREAM_TIMEOUT_H_

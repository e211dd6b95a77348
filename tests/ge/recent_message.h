// SPDX-License-Identifier: Apache-2.0
// The message that the last failure of this thread left, for tests of graph building.
#ifndef MILLPOND_TESTS_GE_RECENT_MESSAGE_H_
#define MILLPOND_TESTS_GE_RECENT_MESSAGE_H_

#include <string>

#include "acl/acl_base_rt.h"
#include "acl/acl_rt.h"

// Reading clears it.
inline std::string RecentMessage() {
  const char* message = aclGetRecentErrMsg();
  return message == nullptr ? "" : message;
}

#endif  // MILLPOND_TESTS_GE_RECENT_MESSAGE_H_

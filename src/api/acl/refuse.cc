// SPDX-License-Identifier: Apache-2.0
#include "src/api/acl/refuse.h"

#include "src/api/acl/guard.h"

aclError millpondRefuse(const char* api, const char* advice) {
  return millpond::acl::Guard(
      api, [=] { return millpond::Unsupported(millpond::Format("%s is not supported here: %s", api, advice)); });
}
